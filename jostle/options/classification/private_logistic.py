"""Logistic regression by the functional mechanism: noise on the coefficients of the loss, and none on its minimiser.

Zhang, Zhang, Xiao, Yang, Winslett. Functional mechanism: regression analysis under differential privacy. VLDB 2012.
Near 0, log(1 + exp(-y z)) is log 2 - y z / 2 + z**2 / 8. So of rows x with labels y = -1 or 1, the loss of the weights
w is a polynomial whose coefficients are sums over rows: of y x, and of the products of each two numbers in x. These are
whole numbers here (`Products`), noise is put on them, and what minimises the noisy polynomial is computed from released
numbers. Its claim is that of a tally, exactly: nothing hangs on how well a minimiser in floating point does.

The papers that this is held against (PLR, PMLR: Chaudhuri, Monteleoni, Sarwate, JMLR 2011) perturb the objective, which
is proved for a noise vector and a minimiser that are real numbers; docs/options/classification.md says what is missing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.models.additive import AdditiveModel, Term
from jostle.parameters import positive
from jostle.privacy.amounts import show_amount
from jostle.privacy.events import Event, Laplace, Repeated
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.noise import LARGEST_SCALE
from jostle.privacy.probe import Probe
from jostle.tables.columns import Numeric
from jostle.tables.products import Products
from jostle.tables.schema import Schema

__all__ = ["PMLR", "PrivateLogistic"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

UNIT = 2**10
"""Numbers in x are multiples of 1/UNIT, from -1 to 1."""
MOST_FEATURES = 2000
"""A table of so many by so many sums is solved in seconds."""


class Regression(Classifier):
    """What the two have in common."""

    def refuses(self, schema: Schema) -> str | None:
        """The reason why this cannot run: no label, or more features than are multiplied; or None."""
        if reason := super().refuses(schema):
            return reason
        count = sum(own.shape[1] for own in self._numbers(schema).values())
        if count > MOST_FEATURES:
            return f"{count:,} features are more than the {MOST_FEATURES:,} that are multiplied with each other"
        return None

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:  # noqa: ARG002 - any are few
        """The reason why nothing can come of so little budget: noise of more than is drawn on each sum; or None."""
        most = sensitivity(_kernel(self._numbers(schema)), schema) * self.tallies(schema) / epsilon
        if most > LARGEST_SCALE:
            return f"epsilon {show_amount(epsilon)} is too little for sums of products"
        return None

    @abstractmethod
    def tallies(self, schema: Schema) -> int:
        """How many tallies share epsilon."""

    def _numbers(self, schema: Schema) -> dict[str, Integers]:
        return {name: numbers for name in schema.attributes if (numbers := _numbers_of(schema, name)).any()}


@option
@frozen(kw_only=True)
class PrivateLogistic(Regression):
    """Logistic regression from noisy sums of products; of more than two classes, each against the others.

    All classes share the products, and a row adds to the sums of its own class alone, so many cost what two do. A
    column of numbers is one feature, where its bin lies; a column of values is one each, or one if there are two.

    Privacy: one tally (`AddNoise` on `Products`, which says how much a row adds), under add_remove and replace_one. The
    schema bounds every number, so that no norm has to be clipped. The penalty hangs on public facts and epsilon alone.
    """

    penalty: float = positive(1.0)
    """What is added to the diagonal, in units of how far noise moves the eigenvalues of the products."""
    paper = "Zhang, Zhang, Xiao, Yang, Winslett, VLDB 2012"

    def tallies(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """One, for all classes."""
        return 1

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One tally."""
        return Laplace(epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """A model from the noisy sums."""
        sums = NoisySums.of(db, self._numbers(db.schema), epsilon, "products")
        return _model(db.schema, sums.columns, sums.weights(self.penalty), self.name, epsilon)


@option
@frozen(kw_only=True)
class PMLR(Regression):
    """A private logistic regression for each class, each paid for by itself, as Vinterbo's comparator of this name.

    Privacy: a tally for each class, as `PrivateLogistic` has one for all of them, each at its part of epsilon. Where
    there are two classes, one regression is enough.
    """

    penalty: float = positive(1.0)
    """As in `PrivateLogistic`."""
    paper = "Vinterbo, ECML PKDD 2012; Zhang, Zhang, Xiao, Yang, Winslett, VLDB 2012"

    def tallies(self, schema: Schema) -> int:
        """One for each class, or one where there are two."""
        return len(schema.classes) if len(schema.classes) > 2 else 1

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """A tally for each class."""
        count = self.tallies(schema)
        return Repeated(Laplace(epsilon / count), count)

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """A model of all regressions."""
        schema, numbers = db.schema, self._numbers(db.schema)
        count = self.tallies(schema)
        found = [NoisySums.of(db, numbers, epsilon / count, f"class {place + 1}") for place in range(count)]
        if count == 1:
            weights = found[0].weights(self.penalty)
        else:
            weights = np.stack([each.weights(self.penalty)[:, place] for place, each in enumerate(found)], axis=1)
        return _model(schema, found[0].columns, weights, self.name, epsilon)


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
    def of(cls, db: Probe, numbers: dict[str, Integers], epsilon: Fraction, site: str) -> NoisySums:
        """What is bought with epsilon."""
        schema = db.schema
        kernel = _kernel(numbers)
        noisy = db.measure(kernel, epsilon, site=site) / UNIT**2
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
