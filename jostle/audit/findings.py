"""What an audit found, as values to print or to store."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any, Literal

from attrs import frozen

from jostle.audit.pairs import Relation
from jostle.audit.subjects import Fault
from jostle.privacy.amounts import show_amount

__all__ = ["Bound", "Finding", "Verdict", "show_epsilon", "show_event"]

Verdict = Literal["caught", "missed", "within its claim", "breaks its claim"]
"""The first two are for positive controls, the others for mechanisms believed to be private."""


@frozen(kw_only=True)
class Bound:
    """A lower bound on the privacy loss, and how it can be seen."""

    method: Literal["exact", "statistical"]
    epsilon: float
    """The mechanism loses at least this much; may be infinite if found by enumeration."""
    pair: str
    """What is particular about the two inputs."""
    first: str
    second: str
    """The inputs themselves. They are made up, so they may be shown."""
    likelier: Literal["first", "second"]
    """Under which of the two the event happens more often."""
    event: str
    """What to look for in the output."""
    chances: tuple[float, float]
    """The event's chance under the likelier input and under the other: exact, or at least and at most."""
    confidence: float = 1.0
    """The bound holds with at least this probability over the runs, whatever the mechanism."""
    samples: int = 0
    """Runs on each input that the bound was measured on, not counting those that chose the event."""
    tried: int = 1
    """How many events were measured; the confidence allows for all of them."""

    def as_data(self) -> dict[str, Any]:
        """Plain data, fit for JSON; an infinite bound is the word "infinite"."""
        return {
            "method": self.method,
            "epsilon": "infinite" if math.isinf(self.epsilon) else self.epsilon,
            "pair": self.pair,
            "first": self.first,
            "second": self.second,
            "likelier": self.likelier,
            "event": self.event,
            "chances": list(self.chances),
            "confidence": self.confidence,
            "samples": self.samples,
            "tried": self.tried,
        }


@frozen(kw_only=True)
class Finding:
    """The result of one audit."""

    name: str
    about: str
    relation: Relation
    epsilon: Fraction
    """What the mechanism was run at."""
    claimed: Fraction
    """What it promises when run at that."""
    bounds: tuple[Bound, ...]
    """What was found, by each method that applies."""
    fault: Fault | None = None

    @property
    def bound(self) -> Bound:
        """The largest bound found."""
        return max(self.bounds, key=lambda bound: bound.epsilon)

    @property
    def exceeds(self) -> bool:
        """Whether the mechanism was seen to lose more than it claims."""
        return self.bound.epsilon > self.claimed

    @property
    def verdict(self) -> Verdict:
        """The judgement in words."""
        if self.fault is not None:
            return "caught" if self.exceeds else "missed"
        return "breaks its claim" if self.exceeds else "within its claim"

    @property
    def as_expected(self) -> bool:
        """Whether a control was caught, or any other mechanism kept its claim."""
        return self.exceeds == (self.fault is not None)

    def found(self, method: Literal["exact", "statistical"]) -> Bound | None:
        """The bound found this way, if it was tried."""
        return next((bound for bound in self.bounds if bound.method == method), None)

    def as_data(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "name": self.name,
            "about": self.about,
            "relation": self.relation,
            "epsilon": show_amount(self.epsilon),
            "claimed": show_amount(self.claimed),
            "verdict": self.verdict,
            "as_expected": self.as_expected,
            "control": self.fault is not None,
            "fault": self.fault.how if self.fault else None,
            "reference": self.fault.reference if self.fault else None,
            "bounds": [bound.as_data() for bound in self.bounds],
        }


def show_epsilon(epsilon: float) -> str:
    """The bound for people, rounded down so that it stays one, but for a slack of 1e-9 kept for rounding.

    >>> show_epsilon(1.23456), show_epsilon(1 - 2e-10), show_epsilon(math.inf)
    ('1.234', '1.000', 'infinite')
    """
    return "infinite" if math.isinf(epsilon) else f"{math.floor((epsilon + 1e-9) * 1000) / 1000:.3f}"


def show_event(event: tuple[Hashable, ...]) -> str:
    """An event for people: a label, then the values of the parts.

    >>> show_event(((0, 1),)), show_event(((), 3, "anything")), show_event((2, 3))
    ('output (0, 1)', 'output 3, anything', 'output 2, 3')
    """
    values = event[1:] if event[0] == () and len(event) > 1 else event
    return f"output {', '.join(value if isinstance(value, str) else repr(value) for value in values)}"
