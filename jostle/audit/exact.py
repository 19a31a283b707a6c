"""Privacy loss by enumeration: the largest |ln p/q| over all outputs.

For pure differential privacy the worst event is a single output, so looking at each is enough. What is reported
is a lower bound that holds in spite of rounding and of noise cut short: with p and q the table's entries, a the
relative error and m the mass missing from the second table, the true ratio is at least p(1-a) / (q(1+a) + m). The
loss is infinite when an output stands in one table and not in the other, and nothing is missing from the other.

Parts that are independent given a label are worst together where each is worst alone, so their losses add up; a
part on which the second input is never less likely adds 0, as the event "whatever it is" does.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any, Literal

from attrs import frozen

from jostle.audit.distributions import LEAST_CHANCE, RELATIVE_ERROR, Distribution
from jostle.audit.findings import Bound, show_event
from jostle.audit.subjects import Subject
from jostle.errors import AuditError

__all__ = ["Loss", "exact_bound", "exact_loss", "privacy_loss"]

ANYTHING = "anything"


@frozen
class Loss:
    """How much likelier some event is under one distribution than under another."""

    epsilon: float
    """Lower bound on ln of the ratio; infinite if the event never happens under the second."""
    event: tuple[Hashable, ...]
    """The label, and the value of each part."""
    first_chance: float
    second_chance: float


def exact_loss(first: Distribution, second: Distribution) -> Loss:
    """The largest loss of *first* over *second*, one way only."""
    worst = Loss(0.0, (ANYTHING,), 1.0, 1.0)
    for label, chance in first.chances.items():
        epsilon, other = _log_ratio(chance, second.chances.get(label), second.missing)
        event: tuple[Hashable, ...] = (label,)
        for mine, theirs in zip(first.parts.get(label, ()), second.parts.get(label, ()), strict=False):
            part = exact_loss(mine, theirs)
            epsilon += part.epsilon
            chance *= part.first_chance  # noqa: PLW2901 - the chance of label and parts so far
            other *= part.second_chance
            event += part.event
        if epsilon > worst.epsilon:
            worst = Loss(epsilon, event, chance, other)
    return worst


def _log_ratio(chance: float, other: float | None, missing: float) -> tuple[float, float]:
    """A lower bound on ln of the ratio of the true chances, and the other chance for the report."""
    least = chance * (1 - RELATIVE_ERROR)
    if least <= LEAST_CHANCE:
        return -math.inf, other or 0.0
    if other is None and missing == 0:
        return math.inf, 0.0
    most = max(other or 0.0, 0.0 if other is None else LEAST_CHANCE) * (1 + RELATIVE_ERROR) + missing
    return math.log(least) - math.log(most), other if other is not None else missing


def privacy_loss(first: Distribution, second: Distribution) -> float:
    """The largest loss between two distributions, whichever way round.

    >>> fair, biased = Distribution({0: 0.5, 1: 0.5}), Distribution({0: 0.25, 1: 0.75})
    >>> round(privacy_loss(fair, biased), 6)
    0.693147
    """
    return max(exact_loss(first, second).epsilon, exact_loss(second, first).epsilon)


def exact_bound(subject: Subject[Any], epsilon: Fraction) -> Bound:
    """The largest loss over all pairs of the subject and both directions."""
    if subject.distribution is None:
        raise AuditError(f"{subject.name} has no exact distribution", fix="audit it by sampling")
    best: Bound | None = None
    for pair in subject.pairs:
        tables = subject.distribution(pair.first, epsilon), subject.distribution(pair.second, epsilon)
        sides: tuple[Literal["first", "second"], ...] = ("first", "second")
        for likelier, (high, low) in zip(sides, (tables, tables[::-1]), strict=True):
            loss = exact_loss(high, low)
            if best is None or loss.epsilon > best.epsilon:
                best = Bound(
                    method="exact",
                    epsilon=loss.epsilon,
                    pair=pair.about,
                    first=repr(pair.first),
                    second=repr(pair.second),
                    likelier=likelier,
                    event=show_event(loss.event),
                    chances=(loss.first_chance, loss.second_chance),
                )
    if best is None:
        raise AuditError(f"{subject.name} has no pairs to be audited on", fix="give it at least one pair")
    return best
