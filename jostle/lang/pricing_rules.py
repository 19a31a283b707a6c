"""What each expression is known to give, and spends, where a program is run without data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from jostle.lang import nodes
from jostle.lang.accounts import Amount
from jostle.lang.pricing import (
    SCORES,
    UNKNOWN,
    Bought,
    Callee,
    Column,
    Each,
    Money,
    Pricer,
    Rows,
    Unknown,
    combined,
    unlisted,
)
from jostle.lang.scopes import target_names

__all__ = ["value_of"]

Names = dict[str, Any]


def value_of(pricer: Pricer, node: nodes.Expression, names: Names) -> Any:  # noqa: C901, PLR0911, PLR0912 - one per kind
    """Return what is known of an expression's value."""
    match node:
        case nodes.Name():
            return pricer.name(node.name, names)
        case nodes.Number():
            return _whole(node.value)
        case nodes.Percent():
            return node.share
        case nodes.String() | nodes.Constant():
            return node.value
        case nodes.Tuple() | nodes.List() | nodes.Set():
            return [pricer.value(each, names) for each in node.items]
        case nodes.Dict():
            return _dict(pricer, node, names)
        case nodes.ListComprehension() | nodes.SetComprehension() | nodes.DictComprehension():
            return _comprehension(pricer, node, names)
        case nodes.BinaryOperation():
            return _binary(node.operator, pricer.value(node.left, names), pricer.value(node.right, names))
        case nodes.UnaryOperation():
            return (
                _binary("-", 0, pricer.value(node.operand, names))
                if node.operator == "-"
                else pricer.value(node.operand, names)
            )
        case nodes.Comparison():
            return _comparison(pricer, node, names)
        case nodes.Not():
            found = pricer.value(node.operand, names)
            return not found if isinstance(found, bool) else UNKNOWN
        case nodes.BooleanOperation():
            return _boolean(pricer, node, names)
        case nodes.Conditional():
            return _conditional(pricer, node, names)
        case nodes.Attribute():
            return _attribute(pricer, pricer.value(node.value, names), node.name)
        case nodes.Index():
            return _index(pricer.value(node.value, names), pricer.value(node.index, names))
        case nodes.Part():
            return _part(pricer, node, names)
        case nodes.Lambda():
            return Callee("lambda", node=node, names=dict(names))
        case nodes.Call():
            return _call(pricer, node, names)
        case nodes.Noised():
            return _noised(pricer, node, names)
        case nodes.Select():
            return combined([pricer.value(node.table, names)])
        case nodes.Choose():
            return _choose(pricer, node, names)
        case nodes.MakeChoiceMaker():
            return Callee("option", "choice")
        case _:
            given = [pricer.value(each, names) for each in nodes.children(node) if isinstance(each, nodes.Expression)]
            return combined(given) if combined(given).accounts else UNKNOWN


def _whole(value: Fraction) -> Any:
    return int(value) if value.denominator == 1 else value


def _dict(pricer: Pricer, node: nodes.Dict, names: Names) -> Any:
    found: dict[Any, Any] = {}
    for place, entry in enumerate(node.entries):
        key = pricer.value(entry.key, names)
        known = isinstance(key, str | int | Fraction | bool)
        found[key if known else ("unknown", place)] = pricer.value(entry.value, names)
    return found


def _comprehension(  # noqa: C901 - one case per kind
    pricer: Pricer, node: nodes.ListComprehension | nodes.SetComprehension | nodes.DictComprehension, names: Names
) -> Any:
    inner = dict(names)
    keyed = isinstance(node, nodes.DictComprehension)

    def element() -> Any:
        if isinstance(node, nodes.DictComprehension):
            pricer.value(node.entry.key, inner)
            return pricer.value(node.entry.value, inner)
        return pricer.value(node.element, inner)

    def go(number: int) -> Any:
        """Return a list of what the clauses from this one on give, as far as it is known."""
        if number == len(node.clauses):
            return [element()]
        clause = node.clauses[number]
        listed = pricer.items(pricer.value(clause.iterable, inner))
        if isinstance(listed, list):
            found: list[Any] = []
            known = True
            for each in listed:
                pricer.store(clause.target, each, inner)
                tests = [pricer.value(test, inner) for test in clause.conditions]
                if False in tests:
                    continue
                more = go(number + 1)
                known = known and isinstance(more, list) and all(test is True for test in tests)
                found += more if isinstance(more, list) else [more.item]
            return found if known else Unknown(combined(found) if combined(found).accounts else UNKNOWN, len(found))

        def once(each: Any) -> Any:
            if isinstance(clause.target, nodes.Tuple):
                for name in target_names(clause.target):
                    inner[name.name] = UNKNOWN
            else:
                pricer.store(clause.target, each, inner)
            for test in clause.conditions:
                pricer.value(test, inner)
            return go(number + 1)

        more = pricer.rounds(listed, once)
        items = more if isinstance(more, list) else [more.item]
        size = len(items) if isinstance(more, list) else more.count
        count = None if listed.count is None or size is None else listed.count * size
        item = items[0] if len(items) == 1 else combined(items) if combined(items).accounts else UNKNOWN
        return Unknown(item, count)

    found = go(0)
    if keyed and isinstance(found, list):
        return dict(enumerate(found))
    return found


def _binary(operator: str, left: Any, right: Any) -> Any:  # noqa: C901, PLR0911 - one per kind of value
    if isinstance(left, Rows | Bought) or isinstance(right, Rows | Bought):
        return combined([left, right])
    if isinstance(left, list) and operator in {"+", "|"} and isinstance(right, list):
        return left + right
    if isinstance(left, list) and operator == "-":
        if isinstance(right, Column) and right.name and all(isinstance(each, Column) for each in left):
            kept = [each for each in left if each.name != right.name]
            if len(kept) < len(left) or right.values is not None:
                return kept
        columns = [each for each in left if isinstance(each, Column)]
        counts = [each.count for each in columns]
        most = None if None in counts or not counts else max(each for each in counts if each is not None)
        item = Column("", most) if columns else UNKNOWN
        return Unknown(item, max(0, len(left) - 1) if isinstance(right, Column) else len(left))
    if isinstance(left, Unknown) and (left.item is not None or left.count is not None):
        if operator == "-" and isinstance(right, Column) and left.count is not None:
            return Unknown(left.item, max(0, left.count - 1))
        return Unknown(left.item, left.count if operator == "-" else None)
    if isinstance(left, Money) or isinstance(right, Money):
        return _money(operator, left, right)
    if not (_is_number(left) and _is_number(right)):
        return UNKNOWN
    try:
        return _computed(operator, left, right)
    except (ArithmeticError, ValueError):
        return UNKNOWN


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def _computed(operator: str, left: Any, right: Any) -> Any:
    match operator:
        case "+":
            found = left + right
        case "-":
            found = left - right
        case "*":
            found = left * right
        case "/":
            found = (
                Fraction(left) / right if not isinstance(left, float) and not isinstance(right, float) else left / right
            )
        case "//":
            found = left // right
        case "%":
            found = left % right
        case "**" if abs(right) <= 64 and isinstance(right, int):
            found = Fraction(left) ** right if not isinstance(left, float) else left**right
        case _:
            return UNKNOWN
    return _whole(found) if isinstance(found, Fraction) else found


def _money(operator: str, left: Any, right: Any) -> Any:  # noqa: PLR0911 - one case per kind
    if isinstance(left, Money) and isinstance(right, Money):
        if operator == "+":
            return Money(left.amount + right.amount)
        if operator == "-":
            return Money(left.amount - right.amount)
        return UNKNOWN
    money, other = (left, right) if isinstance(left, Money) else (right, left)
    if not _is_number(other) or (isinstance(other, float) and not math.isfinite(other)):
        return UNKNOWN
    factor = Fraction(other)
    if operator == "*":
        return Money(money.amount.times(factor))
    if operator == "/" and money is left and factor:
        return Money(money.amount.times(1 / factor))
    if operator == "+":
        return Money(money.amount + Amount(fixed=factor))
    if operator == "-":
        fixed = Amount(fixed=factor)
        return Money(money.amount - fixed if money is left else fixed - money.amount)
    return UNKNOWN


def _comparison(pricer: Pricer, node: nodes.Comparison, names: Names) -> Any:
    left = pricer.value(node.left, names)
    result: Any = True
    for operator, right_node in zip(node.operators, node.rights, strict=True):
        right = pricer.value(right_node, names)
        holds = _compared(operator, left, right)
        if holds is False:
            return False
        if holds is UNKNOWN:
            result = UNKNOWN
        left = right
    return result


def _compared(operator: str, left: Any, right: Any) -> Any:
    both_numbers = _is_number(left) and _is_number(right)
    both_texts = isinstance(left, str) and isinstance(right, str)
    if isinstance(left, Money) and isinstance(right, Money) and left == right:
        return operator in {"==", "<=", ">="}
    if operator in {"==", "!="} and (both_numbers or both_texts):
        return (left == right) is (operator == "==")
    if both_numbers:
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}.get(operator, UNKNOWN)
    return UNKNOWN


def _boolean(pricer: Pricer, node: nodes.BooleanOperation, names: Names) -> Any:
    decisive = node.operator == "or"
    result: Any = not decisive
    for each in node.operands:
        found = pricer.value(each, names)
        if found is decisive:
            return decisive
        if not isinstance(found, bool):
            result = UNKNOWN
    return result


def _conditional(pricer: Pricer, node: nodes.Conditional, names: Names) -> Any:
    test = pricer.value(node.condition, names)
    if test is True:
        return pricer.value(node.then, names)
    if test is False:
        return pricer.value(node.otherwise, names)
    return pricer.branches([lambda: pricer.value(node.then, names), lambda: pricer.value(node.otherwise, names)])


# Tables


def _column(pricer: Pricer, name: str) -> Column:
    if pricer.schema is None or name not in pricer.schema:
        return Column(name)
    labels = pricer.schema[name].labels
    return Column(name, len(labels), tuple(labels))


def _attribute(pricer: Pricer, value: Any, name: str) -> Any:  # noqa: PLR0911 - one case per kind
    if not isinstance(value, Rows):
        return UNKNOWN
    schema = pricer.schema
    if name == "attributes":
        if schema is None:
            return Unknown(Column(""))
        return [_column(pricer, each) for each in schema.attributes]
    if name == "label":
        return Column("its label") if schema is None or schema.label is None else _column(pricer, schema.label)
    if name.endswith("_range"):
        column = name.removesuffix("_range")
        if schema is not None and column in schema:
            return schema[column].size
        return UNKNOWN if schema is None else 1
    return UNKNOWN if name == "rows" else _column(pricer, name)


def _part(pricer: Pricer, node: nodes.Part, names: Names) -> Any:
    table = pricer.value(node.table, names)
    if not isinstance(table, Rows):
        return combined([table])
    account = table.account
    for condition in node.conditions:
        known = condition.attribute
        if isinstance(known, nodes.Name) and known.name not in names and known.name not in pricer.globals:
            attribute: Any = Column(known.name)
        else:
            attribute = pricer.value(known, names)
        value = pricer.value(condition.value, names)
        if isinstance(attribute, str):
            attribute = Column(attribute)
        name = attribute.name if isinstance(attribute, Column) else ""
        if not name:
            pricer.fresh += 1
            name = f"column {pricer.fresh}"
        if isinstance(value, Each):
            account = account.part(name, f"round {value.loop}", value.loop)
        elif isinstance(value, str):
            account = account.part(name, f"value {value}", None)
        else:
            # Any part at all, as two numbers may be in one bin: others may spend on the same one as well.
            account = account.part(name, "some value", -1)
    return Rows(account)


def _index(value: Any, index: Any) -> Any:
    if isinstance(value, Bought):
        return value
    if isinstance(value, list) and isinstance(index, int) and -len(value) <= index < len(value):
        return value[index]
    if isinstance(value, dict) and isinstance(index, str | int | Fraction) and index in value:
        return value[index]
    inside = combined([value])
    if inside.accounts:
        return inside
    if isinstance(value, Unknown) and value.item is not None:
        return value.item
    return UNKNOWN


# Calls


def _call(pricer: Pricer, node: nodes.Call, names: Names) -> Any:
    callee = pricer.value(node.function, names)
    given = [pricer.value(each, names) for each in node.arguments]
    named = {each.name: pricer.value(each.value, names) for each in node.keywords}
    return _called(pricer, callee, given, named)


def _called(pricer: Pricer, callee: Any, given: list[Any], named: Names) -> Any:
    if not isinstance(callee, Callee):
        return combined([*given]) if combined(given).accounts else UNKNOWN
    if callee.kind == "several":
        return pricer.branches([partial(_called, pricer, each, given, named) for each in callee.several])
    if callee.kind == "function":
        return pricer.called(callee.name, given, named)
    if callee.kind == "lambda" and callee.node is not None:
        parameters = [each.name for each in callee.node.parameters]
        with pricer.deeper():
            return pricer.value(callee.node.body, {**callee.names, **dict(zip(parameters, given, strict=False))})
    if callee.kind == "option":
        amount = named.get("epsilon", Money(Amount(Fraction(1))))
        if given and combined(given[:1]).accounts:
            pricer.charge_for(given[0], amount)
        return UNKNOWN
    return _builtin(pricer, callee.name, given, named)


def _builtin(pricer: Pricer, name: str, given: list[Any], named: Names) -> Any:  # noqa: C901, PLR0911 - one per function
    everything = [*given, *named.values()]
    whole = Money(Amount(Fraction(1)))
    if name == "noisyCount":
        pricer.charge_for(named.get("table", given[0] if given else None), _third(given, named, 1, whole))
        return UNKNOWN
    if name in {"noisyMax", "expMech"}:
        domain = named.get("domain", given[0] if given else None)
        utilities = named.get("utilities", given[1] if len(given) > 1 else None)
        pricer.charge_for(utilities, _third(given, named, 2, whole))
        return _picked(pricer, domain)
    if name in SCORES:
        return combined(everything)
    if name == "map" and len(given) == 2:
        listed = pricer.items(given[1])
        if isinstance(listed, list):
            return [_called(pricer, given[0], [each], {}) for each in listed]
        return unlisted(listed, pricer.rounds(listed, lambda each: _called(pricer, given[0], [each], {})))
    if name == "len" and given:
        value = given[0]
        if isinstance(value, Rows):
            return combined([value])
        return len(value) if isinstance(value, list | dict | str) else UNKNOWN
    if name == "size" and given and isinstance(given[0], Column):
        return UNKNOWN if given[0].count is None or given[0].values is None else given[0].count
    if name == "range":
        numbers = [each for each in given if isinstance(each, int)]
        if len(numbers) == len(given) and numbers and numbers[-1]:
            return range(*numbers)
        return Unknown(UNKNOWN)
    if name in {"list", "sorted"} and given:
        return given[0] if isinstance(given[0], list) else pricer.items(given[0])
    if combined(everything).accounts:
        return combined(everything)
    return _plain(name, given)


def _third(given: list[Any], named: Names, place: int, whole: Money) -> Any:
    return named.get("epsilon", given[place] if len(given) > place else whole)


def _picked(pricer: Pricer, domain: Any) -> Any:
    """Return what is known of an item that is picked: of an attribute, a name of its own."""
    listed = pricer.items(domain)
    items: Sequence[Any] = listed if isinstance(listed, list) else [listed.item]
    if items and all(isinstance(each, Column) for each in items):
        counts = [each.count for each in items]
        pricer.fresh += 1
        return Column(f"picked {pricer.fresh}", None if None in counts else max(counts))
    return UNKNOWN


def _plain(name: str, given: list[Any]) -> Any:
    numbers = given[0] if len(given) == 1 and isinstance(given[0], list) else given
    if not numbers or not all(_is_number(each) for each in numbers):
        return UNKNOWN
    functions: dict[str, Callable[[list[Any]], Any]] = {
        "max": max,
        "min": min,
        "sum": sum,
        "abs": lambda found: abs(found[0]),
        "floor": lambda found: math.floor(found[0]),
        "ceil": lambda found: math.ceil(found[0]),
        "round": lambda found: round(found[0]),
        "sqrt": lambda found: math.sqrt(found[0]),
    }
    try:
        return functions[name](list(numbers)) if name in functions else UNKNOWN
    except (ArithmeticError, ValueError):
        return UNKNOWN


# Buying


def _noised(pricer: Pricer, node: nodes.Noised, names: Names) -> Any:
    value = pricer.value(node.value, names)
    if isinstance(node.spending, nodes.Percent):
        amount: Any = Money(Amount(node.spending.share))
    elif node.spending is not None:
        amount = pricer.value(node.spending, names)
    else:
        amount = Money(Amount(Fraction(1)))
    pricer.charge_for(value, amount)
    return UNKNOWN


def _choose(pricer: Pricer, node: nodes.Choose, names: Names) -> Any:
    items = node.among.items if isinstance(node.among, nodes.Set | nodes.List | nodes.Tuple) else ()
    values = [pricer.value(each, names) for each in items]
    if values and all(isinstance(each, Callee) for each in values):
        return Callee("several", several=tuple(values))
    return UNKNOWN
