"""What the values of a column are called: one name for each, and other ways to write it, the same everywhere."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import program

from jostle import Categorical, Numeric, Probe, Schema, Table, rehearse
from jostle.errors import ProgramError, Source
from jostle.lang.check import check
from jostle.lang.values import Axis, ByGroup
from jostle.tables.columns import Column

PLENTY = 10**7
"""A budget with which there is no noise to speak of."""
COLUMNS: dict[str, Column] = {
    "age": Numeric(0, 80, bins=4, outside="other", missing="value"),
    "narrow": Numeric(0, 1, bins=4),
    "unit": Numeric(0, 4, bins=4),
    "ward": Categorical(["1", "2", "10"], outside="other"),
    "size": Categorical(["1", "2", "many"]),
    "region": Categorical(["north", "east"], missing="value"),
}
SCHEMA = Schema(COLUMNS)
ROWS: list[tuple[Any, ...]] = [
    (10.0, 0.1, 0.5, "1", "1", "north"),
    (15.0, 0.3, 1.5, "2", "2", "north"),
    (30.0, 0.3, 1.7, "2", "many", "east"),
    (30.0, 0.9, 3.0, "10", "many", "east"),
    (35.0, 0.9, 3.0, "10", "many", "north"),
    (99.0, 0.9, 3.0, "7", "2", None),
    (None, 0.6, 2.0, "7", "1", None),
    (80.0, 1.0, 4.0, "1", "1", "east"),
]
SPELLED: dict[str, list[tuple[Any, ...]]] = {
    "age": [(10, 3, "[0, 20)", 0, Fraction(1, 2)), (30, 20, "[20, 40)", 39.5), (50, "[40, 60)"), (70, 80, "[60, 80]")],
    "narrow": [("1/8", "1/10", "[0, 0.25)"), ("3/8", "[0.25, 0.5)"), ("5/8", "[0.5, 0.75)"), ("7/8", 1, "[0.75, 1]")],
    "unit": [(0, "[0, 1)", "1/2"), (1, "[1, 2)"), (2, "[2, 3)", "5/2"), (3, 4, "[3, 4]")],
    "ward": [(1, "1"), (2, "2"), (10, "10")],
    "size": [("1", 1), ("2", 2), ("many",)],
    "region": [("north",), ("east",)],
}
"""By column, what each value is called, its own name first; fractions as texts."""
EXTRA = {"age": ["(other)", "(missing)"], "ward": ["(other)"], "region": ["(missing)"]}
NAMES = [(column, code) for column, values in SPELLED.items() for code in range(len(values))]


def opened() -> Probe:
    columns = {
        name: pa.array(
            [row[place] for row in ROWS], pa.float64() if isinstance(COLUMNS[name], Numeric) else pa.string()
        )
        for place, name in enumerate(COLUMNS)
    }
    return rehearse(Table.from_frame(pa.table(columns), SCHEMA), epsilon=None, seed=1)


def answer(body: str) -> Any:
    text = f"def answer(db):\n    {body}\n"
    checked = check(Source("p.jst", text), SCHEMA)
    assert checked.good, checked.diagnostics
    return program(text).run("answer", opened(), epsilon=Fraction(PLENTY))


def written(name: Any) -> str:
    """Return a name as a program writes it."""
    if isinstance(name, str):
        return name if "/" in name else f'"{name}"'
    return f"{name.numerator} / {name.denominator}" if isinstance(name, Fraction) else str(name)


def counted(condition: str) -> Any:
    """Return how many rows meet a condition."""
    return answer(f"return {{{{ select count() from db where {condition} }}}}")  # noqa: S608 - a program's query, no SQL


def rows_of(column: str, code: int) -> int:
    """Return how many rows have a value, counted by hand."""
    place, known = list(COLUMNS).index(column), COLUMNS[column]
    values = [row[place] for row in ROWS]
    if isinstance(known, Categorical):
        return sum(value == known.values[code] for value in values)
    low, high = list(pairwise(known.cut_points))[code]
    last = code == known.bins - 1
    return sum(value is not None and (low <= value < high or (last and value == high)) for value in values)


@pytest.mark.representative
@pytest.mark.parametrize(("column", "code"), NAMES, ids=[f"{column} {code}" for column, code in NAMES])
def test_a_value_goes_by_all_its_names_everywhere(column: str, code: int) -> None:
    expected = rows_of(column, code)
    for each in SPELLED[column][code]:
        name, grouped = written(each), f"select count() from db groupby {column}"  # noqa: S608 - a program's query, no SQL
        assert answer(f"return noisyCount(db[{column} = {name}])") == expected
        assert counted(f"{column} == {name}") == expected
        assert counted(f"{name} == {column}") == expected
        assert counted(f"{column} in [{name}]") == expected
        assert answer(f"return {{{{ {grouped} }}}}[{name}]") == expected
        assert answer(f"return {{{{ ({grouped})[{name}] }}}}") == expected
        assert answer(f"h = {{{{ {grouped} }}}}\n    return {name} in h") is True
        others = counted(f"{column} != {name}")
        without = counted(f"{column} not in [{name}, {name}]")
        assert others == without == sum(rows_of(column, other) for other in range(len(SPELLED[column]))) - expected


@pytest.mark.parametrize("column", COLUMNS)
def test_groups_are_called_by_one_name_and_there_is_one_for_each_value(column: str) -> None:
    grouped = f"{{{{ select count() from db groupby {column} }}}}"  # noqa: S608 - a program's query, no SQL
    found = answer(f"return {grouped}")
    own = [Fraction(each[0]) if isinstance(each[0], str) and "/" in each[0] else each[0] for each in SPELLED[column]]
    if column == "ward":
        own = [1, 2, 10]
    assert list(found) == [*own, *EXTRA.get(column, [])]
    assert sum(found.values()) == len(ROWS)
    by_label = answer(f"h = {grouped}\n    return [h[v] for v in db.{column}]")
    assert by_label == list(found.values())
    parts = answer(f"return {{v: noisyCount(db[{column} = v]) for v in db.{column}}}")
    assert list(parts.values()) == list(found.values())
    kept = answer(f"h = {grouped}\n    return [noisyCount(db[{column} = v]) for v in h]")
    assert kept == list(found.values())


def test_groups_by_two_columns_go_by_all_names_of_both() -> None:
    body = "h = {{ select count() from db groupby region, age }}\n    return "
    for name in ('("north", 10)', '("north", "[0, 20)")', '("north", 3)'):
        assert answer(body + f"h[{name}]") == 2
        assert answer(body + f"{name} in h") is True
    assert answer('return {{ (select count() from db groupby region, age)[("east", "[20, 40)")] }}') == 2


def test_an_item_picked_by_labels_goes_with_utilities_by_name() -> None:
    text = "h = select count() from db groupby age\n    return noisyMax(db.age, [h[v] for v in db.age])"
    assert answer(text) == "[20, 40)"


def test_what_is_no_name_is_said_with_those_there_are() -> None:
    text = "def answer(db):\n    h = {{ select count() from db groupby ward }} spending 50%\n"
    text += "    n = h[1]\n    return h[7 if n > 0 - 100 else 1]\n"
    with pytest.raises(ProgramError) as caught:
        program(text).run("answer", opened(), epsilon=Fraction(1))
    (mistake,) = caught.value.diagnostics
    assert (mistake.code, mistake.title) == ("J507", "there is no key `7`")
    assert mistake.why == "there are 1, 2, 10, (other)"


columns = st.one_of(
    st.builds(
        Numeric,
        st.integers(-5, 0),
        st.integers(1, 9),
        st.integers(1, 12),
        outside=st.sampled_from(["clamp", "blank", "other", "drop"]),
        missing=st.sampled_from(["blank", "value", "drop"]),
    ),
    st.builds(
        Categorical,
        st.lists(st.sampled_from(["1", "02", "3.0", "1/2", "0.25", "a", "b", "inf"]), min_size=1, unique=True),
        outside=st.sampled_from(["blank", "other", "drop"]),
        missing=st.sampled_from(["blank", "value", "drop"]),
    ),
)


@given(columns)
def test_names_tell_values_apart(column: Column) -> None:
    axis = Axis.of(column)
    assert len(set(axis.keys)) == len(axis.keys) == column.size
    for code, (key, label) in enumerate(zip(axis.keys, column.labels, strict=True)):
        assert axis.place(key) == axis.place(label) == column.code_called(key) == column.code_called(label) == code
    for code, value in enumerate(column.meanings):
        assert value is None or column.code_called(value) == code
    for nothing in (None, True, "no such", [1], float("nan"), 10**9):
        assert axis.place(nothing) is None


@given(columns)
def test_a_dictionary_by_group_is_one_and_can_be_sent(column: Column) -> None:
    axis = Axis.of(column)
    found = ByGroup([axis], dict(zip(axis.keys, range(len(axis)), strict=True)))
    again = pickle.loads(pickle.dumps(found))
    for each in (found, again):
        assert each == dict(zip(axis.keys, range(len(axis)), strict=True))
        assert [each[label] for label in column.labels] == list(range(len(axis)))
        assert "no such" not in each
        with pytest.raises(KeyError):
            each["no such"]
