"""Numbers in whole steps of a public unit: what they become, what kernels add up of them, and what a row can change."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_tables import source_of, tally

from jostle import Categorical, Numeric, Schema, Table
from jostle.tables.kernels import Counts
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


# What is added up


AGES = Schema({"age": Numeric(-1, 2, bins=2, missing="value", unit=1), "ill": Categorical(["no", "yes"])})


def table_of(rows: list[tuple[float | None, str]]) -> Table:
    return Table.from_frame(pd.DataFrame(rows, columns=["age", "ill"]), AGES)


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


def test_of_a_grid_numbers_are_the_cells() -> None:
    table = Table.from_grid([0, 2, 0, 5])

    assert tally(table, NumberSum("x")) == [17 * 10**6]
    assert source_of(table).schema["x"].labels[1] == "[1, 2)"
