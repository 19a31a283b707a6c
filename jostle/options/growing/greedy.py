"""Greedy trees as Friedman and Schuster grow them, one or several: sizes, splits, leaves, and pruning."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.options.growing.grove import Frontier, Grove, NumericSplits, longest_path
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import add_upwards, leaf_counts, shares_of, without_twigs
from jostle.options.growing.pruning import pessimistic
from jostle.options.growing.splitting import ByUtility
from jostle.options.growing.stopping import NoisySize
from jostle.options.models.trees import TreeModel
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, Repeated, in_turn
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import Utility
from jostle.tables.routes import LeafCounts, Routing
from jostle.tables.schema import Schema

__all__ = ["bought_leaves", "greedy_cost", "greedy_forest", "left_of", "query_epsilon"]

SURE = 3
"""A bound on the rows that is bought lies so many scales of its noise above the noisy number."""


def query_epsilon(schema: Schema, epsilon: Fraction, depth: int, numeric: NumericSplits) -> tuple[int, Fraction]:
    """How many levels are split at most, and the budget of each query of a level.

    Levels 0 to d ask two queries each: for the sizes, and for the splits or, on the last, the leaves.
    """
    levels = min(depth, longest_path(schema, numeric))
    return levels, epsilon / (2 * (levels + 1))


def greedy_cost(schema: Schema, epsilon: Fraction, depth: int, numeric: NumericSplits) -> Event:
    """The event of growing to the full depth; stopping earlier, the leaves get what is left."""
    levels, query = query_epsilon(schema, epsilon, depth, numeric)
    return in_turn([Repeated(Laplace(query), levels + 1), Repeated(PermuteAndFlip(query), levels), Laplace(query)])


def greedy_forest(
    db: Probe,
    epsilon: Fraction,
    *,
    depth: int,
    utility: Utility,
    numeric: NumericSplits,
    prune: bool,
    trees: int,
    made_by: str,
) -> TreeModel:
    """One or more greedy trees; several share the budget of each query and see the same rows."""
    schema = db.schema
    levels, query = query_epsilon(schema, epsilon, depth, numeric)
    grove = Grove(schema, trees, numeric=numeric)
    sizes = NoisySize(epsilon=query)
    splitting = _BoundedByRoot(sizes=sizes, utility=utility, epsilon=query)
    grow(db, grove, levels, splitting, sizes, ask_at_end=True)
    routing, counts = bought_leaves(db, grove)
    model = TreeModel(schema=schema, made_by=made_by, epsilon=epsilon, routing=routing, shares=shares_of(grove, counts))
    return without_twigs(model, pessimistic(grove, counts)) if prune else model


@frozen(kw_only=True, eq=False)
class _BoundedByRoot:
    """Picks by utility; the bound on rows that InfoGain needs comes from the sizes of the roots, bought already."""

    sizes: NoisySize
    utility: Utility
    epsilon: Fraction

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.int64]:
        """The candidates picked."""
        rows = db.rows
        if rows is None:
            noisy = max(self.sizes.sizes[int(root)] for root in grove.roots)
            rows = noisy + int(SURE * grove.trees / self.epsilon)
        return ByUtility(utility=self.utility, epsilon=self.epsilon, rows_bound=max(1, rows)).choose(
            db, grove, frontier
        )


def left_of(db: Probe) -> Fraction:
    """The rest of an allotment. Where growing stopped early, the leaves get what the levels left over."""
    if db.left is None:
        raise OptionError("a tree is grown within an allotment", fix="option(db, epsilon=1)")
    return db.left


def bought_leaves(db: Probe, grove: Grove) -> tuple[Routing, NDArray[np.float64]]:
    """The way to the leaves of what was grown, and all nodes' noisy class counts; the leaves' cost what is left."""
    routing = grove.routing()
    noisy = db.measure(LeafCounts(routing), left_of(db), site="leaves")
    return routing, add_upwards(grove, leaf_counts(routing, noisy, len(db.schema.classes)))
