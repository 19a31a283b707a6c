"""Areas under the curve of logistic regressions on rows, on private models, and on published rows, fold by fold.

As in Vinterbo's figures 1 and 2: ten-fold stratified cross-validation of public tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from numpy.typing import NDArray

from jostle.figures.linear import LinearFeatures, fitted_or_label, linear_chances, published_features
from jostle.options import get
from jostle.options.publishing.projected_histogram import ProjectedHistogram
from jostle.privacy.opening import rehearse
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tables.unlabeled import attribute_codes, label_codes
from jostle.tasks.classification.losses import one_less_auc

__all__ = [
    "FOLDS",
    "PLAIN",
    "PUBLISHED",
    "SWEPT",
    "FoldRows",
    "FoundArea",
    "TableAreas",
    "estimated_plan",
    "folds_of",
    "private_model",
    "swept_ways",
]

FOLDS = 10
ITERATIONS = 300
"""Of logistic regression, as scikit-learn counts them."""
PLAIN = "OLR"
"""The way that sees the rows, without noise."""
PUBLISHED = "epsilon=1"
"""The way of published rows where nothing is swept."""
SWEPT = {
    "epsilon": ("0.1", "0.3", "1", "3", "10"),
    "k": ("1", "2", "3", "4", "6"),
    "gamma": ("1/10", "1/4", "1/2", "3/4", "9/10"),
}
"""The parameters of `ProjectedHistogram` that are swept one at a time, the others as it estimates them."""


@frozen
class FoundArea:
    """The area under the curve on a fold, and how many attributes were published for it; None where rows are not."""

    area: float
    k: int | None = None


@frozen(eq=False)
class TableAreas:
    """What was found of a public table."""

    binary: bool
    areas: Mapping[str, Sequence[float]]
    """Of each way, in the order of folds."""
    estimated: Mapping[str, float]
    """What `ProjectedHistogram` estimates of k and gamma at epsilon 1."""

    @property
    def model(self) -> str:
        """The private regression that published rows are held against."""
        return private_model(binary=self.binary)


@frozen(eq=False)
class FoldRows:
    """The rows that are learned from in a fold, and those that are tested on, all of them public."""

    number: int
    schema: Schema
    learned: pa.Table
    tested: pa.Table

    def area(self, way: str) -> FoundArea:
        """The area of a way: `OLR`, an Option that gives a model, or published rows with epsilon, k or gamma given."""
        swept, _, value = way.partition("=")
        if way == PLAIN:
            return self._plain()
        if swept == "epsilon":
            return self._published("ProjectedHistogram", value)
        return self._published(f"ProjectedHistogram({way})", "1") if value else self._private(way)

    def _plain(self) -> FoundArea:
        features = LinearFeatures.of_schema(self.schema)
        seen = features.of_codes(attribute_codes(self.learned, self.schema))
        fitted = _regression().fit(seen, label_codes(self.learned, self.schema))
        return self._found(linear_chances(fitted, features.of_codes(self._asked()), len(self.schema.classes)))

    def _private(self, option: str) -> FoundArea:
        model: Any = get(option)(rehearse(self._table(), epsilon=1, seed=self.number), epsilon=1)
        return self._found(model.chances(self._asked()))

    def _published(self, option: str, epsilon: str) -> FoundArea:
        found: Any = get(option)(rehearse(self._table(), epsilon=epsilon, seed=self.number), epsilon=epsilon)
        features, seen, labels = published_features(found)
        fitted = fitted_or_label(_regression(), seen, labels, found.counts)
        given = linear_chances(fitted, features.of_codes(self._asked()), len(self.schema.classes))
        return self._found(given, len(found.columns) - 1)

    def _asked(self) -> NDArray[np.int64]:
        return attribute_codes(self.tested, self.schema)

    def _table(self) -> Table:
        return Table.from_frame(self.learned, self.schema)

    def _found(self, chances: Any, k: int | None = None) -> FoundArea:
        return FoundArea(float(1 - one_less_auc(label_codes(self.tested, self.schema), chances)), k)


def folds_of(rows: pa.Table, schema: Schema, wanted: int = FOLDS) -> Iterator[FoldRows]:
    """Yield the first so many of the ten folds, each with the same share of every class."""
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415 - takes a second to import

    labels = rows[str(schema.label)].to_pylist()
    cut = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(labels)), labels)
    for number, (learned, tested) in enumerate(islice(cut, wanted)):
        yield FoldRows(number, schema, rows.take(learned), rows.take(tested))


def private_model(*, binary: bool) -> str:
    """The Option for a private regression of two classes, or of several."""
    return "PrivateLogistic" if binary else "PMLR"


def swept_ways(schema: Schema) -> list[str]:
    """The ways of published rows, but for more attributes than there are."""
    ways = [(swept, value) for swept, values in SWEPT.items() for value in values]
    return [f"{swept}={value}" for swept, value in ways if swept != "k" or int(value) <= len(schema.attributes)]


def estimated_plan(schema: Schema, rows: int) -> dict[str, float]:
    """What the paper's rules estimate at epsilon 1 for the rows that a fold learns from."""
    option, learned = ProjectedHistogram(), rows * (FOLDS - 1) // FOLDS
    bins, k = option.plan(schema, Fraction(1), learned)
    return {"k": k, "gamma": float(option.share_of_histogram(schema, learned, k, bins))}


def _regression() -> Any:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - takes a second to import

    return LogisticRegression(max_iter=ITERATIONS)
