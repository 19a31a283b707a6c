"""How well Jostle chooses: tables and the picture of docs/benchmarks/choosing.md.

    python benchmarks/choosing.py [classification ranges] [--slices] [--roles RESULTS]

Learns from the rehearsals that came with Jostle, leaves each group of databases that share people out in turn, and
compares ways of choosing on those left out, what they spend on metafeatures being charged. Takes some minutes. With
--slices, it is Jostle's way alone that is shown: what it chooses where, beside always one Option. With RESULTS, a
folder of what `benchmarks/fresh.py` wrote, figures on tune, learn and judge databases are shown side by side instead.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray
from sides import by_role

from jostle.choice.learning.cases import Cases, cases_of
from jostle.choice.learning.learners import LEARNERS, ForestLearner
from jostle.choice.learning.regret import LEAST, Figures, figures, honest_best, weights_of
from jostle.choice.makers.shipped import SHIPPED, rehearsals_of, shipped_maker
from jostle.choice.makers.trained import Trained
from jostle.choice.makers.training import LEADS, SINGLE_BEST, Judged, Way, foresee, free_and_paid, judge, nested
from jostle.options import get
from jostle.tasks.metafeature import named

DOCS = Path(__file__).parent.parent / "docs"
EVALUATED = {"classification": (0.03, 0.1, 0.3, 1.0, 3.0)}
"""Budgets that figures are about; for grids, all that were rehearsed."""
MOST_SHOWN = 4
"""Of Options, where it is shown what is chosen: the single best one, and those that are chosen most."""
Marks = NDArray[np.bool_]


@frozen
class Row:
    """One way of choosing, and its figures."""

    title: str
    figures: Figures


def evaluated(cases: Cases, task: str) -> Marks:
    """Return the cases that figures are about: none generated; of tables, all rows not held out, at usual budgets."""
    if task != "classification":
        return np.asarray(~cases.artificial)
    most: dict[str, int] = {}
    for instance in cases.instances:
        most[instance.database] = max(most.get(instance.database, 0), instance.rows)
    whole = [instance.rows == most[instance.database] for instance in cases.instances]
    usual = np.isclose(cases.budgets[:, None], EVALUATED[task]).any(axis=1)
    return np.asarray(usual & np.repeat(whole, len(cases.epsilons)))


def of_losses(cases: Cases, kept: Marks, losses: NDArray[np.float64], single: NDArray[np.float64]) -> Figures:
    """Return the figures of some losses."""
    return figures(
        losses[kept],
        single[kept],
        honest_best(cases.losses[kept]),
        floor=cases.floor,
        weights=weights_of(cases.databases[kept]),
    )


def compared(cases: Cases, trained: Trained, kept: Marks, say: Callable[[str], None]) -> tuple[list[Row], Judged]:
    """Return the figures of all ways of choosing that are compared, and Jostle's own."""
    known = cases.task.rehearsal.metafeatures
    offered = named(known)
    looked_at = [offered[each] for each, _ in trained.metafeatures]
    free, paid = free_and_paid(cases, known)
    share = trained.share
    if not share:
        # It looks at nothing that costs: shown is what the first purchase would have done.
        looked_at, share = [*free, *paid[0]], Fraction(1, 50)
    groups = len(set(cases.groups.tolist()))

    def judged(way: Way, *, exact: bool = False) -> dict[float, Judged]:
        say(f"leaving out {groups} groups one by one: {way}")
        found = foresee(cases, way, folds=groups, exact=exact)
        return {lead: found.judged(evolve(way, lead=lead)) for lead in LEADS}

    constant = judge(cases, SINGLE_BEST, folds=groups)
    public = judged(Way(free, Fraction(0), ForestLearner()))
    ways = {learner.name: judged(Way(looked_at, share, learner)) for learner in LEARNERS}
    raw = judged(Way(known, Fraction(0), ForestLearner()), exact=True)
    tried = [constant, *public.values(), *(each for leads in ways.values() for each in leads.values())]
    chosen = nested(cases, tried, folds=groups)
    shipped = ways[trained.learner][trained.lead] if trained.learner in ways else constant
    whole = cases.spent(Fraction(0))
    hindsight = np.full(len(cases), np.nan)
    hindsight[kept] = honest_best(cases.losses[kept])

    def row(title: str, found: Judged) -> Row:
        return Row(title, found.figures(cases, kept))

    rows = [
        Row("blind: any Option, with equal chances", of_losses(cases, kept, whole.mean(axis=1), constant.single)),
        row("the single best Option", constant),
        *(row(f"public facts only, forest, lead {lead:.0%}", public[lead]) for lead in (0.0, 0.05)),
        *(
            row(f"{learner}, {float(share):.0%} on metafeatures, lead {lead:.0%}", leads[lead])
            for learner, leads in ways.items()
            for lead in (0.0, 0.05)
        ),
        row(f"**Jostle, as shipped**: {trained.learner}, {float(trained.share):.0%}, lead {trained.lead:.0%}", shipped),
        row("the best of these and other leads on all other groups", chosen),
        *(
            row(f"all metafeatures, raw and free (a bound, not private), lead {lead:.0%}", raw[lead])
            for lead in (0.0, 0.05)
        ),
        Row("hindsight", of_losses(cases, kept, hindsight, constant.single)),
    ]
    return rows, shipped


def table(rows: Sequence[Row]) -> str:
    """Return the figures as a table."""
    titles = (
        "way of choosing",
        "mean regret",
        "95th percentile",
        "worst",
        "gap closed",
        "2% worse than single",
        "mean loss",
    )
    head = f"| {' | '.join(titles)} |\n"
    lines = [
        f"| {row.title} | {row.figures.regret_mean:.3f} | {row.figures.regret_p95:.2f} | {row.figures.regret_max:.1f} "
        f"| {row.figures.gap_closed:.2f} | {row.figures.worse_share:.0%} | {row.figures.loss_mean:.4g} |\n"
        for row in rows
    ]
    return head + "|---|---|---|---|---|---|---|\n" + "".join(lines)


def by_epsilon(cases: Cases, chosen: Judged, kept: Marks) -> str:
    """Return mean losses and regrets for each budget."""
    hindsight = np.full(len(cases), np.nan)
    hindsight[kept] = honest_best(cases.losses[kept])
    least = max(cases.floor, LEAST)
    columns = {
        "single best": chosen.single,
        "Jostle": chosen.losses,
        "hindsight": hindsight,
    }
    lines = []
    for epsilon in sorted(set(cases.budgets[kept].tolist())):
        here = kept & np.isclose(cases.budgets, epsilon)
        weights = weights_of(cases.databases[here])
        best = np.maximum(hindsight[here], least)
        losses = [np.average(each[here], weights=weights) for each in columns.values()]
        regrets = [np.average(np.maximum(each[here], least) / best, weights=weights) for each in columns.values()]
        cells = [*(f"{loss:.4g}" for loss in losses), *(f"{regret:.3f}" for regret in regrets[:-1])]
        lines.append(f"| {epsilon:g} | {' | '.join(cells)} |\n")
    titles = ["ε", *(f"{name}: loss" for name in columns), *(f"{name}: regret" for name in list(columns)[:-1])]
    return f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|\n" + "".join(lines)


def by_option(cases: Cases, chosen: Judged, kept: Marks) -> str:
    """Return how often each Option is best, and how often it is chosen."""
    best = np.argmin(cases.mean[kept], axis=1)
    taken = chosen.taken[kept].mean(axis=0)
    mean = cases.mean[kept].mean(axis=0)
    order = np.argsort(mean)
    lines = [
        f"| {cases.options[place]} | {mean[place]:.4g} | {np.mean(best == place):.0%} | {taken[place]:.0%} |\n"
        for place in order
    ]
    return "| Option | mean loss | best in | chosen in |\n|---|---|---|---|\n" + "".join(lines)


def by_slice(cases: Cases, chosen: Judged, kept: Marks) -> str:
    """Return what is chosen by rows times epsilon and classes, and what that is worth beside always one Option."""
    single = int(
        np.argmax([np.isclose(cases.mean[:, place], chosen.single).mean() for place in range(len(cases.options))])
    )
    shown = [single, *(place for place in np.argsort(-chosen.taken[kept].mean(axis=0)) if place != single)][:MOST_SHOWN]
    hindsight = np.full(len(cases), np.nan)
    hindsight[kept] = np.maximum(honest_best(cases.losses[kept]), max(cases.floor, LEAST))
    sketches = [instance.sketch for instance in cases.instances for _ in cases.epsilons]
    classes = np.array([{name: size for name, size, *_ in each.columns}[each.label or ""] for each in sketches])
    support = cases.records_epsilon
    lines = []
    kept = kept & ~np.isnan(hindsight)  # of one run there is no hindsight
    for (low, high), (few, many) in product(pairwise((0, 100, 1000, 10_000, math.inf)), pairwise((2, 3, math.inf))):
        here = kept & (support >= low) & (support < high) & (classes >= few) & (classes < many)
        if not here.any():
            continue
        weights = weights_of(cases.databases[here])
        losses = [chosen.losses, *(cases.mean[:, place] for place in shown)]
        regrets = [
            np.average(np.maximum(each[here], cases.floor) / hindsight[here], weights=weights) for each in losses
        ]
        taken = [f"`{cases.options[place]}` {chosen.taken[here, place].mean():.0%}" for place in shown]
        most = ", ".join(each for each in taken if not each.endswith(" 0%"))
        said = f"{low:g} to {high:g}" if high < math.inf else f"{low:g} and more"
        kinds = "two" if many == 3 else "more"
        lines.append(
            f"| {said} | {kinds} | {here.sum()} | {most} | {' | '.join(f'{each:.3f}' for each in regrets)} |\n"
        )
    heads = ["rows·ε", "classes", "cells", "runs", "Jostle", *(f"always `{cases.options[place]}`" for place in shown)]
    return f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|\n" + "".join(lines)


def picture(results: dict[str, tuple[Cases, Judged, Marks]], path: Path) -> None:
    """Draw regret over epsilon for the single best Option and for Jostle."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - the report extra

    figure, axes = plt.subplots(1, len(results), figsize=(4.2 * len(results), 3.4), squeeze=False)
    for axis, (name, (cases, chosen, kept)) in zip(axes[0], results.items(), strict=True):
        hindsight = np.full(len(cases), np.nan)
        hindsight[kept] = np.maximum(honest_best(cases.losses[kept]), max(cases.floor, LEAST))
        budgets = sorted(set(cases.budgets[kept].tolist()))
        for title, losses in (("single best Option", chosen.single), ("Jostle", chosen.losses)):
            regret = np.maximum(losses, cases.floor) / hindsight
            means = [float(regret[kept & np.isclose(cases.budgets, epsilon)].mean()) for epsilon in budgets]
            axis.plot(budgets, means, marker="o", label=title)
        axis.axhline(1, color="grey", linewidth=0.8)
        axis.set(xscale="log", xlabel="ε", ylabel="mean loss / hindsight's loss", title=name)
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})


def sliced(title: str, cases: Cases, trained: Trained) -> None:
    """Print what one maker chooses where, its groups of databases left out in turn."""
    offered = named(cases.task.rehearsal.metafeatures)
    learner = {each.name: each for each in (*LEARNERS, SINGLE_BEST.learner)}[trained.learner]
    way = Way([offered[each] for each, _ in trained.metafeatures], trained.share, learner, lead=trained.lead)
    chosen = judge(cases, way, folds=len(set(cases.groups.tolist())))
    print(f"### {title}\n\n{way}\n\n{by_slice(cases, chosen, evaluated(cases, trained.task))}")


def reported(title: str, cases: Cases, trained: Trained) -> tuple[Cases, Judged, Marks]:
    """Print the tables about one maker; return what its picture is drawn from."""
    kept = evaluated(cases, trained.task)
    start = time.perf_counter()
    rows, chosen = compared(cases, trained, kept, lambda said: print(f"  {said}", file=sys.stderr, flush=True))
    databases = len(set(cases.databases[kept].tolist()))
    print(f"## {title}\n")
    print(
        f"{databases} databases in {len(set(cases.groups[kept].tolist()))} groups, {int(kept.sum())} cells, "
        f"{len(cases.options)} Options, {cases.losses.shape[2]} repeats; {time.perf_counter() - start:.0f} s.\n"
    )
    print(f"Jostle's way: {chosen.way}.\n")
    print(table(rows))
    print(by_epsilon(cases, chosen, kept))
    print(by_option(cases, chosen, kept))
    return cases, chosen, kept


def main() -> int:
    """Write the tables to standard output and the picture to docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("makers", nargs="*", metavar="MAKER", help=", ".join(SHIPPED))
    parser.add_argument("--slices", action="store_true", help="Only what is chosen where.")
    parser.add_argument("--roles", type=Path, help="What fresh.py wrote, to be shown side by side.")
    arguments = parser.parse_args()
    if arguments.roles is not None:
        print(by_role(arguments.roles))
        return 0
    results: dict[str, tuple[Cases, Judged, Marks]] = {}
    for name in arguments.makers or SHIPPED:
        shipped = SHIPPED[name]
        whole = cases_of(rehearsals_of(name), [get(each) for each in shipped.among], judge=shipped.judge)
        trained = shipped_maker(name)
        if arguments.slices:
            sliced(name, whole, trained)
            continue
        results[name] = reported(name, whole.only(lambda instance: not instance.sketch.declared), trained)
        if trained.declared is not None:
            declared = whole.only(lambda instance: instance.sketch.declared)
            reported(f"{name}, where the number of rows is declared", declared, trained.declared)
    if results:
        picture(results, DOCS / "benchmarks" / "choosing.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
