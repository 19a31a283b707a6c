"""One row a person: against groups in pandas, whatever order and form rows come in, and one person changing one row."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import dask.dataframe as dask_frame
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import jostle
from jostle import Categorical, Dates, Numeric, Schema, Table
from jostle.errors import JostleError
from jostle.tables.engines import MemorySource

VISITS = Schema(
    {
        "ward": Categorical(["A", "B", "C"], missing="value"),
        "fall": Categorical(["no", "yes"], missing="value"),
        "days": Numeric(0, 30, unit=1, missing="value"),
        "fever": Numeric(35, 42, unit=0.1, missing="value"),
        "date": Dates("2024-01-01", "2024-12-31", missing="value"),
    },
    person="patient",
    rows_per_person=2,
)
ALL = {
    "visits": "count up to 5",
    "fall": "any",
    "always": "all fall",
    "in_b": "any ward is B",
    "only_b": "all ward is B",
    "first_ward": "first ward by date",
    "ward": "last by date",
    "last_days": 'last "days" by date',
    "usual": "commonest ward",
    "least_fever": "least fever",
    "most_days": "most days",
    "days": "sum up to 40",
    "fever": "mean",
    "mean_day": "mean date",
}


def visits(rows: int, *, persons: int = 6, seed: int = 0, empty: float = 0.2) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "patient": random.integers(0, persons, rows),
            "ward": random.choice(["A", "B", "C"], rows),
            "fall": random.choice(["no", "yes"], rows),
            "days": random.integers(0, 31, rows),
            "fever": random.integers(350, 421, rows) / 10,
            "date": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.permutation(366)[:rows], unit="D"),
        }
    )
    for name in VISITS.names:
        frame[name] = frame[name].astype(object).where(random.random(rows) >= empty, None)
    return frame


def source_of(table: Table) -> MemorySource:
    source: Any = table._source
    return source  # type: ignore[no-any-return]


def names_of(source: MemorySource) -> list[str]:
    """Return whose the rows are, as texts."""
    assert source.whose is not None
    return [str(name) for name in source.whose.names.take(pa.array(source.whose.codes)).to_pylist()]


def rows_of(table: Table) -> dict[str, tuple[object, ...]]:
    """Return what a table of a row a person holds, by person: labels, exact numbers, None for what is empty."""
    source = source_of(table)
    found: dict[str, list[object]] = {name: [] for name in names_of(source)}
    for name, column in source.schema.columns:
        for cells, place in zip(found.values(), range(source.length), strict=True):
            code = int(source.columns[name][place])
            if isinstance(column, Categorical):
                cells.append(None if code == column.missing_code else column.labels[code])
                continue
            assert column.grain is not None
            step = int(source.steps[name][place])
            cells.append(None if step == column.grain.none else column.grain.number(step))
            if step == column.grain.none:
                assert code == column.missing_code
    return {person: tuple(cells) for person, cells in found.items()}


def half_up(number: Any, unit: Fraction) -> Fraction:
    return Fraction(unit * ((2 * number / unit + 1) // 2))


def expected(frame: pd.DataFrame) -> dict[str, tuple[object, ...]]:
    """Return the same by pandas, of rows with a date of their own each."""
    found: dict[str, tuple[object, ...]] = {}
    start = pd.Timestamp("2024-01-01")
    for person, rows in frame.groupby("patient"):
        ordered = rows.dropna(subset=["date"]).sort_values("date")
        falls, wards, fevers = (rows[name].dropna() for name in ("fall", "ward", "fever"))
        days = rows["days"].dropna().astype(int)
        dates = [(moment - start).days for moment in rows["date"].dropna()]
        tenths = [Fraction(str(number)) for number in fevers]
        often = wards.value_counts()

        def edge(name: str, place: int, ordered: pd.DataFrame = ordered) -> Any:
            cells = ordered[name].dropna()
            return None if cells.empty else cells.iloc[place]

        def truth(cells: pd.Series, value: str, rule: Any) -> str | None:
            return None if cells.empty else "yes" if rule(cell == value for cell in cells) else "no"

        found[str(person)] = (
            min(len(rows), 5),
            truth(falls, "yes", any),
            truth(falls, "yes", all),
            truth(wards, "B", any),
            truth(wards, "B", all),
            edge("ward", 0),
            edge("ward", -1),
            edge("days", -1),
            None if often.empty else min(often[often == often.max()].index),
            min(tenths, default=None),
            max(days, default=None),
            min(days.sum(), 40) if len(days) else None,
            half_up(sum(tenths) / len(tenths), Fraction("0.1")) if tenths else None,
            half_up(Fraction(sum(dates), len(dates)), Fraction(1)) if dates else None,
        )
    return found


@pytest.mark.parametrize("seed", range(4))
def test_one_row_a_person_is_what_groups_in_pandas_give(seed: int) -> None:
    frame = visits(40, seed=seed, empty=0.4)
    table = Table.from_frame(frame, VISITS).per_person(**ALL)
    schema = table.schema
    assert (schema.person, schema.rows_per_person) == ("patient", 1)
    # `any ward is B` may have no code for what is empty: those without a ward go then.
    goes = schema["in_b"].missing_code is None
    assert rows_of(table) == {
        person: cells for person, cells in expected(frame).items() if not goes or None not in {cells[3], cells[4]}
    }


def bag(table: Table) -> list[tuple[object, ...]]:
    """Return the rows as they are encoded, with whose they are."""
    source = source_of(table)
    names = names_of(source)
    cells = [*source.columns.values(), *source.steps.values()]
    return list(zip(names, *(codes.tolist() for codes in cells), strict=True))


def test_it_is_the_same_in_whatever_order_and_form_rows_come(tmp_path: Path) -> None:
    frame = visits(60, seed=9)
    frame["date"] = frame["date"].where(frame.index % 3 > 0, pd.Timestamp("2024-06-01"))  # as many ties
    once = bag(Table.from_frame(frame, VISITS).per_person(**ALL))
    assert len(once) > 3
    shuffled = frame.sample(frac=1, random_state=1)
    shuffled["patient"] = [
        f"{number:.1f}" if place % 2 else f"0{number}" for place, number in enumerate(shuffled["patient"])
    ]
    assert bag(Table.from_frame(shuffled, VISITS).per_person(**ALL)) == once
    csv, parquet = tmp_path / "visits.csv", tmp_path / "visits.parquet"
    shuffled.to_csv(csv, index=False)
    pa_parquet.write_table(
        pa.Table.from_pandas(frame.assign(patient=frame["patient"].astype(float)), preserve_index=False),
        parquet,
        row_group_size=7,
    )
    for path, stream in itertools.product((csv, parquet), (False, True)):
        assert bag(Table.read(path, VISITS, stream=stream).per_person(**ALL)) == once


def test_rows_that_are_read_in_pieces_come_to_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = visits(200, persons=15, seed=3).drop(columns="date").assign(date="2024-06-01")
    path = tmp_path / "visits.parquet"
    pa_parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    once = bag(Table.from_frame(frame, VISITS).per_person(**ALL))
    monkeypatch.setattr("jostle.tables.readers.BATCH_ROWS", 7)
    assert bag(Table.read(path, VISITS, stream=True).per_person(**ALL)) == once


def test_partitions_come_to_the_same() -> None:
    frame = visits(60, seed=9).assign(date="2024-06-01")
    parts: Any = dask_frame.from_pandas(frame, npartitions=7)  # type: ignore[no-untyped-call]  # Dask has no types
    assert bag(Table.from_frame(parts, VISITS).per_person(**ALL)) == bag(
        Table.from_frame(frame, VISITS).per_person(**ALL)
    )


def test_ties_go_by_the_row_not_by_which_came_first() -> None:
    rows = [("B", "no", 3, 36.0), ("A", "yes", 2, 37.0), ("B", "no", 1, 38.0)]
    asked = {
        "first": "first ward by date",
        "last": "last ward by date",
        "usual": "commonest fall",
        "days": "last by date",
    }
    found = {
        tuple(bag(Table.from_frame(as_frame(order), VISITS).per_person(**asked)))
        for order in itertools.permutations(rows)
    }
    assert len(found) == 1
    ((_, first, last, usual, _, days),) = found.pop()
    assert (first, last, usual, days) == (0, 1, 0, 3)  # A, B, no; and of rows in B, the one with most days


def as_frame(rows: Any) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=["ward", "fall", "days", "fever"])
    return frame.assign(patient="p", date="2024-02-03")


def test_all_rows_of_a_person_are_read_and_not_only_those_within_the_bound() -> None:
    frame = pd.DataFrame({"patient": ["a"] * 9, "days": [1] * 9})
    schema = Schema({"days": Numeric(0, 30, unit=1)}, person="patient", rows_per_person=2)
    table = Table.from_frame(frame, schema).per_person(visits="count up to 20", days="sum up to 60")
    assert rows_of(table) == {"a": (9, 9)}
    within = Table.from_frame(frame, schema).per_person(visits="count")
    assert rows_of(within) == {"a": (2,)}  # the schema's bound, where none is written
    assert within.schema["visits"].labels == ("[0, 0.5)", "[0.5, 1.5)", "[1.5, 2]")


def test_sums_are_exact_and_kept_within_their_bounds() -> None:
    frame = pd.DataFrame({"p": [1, 1, 1, 2], "x": [0.1, 0.2, -0.7, 5.0]})
    schema = Schema({"x": Numeric(-1, 5, unit=0.1)}, person="p")
    table = Table.from_frame(frame, schema).per_person(x="sum from -0.3 up to 2", mean="mean x")
    assert rows_of(table) == {"1": (Fraction(-3, 10), Fraction(-1, 10)), "2": (2, 5)}  # -0.4 / 3 is nearest to -0.1
    fine = Schema({"x": Numeric(-1, 5)}, person="p")
    ((_, total),) = rows_of(
        Table.from_frame(frame[:3], fine).per_person(n="count", x="sum from -100 up to 100")
    ).values()
    assert total == Fraction(-2, 5)


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        (Numeric(0, 100), 0, 10),  # finer than the column's own grain
        (Numeric(-3.5, 7.25), -20, 3000),  # coarser
        (Numeric(-1e-6, 3e9), -5, 10**12),
        (Numeric(0, 1000, unit=0.25), -0.5, 1000.75),
        (Numeric(-7, 7, unit=3), -1000, 1000),
        (Numeric(2**30 - 9, 2**30 - 1, unit=1), 0, 2**30 - 1),
    ],
)
def test_sums_and_means_are_those_of_exact_numbers(column: Numeric, low: float, high: float) -> None:
    random = np.random.default_rng(8)
    cells = random.uniform(float(column.low), float(column.high), 200)
    frame = pd.DataFrame({"p": random.integers(0, 40, 200), "x": cells})
    table = Table.from_frame(frame, Schema({"x": column}, person="p"))
    made = table.per_person(total=f"sum x from {low} up to {high}", mean="mean x")
    own, total = column.grain, made.schema["total"]
    assert isinstance(total, Numeric)
    assert total.grain is not None
    assert own is not None
    for person, found in rows_of(made).items():
        steps = source_of(table).steps["x"][frame["p"] == int(person)].tolist()
        whole = sum(own.number(step) for step in steps)
        ends = total.grain.number(0), total.grain.number(total.grain.span)
        assert found == (
            min(max(half_up(whole, total.grain.unit), ends[0]), ends[1]),
            half_up(whole / len(steps), own.unit),
        )


def test_halves_go_up() -> None:
    frame = pd.DataFrame({"p": [1, 1, 2, 2], "x": [0, 1, 0, -1]})
    table = Table.from_frame(frame, Schema({"x": Numeric(-5, 5, unit=1)}, person="p")).per_person(x="mean")
    assert rows_of(table) == {"1": (1,), "2": (0,)}


def test_results_have_public_facts_of_their_own_and_the_label_stays() -> None:
    schema = Schema(dict(VISITS.columns), label="fall", person="patient", people="ward 7", neighbours="replace_one")
    frame = visits(20)
    table = Table.from_frame(frame, schema).per_person(**ALL)
    facts = table.schema
    assert (facts.label, facts.people, facts.neighbours) == ("fall", "ward 7", "replace_one")
    for name in ("ward", "fall", "fever"):
        assert facts[name] == VISITS[name]
    assert facts["first_ward"] == facts["usual"] == VISITS["ward"]
    assert facts["mean_day"] == VISITS["date"]
    assert facts["in_b"] == Categorical(["no", "yes"])
    days = facts["days"]
    assert isinstance(days, Numeric)
    assert (days.low, days.high, days.unit) == (0, 40, 1)
    assert Table.from_frame(frame, schema).per_person(days="sum up to 60").schema.label is None
    assert Schema.from_toml(facts.to_toml()) == facts
    # The public facts look at no row.
    empty = Table.from_frame(frame[:0], schema).per_person(**ALL)
    assert empty.schema == facts
    assert rows_of(empty) == {}


def test_a_table_of_one_row_a_person_is_its_own_first_and_last_and_least_and_most() -> None:
    frame = visits(30, persons=1000, seed=5, empty=0).drop_duplicates("patient")
    table = Table.from_frame(frame, VISITS)
    source = source_of(table)
    for asked in ("first {} by date", "last {} by date", "commonest {}", "least {}", "most {}"):
        made = source_of(table.per_person(**{name: asked.format(name) for name in VISITS.names}))
        order = np.argsort(np.array(names_of(source)))
        for name in VISITS.names:
            assert made.columns[name].tolist() == source.columns[name][order].tolist()
            if name in source.steps:
                assert made.steps[name].tolist() == source.steps[name][order].tolist()


# One person


SMALL = Schema({"x": Categorical(["a", "b"]), "t": Numeric(0, 1, unit=1, bins=2)}, person="p", rows_per_person=1)
ASKED = {
    "n": "count up to 3",
    "any": "any x is b",
    "last": "last x by t",
    "usual": "commonest x",
    "most": "most t",
    "sum": "sum t up to 2",
    "mean": "mean t",
}


def table_of(persons: tuple[tuple[tuple[str, int], ...], ...]) -> Counter[tuple[object, ...]]:
    rows = [(person, *row) for person, held in enumerate(persons) for row in held]
    frame = pd.DataFrame(rows, columns=["p", "x", "t"])
    return Counter(each[1:] for each in bag(Table.from_frame(frame, SMALL).per_person(**ASKED)))


def test_one_person_more_or_less_is_one_row_and_nobody_elses_row_changes() -> None:
    """All persons of at most 2 rows, beside all others."""
    rows = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    kinds = [bags for size in (0, 1, 2) for bags in itertools.combinations_with_replacement(rows, size)]
    alone = {kind: table_of((kind,)) for kind in kinds}
    assert {sum(found.values()) for kind, found in alone.items() if kind} == {1}
    for pair in itertools.combinations_with_replacement(kinds, 2):
        assert table_of(pair) == alone[pair[0]] + alone[pair[1]]


# What does not fit


REFUSED = {
    "nonsense": "is no aggregate",
    "": "is no aggregate",
    "count down": "is not how 'count' is written",
    "count up to many": "is not how 'count' is written",
    "count up to 0": "has no whole bound",
    "count up to 2.5": "has no whole bound",
    "first ward": "is not how 'first' is written",
    "last ward by fall": "comes in no order|come in no order",
    "last ward by nothing": "there is no column 'nothing'",
    "most ward 7": "is not how 'most' is written",
    "any nothing": "there is no column 'nothing'",
    "any days": "is a column of numbers, not of truths",
    "any ward": "nothing says which value of 'ward' counts",
    "any ward is D": "'D' is not a declared value of 'ward'",
    "mean ward": "is a column of categories",
    "sum days": "is not how 'sum' is written",
    "sum date up to 9": "dates, which have no sum",
    "sum change up to 9": "how small a sum of 'change' may be",
    "sum days from 9 up to 3": "is not below",
}


@pytest.mark.parametrize(("asked", "said"), REFUSED.items())
def test_what_is_no_aggregate_is_refused_in_a_sentence(asked: str, said: str) -> None:
    schema = Schema({**dict(VISITS.columns), "change": Numeric(-5, 5, unit=1)}, person="patient")
    table = Table.from_frame(visits(3).assign(change=0), schema)
    with pytest.raises(JostleError, match=said) as mistake:
        table.per_person(result=asked)
    assert mistake.value.fix


@pytest.mark.parametrize("asked", [3, None, [], ["count"], visits(2), b"count"])
def test_what_is_no_text_is_refused_in_a_sentence(asked: Any) -> None:
    with pytest.raises(JostleError, match="is no aggregate"):
        Table.from_frame(visits(3), VISITS).per_person(result=asked)


def test_what_is_asked_of_no_persons_or_for_nothing_is_refused() -> None:
    table = Table.from_frame({"x": [1]}, Schema({"x": Numeric(0, 1)}))
    with pytest.raises(JostleError, match="names no person"):
        table.per_person(n="count")
    persons = Table.from_frame({"x": [1], "p": [1]}, Schema({"x": Numeric(0, 1)}, person="p"))
    with pytest.raises(JostleError, match="no result is asked for"):
        persons.per_person()
    with pytest.raises(JostleError, match="both as a column and as the person"):
        persons.per_person(p="count")


# Whose promise it is


def test_it_is_known_again_by_what_it_is_made_of() -> None:
    table = Table.from_frame(visits(20), VISITS)
    made = table.per_person(visits="count up to 5").per_person(visits="most")
    assert made.origin.shared(table.origin)
    assert table.origin.shared(made.origin)
    assert source_of(made).identity == source_of(table).identity
    assert not made.origin.shared(Table.from_frame(visits(20), VISITS).origin)


def test_it_is_charged_to_the_promise_of_the_table_it_is_made_of() -> None:
    table = Table.from_frame(visits(20), VISITS)
    made = table.per_person(visits="count up to 5")
    assert jostle.protect(table, epsilon=1).count("0.6") is not None
    with pytest.raises(JostleError, match="epsilon"):
        jostle.protect(made).count("0.6")
    assert float(jostle.protect(made).left or 0) == pytest.approx(0.4)


def test_it_is_charged_so_in_the_other_order_and_when_the_table_is_gone() -> None:
    frame = visits(20, seed=77)
    made = Table.from_frame(frame, VISITS).per_person(visits="count up to 5")
    jostle.protect(made, epsilon=1).count("0.6")
    assert float(jostle.protect(Table.from_frame(frame, VISITS)).left or 0) == pytest.approx(0.4)
    with pytest.raises(JostleError, match="private"):
        jostle.rehearse(Table.from_frame(frame, VISITS).per_person(visits="count up to 5"))


def test_a_vault_beside_the_file_pays_for_what_is_made_of_it(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    visits(20, seed=78).to_csv(path, index=False)
    vault = tmp_path / "visits.csv.vault"
    jostle.protect(Table.read(path, VISITS), epsilon=1, vault=vault).count("0.6")
    made = Table.read(path, VISITS).per_person(days="sum up to 40")
    assert float(jostle.protect(made).left or 0) == pytest.approx(0.4)
    with pytest.raises(JostleError, match="already kept in"):
        jostle.protect(made, epsilon=1, vault=tmp_path / "another.vault")


def test_its_owner_is_told_what_is_empty() -> None:
    frame = pd.DataFrame({"patient": [1, 2], "ward": ["A", None]})
    schema = Schema(
        {"ward": Categorical(["A", "B"], missing="value"), "x": Numeric(0, 1, missing="value")}, person="patient"
    )
    made = Table.from_frame(frame.assign(x=None), schema).per_person(ward="commonest", x="mean")
    assert "'x' is empty in all rows" in made.notes
