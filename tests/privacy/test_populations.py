"""Tables about the same people share one promise, wherever they come from; two promises about them need a reason."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from processes import LIMIT, ran, started

import jostle
from jostle import Categorical, Numeric, Probe, Schema, Table
from jostle.errors import BudgetError, JostleError, VaultError
from jostle.privacy import opening
from jostle.privacy.account import Account, TableFacts, about
from jostle.privacy.vault import FileVault, MemoryVault

TENTH = Fraction(1, 10)
WARD: dict[str, Any] = {"person": "pid", "people": "ward 7"}
PATIENTS = Schema({"age": Numeric(0, 100, bins=5)}, **WARD, rows_per_person=1)
VISITS = Schema({"diagnosis": Categorical(["a", "b"]), "days": Numeric(0, 50, bins=5)}, **WARD)
ROWS = Schema({"diagnosis": Categorical(["a", "b"])})
PEOPLE = pd.DataFrame({"pid": range(8), "age": range(20, 100, 10)})
STAYS = pd.DataFrame({"pid": [0, 0, 1, 2, 2, 2], "diagnosis": list("abbaba"), "days": [1, 2, 3, 4, 5, 6]})


@pytest.fixture(autouse=True)
def _in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    as_another_process(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ward7.vault"


def as_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_registry", opening.Registry())


def opened(frame: pd.DataFrame, schema: Schema, **how: Any) -> Probe:
    """Return a probe on rows."""
    return jostle.protect(Table.from_frame(frame, schema), **how)


def facts(people: str | None = "ward 7", columns: tuple[str, ...] = ("a",), most: int | None = 16) -> TableFacts:
    """Return what an account is told of a table; of rows, where persons have no number of rows."""
    return TableFacts(columns, person=None if most is None else "pid", rows_per_person=most, people=people)


# One promise


@pytest.mark.parametrize("kept", [True, False])
def test_two_tables_of_one_population_share_a_promise_whatever_their_columns(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    vault = {"vault": path} if kept else {}
    opened(PEOPLE, PATIENTS, epsilon=1, **vault).count("0.3")
    if kept:
        as_another_process(monkeypatch)
    visits = opened(STAYS, VISITS, **vault)
    assert visits.left == Fraction("0.7")
    visits.count("0.6")
    with pytest.raises(BudgetError, match=r"0\.1 is left in .* for 'ward 7'"):
        opened(PEOPLE, PATIENTS, epsilon=2, **vault)
    opened(PEOPLE, PATIENTS).count("0.1")  # the vault is known by now
    for frame, schema in ((PEOPLE, PATIENTS), (STAYS, VISITS)):
        with pytest.raises(BudgetError, match="0 is left"):
            opened(frame, schema)


READ = """
import sys
import jostle
table = jostle.Table.read(sys.argv[1], sys.argv[2])
db = jostle.protect(table, epsilon=1, vault=sys.argv[3])
db.count("0.2", site="asked")
print(db.left)
"""


@pytest.mark.slow
def test_they_share_it_across_processes_formats_and_columns_and_each_charge_says_of_which_table(
    tmp_path: Path, path: Path
) -> None:
    PEOPLE.to_csv(tmp_path / "patients.csv", index=False)
    STAYS.to_parquet(tmp_path / "visits.parquet")
    STAYS.to_csv(tmp_path / "visits.csv", index=False)
    PATIENTS.write(tmp_path / "patients.toml")
    VISITS.write(tmp_path / "visits.toml")
    names = ["patients.csv", "visits.parquet", "visits.csv"]
    for name, left in zip(names, ("4/5", "3/5"), strict=False):
        done = ran("-c", READ, tmp_path / name, tmp_path / f"{name.split('.')[0]}.toml", path)
        assert (done.returncode, done.stdout.strip()) == (0, left), done.stderr
    jostle.protect(Table.read(tmp_path / names[-1], VISITS), vault=path).count("0.2")

    held = FileVault(path).statement("ward 7")
    assert [each.name for each in held.tables] == names
    assert [(each.facts.rows_per_person, each.facts.person) for each in held.tables] == [
        (1, "pid"),
        (16, "pid"),
        (16, "pid"),
    ]
    assert [each.spent for each in held.tables] == [Fraction(1, 5)] * 3
    assert [line.table for line in held.reservations] == [each.number for each in held.tables]
    assert held.account.about == "about persons (at most 1 or 16 rows each, by table)"


SPENDING = """
import sys
from fractions import Fraction
from jostle.errors import BudgetError
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
vault, people, columns, most = FileVault(sys.argv[1]), sys.argv[2], (sys.argv[3],), int(sys.argv[4])
table = TableFacts(columns, person="pid", rows_per_person=most, people=people)
sys.stdin.readline()
payer = vault.open(Fraction(1), table)
print(payer.key.hex(), flush=True)
sys.stdin.readline()
try:
    while True:
        payer.pay(Fraction(1, 40), "here")
        print("paid", flush=True)
except BudgetError:
    pass
"""


@pytest.mark.slow
def test_processes_that_make_accounts_at_once_agree_on_one_for_each_population_and_overspend_none(path: Path) -> None:
    tables = [(f"ward {7 + number % 2}", "abc"[number // 2], 1 + number) for number in range(4)]
    with ExitStack() as all_of_them:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        spenders = [all_of_them.enter_context(started("-c", SPENDING, path, *words, **pipes)) for words in tables]
        for each in spenders:
            each.stdin.write("open\n")  # type: ignore[union-attr]
            each.stdin.flush()  # type: ignore[union-attr]
        keys = [each.stdout.readline().strip() for each in spenders]  # type: ignore[union-attr]
        paid = [each.communicate("spend\n", timeout=LIMIT)[0].count("paid") for each in spenders]
    held = {each.account.people: each for each in FileVault(path).statements()}
    assert held.keys() == {"ward 7", "ward 8"}
    for people, statement in held.items():
        own = [number for number, (whose, *_) in enumerate(tables) if whose == people]
        assert {keys[number] for number in own} == {statement.key.hex()}
        assert sum(paid[number] for number in own) == len(statement.reservations) == 40
        assert statement.account.spent == statement.account.promise == 1


def test_a_key_is_made_with_the_account_and_never_drawn_again(path: Path) -> None:
    for vault in (MemoryVault(), FileVault(path)):
        first = vault.open(Fraction(1), facts())
        again = vault.open(None, facts(columns=("b",), most=4))
        assert first.key == again.key
        assert len(first.key) == 32
        assert (first.rows_per_person, again.rows_per_person) == (16, 4)
    FileVault(path).raise_promise(Fraction(2), "more")
    copy = FileVault(path).backup(path.with_name("copy"))
    keys = [FileVault(where).open(None, facts()).key for where in (path, copy)]
    assert set(keys) == {again.key}
    other = FileVault(path).open(Fraction(1), facts("ward 8"))
    assert len({other.key, first.key, MemoryVault().open(Fraction(1), facts()).key, again.key}) == 4 - (
        first.key == again.key
    )


def test_what_is_about_rows_has_one_row_of_each() -> None:
    payer = MemoryVault().open(Fraction(1), facts(None, most=None))
    assert (payer.rows_per_person, payer.table.about) == (1, "about rows")
    assert about(()) == "about persons"
    assert about((1,)) == "about persons (at most 1 row each)"


# Whom it is about


def both(path: Path) -> list[MemoryVault | FileVault]:
    return [MemoryVault(), FileVault(path)]


def test_rows_are_never_charged_to_a_promise_about_persons(path: Path) -> None:
    for vault in both(path):
        vault.open(Fraction(1), facts()).pay(TENTH, "visits")
        with pytest.raises(VaultError, match=r"about persons .*does not say whose rows") as refusal:
            vault.open(None, facts(None, most=None))
        assert 'person="patient_id"' in (refusal.value.fix or "")


@pytest.mark.parametrize("people", ["ward 7", None])
def test_what_was_spent_about_rows_covers_no_persons(path: Path, people: str | None) -> None:
    for vault in both(path):
        rows = vault.open(Fraction(1), facts(None, most=None))
        rows.pay(3 * TENTH, "before")
        with pytest.raises(BudgetError, match=r"epsilon 0\.3 in .* was spent about rows, and covers no persons") as no:
            vault.open(None, facts(people))
        assert "second_promise=" in (no.value.fix or "")

        persons = vault.open(None, facts(people), "persons are protected from now on")
        assert persons.share == 7 * TENTH
        persons.pay(TENTH, "after")
        with pytest.raises(VaultError, match="does not say whose"):
            rows.pay(TENTH, "of one that was opened before")
        vault.open(None, facts(people))  # once is enough
        account = vault.account_of(facts(people))
        assert account == Account(Fraction(1), 4 * TENTH, "add_remove", people, (16,), 3 * TENTH)
    assert FileVault(path).statement().promises[-1].reason == (
        "about persons (at most 16 rows each) from here on; epsilon 0.3 before it covers no persons: "
        "persons are protected from now on"
    )


def test_an_account_of_which_nothing_was_spent_about_rows_takes_a_population(path: Path) -> None:
    for vault in both(path):
        vault.open(Fraction(1), facts(None, most=None))
        vault.open(None, facts(None)).pay(TENTH, "persons of no population")
        payer = vault.open(None, facts())
        assert (payer.table.people, payer.share) == ("ward 7", 9 * TENTH)
        with pytest.raises((VaultError, BudgetError), match=r"keeps no promise for 'ward 8'|no epsilon is promised"):
            vault.open(None, facts("ward 8"))


def test_a_promise_that_was_made_before_there_were_data_takes_the_first_population(path: Path) -> None:
    FileVault(path).create(Fraction(1), TableFacts())
    FileVault(path).open(None, facts()).pay(TENTH, "here")
    assert [each.account.people for each in FileVault(path).statements()] == ["ward 7"]


def test_a_table_that_names_nobody_is_known_by_its_columns(path: Path) -> None:
    vault = FileVault(path)
    vault.open(Fraction(1), facts("ward 7", ("a", "b")))
    vault.open(Fraction(2), facts("ward 8", ("b", "c")))
    assert vault.open(None, facts(None, ("a", "x"))).table.people == "ward 7"
    assert vault.account_of(facts(None, ("c",))) == vault.statement("ward 8").account
    with pytest.raises(VaultError, match="several budgets of tables with columns of these names") as several:
        vault.open(Fraction(1), facts(None, ("b",)))
    assert "'ward 7' or 'ward 8'" in (several.value.why or "")
    with pytest.raises(VaultError, match="other columns"):
        vault.open(Fraction(1), facts(None, ("y",)))


def test_amounts_of_one_population_are_under_one_relation(path: Path) -> None:
    for vault in both(path):
        vault.open(Fraction(1), facts())
        with pytest.raises(VaultError, match=r"about persons .* under add_remove, not replace_one"):
            vault.open(None, TableFacts(("x",), "replace_one", "pid", 2, "ward 7"))


# A second promise


OTHERS: dict[str, Callable[[Path], Probe]] = {
    "another vault": lambda path: opened(STAYS, VISITS, epsilon=1, vault=path.with_name("other")),
    "another vault for the first table": lambda path: opened(
        PEOPLE, PATIENTS, epsilon=1, vault=path.with_name("other")
    ),
    "another population": lambda path: opened(
        PEOPLE, Schema(PATIENTS.columns, person="pid", people="ward 8"), epsilon=1, vault=path
    ),
    "another population in memory": lambda _: opened(
        PEOPLE, Schema(PATIENTS.columns, person="pid", people="ward 8"), epsilon=1
    ),
}


@pytest.mark.parametrize("how", OTHERS)
def test_people_who_were_promised_something_are_promised_nothing_else_without_a_reason(path: Path, how: str) -> None:
    opened(PEOPLE, PATIENTS, epsilon=1, vault=path).count("0.1")
    before = FileVault(path).statements()
    with pytest.raises(BudgetError, match=rf"already kept in {path} for 'ward 7'"):
        OTHERS[how](path)
    assert FileVault(path).statements() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_second_promise_about_one_population_stands_in_both_accounts(path: Path) -> None:
    other = path.with_name("other")
    opened(PEOPLE, PATIENTS, epsilon=1, vault=path)
    opened(STAYS, VISITS, epsilon=2, vault=other, second_promise="another study")
    told = "a second promise about persons (at most 16 rows each), epsilon 2, is kept in"
    assert [each.reason for each in FileVault(path).statement().promises][1:] == [f"{told} {other}: another study"]
    assert [each.reason for each in FileVault(other).statement().promises][1:] == [
        f"a second promise, beside that in {path}: another study"
    ]
    for vault in (path, other):  # named, each is found again
        opened(STAYS, VISITS, vault=vault)
    with pytest.raises(BudgetError, match="nothing says which of them pays"):
        opened(STAYS, VISITS)


def test_rows_with_an_account_of_their_own_join_a_population_with_a_reason(path: Path) -> None:
    opened(PEOPLE, PATIENTS, epsilon=1, vault=path)
    opened(STAYS, ROWS, epsilon=1).count("0.5")
    with pytest.raises(BudgetError, match="already kept in this process"):
        opened(STAYS, VISITS)
    db = opened(STAYS, VISITS, second_promise="whose rows they are was found out since")
    db.count("0.25")
    assert FileVault(path).account().spent == Fraction("0.25")
    assert FileVault(path).statement().promises[-1].reason.startswith("a second promise, beside that in this process")


def test_a_copy_of_a_vault_is_another_promise(path: Path) -> None:
    opened(PEOPLE, PATIENTS, epsilon=1, vault=path)
    copy = FileVault(path).backup(path.with_name("copy"))
    with pytest.raises(BudgetError, match="already kept in"):
        opened(PEOPLE, PATIENTS, vault=copy)
    opened(PEOPLE, PATIENTS, vault=copy, second_promise="to see what becomes of it")
    for vault in (path, copy):
        assert "to see what becomes of it" in FileVault(vault).statement().promises[-1].reason


def test_an_account_of_its_own_in_the_vault_of_its_people_is_another_promise(path: Path) -> None:
    """And so it is where another process made theirs, and under other names of columns."""
    opened(STAYS, ROWS, epsilon=1, vault=path).count("0.5")
    FileVault(path).create(Fraction(1), facts("ward 7", ("age",)))
    with pytest.raises(BudgetError, match=f"already kept in {path}"):
        opened(STAYS, VISITS, vault=path)
    assert FileVault(path).statement("ward 7").account.spent == 0
    renamed = Schema({"kind": Categorical(["a", "b"])}, person="pid", people="ward 9")
    with pytest.raises(BudgetError, match=f"already kept in {path}"):
        opened(STAYS.rename(columns={"diagnosis": "kind"})[["pid", "kind"]], renamed, epsilon=1, vault=path)
    opened(STAYS, VISITS, vault=path, second_promise="whose rows they are was found out since").count("0.25")
    assert FileVault(path).statement("ward 7").account.spent == Fraction("0.25")


def test_a_link_beside_the_data_leads_to_the_vault_of_their_people(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PEOPLE.to_csv(tmp_path / "patients.csv", index=False)
    opened(STAYS, VISITS, epsilon=1, vault=path).count("0.25")
    as_another_process(monkeypatch)
    (tmp_path / "patients.csv.vault").symlink_to(path)
    read = Table.read(tmp_path / "patients.csv", PATIENTS)
    with pytest.raises(BudgetError, match="already kept in"):
        jostle.protect(read, epsilon=1, vault=tmp_path / "other.vault")
    assert jostle.protect(read).left == Fraction("0.75")


def test_parts_of_tables_about_the_same_people_share_their_promise() -> None:
    """As folds do, of which each is other rows."""
    assert opening.account_of_parts(None, VISITS) is None
    for frame, schema in ((PEOPLE, PATIENTS), (STAYS[:3], VISITS), (STAYS[3:], VISITS)):
        recognised = opening.recognise(Table.from_frame(frame, schema))
        recognised.open_part(at_first="0.5").count("0.1")
    account = opening.account_of_parts(None, PATIENTS)
    assert account is not None
    assert (account.people, account.promise, account.spent) == ("ward 7", Fraction("0.5"), 3 * TENTH)


# The owner


def test_a_vault_is_raised_and_made_for_some_people(path: Path) -> None:
    vault = FileVault(path)
    vault.create(Fraction(1), facts("ward 7"))
    vault.create(Fraction(2), facts("ward 8"))
    for again in (facts("ward 7", ("z",)), facts(None), TableFacts()):
        with pytest.raises(VaultError, match="there is a vault"):
            vault.create(Fraction(1), again)
    with pytest.raises(VaultError, match="holds promises for 'ward 7', 'ward 8'"):
        vault.raise_promise(Fraction(3), "more")
    with pytest.raises(VaultError, match="holds promises for"):
        vault.raise_promise(Fraction(3), "more", "ward 9")
    assert vault.raise_promise(Fraction(3), "more", "ward 8").promise == 3
    assert [each.account.promise for each in vault.statements()] == [1, 3]
    with pytest.raises(BudgetError) as refusal:
        vault.open(Fraction(4), facts("ward 8"))
    assert "--people 'ward 8'" in (refusal.value.fix or "")
    assert "the promise about persons (at most 16 rows each) is epsilon 3" in (refusal.value.why or "")


def test_a_table_opened_by_other_columns_or_another_number_of_rows_is_another_line(path: Path) -> None:
    vault = FileVault(path)
    for table in (facts(), facts(), facts(most=4), facts(columns=("a", "b"))):
        vault.open(Fraction(1), table).pay(TENTH, "asked")
    assert [(each.facts.columns, each.facts.rows_per_person, each.spent) for each in vault.statement().tables] == [
        (("a",), 16, 2 * TENTH),
        (("a",), 4, TENTH),
        (("a", "b"), 16, TENTH),
    ]


def test_lines_that_are_moved_to_another_population_give_nothing_back(path: Path) -> None:
    import sqlite3  # noqa: PLC0415 - to damage a vault
    from contextlib import closing  # noqa: PLC0415

    vault = FileVault(path)
    for people in ("ward 7", "ward 8"):
        vault.open(Fraction(1), facts(people)).pay(TENTH, "asked")
    whole = path.read_bytes()
    for damage in (
        "UPDATE reservations SET of_table = 2 WHERE of_table = 1",
        "UPDATE tables SET account = 2",
        "UPDATE accounts SET people = 'ward 8'",
        "UPDATE accounts SET key = x'00'",
        "DELETE FROM accounts WHERE number = 1",
        "UPDATE promises SET account = 2",
        "UPDATE accounts SET spent = '1/20'",
    ):
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(damage)
        with pytest.raises(JostleError):
            FileVault(path).open(None, facts())
