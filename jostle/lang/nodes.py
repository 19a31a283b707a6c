"""The tree that a program is: frozen nodes, one class per construct.

A node knows where it was read (`span`) and a statement which comments belong to it (`trivia`); neither counts when
trees are compared, so a program and its canonical text have equal trees. Sequences are tuples. Numbers are exact. What
could not be written as a program cannot be built.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, fields, frozen

from jostle.errors import NOWHERE, Span
from jostle.lang.expression_nodes import (
    Attribute,
    BinaryOperation,
    BooleanOperation,
    Call,
    Choose,
    Comparison,
    ComprehensionClause,
    Condition,
    Conditional,
    Constant,
    Dict,
    DictComprehension,
    Entry,
    ExpressionNode,
    Index,
    Keyword,
    Lambda,
    List,
    ListComprehension,
    MakeChoiceMaker,
    Name,
    Node,
    Noised,
    Not,
    Number,
    Over,
    ParameterNode,
    Part,
    Percent,
    Select,
    Set,
    SetComprehension,
    String,
    Tuple,
    UnaryOperation,
)
from jostle.lang.validators import (
    at_least_one,
    else_is_last,
    is_name,
    is_target,
    known_marks,
)

__all__ = [
    "Assign",
    "Attribute",
    "BinaryOperation",
    "BooleanOperation",
    "Branch",
    "Broken",
    "Call",
    "Choose",
    "ClassDefinition",
    "Comparison",
    "ComprehensionClause",
    "Condition",
    "Conditional",
    "Constant",
    "Dict",
    "DictComprehension",
    "Entry",
    "ExpressionNode",
    "ExpressionStatement",
    "For",
    "FunctionDefinition",
    "If",
    "Import",
    "ImportedName",
    "Index",
    "Keyword",
    "Lambda",
    "List",
    "ListComprehension",
    "MakeChoiceMaker",
    "Module",
    "Name",
    "Node",
    "Noised",
    "Not",
    "Number",
    "Over",
    "ParameterNode",
    "Part",
    "Pass",
    "Percent",
    "Return",
    "Select",
    "Set",
    "SetComprehension",
    "Statement",
    "String",
    "Trivia",
    "Tuple",
    "UnaryOperation",
    "children",
    "walk",
]


@frozen
class Trivia:
    """Comments around a statement. An empty line is an empty string; the others start with `#`."""

    above: tuple[str, ...] = ()
    """Lines before it."""
    beside: str = ""
    """The comment at the end of its (first) line."""
    below: tuple[str, ...] = ()
    """Lines after it and its block, before the block around it ends."""
    inside: tuple[str, ...] = ()
    """Comments in the middle of it."""
    kept: tuple[str, ...] = ()
    """The statement, or its head, as written, if comments stand in the middle of it."""


@frozen(kw_only=True)
class Statement(Node):
    """A step of a program."""

    trivia: Trivia = field(default=Trivia(), eq=False, repr=False)
    """The comments that belong to it."""


@frozen
class ImportedName(Node):
    """One name of an import."""

    name: str = field(validator=is_name)


@frozen
class Import(Statement):
    """Names from the library: `from histograms import DAWA, MWEM`."""

    module: str = field(validator=is_name)
    names: tuple[ImportedName, ...] = field(validator=at_least_one)
    module_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Assign(Statement):
    """A name for a value: `x = e`, or several: `a, b = pair`."""

    target: Name | Tuple = field(validator=is_target)
    """A name, or a tuple of names."""
    value: ExpressionNode


@frozen
class ExpressionStatement(Statement):
    """A value computed for what computing it does: `print(table)`."""

    value: ExpressionNode


@frozen
class Return(Statement):
    """What a function gives back."""

    value: ExpressionNode | None = None


@frozen
class Pass(Statement):
    """Nothing: `pass`."""


@frozen
class Branch(Statement):
    """One `if`, `elif` or `else` with its block."""

    condition: ExpressionNode | None
    """None for `else`."""
    body: tuple[Statement, ...] = field(validator=at_least_one)


@frozen
class If(Statement):
    """Blocks of which the first whose condition holds is run; `else` can only be the last."""

    branches: tuple[Branch, ...] = field(validator=else_is_last)


@frozen
class For(Statement):
    """A block for each item of a list whose length is public."""

    target: Name | Tuple = field(validator=is_target)
    """A name, or a tuple of names."""
    iterable: ExpressionNode
    body: tuple[Statement, ...] = field(validator=at_least_one)


@frozen
class FunctionDefinition(Statement):
    """A function; with `#Option` on the line above it, an Option."""

    name: str = field(validator=is_name)
    parameters: tuple[ParameterNode, ...]
    body: tuple[Statement, ...] = field(validator=at_least_one)
    marks: tuple[str, ...] = field(default=(), validator=known_marks)
    """The words marked above it: `Option`, `Metafeature`."""
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)

    @property
    def is_option(self) -> bool:
        """Whether it is marked as an Option."""
        return "Option" in self.marks


@frozen
class ClassDefinition(Statement):
    """An Option by its parts: `class DAWA(Option):` with `answer` and `predict`."""

    name: str = field(validator=is_name)
    base: str = field(validator=is_name)
    body: tuple[Statement, ...] = field(validator=at_least_one)
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)
    base_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)

    def method(self, name: str) -> FunctionDefinition | None:
        """One of its functions, if it has it."""
        for each in self.body:
            if isinstance(each, FunctionDefinition) and each.name == name:
                return each
        return None


@frozen
class Broken(Statement):
    """A line that could not be read; only in trees that come with syntax mistakes."""

    words: tuple[str, ...] = ()
    """The names in it, so that what it might define is not reported as missing."""
    body: tuple[Statement, ...] = ()
    """The block under it."""


@frozen
class Module(Node):
    """A whole program."""

    body: tuple[Statement, ...]
    trivia: Trivia = field(default=Trivia(), eq=False, repr=False, kw_only=True)
    """Comments of a program without statements."""


def children(node: Node) -> Iterator[Node]:
    """The nodes directly in a node, in source order where its class lists them so."""
    for attribute in fields(type(node)):
        value = getattr(node, attribute.name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Node))


def walk(node: Node) -> Iterator[Node]:
    """A node and all nodes in it, outer before inner, without recursion."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(tuple(children(found))))
