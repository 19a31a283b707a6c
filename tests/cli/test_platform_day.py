"""The platform engineer's first day, `docs/platform_day.sh`, command by command."""

from __future__ import annotations

import json
import re
import shlex
from fractions import Fraction
from pathlib import Path

import pytest
from run_here import Done, ran, write_rows
from small_tables import ROWS, SCHEMA

SCRIPT = Path(__file__).parents[2] / "docs" / "platform_day.sh"
PROGRAMS = {
    "count": "def answer(db):\n    return noisyCount(db, epsilon)\n",
    "twice": "def answer(db):\n    return noisyCount(db, epsilon) + noisyCount(db, epsilon)\n",
    "fixed": "def answer(db):\n    return noisyCount(db, 1 / 2)\n",
    "typo": "def answer(db):\n    return nosyCount(db, epsilon)\n",
}


def test_every_command_of_the_day_ends_as_the_script_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path)
    lines = [",".join(SCHEMA.names), *(",".join(map(str, row)) for row in ROWS[::-1][:5])]
    Path("public.csv").write_text("\n".join(lines) + "\n", "utf-8")
    for name, text in PROGRAMS.items():
        Path(f"{name}.jst").write_text(text, "utf-8")
    label = SCHEMA.label or SCHEMA.names[-1]
    done: dict[str, Done] = {}
    for line in SCRIPT.read_text("utf-8").replace("--label smokes", f"--label {label}").splitlines():
        told = re.fullmatch(r"jostle (.*?)\s+# -> (\d)", line)
        if told is None:
            assert not line.startswith("jostle")
            continue
        found = ran(monkeypatch, capsys, *shlex.split(told[1]))
        assert found.status == int(told[2]), f"{line}\n{found}"
        assert "Traceback" not in found.out + found.err
        done[told[1]] = found

    ledger = next(each for command, each in done.items() if command.startswith("ledger") and "--json" in command)
    assert Fraction(str(json.loads(ledger.out)["spent"])) == Fraction(9, 10)
    assert Path("copy.vault").exists()
    assert Path("first.json").read_text("utf-8").strip()
