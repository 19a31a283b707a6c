"""The expressions of programs, as frozen nodes: see `nodes`."""

from __future__ import annotations

from fractions import Fraction

from attrs import field, frozen

from jostle.errors import NOWHERE, Span
from jostle.lang.validators import (
    at_least_one,
    at_least_two,
    decimal,
    finite_text,
    is_name,
    is_target,
    one_of,
    several_operators,
)

__all__ = [
    "Attribute",
    "BinaryOperation",
    "BooleanOperation",
    "Call",
    "Choose",
    "Comparison",
    "ComprehensionClause",
    "Condition",
    "Conditional",
    "Constant",
    "Dict",
    "DictComprehension",
    "Entry",
    "ExpressionNode",
    "Index",
    "Keyword",
    "Lambda",
    "List",
    "ListComprehension",
    "MakeChoiceMaker",
    "Name",
    "Node",
    "Noised",
    "Not",
    "Number",
    "Over",
    "ParameterNode",
    "Part",
    "Percent",
    "Select",
    "Set",
    "SetComprehension",
    "String",
    "Tuple",
    "UnaryOperation",
]


@frozen(kw_only=True)
class Node:
    """Anything in a tree."""

    span: Span = field(default=NOWHERE, eq=False, repr=False)
    """Where it was read."""


@frozen(kw_only=True)
class ExpressionNode(Node):
    """Something with a value."""


@frozen
class Name(ExpressionNode):
    """A name: `db`."""

    name: str = field(validator=is_name)


@frozen
class Number(ExpressionNode):
    """A number, exactly as its digits say: `5`, `0.1`, `1e-6`."""

    value: Fraction = field(validator=decimal)
    """What the digits say."""
    spelled: str = field(default="", eq=False, repr=False)
    """How it was written."""


@frozen
class Percent(ExpressionNode):
    """A share: `5%`."""

    value: Fraction = field(validator=decimal)
    """What stands before the sign: 5 in `5%`."""
    spelled: str = field(default="", eq=False, repr=False)
    """How it was written."""

    @property
    def share(self) -> Fraction:
        """The share it stands for: 1/20 for `5%`."""
        return self.value / 100


@frozen
class String(ExpressionNode):
    """A text: `"age"`."""

    value: str = field(validator=finite_text)


@frozen
class Constant(ExpressionNode):
    """`True`, `False` or `None`."""

    value: bool | None


@frozen
class Tuple(ExpressionNode):
    """Several values together: `(x, y)`; without brackets in `a, b = pair`."""

    items: tuple[ExpressionNode, ...]


@frozen
class List(ExpressionNode):
    """A list: `[x, y]`."""

    items: tuple[ExpressionNode, ...]


@frozen
class Set(ExpressionNode):
    """A set, in the order it was written: `{DAWA, MWEM}`. It has at least one item."""

    items: tuple[ExpressionNode, ...] = field(validator=at_least_one)


@frozen
class Entry(Node):
    """One `key: value` of a dictionary."""

    key: ExpressionNode
    value: ExpressionNode


@frozen
class Dict(ExpressionNode):
    """A dictionary: `{c: 1, d: 2}`; `{}` is an empty one."""

    entries: tuple[Entry, ...]


@frozen
class ComprehensionClause(Node):
    """One `for x in xs if c` inside a comprehension."""

    target: Name | Tuple = field(validator=is_target)
    """What is bound: a name, or a tuple of names."""
    iterable: ExpressionNode
    conditions: tuple[ExpressionNode, ...] = ()


@frozen
class ListComprehension(ExpressionNode):
    """A list of what an expression gives: `[size(a) for a in atts]`."""

    element: ExpressionNode
    clauses: tuple[ComprehensionClause, ...] = field(validator=at_least_one)


@frozen
class SetComprehension(ExpressionNode):
    """A set of what an expression gives: `{f(a) for a in atts}`."""

    element: ExpressionNode
    clauses: tuple[ComprehensionClause, ...] = field(validator=at_least_one)


@frozen
class DictComprehension(ExpressionNode):
    """A dictionary of what two expressions give: `{v: grow(D[best = v]) for v in best}`."""

    entry: Entry
    clauses: tuple[ComprehensionClause, ...] = field(validator=at_least_one)


@frozen
class Attribute(ExpressionNode):
    """A named part of a value: `db.x_range`."""

    value: ExpressionNode
    name: str = field(validator=is_name)
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Index(ExpressionNode):
    """One item of a value: `xs[0]`."""

    value: ExpressionNode
    index: ExpressionNode


@frozen
class Condition(Node):
    """One `attribute = value` of a part."""

    attribute: ExpressionNode
    value: ExpressionNode


@frozen
class Part(ExpressionNode):
    """The rows with certain values: `D[best = v]`. Parts by different values of one attribute are disjoint."""

    table: ExpressionNode
    conditions: tuple[Condition, ...] = field(validator=at_least_one)


@frozen
class Keyword(Node):
    """One `name=value` of a call."""

    name: str = field(validator=is_name)
    value: ExpressionNode
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Call(ExpressionNode):
    """A call: `noisyMax(domain=atts, utilities=U)`."""

    function: ExpressionNode
    arguments: tuple[ExpressionNode, ...] = ()
    keywords: tuple[Keyword, ...] = ()


@frozen
class UnaryOperation(ExpressionNode):
    """A sign before a value: `-x` or `+x`."""

    operator: str = field(validator=one_of("+", "-"))
    operand: ExpressionNode


@frozen
class BinaryOperation(ExpressionNode):
    """Two values and a sign: `+ - * / // % **`, and `|` and `&` for sets."""

    left: ExpressionNode
    operator: str = field(validator=one_of("+", "-", "*", "/", "//", "%", "**", "|", "&"))
    right: ExpressionNode


@frozen
class Comparison(ExpressionNode):
    """Values compared in a row: `0 < x <= 5`; also `in` and `not in`."""

    left: ExpressionNode
    operators: tuple[str, ...] = field(validator=at_least_one)
    rights: tuple[ExpressionNode, ...] = field(validator=several_operators)


@frozen
class Not(ExpressionNode):
    """The opposite of a truth: `not x`."""

    operand: ExpressionNode


@frozen
class BooleanOperation(ExpressionNode):
    """At least two truths joined by `and`, or by `or`."""

    operator: str = field(validator=one_of("and", "or"))
    operands: tuple[ExpressionNode, ...] = field(validator=at_least_two)


@frozen
class Conditional(ExpressionNode):
    """One of two values: `a if c else b`."""

    condition: ExpressionNode
    then: ExpressionNode
    otherwise: ExpressionNode


@frozen
class ParameterNode(Node):
    """A parameter of a function: `d=5`."""

    name: str = field(validator=is_name)
    default: ExpressionNode | None = None
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Lambda(ExpressionNode):
    """A function without a name: `lambda a: size(a)`."""

    parameters: tuple[ParameterNode, ...]
    body: ExpressionNode


@frozen
class Noised(ExpressionNode):
    """A private value released with exact noise: `{{ e }}`, `{{ e }} spending 0.1`."""

    value: ExpressionNode
    """The private expression."""
    spending: ExpressionNode | None = None
    """The epsilon, or a share of the allotment if it is a percentage; None leaves it to the caller's share."""


@frozen
class Select(ExpressionNode):
    """An aggregate over rows: `select sum(values) from db where values > 0 groupby x / 8`."""

    aggregate: str = field(validator=is_name)
    """What is computed: count, sum, ..."""
    value: ExpressionNode | None
    """Of what, in terms of columns; None for `count()`."""
    table: ExpressionNode
    where: ExpressionNode | None = None
    groupby: tuple[ExpressionNode, ...] = ()
    aggregate_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Over(ExpressionNode):
    """A workload answered from an estimate: `queries over cells`. A list with one value stands for every cell alike."""

    queries: ExpressionNode
    cells: ExpressionNode


@frozen
class MakeChoiceMaker(ExpressionNode):
    """A choice maker: `MkChoiceMaker among {A, B} informed by {f, g} trained on corpus spending 5%`."""

    among: ExpressionNode
    """The Options."""
    informed_by: ExpressionNode | None = None
    """The metafeatures; None for public facts only."""
    trained_on: ExpressionNode | None = None
    """Public databases."""
    judged_by: ExpressionNode | None = None
    """The loss."""
    spending: ExpressionNode | None = None
    """What the metafeatures may cost."""


@frozen
class Choose(ExpressionNode):
    """A labelled choice inside an algorithm: `choose L1 among {stop, branch} informed by {n, d}`."""

    label: str = field(validator=is_name)
    among: ExpressionNode
    informed_by: ExpressionNode | None = None
    label_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)
