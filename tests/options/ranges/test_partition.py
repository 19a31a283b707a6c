"""DAWA's private partition: the cheapest one, and exactly as private as its proof says."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle.privacy.picks import PickPartition, cheapest_partition, deviations, run_starts

Runs = tuple[int, ...]


def partitions(cells: int, lengths: tuple[int, ...]) -> Iterator[Runs]:
    """Yield every way to cut a line into runs of these lengths, as lengths."""
    if not cells:
        yield ()
    for length in lengths:
        if length <= cells:
            for rest in partitions(cells - length, lengths):
                yield (*rest, length)


@given(st.lists(st.integers(0, 6), min_size=8 + 7 + 5 + 1, max_size=8 + 7 + 5 + 1))
def test_the_partition_is_the_cheapest_of_all_on_eight_cells(flat: list[int]) -> None:
    """Small costs, so that ties happen all the time; those are settled by the shorter last run, then the one before."""
    numbers = np.array(flat, dtype=np.int64)
    costs = {1: numbers[:8], 2: numbers[8:15], 4: numbers[15:20], 8: numbers[20:]}

    def price(runs: Runs) -> tuple[int, Runs]:
        total = place = 0
        for length in runs:
            total += int(costs[length][place])
            place += length
        return total, runs[::-1]

    best = min(partitions(8, (1, 2, 4, 8)), key=price)

    starts = cheapest_partition(8, costs)
    assert tuple(np.diff(starts, append=8).tolist()) == best


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.data())
def test_deviations_are_distances_from_the_median(counts: list[int], data: st.DataObject) -> None:
    length = data.draw(st.sampled_from([length for length in (1, 2, 4, 8, 16, 32) if length <= len(counts)]))
    found = deviations(np.array(counts, dtype=np.int64), length)

    expected = []
    for start in run_starts(len(counts), length).tolist():
        run = np.array(counts[start : start + length])
        expected.append(min(int(np.abs(run - level).sum()) for level in run))
    assert found.tolist() == expected


@given(st.lists(st.integers(0, 50), min_size=4, max_size=20), st.integers(0, 3))
def test_one_record_moves_a_deviation_by_at_most_one(counts: list[int], place: int) -> None:
    more = list(counts)
    more[place] += 1
    for length in (1, 2, 4):
        change = deviations(np.array(more), length) - deviations(np.array(counts), length)
        assert np.abs(change).max() <= 1


def chances(counts: tuple[int, ...], scale: Fraction, penalty: int, most: int) -> dict[Runs, float]:
    """Return the probability of every partition of a few cells, by enumerating all noises up to *most*."""
    cells = len(counts)
    plain = {
        length: deviations(np.array(counts, dtype=np.int64), length) + penalty
        for length in (1, 2, 4)
        if length <= cells
    }
    sizes = [len(costs) for costs in plain.values()]
    ratio = math.exp(-1 / scale)
    found: dict[Runs, float] = defaultdict(float)
    for noise in product(range(most + 1), repeat=sum(sizes)):
        costs, place = {}, 0
        for length, base in plain.items():
            costs[length] = base - np.array(noise[place : place + len(base)])
            place += len(base)
        starts = cheapest_partition(cells, costs)
        found[tuple(starts.tolist())] += (1 - ratio) ** len(noise) * ratio ** sum(noise)
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, 0, 0), (0, 1, 0)),
        ((2, 0, 0), (3, 0, 0)),
        ((0, 1, 1), (0, 1, 2)),
        ((1, 0, 1), (1, 1, 1)),
        ((0, 1, 0), (0, 2, 0)),
    ],
)
def test_no_partition_tells_a_record_by_more_than_epsilon(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Exact enumeration, but for noises above 5, of probability exp(-24) each: add_remove, epsilon 8."""
    epsilon = 8
    scale = PickPartition(("x",), np.arange(3), Fraction(1)).scale(
        jostle.Table.from_grid([1, 1, 1]).schema, Fraction(epsilon)
    )
    assert scale == Fraction(2, epsilon)

    one, other = (chances(counts, scale, 1, 5) for counts in (first, second))

    losses = [abs(math.log(one[runs] / other[runs])) for runs in one]
    assert set(one) == set(other)
    assert max(losses) <= epsilon + 1e-6


@pytest.mark.slow
def test_replacing_a_record_is_two_steps_of_half_the_budget() -> None:
    """Exact enumeration as above, for a record that moves: replace_one, epsilon 8."""
    epsilon = 8
    schema = jostle.Table.from_grid([1, 1, 1], neighbours="replace_one").schema
    scale = PickPartition(("x",), np.arange(3), Fraction(1)).scale(schema, Fraction(epsilon))
    assert scale == Fraction(4, epsilon)

    one, other = (chances(counts, scale, 1, 9) for counts in ((1, 0, 0), (0, 0, 1)))

    assert max(abs(math.log(one[runs] / other[runs])) for runs in one) <= epsilon + 1e-6


@pytest.mark.slow
def test_half_the_noise_would_tell_more() -> None:
    """The enumeration sees a mistake when there is one: scale 1/epsilon where 2/epsilon is due."""
    epsilon = 4
    one, other = (chances(counts, Fraction(1, epsilon), 0, 5) for counts in ((2, 0, 0), (3, 0, 0)))
    lost = max(abs(math.log(one[runs] / other[runs])) for runs in one)
    proper = Fraction(2, epsilon)
    one, other = (chances(counts, proper, 0, 9) for counts in ((2, 0, 0), (3, 0, 0)))
    kept = max(abs(math.log(one[runs] / other[runs])) for runs in one)

    assert kept <= epsilon
    assert lost > 1.5 * kept


def test_with_next_to_no_noise_equal_counts_are_merged_and_others_are_not() -> None:
    counts = [5] * 8 + [90, 0, 0, 0] + [7] * 4
    db = jostle.rehearse(jostle.Table.from_grid(counts), epsilon=10**6, seed=0)

    starts = db.perform(PickPartition(("x",), np.arange(16), Fraction(1), 1), 10**6, site="parts")

    assert {0, 8, 9, 12} <= set(starts.tolist())
    assert set(starts.tolist()) <= {0, 8, 9, 10, 11, 12}


def test_costs_too_large_for_64_bits_are_cut_off_and_do_not_wrap_round() -> None:
    """Wrapped round, the cost of the run of both cells would be far below 0, and they would be merged."""
    db = jostle.rehearse(jostle.Table.from_grid([2**32, 0]), epsilon=10**6, seed=0)

    starts = db.perform(PickPartition(("x",), np.arange(2), Fraction(1), 2**35), 10**6, site="parts")

    assert starts.tolist() == [0, 1]
