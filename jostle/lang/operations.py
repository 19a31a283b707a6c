"""The functions that every program knows, as they run. Each is given where it is called, and its values in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.lang.arithmetic import fraction, is_number, kind_of, plain_number
from jostle.lang.frames import Frame
from jostle.lang.lowering import aggregated
from jostle.lang.stops import Stop
from jostle.lang.tree_values import pruned
from jostle.lang.values import KnownAttribute, Leaf, Node, Private, PrivateNumber, SplitScoreOf, Table, common, numbered
from jostle.privacy.expressions import Expression, largest, mean_of, one_rule, rows, smallest
from jostle.privacy.nodes import Sum
from jostle.privacy.pick_each import PickEach
from jostle.privacy.pick_largest import PickLargest
from jostle.privacy.split_scores import SplitScore, Utility
from jostle.tables.routes import Routing

__all__ = ["OPERATIONS", "items", "truth"]

Operation = Callable[..., Any]
MOST_ITEMS = 10_000_000
UTILITIES: dict[str, Utility] = {"maxScore": "Max", "gini": "Gini", "infoGain": "InfoGain"}
UNKNOWN_ROWS = 2**22
"""The bound on rows that infoGain goes by where none was bought: with it, the pick is private whatever the rows."""
SURE = 3
"""A bound on rows that was bought lies so many scales of its noise above the noisy number."""
DRAWN_BELOW = 2**40
"""Random picks are remainders of numbers below this: uneven by less than 2**-20, and public anyway."""


def truth(value: Any) -> bool:
    """Return whether a value holds."""
    return bool(value)


def items(value: Any, what: str = "this") -> Any:
    """Return the items of a list, the values of an attribute, the keys of a dictionary."""
    if isinstance(value, list | tuple | dict | range):
        return value
    if isinstance(value, KnownAttribute):
        return value.values
    if hasattr(value, "databases"):
        return list(value)
    raise Stop("J501", f"{what} is {kind_of(value)}", "it has to be a list, a dictionary or an attribute", "[...]")


def _number(value: Any, name: str) -> Any:
    if not is_number(value):
        raise Stop("J501", f"`{name}` is given {kind_of(value)}", "it takes a number", f"{name}(2)")
    return value


def _numbers(values: tuple[Any, ...], name: str) -> list[Any]:
    """Return the numbers of a list, or those given one by one."""
    if len(values) == 1 and not is_number(values[0]) and not isinstance(values[0], Private):
        found = values[0]
        listed = list(found.values()) if isinstance(found, dict) else list(items(found, f"what `{name}` is given"))
    else:
        listed = list(values)
    if not listed:
        raise Stop("J502", f"`{name}` of nothing", "an empty list has none", "test for an empty list first")
    return listed


def _several(name: str, how: Callable[[list[Expression]], Expression]) -> Callable[[list[Any]], PrivateNumber]:
    def made(listed: list[Any]) -> PrivateNumber:
        public = [each for each in listed if not isinstance(each, PrivateNumber)]
        if public:
            kind = kind_of(public[0])
            raise Stop(
                "J504", f"`{name}` of private values and {kind}", "all of them are private, or none", "buy them first"
            )
        table, expressions = common(listed)
        return PrivateNumber(table, how(expressions))

    return made


def _mean(listed: list[Any]) -> Any:
    total = sum(listed)
    return total / len(listed) if isinstance(total, float) else Fraction(total) / len(listed)


_SEVERAL = {
    "max": _several("max", largest),
    "min": _several("min", smallest),
    "mean": _several("mean", mean_of),
    "sum": _several("sum", lambda expressions: Sum(tuple(expressions)) if len(expressions) > 1 else expressions[0]),
}
_PLAIN: dict[str, Callable[[list[Any]], Any]] = {
    "max": max,
    "min": min,
    "sum": sum,
    "mean": _mean,
    "stddev": lambda listed: math.sqrt(float(sum((each - _mean(listed)) ** 2 for each in listed)) / len(listed)),
}


def _aggregate(name: str) -> Operation:
    def run(frame: Frame, site: str, value: Any, *more: Any) -> Any:  # noqa: ARG001 - as all operations
        if isinstance(value, PrivateNumber) and not more:
            return aggregated(name, value)
        if name == "sum" and not is_number(value) and not isinstance(value, Private) and not len(items(value)):
            return 0
        listed = [numbered(each) for each in _numbers((value, *more), name)]
        if any(isinstance(each, Private) for each in listed):
            if name not in _SEVERAL or any(isinstance(each, Table | SplitScoreOf) for each in listed):
                raise Stop(
                    "J504",
                    f"`{name}` of a list of private values",
                    "its sensitivity is inferred for groups of one query",
                    "group one query: select count() from db groupby region",
                )
            return _SEVERAL[name](listed)
        for each in listed:
            _number(each, name)
        return plain_number(_PLAIN[name](listed))

    return run


def _abs(frame: Frame, site: str, x: Any) -> Any:  # noqa: ARG001
    x = numbered(x)
    if isinstance(x, PrivateNumber):
        return PrivateNumber(x.table, abs(x.expression), x.groups)
    return abs(_number(x, "abs"))


def _len(frame: Frame, site: str, x: Any) -> Any:  # noqa: ARG001
    if isinstance(x, Table):
        return PrivateNumber(x, rows())
    if isinstance(x, PrivateNumber) and x.groups:
        return math.prod(len(names) for names in x.groups)
    if isinstance(x, str):
        return len(x)
    return len(items(x, "what `len` is given"))


def _size(frame: Frame, site: str, attribute: Any) -> int:  # noqa: ARG001
    if not isinstance(attribute, KnownAttribute):
        raise Stop("J501", f"`size` is given {kind_of(attribute)}", "it takes an attribute", "size(db.label)")
    return len(attribute.values)


def _best(scores: Any, pick: Callable[..., Any], name: str) -> Any:
    found = scores if isinstance(scores, dict) else dict(enumerate(items(scores, f"what `{name}` is given")))
    if not found:
        raise Stop("J502", f"`{name}` of nothing", "an empty list has none", "test for an empty list first")
    for each in found.values():
        if isinstance(each, Private):
            raise Stop(
                "J216",
                f"`{name}` of private values",
                "one row can change which of them is largest",
                "noisyMax(domain, utilities, epsilon)",
            )
    return pick([key for key, value in found.items() if value is not None], key=found.__getitem__)


def _log(frame: Frame, site: str, x: Any, base: Any = None) -> float:  # noqa: ARG001
    if not _number(x, "log") > 0 or (base is not None and (not _number(base, "log") > 0 or base == 1)):
        raise Stop("J502", "a logarithm of a number that is not above 0", "it has no value", "log(max(x, 1))")
    return math.log(x) if base is None else math.log(x) / math.log(base)


def _sqrt(frame: Frame, site: str, x: Any) -> Any:  # noqa: ARG001
    if _number(x, "sqrt") < 0:
        raise Stop("J502", "a root of a number below 0", "it has no value", "sqrt(max(x, 0))")
    if isinstance(x, int) and math.isqrt(x) ** 2 == x:
        return math.isqrt(x)
    return math.sqrt(x)


def _exp(frame: Frame, site: str, x: Any) -> float:  # noqa: ARG001
    return math.exp(_number(x, "exp"))


def _round(frame: Frame, site: str, x: Any, digits: Any = 0) -> Any:  # noqa: ARG001
    return plain_number(round(Fraction(_number(x, "round")), int(_number(digits, "round"))))


def _range(frame: Frame, site: str, start: Any, stop: Any = None, step: Any = 1) -> range:  # noqa: ARG001
    ends = [0, start, 1] if stop is None else [start, stop, step]
    whole = [int(each) for each in ends if is_number(each) and each == int(each)]
    if len(whole) < 3 or whole[2] == 0:
        raise Stop("J501", "`range` is not given whole numbers", "it counts by whole steps", "range(10)")
    found = range(*whole)
    if len(found) > MOST_ITEMS:
        raise Stop("J502", f"a range of more than {MOST_ITEMS:,} numbers", "it would not end soon", "use fewer")
    return found


def _sorted(frame: Frame, site: str, xs: Any) -> list[Any]:  # noqa: ARG001
    found = list(items(xs))
    if any(isinstance(each, Private) for each in found):
        raise Stop("J216", "`sorted` of private values", "their order shows them", "buy them first")
    try:
        return sorted(found)
    except TypeError:
        raise Stop(
            "J501", "`sorted` of different kinds of values", "they have no order", "sort numbers or texts"
        ) from None


def _zip(frame: Frame, site: str, *lists: Any) -> list[Any]:  # noqa: ARG001
    return [tuple(each) for each in zip(*(items(each) for each in lists), strict=False)]


def _print(frame: Frame, site: str, *values: Any) -> None:  # noqa: ARG001
    for each in values:
        if holds_private(each):
            raise Stop("J204", "a private value is printed", "it would be seen without noise", "print({{ ... }})")
    frame.program.say(" ".join(shown(each) for each in values))


def holds_private(value: Any) -> bool:
    """Return whether a value is private, or holds one."""
    if isinstance(value, Private):
        return True
    if isinstance(value, list | tuple):
        return any(holds_private(each) for each in value)
    if isinstance(value, Mapping):
        return any(holds_private(each) for each in value.values())
    if isinstance(value, Node):
        return any(holds_private(each) for each in value.children.values())
    if isinstance(value, Leaf):
        return holds_private(value.pred) or holds_private(value.size) or holds_private(value.votes or {})
    return False


def shown(value: Any) -> str:
    """Return a public or released value for people."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, Fraction | float):
        return f"{float(value):.6g}"
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return f"{left}{', '.join(map(shown, value))}{right}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in value.items()) + "}"
    return str(getattr(value, "name", value))


# Buying


def _epsilon(frame: Frame, given: Any) -> Fraction:
    if given is None:
        return frame.budget()
    return given if type(given) is Fraction else fraction(given, "epsilon")


def _noisy_count(frame: Frame, site: str, table: Any, epsilon: Any = None) -> Any:
    budget = _epsilon(frame, epsilon)
    table = numbered(table)
    if isinstance(table, PrivateNumber):
        if table.groups:
            raise Stop("J504", "`noisyCount` of several groups", "it gives one number", "{{ ... }} gives all of them")
        return plain_number(Fraction(table.table.probe.release(table.expression, budget, site=site)))
    if not isinstance(table, Table):
        raise Stop("J501", f"`noisyCount` is given {kind_of(table)}", "it counts rows", "noisyCount(db, epsilon / 2)")
    found = table.probe.count(budget, site=site)
    table.bought_rows = (found, budget)
    return found


def _noisy_max(frame: Frame, site: str, domain: Any, utilities: Any, epsilon: Any = None) -> Any:
    candidates = list(items(domain, "the domain of `noisyMax`"))
    scores = [utilities[each] for each in candidates] if isinstance(utilities, dict) else list(items(utilities))
    if not candidates or len(candidates) != len(scores):
        raise Stop(
            "J508",
            "`noisyMax` has not one utility for each item",
            f"there are {len(candidates)} items and {len(scores)} utilities",
            "U = [maxScore(a, clss, D) for a in atts]",
        )
    if all(isinstance(each, SplitScoreOf) for each in scores):
        return candidates[_pick_split(frame, site, scores, epsilon)]
    scores = [numbered(each) for each in scores]
    if all(isinstance(each, PrivateNumber) for each in scores):
        table, expressions = common(scores)
        picked = table.probe.perform(PickLargest(tuple(expressions)), _epsilon(frame, epsilon), site=site)
        return candidates[int(picked)]
    if any(isinstance(each, Private) for each in scores):
        raise Stop(
            "J504", "`noisyMax` over utilities of different kinds", "they are not compared", "use one of them for all"
        )
    raise Stop("J213", "`noisyMax` over public values", "nothing in them needs noise", "argmax(...)")


def _pick_split(frame: Frame, site: str, scores: list[SplitScoreOf], epsilon: Any) -> int:
    first = scores[0]
    table, kind = first.table, first.kind
    if any(each.table is not table or each.kind != kind or each.label != first.label for each in scores):
        raise Stop(
            "J504", "`noisyMax` over scores of different kinds", "they are not compared", "one score, for one table"
        )
    if kind == "random":
        return int(table.probe.below(DRAWN_BELOW, 1)[0]) % len(scores)
    schema = table.schema
    budget = _epsilon(frame, epsilon)
    names, attributes = [each.attribute for each in scores], schema.attributes
    if kind == "maxScore" and (first.label != schema.label or len(set(names)) < len(names)):
        rules = PickLargest(tuple(one_rule(name, first.label) for name in names))
        return int(table.probe.perform(rules, budget, site=site))
    if first.label != schema.label or any(name not in attributes for name in names):
        raise Stop(
            "J504",
            f"`{kind}` looks at `{first.label}`",
            f"{kind} is for the label of the table, and its attributes",
            "maxScore is for any two columns",
        )
    places = [attributes.index(name) for name in names]
    nothing = np.zeros(0, dtype=np.int64)
    alone = Routing(attributes, np.array([0]), np.array([-1]), np.array([0]), nothing, depth=0)
    score = SplitScore(
        alone,
        np.array([0]),
        UTILITIES[kind],
        np.array(places),
        np.zeros(len(places), dtype=np.int64),
        np.ones((1, len(places)), dtype=np.bool_),
        schema.rows or _rows_bound(table),
    )
    return int(table.probe.perform(PickEach(score), budget, site=site)[0])


def _rows_bound(table: Table) -> int:
    """Return a bound on the rows, from a count that was bought of them or of a table they are a part of."""
    if table.bought_rows is None:
        return UNKNOWN_ROWS
    found, budget = table.bought_rows
    return max(1, found + int(SURE / budget) + 1)


def _column(value: Any, what: str) -> str:
    if isinstance(value, KnownAttribute):
        return value.name
    if isinstance(value, str):
        return value
    raise Stop("J501", f"{what} is {kind_of(value)}", "it is an attribute of the table", "maxScore(a, db.label, db)")


def _score(kind: str) -> Operation:
    def run(frame: Frame, site: str, attribute: Any, label: Any, table: Any) -> SplitScoreOf:  # noqa: ARG001
        if not isinstance(table, Table):
            raise Stop(
                "J501", f"`{kind}` is given {kind_of(table)}", "it scores rows of a table", f"{kind}(a, clss, D)"
            )
        names = _column(attribute, f"what `{kind}` splits by"), _column(label, f"what `{kind}` predicts")
        for name in names:
            if name not in table.schema:
                raise Stop(
                    "J503", f"there is no column `{name}`", "scores are of columns of the table", "db.attributes"
                )
        return SplitScoreOf(kind, *names, table)

    return run


def _leaf(frame: Frame, site: str, pred: Any, size: Any = None, votes: Any = None) -> Leaf:  # noqa: ARG001
    return Leaf(pred, size, votes)


def _node(frame: Frame, site: str, att: Any, children: Any) -> Node:  # noqa: ARG001
    if not isinstance(att, KnownAttribute) or not isinstance(children, dict):
        raise Stop(
            "J501", "a node without an attribute or children", "Node(att=best, children={v: ...})", "Node(att=a)"
        )
    return Node(att, children)


def _prune(frame: Frame, site: str, tree: Any) -> Any:  # noqa: ARG001
    return pruned(tree)


def _map(frame: Frame, site: str, function: Any, xs: Any) -> list[Any]:
    return [frame.program.call(frame, site, function, [each]) for each in items(xs)]


def _fail(frame: Frame, site: str, message: Any) -> None:  # noqa: ARG001
    if not isinstance(message, str):
        raise Stop("J501", f"a message is {kind_of(message)}", "it is a text", 'fail("there are no attributes")')
    raise Stop("J514", message, "the program says so itself", "see the line that is marked")


def _public(frame: Frame, site: str, path: Any) -> Any:  # noqa: ARG001
    from jostle.choice.folders import public  # noqa: PLC0415 - reads Arrow, which most programs need not

    if not isinstance(path, str):
        raise Stop("J501", f"a path is {kind_of(path)}", "it is a text", 'public("folder")')
    return public(path)


def _rehearse(frame: Frame, site: str, option: Any, database: Any, scale: Any, epsilon: Any) -> float | None:  # noqa: ARG001, PLR0917 - as called
    from jostle.lang.rehearsing import error_of  # noqa: PLC0415 - as above

    return error_of(option, database, scale, fraction(epsilon, "epsilon"))


OPERATIONS: dict[str, Operation] = {
    "abs": _abs,
    "all": lambda frame, site, xs: all(truth(each) for each in items(xs)),  # noqa: ARG005
    "any": lambda frame, site, xs: any(truth(each) for each in items(xs)),  # noqa: ARG005
    "argmax": lambda frame, site, scores: _best(scores, max, "argmax"),  # noqa: ARG005
    "argmin": lambda frame, site, scores: _best(scores, min, "argmin"),  # noqa: ARG005
    "ceil": lambda frame, site, x: math.ceil(_number(x, "ceil")),  # noqa: ARG005
    "exp": _exp,
    "fail": _fail,
    "floor": lambda frame, site, x: math.floor(_number(x, "floor")),  # noqa: ARG005
    "len": _len,
    "list": lambda frame, site, xs: list(items(xs)),  # noqa: ARG005
    "log": _log,
    "map": _map,
    "max": _aggregate("max"),
    "mean": _aggregate("mean"),
    "min": _aggregate("min"),
    "print": _print,
    "range": _range,
    "round": _round,
    "size": _size,
    "sorted": _sorted,
    "sqrt": _sqrt,
    "stddev": _aggregate("stddev"),
    "sum": _aggregate("sum"),
    "zip": _zip,
    "noisyCount": _noisy_count,
    "noisyMax": _noisy_max,
    "expMech": _noisy_max,
    "maxScore": _score("maxScore"),
    "gini": _score("gini"),
    "infoGain": _score("infoGain"),
    "random": _score("random"),
    "Leaf": _leaf,
    "Node": _node,
    "C45_Prune": _prune,
    "rehearse": _rehearse,
    "public": _public,
}
"""By name."""
