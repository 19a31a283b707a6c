"""Functions that every program knows, of several values at once: `max`, `sum`, `mean`, `argmax` and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from jostle.lang.arithmetic import is_number, kind_of, plain_number
from jostle.lang.listing import all_numbers, items, number
from jostle.lang.lowering import aggregated
from jostle.lang.stops import Stop
from jostle.lang.values import Private, PrivateNumber, SplitScoreOf, TableValue, common, numbered
from jostle.privacy.expressions import largest, mean_of_cells, smallest
from jostle.privacy.nodes import Expression, Sum

__all__ = ["aggregate", "best"]

Operation = Callable[..., Any]


def _numbers(values: tuple[Any, ...], name: str) -> list[Any]:
    """The numbers of a list, or those given one by one."""
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
    "mean": _several("mean", mean_of_cells),
    "sum": _several("sum", lambda expressions: Sum(tuple(expressions)) if len(expressions) > 1 else expressions[0]),
}
_PUBLIC: dict[str, Callable[[list[Any]], Any]] = {
    "max": max,
    "min": min,
    "sum": sum,
    "mean": _mean,
    "stddev": lambda listed: math.sqrt(float(sum((each - _mean(listed)) ** 2 for each in listed)) / len(listed)),
}


def aggregate(name: str) -> Operation:
    """An operation that puts several values together: public numbers in one, private ones in a description of one."""
    public = _PUBLIC[name]

    def run(value: Any, *more: Any) -> Any:
        if type(value) is list and value and not more and all_numbers(value):
            return plain_number(public(value))
        if isinstance(value, PrivateNumber) and not more:
            return aggregated(name, value)
        if name == "sum" and not is_number(value) and not isinstance(value, Private) and not len(items(value)):
            return 0
        listed = [numbered(each) for each in _numbers((value, *more), name)]
        if any(isinstance(each, Private) for each in listed):
            if name not in _SEVERAL or any(isinstance(each, TableValue | SplitScoreOf) for each in listed):
                raise Stop(
                    "J504",
                    f"`{name}` of a list of private values",
                    "its sensitivity is inferred for groups of one query",
                    "group one query: select count() from db groupby region",
                )
            return _SEVERAL[name](listed)
        for each in listed:
            number(each, name)
        return plain_number(public(listed))

    return run


def best(pick: Callable[..., Any], name: str) -> Operation:
    """An operation that gives the key of the largest or of the smallest value."""

    def run(scores: Any) -> Any:
        found = scores if isinstance(scores, dict) else dict(enumerate(items(scores, f"what `{name}` is given")))
        if not found:
            raise Stop("J502", f"`{name}` of nothing", "an empty list has none", "test for an empty list first")
        if all_numbers(found.values()):
            return pick(found, key=found.__getitem__)
        for each in found.values():
            if isinstance(each, Private):
                raise Stop(
                    "J216",
                    f"`{name}` of private values",
                    "one row can change which of them is largest",
                    "noisyMax(domain, utilities, epsilon)",
                )
        return pick([key for key, value in found.items() if value is not None], key=found.__getitem__)

    return run
