"""A greedy tree as deep as its rows and budget are worth, whose leaves fall back on their ancestors.

Every column is cut in two, so that a level doubles the leaves and no more. The class counts of all rows are bought
first: they say how deep a tree is worthwhile, and are what leaves fall back on in the end. Leaf counts that noise could
have made by itself are drawn towards the parent's class shares (`noisy_numbers`), so with next to no budget the tree
is `Majority`, and with plenty its leaves stand for themselves.

*Why it is private.* Three kinds of questions in turn, each answered by a mechanism: class counts, splits, leaf
counts. The depth is computed from the noisy class counts. With d levels, a level's splits get split_share / d of
what the class counts leave over, and the leaves of a tree whose splits are released get the rest; so all of it costs
epsilon, whatever d is. What is made of the counts afterwards uses released and public numbers alone.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.classification.noisy_numbers import noise_variance, pooled_shares, worthwhile_depth
from jostle.options.growing.greedy import left_of
from jostle.options.growing.grove import Grove, NumericSplits, longest_path
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import add_upwards, leaf_counts
from jostle.options.growing.splitting import ByUtility
from jostle.options.growing.stopping import AtDepth
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, positive, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.routes import LeafCounts
from jostle.tables.schema import Schema

__all__ = ["PooledTree", "grown"]


@option
@frozen(kw_only=True)
class PooledTree(Classifier):
    """One greedy tree of a depth that fits, its leaves shrunk towards their ancestors."""

    least_rows: float = positive(10.0)
    """A tree is as deep as its mean leaf has so many rows, counted in scales of noise; but at least one level."""
    most_depth: int = whole(6, least=1)
    """However many rows there are."""
    numeric: NumericSplits = choice("ordered", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    classes_share: Fraction = share("1/10")
    """Part of the budget that buys the class counts of all rows."""
    split_share: Fraction = share("1/2")
    """Part of the rest that picks the splits."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Return the class counts, the splits of all levels together, and the leaves."""
        first = epsilon * self.classes_share
        rest = epsilon - first
        if not longest_path(schema, self.numeric):
            return in_turn([Laplace(first), Laplace(rest)])
        picks = rest * self.split_share
        return in_turn([Laplace(first), PermuteAndFlip(picks), Laplace(rest - picks)])

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """Return a tree."""
        schema, first = db.schema, epsilon * self.classes_share
        kernel = Counts.of(schema.label or "")
        classes = db.measure(kernel, first, site="classes").astype(np.float64)
        rows = max(1.0, float(classes.sum())) if db.rows is None else float(db.rows)
        levels = worthwhile_depth(rows, float(epsilon), self.least_rows, self.most_depth)
        model, _, _ = grown(
            db,
            Grove(schema, numeric=self.numeric),
            levels=min(levels, longest_path(schema, self.numeric)),
            picks=(epsilon - first) * self.split_share,
            classes=(classes, noise_variance(kernel, schema, first)),
            made_by=self.name,
            epsilon=epsilon,
        )
        return model


def grown(
    db: Probe,
    grove: Grove,
    *,
    levels: int,
    picks: Fraction,
    classes: tuple[NDArray[np.float64], float],
    made_by: str,
    epsilon: Fraction,
) -> tuple[TreeModel, NDArray[np.float64], float]:
    """Return a tree with pooled shares, its leaves' noisy counts, leaves by classes, and the variance of their noise.

    *picks* is the budget of all splits; leaves get what is left. *classes* are all rows' noisy class counts, and the
    variance of their noise.
    """
    if levels:
        grow(db, grove, levels, ByUtility(utility="Max", epsilon=picks / levels), AtDepth(), ask_at_end=False)
    routing, kinds = grove.routing(), len(db.schema.classes)
    at_leaves, kernel = left_of(db), LeafCounts(grove.routing())
    noisy = db.measure(kernel, at_leaves, site="leaves")
    counts = add_upwards(grove, leaf_counts(routing, noisy, kinds))
    leaves = add_upwards(grove, (routing.attribute < 0).astype(np.float64)[:, None])[:, 0]
    variance = noise_variance(kernel, db.schema, at_leaves)
    shares = pooled_shares(grove, counts, leaves * variance, *classes)
    model = TreeModel(schema=db.schema, made_by=made_by, epsilon=epsilon, routing=routing, shares=shares)
    return model, noisy.astype(np.float64).reshape(-1, kinds), variance
