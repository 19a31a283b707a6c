"""Where the variables of a running function are kept, and what a piece of a program is made into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, evolve, field

from jostle.lang import nodes
from jostle.lang.asked_once import Once
from jostle.lang.frames import Frame
from jostle.lang.nodes import show_expression
from jostle.lang.values import TableValue

__all__ = ["NOTHING", "Go", "Scope", "constant", "handed_on", "text_of"]

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
