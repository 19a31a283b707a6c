"""Honest mechanisms, most of them twins of a control without its fault: the auditor must not accuse them.

How near it comes to their claim shows how much it can see.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from jostle.audit.bought import COUNTED, BoughtExpression
from jostle.audit.contingency import grid_pairs, table_pairs
from jostle.audit.counting import NoisyCounts, OneLevelTree, SparseHistogram, TwoLevelCell
from jostle.audit.forks import enumerated
from jostle.audit.pairs import answer_pairs, histogram_pairs, key_pairs
from jostle.audit.refining import COUNTS, RefinedCount
from jostle.audit.selections import GridChoice, NoisyMax, PeelingRounds, RunChoice, SinglePick
from jostle.audit.subjects import Subject, register
from jostle.audit.thresholds import ThresholdedAnswers, balanced_share
from jostle.privacy.aggregates import Deviation
from jostle.privacy.expressions import cells, far_from_flat, occupied

__all__ = ["HONEST"]

ONE_BY_ONE = 12_000
"""Runs of mechanisms that run one at a time."""

_counts = NoisyCounts(sensitivity=1)
_moved_counts = NoisyCounts(sensitivity=2)
_select = SinglePick(monotone=False)
_select_monotone = SinglePick(monotone=True)
_peel = PeelingRounds(rounds=2, monotone=False)
_peel_monotone = PeelingRounds(rounds=2, monotone=True)
_refined = RefinedCount()
_noisy_max = NoisyMax(factor=2)
_sparse = SparseHistogram(cells=4, threshold=2)
_standard = ThresholdedAnswers(threshold_share=balanced_share(2, monotone=False), query_noise=4, positives=2)
_standard_monotone = ThresholdedAnswers(threshold_share=balanced_share(2, monotone=True), query_noise=2, positives=2)
_tree = OneLevelTree(leaf_share=Fraction(1, 2))
_cell = TwoLevelCell(first_share=Fraction(1, 2), second_share=Fraction(1, 2))
_unevenness = far_from_flat(cells(COUNTED))
_bought = BoughtExpression(expression=_unevenness, relation="add_remove")
_bought_replaced = BoughtExpression(expression=_unevenness, relation="replace_one")
_bought_deviation = BoughtExpression(expression=Deviation(cells(COUNTED), bits=3), relation="replace_one")
_bought_occupied = BoughtExpression(expression=occupied(cells(COUNTED)), relation="add_remove")

HONEST: tuple[Subject[Any], ...] = (
    Subject(
        name="NoisyCounts",
        module=__name__,
        about="noisy histogram of 3 cells, a record added",
        pairs=histogram_pairs(3, "add_remove"),
        sample=_counts.sample,
        distribution=_counts.distribution,
    ),
    Subject(
        name="NoisyCountsReplaced",
        module=__name__,
        about="noisy histogram of 3 cells, a record replaced",
        pairs=histogram_pairs(3, "replace_one"),
        sample=_moved_counts.sample,
        distribution=_moved_counts.distribution,
    ),
    Subject(
        name="RefinedCount",
        module=__name__,
        about="a count at half of epsilon, then refined to all of it: both are seen",
        pairs=COUNTS,
        sample=_refined.sample,
        distribution=_refined.distribution,
    ),
    Subject(
        name="PermuteAndFlip",
        module=__name__,
        about="selection among 3 candidates whose scores may move apart",
        pairs=answer_pairs(3, monotone=False, downs=(1, 2)),
        sample=_select.sample,
        distribution=enumerated(_select.sample),
        samples=ONE_BY_ONE,
    ),
    Subject(
        name="PermuteAndFlipMonotone",
        module=__name__,
        about="selection among 3 candidates whose scores only rise",
        pairs=answer_pairs(3, monotone=True),
        sample=_select_monotone.sample,
        distribution=enumerated(_select_monotone.sample),
        samples=ONE_BY_ONE,
    ),
    Subject(
        name="NoisyMaxIndex",
        module=__name__,
        about="the index of the largest of 3 noisy scores, noise of scale 2/epsilon",
        pairs=answer_pairs(3, monotone=False, downs=(1, 2)),
        sample=_noisy_max.sample,
        distribution=_noisy_max.distribution,
    ),
    Subject(
        name="PeelingRounds",
        module=__name__,
        about="2 of 4 candidates one after the other, scores may move apart",
        pairs=answer_pairs(4, monotone=False, downs=(1, 2)),
        sample=_peel.sample,
        distribution=enumerated(_peel.sample),
        samples=ONE_BY_ONE // 3,
    ),
    Subject(
        name="PeelingRoundsMonotone",
        module=__name__,
        about="2 of 4 candidates one after the other, scores only rise",
        pairs=answer_pairs(4, monotone=True),
        sample=_peel_monotone.sample,
        distribution=enumerated(_peel_monotone.sample),
        samples=ONE_BY_ONE // 3,
    ),
    Subject(
        name="StandardSparseVector",
        module=__name__,
        about="sparse vector with noise for 2 positives, 6 queries",
        pairs=answer_pairs(6, monotone=False, downs=(1, 2)),
        sample=_standard.sample,
        distribution=_standard.distribution,
    ),
    Subject(
        name="StandardSparseVectorMonotone",
        module=__name__,
        about="sparse vector with noise for 2 positives, 6 queries whose answers only rise",
        pairs=answer_pairs(6, monotone=True),
        sample=_standard_monotone.sample,
        distribution=_standard_monotone.distribution,
    ),
    Subject(
        name="SparseCells",
        module=__name__,
        about="sparse noisy histogram above a threshold, empty cells sampled",
        pairs=key_pairs(4, "add_remove"),
        sample=_sparse.sample,
        distribution=_sparse.distribution,
    ),
    Subject(
        name="OneLevelTree",
        module=__name__,
        about="one-level tree, half of epsilon on the split and half in the leaves",
        pairs=table_pairs(),
        sample=_tree.sample,
        distribution=_tree.distribution,
        samples=ONE_BY_ONE,
    ),
    Subject(
        name="AdaptiveGridCell",
        module=__name__,
        about="both levels of an adaptive grid, each with half of epsilon",
        pairs=histogram_pairs(2, "add_remove"),
        sample=_cell.sample,
        distribution=_cell.distribution,
    ),
    Subject(
        name="BoughtUnevenness",
        module=__name__,
        about="a private expression, 3 cells' L1 distance to flat, a record added",
        pairs=histogram_pairs(3, "add_remove"),
        sample=_bought.sample,
        distribution=_bought.distribution,
    ),
    Subject(
        name="BoughtUnevennessReplaced",
        module=__name__,
        about="a private expression, 3 cells' L1 distance to flat, a record replaced",
        pairs=histogram_pairs(3, "replace_one"),
        sample=_bought_replaced.sample,
        distribution=_bought_replaced.distribution,
    ),
    Subject(
        name="BoughtDeviation",
        module=__name__,
        about="a private expression, 3 cells' standard deviation in eighths, a record replaced",
        pairs=histogram_pairs(3, "replace_one"),
        sample=_bought_deviation.sample,
        distribution=_bought_deviation.distribution,
    ),
    Subject(
        name="BoughtOccupied",
        module=__name__,
        about="a private expression, how many of 3 cells are occupied, a record added",
        pairs=histogram_pairs(3, "add_remove"),
        sample=_bought_occupied.sample,
        distribution=_bought_occupied.distribution,
    ),
    Subject(
        name="PartitionSteps",
        module=__name__,
        about="DAWA's choice between two runs, with one step to a unit of cost",
        pairs=answer_pairs(2, monotone=False),
        distribution=RunChoice(grain=Fraction(1)).distribution,
    ),
    Subject(
        name="PrivPfCChoice",
        module=__name__,
        about="PrivPfC's choice of a grid, sensitivity 1.1, a record added",
        pairs=grid_pairs("add_remove"),
        distribution=GridChoice(factor=1 / 2.2).distribution,
    ),
    Subject(
        name="PrivPfCAsPrinted",
        module=__name__,
        about="PrivPfC's choice of a grid, sensitivity taken as 1, a record added",
        pairs=grid_pairs("add_remove"),
        distribution=GridChoice(factor=1 / 2).distribution,
    ),
)
"""In the order of the auditor's table."""

for _honest in HONEST:
    register(_honest)
