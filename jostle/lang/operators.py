"""What comparisons, brackets and dots do to the values of a running program: truths, items, and named parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from jostle.lang.arithmetic import is_number, kind_of
from jostle.lang.listing import items
from jostle.lang.lowering import axis_size
from jostle.lang.showing import no_key, shown
from jostle.lang.stops import Stop
from jostle.lang.values import (
    Axis,
    Features,
    KnownAttribute,
    Leaf,
    OneValue,
    Private,
    PrivateNumber,
    TableValue,
    TreeNode,
    attribute_of,
)

__all__ = ["COMPARE", "distinct", "fact_of", "fact_of_table", "hashable", "item_of", "named_alike"]

# Comparisons


def named_alike(operator: str, left: Any, right: Any, one: OneValue | None, other: OneValue | None) -> bool:
    """Whether a comparison holds, one side of which may be a column: it is equal to each of its names."""
    if operator in {"==", "!="} and (one is None) is not (other is None):
        named, name = (one, right) if one is not None else (other, left)
        if named is not None and not isinstance(name, Private):
            return named.is_called(name) is (operator == "==")
    if operator in {"in", "not in"} and one is not None and not isinstance(right, Private):
        return any(map(one.is_called, items(right, "what stands after `in`"))) is (operator == "in")
    return COMPARE[operator](left, right)


COMPARED_INSTEAD = {
    "an attribute": "count rows: {{ select count() from db where age > 40 }}",
    "a text": "write numbers without quotes: 4",
    "a list": "compare its items, or how many there are: len(xs)",
}
"""What to write instead, where something without an order is compared."""


WHOLE = (int, int)


MIXED = {(Fraction, float), (float, Fraction)}


def _compared(holds: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        kinds = type(left), type(right)
        if kinds == WHOLE:
            return bool(holds(left, right))
        if kinds in MIXED:
            # Between exact and rounded numbers, a difference beyond a double's digits says nothing.
            return bool(holds(float(left), float(right)))
        if isinstance(left, Private) or isinstance(right, Private):
            raise Stop(
                "J202",
                "a private value is compared",
                "what follows from it would show it without noise",
                "buy it first: n = {{ ... }}",
            )
        try:
            return bool(holds(left, right))
        except TypeError:
            named = kind_of(left), kind_of(right)
            fix = next(
                (each for kind, each in COMPARED_INSTEAD.items() if kind in named), "compare numbers with numbers"
            )
            raise Stop("J501", f"{named[0]} is compared with {named[1]}", "they have no order", fix) from None

    return compare


def _inside(left: Any, right: Any) -> bool:
    return left in items(right, "what stands after `in`")


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": _compared(lambda a, b: a == b),
    "!=": _compared(lambda a, b: a != b),
    "<": _compared(lambda a, b: a < b),
    "<=": _compared(lambda a, b: a <= b),
    ">": _compared(lambda a, b: a > b),
    ">=": _compared(lambda a, b: a >= b),
    "in": _compared(_inside),
    "not in": _compared(lambda a, b: not _inside(a, b)),
}
"""What each comparison asks."""


# Items


def hashable(value: Any) -> Any:
    """A key; refuse what is none."""
    if isinstance(value, Private):
        raise Stop("J208", "a private value is a key", "keys are compared, and show", "buy it first")
    try:
        hash(value)
    except TypeError:
        raise Stop("J501", f"a key is {kind_of(value)}", "keys are numbers, texts, attributes", "use a tuple") from None
    return value


def distinct(values: list[Any]) -> list[Any]:
    """The items of a set, each once."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, Private):
            raise Stop("J208", "a private value in a set", "items of a set are compared, and that shows", "use a list")
        if value not in found:
            found.append(value)
    return found


def item_of(value: Any, index: Any) -> Any:
    """One item of a value."""
    if isinstance(value, PrivateNumber) and value.groups:
        return PrivateNumber(value.table, value.expression[_places(value.groups, index)])
    if isinstance(value, TableValue):
        raise Stop(
            "J210", "a row is looked at", "rows are private", "count rows: {{ select count() from db where ... }}"
        )
    if isinstance(value, dict):
        if hashable(index) not in value:
            raise no_key(index, list(value), "key")
        return value[index]
    if isinstance(value, KnownAttribute):
        value = value.values
    if hasattr(value, "databases"):
        return value[index] if isinstance(index, str) else value.databases[_whole(index, len(value))]
    if isinstance(value, list | tuple | range | str):
        return value[_whole(index, len(value))]
    raise Stop("J501", f"{kind_of(value)} has no items", "lists and dictionaries do", "xs[0]")


def _places(axes: Sequence[Axis], index: Any) -> tuple[int, ...]:
    """The place of a group of private numbers, by what it is called."""
    names = index if isinstance(index, tuple) else (index,)
    if len(names) != len(axes):
        title = f"{len(names)} names for a group by {len(axes)} columns"
        raise Stop("J507", title, "groups are called by what they are grouped by", "q[a, b]")
    places = []
    for name, axis in zip(names, axes, strict=True):
        place = axis.place(name)
        if place is None:
            raise no_key(name, axis.keys, "group")
        places.append(place)
    return tuple(places)


def _whole(index: Any, length: int) -> int:
    if not is_number(index) or index != int(index):
        called = shown(index) if is_number(index) else kind_of(index)
        raise Stop("J501", f"an index is {called}", "items are numbered from 0", "xs[0]")
    if not -length <= index < length:
        raise Stop("J507", f"there is no item {int(index)}", f"the list has {length}", "count from 0")
    return int(index)


# Named parts


def fact_of(value: Any, name: str) -> Any:
    """A named part of a value."""
    if isinstance(value, TableValue):
        return fact_of_table(value, name)
    if isinstance(value, Features):
        if name not in value.seen:
            raise Stop(
                "J503", f"there is no metafeature `{name}`", "`predict` sees those the maker is informed by", name
            )
        return value.seen[name]
    if (
        isinstance(value, Leaf | TreeNode)
        and name in {"pred", "size", "votes", "att", "children"}
        and hasattr(value, name)
    ):
        return getattr(value, name)
    if isinstance(value, KnownAttribute) and name in {"name", "values"}:
        return getattr(value, name)
    raise Stop(
        "J503", f"{kind_of(value)} has no `{name}`", "only tables and trees have parts with names", "db.attributes"
    )


def fact_of_table(table: TableValue, name: str) -> Any:
    """A public fact of a table."""
    schema = table.schema
    if name == "attributes":
        return [attribute_of(schema, each) for each in schema.attributes]
    if name == "label":
        if schema.label is None:
            raise Stop("J503", "the table has no label", "its schema names none", 'label = "ill", in the schema')
        return attribute_of(schema, schema.label)
    if name == "rows":
        if schema.rows is None:
            raise Stop("J503", "the number of rows is private", "the schema does not declare it", "{{ len(db) }}")
        return schema.rows
    if name in schema:
        return attribute_of(schema, name)
    if name.endswith("_range"):
        return axis_size(schema, name.removesuffix("_range"))
    listed = ", ".join(schema.names[:8])
    why = f"public facts are attributes, label, rows, a column ({listed}) or its range, as in x_range"
    raise Stop("J503", f"the table has no `{name}`", why, "db.attributes")
