"""Progress: what takes long says on standard error what it does and how far it is, on a terminal and off it."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from processes import child_limit
from run_here import ran, write_rows
from small import tables

import jostle
from jostle import progress
from jostle.progress import stage, tick, unshown
from jostle.tables import readers


class Screen(io.StringIO):
    """A terminal, as far as anybody asks."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that pass when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "clock", made)
    monkeypatch.setattr(progress, "PATIENCE", 3.0)
    return made


def test_off_a_terminal_it_is_a_line_every_few_seconds(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with stage("auditing") as said:
        for done in range(14):
            said.at(done, 14)
            clock.now += 1

    assert capsys.readouterr().err.splitlines() == [
        "auditing: 21%, 3 s",
        "auditing: 57%, 8 s",
        "auditing: 93%, 13 s",
        "auditing: 14 s in all",
    ]


def test_what_takes_no_time_says_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(9):
        with stage("a short one") as said:
            said.at(1, 2)
            clock.now += 2.9
            said.at(2, 2)

    assert not capsys.readouterr().err


def test_it_tells_from_the_outermost_stage_to_the_first_that_knows_how_much_there_is(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with stage("p.jst"), stage("PooledTree") as tree:
        for _ in range(2):
            with stage("reading rows.csv") as reading:
                clock.now += 5
                reading.at(1, 4)
                with stage("what is inside of that"):
                    clock.now += 5
                    tick()
        clock.now += 5
        tree.doing("reading\nleaves")

    assert capsys.readouterr().err.splitlines() == [
        "p.jst: PooledTree: reading rows.csv: 25%, 5 s",
        "p.jst: PooledTree: reading rows.csv: 25%, 10 s",
        "p.jst: PooledTree: reading rows.csv, time 2: 25%, 15 s",
        "p.jst: PooledTree: reading rows.csv, time 2: 25%, 20 s",
        r"p.jst: PooledTree: reading\nleaves: 25 s",
        "p.jst: 25 s in all",
    ]


def test_on_a_terminal_it_is_a_bar_that_goes_away(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with stage("[bold]training\x1b[2K") as said:
        clock.now += 4
        said.at(1, 4)

    shown = screen.getvalue()
    assert r"[bold]training\x1b[2K: 25%, 4 s " in shown
    assert shown.endswith("\x1b[2K"), "the line is cleared in the end"
    assert sys.stderr is screen


def test_a_copy_of_the_process_says_nothing_nor_a_part_that_somebody_else_tells_of(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with stage("work"):
        clock.now += 9
        with unshown(), stage("a part"):
            tick()
        child = os.fork()
        if not child:
            child_limit()
            tick()
            os._exit(len(capsys.readouterr().err))
        assert os.waitpid(child, 0)[1] == 0
        assert not capsys.readouterr().err
        tick()
    assert capsys.readouterr().err.startswith("work: 9 s")


# What takes long


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything be told at once."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "APART", 0.0)


@pytest.fixture(params=["rows.csv", "rows.csv.gz", "rows.parquet"])
def streamed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> jostle.Table:
    monkeypatch.setattr(readers, "CHUNK_BYTES", 1 << 12)
    rows = np.random.default_rng(1).integers(0, 2, (5000, 2))
    frame, path = pd.DataFrame(np.array(["n", "o"])[rows], columns=["a", "label"]), tmp_path / request.param
    _ = frame.to_parquet(path, row_group_size=500) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    codes = jostle.Categorical(["n", "o"])
    return jostle.Table.read(path, jostle.Schema({"a": codes, "label": codes}, label="label"), stream=True)


@pytest.mark.usefixtures("told")
def test_what_is_read_from_a_file_is_told_as_a_share_of_it_and_in_no_trace(
    streamed: jostle.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = jostle.Trace()
    db = jostle.protect(streamed, epsilon=2, trace=trace)
    capsys.readouterr()
    jostle.options.get("NaiveBayes")(db, epsilon=1)

    said = capsys.readouterr().err
    assert any("NaiveBayes: reading rows." in line and "%" in line for line in said.splitlines())
    assert "5000" not in said
    assert not any("reading" in str(record) for record in trace.records)


MAIN = "from classification import Majority, NaiveBayes\n\ndef main(db):\n    return NaiveBayes(db)\n"
MAKER = 'choice = MkChoiceMaker among {Majority, NaiveBayes} trained on public("public")\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, private rows and public databases; commands run in it."""
    (tmp_path / "public").mkdir()
    for each in tables(3).tables:
        each.columns.to_pandas().to_csv(tmp_path / "public" / f"{each.name}.csv.gz", index=False)
    write_rows(tmp_path)
    (tmp_path / "main.jst").write_text(MAIN)
    (tmp_path / "maker.jst").write_text(MAIN + MAKER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "run main.jst --data rows.csv --schema rows.toml --epsilon 1 --json": "main.jst: NaiveBayes: ",
    "audit PTT --samples 400 --json": "running PTT: ",
}
SLOW = {
    "train maker.jst --public public --repeats 2 --workers 1 --json": "rehearsing on public databases: 100%",
    "evaluate maker.jst --public public --databases public --epsilon 1 --trials 2 --workers 1 --json -": (
        "evaluating choice: 50%"
    ),
}


@pytest.mark.usefixtures("told", "folder")
@pytest.mark.parametrize("commands", [COMMANDS, pytest.param(SLOW, marks=pytest.mark.slow)], ids=["short", "long"])
def test_commands_say_how_far_they_are_and_print_clean_json(
    commands: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, said in commands.items():
        done = ran(monkeypatch, capsys, *words.split())

        assert done.status == 0, done.err
        assert any(line.startswith(said) for line in done.err.splitlines()), done.err
        assert json.loads(done.out)
