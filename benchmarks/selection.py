"""Compare ways of choosing: by prediction, by private trial, and accuracy first.

    python benchmarks/selection.py FOLDER [--repeats 2] [--results FILE]

FOLDER is the one that `benchmarks/roles.py` reads. Compared is on the tables that makers which come with Jostle learned
from, whose rehearsals came with it; judge tables are not read. Private selections and what is accuracy first are
run anew. Whatever is learned (which Option is best, what to try, what to predict from metafeatures) is learned on other
groups of tables. Runs are kept in the results file, so that what was stopped goes on where it was.
`benchmarks/selection_report.py` makes the page of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray
from roles import database_of, listed

import jostle
from jostle.choice.learning.cases import Cases, cases_of
from jostle.choice.learning.regret import split_groups
from jostle.choice.makers.shipped import CLASSIFIERS, rehearsals_of
from jostle.corpora.databases import PublicTable
from jostle.corpora.parts import TableSpec
from jostle.options import get
from jostle.options.base import name_in
from jostle.options.classification.tuning import CANDIDATES, AccuracyFirst, SelectPrivately
from jostle.privacy.selection import NumberOfRuns
from jostle.tasks import make_instance

Floats = NDArray[np.float64]
Runs = dict[str, list[tuple[float, float]]]
"""By what was run: what was spent, and the loss."""

EPSILONS = ("3/100", "1/10", "3/10", "1", "3")
ROWS = 10_000
"""Rows to learn from, at most."""
FOLDS = 10
RESULTS = Path(__file__).parent.parent / "docs" / "benchmarks" / "selection.json"


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
        """What is tried, of the Options worth trying: one that is listed twice is drawn twice as often."""
        times = self.tried - 1 if self.often else 1
        return tuple(sorted((*options[:1] * times, *options[1 : self.tried])))

    def option(self, options: tuple[str, ...]) -> SelectPrivately:
        """The Option."""
        return SelectPrivately(among=self.among(options), eta=self.eta, gamma=self.gamma, score_share=self.score_share)

    @property
    def mean_runs(self) -> float:
        """The mean number of runs."""
        stopping = NumberOfRuns(self.gamma, self.eta)
        weights = np.array([float(stopping.weight(runs)) for runs in range(1, 1000)])
        return float(weights @ np.arange(1, 1000) / weights.sum())

    def __str__(self) -> str:
        tried = f"try {self.tried}{', the first in half of the runs' if self.often else ''}"
        return f"{tried}; eta {self.eta}, gamma {self.gamma}, score {self.score_share}"


SETTINGS = tuple(
    Setting(tried, Fraction(eta), Fraction(gamma), Fraction(share), often)
    for tried, eta, gamma, share, often in (
        (3, "0", "1/20", "1/10", False),
        (8, "1/2", "1/50", "1/3", False),
        (8, "1/2", "1/50", "1/10", False),
        (3, "1/2", "1/50", "1/10", True),
        (18, "1/2", "1/100", "1/10", False),
    )
)
WANTED = (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10))
"""What accuracy is wanted: so far from always saying the commonest class to the best Option at the most epsilon."""
LEAST_TO_GAIN = 0.03
"""Where the best Option is ahead by less, there is no accuracy to want."""
MOST = EPSILONS[-1]
LADDERS = (5, 8)
"""Rungs of the ladder that goes up to `MOST`."""


@frozen(eq=False)
class Compared:
    """A table that ways are compared on."""

    name: str
    table: PublicTable
    spec: TableSpec
    place: int
    """Of its instance, among those of the cases."""

    @property
    def key(self) -> str:
        """What its runs are kept by."""
        return self.table.key(self.spec)

    @cached_property
    def instance(self) -> Any:
        """Its rows to learn from, and those held out."""
        return make_instance(self.table, self.spec)

    def rows(self, cases: Cases) -> slice:
        """Its cases, by budget."""
        return slice(self.place * len(cases.epsilons), (self.place + 1) * len(cases.epsilons))


def rehearsed() -> Cases:
    """What all Options lose on the tables that makers learned from."""
    cases = cases_of(rehearsals_of("classification"), [get(name) for name in CLASSIFIERS])
    if cases.epsilons != EPSILONS:
        raise SystemExit(f"rehearsed were {', '.join(cases.epsilons)}")
    return cases


def tables_in(folder: Path, cases: Cases) -> list[Compared]:
    """The tables that makers learned from, each with as many rows as were rehearsed on, up to `ROWS`."""
    places = {instance.key: place for place, instance in enumerate(cases.instances)}
    found = []
    for each in listed(folder, "tabular", "learn"):
        table = cast("PublicTable", database_of(folder / "tabular", each.name))
        keys = {spec: table.key(spec) for spec in (TableSpec(), TableSpec(rows=ROWS), TableSpec(rows=ROWS * 3 // 10))}
        fitting = [
            Compared(each.name, table, spec, places[key])
            for spec, key in keys.items()
            if key in places and cases.instances[places[key]].rows <= ROWS
        ]
        found += fitting[:1]
    return found


def left_out(cases: Cases, compared: Compared) -> NDArray[np.bool_]:
    """Which cases are not learned from for a table: those of its fold of groups."""
    group = cases.groups[compared.rows(cases)][0]
    return next(marks for marks in split_groups(cases.groups, FOLDS) if marks[cases.groups == group].all())


def shortlist(cases: Cases, compared: Compared) -> tuple[str, ...]:
    """Options that may be run unseen, in the order in which they are worth trying, as learned on other groups.

    Each is the one that lowers the mean loss of the best of those so far the most, at the half of the budgets that a
    run has.
    """
    kept = ~left_out(cases, compared)
    losses, weights = cases.spent(Fraction(1, 2))[kept], cases.weights(kept)
    unseen = {kind.__name__ for kind in CANDIDATES}
    taken = [place for place, name in enumerate(cases.options) if name_in(name) not in unseen]
    known = len(taken)
    so_far = np.full(len(losses), np.inf)
    while len(taken) < known + max(setting.tried for setting in SETTINGS):
        means = np.average(np.minimum(losses, so_far[:, None]), axis=0, weights=weights)
        means[taken] = np.inf
        taken.append(int(np.argmin(means)))
        so_far = np.minimum(so_far, losses[:, taken[-1]])
    return tuple(cases.options[place] for place in taken[known:])


def wanted_of(cases: Cases, compared: Compared) -> dict[Fraction, Fraction]:
    """The accuracies that are wanted on a table; none where there is too little to gain."""
    losses = cases.mean[compared.rows(cases)][-1]
    guess, best = losses[cases.options.index("Majority")], losses.min()
    if guess - best < LEAST_TO_GAIN:
        return {}
    return {part: Fraction(round(1000 * (1 - guess + float(part) * (guess - best))), 1000) for part in WANTED}


def selection_key(compared: Compared, options: tuple[str, ...], setting: Setting, epsilon: str) -> str:
    """What the runs of a private selection are kept by."""
    return f"{compared.key} | {', '.join(setting.among(options))} | {setting} | {epsilon}"


def ladder_key(compared: Compared, accuracy: Fraction, steps: int) -> str:
    """What the runs of a ladder are kept by."""
    return f"{compared.key} | AccuracyFirst(accuracy={accuracy}, steps={steps}) | {MOST}"


@define
class Held:
    """Runs that are kept in a file."""

    path: Path
    runs: Runs = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Read what there is."""
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.runs = {key: [(spent, loss) for spent, loss in runs] for key, runs in known.items()}

    def add(self, key: str, repeats: int, instance: Any, epsilon: str, option: Callable[..., Any]) -> None:
        """Run what is missing."""
        runs = self.runs.get(key, [])
        while len(runs) < repeats:
            digest = hashlib.blake2b(f"{key} {len(runs)}".encode(), digest_size=7).digest()
            db = jostle.rehearse(instance.table, epsilon=epsilon, seed=int.from_bytes(digest, "big"))
            loss = instance.loss(option(db, epsilon=epsilon))
            self.runs[key] = runs = [*runs, (round(float(db.spent), 5), round(loss, 5))]

    def write(self) -> None:
        """Keep them."""
        lines = (f"{json.dumps(key)}: {json.dumps(self.runs[key])}" for key in sorted(self.runs))
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> int:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=2, help="Private selections for each table and epsilon.")
    parser.add_argument("--settings", type=int, default=len(SETTINGS), help="So many ways of selecting privately.")
    parser.add_argument("--ladders", type=int, default=20, help="Runs of each ladder for each table.")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    start, cases, held = time.process_time(), rehearsed(), Held(given.results)
    tables = tables_in(given.folder, cases)

    def say(what: object) -> None:
        held.write()
        print(f"{time.process_time() - start:6.0f} s of processor time: {what}", flush=True)

    for compared in tables:
        for accuracy in wanted_of(cases, compared).values():
            for steps in LADDERS:
                option = AccuracyFirst(accuracy=accuracy, steps=steps)
                held.add(ladder_key(compared, accuracy, steps), given.ladders, compared.instance, MOST, option)
    say("accuracy first")
    for setting in SETTINGS[: given.settings]:
        for compared in tables:
            options = shortlist(cases, compared)
            for epsilon in EPSILONS:
                key = selection_key(compared, options, setting, epsilon)
                held.add(key, given.repeats, compared.instance, epsilon, setting.option(options))
            say(f"{setting}, {compared.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
