"""How far private ROC curves are off by epsilon: the comparison of Stoddard, Chen and Machanavajjhala (2014)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicTable
from jostle.errors import CorpusError
from jostle.figures.sources import Wanted, found_tables
from jostle.options.evaluation.pri_roc import PriROC
from jostle.privacy.opening import rehearse
from jostle.privacy.probe import Probe
from jostle.progress import stage
from jostle.tables.attributes import attribute_codes
from jostle.tables.columns import Chances, Numeric
from jostle.tables.infer import infer_public
from jostle.tasks.answers import new_figure
from jostle.tasks.evaluation.instances import area_between, scored_table, true_curve

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Curve = tuple[Floats, Floats]
Features = Callable[[Integers, Integers], tuple[Any, Any]]
"""What a classifier sees of the rows to learn from and of those to be tested, which are given by their places."""

SEED = 20
BINS = 1024
LAPLACE_THRESHOLDS = 15
HALF = Fraction(13, 20)
"""Medians cost 3/10 and counts of both kinds 7/10 of it: halved, as in the paper, 3/10 and 7/20."""
HALVED = Fraction(6, 13)


@frozen(eq=False)
class ScoredRows:
    """Scores and labels of rows that a classifier was not trained on."""

    name: str
    scores: Floats
    labels: Integers
    column: Numeric

    @property
    def truth(self) -> Curve:
        """The curve through all scores."""
        return true_curve(self.scores, self.labels)

    def drawn(self, rows: Integers) -> ScoredRows:
        """Some of them."""
        return ScoredRows(self.name, self.scores[rows], self.labels[rows], self.column)

    def probe(self, seed: int, **facts: str) -> Probe:
        """A rehearsal on them."""
        return rehearse(scored_table(self.scores, self.labels, self.column, **facts), seed=seed)


CurveWay = Callable[[ScoredRows, Fraction, int, int], list[Curve]]
"""So many curves of rows, for epsilon; the first number tells one run from another, the second is how many."""


def rarer_class(labels: Sequence[str]) -> Integers:
    """Which rows are of the rarer of two classes."""
    names, counts = np.unique(np.array(labels), return_counts=True)
    return np.asarray(np.array(labels) == names[np.argmin(counts)], dtype=np.int64)


def word_features(texts: Sequence[str]) -> Features:
    """Which words are in a text, of those in the texts to learn from."""

    def features(train: Integers, test: Integers) -> tuple[Any, Any]:
        from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - takes a second to import

        words = CountVectorizer(binary=True).fit([texts[place] for place in train])
        return words.transform([texts[place] for place in train]), words.transform([texts[place] for place in test])

    return features


def code_features(codes: Integers) -> Features:
    """Which code each attribute has."""
    parts = [np.eye(int(column.max()) + 1)[column] for column in codes.T]
    every = np.hstack(parts)
    return lambda train, test: (every[train], every[test])


def scored_rows(
    name: str, features: Features, labels: Integers, *, kind: str, tested: int, split: int, wide: float
) -> ScoredRows:
    """Scores of a classifier trained on the rows that are not tested: log-odds of so much either way, or chances."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - takes a second to import
    from sklearn.naive_bayes import BernoulliNB  # noqa: PLC0415

    order = np.random.default_rng([SEED, split]).permutation(len(labels))
    test, train = order[:tested], order[tested:]
    learned, asked = features(train, test)
    if kind == "logistic regression":
        odds = LogisticRegression(max_iter=500).fit(learned, labels[train]).decision_function(asked)
        return ScoredRows(f"{name}, {kind}, log-odds", odds, labels[test], Numeric(-wide, wide, bins=BINS))
    logs = BernoulliNB().fit(learned, labels[train]).predict_joint_log_proba(asked)
    odds = logs[:, 1] - logs[:, 0]
    if kind.endswith("chances"):
        return ScoredRows(f"{name}, {kind}", 1 / (1 + np.exp(-np.clip(odds, -700, 700))), labels[test], Chances())
    return ScoredRows(f"{name}, naive Bayes, log-odds", odds, labels[test], Numeric(-wide, wide, bins=BINS))


def _by_option(option: PriROC, part: Fraction = Fraction(1), **facts: str) -> CurveWay:
    """Curves by an Option, for a part of epsilon."""

    def run(rows: ScoredRows, epsilon: Fraction, seed: int, runs: int) -> list[Curve]:
        db = rows.probe(seed, **facts)
        curves = (option(db, epsilon=part * epsilon) for _ in range(runs))
        return [(curve.false_positive_rates, curve.true_positive_rates) for curve in curves]

    return run


def _plain_laplace(rows: ScoredRows, epsilon: Fraction, seed: int, runs: int) -> list[Curve]:
    """Curves from counts above each threshold that have noise of their own: a row is above all of them."""
    random = np.random.default_rng([SEED, seed])
    low, high = rows.column.low, rows.column.high
    cuts = np.linspace(low, high, LAPLACE_THRESHOLDS + 2)[-2:0:-1]
    scale = 2 * (LAPLACE_THRESHOLDS + 1) / float(epsilon)
    found = []
    for _ in range(runs):
        rates = []
        for code in (0, 1):
            kind = rows.scores[rows.labels == code]
            exact = np.array([np.sum(kind >= cut) for cut in [*cuts, -math.inf]])
            counts = exact + random.laplace(0, scale, len(cuts) + 1)
            rates.append(np.clip(counts[:-1] / max(counts[-1], 1.0), 0, 1))
        order = np.lexsort((rates[1], rates[0]))
        x, y = (np.concatenate([[0], rate[order], [1]]) for rate in rates)
        found.append((x, y))
    return found


WAYS: Mapping[str, CurveWay] = {
    "`PriROC`": _by_option(PriROC()),
    "`PriROC(thresholds=FixedSpace)`": _by_option(PriROC(thresholds="FixedSpace")),
    "`PriROC`, counts paid for one by one, each half": _by_option(PriROC(medians_share=HALVED), HALF),
    "`PriROC` under `replace_one`": _by_option(PriROC(), neighbours="replace_one"),
    "`PriROC(reading=rising)`": _by_option(PriROC(reading="rising")),
    "as in the paper: Privelet, rising, each half": _by_option(
        PriROC(medians_share=HALVED, counts="Privelet", reading="rising"), HALF
    ),
    f"plain Laplace, {LAPLACE_THRESHOLDS} thresholds, each half": _plain_laplace,
}


EPSILONS = ("1", "0.5", "0.25", "0.1")
PAPER = {
    "SMS": {"RecursiveMedians": (0.023, 0.029, 0.054, 0.092), "Laplace": (0.218, 0.343, 0.372, 0.442)},
    "Twitter": {"RecursiveMedians": (0.055, 0.063, 0.102, 0.203), "Laplace": (0.073, 0.108, 0.211, 0.340)},
}
"""What the paper gives at each of the epsilons."""
TRIALS = 20
SHOWN = tuple(way for way in WAYS if way not in {"`PriROC` under `replace_one`", "`PriROC(reading=rising)`"})
BAYES = "naive Bayes, log-odds"

Errors = Mapping[str, Sequence[float]]
"""The median area between curves of each way, in the order of epsilons."""


@frozen
class _Part:
    """One part of the figure: rows that are scored, and what they are instead of."""

    wanted: Wanted
    tested: int
    """How many texts are tested; of another table, half of the rows."""
    wide: float
    """How far up and down log-odds are told apart."""
    paper: str


PARTS = (
    _Part(Wanted("sms_spam", stand_in="wisconsin"), 558, 100, "SMS"),
    _Part(Wanted("sst2", stand_in="mammographic"), 684, 20, "Twitter"),
)


def draw_errors(tables: Mapping[str, Errors], paper: Mapping[str, str], path: Path) -> None:
    """Draw errors over epsilon, a part for each table; the paper's own figures, of its texts, are dashed."""
    at = [float(epsilon) for epsilon in EPSILONS]
    figure = new_figure(4.8 * len(tables), 5.2, layout="constrained")
    for axes, (name, errors) in zip(np.atleast_1d(figure.subplots(1, len(tables))), tables.items(), strict=True):
        for way, off in errors.items():
            axes.plot(at, off, marker="o", markersize=3, linewidth=1.2, label=way.replace("`", ""))
        for shade, (way, off) in zip(("0.3", "0.6"), PAPER[paper[name]].items(), strict=True):
            axes.plot(at, off, color=shade, linestyle="--", linewidth=1, label=f"the paper's {way}, its own texts")
        axes.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="area between the curves, median")
        axes.set_title(f"{name}; the paper: {paper[name]}", fontsize=9)
        axes.grid(visible=True, color="0.9")
    shown, said = figure.get_axes()[0].get_legend_handles_labels()
    figure.legend(shown, said, loc="outside lower center", ncols=2, fontsize=7)
    figure.savefig(path, dpi=130)


def curves_figure(folder: Path | None, out: Path, trials: int | None) -> tuple[str, ...]:
    """Draw the figure, and return what is to be said of it."""
    found, missing = found_tables(tuple(part.wanted for part in PARTS), folder)
    tables: dict[str, Errors] = {}
    paper = {}
    for part in PARTS:
        name = next((each for each in (part.wanted.name, part.wanted.stand_in) if each in found), None)
        if name is not None:
            tables[name] = _errors(_scored(part, name, found[name]), trials or TRIALS)
            paper[name] = part.paper
    draw_errors(tables, paper, out)
    place = EPSILONS.index("1")
    said = [
        f"{name}: at epsilon 1, {'; '.join(f'{way} {off[place]:.3f}' for way, off in errors.items())}"
        for name, errors in tables.items()
    ]
    return tuple(each.replace("`", "") for each in (*said, *missing))


def _scored(part: _Part, name: str, table: PublicTable) -> ScoredRows:
    rows = table.columns.drop_null()
    labels = rarer_class(rows[table.label].to_pylist())
    if name == part.wanted.name:
        if "text" not in rows.column_names:
            raise CorpusError(f"{name} has no column text", fix="a file with the columns text and label")
        features = word_features(rows["text"].to_pylist())
        return scored_rows(name, features, labels, kind=BAYES, tested=part.tested, split=0, wide=part.wide)
    codes = attribute_codes(rows, infer_public(rows, label=table.label))
    return scored_rows(name, code_features(codes), labels, kind=BAYES, tested=len(labels) // 2, split=0, wide=part.wide)


def _errors(rows: ScoredRows, trials: int) -> dict[str, list[float]]:
    truth, found = rows.truth, {}
    with stage(rows.name) as said:
        for done, way in enumerate(SHOWN):
            found[way] = [
                float(np.median([area_between(curve, truth) for curve in WAYS[way](rows, epsilon, index, trials)]))
                for index, epsilon in enumerate(map(Fraction, EPSILONS))
            ]
            said.at(done + 1, len(SHOWN))
    return found
