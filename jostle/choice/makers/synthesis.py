"""Synthesis: search small formulas for what to expect of each Option, and say how well one chooses by them.

A formula is exp(a + b t + c u), of no more than two terms (`learning/formulas.py`). It is fitted to the logarithm of an
Option's losses in rehearsals, groups of databases counting as observations. Definitions of metafeatures are changed a
little where all formulas together fit better by more than a term would have to be worth. What choosing by formulas is
worth is judged on groups left out, for which all are searched anew, changed definitions as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.choice.learning.cases import Cases
from jostle.choice.learning.formulas import TermSearch, TermSum
from jostle.choice.learning.learners import Predict, prior_logs
from jostle.choice.learning.regret import LEAST, honest_best
from jostle.choice.makers.training import single_best, split_groups
from jostle.progress import tick
from jostle.tasks.metafeature import ChangedMetafeature, Metafeature

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
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
    """By how much the mean regret is lower than of another way to choose, with its standard error over groups."""

    over: str
    regret: float
    """Of the other way."""
    gain: float
    error: float

    def __str__(self) -> str:
        return f"{self.over} {self.regret:.3f} (gain {self.gain:+.3f}, standard error {self.error:.3f})"


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
        return [each.name for each in self.metafeatures]

    def lookout(self, taken: tuple[int, ...]) -> Lookout:
        """What cases see with some of the changes, by their places."""
        changed = {self.changes[place].metafeature.name: place for place in taken}
        columns = [self._column(place, changed.get(each.name)) for place, each in enumerate(self.metafeatures)]
        return Lookout(np.concatenate(columns, axis=2), tuple(self.changes[place] for place in taken))

    def _column(self, place: int, change: int | None) -> Floats:
        """What cases see of one metafeature, as it is or with a change."""
        if (place, change) not in self.seen:
            measured = self.metafeatures[place] if change is None else self.changes[change].metafeature
            beside = [each for number, each in enumerate(self.metafeatures) if number != place]
            # Each has noise of its own.
            self.seen[place, change] = self.cases.inputs([measured], self.share, draws=DRAWS, seed=place, beside=beside)
        return self.seen[place, change]

    def search(self, kept: Marks, *, changing: bool) -> tuple[tuple[Formula, ...], Lookout]:
        """A formula for each Option from some cases, and what they look at."""
        taken: tuple[int, ...] = ()
        formulas, badness = self._fitted(taken, kept)
        while changing and len(taken) < MOST_CHANGES:
            others = [
                (*taken, place)
                for place, each in enumerate(self.changes)
                if each.metafeature.name not in {self.changes[done].metafeature.name for done in taken}
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
    _, group, cells = np.unique(groups[counted], return_inverse=True, return_counts=True)
    by_group = np.bincount(group, weights=lower[counted]) / cells
    error = float(by_group.std(ddof=1) / math.sqrt(len(by_group))) if len(by_group) > 1 else 0.0
    return Gain(way, float(np.nanmean(other)), float(np.mean(lower[counted])), error)
