"""The first features as the schema lists them, all of them, or none: what no row has to be asked for.

A selector that asks has to be better than these.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.selection.base import MOST_CELLS, Selector
from jostle.parameters import whole
from jostle.privacy.events import Event, Laplace
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.selection import SelectedFeatures

__all__ = ["FirstFeatures"]

MOST_COLUMNS = 200
"""A record counts in each of them, and noise grows with them: with more, even what many rows say is lost in it."""


@option
@frozen(kw_only=True)
class FirstFeatures(Selector):
    """Selects the features that the schema lists first, and without *top* all of them: no row is asked for that.

    So all of the budget trains naive Bayes on them. Of a public vocabulary by how common words are elsewhere, these
    are the commonest ones. With top=0 there are none, and what is trained knows how many records each class has.

    Privacy: which features they are is a public fact; the model is naive Bayes's one tally.
    """

    top: int = whole(MOST_CELLS, least=0)

    def refuses(self, schema: Schema) -> str | None:
        """The reason why this cannot run on tables of this schema, or None."""
        if reason := super().refuses(schema):
            return reason
        columns = len(SelectedFeatures(schema=schema, places=self._places(schema)).columns)
        if columns <= MOST_COLUMNS:
            return None
        return f"noise would be for {columns:,} columns at once, and top={MOST_COLUMNS} is the most that is of use"

    def selecting_cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - as of every selector
        """Never asked for, since nothing is left to select with."""
        return Laplace(epsilon)

    def trains_with(self, epsilon: Fraction) -> Fraction:
        """All of it."""
        return epsilon

    def found(self, db: Probe, epsilon: Fraction) -> NDArray[np.int64]:  # noqa: ARG002 - it costs nothing
        """The first ones."""
        return np.array(self._places(db.schema), dtype=np.int64)

    def _places(self, schema: Schema) -> tuple[int, ...]:
        return tuple(range(self.places(schema)))
