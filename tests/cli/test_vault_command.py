"""`jostle vault`: a promise made, looked at, raised and copied, by people and by programs."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import jostle
from jostle.cli import main
from jostle.errors import BudgetError
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault

SCHEMA = jostle.Schema({"smokes": jostle.Categorical(["no", "yes"])}, neighbours="replace_one")


@pytest.fixture
def vault(tmp_path: Path) -> str:
    return str(tmp_path / "survey.vault")


@pytest.fixture
def jostle_(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what runs a command in this process: its exit status, and what it said on both streams."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["jostle", *words])
        with pytest.raises(SystemExit) as ending:
            main()
        said = capsys.readouterr()
        return int(ending.value.code or 0), said.out, said.err

    return run


def as_json(done: tuple[int, str, str], status: int = 0) -> Any:
    assert done[0] == status, done
    return json.loads(done[1])


def test_a_promise_is_made_spent_from_raised_and_looked_at(jostle_: Any, vault: str, tmp_path: Path) -> None:
    SCHEMA.write(tmp_path / "schema.toml")
    made = jostle_("vault", "create", vault, "--epsilon", "0.5", "--schema", str(tmp_path / "schema.toml"), "--json")
    facts = as_json(made)
    (account,) = facts["accounts"]
    assert (account["promise"], account["left"], account["neighbours"]) == ("1/2", "1/2", "replace_one")
    assert [each["columns"] for each in account["tables"]] == [["smokes"]]
    table = jostle.Table.from_frame(pd.DataFrame({"smokes": ["no", "yes"]}), SCHEMA)
    db = jostle.protect(table, vault=vault)
    db.count("0.5", site="people")
    with pytest.raises(BudgetError) as refusal:
        jostle.protect(table, epsilon=1, vault=vault)
    assert "jostle vault raise" in str(refusal.value)

    status, said, _ = jostle_("vault", "raise", vault, "--epsilon", "3/4", "--reason", "a second wave")
    assert (status, said) == (0, f"{vault}: epsilon 0.75 is promised about rows now, 0.25 of it left\n")
    assert jostle.protect(table, vault=vault).left == Fraction(1, 4)
    (shown,) = as_json(jostle_("vault", "show", vault, "--json"))["accounts"]
    assert [(each["promise"], each["reason"]) for each in shown["promises"]] == [
        ("1/2", "made before the table was opened"),
        ("3/4", "a second wave"),
    ]
    assert (shown["spent"], shown["left"]) == ("1/2", "1/4")
    status, said, _ = jostle_("vault", "show", vault)
    assert "epsilon 0.5 of 0.75 spent, 0.25 left; a promise about rows, under replace_one" in said
    assert "a second wave" in said
    assert "table 1, about rows: smokes" in said
    assert as_json(jostle_("ledger", "show", "--vault", vault, "--json"))["accounts"][0]["promise"] == "3/4"


def test_a_vault_is_copied_and_the_copy_says_the_same(jostle_: Any, vault: str, tmp_path: Path) -> None:
    assert jostle_("vault", "create", vault, "--epsilon", "1")[0] == 0
    FileVault(vault).open(None, TableFacts(("a",)))
    copy = str(tmp_path / "copy.vault")
    assert as_json(jostle_("vault", "backup", vault, copy, "--json"))["vault"] == copy
    status, _, said = jostle_("vault", "backup", vault, copy)
    assert status == 1
    assert "there is a file" in said
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
    jostle_: Any, vault: str, tmp_path: Path, words: list[str], status: int, said: str
) -> None:
    FileVault(vault).create(Fraction(1), TableFacts())
    SCHEMA.write(tmp_path / "schema.toml")
    places = {"V": vault, "N": str(tmp_path / "new"), "M": str(tmp_path / "newer"), "S": str(tmp_path / "schema.toml")}
    ended, _, wrong = jostle_("vault", *(places.get(word, word) for word in words))

    assert (ended, said in wrong) == (status, True), wrong
    assert "Traceback" not in wrong
    assert not (tmp_path / "new").exists()


def test_what_is_refused_is_json_with_its_amounts(jostle_: Any, vault: str, tmp_path: Path) -> None:
    FileVault(vault).create(Fraction(1, 3), TableFacts())
    (tmp_path / "rows.csv").write_text("smokes\nno\nyes\n", "utf-8")
    SCHEMA.with_neighbours("add_remove").write(tmp_path / "schema.toml")
    (tmp_path / "count.jst").write_text("def main(db):\n    return {{ len(db) }} spending 100%\n", "utf-8")
    words = ["run", str(tmp_path / "count.jst"), "--data", str(tmp_path / "rows.csv"), "--vault", vault, "--json"]
    done = jostle_(*words, "--schema", str(tmp_path / "schema.toml"), "--epsilon", "1/2")
    error = as_json(done, status=3)["error"]

    assert (error["requested"], error["left"], error["promise"]) == ("1/2", "1/3", "1/3")
    assert as_json(jostle_(*words, "--epsilon", "abc"), status=1)["error"]["title"].startswith("epsilon is 'abc'")
