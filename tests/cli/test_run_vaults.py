"""`jostle run` remembers what was spent beside the data, and says so; what has a vault is private to every command."""

from __future__ import annotations

import json
import shutil
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from run_here import Run
from small_tables import SCHEMA

from jostle import Categorical, Numeric, Schema
from jostle.cli.run import vault_of
from jostle.errors import ChoiceError
from jostle.privacy.vault import FileVault

HALF = "def answer(db):\n    n = {{ len(db) }} spending 50%\n    return n\n"
ROWS = ("--data", "rows.csv", "--schema", "rows.toml")


@pytest.fixture
def run(command: Run, tmp_path: Path) -> Run:
    """Return what runs a command in a folder with private rows and a program that spends half of its epsilon."""
    (tmp_path / "half.jst").write_text(HALF)
    (tmp_path / "all.jst").write_text("def answer(db):\n    return {{ len(db) }}\n")
    return command


def spent(vault: str = "rows.csv.vault") -> tuple[Fraction, int]:
    account = FileVault(vault).account()
    return account.spent, int(account.promise)


def test_a_run_makes_a_vault_beside_the_data_and_says_so(run: Run, tmp_path: Path) -> None:
    done = run("run", "half.jst", *ROWS, "--epsilon", "1")
    assert done.status == 0
    left = f"0.5 of the promised 1 is left in {tmp_path / 'rows.csv.vault'}"
    assert f"epsilon 0.5 was spent, about rows; {left}\n" in done.out
    assert stat.S_IMODE((tmp_path / "rows.csv.vault").stat().st_mode) == 0o600
    assert spent() == (Fraction(1, 2), 1)


def test_all_that_is_said_of_a_run_says_that_it_is_about_persons(run: Run, tmp_path: Path) -> None:
    schema = Schema(SCHEMA.columns[1:], person=SCHEMA.names[0], rows_per_person=3)
    schema.write("rows.toml")
    whom = "about persons (at most 3 rows each)"

    assert "answer spends at most 1/2 of epsilon per person\n" in run("check", "half.jst", "--schema", "rows.toml").out
    done = run("run", "half.jst", *ROWS, "--epsilon", "1", "--report", "run.html", "--trace", "run.jsonl")
    assert done.status == 0
    assert f"a promise {whom}: at most ε = 1 under add_remove" in " ".join(done.out.split())
    assert f"epsilon 0.5 was spent, {whom}; 0.5 of the promised 1 is left" in done.out
    assert f"ε = 1 {whom} under add_remove" in Path("run.html").read_text("utf-8")
    assert f"a promise {whom}: " in " ".join(run("trace", "show", "run.jsonl").out.split())
    assert json.loads(run("run", "half.jst", *ROWS, "--json").out)["rows_per_person"] == 3


def test_the_next_run_has_what_is_left(run: Run, tmp_path: Path) -> None:
    for left in ("1/2", "1/4", "1/8"):
        facts = json.loads(run("run", "half.jst", *ROWS, "--epsilon", "1", "--json").out)
        assert (facts["left"], facts["promise"]) == (left, "1")
        assert facts["vault"] == str(tmp_path / "rows.csv.vault")
        assert facts["spent"] == left  # half of what there was
    done = run("run", "half.jst", *ROWS, "--epsilon", "1")
    assert "epsilon 0.0625 was spent of 0.125 that could be, about rows; 0.0625 of the promised 1 is left" in done.out
    assert run("run", "half.jst", *ROWS).status == 0  # of what is left, whatever was promised
    assert run("run", "half.jst", *ROWS, "--epsilon", "0.001").status == 0
    assert spent()[0] == Fraction(31, 32) + Fraction(1, 2000)


def test_what_is_used_up_is_refused_until_the_promise_is_raised(run: Run) -> None:
    assert run("run", "all.jst", *ROWS, "--epsilon", "1").status == 0
    for words in (("--epsilon", "1"), ("--epsilon", "2"), ("--epsilon", "0.1"), ()):
        refused = run("run", "all.jst", *ROWS, *words)
        assert refused.status == 3
        assert "jostle vault raise" in refused.err
    assert run("vault", "raise", "rows.csv.vault", "--epsilon", "2", "--reason", "a second year").status == 0
    assert run("run", "all.jst", *ROWS, "--epsilon", "2").status == 0
    assert spent() == (Fraction(2), 2)


def test_nothing_is_remembered_where_that_is_asked_for(run: Run, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    for _ in range(2):
        done = run("run", "all.jst", *ROWS, "--epsilon", "1", "--no-vault")
        assert done.status == 0
        assert "epsilon 1 was spent, about rows; no vault remembers it\n" in done.out
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "jostle-home") == before
    facts = json.loads(run("run", "all.jst", *ROWS, "--epsilon", "1", "--no-vault", "--json").out)
    assert (facts["vault"], facts["left"], facts["spent"]) == (None, None, "1")


def test_a_vault_may_be_elsewhere(run: Run, tmp_path: Path) -> None:
    assert run("run", "half.jst", *ROWS, "--epsilon", "1", "--vault", "v").status == 0
    assert spent("v") == (Fraction(1, 2), 1)
    assert not (tmp_path / "rows.csv.vault").exists()


@pytest.mark.parametrize("elsewhere", [("--vault", "other"), ("--no-vault",)])
def test_beside_a_vault_another_promise_is_made_with_a_reason_alone(run: Run, tmp_path: Path, elsewhere: Any) -> None:
    """Five would be given away about people who were promised two, and nothing said so."""
    assert run("run", "all.jst", *ROWS, "--epsilon", "2").status == 0
    before = sorted(path.name for path in tmp_path.iterdir())
    refused = run("run", "all.jst", *ROWS, "--epsilon", "5", *elsewhere)
    assert refused.status == 3
    assert "rows.csv.vault" in refused.err
    assert "--a-second-promise" in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before

    asked = (*ROWS, "--epsilon", "5", *elsewhere, "--a-second-promise", "a study of its own")
    assert run("run", "all.jst", *asked).status == 0
    where = f"in {tmp_path / 'other'}" if "other" in elsewhere else "in no vault"
    said = f"a second promise about rows, epsilon 5, is kept {where}: a study of its own"
    for words in (("vault", "show", "rows.csv.vault"), ("ledger", "show", "--vault", "rows.csv.vault")):
        assert said in run(*words).out
        assert json.loads(run(*words, "--json").out)["accounts"][0]["promises"][-1]["reason"] == said
    if "other" in elsewhere:
        assert f"beside that in {tmp_path / 'rows.csv.vault'}: a study of its own" in run("vault", "show", "other").out
    assert list(spent()) == [2, 2]


def test_several_vaults_are_shown_one_after_the_other(run: Run) -> None:
    for name, epsilon in (("one", "1"), ("other", "2")):
        assert run("vault", "create", name, "--epsilon", epsilon).status == 0
    assert run("run", "half.jst", *ROWS, "--vault", "one").status == 0
    shown = run("ledger", "show", "--vault", "one", "--vault", "other")
    assert shown.out.index("one: epsilon 0.5 of 1 spent") < shown.out.index("other: epsilon 0 of 2 spent")
    facts = json.loads(run("ledger", "show", "--vault", "one", "--vault", "other", "--json").out)
    assert [(each["vault"], each["accounts"][0]["left"]) for each in facts["vaults"]] == [
        ("one", "1/2"),
        ("other", "2"),
    ]


@pytest.mark.usefixtures("run")
def test_where_no_vault_can_be_beside_the_data_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # nobody is kept from writing who may do everything
    with pytest.raises(ChoiceError, match="no vault can be written beside") as caught:
        vault_of(Path("rows.csv"), None, no_vault=False)
    assert caught.value.fix == "--vault FILE, where it may be written, or --no-vault"
    assert vault_of(Path("rows.csv"), None, no_vault=True) is None


def test_data_with_a_vault_are_private_to_every_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "maker.jst").write_text(
        "from classifiers import Majority, NaiveBayes\n\nm = MkChoiceMaker among {Majority, NaiveBayes}\n\n"
        "def answer(db):\n    return m(db)\n"
    )
    (tmp_path / "folder").mkdir()
    shutil.move("rows.csv", "folder/rows.csv")
    rows = ("--data", "folder/rows.csv", "--schema", "rows.toml", "--epsilon", "1")
    assert run("schema", "infer", "folder/rows.csv").status == 0  # nothing says yet that it is private
    assert run("run", "half.jst", *rows).status == 0
    commands: list[tuple[str, ...]] = [
        ("schema", "infer", "folder/rows.csv"),
        ("train", "maker.jst", "--corpus", "folder"),
        ("evaluate", "maker.jst", "--databases", "folder", "--epsilon", "1"),
        ("train", "maker.jst", "--public", "folder"),
        ("evaluate", "maker.jst", "--databases", "folder", "--epsilon", "1", "--public", "folder"),
        ("run", "half.jst", "--public", "folder"),
        ("run", "half.jst", "--public", "folder/rows.csv"),
    ]
    for words in commands:
        refused = run(*words)
        assert (refused.status, refused.out) == (1, ""), words
        assert "rows.csv' is private" in refused.err, words
        assert "rows.csv.vault" in refused.err


# Tables about the same people

PATIENTS = Schema({"age": Numeric(0, 100, bins=5)}, person="pid", rows_per_person=1, people="ward 7")
VISITS = Schema({"ill": Categorical(["no", "yes"])}, person="pid", rows_per_person=16, people="ward 7")


@pytest.fixture
def ward(run: Run, tmp_path: Path) -> Run:
    """Return what runs a command in a folder with two files about the same people."""
    (tmp_path / "patients.csv").write_text("pid,age\n1,30\n2,40\n")
    (tmp_path / "visits.csv").write_text("pid,ill\n1,no\n1,yes\n2,no\n")
    PATIENTS.write(tmp_path / "patients.toml")
    VISITS.write(tmp_path / "visits.toml")
    return run


def asking(name: str, *more: str) -> tuple[str, ...]:
    return ("run", "half.jst", "--data", f"{name}.csv", "--schema", f"{name}.toml", *more)


def test_files_about_the_same_people_share_the_vault_that_one_of_them_names(ward: Run, tmp_path: Path) -> None:
    refused = ward(*asking("patients", "--epsilon", "1"))
    assert refused.status == 3
    assert "'ward 7' would be kept beside patients.csv alone" in refused.err
    assert "--vault FILE, one for all tables about these people" in refused.err
    assert not list(tmp_path.glob("*.vault"))

    assert ward(*asking("patients", "--epsilon", "1", "--vault", "ward7.vault")).status == 0
    facts = json.loads(ward(*asking("visits", "--json")).out)  # found in the folder, by its people
    assert (facts["spent"], facts["left"], facts["vault"]) == ("1/4", "1/4", str(tmp_path / "ward7.vault"))
    assert ward(*asking("patients", "--epsilon", "2")).status == 3

    shown = ward("ledger", "show", "--vault", "ward7.vault").out
    assert "ward7.vault, ward 7: epsilon 0.75 of 1 spent, 0.25 left; a promise about persons" in shown
    assert [line.split()[2:4] for line in shown.splitlines()[2:]] == [
        ["patients.csv", "answer"],
        ["visits.csv", "answer"],
    ]
    shown = ward("vault", "show", "ward7.vault").out
    assert "patients.csv, about persons (at most 1 row each), by pid: age" in shown
    assert "visits.csv, about persons (at most 16 rows each), by pid: ill" in shown
    (account,) = json.loads(ward("vault", "show", "ward7.vault", "--json").out)["accounts"]
    assert [each["rows_per_person"] for each in account["tables"]] == [1, 16]


def test_what_was_spent_about_rows_is_told_where_persons_are_promised_something(ward: Run, tmp_path: Path) -> None:
    Schema(VISITS.columns).write(tmp_path / "rows.toml")
    rows = ("run", "half.jst", "--data", "visits.csv", "--schema", "rows.toml", "--vault", "v", "--epsilon", "1")
    assert ward(*rows).status == 0
    persons = asking("visits", "--vault", "v")
    refused = ward(*persons)
    assert refused.status == 3
    assert "epsilon 0.5 in" in refused.err
    assert "was spent about rows, and covers no persons" in refused.err
    assert ward(*persons, "--a-second-promise", "persons from now on").status == 0
    for words in (("vault", "show", "v"), ("ledger", "show", "--vault", "v")):
        shown = ward(*words).out
        assert "epsilon 0.5 of it was spent about rows, and covers no persons" in shown
        assert "persons from now on" in shown
    assert ward(*rows).status == 1


def test_several_populations_are_made_shown_and_raised_by_name(ward: Run) -> None:
    for people in ("ward 7", "ward 8"):
        assert ward("vault", "create", "v", "--epsilon", "1", "--people", people).status == 0
    for words, status, said in (
        (("create", "v", "--epsilon", "1", "--people", "ward 7"), 1, "there is a vault"),
        (("create", "v", "--epsilon", "1"), 1, "there is a vault"),
        (("create", "w", "--epsilon", "1", "--people", " "), 1, "the people have no name"),
        (("create", "w", "--epsilon", "1", "--people", "ward 8", "--schema", "visits.toml"), 1, "leave --people out"),
        (("raise", "v", "--epsilon", "2", "--reason", "more"), 1, "holds promises for 'ward 7', 'ward 8'"),
        (("raise", "v", "--epsilon", "2", "--reason", "more", "--people", "ward 8"), 0, ""),
    ):
        done = ward("vault", *words)
        assert (done.status, said in done.err) == (status, True), done
    shown = ward("vault", "show", "v").out
    assert shown.index("v, ward 7: epsilon 0 of 1") < shown.index("v, ward 8: epsilon 0 of 2")
