"""Functions of a program: what one has while it runs, where its variables are kept, and what its text is made into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any, Protocol

from attrs import define, evolve, field

from jostle.lang import nodes
from jostle.lang.asked_once import Once
from jostle.lang.printer_expressions import show_expression
from jostle.lang.stops import Stop
from jostle.lang.values import TableValue

__all__ = ["NOTHING", "Frame", "Function", "Go", "Scope", "bound", "constant", "handed_on", "text_of"]


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


class Frame:
    """The variables of one call."""

    __slots__ = ("depth", "epsilon", "names", "program")

    def __init__(self, program: Runner, names: dict[str, Any], epsilon: Fraction | None, depth: int) -> None:
        if depth > MOST_CALLS:
            raise Stop(
                "J509",
                f"calls are nested more than {MOST_CALLS} deep",
                "a function that calls itself has to stop some time",
                "stop where a parameter that counts down is 0",
            )
        self.program = program
        self.names = names
        self.epsilon = epsilon
        self.depth = depth

    def budget(self) -> Fraction:
        """The budget that the caller allotted."""
        if self.epsilon is None:
            raise Stop("J512", "there is no budget here", "epsilon is what a caller allots", "give epsilon=...")
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


def _misfit(name: str, parameters: Sequence[str], why: str) -> Stop:
    head = f"{name}({', '.join(parameters)})"
    return Stop("J508", f"`{name}` is not called as it is defined", f"{why}: it is {head}", f"call {head}")


Go = Callable[[Frame], Any]
"""What a statement or an expression is made into: run in a frame, it gives the value."""
NOTHING = object()
"""What a statement gives that returns nothing."""


NOTHING_ONCE = Once()


@define
class Scope:
    """Which names are variables where something stands, and where their values are kept."""

    function: str = ""
    """Where it stands, for traces."""
    slots: dict[str, str] = field(factory=dict)
    counter: list[int] = field(factory=lambda: [0])
    columns: dict[str, str] | None = None
    """Inside a query: the columns it looks at, by name."""
    unchanging: frozenset[str] = frozenset()
    """The parameters of the function that nothing in it gives another value."""
    kept: list[str] | None = None
    """Inside a comprehension: where values are kept that are the same in all of its rounds."""
    once: Once = NOTHING_ONCE
    """What the function hands on at most once."""

    def inner(self, names: Sequence[str]) -> Scope:
        """A scope with more variables, which go by other names than those around."""
        self.counter[0] += 1
        own = {name: f"{name} {self.counter[0]}" for name in names}
        return evolve(self, slots={**self.slots, **own})

    def in_rounds(self, kept: list[str]) -> Scope:
        """A scope of a comprehension, which is to forget what is kept when it begins anew."""
        return evolve(self, kept=kept)

    def in_query(self, columns: dict[str, str]) -> Scope:
        """A scope where names that nothing defines are columns, which are put among those given."""
        return evolve(self, columns=columns)

    def slot(self, node: nodes.Node) -> str | None:
        """The slot of an expression's value, if it is a variable; or None."""
        return self.slots.get(node.name) if isinstance(node, nodes.Name) else None

    def place_to_keep(self, node: nodes.BinaryOperation) -> str | None:
        """The slot of an expression's value, if it is the same whenever it is computed here; or None.

        That is so during a call if it is made of numbers and of parameters that are given no other value; and during
        a comprehension if it is made of numbers and of variables from outside of it. Exact numbers are slow to compute
        with, and so are long lists.
        """
        inside = list(nodes.walk(node))
        names = {each.name for each in inside if isinstance(each, nodes.Name)}
        plain = all(isinstance(each, nodes.Name | nodes.BinaryOperation | nodes.Number) for each in inside)
        if not names or not plain or any(self.slots.get(name) != name for name in names):
            return None
        if names <= self.unchanging:
            return f"{text_of(node)} of the call"
        if self.kept is None:
            return None
        self.counter[0] += 1
        self.kept.append(f"{text_of(node)} of the rounds {self.counter[0]}")
        return self.kept[-1]

    def handed_on_once(self, node: nodes.Name) -> bool:
        """Whether a name is a parameter that the function hands on here, and nowhere else."""
        return node.name in self.once.names and self.slots[node.name] == node.name

    def site(self, node: nodes.Node, what: str) -> str:
        """The name of a place in the program in traces."""
        place = f"line {node.span.line}"
        return f"{self.function} {place}: {what}" if self.function else f"{place}: {what}"


def constant(value: Any) -> Go:
    """A step that always gives the same value."""
    return lambda _: value


def handed_on(value: Go) -> Go:
    """The value of a variable, which others may use from now on, if it is a table: it remembers its parts."""

    def run(frame: Frame) -> Any:
        found = value(frame)
        if type(found) is TableValue:
            found.remembers = True
        return found

    return run


def text_of(node: nodes.ExpressionNode) -> str:
    """An expression on one line, for messages."""
    return show_expression(node)
