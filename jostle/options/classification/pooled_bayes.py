"""A pooled tree whose leaves are refined by naive Bayes, as far as the tables can be trusted.

The tree (`PooledTree`) knows how the attributes it splits by work together; naive Bayes has a say of every attribute.
A leaf is a box: a range of codes for each attribute. Under naive Bayes, P(class | codes) is P(class | box) times, for
each attribute, P(code | class, range). The second factors come from tables of all rows, shrunk as `shrunk_tables` says,
and so does a first guess of P(class | box). What no table can know, the leaf counts tell:

- Attributes that repeat each other count too often. The logarithms of what tables say are multiplied by a weight w, the
  one of `WEIGHTS` under which their P(class | box) fits the leaf counts best by log-likelihood.
- Attributes that matter together are missed. How far the tables are wrong about boxes, beyond what noise and chance
  bring, is estimated from the leaf counts; the more they are wrong, the further P(class | box) is drawn from what the
  tables say towards what was counted. Where naive Bayes is right the leaves are its own; where not, the tree's.

Tables are bought only where they are worth it: where the mean cell of a table has `least_scales` scales of noise.
Where they are not, their part of the budget goes to splits and leaves, and what comes out is `PooledTree`'s model.

*Why it is private.* Class counts, tables where they are bought, splits, and leaf counts are asked for in turn, each
from a mechanism. Whether tables are bought, and the depth, follow from the noisy class counts; leaves are counted
with what is left, so all of it costs epsilon, whatever was decided. Pooling, shrinking and w use released and public
numbers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.classification.looks import class_counts, several_counts
from jostle.options.classification.noisy_numbers import worthwhile_depth
from jostle.options.classification.pooled_tree import pooled
from jostle.options.classification.shrunk_tables import log_shares
from jostle.options.growing.grove import Grove, longest_path
from jostle.options.growing.grow import grow
from jostle.options.growing.splitting import ByUtility
from jostle.options.growing.stopping import AtDepth
from jostle.options.models.bayes_tree import BayesTreeModel
from jostle.parameters import positive, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts
from jostle.tables.routes import Routing
from jostle.tables.schema import Schema
from jostle.tasks.classification.model import Model

__all__ = ["PooledBayes"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

WEIGHTS = tuple(tenth / 10 for tenth in range(11))
AT_LEAST = 1.0
"""Rows that every class is given."""
SMALLEST = 1e-12


@option
@frozen(kw_only=True)
class PooledBayes(Classifier):
    """A greedy tree of a depth that fits, refined at its leaves by naive Bayes where that stands out of the noise."""

    least_rows: float = positive(10.0)
    """A tree is as deep as its mean leaf has so many rows, counted in scales of noise; but at least one level."""
    most_depth: int = whole(6, least=1)
    """However many rows there are."""
    least_scales: float = positive(2.0)
    """Tables are bought where their mean cell has so many rows, counted in scales of noise."""
    classes_share: Fraction = share("1/10")
    """Part of the budget that buys the class counts of all rows."""
    tables_share: Fraction = share("1/2")
    """Part of the rest that buys the tables, where they are bought."""
    split_share: Fraction = share("1/2")
    """Part of what then is left that picks the splits."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The class counts, the splits of all levels together, and the tables and leaves, which share the rest.

        Without tables, their part is split between the splits and the leaves: the sum stays the same.
        """
        first = epsilon * self.classes_share
        tables = (epsilon - first) * self.tables_share
        rest = epsilon - first - tables
        if not longest_path(schema, "ordered"):
            return in_turn([Laplace(first), Laplace(tables), Laplace(rest)])
        picks = rest * self.split_share
        return in_turn([Laplace(first), Laplace(tables), PermuteAndFlip(picks), Laplace(rest - picks)])

    def run(self, db: Probe, epsilon: Fraction) -> Model:
        """A tree, with naive Bayes models at its leaves where tables were bought."""
        schema, first = db.schema, epsilon * self.classes_share
        label, kinds = schema.label or "", len(schema.classes)
        classes = class_counts(db, first)
        rows = max(1.0, float(classes.counts.sum())) if db.rows is None else float(db.rows)
        sizes = np.array([schema[name].size for name in schema.attributes], dtype=np.int64)
        rest = epsilon - classes.cost
        at_tables = rest * self.tables_share
        tables = Counts([(name, label) for name in schema.attributes])
        bought, variance = None, 0.0
        if len(sizes) and rows / (float(sizes.mean()) * kinds) * float(at_tables) >= self.least_scales * len(sizes):
            counts, variance = several_counts(db, tables, at_tables, site="values")
            bought = counts.reshape(-1, kinds)
            rest -= at_tables
        grove = Grove(schema, numeric="ordered", leaf_cells=int(sizes.sum()) * kinds)
        levels = min(
            worthwhile_depth(rows, float(epsilon), self.least_rows, self.most_depth), longest_path(schema, "ordered")
        )
        if levels:
            splitting = ByUtility(utility="Max", epsilon=rest * self.split_share / levels)
            grow(db, grove, levels, splitting, AtDepth(), ask_at_end=False)
        tree, counted, noise = pooled(db, grove, classes=classes, made_by=self.name, epsilon=epsilon)
        if bought is None:
            return tree
        logs = log_shares(bought, variance, np.maximum(classes.counts, 0) + AT_LEAST, sizes)
        within, boxes = _in_boxes(logs, sizes, *_ranges(tree.routing, sizes))
        weight, said = _fitting_weight(np.log(np.maximum(tree.shares[0], SMALLEST)), boxes, counted)
        return BayesTreeModel(
            schema=schema,
            made_by=self.name,
            epsilon=epsilon,
            tree=tree,
            start=np.log(np.maximum(_drawn(counted, noise, said), SMALLEST)),
            weights=weight * within,
        )


def _drawn(counted: Floats, noise: float, said: Floats) -> Floats:
    """The leaves' class shares, drawn from the noisy counts towards what the tables say of each box.

    How far the tables are wrong is estimated: the squared distance between counts and tables, less what noise and
    chance are expected to bring, in terms of the greatest variance that shares can have.
    """
    rows = np.maximum(counted.sum(axis=1, keepdims=True), 0) + 1
    spread = said * (1 - said) + SMALLEST
    apart = counted - rows * said
    unsure = noise + rows * spread
    wrong = float((apart**2 - unsure).sum() / (rows**2 * spread).sum())
    signal = min(max(wrong, 0.0), 1.0) * rows**2 * spread
    found = np.maximum(rows * said + signal / (signal + unsure) * apart, 0) + said / 100
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _ranges(routing: Routing, sizes: Integers) -> tuple[Integers, Integers]:
    """The codes each leaf has of each attribute: low <= code < high. Every split cuts a range in two."""
    nodes = len(routing.attribute)
    low, high = np.zeros((nodes, len(sizes)), dtype=np.int64), np.tile(sizes, (nodes, 1))
    for node in np.flatnonzero(routing.attribute >= 0):
        column, first = int(routing.attribute[node]), int(routing.first[node])
        begin, end = int(low[node, column]), int(high[node, column])
        children = routing.children[first + begin : first + end]
        cut = begin + int(np.argmax(children != children[0]))
        for child in (children[0], children[-1]):
            low[child], high[child] = low[node], high[node]
        high[children[0], column] = cut
        low[children[-1], column] = cut
    return low[routing.leaves], high[routing.leaves]


def _in_boxes(logs: Floats, sizes: Integers, low: Integers, high: Integers) -> tuple[Floats, Floats]:
    """The logarithms of P(code | class, the leaf's range), leaves by values by classes, and of P(box | class)."""
    starts = np.cumsum(sizes) - sizes
    running = np.concatenate([np.zeros((1, logs.shape[1])), np.cumsum(np.exp(logs), axis=0)])
    masses = np.log(np.maximum(running[starts + high] - running[starts + low], SMALLEST))
    which = np.repeat(np.arange(len(sizes)), sizes)
    return logs - masses[:, which], np.asarray(masses.sum(axis=1))


def _fitting_weight(start: Floats, boxes: Floats, counted: Floats) -> tuple[float, Floats]:
    """The weight under which class shares from the tables make the leaf counts likeliest, and these shares.

    The log-likelihood is linear in the counts, so noise, whose mean is 0, does not favour any weight.
    """
    odds = start + np.array(WEIGHTS)[:, None, None] * boxes
    odds -= np.logaddexp.reduce(odds, axis=2, keepdims=True)
    best = int(np.argmax((odds * counted).sum(axis=(1, 2))))
    return WEIGHTS[best], np.exp(odds[best])
