"""QuadTree: halve every axis again and again, count every level, more carefully further down.

Cormode, Procopiuc, Srivastava, Shen, Yu, Differentially private spatial decompositions, ICDE 2012.
"""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, count_tree, grid_shape
from jostle.options.ranges.shares import exact_shares
from jostle.options.ranges.tree import grid_tree
from jostle.parameters import flag, positive
from jostle.privacy.events import Event, Laplace
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["QuadTree"]


@option
@frozen
class QuadTree(GridOption):
    """Counts a tree of quadrants (in d dimensions, 2**d parts) with shares that grow towards the cells, and fits them.

    Privacy: `AddNoiseByLevel` over the tree's levels: a record is in one node of each.
    """

    growth: float = positive(1.26)
    """By how much a level's share exceeds that of the one above; the paper's is the cube root of 2."""
    negative: bool = flag(default=False)
    """Whether counts below 0 are kept: then the estimate is linear and unbiased, but off by more."""
    paper = "Cormode, Procopiuc, Srivastava, Shen, Yu 2012"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally with noise."""
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:  # noqa: ARG002 - any
        """The least-squares estimate."""
        tree = grid_tree(grid_shape(db.schema), 2)
        shares = exact_shares([float(self.growth) ** level for level in range(len(tree.starts))])
        return count_tree(db, tree, shares, epsilon, site="tree").estimate(negative=self.negative)
