"""Options written as functions: whatever they ask of the table, within the budget they are told."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from attrs import field, frozen

from jostle.errors import OptionError, described
from jostle.given import PRICE, called_as
from jostle.learned.policies import fitted_on, learned_for
from jostle.options.base import Option, check_probe
from jostle.privacy.amounts import Amount
from jostle.privacy.events import Allotment, Event
from jostle.privacy.probe import Probe
from jostle.sites import Policy
from jostle.tables.schema import Schema
from jostle.tasks import Task, task_of
from jostle.tasks.answers import Answer
from jostle.tasks.metafeature import text_of

PLAIN = (bool, int, float, str, bytes, Fraction, type(None))


def text_mark(function: Callable[..., Any]) -> str:
    """A mark that changes with the text of a function, of the functions it uses, and with plain values there.

    Looked at is what is defined in the same file: names are followed through functions, and through what wraps one and
    has it as `function`, as Options do.
    """
    digest = hashlib.blake2b(digest_size=10)
    for part in sorted(set(_parts(function))):
        digest.update(f"{part}\n".encode())
    return digest.hexdigest()


def _parts(function: Callable[..., Any]) -> Iterator[str]:
    waiting: list[Any] = [function]
    seen: set[int] = set()
    home = getattr(function, "__globals__", None)
    while waiting:
        each = waiting.pop()
        each = getattr(each, "function", each)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if not isinstance(each, FunctionType) or each.__globals__ is not home:
            continue
        yield text_of(each)
        for name in _names(each.__code__):
            if name not in each.__globals__:
                continue
            value = each.__globals__[name]
            if shown := _shown(value):
                yield f"{name} = {shown}"
            else:
                waiting.append(value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _shown(value: Any) -> str:
    """A plain value as text; nothing where it is none."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, tuple | list | frozenset | set):
        parts = [_shown(each) for each in value]
        ordered = parts if isinstance(value, tuple | list) else sorted(parts)
        return f"[{', '.join(ordered)}]" if all(parts) else ""
    if isinstance(value, dict):
        pairs = [(_shown(key), _shown(each)) for key, each in value.items()]
        return f"{{{', '.join(f'{key}: {each}' for key, each in pairs)}}}" if all(map(all, pairs)) else ""
    return ""


Predict = Callable[[Mapping[str, float]], float]


@frozen(kw_only=True, eq=False)
class FunctionOption(Option[Answer]):
    """An Option that is a function of a probe, of what its task asks, and of `epsilon`.

    The probe it is given has just the budget it was called with, and refuses what goes beyond. So it costs that budget,
    whatever it does with it.
    """

    function: Callable[..., Answer] = field(repr=False)
    called: str
    answers: Task[Any]
    """The task."""
    predict: Predict | None = field(default=None, repr=False)
    """The programmer's own estimate of the loss, from metafeatures by name: where training begins."""
    fitted: Any = field(default=(), repr=False)
    """What the programmer says that something inside it was fitted on."""

    @property
    def fitted_on(self) -> Any:
        """What it was fitted on, and what its choices were learned on."""
        return (self.fitted, fitted_on(self.learned()))

    @property
    def task(self) -> Task[Any]:  # type: ignore[override]  # of other Options a fact of the class, of this one of its function
        """The task that it answers."""
        return self.answers

    @property
    def version(self) -> int:  # type: ignore[override]  # as above
        """A mark of the function's text, so that a changed one is rehearsed anew."""
        # Where its choices were learned, it answers otherwise than before.
        text = text_of(self.function) + getattr(self.learned(), "mark", "")
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")

    @property
    def name(self) -> str:
        return self.called

    @property
    def mark(self) -> str:
        """A mark of the text of the function and of what it uses from its file."""
        return _mark(self.function)

    @property
    def program(self) -> str:
        """The file that the function stands in."""
        code = getattr(self.function, "__code__", None)
        return "" if code is None else str(Path(code.co_filename).absolute())

    def learned(self) -> Mapping[str, Policy]:
        """The policies that `jostle train` learned for the choices that it makes."""
        return learned_for(self.called, self.mark, self.program)

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Allotment(epsilon)

    @called_as("option(db, epsilon=0.1)", why=PRICE)
    def __call__(self, db: Probe, *questions: Any, epsilon: Amount, site: str | None = None) -> Answer:
        """The function's answer, given a probe with *epsilon* of the budget."""
        check_probe(db, self.name)
        asked = self.task.question.read(db.schema, questions)
        return self.perform(db, epsilon, lambda probe, budget: self.function(probe, *asked, epsilon=budget), site=site)


@lru_cache(maxsize=256)
def _mark(function: Callable[..., Any]) -> str:
    return text_mark(function)


def function_option(
    function: Callable[..., Answer], *, task: str | Task[Any] | None, predict: Predict | None, fitted_on: Any = ()
) -> FunctionOption[Answer]:
    """A function as an Option; refuse one that is not told its budget."""
    if not inspect.isfunction(function):
        raise OptionError(f"{described(function)} is no function", fix="def OfMine(db, ..., *, epsilon)")
    name = function.__name__
    if task is None:
        raise OptionError(
            f"{name} does not say what it answers",
            why="Options of one task can stand in for each other",
            fix='@jostle.option(task="classification"), or task="grid"',
        )
    parameters = inspect.signature(function).parameters
    if "epsilon" not in parameters:
        raise OptionError(f"{name} is not told its budget", fix=f"def {name}(db, ..., *, epsilon)")
    return FunctionOption(function=function, called=name, answers=task_of(task), predict=predict, fitted=fitted_on)
