"""Statistics of a table, bought through a probe: counts, sums, means, variances, quantiles, histograms.

Counts are bought here, refinable. Of other statistics there are several ways, which are Options; what chooses among
them lies above. What a statistic costs is what it is asked with, to the last digit: the ledger has one charge for it,
and the answer says the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral
from typing import Protocol

import numpy as np

from jostle.errors import ProbeError, shown
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.chains import Refinable
from jostle.privacy.evidence import CountEvidence
from jostle.privacy.measured import MeasuredCells, MeasuredCount, MeasuredTop
from jostle.privacy.mechanisms import sensitivity
from jostle.tables.fields import name, names
from jostle.tables.kernels import Counts, DenseKernel
from jostle.tables.persons import PersonCount
from jostle.tables.schema import Schema


class Asks(Protocol):
    """What statistics ask: a probe."""

    @property
    def schema(self) -> Schema:
        """The public facts about the table."""

    @property
    def unit(self) -> int:
        """How many rows of a person each epsilon is for."""

    def measure_refinable(self, kernel: DenseKernel, epsilon: Amount, *, site: str) -> Refinable:
        """A tally with noise on every cell, which may be had with less noise."""

    def refine(self, answer: Refinable, epsilon: Amount, *, site: str) -> Refinable:
        """The same tally with less noise."""

    def note_answer(self, answer: str, *, site: str) -> None:
        """Leave in the trace what an answer comes to, in its own units."""


def _most(db: Asks, kernel: DenseKernel) -> int | Fraction:
    """The most that whoever is protected changes: over epsilon, the scale of the noise."""
    return sensitivity(kernel, db.schema) * db.unit


def count(db: Asks, epsilon: Amount, site: str) -> MeasuredCount:
    """How many rows there are."""
    return _counted(db, Counts.of(), epsilon, site)


def _counted(db: Asks, kernel: DenseKernel, epsilon: Amount, site: str) -> MeasuredCount:
    """What a kernel of a single cell counts."""
    found = db.measure_refinable(kernel, epsilon_amount(epsilon), site=site)
    most = _most(db, kernel)
    rows_each = 1 if kernel.of_persons else db.schema.rows_per_person or 1

    def measured(found: Refinable) -> MeasuredCount:
        (noisy,) = found.cells
        evidence = CountEvidence(noisy, most / found.epsilon, found.epsilon, rows_each=rows_each)
        return MeasuredCount(evidence, lambda more, place: measured(db.refine(found, more, site=place or site)))

    return measured(found)


def persons(db: Asks, epsilon: Amount, site: str, *, more_than: int, once: bool) -> MeasuredCount:
    """How many persons there are, of those with more than so many rows."""
    return _counted(db, PersonCount(more_than=more_than, once=once), epsilon, site)


def histogram(db: Asks, columns: Iterable[str | Iterable[str]], epsilon: Amount, site: str) -> MeasuredCells:
    """Number of rows for each combination of the columns' values or bins, named one by one or in a list."""
    schema, cost = db.schema, epsilon_amount(epsilon)
    given = tuple(each for group in columns for each in names(group))
    kernel = Counts.of(*given)
    labels = tuple(schema[each].labels for each in given)
    sides, most = tuple(map(len, labels)), _most(db, kernel)

    def measured(found: Refinable) -> MeasuredCells:
        return MeasuredCells.of(
            np.array(found.cells, dtype=np.int64).reshape(sides),
            given,
            labels,
            noise=most / found.epsilon,
            cost=found.epsilon,
            refined=lambda more, place: measured(db.refine(found, more, site=place or site)),
        )

    return measured(db.measure_refinable(kernel, cost, site=site))


def top_k(db: Asks, column: str, most: int, epsilon: Amount, site: str) -> MeasuredTop:
    """The commonest values of a column, with their counts: of all counts, noised, the largest."""
    size = db.schema[name(column)].size
    given: object = most
    if isinstance(given, bool) or not isinstance(given, Integral) or not 1 <= int(given) <= size:
        raise ProbeError(
            f"the {shown(most)} commonest values of {column!r} are asked for",
            why=f"it has {size} values or bins, and the number of those that are asked for is a whole one from 1",
            fix=f'db.top_k("{column}", {min(3, size)}, epsilon=0.1)',
        )
    cells = histogram(db, (column,), epsilon, site)
    counts, noise = cells.value, cells.noise
    order = np.argsort(-counts, kind="stable")[: int(given)].tolist()
    (labels,) = cells.labels
    found = MeasuredTop(
        (labels[place], MeasuredCount(CountEvidence(int(counts[place]), noise, cells.cost, among=size)))
        for place in order
    )
    db.note_answer(found.said, site=site)
    return found
