"""Every classification Option as it is called, audited through the door: table, allotment, mechanisms, model.

Each subject rehearses on made-up tables, which runs the same code as a private table does but for the source of
bits. A model is reduced to what it says of every possible row, and to what its first tree splits by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from jostle.audit.counting import RawChoice
from jostle.audit.pairs import Pair, Pairs, Relation, histogram_pairs
from jostle.audit.subjects import Fault, Outputs, Sampler, Subject, register
from jostle.options.base import Option
from jostle.options.classification.select_privately import SelectPrivately
from jostle.options.models.trees import TreeModel
from jostle.options.registry import built_in
from jostle.privacy.opening import rehearse
from jostle.tables import Categorical, Schema, Table
from jostle.tasks import CLASSIFICATION
from jostle.tasks.classification.model import Model

__all__ = [
    "CLASSIFIERS",
    "TREE_CONTROLS",
    "Labelled",
    "adjacent",
    "labelled_pairs",
    "labelled_table",
    "reduced",
    "subjects_of",
]

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
