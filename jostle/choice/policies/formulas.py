"""Formulas for labelled choices: what each alternative is expected to end in, as text that takes a choice's place.

A formula is a sum of no more than two terms of what a choice sees (`learning/formulas.py`), fitted to the relative
losses that runs ended in. What it is worth is measured by running the whole program with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.choice.learning.formulas import TermSearch, TermSum
from jostle.choice.policies.learn import always, over_groups, tried
from jostle.choice.policies.work import Lesson, Perform, Program, Situation, group_of, in_turn
from jostle.learned.policies import LearnedPolicy
from jostle.sites import Choice, Decision, Policy

Floats = NDArray[np.float64]


@frozen(eq=False)
class ChoiceFormula:
    """Takes the alternative of the least expected loss, by a sum for each; of equal ones, the first listed."""

    label: str
    among: tuple[str, ...]
    names: tuple[str, ...]
    """What the choice sees."""
    sums: tuple[TermSum, ...]
    """One for each alternative."""

    def decide(self, choice: Choice) -> Decision:
        """The alternative expected to end best, site by site."""
        rows = np.zeros((choice.count, len(self.names)))
        for place, name in enumerate(self.names):
            rows[:, place] = choice.seen[name]
        losses = np.stack([each.values(rows, self.names) for each in self.sums], axis=1)
        return Decision(np.argmin(losses, axis=1), "least expected loss by a formula", losses)

    @property
    def mark(self) -> str:
        """A mark of what it says."""
        return hashlib.sha256(repr((self.label, self.among, self.names, self.sums)).encode()).hexdigest()[:16]

    def as_text(self, words: frozenset[str]) -> str:
        """It as text that takes the choice's place; *words* stand for themselves, and are defined before."""
        seen = f" informed by {{{', '.join(self.names)}}}" if self.names else ""
        lines = [f"# In the place of: choose {self.label} among {{{', '.join(self.among)}}}{seen}"]
        lines += [f'{name} = "{name}"' for name in self.among if name in words]
        return "\n".join([*lines, self.expression])

    @property
    def expression(self) -> str:
        """The alternative that it takes, as one expression."""
        if all(not each.terms for each in self.sums):
            return self.among[int(np.argmin([each.start for each in self.sums]))]
        texts = [each.text(str) for each in self.sums]
        parts = []
        for place, name in enumerate(self.among[:-1]):
            others = texts[place + 1 :]
            least = others[0] if len(others) == 1 else f"min({', '.join(others)})"
            parts.append(f"{name} if {texts[place]} <= {least}")
        return " else ".join([*parts, self.among[-1]])


@frozen(eq=False)
class FormulaWorth:
    """A formula for a label, and what following it is worth."""

    formula: ChoiceFormula
    loss: float
    """In the mean over situations and budgets."""
    others: tuple[tuple[str, float, float, float], ...]
    """Another way, its mean loss, by which part the formula's is less in the geometric mean, and the standard error."""

    def as_text(self, words: frozenset[str] | None) -> str:
        """This in lines; *words* are the alternatives that stand for themselves, None for all."""
        lines = [f"# {self.formula.label} by a formula: mean loss {self.loss:.4g}"]
        for name, loss, gain, error in self.others:
            lines.append(f"#   {name} {loss:.4g} (gain {gain:+.1%}, standard error {error:.1%})")
        known = frozenset(self.formula.among) if words is None else words
        return "\n".join([*lines, self.formula.as_text(known)])


def choice_formulas(lessons: Sequence[Lesson], labels: Sequence[str], runs: int) -> list[ChoiceFormula]:
    """The formulas of some labels, from the lessons of so many runs, each of which says something of its own."""
    formulas = []
    for label in labels:
        mine = [lesson for lesson in lessons if lesson.label == label]
        names = mine[0].names
        seen = np.array([lesson.seen for lesson in mine], dtype=np.float64).reshape(len(mine), len(names))
        taken = np.array([lesson.taken for lesson in mine])
        losses, weights = (np.array([getattr(lesson, name) for lesson in mine]) for name in ("loss", "weight"))
        sums = []
        for place in range(len(mine[0].among)):
            here = taken == place
            search = TermSearch.of(seen[here], names, weights[here], min(runs, int(here.sum())))
            sums.append(search.fitted(losses[here])[0])
        formulas.append(ChoiceFormula(label, mine[0].among, names, tuple(sums)))
    return formulas


def formula_worths(
    program: Program,
    situations: Sequence[Situation],
    epsilons: Sequence[Fraction],
    policies: Mapping[str, LearnedPolicy],
    formulas: Sequence[ChoiceFormula],
    *,
    trials: int,
    seed: tuple[int, ...],
    floor: float,
    perform: Perform = in_turn,
) -> list[FormulaWorth]:
    """The worth of each formula, the other labels being as they were learned: beside that, and each alternative."""
    worths = []
    for formula in formulas:
        label = formula.label
        everywhere = [always(policies[label], name) for name in policies[label].among]
        ways: list[tuple[Mapping[str, Policy], str]] = [({**policies, label: formula}, formula.mark), (policies, "")]
        ways += [({**policies, label: policy}, "") for policy in everywhere]
        losses = tried(program, situations, epsilons, ways, trials=trials, seed=seed, perform=perform)
        ended = losses.reshape(len(ways), -1)
        there = ~np.isnan(ended).all(axis=0)
        groups = np.tile([group_of(situation) for situation in situations], len(epsilons))[there]
        logs = np.log(ended[:, there] + floor)
        behind, errors = over_groups(logs[1:] - logs[0], groups)
        gains, means = -np.expm1(-behind), ended[:, there].mean(axis=1)
        names = ["what is followed now", *(f"{policy.usual} everywhere" for policy in everywhere)]
        shown = zip(names, means[1:].tolist(), gains.tolist(), errors.tolist(), strict=True)
        worths.append(FormulaWorth(formula, float(means[0]), tuple(shown)))
    return worths
