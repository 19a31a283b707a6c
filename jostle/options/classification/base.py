"""What classification Options have in common: how they are called, and what they know before they buy."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.given import PRICE, called_as
from jostle.options.base import Option, is_enough
from jostle.options.classification.noisy_tables import noise_variance
from jostle.privacy.amounts import Amount
from jostle.privacy.events import Event, Laplace
from jostle.privacy.evidence import Look, together
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.regions import rows_with
from jostle.tables.schema import Schema
from jostle.tasks.classification import CLASSIFICATION, Model

MOST_CELLS = 2**26
"""Values times classes, over all attributes: more are not counted at once."""


class Classifier(Option[Model]):
    """An Option that learns to predict a table's label: `option(db, epsilon=1)` gives a model."""

    task = CLASSIFICATION

    @called_as("option(db, epsilon=0.1)", why=PRICE)
    def __call__(self, db: Probe, *, epsilon: Amount, site: str | None = None) -> Model:
        """A model learnt from the probe's table with *epsilon* of its budget."""
        self.refuse_hopeless(db, epsilon)
        return self.perform(db, epsilon, self.run, site=site)

    def refuses(self, schema: Schema) -> str | None:
        if schema.label is None:
            return "the schema names no label"
        cells = sum(schema[name].size for name in schema.attributes) * len(schema.classes)
        if cells > MOST_CELLS:
            return f"{cells:,} values by classes are more than the {MOST_CELLS:,} that are counted at once"
        return None

    @abstractmethod
    def run(self, db: Probe, epsilon: Fraction) -> Model:
        """A model; *db* has just this budget."""


def rows_share(rows: int | None, share: Fraction) -> Fraction:
    """The share of the budget that the number of rows costs: none where it is known."""
    return share if rows is None else Fraction(0)


def rows_cost(schema: Schema, epsilon: Fraction, share: Fraction) -> tuple[Event, ...]:
    """The events of buying the number of rows."""
    return () if schema.rows is not None else (Laplace(epsilon * share),)


def bought_rows(db: Probe, epsilon: Fraction, share: Fraction) -> int:
    """The number of rows to learn from, known or bought with a share of epsilon; at least 1."""
    rows = db.rows
    if rows is None:
        (rows,) = db.measure(rows_with((db.schema.label or "",), db.schema), epsilon * share, site="rows").tolist()
    return max(1, rows)


Floats = NDArray[np.float64]


@frozen(eq=False)
class ClassCounts:
    """The class counts of all rows as an Option comes to know them."""

    counts: Floats
    variance: float
    """Of the noise in each."""
    cost: Fraction
    """What was spent on them: nothing where they were known about as well."""


def class_counts(db: Probe, epsilon: Fraction, *, always: bool = False) -> ClassCounts:
    """The noisy class counts, bought with *epsilon* and averaged with what is known of them.

    What is known about as well is not bought again, unless *always*.
    """
    schema = db.schema
    kernel = Counts.of(schema.label or "")
    variance = noise_variance(kernel, schema, epsilon)
    (look,) = db.known(kernel)
    if look is not None and is_enough(look, variance) and not always:
        return ClassCounts(look.counts, float(look.variance.mean()), Fraction(0))
    counts, spread = _joined(db.measure(kernel, epsilon, site="classes"), variance, look)
    return ClassCounts(counts, spread, epsilon)


def several_counts(db: Probe, kernel: Counts, epsilon: Fraction, *, site: str) -> tuple[Floats, float]:
    """Noisy counts of several groups of columns, averaged with what is known of each, and their mean variance.

    Groups that are known about as well as they would be bought are left out of the tally, so that the others have less
    noise; not all of them, since there is nothing else to buy.
    """
    schema, looks = db.schema, db.known(kernel)
    whole = noise_variance(kernel, schema, epsilon)
    wanted = [look is None or not is_enough(look, whole) for look in looks]
    if not any(wanted):
        wanted = [True] * len(looks)
    bought = Counts([group for group, want in zip(kernel.groups, wanted, strict=True) if want])
    noisy, variance = db.measure(bought, epsilon, site=site), noise_variance(bought, schema, epsilon)
    parts: list[tuple[Floats, float]] = []
    place = 0
    for group, want, look in zip(kernel.groups, wanted, looks, strict=True):
        if want:
            size = schema.size(*group)
            parts.append(_joined(noisy[place : place + size], variance, look))
            place += size
        elif look is not None:
            parts.append((look.counts, float(look.variance.mean())))
    counts, variances = zip(*parts, strict=True)
    return np.concatenate(counts), float(np.mean(variances))


def _joined(noisy: NDArray[np.int64], variance: float, known: Look | None) -> tuple[Floats, float]:
    """Noisy counts, averaged by 1 / variance with what was known of them, and the variance of what comes of it."""
    if known is None:
        return noisy.astype(np.float64), variance
    both = together([Look(noisy, np.full(len(noisy), variance)), known])
    return both.counts, float(both.variance.mean())
