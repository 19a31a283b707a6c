"""Options: algorithms that could answer, behind one way of calling them."""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from attrs import Attribute, evolve, fields, frozen, has

from jostle.errors import AnswerError, OptionError, described
from jostle.options.rows_of_persons import with_fewer_rows
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.events import Allotment, Event, Reserved, least, price
from jostle.privacy.evidence import Look
from jostle.privacy.probe import Probe
from jostle.progress import stage
from jostle.sites import Policy, choices_noted
from jostle.tables.schema import Schema
from jostle.tasks import Task, task_of
from jostle.tasks.answers import Answer

ENOUGH = 4.0
"""What is known with at most so many times the variance that a purchase would have, is not bought again: what is bought
twice by halves has half the precision of what is bought once."""


def is_enough(known: Look, variance: float) -> bool:
    """Whether numbers are known about as well as a purchase would tell them, with noise of a variance."""
    return float(known.variance.mean()) <= ENOUGH * variance


ELSEWHERE = "declare it otherwise in the schema, or take another Option: `jostle options` lists them"
"""What to do where public facts say that an Option does not run."""
WIDEST_NOISE = 2**40
"""Rows that noise on one count may be wide."""


class Option(ABC, Generic[Answer]):
    """An algorithm that could answer.

    An Option is a frozen attrs class: its fields are its parameters, public all of them. It says beforehand what it
    costs, as an event, and why it cannot run, if so, from public facts alone; then it runs against a probe that has
    just the budget it was called with. Afterwards what was spent must be what was declared, to the last digit.
    """

    task: ClassVar[Task[Any]]
    """What it answers: Options of one task can stand in for each other. A class may say it by name."""
    version: ClassVar[int] = 1
    """Raised whenever its answers' distribution changes, so that what was learned of it is learned anew."""
    paper: ClassVar[str] = ""
    settles: ClassVar[bool] = False
    """Whether it may end before its budget is spent, and then costs what it spent: what it declares is a bound."""
    private: ClassVar[bool] = True
    """Whether it keeps its claim; one that does not runs on public data alone, and no maker chooses it."""
    of_rows: ClassVar[bool] = True
    """Whether it counts what is said of a row, where persons are protected; else it counts as whoever calls it."""
    fitted_on: ClassVar[Any] = ()
    """The public databases that something inside it was fitted on, by digests or names (see `fitted`): it is neither
    learned of nor judged by rehearsals on these."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        said = cls.__dict__.get("task")
        if isinstance(said, str):
            cls.task = task_of(said)

    @cached_property
    def name(self) -> str:
        """The registered name, with the parameters that are not the defaults."""
        changed = [
            f"{attribute.name}={_shown(getattr(self, attribute.name))}"
            for attribute in fields(type(self))  # type: ignore[arg-type]  # every Option is an attrs class
            if getattr(self, attribute.name) != attribute.default
        ]
        return type(self).__name__ + (f"({', '.join(changed)})" if changed else "")

    @property
    def holds(self) -> str:
        """What it keeps in memory that grows with the rows, also of a file that is streamed; most keep nothing such."""
        return ""

    def refuses(self, schema: Schema) -> str | None:
        """The reason why this cannot run on tables of this schema, or None.

        Args:
            schema: of the table.
        """
        return None

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        """The reason why nothing can come of so little budget, or None: it is refused then, before anything is charged.

        It is so for any Option where noise on a single count is of a trillion rows, with the least share of it that the
        Option declares: more would be wanted than is drawn, which would show after others were charged.

        Args:
            schema: of the table.
            epsilon: what a run may spend.
            rows: how many there are, as far as that is known.
        """
        return _too_wide(self.cost(schema, epsilon), epsilon)

    def refuse_hopeless(self, db: Probe, epsilon: Amount) -> None:
        """Refuse a budget that nothing can come of, as far as is known without asking.

        Args:
            db: the table.
            epsilon: what a run may spend.

        Raises:
            OptionError: there is a reason why nothing can come of it, or this is no probe.
        """
        check_probe(db, self.name)
        budget = epsilon_amount(epsilon) / db.unit
        if self.refuses(db.schema) is None and (reason := self.hopeless(db.schema, budget, db.rows)):
            raise OptionError(f"{self.name} does not run here: {reason}{_a_row(db.unit)}", fix="a larger epsilon")

    @abstractmethod
    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The event of one run.

        Args:
            schema: of the table.
            epsilon: what the run may spend.

        Raises:
            EventError: the budget is none.
        """

    def learned(self) -> Mapping[str, Policy]:
        """The policies learned for the labelled choices inside it, beside what it brings itself."""
        return {}

    @abstractmethod
    def __call__(self, *questions: Any, **named: Any) -> Answer:
        """Answer; called as option(db, ..., epsilon=...), with what its task needs between."""

    def perform(
        self, db: Probe, epsilon: Amount, run: Callable[[Probe, Fraction], Answer], *, site: str | None = None
    ) -> Answer:
        """Run inside an allotment of *epsilon*, and check afterwards that it spent what it declared.

        Where persons have several rows, a share of it may buy how many of these are best read.

        Args:
            db: the table.
            epsilon: what it costs, as it is written: 0.1, "1/3".
            run: what asks, given an allotment and its budget.
            site: its name in the trace; the Option's name if left out.

        Raises:
            OptionError: it does not run on such tables, or spends other than it declares.
            BudgetError: less is left than *epsilon*.
        """
        asked, name = epsilon_amount(epsilon), self.name
        check_probe(db, name)
        schema, rows = db.schema, db.unit
        if reason := self.refuses(schema):
            raise OptionError(f"{name} does not run here: {reason}", fix=ELSEWHERE)
        db, rest = (db, asked) if rows == 1 else self._on_rows(db, asked, site or name)
        schema, rows = (schema, rows) if rows == 1 else (db.schema, db.unit)
        asked, looked = rest, asked - rest
        unit = rows if self.of_rows else 1
        budget, of_a_row = asked / unit, asked / rows
        event = self.cost(schema, budget)
        # What an Option says itself of its budget, it is asked where it is called.
        if reason := _too_wide(event if budget == of_a_row else self.cost(schema, of_a_row), of_a_row):
            raise OptionError(f"{name} does not run here: {reason}{_a_row(rows)}", fix="a larger epsilon")
        declared = price(event, schema.neighbours)
        if declared > budget:
            raise OptionError(
                f"{self.name} declares epsilon {show_amount(declared * unit)} of an allotted {show_amount(asked)}",
                why="this is a mistake of Jostle's, and nothing was asked of the data",
                fix="please report it, with the schema",
            )
        # Charged with its first question: what is refused before, by the Option or at the door, costs nothing.
        allotted = db.hand(asked, site=site or name, option=name, settles=self.settles, of_rows=self.of_rows)
        try:
            with stage(site or self.name), choices_noted(allotted, self.learned):
                answer = run(allotted, budget)
            spent = allotted.spent
            if not self.settles and not spent:
                allotted.open()
                spent = allotted.spent
        except SystemExit:  # what it ends with is not shown: its own code would run, where the owner's does
            raise OptionError(
                f"{self.name} ends the process",
                why="whoever runs it would take that for an answer",
                fix="raise what went wrong, or return an answer",
            ) from None
        finally:
            if self.settles:
                allotted.settle()
        # What is declared as an allotment is a bound: what is not used of it is spent all the same.
        if spent != declared and not (isinstance(event, Allotment | Reserved) and spent < declared):
            raise OptionError(
                f"{self.name} spent epsilon {show_amount(spent * unit)}, but declared {show_amount(declared * unit)}",
                why="this is a mistake of Jostle's; the budget promised was kept all the same",
                fix="please report it, with the schema",
            )
        self._check_answer(answer, spent * unit)
        made: Any = answer
        if (unit != 1 or looked) and has(type(made)) and isinstance(getattr(made, "epsilon", None), Fraction):
            answer = evolve(made, epsilon=made.epsilon * unit + looked)  # as whoever asked counts
        checked: Answer = self.task.question.of(schema, answer)
        if (stated := _stated(checked)) is not None:
            db.note_answer(stated, site=site or self.name, whole=False)
        return checked

    def _on_rows(self, db: Probe, asked: Fraction, site: str) -> tuple[Probe, Fraction]:
        """The table and what may be spent of it, after a look that left fewer rows of a person to be read."""
        counts = self.task.question.counts(db.schema) if self.of_rows and not db.divided else 0
        return with_fewer_rows(db, asked, counts, site) if counts else (db, asked)

    def _check_answer(self, answer: object, spent: Fraction) -> None:
        """Refuse what is no answer to the task: whoever asked would fail over it later, and not know why."""
        kinds = self.task.question.answers
        if not kinds or isinstance(answer, kinds):
            return
        given = "nothing" if answer is None else f"a value of type {type(answer).__name__}"
        does, gives = self.task.question.does, self.task.question.gives
        raise AnswerError(
            f"{self.name} gives back {given}, not {gives}",
            why=f"it {does}; epsilon {show_amount(spent)} was paid, and the trace has what was bought",
            fix=f"return {gives}, or say which other task it answers: @jostle.option(task=...)",
        )


def _too_wide(event: Event, epsilon: Fraction) -> str | None:
    """Why noise is too wide for anything, where it is."""
    share = least(event) or epsilon
    if share * WIDEST_NOISE >= 1:
        return None
    return f"at epsilon {show_amount(share)} noise is wider than any table has rows"


def _a_row(unit: int) -> str:
    """What to say of an amount that is of a row, to whoever counts persons."""
    return "" if unit == 1 else f" (of a person's epsilon each of up to {unit} rows has 1/{unit})"


def _stated(answer: object) -> str | None:
    """What an answer says of itself in one line, if it can: it may be of somebody's own class, and is paid for."""
    try:
        said = getattr(answer, "stated", None)
    except Exception:  # noqa: BLE001 - see above
        return None
    return said if isinstance(said, str) else None


def check_probe(given: object, who: str) -> None:
    """Refuse what is no probe, in the name of what was given it."""
    if not isinstance(given, Probe):
        raise OptionError(
            f"{who} is given {described(given)}, not a probe",
            why="an Option asks a table within a budget, and never holds its rows",
            fix="db = jostle.protect(jostle.Table.from_frame(frame, schema), epsilon=1)",
        )


Registered = type[Option] | Option
"""A class is made anew for each use, with its parameters; an Option that is a function is there as it is."""
Given = TypeVar("Given", bound=Registered)
_registered: dict[str, Registered] = {}
_registrations = count(1)
_latest = [0]


def option(given: Given) -> Given:
    """Register an Option under its name; a name that another has is refused.

    Args:
        given: the class, or an Option that is a function.

    Raises:
        OptionError: the name is taken, or it is no Option.
    """
    if not isinstance(given, Option) and not (isinstance(given, type) and issubclass(given, Option)):
        raise OptionError(f"{described(given)} is no Option", fix="class OfMine(jostle.options.Option)")
    name, place = _place_of(given)
    holder = _registered.get(name)
    if holder is not None and _place_of(holder)[1] != place:
        raise OptionError(f"the name {name} is taken by {_place_of(holder)[1][0]}", fix="give it another name")
    _registered[name] = given
    _latest[0] = next(_registrations)
    return given


Kind = TypeVar("Kind", bound=Option)


def preset(kind: type[Kind], name: str, about: str, *, paper: str, **settled: Any) -> type[Kind]:
    """Register an Option with some of its parameters, or facts of its class, settled, under a name of its own.

    For what has a name of its own in papers. What has none is written with its parameters: "RandomForest(trees=1)". A
    parameter that is settled is none of the preset's.

    Args:
        kind: the Option.
        name: of the preset, and of what it is assigned to beside the Option.
        about: its docstring.
        paper: where it was published.
        **settled: the values.
    """

    def settle(_: type, attributes: list[Attribute[Any]]) -> list[Attribute[Any]]:
        return [
            attribute.evolve(default=settled[attribute.name], init=False, metadata={})
            if attribute.name in settled
            else attribute
            for attribute in attributes
        ]

    own = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # as above
    facts = {fact: value for fact, value in settled.items() if fact not in own}
    body = {"__doc__": about, "__module__": kind.__module__, "__qualname__": name, "paper": paper, **facts}
    meta: Any = type(kind)
    made: type[Kind] = option(frozen(kw_only=True, field_transformer=settle)(meta(name, (kind,), body)))
    return made


def know(*given: Registered) -> None:
    """Register what another process has registered, in the place of what has its name here.

    Args:
        *given: Options.
    """
    _registered.update({_place_of(each)[0]: each for each in given})
    _latest[0] = next(_registrations)


def forget(name: str) -> None:
    """Take an Option out of the register."""
    del _registered[name]
    _latest[0] = next(_registrations)


def _place_of(given: Registered) -> tuple[str, tuple[str, str]]:
    """Name of an Option, and the module and name of what defines it."""
    definition: Any = given if isinstance(given, type) else getattr(given, "function", type(given))
    name = given.__name__ if isinstance(given, type) else given.name
    return name, (str(definition.__module__), str(definition.__qualname__))


def changes() -> int:
    """A number that changes when an Option is registered."""
    return _latest[0]


def registered() -> Mapping[str, Registered]:
    """The Options that are registered so far, by name."""
    return MappingProxyType(_registered)


def own() -> dict[str, Registered]:
    """The Options that do not come with Jostle, by name, as far as they are registered."""
    return {name: each for name, each in _registered.items() if not is_built_in(each)}


def is_built_in(given: Registered) -> bool:
    """Whether an Option comes with Jostle."""
    return _place_of(given)[1][0].startswith("jostle.options.")


def _shown(value: object) -> str:
    return show_amount(value) if isinstance(value, Fraction) else str(value)


CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*")


def name_in(text: object) -> str | None:
    """The name of the Option that a text stands for; None where it stands for none."""
    match = CALL.fullmatch(text) if isinstance(text, str) else None
    return match[1] if match else None


def made(name: str, known: Mapping[str, Registered]) -> Option:
    """The Option that a text stands for, one of those that are known.

    Raises:
        OptionError: there is none of the name, or it cannot have these parameters.
    """
    given: object = name
    if not isinstance(given, str):
        raise OptionError(
            f"{given!r:.40} is not the name of an Option", fix='options.get("NaiveBayes"); options.names() lists all'
        )
    match = CALL.fullmatch(name)
    kind = known.get(match[1]) if match else None
    if match is None or kind is None:
        near = difflib.get_close_matches(name, known, n=1)
        raise OptionError(f"there is no Option {name!r}", fix=near[0] if near else f"one of {', '.join(sorted(known))}")
    parts = [part for part in (match[2] or "").split(",") if part.strip()]
    if isinstance(kind, Option):
        if parts:
            raise OptionError(f"{kind.name} has no parameters", why="it is a function", fix=kind.name)
        return kind
    given = dict(_parameter(part, kind) for part in parts)
    try:
        return kind(**given)
    except OptionError as mistake:
        raise OptionError(f"{kind.__name__} cannot have these parameters: {mistake.title}", fix=mistake.fix) from None
    except (TypeError, ValueError) as mistake:
        raise OptionError(f"{kind.__name__} cannot have these parameters: {mistake.args[0]}") from None


def _parameter(text: str, kind: type[Option]) -> tuple[str, object]:
    name, _, value = (part.strip() for part in text.partition("="))
    parameters = {attribute.name: attribute for attribute in fields(kind) if attribute.init}  # type: ignore[arg-type]  # an attrs class
    if name not in parameters:
        raise OptionError(f"{kind.__name__} has no parameter {name!r}", fix=f"one of {', '.join(parameters) or 'none'}")
    if value in {"True", "False", "None"}:
        return name, {"True": True, "False": False, "None": None}[value]
    if re.fullmatch(r"[+-]?\d+", value):
        return name, int(value)
    if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+/\d+)", value):
        return name, Fraction(value) if isinstance(parameters[name].default, Fraction) else float(Fraction(value))
    return name, value.strip("\"'")
