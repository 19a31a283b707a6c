"""Mohammed, Barouti, Alhadidi, Chen: secure and private management of healthcare databases. CBMS 2015.

One greedy tree that spends nothing on when to stop: d levels of splits and the leaves, each with beta / (d+1).
"""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen

from jostle.options.base import option
from jostle.options.classification.base import Classifier, bought_rows, rows_cost, rows_share
from jostle.options.growing.greedy import bought_leaves
from jostle.options.growing.grove import Grove, NumericSplits, longest_path
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import shares_of
from jostle.options.growing.splitting import ByUtility
from jostle.options.growing.stopping import AtDepth
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, Repeated, in_turn
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import Utility
from jostle.tables.schema import Schema

__all__ = ["Mohammed"]


@option
@frozen(kw_only=True)
class Mohammed(Classifier):
    """One greedy tree of full depth."""

    paper = "Mohammed, Barouti, Alhadidi, Chen, CBMS 2015"

    depth: int = whole(3, least=1)
    """Levels of splits."""
    utility: Utility = choice("Max", Utility)
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    rows_share: Fraction = share("1/20")
    """Part of the budget that buys the number of rows: for InfoGain only, and only where it is not public."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The event of d levels of splits and leaves, each epsilon / (d+1), after the rows where they are bought."""
        levels, bought = self._levels(schema), self._bought(schema.rows)
        query = epsilon * (1 - bought) / (levels + 1)
        rows = rows_cost(schema, epsilon, bought) if bought else ()
        return in_turn([*rows, Repeated(PermuteAndFlip(query), levels), Laplace(query)])

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """A tree."""
        schema, bought = db.schema, self._bought(db.rows)
        levels = self._levels(schema)
        query = epsilon * (1 - bought) / (levels + 1)
        rows = bought_rows(db, epsilon, bought) if bought else db.rows or 1
        margin = int(3 / (epsilon * bought)) if bought else 0
        grove = Grove(schema, numeric=self.numeric)
        splitting = ByUtility(utility=self.utility, epsilon=query, rows_bound=rows + margin)
        grow(db, grove, levels, splitting, AtDepth(), ask_at_end=False)
        routing, counts = bought_leaves(db, grove)
        shares = shares_of(grove, counts)
        return TreeModel(schema=schema, made_by=self.name, epsilon=epsilon, routing=routing, shares=shares)

    def _levels(self, schema: Schema) -> int:
        return min(self.depth, longest_path(schema, self.numeric))

    def _bought(self, rows: int | None) -> Fraction:
        return rows_share(rows, self.rows_share) if self.utility == "InfoGain" else Fraction(0)
