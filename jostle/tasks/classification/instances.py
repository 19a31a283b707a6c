"""Instances of tables: some rows to learn from, others to score on; and how bad predictions are.

A loss takes the true codes and, in a row for each of them, the chance of every class.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicTable, RowReader
from jostle.corpora.parts import TableSpec, seeds_of
from jostle.errors import CorpusError, JostleError, OptionError, PrivateDataError
from jostle.tables.block import Codes
from jostle.tables.encode import encode_block
from jostle.tables.engines import MemorySource
from jostle.tables.frames import frame_columns
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks.base import Instance
from jostle.tasks.classification.model import Model

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
LEAST_CHANCE = 1e-6
"""What a chance counts as at least, so that one row which a model was sure of does not count for all others."""


def error(labels: Labels, chances: Floats) -> float:
    """Share of rows whose likeliest class is not their own."""
    return float(np.mean(np.argmax(chances, axis=1) != labels))


def balanced_error(labels: Labels, chances: Floats) -> float:
    """Mean over the classes that there are of the share of their rows that are predicted wrongly."""
    wrong = np.argmax(chances, axis=1) != labels
    return float(np.mean([wrong[labels == code].mean() for code in np.unique(labels)]))


def log_loss(labels: Labels, chances: Floats) -> float:
    """Mean of the negative logarithm of the chance of a row's own class."""
    own = chances[np.arange(len(labels)), labels] / np.maximum(chances.sum(axis=1), LEAST_CHANCE)
    return float(-np.log(np.clip(own, LEAST_CHANCE, 1)).mean())


def one_less_auc(labels: Labels, chances: Floats) -> float:
    """1 less the area under the curve; of several classes, the mean over pairs of them.

    Hand and Till. A simple generalisation of the area under the ROC curve for multiple class classification problems.
    Machine Learning, 2001. A pair's area is the mean of two: how often a row of the one class has a larger chance of
    that class than a row of the other, and the reverse; ties count half. Where all rows are of one class there is
    nothing to tell apart, and the area is that of guessing.
    """
    present = np.unique(labels).tolist()
    areas = [
        (
            _area(chances[labels == one, one], chances[labels == other, one])
            + _area(chances[labels == other, other], chances[labels == one, other])
        )
        / 2
        for index, one in enumerate(present)
        for other in present[:index]
    ]
    return 1 - float(np.mean(areas)) if areas else 0.5


def _area(own: Floats, others: Floats) -> float:
    """How often a number of the first is larger than one of the second; ties count half."""
    values, places = np.unique(np.concatenate([own, others]), return_inverse=True)
    of_own = np.bincount(places[: len(own)], minlength=len(values))
    of_others = np.bincount(places[len(own) :], minlength=len(values))
    below = np.cumsum(of_others) - of_others
    return float((of_own * (below + of_others / 2)).sum() / (len(own) * len(others)))


Chances = NDArray[np.float64]
MOST_HELD_OUT = 2000
"""Rows that models are scored on; more would only take longer."""
LEAST_ROWS = 3
"""With fewer, there is nothing to learn from and score on."""
ORDER, CHOICE = range(2)
"""Streams of randomness: the order of rows, which attributes."""


@frozen(eq=False, repr=False)
class TableInstance(Instance):
    """Rows of a public table to learn from, and others, encoded, to score models on."""

    judged: ClassVar[tuple[type | tuple[type, ...], str, str]] = (Model, "a classification", "a model or a tree")

    key: str
    table: Table
    """The rows to learn from, with a schema read off the whole public database."""
    rows: int
    codes: NDArray[np.int64]
    """The held-out rows' attributes, a column per attribute in the schema's order."""
    labels: NDArray[np.int64]
    """The held-out rows' labels."""

    @property
    def sameness(self) -> float:
        """The share of held-out rows that are of the commonest class."""
        return float(np.bincount(self.labels).max() / len(self.labels))

    def said_by(self, model: Any) -> Chances:
        """The chance of each class that a model gives each held-out row; refuse one of another table."""
        if model.schema.columns != self.schema.columns or model.schema.label != self.schema.label:
            raise OptionError(
                "an answer is a model of another table",
                why="it is judged by the rows of the table that was asked, by its attributes and classes",
                fix="return one that was made from db",
            )
        return np.asarray(model.chances(self.codes))

    def lists(self, answer: Any, /) -> tuple[list[str], list[str]]:
        """The classes of the held-out rows, predicted and true."""
        classes = self.schema.classes
        predicted = np.argmax(self.read(answer), axis=1)
        return [classes[code] for code in predicted.tolist()], [classes[code] for code in self.labels.tolist()]

    def chances(self, answer: Any, /) -> list[dict[str, float]]:
        """The chance of each class, for each held-out row."""
        return [dict(zip(self.schema.classes, row, strict=True)) for row in self.read(answer).tolist()]

    def loss(self, answer: Any, /) -> float:
        """The share of held-out rows that are predicted wrongly."""
        return error(self.labels, self.read(answer))


def _split(length: int, rows: int | None, name: str) -> tuple[int, int]:
    """How many rows are to be learnt from, and how many held out."""
    if length < LEAST_ROWS:
        raise CorpusError(f"{name} has fewer than {LEAST_ROWS} rows", why="some are learnt from, and others held out")
    if rows is None:
        held = min(MOST_HELD_OUT, length // 3)
        return length - held, held
    if 5 * rows > 4 * length:
        raise CorpusError(
            f"{name} has too few rows for {rows:,} to learn from",
            why="a fifth at least is held out to score models on",
            fix="possible_rows(database, sizes) says which sizes a table can give",
        )
    return rows, min(MOST_HELD_OUT, length - rows)


Held = TypeVar("Held", bound=TableInstance)


def table_instance(database: PublicTable, spec: TableSpec) -> TableInstance:
    """The instance that a spec makes of a public table."""
    return instance_of(TableInstance, database, spec)


def instance_of(kind: type[Held], database: PublicTable, spec: TableSpec) -> Held:
    """An instance of a kind: all tasks that are asked of tables with a label have the same rows."""
    key = database.key(spec)
    try:
        schema, codes = _encoded(database.reader, database.label, spec.bins)
    except (CorpusError, PrivateDataError):
        raise
    except JostleError as mistake:
        raise CorpusError(f"{database.name}: {mistake.title}", why=mistake.why, fix=mistake.fix) from None
    if not schema.attributes:
        raise CorpusError(f"{database.name} has no attributes to predict from")
    length = len(codes[database.label])
    learnt, held = _split(length, spec.rows, database.name)
    attributes = schema.attributes
    if spec.attributes is not None and spec.attributes < len(attributes):
        order = _order(len(attributes), seeds_of(database.digest, spec.seed, CHOICE))
        chosen = {attributes[place] for place in order[: spec.attributes]} | {database.label}
        schema = evolve(schema, columns=tuple((name, column) for name, column in schema.columns if name in chosen))
        attributes = schema.attributes
    # Held-out rows come from the front and the others from the back: with one seed, fewer rows are some of more rows.
    order = _order(length, seeds_of(database.digest, spec.seed, ORDER))
    scored, learnt_from = order[:held], order[length - learnt :]
    if spec.declared:
        schema = evolve(schema, neighbours="replace_one", rows=learnt)
    columns = {name: codes[name][learnt_from] for name in schema.names}
    unseen = np.empty((held, len(attributes)), dtype=np.int64, order="F")
    for index, name in enumerate(attributes):
        unseen[:, index] = codes[name][scored]
    return kind(
        key,
        Table(MemorySource(schema, columns, learnt, identity=key.encode())),
        learnt,
        unseen,
        codes[database.label][scored].astype(np.int64),
    )


@lru_cache(maxsize=4)
def _encoded(reader: RowReader, label: str, bins: int) -> tuple[Schema, Mapping[str, Codes]]:
    """A schema read off a public table, and all its rows as codes."""
    table = PublicTable("the table", reader, label).columns
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*different texts and is left out", category=UserWarning)
        warnings.filterwarnings("ignore", message="person = ", category=UserWarning)
        warnings.filterwarnings("ignore", message=r"numbers of 2\*\*53 or more", category=UserWarning)
        schema = Schema.infer_public(table, label=label, bins=bins)
    columns, length = frame_columns(table, schema.names)
    block = encode_block(columns, schema, length)
    if block.length != length:
        raise CorpusError("rows of a public table do not fit the schema that was read off them")
    return schema, block.columns


def _order(length: int, seeds: list[int]) -> NDArray[np.intp]:
    """A random order: of the generator's raw bits, which are the same in all versions of numpy."""
    return np.argsort(np.random.PCG64(seeds).random_raw(length), kind="stable")
