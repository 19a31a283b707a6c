"""Controls of the auditor: mechanisms with one fault each, to be caught, and honest twins, not to be accused.

Honest mechanisms, most of them twins of a control without its fault: the auditor must not accuse them.

How near it comes to their claim shows how much it can see.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from jostle.audit.counting import (
    COUNTED,
    COUNTS,
    AnotherCount,
    BoughtExpression,
    NoisyCounts,
    OneLevelTree,
    RawChoice,
    RefinedCount,
    SameSeed,
    ScaleEpsilon,
    SparseHistogram,
    TwoLevelCell,
)
from jostle.audit.forks import enumerated
from jostle.audit.persons import HELD_ROWS, PERSON_CONTROLS
from jostle.audit.selections import (
    GridChoice,
    NoisyMax,
    PeelingRounds,
    RunChoice,
    SinglePick,
    SmoothLeaf,
    StopWithValue,
    ThresholdedAnswers,
    balanced_share,
    grid_pairs,
    table_pairs,
    threshold_testing,
    threshold_testing_chances,
)
from jostle.audit.subjects import (
    Fault,
    Pair,
    Subject,
    Vector,
    answer_pairs,
    chosen_pairs,
    histogram_pairs,
    histograms_adjacent,
    key_pairs,
    register,
)
from jostle.privacy.expressions import Deviation, cells, far_from_flat, occupied

LYU = "Lyu, Su, Li, PVLDB 10(6), 2017"
DING = "Ding, Wang, Wang, Zhang, Kifer, CCS 2018"

_variant_3 = StopWithValue()
_variant_4 = ThresholdedAnswers(threshold_share=Fraction(1, 4), query_noise=1, positives=2)
_variant_6 = ThresholdedAnswers(threshold_share=Fraction(1, 2), query_noise=1, positives=None)
_largest = NoisyMax(factor=1, value=True)
_which = NoisyMax(factor=1)
_flat_scale = ScaleEpsilon()
_leaf = SmoothLeaf()
_one_seed = SameSeed()
_raw = RawChoice(limit=6)
_occupied = SparseHistogram(cells=4, threshold=2, empty_too=False)
_greedy_leaf = OneLevelTree(leaf_share=Fraction(1))
_shared_leaf = NoisyCounts(sensitivity=1, weight=3)
_narrow = NoisyCounts(sensitivity=1, weight=-(2**31))
_another = AnotherCount()
_never_stays = RefinedCount(may_stay=False)
_no_alpha = TwoLevelCell(first_share=Fraction(1), second_share=Fraction(1))


def _added(first: Vector, second: Vector) -> bool:
    return histograms_adjacent(first, second, "add_remove")


_leaf_pairs = chosen_pairs(
    "add_remove",
    _added,
    Pair((0, 0), (1, 0), "an empty leaf; a record comes"),
    Pair((1, 0), (2, 0), "a majority of 1 becomes one of 2"),
    Pair((2, 0), (3, 0), "a majority of 2 becomes one of 3"),
    Pair((8, 6), (8, 7), "a majority of 2 becomes one of 1"),
    *(Pair((lead, 0), (lead + 1, 0), f"a majority of {lead} gains one") for lead in (10, 20, 40, 70, 120, 250, 600)),
)

CONTROLS: tuple[Subject[Any], ...] = (
    Subject(
        name="PTT",
        module=__name__,
        about="Private Threshold Testing: which answers reach a noisy threshold",
        pairs=answer_pairs(2, monotone=False),
        sample=threshold_testing,
        distribution=threshold_testing_chances,
        fault=Fault(
            "the answers get no noise: of two that were 0 and 1, a threshold between them tells (0, 1) from (1, 1)",
            "Stoddard, Chen, Machanavajjhala, 2014, theorem 2; refuted by " + LYU,
        ),
    ),
    Subject(
        name="PTTMonotone",
        module=__name__,
        about="Private Threshold Testing on answers that a record can only raise",
        pairs=answer_pairs(2, monotone=True),
        sample=threshold_testing,
        distribution=threshold_testing_chances,
        fault=Fault(
            "the corollary for answers that only rise fails on the same pair as the theorem",
            "Stoddard, Chen, Machanavajjhala, 2014, corollary 3.4",
        ),
    ),
    Subject(
        name="SparseVectorVariant3",
        module=__name__,
        about="sparse vector that tells the noisy value of the first positive answer, 12 queries",
        pairs=answer_pairs(12, monotone=False),
        sample=_variant_3.sample,
        distribution=_variant_3.distribution,
        fault=Fault("the value bounds the noisy threshold from above; 12 queries, more lose more", LYU),
    ),
    Subject(
        name="SparseVectorVariant4",
        module=__name__,
        about="sparse vector with noise 1/epsilon per query however many positives, 6 queries, 2 positives",
        pairs=answer_pairs(6, monotone=False, downs=(1, 2)),
        sample=_variant_4.sample,
        distribution=_variant_4.distribution,
        fault=Fault("c positives cost (1+6c)/4 of epsilon, here 3.25, where epsilon is claimed", LYU),
    ),
    Subject(
        name="SparseVectorVariant6",
        module=__name__,
        about="sparse vector that never stops, 8 queries",
        pairs=answer_pairs(8, monotone=False, downs=(1, 4)),
        sample=_variant_6.sample,
        distribution=_variant_6.distribution,
        fault=Fault("each positive answer costs again; 8 queries, more lose more", LYU),
    ),
    Subject(
        name="NoisyMaxValue",
        module=__name__,
        about="the value of the largest of 5 noisy scores",
        pairs=answer_pairs(5, monotone=True),
        sample=_largest.sample,
        distribution=_largest.distribution,
        fault=Fault("a low maximum needs all 5 noisy scores to be low, and each costs epsilon", DING),
    ),
    Subject(
        name="NoisyMaxTooLittleNoise",
        module=__name__,
        about="the index of the largest of 3 noisy scores, noise of scale 1/epsilon",
        pairs=answer_pairs(3, monotone=False, downs=(1, 2)),
        sample=_which.sample,
        distribution=_which.distribution,
        fault=Fault("scores that move apart need twice the noise", "Dwork, Roth, 2014, section 3.3; " + DING),
    ),
    Subject(
        name="NoiseScaleEpsilon",
        module=__name__,
        about="a count with noise of scale epsilon",
        pairs=histogram_pairs(1, "add_remove"),
        sample=_flat_scale.sample,
        distribution=_flat_scale.distribution,
        epsilon=Fraction(1, 2),
        fault=Fault("it loses 1/epsilon: too much below epsilon = 1, less than claimed above", DING),
    ),
    Subject(
        name="SmoothLeaf2017",
        module=__name__,
        about="leaf label by the exponential mechanism with smooth sensitivity",
        pairs=_leaf_pairs,
        sample=_leaf.sample,
        distribution=_leaf.distribution,
        fault=Fault(
            "smooth sensitivity is no scale for a score: at epsilon = 1 it loses 2.13 from majority 1 to 2",
            "Fletcher, Islam, Expert Systems with Applications 78, 2017",
        ),
    ),
    Subject(
        name="PrivPfCUnscaled",
        module=__name__,
        about="PrivPfC's choice of a grid with the sensitivity of its quality taken as 1, a record replaced",
        pairs=grid_pairs("replace_one"),
        distribution=GridChoice(factor=1 / 2).distribution,
        fault=Fault(
            "a replaced record moves the noise-free quality by up to 1, but this one by up to 1.178",
            "Su, Cao, Li, Lyu, VLDB Journal 27, 2018",
        ),
    ),
    Subject(
        name="PrivPfCMonotone",
        module=__name__,
        about="PrivPfC's choice of a grid with its quality taken as monotone with sensitivity 1, a record added",
        pairs=grid_pairs("add_remove"),
        distribution=GridChoice(factor=1).distribution,
        fault=Fault(
            "an added record raises the quality of one grid by up to 1.089 and lowers that of another by up to 0.089",
            "Su, Cao, Li, Lyu, VLDB Journal 27, 2018",
        ),
    ),
    Subject(
        name="SameSeed",
        module=__name__,
        about="two noisy counts drawn from one seed",
        pairs=histogram_pairs(2, "add_remove"),
        sample=_one_seed.sample,
        distribution=_one_seed.distribution,
        view=_one_seed.difference,
        fault=Fault("the noise of one stage cancels that of the other", "Garfinkel, Leclerc, WPES 2020, on seeds"),
    ),
    Subject(
        name="RawMetafeature",
        module=__name__,
        about="a choice made by the raw number of records, then a noisy count",
        pairs=histogram_pairs(1, "add_remove"),
        sample=_raw.sample,
        distribution=_raw.distribution,
        fault=Fault(
            "the choice itself is released, and one record decides it",
            "Chaudhuri, Vinterbo, NIPS 2013, on choosing by private data",
        ),
    ),
    Subject(
        name="OccupiedCellsOnly",
        module=__name__,
        about="sparse histogram that lists no empty cells",
        pairs=key_pairs(4, "add_remove"),
        sample=_occupied.sample,
        distribution=_occupied.distribution,
        fault=Fault(
            "a listed cell is occupied for certain",
            "Korolova, Kenthapadi, Mishra, Ntoulas, WWW 2009, who pay for it with a delta",
        ),
    ),
    Subject(
        name="TreeWholeLeafBudget",
        module=__name__,
        about="one-level tree that spends half of epsilon on the split and all of it in the leaves",
        pairs=table_pairs(),
        sample=_greedy_leaf.sample,
        distribution=_greedy_leaf.distribution,
        samples=20_000,
        fault=Fault("split and leaves add up to 1.5 epsilon", "Friedman, Schuster, KDD 2010, for the split"),
    ),
    Subject(
        name="AdaptiveGridNoAlpha",
        module=__name__,
        about="both levels of an adaptive grid, each with all of epsilon",
        pairs=histogram_pairs(2, "add_remove"),
        sample=_no_alpha.sample,
        distribution=_no_alpha.distribution,
        fault=Fault("a record is counted on both levels", "Qardaji, Yang, Li, ICDE 2013, for alpha"),
    ),
    Subject(
        name="TreesShareALeaf",
        module=__name__,
        about="the count of a leaf that three trees share, with noise for one, as a record enters a part",
        pairs=histogram_pairs(1, "add_remove"),
        sample=_shared_leaf.sample,
        distribution=_shared_leaf.distribution,
        fault=Fault("the record is counted once for each tree", "LeafCounts of Jostle 0.1, under replace_one"),
    ),
    Subject(
        name="NarrowWeight",
        module=__name__,
        about="a sum with the least weight of 32 bits, with noise for 1",
        pairs=histogram_pairs(1, "add_remove"),
        sample=_narrow.sample,
        distribution=_narrow.distribution,
        fault=Fault("the least number of a narrow type is its own magnitude, -2**31", "Layer of Jostle 0.1"),
    ),
    Subject(
        name="PartitionBrokenSteps",
        module=__name__,
        about="DAWA's choice between two runs, with 21/20 steps to a unit of cost",
        pairs=answer_pairs(2, monotone=False),
        distribution=RunChoice(grain=Fraction(21, 20)).distribution,
        fault=Fault("costs that move by 2.1 steps move the threshold by 3 whole ones", "PickPartition of Jostle 0.1"),
    ),
    Subject(
        name="RefinedWithFreshNoise",
        module=__name__,
        about="a count at half of epsilon, then at all of it with noise of its own, charged as one refined",
        pairs=COUNTS,
        sample=_another.sample,
        distribution=_another.distribution,
        fault=Fault(
            "two answers with noise of their own cost 1.5 epsilon: their noise averages out",
            "Koufogiannis, Han, Pappas, 2015, on what refining saves",
        ),
    ),
    Subject(
        name="RefinedNeverTheSame",
        module=__name__,
        about="a count at half of epsilon, then refined to all of it by noise that never stays as it was",
        pairs=COUNTS,
        sample=_never_stays.sample,
        distribution=_never_stays.distribution,
        fault=Fault(
            "more noise is 0 with some chance: without that, the first answer is not made of the second",
            "Gupte, Sundararajan, PODS 2010, for the noise that is added",
        ),
    ),
    *PERSON_CONTROLS,
)
"""In the order of the auditor's table."""

for _control in CONTROLS:
    register(_control)


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
    HELD_ROWS,
)
"""In the order of the auditor's table."""

for _honest in HONEST:
    register(_honest)
