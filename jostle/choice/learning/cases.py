"""Cases: what the rehearsals of a history say together, as arrays to learn from.

A case is an instance and a budget, with the loss of each Option.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.choice.learning.history import Beforehand, History, KnownInstance, apart
from jostle.choice.learning.markets import Replica, Stall, seeded
from jostle.choice.learning.regret import LEAST, as_failed, weights_of
from jostle.errors import ChoiceError
from jostle.options.base import Option
from jostle.options.fitted import kept_apart
from jostle.tasks import Task
from jostle.tasks.metafeature import Metafeature, View

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
        return self.task.rehearsal.floor if own is None else own

    @property
    def mean(self) -> Floats:
        """The mean losses, cases by Options."""
        return np.asarray(np.nanmean(self.losses, axis=2))

    @property
    def budgets(self) -> Floats:
        """Each case's epsilon."""
        return np.tile([float(Fraction(epsilon)) for epsilon in self.epsilons], len(self.instances))

    @property
    def records_epsilon(self) -> Floats:
        """Each case's records, at least one, times epsilon."""
        return np.repeat([max(1, instance.rows) for instance in self.instances], len(self.epsilons)) * self.budgets

    @property
    def cells(self) -> Floats:
        """How many cells each case's table has, or classes, or whatever its task counts."""
        counts = [self.task.question.counts(self.stall(instance).schema) for instance in self.instances]
        return np.repeat(np.asarray(counts, dtype=np.float64), len(self.epsilons))

    @property
    def kinds(self) -> NDArray[np.str_]:
        """The kind of question that each case asks; empty where nobody says."""
        return _texts((instance.asks or "").partition(" ")[0] for instance in self.instances for _ in self.epsilons)

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
            look = [
                metafeature
                for metafeature in looked_at
                if (metafeature.name, metafeature.version) == (before.metafeature, before.version)
            ]
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
            asked = None if instance.asks is None else self.task.question.asked_in(schema, instance.asks)
            bought = len(stall.distinct([*metafeatures, *beside]))
            for budget, epsilon in enumerate(self.epsilons):
                each = share * Fraction(epsilon) / bought if bought else None
                case = number * len(self.epsilons) + budget
                for draw in range(draws):
                    noise = seeded((instance.key, epsilon, draw, seed))
                    market = Replica(stall, None if exact else each, noise)
                    view = View(schema, float(Fraction(epsilon)), market, asked=asked, judged_by=self.judge)
                    inputs[draw, case] = seen(metafeatures, view)
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


Versioned = tuple[str, int]
SEED = re.compile(r" seed=\d+")


@frozen(eq=False)
class Gathered:
    """One instance, with the losses of all its cuts.

    Instances that differ in their seed alone are one: the same database, cut another way into rows to learn from and
    rows to score on. Each cut is one repeat then, since which Option was best has to be read off other rows than its
    loss, or the luck of one cut makes hindsight better than anything that could be chosen. An instance with one seed
    has as many repeats as it was run.
    """

    instance: KnownInstance
    losses: Floats
    """Budgets by Options by repeats; infinite where an Option failed."""
    failed: NDArray[np.int64]
    """Options by two: how often it was run, and how often of that it failed."""


def cases_of(
    history: History, options: Sequence[Option], *, epsilons: Iterable[str] | None = None, judge: str | None = None
) -> Cases:
    """The cases of all instances on which all these Options were rehearsed, or could not be.

    Nothing is taken from databases that one of the Options was fitted on. An Option that failed somewhere counts there
    as worse than all others; one that failed more often than in a few rehearsals, everywhere, unless what its schema
    says is why, since then a maker passes it over.
    """
    names = tuple((option.name, option.version) for option in options)
    if epsilons is None:
        wanted = budgets_of(history, options, judge)
    else:
        wanted = tuple(str(Fraction(epsilon)) for epsilon in epsilons)
    set_apart = kept_apart(options, history.databases.values())
    cuts: dict[tuple[str, Beforehand | None], list[KnownInstance]] = {}
    for instance in history.instances.values():
        if instance.database not in set_apart:
            key, before = apart(instance.key)
            cuts.setdefault((SEED.sub("", key), before), []).append(instance)
    gathered = {place: _gathered(history, cut, names, wanted, judge) for place, cut in cuts.items()}
    places = [place for place, each in gathered.items() if each is not None and place[1] is None]
    complete = [each for place in places if (each := gathered[place]) is not None]
    if not complete or not wanted:
        raise ChoiceError(
            "there is nothing to learn from",
            why="no public database was rehearsed on with all of "
            + ", ".join(name for name, _ in names)
            + (f", but for {len(set_apart)} that one of them was fitted on" if set_apart else ""),
            fix="train with " + ("other " if set_apart else "") + "databases: trained_on=..., or jostle train",
        )
    repeats = max(each.losses.shape[2] for each in complete)
    failures = _failures(history, complete, options)
    unfit = np.array([name in {failure.option for failure in failures if failure.is_unfit} for name, _ in names])
    floor = _floor(options[0].task, judge)
    databases = [history.databases[each.instance.database] for each in complete]
    return Cases(
        options[0].task,
        tuple(name for name, _ in names),
        tuple(each.instance for each in complete),
        wanted,
        np.concatenate([_padded(_counted(each.losses, unfit, floor), repeats) for each in complete]),
        [database.group for database in databases for _ in wanted],
        [database.name for database in databases for _ in wanted],
        [database.artificial for database in databases for _ in wanted],
        judge=judge,
        failures=failures,
        after={
            before: _aligned([gathered.get((key, before)) for key, _ in places], complete, unfit, floor)
            for before in dict.fromkeys(before for _, before in cuts if before is not None)
        },
    )


def _aligned(
    looked: Sequence[Gathered | None], without: Sequence[Gathered], unfit: NDArray[np.bool_], floor: float
) -> Floats:
    """Mean losses of Options that knew something, cases by Options; not-a-number where that was not rehearsed."""
    parts = []
    for after, alone in zip(looked, without, strict=True):
        if after is None:
            parts.append(np.full(alone.losses.shape[:2], np.nan))
        else:
            parts.append(np.nanmean(_counted(after.losses, unfit, floor), axis=2))
    return np.concatenate(parts)


def _floor(task: Task[Any], judge: str | None) -> float:
    own = None if judge is None else task.judge(judge).floor
    return task.rehearsal.floor if own is None else own


def _failures(history: History, gathered: Sequence[Gathered], options: Sequence[Option]) -> tuple[Failed, ...]:
    """The Options that failed, how often, and why."""
    failures = []
    for index, option in enumerate(options):
        runs, failed = (int(sum(each.failed[index, kind] for each in gathered)) for kind in range(2))
        if not failed:
            continue
        foreseen = sum(
            int(each.failed[index, 1])
            for each in gathered
            if each.failed[index, 1] and option.refuses(each.instance.schema) is not None
        )
        said = (history.failures.get((each.instance.key, option.name, option.version), ()) for each in gathered)
        why = next((reason for reasons in said for reason in reasons), "")
        failures.append(Failed(option.name, failed, foreseen, runs, why))
    return tuple(failures)


def _counted(losses: Floats, unfit: NDArray[np.bool_], floor: float) -> Floats:
    """Losses with what failures count as, and Options that are not to be chosen."""
    ran = np.where(np.isinf(losses), np.nan, losses)
    there = ~np.isnan(losses).any(axis=1, keepdims=True) & ~np.isnan(ran).all(axis=1, keepdims=True)
    kept = np.where(unfit[None, :, None], np.nan, ran) if not unfit.all() else ran
    kept = np.where(np.isnan(kept).all(axis=1, keepdims=True), ran, kept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of repeats that are not there
        worst = as_failed(ran, floor, axis=1)
    counted: Floats = np.where(there, np.where(np.isnan(kept), worst, kept), np.nan)
    return counted


def _gathered(
    history: History,
    cuts: list[KnownInstance],
    names: Sequence[Versioned],
    wanted: Sequence[str],
    judge: str | None,
) -> Gathered | None:
    """An instance's losses, or None if some budget was not rehearsed with all Options."""
    parts = [_losses(history, cut.key, names, wanted, judge) for cut in cuts]
    losses = parts[0] if len(parts) == 1 else np.stack([_mean(part) for part in parts], axis=2)
    ran = np.asarray(np.isfinite(losses).any(axis=1))
    if not losses.size or not ran.any(axis=1).all():
        return None
    runs = np.sum([(~np.isnan(part)).sum(axis=(0, 2)) for part in parts], axis=0)
    failed = np.sum([np.isinf(part).sum(axis=(0, 2)) for part in parts], axis=0)
    kept = ran.any(axis=0)
    return Gathered(cuts[0], losses[:, :, kept], np.stack([runs, failed], axis=1))


def _losses(history: History, key: str, names: Sequence[Versioned], wanted: Sequence[str], judge: str | None) -> Floats:
    """Budgets by Options by repeats: NaN for a repeat that not all Options have, infinity for what failed."""
    known = [history.losses(key, name, version, judge) for name, version in names]
    repeats = max((repeat + 1 for runs in known for _, repeat in runs), default=0)
    losses = np.full((len(wanted), len(names), repeats), np.nan)
    for option, runs in enumerate(known):
        for budget, epsilon in enumerate(wanted):
            for repeat in range(repeats):
                if (epsilon, repeat) in runs:
                    loss = runs[epsilon, repeat]
                    losses[budget, option, repeat] = np.inf if loss is None else loss
    losses[np.broadcast_to(np.isnan(losses).any(axis=1, keepdims=True), losses.shape)] = np.nan
    return losses


def _mean(losses: Floats) -> Floats:
    """The means over the repeats there are, NaN where there are none; what failed once, failed."""
    counts = (~np.isnan(losses)).sum(axis=2)
    sums = np.nansum(losses, axis=2)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _padded(losses: Floats, repeats: int) -> Floats:
    return np.pad(losses, ((0, 0), (0, 0), (0, repeats - losses.shape[2])), constant_values=np.nan)


def budgets_of(history: History, options: Sequence[Option], judge: str | None = None) -> tuple[str, ...]:
    """The budgets that every one of some Options, as it is now, was rehearsed at somewhere; they rise."""
    names = [(option.name, option.version) for option in options]
    seen: dict[Versioned, set[str]] = {name: set() for name in names}
    for instance in history.instances.values():
        if apart(instance.key)[1] is not None:
            continue
        for name, version in names:
            seen[name, version].update(epsilon for epsilon, _ in history.losses(instance.key, name, version, judge))
    return tuple(sorted(set.intersection(*seen.values()), key=Fraction))
