"""What was paid for is shown, whatever ends a run: all of it, and before the message.

A case is a program in `tests/cases/stopped`, and beside it what `jostle run` prints of it, as text and as JSON. It is
run with so large an epsilon that there is no noise. To add one, write the program, run the tests with
JOSTLE_REWRITE=1, and review the texts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import LIMIT, started
from run_here import Run

from jostle.errors import ProgramError
from jostle.lang.program import Purchase
from jostle.lang.running import all_bought, run_program
from jostle.privacy.vault import FileVault
from jostle.trace.records import Released, Trace

CASES = Path(__file__).parent.parent / "cases" / "stopped"
PROGRAMS = sorted(CASES.glob("*.jst"))
WORDS = ("--data", "rows.csv", "--schema", "rows.toml", "--epsilon", "10000")
STATUS = {"budget_used_up": 3}


@pytest.fixture
def run(command: Run) -> Run:
    """Return what runs a command in a folder with private rows."""
    return partial(command, "run")


def as_expected(text: str, path: Path) -> bool:
    if "JOSTLE_REWRITE" in os.environ:
        path.write_text(text, "utf-8")
    return text == path.read_text("utf-8")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_was_bought_is_shown_before_the_message(run: Run, tmp_path: Path, path: Path) -> None:
    (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    done = run(path.name, *WORDS, "--out", "answer.json")
    shown = done.out.replace(str(tmp_path), "FOLDER")
    assert done.status == STATUS.get(path.stem, 1)
    assert as_expected(f"{shown}--- and then\n{done.err}", path.with_suffix(".txt"))
    assert not (tmp_path / "answer.json").exists()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_was_bought_is_in_the_json_beside_the_mistake(run: Run, tmp_path: Path, path: Path) -> None:
    (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    done = run(path.name, *WORDS, "--json")
    facts = json.loads(done.out)
    assert done.status == facts["status"] == STATUS.get(path.stem, 1)
    assert as_expected(done.out.replace(str(tmp_path), "FOLDER"), path.with_suffix(".json"))
    assert facts["bought"]
    assert Fraction(facts["spent"]) == FileVault(tmp_path / "rows.csv.vault").account().spent > 0


def test_every_expected_text_has_its_program() -> None:
    stems = {path.stem for path in PROGRAMS}
    assert {path.stem for path in CASES.iterdir()} == stems
    assert len(stems) >= 6


@pytest.mark.parametrize(
    ("interruption", "problem"), [(KeyboardInterrupt, KeyboardInterrupt), (MemoryError, ProgramError)]
)
@pytest.mark.usefixtures("run")
def test_an_interruption_loses_nothing(
    tmp_path: Path, interruption: type[BaseException], problem: type[BaseException]
) -> None:
    text = 'def answer(db):\n    n = {{ len(db) }} spending 50%\n    print("now")\n    return n\n'
    (tmp_path / "p.jst").write_text(text)

    def interrupt(_: str) -> None:
        raise interruption

    outcome = run_program(
        Path("p.jst"), data=Path("rows.csv"), schema=Path("rows.toml"), epsilon="10000", say=interrupt
    )
    assert isinstance(outcome.problem, problem)
    assert outcome.bought == (("answer line 2: {{ }}", 100),)
    assert outcome.spending is not None
    assert outcome.spending.spent == 5000


@pytest.mark.usefixtures("run")
def test_an_interruption_before_anything_is_bought_is_one_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "p.jst").write_text('def answer(db):\n    print("now")\n    return {{ len(db) }}\n')

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_program(Path("p.jst"), data=Path("rows.csv"), schema=Path("rows.toml"), epsilon="1", say=interrupt)


@pytest.mark.representative
@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_in_the_middle_loses_nothing(tmp_path: Path, run: Run, as_json: bool) -> None:
    rounds = "    return sum([sqrt(x) for x in range(9000000) for y in range(9000000)])\n"
    text = f'def answer(db):\n    n = {{{{ len(db) }}}} spending 50%\n    print("now")\n{rounds}'
    (tmp_path / "p.jst").write_text(text)
    words = ["run", "p.jst", *WORDS, "--trace", "trace.jsonl", *(["--json"] if as_json else [])]
    named: dict[str, Any] = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started("-m", "jostle", *words, env={**os.environ, "COLUMNS": "100"}, **named) as running:
        trace = tmp_path / "trace.jsonl"
        while running.poll() is None and not (trace.exists() and '"released"' in trace.read_text("utf-8")):
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=LIMIT)
    assert running.returncode == 130, err
    if as_json:
        facts = json.loads(out)
        assert facts["bought"] == [{"site": "answer line 2: {{ }}", "value": 100}]
        assert (facts["spent"], facts["status"]) == ("5000", 130)
    else:
        assert "answer line 2: {{ }}: 100\n" in out
        assert "epsilon 5000 was spent" in out
        assert "\nstopped;" in f"\n{err}"  # a slow machine says before how far it is


def test_all_numbers_that_were_released_are_kept_where_an_option_comes_to_no_end() -> None:
    trace = Trace(whole=True)
    numbers = np.arange(200)
    trace.add(Released("line 1", "AddNoise", Fraction(1), 1, (7,)), np.array([7]))
    trace.add(Released("line 2/first", "AddNoise", Fraction(1), 200, tuple(range(64))), numbers)
    numbers[:] = 0  # whoever got them can change them
    bought = all_bought([Purchase("line 1", 7, 1)], trace)
    assert bought == (("line 1", 7), ("line 2/first", list(range(200))))
    other = Trace()
    other.add(Released("line 1", "AddNoise", Fraction(1), 200, tuple(range(64))), np.arange(200))
    assert other.released(0) == tuple(range(64))


def test_what_is_bought_in_a_rehearsal_is_not_told_as_bought(run: Run, tmp_path: Path) -> None:
    text = (
        "from classifiers import Majority\n\n"
        "#Option\ndef Own(db):\n    n = noisyCount(db, epsilon / 2)\n    return Majority(db, epsilon=epsilon / 2)\n\n"
        "def answer(db):\n    n = {{ len(db) }} spending 50%\n"
        '    errors = [rehearse(Own, table, 50, 1) for table in public("cups.csv")]\n    return errors[1]\n'
    )
    (tmp_path / "p.jst").write_text(text)
    rows = [f"{n % 7},{'no' if n % 3 else 'yes'}" for n in range(300)]
    (tmp_path / "cups.csv").write_text("\n".join(["size,label", *rows]) + "\n")
    done = run("p.jst", *WORDS, "--public", "cups.csv", "--json")
    assert done.status == 1
    assert [each["site"] for each in json.loads(done.out)["bought"]] == ["answer line 9: {{ }}"]


@pytest.mark.slow
def test_an_answer_that_no_terminal_can_show_is_shown_all_the_same(tmp_path: Path, run: Run) -> None:
    (tmp_path / "p.jst").write_text('def answer(db):\n    return ("\N{SNOWMAN}", {{ len(db) }})\n', "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "jostle", "run", "p.jst", *WORDS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert ", 100)\n" in done.stdout
