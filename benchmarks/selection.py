"""Compare choosing by prediction with choosing by private trial: which wins at which epsilon, and by how much.

    python benchmarks/selection.py DIRECTORY [--history FILE] [--tables 25] [--repeats 2] [--results FILE]

DIRECTORY holds NAME.csv.gz files whose last column is `label`. The history of rehearsals is the one that came with
Jostle, or FILE; what it does not have of the tables compared is left out. Private selections are run anew. Whatever is
learned (which Option is best, what to try, what to predict from metafeatures) is learned on other groups of tables.
Selections are kept in the results file, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from matplotlib.figure import Figure
from numpy.typing import NDArray

import jostle
from jostle.choice.learning.cases import Cases
from jostle.choice.learning.gathering import cases_of
from jostle.choice.learning.history import read_history
from jostle.choice.learning.learners import ForestLearner
from jostle.choice.learning.regret import honest_best
from jostle.choice.makers.shipped import SHIPPED, shipped_history
from jostle.choice.makers.training import Judged, Way, judge, single_best, split_groups
from jostle.corpora.databases import PublicTable
from jostle.corpora.folders import read_folder
from jostle.corpora.parts import possible_rows
from jostle.corpora.specs import TableSpec
from jostle.options import get
from jostle.options.classification.select_privately import SelectPrivately
from jostle.privacy.selection import NumberOfRuns
from jostle.tasks import CLASSIFICATION, make_instance
from jostle.tasks.classification.metafeatures import BOUGHT, PUBLIC

Floats = NDArray[np.float64]

EPSILONS = ("3/100", "1/10", "3/10", "1", "3", "10")
ROWS = 10_000
"""Rows to learn from, where a table has more."""
LEAST = 500
FOLDS = 10
WAY = Way((*PUBLIC, *BOUGHT[:5]), Fraction(1, 20), ForestLearner())
BEST, LEARNED, HINDSIGHT = "single best Option", "learned choice", "hindsight"
ANY = "an Option at random"
"""Of all of them: what needs no training either."""


@frozen
class Setting:
    """One way of selecting privately."""

    tried: int
    """How many Options; which, is learned on other tables."""
    eta: Fraction
    gamma: Fraction
    score_share: Fraction
    often: bool = False
    """Whether the first of them is drawn as often as all others together."""

    def among(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """Return what is tried, of the Options worth trying: one that is listed twice is drawn twice as often."""
        times = self.tried - 1 if self.often else 1
        return tuple(sorted((*options[:1] * times, *options[1 : self.tried])))

    @property
    def stopping(self) -> NumberOfRuns:
        """Return the distribution of the number of runs."""
        return NumberOfRuns(self.gamma, self.eta)

    @property
    def mean_runs(self) -> float:
        """Return the mean number of runs."""
        weights = np.array([float(self.stopping.weight(runs)) for runs in range(1, 1000)])
        return float(weights @ np.arange(1, 1000) / weights.sum())

    def __str__(self) -> str:
        tried = f"try {self.tried}{', the first in half of the runs' if self.often else ''}"
        return f"{tried}; eta {self.eta}, gamma {self.gamma}, score {self.score_share}"


SETTINGS = tuple(
    Setting(tried, Fraction(eta), Fraction(gamma), Fraction(share), often)
    for tried, eta, gamma, share, often in (
        (3, "0", "1/20", "1/10", False),
        (3, "1/2", "1/50", "1/10", True),
        (8, "1/2", "1/50", "1/10", False),
        (8, "1/2", "1/50", "1/3", False),
        (18, "1/2", "1/100", "1/10", False),
    )
)


def main() -> None:
    """Run what is missing, and write the page and its picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--history", type=Path, help="a history that holds the tables of DIRECTORY")
    parser.add_argument("--tables", type=int, default=25)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks/selection.md"))
    parser.add_argument("--results", type=Path, default=Path("docs/benchmarks/selection.json"))
    given = parser.parse_args()
    start = time.process_time()
    history = read_history(given.history) if given.history else shipped_history(CLASSIFICATION)
    cases = cases_of(history, [get(name) for name in SHIPPED["classification"].among])
    print(f"{len(cases)} cases of {len(cases.options)} Options, {cases.losses.shape[2]} repeats each")
    compared = dict(chosen(read_folder(given.directory).tables, cases, given.tables))
    held: dict[str, list[float]] = json.loads(given.results.read_text()) if given.results.exists() else {}
    for key, (table, spec) in compared.items():
        run_missing(table, spec, shortlists(cases, key), held, given.repeats)
        given.results.write_text(json.dumps(held, indent=0, sort_keys=True) + "\n")
        print(f"{time.process_time() - start:6.0f} s of CPU time: {table.name}")
    losses = compare(cases, judge(cases, WAY, folds=FOLDS, draws=2), tuple(compared), held)
    draw(losses, given.page.with_suffix(".png"))
    given.page.write_text(page(losses, cases, given), encoding="utf-8")
    print(f"{time.process_time() - start:6.0f} s of CPU time: wrote {given.page}")


def chosen(
    tables: Iterable[PublicTable], cases: Cases, count: int
) -> Iterator[tuple[str, tuple[PublicTable, TableSpec]]]:
    """Yield so many instances, of tables evenly spread from small to large, that all Options were rehearsed on."""
    known = {instance.key for instance in cases.instances}
    found: list[tuple[int, str, PublicTable, TableSpec]] = []
    for table in tables:
        spec = TableSpec(rows=ROWS if ROWS in possible_rows(table, (ROWS,)) else None)
        if len(table) >= LEAST and table.key(spec) in known:
            found.append((len(table), table.name, table, spec))
    found.sort(key=lambda each: each[:2])
    for place in np.unique(np.linspace(0, len(found) - 1, count).round().astype(int)):
        _, _, table, spec = found[place]
        yield table.key(spec), (table, spec)


def left_out(cases: Cases, key: str) -> NDArray[np.bool_]:
    """Return which cases are not learned from for an instance: those of its fold of groups."""
    group = cases.groups[place_of(cases, key)]
    return next(marks for marks in split_groups(cases.groups, FOLDS) if marks[cases.groups == group].all())


def place_of(cases: Cases, key: str) -> int:
    """Return the first case of an instance."""
    places = {instance.key: place for place, instance in enumerate(cases.instances)}
    return places[key] * len(cases.epsilons)


def shortlists(cases: Cases, key: str) -> tuple[str, ...]:
    """Return Options in the order in which they are worth trying, as learned on other groups.

    Each is the one that lowers the mean loss of the best of those so far the most, at the half of the budgets that a
    run has.
    """
    kept = ~left_out(cases, key)
    losses, weights = cases.spent(Fraction(1, 2))[kept], cases.weights(kept)
    taken: list[int] = []
    so_far = np.full(len(losses), np.inf)
    while len(taken) < max(setting.tried for setting in SETTINGS):
        means = np.average(np.minimum(losses, so_far[:, None]), axis=0, weights=weights)
        means[taken] = np.inf
        taken.append(int(np.argmin(means)))
        so_far = np.minimum(so_far, losses[:, taken[-1]])
    return tuple(cases.options[place] for place in taken)


def run_missing(
    table: PublicTable, spec: TableSpec, options: tuple[str, ...], held: dict[str, list[float]], repeats: int
) -> None:
    """Run the private selections that are not held yet, and note the errors of what they gave."""
    instance: Any = None
    for setting in SETTINGS:
        for epsilon in EPSILONS:
            name = f"{table.key(spec)} | {', '.join(setting.among(options))} | {setting} | {epsilon}"
            losses = held.setdefault(name, [])
            while len(losses) < repeats:
                instance = instance or make_instance(table, spec)
                option = SelectPrivately(
                    among=setting.among(options),
                    eta=setting.eta,
                    gamma=setting.gamma,
                    score_share=setting.score_share,
                )
                digest = hashlib.blake2b(f"{name} {len(losses)}".encode(), digest_size=7).digest()
                db = jostle.rehearse(instance.table, epsilon=epsilon, seed=int.from_bytes(digest, "big"))
                losses.append(round(instance.loss(option(db, epsilon=epsilon)), 5))


def compare(cases: Cases, judged: Judged, keys: tuple[str, ...], held: dict[str, list[float]]) -> dict[str, Floats]:
    """Return each way's errors, instances by budgets; NaN where hindsight is not known."""
    budgets = [cases.epsilons.index(epsilon) for epsilon in EPSILONS]
    rows = np.array([[place_of(cases, key) + budget for budget in budgets] for key in keys])
    whole, best = cases.spent(Fraction(0)), honest_best(cases.losses)
    single = np.empty(rows.shape)
    for place, key in enumerate(keys):
        kept = ~left_out(cases, key)
        single[place] = whole[rows[place], single_best(whole[kept], cases.weights(kept), cases.floor)]
    found = {HINDSIGHT: best[rows], LEARNED: judged.losses[rows], BEST: single, ANY: whole[rows].mean(axis=2)}
    for setting in SETTINGS:
        errors = np.empty(rows.shape)
        for place, key in enumerate(keys):
            options = ", ".join(setting.among(shortlists(cases, key)))
            for budget, epsilon in enumerate(EPSILONS):
                errors[place, budget] = np.mean(held[f"{key} | {options} | {setting} | {epsilon}"])
        found[str(setting)] = errors
    return found


def draw(losses: dict[str, Floats], path: Path) -> None:
    """Draw the mean errors above the learned choice's, over epsilon."""
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.add_subplot()
    epsilons = [float(Fraction(epsilon)) for epsilon in EPSILONS]
    styles = {HINDSIGHT: ("black", ":", 2.0), BEST: ("tab:gray", "--", 2.5)}
    for way, errors in losses.items():
        if way not in {LEARNED, ANY}:
            colour, line, width = styles.get(way, (None, "-", 1.2))
            above = (errors - losses[LEARNED]).mean(axis=0)
            axes.plot(epsilons, above, color=colour, linestyle=line, linewidth=width, marker="o", label=way)
    axes.axhline(0, color="black", linewidth=2.5, label=LEARNED)
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.set_xlabel("epsilon")
    axes.set_ylabel("share of wrong predictions above the learned choice's")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    figure.savefig(path, dpi=120)


def page(losses: dict[str, Floats], cases: Cases, given: argparse.Namespace) -> str:
    """Return the page."""
    tables = len(losses[BEST])
    selections = [str(setting) for setting in SETTINGS]
    lines = [
        "# Choosing by prediction, and choosing by private trial",
        "",
        "    python benchmarks/selection.py DIRECTORY_OF_TABLES" + (" --history FILE" if given.history else ""),
        "",
        *HEAD.format(
            tables=tables,
            rows=f"{ROWS:,}",
            repeats=given.repeats,
            others=cases.losses.shape[2],
            options=len(cases.options),
            folds=FOLDS,
            share=WAY.share,
        ).splitlines(),
        "",
        "## Mean share of wrong predictions",
        "",
        f"| way | {' | '.join(f'ε = {float(Fraction(epsilon)):g}' for epsilon in EPSILONS)} | mean |",
        f"|---|{'---|' * (len(EPSILONS) + 1)}",
    ]
    lowest = {budget: min(losses[way][:, budget].mean() for way in losses if way != HINDSIGHT) for budget in range(6)}
    for way, errors in losses.items():
        means = [
            "not known"
            if np.isnan(mean)
            else f"**{mean:.3f}**"
            if way != HINDSIGHT and mean == lowest[budget]
            else f"{mean:.3f}"
            for budget, mean in enumerate(errors.mean(axis=0))
        ]
        overall = "not known" if np.isnan(errors).any() else f"{errors.mean():.3f}"
        lines.append(f"| {way} | {' | '.join(means)} | {overall} |")
    lines += ["", *WINS.splitlines(), "", f"| way | beats | {' | '.join(shown())} |", f"|---|---|{'---|' * 6}"]
    for way in selections:
        for other in (BEST, LEARNED):
            wins = (losses[way] < losses[other]).mean(axis=0)
            lines.append(f"| {way} | {other} | {' | '.join(f'{win:.0%}' for win in wins)} |")
    lines += ["", *DIFFERENCES.splitlines(), "", f"| way | {' | '.join(shown())} |", f"|---|{'---|' * 6}"]
    for way in (BEST, *selections):
        apart = losses[way] - losses[LEARNED]
        errors = apart.std(axis=0, ddof=1) / np.sqrt(tables)
        cells = (f"{mean:+.3f} ± {error:.3f}" for mean, error in zip(apart.mean(axis=0), errors, strict=True))
        lines.append(f"| {way} | {' | '.join(cells)} |")
    lines += ["", *verdict(losses).splitlines()]
    lines += ["", "## What a setting means", "", "| setting | a run gets | runs in the mean |", "|---|---|---|"]
    for setting in SETTINGS:
        part = float((1 - setting.score_share) / (2 + setting.eta))
        lines.append(f"| {setting} | {part:.2f} ε | {setting.mean_runs:.1f} |")
    return "\n".join(lines) + "\n\n![Errors above the learned choice over epsilon](selection.png)\n"


def verdict(losses: dict[str, Floats]) -> str:
    """Return at which budgets private selection does clearly better, or worse, than the learned choice."""
    counts = {"above": [0] * len(EPSILONS), "below": [0] * len(EPSILONS)}
    for setting in SETTINGS:
        apart = losses[str(setting)] - losses[LEARNED]
        sure = 2 * apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
        for budget, mean in enumerate(apart.mean(axis=0)):
            counts["above"][budget] += bool(mean > sure[budget])
            counts["below"][budget] += bool(mean < -sure[budget])
    said = [
        ", ".join(f"{each} at {head}" for each, head in zip(found, shown(), strict=True)) for found in counts.values()
    ]
    return (
        f"Of the {len(SETTINGS)} settings, so many are more than two standard errors above the learned choice: "
        f"{said[0]}.\n"
        f"So many are more than two standard errors below it: {said[1]}."
    )


def shown() -> list[str]:
    """Return the budgets as column heads."""
    return [f"ε = {float(Fraction(epsilon)):g}" for epsilon in EPSILONS]


HEAD = """{tables} tables, up to {rows} rows to learn from; errors are shares of wrong predictions on held-out rows.
*Hindsight* is the best of {options} Options on each table at each ε, read off all repeats but one and scored on
that one (up to {others} repeats; not known where a table has one). The *single best Option* is the one with the
least mean error on other tables. The *learned choice* is a forest that predicts every Option's error from what
it looks at, which costs {share} of ε. Both are learned on groups of tables in turn left out ({folds} folds),
from rehearsals; between rehearsed budgets, errors are interpolated. A *private selection* runs a random number
of Options out of a list of so many, each on ε/(2 + η) less the score's share, and keeps the one with the
highest noisy score (`SelectPrivately`); the list is learned on other tables as well: greedily, the Options
whose best has the least mean error. Means of {repeats} runs each, on the first cut into rows to learn from and
rows held out; rehearsals are on that cut and others."""
WINS = """## How often private selection wins

Share of the tables on which its error is less than the other way's."""

DIFFERENCES = """## By how much

Mean of the error less the learned choice's, and the standard error of that mean over tables."""

if __name__ == "__main__":
    main()
