"""RefinedTree: its partitions cover every cell once, and its estimate is of all that was counted."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle.errors import OptionError
from jostle.options.ranges.refined_tree import RAISED, CountedTree, RefinedTree, raised, starts_of
from jostle.options.ranges.tree import Tree, halving_tree
from jostle.privacy.events import Laplace, in_turn
from jostle.tables.table import Table
from jostle.tasks.ranges.estimate import Workload
from jostle.trace.records import Released, Trace

SHAPE = (5, 3)
TREE = halving_tree(SHAPE)


def sums(cells: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.add.reduceat(cells.ravel()[TREE.order], starts)


@given(st.lists(st.integers(0, 30), min_size=15, max_size=15), st.floats(0.5, 40))
def test_partitions_cover_every_cell_once_and_cut_what_holds_enough(given_cells: list[int], least: float) -> None:
    cells = np.array(given_cells)
    whole = [np.full(len(starts), level == len(TREE.starts) - 1) for level, starts in enumerate(TREE.starts)]
    known = CountedTree.nothing(TREE).and_counts(whole, sums(cells, starts_of(TREE, whole)), 0.01)
    partition = known.partition(least)
    covered = np.zeros(len(TREE.order), dtype=int)
    for level, marks in enumerate(partition):
        starts = TREE.starts[level]
        ends = np.append(starts[1:], len(TREE.order))
        for node in np.flatnonzero(marks):
            covered[starts[node] : ends[node]] += 1
            if level < len(TREE.starts) - 1:
                assert sums(cells, starts)[node] < least + 1e-6, "what holds so many is cut"
    assert (covered == 1).all()


@given(st.integers(0, 2**32 - 1))
def test_the_fit_is_least_squares_over_all_rounds(seed: int) -> None:
    """Against the normal equations over cells, on counts so large that none is below 0."""
    generator = np.random.default_rng(seed)
    cells = generator.integers(500, 900, SHAPE)
    known, rows, values, weights = CountedTree.nothing(TREE), [], [], []
    for _ in range(3):
        partition = known.partition(float(generator.integers(400, 4000)))
        starts = starts_of(TREE, partition)
        variance = float(generator.uniform(1, 9))
        counts = sums(cells, starts) + generator.integers(-5, 6, len(starts))
        known = known.and_counts(partition, counts, variance)
        for place, start in enumerate(starts):
            inside = np.zeros(len(TREE.order))
            inside[start : np.append(starts, len(TREE.order))[place + 1]] = 1
            rows.append(inside)
            values.append(counts[place])
            weights.append(1 / np.sqrt(variance))
    tree, leaves = known.leaves()
    regions = np.zeros((len(TREE.order), len(leaves)))
    for leaf, start in enumerate(tree.starts[-1]):
        regions[start : np.append(tree.starts[-1], len(TREE.order))[leaf + 1], leaf] = 1 / tree.leaf_sizes[leaf]
    left = np.array(rows) @ regions * np.array(weights)[:, None]
    expected, *_ = np.linalg.lstsq(left, np.array(values) * np.array(weights), rcond=None)
    np.testing.assert_allclose(leaves, expected, rtol=1e-6)


def test_a_cell_that_is_alone_before_the_last_level_keeps_its_counts() -> None:
    """Of three cells the first is alone at the middle level already, and is counted at the last one."""
    tree = halving_tree((3,))
    alone = next(level for level, starts in enumerate(tree.starts) if len(starts) == 2)
    (single,) = np.flatnonzero(np.diff(tree.starts[alone], append=3) == 1)
    partition = [np.zeros(len(starts), dtype=bool) for starts in tree.starts]
    partition[alone][1 - single] = True
    partition[-1][np.searchsorted(tree.starts[-1], tree.starts[alone][single])] = True
    counts = np.array([40, 8]) if single == 0 else np.array([8, 40])
    found, leaves = CountedTree.nothing(tree).and_counts(partition, counts, 2.0).leaves()
    assert sorted(leaves.tolist()) == pytest.approx([8, 40])
    assert sorted(found.spread(leaves).tolist()) == pytest.approx([4, 4, 40])


def levels_of(tree: Tree, partition: list[np.ndarray]) -> np.ndarray:
    """The level of each cell's region, in the tree's order."""
    found = np.full(len(tree.order), -1)
    for level, marks in enumerate(partition):
        ends = np.append(tree.starts[level][1:], len(tree.order))
        for node in np.flatnonzero(marks):
            assert (found[tree.starts[level][node] : ends[node]] == -1).all(), "no cell is in two regions"
            found[tree.starts[level][node] : ends[node]] = level
    assert (found >= 0).all(), "every cell is in a region"
    return found


@given(st.integers(0, 2**32 - 1), st.integers(0, 9), st.sampled_from([(64,), (16, 16), (5, 13)]))
def test_a_raised_partition_is_as_much_coarser_as_it_may_be(seed: int, least: int, shape: tuple[int, ...]) -> None:
    """Each cell's region is its old one or one above it; it is cut exactly where a finer region inside asks for it."""
    generator = np.random.default_rng(seed)
    tree = halving_tree(shape)
    cells = np.rint(generator.pareto(0.9, math.prod(shape)))
    whole = [np.full(len(starts), level == len(tree.starts) - 1) for level, starts in enumerate(tree.starts)]
    line = cells[tree.order]
    known = CountedTree.nothing(tree).and_counts(whole, np.add.reduceat(line, starts_of(tree, whole)), 0.01)
    fine = known.partition(float(generator.uniform(1, cells.sum() + 2)))
    before, after = levels_of(tree, fine), levels_of(tree, raised(tree, fine, least))
    assert (after <= before).all()
    wanted = np.clip(before - RAISED, np.minimum(before, least), None)
    for level, starts in enumerate(tree.starts):
        for first, end in itertools.pairwise([*starts.tolist(), len(line)]):
            inside = after[first:end]
            if inside.max() > level and inside.min() >= level:
                assert wanted[first:end].max() > level, "a node is cut only if a region in it is to be finer"
            if (inside == level).all():
                assert wanted[first:end].max() <= level, "a region is as fine as what is in it asks for"


@pytest.mark.parametrize("shape", [(37,), (13, 7), (4, 5, 3)])
def test_without_noise_to_speak_of_it_is_exact(shape: tuple[int, ...]) -> None:
    cells = np.random.default_rng(1).integers(0, 9, shape)
    found = RefinedTree()(jostle.rehearse(Table.from_grid(cells), seed=1), epsilon=5000)
    np.testing.assert_allclose(found.cells, cells, atol=1e-6)


def test_few_records_are_not_told_apart_where_noise_would_tell_them_apart() -> None:
    """So their estimate is near the flat one, where a tree of counts adds noise to noise."""
    cells = np.random.default_rng(2).poisson(0.1, (64, 64))
    workload = Workload.random_ranges((64, 64), 500, seed=1)
    off = {}
    for name in ("RefinedTree", "ShrunkTree", "Identity"):
        option: jostle.options.Option = jostle.options.get(name)
        answers = [
            option(jostle.rehearse(Table.from_grid(cells), seed=n), epsilon="1/10").answers(workload) for n in range(6)
        ]
        off[name] = float(np.mean([np.linalg.norm(each - workload.answers(cells)) for each in answers]))
    assert off["RefinedTree"] < 0.5 * off["Identity"]
    assert off["RefinedTree"] < off["ShrunkTree"]


def test_each_round_is_charged_its_share() -> None:
    trace = Trace()
    db = jostle.rehearse(Table.from_grid(np.full((8, 8), 9)), epsilon=1, seed=1, trace=trace)
    option = RefinedTree(first_share=Fraction(2, 5), second_share=Fraction(0))
    assert option.cost(db.schema, Fraction(1)) == in_turn([Laplace(Fraction(1, 5)), Laplace(Fraction(4, 5))])
    option(db, epsilon=1)
    assert db.left == 0
    rounds = [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    assert RefinedTree().cost(db.schema, Fraction(1)) == in_turn([Laplace(each) for each in rounds])
    with pytest.raises(OptionError, match="leave nothing for the last round"):
        RefinedTree(first_share=Fraction(4, 5), second_share=Fraction(3, 5))(db, epsilon=1)


def rounds_of(option: RefinedTree, cells: np.ndarray) -> int:
    """How many tallies a run buys, all of epsilon being spent."""
    trace = Trace()
    db = jostle.rehearse(Table.from_grid(cells), epsilon="1/10", seed=1, trace=trace)
    option(db, epsilon="1/10")
    assert db.left == 0
    return sum(isinstance(record, Released) for record in trace.records)


def test_the_last_two_rounds_are_one_where_nothing_fine_is_foreseen() -> None:
    smooth, spike = np.full(1024, 1), np.zeros(1024, dtype=np.int64)
    spike[100] = 10**6
    assert rounds_of(RefinedTree(), smooth) == 2
    assert rounds_of(RefinedTree(), spike) == 3
    assert rounds_of(RefinedTree(joined=0), smooth) == 3
    assert rounds_of(RefinedTree(), smooth.reshape(32, 32)) == 3, "on maps they never are"
    assert RefinedTree(joined=0).name == "RefinedTree(joined=0)"


def test_few_records_are_counted_better_by_one_round_than_by_two() -> None:
    cells = np.random.default_rng(4).poisson(1.0, 1024)
    workload = Workload.random_ranges(1024, 300, seed=1)

    def off(option: RefinedTree) -> float:
        found = [
            option(jostle.rehearse(Table.from_grid(cells), seed=n), epsilon="1/10").answers(workload) for n in range(20)
        ]
        return float(np.mean([np.linalg.norm(each - workload.answers(cells)) for each in found]))

    assert off(RefinedTree()) < 0.95 * off(RefinedTree(joined=0))


def test_with_plenty_of_records_coarse_counts_are_bought_as_well() -> None:
    """So ranges over many cells are better known than by cells and a few large regions alone."""
    cells = np.rint(np.random.default_rng(3).gamma(0.5, 4000, 1024)).astype(np.int64)
    workload = Workload.random_ranges(1024, 300, seed=1)
    truth = workload.answers(cells)

    def off(option: jostle.options.Option) -> float:
        found = [
            option(jostle.rehearse(Table.from_grid(cells), seed=n), epsilon="1/10").answers(workload) for n in range(6)
        ]
        return float(np.mean([np.linalg.norm(each - truth) for each in found]))

    assert off(RefinedTree()) < off(RefinedTree(second_share=Fraction(0)))
    assert off(RefinedTree()) < 0.5 * off(jostle.options.get("Identity"))
