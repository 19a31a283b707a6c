"""Rehearse: run Options on instances of public databases, and write down how they did.

What the history has is not run again, what fails is written down as well, and whatever was finished before an
interruption stays. Noise comes from a seed that is a function of what is run, so a rehearsal gives the same answer on
every machine.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from attrs import evolve, field, frozen

from jostle.choice.learning.history import History, KnownDatabase, KnownInstance, Line, Runs, Sketch
from jostle.choice.learning.workers import in_processes
from jostle.choice.metafeatures.base import Metafeature, read_raw
from jostle.choice.public.instances import PublicDatabase, PublicInstance, Spec, make_instance
from jostle.errors import ChoiceError, JostleError
from jostle.options.base import Option
from jostle.privacy.opening import rehearse
from jostle.trace.records import Trace

__all__ = ["EPSILONS", "Judge", "Plan", "judge_in", "rehearse_all", "run_once", "seed_of"]

EPSILONS = ("1/100", "3/100", "1/10", "3/10", "1", "3", "10")
"""Budgets that are rehearsed; in between, losses are interpolated."""


def _epsilons(epsilons: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(Fraction(str(epsilon))) for epsilon in epsilons)


@frozen
class Judge:
    """Another way to say how bad an answer is than its task's own."""

    name: str
    loss: Callable[[PublicInstance, Any], float]
    """From an instance and an Option's answer on it."""


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
    """None for the task's own loss."""

    def key(self, database: PublicDatabase, spec: Spec) -> str:
        """Return what an instance is called in histories: losses of another judge are of another instance."""
        key = database.key(spec)
        return key if self.judged_by is None else f"{key}{JUDGED}{self.judged_by.name}"


JUDGED = " judged by "


def judge_in(key: str) -> str | None:
    """Return the name of the judge in an instance's key; None for the task's own."""
    _, marked, name = key.partition(JUDGED)
    return name if marked else None


@frozen
class Batch:
    """What one worker does at a time: all that is missing for one instance and one repeat."""

    database: PublicDatabase
    spec: Spec
    key: str
    repeat: int
    runs: tuple[tuple[Option, tuple[str, ...]], ...]
    reads: tuple[Metafeature, ...]
    judged_by: Judge | None


def rehearse_all(
    jobs: Sequence[tuple[PublicDatabase, Spec]],
    plan: Plan,
    history: History,
    *,
    engine: str = "processes",
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> History:
    """Run what the history does not have yet, and return the history with it.

    *engine* is "processes", "threads" (this process alone, for small things), or "dask://HOST:PORT". *progress* is told
    how many runs are done, and how many there are.
    """
    batches = list(_batches(jobs, plan, history))
    total = sum(_size(batch) for batch in batches)
    done = 0
    for database in {batch.database.digest: batch.database for batch in batches}.values():
        if database.digest not in history.databases:
            history.add(
                KnownDatabase(database.digest, database.name, database.group, database.task, database.artificial)
            )
    # As known here: a worker on another machine may not have the text of a function that is an Option.
    versions = {option.name: option.version for option in plan.options}
    for batch, lines in _performed(batches, engine, workers):
        history.add(
            *(evolve(line, version=versions[line.option]) if isinstance(line, Runs) else line for line in lines)
        )
        done += _size(batch)
        if progress is not None:
            progress(done, total)
    return history


def _batches(jobs: Sequence[tuple[PublicDatabase, Spec]], plan: Plan, history: History) -> Iterator[Batch]:
    versions = {option.name: option.version for option in plan.options}
    # Repeat by repeat, so that a history that was interrupted knows a little of everything.
    for repeat in range(plan.repeats):
        for database, spec in jobs:
            options = [(option, versions[option.name]) for option in plan.options if option.task == database.task]
            key = plan.key(database, spec)
            missing = [
                (option, history.missing(key, option.name, version, plan.epsilons, repeat))
                for option, version in options
            ]
            runs = tuple((option, epsilons) for option, epsilons in missing if epsilons)
            known = history.instances.get(key)
            reads = tuple(
                metafeature
                for metafeature in plan.metafeatures
                if repeat == 0 and (known is None or not metafeature.is_read(known))
            )
            if runs or reads:
                yield Batch(database, spec, key, repeat, runs, reads, plan.judged_by)


def _size(batch: Batch) -> int:
    return sum(len(epsilons) for _, epsilons in batch.runs) + len(batch.reads)


def _performed(batches: list[Batch], engine: str, workers: int | None) -> Iterator[tuple[Batch, list[Line]]]:
    if engine == "threads" or not batches:
        for batch in batches:
            yield batch, perform(batch)
        return
    if engine.startswith("dask://"):
        yield from _on_dask(batches, engine)
        return
    if engine != "processes":
        raise ChoiceError(f"there is no engine {engine!r}", fix="processes, threads, or dask://HOST:PORT")
    for number, lines in in_processes(perform, batches, workers=workers):
        yield batches[number], lines


def _on_dask(batches: list[Batch], engine: str) -> Iterator[tuple[Batch, list[Line]]]:
    try:
        from distributed import Client, as_completed  # noqa: PLC0415 - an extra
    except ImportError:
        raise ChoiceError("Dask is not installed", fix='pip install "jostle[dask]"') from None
    try:
        client = Client(engine.replace("dask://", "tcp://"), timeout="10s")  # type: ignore[no-untyped-call]  # Dask's
    except OSError:
        raise ChoiceError(f"no scheduler answers at {engine}", fix="dask scheduler, then dask worker") from None
    with client:
        # Rehearsals have effects on nothing, but equal batches are never the same one.
        waiting = {client.submit(perform, batch, pure=False): batch for batch in batches}
        for future in as_completed(list(waiting)):  # type: ignore[no-untyped-call]  # Dask's
            yield waiting.pop(future), future.result()


def perform(batch: Batch) -> list[Line]:
    """Return what a batch shows: run in a worker."""
    instance = make_instance(batch.database, batch.spec)
    lines: list[Line] = []
    if batch.repeat == 0:
        read = read_raw(batch.reads, instance.table)
        sketch = Sketch.of(instance.table.schema)
        lines.append(KnownInstance(batch.key, batch.database.digest, instance.rows, sketch, read))
    for option, epsilons in batch.runs:
        lines.append(_runs(option, instance, batch, epsilons))
    return lines


def _runs(option: Option, instance: PublicInstance, batch: Batch, epsilons: tuple[str, ...]) -> Runs:
    losses: list[float | None] = []
    seconds: list[float] = []
    failures: list[str] = []
    for epsilon in epsilons:
        start = time.perf_counter()
        seed = seed_of(batch.key, f"{option.name} {option.version}", epsilon, batch.repeat)
        loss, failure = run_once(option, instance, epsilon, seed, batch.judged_by)
        seconds.append(round(time.perf_counter() - start, 5))
        losses.append(loss)
        if failure is not None:
            failures.append(failure)
    return Runs(
        batch.key, option.name, option.version, batch.repeat, epsilons, losses, seconds, tuple(dict.fromkeys(failures))
    )


def run_once(
    option: Option,
    instance: PublicInstance,
    epsilon: str,
    seed: int,
    judge: Judge | None = None,
    *,
    trace: Trace | None = None,
) -> tuple[float | None, str | None]:
    """Return the loss of one run, or None and why there is none.

    Whatever the task can judge, a *judge* has to: where it fails, it is not the Option that did, and this fails.
    """
    db = rehearse(instance.table, epsilon=epsilon, seed=seed, trace=trace)
    try:
        answer = option(db, *instance.questions, epsilon=epsilon)
        loss = float(instance.loss(answer))
    except JostleError as mistake:
        return None, f"refused: {mistake.title}"
    except Exception as mistake:  # noqa: BLE001 - an Option that crashes is a result as well, on public data
        return None, f"crashed: {type(mistake).__name__}: {mistake}"
    if judge is not None and math.isfinite(loss):
        loss = float(judge.loss(instance, answer))
    return (loss, None) if math.isfinite(loss) else (None, f"crashed: its loss is {loss}")


def seed_of(key: str, option: str, epsilon: str, repeat: int) -> int:
    """Return the seed of one run's noise; *option* is its name and version."""
    text = f"{key} {option} {epsilon} {repeat}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
