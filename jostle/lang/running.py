"""Run a program: on private data, within a promise, or on a public example, as a rehearsal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from jostle.errors import BudgetError, JostleError
from jostle.lang import nodes
from jostle.lang.answers import as_data, as_text
from jostle.lang.functions import Function
from jostle.lang.labelled import check_forced
from jostle.lang.price import prices
from jostle.lang.program import Program, load
from jostle.lang.program_options import ProgramOption
from jostle.lang.tasks import task_of as told_task
from jostle.options.base import Option
from jostle.options.own import origin_of
from jostle.privacy.amounts import epsilon_amount, show_amount
from jostle.privacy.opening import protect, rehearse
from jostle.privacy.probe import Probe
from jostle.sites import force
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks import CLASSIFICATION, TASKS, UNTOLD, Task, task_of
from jostle.trace.records import Record, Trace, Trusted
from jostle.visible import print_visible

__all__ = ["Outcome", "run_program"]

GRID_ENDING = ".npy"
EXAMPLE_SEED = 1


@frozen(eq=False)
class Outcome:
    """What a run gave."""

    program: str
    entry: str
    answer: Any
    private: bool
    """Whether it ran on private data."""
    example: str | None
    """The public database it ran on instead, if it ran on one."""
    loss: float | None
    """How far off the answer is, on a public database."""
    epsilon: Fraction | None
    """What was promised; None without a database."""
    records: tuple[Record, ...]
    """The trace."""

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "program": self.program,
            "entry": self.entry,
            "private": self.private,
            "example": self.example,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "loss": self.loss,
            "answer": as_data(self.answer),
        }

    def as_text(self) -> str:
        """Return it for people."""
        lines = [as_text(self.answer)]
        if self.example is not None and self.epsilon is not None:
            head = (
                f"NOT PRIVATE: a rehearsal on the public database {self.example}, epsilon {show_amount(self.epsilon)}"
            )
            lines.insert(0, head)
        if self.loss is not None:
            lines.append(f"loss on this database: {self.loss:.4g}")
        return "\n".join(lines)


@frozen
class _Opened:
    probe: Probe
    questions: tuple[Any, ...]
    private: bool
    example: str | None
    loss: Callable[[Any], float | None] | None


def run_program(
    path: Path,
    *,
    entry: str | None = None,
    data: Path | None = None,
    schema: Path | None = None,
    epsilon: str | None = None,
    vault: Path | None = None,
    trace: Path | None = None,
    say: Callable[[str], None] | None = print_visible,
    tell: Callable[[str], None] | None = None,
    forced: Mapping[str, str] | None = None,
) -> Outcome:
    """Return what a program gives: on *data*, privately, or, without, on a public example.

    *forced* says, by label, which alternatives choices are to take. What a program prints goes to *say*; to *tell*,
    before it runs, what the owner of the data alone should know of them.
    """
    program = load(path, say=say)
    name = entry or program.entry
    if name is None:
        raise JostleError(f"{path} has nothing to run", fix="def main(db):")
    target = program[name]
    needed = _needed(target)
    check_forced(program, name, forced or {})
    forcing = force(forced or {}, must_occur=False)
    if needed == 0:
        with forcing:
            answer = program.run(name)
        return Outcome(str(path), name, answer, private=False, example=None, loss=None, epsilon=None, records=())
    records = Trace(trace)
    if data is not None and epsilon is None:
        raise JostleError(
            "no epsilon is promised",
            why="a table is only opened with a bound on what its answers may give away",
            fix="--epsilon 1",
        )
    budget = epsilon_amount(epsilon or "1")
    if data is not None and schema is not None:
        program.check_schema(name, Schema.read(schema))
    ready(program)
    if data is None:
        opened = _example(program, target, budget, records)
    else:
        table = read_table(data, schema)
        if tell is not None:
            for note in table.notes:
                tell(note)
        opened = _private(table, budget, vault, records)
    for trusted in own_code(program):
        records.add(trusted)
    budget = opened.probe.promise or budget  # what is left of a promise that was made before
    questions = _asked(opened, needed, name)
    program.check_schema(name, opened.probe.schema)
    check_price(program, name, opened.probe.schema, budget)
    with forcing:
        answer = program.run(name, opened.probe, *questions, epsilon=budget)
    loss = None if opened.loss is None else opened.loss(answer)
    return Outcome(str(path), name, answer, opened.private, opened.example, loss, budget, records.records)


def own_code(program: Program) -> Iterator[Trusted]:
    """Yield what the trace says of the Options that a program imports and that did not come with Jostle."""
    for statement in program.module.body:
        for each in statement.names if isinstance(statement, nodes.Import) else ():
            option = program.globals.get(each.name)
            origin = origin_of(option) if isinstance(option, Option) else None
            if origin is not None:
                yield Trusted(each.name, origin.file, origin.digest)


def check_price(program: Program, name: str, schema: Schema, epsilon: Fraction) -> None:
    """Refuse a function that may spend more than is promised, before it spends anything."""
    price = prices(program.module, schema).get(name) or prices(program.module, schema).get(f"{name}.answer")
    amount = None if price is None else price.amount.at(epsilon)
    if price is not None and amount is not None and amount > epsilon:
        raise BudgetError(
            f"{name} may spend epsilon {show_amount(amount)}, and {show_amount(epsilon)} is promised",
            why=f"it {price.text.removeprefix(name).strip()}, on this table's schema",
            fix="promise more, or spend less at each step",
        )


def ready(program: Program) -> None:
    """Let the makers learn that a run may call, before any data are opened."""
    for each in program.makers.values():
        _ = each.trained


def _needed(target: Any) -> int:
    """Return how many values have to be given: a database first, then what is asked of it."""
    if isinstance(target, ProgramOption):
        target = target.answer
    if isinstance(target, Function):
        return len(target.parameters) - len(target.defaults)
    if isinstance(target, Option):
        return 1 + len(target.task.asked)
    raise JostleError("only functions, Options and choice makers run", fix="--entry NAME")


def _asked(opened: _Opened, needed: int, name: str) -> tuple[Any, ...]:
    if needed - 1 > len(opened.questions):
        raise JostleError(
            f"{name} takes {needed} values, and gets a database" + (" and queries" if opened.questions else ""),
            why="other values are given by the program itself",
            fix="give the others defaults: def answer(db, queries, d=5):",
        )
    return opened.questions[: needed - 1]


def _private(table: Table, epsilon: Fraction, vault: Path | None, trace: Trace) -> _Opened:
    probe = protect(table, epsilon=epsilon, vault=vault, trace=trace)
    return _Opened(probe, questions_of(probe.schema), private=True, example=None, loss=None)


def read_table(data: Path, schema: Path | None) -> Table:
    """Return the private table in a file: a grid of counts in .npy, or rows with a schema."""
    if data.suffix.lower() == GRID_ENDING:
        try:
            counts = np.load(data, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise JostleError(f"the file {data} cannot be read as a NumPy array", fix="check the path") from None
        return Table.from_grid(counts)
    if schema is None:
        raise JostleError(
            f"there is no schema for {data}",
            why="which values can occur is public, and is never read off private rows",
            fix="--schema FILE.toml; jostle schema infer PUBLIC.csv writes one from public data of the same kind",
        )
    return Table.read(data, Schema.read(schema))


def questions_of(schema: Schema) -> tuple[Any, ...]:
    """What is asked of a table that looks as if it were there to be asked something; the same each time."""
    found = (task.questions(schema) for task in TASKS.values() if task.asked and task.suits(schema))
    return next(found, ())


def task_of_target(program: Program, target: Any) -> Task[Any]:
    """What a function or an Option of a program answers."""
    told: Task[Any] = (
        target.task if isinstance(target, Option) else task_of(told_task(program.module, target.definition))
    )
    return told


def _example(program: Program, target: Any, epsilon: Fraction, trace: Trace) -> _Opened:
    told = task_of_target(program, target)
    task: Task[Any] = CLASSIFICATION if told is UNTOLD else told  # rows with a label, where nothing tells
    database, spec = task.example()
    instance = task.instance(database, spec)
    probe = rehearse(instance.table, epsilon=epsilon, seed=EXAMPLE_SEED, trace=trace)

    def loss(answer: Any) -> float | None:
        return instance.loss(answer) if task.gave(answer) else None

    name = f"{database.name} ({instance.rows:,} rows)"
    return _Opened(probe, instance.questions, private=False, example=name, loss=loss)
