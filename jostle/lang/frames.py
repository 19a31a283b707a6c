"""Functions of a program, and what one has while it runs: its variables, and the budget its caller allotted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any, Protocol

from attrs import define

from jostle.errors import Source
from jostle.lang import nodes
from jostle.lang.messages import Stop

MOST_CALLS = 150
"""Calls inside calls; deeper ones are most likely endless."""


class Runner(Protocol):
    """The program that runs, as its functions see it."""

    def say(self, text: str) -> None:
        """Print a line."""

    def public(self, path: str) -> Any:
        """The public databases of a folder or a file, if it was named as public."""

    def bought(self, site: str, value: Any) -> Any:
        """The value bought at a place in the program, after noting it."""

    def on_public_data(self) -> AbstractContextManager[None]:
        """Note nothing that is bought meanwhile: nobody pays for it."""

    def policy(self, label: str) -> Any:
        """The policy of a labelled choice where no handler answers."""

    def call(self, frame: Frame, site: str, function: Any, given: list[Any]) -> Any:
        """The value of a function of the program, or of one that it knows."""


class Sent(Protocol):
    """A program as it is sent to another process."""

    def loaded(self) -> Loaded:
        """The program, loaded there."""

    def option(self, name: str) -> Any:
        """One of its Options."""


class Loaded(Runner, Protocol):
    """A program that was loaded, as the Options, makers and judges in it see it."""

    source: Source
    module: nodes.Module
    globals: dict[str, Any]

    @property
    def functions(self) -> Mapping[str, Function]:
        """The plain functions, in order."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The Options that the program defines, in order."""

    @property
    def makers(self) -> Mapping[str, Any]:
        """The choice makers, in order."""

    @property
    def entry(self) -> str | None:
        """The name to run if nobody says what."""

    @property
    def sent(self) -> Sent:
        """The program as it is sent to another process."""

    def __getitem__(self, name: str) -> Any:
        """The object that the program calls so."""

    def run(self, entry: str, *given: Any, epsilon: Fraction | None = None, **named: Any) -> Any:
        """The value of a function of the program, an Option or a maker."""

    def changed(self, text: str) -> Loaded:
        """A program of another text that may read the same files."""


class Frame:
    """The variables of one call."""

    __slots__ = ("depth", "epsilon", "names", "program")

    def __init__(self, program: Runner, names: dict[str, Any], epsilon: Fraction | None, depth: int) -> None:
        if depth > MOST_CALLS:
            raise Stop("J509", most=MOST_CALLS)
        self.program = program
        self.names = names
        self.epsilon = epsilon
        self.depth = depth

    def budget(self) -> Fraction:
        """The budget that the caller allotted."""
        if self.epsilon is None:
            raise Stop("J512")
        return self.epsilon


@define(eq=False)
class Function:
    """A function of a program, ready to run."""

    name: str
    definition: nodes.FunctionDefinition
    parameters: tuple[str, ...]
    defaults: dict[str, Any]
    body: Callable[[Frame], Any]

    def called(self, frame: Frame, given: list[Any], named: Mapping[str, Any]) -> Any:
        """Its value, called from another function: with the same budget."""
        parameters = self.parameters
        if len(given) == len(parameters) and not named:
            names = dict(zip(parameters, given, strict=True))
        else:
            names = self.bound(given, named)
        return self.body(Frame(frame.program, names, frame.epsilon, frame.depth + 1))

    def run(
        self, program: Runner, given: list[Any], named: Mapping[str, Any], epsilon: Fraction | None, depth: int = 0
    ) -> Any:
        """Its value with a budget."""
        return self.body(Frame(program, self.bound(given, named), epsilon, depth))

    def bound(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Its parameters' values, in their order; refuse those it is given."""
        return bound(self.name, self.parameters, self.defaults, given, named)


def bound(
    name: str, parameters: Sequence[str], defaults: Mapping[str, Any], given: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of parameters, in their order; refuse those that are given."""
    if len(given) > len(parameters):
        raise _misfit(name, parameters, f"it takes {len(parameters)} values, not {len(given)}")
    values = {**defaults, **dict(zip(parameters, given, strict=False))}
    for each, value in named.items():
        if each not in parameters or parameters.index(each) < len(given):
            raise _misfit(name, parameters, f"`{each}` does not fit")
        values[each] = value
    missing = [parameter for parameter in parameters if parameter not in values]
    if missing:
        raise _misfit(name, parameters, f"`{missing[0]}` is missing")
    return {parameter: values[parameter] for parameter in parameters}


def _misfit(name: str, parameters: Sequence[str], problem: str) -> Stop:
    return Stop("J508 call", name=name, problem=problem, head=f"{name}({', '.join(parameters)})")


def named_slot(slot: str) -> str:
    """The slot of the name of a column's value, beside the value."""
    return f"{slot}, with its names"
