"""Options: algorithms that could answer, behind one way of calling them.

An Option is a frozen attrs class: its fields are its parameters, public all of them. It says beforehand what it costs,
as an event, and why it cannot run, if so, from public facts alone; then it runs against a probe that has just the
budget it was called with. Afterwards what was spent must be what was declared, to the last digit.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import count
from typing import Any, ClassVar, Generic, TypeVar, overload

from attrs import fields

from jostle.errors import AnswerError, OptionError
from jostle.options.literals import ClassifierName, GridName, PublisherName, SelectorName
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.events import Allotment, Event, price
from jostle.privacy.owner import asking
from jostle.privacy.probe import Probe
from jostle.sites import Policy, choices_noted
from jostle.tables.schema import Schema
from jostle.tasks import Task, task_of
from jostle.tasks.answers import Answer
from jostle.tasks.classification.model import Model
from jostle.tasks.publishing.published import Published
from jostle.tasks.ranges.estimate import Estimate, SparseEstimate
from jostle.tasks.selection.selected import SelectedFeatures

__all__ = [
    "Option",
    "built_in",
    "changes",
    "get",
    "load_installed",
    "names",
    "option",
    "options_for",
    "own",
]


ENTRY_POINT = "jostle.options"


class Option(ABC, Generic[Answer]):
    """An algorithm that could answer."""

    task: ClassVar[Task[Any]]
    """What it answers: Options of one task can stand in for each other. A class may say it by name."""
    version: ClassVar[int] = 1
    """Raised whenever its answers' distribution changes, so that what was learned of it is learned anew."""
    paper: ClassVar[str] = ""
    private: ClassVar[bool] = True
    """Whether it keeps its claim; one that does not runs on public data alone, and no maker chooses it."""
    fitted_on: ClassVar[Any] = ()
    """The public databases that something inside it was fitted on, by digests or names (see `fitted`): it is neither
    learned of nor judged by rehearsals on these."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        said = cls.__dict__.get("task")
        if isinstance(said, str):
            cls.task = task_of(said)

    @property
    def name(self) -> str:
        """The registered name, with the parameters that are not the defaults."""
        changed = [
            f"{attribute.name}={_shown(getattr(self, attribute.name))}"
            for attribute in fields(type(self))  # type: ignore[arg-type]  # every Option is an attrs class
            if getattr(self, attribute.name) != attribute.default
        ]
        return type(self).__name__ + (f"({', '.join(changed)})" if changed else "")

    def refuses(self, schema: Schema) -> str | None:  # noqa: ARG002 - most run on anything
        """The reason why this cannot run on tables of this schema, or None."""
        return None

    @abstractmethod
    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The event of one run."""

    def learned(self) -> Mapping[str, Policy]:
        """The policies learned for the labelled choices inside it, beside what it brings itself."""
        return {}

    @abstractmethod
    def __call__(self, *questions: Any, **named: Any) -> Answer:
        """Answer; called as option(db, ..., epsilon=...), with what its task needs between."""

    def perform(
        self, db: Probe, epsilon: Amount, run: Callable[[Probe, Fraction], Answer], *, site: str | None = None
    ) -> Answer:
        """Run inside an allotment of *epsilon*, and check afterwards that it spent what it declared."""
        budget = epsilon_amount(epsilon)
        given: object = db
        if not isinstance(given, Probe):
            raise OptionError(
                f"{self.name} is given a {type(given).__name__}, not a probe",
                why="an Option asks a table within a budget, and never holds its rows",
                fix="db = jostle.protect(jostle.Table.from_frame(frame, schema), epsilon=1)",
            )
        schema = db.schema
        if reason := self.refuses(schema):
            raise OptionError(f"{self.name} does not run here: {reason}")
        event = self.cost(schema, budget)
        declared = price(event, schema.neighbours)
        if declared > budget:
            raise OptionError(
                f"{self.name} declares epsilon {show_amount(declared)} of an allotted {show_amount(budget)}",
                why="this is a mistake of Jostle's, and nothing was asked of the data",
                fix="please report it, with the schema",
            )
        allotted = db.allot(budget, site=site or self.name)
        with asking(), choices_noted(allotted, self.learned):
            answer = run(allotted, budget)
        # What is declared as an allotment is a bound: what is not used of it is spent all the same.
        spent = allotted.spent
        if spent != declared and not (isinstance(event, Allotment) and spent < declared):
            raise OptionError(
                f"{self.name} spent epsilon {show_amount(spent)}, but declared {show_amount(declared)}",
                why="this is a mistake of Jostle's; the budget promised was kept all the same",
                fix="please report it, with the schema",
            )
        self._check_answer(answer, spent)
        known: Answer = self.task.of(schema, answer)
        return known

    def _check_answer(self, answer: object, spent: Fraction) -> None:
        """Refuse what is no answer to the task: whoever asked would fail over it later, and not know why."""
        if not self.task.answers or self.task.gave(answer):
            return
        given = "nothing" if answer is None else f"a value of type {type(answer).__name__}"
        raise AnswerError(
            f"{self.name} gives back {given}, not {self.task.gives}",
            why=f"it {self.task.does}; epsilon {show_amount(spent)} was paid, and the trace has what was bought",
            fix=f"return {self.task.gives}, or say which other task it answers: @jostle.option(task=...)",
        )


Registered = type[Option] | Option
"""A class is made anew for each use, with its parameters; an Option that is a function is there as it is."""
Given = TypeVar("Given", bound=Registered)
_registered: dict[str, Registered] = {}
_registrations = count(1)
_latest = [0]


def option(given: Given) -> Given:
    """Register an Option under its name; a name that another has is refused."""
    name, place = _place_of(given)
    holder = _registered.get(name)
    if holder is not None and _place_of(holder)[1] != place:
        raise OptionError(f"the name {name} is taken by {_place_of(holder)[1][0]}", fix="give it another name")
    _registered[name] = given
    _latest[0] = next(_registrations)
    return given


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


def names(task: str | Task[Any] | None = None) -> tuple[str, ...]:
    """Names of all registered Options, or of those of one task."""
    wanted = None if task is None else task_of(task)
    _load()
    load_installed()
    return tuple(sorted(name for name, kind in _registered.items() if wanted in {None, kind.task}))


def built_in() -> tuple[type[Option], ...]:
    """The Options that come with Jostle, by their names."""
    _load()
    known = (_registered[name] for name in sorted(_registered))
    return tuple(each for each in known if isinstance(each, type) and _is_built_in(each))


def own() -> dict[str, Registered]:
    """The Options that do not come with Jostle, by name, as far as they are registered."""
    return {name: each for name, each in _registered.items() if not _is_built_in(each)}


def _is_built_in(given: Registered) -> bool:
    return _place_of(given)[1][0].startswith("jostle.options.")


def options_for(task: str | Task[Any]) -> Iterator[Option]:
    """Yield every registered Option of a task, with its default parameters."""
    return (get(name) for name in names(task))


CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*")


@overload
def get(name: ClassifierName) -> Option[Model]: ...
@overload
def get(name: GridName) -> Option[Estimate | SparseEstimate]: ...
@overload
def get(name: PublisherName) -> Option[Published]: ...
@overload
def get(name: SelectorName) -> Option[SelectedFeatures]: ...
@overload
def get(name: str, *, task: Task[Answer]) -> Option[Answer]: ...
@overload
def get(name: str) -> Option: ...
def get(name: str, *, task: Task[Any] | None = None) -> Option:
    """Option of this name, which may give parameters: "FriedmanSchuster(depth=3)".

    Args:
        name: of a built-in Option, of one's own or of an installed package's; with some of its parameters, or none.
        task: what it is to answer: another Option is refused, and a type checker knows what it gives back.

    Raises:
        OptionError: there is no Option of the name, it cannot have these parameters, or it answers another task.
    """
    found = _made(name)
    if task is not None and found.task is not task:
        raise OptionError(f"{found.name} {found.task.does}", why=f"an Option that {task.does} is asked for")
    return found


def _made(name: str) -> Option:
    given: object = name
    if not isinstance(given, str):
        raise OptionError(
            f"{given!r:.40} is not the name of an Option", fix='options.get("NaiveBayes"); options.names() lists all'
        )
    _load()
    match = CALL.fullmatch(name)
    if match and match[1] not in _registered:
        load_installed()
    kind = _registered.get(match[1]) if match else None
    if match is None or kind is None:
        near = difflib.get_close_matches(name, _registered, n=1)
        raise OptionError(
            f"there is no Option {name!r}", fix=near[0] if near else f"one of {', '.join(sorted(_registered))}"
        )
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
    known = {attribute.name: attribute for attribute in fields(kind)}  # type: ignore[arg-type]  # an attrs class
    if name not in known:
        raise OptionError(f"{kind.__name__} has no parameter {name!r}", fix=f"one of {', '.join(known) or 'none'}")
    if value in {"True", "False", "None"}:
        return name, {"True": True, "False": False, "None": None}[value]
    if re.fullmatch(r"[+-]?\d+", value):
        return name, int(value)
    if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+/\d+)", value):
        return name, Fraction(value) if isinstance(known[name].default, Fraction) else float(Fraction(value))
    return name, value.strip("\"'")


def _shown(value: object) -> str:
    return show_amount(value) if isinstance(value, Fraction) else str(value)


def _load() -> None:
    """Import the built-in Options, which register themselves."""
    from jostle.options import catalogue  # noqa: F401, PLC0415 - registers on import, and needs this module first


@cache
def load_installed() -> None:
    """Import what installed packages bring under the entry point `jostle.options`; it registers itself."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes its time, and is asked once

    for found in entry_points(group=ENTRY_POINT):
        try:
            found.load()
        except Exception as mistake:  # noqa: BLE001 - another package may fail in any way
            raise OptionError(
                f"the Options of {found.value} cannot be loaded: {type(mistake).__name__}: {mistake}",
                why=f"an installed package brings them, under the entry point {ENTRY_POINT}",
                fix="mend that package, or take it out",
            ) from None
