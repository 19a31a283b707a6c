"""Rehearse: run Options on instances of public databases, and write down how they did.

What the history has is not run again, what fails is written down as well, and whatever was finished before an
interruption stays. Noise comes from a seed that is a function of what is run, so a rehearsal gives the same answer on
every machine.
"""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from attrs import evolve, field, frozen

from jostle.choice.learning.history import (
    Beforehand,
    History,
    KnownDatabase,
    KnownInstance,
    Line,
    Runs,
    Sketch,
    judged_key,
)
from jostle.choice.learning.markets import bought, read_raw
from jostle.choice.learning.workers import performed
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.parts import Spec
from jostle.errors import AnswerError, FewRowsWarning, JostleError, OptionError, said_by
from jostle.options.base import Option
from jostle.privacy.opening import rehearse
from jostle.progress import stage
from jostle.tasks import Instance, Judge, Task
from jostle.tasks.metafeature import Metafeature
from jostle.trace.records import Trace

EPSILONS = ("1/100", "3/100", "1/10", "3/10", "1", "3", "10")
"""Budgets that are rehearsed; in between, losses are interpolated."""
TRIALS = 3
"""Runs that the error of an Option is the mean of, where a program asks for it."""


def _epsilons(epsilons: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(Fraction(str(epsilon))) for epsilon in epsilons)


def _options(options: Iterable[Option]) -> tuple[Option, ...]:
    return tuple(options)


def _metafeatures(metafeatures: Iterable[Metafeature]) -> tuple[Metafeature, ...]:
    return tuple(metafeatures)


@frozen(kw_only=True)
class Plan:
    """Which Options are rehearsed, at which budgets, how often, and which metafeatures are read."""

    options: tuple[Option, ...] = field(converter=_options)
    epsilons: tuple[str, ...] = field(default=EPSILONS, converter=_epsilons)
    repeats: int = 4
    metafeatures: tuple[Metafeature, ...] = field(default=(), converter=_metafeatures)
    judged_by: Judge | None = None
    """None for the task's own judge."""
    look: tuple[Metafeature, Fraction] | None = None
    """What is bought before each Option is run, which has the rest of the budget and knows it; and with which share."""

    def key(self, database: PublicDatabase, spec: Spec) -> str:
        """What an instance is called in histories: losses of a programmer's own judge are of another instance.

        The judges of the task judge every answer at once.
        """
        key = database.key(spec)
        if self.look is not None:
            metafeature, share = self.look
            key = Beforehand(metafeature.name, metafeature.version, share).key(key)
        own = self.judged_by is None or any(option.task.rehearsal.knows(self.judged_by) for option in self.options)
        return key if own or self.judged_by is None else judged_key(key, self.judged_by.name)


@frozen
class Batch:
    """What one worker does at a time: all that is missing for one instance and one repeat."""

    task: Task[Any]
    database: PublicDatabase
    spec: Spec
    key: str
    repeat: int
    runs: tuple[tuple[Option, tuple[str, ...]], ...]
    reads: tuple[Metafeature, ...]
    judged_by: Judge | None
    """A programmer's own; None where the task's judge."""
    look: tuple[Metafeature, Fraction] | None = None


def rehearse_all(
    jobs: Sequence[tuple[PublicDatabase, Spec]],
    plan: Plan,
    history: History,
    *,
    engine: str = "processes",
    workers: int | None = None,
) -> History:
    """Run what the history does not have yet, and return the history with it.

    *engine* is one of those that `performed` has.
    """
    batches = list(_batches(jobs, plan, history))
    total = sum(_size(batch) for batch in batches)
    done = 0
    for task, database in {batch.database.digest: (batch.task, batch.database) for batch in batches}.values():
        if database.digest not in history.databases:
            history.add(KnownDatabase(database.digest, database.name, database.group, task.name, database.artificial))
    # As known here: a worker on another machine may not have the text of a function that is an Option.
    versions = {option.name: option.version for option in plan.options}
    with stage("rehearsing on public databases") as said:
        for place, lines in performed(perform, batches, engine=engine, workers=workers):
            history.add(
                *(evolve(line, version=versions[line.option]) if isinstance(line, Runs) else line for line in lines)
            )
            done += _size(batches[place])
            said.at(done, total)
    return history


def _batches(jobs: Sequence[tuple[PublicDatabase, Spec]], plan: Plan, history: History) -> Iterator[Batch]:
    versions = {option.name: option.version for option in plan.options}
    tasks = dict.fromkeys(option.task for option in plan.options)
    # Repeat by repeat, so that a history that was interrupted knows a little of everything.
    for repeat, (database, spec), task in product(range(plan.repeats), jobs, tasks):
        if not task.rehearsal.takes(database):
            continue
        key = plan.key(database, spec)
        judge = task.rehearsal.other(plan.judged_by)
        missing = [
            (option, history.missing(key, option.name, versions[option.name], plan.epsilons, repeat, judge))
            for option in plan.options
            if option.task is task
        ]
        runs = tuple((option, epsilons) for option, epsilons in missing if epsilons)
        known = history.instances.get(key)
        reads = tuple(
            metafeature
            for metafeature in plan.metafeatures
            if repeat == 0 and (known is None or not metafeature.is_read(known))
        )
        if runs or reads:
            own = plan.judged_by is None or task.rehearsal.knows(plan.judged_by)
            yield Batch(task, database, spec, key, repeat, runs, reads, None if own else plan.judged_by, plan.look)


def _size(batch: Batch) -> int:
    return sum(len(epsilons) for _, epsilons in batch.runs) + len(batch.reads)


def perform(batch: Batch) -> list[Line]:
    """The lines that a batch shows: run in a worker."""
    instance = batch.task.rehearsal.instance(batch.database, batch.spec)
    lines: list[Line] = []
    if batch.repeat == 0:
        read = read_raw(batch.reads, instance.table)
        sketch = Sketch.of(instance.table.schema)
        asks = getattr(batch.spec, "asks", None)
        lines.append(KnownInstance(batch.key, batch.database.digest, instance.rows, sketch, read, asks))
    for option, epsilons in batch.runs:
        lines.append(_runs(option, instance, batch, epsilons))
    return lines


def _runs(option: Option, instance: Instance, batch: Batch, epsilons: tuple[str, ...]) -> Runs:
    judges = batch.task.rehearsal.judges[1:] if batch.judged_by is None else ()
    losses: list[float | None] = []
    others: dict[str, list[float | None]] = {judge.name: [] for judge in judges}
    seconds: list[float] = []
    failures: list[str] = []
    for epsilon in epsilons:
        start = time.perf_counter()
        seed = seed_of(batch.key, f"{option.name} {option.version}", epsilon, batch.repeat)
        run = _run(option, instance, epsilon, seed, batch.judged_by, look=batch.look)
        seconds.append(round(time.perf_counter() - start, 5))
        losses.append(run.loss)
        for judge in judges:
            others[judge.name].append(None if run.loss is None else float(judge.loss(instance, run.answer)))
        if run.failure is not None:
            failures.append(run.failure)
    return Runs(
        batch.key,
        option.name,
        option.version,
        batch.repeat,
        epsilons,
        losses,
        seconds,
        tuple(dict.fromkeys(failures)),
        others,
    )


@frozen(eq=False)
class Run:
    """One run of an Option: its answer, and how bad it is, or why there is none."""

    answer: Any
    loss: float | None
    failure: str | None = None


def _run(
    option: Option,
    instance: Instance,
    epsilon: str,
    seed: int,
    judge: Judge | None,
    *,
    trace: Trace | None = None,
    look: tuple[Metafeature, Fraction] | None = None,
) -> Run:
    def answer() -> Any:
        db, left = rehearse(instance.table, epsilon=epsilon, seed=seed, trace=trace), Fraction(epsilon)
        if look is not None:
            metafeature, share = look
            left -= bought(db, [metafeature], share * left)
        return option(db, *instance.questions, epsilon=left)

    run = judged_run(answer, instance.loss)
    if judge is None or run.loss is None:
        return run
    # Whatever the task can judge, another judge has to: where it fails, it is not the Option that did.
    return _ended(run.answer, float(judge.loss(instance, run.answer)))


def _ended(answer: Any, loss: float) -> Run:
    return Run(answer, loss) if math.isfinite(loss) else Run(answer, None, f"crashed: its loss is {loss}")


def judged_run(answer: Callable[[], Any], loss: Callable[[Any], float]) -> Run:
    """One run on public data, of an Option or of a whole program: where it fails, that is a result as well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewRowsWarning)  # which is what is to be learned
            given = answer()
        found = float(loss(given))
    except AnswerError as mistake:
        return Run(None, None, f"crashed: {mistake.title}")
    except JostleError as mistake:
        return Run(None, None, f"refused: {mistake.title}")
    except Exception as mistake:  # noqa: BLE001 - as above
        return Run(None, None, f"crashed: {said_by(mistake)}")
    return _ended(given, found)


def run_once(
    option: Option,
    instance: Instance,
    epsilon: str,
    seed: int,
    judge: Judge | None = None,
    *,
    trace: Trace | None = None,
) -> tuple[float | None, str | None]:
    """Loss of one run, by the task's judge or another, or None and why there is none."""
    run = _run(option, instance, epsilon, seed, judge, trace=trace)
    return run.loss, run.failure


def mean_error(option: Option, database: PublicDatabase, size: int, epsilon: Fraction) -> float | None:
    """Mean loss of an Option on so many rows or records of a public database; None where it refuses.

    Which noise its runs have is fixed, so that tables of such errors are the same each time.
    """
    spec = database.sized(size)
    instance = option.task.rehearsal.instance(database, spec)
    losses = []
    for trial in range(TRIALS):
        seed = seed_of(database.key(spec), f"{option.name} {option.version}", str(epsilon), trial)
        db = rehearse(instance.table, epsilon=epsilon, seed=seed)
        try:
            answer = option(db, *instance.questions, epsilon=epsilon)
        except OptionError:
            return None
        losses.append(instance.loss(answer))
    return sum(losses) / TRIALS


def seed_of(key: str, option: str, epsilon: str, repeat: int) -> int:
    """The seed of one run's noise; *option* is its name and version."""
    text = f"{key} {option} {epsilon} {repeat}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
