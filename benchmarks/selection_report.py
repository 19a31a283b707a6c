"""Make docs/benchmarks/selection.md and its picture, of what selection.py has run.

    python benchmarks/selection_report.py FOLDER [--results FILE] [--page FILE]

FOLDER is the one that `benchmarks/roles.py` reads. Takes about a minute.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
from attrs import frozen
from matplotlib.figure import Figure
from selection import (
    EPSILONS,
    FOLDS,
    LADDERS,
    LEAST_TO_GAIN,
    MOST,
    RESULTS,
    ROWS,
    SETTINGS,
    WANTED,
    Compared,
    Floats,
    Held,
    Runs,
    ladder_key,
    left_out,
    rehearsed,
    selection_key,
    shortlist,
    tables_in,
    wanted_of,
)

from jostle.choice.learning.cases import Cases
from jostle.choice.learning.learners import ForestLearner
from jostle.choice.learning.regret import honest_best, single_best
from jostle.choice.makers.training import Way, judge
from jostle.tasks.classification.task import BOUGHT, PUBLIC

WAY = Way((*PUBLIC, *BOUGHT[:5]), Fraction(1, 20), ForestLearner())
BEST, LEARNED, HINDSIGHT = "single best Option", "learned choice", "hindsight"
ANY, BAYES = "an Option at random", "`NaiveBayes`"
TRIALS = tuple(map(str, SETTINGS[:2]))
"""Private selections that are held against what is accuracy first."""
SHOWN = [f"ε = {float(Fraction(epsilon)):g}" for epsilon in EPSILONS]
BUDGETS = np.array([float(Fraction(epsilon)) for epsilon in EPSILONS])
CLOSE = 0.005
"""An accuracy that is missed by no more counts as reached: held-out rows are a sample."""

Losses = Mapping[str, Floats]
"""By way, tables by budgets."""


def losses_of(cases: Cases, found: list[Compared], runs: Runs) -> dict[str, Floats]:
    """Each way's losses; not-a-number where hindsight is not known."""
    rows = np.array([np.arange(len(cases))[each.rows(cases)] for each in found])
    whole, best = cases.spent(Fraction(0)), honest_best(cases.losses)
    single = np.empty(rows.shape)
    for place, each in enumerate(found):
        kept = ~left_out(cases, each)
        single[place] = whole[rows[place], single_best(whole[kept], cases.weights(kept), cases.floor)]
    learned = judge(cases, WAY, folds=FOLDS, draws=2).losses
    losses = {
        HINDSIGHT: best[rows],
        LEARNED: learned[rows],
        BEST: single,
        ANY: whole[rows].mean(axis=2),
        BAYES: whole[rows, cases.options.index("NaiveBayes")],
    }
    shortlists = [shortlist(cases, each) for each in found]
    for setting in SETTINGS:
        keys = [
            [selection_key(each, options, setting, epsilon) for epsilon in EPSILONS]
            for each, options in zip(found, shortlists, strict=True)
        ]
        if all(key in runs for row in keys for key in row):
            losses[str(setting)] = np.array([[np.mean([loss for _, loss in runs[key]]) for key in row] for row in keys])
    return losses


def selected(losses: Losses) -> list[str]:
    """The private selections that were run on all tables."""
    return [str(setting) for setting in SETTINGS if str(setting) in losses]


@frozen(eq=False)
class Climbed:
    """What came of a ladder on a table, run by run."""

    table: int
    wanted: float
    """The loss that is not to be exceeded."""
    spent: Floats
    losses: Floats

    @property
    def reached(self) -> bool:
        """Whether the mean loss is what was wanted."""
        return bool(self.losses.mean() <= self.wanted + CLOSE)


def climbed(cases: Cases, found: list[Compared], runs: Runs) -> dict[tuple[Fraction, int], list[Climbed]]:
    """What came of each ladder, by how much was wanted and how many rungs there are."""
    held: dict[tuple[Fraction, int], list[Climbed]] = {}
    for place, each in enumerate(found):
        for part, accuracy in wanted_of(cases, each).items():
            for steps in LADDERS:
                spent, losses = np.array(runs[ladder_key(each, accuracy, steps)]).T
                held.setdefault((part, steps), []).append(Climbed(place, 1 - float(accuracy), spent, losses))
    return held


def needed(losses: Floats, wanted: float) -> float:
    """The least epsilon at which a loss is reached, between rehearsed ones along its logarithm; inf where none is."""
    reached = np.flatnonzero(losses <= wanted + CLOSE)
    if not len(reached):
        return float("inf")
    last = int(reached[0])
    if not last:
        return float(BUDGETS[0])
    before, after = losses[last - 1], losses[last]
    part = (before - wanted - CLOSE) / max(before - after, 1e-12)
    return float(np.exp(np.interp(part, [0, 1], np.log(BUDGETS[last - 1 : last + 1]))))


def at(losses: Floats, spent: Floats) -> Floats:
    """Losses at other budgets than the rehearsed ones."""
    return np.interp(np.log(spent), np.log(BUDGETS), losses)


def rungs_to(epsilon: float, steps: int) -> float:
    """What it costs to try one rung after another, each bought anew, up to the first that is at least this."""
    levels = float(Fraction(MOST)) / 2.0 ** np.arange(steps)[::-1]
    enough = np.flatnonzero(levels >= epsilon * (1 - 1e-9))
    return float(levels[: enough[0] + 1].sum()) if len(enough) else float("inf")


def in_epsilon(middle: float) -> str:
    """An epsilon in words."""
    return f"over {MOST}" if np.isinf(middle) else f"{middle:.2g}"


def first_way(losses: Losses, climbs: Mapping[tuple[Fraction, int], list[Climbed]]) -> Iterator[str]:
    """Yield what each way spends until the wanted accuracy is there."""
    yield f"| way | {' | '.join(f'{part} of the way' for part in WANTED)} |"
    yield f"|---|{'---|' * len(WANTED)}"
    for steps in LADDERS:
        cells = []
        for part in WANTED:
            held = climbs[part, steps]
            spent = [each.spent.mean() if each.reached else np.inf for each in held]
            cells.append(f"{in_epsilon(float(np.median(spent)))} ({np.mean(np.isfinite(spent)):.0%})")
        yield f"| `AccuracyFirst(steps={steps})` | {' | '.join(cells)} |"
    for way in (BAYES, BEST, LEARNED, *TRIALS):
        for known in (True, False):
            cells = []
            for part in WANTED:
                spent = [needed(losses[way][each.table], each.wanted) for each in climbs[part, LADDERS[-1]]]
                spent = spent if known else [rungs_to(each, LADDERS[-1]) for each in spent]
                cells.append(f"{in_epsilon(float(np.median(spent)))} ({np.mean(np.isfinite(spent)):.0%})")
            yield f"| {way}, {'told how much it takes' if known else 'rung by rung'} | {' | '.join(cells)} |"


def duels(losses: Losses, climbs: Mapping[tuple[Fraction, int], list[Climbed]]) -> Iterator[str]:
    """Yield on which share of tables a ladder spends less."""
    steps = LADDERS[-1]
    yield f"| `AccuracyFirst(steps={steps})` spends less than | {' | '.join(f'{part} of the way' for part in WANTED)} |"
    yield f"|---|{'---|' * len(WANTED)}"
    for way in (BEST, LEARNED, *TRIALS):
        for known in (True, False):
            cells = []
            for part in WANTED:
                won = lost = 0
                for each in climbs[part, steps]:
                    own = each.spent.mean() if each.reached else np.inf
                    other = needed(losses[way][each.table], each.wanted)
                    other = other if known else rungs_to(other, steps)
                    won, lost = won + (own < other), lost + (other < own)
                cells.append(f"{won} of {won + lost}")
            yield f"| {way}, {'told how much it takes' if known else 'rung by rung'} | {' | '.join(cells)} |"


def same_epsilon(losses: Losses, climbs: Mapping[tuple[Fraction, int], list[Climbed]]) -> Iterator[str]:
    """Yield how much less or more others lose at what a ladder spent."""
    keys = [(part, steps) for steps in LADDERS for part in WANTED]
    yield f"| | {' | '.join(f'{steps} rungs, {part} of the way' for part, steps in keys)} |"
    yield f"|---|{'---|' * len(keys)}"
    spent = [float(np.exp(np.mean([np.log(each.spent).mean() for each in climbs[key]]))) for key in keys]
    yield f"| epsilon spent, geometric mean | {' | '.join(f'{each:.2g}' for each in spent)} |"
    most = float(Fraction(MOST)) * (1 - 1e-9)
    early = [np.mean([(each.spent < most).mean() for each in climbs[key]]) for key in keys]
    yield f"| runs that stopped early | {' | '.join(f'{each:.0%}' for each in early)} |"
    missed = [
        np.mean([((each.spent < most) & (each.losses > each.wanted + CLOSE)).mean() for each in climbs[key]])
        for key in keys
    ]
    yield f"| runs that did, though held-out rows miss it | {' | '.join(f'{each:.0%}' for each in missed)} |"
    error = [np.mean([each.losses.mean() for each in climbs[key]]) for key in keys]
    yield f"| error | {' | '.join(f'{each:.3f}' for each in error)} |"
    for way in (BAYES, BEST, LEARNED, *TRIALS):
        cells = []
        for key in keys:
            apart = np.array([(at(losses[way][one.table], one.spent) - one.losses).mean() for one in climbs[key]])
            cells.append(f"{apart.mean():+.3f} ± {apart.std(ddof=1) / np.sqrt(len(apart)):.3f}")
        yield f"| {way}, less that | {' | '.join(cells)} |"


def draw(losses: Losses, path: Path) -> None:
    """Draw the mean errors above the learned choice's, over epsilon."""
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.add_subplot()
    styles = {HINDSIGHT: ("black", ":", 2.0), BEST: ("tab:gray", "--", 2.5)}
    for way, errors in losses.items():
        if way not in {LEARNED, ANY, BAYES}:
            colour, line, width = styles.get(way, (None, "-", 1.2))
            above = (errors - losses[LEARNED]).mean(axis=0)
            axes.plot(BUDGETS, above, color=colour, linestyle=line, linewidth=width, marker="o", label=way)
    axes.axhline(0, color="black", linewidth=2.5, label=LEARNED)
    axes.set_xscale("log")
    axes.set_xticks(BUDGETS, [f"{epsilon:g}" for epsilon in BUDGETS])
    axes.set_xlabel("epsilon")
    axes.set_ylabel("share of wrong predictions above the learned choice's")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    figure.savefig(path, dpi=120)


def means(losses: Losses) -> Iterator[str]:
    """Yield the table of mean errors."""
    yield f"| way | {' | '.join(SHOWN)} | mean |"
    yield f"|---|{'---|' * (len(EPSILONS) + 1)}"
    lowest = np.min([errors.mean(axis=0) for way, errors in losses.items() if way != HINDSIGHT], axis=0)
    for way, errors in losses.items():
        cells = [
            f"**{mean:.3f}**" if way != HINDSIGHT and mean == least else f"{mean:.3f}"
            for mean, least in zip(errors.mean(axis=0), lowest, strict=True)
        ]
        yield f"| {way} | {' | '.join(cells)} | {errors.mean():.3f} |"


def wins(losses: Losses) -> Iterator[str]:
    """Yield how often private selection errs less."""
    yield f"| way | beats | {' | '.join(SHOWN)} |"
    yield f"|---|---|{'---|' * len(EPSILONS)}"
    for way in selected(losses):
        for other in (BEST, LEARNED):
            shares = (losses[way] < losses[other]).mean(axis=0)
            yield f"| {way} | {other} | {' | '.join(f'{share:.0%}' for share in shares)} |"


def differences(losses: Losses) -> Iterator[str]:
    """Yield by how much it errs less or more."""
    yield f"| way | {' | '.join(SHOWN)} |"
    yield f"|---|{'---|' * len(EPSILONS)}"
    for way in (BEST, *selected(losses)):
        apart = losses[way] - losses[LEARNED]
        sure = apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
        cells = (f"{mean:+.3f} ± {error:.3f}" for mean, error in zip(apart.mean(axis=0), sure, strict=True))
        yield f"| {way} | {' | '.join(cells)} |"


def verdict(losses: Losses) -> Iterator[str]:
    """Yield at which budgets private selection does clearly better, or worse, than the learned choice."""
    apart = np.array([losses[way] - losses[LEARNED] for way in selected(losses)])
    sure = 2 * apart.std(axis=1, ddof=1) / np.sqrt(apart.shape[1])
    ways: dict[str, Callable[[], Floats]] = {
        "above the learned choice": lambda: apart.mean(axis=1) > sure,
        "below it": lambda: apart.mean(axis=1) < -sure,
    }
    yield f"Of the {len(apart)} settings, so many are more than two standard errors"
    for words, counted in ways.items():
        counts = counted().sum(axis=0).tolist()
        said = ", ".join(f"{count} at {head}" for count, head in zip(counts, SHOWN, strict=True))
        yield f"{words}: {said}{'.' if words == 'below it' else ';'}"


def page(losses: Losses, climbs: Mapping[tuple[Fraction, int], list[Climbed]], cases: Cases, runs: Runs) -> str:
    """The page."""
    repeats = min(len(each) for key, each in runs.items() if " | try " in key)
    settings = [
        f"| {setting} | {float((1 - setting.score_share) / (2 + setting.eta)):.2f} ε | {setting.mean_runs:.1f} |"
        for setting in SETTINGS
        if str(setting) in losses
    ]
    return "\n".join(
        [
            HEAD.format(
                tables=len(losses[BEST]),
                rows=f"{ROWS:,}",
                repeats=f"{repeats} run{'s' if repeats > 1 else ''}",
                others=cases.losses.shape[2],
                options=len(cases.options),
                folds=FOLDS,
                share=WAY.share,
            ),
            *means(losses),
            WINS,
            *wins(losses),
            DIFFERENCES,
            *differences(losses),
            "",
            *verdict(losses),
            SETTINGS_HEAD,
            *settings,
            "",
            "![Errors above the learned choice over epsilon](selection.png)",
            ACCURACY.format(
                tables=len(climbs[WANTED[0], LADDERS[0]]),
                least=LEAST_TO_GAIN,
                most=MOST,
                runs=min(len(each) for key, each in runs.items() if "AccuracyFirst" in key),
                few=LADDERS[0],
                many=LADDERS[1],
                close=CLOSE,
            ),
            *first_way(losses, climbs),
            "",
            *duels(losses, climbs),
            SAME,
            *same_epsilon(losses, climbs),
            OTHERS,
        ]
    )


def main() -> int:
    """Write the page and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=RESULTS.with_suffix(".md"))
    given = parser.parse_args()
    cases, runs = rehearsed(), Held(given.results).runs
    found = tables_in(given.folder, cases)
    losses = losses_of(cases, found, runs)
    draw(losses, given.page.with_suffix(".png"))
    given.page.write_text(page(losses, climbed(cases, found, runs), cases, runs), encoding="utf-8")
    return 0


HEAD = """# Choosing by prediction, by private trial, and accuracy first

    python benchmarks/selection.py FOLDER
    python benchmarks/selection_report.py FOLDER

*Which wins where.* At equal ε, running the Option that is best on other tables and choosing by prediction err about
equally. Choosing by private trial errs more in the mean up to ε = 1, clearly at 0.1: a run has less than half
of it. At 3 it errs about as much. Where an accuracy is wanted and nobody knows how much it takes, the first two get
there with the least ε. So it is even when tried rung by rung at budgets that double. `AccuracyFirst` needs more on
all but a few tables. It has naive Bayes alone, and has to be sure of what it says. Against naive Bayes tried rung by
rung it spends less where much is wanted, as what is refined is not bought anew. It spends more where little is, as
each rung has a test. It alone says whether the accuracy is there, on the rows that were learned from. It is
wrong about that in at most a tenth of runs. To choose the Option is worth more than to choose ε.

{tables} tables that makers which come with Jostle learned from, up to {rows} rows to learn from. Errors are shares of
wrong predictions on held-out rows. *Hindsight* is the best of {options} Options on each table at each ε, read off all
repeats but one and scored on that one ({others} repeats). The *single best Option* is the one with the least mean error
on other tables: what ships runs it always. The *learned choice* is a forest that predicts every Option's error
from what it looks at, which costs {share} of ε. Both are learned on groups of tables in turn left out ({folds} folds),
from rehearsals. Between rehearsed budgets, errors are interpolated. A *private selection* runs a random number of
Options out of a list of so many, each on ε/(2 + η) less the score's share. It keeps the one with the highest noisy
score (`SelectPrivately`). The list is learned on other tables as well. Taken are, greedily, the Options whose best has
the least mean error, of those that may be run unseen (`MarginalRegression` is not among them). Means of {repeats}
for each table and ε.

## Mean share of wrong predictions
"""
WINS = """
## How often private selection wins

Share of the tables on which its error is less than the other way's.
"""
DIFFERENCES = """
## By how much

Mean of the error less the learned choice's, and the standard error of that mean over tables.
"""
SETTINGS_HEAD = """
## What a setting means

| setting | a run gets | runs in the mean |
|---|---|---|"""
ACCURACY = """
## Accuracy first: what a wanted accuracy costs

Others spend ε and see what they get; `AccuracyFirst` is told what is wanted, and spends what it takes, up to
ε = {most}. Wanted is an accuracy part of the way from always saying the commonest class to the best Option at
ε = {most}, on the {tables} tables where that is {least:.0%} of the rows at least. It is naive Bayes on a ladder of
{few} rungs or of {many}, each of twice the ε of the one before; {runs} runs each. An accuracy counts as reached
where held-out rows miss it by {close:.1%} of them at most, in the mean of runs.

The others have no test. *Told how much it takes*: the least ε at which their mean error is low enough, which nobody
knows beforehand. *Rung by rung*: {many} budgets up to {most}, each twice the one
before, are tried one after the other. Each is paid for, until one is enough (tests are not counted). Shown is the
median over tables of the ε that is spent, and in brackets the share of tables on which it is reached. Where it is
not, ε counts as over {most}.
"""
SAME = """
## Accuracy first: the error at equal epsilon

In each run, others get what `AccuracyFirst` happened to spend: mean of their error less its error, and the standard
error of that mean over tables. Above 0, it errs less.
"""
OTHERS = """
## What is not compared

Large-margin selection (Chaudhuri, Hsu, Song 2014) and stability-based selection (Thakurta, Smith 2013; Chaudhuri,
Vinterbo 2013) are (ε, δ). With a chance δ > 0 their claim may fail altogether. A promise here is pure. So they are not
among Jostle's ways, and figures of theirs would be of another promise.
"""

if __name__ == "__main__":
    sys.exit(main())
