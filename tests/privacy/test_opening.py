"""Opening a table fixes a promise, finds the account there is, and knows what is private by where it came from."""

from __future__ import annotations

import gc
import subprocess
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from attrs import evolve
from openings import people, protected, schema, table
from processes import LIMIT, started

import jostle
from jostle import Numeric, Schema, Table
from jostle.corpora.databases import PublicGrid, PublicTable
from jostle.corpora.folders import public
from jostle.corpora.named import PublicFiles
from jostle.errors import BudgetError, PrivateDataError, SchemaError, TableError, VaultError
from jostle.lang.running import run_program
from jostle.privacy.account import TableFacts
from jostle.privacy.expressions import rows
from jostle.privacy.opening import raw
from jostle.privacy.vault import FileVault
from jostle.sklearn import PrivateClassifier
from jostle.tables.made_up import write_made_up
from jostle.trace.page import segments, whole_page
from jostle.trace.records import Opened, Trace, read_trace


def test_a_probe_has_the_promise_and_no_more() -> None:
    db = protected("0.5")

    assert db.promise == db.left == Fraction(1, 2)
    assert db.spent == 0
    assert db.neighbours == "add_remove"
    assert db.schema == schema()


def test_a_promise_too_long_to_be_written_down_is_refused(tmp_path: Path) -> None:
    for epsilon in (Fraction(1, 3**4000), Fraction(10**5000 + 1, 10**5000)):
        with pytest.raises(BudgetError, match="bits"):
            jostle.protect(table(), epsilon=epsilon, vault=tmp_path / "people.vault")


def test_a_vault_outlives_the_probe(tmp_path: Path) -> None:
    protected(vault=tmp_path / "people.vault").count("0.4")
    for epsilon in ("0.6", "0.7", 1, None):
        assert protected(epsilon, vault=tmp_path / "people.vault").left == Fraction("0.6")
    assert protected("0.5", vault=tmp_path / "people.vault").left == Fraction("0.5")
    with pytest.raises(BudgetError, match=r"0\.6 is left") as refusal:
        protected("1.1", vault=tmp_path / "people.vault")
    assert f"jostle vault raise {tmp_path}" in (refusal.value.fix or "")


def test_without_epsilon_a_table_is_opened_on_what_is_left_of_a_promise_that_there_is(tmp_path: Path) -> None:
    vault = tmp_path / "people.vault"
    with pytest.raises(BudgetError, match="no epsilon is promised"):
        protected(None, vault=vault)
    assert not vault.exists()
    protected(2, vault=vault).count(1)
    assert protected(None).promise == protected(None, vault=vault).promise == 1


SCRIPT = """
import sys
import pandas, jostle
schema = jostle.Schema({"x": jostle.Categorical(["a", "b"])})
table = jostle.Table.from_frame(pandas.DataFrame({"x": ["a", "b"] * 50}), schema)
sys.stdin.readline()
db = jostle.protect(table, epsilon=1, vault=sys.argv[1])
print("in", flush=True)
sys.stdin.readline()
while True:
    db.count("0.07")
    print("answered", flush=True)
"""


@pytest.mark.slow
def test_copies_of_a_script_that_start_at_once_all_get_in_and_share_one_promise(tmp_path: Path) -> None:
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with ExitStack() as all_of_them:
        path = tmp_path / "people.vault"
        scripts = [all_of_them.enter_context(started("-c", SCRIPT, path, **pipes)) for _ in range(4)]
        for each in scripts:
            assert each.stdin is not None
            each.stdin.write("open\n")
            each.stdin.flush()
        for each in scripts:
            assert each.stdout is not None
            assert each.stdout.readline() == "in\n"
        said = [each.communicate("spend\n", timeout=LIMIT) for each in scripts]

    account = FileVault(tmp_path / "people.vault").account()
    assert all("BudgetError" in wrong for _, wrong in said)
    assert sum(answers.count("answered") for answers, _ in said) == 14
    assert account.spent == 14 * Fraction("0.07")


def test_a_promise_for_part_of_what_is_left_is_kept_as_well(tmp_path: Path) -> None:
    protected(10, vault=tmp_path / "people.vault").count(1)
    db = protected(2, vault=tmp_path / "people.vault")
    db.count(2)

    with pytest.raises(BudgetError):
        db.count(1)
    assert FileVault(tmp_path / "people.vault").account().left == 7


def test_two_probes_share_what_is_left() -> None:
    one, other = protected(), protected()
    one.count("0.7")

    with pytest.raises(BudgetError, match=r"0\.3 is left"):
        other.count("0.4")
    other.count("0.3")
    with pytest.raises(BudgetError):
        one.count("0.1")
    with pytest.raises(BudgetError, match="0 is left"):
        protected("0.1")


NUMBERS = np.random.default_rng(4).integers(0, 9, (80, 2))


def of_numbers(columns: dict[str, Any], bins: int = 9) -> Table:
    """Return a table of columns of numbers."""
    return Table.from_frame(columns, jostle.Schema({name: jostle.Numeric(0, 9, bins=bins) for name in columns}))


SAME: dict[str, Callable[[], dict[str, Any]]] = {
    "the same array under other names": lambda: {"p": NUMBERS[:, 0], "q": NUMBERS[:, 1]},
    "a copy under other names": lambda: {"p": NUMBERS[:, 0].copy(), "q": NUMBERS[:, 1].copy()},
    "floats in another order": lambda: {"q": NUMBERS[:, 1].astype(float), "p": NUMBERS[:, 0].astype(float)},
    "lists": lambda: {"a": NUMBERS[:, 0].tolist(), "b": NUMBERS[:, 1].tolist()},
}


@pytest.mark.parametrize("way", SAME)
def test_the_same_data_have_the_account_they_have(way: str, tmp_path: Path) -> None:
    first = of_numbers({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]})
    jostle.protect(first, epsilon=1).count("0.75")
    again = of_numbers(SAME[way](), bins=3)
    assert jostle.protect(again).left == Fraction(1, 4)
    with pytest.raises(BudgetError, match="already kept in this process"):
        jostle.protect(again, epsilon=1, vault=tmp_path / "other.vault")
    assert not (tmp_path / "other.vault").exists()


def test_a_file_that_grew_has_the_account_it_has(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "other.csv").symlink_to(tmp_path / "people.csv")
    jostle.protect(Table.read(tmp_path / "people.csv", schema()), epsilon=1).count("0.75")
    (tmp_path / "people.csv").write_text((tmp_path / "people.csv").read_text() + "3,north,no\n")
    assert jostle.protect(Table.read(tmp_path / "other.csv", schema())).left == Fraction(1, 4)


def test_the_vault_beside_a_file_pays_whoever_opens_it(tmp_path: Path) -> None:
    """As `jostle run` left it there; and beside it, another promise is one that somebody answers for."""
    path, beside = tmp_path / "people.csv", FileVault(tmp_path / "people.csv.vault")
    people().to_csv(path, index=False)
    (tmp_path / "linked.csv").symlink_to(path)
    beside.create(Fraction(2), TableFacts(schema().names))
    for name in ("people.csv", "linked.csv"):
        jostle.protect(Table.read(tmp_path / name, schema())).count("0.5")
    assert beside.account().spent == 1
    read = Table.read(path, schema())
    with pytest.raises(BudgetError, match=r"already kept in .*people\.csv\.vault(?s:.*)second_promise="):
        jostle.protect(read, epsilon=5, vault=tmp_path / "other.vault")
    with pytest.raises(VaultError, match="there is no reason for a second promise"):
        jostle.protect(read, epsilon=5, vault=tmp_path / "other.vault", second_promise=" ")
    assert not (tmp_path / "other.vault").exists()


def test_a_second_promise_stands_in_both_vaults(tmp_path: Path) -> None:
    one, other = FileVault(tmp_path / "one.vault"), FileVault(tmp_path / "other.vault")
    jostle.protect(table(), epsilon=2, vault=one.path)
    for _ in range(2):
        jostle.protect(table(), epsilon=5, vault=other.path, second_promise="a study of its own").count(1)
    assert [(each.epsilon, each.reason) for each in one.statement().promises][1:] == [
        (Fraction(2), f"a second promise about rows, epsilon 5, is kept in {other.path}: a study of its own")
    ]
    assert [(each.epsilon, each.reason) for each in other.statement().promises][1:] == [
        (Fraction(5), f"a second promise, beside that in {one.path}: a study of its own")
    ]
    assert [each.account().spent for each in (one, other)] == [0, 2]
    assert jostle.protect(table(), vault=one.path).left == 2  # named, each is found again without another reason
    assert jostle.protect(table(), vault=other.path).left == 3
    with pytest.raises(BudgetError, match="nothing says which of them pays"):
        jostle.protect(table())
    one.raise_promise(Fraction(3), "and more")
    assert one.account().promise == 3


def test_a_second_promise_that_nobody_remembers_is_one_each_time(tmp_path: Path) -> None:
    vault = FileVault(tmp_path / "one.vault")
    jostle.protect(table(), epsilon=1, vault=vault.path).count(1)
    for _ in range(2):
        assert jostle.protect(table(), epsilon=1, second_promise="to try it out").left == 1
    said = "a second promise about rows, epsilon 1, is kept in no vault: to try it out"
    assert [each.reason for each in vault.statement().promises][1:] == [said, said]


def test_an_open_session_has_what_its_promise_is_raised_by(tmp_path: Path) -> None:
    vault = FileVault(tmp_path / "people.vault")
    jostle.protect(table(), epsilon=2, vault=vault.path).count("0.5")
    whole, own = jostle.protect(table()), jostle.protect(table(), epsilon=1)
    whole.count("1.25")
    vault.raise_promise(Fraction(4), "a second wave")

    assert (whole.promise, whole.left) == (Fraction("3.5"), Fraction("2.25"))
    assert own.promise == own.left == 1
    whole.count("1.2")  # more than was left before
    with pytest.raises(
        BudgetError, match=r"asks for epsilon 1.04, but 1 is left(?s:.*)open the table again"
    ) as refusal:
        own.count("1.04")
    assert "without epsilon" in (refusal.value.fix or "")
    own.count(1)
    with pytest.raises(BudgetError, match=r"0.05 is left in .*people\.vault"):
        whole.count("0.1")
    assert vault.account().left == Fraction("0.05")


def test_the_page_of_a_trace_adds_up_to_the_promise_that_was_raised(tmp_path: Path) -> None:
    vault, trace = FileVault(tmp_path / "people.vault"), Trace()
    vault.create(Fraction(1), TableFacts())
    db = jostle.protect(table(), vault=vault.path, trace=trace)
    db.count("0.5")
    vault.raise_promise(Fraction(3), "a second wave")
    db.count(2)
    opened, *records = trace.records
    assert isinstance(opened, Opened)
    assert [(each.kind, each.epsilon) for each in segments(opened, records)] == [
        ("charge", Fraction(1, 2)),
        ("charge", 2),
        ("left", Fraction(1, 2)),
    ]
    assert "fixed before the run and raised to 3 since" in whole_page(trace.records, title="people")


def test_a_session_whose_promise_is_raised_asks_before_it_refuses(tmp_path: Path) -> None:
    vault = FileVault(tmp_path / "people.vault")
    vault.create(Fraction(1), TableFacts())
    db = jostle.protect(table(), vault=vault.path)
    with pytest.raises(BudgetError, match=r"but 1 is left(?s:.*)jostle vault raise"):
        db.count(2)
    vault.raise_promise(Fraction(2), "a second wave")
    db.count(2)
    assert vault.account().left == 0


def test_tables_of_which_no_row_is_left_have_a_budget_each(tmp_path: Path) -> None:
    """Labels are missing throughout, in one as in the other: as the schema reads them, they are the same."""
    unlabelled = [people(rows).assign(smokes=None) for rows in (20, 30)]
    first, other = (jostle.Table.from_frame(frame, schema()) for frame in unlabelled)
    jostle.protect(first, epsilon=1, vault=tmp_path / "first.vault").count(1)

    assert jostle.protect(other, epsilon=1, vault=tmp_path / "other.vault").left == 1
    with pytest.raises(BudgetError, match="0 is left"):
        jostle.protect(jostle.Table.from_frame(unlabelled[0].copy(), schema()), epsilon=1)


def test_a_vault_that_could_not_be_opened_is_forgotten(tmp_path: Path) -> None:
    with pytest.raises(VaultError):
        protected(vault=tmp_path / "no such folder" / "people.vault")
    assert protected(vault=tmp_path / "people.vault").left == 1


def test_a_file_of_the_same_rows_is_remembered_where_nothing_is_left_of_their_promise(tmp_path: Path) -> None:
    """And so it is known by its name once somebody has changed a row."""
    jostle.protect(table(), epsilon=1).count(1)
    for changed in (people(), people().assign(age=30)):
        changed.to_csv(tmp_path / "people.csv", index=False)
        with pytest.raises(BudgetError, match="0 is left"):
            jostle.protect(Table.read(tmp_path / "people.csv", schema()), epsilon=1)


def test_a_relation_is_not_changed_from_one_opening_to_the_next() -> None:
    protected()
    with pytest.raises(VaultError, match="add_remove"):
        protected(neighbours="replace_one")


@pytest.mark.parametrize("streams", [(False, False), (True, False), (False, True), (True, True)])
def test_a_file_that_was_opened_as_private_is_not_rehearsed_on(tmp_path: Path, streams: tuple[bool, bool]) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "pointed.csv").symlink_to(tmp_path / "people.csv")
    (tmp_path / "copied.csv").write_bytes((tmp_path / "people.csv").read_bytes())
    jostle.protect(jostle.Table.read(tmp_path / "people.csv", schema(), stream=streams[0]), epsilon=1)
    for name in ("people", "pointed"):
        with pytest.raises(PrivateDataError, match="given as private"):
            jostle.rehearse(jostle.Table.read(tmp_path / f"{name}.csv", schema(), stream=streams[1]))
    jostle.rehearse(jostle.Table.read(tmp_path / "copied.csv", schema()))


def test_rows_are_not_kept_for_the_sake_of_knowing_them_again() -> None:
    private = table()
    jostle.protect(private, epsilon=1)
    alive = weakref.ref(private._source)
    del private
    gc.collect()
    assert alive() is None


def test_a_rehearsal_is_reproducible_and_has_a_bound_only_if_given() -> None:
    answers = {jostle.rehearse(table(), seed=7).count("0.1") for _ in range(5)}
    assert len(answers) == 1
    unbounded = jostle.rehearse(table())
    unbounded.count(10**6)
    assert (unbounded.promise, unbounded.left) == (None, None)
    assert unbounded.spent == 10**6
    with pytest.raises(BudgetError):
        jostle.rehearse(table(), epsilon=1).count(2)


def test_the_trace_says_how_the_table_was_opened(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "trace.jsonl")
    jostle.protect(table(), epsilon=1, vault=tmp_path / "people.vault", trace=trace)
    jostle.rehearse(table(seed=1), trace=trace)
    private, public = read_trace(tmp_path / "trace.jsonl")

    assert isinstance(private, Opened)
    assert isinstance(public, Opened)
    assert private.private
    assert private.promise == 1
    assert private.vault == str(tmp_path / "people.vault")
    assert not public.private
    assert public.promise is None
    assert public.vault is None


def test_a_trace_that_cannot_be_written_is_found_out_before_anything_is_spent(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent" / "trace.jsonl", Path("/dev/full")):
        with pytest.raises(TableError, match="cannot write the trace"):
            jostle.protect(table(), epsilon=1, trace=place)
    assert protected().left == 1


def test_a_trace_file_is_closed_with_its_probe(tmp_path: Path) -> None:
    """Warnings are errors here: a file left open would be one."""
    jostle.protect(table(), epsilon=1, trace=tmp_path / "trace.jsonl").count("0.1")
    gc.collect()
    assert len(read_trace(tmp_path / "trace.jsonl")) == 3


# Whether something is private is a matter of where it came from, and never of what it says.


PROGRAM = "def answer(db):\n    return noisyCount(db, epsilon / 10)\n"
SECRET = np.array([[7, 3, 9], [4, 0, 8]])

# Guesses


def guesses(count: int = 1000) -> list[np.ndarray]:
    """Return grids, one of which is the secret one."""
    chance = np.random.default_rng(3)
    found = [chance.integers(0, 10, SECRET.shape) for _ in range(count - 1)]
    return [*found[: count // 2], SECRET, *found[count // 2 :]]


def test_a_thousand_guesses_at_a_grid_are_not_told_from_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever fills a folder of public data and sees the refusals of a service finds no row that way."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.jst").write_text(PROGRAM)
    np.save("secret.npy", SECRET)
    (tmp_path / "public").mkdir()
    for number, guess in enumerate(guesses()):
        np.save(tmp_path / "public" / f"{number}.npy", guess)

    done = run_program(
        Path("program.jst"), data=Path("secret.npy"), epsilon="1", public=[Path("public")], say=None, tell=pytest.fail
    )

    assert done.problem is None


def test_a_schema_that_says_what_rows_it_was_read_off_tells_nothing_about_rows(tmp_path: Path) -> None:
    """Whatever stands there, two tables that differ in a row are opened alike, or refused alike."""
    for rows_of in (people(), people().iloc[1:]):
        rows_of.to_csv(tmp_path / "rows.csv", index=False)
        forged = Schema.from_toml(Schema.infer_public(people(), label="smokes").to_toml())
        jostle.protect(Table.read(tmp_path / "rows.csv", forged), epsilon=1, second_promise="it is another file now")


def test_a_schema_holds_no_mark_of_rows(tmp_path: Path) -> None:
    """Of two files that differ in a row that changes no fact, the schemas are one."""
    frame = pd.concat([people(), people()])
    said = set()
    for each in (frame, frame.iloc[1:]):
        each.to_csv(tmp_path / "rows.csv", index=False)
        said.add(Schema.infer_public(tmp_path / "rows.csv", label="smokes").to_toml())
        said.add(Schema.infer_public(each, label="smokes").to_toml().replace("label", f'inferred_from = "{tmp_path}"'))
    assert len([text for text in said if "rows.csv" in text]) == 1


# Origins


def made_of(kind: str) -> Any:
    frame = people()
    numbers = np.arange(30).reshape(10, 3) % 4
    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "dict of arrays": {name: column.to_numpy() for name, column in frame.items()},
        "grid": numbers,
    }[kind]


def opened(thing: Any) -> Table:
    return Table.from_grid(thing) if isinstance(thing, np.ndarray) else Table.from_frame(thing, schema())


ASKED: dict[str, Callable[[Any], object]] = {
    "rehearse": lambda thing: jostle.rehearse(opened(thing)),
    "raw": lambda thing: raw(opened(thing), [rows()]),
    "infer": Schema.infer_public,
    "public table": lambda thing: PublicTable.of("x", thing, label="smokes"),
    "public grid": lambda thing: PublicGrid.of("x", thing),
    "estimator": lambda thing: PrivateClassifier("Majority", public=True).fit(pd.DataFrame(thing)[["age"]], [0, 1]),
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict of arrays", "grid"])
def test_what_was_opened_as_private_is_not_public_to_anything(kind: str) -> None:
    thing = made_of(kind)
    jostle.protect(opened(thing), epsilon=1)
    asked = {"rehearse", "raw", "public grid"} if kind == "grid" else {"rehearse", "raw", "infer", "public table"}
    for name in asked:
        with pytest.raises(PrivateDataError, match="given as private"):
            ASKED[name](thing)
        ASKED[name](made_of(kind))  # equal rows are others


def test_rows_that_an_estimator_was_fitted_to_are_private(tmp_path: Path) -> None:
    rows_of, y = np.arange(200).reshape(100, 2) % 2, np.arange(100) % 2
    declared = Schema({name: jostle.Categorical([0, 1]) for name in ("a", "b", "y")}, label="y")
    PrivateClassifier("Majority", schema=declared, vault=tmp_path / "v", promise=1).fit(rows_of, y)
    for given, labels in ((rows_of, y), (rows_of, 1 - y), (rows_of.copy(), y)):
        with pytest.raises(PrivateDataError, match="given as private"):
            PrivateClassifier("Majority", public=True).fit(given, labels)
    with pytest.raises(PrivateDataError, match="given as private"):
        PrivateClassifier("Majority", public=True).fit(rows_of.copy(), y.copy()).score(rows_of, y)


# Files


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a private file that was opened."""
    people().to_csv(tmp_path / "secret.csv", index=False)
    jostle.protect(Table.read(tmp_path / "secret.csv", schema()), epsilon=1)
    return tmp_path / "secret.csv"


def test_a_private_file_is_known_by_where_links_lead(secret: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    place = tmp_path / "folder" / "x.csv"
    place.symlink_to(secret)
    secret.write_text(secret.read_text() + "1,north,no\n")
    for ask in (
        lambda: Schema.infer_public(place),
        lambda: jostle.rehearse(Table.read(place, schema())),
        lambda: public(place, label="smokes"),
        lambda: public(place.parent),
        lambda: PublicFiles.named([place.parent, tmp_path]),
        lambda: write_made_up(schema(), place, 3),
    ):
        with pytest.raises(PrivateDataError, match="given as private"):
            ask()


def test_a_copy_is_another_file(secret: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "copy.csv").write_bytes(secret.read_bytes())
    assert PublicFiles.named([tmp_path / "folder"]).at(str(tmp_path / "folder")) is not None
    Schema.infer_public(tmp_path / "folder" / "copy.csv")


# Schemas


def test_a_schema_read_off_the_private_rows_is_refused_by_where_it_came_from(tmp_path: Path) -> None:
    frame = people()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "link.csv").symlink_to(tmp_path / "rows.csv")
    of_frame = Schema.infer_public(frame, label="smokes")
    of_file = Schema.infer_public(tmp_path / "link.csv", label="smokes")
    same = [
        Table.from_frame(frame, of_frame),
        Table.from_frame(frame, evolve(of_frame, neighbours="replace_one")),
        Table.read(tmp_path / "rows.csv", of_file),
        Table.read(tmp_path / "rows.csv", Schema.from_toml(of_file.to_toml())),
    ]
    for each in same:
        with pytest.raises(SchemaError, match="read off this same table"):
            jostle.protect(each, epsilon=1)
    jostle.protect(Table.from_frame(people(), of_frame), epsilon=1)
    assert jostle.protect(Table.from_frame(people(), of_file), epsilon=1).schema.inferred_from is None


def test_a_schema_says_the_file_that_it_was_read_off(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "rows.csv", index=False)
    found = Schema.infer_public(tmp_path / "rows.csv")
    assert f'inferred_from = "{tmp_path / "rows.csv"}"' in found.to_toml()
    assert "inferred_from" not in Schema.infer_public(people()).to_toml()
    with pytest.raises(SchemaError, match="inferred_from is 3"):
        Schema({"x": Numeric(0, 1)}, inferred_from=3)
