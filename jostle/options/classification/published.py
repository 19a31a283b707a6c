"""The published trees' rules, as policies for `JostledTree`'s two labels: when to stop, and what to split by.

They look at what the tree shows to every policy: see `jostled_tree.seen_at`.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen

from jostle.sites import Always, Choice, Decision

__all__ = ["SPLIT_BY", "BranchUpTo", "ExpectedSupport", "SizeAboveNoise"]

SPLIT_BY = {rule: Always(rule, "fixed") for rule in ("Max", "Gini", "InfoGain", "random")}
"""Mohammed and the greedy trees split by a utility, Jagannathan and Fletcher and Islam at random."""


def _decided(choice: Choice, branch: object, why: str) -> Decision:
    return Decision(np.where(branch, choice.index("branch"), choice.index("stop")), why)  # type: ignore[call-overload]  # a mask


@frozen
class SizeAboveNoise:
    """Friedman and Schuster's rule, and Patil and Singh's: branch where n / (t * |C|) is at least sqrt(2) / e."""

    factor: float = 1.0
    """More than 1 stops sooner."""

    def decide(self, choice: Choice) -> Decision:
        """Which nodes have so many rows that the next level's cells stand out from the noise."""
        seen = choice.seen
        enough = seen["n"] / (seen["t"] * seen["c"]) >= self.factor * math.sqrt(2) / seen["e"]
        return _decided(choice, enough, "Friedman and Schuster's rule on noisy sizes")


@frozen
class BranchUpTo:
    """Mohammed's rule, and Jagannathan's where the depth is given: branch on so many levels, whatever is seen."""

    levels: int

    def decide(self, choice: Choice) -> Decision:
        """The same for all nodes of a level."""
        return _decided(choice, choice.seen["level"] < self.levels, f"{self.levels} levels")


@frozen
class ExpectedSupport:
    """Fletcher and Islam's rule: branch where the rows exceed sqrt(2) * |C| / epsilon, the leaves having all of it."""

    def decide(self, choice: Choice) -> Decision:
        """Which nodes have more rows than the noise on their leaf counts."""
        seen = choice.seen
        noise = math.sqrt(2) * seen["c"] / (seen["e"] * (seen["d"] + seen["level"] + 1))
        return _decided(choice, seen["n"] > noise, "Fletcher and Islam's rule on expected sizes")
