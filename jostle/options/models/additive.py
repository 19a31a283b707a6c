"""Additive models: each group of attributes adds to every class's log-odds by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, product
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.files.damage import DamageError
from jostle.files.structure import structured
from jostle.options.models.plot import plot_terms
from jostle.tables.schema import Schema
from jostle.tasks.classification.model import Model, apart, check_numbers, in_percent

__all__ = ["AdditiveModel", "Term"]

MOST_LINES = 400


def _chances(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chances that are proportional to exp(score), along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


@frozen(eq=False, repr=False)
class Term:
    """What the codes of one or more attributes add to each class."""

    columns: tuple[str, ...]
    weights: NDArray[np.float64]
    """Cells, in row-major order of the columns' codes, by classes."""


@frozen(eq=False)
class AdditiveFacts:
    """What a file holds of an additive model."""

    start: NDArray[np.float64]
    terms: tuple[Term, ...]


@frozen(eq=False, repr=False, kw_only=True)
class AdditiveModel(Model):
    """A class's chance is proportional to exp(its start + the sum of what the terms add)."""

    kind: ClassVar[str] = "additive"

    start: NDArray[np.float64] = field()
    terms: tuple[Term, ...] = ()

    def chances(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The chances; a term with an unknown value adds nothing."""
        total = np.tile(self.start, (len(codes), 1))
        places = {name: place for place, name in enumerate(self.schema.attributes)}
        for term in self.terms:
            cell = np.zeros(len(codes), dtype=np.int64)
            known = np.ones(len(codes), dtype=np.bool_)
            for name in term.columns:
                column = codes[:, places[name]]
                known &= column >= 0
                cell = cell * self.schema[name].size + np.maximum(column, 0)
            total += np.where(known[:, None], term.weights[cell], 0.0)
        return _chances(total)

    def leads(self) -> NDArray[np.float64]:
        """The sums of the least leads of all parts: exact where no two terms share a column."""
        found = apart(self.start[None, :])
        for term in self.terms:
            found = found + apart(term.weights)
        return found

    def text(self) -> str:
        """The terms written out: the chances of the classes where nothing is known, and where one term is."""
        left = 1 + sum(len(term.weights) for term in self.terms) - MOST_LINES
        return "\n".join([*islice(self._lines(), MOST_LINES), *([f"... and {left:,} more lines"] if left > 0 else [])])

    def _lines(self) -> Iterator[str]:
        yield f"where nothing is known: {in_percent(self.classes, _chances(self.start))}"
        for term in self.terms:
            values = product(*(self.schema[name].labels for name in term.columns))
            for each, weights in zip(values, term.weights, strict=True):
                where = ", ".join(f"{name} = {value}" for name, value in zip(term.columns, each, strict=True))
                yield f"{where}: {in_percent(self.classes, _chances(self.start + weights))}"

    def plot(self) -> Any:
        """A matplotlib figure of what each value adds to each class; needs the `report` extra."""
        return plot_terms(self)

    def facts(self) -> dict[str, Any]:
        """The start and the terms."""
        return {
            "start": self.start.tolist(),
            "terms": [{"columns": list(term.columns), "weights": term.weights.tolist()} for term in self.terms],
        }

    @classmethod
    def from_facts(
        cls, schema: Schema, facts: Mapping[str, Any], made_by: str, epsilon: Fraction | None
    ) -> AdditiveModel:
        """The model that `facts` came from."""
        held, classes = structured(facts, AdditiveFacts), len(schema.classes)
        check_numbers(held.start, "start", classes)
        for number, term in enumerate(held.terms):
            if not set(term.columns) <= set(schema.attributes):
                raise DamageError("are not those of the schema", ("terms", number, "columns"))
            try:
                check_numbers(term.weights, "weights", schema.size(*term.columns), classes)
            except DamageError as damage:
                raise damage.inside(number).inside("terms") from None
        return cls(schema=schema, made_by=made_by, epsilon=epsilon, start=held.start, terms=held.terms)
