"""Evaluate makers: how well they choose on databases they have not seen, everything they spend being charged.

On each database and budget every Option runs several times, and so does the maker as a whole: it buys its metafeatures
and runs what it chose with what is left. A *cell* is one database at one budget, and one question where several kinds
are asked. A *slice* is all cells of a kind of question and a decade of rows times epsilon.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from attrs import asdict, evolve, field, frozen

from jostle.choice.learning.regret import Figures, as_failed, figures, honest_best
from jostle.choice.learning.rehearse import run_once, seed_of
from jostle.choice.learning.workers import performed
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.trained import Trained
from jostle.corpora.corpus import BEGINNING, Corpus
from jostle.corpora.databases import PublicDatabase
from jostle.errors import ChoiceError, JostleError
from jostle.options.fitted import kept_apart
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.progress import stage
from jostle.tasks import Judge
from jostle.trace.records import Chosen, Trace

MAKER = "the maker itself"


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)


@frozen(kw_only=True)
class Result:
    """What was found on one database at one budget, as means over trials."""

    database: str
    epsilon: Fraction
    asked: str = ""
    """What was asked, where several questions were."""
    rows: int
    """Of the database, in the first trial."""
    losses: Mapping[str, float | None]
    """Of each Option; None for one that never ran."""
    loss: float
    """Of what the maker answered."""
    chosen: Mapping[str, int]
    """How often it chose what."""
    hindsight: float
    """The loss of the best Option: told from all trials but one, and measured on that one, in turn."""
    single: float
    """The loss of the Option that was best on average in training."""
    regret: float
    single_regret: float
    """Of that Option, always run."""
    failures: tuple[str, ...] = field(default=(), converter=_names)
    """Why, each reason once."""
    failed: Mapping[str, int] = field(factory=dict)
    """How often Options failed, and the maker."""


@frozen
class Slice:
    """All cells of a kind of question and a decade of rows times epsilon."""

    asked: str
    decade: int
    cells: tuple[Result, ...]

    @property
    def regret(self) -> float:
        """The mean regret of the maker."""
        return float(np.mean([cell.regret for cell in self.cells]))

    @property
    def single_regret(self) -> float:
        """That of the Option that was best in training, run always."""
        return float(np.mean([cell.single_regret for cell in self.cells]))

    @property
    def chosen(self) -> tuple[tuple[str, float], ...]:
        """What was chosen, and in which share of the runs, the most chosen first."""
        counted: Counter[str] = Counter()
        for cell in self.cells:
            counted.update(cell.chosen)
        return tuple((name, count / counted.total()) for name, count in counted.most_common())


@frozen(kw_only=True)
class Evaluation:
    """All cells, and the figures over them."""

    maker: str
    task: str
    options: tuple[str, ...] = field(converter=_names)
    single_best: str
    trials: int
    cells: tuple[Result, ...]
    figures: Figures
    seen_before: tuple[str, ...] = field(converter=_names)
    """Databases that the maker was trained on: what is found there says little."""
    problems: tuple[str, ...] = field(default=(), converter=_names)
    """Why some files were left out."""

    @property
    def slices(self) -> tuple[Slice, ...]:
        """The cells by what was asked and how much there was to tell from, in order of both."""
        found: dict[tuple[str, int], list[Result]] = {}
        for cell in self.cells:
            decade = math.floor(math.log10(max(1.0, cell.rows * float(cell.epsilon))))
            found.setdefault((cell.asked, decade), []).append(cell)
        asked = list(dict.fromkeys(cell.asked for cell in self.cells))
        keys = sorted(found, key=lambda key: (asked.index(key[0]), key[1]))
        return tuple(Slice(*key, tuple(found[key])) for key in keys)

    @property
    def failed(self) -> tuple[str, ...]:
        """What failed, how often, and why: a sentence for each."""
        runs = self.trials * len(self.cells)
        counted: Counter[str] = Counter()
        for cell in self.cells:
            counted.update(cell.failed)
        said = [failure for cell in self.cells for failure in cell.failures]
        return tuple(
            f"{name} failed in {count} of {runs} runs, which count as worse than everything else: "
            + next(failure for failure in said if failure.startswith(f"{name} ")).removeprefix(f"{name} ")
            for name, count in counted.items()
        )

    def as_data(self) -> dict[str, Any]:
        """Everything as plain data: the figures at the top level, and a list of cells."""
        counted = {name: _plain(number) for name, number in asdict(self.figures).items() if name != "cells"}
        return {
            "maker": self.maker,
            "task": self.task,
            "options": list(self.options),
            "single_best": self.single_best,
            "trials": self.trials,
            "databases": len({cell.database for cell in self.cells}),
            **counted,
            "seen_before": list(self.seen_before),
            "problems": list(self.problems),
            "cells": [_cell_data(cell) for cell in self.cells],
            "slices": [
                {
                    "asked": each.asked,
                    "rows_epsilon": 10.0**each.decade,
                    "cells": len(each.cells),
                    "chosen": dict(each.chosen),
                    "regret": each.regret,
                    "single_regret": each.single_regret,
                }
                for each in self.slices
            ],
        }


def _cell_data(cell: Result) -> dict[str, Any]:
    return {
        "database": cell.database,
        "epsilon": float(cell.epsilon),
        "asked": cell.asked,
        "rows": cell.rows,
        "loss": cell.loss,
        "losses": dict(cell.losses),
        "chosen": dict(cell.chosen),
        "regret": cell.regret,
        "hindsight": cell.hindsight,
        "single_best": cell.single,
        "failures": list(cell.failures),
        "failed": dict(cell.failed),
    }


def _plain(number: float) -> float | None:
    return number if math.isfinite(number) else None


@frozen
class Trial:
    """One worker's part: everything once, on one database."""

    database: PublicDatabase
    maker: ChoiceMaker
    epsilons: tuple[Fraction, ...]
    asked: str
    number: int
    judge: Judge


@frozen
class TrialResult:
    """What one trial showed at one budget; None for what failed."""

    rows: int

    losses: tuple[float | None, ...]
    """Of the Options."""
    loss: float | None
    chosen: str | None
    failures: tuple[str, ...]


def evaluate(
    maker: ChoiceMaker,
    databases: Corpus,
    epsilons: Sequence[Amount],
    *,
    trials: int = 5,
    workers: int | None = None,
    of_each_kind: bool = False,
) -> Evaluation:
    """How a maker does on databases: on all rows but those held out, or on a grid's own records.

    What is asked of a database is what is asked where nobody says, or *of each kind* of question one. Each trial holds
    other rows out, so that which Option is best in hindsight is read off other rows than its loss. Noise comes from
    seeds, so that the same evaluation gives the same figures.
    """
    budgets = tuple(dict.fromkeys(epsilon_amount(epsilon) for epsilon in epsilons))
    if trials < 2:
        raise ChoiceError(
            f"{trials} trial{'s' * (trials != 1)} cannot show which Option is best in hindsight",
            why="it is told from some trials, and its loss from the others",
            fix="--trials 5",
        )
    trained = maker.trained
    judge = maker.judge
    floor = maker.task.rehearsal.floor if judge.floor is None else judge.floor
    taken = [database for database in databases if maker.task.rehearsal.takes(database)]
    apart = kept_apart(maker.among, [database for database in taken if _readable(database)])
    kept = [database for database in taken if not _readable(database) or database.digest not in apart]
    if not kept or not budgets:
        raise ChoiceError(
            f"there is no database of the task {maker.task.name!r} to evaluate on",
            why=next(iter(apart.values()), None),
            fix="--databases a folder of tables (*.csv.gz with a last column label) or of grids (*.npy)",
        )
    # What it learned goes along; how it learns stays here.
    sent = evolve(maker, known=[trained], trainer=None)
    asks = (of_each_kind and maker.task.rehearsal.asks) or ("",)
    parts = [
        Trial(database, sent, budgets, asked, number, judge)
        for number in range(trials)
        for asked in asks
        for database in kept
    ]
    outcome_of: dict[tuple[str, str, int], list[TrialResult] | str] = {}
    with stage(f"evaluating {maker.label}") as said:
        for place, outcome in performed(_attempt, parts, workers=workers):
            part = parts[place]
            outcome_of[part.database.name, part.asked, part.number] = outcome
            said.at(len(outcome_of), len(parts))
    judged: dict[str, Any] = {"maker": maker, "trained": trained, "floor": floor}
    group_of = {database.name: database.group for database in kept}
    cells: list[Result] = []
    problems = [*map(str, databases.problems), *apart.values()]
    for database, asked in product(kept, asks):
        outcomes = [outcome_of[database.name, asked, number] for number in range(trials)]
        whole = [each for each in outcomes if not isinstance(each, str)]
        if len(whole) < len(outcomes):
            problems.append(next(each for each in outcomes if isinstance(each, str)))
            continue
        for index, epsilon in enumerate(budgets):
            cell = _cell(database.name, epsilon, asked, [each[index] for each in whole], **judged)
            if cell is None:
                problems.append(f"no Option runs on {database.name} at epsilon {epsilon}")
            else:
                cells.append(cell)
    if not cells:
        raise ChoiceError("none of the databases could be used", why=problems[0] if problems else None)
    return Evaluation(
        maker=maker.label,
        task=maker.task.name,
        options=[option.name for option in maker.among],
        single_best=maker.among[trained.single].name,
        trials=trials,
        cells=tuple(cells),
        figures=figures(
            np.array([cell.loss for cell in cells]),
            np.array([cell.single for cell in cells]),
            np.array([cell.hindsight for cell in cells]),
            floor=floor,
            groups=np.array([group_of[cell.database] for cell in cells]),
        ),
        seen_before=[each.name for each in kept if _readable(each) and each.digest[:BEGINNING] in trained.digests],
        problems=problems,
    )


def _readable(database: PublicDatabase) -> bool:
    try:
        return bool(database.digest)
    except JostleError:
        return False


def _attempt(trial: Trial) -> list[TrialResult] | str:
    """Run everything once on one database, or say why that cannot be: done in a worker."""
    spec: Any = trial.database.cut(trial.number)
    if trial.asked:
        spec = evolve(spec, asks=trial.asked)
    try:
        instance = trial.maker.task.rehearsal.instance(trial.database, spec)
    except JostleError as mistake:
        return f"{trial.database.name} is left out: {mistake.title}"
    outcomes: list[TrialResult] = []
    for epsilon in map(str, trial.epsilons):
        losses: list[float | None] = []
        failures: list[str] = []

        def seed(what: str, epsilon: str = epsilon) -> int:
            return seed_of(f"{instance.key} evaluated", what, epsilon, trial.number)

        for option in trial.maker.among:
            loss, failure = run_once(option, instance, epsilon, seed(option.name), trial.judge)
            losses.append(loss)
            failures += [] if failure is None else [f"{option.name} {failure}"]
        trace = Trace()
        loss, failure = run_once(trial.maker, instance, epsilon, seed(MAKER), trial.judge, trace=trace)
        failures += [] if failure is None else [f"{MAKER} {failure}"]
        outcomes.append(
            TrialResult(instance.rows, tuple(losses), loss, _taken(trace, trial.maker.label), tuple(failures))
        )
    return outcomes


def _taken(trace: Trace, label: str) -> str | None:
    """The choice of a maker: it says so before what it chose runs, which may be a maker again."""
    for record in trace.records:
        if isinstance(record, Chosen) and record.label == label:
            return record.taken[0][0]
    return None


def _cell(
    database: str,
    epsilon: Fraction,
    asked: str,
    outcomes: Sequence[TrialResult],
    *,
    maker: ChoiceMaker,
    trained: Trained,
    floor: float,
) -> Result | None:
    """The result of the trials; what failed counts as worse than all that did not. None if nothing ran."""
    raw = np.array([outcome.losses for outcome in outcomes], dtype=np.float64).T
    if np.isnan(raw).all():
        return None
    own = [outcome.loss for outcome in outcomes]
    worst = float(as_failed(np.append(raw, np.array(own, dtype=np.float64)), floor))
    losses = np.where(np.isnan(raw), worst, raw)
    answered = [worst if each is None else each for each in own]
    hindsight = float(honest_best(losses[None])[0])
    loss = float(np.mean(answered))
    least = max(floor, np.finfo(np.float64).tiny)
    chosen = Counter(outcome.chosen for outcome in outcomes if outcome.chosen is not None)
    names = [option.name for option in maker.among]
    ran = [not np.isnan(row).all() for row in raw]
    means = losses.mean(axis=1)
    failed = {name: int(np.isnan(row).sum()) for name, row in zip(names, raw, strict=True)} | {MAKER: own.count(None)}
    single = float(means[trained.single])
    return Result(
        database=database,
        epsilon=epsilon,
        asked=asked,
        rows=outcomes[0].rows,
        losses={name: float(mean) if runs else None for name, mean, runs in zip(names, means, ran, strict=True)},
        loss=loss,
        chosen={name: chosen[name] for name in names if chosen[name]},
        hindsight=hindsight,
        single=single,
        regret=max(loss, least) / max(hindsight, least),
        single_regret=max(single, least) / max(hindsight, least),
        failures=dict.fromkeys(failure for outcome in outcomes for failure in outcome.failures),
        failed={name: count for name, count in failed.items() if count},
    )
