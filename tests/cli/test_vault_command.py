"""`jostle vault`: a promise made, looked at, raised and copied, by people and by programs."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from run_here import Done, Run

import jostle
from jostle.errors import BudgetError
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault

SCHEMA = jostle.Schema({"smokes": jostle.Categorical(["no", "yes"])}, neighbours="replace_one")


@pytest.fixture
def vault(tmp_path: Path) -> str:
    return str(tmp_path / "survey.vault")


def as_json(done: Done, status: int = 0) -> Any:
    assert done.status == status, done
    return json.loads(done.out)


def test_a_promise_is_made_spent_from_raised_and_looked_at(command: Run, vault: str, tmp_path: Path) -> None:
    SCHEMA.write(tmp_path / "schema.toml")
    made = command("vault", "create", vault, "--epsilon", "0.5", "--schema", tmp_path / "schema.toml", "--json")
    (account,) = as_json(made)["accounts"]
    assert (account["promise"], account["left"], account["neighbours"]) == ("1/2", "1/2", "replace_one")
    assert [each["columns"] for each in account["tables"]] == [["smokes"]]
    table = jostle.Table.from_frame(pd.DataFrame({"smokes": ["no", "yes"]}), SCHEMA)
    db = jostle.protect(table, vault=vault)
    db.count("0.5", site="people")
    with pytest.raises(BudgetError) as refusal:
        jostle.protect(table, epsilon=1, vault=vault)
    assert "jostle vault raise" in str(refusal.value)

    raised = command("vault", "raise", vault, "--epsilon", "3/4", "--reason", "a second wave")
    assert (raised.status, raised.out) == (0, f"{vault}: epsilon 0.75 is promised about rows now, 0.25 of it left\n")
    assert jostle.protect(table, vault=vault).left == Fraction(1, 4)
    (shown,) = as_json(command("vault", "show", vault, "--json"))["accounts"]
    assert [(each["promise"], each["reason"]) for each in shown["promises"]] == [
        ("1/2", "made before the table was opened"),
        ("3/4", "a second wave"),
    ]
    assert (shown["spent"], shown["left"]) == ("1/2", "1/4")
    said = command("vault", "show", vault).out
    assert "epsilon 0.5 of 0.75 spent, 0.25 left; a promise about rows, under replace_one" in said
    assert "a second wave" in said
    assert "table 1, about rows: smokes" in said
    assert as_json(command("ledger", "show", "--vault", vault, "--json"))["accounts"][0]["promise"] == "3/4"


def test_a_vault_is_copied_and_the_copy_says_the_same(command: Run, vault: str, tmp_path: Path) -> None:
    assert command("vault", "create", vault, "--epsilon", "1").status == 0
    FileVault(vault).open(None, TableFacts(("a",)))
    copy = str(tmp_path / "copy.vault")
    assert as_json(command("vault", "backup", vault, copy, "--json"))["vault"] == copy
    again = command("vault", "backup", vault, copy)
    assert (again.status, "there is a file" in again.err) == (1, True)
    assert FileVault(copy).account() == FileVault(vault).account()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["create", "V", "--epsilon", "1"], 1, "there is a vault"),
        (["create", "N", "--epsilon", "abc"], 1, "epsilon is 'abc', not a number"),
        (["create", "N", "--epsilon", "1e900000"], 1, "too many digits"),
        (["create", "N", "--epsilon", "-1"], 1, "must be above 0"),
        (["create", "N", "--epsilon", "1", "--neighbours", "friends"], 1, "neighbours = add_remove or replace_one"),
        (["create", "N", "--epsilon", "1", "--schema", "N"], 1, "cannot read the schema"),
        (["create", "N", "--epsilon", "1", "--schema", "S", "--neighbours", "add_remove"], 1, "says replace_one"),
        (["create", "N"], 2, "--epsilon"),
        (["raise", "V", "--epsilon", "0.5", "--reason", "less"], 1, "is epsilon 1 already"),
        (["raise", "V", "--epsilon", "2", "--reason", " "], 1, "no reason"),
        (["raise", "V", "--epsilon", "2"], 2, "--reason"),
        (["raise", "N", "--epsilon", "2", "--reason", "more"], 1, "there is no vault"),
        (["show", "N"], 1, "jostle vault create"),
        (["show", "S"], 1, "too short a file to be a vault"),
        (["backup", "N", "M"], 1, "there is no vault"),
    ],
)
def test_mistakes_end_in_a_sentence_and_a_status(
    command: Run, vault: str, tmp_path: Path, words: list[str], status: int, said: str
) -> None:
    FileVault(vault).create(Fraction(1), TableFacts())
    SCHEMA.write(tmp_path / "schema.toml")
    places = {"V": vault, "N": str(tmp_path / "new"), "M": str(tmp_path / "newer"), "S": str(tmp_path / "schema.toml")}
    done = command("vault", *(places.get(word, word) for word in words))

    assert (done.status, said in done.err, "Traceback" in done.err) == (status, True, False), done
    assert not (tmp_path / "new").exists()


def test_what_is_refused_is_json_with_its_amounts(command: Run, vault: str, tmp_path: Path) -> None:
    FileVault(vault).create(Fraction(1, 3), TableFacts())
    (tmp_path / "rows.csv").write_text("smokes\nno\nyes\n", "utf-8")
    SCHEMA.with_neighbours("add_remove").write(tmp_path / "schema.toml")
    (tmp_path / "count.jst").write_text("def main(db):\n    return {{ len(db) }} spending 100%\n", "utf-8")
    words = ["run", str(tmp_path / "count.jst"), "--data", str(tmp_path / "rows.csv"), "--vault", vault, "--json"]
    done = command(*words, "--schema", str(tmp_path / "schema.toml"), "--epsilon", "1/2")
    error = as_json(done, status=3)["error"]

    assert (error["requested"], error["left"], error["promise"]) == ("1/2", "1/3", "1/3")
    assert as_json(command(*words, "--epsilon", "abc"), status=1)["error"]["title"].startswith("epsilon is 'abc'")
