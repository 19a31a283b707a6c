"""Whatever has a bound keeps to it where small tables and small parameters do not reach.

Tables of as many records as there may be, whose counts are at the ends of types of integers and of tables of numbers;
and, for each kernel, parameters beyond which it goes another way: what a row adds there, by the code that runs.
"""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import cycle, islice, product
from typing import Any

import claims
import contracts
import numpy as np
import pandas as pd
import pytest
from claims import EPSILON, PARTS, Heavy, Ways, hold_above, hold_group_score, hold_noise, hold_score, tally
from contracts import NUMBERS, SCHEMAS, check_beforehand
from extreme_cases import CASES, added, routes
from making import made
from some_expressions import ROWS, tally_of

from jostle import Numeric, Schema, Table
from jostle.errors import JostleError
from jostle.privacy import sensitivity
from jostle.privacy.column_scores import (
    SLACK,
    SPAN,
    UNIT,
    Dependence,
    Discernibility,
    FeatureDiscernibility,
    SetDiscernibility,
    lost,
)
from jostle.privacy.expressions import NODES
from jostle.privacy.mechanisms import AddNoise, AddNoiseAbove, AddNoiseByLevel, AddNoiseTo, evaluated
from jostle.privacy.picks import GROUP_SCORES, SCORES, FindAbove, FindNthLargest, Pick, PickLargest, deviations
from jostle.privacy.scores import QuantileScore
from jostle.privacy.split_scores import LARGEST_BOUND, entropies, spread_of
from jostle.tables import kernels
from jostle.tables.feature_kernels import FeatureRefinements
from jostle.tables.kernels import MOST_RECORDS, Counts, DenseKernel
from jostle.tables.number_kernels import Moments, NumberSum, Ranks

Hold = Callable[..., None]
ENDS = [2**power + more for power in (7, 8, 10, 15, 16, 20, 22, 24, 30, 31, 32) for more in (-1, 0, 1)]
"""Counts about where types of integers, and tables of numbers, end."""
ATTEMPTS = 12


def some_heavy(chance: random.Random) -> Heavy:
    """Return a table of no more records than there may be, less one; perhaps of just so many, in one row or two."""
    times = [chance.choice([0, 1, 2, 3, *ENDS]) for _ in ROWS]
    if chance.random() < 0.5:
        times = [chance.choice([0, 0, 1, 3, 2**20]) for _ in ROWS]
        several = chance.sample(range(len(ROWS)), 2)
        share = (MOST_RECORDS - 1 - sum(times)) // 2
        for place in several:
            times[place] += share
    while sum(times) >= MOST_RECORDS:
        times[times.index(max(times))] //= 2
    return Heavy(tuple(times))


def heavy_ways(chance: random.Random) -> Ways:
    def ways(schema: Any) -> Any:
        pairs: list[tuple[Heavy, Heavy]] = []
        for _ in range(3):
            base = some_heavy(chance)
            after = [base.more(place) for place in range(len(ROWS))]
            if schema.neighbours == "add_remove":
                pairs += [(base, each) for each in after]
            else:
                pairs += [(one, other) for at, one in enumerate(after) for other in after[:at]]
        return [(where, pairs) for where in PARTS[:2]]

    return ways


class Gaps:
    """Picks nothing, and remembers between which scores, and at which rate."""

    def permute_and_flip(self, scores: Any, rate: Fraction) -> int:
        self.scores, self.rate = scores.tolist(), rate
        return 0


def hold_gaps(mechanism: Any, schema: Schema, neighbours: Ways) -> None:
    """Hold how far scores move apart, times the rate of the pick, to epsilon."""
    kernel = mechanism.kernel(schema)

    @cache
    def compared(held: Heavy, where: Any) -> tuple[list[int], Fraction]:
        noise: Any = Gaps()
        mechanism.release(tally(kernel, held, schema, where), schema, EPSILON, noise)
        return noise.scores, noise.rate

    for where, ways in neighbours(schema):
        for one, other in ways:
            (first, rate), (second, same) = compared(one, where), compared(other, where)
            moves = [b - a for a, b in zip(first, second, strict=True)]
            assert rate == same, "the rate depends on rows"
            assert (max(moves) - min(moves)) * rate <= EPSILON, f"{mechanism}: {moves}"


HELD: list[tuple[type, Hold]] = [
    *((kind, hold_score) for kind in SCORES),
    *((kind, hold_group_score) for kind in GROUP_SCORES),
    *((kind, hold_noise) for kind in (AddNoise, AddNoiseAbove, AddNoiseByLevel, AddNoiseTo, FindNthLargest)),
    (FindAbove, hold_above),
    (Pick, hold_gaps),
    (PickLargest, hold_gaps),
]


@pytest.mark.parametrize(("member", "hold"), HELD, ids=[kind.__name__ for kind, _ in HELD])
def test_a_record_of_very_many_moves_no_more_than_it_may(member: type, hold: Hold) -> None:
    held = 0
    for number in range(ATTEMPTS):
        chance = random.Random(f"{member.__name__} {number}")
        value = made(chance, member)
        about = getattr(value, "tallied", getattr(value, "score", value))
        for schema in NUMBERS if type(about) in {Moments, NumberSum, QuantileScore, Ranks} else SCHEMAS:
            try:
                check_beforehand(value, schema)
            except JostleError:
                continue
            hold(value, schema, heavy_ways(chance))
            held += 1
    assert held > ATTEMPTS // 2


@pytest.mark.parametrize("length", [2, 8, 16])
def test_a_record_of_very_many_moves_a_run_s_cost_by_one(length: int) -> None:
    chance = random.Random(length)
    for _ in range(50):
        counts = np.array([chance.choice([0, 1, *ENDS]) for _ in range(16)], dtype=np.int64)
        before = deviations(counts, length)
        for place in range(16):
            counts[place] += 1
            assert np.abs(deviations(counts, length) - before).max() <= 1
            counts[place] -= 1


@pytest.mark.parametrize("bound", [1, 2, 3, 127, 128, 129, 2**16 + 1, 2**22 - 1, 2**22, 2**22 + 1, 2**63 - 1])
def test_entropies_grow_ever_faster_and_by_no_more_than_is_said_of_them(bound: int) -> None:
    """Across the end of their table, and to the most records that there may be: what information gain is proved by."""
    end = min(bound, LARGEST_BOUND)
    counts = np.unique([*range(300), *range(max(0, end - 9), end + 9), *ENDS, MOST_RECORDS - 1])
    growth = entropies(counts + 1, bound) - entropies(counts, bound)
    assert growth[0] >= 0
    assert np.all(np.diff(growth) >= 0)
    assert growth[-1] <= spread_of("InfoGain", bound)


def test_grids_of_the_largest_counts_and_scales_move_no_further_apart() -> None:
    """A row makes a score grow by UNIT - (h(d + 1) - h(d)), by h(d + 1) - h(d), or not at all, whatever the gap d."""
    least = most = 0
    for power in range(-45, 21):
        scale = Fraction(2) ** power
        top = round(Fraction("2.73205") * scale)
        for start in (0, max(0, top - 500), round(2.2 * scale), *ENDS, MOST_RECORDS - 1000):
            steps = np.diff(lost(start + np.arange(1000), scale))
            least = min(least, int(steps.min()), UNIT - int(steps.max()))
            most = max(most, int(steps.max()), UNIT - int(steps.min()))
    assert most - least <= SPAN * UNIT + SLACK


@pytest.mark.parametrize(
    "kind",
    # Those of features are the same cases twice, and take long.
    [pytest.param(kind, marks=[pytest.mark.slow] * (kind is FeatureRefinements)) for kind in CASES],
    ids=lambda kind: str(kind.__name__),
)
def test_a_record_adds_no_more_than_its_kernel_says_wherever_that_goes_another_way(kind: type) -> None:
    """A record that comes or goes, and one that becomes another, or enters or leaves a part."""
    for number, case in enumerate(CASES[kind]()):
        kernel, schema = case.kernel, case.schema
        kernel.cells(schema)
        bound, replaced = kernel.bound(schema), kernel.replaced(schema)
        alone = []
        for record, (found, *others) in routes(case):
            assert all(each == found for each in others), f"case {number}, {record}: another route, another tally"
            assert sum(map(abs, found.values())) <= min(bound, replaced), f"case {number}"
            assert max(map(abs, found.values()), default=0) * MOST_RECORDS < 2**63, f"case {number}: sums do not fit"
            alone.append(found)
        for at, one in enumerate(alone):
            for other in alone[:at]:
                apart = sum(abs(one.get(cell, 0) - other.get(cell, 0)) for cell in one.keys() | other.keys())
                assert apart <= replaced, f"case {number}"


@pytest.mark.parametrize("kind", list(CASES), ids=lambda kind: str(kind.__name__))
def test_no_number_of_records_takes_a_kernel_another_way(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many records are what they are one by one: few beside the cells or many, cells held all or occupied ones alone.

    A way that were taken for so many records only, and failed there, would tell that there are so many.
    """
    tallied = 0
    for number in range(ATTEMPTS):
        kernel = made(random.Random(f"{kind.__name__} {number}"), kind)
        schema = (NUMBERS if kind in {Moments, NumberSum, Ranks} else SCHEMAS)[0]
        try:
            cells = min(kernel.cells(schema), 1000)
        except JostleError:
            continue
        alone = [claims.added(kernel, row, schema, ()) for row in ROWS]
        for length in (0, 1, *range(max(2, cells // 4 - 1), cells // 4 + 3), cells + 1, 4 * cells + 1):
            rows = tuple(islice(cycle(ROWS), length))
            told: Counter[int] = Counter()
            for place, each in enumerate(alone):
                told.update({cell: count * len(range(place, length, len(ROWS))) for cell, count in each.items()})
            for most in (0, kernels.MOST_DENSE):
                monkeypatch.setattr(kernels, "MOST_DENSE", most)
                assert added(kernel, claims.source(rows, schema)) == {cell: n for cell, n in told.items() if n}
        tallied += 1
    assert tallied > ATTEMPTS // 4


@pytest.mark.parametrize("kind", [Dependence, Discernibility, FeatureDiscernibility, SetDiscernibility])
def test_scores_are_the_same_in_64_bits_and_in_integers_without_end(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of them is taken, goes by the number of records."""
    for number in range(ATTEMPTS):
        chance = random.Random(f"{kind.__name__} {number}")
        score, held = made(chance, kind), Heavy(tuple(chance.choice([0, 1, 7, 2**20]) for _ in ROWS))
        try:
            check_beforehand(score, SCHEMAS[0])
        except JostleError:
            continue
        found = []
        for fitting in (0, 2**31 - 1):
            monkeypatch.setattr(sys.modules[kind.__module__], "FITTING", fitting)
            found.append(score.scores(tally(score.kernel(SCHEMAS[0]), held, SCHEMAS[0]), SCHEMAS[0]).tolist())
        assert found[0] == found[1]


@pytest.mark.parametrize("kind", list(NODES), ids=lambda kind: str(kind.__name__))
def test_expressions_are_the_same_in_64_bits_and_in_integers_without_end(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of them is taken, goes by how large the numbers are."""
    for number in range(ATTEMPTS):
        chance = random.Random(f"{kind.__name__} {number}")
        expression = made(chance, kind)
        try:
            check_beforehand(expression, SCHEMAS[0])
        except JostleError:
            continue
        rows = tuple(chance.choices(ROWS, k=chance.randint(0, 9)))
        found = []
        for room in (1, sensitivity.ROOM):
            monkeypatch.setattr(sensitivity, "ROOM", room)
            (numbers,) = evaluated((expression,), tally_of(rows, expression, SCHEMAS[0]), SCHEMAS[0])
            found.append((numbers.flat(), numbers.shape, numbers.denominator))
        assert found[0] == found[1]


CELLS = (
    -math.inf,
    -1.7e308,
    -(2.0**63),
    -1.0,
    -5e-324,
    -0.0,
    5e-324,
    0.5,
    1.0,
    2.0**31,
    2.0**63,
    1e308,
    math.inf,
    None,
)


@pytest.mark.representative
@pytest.mark.parametrize(("outside", "missing"), list(product(["clamp", "other", "drop"], ["value", "blank"])))
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-(2**30 - 1), 2**30 - 1), (-5e299, 5e299), (2**53, 2**54)])
def test_a_cell_adds_no_more_than_it_may_whatever_number_it_holds(
    low: float, high: float, outside: Any, missing: Any
) -> None:
    """From the frame on: numbers far out of bounds, those that are no finite ones, and none, by each policy."""
    schema = Schema({"b": Numeric(low, high, bins=255, outside=outside, missing=missing)})
    column = schema["b"]
    assert isinstance(column, Numeric)
    kernels: list[DenseKernel] = [Counts.of("b"), Counts.of()]
    if column.grain is not None:
        kernels += [Ranks("b", [0, 1]), Moments("b", 1, 2**30 - 1), Moments("b", 2, 2**15 - 1)]
        kernels += [NumberSum("b"), NumberSum("b", column.grain.first), NumberSum("b", column.grain.last)]
    frames = [pd.DataFrame({"b": [cell]}, dtype="float64") for cell in (*CELLS, low, high)]
    tables = [Table.from_frame(frame, schema) for frame in frames]
    for kernel in kernels:
        try:
            kernel.cells(schema)
        except JostleError:
            continue
        alone = [added(kernel, table._source) for table in tables]
        for one, other in product([{}, *alone], alone):
            apart = sum(abs(one.get(cell, 0) - other.get(cell, 0)) for cell in one.keys() | other.keys())
            assert apart <= (kernel.replaced(schema) if one else kernel.bound(schema)), f"{kernel}: {one}, {other}"


@pytest.mark.representative
@pytest.mark.parametrize("epsilon", [Fraction(1, 3**20), Fraction(2**60 + 1, 2**60), Fraction(10**12 + 1, 7)], ids=str)
def test_noise_is_no_less_than_it_should_be_for_an_epsilon_of_many_digits(
    epsilon: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing between epsilon and the scale that is drawn with is rounded down, by one part in 2**60 even."""
    for module in (claims, contracts):
        monkeypatch.setattr(module, "EPSILON", epsilon)
    held = 0
    for member, hold in HELD:
        if hold not in {hold_noise, hold_above}:
            continue
        for number in range(ATTEMPTS // 2):
            value = made(random.Random(f"{member.__name__} {number}"), member)
            for schema in SCHEMAS:
                try:
                    check_beforehand(value, schema)
                except JostleError:
                    continue
                hold(value, schema)
                held += 1
    assert held > ATTEMPTS
