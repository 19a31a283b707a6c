"""Cases: what a history says, as arrays to learn from.

A case is an instance and a budget, with the loss of each Option.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.choice.learning.history import KnownInstance
from jostle.choice.learning.keys import Beforehand
from jostle.choice.learning.markets import Replica, Stall, seeded
from jostle.choice.learning.regret import LEAST, weights_of
from jostle.tasks import Task
from jostle.tasks.metafeature import Metafeature, View

__all__ = ["Cases", "Failed"]

Floats = NDArray[np.float64]
ARTIFICIAL = 0.25
"""What a generated database says, next to a real one."""


MOST_FAILED = 0.05
"""An Option that fails in a larger share of its rehearsals is not chosen."""


@frozen
class Failed:
    """How often an Option failed in rehearsals."""

    option: str
    failed: int
    foreseen: int
    """Of these, how often the schema said so: a maker passes it over there, and no run is lost."""
    runs: int
    why: str
    """One of the reasons."""

    @property
    def is_unfit(self) -> bool:
        """Whether it fails too often to be chosen."""
        return self.failed - self.foreseen > MOST_FAILED * (self.runs - self.foreseen)

    def __str__(self) -> str:
        said = f"{self.option} failed in {self.failed:,} of {self.runs:,} rehearsals"
        said += f" ({self.why})" if self.why else ""
        if self.is_unfit:
            return f"{said}, and is not chosen"
        return f"{said}, which count as worse than everything else"


def _texts(values: Iterable[str]) -> NDArray[np.str_]:
    return np.array(list(values), dtype=np.str_)


def _marks(values: Iterable[bool]) -> NDArray[np.bool_]:
    return np.array(list(values), dtype=np.bool_)


@frozen(eq=False, repr=False)
class Cases:
    """Instances by budgets; a case's number is instance * (number of budgets) + budget."""

    task: Task[Any]
    options: tuple[str, ...]
    instances: tuple[KnownInstance, ...]
    epsilons: tuple[str, ...]
    """Rising."""
    losses: Floats
    """Cases by Options by repeats; NaN for repeats that a case does not have."""
    groups: NDArray[np.str_] = field(converter=_texts)
    """Of each case."""
    databases: NDArray[np.str_] = field(converter=_texts)
    """Of each case, by name."""
    artificial: NDArray[np.bool_] = field(converter=_marks)
    """Which cases are of databases that a generator made."""
    judge: str | None = None
    """Of the task's, by whose losses it goes; None for its own, or for a programmer's."""
    failures: tuple[Failed, ...] = ()
    """Of Options that failed somewhere."""
    after: Mapping[Beforehand, Floats] = field(factory=dict)
    """Mean losses, cases by Options, of Options that knew what was bought before; not-a-number where not rehearsed."""
    stalls: dict[str, Stall] = field(factory=dict)
    """What was read off each instance, by its key, with what was worked out of it."""

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def floor(self) -> float:
        """Below which losses do not count as different."""
        own = None if self.judge is None else self.task.judge(self.judge).floor
        return self.task.floor if own is None else own

    @property
    def mean(self) -> Floats:
        """The mean losses, cases by Options."""
        return np.asarray(np.nanmean(self.losses, axis=2))

    @property
    def budgets(self) -> Floats:
        """Each case's epsilon."""
        return np.tile([float(Fraction(epsilon)) for epsilon in self.epsilons], len(self.instances))

    def weights(self, kept: NDArray[np.bool_]) -> Floats:
        """The say of some cases: the same for every group, but less for what generators made."""
        weights = weights_of(self.groups[kept]) * np.where(self.artificial[kept], ARTIFICIAL, 1.0)
        return np.asarray(weights / weights.mean())

    def spent(self, share: Fraction, looked_at: Sequence[Metafeature] = ()) -> Floats:
        """The mean losses, cases by Options, if a share of each budget has gone elsewhere: for metafeatures, say.

        Where Options were rehearsed knowing what these had bought, it is those losses. Elsewhere the logarithm of the
        loss is interpolated along that of epsilon, between the budgets that were rehearsed, as if what was bought was
        thrown away; below the least of them, which is left by a little, it goes on as between the least two.
        """
        losses_left = self._thrown_away(share)
        for before, losses in self.after.items():
            look = [each for each in looked_at if (each.name, each.version) == (before.metafeature, before.version)]
            if before.share == share and look:
                same = [self._buy_the_same(instance, look, looked_at) for instance in self.instances]
                known = ~np.isnan(losses) & np.repeat(same, len(self.epsilons))[:, None]
                losses_left = np.where(known, losses, losses_left)
        return losses_left

    def _buy_the_same(self, instance: KnownInstance, some: Sequence[Metafeature], all_: Sequence[Metafeature]) -> bool:
        stall = self.stall(instance)
        return stall.distinct(some).keys() == stall.distinct(all_).keys()

    def _thrown_away(self, share: Fraction) -> Floats:
        mean = self.mean.reshape(len(self.instances), len(self.epsilons), -1)
        if not share or len(self.epsilons) == 1:
            return np.asarray(mean.reshape(len(self), -1))
        log_budgets = np.log([float(Fraction(epsilon)) for epsilon in self.epsilons])
        wanted = log_budgets + math.log(1 - share)
        right = np.clip(np.searchsorted(log_budgets, wanted), 1, len(log_budgets) - 1)
        weight = ((wanted - log_budgets[right - 1]) / (log_budgets[right] - log_budgets[right - 1]))[None, :, None]
        logs = np.log(np.maximum(mean, LEAST))
        losses = np.exp(logs[:, right - 1] * (1 - weight) + logs[:, right] * weight)
        return np.asarray(losses.reshape(len(self), -1))

    def inputs(
        self,
        metafeatures: Sequence[Metafeature],
        share: Fraction,
        *,
        draws: int,
        seed: int = 0,
        exact: bool = False,
        beside: Sequence[Metafeature] = (),
    ) -> Floats:
        """The facts that a choice sees in each case, draws by cases by metafeatures, with the noise it will have.

        What is bought *beside* them has its part of the share.
        With *exact* there is no noise: no private choice sees that, but it bounds what metafeatures could be worth.
        """
        inputs = np.empty((draws, len(self), len(metafeatures)))
        for number, instance in enumerate(self.instances):
            stall = self.stall(instance)
            schema = stall.schema
            bought = len(stall.distinct([*metafeatures, *beside]))
            for budget, epsilon in enumerate(self.epsilons):
                each = share * Fraction(epsilon) / bought if bought else None
                case = number * len(self.epsilons) + budget
                for draw in range(draws):
                    noise = seeded((instance.key, epsilon, draw, seed))
                    market = Replica(stall, None if exact else each, noise)
                    inputs[draw, case] = seen(metafeatures, View(schema, float(Fraction(epsilon)), market))
        return inputs

    def stall(self, instance: KnownInstance) -> Stall:
        """The facts read off an instance, with its schema."""
        if instance.key not in self.stalls:
            self.stalls[instance.key] = Stall(instance.read, instance.schema)
        return self.stalls[instance.key]

    def only(self, kept: Callable[[KnownInstance], bool]) -> Cases:
        """The cases of some instances."""
        marks = np.array([kept(instance) for instance in self.instances])
        rows = np.repeat(marks, len(self.epsilons))
        return Cases(
            self.task,
            self.options,
            tuple(instance for instance, mark in zip(self.instances, marks, strict=True) if mark),
            self.epsilons,
            self.losses[rows],
            self.groups[rows],
            self.databases[rows],
            self.artificial[rows],
            self.judge,
            self.failures,
            {before: losses[rows] for before, losses in self.after.items()},
            self.stalls,
        )


def seen(metafeatures: Sequence[Metafeature], view: View) -> list[float]:
    """The metafeatures' values; one that is no finite number counts as 0."""
    values = [metafeature(view) for metafeature in metafeatures]
    return [value if math.isfinite(value) else 0.0 for value in values]
