"""Run a program: on private data, within a promise, or on a public example, as a rehearsal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from attrs import frozen

from jostle.errors import BudgetError, JostleError, OptionError
from jostle.lang import nodes
from jostle.lang.answers import check_ending
from jostle.lang.functions import Function
from jostle.lang.labelled import check_forced
from jostle.lang.outcomes import Outcome, Spending, all_bought
from jostle.lang.parser import read_source
from jostle.lang.price import prices
from jostle.lang.private_data import PrivateData
from jostle.lang.program import Program, load_source, named
from jostle.lang.program_options import ProgramOption, needed_by
from jostle.lang.quick_start import check_learned
from jostle.lang.tasks import task_of as told_task
from jostle.options.base import ELSEWHERE, Option
from jostle.options.registry import origin_of
from jostle.privacy.amounts import epsilon_amount, recordable, show_amount
from jostle.privacy.opening import Where, at_vault, rehearse
from jostle.privacy.probe import Probe
from jostle.privacy.vault import FileVault
from jostle.sites import force
from jostle.tables.queries import OwnQuery
from jostle.tables.schema import Schema
from jostle.tasks import CLASSIFICATION, RANGES, TASKS, UNTOLD, Task, task_of
from jostle.trace.records import Trace, Trusted
from jostle.visible import print_visible

__all__ = ["run_program"]

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
        for each in statement.names if isinstance(statement, nodes.Import) else ():
            option = program.globals.get(each.name)
            origin = origin_of(option) if isinstance(option, Option) else None
            if origin is not None:
                yield Trusted(each.name, origin.file, origin.digest)


def kinds_of(program: Program, name: str) -> tuple[Task[Any] | None, ...]:
    """The tasks that what a name of the program gives may be an answer to; None for what answers none."""
    target = program[name]
    if isinstance(target, Option):
        return (task_of_target(program, target),)
    used = [node for each in needed_by(program, name) for node in nodes.walk(each)]
    options = (program.globals.get(node.name) for node in used if isinstance(node, nodes.Name))
    tasks = [task_of_target(program, each) for each in options if isinstance(each, Option)]
    cells = [RANGES for node in used if isinstance(node, nodes.Over)]
    return (None, *dict.fromkeys([*tasks, *cells]))


def check_price(program: Program, name: str, schema: Schema, epsilon: Fraction, promised: Fraction | None) -> None:
    """Refuse a function that may spend more than it can, before it spends anything.

    What it can is what is *promised*, or what is left of it; None for what a vault has, whatever was promised.
    """
    known = prices(program.module, schema)
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
    needed = (node for each in needed_by(program, name) for node in nodes.walk(each))
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
