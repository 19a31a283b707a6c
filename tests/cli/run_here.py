"""Commands run in this process, in a folder with private rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen
from small_tables import ROWS, SCHEMA

from jostle.cli import main
from jostle.privacy import opening
from jostle.tables import origins


@frozen
class Done:
    """What a command printed, and how it ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Done]


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """Run the command in this process and return its exit status."""
    monkeypatch.setattr(sys, "argv", ["jostle", *map(str, words)])
    try:
        main()
    except SystemExit as ending:
        return int(ending.code or 0)
    return 0


def ran(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> Done:
    """Return what a command did, as if in a process of its own: it knows no table that another one has opened."""
    monkeypatch.setattr(opening, "_registry", opening.Registry())
    monkeypatch.setattr(origins, "_private", [])
    monkeypatch.setenv("COLUMNS", "400")
    capsys.readouterr()
    status = run(monkeypatch, *words)
    printed = capsys.readouterr()
    return Done(status, printed.out, printed.err)


def write_rows(folder: Path) -> None:
    """Write private rows and their schema."""
    lines = [",".join(SCHEMA.names), *(",".join(map(str, row)) for row in ROWS)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n", "utf-8")
    SCHEMA.write(folder / "rows.toml")
