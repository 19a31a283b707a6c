"""Greedy trees as deep as their rows and budget are worth, whose leaves fall back on their ancestors.

A column is cut in two, so that a level doubles the leaves, or split by its values, where that gains more than the noise
of the leaves it makes beyond two: both are candidates of one pick, the latter with a handicap. The class counts
of all rows are bought first: they say how deep a tree is worthwhile, by which utility it is split (Gini sees
splits that Max does not, at twice the noise; where rows are few, chance does as well as either, for nothing), and are
what leaves fall back on in the end. Leaf counts that noise could have made by itself are drawn towards the parent's
class shares (`noisy_tables`), so with next to no budget the tree is `Majority`, and with plenty its leaves stand for
themselves.

*Why it is private.* Three kinds of questions in turn, each answered by a mechanism: class counts, splits, leaf
counts. The depth, the utility, whether splits are random, and the handicap are computed from the noisy class counts and
public numbers. Splits get split_share of what the class counts leave over, a level of them its part of what is left of
that by a rule of public numbers and splits released before. The leaves of a tree whose splits are released get all that
is left then; so all of it costs epsilon, however many levels there are and wherever growing ends. A handicap is the
same for all tables, so it takes nothing from the pick's proof (`split_scores`). What is made of the counts afterwards
uses released and public numbers alone.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import ClassCounts, Classifier, class_counts, several_counts
from jostle.options.classification.noisy_tables import log_shares, noise_variance, pooled_shares, worthwhile_depth
from jostle.options.growing import (
    AtDepth,
    AtRandom,
    ByUtility,
    Frontier,
    Grove,
    NumericSplits,
    add_upwards,
    grow,
    leaf_counts,
    left_of,
    longest_path,
)
from jostle.options.models.kinds import BayesTreeModel, TreeModel
from jostle.parameters import choice, positive, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import Utility
from jostle.sites import Choice, Decision, choose
from jostle.tables.kernels import Counts
from jostle.tables.routes import LeafCounts, Routing
from jostle.tables.schema import Schema
from jostle.tasks.classification.model import Model

SPLITS = ("Max", "Gini", "random")
"""How a tree's splits may come about: the alternatives of the choice `splits`."""


FEW_CLASSES, LEAST_OF_MANY = 5, 3.0
"""Of more classes, the rows that a leaf is to have are fewer, in proportion; and the least that they become."""
EACH_CLASS = 200.0
"""But only where the mean class has so many rows times epsilon: of fewer, deep trees make more of noise."""


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


UNEVEN = 0.5
"""Below splits into many parts, leaves go on whose mean has so much of the rows that two parts are to share."""


@frozen(kw_only=True)
class OnWhatIsLeft:
    """Splits by utility, with what is left for splits shared by the levels that are still to come.

    A split by value makes more leaves than the two that the depth allows for: there are fewer levels to come below it,
    and these get more. Known of leaves is into how many parts released splits go, and that is public.
    """

    utility: Utility
    handicap: float
    rows: float
    least: float
    """The rows that a leaf of even splits is to have to be worth splitting in two."""
    levels: int
    """However many rows there are."""
    leaves: Fraction
    """What is kept for the leaves."""

    def goes_on(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.bool_]:
        """Which leaves are expected to have rows enough, if anything is left; the root goes on in any case."""
        if not grove.depth:
            return np.ones(len(frontier), dtype=np.bool_)
        worth = self.rows * grove.part[frontier.nodes] > self.least * UNEVEN
        return np.asarray(worth & (left_of(db) > self.leaves))

    def choose(self, db: Probe, grove: Grove, frontier: Frontier) -> NDArray[np.int64]:
        """The candidates picked."""
        halvings = math.ceil(math.log2(max(1.0, self.rows * float(grove.part[frontier.nodes].max()) / self.least)))
        to_come = max(1, min(self.levels - grove.depth, halvings))
        picks = (left_of(db) - self.leaves) / to_come
        return ByUtility(utility=self.utility, epsilon=picks, handicap=self.handicap).choose(db, grove, frontier)


@option
@frozen(kw_only=True)
class PooledTree(Classifier):
    """One greedy tree of a depth that fits, its leaves shrunk towards their ancestors."""

    version = 4

    least_rows: float = positive(10.0)
    """A tree is as deep as its mean leaf has so many rows, counted in scales of noise; but at least one level.

    Of more than `FEW_CLASSES` with `EACH_CLASS` rows times epsilon, fewer do, down to `LEAST_OF_MANY`: with fewer
    leaves than classes, a tree is wrong about all rows of some class.
    """
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
        kinds, least_rows = len(grove.schema.classes), self.least_rows
        if kinds > FEW_CLASSES and rows * float(epsilon) >= EACH_CLASS * kinds:
            least_rows = max(least_rows * FEW_CLASSES / kinds, min(least_rows, LEAST_OF_MANY))
        levels = min(worthwhile_depth(rows, float(epsilon), least_rows, deepest), longest)
        if not levels:
            return
        picks = rest * self.split_share
        utility: Utility = "Gini" if rule == "Gini" else "Max"
        growing = OnWhatIsLeft(
            utility=utility,
            handicap=self.handicap / float(rest - picks),
            rows=rows,
            least=2 * least_rows * (levels + 1) / float(epsilon),
            levels=levels,
            leaves=rest - picks,
        )
        grow(db, grove, levels, growing, growing, ask_at_end=False)


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


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

WEIGHTS = tuple(tenth / 10 for tenth in range(11))
AT_LEAST = 1.0
"""Rows that every class is given."""
SMALLEST = 1e-12


@option
@frozen(kw_only=True)
class PooledBayes(Classifier):
    """A greedy tree of a depth that fits, refined at its leaves by naive Bayes where that stands out of the noise.

    A pooled tree whose leaves are refined by naive Bayes, as far as the tables can be trusted.

    The tree (`PooledTree`) knows how the attributes it splits by work together; naive Bayes has a say of every
    attribute. A leaf is a box: a range of codes for each attribute. Under naive Bayes, P(class | codes) is P(class |
    box) times, for each attribute, P(code | class, range). The second factors come from tables of all rows, shrunk as
    `noisy_tables` says, and so does a first guess of P(class | box). What no table can know, the leaf counts tell:

    - Attributes that repeat each other count too often. The logarithms of what tables say are multiplied by a weight w,
      the one of `WEIGHTS` under which their P(class | box) fits the leaf counts best by log-likelihood.
    - Attributes that matter together are missed. How far the tables are wrong about boxes, beyond what noise and chance
      bring, is estimated from the leaf counts; the more they are wrong, the further P(class | box) is drawn from what
      the tables say towards what was counted. Where naive Bayes is right the leaves are its own; where not, the tree's.

    Tables are bought only where they are worth it: where the mean cell of a table has `least_scales` scales of noise.
    Where they are not, their part of the budget goes to splits and leaves, and what comes out is `PooledTree`'s model.

    *Why it is private.* Class counts, tables where they are bought, splits, and leaf counts are asked for in turn, each
    from a mechanism. Whether tables are bought, and the depth, follow from the noisy class counts; leaves are counted
    with what is left, so all of it costs epsilon, whatever was decided. Pooling, shrinking and w use released and
    public numbers.
    """

    version = 2

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
