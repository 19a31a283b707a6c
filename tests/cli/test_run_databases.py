"""`jostle run` on the rows of a query."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from run_here import Run
from some_databases import PASSWORD, in_postgres, in_sqlite

import jostle
from jostle.privacy.vault import FileVault

QUERY = ("--query", "SELECT who, ill FROM t", "--schema", "visits.toml", "--epsilon", "4000", "--json")


@pytest.fixture
def run(command: Run, tmp_path: Path) -> Run:
    """Return what runs a command in a folder with a schema of visits, and a program that counts them."""
    jostle.Schema({"ill": jostle.Categorical(["no", "yes"])}).write(tmp_path / "visits.toml")
    (tmp_path / "count.jst").write_text(
        'def answer(db):\n    return noisyCount(select count() from db where ill == "yes")\n'
    )
    return command


def test_a_file_s_vault_lies_beside_it(run: Run) -> None:
    in_sqlite(Path("visits.db"), ["who", "ill"], [(1, "yes"), (1, "yes"), (2, "no")])
    done = run("run", "count.jst", "--data", "sqlite:///visits.db", *QUERY)
    assert done.status == 0, done.out + done.err
    assert json.loads(done.out)["answer"] == 2
    assert FileVault("visits.db.vault").account().spent == Fraction(4000)


def test_a_server_s_vault_is_named(run: Run, postgres: str) -> None:
    in_postgres(postgres, "DROP TABLE IF EXISTS t CASCADE", "CREATE TABLE t AS SELECT 1 AS who, 'yes' AS ill")
    refused = run("run", "count.jst", "--data", postgres, *QUERY)
    assert "nobody said where what is spent is remembered" in refused.out
    done = run("run", "count.jst", "--data", postgres, *QUERY, "--vault", "ward.vault", "--trace", "trace.jsonl")
    assert done.status == 0, done.out + done.err
    assert json.loads(done.out)["answer"] == 1
    assert FileVault("ward.vault").account().spent == Fraction(4000)
    told = [refused.out, refused.err, done.out, done.err, Path("trace.jsonl").read_text()]
    assert PASSWORD not in "".join([*told, Path("ward.vault").read_bytes().decode(errors="replace")])


def test_what_does_not_go_together_is_refused(run: Run) -> None:
    in_sqlite(Path("visits.db"), ["who", "ill"], [(1, "yes")])
    Path("visits.csv").write_text("who,ill\n1,yes\n")
    schema = ("--schema", "visits.toml", "--epsilon", "1", "--json")
    data = ("--data", "sqlite:///visits.db")
    assert "nothing is asked of the database" in run("run", "count.jst", *data, *schema).out
    assert "--query is asked of a database" in run("run", "count.jst", "--data", "visits.csv", *QUERY).out
    assert "there is no file none.db" in run("run", "count.jst", "--data", "sqlite:///none.db", *QUERY).out
    joined = ("--query", "SELECT t.ill FROM t JOIN t AS u ON t.who = u.who")
    assert "--each-of-one" in run("run", "count.jst", *data, *joined, *schema).out
    assert run("run", "count.jst", *data, *joined, *schema, "--each-of-one").status == 0
