"""Additive models: each group of attributes adds to every class's log-odds by itself."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.options.models.facts import Facts
from jostle.options.models.model import Model
from jostle.tables.schema import Schema

__all__ = ["AdditiveModel", "Term"]

MOST_LINES = 400


@frozen(eq=False, repr=False)
class Term:
    """What the codes of one or more attributes add to each class."""

    columns: tuple[str, ...]
    weights: NDArray[np.float64]
    """Cells, in row-major order of the columns' codes, by classes."""


@frozen(eq=False, repr=False, kw_only=True)
class AdditiveModel(Model):
    """A class's chance is proportional to exp(its start + the sum of what the terms add)."""

    kind: ClassVar[str] = "additive"

    start: NDArray[np.float64] = field()
    terms: tuple[Term, ...] = ()

    def chances(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the chances; a term with an unknown value adds nothing."""
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
        total -= total.max(axis=1, keepdims=True)
        np.exp(total, out=total)
        total /= total.sum(axis=1, keepdims=True)
        return total

    def text(self) -> str:
        """Return the terms written out: what each value adds to the log-odds of the class it speaks for most."""
        shown = ", ".join(f"{label} {weight:+.2f}" for label, weight in zip(self.classes, self.start, strict=True))
        lines = [f"start: {shown}"]
        for term in self.terms:
            labels = [self.schema[name].labels for name in term.columns]
            shape = tuple(len(each) for each in labels)
            for cell, weights in enumerate(term.weights):
                codes = np.unravel_index(cell, shape)
                where = ", ".join(
                    f"{name} = {each[int(code)]}" for name, each, code in zip(term.columns, labels, codes, strict=True)
                )
                best = int(np.argmax(weights))
                lines.append(f"{where}: {self.classes[best]} {weights[best] - np.mean(weights):+.2f}")
        left = len(lines) - MOST_LINES
        return "\n".join([*lines[:MOST_LINES], *([f"... and {left:,} more lines"] if left > 0 else [])])

    def facts(self) -> dict[str, Any]:
        """Return the start and the terms."""
        return {
            "start": self.start.tolist(),
            "terms": [{"columns": list(term.columns), "weights": term.weights.tolist()} for term in self.terms],
        }

    @classmethod
    def from_facts(cls, schema: Schema, facts: dict[str, Any], made_by: str, epsilon: Fraction | None) -> AdditiveModel:
        """Return the model that `facts` came from."""
        held, classes = Facts(facts), len(schema.classes)
        terms = []
        for each in held.parts("terms"):
            columns = each.texts("columns")
            if unknown := set(columns) - set(schema.attributes):
                raise OptionError(f"the model has a term for {min(unknown)!r}, which its schema does not have")
            terms.append(Term(columns, each.floats("weights", schema.size(*columns), classes)))
        start = held.floats("start", classes)
        return cls(schema=schema, made_by=made_by, epsilon=epsilon, start=start, terms=tuple(terms))
