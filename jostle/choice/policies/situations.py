"""Public situations that the choices inside a program are learned in: parts of public databases, small ones.

A program that grows trees comes to as many nodes as its attributes have combinations of values, and it is run many
times. So tables are taken with few attributes, and numbers in few bins; those that are still too wide are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
from attrs import field, frozen

from jostle.choice.learning.rehearse import Judge
from jostle.choice.public.corpus import Corpus
from jostle.choice.public.databases import PublicDatabase, PublicTable
from jostle.choice.public.instances import PublicInstance, TableInstance, make_instance, possible_rows
from jostle.choice.public.specs import GridSpec, Spec, TableSpec
from jostle.errors import ChoiceError, JostleError
from jostle.options.models.model import Model
from jostle.options.ranges.estimate import Estimate, SparseEstimate
from jostle.tables.schema import Schema
from jostle.tables.table import Table

__all__ = ["PublicSituation", "corpus_for", "halves", "situations_of"]

ROWS = (300, 1000, 3000)
RECORDS = (1000, 30_000)
SHAPES: dict[int, tuple[int, ...]] = {1: (256,), 2: (32, 32)}
ATTRIBUTES, BINS = 6, 4
MOST_CELLS = 600
"""Combinations of values of the four widest attributes."""
MOST_MAJORITY = 0.8
"""Share of the commonest class. There are many public tables where it is larger, which teach to do nothing."""
MOST_DATABASES = 24
"""Of those that come with Jostle and other packages."""
EVERY, ENOUGH = 3, 9
"""One group of databases in three is left out of learning, for what was learned to be tried on, if there are enough."""


@frozen
class PublicSituation:
    """An instance of a public database, made where it is needed."""

    database: PublicDatabase = field(eq=False)
    spec: Spec = field(eq=False)
    key: str
    judge: Judge | None = field(default=None, eq=False)
    """None for the task's own loss."""

    @classmethod
    def of(cls, database: PublicDatabase, spec: Spec, judge: Judge | None = None) -> PublicSituation:
        """Return the situation."""
        return cls(database, spec, database.key(spec) + ("" if judge is None else f" judged by {judge.name}"), judge)

    @property
    def instance(self) -> PublicInstance:
        """Return the instance."""
        return _made(self)

    @property
    def table(self) -> Table:
        """Return the rows to learn from."""
        return self.instance.table

    @property
    def questions(self) -> tuple[Any, ...]:
        """Return what is asked of a grid."""
        return self.instance.questions

    def loss(self, answer: Any, /) -> float:
        """Return how bad an answer is: the share of held-out rows a model gets wrong, or the error of an estimate."""
        wanted: Any = Model if self.database.task == "classification" else (Estimate, SparseEstimate)
        if not isinstance(answer, wanted):
            what = "a model or a tree" if wanted is Model else "an estimate of the cells"
            raise ChoiceError(
                f"an answer is {type(answer).__name__}, which has no loss on a {self.database.task} task",
                why=f"what is learned from is the loss of {what}",
                fix="let the entry return one",
            )
        if self.judge is not None:
            return float(self.judge.loss(self.instance, answer))
        return float(self.instance.loss(answer))


@lru_cache(maxsize=8)
def _made(situation: PublicSituation) -> PublicInstance:
    return make_instance(situation.database, situation.spec)


def corpus_for(task: str) -> Corpus:
    """Return the public databases that are learned from if nobody names others."""
    public: Any = import_module("jostle.public")  # by name: it is built on this
    found: Corpus = public.gridCorpus if task == "grid" else public.tableCorpus
    return found


def situations_of(
    corpus: Corpus, task: str, *, most: int | None = None, judge: Judge | None = None
) -> tuple[tuple[PublicSituation, ...], tuple[str, ...]]:
    """Return a situation of each database of the task that is small enough, and what is said of the others.

    With *most*, of so many databases, in an order that has nothing to do with them; then those are left out as well
    where nearly all rows are of one class.
    """
    found: list[PublicSituation] = []
    problems = [str(problem) for problem in corpus.problems]
    databases = [each for each in corpus if each.task == task]
    for number, database in enumerate(sorted(databases, key=_order) if most is not None else databases):
        if most is not None and len(found) >= most:
            break
        try:
            situation = PublicSituation.of(database, _spec(database, number), judge)
            wide = _too_wide(situation.instance.schema)
            dull = most is not None and _majority(situation.instance) > MOST_MAJORITY
        except JostleError as mistake:
            problems.append(str(mistake))
            continue
        if not wide and not dull:
            found.append(situation)
        elif wide and most is None:
            problems.append(f"{database.name} is left out: its attributes have more than {MOST_CELLS:,} combinations")
    if not found:
        raise ChoiceError(
            f"there is no public database of the task {task!r} to learn from",
            fix="--corpus a folder of tables (*.csv.gz with a last column label) or of grids (*.npy)",
        )
    return tuple(found), tuple(problems)


def halves(
    situations: Sequence[PublicSituation],
) -> tuple[tuple[PublicSituation, ...], tuple[PublicSituation, ...]]:
    """Return situations to learn in, and others to try what was learned in; the same ones where there are few.

    Databases that share people are on one side.
    """
    groups = sorted({each.database.group for each in situations}, key=_digest)
    if len(groups) < ENOUGH:
        return tuple(situations), tuple(situations)
    tried = set(groups[::EVERY])
    return (
        tuple(each for each in situations if each.database.group not in tried),
        tuple(each for each in situations if each.database.group in tried),
    )


def _spec(database: PublicDatabase, number: int) -> Spec:
    if isinstance(database, PublicTable):
        sizes: list[int | None] = [rows for rows in possible_rows(database, ROWS) if rows is not None]
        return TableSpec(rows=_turn(sizes or [None], number), attributes=ATTRIBUTES, bins=BINS, seed=1)
    shape = SHAPES.get(len(database.shape))
    fits = shape is not None and all(whole % side == 0 for whole, side in zip(database.shape, shape, strict=True))
    return GridSpec(records=_turn(RECORDS, number), shape=shape if fits else None)


def _turn(sizes: Sequence[Any], number: int) -> Any:
    return sizes[number % len(sizes)]


def _too_wide(schema: Schema) -> bool:
    if schema.label is None:
        return False
    sizes: Iterable[int] = sorted((schema[name].size for name in schema.attributes), reverse=True)
    return prod(list(sizes)[:4]) > MOST_CELLS


def _majority(instance: PublicInstance) -> float:
    """Return the share of held-out rows that are of the commonest class; 0 of a grid."""
    return (
        float(np.bincount(instance.labels).max() / len(instance.labels)) if isinstance(instance, TableInstance) else 0
    )


def _order(database: PublicDatabase) -> bytes:
    return _digest(database.name)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
