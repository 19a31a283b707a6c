"""The functions that every program knows, as they run: those that buy nothing, and those that ask a probe.

What the first give follows from their values alone; given private values, some describe others, and the rest refuse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.errors import JostleError
from jostle.lang.extents import MOST_ITEMS, held
from jostle.lang.frames import Frame
from jostle.lang.lowering import aggregated
from jostle.lang.messages import Stop
from jostle.lang.operators import (
    all_numbers,
    fraction,
    holds_private,
    is_number,
    items,
    kind_of,
    number,
    plain_number,
    shown,
)
from jostle.lang.tree_values import pruned
from jostle.lang.values import (
    KnownAttribute,
    Leaf,
    Private,
    PrivateNumber,
    SplitScoreOf,
    TableValue,
    TreeNode,
    common,
    numbered,
)
from jostle.privacy.expressions import largest, mean_of_cells, one_rule, rows, smallest
from jostle.privacy.nodes import Expression, Sum
from jostle.privacy.picks import PickEach, PickLargest
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import SplitScore, Utility
from jostle.tables.block import grain_in
from jostle.tables.routes import Routing
from jostle.tasks.ranges.estimate import Estimate, Workload

UTILITIES: dict[str, Utility] = {"maxScore": "Max", "gini": "Gini", "infoGain": "InfoGain"}
"""What splits are scored by, in the words of the language."""
UNKNOWN_ROWS = 2**22
"""The bound on rows that infoGain goes by where none was bought: with it, the pick is private whatever the rows."""
SURE = 3
"""A bound on rows that was bought lies so many scales of its noise above the noisy number."""
DRAWN_BELOW = 2**40
"""Random picks are remainders of numbers below this: uneven by less than 2**-20, and public anyway."""


def any_of(probe: Probe, count: int) -> int:
    """One of so many places at random: it looks at nothing, and costs nothing."""
    return int(probe.below(DRAWN_BELOW, 1)[0]) % count


def best_of(  # noqa: PLR0917 - the parts of a question
    probe: Probe,
    rule: str,
    attributes: Sequence[str],
    epsilon: Fraction,
    bought: tuple[int, Fraction] | None,
    site: str,
) -> int:
    """The place of the attribute whose split is nearly the best, as permute-and-flip picks it by a rule.

    *bought* is a noisy number of these rows, or of more, and what it cost. Whatever it is, the pick is as private: a
    bound that is too low costs sense alone (see `SplitScore`).
    """
    schema = probe.schema
    names = schema.attributes
    count = len(attributes)
    one_leaf = Routing(names, np.array([0]), np.array([-1]), np.array([0]), np.zeros(0, dtype=np.int64), depth=0)
    score = SplitScore(
        one_leaf,
        np.array([0]),
        UTILITIES[rule],
        np.array([names.index(name) for name in attributes]),
        np.zeros(count, dtype=np.int64),
        np.ones((1, count), dtype=np.bool_),
        probe.rows or _rows_at_most(bought),
    )
    return int(probe.perform(PickEach(score), epsilon, site=site)[0])


def _rows_at_most(bought: tuple[int, Fraction] | None) -> int:
    if bought is None:
        return UNKNOWN_ROWS
    found, spent = bought
    return max(1, found + int(SURE / spent) + 1)


def estimate_of(queries: Any, cells: Sequence[Any]) -> Estimate:
    """An estimate for a workload, of cells in row-major order; a single number stands for each cell."""
    if not isinstance(queries, Workload):
        raise Stop("J501 queries", kind=kind_of(queries))
    numbers = [cell for cell in cells if is_number(cell)]
    if len(numbers) < len(cells) or not numbers:
        raise Stop("J501 estimate")
    count = int(np.prod(queries.shape))
    if len(numbers) not in {1, count}:
        raise Stop("J508 cells", count=len(numbers), cells=count)
    values = np.array([float(number) for number in numbers])
    return Estimate(np.full(queries.shape, values[0]) if len(values) == 1 else values.reshape(queries.shape))


Operation = Callable[..., Any]


def as_bought(number: Any) -> Any:
    """A released number as programs have it: exact where it is whole."""
    value = float(number)
    return plain_number(Fraction(value)) if value.is_integer() else value


def _numbers(values: tuple[Any, ...], name: str) -> list[Any]:
    """The numbers of a list, or those given one by one."""
    if len(values) == 1 and not is_number(values[0]) and not isinstance(values[0], Private):
        found = values[0]
        listed = list(found.values()) if isinstance(found, dict) else list(items(found, f"what `{name}` is given"))
    else:
        listed = list(values)
    if not listed:
        raise Stop("J502 empty", name=name)
    return listed


def _several(name: str, how: Callable[[list[Expression]], Expression]) -> Callable[[list[Any]], PrivateNumber]:
    def made(listed: list[Any]) -> PrivateNumber:
        public = [each for each in listed if not isinstance(each, PrivateNumber)]
        if public:
            kind = kind_of(public[0])
            raise Stop("J504 mixed", name=name, kind=kind)
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
                raise Stop("J504 list", name=name)
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
            raise Stop("J502 empty", name=name)
        if all_numbers(found.values()):
            return pick(found, key=found.__getitem__)
        for each in found.values():
            if isinstance(each, Private):
                raise Stop("J216 largest_running", name=name)
        return pick([key for key, value in found.items() if value is not None], key=found.__getitem__)

    return run


def _epsilon(frame: Frame, given: Any) -> Fraction:
    if given is None:
        return frame.budget()
    return given if type(given) is Fraction else fraction(given, "epsilon")


def noisy_count(frame: Frame, site: str, table: Any, epsilon: Any = None) -> Any:
    """How many rows a table has, or a private number, noised."""
    budget = epsilon if type(epsilon) is Fraction else _epsilon(frame, epsilon)
    if isinstance(table, TableValue):
        found = table.probe.count(budget, site=site).value
        table.bought_rows = (found, budget)
        return frame.program.bought(site, found)
    table = numbered(table)
    if isinstance(table, PrivateNumber):
        if table.groups:
            raise Stop("J504 count_of_groups")
        number = table.table.probe.release(table.expression, budget, site=site)
        return frame.program.bought(site, plain_number(Fraction(number)))
    raise Stop("J501 count", kind=kind_of(table))


STATISTICS = {f"noisy{method.title()}": method for method in ("mean", "median", "quantile", "sum", "variance")}
"""Methods of probes, by what programs call them."""


def asked_of(name: str, table: Any, attribute: Any, *share: Any) -> tuple[TableValue, tuple[Any, ...]]:
    """The table and what it is asked of a column; refuse what is no column of numbers, or no share."""
    if not isinstance(table, TableValue):
        raise Stop("J501 statistic", name=name, kind=kind_of(table))
    column = _column(attribute, f"what `{name}` is of", f"{name}(db, db.age, ...)")
    table.codes(column)  # refuses one that is not there
    try:
        grain_in(table.schema, column)
    except JostleError:
        raise Stop("J504 no_numbers", name=name, column=column) from None
    shares = tuple(fraction(each, "a share") for each in share)
    if not all(0 <= each <= 1 for each in shares):
        raise Stop("J501 share", number=shown(shares[0]))
    return table, (column, *shares)


def noisy_statistic(name: str) -> Operation:
    """An operation that buys a statistic of a column, as a probe does."""

    def run(
        frame: Frame, site: str, table: Any, attribute: Any, epsilon: Any = None, *, asked: tuple[Any, ...] = ()
    ) -> Any:
        held, of = asked_of(name, table, attribute, *asked)
        found = getattr(held.probe, STATISTICS[name])(*of, epsilon=_epsilon(frame, epsilon), site=site)
        return frame.program.bought(site, as_bought(found))

    return run


def noisy_quantile(  # noqa: PLR0917 - as called
    frame: Frame, site: str, table: Any, attribute: Any, share: Any, epsilon: Any = None
) -> Any:
    """A quantile of a column, noised."""
    return noisy_statistic("noisyQuantile")(frame, site, table, attribute, epsilon, asked=(share,))


def noisy_max(frame: Frame, site: str, domain: Any, utilities: Any, epsilon: Any = None) -> Any:
    """The item of a domain whose utility is the largest, nearly."""
    candidates = list(items(domain, "the domain of `noisyMax`"))
    if isinstance(utilities, dict):
        scores = [
            utilities[candidate]
            for candidate in candidates
            if isinstance(candidate, Hashable) and candidate in utilities
        ]
    else:
        scores = list(items(utilities))
    if not candidates or len(candidates) != len(scores):
        raise Stop("J508 utilities", items=len(candidates), utilities=len(scores))
    if all(isinstance(score, SplitScoreOf) for score in scores):
        return frame.program.bought(site, candidates[_pick_split(frame, site, scores, epsilon)])
    scores = [numbered(score) for score in scores]
    if all(isinstance(score, PrivateNumber) for score in scores):
        table, expressions = common(scores)
        picked = table.probe.perform(PickLargest(tuple(expressions)), _epsilon(frame, epsilon), site=site)
        return frame.program.bought(site, candidates[int(picked)])
    if any(isinstance(score, Private) for score in scores):
        raise Stop("J504 utilities")
    raise Stop("J213 picked_running")


def _pick_split(frame: Frame, site: str, scores: list[SplitScoreOf], epsilon: Any) -> int:
    first = scores[0]
    table, kind, label = first.table, first.kind, first.label
    if any(score.table is not table or score.kind != kind or score.label != label for score in scores):
        raise Stop("J504 scores")
    if kind == "random":
        return any_of(table.probe, len(scores))
    schema = table.schema
    budget = _epsilon(frame, epsilon)
    names, attributes = [score.attribute for score in scores], schema.attributes
    if kind == "maxScore" and (label != schema.label or len(set(names)) < len(names)):
        rules = PickLargest(tuple(one_rule(name, label) for name in names))
        return int(table.probe.perform(rules, budget, site=site))
    if label != schema.label or any(name not in attributes for name in names):
        raise Stop("J504 score_of", kind=kind, column=label)
    return best_of(table.probe, kind, names, budget, table.bought_rows, site)


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
        raise Stop("J501 size", kind=kind_of(attribute))
    return len(attribute.values)


def _log(x: Any, base: Any = None) -> float:
    if not number(x, "log") > 0 or (base is not None and (not number(base, "log") > 0 or base == 1)):
        raise Stop("J502 logarithm")
    return math.log(x) if base is None else math.log(x) / math.log(base)


def _sqrt(x: Any) -> Any:
    if number(x, "sqrt") < 0:
        raise Stop("J502 root")
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
        raise Stop("J501 range")
    found = range(*whole)
    if len(found) > MOST_ITEMS:
        raise Stop("J502 range", most=f"{MOST_ITEMS:,}")
    return found


def _sorted(xs: Any) -> list[Any]:
    found = list(items(xs))
    if any(isinstance(each, Private) for each in found):
        raise Stop("J216 order_running")
    try:
        return sorted(found)
    except TypeError:
        raise Stop("J501 sorted") from None


def _zip(*lists: Any) -> list[Any]:
    return held([tuple(each) for each in zip(*(items(each) for each in lists), strict=False)])  # type: ignore[no-any-return]


# Trees, scores and the rest


def _node(att: Any, children: Any) -> TreeNode:
    if not isinstance(att, KnownAttribute) or not isinstance(children, dict):
        raise Stop("J501 node")
    return TreeNode(att, children)


def _column(value: Any, what: str, instead: str = "maxScore(a, db.label, db)") -> str:
    if isinstance(value, KnownAttribute):
        return value.name
    if isinstance(value, str):
        return value
    raise Stop("J501 attribute", what=what, kind=kind_of(value), instead=instead)


def _score(kind: str) -> Operation:
    splits, predicts = f"what `{kind}` splits by", f"what `{kind}` predicts"

    def run(attribute: Any, label: Any, table: Any) -> SplitScoreOf:
        if type(table) is TableValue and type(attribute) is type(label) is KnownAttribute:  # as they mostly are
            schema = table.schema
            if attribute.name in schema and label.name in schema:
                return SplitScoreOf(kind, attribute.name, label.name, table)
        if not isinstance(table, TableValue):
            raise Stop("J501 score", name=kind, kind=kind_of(table))
        names = _column(attribute, splits), _column(label, predicts)
        for name in names:
            if name not in table.schema:
                raise Stop("J503 scored", name=name)
        return SplitScoreOf(kind, *names, table)

    return run


def _fail(message: Any) -> None:
    if not isinstance(message, str):
        raise Stop("J501 message", kind=kind_of(message))
    raise Stop("J514", message=message)


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
    "all": lambda xs: all(items(xs)),
    "any": lambda xs: any(items(xs)),
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


def operated(frame: Frame, site: str, name: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The value of a known function, called from a place in the program."""
    if name in BUYING:
        return BUYING[name](frame, site, *given, **named)
    return PLAIN[name](*given, **named)


def _print(frame: Frame, site: str, *values: Any) -> None:  # noqa: ARG001 - as all of these
    for each in values:
        if holds_private(each):
            raise Stop("J204", what="a private value")
    frame.program.say(" ".join(shown(value) for value in values))


def _map(frame: Frame, site: str, function: Any, items_: Any) -> list[Any]:
    return held([frame.program.call(frame, site, function, [item]) for item in items(items_)])  # type: ignore[no-any-return]


def _public(frame: Frame, site: str, path: Any) -> Any:  # noqa: ARG001 - as called
    if not isinstance(path, str):
        raise Stop("J501 path", kind=kind_of(path))
    return frame.program.public(path)


def _rehearse(frame: Frame, site: str, option: Any, database: Any, scale: Any, epsilon: Any) -> float | None:  # noqa: ARG001, PLR0917 - as called
    from jostle.lang.quick_start import error_of  # noqa: PLC0415 - most programs rehearse nothing

    with frame.program.on_public_data():
        return error_of(option, database, scale, fraction(epsilon, "epsilon"))


BUYING: dict[str, Callable[..., Any]] = {
    **{name: noisy_statistic(name) for name in STATISTICS},
    "noisyQuantile": noisy_quantile,
    "expMech": noisy_max,
    "map": _map,
    "noisyCount": noisy_count,
    "noisyMax": noisy_max,
    "print": _print,
    "public": _public,
    "rehearse": _rehearse,
}
"""Those that have to know who calls them, for its budget or its files, and where from, for the trace: by name."""
