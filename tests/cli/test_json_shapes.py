"""What commands print with --json has the entries that the page says it has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from run_here import ran, write_rows

PAGE = (Path(__file__).parent.parent.parent / "docs" / "reference" / "files.md").read_text("utf-8")
PROGRAM = """def answer(db):
    a = choose L1 among {stop, go} informed by {epsilon}
    return noisyCount(db, epsilon / 2)
"""
COMMANDS = {
    "`run`, on private data": "run good.jst --data rows.csv --schema rows.toml --epsilon 1 --trace t",
    "`run`, on an example": "run good.jst",
    "`check`, one program": "check good.jst",
    "`check`, several": "check good.jst wrong.jst",
    "`fmt`": "fmt good.jst --check",
    "`explain`": "explain J201",
    "`schema infer`": "schema infer public.csv --label region --out public.toml",
    "`advise`": "advise Majority --schema labelled.toml --rows 1000",
    "`advise --rows-per-person`": "advise --rows-per-person zipf~4~50 --rows 1000 --cells 9",
    "`example`": "example --schema rows.toml --rows 5 --out example.csv",
    "`options`": "options",
    "`reproduce`": "reproduce",
    "`audit`": "audit Majority --samples 400",
    "`trace show`, `trace json`": "trace show t",
    "`trace why`": "trace why t",
    "`ledger show`": "ledger show --vault rows.csv.vault",
    "`vault create`, `show`, `raise`, `backup`": "vault show rows.csv.vault",
}
"""In this order: what later ones look at, earlier ones made."""
LABELLED = """label = "ill"
[columns.age]
kind = "numeric"
low = 0
high = 100
[columns.ill]
kind = "categorical"
values = ["no", "yes"]
"""


def rows_of_the_page() -> dict[str, tuple[str, set[str]]]:
    """For each command whether an object or an array is printed, and its entries."""
    found = re.findall(r"^\| (`.*?) \| an (object|array)[^|]* \| (.*?) \|", PAGE, flags=re.MULTILINE)
    return {command: (kind, set(re.findall(r"`(\w+)`", entries))) for command, kind, entries in found}


def test_what_is_printed_as_json_has_the_entries_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path)
    (tmp_path / "good.jst").write_text(PROGRAM, "utf-8")
    (tmp_path / "wrong.jst").write_text("def answer(db):\n    return nosyCount(db, epsilon)\n", "utf-8")
    (tmp_path / "labelled.toml").write_text(LABELLED, "utf-8")
    (tmp_path / "public.csv").write_text("a,region\n1,x\n2,y\n", "utf-8")
    said = rows_of_the_page()
    assert set(said) == set(COMMANDS)

    for command, words in COMMANDS.items():
        done = ran(monkeypatch, capsys, *(word.replace("~", " ") for word in words.split()), "--json")
        printed: Any = json.loads(done.out)
        kind, entries = said[command]
        assert isinstance(printed, list if kind == "array" else dict), command
        first = printed[0] if kind == "array" else printed
        if command.startswith("`trace show`"):
            assert entries <= set(first), command
        else:
            assert entries == set(first), command
