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

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.choice.forest import Forest, fit_forest
from jostle.choice.policies import LearnedPolicy
from jostle.choosing import Policy, Taken, explore, follow, record
from jostle.errors import ChoiceError
from jostle.privacy.opening import rehearse
from jostle.privacy.probe import Probe
from jostle.tables.table import Table

__all__ = ["Lesson", "Program", "Situation", "fit_policies", "lessons_of", "settled", "train_labels"]

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


class Situation(Protocol):
    """A public instance: what `make_instance` gives, or anything like it."""

    @property
    def key(self) -> str:
        """Return a name that no other instance has."""

    @property
    def table(self) -> Table:
        """Return the rows to learn from."""

    def loss(self, answer: Any, /) -> float:
        """Return how bad an answer is: from 0, the less the better."""


Program = Callable[[Probe, Fraction], Any]
"""A program with choices: it gives an answer for a budget."""


@frozen(eq=False)
class Lesson:
    """One decision, for all sites of a message that saw the same and took the same."""

    label: str
    among: tuple[str, ...]
    names: tuple[str, ...]
    seen: tuple[float, ...]
    taken: int
    loss: float
    """Of the whole run, over the mean of the situation."""
    weight: float
    """The share of the message's sites."""


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
) -> dict[str, LearnedPolicy]:
    """Return a policy for every label that the program's runs met.

    *rates* say how often a message is explored in the first round and in the others, *learned_from* how many of the
    last rounds count in the end, *inputs* which of what a label sees its policy looks at (all of it, if not said), and
    *caution* how cautious it is (see `LearnedPolicy`). With as many *trials* in every situation, what was learned is
    settled at the end (see `settled`); with 0, it is not. *first* are lessons of a first round that was run elsewhere,
    as `lessons_of` gives them.
    """
    budgets = tuple(Fraction(epsilon) for epsilon in epsilons)
    learned: list[list[Lesson]] = []
    policies: dict[str, LearnedPolicy] = {}
    for number in range(rounds):
        if number == 0 and first:
            learned.append(list(first))
        else:
            rate = rates[min(number, 1)]
            taught = lessons_of(
                program, situations, budgets, runs=runs, rate=rate, policies=policies, seed=(seed, number)
            )
            learned.append(taught)
        counted = [lesson for each in learned[-learned_from:] for lesson in each]
        policies = fit_policies(counted, inputs=inputs, caution=caution, seed=seed)
    return settled(program, situations, budgets, policies, trials=trials, seed=(seed, rounds)) if trials else policies


def settled(
    program: Program,
    situations: Sequence[Situation],
    epsilons: Iterable[Fraction],
    policies: Mapping[str, LearnedPolicy],
    *,
    trials: int,
    seed: tuple[int, ...],
) -> dict[str, LearnedPolicy]:
    """Return the policies, each replaced by its best fixed alternative unless it does better by a standard error.

    All are tried with the same seeds, in the same situations that were learned from: with forests this coarse, that
    flatters what was learned by little.
    """
    budgets = tuple(epsilons)

    def tried(chosen: Mapping[str, Policy]) -> Floats:
        losses = []
        for epsilon in budgets:
            for situation in situations:
                seeds = [_seed(*seed, situation.key, epsilon, trial) for trial in range(trials)]
                with follow(chosen):
                    runs = [program(rehearse(situation.table, epsilon=epsilon, seed=each), epsilon) for each in seeds]
                losses.append(np.mean([situation.loss(answer) for answer in runs]))
        return np.log(np.array(losses) + LOSS_FLOOR)

    kept = dict(policies)
    learned = tried(kept)
    for label in sorted(policies):
        fixed = [evolve(policies[label], usual=usual, fixed=True) for usual in policies[label].among]
        found = [tried({**kept, label: policy}) for policy in fixed]
        best = int(np.argmin([losses.mean() for losses in found]))
        better = found[best] - learned
        if better.mean() <= better.std() / np.sqrt(len(better)):
            kept[label], learned = fixed[best], found[best]
    return kept


def lessons_of(
    program: Program,
    situations: Sequence[Situation],
    epsilons: Iterable[Fraction],
    *,
    runs: int,
    rate: Fraction,
    policies: Mapping[str, Policy],
    seed: tuple[int, ...] = (0,),
) -> list[Lesson]:
    """Return what one round teaches: so many runs in every situation."""
    lessons: list[Lesson] = []
    for epsilon in epsilons:
        for situation in situations:
            recorded: list[tuple[Taken, ...]] = []
            losses: list[float] = []
            for run in range(runs):
                chance = _seed(*seed, situation.key, epsilon, run)
                # The recorder stands inside, where it sees every decision, whoever makes it.
                with explore(chance, rate, policies), record() as kept:
                    answer = program(rehearse(situation.table, epsilon=epsilon, seed=chance + 1), epsilon)
                recorded.append(kept.lines)
                losses.append(situation.loss(answer))
            relative = (np.array(losses) + LOSS_FLOOR) / (np.mean(losses) + LOSS_FLOOR)
            for lines, loss in zip(recorded, relative.tolist(), strict=True):
                lessons.extend(lesson for line in lines for lesson in _lessons(line, loss))
    return lessons


def fit_policies(
    lessons: Iterable[Lesson],
    *,
    inputs: Mapping[str, Sequence[str]] | None = None,
    caution: Mapping[str, float] | None = None,
    seed: int = 0,
) -> dict[str, LearnedPolicy]:
    """Return for every label a policy that expects what these decisions ended in."""
    by_label: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        by_label.setdefault(lesson.label, []).append(lesson)
    if not by_label:
        raise ChoiceError("the program made no choice", fix="choose(label, among=..., informed_by=...)")
    for label in {*(inputs or {}), *(caution or {})} - set(by_label):
        raise ChoiceError(f"no choice {label} was met", fix="check the label's spelling")
    return {
        label: _fitted(label, each, (inputs or {}).get(label), (caution or {}).get(label, 0.0), seed)
        for label, each in by_label.items()
    }


def _fitted(
    label: str, lessons: list[Lesson], inputs: Sequence[str] | None, caution: float, seed: int
) -> LearnedPolicy:
    among, names = lessons[0].among, lessons[0].names
    if any((lesson.among, lesson.names) != (among, names) for lesson in lessons):
        raise ChoiceError(f"choice {label} is not among the same alternatives, or informed by the same, every time")
    looked_at = tuple(names if inputs is None else inputs)
    if unseen := set(looked_at) - set(names):
        raise ChoiceError(f"choice {label} does not see {min(unseen)!r}", fix=f"some of {', '.join(names)}")
    seen = np.array([lesson.seen for lesson in lessons], dtype=np.float64).reshape(len(lessons), len(names))
    seen = seen[:, [names.index(name) for name in looked_at]]
    taken = np.array([lesson.taken for lesson in lessons])
    losses, weights = (np.array([getattr(lesson, name) for lesson in lessons]) for name in ("loss", "weight"))
    forests: list[Forest] = []
    means: list[float] = []
    for place, alternative in enumerate(among):
        mine = np.flatnonzero(taken == place)
        if len(mine) < LEAST_LESSONS:
            raise ChoiceError(
                f"choice {label} took {alternative!r} only {len(mine)} times", fix="more runs, or a higher rate"
            )
        means.append(float(np.average(losses[mine], weights=weights[mine])))
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


def _lessons(line: Taken, loss: float) -> Iterable[Lesson]:
    """Yield a lesson for every distinct decision of a message."""
    names = tuple(line.seen)
    columns = [*(line.seen[name] for name in names), line.taken.astype(np.float64)]
    distinct, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    for row, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        yield Lesson(line.label, line.among, names, tuple(row[:-1]), int(row[-1]), loss, count / len(line.taken))


def _seed(*parts: object) -> int:
    """Return a seed that is the same for the same parts on every machine."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7], "big")
