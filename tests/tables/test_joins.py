"""Tables with columns of others: of the same persons, against merges in pandas, and public ones by a key."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import dask.dataframe as dask_frame
import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from test_per_person import bag, rows_of, source_of

import jostle
from jostle import Categorical, Dates, Numeric, Schema, SparseFeatures, Table
from jostle.errors import JostleError
from jostle.tables.engines import TableSource
from jostle.tables.kernels import Counts, SparseCounts

PATIENTS = Schema(
    {"age": Numeric(0, 100, bins=10, missing="value"), "sex": Categorical(["f", "m"])},
    label="sex",
    person="patient",
    rows_per_person=1,
    people="ward 7",
)
VISITS = Schema(
    {"ward": Categorical(["A", "B", "C"], missing="value"), "days": Numeric(0, 30, unit=1, missing="value")},
    person="patient",
    people="ward 7",
)
MADE = {"visits": "count up to 9", "days": "sum up to 60"}


def patients(count: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    who = random.permutation(2 * count)[:count]
    return pd.DataFrame(
        {"patient": who, "age": random.integers(0, 100, count), "sex": random.choice(["f", "m"], count)}
    )


def visits(count: int, persons: int = 20, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "patient": random.integers(0, persons, count),
            "ward": random.choice(np.array(["A", "B", "C", None]), count),
            "days": random.integers(0, 31, count),
        }
    )


# Private with private


@pytest.mark.parametrize("how", ["left", "inner"])
def test_a_join_on_the_person_is_a_merge_in_pandas(how: Any) -> None:
    people, rows = patients(15), visits(40)
    made = Table.from_frame(rows, VISITS).per_person(usual="commonest ward", least="least days")
    joined = Table.from_frame(people, PATIENTS).join(made, on="patient", how=how)
    usual = rows.dropna(subset=["ward"]).groupby("patient")["ward"].agg(lambda cells: cells.mode().min())
    least = rows.groupby("patient")["days"].min()
    whole = people.merge(pd.concat([usual.rename("usual"), least.rename("least")], axis=1), on="patient", how=how)
    assert {
        str(row.patient): (row.age, row.sex, row.usual, row.least)
        for row in whole.astype(object).where(whole.notna(), None).itertuples()
    } == rows_of(joined)
    assert joined.schema.names == ("age", "sex", "usual", "least")
    assert (joined.schema.label, joined.schema.rows_per_person, joined.schema.people) == ("sex", 1, "ward 7")
    assert len(rows_of(joined)) < len(people) or how == "left"


def test_persons_are_the_same_however_they_are_written_and_in_whatever_order() -> None:
    left = pd.DataFrame({"patient": ["01", "2.0", "x"], "age": [1, 2, 3], "sex": "f"})
    schema = Schema({"days": Numeric(0, 30, unit=1, missing="value")}, person="who", rows_per_person=1, people="ward 7")
    right = pd.DataFrame({"who": [2, 1, 3], "days": [20, 10, 30]})
    expected = {"1": (1, "f", 10), "2": (2, "f", 20), "x": (3, "f", None)}
    for mine, theirs in itertools.product((left, left[::-1]), (right, right[::-1])):
        joined = Table.from_frame(mine, PATIENTS).join(Table.from_frame(theirs, schema), on="patient")
        assert rows_of(joined) == expected


def test_its_owner_is_told_who_is_in_one_table_alone() -> None:
    left = Table.from_frame({"patient": [1, 2, 3], "age": [1, 2, 3], "sex": ["f", "m", "f"]}, PATIENTS)
    right = Table.from_frame({"patient": [3, 4], "ward": ["A", "B"], "days": [1, 2]}, VISITS).per_person(
        ward="commonest"
    )
    joined = left.join(right, on="patient")
    assert "2 persons of the table are not in the one it was joined with" in joined.notes
    assert "1 person of the table it was joined with is not in this one, and left out" in joined.notes


def test_one_row_is_taken_of_a_person_who_has_several_all_the_same_whatever_order() -> None:
    rows = [(1, 10, "f"), (1, 20, "m"), (1, 30, "f"), (2, 5, "m")]
    made = Table.from_frame({"patient": [1, 2], "ward": ["A", "B"], "days": [1, 1]}, VISITS).per_person(**MADE)
    found = {
        tuple(
            sorted(
                bag(
                    Table.from_frame(pd.DataFrame(list(order), columns=["patient", "age", "sex"]), PATIENTS).join(
                        made, on="patient"
                    )
                )
            )
        )
        for order in itertools.permutations(rows)
    }
    assert [len(each) for each in found] == [2]


def test_features_of_the_first_table_stay_with_their_persons() -> None:
    schema = evolve(PATIENTS, features=SparseFeatures("note", words=["ill", "well"]))
    frame = {"patient": [1, 2, 3], "age": [1, 2, 3], "sex": ["f", "m", "f"], "note": ["ill", "well", "ill well"]}
    other = Table.from_frame({"patient": [2, 3], "ward": ["A", "B"], "days": [1, 2]}, VISITS).per_person(
        ward="commonest"
    )
    joined = Table.from_frame(frame, schema).join(other, on="patient", how="inner")
    assert tallied(joined, "note=well") == [0, 2]
    assert tallied(joined, "note=ill", where=(("ward", (1,)),)) == [0, 1]


LEFT = Schema({"x": Categorical(["a", "b"])}, person="p", rows_per_person=1, people="all")
RIGHT = Schema({"y": Categorical(["c", "d"], missing="value")}, person="p", people="all")


def joined_rows(persons: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...], how: Any) -> Counter[tuple[object, ...]]:
    """Return the rows of a join of what persons have here and there."""
    here = [(who, cell) for who, (cells, _) in enumerate(persons) for cell in cells]
    there = [(who, cell) for who, (_, cells) in enumerate(persons) for cell in cells]
    left = Table.from_frame(pd.DataFrame(here, columns=["p", "x"]), LEFT)
    right = Table.from_frame(pd.DataFrame(there, columns=["p", "y"]), RIGHT).per_person(
        y="commonest", n="count up to 2"
    )
    return Counter(cells[1:] for cells in bag(left.join(right, on="p", how=how)))


@pytest.mark.parametrize("how", ["left", "inner"])
def test_one_person_more_or_less_is_at_most_one_row_and_nobody_elses_row_changes(how: Any) -> None:
    here = [(), ("a",), ("b",)]
    there = [(), ("c",), ("d", "d")]
    kinds = [kind for kind in itertools.product(here, there) if any(kind)]
    alone = {kind: joined_rows((kind,), how) for kind in kinds}
    assert {sum(found.values()) for found in alone.values()} == {0, 1}
    for pair in itertools.combinations_with_replacement(kinds, 2):
        assert joined_rows(pair, how) == alone[pair[0]] + alone[pair[1]]


def facts(**changed: Any) -> Schema:
    said: dict[str, Any] = {"person": "patient", "rows_per_person": 1, "people": "ward 7"} | changed
    return Schema({"height": Numeric(0, 3)}, **said)


REFUSED = {
    "names none": facts(person=None, rows_per_person=None, people=None),
    "up to 16 rows a person": facts(rows_per_person=None),
    "of one population": facts(people=None),
    "one population": facts(people="ward 8"),
    "private under": facts(neighbours="replace_one"),
    "features of texts": Schema(
        {"height": Numeric(0, 3)},
        features=SparseFeatures("note", words=["ill", "well"]),
        person="patient",
        rows_per_person=1,
        people="ward 7",
    ),
    "both tables have a column 'age'": Schema(
        {"age": Numeric(0, 3)}, person="patient", rows_per_person=1, people="ward 7"
    ),
}


@pytest.mark.parametrize(("said", "schema"), REFUSED.items(), ids=REFUSED)
def test_what_is_not_joined_is_refused_and_the_ways_out_are_named(said: str, schema: Schema) -> None:
    frame = {"patient": [1], "height": [1], "age": [1], "note": ["ill"]}
    table = Table.from_frame(patients(3), PATIENTS)
    with pytest.raises(JostleError, match=said) as mistake:
        table.join(Table.from_frame(frame, schema), on="patient")
    assert mistake.value.fix
    if "rows a person" in said or "none" in said:
        assert "per_person" in mistake.value.fix
        assert "join_public" in mistake.value.fix


def test_a_join_on_anything_but_the_person_is_refused() -> None:
    table = Table.from_frame(patients(3), PATIENTS)
    other = Table.from_frame({"patient": [1], "height": [1]}, facts())
    for on in ("age", "height", "nothing", None, 3):
        with pytest.raises(JostleError, match="are not joined on") as mistake:
            table.join(other, on=on)  # type: ignore[arg-type]
        assert "per_person" in str(mistake.value.fix)
        assert "join_public" in str(mistake.value.fix)
    for given in (patients(3), None, "patients.csv"):
        with pytest.raises(JostleError, match="where a table is wanted"):
            table.join(given, on="patient")  # type: ignore[arg-type]
    with pytest.raises(JostleError, match="how is 'outer'"):
        table.join(other, on="patient", how="outer")  # type: ignore[arg-type]


# Private with public


WARDS = pd.DataFrame({"ward": ["B", "A"], "beds": [12, 30], "kind": ["surgery", None]})
BEDS = {
    "beds": Numeric(0, 50, bins=50, unit=1, missing="value"),
    "kind": Categorical(["surgery", "heart"], missing="value"),
}


@pytest.mark.parametrize("declared", [True, False])
def test_a_look_up_is_a_left_merge_in_pandas(declared: bool) -> None:
    rows = visits(60)
    wards = WARDS if declared else WARDS.fillna("heart")
    table = Table.from_frame(rows, VISITS).join_public(wards, on="ward", columns=BEDS if declared else None)
    whole = rows.merge(wards, on="ward", how="left")
    for name in ("beds", "kind"):
        column, found = table.schema[name], tallied(table, name)
        if isinstance(column, Categorical):
            labels = ["(missing)" if pd.isna(cell) else f"{cell:g}" if name == "beds" else cell for cell in whole[name]]
        else:
            labels = [
                "(missing)" if pd.isna(cell) else column.labels[column.cut_points.index(cell)] for cell in whole[name]
            ]
        there = Counter(label for label in labels if declared or label != "(missing)")
        assert {label: count for label, count in zip(column.labels, found, strict=True) if count} == there
    if declared:
        assert dict(table.schema.columns) == {**dict(VISITS.columns), **BEDS}
        surgery = int((whole["kind"] == "surgery").sum())
        assert tallied(table, "kind", where=(("beds", (12,)),))[0] == surgery
        sparse: Any = source_of(table).tally(SparseCounts(("kind",)), (("kind", (0,)),))
        assert sparse.counts.tolist() == [surgery]


def tallied(table: Table, name: str, where: Any = ()) -> list[int]:
    found: Any = source_of(table).tally(Counts(((name,),)), where)
    return found.tolist()  # type: ignore[no-any-return]


def test_columns_that_are_looked_up_are_there_for_everything_that_follows(tmp_path: Path) -> None:
    rows = visits(50)
    path = tmp_path / "visits.csv"
    rows.to_csv(path, index=False)
    asked = {"beds": "most", "ever": "any kind is surgery", "kind": "commonest"}
    schema = Schema({**dict(VISITS.columns)}, person="patient", people="ward 7")
    public = {"beds": Numeric(0, 50, unit=1), "kind": Categorical(["surgery", "heart"])}
    wards = WARDS.fillna("heart")
    made = [
        table.join_public(wards, on="ward", columns=public).per_person(**asked)
        for table in (Table.from_frame(rows, schema), Table.read(path, schema), Table.read(path, schema, stream=True))
    ]
    assert bag(made[0]) == bag(made[1]) == bag(made[2])
    merged = rows.merge(wards, on="ward")
    assert {who: cells[0] for who, cells in rows_of(made[0]).items() if cells[0] is not None} == {
        str(who): beds for who, beds in merged.groupby("patient")["beds"].max().items()
    }


def test_the_same_rows_of_a_person_are_held_with_columns_looked_up_as_without(tmp_path: Path) -> None:
    rows = visits(60, persons=8)
    path = tmp_path / "visits.csv"
    rows.to_csv(path, index=False)
    schema = evolve(VISITS, rows_per_person=2, people=None)
    parts: Any = dask_frame.from_pandas(rows, npartitions=5)  # type: ignore[no-untyped-call]  # Dask has no types
    answers = []
    for table in (
        Table.from_frame(rows, schema),
        Table.read(path, schema),
        Table.read(path, schema, stream=True),
        Table.from_frame(parts, schema),
    ):
        db = jostle.rehearse(table.join_public(WARDS, on="ward", columns=BEDS), seed=1)
        days = jostle.rehearse(table, seed=1).histogram("days", epsilon=1000)
        assert list(db.histogram("days", epsilon=1000)) == list(days)
        answers.append([*db.histogram("beds", epsilon=1000), db.persons(1000), db.beyond(1000)])
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert sum(answers[0][:-2]) < 2 * answers[0][-2] + 1


@pytest.mark.parametrize("keys", [256, 70_000])
def test_keys_may_be_as_many_as_there_are_values(keys: int) -> None:
    codes = np.array([0, 1, keys - 1, keys - 1])
    few = {"k": Categorical(range(keys))} if keys < 1000 else {"k": Numeric(0, keys - 1, unit=1)}
    public = pd.DataFrame({"k": np.arange(keys)[::-1], "odd": np.where(np.arange(keys)[::-1] % 2, "yes", "no")})
    table = Table.from_frame({"k": codes}, Schema(few))
    for frame, found in ((public, [1, 3]), (public[1:], [1, 1])):  # the first one is the last key
        joined = table.join_public(frame, on="k", columns={"odd": Categorical(["no", "yes"])})
        assert tallied(joined, "odd") == found


def test_dates_and_whole_numbers_are_keys_as_well_and_a_file_is_public_data(tmp_path: Path) -> None:
    schema = Schema({"day": Dates("2024-01-01", "2024-12-31"), "n": Numeric(0, 9, unit=1)})
    table = Table.from_frame({"day": ["2024-01-02", "2024-05-01"], "n": [3, 4]}, schema)
    path = tmp_path / "weather.csv"
    path.write_text("day,rain\n2024/05/01,yes\n2024-01-02,no\n")
    rain: Any = source_of(table.join_public(path, on="day")).tally(Counts((("rain",), ("day", "rain"))), ())
    assert rain[:2].tolist() == [1, 1]
    numbers = table.join_public({"n": [4.0, 3.0], "odd": ["no", "yes"]}, on="n")
    odd: Any = source_of(numbers).tally(Counts((("odd",),)), (("n", (source_of(table).columns["n"][0],)),))
    assert odd.tolist() == [0, 1]


PUBLIC_REFUSED: dict[str, tuple[Any, dict[str, Any]]] = {
    "has 'A' in 'ward' twice": (pd.DataFrame({"ward": ["A", "B", "A"], "beds": [1, 2, 1]}), {}),
    "has 'Z' in 'ward', which is not declared": (pd.DataFrame({"ward": ["A", "Z"], "beds": [1, 2]}), {}),
    "has an empty cell in 'ward'": (pd.DataFrame({"ward": ["A", None], "beds": [1, 2]}), {}),
    "has '60' in 'beds', which is not declared": (pd.DataFrame({"ward": ["A"], "beds": [60]}), {"columns": BEDS | {}}),
    "has no column 'ward'": (pd.DataFrame({"Ward": ["A"], "beds": [60]}), {}),
    "has no column 'nurses'": (WARDS, {"columns": ["nurses"]}),
    "has no rows": (WARDS[:0], {}),
    "no columns to add": (WARDS[["ward"]], {}),
    "both have a column 'days'": (WARDS.assign(days=1), {}),
    "is no column of the table": (WARDS, {"on": "street"}),
    "no public table is looked up by it": (WARDS.assign(patient=[1, 2]), {"on": "patient"}),
    "columns by name": (WARDS, {"columns": 3}),
}


class Unread(TableSource):
    """Rows that nobody may look at yet."""

    schema = VISITS
    identity = b""

    def ready(self) -> None:
        raise AssertionError

    def tally(self, kernel: object, where: object) -> Any:
        raise AssertionError

    def fold(self, fold: object) -> Any:
        raise AssertionError

    def bounded(self, key: bytes) -> Any:
        raise AssertionError


@pytest.mark.parametrize(("said", "given"), PUBLIC_REFUSED.items(), ids=PUBLIC_REFUSED)
def test_public_rows_that_do_not_fit_are_refused_before_a_private_row_is_read(said: str, given: Any) -> None:
    frame, asked = given
    if "60" in said:
        frame = frame.assign(kind="heart")
    with pytest.raises(JostleError, match=said) as mistake:
        Table(Unread()).join_public(frame, **{"on": "ward"} | asked)
    assert mistake.value.fix


def test_numbers_without_a_unit_are_no_keys() -> None:
    table = Table.from_frame({"x": [1.0]}, Schema({"x": Numeric(0, 1)}))
    with pytest.raises(JostleError, match="numbers without a unit"):
        table.join_public({"x": [1.0], "y": ["a"]}, on="x")


def test_its_owner_is_told_how_many_rows_have_no_match() -> None:
    table = Table.from_frame({"ward": ["A", "C", "C", "B"], "days": [1, 2, 3, 4]}, Schema(dict(VISITS.columns)))
    joined = table.join_public(WARDS, on="ward", columns=BEDS)
    assert "2 rows of the table have no 'ward' that is public" in joined.notes
    some = joined.join_public({"days": [1, 2, 3], "price": [5, 6, 7]}, on="days", columns={"price": Numeric(0, 9)})
    assert "1 row of the table has no 'days' that is public" in some.notes
    assert "2 rows of the table have no 'ward' that is public" in some.notes
    assert not any("that is public" in note for note in table.notes)


def test_what_is_private_is_not_looked_up_as_public(tmp_path: Path) -> None:
    path = tmp_path / "wards.csv"
    WARDS.to_csv(path, index=False)
    private = WARDS.copy()
    schema = Schema({"beds": Numeric(0, 50)})
    jostle.protect(Table.from_frame(private, schema), epsilon=1)
    jostle.protect(Table.read(path, schema), epsilon=1)
    for frame in (private, path, str(path)):
        with pytest.raises(JostleError, match="private"):
            Table.from_frame(visits(9), VISITS).join_public(frame, on="ward")


def test_a_table_is_not_made_public_by_looking_itself_up() -> None:
    frame = pd.DataFrame({"ward": ["A", "B"], "beds": [1, 2]})
    schema = Schema({"ward": Categorical(["A", "B"])})
    table = Table.from_frame(frame, schema).join_public(frame, on="ward")
    with pytest.raises(JostleError, match="read off this same table"):
        jostle.protect(table, epsilon=1)


def test_a_table_with_columns_looked_up_is_charged_to_its_promise() -> None:
    frame = pd.DataFrame({"ward": ["A", "B", "B"], "days": [1, 2, 3]})
    schema = Schema(dict(VISITS.columns))
    table = Table.from_frame(frame, schema)
    jostle.protect(table, epsilon=1).count("0.6")
    again = jostle.protect(table.join_public(WARDS, on="ward", columns=BEDS))
    assert float(again.left or 0) == pytest.approx(0.4)
    assert again.histogram("beds", epsilon="0.1") is not None


# Whose promise it is


def two_tables(people: str, seed: int) -> tuple[Table, Table]:
    mine, theirs = (evolve(schema, people=people) for schema in (PATIENTS, VISITS))
    return Table.from_frame(patients(15, seed), mine), Table.from_frame(visits(40, seed=seed), theirs)


def test_a_join_and_both_tables_that_it_is_made_of_share_one_promise() -> None:
    first, second = two_tables("the people of one promise", 31)
    joined = first.join(second.per_person(**MADE), on="patient")
    jostle.protect(first, epsilon=1).count("0.6")
    again = jostle.protect(joined)
    assert float(again.left or 0) == pytest.approx(0.4)
    again.mean("days", epsilon="0.1")
    assert float(jostle.protect(second).left or 0) == pytest.approx(0.3)


def test_a_join_of_tables_with_a_promise_each_is_refused_until_one_is_named(tmp_path: Path) -> None:
    first, second = two_tables("the people of two promises", 32)
    joined = first.join(second.per_person(**MADE), on="patient")
    jostle.protect(first, epsilon=1, vault=tmp_path / "a.vault").count("0.6")
    jostle.protect(second, epsilon=1, vault=tmp_path / "b.vault", second_promise="two studies agreed to it").count(
        "0.1"
    )
    with pytest.raises(JostleError, match=r"already kept in .*\.vault and in .*\.vault"):
        jostle.protect(joined)
