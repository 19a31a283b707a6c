"""Gather the cases of a history: which rehearsals belong together, and what those that failed count as.

Instances that differ in their seed alone are one: the same database, cut another way into rows to learn from and rows
to score on. Each cut is one repeat then, since which Option was best has to be read off other rows than its loss, or
the luck of one cut makes hindsight better than anything that could be chosen. An instance with one seed has as many
repeats as it was run.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.choice.learning.cases import Cases, Failed
from jostle.choice.learning.history import History, KnownInstance
from jostle.choice.learning.keys import Beforehand, apart
from jostle.choice.learning.regret import as_failed
from jostle.errors import ChoiceError
from jostle.options.base import Option
from jostle.options.fitted import kept_apart
from jostle.tasks import Task

__all__ = ["budgets_of", "cases_of"]

Floats = NDArray[np.float64]
Versioned = tuple[str, int]
SEED = re.compile(r" seed=\d+")


@frozen(eq=False)
class Gathered:
    """One instance, with the losses of all its cuts."""

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
    return task.floor if own is None else own


def _failures(history: History, gathered: Sequence[Gathered], options: Sequence[Option]) -> tuple[Failed, ...]:
    """The Options that failed, how often, and why."""
    failures = []
    for place, option in enumerate(options):
        runs, failed = (int(sum(each.failed[place, kind] for each in gathered)) for kind in range(2))
        if not failed:
            continue
        foreseen = sum(
            int(each.failed[place, 1])
            for each in gathered
            if each.failed[place, 1] and option.refuses(each.instance.schema) is not None
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
