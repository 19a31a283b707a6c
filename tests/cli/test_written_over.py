"""No command writes over a vault or private data, or over what it goes by, whatever it is told to write to."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_here import Run

COUNT = "def answer(db):\n    return {{ len(db) }}\n"
ROWS = ("--data", "rows.csv", "--schema", "rows.toml", "--epsilon", "1")
COMMANDS = {
    "run": ("run", "p.jst", "--data", "other.csv", "--schema", "rows.toml", "--epsilon", "1", "--out"),
    "a report": ("run", "p.jst", "--data", "other.csv", "--schema", "rows.toml", "--epsilon", "1", "--report"),
    "a trace": ("run", "p.jst", "--data", "other.csv", "--schema", "rows.toml", "--epsilon", "1", "--trace"),
    "a schema": ("schema", "infer", "public.csv", "--out"),
    "training": ("train", "classification", "--out"),
    "a history": ("train", "classification", "--history"),
    "an evaluation": ("evaluate", "classification", "--databases", "folder", "--epsilon", "1", "--json"),
    "a figure": ("reproduce", "figure-1.1", "--out"),
    "advice": ("advise", "Majority", "--schema", "rows.toml", "--rows", "100", "--plot"),
    "made-up rows": ("example", "--schema", "rows.toml", "--rows", "9", "--out"),
    "a backup": ("vault", "backup", "old.vault"),
}


@pytest.fixture
def run(command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs a command in a folder with private rows, their vault, and others'."""
    monkeypatch.setenv("JOSTLE_HOME", str(tmp_path.parent / "home"))
    (tmp_path / "p.jst").write_text(COUNT)
    (tmp_path / "public.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "folder").mkdir()
    # Other rows than these, so that this process takes them for another table.
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    (tmp_path / "other.csv").write_text("\n".join(lines[:-9]) + "\n")
    assert command("run", "p.jst", *ROWS).status == 0
    (tmp_path / "rows.csv").rename("page.html")  # an ending that a report may have
    (tmp_path / "rows.csv.vault").rename("page.html.vault")
    (tmp_path / "rows.csv").symlink_to(tmp_path / "page.html")
    assert command("vault", "create", "old.vault", "--epsilon", "1").status == 0
    for name in ("vault.json", "vault.html", "vault.csv"):
        assert command("vault", "backup", "old.vault", name).status == 0
    return command


@pytest.mark.parametrize("writer", COMMANDS)
def test_no_vault_and_no_private_data_are_written_over(run: Run, tmp_path: Path, writer: str) -> None:
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    for name in ("rows.csv", "page.html", "vault.json", "vault.html", "vault.csv", "page.html.vault"):
        done = run(*COMMANDS[writer], name)
        assert (done.status, done.err.startswith("error: ")) == (1, True), (name, done)
        assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before, name


def test_what_may_be_written_over_is(run: Run) -> None:
    for _ in range(2):
        assert run("schema", "infer", "public.csv", "--out", "public.toml").status == 0
