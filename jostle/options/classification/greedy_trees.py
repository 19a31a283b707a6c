"""Greedy trees: every level buys a private pick of what to split by.

*SuLQID3.* Blum, Dwork, McSherry, Nissim. Practical privacy: the SuLQ framework. PODS 2005. One greedy tree whose every
score is computed from noisy counts: for each level, the rows by value and class of every attribute in every node. A row
counts once per attribute, so the noise grows with their number, where a private pick (Friedman and Schuster, Mohammed)
pays for the best attribute only. It is the floor that later trees are held against.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option, preset
from jostle.options.classification.base import Classifier, bought_rows, rows_cost, rows_share
from jostle.options.growing import (
    AtDepth,
    ByUtility,
    Frontier,
    Grove,
    NumericSplits,
    bought_leaves,
    greedy_cost,
    greedy_forest,
    grow,
    longest_path,
    shares_of,
)
from jostle.options.models.kinds import TreeModel
from jostle.parameters import choice, flag, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, Repeated, in_turn
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import SplitScore, Utility
from jostle.tables.routes import SplitCounts
from jostle.tables.schema import Schema


@option
@frozen(kw_only=True)
class PatilSingh(Classifier):
    """A vote of greedy trees with noisy stopping and pruning.

    Patil, Singh: differential private random forest. ICACCI 2014.

    Several of Friedman and Schuster's trees on the same rows, which share every query's budget and vote. What makes
    them differ is the noise.
    """

    paper = "Patil, Singh, ICACCI 2014"

    trees: int = whole(10, least=1)
    depth: int = whole(3, least=1)
    """Levels of splits, at most."""
    utility: Utility = choice("Max", Utility)
    """Max moves by 1 with a row, Gini by 2, InfoGain by log2 of the number of rows: it needs the most data."""
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    prune: bool = flag(default=True)

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Sizes on d+1 levels, splits on d, and the leaves, each epsilon / (2(d+1)) for all trees together."""
        return greedy_cost(schema, epsilon, self.depth, self.numeric)

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        return greedy_forest(
            db,
            epsilon,
            depth=self.depth,
            utility=self.utility,
            numeric=self.numeric,
            prune=self.prune,
            trees=self.trees,
            made_by=self.name,
        )


FriedmanSchuster = preset(
    PatilSingh,
    "FriedmanSchuster",
    """One greedy tree with noisy stopping and pruning.

    Friedman, Schuster: data mining with differential privacy. KDD 2010.

    A greedy tree. Every level buys the sizes of its nodes, stops where they drown in noise, and picks a split for each
    of the others; the leaves buy class counts, and C4.5's pruning, on these noisy counts, takes back what did not pay.
    """,
    paper="Friedman, Schuster, KDD 2010",
    trees=1,
)


@option
@frozen(kw_only=True)
class Mohammed(Classifier):
    """One greedy tree of full depth.

    Mohammed, Barouti, Alhadidi, Chen: secure and private management of healthcare databases. CBMS 2015.

    One greedy tree that spends nothing on when to stop: d levels of splits and the leaves, each with beta / (d+1).
    """

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


@frozen(kw_only=True)
class ByNoisyCounts:
    """The best candidate by noisy counts of all values and classes: epsilon per level."""

    utility: Utility
    epsilon: Fraction

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.int64]:
        """The candidates that look best."""
        routing, allowed = grove.routing(), grove.allowed(frontier)
        noisy = db.measure(SplitCounts(routing, frontier.nodes), self.epsilon, site=f"counts level {grove.depth}")
        counts = np.maximum(noisy, 0)
        score = SplitScore(
            routing,
            frontier.nodes,
            self.utility,
            grove.candidate_columns,
            grove.candidate_cuts,
            allowed,
            max(1, int(counts.sum())),
        )
        # The counts were released: scoring them asks nothing more of rows.
        scores = score.scores(counts, db.schema)
        return np.asarray(np.argmax(np.where(allowed, scores, scores.min() - 1), axis=1), dtype=np.int64)


@option
@frozen(kw_only=True)
class SuLQID3(Classifier):
    """One greedy tree, split by noisy counts.

    Privacy: one tally with noise for each level (`AddNoise` on `SplitCounts`, which says that a row adds 1 per
    attribute), and one for the leaves, each at epsilon / (d+1).
    """

    paper = "Blum, Dwork, McSherry, Nissim, PODS 2005"

    depth: int = whole(3, least=1)
    """Levels of splits."""
    utility: Utility = choice("InfoGain", Utility)
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """A tally for each level of splits, and one for the leaves."""
        levels = self._levels(schema)
        return Repeated(Laplace(epsilon / (levels + 1)), levels + 1)

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        schema = db.schema
        levels = self._levels(schema)
        grove = Grove(schema, numeric=self.numeric)
        splitting = ByNoisyCounts(utility=self.utility, epsilon=epsilon / (levels + 1))
        grow(db, grove, levels, splitting, AtDepth(), ask_at_end=False)
        routing, counts = bought_leaves(db, grove)
        shares = shares_of(grove, counts)
        return TreeModel(schema=schema, made_by=self.name, epsilon=epsilon, routing=routing, shares=shares)

    def _levels(self, schema: Schema) -> int:
        return min(self.depth, longest_path(schema, self.numeric))
