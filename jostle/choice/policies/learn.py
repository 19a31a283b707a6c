"""Learn the choices inside a program: run it whole on public data, exploring, and see what its decisions end in.

A round runs the program on every instance at every budget, some of its decisions random and the others those of the
policies so far, in the first round the program's own. Every decision is written down with what it saw and with the loss
the run ended in, relative to the mean of all runs in the same situation (the same instance and budget). From that,
the expected loss per label and alternative is fitted, and is the next round's policy. What a decision ends in depends
on those that follow, which get better from round to round: so the last rounds are learned from, in the end.

What was learned is then tried against each alternative taken everywhere, label by label, and gives way to the best of
these unless it does clearly better.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.choice.learning.formulas import ChoiceFormula, FormulaWorth, Gain
from jostle.choice.learning.learners import Lesson, lesson_arrays
from jostle.choice.learning.regret import over_groups
from jostle.choice.policies.work import (
    REFUSED,
    Perform,
    Program,
    Situation,
    Taught,
    Teach,
    Try,
    group_of,
    in_turn,
)
from jostle.errors import ChoiceError
from jostle.learned.policies import Forest, LearnedPolicy, fit_forest, mark_of
from jostle.sites import Policy
from jostle.tasks import Task

Floats = NDArray[np.float64]
LOSS_FLOOR = 0.01
"""Added to losses before they are compared, so that a share of next to nothing does not count for everything."""
TREES = 24
MOST_LEAVES = 8
"""Few: what one decision does to a run's loss is small beside the noise, and fine differences are not found."""
LEAF_SHARE = 1 / 30
"""Part of an alternative's lessons that a leaf of its forests is made of, at least."""
LEAST_LESSONS = 5
"""Of each alternative."""


@frozen
class Worth:
    """What a label's policy is worth, against each alternative taken everywhere; the other labels being as they are."""

    label: str
    learned: bool
    """Whether what was learned is kept, rather than the best fixed alternative."""
    usual: str
    """The best of the fixed alternatives."""
    losses: tuple[tuple[str, float, float, float], ...]
    """Alternative, mean loss, loss as a multiple of what was learned, and by how much of itself that may be off.

    The multiple is a geometric mean over groups of situations; last is the standard error of its logarithm over these,
    not-a-number where all are of one group. The first alternative, `LEARNED`, is what was learned.
    """


LEARNED = "learned"


@frozen(eq=False)
class Labelled:
    """An Option or a function of a program, inside which choices are made."""

    name: str
    mark: str
    """Changes with the text of it and of what it uses."""
    program: str
    """The file it stands in."""
    task: Task[Any]
    run: Callable[..., Any]
    """What gives an answer for a probe, a budget, and what is asked besides; it can be sent to another process."""
    labels: tuple[str, ...] | None = None
    """Its labels, where they can be read off its text."""
    words: frozenset[str] | None = None
    """Alternatives that stand for themselves, which nothing else defines; None for all."""
    fitted_on: Any = ()
    """What Options inside it were fitted on: its choices are not learned there."""


def _situations(given: Iterable[Situation]) -> tuple[Situation, ...]:
    return tuple(given)


def _budgets(given: Iterable[Fraction | str]) -> tuple[Fraction, ...]:
    return tuple(Fraction(epsilon) for epsilon in given)


@frozen(eq=False, kw_only=True)
class Grounds:
    """A program, and where it is run to learn its choices, or to try what was learned."""

    program: Program
    situations: tuple[Situation, ...] = field(converter=_situations)
    epsilons: tuple[Fraction, ...] = field(converter=_budgets)
    trials: int = 1
    """In every situation at every budget, of what is tried."""
    seed: tuple[int, ...] = (0,)
    floor: float = LOSS_FLOOR
    """Added to losses before they are compared."""
    perform: Perform = in_turn
    """Does the work."""

    @property
    def _cells(self) -> Iterator[dict[str, Any]]:
        """Yield what is the same of all work in one situation at one budget."""
        for epsilon, situation in product(self.epsilons, self.situations):
            yield {"program": self.program, "situation": situation, "epsilon": epsilon, "seed": self.seed}

    def lessons(
        self,
        policies: Mapping[str, Policy],
        *,
        runs: int,
        rate: Fraction,
        title: str = "running with decisions to learn from",
    ) -> list[Lesson]:
        """The lessons of one round: so many runs in every cell, decisions being explored at a rate."""
        how: dict[str, Any] = {"policies": policies, "mark": mark_of(policies), "runs": runs, "rate": rate}
        parts = [Teach(**cell, **how, floor=self.floor) for cell in self._cells]
        taught: list[Taught] = self.perform(parts, title)
        if taught and all(each.failure is not None and not each.lessons for each in taught):
            raise ChoiceError(
                f"no run of the program gave an answer that can be judged: {taught[0].failure}",
                why="choices are learned from what whole runs on public databases end in",
                fix="run the program on a public example first",
            )
        return [lesson for each in taught for lesson in each.lessons]

    def ended(self, policies: Mapping[str, Policy], own: str = "") -> Floats:
        """The losses that runs with some policies end in, budget by budget; not-a-number where one was refused.

        *own* is a mark of what in them is no learned policy.
        """
        mark = f"{mark_of(policies)} {own}".strip()
        parts = [Try(**cell, policies=policies, trials=self.trials, mark=mark) for cell in self._cells]
        losses = self.perform(parts, "trying what was learned")
        return np.array([math.nan if loss is None else loss for loss in losses], dtype=np.float64)

    def compared(self, ended: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
        """Of several ways to choose the mean losses, how far their logarithms lie above the first's, and its error."""
        raw = np.stack(ended)
        losses = _filled(raw)
        logs = np.log(losses + self.floor)
        groups = np.array([group_of(situation) for situation in self.situations])
        there = np.asarray(~np.isnan(raw).all(axis=0))
        behind, errors = over_groups(logs - logs[0], np.tile(groups, len(self.epsilons))[there])
        return losses.mean(axis=1), behind, errors


def train_labels(
    program: Program,
    situations: Sequence[Situation],
    epsilons: Iterable[Fraction | str],
    *,
    rounds: int = 3,
    runs: int = 12,
    rates: tuple[Fraction, Fraction] = (Fraction(1, 2), Fraction(3, 10)),
    learned_from: int = 2,
    inputs: Mapping[str, Sequence[str]] | None = None,
    caution: Mapping[str, float] | None = None,
    trials: int = 1,
    seed: int = 0,
    first: Sequence[Lesson] = (),
    settled_on: Sequence[Situation] | None = None,
    floor: float = LOSS_FLOOR,
    perform: Perform = in_turn,
    told: Callable[[Worth], None] | None = None,
    rare_left_out: bool = False,
    heard: Callable[[Sequence[Lesson]], None] | None = None,
) -> dict[str, LearnedPolicy]:
    """A policy for every label that the program's runs met.

    *rates* say how often a message is explored in the first round and in the others, *learned_from* how many of the
    last rounds count in the end, *inputs* which of what a label sees its policy looks at (all of it, if not said), and
    *caution* how cautious it is (see `LearnedPolicy`). With as many *trials* in every situation, what was learned is
    settled at the end (see `settled`), in the situations *settled_on* or those it was learned in; with 0, it is not.
    *first* are lessons of a first round that was run elsewhere, as `Grounds.lessons` gives them. *floor* and *perform*
    are those of `Grounds`, and *told* is told what each label is worth. A label that was met too rarely to be learned
    is refused, unless such ones are left out. *heard* is told the lessons that count.
    """
    ground = Grounds(program=program, situations=situations, epsilons=epsilons, floor=floor, perform=perform)
    learned: list[list[Lesson]] = []
    policies: dict[str, LearnedPolicy] = {}
    for number in range(rounds):
        title = f"running with decisions to learn from, round {number + 1} of {rounds}"
        here = evolve(ground, seed=(seed, number))
        known = number == 0 and first
        rate = rates[min(number, 1)]
        learned.append(list(first) if known else here.lessons(policies, runs=runs, rate=rate, title=title))
        counted = [lesson for each in learned[-learned_from:] for lesson in each]
        policies = fit_policies(counted, inputs=inputs, caution=caution, seed=seed, rare_left_out=rare_left_out)
    if heard is not None:
        heard(counted)
    if not trials:
        return policies
    tried_on = situations if settled_on is None else settled_on
    return settled(evolve(ground, situations=tried_on, trials=trials, seed=(seed, rounds)), policies, told=told)


def settled(
    ground: Grounds,
    policies: Mapping[str, LearnedPolicy],
    *,
    told: Callable[[Worth], None] | None = None,
    give_way: bool = True,
) -> dict[str, LearnedPolicy]:
    """The policies, each replaced by its best fixed alternative unless it does better by a standard error over groups.

    All are tried with the same seeds. In situations that were learned from, that flatters what was learned by little,
    the forests being this coarse. Without *give_way*, they are only tried, and stay as they are.
    """
    kept = dict(policies)
    learned = ground.ended(kept)
    for label in sorted(policies):
        among = policies[label].among
        fixed = [always(policies[label], usual) for usual in among]
        raw = [learned, *(ground.ended({**kept, label: policy}) for policy in fixed)]
        means, behind, errors = ground.compared(raw)
        best = 1 + int(np.argmin(behind[1:]))
        keeps = bool(behind[best] > errors[best])
        if told is not None:
            shown = zip((LEARNED, *among), means.tolist(), np.exp(behind).tolist(), errors.tolist(), strict=True)
            told(Worth(label, learned=keeps, usual=among[best - 1], losses=tuple(shown)))
        if give_way and not keeps:
            kept[label], learned = fixed[best - 1], raw[best]
    return kept


def always(policy: LearnedPolicy, alternative: str) -> LearnedPolicy:
    """A policy that takes one alternative everywhere."""
    return evolve(policy, usual=alternative, fixed=True)


def formula_worths(
    ground: Grounds, policies: Mapping[str, LearnedPolicy], formulas: Sequence[ChoiceFormula]
) -> list[FormulaWorth]:
    """The worth of each formula, the other labels being as they were learned: beside that, and each alternative."""
    worths = []
    for formula in formulas:
        label = formula.label
        everywhere = [always(policies[label], name) for name in policies[label].among]
        followed: list[Policy] = [policies[label], *everywhere]
        raw = [ground.ended({**policies, label: formula}, formula.mark)]
        raw += [ground.ended({**policies, label: policy}) for policy in followed]
        means, behind, errors = ground.compared(raw)
        names = ["what is followed now", *(f"{policy.usual} everywhere" for policy in everywhere)]
        shown = zip(names, means[1:].tolist(), (-np.expm1(-behind[1:])).tolist(), errors[1:].tolist(), strict=True)
        gains = tuple(Gain(name, mean, gain, error, relative=True) for name, mean, gain, error in shown)
        worths.append(FormulaWorth(formula, float(means[0]), gains))
    return worths


def _filled(losses: Floats) -> Floats:
    """Losses with those that are missing, of runs that were refused, worse than any other of their cell."""
    known = losses[:, ~np.isnan(losses).all(axis=0)]
    if not known.size:
        raise ChoiceError("no run with what was learned came to an end", fix="look at what the program refuses")
    return np.where(np.isnan(known), REFUSED * np.nanmax(known, axis=0), known)


def fit_policies(
    lessons: Iterable[Lesson],
    *,
    inputs: Mapping[str, Sequence[str]] | None = None,
    caution: Mapping[str, float] | None = None,
    seed: int = 0,
    rare_left_out: bool = False,
) -> dict[str, LearnedPolicy]:
    """For every label a policy that expects what these decisions ended in."""
    by_label: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        by_label.setdefault(lesson.label, []).append(lesson)
    if not by_label:
        raise ChoiceError("the program made no choice", fix="choose(label, among=..., informed_by=...)")
    for label in {*(inputs or {}), *(caution or {})} - set(by_label):
        raise ChoiceError(f"no choice {label} was met", fix="check the label's spelling")
    if rare_left_out and (common := {label: each for label, each in by_label.items() if _often_enough(each)}):
        by_label = common
    return {
        label: _fitted(label, each, (inputs or {}).get(label), (caution or {}).get(label, 0.0), seed)
        for label, each in by_label.items()
    }


def _often_enough(lessons: Sequence[Lesson]) -> bool:
    """Whether each alternative was taken often enough for its loss to be learned."""
    taken = Counter(lesson.taken for lesson in lessons)
    return all(taken[place] >= LEAST_LESSONS for place in range(len(lessons[0].among)))


def _fitted(
    label: str, lessons: list[Lesson], inputs: Sequence[str] | None, caution: float, seed: int
) -> LearnedPolicy:
    among, names = lessons[0].among, lessons[0].names
    if any((lesson.among, lesson.names) != (among, names) for lesson in lessons):
        raise ChoiceError(f"choice {label} is not among the same alternatives, or informed by the same, every time")
    looked_at = tuple(names if inputs is None else inputs)
    if unseen := set(looked_at) - set(names):
        raise ChoiceError(f"choice {label} does not see {min(unseen)!r}", fix=f"some of {', '.join(names)}")
    seen, taken, losses, weights = lesson_arrays(lessons)
    seen = seen[:, [names.index(name) for name in looked_at]]
    forests: list[Forest] = []
    means: list[float] = []
    for index, alternative in enumerate(among):
        mine = np.flatnonzero(taken == index)
        if len(mine) < LEAST_LESSONS:
            raise ChoiceError(
                f"choice {label} took {alternative!r} only {len(mine)} times",
                fix="more runs (--repeats), or more databases (--corpus)",
            )
        means.append(float(np.average(losses[mine], weights=weights[mine])))
        if not looked_at:
            forests.append(_same_everywhere(means[-1]))
            continue
        forests.append(
            fit_forest(
                seen[mine],
                losses[mine, None],
                weights=weights[mine],
                trees=TREES,
                least_rows=max(LEAST_LESSONS, int(LEAF_SHARE * len(mine))),
                most_leaves=MOST_LEAVES,
                seed=seed,
            )
        )
    usual = among[int(np.argmin(means))]
    return LearnedPolicy(label=label, among=among, inputs=looked_at, forests=forests, usual=usual, caution=caution)


def _same_everywhere(loss: float) -> Forest:
    """A forest that sees nothing and expects this."""
    return Forest([0], [-1], [0.0], [0], [0], [[loss]], inputs=0)
