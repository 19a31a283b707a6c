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
from typing import Any, ClassVar, TypeVar

from attrs import fields

from jostle.errors import OptionError
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.events import Allotment, Event, price
from jostle.privacy.probe import Probe
from jostle.sites import Policy, choices_noted
from jostle.tables.schema import Schema
from jostle.tasks import Task, task_of

__all__ = ["Option", "built_in", "get", "names", "option", "options_for", "per_part"]


class Option(ABC):
    """An algorithm that could answer."""

    task: ClassVar[Task[Any]]
    """What it answers: Options of one task can stand in for each other. A class may say it by name."""
    version: ClassVar[int] = 1
    """Raised whenever its answers' distribution changes, so that what was learned of it is learned anew."""
    paper: ClassVar[str] = ""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        said = cls.__dict__.get("task")
        if isinstance(said, str):
            cls.task = task_of(said)

    @property
    def name(self) -> str:
        """Return the registered name, with the parameters that are not the defaults."""
        changed = [
            f"{attribute.name}={_shown(getattr(self, attribute.name))}"
            for attribute in fields(type(self))  # type: ignore[arg-type]  # every Option is an attrs class
            if getattr(self, attribute.name) != attribute.default
        ]
        return type(self).__name__ + (f"({', '.join(changed)})" if changed else "")

    def refuses(self, schema: Schema) -> str | None:  # noqa: ARG002 - most run on anything
        """Return why this cannot run on tables of this schema, or None."""
        return None

    @abstractmethod
    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Return what one run does to the data."""

    def learned(self) -> Mapping[str, Policy]:
        """Return what was learned for the labelled choices inside it, beside what it brings itself."""
        return {}

    @abstractmethod
    def __call__(self, *questions: Any, **named: Any) -> Any:
        """Answer; called as option(db, ..., epsilon=...), with what its task needs between."""

    def perform(
        self, db: Probe, epsilon: Amount, run: Callable[[Probe, Fraction], Any], *, site: str | None = None
    ) -> Any:
        """Run inside an allotment of *epsilon*, and check afterwards that it spent what it declared."""
        budget = epsilon_amount(epsilon)
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
        with choices_noted(allotted, self.learned):
            answer = run(allotted, budget)
        # What is declared as an allotment is a bound: what is not used of it is spent all the same.
        spent = allotted.spent
        if spent != declared and not (isinstance(event, Allotment) and spent < declared):
            raise OptionError(
                f"{self.name} spent epsilon {show_amount(spent)}, but declared {show_amount(declared)}",
                why="this is a mistake of Jostle's; the budget promised was kept all the same",
                fix="please report it, with the schema",
            )
        return answer


Class = TypeVar("Class", bound=type[Option])
_registered: dict[str, type[Option]] = {}


def option(kind: Class) -> Class:
    """Register an Option under its class name; a name taken twice is refused."""
    holder = _registered.get(kind.__name__)
    if holder is not None and (holder.__module__, holder.__qualname__) != (kind.__module__, kind.__qualname__):
        raise OptionError(f"the name {kind.__name__} is taken by {holder.__module__}")
    _registered[kind.__name__] = kind
    return kind


def names(task: str | Task[Any] | None = None) -> tuple[str, ...]:
    """Names of all registered Options, or of those of one task."""
    wanted = None if task is None else task_of(task)
    _load()
    return tuple(sorted(name for name, kind in _registered.items() if wanted in {None, kind.task}))


def built_in() -> tuple[type[Option], ...]:
    """The Options that come with Jostle."""
    _load()
    return tuple(kind for kind in _registered.values() if kind.__module__.startswith("jostle.options."))


def options_for(task: str | Task[Any]) -> Iterator[Option]:
    """Yield every registered Option of a task, with its default parameters."""
    return (_registered[name]() for name in names(task))


CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*")


def get(name: str) -> Option:
    """Return the Option of this name, which may give parameters: "FriedmanSchuster(depth=3)"."""
    _load()
    match = CALL.fullmatch(name)
    kind = _registered.get(match[1]) if match else None
    if match is None or kind is None:
        near = difflib.get_close_matches(name, _registered, n=1)
        raise OptionError(
            f"there is no Option {name!r}", fix=near[0] if near else f"one of {', '.join(sorted(_registered))}"
        )
    given = dict(_parameter(part, kind) for part in (match[2] or "").split(",") if part.strip())
    try:
        return kind(**given)
    except OptionError as mistake:
        raise OptionError(f"{kind.__name__} cannot have these parameters: {mistake.title}", fix=mistake.fix) from None
    except (TypeError, ValueError) as mistake:
        raise OptionError(f"{kind.__name__} cannot have these parameters: {mistake.args[0]}") from None


def per_part(epsilon: Fraction, schema: Schema) -> Fraction:
    """Return what each of many disjoint parts may spend so that together they cost epsilon."""
    return epsilon if schema.neighbours == "add_remove" else epsilon / 2


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
