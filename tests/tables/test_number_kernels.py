"""Numbers in whole steps of a public unit: what they become, what kernels add up of them, and what a row can change."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_tables import source_of, tally

from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import JostleError, SchemaError
from jostle.tables.kernels import Counts, DenseKernel
from jostle.tables.number_kernels import Moments, NumberSum, Ranks
from jostle.tables.values import LARGEST_MULTIPLE, finest_grain, grain_of

# Units


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_a_unit_that_is_not_declared_is_a_power_of_ten_that_fits(low: float, width: float) -> None:
    high = low + width
    grain = finest_grain(low, high)
    if grain is None:
        assert width < 2 * max(abs(low), abs(high)) / LARGEST_MULTIPLE * 10
        return
    assert Fraction(repr(low)) <= grain.number(0) < grain.number(grain.span) <= Fraction(repr(high))
    assert max(abs(grain.first), abs(grain.last), grain.span // 64) <= LARGEST_MULTIPLE
    assert math.log10(grain.unit) == round(math.log10(grain.unit))
    finer = grain.unit / 10
    assert (high - low) / finer > 2**24 or max(abs(low), abs(high)) / finer > LARGEST_MULTIPLE


@pytest.mark.parametrize(("low", "high"), [(0, 1e-300), (-3e-320, 3e-320), (-1e300, 1e300), (1e307, 1.1e307)])
def test_numbers_of_any_size_are_read_with_a_unit_or_without(low: float, high: float) -> None:
    """A unit below 10**-308 is a fraction whose denominator is no float: with such numbers, no table opened."""
    schema = Schema({"a": Numeric(low, high, bins=2)})
    table = Table.from_frame(pd.DataFrame({"a": [low, high, math.inf, -math.inf, 0.0, None]}), schema)
    assert sum(tally(table, Counts.of("a"))) == 5
    grain = finest_grain(low, high)
    if grain is not None:
        assert tally(table, Ranks("a", [0, grain.span])) == [3, 2]


@pytest.mark.parametrize("unit", [0, -1, math.nan, math.inf, 60, 1e-9, "day", True])
def test_a_unit_that_does_not_fit_is_refused(unit: Any) -> None:
    with pytest.raises(SchemaError, match="unit"):
        Numeric(0, 50, unit=unit)


@given(st.sampled_from([1, 0.5, 0.01, 3]), st.lists(st.floats(-50, 150) | st.none(), min_size=1, max_size=20))
def test_numbers_become_the_nearest_multiple_between_the_bounds(unit: float, numbers: list[float | None]) -> None:
    column = Numeric(0, 100, bins=4, missing="value", unit=unit)
    grain = grain_of(0, 100, unit)
    assert grain is not None
    table = Table.from_frame(pd.DataFrame({"a": pd.array(numbers, "Float64")}), Schema({"a": column}))
    ends = [grain.number(0), grain.number(grain.span)]
    told = sum(
        min(max(round(Fraction(number) / grain.unit) * grain.unit, ends[0]), ends[1])
        for number in numbers
        if number is not None
    )
    (found,) = tally(table, NumberSum("a"))

    # Halfway between two multiples, doubles may go either way.
    halfway = sum(abs(number / unit % 1 - 0.5) < 1e-9 for number in numbers if number is not None)
    assert abs(found - told / grain.unit) <= halfway


def test_units_are_written_down_and_read_back() -> None:
    schema = Schema({"cents": Numeric(0, 10, unit=0.01), "plain": Numeric(0, 10)})

    assert Schema.from_toml(schema.to_toml()) == schema
    assert "unit = 0.01" in schema.to_toml()
    assert schema.to_toml().count("unit") == 1


# What is added up


AGES = Schema({"age": Numeric(-1, 2, bins=2, missing="value", unit=1), "ill": Categorical(["no", "yes"])})
NUMBERS: list[float | None] = [-1, 0, 1, 2, None]
ROWS = list(product(NUMBERS, ("no", "yes")))
KERNELS: list[Any] = [
    *(NumberSum("age", origin) for origin in (-5, -1, 0, 1, 3)),
    *(Moments("age", degree, most) for degree in (1, 2) for most in (1, 2, 3, 7)),
    *(Ranks("age", starts) for starts in ([0], [0, 2], [0, 1, 2, 3])),
]


def table_of(rows: list[tuple[float | None, str]]) -> Table:
    return Table.from_frame(pd.DataFrame(rows, columns=["age", "ill"]), AGES)


def adds(kernel: Any, number: float | None) -> list[int]:
    """Return what a row adds, the obvious way."""
    if isinstance(kernel, Ranks):
        places = (
            []
            if number is None
            else [place for place in range(len(kernel.starts)) if kernel.starts[place] - 1 <= number]
        )
        return [int(place == max(places, default=-1)) for place in range(len(kernel.starts))]
    if isinstance(kernel, NumberSum):
        return [0 if number is None else int(number) - kernel.origin]
    if number is None:
        return [0] * (kernel.degree + 1)
    up = math.floor(Fraction(int(number) + 1, 3) * kernel.most + Fraction(1, 2))
    down = kernel.most - up
    return [down, up] if kernel.degree == 1 else [down**2, 2 * down * up, up**2]


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_row_changes_more_than_the_noise_is_made_for(kernel: DenseKernel) -> None:
    """All rows there are: one more, one become another, and one that enters or leaves a part of the table."""
    everyone = [adds(kernel, number) for number, _ in ROWS]
    for row, told in zip(ROWS, everyone, strict=True):
        assert tally(table_of([row]), kernel) == told
        assert tally(table_of([row, row, (2, "no")]), kernel) == [
            2 * one + other for one, other in zip(told, adds(kernel, 2), strict=True)
        ]
        assert tally(table_of([row]), kernel, (("ill", (1,)),)) == [each * (row[1] == "yes") for each in told]
    nothing = [0] * kernel.cells(AGES)

    assert max(sum(map(abs, row)) for row in everyone) == kernel.bound(AGES)
    assert kernel.replaced(AGES) >= max(
        sum(abs(one - other) for one, other in zip(*rows, strict=True))
        for rows in combinations([nothing, *everyone], 2)
    )
    assert kernel.replaced(AGES) <= 2 * kernel.bound(AGES)


@pytest.mark.parametrize("most", [3, 6, 30, 32766])
def test_moments_tell_number_mean_and_variance(most: int) -> None:
    rows: list[tuple[float | None, str]] = [(-1, "no"), (2, "no"), (2, "yes"), (1, "no"), (None, "no")]
    first, second, third = tally(table_of(rows), Moments("age", 2, most))
    from_high, from_low = tally(table_of(rows), Moments("age", 1, most))
    numbers = np.array([-1, 2, 2, 1])
    together = first + second + third

    assert from_high + from_low == 4 * most
    assert together == 4 * most**2
    assert -1 + 3 * from_low / (4 * most) == pytest.approx(numbers.mean())
    assert 9 * (first * third - second**2 / 4) / together**2 == pytest.approx(numbers.var())


@pytest.mark.parametrize("source", ["frame", "memory", "stream", "parquet", "dictionary"])
def test_numbers_are_the_same_from_every_source(source: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [0.26, 7, None, 3.14159, 99], "ill": list("xyxyy")})
    schema = Schema({"age": Numeric(0, 9, bins=3, outside="other", missing="value"), "ill": Categorical(["x", "y"])})
    if source == "frame":
        table = Table.from_frame(frame, schema)
    elif source == "dictionary":
        table = Table.from_frame(frame.astype({"age": "category"}), schema)
    else:
        path = tmp_path / ("rows.parquet" if source == "parquet" else "rows.csv")
        frame.to_parquet(path) if source == "parquet" else frame.to_csv(path, index=False)
        table = Table.read(path, schema, stream=source == "stream")
    unit = finest_grain(0, 9)
    assert unit is not None
    (found,) = tally(table, NumberSum("age"))

    assert found * unit.unit == Fraction("10.40159")


def test_of_a_grid_numbers_are_the_cells() -> None:
    table = Table.from_grid([0, 2, 0, 5])

    assert tally(table, NumberSum("x")) == [17 * 10**6]
    assert source_of(table).schema["x"].labels[1] == "[1, 2)"


MISTAKES: list[tuple[Any, str]] = [
    (NumberSum("ill"), "is a column of categories"),
    (NumberSum("height"), "no column 'height'"),
    (NumberSum("age", -LARGEST_MULTIPLE), "too far from"),
    (Moments("age", 2, 2**15), "above 2"),
    (Ranks("age", [0, 4]), "do not begin one after the other"),
    (Ranks("age", [0, 2, 2]), "do not begin one after the other"),
    (Ranks("age", [1]), "do not begin one after the other"),
]


@pytest.mark.parametrize(("kernel", "said"), MISTAKES)
def test_what_does_not_fit_the_schema_is_refused(kernel: DenseKernel, said: str) -> None:
    with pytest.raises(JostleError, match=said):
        kernel.cells(AGES)


def test_bounds_that_leave_no_unit_are_refused_when_numbers_are_asked_for() -> None:
    schema = Schema({"a": Numeric(10**15, 10**15 + 8, bins=1)})
    table = Table.from_frame(pd.DataFrame({"a": [10**15 + 1]}), schema)

    assert tally(table, Counts.of("a")) == [1]
    with pytest.raises(JostleError, match="too close"):
        NumberSum("a").cells(schema)
