"""Positive controls: mechanisms that break their claim, each by one fault, and each to be caught."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from jostle.audit.contingency import grid_pairs, table_pairs
from jostle.audit.counting import (
    NoisyCounts,
    OneLevelTree,
    RawChoice,
    SameSeed,
    ScaleEpsilon,
    SparseHistogram,
    TwoLevelCell,
)
from jostle.audit.pairs import (
    Pair,
    Vector,
    answer_pairs,
    chosen_pairs,
    histogram_pairs,
    histograms_adjacent,
    key_pairs,
)
from jostle.audit.refining import COUNTS, AnotherCount, RefinedCount
from jostle.audit.selections import GridChoice, NoisyMax, RunChoice, SmoothLeaf
from jostle.audit.subjects import Fault, Subject, register
from jostle.audit.thresholds import StopWithValue, ThresholdedAnswers, threshold_testing, threshold_testing_chances

__all__ = ["CONTROLS"]

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
)
"""In the order of the auditor's table."""

for _control in CONTROLS:
    register(_control)
