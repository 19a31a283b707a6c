"""Measure how far private ROC curves and comparisons of models are off, and how often what they say of that holds.

    python benchmarks/evaluation.py [--data FOLDER]

writes docs/benchmarks/evaluation.md. Takes about eight minutes on one core. FOLDER is the one that
`benchmarks/roles.py` reads; texts are in its folder text, as sms_spam.csv.gz and sst2.csv.gz (columns text and
label). They do not come with Jostle.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
from comparing import OPTIONS, TABLES, TESTED, TRAININGS, compared_models, wilson
from comparing import RUNS as COMPARISONS
from numpy.typing import NDArray

from jostle.figures.stoddard import (
    EPSILONS,
    PAPER,
    SEED,
    WAYS,
    Curve,
    ScoredRows,
    rarer_class,
    scored_rows,
    word_features,
)
from jostle.options.evaluation.pri_roc import PriROC
from jostle.tasks.answers import new_figure
from jostle.tasks.evaluation.instances import area_between

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "evaluation.md"
PICTURE = "roc.png"
DATA = Path(__file__).parents[2] / "shared" / "data"
SPLITS, RUNS, COVERED = 5, 20, 500
LEVELS = (2, 3, 4, 5, 6, 7)
DRAWN = 3
"""Private curves beside each true one."""


def area(curve: Curve) -> float:
    """The area under a curve."""
    x, y = curve
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())


@cache
def rows_of(path: Path) -> tuple[tuple[str, ...], Labels]:
    """Texts, and which are of the rarer class."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return tuple(row["text"] for row in rows), rarer_class([row["label"] for row in rows])


def scored(folder: Path, file: str, kind: str, tested: int, split: int) -> ScoredRows:
    """Scores of a classifier trained on the texts that are not tested."""
    texts, labels = rows_of(folder / f"{file}.csv.gz")
    wide = 15 if kind == "logistic regression" else 100 if file == "sms_spam" else 20
    return scored_rows(file, word_features(texts), labels, kind=kind, tested=tested, split=split, wide=wide)


SETS = (
    ("sms_spam", "naive Bayes, log-odds", 558),
    ("sms_spam", "naive Bayes, chances", 558),
    ("sms_spam", "logistic regression", 558),
    ("sst2", "naive Bayes, log-odds", 684),
    ("sst2", "naive Bayes, chances", 684),
)
COVERED_SETS = tuple(each for each in SETS if each[1].startswith("naive Bayes"))
DRAWN_SETS = tuple(each for each in SETS if each[1] == "naive Bayes, log-odds")


def errors(folder: Path) -> Iterator[str]:
    """Yield a table of errors for each set of texts."""
    for file, kind, tested in SETS:
        tests = [scored(folder, file, kind, tested, split) for split in range(SPLITS)]
        areas = [area(each.truth) for each in tests]
        rare = int(np.median([each.labels.sum() for each in tests]))
        yield f"\n### {tests[0].name}: {tested} rows, {rare} of the class, area {min(areas):.3f} to {max(areas):.3f}\n"
        yield "| area between the curves, median | " + " | ".join(f"ε = {each}" for each in EPSILONS) + " |"
        yield "|---|" + "---:|" * len(EPSILONS)
        for name, way in WAYS.items():
            cells = []
            for place, epsilon in enumerate(EPSILONS):
                off = [
                    area_between(curve, each.truth)
                    for split, each in enumerate(tests)
                    for curve in way(each, Fraction(epsilon), 10 * split + place, RUNS)
                ]
                cells.append(f"{np.median(off):.4f}")
            yield f"| {name} | " + " | ".join(cells) + " |"
        for name, figures in PAPER["SMS" if file == "sms_spam" else "Twitter"].items():
            of = "SMS" if file == "sms_spam" else "Twitter, other texts"
            yield f"| *the paper's {name}, {of}* | " + " | ".join(f"*{each}*" for each in figures) + " |"


def curves(option: PriROC, rows: ScoredRows, epsilon: str, seed: int, runs: int) -> list[Curve]:
    """So many private curves of rows."""
    db = rows.probe(seed)
    found = (option(db, epsilon=Fraction(epsilon)) for _ in range(runs))
    return [(each.false_positive_rates, each.true_positive_rates) for each in found]


def by_levels(folder: Path) -> Iterator[str]:
    """Yield a table of errors by how many intervals scores are cut into."""
    yield "| texts | epsilon | " + " | ".join(f"{2**levels}" for levels in LEVELS) + " |"
    yield "|---|---:|" + "---:|" * len(LEVELS)
    for file, kind, tested in DRAWN_SETS:
        tests = [scored(folder, file, kind, tested, split) for split in range(SPLITS)]
        for place, epsilon in enumerate(EPSILONS):
            cells = []
            for levels in LEVELS:
                off = [
                    area_between(curve, each.truth)
                    for split, each in enumerate(tests)
                    for curve in curves(PriROC(levels=levels), each, epsilon, 10 * split + place, RUNS)
                ]
                cells.append(f"{np.median(off):.4f}")
            yield f"| {tests[0].name} | {epsilon} | " + " | ".join(cells) + " |"


def draw(folder: Path, path: Path) -> None:
    """Draw private curves beside the true one, by set of texts and epsilon."""
    figure = new_figure(2.6 * len(EPSILONS), 2.9 * len(DRAWN_SETS), layout="constrained")
    rows = figure.subplots(len(DRAWN_SETS), len(EPSILONS), sharex=True, sharey=True)
    for axes_of_set, (file, kind, tested) in zip(rows, DRAWN_SETS, strict=True):
        test = scored(folder, file, kind, tested, 0)
        for axes, epsilon in zip(axes_of_set, EPSILONS, strict=True):
            for x, y in curves(PriROC(), test, epsilon, SEED, DRAWN):
                axes.plot(x, y, linestyle="--", linewidth=1, label="private")
            axes.plot(*test.truth, color="black", linewidth=1.2, label="true")
            axes.set(aspect="equal")
            axes.set_title(f"{file}, epsilon {epsilon}", fontsize=9)
    figure.supxlabel("share of the others taken for it", fontsize=9)
    figure.supylabel("share of the class found", fontsize=9)
    figure.savefig(path, dpi=110)


def coverage(folder: Path) -> Iterator[str]:
    """Yield a table of how often intervals held, and how wide they were."""
    yield "| texts | level | ε | held the area of the rows | width | held the area of the population | width |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for file, kind, tested in COVERED_SETS:
        pool = scored(folder, file, kind, 3000, 0)
        whole = area(pool.truth)
        for epsilon, level in (("4", 0.95), ("1", 0.95), ("1", 0.8), ("0.25", 0.95)):
            random = np.random.default_rng([SEED, tested])
            held, widths = np.zeros(2, dtype=np.int64), []
            for run in range(COVERED):
                test = pool.drawn(random.integers(0, len(pool.scores), tested))
                curve = PriROC()(test.probe(run), epsilon=Fraction(epsilon))
                ends = curve.interval(level), curve.population_interval(level)
                held += [low <= true <= high for (low, high), true in zip(ends, (area(test.truth), whole), strict=True)]
                widths.append([high - low for low, high in ends])
            shown = [
                f"{count / COVERED:.1%} ({wilson(count, COVERED)[0]:.1%} to {wilson(count, COVERED)[1]:.1%})"
                for count in held.tolist()
            ]
            wide = np.median(widths, axis=0)
            yield f"| {pool.name} | {level:.0%} | {epsilon} | {shown[0]} | {wide[0]:.3f} | {shown[1]} | {wide[1]:.3f} |"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with the texts and tables")
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write")
    options = parser.parse_args()
    texts = options.data / "text"
    tables, bars = "\n".join(errors(texts)), "\n".join(coverage(texts))
    levels, compared = "\n".join(by_levels(texts)), "\n".join(compared_models(options.data))
    draw(texts, options.page.with_name(PICTURE))
    options.page.write_text(page(tables, levels, bars, compared), encoding="utf-8")
    print(options.page.read_text(encoding="utf-8"))


def page(tables: str, levels: str, bars: str, compared: str) -> str:
    """The page."""
    return f"""# Private ROC curves, and which model is best

```
python benchmarks/evaluation.py --data FOLDER
```

wrote this page on {datetime.now(UTC).date()}. Texts are public (SMS spam, movie reviews of SST-2). A classifier is
trained on those that are not tested, without noise, and its scores of the tested ones are the private column.
`PriROC`'s constants were set on these texts (role *tune*), on another split of them: figures elsewhere may be worse.

## How far curves are off

The area between the private curve and the one through all scores: median of {SPLITS * RUNS} runs, {RUNS} on each of
{SPLITS} splits. The paper (Stoddard, Chen, Machanavajjhala 2014) gives medians of 10 runs on a test set of its own.
*Each half*: the budget of counts is halved between the class and the others, as there. The difference to the first
line is what one tally of both kinds gains. `jostle reproduce stoddard-roc` draws such errors offline, without `--data`
of two tables that packages bring.
{tables}

Errors are below the paper's at every epsilon. Chances are in a column of `Chances()`, whose bins are even in
log-odds, down to what floats can tell from 1. In 1,024 bins of equal width, which do not tell them apart (half of the
spam is within 1/1024 of 1, and what one bin holds has no order), `PriROC` was off by 0.036, 0.034, 0.016 and 0.035.

![Private curves beside the true one, {DRAWN} of each]({PICTURE})

### Into how many intervals scores are cut

The same median for `PriROC(levels=...)`, of 2**levels intervals; {2 ** PriROC().levels} are the default. The paper
finds that their number hardly matters. Here 8 and 16 are within .014 of each other. 4 miss what a steep curve is like.
128 have so much more noise that at epsilon 0.1 the error is three to six times as large.

{levels}

## How often intervals hold

{COVERED} runs each, in which the rows are drawn anew from 3,000 texts, the population. In brackets: the 95% interval of
the share itself. `interval` is about the rows at hand: noise, and what the order inside intervals of scores leaves
open. `population_interval` also is about which rows were drawn.

{bars}

Shares are mostly above the level. Rows inside an interval of scores are taken to be in the worst order. Noise that
is taken off a second time counts its own products (`jostle/tasks/evaluation/curve.py`). That the interval for the
rows holds is a finding by simulation, here and on counts of 5 to 500 rows in its tests, and no theorem. Where epsilon
is so small that noise exceeds the rarer kind of rows, it is all from 0 to 1, and says so.

## Which model is best

`jostle.compare_models` on up to {TESTED:,} rows of {len(TABLES)} tables ({", ".join(TABLES)}; role
*tune*, and nothing is tuned on them here). Models are of {", ".join(f"`{each}`" for each in OPTIONS)},
learned from 1,000 other rows, each at epsilon 1: {TRAININGS} trainings a table, and {COMPARISONS} comparisons of each.
*Rows lost*: how many more rows the best gets right than the model that was named. `confidence` is about the rows at
hand: where another model is better on them, it is to be 95% or more in at most 5% of runs. In brackets, the upper end
of the 95% interval of that share.

{compared}
"""


if __name__ == "__main__":
    main()
