"""Small formulas: a sum of no more than two terms of named numbers, searched term by term and printed as Jostle text.

A term is a number, its square, its logarithm, what it has above a threshold, or the product of two. One is taken where
it is worth more than its complexity, by a Bayesian information criterion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Named = Callable[[str], str]
"""How a number is written in a program, by its name."""
MOST_TERMS = 2
QUANTILES = (0.25, 0.5, 0.75)
"""Of what is seen of a number: thresholds that are tried."""
WORTH = 2.0
"""A term has to be worth so many times the logarithm of the number of observations."""
LEAST = 1e-12
"""Of a sum of squares that is left."""


def _floats(given: Sequence[float]) -> tuple[float, ...]:
    return tuple(map(float, given))


@frozen
class FormulaTerm:
    """A small expression of one or two named numbers."""

    kind: str
    names: tuple[str, ...]
    constant: float = 0.0

    def text(self, named: Named) -> str:
        """It as Jostle text."""
        first = named(self.names[0])
        match self.kind:
            case "square":
                return f"{first} ** 2"
            case "log":
                return f"log(max({first}, {plain(self.constant)}))"
            case "above":
                return f"max({first} {signed(-self.constant)}, 0)"
            case "product":
                return f"{first} * {named(self.names[1])}"
        return first

    def values(self, inputs: Floats, names: Sequence[str]) -> Floats:
        """Its value for each row of what is seen."""
        seen = [inputs[:, names.index(name)] for name in self.names]
        match self.kind:
            case "square":
                return np.asarray(seen[0] ** 2)
            case "log":
                return np.log(np.maximum(seen[0], self.constant))
            case "above":
                return np.maximum(seen[0] - self.constant, 0)
            case "product":
                return np.asarray(seen[0] * seen[1])
        return np.asarray(seen[0])


@frozen
class TermSum:
    """A constant, and the terms times their weights."""

    start: float
    terms: tuple[FormulaTerm, ...] = ()
    weights: tuple[float, ...] = field(default=(), converter=_floats)

    def text(self, named: Named) -> str:
        """It as Jostle text."""
        parts = [
            f" {'-' if weight < 0 else '+'} {plain(abs(weight))} * {term.text(named)}"
            for term, weight in zip(self.terms, self.weights, strict=True)
        ]
        return f"{plain(self.start)}{''.join(parts)}"

    def values(self, inputs: Floats, names: Sequence[str]) -> Floats:
        """Its value for each row of what is seen."""
        total = np.full(len(inputs), self.start)
        for term, weight in zip(self.terms, self.weights, strict=True):
            total += weight * term.values(inputs, names)
        return total


@frozen(eq=False)
class TermSearch:
    """What sums are searched in: rows of what is seen, each with a weight, and the terms that are tried."""

    terms: tuple[FormulaTerm, ...]
    columns: Floats
    """A column of ones, and one for each term; rows are scaled by the roots of their weights."""
    roots: Floats
    observations: int
    """How many rows there are that say something of their own: groups of databases, or runs."""

    @classmethod
    def of(cls, rows: Floats, names: Sequence[str], weights: Floats, observations: int) -> TermSearch:
        """Begin with all terms that are not the same everywhere."""
        tried = [(term, term.values(rows, names)) for term in candidates(rows, names)]
        kept = [(term, values) for term, values in tried if np.ptp(values) > 0]
        roots = np.sqrt(weights)
        columns = np.stack([np.ones(len(rows)), *(values for _, values in kept)], axis=1) * roots[:, None]
        return cls(tuple(term for term, _ in kept), columns, roots, observations)

    @property
    def worth(self) -> float:
        """What a term has to be worth, in the units of `surprise`."""
        return WORTH * math.log(max(self.observations, 2))

    def fitted(self, target: Floats) -> tuple[TermSum, float]:
        """The sum to which terms are added as long as each is worth it, and how badly it fits, terms counted.

        Which column helps most is told by its part that those taken leave, without solving for each.
        """
        wanted = target * self.roots
        taken = [0]
        solution, left = self._solved(wanted, taken)
        while len(taken) <= MOST_TERMS and len(taken) < self.columns.shape[1]:
            place = self._next(wanted, taken)
            longer, less = self._solved(wanted, [*taken, place])
            if self._surprise(left) - self._surprise(less) <= self.worth:
                break
            taken, solution, left = [*taken, place], longer, less
        weights = tuple(solution[1:].tolist())
        found = TermSum(float(solution[0]), tuple(self.terms[place - 1] for place in taken[1:]), weights)
        return found, self._surprise(left) + self.worth * len(weights)

    def _surprise(self, left: float) -> float:
        return self.observations * math.log(max(left, LEAST))

    def _next(self, wanted: Floats, taken: Sequence[int]) -> int:
        """The column that takes most of what is left."""
        basis = np.linalg.qr(self.columns[:, taken])[0]
        rest = self.columns - basis @ (basis.T @ self.columns)
        lengths = (rest**2).sum(axis=0)
        heard = lengths > LEAST * np.maximum((self.columns**2).sum(axis=0), LEAST)
        heard[taken] = False
        gained = np.where(heard, (rest.T @ wanted) ** 2 / np.where(heard, lengths, 1.0), -1.0)
        return int(np.argmax(gained))

    def _solved(self, wanted: Floats, taken: Sequence[int]) -> tuple[Floats, float]:
        """The least-squares weights of some columns, and the sum of squares that is left."""
        part = self.columns[:, taken]
        solution = np.asarray(np.linalg.lstsq(part, wanted, rcond=None)[0], dtype=np.float64)
        return solution, float(((wanted - part @ solution) ** 2).sum())


def candidates(rows: Floats, names: Sequence[str]) -> list[FormulaTerm]:
    """The terms that are tried: thresholds are quantiles of what was seen."""
    tried = [FormulaTerm("itself", (name,)) for name in names]
    for place, name in enumerate(names):
        tried.append(FormulaTerm("square", (name,)))
        thresholds = dict.fromkeys(float(f"{each:.3g}") for each in np.quantile(rows[:, place], QUANTILES))
        tried += [FormulaTerm("above", (name,), each) for each in thresholds]
        tried += [FormulaTerm("log", (name,), each) for each in thresholds if each > 0]
    return [*tried, *(FormulaTerm("product", pair) for pair in combinations(names, 2))]


def plain(number: float) -> str:
    """A number of four digits, without an exponent."""
    return np.format_float_positional(float(f"{number:.4g}"), trim="-")


def signed(number: float) -> str:
    """A number that is added, with its sign."""
    return f"{'-' if number < 0 else '+'} {plain(abs(number))}"
