"""A greedy tree as deep as its rows and budget are worth, whose leaves fall back on their ancestors.

A column is cut in two, so that a level doubles the leaves, or split by its values, where that gains more than the noise
of the leaves it makes beyond two: both are candidates of one pick, the latter with a handicap. The class counts
of all rows are bought first: they say how deep a tree is worthwhile, by which utility it is split (Gini sees
splits that Max does not, at twice the noise; where rows are few, chance does as well as either, for nothing), and are
what leaves fall back on in the end. Leaf counts that noise could have made by itself are drawn towards the parent's
class shares (`noisy_numbers`), so with next to no budget the tree is `Majority`, and with plenty its leaves stand for
themselves.

*Why it is private.* Three kinds of questions in turn, each answered by a mechanism: class counts, splits, leaf
counts. The depth, the utility, whether splits are random, and the handicap are computed from the noisy class counts and
public numbers. With d levels, a level's splits get split_share / d of what the class counts leave over, and the leaves
of a tree whose splits are released get all that is left then; so all of it costs epsilon, whatever d is and wherever
growing ends. A handicap is the same for all tables, so it takes nothing from the pick's proof (`split_scores`). What is
made of the counts afterwards uses released and public numbers alone.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.classification.looks import ClassCounts, class_counts
from jostle.options.classification.noisy_numbers import noise_variance, pooled_shares, worthwhile_depth
from jostle.options.growing.greedy import left_of
from jostle.options.growing.grove import Grove, NumericSplits, longest_path
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import add_upwards, leaf_counts
from jostle.options.growing.splitting import AtRandom, ByUtility
from jostle.options.growing.stopping import AtDepth, BySupport
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, positive, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import Utility
from jostle.sites import Choice, Decision, choose
from jostle.tables.routes import LeafCounts
from jostle.tables.schema import Schema

__all__ = ["SPLITS", "ByRows", "PooledTree", "pooled"]

SPLITS = ("Max", "Gini", "random")
"""How a tree's splits may come about: the alternatives of the choice `splits`."""


@frozen
class ByRows:
    """The rule for `splits`, by rows times epsilon: it can be forced, followed by another, recorded and replayed."""

    random_below: float
    gini_from: float

    def decide(self, choice: Choice) -> Decision:
        """Random splits where there is next to nothing to pick them by, Gini where there is much, or else Max."""
        support = float(choice.seen["rows_epsilon"][0])
        if support < self.random_below:
            return Decision(choice.everywhere("random"), f"rows times epsilon are below {self.random_below:g}")
        if support >= self.gini_from:
            return Decision(choice.everywhere("Gini"), f"rows times epsilon are at least {self.gini_from:g}")
        between = f"rows times epsilon are from {self.random_below:g} to {self.gini_from:g}"
        return Decision(choice.everywhere("Max"), between)


@option
@frozen(kw_only=True)
class PooledTree(Classifier):
    """One greedy tree of a depth that fits, its leaves shrunk towards their ancestors."""

    version = 2

    least_rows: float = positive(10.0)
    """A tree is as deep as its mean leaf has so many rows, counted in scales of noise; but at least one level."""
    most_depth: int = whole(6, least=1)
    """However many rows there are."""
    numeric: NumericSplits = choice("mixed", NumericSplits)
    """All columns are cut in two, in declared order, and categorical ones may be split by value; or as this says."""
    handicap: float = positive(1.0)
    """What a split by value is held back by for each leaf beyond two, in scales of the noise on leaf counts."""
    gini_from: float = positive(5000.0)
    """Splits are picked by Gini where rows * epsilon is at least this, and by Max below, which needs half the noise."""
    most_gini_depth: int = whole(10, least=1)
    """As *most_depth*, where splits are picked by Gini."""
    random_below: float = positive(20.0)
    """Splits are random where rows * epsilon is below this: leaves get their budget, and random ones are as good."""
    random_depth: int = whole(2, least=1)
    """Levels of random splits."""
    classes_share: Fraction = share("1/10")
    """Part of the budget that buys the class counts of all rows."""
    split_share: Fraction = share("1/2")
    """Part of the rest that picks the splits."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The class counts, the splits of all levels together, and the leaves, which get what no split took."""
        first = epsilon * self.classes_share
        rest = epsilon - first
        if not longest_path(schema, self.numeric):
            return in_turn([Laplace(first), Laplace(rest)])
        picks = rest * self.split_share
        return in_turn([Laplace(first), PermuteAndFlip(picks), Laplace(rest - picks)])

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """A tree."""
        schema, first = db.schema, epsilon * self.classes_share
        classes = class_counts(db, first)
        rows = max(1.0, float(classes.counts.sum())) if db.rows is None else float(db.rows)
        grove = Grove(schema, numeric=self.numeric)
        self._grow(db, grove, rows, epsilon - classes.cost, epsilon)
        model, _, _ = pooled(db, grove, classes=classes, made_by=self.name, epsilon=epsilon)
        return model

    def _grow(self, db: Probe, grove: Grove, rows: float, rest: Fraction, epsilon: Fraction) -> None:
        """Grow the tree: by chance, by Max or by Gini, as so many rows at this budget make worthwhile."""
        longest = longest_path(grove.schema, self.numeric)
        seen = {
            "rows_epsilon": rows * float(epsilon),
            "classes": len(grove.schema.classes),
            "attributes": len(grove.schema.attributes),
        }
        rule = choose("splits", among=SPLITS, informed_by=seen, policy=ByRows(self.random_below, self.gini_from))
        if rule == "random":
            grow(db, grove, min(self.random_depth, longest), AtRandom(), AtDepth(), ask_at_end=False)
            return
        deepest = self.most_gini_depth if rule == "Gini" else self.most_depth
        levels = min(worthwhile_depth(rows, float(epsilon), self.least_rows, deepest), longest)
        if not levels:
            return
        picks = rest * self.split_share
        utility: Utility = "Gini" if rule == "Gini" else "Max"
        splitting = ByUtility(utility=utility, epsilon=picks / levels, handicap=self.handicap / float(rest - picks))
        # A split by value makes more leaves than the two that the depth allows for: what is below it ends sooner.
        stopping = BySupport(rows=rows, least=2 * self.least_rows * (levels + 1) / float(epsilon))
        grow(db, grove, levels, splitting, stopping if levels > 1 else AtDepth(), ask_at_end=False)


def pooled(
    db: Probe, grove: Grove, *, classes: ClassCounts, made_by: str, epsilon: Fraction
) -> tuple[TreeModel, NDArray[np.float64], float]:
    """Tree with pooled shares, its leaves' noisy counts, leaves by classes, and the variance of their noise.

    Leaves are counted with all that is left of the allotment. *classes* are all rows' noisy class counts.
    """
    routing, kinds = grove.routing(), len(db.schema.classes)
    at_leaves, kernel = left_of(db), LeafCounts(routing)
    noisy = db.measure(kernel, at_leaves, site="leaves")
    counts = add_upwards(grove, leaf_counts(routing, noisy, kinds))
    leaves = add_upwards(grove, (routing.attribute < 0).astype(np.float64)[:, None])[:, 0]
    variance = noise_variance(kernel, db.schema, at_leaves)
    shares = pooled_shares(grove, counts, leaves * variance, classes.counts, classes.variance)
    model = TreeModel(schema=db.schema, made_by=made_by, epsilon=epsilon, routing=routing, shares=shares)
    return model, noisy.astype(np.float64).reshape(-1, kinds), variance
