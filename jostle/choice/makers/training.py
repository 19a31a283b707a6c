"""Train makers: decide what to look at, how much to spend on it, and which learner to believe.

Every way of deciding is judged by the regret of its choices on databases it was not trained on, what it spends on
metafeatures being taken from the Options. Groups of databases that share people stay on one side. If nothing beats the
single best Option, the single best Option it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.choice.learning.cases import Cases
from jostle.choice.learning.learners import LEARNERS, MOST_LOG, ConstantLearner, Example, Fitted, Learner
from jostle.choice.learning.regret import (
    LEAST,
    MOST_SCORED,
    Figures,
    figures,
    honest_best,
    single_best,
    split_groups,
    weights_of,
    with_lead,
)
from jostle.errors import ChoiceError
from jostle.progress import stage, tick
from jostle.tasks.metafeature import Metafeature

Floats = NDArray[np.float64]
SHARES = (Fraction(1, 100), Fraction(1, 50), Fraction(1, 20), Fraction(1, 10))
"""Shares of the budget that may be spent on metafeatures."""
DRAWS = 4
"""How often each case is learned from, each time with other noise."""
FOLDS = 10
GLANCED_FOLDS, GLANCED_DRAWS = 4, 1
"""A first look at a way of deciding takes a tenth of the time: it says which of many purchases is worth a real one."""
LEADS = (0.2, 0.1, 0.05, 0.02, 0.0)
"""How far ahead an Option has to look, most careful first."""
SAVED = 1.002
"""A way of deciding that spends or looks at more has to be better by this factor."""


def _metafeatures(given: Iterable[Metafeature]) -> tuple[Metafeature, ...]:
    return tuple(given)


@frozen
class Way:
    """A way of deciding: what to look at, what to spend on it, and who learns."""

    metafeatures: tuple[Metafeature, ...] = field(converter=_metafeatures)
    share: Fraction
    learner: Learner
    lead: float = 0.0
    """How far ahead of the single best Option, in log loss, another one has to be expected to be chosen instead."""

    def __str__(self) -> str:
        looked_at = [metafeature.name for metafeature in self.metafeatures]
        lead = f", with a lead of {self.lead:.0%}" if 0 < self.lead < MOST_LOG else ""
        return f"{self.learner.name} on {', '.join(looked_at) or 'nothing'}, spending {float(self.share):.0%}{lead}"


SINGLE_BEST = Way((), Fraction(0), ConstantLearner(), lead=MOST_LOG)
"""To run the Option with the least mean loss, always: no other can be expected to be so far ahead of it.

Without that lead, the one with the least mean log regret would be run, which is another where losses differ much.
"""


@frozen(eq=False)
class Judged:
    """How a way did on databases it was not trained on, case by case."""

    way: Way
    losses: Floats
    """Of what it chose, in the mean over draws of noise."""
    single: Floats
    """Of the Option that was best in training."""
    taken: Floats
    """How often each Option was chosen, cases by Options."""

    def figures(self, cases: Cases, kept: NDArray[np.bool_] | None = None) -> Figures:
        """The figures, of some cases if not all are to count."""
        marks = np.ones(len(cases), dtype=np.bool_) if kept is None else kept
        return figures(
            self.losses[marks],
            self.single[marks],
            honest_best(cases.losses[marks]),
            floor=cases.floor,
            weights=weights_of(cases.databases[marks]),
            groups=cases.groups[marks],
        )

    def score(self, cases: Cases, kept: NDArray[np.bool_] | None = None) -> float:
        """The mean regret, against the best mean losses: what ways are compared by.

        Regrets above `MOST_SCORED` count as that, so that a few cells in which everything is hopeless, or nearly
        perfect, do not decide for all others. What generators made is learned from, but where there is anything real,
        that alone is judged by.
        """
        return float(self._by_group(cases, kept).mean())

    def gain(self, other: Judged, cases: Cases) -> tuple[float, float]:
        """How much lower the mean regret is than another way's, and the standard error of that over groups."""
        lower = other._by_group(cases) - self._by_group(cases)
        return float(lower.mean()), float(lower.std(ddof=1) / math.sqrt(len(lower))) if len(lower) > 1 else 0.0

    def _by_group(self, cases: Cases, kept: NDArray[np.bool_] | None = None) -> Floats:
        marks = np.ones(len(cases), dtype=np.bool_) if kept is None else kept
        if (marks & ~cases.artificial).any():
            marks = marks & ~cases.artificial
        least = max(cases.floor, LEAST)
        best = np.maximum(cases.mean[marks].min(axis=1), least)
        regret = np.minimum(np.maximum(self.losses[marks], least) / best, MOST_SCORED)
        _, group, cells = np.unique(cases.groups[marks], return_inverse=True, return_counts=True)
        means: Floats = np.bincount(group, weights=regret) / cells
        return means


@frozen(eq=False)
class Foreseen:
    """What a way expects of databases it was not trained on, before a lead is asked for."""

    expected: Floats
    """Draws by cases by Options: log regrets."""
    single: NDArray[np.int64]
    """Each case's single best Option, as training had it."""
    spent: Floats
    whole: Floats

    def judged(self, way: Way) -> Judged:
        """How choosing by it does."""
        places = np.arange(len(self.spent))
        losses, taken = np.zeros(len(places)), np.zeros_like(self.spent)
        for draw in self.expected:
            chosen = with_lead(draw, self.single, way.lead)
            losses += self.spent[places, chosen] / len(self.expected)
            taken[places, chosen] += 1 / len(self.expected)
        return Judged(way, losses, self.whole[places, self.single], taken)


def foresee(cases: Cases, way: Way, *, folds: int = FOLDS, draws: int = DRAWS, exact: bool = False) -> Foreseen:
    """The losses that a way expects of groups of databases left out of its training, in turn."""
    parts = list(unlike(cases, folds))
    spent, whole = cases.spent(way.share, way.metafeatures), cases.spent(Fraction(0))
    inputs = _inputs(cases, way, draws, exact=exact)
    expected = np.zeros((len(inputs), *spent.shape))
    single = np.zeros(len(cases), dtype=np.int64)
    for kept, left_out in parts:
        tick()
        fitted = _fit(inputs[:, kept], spent[kept], cases, way, kept)
        for index, draw in enumerate(inputs[:, left_out]):
            expected[index, left_out] = fitted.predict(draw)[0]
        single[left_out] = single_best(whole[kept], cases.weights(kept), cases.floor)
    return Foreseen(expected, single, spent, whole)


def unlike(cases: Cases, folds: int) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield what is learned from and what that is tried on, each case once: groups of databases that are left out.

    Where questions of several kinds are asked, a kind is left out with them, and every other decade of records times
    epsilon and of cells: users ask what nobody rehearsed.
    """
    kinds = cases.kinds
    several = len(set(kinds.tolist())) > 1
    parts = list(split_groups(cases.groups, GLANCED_FOLDS if several else folds))
    if len(parts) < 2:
        raise ChoiceError("there is one group of databases, and none to be left out", fix="train on more databases")
    if not several:
        yield from ((~left_out, left_out) for left_out in parts)
        return
    decades, bands = (np.floor(np.log10(each)) % 2 for each in (cases.records_epsilon, cases.cells))
    for left_out, kind, decade, band in product(parts, *map(np.unique, (kinds, decades, bands))):
        tried = left_out & (kinds == kind) & (decades == decade) & (bands == band)
        kept = ~left_out & (kinds != kind) & (decades != decade) & (bands != band)
        if tried.any():
            yield (kept if kept.any() else ~left_out), tried


def judge(cases: Cases, way: Way, *, folds: int = FOLDS, draws: int = DRAWS, exact: bool = False) -> Judged:
    """How a way does on groups of databases left out of its training, in turn."""
    return foresee(cases, way, folds=folds, draws=draws, exact=exact).judged(way)


def fit_way(cases: Cases, way: Way, *, draws: int = DRAWS) -> Fitted:
    """The learner that a way fits to all cases."""
    everything = np.ones(len(cases), dtype=np.bool_)
    return _fit(_inputs(cases, way, draws), cases.spent(way.share, way.metafeatures), cases, way, everything)


def _inputs(cases: Cases, way: Way, draws: int, *, exact: bool = False) -> Floats:
    return cases.inputs(way.metafeatures, way.share, draws=draws if way.share and not exact else 1, exact=exact)


def _fit(inputs: Floats, losses: Floats, cases: Cases, way: Way, kept: NDArray[np.bool_]) -> Fitted:
    draws = len(inputs)
    weights = cases.weights(kept)
    return way.learner.fit(
        Example(np.concatenate(inputs), np.tile(losses, (draws, 1)), np.tile(weights, draws), cases.floor)
    )


def judge_all(
    cases: Cases,
    metafeatures: Sequence[Metafeature],
    *,
    shares: Sequence[Fraction] = SHARES,
    learners: Sequence[Learner] = LEARNERS,
    folds: int = FOLDS,
    draws: int = DRAWS,
) -> list[Judged]:
    """How all ways worth trying do: purchases are added one at a time, as long as they help."""
    free, paid = free_and_paid(cases, metafeatures)
    tried = [judge(cases, SINGLE_BEST, folds=folds, draws=draws)]
    known: dict[tuple[object, ...], Judged] = {}

    def attempt(chosen: Sequence[Metafeature], share: Fraction, learner: Learner) -> Judged:
        way = Way([metafeature for metafeature in metafeatures if metafeature in chosen], share, learner)
        key = (*(metafeature.name for metafeature in way.metafeatures), share, learner.name)
        if key not in known:
            foreseen = foresee(cases, way, folds=folds, draws=draws)
            known[key] = most_careful(cases, [foreseen.judged(evolve(way, lead=lead)) for lead in LEADS])
            tried.append(known[key])
        return known[key]

    first, others = learners[0], learners[1:]

    best = attempt(free, Fraction(0), first) if free else tried[0]
    looked_at, left = list(free), list(paid)
    while left and shares:
        purchases = list(product(left, shares))
        scores: list[float] = []
        with stage("a look at what else to buy") as said:
            for bought, share in purchases:
                scores.append(glanced(cases, Way([*looked_at, *bought], share, first)))
                said.at(len(scores), len(purchases))
        bundle, share = purchases[int(np.argmin(scores))]
        tried_way = attempt([*looked_at, *bundle], share, first)
        if tried_way.score(cases) * SAVED > best.score(cases):
            break
        best = tried_way
        looked_at.extend(bundle)
        left.remove(bundle)
    for learner in others:
        if learner.looks_at_all:  # a programmer's prediction is of what it names, bought or free
            share = best.way.share or (next((each for each in shares if each), Fraction(0)) if paid else Fraction(0))
            attempt(metafeatures, share, learner)
        elif best.way.metafeatures:
            attempt(best.way.metafeatures, best.way.share, learner)
    return tried


def glanced(cases: Cases, way: Way) -> float:
    """Score of a way of deciding at a first look, with the lead that suits it best."""
    foreseen = foresee(cases, way, folds=GLANCED_FOLDS, draws=GLANCED_DRAWS)
    return min(foreseen.judged(evolve(way, lead=lead)).score(cases) for lead in LEADS)


def best_way(cases: Cases, tried: Sequence[Judged], kept: NDArray[np.bool_] | None = None) -> Judged:
    """The way with the best score; of ways about as good, the one that was tried first."""
    scores = [each.score(cases, kept) for each in tried]
    least = min(scores)
    return next(each for each, score in zip(tried, scores, strict=True) if score <= least * SAVED)


def most_careful(cases: Cases, leads: Sequence[Judged]) -> Judged:
    """The way with the largest lead that is not worse than the best one by more than a standard error.

    *leads* are one way with several leads, the most careful first.
    """
    best = best_way(cases, leads)

    def is_as_good(each: Judged) -> bool:
        lower, doubt = best.gain(each, cases)
        return lower <= doubt

    return next(lead for lead in leads if is_as_good(lead))


def nested(cases: Cases, tried: Sequence[Judged], *, folds: int = FOLDS) -> Judged:
    """How choosing the way does: in each fold, the way that is best in the other folds decides."""
    chosen = tried[0]
    losses, taken = np.zeros(len(cases)), np.zeros((len(cases), len(cases.options)))
    for left_out in split_groups(cases.groups, folds):
        way = best_way(cases, tried, ~left_out)
        losses[left_out], taken[left_out] = way.losses[left_out], way.taken[left_out]
    return evolve(chosen, way=best_way(cases, tried).way, losses=losses, taken=taken)


def free_and_paid(
    cases: Cases, metafeatures: Sequence[Metafeature]
) -> tuple[list[Metafeature], list[tuple[Metafeature, ...]]]:
    """The free metafeatures, and the others in bundles that buy the same things."""
    stall = cases.stall(cases.instances[0])
    bundles: dict[tuple[str, ...], list[Metafeature]] = {}
    for metafeature in metafeatures:
        bundles.setdefault(tuple(sorted(stall.distinct([metafeature]))), []).append(metafeature)
    free = bundles.pop((), [])
    return free, _with_what_comes_along(bundles)


def _with_what_comes_along(bundles: dict[tuple[str, ...], list[Metafeature]]) -> list[tuple[Metafeature, ...]]:
    """Bundles; one that buys what another does, and more, has the other's metafeatures as well."""
    return [
        tuple(member for other, members in bundles.items() if set(other) <= set(bought) for member in members)
        for bought in bundles
    ]
