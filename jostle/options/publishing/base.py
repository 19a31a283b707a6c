"""What all publishing Options have in common: how they are called, and how rows are made of noisy cells."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from jostle.errors import FewRowsWarning
from jostle.given import PRICE, called_as
from jostle.options.base import Option
from jostle.options.classification.base import bought_rows, rows_share
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.events import Event, Laplace
from jostle.privacy.probe import Probe
from jostle.tables.columns import Numeric
from jostle.tables.pools import Pool
from jostle.tables.schema import Schema
from jostle.tasks.publishing import PUBLISHING, Published
from jostle.tasks.publishing.published import PublishedColumn

Integers = NDArray[np.int64]
Caution = Callable[[str], None]
"""What is told that rows times epsilon are too few, before most of epsilon is spent."""
MOST_NOISE = 2**18
"""The largest scale of noise on a count, were all of epsilon spent on it."""


class Publisher(Option[Published]):
    """An Option that publishes rows: `option(db, epsilon=1).to_frame()`."""

    task = PUBLISHING

    @called_as("option(db, epsilon=0.1)", why=PRICE)
    def __call__(self, db: Probe, *, epsilon: Amount, site: str | None = None) -> Published:
        """Rows in place of the probe's table's, with *epsilon* of its budget."""
        self.refuse_hopeless(db, epsilon)
        known = db.rows if self.refuses(db.schema) is None else None
        # What is known of the number of rows is public, or was released before: all is left to be spent on others.
        if known is not None and (caution := self.caution(db.schema, epsilon_amount(epsilon) / db.unit, known)):
            warnings.warn(caution, FewRowsWarning, stacklevel=3)
        return self.perform(db, epsilon, partial(self.run, told=_warn), site=site)

    def refuses(self, schema: Schema) -> str | None:
        return "the schema names no label" if schema.label is None else None

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        if reason := super().hopeless(schema, epsilon, rows):
            return reason
        if noise_scale(schema, epsilon) > MOST_NOISE:
            return f"epsilon {show_amount(epsilon)} is too little to count rows with"
        return None

    @abstractmethod
    def caution(self, schema: Schema, left: Fraction, rows: int) -> str:
        """A caution that rows times what is left of epsilon are too few for the columns asked for, or nothing."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """All of epsilon: how it is split between purchases depends on how many rows there are."""
        return Laplace(epsilon)

    @abstractmethod
    def run(self, db: Probe, epsilon: Fraction, told: Caution | None = None) -> Published:
        """Published rows; *db* has just this budget."""

    def counted(self, db: Probe, epsilon: Fraction, share: Fraction, told: Caution | None) -> tuple[int, Fraction, str]:
        """The number of rows, known or bought with a share of epsilon, what is left of it, and a caution or nothing.

        Where the number was bought, nobody could be told before that it is too small, and is told now.
        """
        rows = bought_rows(db, epsilon, share)
        left = epsilon * (1 - rows_share(db.rows, share))
        caution = self.caution(db.schema, left, rows)
        if caution and told is not None and db.rows is None:
            told(caution)
        return rows, left, caution


def _warn(caution: str) -> None:
    warnings.warn(
        caution, FewRowsWarning, stacklevel=7
    )  # counted, run, perform, __call__ and what is around it stand between


def noise_scale(schema: Schema, epsilon: Fraction) -> float:
    """The scale of noise on counts of disjoint cells."""
    return (1 if schema.neighbours == "add_remove" else 2) / float(epsilon)


def own_groups(schema: Schema, name: str) -> tuple[int, ...]:
    """Groups of one code each."""
    return tuple(range(schema[name].size))


def even_groups(schema: Schema, name: str, bins: int) -> tuple[int, ...]:
    """Groups that put a numeric column's bins together into at most so many, side by side and about as wide.

    Values that are no bin are groups by themselves. Another column keeps its values.
    """
    column = schema[name]
    if not isinstance(column, Numeric) or column.bin_count <= bins:
        return own_groups(schema, name)
    grouped = [code * bins // column.bin_count for code in range(column.bin_count)]
    return (*grouped, *(bins + extra for extra in range(column.size - column.bin_count)))


def few(rows: int) -> str:
    """How a caution begins."""
    return "a single row is little" if rows == 1 else f"{rows:,} rows are few"


def whole_counts(noisy: Integers, most: int | None = None) -> Integers:
    """Counts from 0 up that are near noisy ones and add up to the same, or to *most*: each less an equal part, rounded.

    Counts below 0 taken as 0 would add up to more rows than there are, in cells where there are none. It is the nearest
    point (in L2) of those with this sum and no negative count, before it is rounded.

    >>> whole_counts(np.array([10, 3, -2, 0, -1])).tolist()
    [8, 2, 0, 0, 0]
    >>> whole_counts(np.array([10, 3, 3, 3]), most=11).tolist()
    [8, 1, 1, 1]
    """
    total = max(int(noisy.sum()), 0)
    total = total if most is None else min(total, most)
    falling = np.sort(noisy)[::-1].astype(np.float64)
    parts = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    part = parts[np.flatnonzero(falling > parts)[-1]] if total else np.inf
    return np.maximum(np.rint(noisy - part), 0).astype(np.int64) if total else np.zeros_like(noisy)


def released(
    names: Sequence[str], groups: Sequence[Sequence[int]], counts: Sequence[NDArray[np.float64]]
) -> tuple[PublishedColumn, ...]:
    """The published columns."""
    return tuple(
        PublishedColumn(name, np.array(own, dtype=np.int64), np.asarray(count, dtype=np.float64))
        for name, own, count in zip(names, groups, counts, strict=True)
    )


def published_grid(schema: Schema, grid: Pool, noisy: Integers) -> Published:
    """The rows that the noisy cells of a single grid stand for; columns that it is not about go."""
    groups = {
        name: tuple(levels[level].tolist())
        for name, levels, level in zip(grid.columns, grid.levels, grid.taken[0].tolist(), strict=True)
        if level >= 0
    }
    axes = {name: index for index, name in enumerate(groups)}
    sides = [max(own) + 1 for own in groups.values()]
    whole = whole_counts(noisy)
    kept = np.flatnonzero(whole)
    cells, counts = np.unravel_index(kept, sides), noisy.reshape(sides)
    names = [name for name in schema.names if name in groups]
    marginals = [counts.sum(axis=tuple(place for place in range(len(sides)) if place != axes[name])) for name in names]
    return Published(
        schema=schema,
        columns=released(names, [groups[name] for name in names], marginals),
        cells=np.stack([cells[axes[name]] for name in names], axis=1).astype(np.int64),
        counts=whole[kept],
    )
