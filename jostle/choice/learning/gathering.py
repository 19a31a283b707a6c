"""Gather the cases of a history: which rehearsals belong together, and what those that failed count as.

Instances that differ in their seed alone are one: the same database, cut another way into rows to learn from and rows
to score on. Each cut is one repeat then, since which Option was best has to be read off other rows than its loss, or
the luck of one cut makes hindsight better than anything that could be chosen. An instance with one seed has as many
repeats as it was run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.choice.learning.cases import Cases
from jostle.choice.learning.history import History, KnownInstance
from jostle.errors import ChoiceError
from jostle.options.base import Option

__all__ = ["cases_of"]

Floats = NDArray[np.float64]
Versioned = tuple[str, int]
SEED = re.compile(r" seed=\d+")


@frozen(eq=False)
class Gathered:
    """One instance, with the losses of all its cuts."""

    instance: KnownInstance
    losses: Floats
    """Budgets by Options by repeats."""


def cases_of(
    history: History, options: Sequence[Option], *, epsilons: Iterable[str] | None = None, judge: str | None = None
) -> Cases:
    """The cases of all instances on which all these Options were rehearsed, or could not be.

    An Option that failed somewhere counts there as the worst of those that did not.
    """
    names = tuple((option.name, option.version) for option in options)
    if epsilons is None:
        wanted = _common(history, names, judge)
    else:
        wanted = tuple(str(Fraction(epsilon)) for epsilon in epsilons)
    cuts: dict[str, list[KnownInstance]] = {}
    for instance in history.instances.values():
        cuts.setdefault(SEED.sub("", instance.key), []).append(instance)
    gathered = [_gathered(history, each, names, wanted, judge) for each in cuts.values()]
    found = [each for each in gathered if each is not None]
    if not found or not wanted:
        raise ChoiceError(
            "there is nothing to learn from",
            why="no public database was rehearsed on with all of " + ", ".join(name for name, _ in names),
            fix="train with databases: trained_on=..., or jostle train",
        )
    repeats = max(each.losses.shape[2] for each in found)
    databases = [history.databases[each.instance.database] for each in found]
    return Cases(
        options[0].task,
        tuple(name for name, _ in names),
        tuple(each.instance for each in found),
        wanted,
        np.concatenate([_padded(each.losses, repeats) for each in found]),
        [database.group for database in databases for _ in wanted],
        [database.name for database in databases for _ in wanted],
        [database.artificial for database in databases for _ in wanted],
        judge=judge,
    )


def _gathered(
    history: History,
    cuts: list[KnownInstance],
    names: Sequence[Versioned],
    wanted: Sequence[str],
    judge: str | None,
) -> Gathered | None:
    """Return an instance's losses, or None if some budget was not rehearsed with all Options."""
    parts = [_losses(history, cut.key, names, wanted, judge) for cut in cuts]
    losses = parts[0] if len(parts) == 1 else np.stack([_mean(part) for part in parts], axis=2)
    if not losses.size or np.isnan(losses[:, 0]).all(axis=1).any():
        return None
    kept = ~np.isnan(losses).all(axis=(0, 1))
    return Gathered(cuts[0], losses[:, :, kept])


def _losses(history: History, key: str, names: Sequence[Versioned], wanted: Sequence[str], judge: str | None) -> Floats:
    """Return budgets by Options by repeats: NaN for a repeat that not all Options have, or in which all failed."""
    known = [history.losses(key, name, version, judge) for name, version in names]
    repeats = max((repeat + 1 for losses in known for _, repeat in losses), default=0)
    found = np.full((len(wanted), len(names), repeats), np.nan)
    for option, losses in enumerate(known):
        for place, epsilon in enumerate(wanted):
            for repeat in range(repeats):
                if (epsilon, repeat) in losses:
                    loss = losses[epsilon, repeat]
                    found[place, option, repeat] = np.inf if loss is None else loss
    found[np.broadcast_to(np.isnan(found).any(axis=1, keepdims=True), found.shape)] = np.nan
    worst = np.max(np.where(np.isfinite(found), found, -np.inf), axis=1, keepdims=True)
    worst = np.where(np.isfinite(worst), worst, np.nan)
    return np.where(np.isinf(found), worst, found)


def _mean(losses: Floats) -> Floats:
    """Return the means over the repeats there are, NaN where there are none."""
    counts = (~np.isnan(losses)).sum(axis=2)
    sums = np.nansum(losses, axis=2)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _padded(losses: Floats, repeats: int) -> Floats:
    return np.pad(losses, ((0, 0), (0, 0), (0, repeats - losses.shape[2])), constant_values=np.nan)


def _common(history: History, names: Sequence[Versioned], judge: str | None) -> tuple[str, ...]:
    """Return the budgets that every Option was rehearsed at somewhere."""
    seen: dict[Versioned, set[str]] = {name: set() for name in names}
    for instance in history.instances.values():
        for name, version in names:
            seen[name, version].update(epsilon for epsilon, _ in history.losses(instance.key, name, version, judge))
    return tuple(sorted(set.intersection(*seen.values()), key=Fraction))
