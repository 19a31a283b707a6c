"""Stopping rules: which leaves are worth splitting. Depth and exhausted attributes always stop; these come on top."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.options.growing.grove import Frontier, Grove
from jostle.privacy.probe import Probe
from jostle.tables.routes import LeafCounts

__all__ = ["AtDepth", "BySupport", "NoisySize", "Stopping"]


class Stopping(Protocol):
    """Says which leaves of a frontier go on."""

    def goes_on(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.bool_]:
        """Which leaves are to be split."""


@frozen(kw_only=True)
class AtDepth:
    """Nothing on top: every leaf goes on."""

    def goes_on(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.bool_]:  # noqa: ARG002 - a protocol's
        """All nodes: none is too small."""
        return np.ones(len(frontier), dtype=np.bool_)


@frozen(kw_only=True, eq=False)
class NoisySize:
    """Friedman and Schuster: stop where the noisy rows, shared out over the next level's cells, drown in noise.

    The sizes of all leaves are bought at once, since they share no row; those bought are kept for whoever needs them.
    """

    epsilon: Fraction
    """For each level, shared by the trees."""
    sizes: dict[int, int] = field(factory=dict)
    """Of every node asked about."""

    def goes_on(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.bool_]:
        """Which leaves have size / (largest branching * classes) of at least sqrt(2) / epsilon."""
        routing = grove.routing()
        noisy = db.measure(LeafCounts(routing, by_class=False), self.epsilon, site=f"sizes level {grove.depth}")
        size = np.zeros(len(grove), dtype=np.int64)
        size[routing.leaves] = noisy
        found = size[frontier.nodes]
        self.sizes.update(zip(frontier.nodes.tolist(), found.tolist(), strict=True))
        cells = int(grove.branching.max(initial=1)) * len(grove.schema.classes)
        per_tree = float(self.epsilon) / grove.trees
        return np.asarray(found / cells >= math.sqrt(2) / per_tree)


@frozen(kw_only=True, eq=False)
class BySupport:
    """Fletcher and Islam: stop where the rows expected, if splits were even, drown in the noise to come. All public."""

    rows: float
    """How many rows there are, public or bought."""
    least: float
    """The support that is still worth splitting."""

    def goes_on(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.bool_]:  # noqa: ARG002 - a protocol's
        """Which leaves are expected to have more rows than that."""
        return np.asarray(self.rows * grove.part[frontier.nodes] > self.least)
