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
    "Expression",
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
    "Parameter",
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
class Expression(Node):
    """Something with a value."""


@frozen
class Name(Expression):
    """A name: `db`."""

    name: str = field(validator=is_name)


@frozen
class Number(Expression):
    """A number, exactly as its digits say: `5`, `0.1`, `1e-6`."""

    value: Fraction = field(validator=decimal)
    """What the digits say."""
    spelled: str = field(default="", eq=False, repr=False)
    """How it was written."""


@frozen
class Percent(Expression):
    """A share: `5%`."""

    value: Fraction = field(validator=decimal)
    """What stands before the sign: 5 in `5%`."""
    spelled: str = field(default="", eq=False, repr=False)
    """How it was written."""

    @property
    def share(self) -> Fraction:
        """Return the share it stands for: 1/20 for `5%`."""
        return self.value / 100


@frozen
class String(Expression):
    """A text: `"age"`."""

    value: str = field(validator=finite_text)


@frozen
class Constant(Expression):
    """`True`, `False` or `None`."""

    value: bool | None


@frozen
class Tuple(Expression):
    """Several values together: `(x, y)`; without brackets in `a, b = pair`."""

    items: tuple[Expression, ...]


@frozen
class List(Expression):
    """A list: `[x, y]`."""

    items: tuple[Expression, ...]


@frozen
class Set(Expression):
    """A set, in the order it was written: `{DAWA, MWEM}`. It has at least one item."""

    items: tuple[Expression, ...] = field(validator=at_least_one)


@frozen
class Entry(Node):
    """One `key: value` of a dictionary."""

    key: Expression
    value: Expression


@frozen
class Dict(Expression):
    """A dictionary: `{c: 1, d: 2}`; `{}` is an empty one."""

    entries: tuple[Entry, ...]


@frozen
class ComprehensionClause(Node):
    """One `for x in xs if c` inside a comprehension."""

    target: Name | Tuple = field(validator=is_target)
    """What is bound: a name, or a tuple of names."""
    iterable: Expression
    conditions: tuple[Expression, ...] = ()


@frozen
class ListComprehension(Expression):
    """A list of what an expression gives: `[size(a) for a in atts]`."""

    element: Expression
    clauses: tuple[ComprehensionClause, ...] = field(validator=at_least_one)


@frozen
class SetComprehension(Expression):
    """A set of what an expression gives: `{f(a) for a in atts}`."""

    element: Expression
    clauses: tuple[ComprehensionClause, ...] = field(validator=at_least_one)


@frozen
class DictComprehension(Expression):
    """A dictionary of what two expressions give: `{v: grow(D[best = v]) for v in best}`."""

    entry: Entry
    clauses: tuple[ComprehensionClause, ...] = field(validator=at_least_one)


@frozen
class Attribute(Expression):
    """A named part of a value: `db.x_range`."""

    value: Expression
    name: str = field(validator=is_name)
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Index(Expression):
    """One item of a value: `xs[0]`."""

    value: Expression
    index: Expression


@frozen
class Condition(Node):
    """One `attribute = value` of a part."""

    attribute: Expression
    value: Expression


@frozen
class Part(Expression):
    """The rows with certain values: `D[best = v]`. Parts by different values of one attribute are disjoint."""

    table: Expression
    conditions: tuple[Condition, ...] = field(validator=at_least_one)


@frozen
class Keyword(Node):
    """One `name=value` of a call."""

    name: str = field(validator=is_name)
    value: Expression
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Call(Expression):
    """A call: `noisyMax(domain=atts, utilities=U)`."""

    function: Expression
    arguments: tuple[Expression, ...] = ()
    keywords: tuple[Keyword, ...] = ()


@frozen
class UnaryOperation(Expression):
    """A sign before a value: `-x` or `+x`."""

    operator: str = field(validator=one_of("+", "-"))
    operand: Expression


@frozen
class BinaryOperation(Expression):
    """Two values and a sign: `+ - * / // % **`, and `|` and `&` for sets."""

    left: Expression
    operator: str = field(validator=one_of("+", "-", "*", "/", "//", "%", "**", "|", "&"))
    right: Expression


@frozen
class Comparison(Expression):
    """Values compared in a row: `0 < x <= 5`; also `in` and `not in`."""

    left: Expression
    operators: tuple[str, ...] = field(validator=at_least_one)
    rights: tuple[Expression, ...] = field(validator=several_operators)


@frozen
class Not(Expression):
    """The opposite of a truth: `not x`."""

    operand: Expression


@frozen
class BooleanOperation(Expression):
    """At least two truths joined by `and`, or by `or`."""

    operator: str = field(validator=one_of("and", "or"))
    operands: tuple[Expression, ...] = field(validator=at_least_two)


@frozen
class Conditional(Expression):
    """One of two values: `a if c else b`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@frozen
class Parameter(Node):
    """A parameter of a function: `d=5`."""

    name: str = field(validator=is_name)
    default: Expression | None = None
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Lambda(Expression):
    """A function without a name: `lambda a: size(a)`."""

    parameters: tuple[Parameter, ...]
    body: Expression


@frozen
class Noised(Expression):
    """A private value released with exact noise: `{{ e }}`, `{{ e }} spending 0.1`."""

    value: Expression
    """The private expression."""
    spending: Expression | None = None
    """The epsilon, or a share of the allotment if it is a percentage; None leaves it to the caller's share."""


@frozen
class Select(Expression):
    """An aggregate over rows: `select sum(values) from db where values > 0 groupby x / 8`."""

    aggregate: str = field(validator=is_name)
    """What is computed: count, sum, ..."""
    value: Expression | None
    """Of what, in terms of columns; None for `count()`."""
    table: Expression
    where: Expression | None = None
    groupby: tuple[Expression, ...] = ()
    aggregate_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Over(Expression):
    """A workload answered from an estimate: `queries over cells`. A list with one value stands for every cell alike."""

    queries: Expression
    cells: Expression


@frozen
class MakeChoiceMaker(Expression):
    """A choice maker: `MkChoiceMaker among {A, B} informed by {f, g} trained on corpus spending 5%`."""

    among: Expression
    """The Options."""
    informed_by: Expression | None = None
    """The metafeatures; None for public facts only."""
    trained_on: Expression | None = None
    """Public databases."""
    judged_by: Expression | None = None
    """The loss."""
    spending: Expression | None = None
    """What the metafeatures may cost."""


@frozen
class Choose(Expression):
    """A labelled choice inside an algorithm: `choose L1 among {stop, branch} informed by {n, d}`."""

    label: str = field(validator=is_name)
    among: Expression
    informed_by: Expression | None = None
    label_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)
