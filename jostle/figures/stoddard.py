"""How far private ROC curves are off by epsilon: the comparison of Stoddard, Chen and Machanavajjhala (2014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from attrs import frozen

from jostle.corpora.databases import PublicTable
from jostle.errors import CorpusError
from jostle.figures.scores import WAYS, ScoredRows, code_features, rarer_class, scored_rows, word_features
from jostle.figures.sources import Wanted, found_tables
from jostle.progress import stage
from jostle.tables.infer import infer_public
from jostle.tables.unlabeled import attribute_codes
from jostle.tasks.evaluation.instances import area_between
from jostle.tasks.figure import new_figure

__all__ = ["EPSILONS", "PAPER", "curves_figure", "draw_errors"]

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
    at = [float(each) for each in EPSILONS]
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
                float(np.median([area_between(curve, truth) for curve in WAYS[way](rows, epsilon, place, trials)]))
                for place, epsilon in enumerate(map(Fraction, EPSILONS))
            ]
            said.at(done + 1, len(SHOWN))
    return found
