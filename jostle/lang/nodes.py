"""The tree that a program is: frozen nodes, one class per construct, and how each is written.

A node knows where it was read (`span`) and a statement which comments belong to it (`trivia`); neither counts when
trees are compared, so a program and its canonical text have equal trees. Sequences are tuples. Numbers are exact. What
could not be written as a program cannot be built.

The rules of the grammar are called after the classes, and fill their fields in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from string import Formatter
from typing import Any, ClassVar

from attrs import field, fields, frozen

from jostle.errors import NOWHERE, Span, TreeError
from jostle.lang.lexer import FOREIGN, KEYWORDS

LEVELS = (
    "BARE",
    "TEST",
    "OR",
    "AND",
    "NOT",
    "COMPARE",
    "UNION",
    "INTERSECT",
    "SUM",
    "TERM",
    "FACTOR",
    "POWER",
    "POSTFIX",
)
"""How tightly expressions bind, from loosest to tightest; values bind more tightly yet."""
OPERATORS = {
    **dict.fromkeys(("+", "-"), ("SUM", "SUM", "TERM")),
    **dict.fromkeys(("*", "/", "//", "%"), ("TERM", "TERM", "FACTOR")),
    "**": ("POWER", "POSTFIX", "FACTOR"),
    "|": ("UNION", "UNION", "INTERSECT"),
    "&": ("INTERSECT", "INTERSECT", "SUM"),
}
"""How tightly each binds, and what stands left and right of it."""
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")
MARKS = ("Option", "Metafeature")
"""Words that can be marked above a function."""
LARGE = 10**25
"""Numbers that are not spelled out have at most 25 digits before the point and after it."""


# What fields must hold so that every tree has a text


def _must(good: Callable[[Any, Any], bool], rule: str) -> Callable[[Any, Any, Any], None]:
    """A validator that refuses what has no text."""

    def check(node: Any, attribute: Any, value: Any) -> None:
        if not good(node, value):
            title = f"{type(node).__name__}.{attribute.name} {rule.format(value)}"
            raise TreeError(title, why="every tree has a text that parses to it")

    return check


def _one_of(known: Iterable[str]) -> Callable[[Any, Any, Any], None]:
    return _must(lambda _, value: value in known, f"is {{!r}}, not one of {', '.join(known)}")


def _is_decimal(node: Any, value: Fraction) -> bool:
    return value >= 0 and (bool(node.spelled) or (value < LARGE and (value * LARGE).denominator == 1))


def _are_names(_: Any, value: Any) -> bool:
    items = getattr(value, "items", (value,))
    return bool(items) and all(isinstance(item, Name) for item in items)


def _are_operators(node: Any, value: Any) -> bool:
    return len(node.operators) == len(value) and all(sign in COMPARISONS for sign in node.operators)


def _ends_with_else(_: Any, value: Any) -> bool:
    return bool(value) and all(branch.condition is not None for branch in (value[0], *value[:-1]))


def _is_woven(_: Any, value: Any) -> bool:
    texts = [isinstance(part, String) for part in value]
    apart = not any(one and other for one, other in pairwise(texts)) and String("") not in value
    return apart and not all(texts) and not any(isinstance(node, Formatted) for part in value for node in walk(part))


_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_woven = _must(_is_woven, "is no text with values in it")
_name = _must(
    lambda _, value: value.isidentifier() and value not in KEYWORDS and value not in FOREIGN, "is no name: {!r}"
)
_decimal = _must(_is_decimal, "cannot be written with digits: {}")
_finite = _must(lambda _, value: not any("\ud800" <= each < "\ue000" for each in value), "holds half a character")
_some = _must(lambda _, value: bool(value), "is empty")
_several = _must(lambda _, value: len(value) >= 2, "has fewer than two items")
_target = _must(_are_names, "is not a name, or a tuple of names")
_operators = _must(_are_operators, "does not go with the operators")
_else_last = _must(_ends_with_else, "has an `else` that is not last")
_marks = _must(lambda _, value: all(mark in MARKS for mark in value), "has an unknown mark: {}")


# How nodes are written


@cache
def _pieces(template: str) -> tuple[tuple[str, str | None, str, str], ...]:
    """The pieces of a template: a text, the field after it, what is written before its value, and the value's place."""
    found = []
    for text, name, place, _ in Formatter().parse(template):
        at = re.search(r"[,@]?[A-Z]*$", place or "")
        found.append((text, name, (place or "")[: at.start() if at else 0], at[0] if at else ""))
    return tuple(found)


def write(node: Node, template: str, place: str = "") -> str:
    """A node's text by a template, at a place.

    A place is how tightly a value has to bind to stand without brackets, `{left:SUM}`, or a comma, where what follows
    it is no part of it; `@` stands for the node's own. Several values follow each other, or are listed, `{items:,}`.
    What stands before the place is written before each value, and nothing if there is none: `{where: where OR}`.
    """
    texts: list[str] = []
    for text, name, before, at in _pieces(template):
        texts.append(text)
        value = None if name is None else getattr(node, name)
        if value is None or value == ():
            continue
        if not isinstance(value, tuple):
            texts += [before, format(value, place if at == "@" else at)]
        elif at.startswith(","):
            texts += [before, _listed(value, at[1:])]
        else:
            for each in value:
                texts += [before, format(each, at)]
    return "".join(texts)


def _listed(values: tuple[Any, ...], place: str = "") -> str:
    """Values with commas between."""
    last = len(values) - 1
    return ", ".join(format(value, place or ("," if index < last else "")) for index, value in enumerate(values))


@frozen(kw_only=True)
class Node:
    """Anything in a tree."""

    SHOWN: ClassVar[str] = ""
    """The template of its canonical text; of a statement, of its first line."""
    span: Span = field(default=NOWHERE, eq=False, repr=False)
    """Where it was read."""

    def __format__(self, place: str) -> str:
        return write(self, self.SHOWN, place)


@frozen(kw_only=True)
class ExpressionNode(Node):
    """Something with a value."""

    LEVEL: ClassVar[str] = ""
    CLAUSES: ClassVar[tuple[str, ...]] = ()
    """The parts of its template that may stand on lines of their own."""

    @property
    def level(self) -> str:
        """How tightly it binds; nothing, if brackets are never needed."""
        return self.LEVEL

    @property
    def takes_commas(self) -> bool:
        """Whether commas after it would be taken for its own, as those after `groupby`."""
        return False

    def shown(self) -> str:
        """Its canonical text, on one line."""
        return write(self, self.SHOWN)

    def __format__(self, place: str) -> str:
        text = self.shown()
        loose = place and self.level and (place == "," or LEVELS.index(self.level) < LEVELS.index(place))
        return f"({text})" if loose and (place != "," or self.takes_commas) else text


def show_parameters(parameters: tuple[ParameterNode, ...]) -> str:
    """Parameters as they stand in a function's head."""
    return _listed(parameters)


def _digits(value: Fraction) -> str:
    """A fraction whose denominator divides a power of ten as digits."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str((value * 10**places).numerator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _character(character: str) -> str:
    named = {"\n": r"\n", "\t": r"\t", '"': r"\"", "\\": r"\\"}
    if character in named or character.isprintable():
        return named.get(character, character)
    point = ord(character)
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


# Expressions


@frozen
class Name(ExpressionNode):
    """A name: `db`."""

    SHOWN = "{name}"
    name: str = field(validator=_name)


@frozen
class Written(ExpressionNode):
    """A number that is spelled out, exactly as its digits say."""

    value: Fraction = field(validator=_decimal)
    """What the digits say: 5 in `5%`."""
    spelled: str = field(default="", eq=False, repr=False)
    """How it was written."""

    @property
    def digits(self) -> str:
        """How it is written, without a sign after it."""
        return self.spelled or _digits(self.value)


@frozen
class Number(Written):
    """A number: `5`, `0.1`, `1e-6`."""

    SHOWN = "{digits}"


@frozen
class Percent(Written):
    """A share: `5%`."""

    SHOWN = "{digits}%"

    @property
    def share(self) -> Fraction:
        """The share it stands for: 1/20 for `5%`."""
        return self.value / 100


@frozen
class String(ExpressionNode):
    """A text: `"age"`."""

    value: str = field(validator=_finite)

    def shown(self) -> str:
        """It in double quotes."""
        return f'"{"".join(map(_character, self.value))}"'


@frozen
class Formatted(ExpressionNode):
    """A text with public values in it: `f"{n} rows"`."""

    parts: tuple[ExpressionNode, ...] = field(validator=_woven)
    """Its own words, as texts, and between them the values."""

    def shown(self) -> str:
        """It in double quotes, the texts in its values in single ones."""
        return f'f"{"".join(map(_woven_in, self.parts))}"'


def _woven_in(part: ExpressionNode) -> str:
    if isinstance(part, String):
        return "".join(map(_character, part.value)).replace("{", "{{").replace("}", "}}")
    text = _TEXT.sub(_in_single_quotes, part.shown())
    return f"{{{' ' * text.startswith('{')}{text}}}"


def _in_single_quotes(text: re.Match[str]) -> str:
    inside = text[0][1:-1].replace("'", "\\'").replace("{", "\\u007b").replace("}", "\\u007d")
    return f"'{inside}'"


@frozen
class Constant(ExpressionNode):
    """`True`, `False` or `None`."""

    SHOWN = "{word}"
    value: bool | None

    @property
    def word(self) -> str:
        """How it is written."""
        return str(self.value)


@frozen
class Tuple(ExpressionNode):
    """Several values together: `(x, y)`; without brackets in `a, b = pair`."""

    items: tuple[ExpressionNode, ...]

    def shown(self) -> str:
        """Its items in brackets."""
        return f"({self:BARE})"

    def __format__(self, place: str) -> str:
        if place != "BARE":
            return self.shown()
        return f"{self.items[0]:,}," if len(self.items) == 1 else _listed(self.items)


@frozen
class List(ExpressionNode):
    """A list: `[x, y]`."""

    SHOWN = "[{items:,}]"
    items: tuple[ExpressionNode, ...]


@frozen(kw_only=True)
class Braced(ExpressionNode):
    """What stands in braces."""

    def shown(self) -> str:
        """It with a space that keeps two opening braces apart, which mean something else together."""
        text = write(self, self.SHOWN)
        return f"{{ {text[1:]}" if text.startswith("{{") else text


@frozen
class Set(Braced):
    """A set, in the order it was written: `{DAWA, MWEM}`. It has at least one item."""

    SHOWN = "{{{items:,}}}"
    items: tuple[ExpressionNode, ...] = field(validator=_some)


@frozen
class Entry(Node):
    """One `key: value` of a dictionary."""

    SHOWN = "{key}: {value:@}"
    key: ExpressionNode
    value: ExpressionNode


@frozen
class Dict(Braced):
    """A dictionary: `{c: 1, d: 2}`; `{}` is an empty one."""

    SHOWN = "{{{entries:,}}}"
    entries: tuple[Entry, ...]


@frozen
class ComprehensionClause(Node):
    """One `for x in xs if c` inside a comprehension."""

    SHOWN = " for {target:BARE} in {iterable:OR}{conditions: if OR}"
    target: Name | Tuple = field(validator=_target)
    """What is bound: a name, or a tuple of names."""
    iterable: ExpressionNode
    conditions: tuple[ExpressionNode, ...] = ()


@frozen
class ListComprehension(ExpressionNode):
    """A list of what an expression gives: `[size(a) for a in atts]`."""

    SHOWN = "[{element}{clauses}]"
    element: ExpressionNode
    clauses: tuple[ComprehensionClause, ...] = field(validator=_some)


@frozen
class SetComprehension(Braced):
    """A set of what an expression gives: `{f(a) for a in atts}`."""

    SHOWN = "{{{element}{clauses}}}"
    element: ExpressionNode
    clauses: tuple[ComprehensionClause, ...] = field(validator=_some)


@frozen
class DictComprehension(Braced):
    """A dictionary of what two expressions give: `{v: grow(D[best = v]) for v in best}`."""

    SHOWN = "{{{entry}{clauses}}}"
    entry: Entry
    clauses: tuple[ComprehensionClause, ...] = field(validator=_some)


Comprehension = ListComprehension | SetComprehension | DictComprehension
"""What is made by `for`."""


def items_of(node: ExpressionNode | None) -> tuple[ExpressionNode, ...]:
    """The items of a set, list or tuple as written; none of anything else."""
    return node.items if isinstance(node, Set | List | Tuple) else ()


@frozen
class Attribute(ExpressionNode):
    """A named part of a value: `db.x_range`."""

    LEVEL, SHOWN = "POSTFIX", "{value:POSTFIX}.{name}"
    value: ExpressionNode
    name: str = field(validator=_name)
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Index(ExpressionNode):
    """One item of a value: `xs[0]`."""

    LEVEL, SHOWN = "POSTFIX", "{value:POSTFIX}[{index}]"
    value: ExpressionNode
    index: ExpressionNode


@frozen
class Condition(Node):
    """One `attribute = value` of a part."""

    SHOWN = "{attribute} = {value:@}"
    attribute: ExpressionNode
    value: ExpressionNode


@frozen
class Part(ExpressionNode):
    """The rows with certain values: `D[best = v]`. Parts by different values of one attribute are disjoint."""

    LEVEL, SHOWN = "POSTFIX", "{table:POSTFIX}[{conditions:,}]"
    table: ExpressionNode
    conditions: tuple[Condition, ...] = field(validator=_some)


@frozen
class Keyword(Node):
    """One `name=value` of a call."""

    SHOWN = "{name}={value:@}"
    name: str = field(validator=_name)
    value: ExpressionNode
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Call(ExpressionNode):
    """A call: `noisyMax(domain=atts, utilities=U)`."""

    LEVEL, SHOWN = "POSTFIX", "{function:POSTFIX}({given:,})"
    function: ExpressionNode
    arguments: tuple[ExpressionNode, ...] = ()
    keywords: tuple[Keyword, ...] = ()

    @property
    def given(self) -> tuple[Node, ...]:
        """Its arguments and keywords."""
        return (*self.arguments, *self.keywords)


@frozen
class UnaryOperation(ExpressionNode):
    """A sign before a value: `-x` or `+x`."""

    LEVEL, SHOWN = "FACTOR", "{operator}{operand:FACTOR}"
    operator: str = field(validator=_one_of(("+", "-")))
    operand: ExpressionNode


@frozen
class BinaryOperation(ExpressionNode):
    """Two values and a sign: `+ - * / // % **`, and `|` and `&` for sets."""

    left: ExpressionNode
    operator: str = field(validator=_one_of(OPERATORS))
    right: ExpressionNode

    @property
    def level(self) -> str:
        """As its sign binds."""
        return OPERATORS[self.operator][0]

    def shown(self) -> str:
        """Its sign between its values."""
        _, left, right = OPERATORS[self.operator]
        return f"{self.left:{left}} {self.operator} {self.right:{right}}"


@frozen
class Comparison(ExpressionNode):
    """Values compared in a row: `0 < x <= 5`; also `in` and `not in`."""

    LEVEL = "COMPARE"
    left: ExpressionNode
    operators: tuple[str, ...] = field(validator=_some)
    rights: tuple[ExpressionNode, ...] = field(validator=_operators)

    def shown(self) -> str:
        """Its signs between its values."""
        rights = [f" {sign} {right:UNION}" for sign, right in zip(self.operators, self.rights, strict=True)]
        return f"{self.left:UNION}{''.join(rights)}"


@frozen
class Not(ExpressionNode):
    """The opposite of a truth: `not x`."""

    LEVEL, SHOWN = "NOT", "not {operand:NOT}"
    operand: ExpressionNode


@frozen
class BooleanOperation(ExpressionNode):
    """At least two truths joined by `and`, or by `or`."""

    operator: str = field(validator=_one_of(("and", "or")))
    operands: tuple[ExpressionNode, ...] = field(validator=_several)

    @property
    def level(self) -> str:
        """As its word binds."""
        return self.operator.upper()

    def shown(self) -> str:
        """Its word between its values."""
        place = "AND" if self.operator == "or" else "NOT"
        return f" {self.operator} ".join(format(operand, place) for operand in self.operands)


@frozen
class Conditional(ExpressionNode):
    """One of two values: `a if c else b`."""

    LEVEL, SHOWN = "TEST", "{then:OR} if {condition:OR} else {otherwise}"
    condition: ExpressionNode
    then: ExpressionNode
    otherwise: ExpressionNode

    @property
    def takes_commas(self) -> bool:
        """As what it ends with."""
        return self.otherwise.takes_commas


@frozen
class ParameterNode(Node):
    """A parameter of a function: `d=5`."""

    SHOWN = "{name}{default:=@}"
    name: str = field(validator=_name)
    default: ExpressionNode | None = None
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Lambda(ExpressionNode):
    """A function without a name: `lambda a: size(a)`."""

    LEVEL, SHOWN = "TEST", "lambda{parameters: ,}: {body}"
    parameters: tuple[ParameterNode, ...]
    body: ExpressionNode

    @property
    def takes_commas(self) -> bool:
        """As what it ends with."""
        return self.body.takes_commas


@frozen
class Noised(ExpressionNode):
    """A private value released with exact noise: `{{ e }}`, `{{ e }} spending 0.1`."""

    SHOWN = "{{{{ {value} }}}}{spending: spending OR}"
    value: ExpressionNode
    """The private expression."""
    spending: ExpressionNode | None = None
    """The epsilon, or a share of the allotment if it is a percentage; None leaves it to the caller's share."""

    @property
    def level(self) -> str:
        """As its last clause binds."""
        return "" if self.spending is None else "TEST"


@frozen
class Select(ExpressionNode):
    """An aggregate over rows: `select sum(values) from db where values > 0 groupby x / 8`."""

    LEVEL = "TEST"
    SHOWN = "select {aggregate}({value}) from {table:POSTFIX}{where: where OR}{groupby: groupby ,OR}"
    aggregate: str = field(validator=_name)
    """What is computed: count, sum, ..."""
    value: ExpressionNode | None
    """Of what, in terms of columns; None for `count()`."""
    table: ExpressionNode
    where: ExpressionNode | None = None
    groupby: tuple[ExpressionNode, ...] = ()
    aggregate_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)

    @property
    def takes_commas(self) -> bool:
        """If it has groups."""
        return bool(self.groupby)


@frozen
class Over(ExpressionNode):
    """A workload answered from an estimate: `queries over cells`. A list with one value stands for every cell alike."""

    LEVEL, SHOWN = "TEST", "{queries:OR} over {cells:OR}"
    queries: ExpressionNode
    cells: ExpressionNode


@frozen
class MakeChoiceMaker(ExpressionNode):
    """A choice maker: `MkChoiceMaker among {A, B} informed by {f, g} trained on corpus spending 5%`."""

    LEVEL = "TEST"
    CLAUSES = (
        "MkChoiceMaker among {among:OR}",
        "{informed_by: informed by OR}",
        "{trained_on: trained on OR}",
        "{judged_by: judged by OR}",
        "{spending: spending OR}",
    )
    SHOWN = "".join(CLAUSES)
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

    LEVEL = "TEST"
    CLAUSES = ("choose {label} among {among:OR}", "{informed_by: informed by OR}")
    SHOWN = "".join(CLAUSES)
    label: str = field(validator=_name)
    among: ExpressionNode
    informed_by: ExpressionNode | None = None
    label_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


# Statements


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

    SHOWN = "{name}"
    name: str = field(validator=_name)


@frozen
class Import(Statement):
    """Names from the library: `from histograms import DAWA, MWEM`."""

    SHOWN = "from {module} import {names:,}"
    module: str = field(validator=_name)
    names: tuple[ImportedName, ...] = field(validator=_some)
    module_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)


@frozen
class Assign(Statement):
    """A name for a value: `x = e`, or several: `a, b = pair`."""

    target: Name | Tuple = field(validator=_target)
    """A name, or a tuple of names."""
    value: ExpressionNode
    short: bool = field(default=False, eq=False, repr=False, kw_only=True)
    """Whether it is written `x += e`, which is x = x + e."""

    def __format__(self, place: str) -> str:
        value = self.value
        if self.short and isinstance(value, BinaryOperation) and value.left == self.target:
            return f"{self.target} {value.operator}= {value.right}"
        several = isinstance(self.target, Tuple) and len(self.target.items) > 1
        return f"{self.target:{'BARE' if several else ''}} = {value}"


@frozen
class ExpressionStatement(Statement):
    """A value computed for what computing it does: `print(table)`."""

    SHOWN = "{value}"
    value: ExpressionNode


@frozen
class Return(Statement):
    """What a function gives back."""

    SHOWN = "return{value: }"
    value: ExpressionNode | None = None


@frozen
class Pass(Statement):
    """Nothing: `pass`."""

    SHOWN = "pass"


@frozen
class Branch(Statement):
    """One `if`, `elif` or `else` with its block."""

    condition: ExpressionNode | None
    """None for `else`."""
    body: tuple[Statement, ...] = field(validator=_some)

    def __format__(self, word: str) -> str:
        return "else:" if self.condition is None else f"{word} {self.condition}:"


@frozen
class If(Statement):
    """Blocks of which the first whose condition holds is run; `else` can only be the last."""

    branches: tuple[Branch, ...] = field(validator=_else_last)


@frozen
class For(Statement):
    """A block for each item of a list whose length is public."""

    SHOWN = "for {target:BARE} in {iterable}:"
    target: Name | Tuple = field(validator=_target)
    """A name, or a tuple of names."""
    iterable: ExpressionNode
    body: tuple[Statement, ...] = field(validator=_some)


@frozen
class FunctionDefinition(Statement):
    """A function; with `#Option` on the line above it, an Option."""

    SHOWN = "def {name}({parameters:,}):"
    name: str = field(validator=_name)
    parameters: tuple[ParameterNode, ...]
    body: tuple[Statement, ...] = field(validator=_some)
    marks: tuple[str, ...] = field(default=(), validator=_marks)
    """The words marked above it: `Option`, `Metafeature`."""
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)

    @property
    def is_option(self) -> bool:
        """Whether it is marked as an Option."""
        return "Option" in self.marks


@frozen
class ClassDefinition(Statement):
    """An Option by its parts: `class DAWA(Option):` with `answer` and `predict`."""

    SHOWN = "class {name}({base}):"
    name: str = field(validator=_name)
    base: str = field(validator=_name)
    body: tuple[Statement, ...] = field(validator=_some)
    name_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)
    base_span: Span = field(default=NOWHERE, eq=False, repr=False, kw_only=True)

    def method(self, name: str) -> FunctionDefinition | None:
        """One of its functions, if it has it."""
        functions = (statement for statement in self.body if isinstance(statement, FunctionDefinition))
        return next((function for function in functions if function.name == name), None)


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


def functions_of(body: Iterable[Node]) -> dict[str, FunctionDefinition]:
    """The functions among some nodes, by name."""
    return {node.name: node for node in body if isinstance(node, FunctionDefinition)}


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


# Which names a part of a program defines


Definition = Import | FunctionDefinition | ClassDefinition | Assign | For | Broken
"""A statement that gives something a name."""


def target_names(target: Name | Tuple) -> Iterator[Name]:
    """The names that an assignment or a loop binds."""
    if isinstance(target, Name):
        yield target
    else:
        yield from (item for item in target.items if isinstance(item, Name))


def defined_in(body: Sequence[Statement]) -> Iterator[tuple[str, Span, Definition]]:  # noqa: C901, PLR0912 - one case per kind of node
    """Each name that statements define, the place of the name and its definition, not looking into functions."""
    for statement in body:
        match statement:
            case Import():
                for each in statement.names:
                    yield each.name, each.span, statement
            case FunctionDefinition() | ClassDefinition():
                yield statement.name, statement.name_span, statement
            case Assign():
                for name in target_names(statement.target):
                    yield name.name, name.span, statement
            case For():
                for name in target_names(statement.target):
                    yield name.name, name.span, statement
                yield from defined_in(statement.body)
            case If():
                for branch in statement.branches:
                    yield from defined_in(branch.body)
            case Broken():
                for word in statement.words:
                    yield word, statement.span, statement
                yield from defined_in(statement.body)
            case _:
                pass


def first_defined(body: Sequence[Statement]) -> dict[str, tuple[Span, Definition]]:
    """For each name that statements define where that is first, and its definition."""
    found: dict[str, tuple[Span, Definition]] = {}
    for name, span, definition in defined_in(body):
        found.setdefault(name, (span, definition))
    return found


def symbols(module: Module) -> frozenset[str]:
    """The names that stand for themselves: alternatives of labelled choices that nothing defines."""
    found: set[str] = set()
    for node in walk(module):
        if isinstance(node, Choose):
            found.update(item.name for item in items_of(node.among) if isinstance(item, Name))
    return frozenset(found)
