"""`jostle run` on rows of persons: what the command line says of them, and what a program may count."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from run_here import Run

import jostle
from jostle.privacy.vault import FileVault

PROGRAM = """def answer(db):
    everybody = noisyCount(select persons() from db, epsilon / 4)
    some = noisyCount(select persons() from db where ill == "yes", epsilon / 4)
    both = {{ select persons() from db groupby ill }} spending 25%
    visits = {{ len(db) }} spending 25%
    return [everybody, some, both["yes"], visits]
"""
ROWS = ("--data", "visits.csv", "--schema", "visits.toml", "--epsilon", "4000", "--json")
PERSONS = ("--person", "who", "--rows-per-person", "2", "--people", "ward 7")


@pytest.fixture
def run(command: Run, tmp_path: Path) -> Run:
    """Return what runs a command in a folder with visits of three patients: one has five, one two, and one has one."""
    visits = [("1", "yes")] * 5 + [("2", "yes"), ("2.0", "no"), ("Ann", "no"), ("", "no")]
    (tmp_path / "visits.csv").write_text("who,ill\n" + "".join(f"{who},{ill}\n" for who, ill in visits))
    jostle.Schema({"ill": jostle.Categorical(["no", "yes"])}).write(tmp_path / "visits.toml")
    (tmp_path / "count.jst").write_text(PROGRAM)
    return command


def test_persons_are_named_beside_the_schema(run: Run) -> None:
    done = run("run", "count.jst", *ROWS, *PERSONS, "--vault", "ward.vault")
    assert done.status == 0, done.err
    assert json.loads(done.out)["answer"] == [3, 2, 2, 5]
    assert "3 rows of 1 person are beyond 2, and left out" in done.err
    assert "'who' in 1" in done.err
    assert FileVault("ward.vault").account().spent == Fraction(4000)


def test_a_price_is_of_persons(run: Run) -> None:
    """A program's own numbers are those of whoever runs it: 3/5 for a person, whatever m is."""
    Path("count.jst").write_text("def answer(db):\n    return noisyCount(db, 0.6)\n")
    words = ("--data", "visits.csv", "--schema", "visits.toml", "--no-vault", "--json", *PERSONS)
    assert "at most 3/5" in run("check", "count.jst").out
    assert json.loads(run("run", "count.jst", *words, "--epsilon", "0.6").out)["spent"] == "3/5"
    refused = run("run", "count.jst", *words, "--epsilon", "0.5")
    assert "may spend epsilon 0.6, and 0.5 is promised" in refused.out


def test_a_program_that_counts_persons_is_refused_where_there_are_none(run: Run) -> None:
    assert "`persons` of a table without persons" in run("run", "count.jst", *ROWS).out
    assert "has no column 'whom'" in run("run", "count.jst", *ROWS, "--person", "whom").out
    assert "rows_per_person is said of no persons" in run("run", "count.jst", *ROWS, "--rows-per-person", "2").out
