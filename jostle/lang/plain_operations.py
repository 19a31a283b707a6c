"""The functions that every program knows and that buy nothing: what they give follows from their values alone.

Given private values, some describe others; the rest refuse them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from jostle.lang.aggregating import aggregate, best
from jostle.lang.arithmetic import is_number, kind_of, plain_number
from jostle.lang.extents import MOST_ITEMS, held
from jostle.lang.listing import items, number, truth
from jostle.lang.stops import Stop
from jostle.lang.tree_values import pruned
from jostle.lang.values import (
    KnownAttribute,
    Leaf,
    Private,
    PrivateNumber,
    SplitScoreOf,
    TableValue,
    TreeNode,
    numbered,
)
from jostle.privacy.expressions import rows

__all__ = ["NUMERIC", "PLAIN"]

Operation = Callable[..., Any]
# Single values


def _abs(x: Any) -> Any:
    x = numbered(x)
    if isinstance(x, PrivateNumber):
        return PrivateNumber(x.table, abs(x.expression), x.groups)
    return abs(number(x, "abs"))


def _len(x: Any) -> Any:
    if type(x) is list:
        return len(x)
    if isinstance(x, TableValue):
        return PrivateNumber(x, rows())
    if isinstance(x, PrivateNumber) and x.groups:
        return math.prod(len(names) for names in x.groups)
    if isinstance(x, str):
        return len(x)
    return len(items(x, "what `len` is given"))


def _size(attribute: Any) -> int:
    if type(attribute) is not KnownAttribute:
        raise Stop("J501", f"`size` is given {kind_of(attribute)}", "it takes an attribute", "size(db.label)")
    return len(attribute.values)


def _log(x: Any, base: Any = None) -> float:
    if not number(x, "log") > 0 or (base is not None and (not number(base, "log") > 0 or base == 1)):
        raise Stop("J502", "a logarithm of a number that is not above 0", "it has no value", "log(max(x, 1))")
    return math.log(x) if base is None else math.log(x) / math.log(base)


def _sqrt(x: Any) -> Any:
    if number(x, "sqrt") < 0:
        raise Stop("J502", "a root of a number below 0", "it has no value", "sqrt(max(x, 0))")
    if isinstance(x, int) and math.isqrt(x) ** 2 == x:
        return math.isqrt(x)
    return math.sqrt(x)


def _round(x: Any, digits: Any = 0) -> Any:
    return plain_number(round(Fraction(number(x, "round")), int(number(digits, "round"))))


# Lists


def _range(start: Any, stop: Any = None, step: Any = 1) -> range:
    ends = [0, start, 1] if stop is None else [start, stop, step]
    whole = [int(end) for end in ends if is_number(end) and end == int(end)]
    if len(whole) < 3 or whole[2] == 0:
        raise Stop("J501", "`range` is not given whole numbers", "it counts by whole steps", "range(10)")
    found = range(*whole)
    if len(found) > MOST_ITEMS:
        raise Stop("J502", f"a range of more than {MOST_ITEMS:,} numbers", "it would not end soon", "use fewer")
    return found


def _sorted(xs: Any) -> list[Any]:
    found = list(items(xs))
    if any(isinstance(each, Private) for each in found):
        raise Stop("J216", "`sorted` of private values", "their order shows them", "buy them first")
    try:
        return sorted(found)
    except TypeError:
        raise Stop(
            "J501", "`sorted` of different kinds of values", "they have no order", "sort numbers or texts"
        ) from None


def _zip(*lists: Any) -> list[Any]:
    return held([tuple(each) for each in zip(*(items(each) for each in lists), strict=False)])  # type: ignore[no-any-return]


# Trees, scores and the rest


def _node(att: Any, children: Any) -> TreeNode:
    if not isinstance(att, KnownAttribute) or not isinstance(children, dict):
        raise Stop(
            "J501", "a node without an attribute or children", "Node(att=best, children={v: ...})", "Node(att=a)"
        )
    return TreeNode(att, children)


def _column(value: Any, what: str) -> str:
    if isinstance(value, KnownAttribute):
        return value.name
    if isinstance(value, str):
        return value
    raise Stop("J501", f"{what} is {kind_of(value)}", "it is an attribute of the table", "maxScore(a, db.label, db)")


def _score(kind: str) -> Operation:
    splits, predicts = f"what `{kind}` splits by", f"what `{kind}` predicts"

    def run(attribute: Any, label: Any, table: Any) -> SplitScoreOf:
        if type(table) is TableValue and type(attribute) is type(label) is KnownAttribute:  # as they mostly are
            schema = table.schema
            if attribute.name in schema and label.name in schema:
                return SplitScoreOf(kind, attribute.name, label.name, table)
        if not isinstance(table, TableValue):
            raise Stop(
                "J501", f"`{kind}` is given {kind_of(table)}", "it scores rows of a table", f"{kind}(a, clss, D)"
            )
        names = _column(attribute, splits), _column(label, predicts)
        for name in names:
            if name not in table.schema:
                raise Stop(
                    "J503", f"there is no column `{name}`", "scores are of columns of the table", "db.attributes"
                )
        return SplitScoreOf(kind, *names, table)

    return run


def _fail(message: Any) -> None:
    if not isinstance(message, str):
        raise Stop("J501", f"a message is {kind_of(message)}", "it is a text", 'fail("there are no attributes")')
    raise Stop("J514", message, "the program says so itself", "see the line that is marked")


NUMERIC: dict[str, Operation] = {
    "abs": _abs,
    "ceil": lambda x: math.ceil(number(x, "ceil")),
    "exp": lambda x: math.exp(number(x, "exp")),
    "floor": lambda x: math.floor(number(x, "floor")),
    "log": _log,
    "round": _round,
    "sqrt": _sqrt,
}
"""Those that give a number for numbers, by name."""

PLAIN: dict[str, Operation] = {
    **NUMERIC,
    "all": lambda xs: all(truth(each) for each in items(xs)),
    "any": lambda xs: any(truth(each) for each in items(xs)),
    "argmax": best(max, "argmax"),
    "argmin": best(min, "argmin"),
    "fail": _fail,
    "len": _len,
    "list": lambda xs: list(items(xs)),
    "max": aggregate("max"),
    "mean": aggregate("mean"),
    "min": aggregate("min"),
    "range": _range,
    "size": _size,
    "sorted": _sorted,
    "stddev": aggregate("stddev"),
    "sum": aggregate("sum"),
    "zip": _zip,
    "maxScore": _score("maxScore"),
    "gini": _score("gini"),
    "infoGain": _score("infoGain"),
    "random": _score("random"),
    "Leaf": lambda pred, size=None, votes=None: Leaf(pred, size, votes),
    "Node": _node,
    "C45_Prune": pruned,
}
"""By name. Each is given its values, in order or by the names of its parameters."""
