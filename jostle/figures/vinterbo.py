"""How well logistic regressions do on published rows: the comparison of Vinterbo (2012).

His figures 1 and 2 (ECML PKDD): areas under the curve of models on rows, of private models, and of models on published
rows, by ten-fold stratified cross-validation of public tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicTable
from jostle.errors import ChoiceError, FewRowsWarning
from jostle.figures.sources import Wanted, found_tables
from jostle.options import get
from jostle.options.publishing.projected_histogram import ProjectedHistogram
from jostle.privacy.opening import rehearse
from jostle.progress import stage
from jostle.tables.attributes import attribute_codes, label_codes
from jostle.tables.columns import Numeric
from jostle.tables.infer import infer_public
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks.answers import new_figure
from jostle.tasks.classification.instances import one_less_auc
from jostle.tasks.publishing import Published

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]


@frozen(eq=False)
class LinearFeatures:
    """Features of rows: how far up a number is, and one place for each group of a category.

    All of it is computed from public rows or from published ones, which cost nothing more.
    """

    schema: Schema
    groups: Mapping[str, Integers]
    """Of each attribute that is looked at, the group of each code."""

    @classmethod
    def of_schema(cls, schema: Schema) -> LinearFeatures:
        """Of all attributes, each value a group by itself."""
        return cls(schema, {name: np.arange(schema[name].size) for name in schema.attributes})

    def of(self, grouped: Mapping[str, Integers]) -> Floats:
        """The features of rows that are given by groups."""
        parts: list[Floats] = [np.zeros((len(next(iter(grouped.values()))), 1))] if grouped else []
        for name, own in self.groups.items():
            count = int(own.max()) + 1
            if isinstance(self.schema[name], Numeric):
                place = (
                    np.bincount(own, np.arange(len(own)) + 0.5, count) / np.bincount(own, minlength=count) / len(own)
                )
                parts.append(4 * place[grouped[name]][:, None] - 2)
            else:
                parts.append(np.eye(count)[grouped[name]])
        return np.hstack(parts)

    def of_codes(self, codes: Integers) -> Floats:
        """The features of rows of codes, one for each of the schema's attributes."""
        if not self.groups:  # nothing was published but labels
            return np.zeros((len(codes), 1))
        places = {name: index for index, name in enumerate(self.schema.attributes)}
        return self.of({name: own[codes[:, places[name]]] for name, own in self.groups.items()})


def published_features(published: Published) -> tuple[LinearFeatures, Floats, Integers]:
    """How features of published rows are made, those features, and the rows' labels."""
    attributes = [column for column in published.columns if column.name != published.schema.label]
    features = LinearFeatures(published.schema, {column.name: column.groups for column in attributes})
    grouped = {column.name: published.cells[:, published.names.index(column.name)] for column in attributes}
    label = published.cells[:, published.names.index(str(published.schema.label))]
    return features, features.of(grouped) if grouped else np.zeros((len(label), 1)), label


def fitted_or_label(classifier: Any, features: Floats, labels: Integers, weights: Integers | None) -> Any:
    """A fitted classifier, or the one label that there is."""
    if len(np.unique(labels)) < 2:
        return int(labels[0]) if len(labels) else 0
    return classifier.fit(features, labels, sample_weight=weights)


def linear_chances(fitted: Any, features: Floats, classes: int) -> Floats:
    """The chance of each class, by a classifier or by the one label that there was."""
    found = np.zeros((len(features), classes))
    if isinstance(fitted, int):
        found[:, fitted] = 1
    else:
        found[:, fitted.classes_] = fitted.predict_proba(features)
    return found


FOLDS = 10
ITERATIONS = 300
"""Of logistic regression, as scikit-learn counts them."""
PLAIN = "OLR"
"""The way that sees the rows, without noise."""
PRIVATE = "PLR"
"""The private regression that published rows are held against: of several classes, the paper's PMLR."""
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


TABLES = (Wanted("iris", "iris"), Wanted("satellite", "satimage"), Wanted("adult", stand_in="ada"))
BOX_FOLDS, SWEEP_FOLDS = 5, 3
"""How many of the ten folds are gone through unless more are asked for: all of them take several minutes."""

Ways = Callable[[Schema], Sequence[str]]


def draw_boxes(tables: Mapping[str, TableAreas], path: Path) -> None:
    """Draw areas over the folds at epsilon 1: without privacy, of private models, of published rows."""
    figure = new_figure(3 * len(tables), 3.4, layout="tight")
    for index, (name, table) in enumerate(tables.items()):
        several = "" if table.binary else "M"
        ways = {f"O{several}LR": PLAIN, f"P{several}LR": PRIVATE, f"H{several}LR": PUBLISHED}
        axes = figure.add_subplot(1, len(tables), index + 1)
        # The whiskers are matplotlib's own: the most extreme within 1.5 interquartile ranges, as in the paper.
        axes.boxplot([table.areas[way] for way in ways.values()], tick_labels=list(ways))
        axes.set_title(f"{name}, epsilon = 1", fontsize=9)
        axes.set_ylabel("area under the curve" if not index else "")
    figure.savefig(path, dpi=110)


def draw_sweeps(tables: Mapping[str, TableAreas], path: Path) -> None:
    """Draw median areas by each parameter, the others as estimated, and where the estimate is."""
    figure = new_figure(9, 2.5 * len(tables), layout="tight")
    for down, (name, table) in enumerate(tables.items()):
        for across, (swept, values) in enumerate(SWEPT.items()):
            found = {Fraction(value): table.areas.get(f"{swept}={value}", ()) for value in values}
            medians = {float(value): float(np.median(areas)) for value, areas in found.items() if len(areas)}
            axes = figure.add_subplot(len(tables), len(SWEPT), down * len(SWEPT) + across + 1)
            axes.plot(list(medians), list(medians.values()), color="#333333", marker=".", linewidth=1)
            here = float(np.median(table.areas[PUBLISHED]))
            at = 1.0 if swept == "epsilon" else float(table.estimated[swept])
            axes.plot([at], [here], "o", color="#8c2d04", label="estimated")
            axes.set_xlabel(swept, fontsize=8)
            axes.tick_params(labelsize=7)
            if swept == "epsilon":
                axes.set_xscale("log")
                axes.set_ylabel(name, fontsize=9)
            _zoom(axes, [*medians.values(), here])
    figure.savefig(path, dpi=110)


def _zoom(axes: Any, values: Sequence[float]) -> None:
    margin = max(0.01, (max(values) - min(values)) / 10)
    axes.set_ylim(min(values) - margin, max(values) + margin)


def boxes_figure(folder: Path | None, out: Path, trials: int | None) -> tuple[str, ...]:
    """Draw figure 1, and return what is to be said of it."""
    folds = _folds(trials, BOX_FOLDS)
    tables, missing = _measured(folder, folds, lambda _: [PLAIN, PRIVATE, PUBLISHED])
    draw_boxes(tables, out)
    said = [
        f"{name}: median area at epsilon 1: {PLAIN} {np.median(table.areas[PLAIN]):.3f}, {PRIVATE} "
        f"{np.median(table.areas[PRIVATE]):.3f}, on published rows {np.median(table.areas[PUBLISHED]):.3f}"
        for name, table in tables.items()
    ]
    return (*said, _of_folds(folds), *missing)


def sweeps_figure(folder: Path | None, out: Path, trials: int | None) -> tuple[str, ...]:
    """Draw figure 2, and return what is to be said of it."""
    folds = _folds(trials, SWEEP_FOLDS)
    tables, missing = _measured(folder, folds, swept_ways)
    draw_sweeps(tables, out)
    said = [
        f"{name}: median area on published rows {np.median(table.areas[PUBLISHED]):.3f} with k estimated as "
        f"{table.estimated['k']:.0f} and gamma as {table.estimated['gamma']:.3g}; the best of those tried "
        f"{max(float(np.median(areas)) for way, areas in table.areas.items() if not way.startswith('epsilon')):.3f}"
        for name, table in tables.items()
    ]
    return (*said, _of_folds(folds), *missing)


def _folds(trials: int | None, default: int) -> int:
    if trials is not None and trials > FOLDS:
        raise ChoiceError(f"there are {FOLDS} folds, not {trials}", fix=f"--trials {FOLDS}, or fewer")
    return default if trials is None else trials


def _of_folds(folds: int) -> str:
    return (
        "all ten folds" if folds == FOLDS else f"{folds} of ten folds; --trials {FOLDS} goes through all, as the paper"
    )


def _measured(folder: Path | None, folds: int, ways: Ways) -> tuple[dict[str, TableAreas], tuple[str, ...]]:
    tables, missing = found_tables(TABLES, folder)
    return {name: _areas(name, table, folds, ways) for name, table in tables.items()}, missing


def _areas(name: str, table: PublicTable, folds: int, ways: Ways) -> TableAreas:
    """The areas on a public table: bounds and values are taken off the whole of it, as public."""
    rows = table.columns.drop_null()  # as the paper, which leaves rows with unknown cells out
    schema = infer_public(rows, label=table.label)
    wanted = ways(schema)
    areas: dict[str, list[float]] = {way: [] for way in wanted}
    with warnings.catch_warnings(), stage(name) as said:
        warnings.simplefilter("ignore", FewRowsWarning)  # of few rows, which is what is measured
        for fold in folds_of(rows, schema, folds):
            for number, way in enumerate(wanted):
                areas[way].append(fold.area(way).area)
                said.at(fold.number * len(wanted) + number + 1, folds * len(wanted))
    return TableAreas(len(schema.classes) == 2, areas, estimated_plan(schema, len(rows)))
