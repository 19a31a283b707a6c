"""Run a program: on private data, within a promise, or on a public example, as a rehearsal; and show what it gave.

All of an answer is public or released. A run that came to no answer shows what it had bought.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen

from jostle.errors import BudgetError, JostleError, OptionError
from jostle.files.content import is_regular, read_content
from jostle.files.kinds import writing
from jostle.lang import nodes
from jostle.lang.choices import task_of as told_task
from jostle.lang.frames import Function
from jostle.lang.makers import check_forced
from jostle.lang.operators import shown, shown_inside
from jostle.lang.parser import read_source
from jostle.lang.program import Program, Purchase, load_source, named
from jostle.lang.program_options import ProgramOption, needed_by
from jostle.lang.quick_start import check_learned
from jostle.lang.values import KnownAttribute, Leaf, TreeNode
from jostle.markup import bar_table, branch, leaf, pre
from jostle.options.base import ELSEWHERE, Option
from jostle.options.registry import origin_of
from jostle.privacy.account import Account, TableFacts, about
from jostle.privacy.amounts import epsilon_amount, recordable, show_amount
from jostle.privacy.opening import Recognised, Where, at_vault, check_account, recognise, rehearse, vault_of_people
from jostle.privacy.probe import Probe
from jostle.privacy.vault import FileVault
from jostle.sites import force
from jostle.tables.origins import RowOrigin, take_as_private
from jostle.tables.queries import OwnQuery
from jostle.tables.readers import GRID_ENDING, read_array
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks import CLASSIFICATION, RANGES, TASKS, UNTOLD, Task, task_of
from jostle.trace.records import Record, Released, Trace, Trusted
from jostle.visible import print_visible, visible

ENDINGS = tuple(dict.fromkeys(["", ".json", *(ending for task in TASKS.values() for ending in task.shown.endings)]))
"""Of files that answers are written to, whatever they answer; without one, it is JSON."""

MOST_BARS = 256
"""Numbers by name that are drawn."""
MOST_DRAWN = 2**53
"""How large they are, at most."""


def _task(answer: Any) -> Task[Any] | None:
    """The task that something is an answer to, or None."""
    return next((task for task in TASKS.values() if task.question.gave(answer)), None)


def as_text(answer: Any) -> str:
    """An answer for people."""
    if answer is None:
        return "the program gave nothing back"
    if (task := _task(answer)) is not None:
        return task.shown.text(answer)
    if isinstance(answer, list) and answer and all(isinstance(each, list | tuple) for each in answer):
        return "\n".join("  ".join(row) for row in _aligned(answer))
    if isinstance(answer, Leaf | TreeNode):
        return "\n".join(_tree(answer, ""))
    return shown(answer)


def as_markup(answer: Any) -> str:
    """An answer as a part of a web page: drawn if it is numbers by name, a tree, or its task draws."""
    task = _task(answer)
    if task is not None:
        return pre(as_text(answer)) if task.shown.drawn is None else task.shown.drawn(answer)
    if isinstance(answer, Leaf | TreeNode):
        return _drawn_tree(answer, "")
    if isinstance(answer, Mapping) and 1 < len(answer) <= MOST_BARS and all(map(_is_number, answer.values())):
        rows = [(shown(key), int(value) if value == int(value) else float(value)) for key, value in answer.items()]
        return bar_table("", rows)
    return pre(as_text(answer))


def _is_number(value: Any) -> bool:
    known = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    return known and -MOST_DRAWN < value < MOST_DRAWN


def _drawn_tree(tree: Any, asked: str) -> str:
    if isinstance(tree, Leaf):
        said = shown_inside(tree.pred) + ("" if tree.size is None else f" ({shown(tree.size)})")
        return leaf(asked, said)
    below = "".join(_drawn_tree(child, f"{tree.att} = {shown_inside(value)}") for value, child in tree.children.items())
    return branch(asked, below) if asked else below


def _aligned(rows: list[Any]) -> list[list[str]]:
    """Rows of cells as wide as their columns; with a head, where all rows end in alike dictionaries."""
    last = [row[-1] if row else None for row in rows]
    keys = list(last[0]) if isinstance(last[0], dict) else []
    if keys and all(isinstance(each, dict) and list(each) == keys for each in last):
        head = ["" for _ in rows[0][:-1]] + [shown_inside(key) for key in keys]
        cells = [head] + [[*map(shown_inside, row[:-1]), *(shown_inside(row[-1][key]) for key in keys)] for row in rows]
    else:
        cells = [[shown_inside(cell) for cell in row] for row in rows]
    widths = [
        max((len(row[place]) for row in cells if place < len(row)), default=0) for place in range(max(map(len, cells)))
    ]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=False)] for row in cells]


def _tree(tree: Any, indent: str) -> list[str]:
    if isinstance(tree, Leaf):
        return [f"{indent}{shown_inside(tree.pred)}" + ("" if tree.size is None else f" ({shown(tree.size)})")]
    lines = []
    for value, child in tree.children.items():
        lines += [f"{indent}{tree.att} = {shown_inside(value)}", *_tree(child, indent + "|  ")]
    return lines


def as_data(answer: Any) -> Any:  # noqa: PLR0911 - one per kind
    """An answer as plain data."""
    if (task := _task(answer)) is not None:
        return task.shown.data(answer)
    if isinstance(answer, Fraction):
        return float(answer)
    if isinstance(answer, Mapping):
        named = {shown(key): as_data(value) for key, value in answer.items()}
        # Two keys that look alike, 1 and "1", are two all the same.
        return named if len(named) == len(answer) else [[as_data(key), as_data(value)] for key, value in answer.items()]
    if isinstance(answer, list | tuple | range):
        return [as_data(each) for each in answer]
    if isinstance(answer, Leaf):
        return {"pred": as_data(answer.pred), "size": as_data(answer.size), "votes": as_data(answer.votes)}
    if isinstance(answer, TreeNode):
        return {"att": answer.att.name, "children": as_data(answer.children)}
    if isinstance(answer, KnownAttribute):
        return answer.name
    if isinstance(answer, np.ndarray):
        return answer.tolist()
    if answer is None or isinstance(answer, bool | int | float | str):
        return answer
    return str(getattr(answer, "name", answer))


def check_ending(path: Path | None, tasks: Sequence[Task[Any] | None]) -> None:
    """Refuse a file whose ending is that of no answer to one of these tasks; None for what answers none."""
    known = [(".json",) if task is None else task.shown.endings for task in tasks]
    if path is not None and path.suffix and all(known) and not any(path.suffix.lower() in endings for endings in known):
        what = "this answer" if tasks[0] is None else tasks[0].question.gives
        endings = dict.fromkeys(ending for each in known for ending in each if ending)
        raise JostleError(f"{what} is not written to a file {path.suffix}", fix=f"one of {', '.join(endings)}")


def write_answer(answer: Any, path: Path) -> None:
    """Write an answer to a file, as its task does, and what answers no task as JSON."""
    task = _task(answer)
    check_ending(path, [task])
    with writing(path, JostleError):
        if task is not None:
            task.shown.save(answer, path)
        else:
            path.write_text(json.dumps(as_data(answer), indent=2) + "\n", encoding="utf-8")


@frozen
class Spending:
    """What a run spent, and what became of the promise."""

    given: Fraction
    """What it could spend: what was left."""
    spent: Fraction
    vault: str | None = None
    """The file that remembers it; None where nothing does."""
    account: Account | None = None
    """What the vault says afterwards, of all runs."""
    rows_per_person: int | None = None
    """The most rows of a person, where it was spent about persons; None where it was about rows."""

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        promise, left = (None, None) if self.account is None else (self.account.promise, self.account.left)
        return {
            "spent": str(self.spent),
            "vault": self.vault,
            "promise": None if promise is None else str(promise),
            "left": None if left is None else str(left),
            "rows_per_person": self.rows_per_person,
        }

    def as_text(self) -> str:
        """This as a sentence."""
        spent = f"epsilon {show_amount(self.spent)} was spent"
        if self.account is not None and self.given != self.account.promise:
            spent += f" of {show_amount(self.given)} that could be"
        spent += f", {about(None if self.rows_per_person is None else (self.rows_per_person,))}"
        if self.account is None:
            return f"{spent}; " + ("no vault remembers it" if self.vault is None else f"{self.vault} cannot be read")
        left, promise = show_amount(self.account.left), show_amount(self.account.promise)
        return f"{spent}; {left} of the promised {promise} is left in {self.vault}"


@frozen(eq=False)
class Outcome:
    """What a run gave."""

    program: str
    entry: str
    answer: Any
    private: bool
    """Whether it ran on private data."""
    example: str | None = None
    """The public database it ran on instead, if it ran on one."""
    loss: float | None = None
    """How far off the answer is, on a public database."""
    epsilon: Fraction | None = None
    """What the run could spend; None without a database."""
    records: tuple[Record, ...] = ()
    """The trace."""
    spending: Spending | None = None
    """Of private data."""
    problem: BaseException | None = None
    """What ended the run after something was bought; there is no answer then."""
    bought: tuple[tuple[str, Any], ...] = ()
    """Where a run came to no answer: all that had been bought, by where in the program or in an Option it was."""

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        facts = {
            "program": self.program,
            "entry": self.entry,
            "private": self.private,
            "example": self.example,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "loss": self.loss,
            "answer": as_data(self.answer),
        }
        if self.spending is not None:
            facts |= self.spending.as_data()
        if self.problem is not None:
            facts["bought"] = [{"site": site, "value": as_data(value)} for site, value in self.bought]
        return facts

    def as_text(self) -> str:
        """A text for people."""
        lines = [as_text(self.answer)] if self.problem is None else list(self._bought_text())
        if self.example is not None and self.epsilon is not None:
            head = (
                f"NOT PRIVATE: a rehearsal on the public database {self.example}, epsilon {show_amount(self.epsilon)}"
            )
            lines.insert(0, head)
        if self.loss is not None:
            lines.append(f"loss on this database: {self.loss:.4g}")
        return "\n".join(lines)

    def _bought_text(self) -> list[str]:
        """The lines that say what was bought: all of it, since it is nowhere else."""
        lines = [f"  {visible(site)}: {json.dumps(as_data(value))}" for site, value in self.bought]
        return ["there is no answer; until the program stopped, it had bought", *lines]


def all_bought(bought: Sequence[Purchase], trace: Trace) -> tuple[tuple[str, Any], ...]:
    """Everything a program bought, and what was released since then to an Option that came to no end."""
    records = trace.records
    known = bought[-1].records if bought else 0
    since = [
        (record.site, list(trace.released(index)))
        for index, record in enumerate(records)
        if index >= known and isinstance(record, Released)
    ]
    return (*((_site(purchase, records), purchase.value) for purchase in bought), *since)


def _site(bought: Purchase, records: Sequence[Record]) -> str:
    """The site where something was bought: as the trace says it, with the part of the table."""
    last = records[bought.records - 1] if bought.records else None
    return last.site if isinstance(last, Released) and last.site.endswith(bought.site) else bought.site


@frozen(eq=False, repr=False, slots=False)  # without slots, its rows are read once
class PrivateData:
    """A private file, or query, and what is declared of its rows; they are read when they are first needed."""

    path: Path | None
    """None for a query of a database that is no file."""
    declared: Schema | None
    """None for a grid of counts, whose shape says it."""
    asked: OwnQuery | None = None

    @classmethod
    def at(cls, data: Path | OwnQuery, schema: Path | None, persons: Mapping[str, Any] | None = None) -> PrivateData:
        """The private data in a file or of a query: a grid of counts in .npy, or rows with a schema, and whose.

        From now on nothing in this process reads that file as public.
        """
        path = data.file if isinstance(data, OwnQuery) else data
        if path is not None and not is_regular(path):
            if path.is_dir():
                raise JostleError(f"{path} is a folder, not a file", fix="name a file in it")
            raise JostleError(f"there is no file {path}", fix="check the path")
        if path is not None:
            take_as_private(RowOrigin.of(path))
        if isinstance(data, Path) and data.suffix.lower() == GRID_ENDING:
            if any((persons or {}).values()):
                raise JostleError(f"{path} is a grid of counts, which says of no row whose it is", fix="a file of rows")
            return cls(path, None)
        if schema is None:
            raise JostleError(
                f"there is no schema for {path or 'the query'}",
                why="which values can occur is public, and is never read off private rows",
                fix="--schema FILE.toml; jostle schema infer PUBLIC.csv writes one from public data of the same kind",
            )
        declared = Schema.read(schema).with_persons(**(persons or {}))
        return cls(path, declared, data if isinstance(data, OwnQuery) else None)

    @property
    def facts(self) -> TableFacts:
        """What a vault is told of them; nothing of a grid before it is read."""
        return (
            TableFacts() if self.declared is None else TableFacts.of(self.declared, self.path.name if self.path else "")
        )

    def account(self, vault: Path | None, second_promise: str | None) -> Where:
        """Where their budget is kept; refuse a second promise that nobody gave a reason for, before they are read."""
        if self.path is not None:
            vault = vault_of_people(self.path, self.facts, vault)
        where = at_vault(vault, second_promise, forgotten=vault is None)
        if self.path is not None:
            check_account(self.path, self.facts, where)
        return where

    @cached_property
    def table(self) -> Table:
        """The rows."""
        if self.asked is not None and self.declared is not None:
            asked = self.asked
            return Table.query(asked.database, asked.text, self.declared, each_of_one=asked.each_of_one)
        if self.path is None:
            raise TypeError("private data are a file or a query")
        if self.declared is None:
            table = Table.from_grid(read_array(read_content(self.path)))
            table.origin = evolve(table.origin, file=self.path.absolute())
            return table
        return Table.read(self.path, self.declared)

    @cached_property
    def recognised(self) -> Recognised:
        """The rows with their marks."""
        return recognise(self.table)

    @property
    def schema(self) -> Schema:
        """The public facts about the rows: of rows with a schema, before they are read."""
        return self.recognised.schema if self.declared is None else self.declared


EXAMPLE_SEED = 1


@frozen(eq=False)
class _Subject:
    """What a program is run on."""

    schema: Schema
    questions: tuple[Any, ...]
    """What is asked of it beside the database."""
    open: Callable[[Fraction, Trace], Probe]
    example: str | None = None
    loss: Callable[[Any], float | None] | None = None


def run_program(
    path: Path,
    *,
    entry: str | None = None,
    data: Path | OwnQuery | None = None,
    schema: Path | None = None,
    persons: Mapping[str, Any] | None = None,
    epsilon: str | None = None,
    vault: Path | None = None,
    second_promise: str | None = None,
    public: Sequence[Path] = (),
    trace: Path | None = None,
    out: Path | None = None,
    say: Callable[[str], None] | None = print_visible,
    tell: Callable[[str], None] | None = None,
    forced: Mapping[str, str] | None = None,
    train: bool = False,
) -> Outcome:
    """The outcome of a program: on *data*, privately, or, without, on a public example.

    *persons* says whose the rows are, beside the schema. *vault* remembers what is spent, None for nothing; where the
    data have another, that takes a *second_promise*, a reason. *public* are the folders that it may read as public,
    *out* the file that its answer is to be written to, which is refused where no answer of its kind is; *forced* says,
    by label, which alternatives choices are to take. Makers that have to rehearse first do so only if it is to *train*.
    What a program prints goes to *say*; to *tell*, before it runs, what the owner of the data alone should know of
    them. What can be refused is refused before anything is opened, so that nothing is promised or written then. Where
    something was bought and the run comes to no answer, an interruption included, the outcome has what was bought, and
    the problem, which is for the caller to raise.
    """
    requested = None if epsilon is None else recordable(epsilon_amount(epsilon), "epsilon")
    private = None if data is None else PrivateData.at(data, schema, persons)
    account = at_vault(vault) if private is None else private.account(vault, second_promise)
    # The private file is known before others are looked at: none of its names is public.
    files = named(public)
    program = load_source(read_source(path), say=say, files=files)
    name = entry or program.entry
    if name is None:
        raise JostleError(f"{path} has nothing to run", fix="def main(db):")
    target = program[name]
    needed = _needed(target)
    check_forced(program, name, forced or {})
    check_ending(out, kinds_of(program, name))
    forcing = force(forced or {}, must_occur=False)
    if needed == 0:
        with forcing:
            return Outcome(str(path), name, program.run(name), private=False)
    records = Trace(trace, whole=True)
    budget = requested or Fraction(1) if private is None else _share(requested, account.path, private)
    promised = budget if private is None else requested
    subject = _example(program, target) if private is None else _private(private, account)
    _check_schema(program, name, subject.schema)
    check_price(program, name, subject.schema, budget, promised)
    questions = _asked(subject, needed, name)
    ready(program, name, train=train)
    if private is not None and tell is not None:
        for note in private.table.notes:
            tell(note)
    probe = subject.open(requested or budget, records)
    for trusted in own_code(program):
        records.add(trusted)
    if probe.promise is not None and probe.promise < budget:  # others spent of it meanwhile
        budget = probe.promise
        check_price(program, name, subject.schema, budget, promised)
    problem: BaseException | None = None
    answer = loss = None
    with program.noted(records) as bought, forcing:
        try:
            answer = program.run(name, probe, *questions, epsilon=budget)
            loss = None if subject.loss is None else subject.loss(answer)
        except BaseException as mistake:
            # Whatever ended the run, an interruption or a mistake of ours: what was paid for is not lost.
            if not probe.spent:
                raise
            problem = mistake
    return Outcome(
        str(path),
        name,
        answer,
        private is not None,
        subject.example,
        loss,
        budget,
        records.records,
        None if private is None else _spending(budget, probe, account.path, private),
        problem,
        () if problem is None else all_bought(bought, records),
    )


def _share(requested: Fraction | None, vault: Path | None, private: PrivateData) -> Fraction:
    """The budget that a run on private data may spend, as its vault has it before it is opened, or refuse."""
    keeper = FileVault(vault) if vault is not None and vault.exists() else None
    account = None if keeper is None else keeper.account_of(private.facts)
    if keeper is not None and account is not None:
        return account.share(requested, keeper.name, keeper.raising(account.people))
    if requested is None:
        raise JostleError(
            "no epsilon is promised",
            why="a table is only opened with a bound on what its answers may give away",
            fix="--epsilon 1",
        )
    return requested


def _spending(given: Fraction, probe: Probe, vault: Path | None, private: PrivateData) -> Spending:
    """The spendings of a run; a vault that cannot be read any more is no reason to show nothing."""
    rows = probe.schema.rows_per_person
    if vault is None:
        return Spending(given, probe.spent, rows_per_person=rows)
    try:
        return Spending(given, probe.spent, str(vault), FileVault(vault).account_of(private.facts), rows)
    except JostleError:
        return Spending(given, probe.spent, str(vault), rows_per_person=rows)


def own_code(program: Program) -> Iterator[Trusted]:
    """Yield what the trace says of the Options that a program imports and that did not come with Jostle."""
    for statement in program.module.body:
        for name in statement.names if isinstance(statement, nodes.Import) else ():
            option = program.globals.get(name.name)
            origin = origin_of(option) if isinstance(option, Option) else None
            if origin is not None:
                yield Trusted(name.name, origin.file, origin.digest)


def kinds_of(program: Program, name: str) -> tuple[Task[Any] | None, ...]:
    """The tasks that what a name of the program gives may be an answer to; None for what answers none."""
    target = program[name]
    if isinstance(target, Option):
        return (task_of_target(program, target),)
    used = [node for statement in needed_by(program, name) for node in nodes.walk(statement)]
    options = (program.globals.get(node.name) for node in used if isinstance(node, nodes.Name))
    tasks = [task_of_target(program, option) for option in options if isinstance(option, Option)]
    cells = [RANGES for node in used if isinstance(node, nodes.Over)]
    return (None, *dict.fromkeys([*tasks, *cells]))


def check_price(program: Program, name: str, schema: Schema, epsilon: Fraction, promised: Fraction | None) -> None:
    """Refuse a function that may spend more than it can, before it spends anything.

    What it can is what is *promised*, or what is left of it; None for what a vault has, whatever was promised.
    """
    known = program.pricing.prices(schema)
    price = known.get(name) or known.get(f"{name}.answer")
    amount = None if price is None else price.amount.at(epsilon)
    if price is not None and amount is not None and amount > epsilon:
        there = "promised" if promised == epsilon else "left of the promise"
        raise BudgetError(
            f"{name} may spend epsilon {show_amount(amount)}, and {show_amount(epsilon)} is {there}",
            why=f"it {price.text.removeprefix(name).strip()}, on this table's schema",
            fix="promise more, or spend less at each step",
            requested=amount,
            left=epsilon,
            promise=promised,
        )


def ready(program: Program, name: str, *, train: bool) -> None:
    """Let the makers learn that a run may call, before any data are opened; refuse rehearsals that nobody asked for."""
    needed = (node for statement in needed_by(program, name) for node in nodes.walk(statement))
    called = dict.fromkeys(node.name for node in needed if isinstance(node, nodes.Name))
    for maker in (program.makers[each] for each in called if each in program.makers):
        if not train:
            check_learned(maker, program.source.name)
        _ = maker.trained


def _check_schema(program: Program, name: str, schema: Schema) -> None:
    """Refuse what a table with this schema would refuse while running."""
    target = program[name]
    if isinstance(target, Option) and (reason := target.refuses(schema)):
        raise OptionError(f"{target.name} does not run here: {reason}", fix=ELSEWHERE)
    program.check_schema(name, schema)


def _needed(target: Any) -> int:
    """How many values have to be given: a database first, then what is asked of it."""
    if isinstance(target, ProgramOption):
        target = target.answer
    if isinstance(target, Function):
        return len(target.parameters) - len(target.defaults)
    if isinstance(target, Option):
        return 1 + len(target.task.question.beside)
    raise JostleError("only functions, Options and choice makers run", fix="--entry NAME")


def _asked(subject: _Subject, needed: int, name: str) -> tuple[Any, ...]:
    if needed - 1 > len(subject.questions):
        raise JostleError(
            f"{name} takes {needed} values, and gets a database" + (" and queries" if subject.questions else ""),
            why="other values are given by the program itself",
            fix="give the others defaults: def answer(db, queries, d=5):",
        )
    return subject.questions[: needed - 1]


def _private(private: PrivateData, account: Where) -> _Subject:
    return _Subject(
        private.schema,
        questions_of(private.schema),
        lambda epsilon, trace: private.recognised.open(epsilon=epsilon, where=account, trace=trace),
    )


def questions_of(schema: Schema) -> tuple[Any, ...]:
    """What is asked of a table that looks as if it were there to be asked something; the same each time."""
    found = (
        task.question.usual(schema) for task in TASKS.values() if task.question.beside and task.question.suits(schema)
    )
    return next(found, ())


def task_of_target(program: Program, target: Any) -> Task[Any]:
    """What a function or an Option of a program answers."""
    told: Task[Any] = (
        target.task if isinstance(target, Option) else task_of(told_task(program.module, target.definition))
    )
    return told


def _example(program: Program, target: Any) -> _Subject:
    told = task_of_target(program, target)
    task: Task[Any] = CLASSIFICATION if told is UNTOLD else told  # rows with a label, where nothing tells
    database, spec = task.rehearsal.example()
    instance = task.rehearsal.instance(database, spec)

    def loss(answer: Any) -> float | None:
        return instance.loss(answer) if task.question.gave(answer) else None

    return _Subject(
        instance.schema,
        instance.questions,
        lambda epsilon, trace: rehearse(instance.table, epsilon=epsilon, seed=EXAMPLE_SEED, trace=trace),
        example=f"{database.name} ({instance.rows:,} rows)",
        loss=loss,
    )
