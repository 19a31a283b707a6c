"""Scorers, and instances of scores: rows of a public table with the score that a plain public scorer gives each."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicTable
from jostle.corpora.parts import TableSpec
from jostle.tables.columns import Categorical, Numeric
from jostle.tables.encode import encode_block
from jostle.tables.engines import MemorySource
from jostle.tables.rules import Margins
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks.base import Instance
from jostle.tasks.classification.instances import table_instance
from jostle.tasks.evaluation.curve import RocCurve


@frozen(eq=False, repr=False)
class Scorer:
    """What scores rows for one class of the label: made of public facts, or of what was released."""

    margins: Margins
    """The rule and the class; its cuts are all the thresholds that there may be."""
    values: NDArray[np.float64]
    """The score that each cut stands for."""
    name: str
    """What scores, in words."""
    positive: str
    """The class that high scores speak for."""

    @property
    def intervals(self) -> int:
        """How many intervals the cuts make."""
        return len(self.values) + 1

    def at(self, places: NDArray[np.int64]) -> Margins:
        """The kernel that counts rows between the cuts at these places alone."""
        return evolve(self.margins, cuts=self.margins.cuts[places])


Floats = NDArray[np.float64]
CLASSES = ("no", "yes")
SCORE, LABEL = "score", "label"
BINS = 1024
WIDEST = 30.0
"""Log-odds beyond this are clipped to it."""
STEPS = 4000


@frozen(eq=False, repr=False)
class ScoresInstance(Instance):
    """Scored rows, and the curve that they have.

    Half of a table's rows, those that a classification instance holds out included, are never scored: the scorer learns
    from them.
    """

    judged = (RocCurve, "an evaluation", "a ROC curve")
    key: str
    table: Table
    rows: int
    truth: tuple[Floats, Floats]
    """The rates of the curve through all scores: of others, of the class."""

    @property
    def questions(self) -> tuple[str, None]:
        """Which column the scores are in, and for which class: the second."""
        return SCORE, None

    def lists(self, curve: Any, /) -> tuple[list[float], list[float]]:
        """The shares of the class that are found at even steps of the others, estimated and true."""
        found = self.read(curve)
        steps = np.arange(1, 20) / 20
        return [found.true_positive_rate(step) for step in steps.tolist()], np.interp(steps, *self.truth).tolist()

    def loss(self, curve: Any, /) -> float:
        """The area between a curve and the true one."""
        found = self.read(curve)
        return area_between((found.false_positive_rates, found.true_positive_rates), self.truth)

    def area_off(self, curve: Any, /) -> float:
        """How far the area under a curve is off."""
        x, y = self.truth
        area: float = self.read(curve).auc
        return abs(area - float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum()))


def scored_table(scores: Floats, labels: NDArray[np.int64], column: Numeric, **facts: Any) -> Table:
    """A table of a column of scores and a label; code 1 is the class that is looked for."""
    schema = Schema({SCORE: column, LABEL: Categorical(CLASSES)}, label=LABEL, **facts)
    columns = {SCORE: scores.tolist(), LABEL: [CLASSES[code] for code in labels.tolist()]}
    block = encode_block(columns, schema, len(scores))
    return Table(MemorySource(schema, block.columns, block.length, identity=scores.tobytes()))


def true_curve(scores: Floats, labels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The rates of the curve through all scores: of others, of the class; of none, those of guessing."""
    values, places = np.unique(-scores, return_inverse=True)
    rates = []
    for code in (0, 1):
        sums = np.concatenate([[0], np.cumsum(np.bincount(places[labels == code], minlength=len(values)))])
        rates.append(sums / sums[-1] if sums[-1] else np.linspace(0, 1, len(sums)))
    return rates[0], rates[1]


def area_between(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> float:
    """The area between two curves."""
    middles = (np.arange(STEPS) + 0.5) / STEPS
    return float(np.abs(_heights(one, middles) - _heights(other, middles)).mean())


def _heights(curve: tuple[Floats, Floats], places: Floats) -> Floats:
    x, y = curve
    last = np.clip(np.searchsorted(x, places, side="right"), 1, len(x) - 1)
    width = np.maximum(x[last] - x[last - 1], 1e-300)
    return np.asarray(y[last - 1] + (y[last] - y[last - 1]) * np.clip((places - x[last - 1]) / width, 0, 1))


def scores_instance(database: PublicTable, spec: TableSpec) -> ScoresInstance:
    """The instance that a spec makes of a public table: its commonest class is told from all others."""
    held = table_instance(database, spec)
    codes, labels = held.codes, held.labels
    commonest = int(np.argmax(np.bincount(labels)))
    truth = (labels == commonest).astype(np.int64)
    learnt = np.arange(len(labels)) % 2 == 0
    scores = _log_odds(codes[learnt], truth[learnt], codes[~learnt])
    table = scored_table(
        scores,
        truth[~learnt],
        Numeric(-WIDEST, WIDEST, bins=BINS),
        neighbours=held.schema.neighbours,
        rows=int((~learnt).sum()) if spec.declared else None,
    )
    return ScoresInstance(f"scores of {held.key}", table, int((~learnt).sum()), true_curve(scores, truth[~learnt]))


def _log_odds(codes: NDArray[np.int64], truth: NDArray[np.int64], asked: NDArray[np.int64]) -> Floats:
    """What naive Bayes says, learned from some rows, of others."""
    total: Floats = np.full(len(asked), np.log((truth.sum() + 1) / (len(truth) - truth.sum() + 1)))
    for place in range(codes.shape[1]):
        size = int(max(codes[:, place].max(initial=0), asked[:, place].max(initial=0))) + 1
        counts = [np.bincount(codes[truth == code, place], minlength=size) + 0.5 for code in (0, 1)]
        total += np.log(counts[1] / counts[1].sum() / (counts[0] / counts[0].sum()))[asked[:, place]]
    return np.asarray(np.clip(total, -WIDEST, WIDEST))
