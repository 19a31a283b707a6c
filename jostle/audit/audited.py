"""What is audited, a row a subject: mechanisms right and wrong, every Option as it is called, what probes give out.

*Controls* have one fault each, and are to be caught. *Honest* mechanisms, most of them twins of a control without its
fault, are not to be accused: how near the auditor comes to their claim shows how much it can see.

Options and probes are audited through the door: table, allotment, mechanisms, answer. Each rehearses on made-up tables,
which runs the same code as a private table does but for the source of bits, and its answer is reduced to numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from jostle.audit.counting import (
    CLASSES_OF_LAST_STEP,
    COUNTED,
    COUNTS,
    AnotherCount,
    BoughtExpression,
    ClusterSums,
    LastStep,
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
    Mirrored,
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
    Outputs,
    Pair,
    Pairs,
    Relation,
    Sampler,
    Subject,
    Vector,
    added,
    answer_pairs,
    chosen_pairs,
    histogram_pairs,
    key_pairs,
    look_in,
    register,
)
from jostle.errors import JostleError
from jostle.options.base import Option, own
from jostle.options.classification.tuning import SelectPrivately
from jostle.options.models.kinds import TreeModel
from jostle.options.registry import built_in, get
from jostle.options.selection import ScoredSelector
from jostle.privacy.expressions import Deviation, cells, far_from_flat, occupied
from jostle.privacy.measured import MeasuredNumbers
from jostle.privacy.opening import rehearse
from jostle.privacy.probe import Probe
from jostle.tables import Categorical, Numeric, Schema, SparseCounts, Table
from jostle.tasks import (
    CLASSIFICATION,
    EVALUATION,
    MEANS,
    PUBLISHING,
    QUANTILES,
    RANGES,
    SELECTION,
    SUMS,
    VARIANCES,
    Task,
)
from jostle.tasks.classification.model import Model
from jostle.tasks.evaluation.curve import RocCurve
from jostle.tasks.evaluation.instances import SCORE, scored_table
from jostle.tasks.publishing.published import Published
from jostle.tasks.ranges.estimate import Estimate, Workload
from jostle.tasks.selection import SelectedFeatures


def row(
    name: str,
    about: str,
    pairs: Pairs[Any],
    mechanism: Any,
    *,
    by_enumeration: bool = False,
    **further: Any,
) -> Subject[Any]:
    """A mechanism as a subject: it has a sample and a distribution, or one of them, or is these two.

    *by_enumeration*, its distribution is worked out by running its sample through all outcomes.
    """
    if isinstance(mechanism, tuple):
        sample, exact = mechanism
    else:
        sample, exact = getattr(mechanism, "sample", None), getattr(mechanism, "distribution", None)
    if by_enumeration:
        exact = enumerated(sample)
    return Subject(name=name, module=__name__, about=about, pairs=pairs, sample=sample, distribution=exact, **further)


OURS = "our own, on the proof of Descent"
LYU = "Lyu, Su, Li, PVLDB 10(6), 2017"
DING = "Ding, Wang, Wang, Zhang, Kifer, CCS 2018"
ONE_BY_ONE = 12_000
"""Runs of mechanisms that run one at a time."""
_unevenness = far_from_flat(cells(COUNTED))
_last_steps = chosen_pairs("add_remove", added, *CLASSES_OF_LAST_STEP)
_leaf_pairs = chosen_pairs(
    "add_remove",
    added,
    Pair((0, 0), (1, 0), "an empty leaf; a record comes"),
    Pair((1, 0), (2, 0), "a majority of 1 becomes one of 2"),
    Pair((2, 0), (3, 0), "a majority of 2 becomes one of 3"),
    Pair((8, 6), (8, 7), "a majority of 2 becomes one of 1"),
    *(Pair((lead, 0), (lead + 1, 0), f"a majority of {lead} gains one") for lead in (10, 20, 40, 70, 120, 250, 600)),
)

CONTROLS: tuple[Subject[Any], ...] = (
    row(
        "PTT",
        "Private Threshold Testing: which answers reach a noisy threshold",
        answer_pairs(2, monotone=False),
        (threshold_testing, threshold_testing_chances),
        fault=Fault(
            "the answers get no noise: of two that were 0 and 1, a threshold between them tells (0, 1) from (1, 1)",
            "Stoddard, Chen, Machanavajjhala, 2014, theorem 2; refuted by " + LYU,
        ),
    ),
    row(
        "PTTMonotone",
        "Private Threshold Testing on answers that a record can only raise",
        answer_pairs(2, monotone=True),
        (threshold_testing, threshold_testing_chances),
        fault=Fault(
            "the corollary for answers that only rise fails on the same pair as the theorem",
            "Stoddard, Chen, Machanavajjhala, 2014, corollary 3.4",
        ),
    ),
    row(
        "SparseVectorVariant3",
        "sparse vector that tells the noisy value of the first positive answer, 12 queries",
        answer_pairs(12, monotone=False),
        StopWithValue(),
        fault=Fault("the value bounds the noisy threshold from above; 12 queries, more lose more", LYU),
    ),
    row(
        "SparseVectorVariant4",
        "sparse vector with noise 1/epsilon per query however many positives, 6 queries, 2 positives",
        answer_pairs(6, monotone=False, downs=(1, 2)),
        ThresholdedAnswers(threshold_share=Fraction(1, 4), query_noise=1, positives=2),
        fault=Fault("c positives cost (1+6c)/4 of epsilon, here 3.25, where epsilon is claimed", LYU),
    ),
    row(
        "SparseVectorVariant6",
        "sparse vector that never stops, 8 queries",
        answer_pairs(8, monotone=False, downs=(1, 4)),
        ThresholdedAnswers(threshold_share=Fraction(1, 2), query_noise=1, positives=None),
        fault=Fault("each positive answer costs again; 8 queries, more lose more", LYU),
    ),
    row(
        "NoisyMaxValue",
        "the value of the largest of 5 noisy scores",
        answer_pairs(5, monotone=True),
        NoisyMax(factor=1, value=True),
        fault=Fault("a low maximum needs all 5 noisy scores to be low, and each costs epsilon", DING),
    ),
    row(
        "NoisyMaxTooLittleNoise",
        "the index of the largest of 3 noisy scores, noise of scale 1/epsilon",
        answer_pairs(3, monotone=False, downs=(1, 2)),
        NoisyMax(factor=1),
        fault=Fault("scores that move apart need twice the noise", "Dwork, Roth, 2014, section 3.3; " + DING),
    ),
    row(
        "NoiseScaleEpsilon",
        "a count with noise of scale epsilon",
        histogram_pairs(1, "add_remove"),
        ScaleEpsilon(),
        fault=Fault("it loses 1/epsilon: too much below epsilon = 1, less than claimed above", DING),
        epsilon=Fraction(1, 2),
    ),
    row(
        "SmoothLeaf2017",
        "leaf label by the exponential mechanism with smooth sensitivity",
        _leaf_pairs,
        SmoothLeaf(),
        fault=Fault(
            "smooth sensitivity is no scale for a score: at epsilon = 1 it loses 2.13 from majority 1 to 2",
            "Fletcher, Islam, Expert Systems with Applications 78, 2017",
        ),
    ),
    row(
        "PrivPfCUnscaled",
        "PrivPfC's choice of a grid with the sensitivity of its quality taken as 1, a record replaced",
        grid_pairs("replace_one"),
        GridChoice(factor=1 / 2),
        fault=Fault(
            "a replaced record moves the noise-free quality by up to 1, but this one by up to 1.178",
            "Su, Cao, Li, Lyu, VLDB Journal 27, 2018",
        ),
    ),
    row(
        "PrivPfCMonotone",
        "PrivPfC's choice of a grid with its quality taken as monotone with sensitivity 1, a record added",
        grid_pairs("add_remove"),
        GridChoice(factor=1),
        fault=Fault(
            "an added record raises the quality of one grid by up to 1.089 and lowers that of another by up to 0.089",
            "Su, Cao, Li, Lyu, VLDB Journal 27, 2018",
        ),
    ),
    row(
        "SameSeed",
        "two noisy counts drawn from one seed",
        histogram_pairs(2, "add_remove"),
        SameSeed(),
        fault=Fault("the noise of one stage cancels that of the other", "Garfinkel, Leclerc, WPES 2020, on seeds"),
        view=SameSeed().difference,
    ),
    row(
        "RawMetafeature",
        "a choice made by the raw number of records, then a noisy count",
        histogram_pairs(1, "add_remove"),
        RawChoice(limit=6),
        fault=Fault(
            "the choice itself is released, and one record decides it",
            "Chaudhuri, Vinterbo, NIPS 2013, on choosing by private data",
        ),
    ),
    row(
        "OccupiedCellsOnly",
        "sparse histogram that lists no empty cells",
        key_pairs(4, "add_remove"),
        SparseHistogram(cells=4, threshold=2, empty_too=False),
        fault=Fault(
            "a listed cell is occupied for certain",
            "Korolova, Kenthapadi, Mishra, Ntoulas, WWW 2009, who pay for it with a delta",
        ),
    ),
    row(
        "TreeWholeLeafBudget",
        "one-level tree that spends half of epsilon on the split and all of it in the leaves",
        table_pairs(),
        OneLevelTree(leaf_share=Fraction(1)),
        fault=Fault("split and leaves add up to 1.5 epsilon", "Friedman, Schuster, KDD 2010, for the split"),
        samples=20_000,
    ),
    row(
        "AdaptiveGridNoAlpha",
        "both levels of an adaptive grid, each with all of epsilon",
        histogram_pairs(2, "add_remove"),
        TwoLevelCell(first_share=Fraction(1), second_share=Fraction(1)),
        fault=Fault("a record is counted on both levels", "Qardaji, Yang, Li, ICDE 2013, for alpha"),
    ),
    row(
        "TreesShareALeaf",
        "the count of a leaf that three trees share, with noise for one, as a record enters a part",
        histogram_pairs(1, "add_remove"),
        NoisyCounts(sensitivity=1, weight=3),
        fault=Fault("the record is counted once for each tree", "LeafCounts of Jostle 0.1, under replace_one"),
    ),
    row(
        "NarrowWeight",
        "a sum with the least weight of 32 bits, with noise for 1",
        histogram_pairs(1, "add_remove"),
        NoisyCounts(sensitivity=1, weight=-(2**31)),
        fault=Fault("the least number of a narrow type is its own magnitude, -2**31", "Layer of Jostle 0.1"),
    ),
    row(
        "PartitionBrokenSteps",
        "DAWA's choice between two runs, with 21/20 steps to a unit of cost",
        answer_pairs(2, monotone=False),
        RunChoice(grain=Fraction(21, 20)),
        fault=Fault("costs that move by 2.1 steps move the threshold by 3 whole ones", "PickPartition of Jostle 0.1"),
    ),
    row(
        "RefinedWithFreshNoise",
        "a count at half of epsilon, then at all of it with noise of its own, charged as one refined",
        COUNTS,
        AnotherCount(),
        fault=Fault(
            "two answers with noise of their own cost 1.5 epsilon: their noise averages out",
            "Koufogiannis, Han, Pappas, 2015, on what refining saves",
        ),
    ),
    row(
        "DescentUnrounded",
        "the last of 60 steps of a regression, in coarse units, with noise for what a row moves exact weights",
        _last_steps,
        LastStep(relation="add_remove", rows=300, bits=0, way="unrounded"),
        fault=Fault("one row decides which way a weight is rounded, and later steps go on from there", OURS),
    ),
    row(
        "DescentByTrueNumber",
        "the last of 60 steps of a regression that divides by its number of rows, with noise for 100 rows",
        _last_steps,
        LastStep(relation="add_remove", rows=100, bits=7, way="by the true number"),
        fault=Fault("in a table of few rows, one moves the mean by far more than 1/100", OURS),
    ),
    row(
        "RefinedNeverTheSame",
        "a count at half of epsilon, then refined to all of it by noise that never stays as it was",
        COUNTS,
        RefinedCount(may_stay=False),
        fault=Fault(
            "more noise is 0 with some chance: without that, the first answer is not made of the second",
            "Gupte, Sundararajan, PODS 2010, for the noise that is added",
        ),
    ),
    *PERSON_CONTROLS,
)
"""In the order of the auditor's table."""

HONEST: tuple[Subject[Any], ...] = (
    row(
        "LastStep",
        "the last of 60 steps of a regression",
        _last_steps,
        LastStep(relation="add_remove", rows=100, bits=7),
    ),
    row(
        "LastStepInCoarseUnits",
        "the last of 60 steps of a regression, in coarse units",
        _last_steps,
        LastStep(relation="add_remove", rows=300, bits=0),
    ),
    row(
        "NoisyCounts",
        "noisy histogram of 3 cells, a record added",
        histogram_pairs(3, "add_remove"),
        NoisyCounts(sensitivity=1),
    ),
    row(
        "NoisyCountsReplaced",
        "noisy histogram of 3 cells, a record replaced",
        histogram_pairs(3, "replace_one"),
        NoisyCounts(sensitivity=2),
    ),
    row("RefinedCount", "a count at half of epsilon, then refined to all of it: both are seen", COUNTS, RefinedCount()),
    row(
        "PermuteAndFlip",
        "selection among 3 candidates whose scores may move apart",
        answer_pairs(3, monotone=False, downs=(1, 2)),
        SinglePick(monotone=False),
        samples=ONE_BY_ONE,
        by_enumeration=True,
    ),
    row(
        "PermuteAndFlipMonotone",
        "selection among 3 candidates whose scores only rise",
        answer_pairs(3, monotone=True),
        SinglePick(monotone=True),
        samples=ONE_BY_ONE,
        by_enumeration=True,
    ),
    row(
        "NoisyMaxIndex",
        "the index of the largest of 3 noisy scores, noise of scale 2/epsilon",
        answer_pairs(3, monotone=False, downs=(1, 2)),
        NoisyMax(factor=2),
    ),
    row(
        "PeelingRounds",
        "2 of 4 candidates one after the other, scores may move apart",
        answer_pairs(4, monotone=False, downs=(1, 2)),
        PeelingRounds(rounds=2, monotone=False),
        samples=ONE_BY_ONE // 3,
        by_enumeration=True,
    ),
    row(
        "PeelingRoundsMonotone",
        "2 of 4 candidates one after the other, scores only rise",
        answer_pairs(4, monotone=True),
        PeelingRounds(rounds=2, monotone=True),
        samples=ONE_BY_ONE // 3,
        by_enumeration=True,
    ),
    row(
        "StandardSparseVector",
        "sparse vector with noise for 2 positives, 6 queries",
        answer_pairs(6, monotone=False, downs=(1, 2)),
        ThresholdedAnswers(threshold_share=balanced_share(2, monotone=False), query_noise=4, positives=2),
    ),
    row(
        "StandardSparseVectorMonotone",
        "sparse vector with noise for 2 positives, 6 queries whose answers only rise",
        answer_pairs(6, monotone=True),
        ThresholdedAnswers(threshold_share=balanced_share(2, monotone=True), query_noise=2, positives=2),
    ),
    row(
        "SparseCells",
        "sparse noisy histogram above a threshold, empty cells sampled",
        key_pairs(4, "add_remove"),
        SparseHistogram(cells=4, threshold=2),
    ),
    row(
        "OneLevelTree",
        "one-level tree, half of epsilon on the split and half in the leaves",
        table_pairs(),
        OneLevelTree(leaf_share=Fraction(1, 2)),
        samples=ONE_BY_ONE,
    ),
    row(
        "AdaptiveGridCell",
        "both levels of an adaptive grid, each with half of epsilon",
        histogram_pairs(2, "add_remove"),
        TwoLevelCell(first_share=Fraction(1, 2), second_share=Fraction(1, 2)),
    ),
    row(
        "BoughtUnevenness",
        "a private expression, 3 cells' L1 distance to flat, a record added",
        histogram_pairs(3, "add_remove"),
        BoughtExpression(expression=_unevenness, relation="add_remove"),
    ),
    row(
        "BoughtUnevennessReplaced",
        "a private expression, 3 cells' L1 distance to flat, a record replaced",
        histogram_pairs(3, "replace_one"),
        BoughtExpression(expression=_unevenness, relation="replace_one"),
    ),
    row(
        "BoughtDeviation",
        "a private expression, 3 cells' standard deviation in eighths, a record replaced",
        histogram_pairs(3, "replace_one"),
        BoughtExpression(expression=Deviation(cells(COUNTED), bits=3), relation="replace_one"),
    ),
    row(
        "BoughtOccupied",
        "a private expression, how many of 3 cells are occupied, a record added",
        histogram_pairs(3, "add_remove"),
        BoughtExpression(expression=occupied(cells(COUNTED)), relation="add_remove"),
    ),
    row(
        "PartitionSteps",
        "DAWA's choice between two runs, with one step to a unit of cost",
        answer_pairs(2, monotone=False),
        RunChoice(grain=Fraction(1)),
    ),
    row(
        "PrivPfCChoice",
        "PrivPfC's choice of a grid, sensitivity 1.1, a record added",
        grid_pairs("add_remove"),
        GridChoice(factor=1 / 2.2),
    ),
    row(
        "PrivPfCAsPrinted",
        "PrivPfC's choice of a grid, sensitivity taken as 1, a record added",
        grid_pairs("add_remove"),
        GridChoice(factor=1 / 2),
    ),
    HELD_ROWS,
)
"""In the order of the auditor's table."""


# What is asked of tables


def rows_adjacent(first: tuple[Any, ...], second: tuple[Any, ...], relation: Relation) -> bool:
    """Whether two tables are one record apart, whatever the order of their rows."""
    gone, come = Counter(first) - Counter(second), Counter(second) - Counter(first)
    changes = (gone.total(), come.total())
    return changes == (1, 1) if relation == "replace_one" else changes in {(0, 1), (1, 0)}


@frozen(kw_only=True)
class Inquiry:
    """How something is asked of made-up tables, and how its answers are counted."""

    gives: str = ""
    """What comes back, in words: "model of"."""
    pairs: Callable[[Relation], Pairs[Any]]
    table: Callable[[Any, Relation], Table]
    questions: tuple[Any, ...] = ()
    """What is asked beside the table."""
    numbers: Callable[[Any], Any] = lambda answer: answer
    """An answer, reduced to what can be counted."""
    samples: int

    def sample(self, ask: Callable[..., Any], relation: Relation) -> Callable[..., Outputs]:
        """The sample that asks again and again in one rehearsal."""

        def sample(noise: Sampler, data: Any, epsilon: Fraction, size: int) -> Outputs:
            db = rehearse(self.table(data, relation), seed=int(noise.below(2**62, 1)[0]))
            return [self.numbers(ask(db, *self.questions, epsilon=epsilon)) for _ in range(size)]

        return sample

    def subjects(self, option: Option[Any], name: str) -> Iterator[Subject[Any]]:
        """Yield an Option as what is audited, under each relation of neighbours under which it runs."""
        for relation in get_args(Relation):
            if option.refuses(self.table(next(iter(self.pairs(relation))).first, relation).schema):
                continue
            suffix, how = ("Replaced", "replaced") if relation == "replace_one" else ("", "added")
            about = f"{self.gives} {option.name}, a record {how}"
            yield self.subject(name + suffix, about, option, relation)

    def subject(
        self, name: str, about: str, ask: Callable[..., Any], relation: Relation, fault: Fault | None = None
    ) -> Subject[Any]:
        """One question as what is audited."""
        return Subject(
            name=name,
            module=__name__,
            about=about,
            pairs=self.pairs(relation),
            sample=self.sample(ask, relation),
            samples=self.samples,
            fault=fault,
        )


Labelled = tuple[tuple[str, str, str], ...]
"""A made-up table: two attributes and a label, row by row."""

RUNS, FEW_RUNS = 2_000, 500
EVERY_CELL = np.array([[a, b] for a in range(2) for b in range(2)], dtype=np.int64)


def labelled_pairs(relation: Relation) -> Pairs[Labelled]:
    """Tables on which a row tips the split, or the label of a leaf, or moves from one leaf to another."""
    even: Labelled = tuple((a, b, c) for a in "xy" for b in "uv" for c in "no")
    clear: Labelled = (("x", "u", "n"),) * 6 + (("y", "v", "o"),) * 6

    def make() -> Iterator[Pair[Labelled]]:
        if relation == "add_remove":
            yield Pair((), (("x", "u", "o"),), "no rows; the first comes")
            yield Pair(even, (*even, ("x", "v", "o")), "every row once; one comes twice")
            yield Pair(clear, (*clear, ("x", "u", "o")), "two clear leaves; a row comes that disagrees")
        else:
            yield Pair((("x", "u", "n"),), (("y", "v", "o"),), "the only row becomes its opposite")
            yield Pair(clear, (("y", "v", "o"), *clear[1:]), "two clear leaves; a row moves from one to the other")

    return Pairs(relation=relation, make=make, neighbours=partial(rows_adjacent, relation=relation))


@lru_cache
def labelled_table(rows: Labelled, relation: Relation) -> Table:
    """The rows as a table."""
    columns = {"a": Categorical(["x", "y"]), "b": Categorical(["u", "v"]), "label": Categorical(["n", "o"])}
    schema = Schema(columns, label="label", neighbours=relation)
    frame = {name: pa.array([row[index] for row in rows], pa.string()) for index, name in enumerate(columns)}
    return Table.from_frame(pa.table(frame), schema)


def reduced(model: Model) -> tuple[float, ...]:
    """A model's first split, -1 without one, and the chance of the first class for every possible row."""
    first = float(model.routing.attribute[model.routing.roots[0]]) if isinstance(model, TreeModel) else -1.0
    return first, *np.round(model.chances(EVERY_CELL)[:, 0], 6).tolist()


SCORES = 8
MOST_THRESHOLDS = 4
SHAPE = (2, 2)
NONE = -1
"""In place of a feature that was not selected."""
STEPS, MOST_STEPS = 4, 8
"""How finely it is told how far a model leans to a class, and how far at most."""


@lru_cache
def scores_table(counts: Vector, relation: Relation) -> Table:
    """The table with so many rows of each score and class, classes side by side: a row moves from one to the other."""
    each = np.repeat(np.arange(len(counts)), counts)
    return scored_table(
        (each // 2).astype(np.float64) + 0.5, each % 2, Numeric(0, SCORES, bins=SCORES), neighbours=relation
    )


def points(curve: RocCurve) -> list[float]:
    """A curve's thresholds, as many numbers for every curve, and each kind's running counts."""
    cuts = np.full(MOST_THRESHOLDS, -1.0)
    cuts[: len(curve.thresholds[:MOST_THRESHOLDS])] = curve.thresholds[:MOST_THRESHOLDS]
    counts = np.zeros((2, MOST_THRESHOLDS + 1))
    counts[:, : curve.counts.shape[1]] = curve.counts[:, : MOST_THRESHOLDS + 1]
    return [*cuts.tolist(), *np.round(counts, 6).ravel().tolist()]


@lru_cache
def numbers_table(counts: Vector, relation: Relation) -> Table:
    """The table with so many rows of each number; where a row becomes another, how many there are is public."""
    rows = np.repeat(np.arange(len(counts)), counts)
    column = Numeric(0, len(counts) - 1, unit=1, bins=len(counts) - 1, missing="drop")
    schema = Schema({"number": column}, neighbours=relation, rows=None if relation == "add_remove" else len(rows))
    return Table.from_frame(pa.table({"number": pa.array(rows, pa.int64())}), schema)


def with_counts(answer: Any) -> list[float]:
    """A statistic, or several, with the counts or sums that were bought beside it."""
    evidence = (answer[0] if isinstance(answer, MeasuredNumbers) else answer).evidence
    bought = getattr(evidence, "counts", getattr(evidence, "cells", ()))
    return [round(float(number), 6) for number in (*np.ravel(answer.value), *bought)]


@lru_cache
def grid_table(counts: Vector, relation: Relation) -> Table:
    """The grid of four cells."""
    return Table.from_grid(np.array(counts).reshape(SHAPE), neighbours=relation)


def grid_cells(estimate: Estimate) -> list[float]:
    """An estimate's cells."""
    cells: list[float] = np.round(estimate.cells.ravel(), 6).tolist()
    return cells


def agreeing(published: Published) -> tuple[float, ...]:
    """For each column whether it is published, and for every possible row how many agree with it."""
    names = published.schema.names
    there = [float(name in published.names) for name in names]
    places = [names.index(name) for name in published.names]
    agreeing = []
    for row in product(*(range(published.schema[name].size) for name in names)):
        own = [column.groups[row[place]] for column, place in zip(published.columns, places, strict=True)]
        agreeing.append(float(published.counts[np.all(published.cells == own, axis=1)].sum()))
    return *there, *agreeing


def places_and_leaning(selected: SelectedFeatures, *, most: int = 1) -> list[int]:
    """Which features were selected, of so many at most; and of what was trained, how far it leans to a class."""
    places = sorted(selected.places)
    places += [NONE] * (most - len(places))
    if selected.model is None:
        return places
    start = selected.model.start  # type: ignore[attr-defined]  # naive Bayes, which adds terms to this
    leaning = STEPS * (start[-1] - start[0])
    return [*places, int(np.clip(np.rint(leaning), -MOST_STEPS, MOST_STEPS))]


_labelled = partial(Inquiry, pairs=labelled_pairs, table=labelled_table, samples=RUNS)
_number = partial(
    Inquiry,
    pairs=partial(histogram_pairs, 4),
    table=numbers_table,
    questions=("number",),
    numbers=with_counts,
    samples=FEW_RUNS,
)
INQUIRIES: Mapping[Task[Any], Inquiry] = {
    CLASSIFICATION: _labelled(gives="model of", numbers=reduced),
    EVALUATION: Inquiry(
        gives="curve by",
        pairs=partial(histogram_pairs, 2 * SCORES),
        table=scores_table,
        questions=(SCORE,),
        numbers=points,
        samples=FEW_RUNS,
    ),
    PUBLISHING: _labelled(gives="rows of", numbers=agreeing),
    RANGES: Inquiry(
        gives="4 cells by",
        pairs=partial(histogram_pairs, 4),
        table=grid_table,
        questions=(Workload.all_ranges(SHAPE),),
        numbers=grid_cells,
        samples=FEW_RUNS,
    ),
    SELECTION: _labelled(gives="one of two features by", numbers=places_and_leaning),
    MEANS: _number(gives="mean by"),
    SUMS: _number(gives="sum by"),
    VARIANCES: _number(gives="variance by"),
    QUANTILES: _number(gives="two quartiles by", questions=("number", ("1/4", "3/4"))),
}
"""How the Options of each task are audited."""
SMALLER: Mapping[str, Callable[[], Option[Any]]] = {
    "PriROC": lambda: get("PriROC(levels=2)"),  # with medians: of eight scores, four intervals are made
    # It runs many of the others: with few runs of few of them.
    "SelectPrivately": lambda: SelectPrivately(among=["Majority", "NaiveBayes"], gamma=Fraction(1, 2), eta=0),
}
"""Options that are audited with other parameters than their own."""
NAMED: Mapping[str, str] = {
    "PartitionAndSelect": "ProjectedHistogram(choose_k=partition)",
    "TrainedPeeling": "Peeling(top=1, training=1/2)",
}
"""Options that are audited once more, by names of their own."""


def _audited(kind: type[Option[Any]]) -> Option[Any]:
    """An Option with the parameters that it is audited with."""
    if kind.__name__ in SMALLER:
        return SMALLER[kind.__name__]()
    if kind.task is not SELECTION:
        return kind()
    # One feature, by a score whose noise does not go by how many records there are.
    return get(f"{kind.__name__}(top=1{', score=DC' if issubclass(kind, ScoredSelector) else ''})")


def _of(task: Task[Any]) -> tuple[Subject[Any], ...]:
    """All private built-in Options of a task as what is audited."""
    options = {kind.__name__: _audited(kind) for kind in built_in() if kind.task is task and kind.private}
    options |= {name: option for name, text in NAMED.items() if (option := get(text)).task is task}
    return tuple(subject for name, option in options.items() for subject in INQUIRIES[task].subjects(option, name))


CLASSIFIERS, CURVES, GRIDS = _of(CLASSIFICATION), _of(EVALUATION), _of(RANGES)
PUBLISHERS, SELECTORS = _of(PUBLISHING), _of(SELECTION)
STATISTICS = tuple(subject for task in (MEANS, SUMS, VARIANCES, QUANTILES) for subject in _of(task))

TREE_CONTROLS: tuple[Subject[Any], ...] = (
    row(
        "TreeRawSizes",
        "a tree that stops by the raw size of a node, then counts with noise",
        histogram_pairs(1, "add_remove"),
        RawChoice(limit=4),
        fault=Fault(
            "the shape of the tree is released, and one record decides it",
            "Friedman, Schuster, KDD 2010, who buy the sizes for that reason",
        ),
    ),
)


def _swapped(first: Vector, second: Vector) -> bool:
    """Whether two lists of scores change places, no score moving by more than 1."""
    half = len(first) // 2
    moved = max(abs(one - other) for one, other in zip(first[:half], first[half:], strict=True))
    return second == (*first[half:], *first[:half]) and moved <= 1


_one_word: Labelled = (("x", "v", "n"),)
_words = chosen_pairs(
    "add_remove",
    partial(rows_adjacent, relation="add_remove"),
    Pair(_one_word, (*_one_word, ("y", "u", "n")), "one feature has a record; one comes that has the other"),
)

SELECTOR_CONTROLS: tuple[Subject[Any], ...] = (
    evolve(INQUIRIES[SELECTION], pairs=lambda _: _words, numbers=partial(places_and_leaning, most=2)).subject(
        "PrivateThresholdTesting",
        "features whose score reaches a noisy threshold, by the Option itself",
        get("PrivateThresholdTesting(score=TC, threshold=1)"),
        "add_remove",
        Fault(
            "scores get no noise: those with one feature alone above the threshold are told from those with both",
            "Stoddard, Chen, Machanavajjhala, 2014; refuted by Lyu, Su, Li, PVLDB 10(6), 2017",
        ),
    ),
    row(
        "ClusterSums",
        "the noisy sum of the counts of a cluster of features, of sensitivity 1 as published",
        chosen_pairs("add_remove", added, Pair((9, 20), (10, 20), "a feature comes into the cluster")),
        ClusterSums(cut=10),
        fault=Fault(
            "a record moves a feature into the cluster, and the sum by all that the feature counts",
            "Stoddard, Chen, Machanavajjhala, 2014, section 3.3",
        ),
    ),
    row(
        "PermuteAndFlipBoundedRange",
        "two picks by permute-and-flip that a record moves opposite ways, claimed as one exponential mechanism",
        chosen_pairs("add_remove", _swapped, Pair((0, 1, 1, 0), (1, 0, 0, 1), "the better one becomes the other")),
        Mirrored(),
        fault=Fault(
            "log-ratios of the exponential mechanism lie within epsilon of each other, hence its epsilon**2/8 of "
            "concentrated privacy; those of permute-and-flip lie further apart, and it has no such claim",
            "Dong, Durfee, Rogers, 2020, on bounded range; McKenna, Sheldon, NeurIPS 2020",
        ),
    ),
)


# What probes give out


Rows = tuple[tuple[str, str], ...]
"""A made-up table: the values of two columns, row by row."""

THRESHOLD = 1


def table_rows_pairs(relation: Relation) -> Pairs[Rows]:
    """Tables to which a row comes, or in which one becomes another: in the same part, or moving between two."""
    some: Rows = (("a", "x"), ("b", "x"), ("b", "y"))

    def make() -> Iterator[Pair[Rows]]:
        if relation == "add_remove":
            yield Pair((), (("a", "x"),), "empty; a row comes")
            yield Pair(some, (*some, ("a", "x")), "a few rows; one more comes to the first part")
            yield Pair((("b", "y"),) * 9, (("b", "y"),) * 10, "nine equal rows; a tenth comes")
        else:
            yield Pair((("a", "x"),), (("b", "x"),), "the only row moves to another part")
            yield Pair(some, (("a", "y"), *some[1:]), "a row changes within its part")
            yield Pair((("a", "x"),) * 9, (*((("a", "x"),) * 8), ("b", "y")), "one of nine equal rows becomes another")

    return Pairs(relation=relation, make=make, neighbours=partial(rows_adjacent, relation=relation))


@lru_cache
def rows_table(rows: Rows, relation: Relation) -> Table:
    """The rows as a table."""
    schema = Schema({"part": Categorical(["a", "b"]), "value": Categorical(["x", "y"])}, neighbours=relation)
    columns = {name: pa.array([row[index] for row in rows], pa.string()) for index, name in enumerate(schema.names)}
    return Table.from_frame(pa.table(columns), schema)


def _counts(db: Probe, epsilon: Fraction) -> tuple[int, ...]:
    return tuple(db.histogram("part", "value", epsilon=epsilon).ravel().tolist())


def _refined(db: Probe, epsilon: Fraction) -> tuple[int, ...]:
    first = db.histogram("value", epsilon=epsilon / 2)
    return (*first.ravel().tolist(), *first.refine(epsilon=epsilon).ravel().tolist())


def _commonest(db: Probe, epsilon: Fraction) -> str:
    return db.commonest("value", epsilon)


def _parts(db: Probe, epsilon: Fraction, *, of: int = 1) -> tuple[int, ...]:
    return tuple(part.count(epsilon / of) for part in db.parts("part"))


def _portions(db: Probe, epsilon: Fraction, *, of: int = 1) -> tuple[int, ...]:
    return tuple(part.count(epsilon / of) for part in db.portions(2))


def _sparse(db: Probe, epsilon: Fraction) -> tuple[tuple[int, int], ...]:
    listed = db.measure_sparse(SparseCounts(("part", "value")), epsilon, threshold=THRESHOLD)
    return tuple(zip(listed.keys.tolist(), listed.values.tolist(), strict=True))


def _refusals(db: Probe, epsilon: Fraction) -> tuple[object, ...]:
    """A probe's words on questions that it refuses, and a count between them."""
    refused: list[Callable[[], object]] = [
        lambda: db.measure_sparse(SparseCounts(("part",)), epsilon, threshold=-1),
        lambda: db.count(epsilon / 10**30),
        lambda: db.where("part", "z"),
        lambda: db.where("part").count(0),
    ]
    return (*map(_said, refused), db.count(epsilon), *map(_said, refused))


def _said(question: Callable[[], object]) -> str:
    try:
        return type(question()).__name__
    except JostleError as refusal:
        return f"{type(refusal).__name__}: {refusal}"


_ROWS = Inquiry(pairs=table_rows_pairs, table=rows_table, samples=4_000)


def _refused_if_empty(noise: Sampler, data: Rows, epsilon: Fraction, size: int) -> Outputs:
    """A histogram, refused where there is nothing to count."""
    whole = _ROWS.sample(_counts, "add_remove")
    return whole(noise, data, epsilon, size) if data else ["the table has no rows"] * size


PROBES: tuple[Subject[Rows], ...] = (
    _ROWS.subject("ProbeHistogram", "a probe's histogram, a row added", _counts, "add_remove"),
    _ROWS.subject("ProbeHistogramReplaced", "a probe's histogram, a row replaced", _counts, "replace_one"),
    _ROWS.subject("ProbeRefined", "a probe's histogram, and the same refined", _refined, "add_remove"),
    _ROWS.subject("ProbeRefinedReplaced", "the same, a row replaced", _refined, "replace_one"),
    _ROWS.subject("ProbeCommonest", "a probe's commonest value, a row added", _commonest, "add_remove"),
    _ROWS.subject("ProbeCommonestReplaced", "a probe's commonest value, a row replaced", _commonest, "replace_one"),
    _ROWS.subject("ProbeSparse", "a probe's sparse histogram, a row added", _sparse, "add_remove"),
    _ROWS.subject("ProbeSparseReplaced", "a probe's sparse histogram, a row replaced", _sparse, "replace_one"),
    _ROWS.subject("ProbeParts", "counts of two parts, each with all of epsilon, a row added", _parts, "add_remove"),
    _ROWS.subject(
        "ProbePartsReplaced",
        "counts of two parts, each with half, a row replaced",
        partial(_parts, of=2),
        "replace_one",
    ),
    _ROWS.subject(
        "ProbePartsForgetMoves",
        "counts of two parts, each with all of epsilon, a row replaced, claimed to cost epsilon",
        _parts,
        "replace_one",
        Fault("a row that moves changes both counts", "Kifer, Machanavajjhala, SIGMOD 2011, on bounded neighbours"),
    ),
    _ROWS.subject(
        "ProbePortions", "counts of two portions, each with all of epsilon, a row added", _portions, "add_remove"
    ),
    _ROWS.subject(
        "ProbePortionsReplaced",
        "counts of two portions, each with half, a row replaced",
        partial(_portions, of=2),
        "replace_one",
    ),
    _ROWS.subject(
        "ProbeRefusals", "a probe's refusals, in their words, and a count between them", _refusals, "add_remove"
    ),
    evolve(
        _ROWS.subject(
            "ProbeRefusesEmpty", "a probe's histogram, refused where the table has no rows", _counts, "add_remove"
        ),
        sample=_refused_if_empty,
        fault=Fault(
            "the refusal is an answer without noise: it tells an empty table from one with a row",
            "Haeberlen, Pierce, Narayan, USENIX Security 2011, on what else than answers tells",
        ),
    ),
)
"""In the order of the auditor's table."""

for _subjects in (
    *(CONTROLS, HONEST, CLASSIFIERS, TREE_CONTROLS, CURVES, GRIDS),
    *(PUBLISHERS, SELECTORS, SELECTOR_CONTROLS, STATISTICS, PROBES),
):
    for _each in _subjects:
        register(_each)


@look_in
def own_subject(name: str) -> Subject[Any] | None:
    """An Option of one's own as what is audited; None where there is none of this name."""
    called = name.removesuffix("Replaced")
    if called not in own():
        return None
    option = get(called)
    if option.task not in INQUIRIES or option.task is SELECTION:
        return None
    return next(
        (subject for subject in INQUIRIES[option.task].subjects(option, option.name) if subject.name == name), None
    )
