"""Jagannathan, Pillaipakkamnatt, Wright: a practical differentially private random decision tree classifier.

ICDMW 2009.

Trees of random splits, which cost nothing; all of the budget buys the class counts at the leaves.
"""

from __future__ import annotations

import math
from fractions import Fraction

from attrs import frozen

from jostle.options.base import option
from jostle.options.classification.base import Classifier, bought_rows, rows_cost, rows_share
from jostle.options.growing.grove import Grove, NumericSplits, branching
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import add_upwards, leaf_counts, shares_of
from jostle.options.growing.splitting import AtRandom
from jostle.options.growing.stopping import AtDepth
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, share, whole
from jostle.privacy.events import Event, Laplace, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.routes import LeafCounts
from jostle.tables.schema import Schema

__all__ = ["Jagannathan"]


@option
@frozen(kw_only=True)
class Jagannathan(Classifier):
    """A forest of random trees with noisy leaf counts."""

    paper = "Jagannathan, Pillaipakkamnatt, Wright, ICDMW 2009"

    trees: int = whole(10, least=1)
    depth: int = whole(0, least=0)
    """Levels of splits; 0 for the paper's rule, min(k/2, log_b(n) - 1), at least 1, which n is bought for."""
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    rows_share: Fraction = share("1/20")
    """Part of the budget that buys the number of rows, where it is asked for and not public."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The leaves of all trees, after the number of rows where that is bought."""
        bought = self._bought(schema.rows)
        rows = rows_cost(schema, epsilon, bought) if bought else ()
        return in_turn([*rows, Laplace(epsilon * (1 - bought))])

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """A forest."""
        schema, bought = db.schema, self._bought(db.rows)
        depth = self.depth or _depth(schema, bought_rows(db, epsilon, bought), self.numeric)
        grove = Grove(schema, self.trees, numeric=self.numeric)
        grow(db, grove, depth, AtRandom(), AtDepth(), ask_at_end=False)
        routing = grove.routing()
        noisy = db.measure(LeafCounts(routing), epsilon * (1 - bought), site="leaves")
        counts = add_upwards(grove, leaf_counts(routing, noisy, len(schema.classes)))
        return TreeModel(
            schema=schema,
            made_by=self.name,
            epsilon=epsilon,
            routing=routing,
            shares=shares_of(grove, counts),
            combine="mean",
        )

    def _bought(self, rows: int | None) -> Fraction:
        return Fraction(0) if self.depth else rows_share(rows, self.rows_share)


def _depth(schema: Schema, rows: int, numeric: NumericSplits) -> int:
    """The depth min(k/2, log_b(n) - 1), b the mean branching, at least 1."""
    ways = branching(schema, numeric)
    mean = float(ways.mean()) if len(ways) else 1.0
    by_rows = math.log(rows) / math.log(mean) - 1 if mean > 1 else math.inf
    return max(1, int(min(len(ways) / 2, by_rows)))
