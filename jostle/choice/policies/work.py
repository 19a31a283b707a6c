"""The parts of learning the choices inside a program: to run it in one situation, exploring, or as it was learned.

A part is a value that can be sent to another process, and gives the same wherever it is done: its seeds are a function
of what it is. So work that was interrupted can be gone on with.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from attrs import frozen

from jostle.errors import JostleError, said_by
from jostle.learned.kept import nothing_learned
from jostle.privacy.opening import rehearse
from jostle.sites import Policy, Taken, explore, follow, record
from jostle.tables.table import Table

__all__ = [
    "REFUSED",
    "Lesson",
    "Part",
    "Perform",
    "Program",
    "Situation",
    "Taught",
    "Teach",
    "Try",
    "group_of",
    "in_turn",
]

REFUSED = 2.0
"""What is refused ends as badly as so many times the worst that ended there."""
FIRST = 5
"""Visits of a label in one run that are all learned from."""


class Situation(Protocol):
    """A public instance: what `make_instance` gives, or anything like it."""

    @property
    def key(self) -> str:
        """A name that no other instance has."""

    @property
    def table(self) -> Table:
        """The rows to learn from."""

    def loss(self, answer: Any, /) -> float:
        """How bad an answer is: from 0, the less the better."""


def group_of(situation: Situation) -> str:
    """Which people are in it: situations of one group are one observation. One that says nothing is by itself."""
    return str(getattr(situation, "group", situation.key))


Program = Callable[..., Any]
"""A program with choices: it gives an answer for a probe, a budget, and what the situation asks besides."""


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


@frozen(eq=False)
class Taught:
    """What a part of a round taught."""

    lessons: tuple[Lesson, ...]
    failure: str | None = None
    """Why a run came to no end, the first that did not."""


@frozen(eq=False, kw_only=True)
class Teach:
    """A part of the work: what one round teaches in one situation at one budget."""

    program: Program
    situation: Situation
    epsilon: Fraction
    runs: int
    rate: Fraction
    policies: Mapping[str, Policy]
    seed: tuple[int, ...]
    floor: float
    mark: str = ""
    """Of the policies."""

    @property
    def key(self) -> str:
        """A name that no other part has."""
        return f"teach {self.seed} {self.situation.key} {self.epsilon} {self.runs} {self.rate} {self.mark}"

    def __call__(self) -> Taught:
        """Run the program, and return its lessons."""
        recorded: list[tuple[Taken, ...]] = []
        losses: list[float | None] = []
        failure: str | None = None
        for run in range(self.runs):
            chance = _seed(*self.seed, self.situation.key, self.epsilon, run)
            # The recorder stands inside, where it sees every decision, whoever makes it.
            with explore(chance, self.rate, self.policies), record() as kept:
                loss, failed = _run(self.program, self.situation, self.epsilon, chance + 1)
            recorded.append(kept.lines)
            losses.append(loss)
            failure = failure or failed
        known = [loss for loss in losses if loss is not None]
        if not known:
            return Taught((), failure)
        ended = np.array([REFUSED * max(known) if loss is None else loss for loss in losses])
        relative = (ended + self.floor) / (ended.mean() + self.floor)
        lines = [
            (line, loss)
            for run, (each, loss) in enumerate(zip(recorded, relative.tolist(), strict=True))
            for line in _thinned(each, run)
        ]
        return Taught(tuple(lesson for line, loss in lines for lesson in _lessons(line, loss)), failure)


@frozen(eq=False, kw_only=True)
class Try:
    """A part of the work: how some policies do in one situation at one budget."""

    program: Program
    situation: Situation
    epsilon: Fraction
    policies: Mapping[str, Policy]
    trials: int
    seed: tuple[int, ...]
    mark: str = ""

    @property
    def key(self) -> str:
        """A name that no other part has."""
        return f"try {self.seed} {self.situation.key} {self.epsilon} {self.trials} {self.mark}"

    def __call__(self) -> float | None:
        """The mean loss; None where a run was refused."""
        seeds = [_seed(*self.seed, self.situation.key, self.epsilon, trial) for trial in range(self.trials)]
        with follow(self.policies):
            losses = [_run(self.program, self.situation, self.epsilon, seed)[0] for seed in seeds]
        known = [loss for loss in losses if loss is not None]
        return float(np.mean(known)) if len(known) == len(losses) else None


def _run(program: Program, situation: Situation, epsilon: Fraction, seed: int) -> tuple[float | None, str | None]:
    """The loss of a run, or None and why there is none. Nothing that was learned before has a part in it."""
    try:
        with nothing_learned():
            answer = program(
                rehearse(situation.table, epsilon=epsilon, seed=seed), epsilon, *getattr(situation, "questions", ())
            )
        loss = float(situation.loss(answer))
    except JostleError as mistake:
        return None, f"refused: {mistake.title}"
    except Exception as mistake:  # noqa: BLE001 - a program that crashes is a result as well, on public data
        return None, f"crashed: {said_by(mistake)}"
    return (loss, None) if math.isfinite(loss) else (None, f"crashed: its loss is {loss}")


Part = Teach | Try
Perform = Callable[[Sequence[Part], str], list[Any]]
"""Does parts of the work, and returns what each gives; the text says what they are."""


def in_turn(parts: Sequence[Part], title: str) -> list[Any]:  # noqa: ARG001 - nobody is told
    """Do the work here, one part after the other."""
    return [part() for part in parts]


def _thinned(lines: Iterable[Taken], run: int) -> Iterator[Taken]:
    """Yield the lines of a run that are learned from: of each label the first visits, and ever fewer of later ones.

    A program that grows a tree node by node comes to its root once and to the last level a thousand times; what it
    does at the root matters most, and would be lost among the others. The k-th visit counts with chance FIRST / k,
    whatever was seen or taken there.
    """
    visits: Counter[str] = Counter()
    for line in lines:
        visits[line.label] += 1
        visit = visits[line.label]
        if visit <= FIRST or _seed(line.label, run, visit) % visit < FIRST:
            yield line


def _lessons(line: Taken, loss: float) -> Iterable[Lesson]:
    """Yield a lesson for every distinct decision of a message."""
    names = tuple(line.seen)
    columns = [*(line.seen[name] for name in names), line.taken.astype(np.float64)]
    distinct, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    for row, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        yield Lesson(line.label, line.among, names, tuple(row[:-1]), int(row[-1]), loss, count / len(line.taken))


def _seed(*parts: object) -> int:
    """A seed that is the same for the same parts on every machine."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7], "big")
