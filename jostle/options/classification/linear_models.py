"""Linear models of the classes' log-odds, from noisy counts of attributes or noisy coefficients of the loss.

*FunctionalLogistic* puts noise on the coefficients of the loss, and none on its minimiser. Zhang, Zhang, Xiao, Yang,
Winslett. Functional mechanism: regression analysis under differential privacy. VLDB 2012. Near 0, log(1 + exp(-y z)) is
log 2 - y z / 2 + z**2 / 8. So of rows x with labels y = -1 or 1, the loss of the weights w is a polynomial whose
coefficients are sums over rows: of y x, and of the products of each two numbers in x. These are whole numbers here
(`Products`), noise is put on them, and what minimises the noisy polynomial is computed from released numbers. Its claim
is that of a tally, exactly: nothing hangs on how well a minimiser in floating point does.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import ClassCounts, Classifier, class_counts, several_counts
from jostle.options.classification.noisy_tables import (
    SmoothedTable,
    attribute_weights,
    averaged,
    groups_of,
    noise_variance,
    smoothed_tables,
    thresholds,
)
from jostle.options.models.kinds import AdditiveModel, Term
from jostle.parameters import positive, share, whole
from jostle.privacy.amounts import show_amount
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.expressions import along, sums, total
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.nodes import Expression
from jostle.privacy.noise import LARGEST_SCALE
from jostle.privacy.picks import PickLargest
from jostle.privacy.probe import Probe
from jostle.tables.columns import Numeric
from jostle.tables.kernels import Counts
from jostle.tables.number_kernels import Products
from jostle.tables.pools import Layer, Stack
from jostle.tables.schema import Schema

Floats = NDArray[np.float64]

SPARED = 0.5
"""Picking costs more than it gains where it leaves out less than the rest of the attributes."""
BESIDE_CLASSES = 2
"""Rows of so many classes more are asked for each attribute: of two classes, few rows would let too many be heard."""
PICKED_BY = 4
"""Groups that values are put together into, in their order, for picking: many values look dependent by chance."""
WEIGHT = 1000
"""What a row of the rarest class counts, where all classes are to count alike."""
AT_LEAST = 0.5
"""Rows that every class is given."""
SMALLEST = 1e-9


@option
@frozen(kw_only=True)
class MarginalRegression(Classifier):
    """Smoothed naive Bayes on as many attributes as can be heard, weighted by counts of pairs where rows are many.

    A linear model of all classes' log-odds, fitted to noisy counts of single attributes and of pairs of them.

    What a regression needs to know of the rows is how each attribute goes with the label, and how attributes go with
    each other. Both are in tallies of few columns, which have little noise; all else is computed from these:

    - Class counts, bought unless they are known well enough, say how many rows there are, and so how many attributes
      can be heard. Where that is not all of them, some are picked by which the label is best told, all classes counting
      alike.
    - Counts by value and class of these attributes, smoothed (`smoothed_tables`), say how values speak for classes. By
      themselves they make naive Bayes.
    - Where rows are many, counts by pairs of values, put together into few groups, say how far attributes repeat each
      other. By them each attribute gets a weight (`attribute_weights`).

    *Why it is private.* Class counts, picks, counts by value and class, and counts of pairs are asked for in turn, each
    from a mechanism. How many attributes are picked, whether and which pairs are counted, and what the groups are, is
    computed from what was released before and from public numbers, and what is not spent on one of them goes to the
    others; so all of it costs epsilon, whatever the table. Smoothing and weights use released and public numbers.
    """

    version = 2

    least_rows: float = positive(24.0)
    """For each class, and two more, so many rows times epsilon let one more attribute be heard."""
    pairs_from: float = positive(1000.0)
    """Pairs are counted where rows * epsilon is at least this."""
    sure: float = positive(30.0)
    """As many attributes are paired as leave each correlation with noise of 1 / sure."""
    groups: int = whole(3, least=2)
    """Of values of an attribute, in counts of pairs."""
    classes_share: Fraction = share("1/20")
    """Part of the budget that buys the class counts of all rows."""
    pick_share: Fraction = share("7/20")
    """Part of the rest that picks attributes, where not all can be heard."""
    pair_share: Fraction = share("1/4")
    """Part of what then is left that buys counts of pairs, where rows are many."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The class counts, the picks, the counts by value and the pairs; what one does not take, others do."""
        first = epsilon * self.classes_share
        if not schema.attributes:
            return in_turn([Laplace(first), Laplace(epsilon - first)])
        picks = (epsilon - first) * self.pick_share
        pairs = (epsilon - first - picks) * self.pair_share
        return in_turn(
            [Laplace(first), PermuteAndFlip(picks), Laplace(pairs), Laplace(epsilon - first - picks - pairs)]
        )

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """Log-odds per value of the attributes that are heard."""
        schema = db.schema
        known = class_counts(db, epsilon * self.classes_share)
        rest = epsilon - known.cost
        rows = max(1.0, float(known.counts.sum())) if db.rows is None else float(db.rows)
        names, rest = self._heard(db, rows, rest, known)
        paired = self._paired(rows, rest, len(names))
        at_pairs = rest * self.pair_share if paired else Fraction(0)
        said = _said(db, names, known, rest - at_pairs)
        weights = self._weights(db, said, paired, at_pairs) if paired else np.ones(len(names))
        terms = tuple(
            Term((name,), weight * table.lifts) for name, weight, table in zip(names, weights, said.tables, strict=True)
        )
        start = np.log(said.share) - thresholds(said.tables, weights, said.share)
        return AdditiveModel(schema=schema, made_by=self.name, epsilon=epsilon, start=start, terms=terms)

    def _heard(self, db: Probe, rows: float, rest: Fraction, classes: ClassCounts) -> tuple[tuple[str, ...], Fraction]:
        """The attributes that are heard, in order, and what is left of the budget."""
        schema = db.schema
        names = schema.attributes
        number = max(1, int(rows * float(rest) / (self.least_rows * (len(schema.classes) + BESIDE_CLASSES))))
        if number >= SPARED * len(names):
            return names, rest
        left, each = list(names), rest * self.pick_share / number
        weights = _balanced(classes)
        for _ in range(number):
            rules = PickLargest([_rule(schema, name, weights) for name in left])
            left.pop(db.perform(rules, each, site="attribute"))
        return tuple(name for name in names if name not in left), rest - rest * self.pick_share

    def _paired(self, rows: float, rest: Fraction, attributes: int) -> int:
        """How many attributes are paired, or 0."""
        if rows * float(rest) < self.pairs_from:
            return 0
        # A correlation's noise has about the deviation sqrt(2) * groups * scale / rows, the scale that of all pairs.
        most = rows * float(rest * self.pair_share) / (math.sqrt(2) * self.groups * self.sure)
        number = min(attributes, int((1 + math.sqrt(1 + 8 * most)) / 2))
        return number if number > 1 else 0

    def _weights(self, db: Probe, said: _Said, paired: int, epsilon: Fraction) -> Floats:
        """The weights of all attributes: those that say most are paired, the others get the mean of these."""
        best = np.sort(np.argsort(-said.information, kind="stable")[:paired])
        tables = [said.tables[place] for place in best]
        groups = [groups_of(table, self.groups) for table in tables]
        sides = [(said.names[place], tuple(group.tolist())) for place, group in zip(best, groups, strict=True)]
        kernel = Stack([Layer((one, other), (group, to)) for (one, group), (other, to) in combinations(sides, 2)])
        counted = db.measure(kernel, epsilon, site="pairs").astype(np.float64)
        own = attribute_weights(tables, groups, counted, noise_variance(kernel, db.schema, epsilon), said.share)
        heard = said.information[best] + SMALLEST
        weights = np.full(len(said.names), min(1.0, float((own * heard).sum() / heard.sum())))
        weights[best] = own
        return weights


@frozen(eq=False)
class _Said:
    """What attributes' values say of classes."""

    names: tuple[str, ...]
    share: Floats
    """Of each class among all rows."""
    tables: list[SmoothedTable]

    @property
    def information(self) -> Floats:
        """How much each attribute tells of the class, in nats."""
        return np.array([float((table.shares * self.share * table.lifts).sum()) for table in self.tables])


def _said(db: Probe, names: tuple[str, ...], classes: ClassCounts, epsilon: Fraction) -> _Said:
    """What attributes' values say, counted with all of *epsilon*; without attributes, classes are counted again."""
    schema, label = db.schema, db.schema.label or ""
    if not names:
        again = class_counts(db, epsilon, always=True)
        totals = np.maximum(again.counts, 0) + AT_LEAST
        return _Said(names, totals / totals.sum(), [])
    tables = Counts([(name, label) for name in names])
    found, variance = several_counts(db, tables, epsilon, site="values")
    counts = found.reshape(-1, len(schema.classes))
    # Every attribute's table adds up to the class counts as well, with the noise of all of its values.
    mean, spread = counts.sum(axis=0) / len(names), variance * len(counts) / len(names) ** 2
    totals = np.maximum(averaged(classes.counts, classes.variance, mean, spread), 0) + AT_LEAST
    sizes = np.array([schema[name].size for name in names], dtype=np.int64)
    return _Said(names, totals / totals.sum(), smoothed_tables(counts, variance, totals, sizes))


def _balanced(classes: ClassCounts) -> tuple[int, ...]:
    """The weight of a row of each class, so that all classes count alike; of the rarest one, `WEIGHT`.

    Each counts as one deviation of the noise more than was released: what noise took most of is not the rarest.
    """
    counts = np.maximum(classes.counts, 0) + math.sqrt(classes.variance)
    rows = np.maximum(counts, 1 + counts.max() / WEIGHT)
    return tuple(np.rint(WEIGHT * rows.min() / rows).astype(np.int64).tolist())


def _rule(schema: Schema, name: str, weights: tuple[int, ...]) -> Expression:
    """How many rows the best rule from an attribute to the label gets right, counted by weight."""
    label = schema.label or ""
    counts = sums(label, weights, WEIGHT, (name, label))
    size = schema[name].size
    groups = [code * PICKED_BY // size for code in range(size)]
    return total(along(counts.coarsened({name: groups}) if size > PICKED_BY else counts, "max", 1))


Integers = NDArray[np.int64]

UNIT = 2**10
"""Numbers in x are multiples of 1/UNIT, from -1 to 1."""
MOST_FEATURES = 2000
"""A table of so many by so many sums is solved in seconds."""


@option
@frozen(kw_only=True)
class FunctionalLogistic(Classifier):
    """Logistic regression from noisy sums of products; of more than two classes, each against the others.

    All classes share the products, and a row adds to the sums of its own class alone, so many cost what two do. A
    column of numbers is one feature, where its bin lies; a column of values is one each, or one if there are two.

    Privacy: one tally (`AddNoise` on `Products`, which says how much a row adds), under add_remove and replace_one. The
    schema bounds every number, so that no norm has to be clipped. The penalty hangs on public facts and epsilon alone.
    """

    penalty: float = positive(1.0)
    """What is added to the diagonal, in units of how far noise moves the eigenvalues of the products."""
    paper = "Zhang, Zhang, Xiao, Yang, Winslett, VLDB 2012"

    def refuses(self, schema: Schema) -> str | None:
        """The reason why this cannot run: no label, or more features than are multiplied; or None."""
        if reason := super().refuses(schema):
            return reason
        count = sum(own.shape[1] for own in self._numbers(schema).values())
        if count > MOST_FEATURES:
            return f"{count:,} features are more than the {MOST_FEATURES:,} that are multiplied with each other"
        return None

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        """The reason why nothing can come of so little budget: noise of more than is drawn on each sum; or None."""
        if sensitivity(_kernel(self._numbers(schema)), schema) / epsilon > LARGEST_SCALE:
            return f"epsilon {show_amount(epsilon)} is too little for sums of products"
        return None

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """One tally."""
        return Laplace(epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """A model from the noisy sums."""
        sums = NoisySums.of(db, self._numbers(db.schema), epsilon)
        return _model(db.schema, sums.columns, sums.weights(self.penalty), self.name, epsilon)

    def _numbers(self, schema: Schema) -> dict[str, Integers]:
        return {name: numbers for name in schema.attributes if (numbers := _numbers_of(schema, name)).any()}


def _kernel(numbers: dict[str, Integers]) -> Products:
    return Products(tuple(numbers), tuple(numbers.values()), UNIT)


@frozen(eq=False, repr=False)
class NoisySums:
    """Released sums, as numbers in x are."""

    columns: dict[str, Integers]
    products: Floats
    """Of each two features; the first is 1 in every row."""
    by_class: Floats
    """Classes by features."""
    noise: float
    """The scale of the noise on each."""

    @classmethod
    def of(cls, db: Probe, numbers: dict[str, Integers], epsilon: Fraction) -> NoisySums:
        """What is bought with epsilon."""
        schema = db.schema
        kernel = _kernel(numbers)
        noisy = db.measure(kernel, epsilon, site="products") / UNIT**2
        features = kernel.features
        pairs = features * (features + 1) // 2
        by_class = noisy[pairs:].reshape(-1, 1 + features)
        products = np.zeros((1 + features, 1 + features))
        upper = np.triu_indices(features)
        products[1:, 1:][upper] = noisy[:pairs]
        products[1:, 1:].T[upper] = noisy[:pairs]
        products[0], products[:, 0] = by_class.sum(axis=0), by_class.sum(axis=0)
        return cls(numbers, products, by_class, sensitivity(kernel, schema) / UNIT**2 / float(epsilon))

    def weights(self, penalty: float) -> Floats:
        """Features by classes: what minimises the noisy loss of each class against the others, and a penalty.

        Noise may leave products of no rows at all, with eigenvalues below 0: these count as 0.
        """
        values, vectors = np.linalg.eigh(self.products)
        # A symmetric matrix of such noise has eigenvalues of up to about so much.
        spread = self.noise * math.sqrt(8 * len(values))
        inverse = (vectors / (np.maximum(values, 0.0) + penalty * spread)) @ vectors.T
        against = 2 * self.by_class - self.by_class.sum(axis=0)
        found: Floats = 2 * inverse @ against.T
        return found


def _numbers_of(schema: Schema, name: str) -> Integers:
    """A column's codes by its features."""
    column = schema[name]
    if isinstance(column, Numeric):
        found = np.zeros((column.size, 1), dtype=np.int64)
        places = (2 * np.arange(column.bin_count) + 1) * UNIT // column.bin_count - UNIT
        found[: column.bin_count, 0] = places
        return found
    if column.size == 2:
        return np.array([[-UNIT], [UNIT]], dtype=np.int64)
    return np.eye(column.size, dtype=np.int64) * UNIT if column.size > 1 else np.zeros((1, 1), dtype=np.int64)


def _model(
    schema: Schema, columns: dict[str, Integers], weights: Floats, made_by: str, epsilon: Fraction
) -> AdditiveModel:
    """A model whose classes' log-odds are the regressions'; of two, half of them for and half against."""
    halved = weights / 2 if weights.shape[1] == 2 else weights
    terms, place = [], 1
    for name, own in columns.items():
        terms.append(Term((name,), (own / UNIT) @ halved[place : place + own.shape[1]]))
        place += own.shape[1]
    return AdditiveModel(schema=schema, made_by=made_by, epsilon=epsilon, start=halved[0], terms=tuple(terms))
