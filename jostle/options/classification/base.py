"""What all classification Options have in common: how they are called, and what they give back."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

from jostle.given import PRICE, called_as
from jostle.options.base import Option
from jostle.privacy.amounts import Amount
from jostle.privacy.events import Event, Laplace
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.classification import CLASSIFICATION, Model

__all__ = ["Classifier", "bought_rows", "rows_cost", "rows_share"]

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
        """The reason why this cannot run on tables of this schema, or None."""
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
    """The number of rows, known or bought with a share of epsilon; at least 1."""
    rows = db.rows
    return max(1, db.count(epsilon * share, site="rows") if rows is None else rows)
