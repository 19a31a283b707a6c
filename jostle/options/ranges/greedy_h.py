"""GreedyH: a binary tree whose levels share the budget as the workload has it.

Li, Hay, Miklau, Wang, PVLDB 7(5), 2014, where shares are found level by level, greedily; here all at once (`shares`).
"""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen

from jostle.options.base import option
from jostle.options.ranges.base import GridOption, count_tree, grid_shape
from jostle.options.ranges.shares import tree_shares
from jostle.options.ranges.tree import grid_tree
from jostle.parameters import flag
from jostle.privacy.events import Event, Laplace
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks.ranges.estimate import Estimate
from jostle.tasks.ranges.workload import Workload

__all__ = ["GreedyH"]


@option
@frozen
class GreedyH(GridOption):
    """Counts the levels of a tree that the workload is best told from; each level halves every axis.

    Privacy: `AddNoiseByLevel` over the tree's levels: a record is in one node of each. The shares depend on the
    workload and the grid's shape only.
    """

    looks_at_workload = True

    negative: bool = flag(default=False)
    """Whether counts below 0 are kept: then the estimate is linear and unbiased, but off by more."""
    paper = "Li, Hay, Miklau, Wang 2014"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally with noise."""
        return Laplace(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """The least-squares estimate."""
        shape = grid_shape(db.schema)
        tree = grid_tree(shape, 2)
        shares = tree_shares(tree, workload or Workload.random_ranges(shape))
        return count_tree(db, tree, shares, epsilon, site="tree").estimate(negative=self.negative)
