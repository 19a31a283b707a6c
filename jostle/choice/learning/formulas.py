"""Small formulas: searched term by term, printed as Jostle text, and what choosing by them is worth.

A formula is a sum of no more than two terms of named numbers. A term is a number, its square, its logarithm, what it
has above a threshold, or the product of two. One is taken where it is worth more than its complexity, by a Bayesian
information criterion.

*Of a maker's Options* (`synthesize`), formulas are fitted to the logarithms of losses in rehearsals, groups of
databases counting as observations. Definitions of metafeatures are changed a little where all formulas together fit
better by more than a term would have to be worth. What choosing by them is worth is judged on groups left out, for
which all are searched anew, changed definitions as well.

*Of a label's alternatives* (`choice_formulas`), they are fitted to the relative losses that runs ended in, and are text
that takes the choice's place. What one is worth is measured by running the whole program with it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.choice.learning.cases import Cases
from jostle.choice.learning.learners import Lesson, Predict, lesson_arrays, prior_logs
from jostle.choice.learning.regret import LEAST, honest_best, over_groups, single_best, split_groups
from jostle.progress import tick
from jostle.sites import Choice, Decision
from jostle.tasks.metafeature import ChangedMetafeature, Metafeature

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Named = Callable[[str], str]
"""How a number is written in a program, by its name."""
MOST_TERMS = 2
QUANTILES = (0.25, 0.5, 0.75)
"""Of what is seen of a number: thresholds that are tried."""
WORTH = 2.0
"""A term has to be worth so many times the logarithm of the number of observations."""
LEAST_LEFT = 1e-12
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
        return self.observations * math.log(max(left, LEAST_LEFT))

    def _next(self, wanted: Floats, taken: Sequence[int]) -> int:
        """The column that takes most of what is left."""
        basis = np.linalg.qr(self.columns[:, taken])[0]
        rest = self.columns - basis @ (basis.T @ self.columns)
        lengths = (rest**2).sum(axis=0)
        heard = lengths > LEAST_LEFT * np.maximum((self.columns**2).sum(axis=0), LEAST_LEFT)
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
    for index, name in enumerate(names):
        tried.append(FormulaTerm("square", (name,)))
        thresholds = dict.fromkeys(float(f"{each:.3g}") for each in np.quantile(rows[:, index], QUANTILES))
        tried += [FormulaTerm("above", (name,), threshold) for threshold in thresholds]
        tried += [FormulaTerm("log", (name,), threshold) for threshold in thresholds if threshold > 0]
    return [*tried, *(FormulaTerm("product", pair) for pair in combinations(names, 2))]


def plain(number: float) -> str:
    """A number of four digits, without an exponent."""
    return np.format_float_positional(float(f"{number:.4g}"), trim="-")


def signed(number: float) -> str:
    """A number that is added, with its sign."""
    return f"{'-' if number < 0 else '+'} {plain(abs(number))}"


# For the Options of a maker

FOLDS, DRAWS = 10, 2
LOWEST, HIGHEST = -20, 5
"""Between these the logarithm of what is predicted is kept: noise may take a metafeature far from what is usual."""
MOST_CHANGES = 2
"""Of definitions, one after the other."""


@frozen
class Formula:
    """What an Option is expected to lose: exp(a constant + the terms times their weights)."""

    log: TermSum

    def __str__(self) -> str:
        inside = self.log.text("F.{}".format)
        return f"exp(min(max({inside}, {LOWEST}), {HIGHEST}))"

    def logs(self, inputs: Floats, names: Sequence[str]) -> Floats:
        """The logarithm of what it predicts for each row of what is seen."""
        return np.asarray(np.clip(self.log.values(inputs, names), LOWEST, HIGHEST))


@frozen
class Gain:
    """By how much less is lost than by another way to choose, with the standard error of that over groups."""

    over: str
    loss: float
    """Of the other way, in the mean."""
    gain: float
    error: float
    relative: bool = False
    """Whether the gain is a part of what the other way loses."""

    def __str__(self) -> str:
        loss, part = (".4g", ".1%") if self.relative else (".3f", ".3f")
        return f"{self.over} {self.loss:{loss}} (gain {self.gain:+{part}}, standard error {self.error:{part}})"


def _texts(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(given)


@frozen(kw_only=True)
class Synthesis:
    """Formulas for the Options of a maker, and mean regrets on groups left out."""

    options: tuple[str, ...] = field(converter=_texts)
    formulas: tuple[Formula, ...]
    changes: tuple[ChangedMetafeature, ...] = ()
    """Of definitions, that the formulas look at."""
    tried: int = 0
    """How many changes of definitions there were to be tried."""
    single: str
    by_formulas: float
    gains: tuple[Gain, ...]
    """Over other ways: always the single best Option, definitions as they are, the program's own predictions."""
    share: Fraction
    """Of the budget, that was taken to be spent on what formulas look at."""

    def as_text(self) -> str:
        """This as text that can be pasted into the program, with what it is worth as comments."""
        lines = [
            f"# Mean regret on databases left out, with {float(self.share):.0%} of the budget for what is looked at:",
            f"# choosing by formulas searched without them {self.by_formulas:.3f}",
            *(f"#   {gain}" for gain in self.gains),
        ]
        if self.tried and not self.changes:
            lines.append(
                f"# None of {self.tried} small changes of what is looked at makes formulas fit so much better."
            )
        for change in self.changes:
            name = change.metafeature.name
            lines += ["", f"# In the place of {name}: {change.what}", change.definition]
        for option, formula in zip(self.options, self.formulas, strict=True):
            lines += ["", f"# In the class of {option}:", "    def predict(F):", f"        return {formula}"]
        return "\n".join(lines)


@frozen(eq=False)
class Lookout:
    """What each case sees of metafeatures, some with changed definitions."""

    inputs: Floats
    """Draws by cases by metafeatures."""
    changes: tuple[ChangedMetafeature, ...] = ()

    def only(self, kept: Marks) -> Floats:
        """Rows of some cases, draw after draw."""
        return np.concatenate(self.inputs[:, kept])


@frozen(eq=False)
class Workshop:
    """What formulas are searched in: cases, what is looked at, and changes of that."""

    cases: Cases
    share: Fraction
    metafeatures: tuple[Metafeature, ...]
    changes: tuple[ChangedMetafeature, ...]
    seen: dict[tuple[int, int | None], Floats] = field(factory=dict)
    """Of a metafeature by its place, and of one of its changes by its place: draws by cases by one."""

    @property
    def names(self) -> list[str]:
        """What is looked at, by name."""
        return [metafeature.name for metafeature in self.metafeatures]

    def lookout(self, taken: tuple[int, ...]) -> Lookout:
        """What cases see with some of the changes, by their places."""
        changed = {self.changes[place].metafeature.name: place for place in taken}
        columns = [
            self._column(index, changed.get(metafeature.name)) for index, metafeature in enumerate(self.metafeatures)
        ]
        return Lookout(np.concatenate(columns, axis=2), tuple(self.changes[place] for place in taken))

    def _column(self, place: int, change: int | None) -> Floats:
        """What cases see of one metafeature, as it is or with a change."""
        if (place, change) not in self.seen:
            measured = self.metafeatures[place] if change is None else self.changes[change].metafeature
            beside = [metafeature for number, metafeature in enumerate(self.metafeatures) if number != place]
            # Each has noise of its own.
            self.seen[place, change] = self.cases.inputs([measured], self.share, draws=DRAWS, seed=place, beside=beside)
        return self.seen[place, change]

    def search(self, kept: Marks, *, changing: bool) -> tuple[tuple[Formula, ...], Lookout]:
        """A formula for each Option from some cases, and what they look at."""
        taken: tuple[int, ...] = ()
        formulas, badness = self._fitted(taken, kept)
        while changing and len(taken) < MOST_CHANGES:
            others = [
                (*taken, index)
                for index, change in enumerate(self.changes)
                if change.metafeature.name not in {self.changes[done].metafeature.name for done in taken}
            ]
            tried = [(*self._fitted(other, kept), other) for other in others]
            better = min(tried, key=lambda each: each[1], default=None)
            if better is None or better[1] + self._worth(kept) >= badness:
                break
            formulas, badness, taken = better
        return formulas, self.lookout(taken)

    def _fitted(self, taken: tuple[int, ...], kept: Marks) -> tuple[tuple[Formula, ...], float]:
        """Formulas with some changes, and how badly they fit together."""
        tick()
        cases, draws = self.cases, DRAWS
        search = TermSearch.of(
            self.lookout(taken).only(kept), self.names, np.tile(cases.weights(kept), draws), self._groups(kept)
        )
        losses = cases.spent(self.share)[kept]
        logs = np.tile(np.log(np.maximum(losses, max(cases.floor, LEAST))), (draws, 1))
        fits = [search.fitted(target) for target in logs.T]
        return tuple(Formula(each) for each, _ in fits), sum(badness for _, badness in fits)

    def _worth(self, kept: Marks) -> float:
        """What a change has to be worth: as much as a term of one of the formulas."""
        return 2.0 * math.log(max(self._groups(kept), 2))

    def _groups(self, kept: Marks) -> int:
        return len(np.unique(self.cases.groups[kept]))


def synthesize(
    cases: Cases,
    metafeatures: Sequence[Metafeature],
    share: Fraction,
    priors: Sequence[Predict | None] = (),
    changes: Sequence[ChangedMetafeature] = (),
) -> Synthesis:
    """The best small formulas for each Option, and what choosing by them is worth on groups left out."""
    workshop = Workshop(cases, share, tuple(metafeatures), tuple(changes))
    everything = np.ones(len(cases), dtype=np.bool_)
    whole, spent = cases.spent(Fraction(0)), cases.spent(share)
    single = cases.options[single_best(whole, cases.weights(everything), cases.floor)]

    def by_formulas(left_out: Marks, *, changing: bool = True) -> Floats:
        formulas, lookout = workshop.search(~left_out, changing=changing)
        logs = [formula.logs(lookout.inputs[0][left_out], workshop.names) for formula in formulas]
        return _taken(spent[left_out], np.argmin(logs, axis=0))

    def always_one(left_out: Marks) -> Floats:
        best = single_best(whole[~left_out], cases.weights(~left_out), cases.floor)
        return np.asarray(whole[left_out, best])

    def by_priors(left_out: Marks) -> Floats:
        seen = workshop.lookout(()).inputs[0][left_out]
        return _taken(spent[left_out], np.argmin(prior_logs(priors, workshop.names, seen), axis=1))

    ways: dict[str, Callable[[Marks], Floats]] = {f"always {single}": always_one}
    if changes:
        ways["formulas of what is looked at as it is"] = partial(by_formulas, changing=False)
    if priors and all(priors):
        ways["the program's own predictions"] = by_priors
    mine = _regrets(cases, by_formulas)
    formulas, lookout = workshop.search(everything, changing=True)
    return Synthesis(
        options=cases.options,
        formulas=formulas,
        changes=lookout.changes,
        tried=len(changes),
        single=single,
        by_formulas=float(np.nanmean(mine)),
        gains=tuple(_gain(name, _regrets(cases, way), mine, cases.groups) for name, way in ways.items()),
        share=share,
    )


def _taken(losses: Floats, options: NDArray[np.int64]) -> Floats:
    return np.asarray(losses[np.arange(len(losses)), options])


def _regrets(cases: Cases, way: Callable[[Marks], Floats]) -> Floats:
    """Losses of what is chosen over those of honest hindsight, each case left out in turn; not-a-number without one."""
    losses = np.full(len(cases), np.nan)
    for left_out in split_groups(cases.groups, FOLDS):
        if not left_out.all():
            losses[left_out] = way(left_out)
    least, best = max(cases.floor, LEAST), honest_best(cases.losses)
    return np.asarray(np.maximum(losses, least) / np.maximum(best, least))


def _gain(way: str, other: Floats, mine: Floats, groups: NDArray[np.str_]) -> Gain:
    lower = other - mine
    counted = ~np.isnan(lower)
    (_,), (error,) = over_groups(lower[None, counted], groups[counted])
    return Gain(way, float(np.nanmean(other)), float(np.mean(lower[counted])), float(error))


# For the alternatives of a label


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
        for index, name in enumerate(self.names):
            rows[:, index] = choice.seen[name]
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
        for index, name in enumerate(self.among[:-1]):
            others = texts[index + 1 :]
            least = others[0] if len(others) == 1 else f"min({', '.join(others)})"
            parts.append(f"{name} if {texts[index]} <= {least}")
        return " else ".join([*parts, self.among[-1]])


@frozen(eq=False)
class FormulaWorth:
    """A formula for a label, and what following it is worth."""

    formula: ChoiceFormula
    loss: float
    """In the mean over situations and budgets."""
    gains: tuple[Gain, ...]
    """Over other ways, in the geometric mean."""

    def as_text(self, words: frozenset[str] | None) -> str:
        """This in lines; *words* are the alternatives that stand for themselves, None for all."""
        lines = [f"# {self.formula.label} by a formula: mean loss {self.loss:.4g}", *(f"#   {g}" for g in self.gains)]
        known = frozenset(self.formula.among) if words is None else words
        return "\n".join([*lines, self.formula.as_text(known)])


def choice_formulas(lessons: Sequence[Lesson], labels: Sequence[str], runs: int) -> list[ChoiceFormula]:
    """The formulas of some labels, from the lessons of so many runs, each of which says something of its own."""
    formulas = []
    for label in labels:
        mine = [lesson for lesson in lessons if lesson.label == label]
        names = mine[0].names
        seen, taken, losses, weights = lesson_arrays(mine)
        sums = []
        for place in range(len(mine[0].among)):
            here = taken == place
            search = TermSearch.of(seen[here], names, weights[here], min(runs, int(here.sum())))
            sums.append(search.fitted(losses[here])[0])
        formulas.append(ChoiceFormula(label, mine[0].among, names, tuple(sums)))
    return formulas
