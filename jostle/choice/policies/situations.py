"""Public situations that the choices inside a program are learned in: parts of public databases, small ones.

A program that grows trees comes to as many nodes as its attributes have combinations of values, and it is run many
times. So tables are taken with few attributes, and numbers in few bins; those that are still too wide are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from attrs import field, frozen

from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.specs import Spec
from jostle.errors import ChoiceError, JostleError, PrivateDataError
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks import Instance, Judge, Task, task_of

__all__ = ["PublicSituation", "halves", "situations_of"]

MOST_CELLS = 600
"""Combinations of values of the four widest attributes."""
MOST_SAME = 0.8
"""Of tables, the share of the commonest class. There are many where it is larger, which teach to do nothing."""
MOST_DATABASES = 24
"""Of those that come with Jostle and other packages."""
EVERY, ENOUGH = 3, 9
"""One group of databases in three is left out of learning, for what was learned to be tried on, if there are enough."""


@frozen
class PublicSituation:
    """An instance of a public database, made where it is needed."""

    task: Task[Any] = field(eq=False)
    database: PublicDatabase = field(eq=False)
    spec: Spec = field(eq=False)
    key: str
    judge: Judge | None = field(default=None, eq=False)
    """None for the task's own loss."""

    @classmethod
    def of(cls, task: Task[Any], database: PublicDatabase, spec: Spec, judge: Judge | None = None) -> PublicSituation:
        """The situation."""
        key = database.key(spec) + ("" if judge is None else f" judged by {judge.name}")
        return cls(task, database, spec, key, judge)

    @property
    def group(self) -> str:
        """Its database's group."""
        return self.database.group

    @property
    def instance(self) -> Instance:
        """The instance."""
        return _made(self)

    @property
    def table(self) -> Table:
        """The rows to learn from."""
        return self.instance.table

    @property
    def questions(self) -> tuple[Any, ...]:
        """The questions asked of a grid."""
        return self.instance.questions

    def loss(self, answer: Any, /) -> float:
        """How bad an answer is, as the task's judge or another one says; refuse what is no answer."""
        if self.judge is not None:
            return float(self.judge.loss(self.instance, answer))
        return float(self.instance.loss(answer))


@lru_cache(maxsize=8)
def _made(situation: PublicSituation) -> Instance:
    return situation.task.instance(situation.database, situation.spec)


def situations_of(
    corpus: Corpus,
    task: str | Task[Any],
    *,
    most: int | None = None,
    judge: Judge | None = None,
    apart: Mapping[str, str] | None = None,
) -> tuple[tuple[PublicSituation, ...], tuple[str, ...]]:
    """A situation of each database of the task that is small enough, and what is said of the others.

    With *most*, of so many databases, in an order that has nothing to do with them; then those are left out as well
    where nearly all rows are of one class. *apart* has the digests of databases to be left out, with sentences why.
    """
    asked, left_out = task_of(task), apart or {}
    found: list[PublicSituation] = []
    problems = [*map(str, corpus.problems), *left_out.values()]
    databases = [
        database for database in corpus if asked.takes(database) and not (left_out and database.digest in left_out)
    ]
    for number, database in enumerate(sorted(databases, key=_order) if most is not None else databases):
        if most is not None and len(found) >= most:
            break
        try:
            situation = PublicSituation.of(asked, database, database.small(number), judge)
            wide = _too_wide(situation.instance.schema)
            dull = most is not None and situation.instance.sameness > MOST_SAME
        except PrivateDataError:
            raise
        except JostleError as mistake:
            problems.append(str(mistake))
            continue
        if not wide and not dull:
            found.append(situation)
        elif wide and most is None:
            problems.append(f"{database.name} is left out: its attributes have more than {MOST_CELLS:,} combinations")
    if not found:
        raise ChoiceError(
            f"there is no public database of the task {asked.name!r} to learn from",
            fix="--corpus a folder of tables (*.csv.gz with a last column label) or of grids (*.npy)",
        )
    return tuple(found), tuple(problems)


def halves(
    situations: Sequence[PublicSituation],
) -> tuple[tuple[PublicSituation, ...], tuple[PublicSituation, ...]]:
    """Situations to learn in, and others to try what was learned in; the same ones where there are few.

    Databases that share people are on one side.
    """
    groups = sorted({situation.group for situation in situations}, key=_digest)
    if len(groups) < ENOUGH:
        return tuple(situations), tuple(situations)
    tried = set(groups[::EVERY])
    return (
        tuple(situation for situation in situations if situation.group not in tried),
        tuple(situation for situation in situations if situation.group in tried),
    )


def _too_wide(schema: Schema) -> bool:
    if schema.label is None:
        return False
    sizes: Iterable[int] = sorted((schema[name].size for name in schema.attributes), reverse=True)
    return prod(list(sizes)[:4]) > MOST_CELLS


def _order(database: PublicDatabase) -> bytes:
    return _digest(database.name)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
