"""Every Option as it is called, audited through the door: table, allotment, mechanisms, answer.

Every classification Option as it is called, audited through the door: table, allotment, mechanisms, model.

Each subject rehearses on made-up tables, which runs the same code as a private table does but for the source of
bits. A model is reduced to what it says of every possible row, and to what its first tree splits by.

Every Option of the evaluation task as it is called, audited through the door: table, allotment, picks, counts.

Each subject rehearses on tables of eight scores and two classes, which runs the same code as a private table does but
for the source of bits. A curve is reduced to its thresholds and to the counts that were released for it.

Every Option of the grid task as it is called, audited through the door: table, allotment, mechanisms, estimate.

Each subject rehearses on grids of four cells, which runs the same code as a private table does but for the source of
bits. An estimate is reduced to its cells.

Every publishing Option as it is called, audited through the door, on the tables that classifiers are audited on.

Published data are reduced to which columns there are, and how many of the rows agree with every possible one.

Every Option of the selection task as it is called, audited through the door.

Each subject rehearses on made-up tables of two features and a label, and selects one of them; of what trains on it, the
output is also how far the model leans to a class. The selector that is not
private is a positive control, run as it would be on rows it was let at.
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

from jostle.audit.counting import RawChoice
from jostle.audit.selections import ClusterSums, Mirrored
from jostle.audit.subjects import (
    Fault,
    Outputs,
    Pair,
    Pairs,
    Relation,
    Sampler,
    Subject,
    Vector,
    chosen_pairs,
    histogram_pairs,
    histograms_adjacent,
    look_in,
    register,
)
from jostle.options.base import Option, own
from jostle.options.classification.tuning import SelectPrivately
from jostle.options.evaluation.pri_roc import PriROC
from jostle.options.models.kinds import TreeModel
from jostle.options.publishing.projected_histogram import ProjectedHistogram
from jostle.options.registry import built_in, get
from jostle.options.selection import ScoredSelector, Selector
from jostle.privacy.opening import rehearse
from jostle.tables import Categorical, Numeric, Schema, Table
from jostle.tasks import CLASSIFICATION, EVALUATION, PUBLISHING, RANGES, SELECTION, Task
from jostle.tasks.classification.model import Model
from jostle.tasks.evaluation.curve import RocCurve
from jostle.tasks.evaluation.instances import SCORE, scored_table
from jostle.tasks.publishing.published import Published
from jostle.tasks.ranges.estimate import Workload

Labelled = tuple[tuple[str, str, str], ...]
"""A made-up table: two attributes and a label, row by row."""

RUNS = 2_000
EVERY_CELL = np.array([[a, b] for a in range(2) for b in range(2)], dtype=np.int64)


def adjacent(first: Labelled, second: Labelled, relation: Relation) -> bool:
    """Whether two tables are neighbours."""
    gone, come = Counter(first) - Counter(second), Counter(second) - Counter(first)
    changes = (gone.total(), come.total())
    return changes == (1, 1) if relation == "replace_one" else changes in {(0, 1), (1, 0)}


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

    return Pairs(relation=relation, make=make, neighbours=partial(adjacent, relation=relation))


@lru_cache
def labelled_table(rows: Labelled, relation: Relation) -> Table:
    """The rows as a table."""
    columns = {"a": Categorical(["x", "y"]), "b": Categorical(["u", "v"]), "label": Categorical(["n", "o"])}
    schema = Schema(columns, label="label", neighbours=relation)
    frame = {name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(columns)}
    return Table.from_frame(pa.table(frame), schema)


def reduced(model: Model) -> tuple[float, ...]:
    """A model's first split, -1 without one, and the chance of the first class for every possible row."""
    first = float(model.routing.attribute[model.routing.roots[0]]) if isinstance(model, TreeModel) else -1.0
    return first, *np.round(model.chances(EVERY_CELL)[:, 0], 6).tolist()


def _run(option: Callable[..., Any], relation: Relation, reduce: Callable[[Any], Any]) -> Callable[..., Outputs]:
    """The sample that runs an Option again and again in one rehearsal."""

    def sample(noise: Sampler, data: Labelled, epsilon: Fraction, size: int) -> Outputs:
        db = rehearse(labelled_table(data, relation), seed=int(noise.below(2**62, 1)[0]))
        return [reduce(option(db, epsilon=epsilon)) for _ in range(size)]

    return sample


def subjects_of(
    option: Option, reduce: Callable[[Any], Any], gives: str, name: str | None = None
) -> Iterator[Subject[Any]]:
    """Yield an Option that asks of a table with a label as what is audited, under each relation of neighbours."""
    for relation in get_args(Relation):
        yield Subject(
            name=(name or option.name) + ("Replaced" if relation == "replace_one" else ""),
            module=__name__,
            about=f"{gives} of {option.name}, a record {'replaced' if relation == 'replace_one' else 'added'}",
            pairs=labelled_pairs(relation),
            sample=_run(option, relation, reduce),
            samples=RUNS,
        )


def classifier_subjects(option: Option, name: str | None = None) -> Iterator[Subject[Any]]:
    """Yield a classification Option as what is audited, under each relation of neighbours."""
    return subjects_of(option, reduced, "model", name)


def _subjects() -> Iterator[Subject[Any]]:
    """Yield every built-in Option; the one that runs many of the others, with few runs of few of them."""
    for kind in built_in():
        if kind is SelectPrivately:
            short = SelectPrivately(among=["Majority", "NaiveBayes"], gamma=Fraction(1, 2), eta=0)
            yield from classifier_subjects(short, kind.__name__)
        elif kind.task is CLASSIFICATION:
            yield from classifier_subjects(kind())


CLASSIFIERS: tuple[Subject[Any], ...] = tuple(_subjects())

_raw = RawChoice(limit=4)
TREE_CONTROLS: tuple[Subject[Any], ...] = (
    Subject(
        name="TreeRawSizes",
        module=__name__,
        about="a tree that stops by the raw size of a node, then counts with noise",
        pairs=histogram_pairs(1, "add_remove"),
        sample=_raw.sample,
        distribution=_raw.distribution,
        fault=Fault(
            "the shape of the tree is released, and one record decides it",
            "Friedman, Schuster, KDD 2010, who buy the sizes for that reason",
        ),
    ),
)

for _subject in (*CLASSIFIERS, *TREE_CONTROLS):
    register(_subject)


FEW_RUNS = 500
SCORES = 8
MOST_THRESHOLDS = 4


@lru_cache
def _scores(counts: Vector, relation: Relation) -> Table:
    """The table with so many rows of each score and class, classes side by side: a row moves from one to the other."""
    cells = np.repeat(np.arange(len(counts)), counts)
    return scored_table(
        (cells // 2).astype(np.float64) + 0.5, cells % 2, Numeric(0, SCORES, bins=SCORES), neighbours=relation
    )


def _points(curve: RocCurve) -> list[float]:
    """Thresholds, as many numbers for every curve, and each kind's running counts."""
    cuts = np.full(MOST_THRESHOLDS, -1.0)
    cuts[: len(curve.thresholds[:MOST_THRESHOLDS])] = curve.thresholds[:MOST_THRESHOLDS]
    counts = np.zeros((2, MOST_THRESHOLDS + 1))
    counts[:, : curve.counts.shape[1]] = curve.counts[:, : MOST_THRESHOLDS + 1]
    return [*cuts.tolist(), *np.round(counts, 6).ravel().tolist()]


def _drawn(option: Callable[..., RocCurve], relation: Relation) -> Callable[..., Outputs]:
    """The sample that runs an Option again and again in one rehearsal."""

    def sample(noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Outputs:
        db = rehearse(_scores(data, relation), seed=int(noise.below(2**62, 1)[0]))
        return np.array([_points(option(db, SCORE, epsilon=epsilon)) for _ in range(size)])

    return sample


def curve_subjects(option: Option[Any], name: str | None = None) -> Iterator[Subject[Any]]:
    """Yield an evaluation Option as what is audited, under each relation of neighbours."""
    for relation in get_args(Relation):
        yield Subject(
            name=(name or option.name) + ("Replaced" if relation == "replace_one" else ""),
            module=__name__,
            about=f"curve by {option.name}, a record {'replaced' if relation == 'replace_one' else 'added'}",
            pairs=histogram_pairs(2 * SCORES, relation),
            sample=_drawn(option, relation),
            samples=FEW_RUNS,
        )


CURVES: tuple[Subject[Any], ...] = tuple(curve_subjects(PriROC(levels=2), "PriROC"))
"""With medians: of eight scores, four intervals are made."""

for _subject in CURVES:
    register(_subject)


SHAPE = (2, 2)


@lru_cache
def _grid(counts: Vector, relation: Relation) -> Table:
    return Table.from_grid(np.array(counts).reshape(SHAPE), neighbours=relation)


def _estimated(option: Callable[..., Any], relation: Relation) -> Callable[..., Outputs]:
    """The sample that runs an Option again and again in one rehearsal."""
    workload = Workload.all_ranges(SHAPE)

    def sample(noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Outputs:
        db = rehearse(_grid(data, relation), seed=int(noise.below(2**62, 1)[0]))
        cells = [option(db, workload, epsilon=epsilon).cells.ravel() for _ in range(size)]
        return np.round(np.array(cells), 6)

    return sample


def grid_subjects(option: Option) -> Iterator[Subject[Any]]:
    """Yield an Option of range queries as what is audited, under each relation of neighbours."""
    for relation in get_args(Relation):
        yield Subject(
            name=option.name + ("Replaced" if relation == "replace_one" else ""),
            module=__name__,
            about=f"4 cells by {option.name}, a record {'replaced' if relation == 'replace_one' else 'added'}",
            pairs=histogram_pairs(4, relation),
            sample=_estimated(option, relation),
            samples=FEW_RUNS,
        )


GRIDS: tuple[Subject[Any], ...] = tuple(
    subject for kind in built_in() if kind.task is RANGES for subject in grid_subjects(kind())
)

for _subject in GRIDS:
    register(_subject)


def _agreeing(published: Published) -> tuple[float, ...]:
    """For each column whether it is published, and for every possible row how many agree with it."""
    names = published.schema.names
    there = [float(name in published.names) for name in names]
    places = [names.index(name) for name in published.names]
    agreeing = []
    for row in product(*(range(published.schema[name].size) for name in names)):
        own = [column.groups[row[place]] for column, place in zip(published.columns, places, strict=True)]
        agreeing.append(float(published.counts[np.all(published.cells == own, axis=1)].sum()))
    return *there, *agreeing


def publisher_subjects(option: Option, name: str | None = None) -> Iterator[Subject[Any]]:
    """Yield a publishing Option as what is audited, under each relation of neighbours."""
    return subjects_of(option, _agreeing, "rows", name)


PUBLISHERS: tuple[Subject[Any], ...] = (
    *(subject for kind in built_in() if kind.task is PUBLISHING for subject in publisher_subjects(kind())),
    *publisher_subjects(ProjectedHistogram(choose_k="partition"), "PartitionAndSelect"),
)

for _subject in PUBLISHERS:
    register(_subject)


NONE = -1
"""In place of a feature that was not selected."""
STEPS, MOST_STEPS = 4, 8
"""How finely it is told how far a model leans to a class, and how far at most."""


def _selected(option: Any, relation: Relation, most: int) -> Any:
    """The sample that runs an Option again and again in one rehearsal."""

    def sample(noise: Sampler, data: Labelled, epsilon: Fraction, size: int) -> Outputs:
        db = rehearse(labelled_table(data, relation), seed=int(noise.below(2**62, 1)[0]))
        trains = isinstance(option, Selector) and option.trains_with(epsilon) > 0
        found = np.full((size, most + trains), NONE, dtype=np.int64)
        for run in found:
            selected = option(db, epsilon=epsilon)
            run[: len(selected.places)] = sorted(selected.places)
            if trains:
                leaning = STEPS * (selected.model.start[-1] - selected.model.start[0])
                run[most] = np.clip(np.rint(leaning), -MOST_STEPS, MOST_STEPS)
        return found

    return sample


def selector_subjects(option: Option, name: str) -> Iterator[Subject[Any]]:
    """Yield a selector as what is audited, under each relation of neighbours."""
    for relation in get_args(Relation):
        how = "replaced" if relation == "replace_one" else "added"
        yield Subject(
            name=name + ("Replaced" if relation == "replace_one" else ""),
            module=__name__,
            about=f"one of two features by {option.name}, a record {how}",
            pairs=labelled_pairs(relation),
            sample=_selected(option, relation, 1),
            samples=RUNS,
        )


def _one_feature(kind: type[Option]) -> Option:
    """A selector of one feature, by a score whose noise does not go by how many records there are."""
    scored = issubclass(kind, ScoredSelector)
    return get(f"{kind.__name__}(top=1{', score=DC' if scored else ''})")


SELECTORS: tuple[Subject[Any], ...] = tuple(
    subject
    for kind in built_in()
    if kind.task is SELECTION and kind.private
    for subject in selector_subjects(_one_feature(kind), kind.__name__)
) + tuple(selector_subjects(get("Peeling(top=1, training=1/2)"), "TrainedPeeling"))


def _added(first: Vector, second: Vector) -> bool:
    return histograms_adjacent(first, second, "add_remove")


def _swapped(first: Vector, second: Vector) -> bool:
    """Whether two lists of scores change places, no score moving by more than 1."""
    half = len(first) // 2
    moved = max(abs(one - other) for one, other in zip(first[:half], first[half:], strict=True))
    return second == (*first[half:], *first[:half]) and moved <= 1


_sums, _mirrored = ClusterSums(cut=10), Mirrored()
_one_word: Labelled = (("x", "v", "n"),)

SELECTOR_CONTROLS: tuple[Subject[Any], ...] = (
    Subject(
        name="PrivateThresholdTesting",
        module=__name__,
        about="features whose score reaches a noisy threshold, by the Option itself",
        pairs=chosen_pairs(
            "add_remove",
            lambda first, second: adjacent(first, second, "add_remove"),
            Pair(_one_word, (*_one_word, ("y", "u", "n")), "one feature has a record; one comes that has the other"),
        ),
        sample=_selected(get("PrivateThresholdTesting(score=TC, threshold=1)"), "add_remove", 2),
        samples=RUNS,
        fault=Fault(
            "scores get no noise: those with one feature alone above the threshold are told from those with both",
            "Stoddard, Chen, Machanavajjhala, 2014; refuted by Lyu, Su, Li, PVLDB 10(6), 2017",
        ),
    ),
    Subject(
        name="ClusterSums",
        module=__name__,
        about="the noisy sum of the counts of a cluster of features, of sensitivity 1 as published",
        pairs=chosen_pairs("add_remove", _added, Pair((9, 20), (10, 20), "a feature comes into the cluster")),
        sample=_sums.sample,
        distribution=_sums.distribution,
        fault=Fault(
            "a record moves a feature into the cluster, and the sum by all that the feature counts",
            "Stoddard, Chen, Machanavajjhala, 2014, section 3.3",
        ),
    ),
    Subject(
        name="PermuteAndFlipBoundedRange",
        module=__name__,
        about="two picks by permute-and-flip that a record moves opposite ways, claimed as one exponential mechanism",
        pairs=chosen_pairs(
            "add_remove", _swapped, Pair((0, 1, 1, 0), (1, 0, 0, 1), "the better one becomes the other")
        ),
        sample=_mirrored.sample,
        distribution=_mirrored.distribution,
        fault=Fault(
            "log-ratios of the exponential mechanism lie within epsilon of each other, hence its epsilon**2/8 of "
            "concentrated privacy; those of permute-and-flip lie further apart, and it has no such claim",
            "Dong, Durfee, Rogers, 2020, on bounded range; McKenna, Sheldon, NeurIPS 2020",
        ),
    ),
)

for _subject in (*SELECTORS, *SELECTOR_CONTROLS):
    register(_subject)


SUBJECTS: Mapping[Task[Any], Callable[[Option], Iterator[Subject[Any]]]] = {
    CLASSIFICATION: classifier_subjects,
    EVALUATION: curve_subjects,
    PUBLISHING: publisher_subjects,
    RANGES: grid_subjects,
}
"""How the Options of each task are audited."""


@look_in
def own_subject(name: str) -> Subject[Any] | None:
    """An Option of one's own as what is audited; None where there is none of this name."""
    called = name.removesuffix("Replaced")
    if called not in own():
        return None
    option = get(called)
    if option.task not in SUBJECTS:
        return None
    return next((each for each in SUBJECTS[option.task](option) if each.name == name), None)
