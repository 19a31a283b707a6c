"""From an expression to its canonical text, on one line, with brackets only where they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch

from jostle.lang import nodes

__all__ = ["show_clauses", "show_expression", "show_parameters"]

# How tightly expressions bind, from loosest to tightest. What binds less tightly than its place asks gets brackets.
TEST, OR, AND, NOT, COMPARE, UNION, INTERSECT, SUM, TERM, FACTOR, POWER, POSTFIX, ATOM = range(13)

_BINARY = {"|": UNION, "&": INTERSECT, "+": SUM, "-": SUM, "*": TERM, "/": TERM, "//": TERM, "%": TERM, "**": POWER}
_LEVELS: dict[type[nodes.ExpressionNode], int] = {
    nodes.Conditional: TEST,
    nodes.Lambda: TEST,
    nodes.Over: TEST,
    nodes.Select: TEST,
    nodes.MakeChoiceMaker: TEST,
    nodes.Choose: TEST,
    nodes.Not: NOT,
    nodes.Comparison: COMPARE,
    nodes.UnaryOperation: FACTOR,
    nodes.Attribute: POSTFIX,
    nodes.Index: POSTFIX,
    nodes.Part: POSTFIX,
    nodes.Call: POSTFIX,
}


def show_expression(node: nodes.ExpressionNode) -> str:
    """The canonical text of an expression."""
    return _show(node)


def show_parameters(parameters: Sequence[nodes.ParameterNode]) -> str:
    """Parameters as they stand in a function's head."""
    defaults = [parameter.default for parameter in parameters]
    shown = [f"={text}" if default else "" for default, text in zip(defaults, _items(defaults), strict=True)]
    return ", ".join(parameter.name + default for parameter, default in zip(parameters, shown, strict=True))


def show_clauses(node: nodes.ExpressionNode) -> list[str]:
    """The clauses of a choice, each to stand on a line; nothing for another expression."""
    if isinstance(node, nodes.MakeChoiceMaker):
        clauses = [f"MkChoiceMaker among {_at(node.among, OR)}"]
        for word, value in (
            ("informed by", node.informed_by),
            ("trained on", node.trained_on),
            ("judged by", node.judged_by),
            ("spending", node.spending),
        ):
            if value is not None:
                clauses.append(f"{word} {_at(value, OR)}")
        return clauses
    if isinstance(node, nodes.Choose):
        clauses = [f"choose {node.label} among {_at(node.among, OR)}"]
        if node.informed_by is not None:
            clauses.append(f"informed by {_at(node.informed_by, OR)}")
        return clauses
    return []


def _level(node: nodes.ExpressionNode) -> int:
    if isinstance(node, nodes.BinaryOperation):
        return _BINARY[node.operator]
    if isinstance(node, nodes.BooleanOperation):
        return OR if node.operator == "or" else AND
    if isinstance(node, nodes.Noised):
        return ATOM if node.spending is None else TEST
    return _LEVELS.get(type(node), ATOM)


def _at(node: nodes.ExpressionNode, level: int) -> str:
    text = _show(node)
    return f"({text})" if _level(node) < level else text


def _items(items: Sequence[nodes.ExpressionNode | None]) -> list[str]:
    """The texts of items between commas; what ends with `groupby` needs brackets before another one."""
    shown: list[str] = []
    for index, item in enumerate(items):
        text = "" if item is None else _show(item)
        shown.append(f"({text})" if item is not None and index < len(items) - 1 and _takes_commas(item) else text)
    return shown


def _takes_commas(node: nodes.ExpressionNode) -> bool:
    while True:
        if isinstance(node, nodes.Select):
            return bool(node.groupby)
        if isinstance(node, nodes.Conditional):
            node = node.otherwise
        elif isinstance(node, nodes.Lambda):
            node = node.body
        else:
            return False


def _braces(inner: str) -> str:
    """A text in braces; a space keeps two opening ones apart, which mean something else together."""
    return f"{{ {inner}}}" if inner.startswith("{") else f"{{{inner}}}"


@singledispatch
def _show(node: nodes.ExpressionNode) -> str:
    raise TypeError(type(node).__name__)


@_show.register
def _(node: nodes.Name) -> str:
    return node.name


@_show.register
def _(node: nodes.Number) -> str:
    return node.spelled or _decimal(node.value)


@_show.register
def _(node: nodes.Percent) -> str:
    return f"{node.spelled or _decimal(node.value)}%"


def _decimal(value: Fraction) -> str:
    """A fraction whose denominator divides a power of ten as digits."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str((value * 10**places).numerator)
    if not places:
        return digits
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


@_show.register
def _(node: nodes.String) -> str:
    return f'"{"".join(map(_character, node.value))}"'


def _character(character: str) -> str:
    named = {"\n": r"\n", "\t": r"\t", '"': r"\"", "\\": r"\\"}
    if character in named:
        return named[character]
    if character.isprintable():
        return character
    point = ord(character)
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


@_show.register
def _(node: nodes.Constant) -> str:
    return str(node.value)


@_show.register
def _(node: nodes.Tuple) -> str:
    if len(node.items) == 1:
        (item,) = node.items
        return f"({_at(item, OR) if _takes_commas(item) else _show(item)},)"
    return f"({', '.join(_items(node.items))})"


@_show.register
def _(node: nodes.List) -> str:
    return f"[{', '.join(_items(node.items))}]"


@_show.register
def _(node: nodes.Set) -> str:
    return _braces(", ".join(_items(node.items)))


@_show.register
def _(node: nodes.Dict) -> str:
    values = _items([entry.value for entry in node.entries])
    return _braces(", ".join(f"{_show(entry.key)}: {value}" for entry, value in zip(node.entries, values, strict=True)))


@_show.register
def _(node: nodes.ListComprehension) -> str:
    return f"[{_show(node.element)}{_comprehension(node.clauses)}]"


@_show.register
def _(node: nodes.SetComprehension) -> str:
    return _braces(f"{_show(node.element)}{_comprehension(node.clauses)}")


@_show.register
def _(node: nodes.DictComprehension) -> str:
    return _braces(f"{_show(node.entry.key)}: {_show(node.entry.value)}{_comprehension(node.clauses)}")


def _comprehension(clauses: Sequence[nodes.ComprehensionClause]) -> str:
    text = ""
    for clause in clauses:
        names = [clause.target.name] if isinstance(clause.target, nodes.Name) else list(_items(clause.target.items))
        targets = ", ".join(names) + ("," if isinstance(clause.target, nodes.Tuple) and len(names) == 1 else "")
        text += f" for {targets} in {_at(clause.iterable, OR)}"
        text += "".join(f" if {_at(condition, OR)}" for condition in clause.conditions)
    return text


@_show.register
def _(node: nodes.Attribute) -> str:
    return f"{_at(node.value, POSTFIX)}.{node.name}"


@_show.register
def _(node: nodes.Index) -> str:
    return f"{_at(node.value, POSTFIX)}[{_show(node.index)}]"


@_show.register
def _(node: nodes.Part) -> str:
    values = _items([condition.value for condition in node.conditions])
    conditions = [f"{_show(each.attribute)} = {value}" for each, value in zip(node.conditions, values, strict=True)]
    return f"{_at(node.table, POSTFIX)}[{', '.join(conditions)}]"


@_show.register
def _(node: nodes.Call) -> str:
    values = _items([*node.arguments, *(keyword.value for keyword in node.keywords)])
    plain, named = values[: len(node.arguments)], values[len(node.arguments) :]
    keywords = [f"{each.name}={value}" for each, value in zip(node.keywords, named, strict=True)]
    return f"{_at(node.function, POSTFIX)}({', '.join([*plain, *keywords])})"


@_show.register
def _(node: nodes.UnaryOperation) -> str:
    return f"{node.operator}{_at(node.operand, FACTOR)}"


@_show.register
def _(node: nodes.BinaryOperation) -> str:
    level = _BINARY[node.operator]
    if node.operator == "**":
        return f"{_at(node.left, POSTFIX)} ** {_at(node.right, FACTOR)}"
    return f"{_at(node.left, level)} {node.operator} {_at(node.right, level + 1)}"


@_show.register
def _(node: nodes.Comparison) -> str:
    rights = [f" {sign} {_at(right, UNION)}" for sign, right in zip(node.operators, node.rights, strict=True)]
    return _at(node.left, UNION) + "".join(rights)


@_show.register
def _(node: nodes.Not) -> str:
    return f"not {_at(node.operand, NOT)}"


@_show.register
def _(node: nodes.BooleanOperation) -> str:
    level = AND if node.operator == "or" else NOT
    return f" {node.operator} ".join(_at(operand, level) for operand in node.operands)


@_show.register
def _(node: nodes.Conditional) -> str:
    return f"{_at(node.then, OR)} if {_at(node.condition, OR)} else {_show(node.otherwise)}"


@_show.register
def _(node: nodes.Lambda) -> str:
    parameters = show_parameters(node.parameters)
    return f"lambda{' ' if parameters else ''}{parameters}: {_show(node.body)}"


@_show.register
def _(node: nodes.Noised) -> str:
    spending = "" if node.spending is None else f" spending {_at(node.spending, OR)}"
    return f"{{{{ {_show(node.value)} }}}}{spending}"


@_show.register
def _(node: nodes.Select) -> str:
    value = "" if node.value is None else _show(node.value)
    where = "" if node.where is None else f" where {_at(node.where, OR)}"
    groupby = f" groupby {', '.join(_at(each, OR) for each in node.groupby)}" if node.groupby else ""
    head = f"select {node.aggregate}({value})"
    return f"{head} from {_at(node.table, POSTFIX)}{where}{groupby}"


@_show.register
def _(node: nodes.Over) -> str:
    return f"{_at(node.queries, OR)} over {_at(node.cells, OR)}"


@_show.register
def _(node: nodes.MakeChoiceMaker) -> str:
    return " ".join(show_clauses(node))


@_show.register
def _(node: nodes.Choose) -> str:
    return " ".join(show_clauses(node))
