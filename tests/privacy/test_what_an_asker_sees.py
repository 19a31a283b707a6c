"""Everything that an asker sees is public or was released: the same on neighbouring tables that released the same.

Every public call there is, on pairs of tables that differ in what is so easily told: whether there is a row at all, a
label, a second class, a value that the schema declares. What one table released is released again on the other (see
`replayed`), and answers, kinds, shapes, refusals, warnings, traces and charges are compared. Calls are found in
the registries, so that what is registered later is looked at as well, and fails here where nothing is known of it.
"""

from __future__ import annotations

import logging
import operator
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from attrs import evolve, fields
from replayed import ARGUMENTS, PLANS, Replay, Seen, compared, replaying
from scipy.sparse import csr_matrix
from sklearn.pipeline import Pipeline

import jostle
from jostle import Categorical, Numeric, Probe, Schema, Table, options
from jostle.choice.learning.learners import FittedForest
from jostle.choice.learning.markets import Purchases
from jostle.choice.learning.regret import Figures
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.shipped import SHIPPED
from jostle.choice.makers.trained import Trained
from jostle.errors import JostleError, Source, TableError
from jostle.lang import running
from jostle.lang.parser import read_source
from jostle.lang.program import Program, load_source
from jostle.learned.policies import Forest
from jostle.options.classification.tuning import CANDIDATES, SelectPrivately, TriedClassifiers
from jostle.privacy import opening
from jostle.privacy.column_scores import (
    Dependence,
    Discernibility,
    FeatureDiscernibility,
    FeatureScore,
    GridQuality,
    SetDiscernibility,
)
from jostle.privacy.descent import Descent
from jostle.privacy.expressions import (
    NODES,
    Above,
    Along,
    CellSums,
    Deviation,
    Extreme,
    FarFromFlat,
    Mean,
    Total,
    cells,
    sums,
)
from jostle.privacy.imitations import CompareWithNoisyThreshold
from jostle.privacy.mechanisms import AddNoise, AddNoiseAbove, AddNoiseByLevel, AddNoiseTo, AddNoiseToSpread, Mechanism
from jostle.privacy.nodes import Absolute, Cell, Clamped, Expression, Scaled, Shifted, Sum, Tally
from jostle.privacy.picks import (
    GROUP_SCORES,
    SCORES,
    FindAbove,
    FindNthLargest,
    Pick,
    PickEach,
    PickLargest,
    PickPartition,
    PickSeveral,
)
from jostle.privacy.room import MECHANISMS, Room
from jostle.privacy.scores import Fullest, Misfit, MostHits, QuantileScore
from jostle.privacy.selection import SELECTIONS
from jostle.privacy.split_scores import GroupScore, Halves, LeafMajority, MajoritiesBelow, MixedSplitScore, SplitScore
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector
from jostle.tables.closed import KERNELS
from jostle.tables.feature_kernels import FeatureRefinements, FeatureSums
from jostle.tables.features import SparseFeatures
from jostle.tables.kernels import Counts, Marks, SparseCounts, Sums
from jostle.tables.number_kernels import Moments, NumberSum, Products, Ranks
from jostle.tables.persons import PersonBands, PersonCount
from jostle.tables.pools import GridCounts, Layer, Pool, Refinements, Stack
from jostle.tables.regions import Box, Haar, Regions
from jostle.tables.routes import LeafCounts, Routing, SplitCounts
from jostle.tables.rules import Agreements, Hits, ManyHits, MarginLevels, Margins, Points
from jostle.tables.schema import Neighbours
from jostle.tables.slopes import Slopes
from jostle.tasks import TASKS
from jostle.tasks.classification import model as models
from jostle.tasks.metafeature import View, distinct
from jostle.tasks.ranges.intervals import Asking
from jostle.trace.records import Chosen, Trace

PROGRAMS = Path(__file__).parents[2] / "programs"
RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)
Call = Callable[[Any], Any]
Row = tuple[Any, ...]
Scored = tuple[float | None, str]

# Neighbouring tables

COLUMNS = {
    "size": Numeric(0, 8, bins=4),
    "colour": Categorical(["red", "green", "blue"]),
    "odd": Categorical(["x", "y"], outside="other"),
    "ill": Categorical(["no", "yes"]),
}
SOME: list[Row] = [(1, "red", "x", "no"), (3, "red", "y", "yes"), (7, "blue", "x", "no"), (5, "green", "x", "yes")]
HEALTHY: list[Row] = [row for row in SOME if row[-1] == "no"]

PEOPLE: dict[str, tuple[list[Row], list[Row]]] = {
    "no row, and one": ([], SOME[:1]),
    "labels all missing, and one there": (
        [(*row[:-1], None) for row in SOME],
        [SOME[0], *((*row[:-1], None) for row in SOME[1:])],
    ),
    "one class, and two": (HEALTHY, [*HEALTHY, SOME[1]]),
    "all rows dropped, and one kept": (
        [(2, "mauve", "x", "no"), (None, "red", "x", "no")],
        [(2, "red", "x", "no"), (None, "red", "x", "no")],
    ),
    "a row dropped": (SOME, [*SOME[:3], (5, "violet", "x", "yes")]),
    "values beyond what is declared": ([*SOME, (7, "red", "x", "no")], [*SOME, (10**6, "red", "z", "no")]),
    "a row replaced": (SOME, [*SOME[:3], (0, "red", "y", "no")]),
}
EMPTY = np.zeros((4, 4), dtype=np.int64)
SPREAD = np.arange(16).reshape(4, 4) % 5 + 1
GRIDS: dict[str, tuple[Any, Any]] = {
    "no record, and one": (EMPTY, EMPTY + np.diag([0, 1, 0, 0])),
    "no record on a line, and one": (EMPTY.ravel(), np.arange(16) == 5),
    "a record moved": (SPREAD, SPREAD + np.diag([0, 1, 0, -1])),
}


def schema(neighbours: Neighbours = "add_remove") -> Schema:
    """Return what is public: under replace_one, the number of rows as well, whatever it is."""
    return Schema(COLUMNS, label="ill", neighbours=neighbours, rows=None if neighbours == "add_remove" else 4)


def frame(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def people(pair: str, neighbours: Neighbours = "add_remove") -> tuple[Table, Table]:
    """Return two tables of people."""
    one, other = (Table.from_frame(frame(rows), schema(neighbours)) for rows in PEOPLE[pair])
    return one, other


def numbered(pair: str, neighbours: Neighbours = "add_remove") -> tuple[Table, Table]:
    """Return two tables of people, of whom all that are there have a size."""
    public = schema(neighbours)
    columns = {**COLUMNS, "size": Numeric(0, 8, bins=4, missing="drop")}
    one, other = (Table.from_frame(frame(rows), evolve(public, columns=columns)) for rows in PEOPLE[pair])
    return one, other


def grids(pair: str, neighbours: Neighbours = "add_remove") -> tuple[Table, Table]:
    """Return two grids."""
    one, other = (Table.from_grid(counts + 0, neighbours=neighbours) for counts in GRIDS[pair])
    return one, other


SCORE_PAIRS: dict[str, tuple[list[Scored], list[Scored]]] = {
    "no row, and one": ([], [(0.3, "yes")]),
    "one class, and two": ([(0.3, "no"), (0.9, "no")], [(0.3, "no"), (0.9, "no"), (0.9, "yes")]),
    "scores missing, and one there": ([(None, "yes"), (None, "no")], [(0.1, "yes"), (None, "no")]),
    "scores beyond their bounds": ([(0.2, "no"), (0.4, "yes")], [(0.2, "no"), (0.4, "yes"), (1e9, "yes")]),
    "a row replaced": ([(0.1, "no"), (0.8, "yes"), (0.5, "yes")], [(0.1, "no"), (0.8, "yes"), (0.2, "no")]),
}


def scored_schema(neighbours: Neighbours = "add_remove") -> Schema:
    columns = {"score": Numeric(0, 1, bins=32), "label": Categorical(["no", "yes"])}
    return Schema(columns, label="label", neighbours=neighbours)


def scored_frame(rows: list[Scored]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["score", "label"], dtype=object)


def scored(pair: str, neighbours: Neighbours = "add_remove") -> tuple[Table, Table]:
    """Return two tables of scores."""
    one, other = (Table.from_frame(scored_frame(rows), scored_schema(neighbours)) for rows in SCORE_PAIRS[pair])
    return one, other


TABLES: dict[str, tuple[Callable[[str, Neighbours], tuple[Table, Table]], tuple[str, ...]]] = {
    "classification": (people, tuple(PEOPLE)),
    "grid": (grids, tuple(GRIDS)),
    "publishing": (people, tuple(PEOPLE)),
    "evaluation": (scored, tuple(SCORE_PAIRS)),
    "selection": (people, tuple(PEOPLE)),
    **{statistic: (numbered, tuple(PEOPLE)) for statistic in ("means", "sums", "variances", "quantiles")},
}
"""For each task, tables that are asked about: a task that is not here fails its tests."""

ASKED = {"x": (0, 2)}
"""How many records of a grid: along one of its axes, which is the only one or the first."""
ARGUMENTS.update(
    axis=0,
    node=0,
    share=0.5,
    level=0.9,
    false_positive_rate=0.3,
    workload=ASKED,
    asked=ASKED,
    asking=lambda estimate: Asking(wanted := estimate.workload(ASKED), estimate.answers(wanted), estimate.total),
    names="x",
    name=lambda published: published.names[0],
    frame=frame([*SOME, (7, "red", "x", None), (None, None, None, "perhaps")]),
    codes=np.array([[0, 1, 0], [-1, 2, 1]]),
    path="/dev/null",
    cells=16,
)


# Public calls

HALF = Fraction(1, 2)
ROUTING = Routing(("size",), [0], [0, -1, -1, -1, -1], [0] * 5, [1, 2, 3, 4], depth=1)
TWO_TREES = Routing(("colour",), [0, 1], [0, 0, *[-1] * 6], [0, 3, *[0] * 6], [2, 3, 4, 5, 6, 7], depth=1)
PLANE = ("size", "colour")
LINE = np.arange(12)
BOXES = np.array([[0, 0], [1, 0]]), np.array([[4, 3], [2, 1]])

HITS = Hits((Points(("colour",), np.arange(6).reshape(3, 2)),))
MARGINS = Margins((Points(("colour",), [[0, 3], [0, 1], [0, 2]]),), positive=1, cuts=[1, 2, 3])
MANY_HITS = ManyHits(("colour",), ([[0, 3], [1, 1], [-2, 2]],), [1, -1])
POOL = Pool(
    ("size", "odd", "ill"),
    ([[0, 0, 1, 1], [0, 1, 2, 3]], [[0, 1, 2]], [[0, 1]]),
    [[-1, -1, 0], [0, -1, 0], [1, 0, 0]],
)

WIDE, HOT = 2000 * np.arange(-2, 2)[:, None], 8000 * np.eye(3, dtype=np.int64)
DESCENTS = tuple(
    Descent(("size", "colour"), (WIDE, HOT), (), 0, 1, 8000, classes, loss, "1/10", 3, 5, 10)
    for classes, loss in (((1,), "logistic"), ((0, 1), "huber"))
)

KERNEL_CASES: dict[type, tuple[Any, ...]] = {
    PersonBands: (PersonBands(),),
    PersonCount: (PersonCount(), PersonCount(more_than=1, once=False)),
    Counts: (Counts.of(), Counts.of("size", "ill"), Counts((("colour",), ("ill",), ()))),
    Sums: (Sums("size", (1, 2, 3, -7), 5), Sums("size", (1, 2, 3, 4), 4, by="ill")),
    Marks: (Marks(("colour", "odd", "ill"), 1, 2),),
    SparseCounts: (
        SparseCounts(("size", "colour")),
        SparseCounts(tuple(COLUMNS)),
        SparseCounts(("size", "ill"), ((0, 0, 1, 1), ())),
    ),
    GridCounts: (GridCounts(POOL),),
    FeatureRefinements: (),  # as the next
    Refinements: (),  # which scores look at, and no noise is put on
    Stack: (Stack((Layer(("ill",), ((),)), Layer(("size",), ((0, 0, 1, 1),), (("colour", (0, 1)),)))),),
    FeatureSums: (FeatureSums(((1, 1),), 2), FeatureSums(((1, 0), (0, 1)), 9, totals=True, among=(0, 2))),
    Hits: tuple(Hits((Points(("colour",), np.arange(6).reshape(3, 2)),), misses=misses) for misses in (False, True)),
    Margins: (MARGINS,),
    Agreements: (Agreements((HITS, Hits((Points((), [[1, 0]]),)))),),
    ManyHits: (MANY_HITS,),
    MarginLevels: (MarginLevels(MARGINS),),
    LeafCounts: (LeafCounts(ROUTING), LeafCounts(TWO_TREES), LeafCounts(evolve(TWO_TREES, part_key=5), by_class=False)),
    SplitCounts: (SplitCounts(ROUTING, [1, 3]),),
    Regions: (Regions(PLANE, LINE, (LINE, np.array([0, 6]))),),
    Haar: (Haar(PLANE),),
    Box: (Box(PLANE, (0, 0), (2, 2)),),
    NumberSum: (NumberSum("size"), NumberSum("size", 10**6)),
    Moments: (Moments("size", 1, 10**6), Moments("size", 2, 100), Moments("size", 1, 9, (1, 5))),
    Products: (
        Products(("size", "colour"), (np.arange(4)[:, None], np.eye(3, dtype=np.int64)), 3),
        Products((), (), 1),
    ),
    Slopes: (DESCENTS[0].kernel(Schema(COLUMNS, label="ill")),),
    Ranks: (Ranks("size", [0]), Ranks("size", [0, 1, 4 * 10**6])),
}
SCORE_CASES: dict[type, tuple[Any, ...]] = {
    Dependence: (Dependence(POOL, (2, 0, 1)),),
    Discernibility: (
        Discernibility((), ("size", "colour", "odd")),
        Discernibility(("odd",), ("size", "colour"), ((0, 0, 1), (0, 0, 1, 1), ())),
    ),
    FeatureDiscernibility: (FeatureDiscernibility((), 9), FeatureDiscernibility((1, 0), 2)),
    SetDiscernibility: (
        SetDiscernibility(
            [Layer(("size", "ill"), ((0, 0, 1, 1), ())), Layer(("odd", "colour", "ill"), ((),) * 3)], HALF
        ),
    ),
    FeatureScore: tuple(FeatureScore(kind, 2, 100) for kind in ("TC", "DC", "PI", "IG")),
    Fullest: (Fullest("colour"), Fullest(("size", "ill"))),
    GridQuality: (GridQuality(POOL, Fraction(3, 2)),),
    MajoritiesBelow: (
        MajoritiesBelow(
            (
                Layer(("size", "ill"), ((0, 0, 1, 1), ())),
                Layer(("colour", "ill"), ((0, 1, 0), ()), (("colour", (0, 1)),)),
            )
        ),
    ),
    Misfit: (Misfit(PLANE, *BOXES, np.array([3, 0])),),
    MostHits: (MostHits(MANY_HITS),),
    QuantileScore: (QuantileScore("size", [0, 10**6, 3 * 10**6], 1, 2), QuantileScore("size", [0, 10], 0, 1)),
}
MAY = np.ones((2, 3), dtype=np.bool_)
GROUP_SCORE_CASES: dict[type, tuple[GroupScore, ...]] = {
    SplitScore: tuple(
        SplitScore(TWO_TREES, np.array([2, 6]), utility, (0, 0, 0), (0, 1, 2), MAY, 100)
        for utility in ("Max", "Gini", "InfoGain")
    ),
    MixedSplitScore: (
        MixedSplitScore(
            TWO_TREES, ("Gini", "Max"), (np.array([2]), np.array([5])), (0, 0, 0), (0, 1, 2), (MAY[:1], MAY[:1]), 100
        ),
    ),
    LeafMajority: (LeafMajority(ROUTING),),
    Halves: (Halves(MARGINS, [0], [4]), Halves(MARGINS, [0, 2], [2, 4])),
}
COUNTS = cells("size", "ill")


def _known(db: Any, kernel: Any) -> list[Any]:
    return [None if look is None else (look.counts.tolist(), look.variance.tolist()) for look in db.known(kernel)]


NODE_CASES: dict[type, tuple[Expression, ...]] = {
    Tally: (COUNTS, cells("colour").where("ill", "yes"), sums("size", range(4), 3, by="ill")),
    Absolute: (abs(cells("ill") - 2),),
    Along: (Along(COUNTS, "max", 1), Along(COUNTS, "sum", 0)),
    Above: (Above(COUNTS, 1),),
    Cell: (COUNTS[1, 0],),
    Clamped: (COUNTS.clamped(0, 2),),
    Deviation: (Deviation(COUNTS),),
    Extreme: (Extreme((COUNTS,), "max"), Extreme((COUNTS, cells("colour")), "min")),
    FarFromFlat: (FarFromFlat(COUNTS),),
    CellSums: (CellSums(COUNTS, (0, 1, -1, 1, 0, -1, 1, 1), (2,)),),
    Mean: (Mean((COUNTS, cells("odd"))),),
    Scaled: (COUNTS / 7,),
    Shifted: (COUNTS + HALF,),
    Sum: (cells("ill") + Along(COUNTS, "sum", 0),),
    Total: (Total(COUNTS),),
}


def levels(kernel: Any) -> AddNoiseByLevel:
    """Return noise on every level, shares being alike."""
    count = len(kernel.sizes(schema()))
    return AddNoiseByLevel(kernel, (Fraction(1, count),) * count)


MECHANISM_CASES: dict[type, Callable[[], Iterator[Mechanism]]] = {
    AddNoise: lambda: (
        AddNoise(kernel) for kind, kernels in KERNEL_CASES.items() if kind is not SparseCounts for kernel in kernels
    ),
    AddNoiseAbove: lambda: (
        AddNoiseAbove(kernel, threshold) for kernel in KERNEL_CASES[SparseCounts] for threshold in (0, 3)
    ),
    AddNoiseByLevel: lambda: (
        levels(kernel) for kind in (Regions, Haar, Box, MarginLevels) for kernel in KERNEL_CASES[kind]
    ),
    AddNoiseToSpread: lambda: iter((AddNoiseToSpread(Moments("size", 2, 100)),)),
    AddNoiseTo: lambda: (AddNoiseTo(each) for cases in NODE_CASES.values() for each in cases),
    Descent: lambda: iter(DESCENTS),
    FindAbove: lambda: (FindAbove(score, 1, 2, HALF) for score in SCORE_CASES[FeatureScore]),
    FindNthLargest: lambda: (FindNthLargest(score, 2) for score in SCORE_CASES[FeatureScore]),
    PickSeveral: lambda: (PickSeveral(score, 3) for score in SCORE_CASES[FeatureScore]),
    Pick: lambda: (Pick(score) for scores in SCORE_CASES.values() for score in scores),
    PickEach: lambda: (PickEach(score) for scores in GROUP_SCORE_CASES.values() for score in scores),
    PickLargest: lambda: (
        PickLargest(candidates)
        for candidates in (
            (COUNTS[0, 0], COUNTS[0, 1], Total(COUNTS) / 3),
            (Deviation(COUNTS), FarFromFlat(COUNTS)),
            tuple(Total(Along(cells(name, "ill"), "max", 1)) for name in ("size", "colour", "odd")),
        )
    ),
    PickPartition: lambda: (
        PickPartition(PLANE, LINE, Fraction(penalty), grain) for penalty, grain in ((0, 1), (3, 20))
    ),
}


def perform(mechanism: Mechanism, db: Probe) -> Any:
    """Return a mechanism's answer."""
    return db.perform(mechanism, 1, site="asked")


METHODS: dict[str, tuple[Call, ...]] = {
    **{
        name: (operator.attrgetter(name),)
        for name in ("schema", "neighbours", "promise", "charges", "spent", "left", "unit", "divided")
    },
    "perform": tuple(partial(perform, each) for make in MECHANISM_CASES.values() for each in make()),
    "count": (
        lambda db: db.count(1),
        lambda db: db.count(HALF, site="again"),
        lambda db: db.count(10**6),
        lambda db: db.count("1e-30"),
        lambda db: db.count(-1),
    ),
    "bounded": (lambda db: db.bounded(1, 1).count(1), lambda db: db.portions(2)[0].bounded(1, 1).persons(1)),
    "persons": (lambda db: db.persons(1), lambda db: [part.persons(1) for part in db.parts("ill")]),
    "beyond": (lambda db: db.beyond(1), lambda db: db.portions(2)[0].beyond(1)),
    "hand": (
        lambda db: (
            inner := db.hand(1, site="handed", option="DAWA", settles=False),
            inner.count(HALF),
            inner.left,
            db.left,
        ),
        lambda db: (inner := db.hand(1, site="handed", option="DAWA", settles=True), inner.count(2)),
    ),
    "sum": (
        lambda db: db.sum("size", epsilon=1),
        lambda db: db.where("ill", "no").sum("size", epsilon=1),
        lambda db: db.sum("colour", epsilon=1),
        lambda db: db.sum("size", epsilon=1).interval(population=True),
    ),
    "mean": (
        lambda db: db.mean("size", epsilon=1),
        lambda db: [part.mean("size", epsilon=1) for part in db.parts("ill")],
        lambda db: db.mean("height", epsilon=1),
    ),
    "variance": (lambda db: db.variance("size", epsilon=1), lambda db: db.variance("size", epsilon="1e-30")),
    "quantile": (
        lambda db: db.quantile("size", "1/10", epsilon=1),
        lambda db: db.where("colour", "red").quantile("size", 1, epsilon=1),
        lambda db: db.quantile("size", 2, epsilon=1),
    ),
    "quantiles": (
        lambda db: db.quantiles("size", ["1/10", "1/2"], epsilon=1),
        lambda db: db.quantiles("size", [share / 12 for share in range(1, 12)], epsilon=1),
        lambda db: db.quantiles("size", [], epsilon=1),
    ),
    "median": (lambda db: db.median("size", epsilon=1), lambda db: db.median("odd", epsilon=1)),
    "crosstab": (
        lambda db: db.crosstab("colour", "ill", epsilon=1),
        lambda db: db.crosstab("colour", "height", epsilon=1),
    ),
    "top_k": (lambda db: db.top_k("odd", 2, epsilon=1), lambda db: db.top_k("odd", 9, epsilon=1)),
    "histogram": (
        lambda db: db.histogram("colour", "ill", epsilon=1),
        lambda db: db.histogram(["colour", "ill"], epsilon=1),
        lambda db: db.histogram(epsilon=1),
        lambda db: db.histogram("height", epsilon=1),
    ),
    "measure": (
        lambda db: db.measure(Counts.of("odd"), 1),
        lambda db: db.measure(SparseCounts(("odd",)), 1),
        lambda db: db.measure(Sums("size", (1, 2), 5), 1),
        lambda db: db.measure(Hits((Points(("ill",), np.zeros((2, 2), dtype=int)),)), 1),
    ),
    "reserve": (
        lambda db: (inner := db.reserve(2), inner.count(1), inner.settle(), inner.spent, inner.left),
        lambda db: (db.reserve(2).count(3),),
        lambda db: (db.reserve(2), db.reserve(10**6)),
        lambda db: (inner := db.reserve(2), inner.settle(), inner.count(1)),
    ),
    "settle": (lambda db: db.settle(), lambda db: (inner := db.reserve(1), inner.settle(), inner.settle())),
    "measure_refinable": (
        lambda db: db.measure_refinable(Counts.of("odd"), 1),
        lambda db: db.measure_refinable(SparseCounts(("odd",)), 1),
        lambda db: db.allot(1).refine(db.measure_refinable(Counts.of("odd"), HALF), 1),
    ),
    "refine": (
        lambda db: db.count(HALF).refine(epsilon=1).refine(epsilon=2, site="finer"),
        lambda db: [part.histogram("odd", epsilon=HALF).refine(epsilon=1) for part in db.parts("ill")],
        lambda db: (db.histogram("odd", "ill", epsilon=HALF), db.count(1))[0].refine(epsilon=3),
        lambda db: (found := db.count(1), found.refine(epsilon=2), found.refine(epsilon=3)),
        lambda db: db.count(1).refine(epsilon=1),
        lambda db: db.count(1).refine(epsilon="1.0000000000000000000001"),
        lambda db: db.top_k("odd", 2, epsilon=1)[0][1].refine(epsilon=2),
        lambda db: db.mean("size", epsilon=1).refine(epsilon=2),
        lambda db: db.refine(7, 1),
    ),
    "measure_sparse": (
        lambda db: db.measure_sparse(SparseCounts(("size", "colour")), 1, threshold=1),
        lambda db: db.measure_sparse(SparseCounts(("size",)), 1, threshold=-1),
    ),
    "pick": (lambda db: db.pick(Fullest("colour"), 1), lambda db: db.pick(Fullest("colour"), "1e-20")),
    "select": (
        lambda db: db.select(TriedClassifiers([options.get("Majority"), options.get("NaiveBayes")]), 3),
        lambda db: db.select("something", 3),
    ),
    "release": (
        lambda db: db.release(Total(COUNTS), 1),
        lambda db: db.release(COUNTS, 1),
        lambda db: db.release(Total(COUNTS) * 10**30, "1e-30"),
    ),
    "release_cells": (lambda db: db.release_cells(COUNTS / 3, 1),),
    "commonest": (lambda db: db.commonest("colour", 1),),
    "note_answer": (lambda db: db.note_answer("58.1", site="mean"),),
    "note_choice": (lambda db: db.note_choice(Chosen.one("here", "L", "a", seen={"n": 1.0})),),
    "allot": (
        lambda db: db.allot(2).count(1),
        lambda db: db.allot(2).count(3),
        lambda db: db.allot(10**6),
    ),
    "earmark": (
        lambda db: (inner := db.earmark(2), db.spent, inner.count(1), db.spent),
        lambda db: (db.earmark(2).count(3),),
        lambda db: (inner := db.earmark(2), inner.pick(Fullest("colour"), "1e-20")),
        lambda db: db.earmark(10**6),
    ),
    "open": (lambda db: (inner := db.earmark(2), inner.open(), inner.open(), db.spent), lambda db: db.open()),
    "rows": (lambda db: db.rows, lambda db: (db.count(1), db.allot(1).rows), lambda db: db.where("ill", "no").rows),
    "known": (
        lambda db: db.known(Counts.of()),
        lambda db: (db.histogram("ill", "size", epsilon=1), _known(db.allot(1), Counts([(), ("ill",)]))),
        lambda db: (db.count(9), _known(db.where("ill", "no").allot(1), Counts.of())),
        lambda db: (db.release_cells(COUNTS, 1), _known(db.allot(1).only("colour"), Counts.of("colour"))),
        lambda db: db.known(Counts.of("height")),
        lambda db: db.known(Sums("size", (1, 2, 3), 3)),
    ),
    "only": (
        lambda db: (db.only("colour").schema, db.only("colour").count(1), db.only("colour").rows),
        lambda db: db.only("colour", "size").histogram("size", epsilon=1),
        lambda db: db.where("ill", "no").only("colour").rows,
        lambda db: db.only("colour").histogram("size", epsilon=1),
        lambda db: db.only("height"),
    ),
    "imitate": (
        lambda db: db.imitate(CompareWithNoisyThreshold(FeatureScore("TC", 2), 1), 1),
        lambda db: db.imitate(AddNoise(Counts.of()), 1),
    ),
    "where": (
        lambda db: db.where("ill", "no").histogram("size", epsilon=1),
        lambda db: db.where("ill", "no").where("ill", "yes").count(1),
        lambda db: db.where("colour").count(1),
        lambda db: db.where("ill", "perhaps"),
    ),
    "parts": (
        lambda db: [part.count(Fraction(1, place + 1)) for place, part in enumerate(db.parts("colour"))],
        lambda db: (db.parts("ill")[1].histogram("odd", epsilon=1), db.charges),
        lambda db: db.parts("ill")[0].parts("colour")[0].perform(Pick(Fullest("size")), 1, site="in a part"),
    ),
    "portions": (
        lambda db: [part.count(Fraction(1, place + 1)) for place, part in enumerate(db.portions(3))],
        lambda db: (db.portions(2)[1].histogram("odd", epsilon=1), db.charges),
        lambda db: [part.count(1) for part in db.parts("ill")[0].portions(2)[0].only("odd").portions(2)],
        lambda db: db.portions(2)[0].perform(Pick(Fullest("size")), 1, site="in a portion"),
        lambda db: (db.portions(2)[0].rows, db.portions(0)),
    ),
    "below": (lambda db: db.below(10, 5), lambda db: (db.count(1), db.below(3, 4)), lambda db: db.below(0, 1)),
    "shuffled": (lambda db: (db.shuffled(4), db.count(1), db.shuffled(3)), lambda db: db.shuffled(-1)),
}
"""Every public method and property of a probe, answered and refused."""


def same(pair: str, run: Callable[[Any, Trace], Any], first: Any, second: Any) -> tuple[Seen, bool]:
    """Check that an asker sees the same of two tables; return it, and whether the tables' own numbers differed."""
    one, other, moved = compared(run, first, second)
    for facet in fields(Seen):
        assert getattr(one, facet.name) == getattr(other, facet.name), f"{pair}: {facet.name}"
    assert "failed inside" not in repr(one)
    if isinstance(one.answer, tuple) and one.answer[0] == "raised":
        assert issubclass(one.answer[1], JostleError), f"{pair}: {one.answer[:3]}"  # of a mistake, nothing is compared
    return one, moved


def of_probe(call: Call) -> Callable[[Table, Trace], Any]:
    """Return a run that calls something of a probe, looks at what was spent, and asks whether it still answers."""

    def run(table: Table, trace: Trace) -> Any:
        db = jostle.protect(table, epsilon=1000, trace=trace)
        try:
            answer: Any = call(db)
        except JostleError as refusal:
            answer = (type(refusal), str(refusal))
        return answer, repr(db), db.charges, db.left, db.count(1), call(db)

    return run


# The tests


def test_all_that_is_registered_has_a_case() -> None:
    """What is added to a list of Jostle's, or to a probe, is to be looked at here."""
    public = {name for name in dir(Probe) if not name.startswith("_")}
    assert set(METHODS) == public
    assert set(KERNEL_CASES) == set(KERNELS)
    assert set(SCORE_CASES) == set(SCORES)
    assert set(GROUP_SCORE_CASES) == set(GROUP_SCORES)
    assert set(NODE_CASES) == set(NODES)
    assert set(MECHANISM_CASES) == set(MECHANISMS) == set(PLANS)
    assert set(SELECTIONS.now()) == {TriedClassifiers}
    assert set(TABLES) == {options.get(name).task.name for name in options.names()} | {
        each.task.name for each in SHIPPED.values()
    }
    assert set(TASKS) <= set(TABLES)


@pytest.mark.representative("method")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("pair", PEOPLE)
@pytest.mark.parametrize("method", METHODS)
def test_a_probe(method: str, pair: str, relation: Neighbours) -> None:
    for call in METHODS[method]:
        same(pair, of_probe(call), *people(pair, relation))


OF_PERSONS: dict[str, tuple[list[Any], list[Any]]] = {
    "nobody, and a person of one row": ([], [1]),
    "a person of two rows, and of three, of whom two are held": ([1, 1, None, 2], [1, 1, 1, 2]),
    "a row of nobody, and somebody's": ([1, None, 2, 2], [1, 1, 2, 2]),
    "numbers, and a word that makes texts of all": ([1, 1, 2, 2], [1, 1, 2, "Ann"]),
}


@pytest.mark.representative("method")
@pytest.mark.parametrize("pair", OF_PERSONS)
@pytest.mark.parametrize(
    "method", ["count", "persons", "beyond", "hand", "mean", "refine", "parts", "portions", "known"]
)
def test_a_table_of_persons(method: str, pair: str) -> None:
    tables = []
    for people in OF_PERSONS[pair]:
        rows = frame(SOME[: len(people)]).assign(who=pd.Series(people, dtype=object))
        tables.append(Table.from_frame(rows, schema().with_persons("who", 2)))
    for call in METHODS[method]:
        same(pair, of_probe(call), *tables)


@pytest.mark.parametrize("pair", PEOPLE)
def test_the_tables_do_differ(pair: str) -> None:
    """Otherwise nothing here could fail."""
    _, moved = same(pair, of_probe(lambda db: db.histogram(*COLUMNS, epsilon=1)), *people(pair))
    assert moved


@pytest.mark.representative
@pytest.mark.parametrize("stream", [False, True])
def test_a_file(tmp_path: Path, stream: bool) -> None:
    for place, (pair, rows) in enumerate(PEOPLE.items()):
        paths = tmp_path / f"{place}.csv", tmp_path / f"{place} too.csv"
        for path, some in zip(paths, rows, strict=True):
            frame(some).to_csv(path, index=False)
        one, other = (Table.read(path, schema(), stream=stream) for path in paths)
        for call in METHODS["measure"] + METHODS["measure_sparse"]:
            same(pair, of_probe(call), one, other)


def variants(option: Any) -> Iterator[Any]:
    """Yield an Option with its defaults, and with each of its parameters changed in turn."""
    yield option
    for each in fields(type(option)):
        for value in _others(getattr(option, each.name), each.validator):
            try:
                yield evolve(option, **{each.name: value})
            except (JostleError, ValueError, TypeError):
                continue


def _others(value: object, validator: object) -> Iterator[object]:
    if hasattr(validator, "options"):
        yield from (each for each in validator.options if each != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, Fraction):
        yield Fraction(1, 3)
    elif isinstance(value, int):
        yield from (value + 1, 1)
    elif isinstance(value, float):
        yield value * 2
    elif value is None:
        yield 2


def of_option(option: Any) -> Callable[[Table, Trace], Any]:
    """Return a run of an Option on all of a promise."""
    return lambda table, trace: option(jostle.protect(table, epsilon=1, trace=trace), epsilon=1)


@pytest.mark.parametrize("name", [name for name in options.names() if options.get(name).private])
@pytest.mark.parametrize("all_of_it", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["one pair", "all"])
def test_an_option(name: str, all_of_it: bool) -> None:
    option = options.get(name)
    tables, pairs = TABLES[option.task.name]
    moved = []
    for pair in pairs if all_of_it else (pairs[0], pairs[-1]):
        for relation in RELATIONS:
            one, other = tables(pair, relation)
            if option.refuses(one.schema) is None:
                moved.append(same(pair, of_option(option), one, other)[1])
    assert any(moved)
    for place, other_option in enumerate(variants(option) if all_of_it else ()):
        one, other = tables(pairs[place % len(pairs)], RELATIONS[place % 2])
        same(other_option.name, of_option(other_option), one, other)


@pytest.mark.representative
@pytest.mark.parametrize(
    "name", ["NaiveBayes", "BayesTree", "PooledTree", "RefinedTree", "ThresholdedHistogram", "PrivPfC", "PriROC"]
)
def test_a_figure(name: str) -> None:
    """One of each kind of answer that is drawn."""
    pytest.importorskip("matplotlib")
    option = options.get(name)
    tables, pairs = TABLES[option.task.name]
    one, _ = same(pairs[-1], lambda *opened: of_option(option)(*opened).plot(), *tables(pairs[-1], "add_remove"))
    assert one.answer[0] == "Figure"
    assert len(one.answer[1]) > 10


@pytest.mark.slow
def test_all_kinds_of_models_are_answers_of_some_option() -> None:
    """So each kind was asked for all that it can be asked for."""
    table, _ = people("a row dropped")
    learned = {
        type(option(jostle.rehearse(table, epsilon=50), epsilon=50))
        for name in options.names("classification")
        for option in variants(options.get(name))
    }
    assert learned == {kind for kind in models._kinds.values() if kind.__module__.startswith("jostle.")}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_maker(name: str) -> None:
    maker = jostle.pretrained(name)
    tables, pairs = TABLES[maker.task.name]
    for pair in pairs:
        one, other = tables(pair, "add_remove")
        if len(one.schema.names) in (SHIPPED[name].axes or {len(one.schema.names)}):
            assert same(pair, of_option(maker), one, other)[0].trace


@pytest.mark.parametrize("task", TASKS)
def test_metafeatures(task: str) -> None:
    tables, pairs = TABLES[task]

    def run(table: Table, trace: Trace) -> list[float]:
        db = jostle.protect(table, epsilon=1, trace=trace)
        listed = distinct(TASKS[task].rehearsal.metafeatures, db.schema)
        view = View(db.schema, 1.0, Purchases(db, Fraction(1, max(1, len(listed))), listed))
        return [each(view) for each in TASKS[task].rehearsal.metafeatures]

    for pair in pairs:
        for relation in RELATIONS:
            same(pair, run, *tables(pair, relation))


@pytest.mark.representative
@pytest.mark.parametrize("pair", PEOPLE)
def test_a_private_selection(pair: str) -> None:
    among = [kind() for kind in sorted(CANDIDATES, key=lambda kind: kind.__name__)]
    for eta in (Fraction(0), Fraction(1)):
        same(pair, of_option(SelectPrivately(among=among, eta=eta)), *people(pair))


# Guesses at the rows

LASTS: list[Row] = [("violet", "x"), ("green", "x"), ("red", "y"), ("red", "x")]
"""What the last row could be: its colour, and what is odd about it."""


def guesses(db: Probe) -> Iterator[Table]:
    """Yield each table that it could be, for who knows all rows but the last."""
    for colour, odd in LASTS:
        yield Table.from_frame(frame([*SOME[:3], (5, colour, odd, "yes")]), db.schema)


def guessing(db: Probe) -> list[str]:
    """Return what is said of each guess."""
    told = []
    for guess in guesses(db):
        told.append(_told(lambda table: jostle.rehearse(table, seed=3).count(1), guess))
        told.append(_told(lambda table: opening.raw(table, [cells("colour")]), guess))
        told.append(_told(lambda table: table.notes, guess))
    return told


def _told(attempt: Callable[[Table], object], table: Table) -> str:
    try:
        return repr(attempt(table))
    except JostleError as refusal:
        return str(refusal)


@pytest.mark.parametrize("pair", ["a row dropped", "a row replaced"])
def test_a_guess_at_the_rows_is_not_confirmed(pair: str) -> None:
    """One of the guesses is right for one of the two tables, and nobody says which."""
    same(pair, of_probe(guessing), *people(pair))


# What the comparison would find


def early_exit(real: Any) -> Any:
    """Spare the work where there is nothing to hide."""
    return lambda self, tally, *rest: np.zeros(0, dtype=np.int64) if not tally.any() else real(self, tally, *rest)


def other_kind(real: Any) -> Any:
    """Answer in another type where there is nothing."""
    return lambda self, tally, *rest: real(self, tally, *rest).astype(np.int64 if tally.any() else np.float64)


def warning(real: Any) -> Any:
    """Divide by what may be 0."""

    def release(self: Any, tally: Any, *rest: Any) -> Any:
        if not tally.any():
            warnings.warn("invalid value encountered", RuntimeWarning, stacklevel=1)
        return real(self, tally, *rest)

    return release


def printing(real: Any) -> Any:
    """Say how far it has come."""

    def release(self: Any, tally: Any, *rest: Any) -> Any:
        print(f"{tally.sum()} rows")  # noqa: T201 - that is what is found
        return real(self, tally, *rest)

    return release


def refusing(real: Any) -> Any:
    """Refuse to answer about nothing."""

    def release(self: Any, tally: Any, *rest: Any) -> Any:
        if not tally.any():
            raise TableError("the table has no rows")
        return real(self, tally, *rest)

    return release


def exact(real: Any) -> Any:
    """Forget the noise."""
    return lambda self, tally, *rest: tally.copy()


@pytest.mark.parametrize("mistake", [early_exit, other_kind, warning, printing, refusing, exact])
def test_what_hangs_on_rows_is_found(mistake: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AddNoise, "release", mistake(AddNoise.release))
    with pytest.raises(AssertionError, match="no row, and one: "):
        same("no row, and one", of_probe(lambda db: db.measure(Counts.of(), 1)), *people("no row, and one"))


def test_charges_that_hang_on_rows_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def refunded(self: Any, *details: Any) -> Any:
        answer = release(self, *details)
        if not self.source.tally(Counts.of(), ()).any():
            self.ledger.spent = Fraction(0)
        return answer

    release = Room._release
    monkeypatch.setattr(Room, "_release", refunded)
    with pytest.raises(AssertionError, match="no row, and one: "):
        same("no row, and one", of_probe(lambda db: db.measure(Counts.of(), 1)), *people("no row, and one"))


def test_what_an_answer_shows_by_a_method_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise answers could be compared by nothing: what went wrong in looking at both would be the same."""
    option, tables = options.get("Majority"), people("a row dropped")
    kind = type(option(jostle.rehearse(tables[0], epsilon=1), epsilon=1))
    assert same("a row dropped", of_option(option), *tables)[0].answer[0] != "raised"

    calls = iter(range(100))
    monkeypatch.setattr(kind, "leads", lambda _: next(calls))
    with pytest.raises(AssertionError, match="a row dropped: answer"):
        same("a row dropped", of_option(option), *tables)
    monkeypatch.setattr(kind, "leads", lambda _, unheard_of: unheard_of)
    with pytest.raises(AssertionError, match=r"what is .'unheard_of'"):
        same("a row dropped", of_option(option), *tables)


def test_lines_of_logging_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def telling(self: Any, tally: Any, *rest: Any) -> Any:
        logging.getLogger("jostle.privacy").debug("%s rows", tally.sum())
        return release(self, tally, *rest)

    release = AddNoise.release
    monkeypatch.setattr(AddNoise, "release", telling)
    with pytest.raises(AssertionError, match="no row, and one: logged"):
        same("no row, and one", of_probe(lambda db: db.measure(Counts.of(), 1)), *people("no row, and one"))


def test_a_mechanism_without_a_case_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(PLANS, AddNoise)
    with pytest.raises(AssertionError, match="no plan for AddNoise"):
        same("no row, and one", of_probe(lambda db: db.measure(Counts.of(), 1)), *people("no row, and one"))


def test_nothing_is_charged_for_what_public_facts_refuse() -> None:
    """What the samplers cannot draw is refused beforehand: later, it would be paid for, and said among the rows."""
    table, _ = people("a row dropped")
    for make in MECHANISM_CASES.values():
        for mechanism in make():
            for epsilon in ("1e-6", "1e-12", "1e-16", "1e-30", "1e-300", 10**5):
                with replaying(Replay()):
                    db = jostle.protect(table, epsilon=10**4)
                    try:
                        db.perform(mechanism, epsilon, site="asked")
                    except JostleError:
                        assert db.spent == 0, (mechanism, epsilon)
                        db.count(1)
    for epsilon in ("1e-15", "3e-16", "1e-30", "1e-300"):
        for ask in (partial(Probe.quantile, column="size", share="1/4"), partial(Probe.median, column="size")):
            with replaying(Replay()):
                db = jostle.protect(table, epsilon=1)
                try:
                    ask(db, epsilon=epsilon)
                except JostleError:
                    assert db.spent == 0, epsilon
                else:
                    assert epsilon == "1e-15"


# Programs


def taught(maker: ChoiceMaker) -> ChoiceMaker:
    """Return a maker that learned, from nowhere, to look at all there is and to choose by the last of it."""
    options_, seen = len(maker.among), [(each.name, each.version) for each in maker.informed_by]
    low, high = ([float(place == favourite) for place in range(options_ + 1)] for favourite in (0, options_ - 1))
    stump = Forest(
        [0],
        [max(0, len(seen) - 1), -1, -1],
        [0.5, 0, 0],
        [1, 0, 0],
        [2, 0, 0],
        [low, high],
        inputs=max(1, len(seen)),
    )
    return maker.with_trained(
        Trained(
            task=maker.task.name,
            options=[(each.name, each.version) for each in maker.among],
            metafeatures=seen,
            share=Fraction(1, 10),
            lead=0.0,
            fitted=FittedForest(stump),
            reasons=stump,
            single=0,
            digests=(),
            usual=[(0.0, 1.0)] * len(seen),
            learner="forest" if seen else "single best",
            rehearsals=1,
            databases=1,
            groups=1,
            figures=Figures(**{each.name: 0 for each in fields(Figures)}),
        )
    )


def loaded(source: Source, **named: Any) -> Program:
    """Return a program whose makers need not rehearse first."""
    program = load_source(source, **named)
    for maker in program.makers.values():
        maker.known.append(taught(maker).trained)
    return program


def questions(program: Program) -> str:
    """Return what kind of table a program asks about; nothing, if about none."""
    target = program[program.entry or ""]
    if not running._needed(target):
        return ""
    return running.task_of_target(program, target).name


WITHOUT_TABLE = {"dpcomp"}
"""Programs that ask about no private table."""
ASKING = [path for path in sorted(PROGRAMS.glob("*.jst")) if path.stem not in WITHOUT_TABLE]


@pytest.mark.parametrize("name", sorted(WITHOUT_TABLE))
def test_a_program_that_asks_about_no_table_is_as_it_is_said_to_be(name: str) -> None:
    assert not questions(loaded(read_source(PROGRAMS / f"{name}.jst"), say=None))


@pytest.mark.representative
@pytest.mark.parametrize("path", ASKING, ids=lambda path: path.stem)
def test_a_program(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "load_source", loaded)
    task = questions(loaded(read_source(path), say=None))
    for place, pair in enumerate(TABLES[task][1]):
        one, other = (_written(tmp_path / f"{place} {which}", task, pair, which) for which in (0, 1))
        same(pair, lambda files, _: _run(path, *files), one, other)


def _written(folder: Path, task: str, pair: str, which: int) -> tuple[Path, Path | None]:
    folder.mkdir()
    if task == "grid":
        counts = GRIDS[pair][which] + 0
        np.save(folder / "data.npy", counts)
        return folder / "data.npy", None
    if task == "evaluation":
        scored_frame(SCORE_PAIRS[pair][which]).to_csv(folder / "data.csv", index=False)
        scored_schema().write(folder / "schema.toml")
    else:
        frame(PEOPLE[pair][which]).to_csv(folder / "data.csv", index=False)
        schema().write(folder / "schema.toml")
    return folder / "data.csv", folder / "schema.toml"


def _run(path: Path, data: Path, public: Path | None) -> Any:
    said: list[str] = []
    done = running.run_program(path, data=data, schema=public, epsilon="1", say=said.append)
    return (
        said,
        done.as_text(),
        done.as_data(),
        [repr(each) for each in done.records],
        repr((done.problem, done.bought)),
    )


# Estimators for scikit-learn show of neighbouring rows, which released the same, the same: however rows come.


Parts = tuple[Any, Any]
"""Attributes, and labels."""


def objects(rows: list[Row]) -> Parts:
    table = frame(rows)
    return table[["size", "colour", "odd"]], table["ill"]


def typed(rows: list[Row]) -> Parts:
    cells, labels = objects(rows)
    texts = cells.astype({"colour": "string", "odd": "string"})
    return texts.assign(size=pd.to_numeric(cells["size"])), labels.astype("string")


def arrays(rows: list[Row]) -> Parts:
    cells, labels = objects(rows)
    return cells.to_numpy(dtype=object), labels.to_numpy(dtype=object)


def lists(rows: list[Row]) -> Parts:
    return [list(row[:-1]) for row in rows], [row[-1] for row in rows]


def same_of_estimators(run: Callable[[Any, Trace], Any], first: Any, second: Any) -> Seen:
    one, other, _ = compared(run, first, second)
    for facet in fields(Seen):
        assert getattr(one, facet.name) == getattr(other, facet.name), facet.name
    assert one.answer[0] != "raised", one.answer[:3]
    return one


def account_and_shown(fitted: Any) -> list[Any]:
    return [fitted.account().left, fitted.n_features_in_, getattr(fitted, "feature_names_in_", None), repr(fitted)]


@pytest.mark.parametrize("relation", get_args(Neighbours))
@pytest.mark.parametrize("given", [objects, typed, arrays, lists])
def test_a_classifier(given: Callable[[list[Row]], Parts], relation: Neighbours) -> None:
    def run(rows: list[Row], _: Trace) -> list[Any]:
        cells, labels = given(rows)
        fitted = PrivateClassifier("NaiveBayes", epsilon=1, schema=schema(relation), promise=2).fit(cells, labels)
        asked = given(SOME)[0]
        score = fitted.score(cells, labels)
        return [*account_and_shown(fitted), fitted.classes_, fitted.predict(asked), fitted.predict_proba(asked), score]

    for rows in PEOPLE.values():
        same_of_estimators(run, *rows)


@pytest.mark.parametrize("given", [objects, typed])
def test_a_selector_and_a_classifier_behind_it(given: Callable[[list[Row]], Parts]) -> None:
    def run(rows: list[Row], _: Trace) -> list[Any]:
        cells, labels = given(rows)
        selector = PrivateFeatureSelector("Peeling(top=1)", epsilon=1, schema=schema(), promise=3)
        classifier = PrivateClassifier("NaiveBayes", epsilon=1, schema=schema())
        pipe = Pipeline([("select", selector), ("learn", classifier)]).fit(cells, labels)
        return [
            *map(account_and_shown, pipe.named_steps.values()),
            pipe[0].get_feature_names_out(),
            pipe.score(cells, labels),
            pipe.predict(given(SOME)[0]),
        ]

    for rows in PEOPLE.values():
        assert "AddNoise" in same_of_estimators(run, *rows).asked


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (([], []), ([[1, 0, 1]], ["yes"])),
        (([[1, 0, 0], [0, 0, 0]], ["yes", None]), ([[1, 0, 0], [0, 0, 0]], ["yes", "no"])),
        (([[1.0, 0, 0]], ["no"]), ([[1.0, 0, 0], [float("nan"), -0.0, float("inf")]], ["no", "perhaps"])),
    ],
)
def test_a_selector_of_the_columns_of_a_sparse_matrix(first: Parts, second: Parts) -> None:
    columns = Schema(
        {"ill": Categorical(["no", "yes"])}, label="ill", features=SparseFeatures("text", words=["a", "b", "c"])
    )

    def run(rows: Parts, _: Trace) -> list[Any]:
        matrix = csr_matrix(rows[0]) if rows[0] else csr_matrix((0, 3))
        fitted = PrivateFeatureSelector("Peeling(top=1)", epsilon=1, schema=columns, promise=1).fit(matrix, rows[1])
        return [*account_and_shown(fitted), fitted.get_support(), fitted.get_feature_names_out()]

    same_of_estimators(run, first, second)
