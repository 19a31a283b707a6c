"""Synthesis: search small formulas for what to expect of each Option, and say how well one chooses by them.

A formula is exp(a + b t + c u), of no more than two terms: a metafeature, its square, its logarithm, what it has above
a threshold, or the product of two. It is fitted to the logarithm of an Option's losses in rehearsals; a term is taken
where it is worth more than its complexity (a Bayesian information criterion, groups of databases counting as
observations). What choosing by formulas is worth is judged on groups left out, for which all are searched anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.choice.learning.cases import Cases
from jostle.choice.learning.learners import Predict, prior_logs
from jostle.choice.learning.regret import LEAST, honest_best
from jostle.choice.makers.training import single_best, split_groups
from jostle.tasks.metafeature import Metafeature

__all__ = ["Formula", "FormulaTerm", "Synthesis", "synthesize"]

Floats = NDArray[np.float64]
MOST_TERMS = 2
FOLDS, DRAWS = 10, 2
QUANTILES = (0.25, 0.5, 0.75)
"""Of what is seen of a metafeature: thresholds that are tried."""
WORTH = 2.0
"""A term has to be worth so many times the logarithm of the number of groups."""
LOWEST, HIGHEST = -20, 5
"""Between these the logarithm of what is predicted is kept: noise may take a metafeature far from what is usual."""


@frozen
class FormulaTerm:
    """A small expression of one or two metafeatures."""

    kind: str
    names: tuple[str, ...]
    constant: float = 0.0

    def __str__(self) -> str:
        first = f"F.{self.names[0]}"
        match self.kind:
            case "square":
                return f"{first} ** 2"
            case "log":
                return f"log(max({first}, {plain(self.constant)}))"
            case "above":
                return f"max({first} {signed(-self.constant)}, 0)"
            case "product":
                return f"{first} * F.{self.names[1]}"
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
class Formula:
    """What an Option is expected to lose: exp(start + the terms times their weights)."""

    start: float
    terms: tuple[FormulaTerm, ...]
    weights: tuple[float, ...]

    def __str__(self) -> str:
        parts = [
            f" {'-' if weight < 0 else '+'} {plain(abs(weight))} * {term}"
            for term, weight in zip(self.terms, self.weights, strict=True)
        ]
        return f"exp(min(max({plain(self.start)}{''.join(parts)}, {LOWEST}), {HIGHEST}))"

    def logs(self, inputs: Floats, names: Sequence[str]) -> Floats:
        """The logarithm of what it predicts for each row of what is seen."""
        found = np.full(len(inputs), self.start)
        for term, weight in zip(self.terms, self.weights, strict=True):
            found += weight * term.values(inputs, names)
        return np.asarray(np.clip(found, LOWEST, HIGHEST))


def plain(number: float) -> str:
    """A number of four digits, without an exponent."""
    return np.format_float_positional(float(f"{number:.4g}"), trim="-")


def signed(number: float) -> str:
    """A number that is added, with its sign."""
    return f"{'-' if number < 0 else '+'} {plain(abs(number))}"


def _texts(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(given)


@frozen(kw_only=True)
class Synthesis:
    """Formulas for the Options of a maker, and mean regrets on groups left out."""

    options: tuple[str, ...] = field(converter=_texts)
    formulas: tuple[Formula, ...]
    single: str
    by_formulas: float
    by_single: float
    by_programmer: float | None
    """Choosing by the predictions that the program has; None where it has none."""
    share: Fraction
    """Of the budget, that was taken to be spent on what formulas look at."""

    def as_text(self) -> str:
        """This as text that can be pasted into the program, with what it is worth as comments."""
        own = "" if self.by_programmer is None else f", by the program's own predictions {self.by_programmer:.3f}"
        lines = [
            f"# Mean regret on databases left out, with {float(self.share):.0%} of the budget for what is looked at:",
            f"# choosing by these formulas {self.by_formulas:.3f}, always {self.single} {self.by_single:.3f}{own}.",
        ]
        for option, formula in zip(self.options, self.formulas, strict=True):
            lines += ["", f"# In the class of {option}:", "    def predict(F):", f"        return {formula}"]
        return "\n".join(lines)


def synthesize(
    cases: Cases, metafeatures: Sequence[Metafeature], share: Fraction, priors: Sequence[Predict | None] = ()
) -> Synthesis:
    """The best small formulas for each Option, and what choosing by them is worth on groups left out."""
    names = [each.name for each in metafeatures]
    inputs = cases.inputs(metafeatures, share, draws=DRAWS)
    losses = cases.spent(share)
    everything = np.ones(len(cases), dtype=np.bool_)
    formulas = search(cases, inputs, losses, names, everything)
    chosen, always, own = (np.full(len(cases), np.nan) for _ in range(3))
    places = np.arange(len(cases))
    whole = cases.spent(Fraction(0))
    for left_out in split_groups(cases.groups, FOLDS):
        kept = ~left_out
        if not kept.any():
            continue
        found = search(cases, inputs, losses, names, kept)
        rows = inputs[0][left_out]
        expected = np.stack([formula.logs(rows, names) for formula in found], axis=1)
        chosen[left_out] = losses[places[left_out], np.argmin(expected, axis=1)]
        always[left_out] = whole[left_out, single_best(whole[kept], cases.weights(kept), cases.floor)]
        if priors and all(priors):
            predicted = np.argmin(prior_logs(priors, names, rows), axis=1)
            own[left_out] = losses[places[left_out], predicted]
    best = honest_best(cases.losses)
    single = single_best(whole, cases.weights(everything), cases.floor)

    def regret(of: Floats) -> float:
        least = max(cases.floor, LEAST)
        counted = ~np.isnan(of) & ~np.isnan(best)
        return float(np.mean(np.maximum(of, least)[counted] / np.maximum(best, least)[counted]))

    return Synthesis(
        options=cases.options,
        formulas=formulas,
        single=cases.options[single],
        by_formulas=regret(chosen),
        by_single=regret(always),
        by_programmer=regret(own) if priors and all(priors) else None,
        share=share,
    )


def search(
    cases: Cases, inputs: Floats, losses: Floats, names: Sequence[str], kept: NDArray[np.bool_]
) -> tuple[Formula, ...]:
    """A formula for each Option, from some cases."""
    rows = np.concatenate(inputs[:, kept])
    weights = np.tile(cases.weights(kept), len(inputs))
    logs = np.tile(np.log(np.maximum(losses[kept], max(cases.floor, LEAST))), (len(inputs), 1))
    terms = [term for term in candidates(rows, names) if np.ptp(term.values(rows, names)) > 0]
    columns = np.stack([np.ones(len(rows)), *(term.values(rows, names) for term in terms)], axis=1)
    groups = len(np.unique(cases.groups[kept]))
    return tuple(_fitted(terms, columns, target, weights, groups) for target in logs.T)


def candidates(rows: Floats, names: Sequence[str]) -> list[FormulaTerm]:
    """The terms that are tried: thresholds are quantiles of what was seen."""
    found = [FormulaTerm("itself", (name,)) for name in names]
    for place, name in enumerate(names):
        seen = rows[:, place]
        found.append(FormulaTerm("square", (name,)))
        thresholds = dict.fromkeys(float(f"{each:.3g}") for each in np.quantile(seen, QUANTILES))
        found += [FormulaTerm("above", (name,), each) for each in thresholds]
        found += [FormulaTerm("log", (name,), each) for each in thresholds if each > 0]
    return [*found, *(FormulaTerm("product", pair) for pair in combinations(names, 2))]


def _fitted(terms: Sequence[FormulaTerm], columns: Floats, target: Floats, weights: Floats, groups: int) -> Formula:
    """The formula to which terms are added one at a time, as long as each is worth it."""
    root = np.sqrt(weights)
    scaled, wanted = columns * root[:, None], target * root
    taken = [0]
    solution, left = _solved(scaled, wanted, taken)
    while len(taken) <= MOST_TERMS and len(taken) < columns.shape[1]:
        tried = [place for place in range(1, columns.shape[1]) if place not in taken]
        found = [(_solved(scaled, wanted, [*taken, place])[1], place) for place in tried]
        least, place = min(found)
        if groups * math.log(max(left, LEAST) / max(least, LEAST)) <= WORTH * math.log(max(groups, 2)):
            break
        taken.append(place)
        solution, left = _solved(scaled, wanted, taken)
    weighted = tuple(float(each) for each in solution[1:])
    return Formula(float(solution[0]), tuple(terms[place - 1] for place in taken[1:]), weighted)


def _solved(scaled: Floats, wanted: Floats, taken: Sequence[int]) -> tuple[Floats, float]:
    """The least-squares weights of some columns, and the sum of squares that is left."""
    part = scaled[:, taken]
    solution = np.asarray(np.linalg.lstsq(part, wanted, rcond=None)[0], dtype=np.float64)
    return solution, float(((wanted - part @ solution) ** 2).sum())
