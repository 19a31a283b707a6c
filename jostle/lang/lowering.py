"""From `select ... from ... where ... groupby ...` to private expressions, whose sensitivity is inferred there.

A column is known by its codes, and computations see what these stand for (`value_names`). `values` stands for how many
rows there are in a cell of all columns, as in a grid of counts. So conditions and groups are public functions of
codes, and are worked out for every code before any row is looked at. Of conditions that look at several columns at
once, every combination of codes is worked out; rows are counted by these columns, and cells that meet them added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.lang.messages import Stop
from jostle.lang.operators import is_number, kind_of
from jostle.lang.values import (
    Axis,
    Features,
    KnownAttribute,
    Leaf,
    OneValue,
    PrivateNumber,
    TableValue,
    TreeNode,
    attribute_of,
    no_column,
)
from jostle.privacy.expressions import (
    CellSums,
    cells,
    deviation,
    largest,
    mean_of_cells,
    occupied,
    smallest,
    sums,
    total,
)
from jostle.privacy.nodes import Expression
from jostle.tables.columns import Numeric
from jostle.tables.schema import Schema

CELL = "values"
"""The number of rows in a cell of all columns."""
MOST_WEIGHT_DIGITS = 10**6
"""Values that are summed are rounded to so many steps per unit at most."""
MOST_COMBINATIONS = 20_000
"""Of codes of several columns that a condition looks at."""
MOST_KEPT = 64
"""Groups of one expression."""


@frozen(eq=False)
class OfColumns:
    """A public function of the columns of a row, and which of them it looks at."""

    columns: tuple[str, ...]
    compute: Callable[[Mapping[str, OneValue]], Any]
    """From the columns' values."""
    text: str
    """As it is written."""
    plain: bool = False
    """Whether it is a column as it is, with nothing computed of it."""
    mark: Hashable = None
    """The same for functions that give the same: with which numbers it is computed; None where not known."""
    kept: dict[Hashable, _Group] = field(factory=dict, repr=False)
    """Groups that were worked out before, of public values alone: makers learn from many rehearsals with the same."""


@frozen(eq=False)
class Query:
    """A `select`, with its public parts worked out as far as they can be without a table."""

    aggregate: str
    value: OfColumns | None
    where: tuple[OfColumns, ...]
    groupby: tuple[OfColumns, ...]


def _missing_axis(schema: Schema, name: str) -> bool:
    """Whether a column is an axis that a grid with fewer axes does not have: everything is at 0 there."""
    return (
        name in {"y", "z"}
        and "x" in schema
        and name not in schema
        and all(isinstance(schema[each], Numeric) for each in schema.names)
    )


def axis_size(schema: Schema, name: str) -> int:
    """How many values a column has; 1 for an axis that a grid does not have."""
    return 1 if _missing_axis(schema, name) else schema[_known(schema, name)].size


def _known(schema: Schema, name: str) -> str:
    if name not in schema:
        raise no_column(schema, f"`{name}`")
    return name


def _each_code(schema: Schema, function: OfColumns, name: str) -> list[Any]:
    """The value of a function of one column for each of its codes; None where the column has no value."""
    column = schema[name]
    return [
        None if value is None else function.compute({name: OneValue(value, column, code)})
        for code, value in enumerate(column.meanings)
    ]


def lower(query: Query, table: TableValue) -> PrivateNumber:
    """A query of a table as a private number, or one for each group."""
    schema = table.schema
    on_cells = [each for each in query.where if CELL in each.columns and CELL not in schema]
    of_cells = query.value is not None and CELL in query.value.columns and CELL not in schema
    narrowing, several = _conditions(schema, [each for each in query.where if each not in on_cells])
    combined = _Combined.of(schema, several) if several else None
    groups = [_group(schema, each) for each in query.groupby]
    if combined is not None and (on_cells or of_cells or query.aggregate == "persons"):
        what = "persons" if query.aggregate == "persons" else "cells of all columns"
        raise Stop("J504 counted", condition=combined.text, what=what)
    if query.aggregate == "persons" and not on_cells:
        expression = _of_persons(query, schema, groups)
    elif on_cells or of_cells:
        expression = _of_cells(query, schema, on_cells, groups, conditions=bool(narrowing))
    else:
        expression = _of_rows(query, schema, groups, combined)
    for column, codes in narrowing:
        expression = expression.where(column, *codes)
    return PrivateNumber(table, expression, tuple(group.axis for group in groups if group.column))


@frozen
class _Group:
    column: str
    """Empty for a group that everything is in."""
    places: tuple[int, ...]
    axis: Axis


def _group(schema: Schema, function: OfColumns) -> _Group:
    columns = tuple(name for name in function.columns if not _missing_axis(schema, name))
    if not columns:
        return _Group("", (), Axis(()))
    if len(columns) > 1:
        raise Stop("J504 two_columns", written=function.text)
    name = _known(schema, columns[0])
    if function.plain:
        return _Group(name, tuple(range(schema[name].size)), Axis.of(schema[name]))
    if function.mark is None:
        return _computed_group(schema, function, name)
    key = (name, schema[name], function.mark)
    group = function.kept.get(key)
    if group is None:
        group = _computed_group(schema, function, name)
        if len(function.kept) >= MOST_KEPT:
            function.kept.clear()
        function.kept[key] = group  # another thread may clear it at once
    return group


def _computed_group(schema: Schema, function: OfColumns, name: str) -> _Group:
    """The groups of a column by what a function gives for each of its values."""
    labels = [_label(each, whole=isinstance(schema[name], Numeric)) for each in _each_code(schema, function, name)]
    names = tuple(dict.fromkeys(labels))
    order = {label: index for index, label in enumerate(names)}
    return _Group(name, tuple(order[label] for label in labels), Axis(names))


def _label(value: Any, *, whole: bool) -> Any:
    """A group's label: of numbers, the whole number below, since bins are put together by division."""
    if is_number(value):
        return int(value // 1) if whole else value
    if value is None or isinstance(value, str | bool):
        return value
    raise Stop("J504 grouped", kind=kind_of(value))


@frozen(eq=False)
class _Combined:
    """Conditions that look at several columns at once."""

    columns: tuple[str, ...]
    meets: NDArray[np.bool_]
    """Whether a combination of their codes meets all; one without a value in a column does not."""
    text: str

    @classmethod
    def of(cls, schema: Schema, conditions: Sequence[OfColumns]) -> _Combined:
        """The truth of conditions for every combination of codes."""
        named = dict.fromkeys(
            name for condition in conditions for name in condition.columns if not _missing_axis(schema, name)
        )
        columns = tuple(_known(schema, name) for name in named)
        text = " and ".join(condition.text for condition in conditions)
        values = [list(enumerate(schema[name].meanings)) for name in columns]
        count = math.prod(map(len, values))
        if count > MOST_COMBINATIONS:
            raise Stop("J504 combinations", condition=text, count=f"{count:,}", most=f"{MOST_COMBINATIONS:,}")
        nothing = {name: OneValue(0) for condition in conditions for name in condition.columns if name not in columns}
        meets = np.zeros(count, dtype=np.bool_)
        for index, coded in enumerate(product(*values)):
            if all(value is not None for _, value in coded):
                found = zip(columns, coded, strict=True)
                row = {**nothing, **{name: OneValue(value, schema[name], code) for name, (code, value) in found}}
                meets[index] = all(condition.compute(row) for condition in conditions)
        return cls(columns, meets.reshape([len(value) for value in values]), text)

    def gathered(
        self, schema: Schema, groups: Sequence[_Group], tally: Callable[[list[str]], Expression]
    ) -> Expression:
        """The cells of a tally by these columns and by groups, those that meet the conditions added up by group."""
        places = {group.column: group.places for group in groups}
        columns = list(dict.fromkeys([*places, *self.columns]))
        classes: dict[str, int | Iterable[int]] = {}
        firsts: list[list[int]] = []
        for column in columns:  # codes that are in one group, and meet the same, are one
            marks: list[Any] = list(places.get(column, (0,) * schema[column].size))
            if column in self.columns:
                alike = np.moveaxis(self.meets, self.columns.index(column), 0)
                marks = [(mark, met.tobytes()) for mark, met in zip(marks, alike, strict=True)]
            order = {mark: number for number, mark in enumerate(dict.fromkeys(marks))}
            classes[column] = [order[mark] for mark in marks]
            firsts.append([marks.index(mark) for mark in order])
        shape = tuple(len(group.axis) for group in groups)
        sums = []
        for codes in product(*firsts):
            cell = dict(zip(columns, codes, strict=True))
            place = 0
            for group in groups:
                place = place * len(group.axis) + group.places[cell[group.column]]
            sums.append(place if self.meets[tuple(cell[name] for name in self.columns)] else -1)
        return CellSums(tally(columns).coarsened(classes), sums, shape)


Narrowing = list[tuple[str, tuple[int, ...]]]
"""Columns, with the codes that rows must have in them."""


def _conditions(schema: Schema, where: Iterable[OfColumns]) -> tuple[Narrowing, list[OfColumns]]:
    """The conditions on single columns, and those on several at once."""
    kept: Narrowing = []
    several: list[OfColumns] = []
    for each in where:
        columns = tuple(name for name in each.columns if not _missing_axis(schema, name))
        if len(columns) > 1:
            several.append(each)
            continue
        if not columns:
            if not each.compute(dict.fromkeys(each.columns, OneValue(0))):
                kept.append((schema.names[0], ()))
            continue
        name = _known(schema, columns[0])
        meets = _each_code(schema, each, name)
        kept.append((name, tuple(code for code, truth in enumerate(meets) if truth)))
    return kept, several


def _tallied(groups: Sequence[_Group]) -> Expression:
    used = _by(groups)
    return cells(*(group.column for group in used)).coarsened({group.column: group.places for group in used})


def _by(groups: Sequence[_Group]) -> list[_Group]:
    """The groups that columns make, each column once."""
    used = [group for group in groups if group.column]
    if len({group.column for group in used}) < len(used):
        raise Stop("J504 group_twice")
    return used


def _of_persons(query: Query, schema: Schema, groups: Sequence[_Group]) -> Expression:
    if schema.person is None:
        raise Stop("J504 persons")
    if query.value is not None:
        raise Stop("J504 persons_of", written=query.value.text)
    found: Any = _tallied(groups)
    counted: Expression = evolve(found, persons=True)  # a tally, of any groups
    return counted


def _of_rows(query: Query, schema: Schema, groups: Sequence[_Group], combined: _Combined | None) -> Expression:
    if query.aggregate == "count":
        for name in query.value.columns if query.value else ():
            _known(schema, name)
        return _tallied(groups) if combined is None else combined.gathered(schema, _by(groups), lambda by: cells(*by))
    if query.aggregate != "sum":
        raise Stop(f"J215 {query.aggregate}", aggregate=query.aggregate)
    return _summed(query, schema, _by(groups), combined)


def _summed(query: Query, schema: Schema, groups: Sequence[_Group], combined: _Combined | None) -> Expression:
    value = query.value
    if value is None:
        raise Stop("J504 nothing_summed")
    if len(value.columns) != 1:
        raise Stop("J504 sum_of_columns", written=value.text)
    name = _known(schema, value.columns[0])
    numbers = [0 if each is None else each for each in _each_code(schema, value, name)]
    if not all(is_number(number) for number in numbers):
        raise Stop("J504 sum_of_texts", written=value.text, column=name)
    exact = [Fraction(number).limit_denominator(MOST_WEIGHT_DIGITS) for number in numbers]
    scale = 1
    for each in exact:
        scale = min(MOST_WEIGHT_DIGITS, math.lcm(scale, each.denominator))
    weights = [round(each * scale) for each in exact]
    most = max(1, *(abs(weight) for weight in weights))
    if any(group.column == name for group in groups):
        raise Stop("J504 sum_by_itself", column=name)
    if combined is None:
        tallied = sums(name, weights, most, by=[group.column for group in groups])
        found = tallied.coarsened({group.column: group.places for group in groups}) if groups else tallied
    elif name in combined.columns:
        raise Stop("J504 sum_and_condition", column=name, condition=combined.text)
    else:
        found = combined.gathered(schema, groups, lambda by: sums(name, weights, most, by=by))
    return found if scale == 1 else found / scale


def _of_cells(
    query: Query, schema: Schema, on_cells: Sequence[OfColumns], groups: Sequence[_Group], *, conditions: bool
) -> Expression:
    """An aggregate over the cells of all columns, each with its number of rows as `values`."""
    if query.value is not None and tuple(query.value.columns) != (CELL,):
        raise Stop("J504 of_cells", written=query.value.text)
    if query.value is not None and query.value.compute({CELL: OneValue(7)}) != 7:
        raise Stop("J504 computed_cells", written=query.value.text)
    cut = [_threshold(cell) for cell in on_cells]
    every = cells(*schema.names)
    if query.aggregate == "sum" and not cut:
        return _tallied(groups)
    if any(group.column for group in groups):
        raise Stop("J504 grouped_cells", aggregate=query.aggregate)
    if query.aggregate == "count":
        return _counted(every, cut, schema, conditions=conditions)
    if cut or (conditions and query.aggregate != "max"):
        raise Stop("J504 some_cells", aggregate=query.aggregate)
    if query.aggregate == "persons":
        raise Stop("J504 persons_in_cells")
    return {"max": largest, "min": smallest, "mean": mean_of_cells, "stddev": deviation}[query.aggregate](every)


def _threshold(condition: OfColumns) -> tuple[bool, Fraction]:
    """A condition on a cell's count: whether it is above a number, or not above it, and the number."""
    if condition.columns != (CELL,):
        raise Stop("J504 condition_on_cells", condition=condition.text)
    # Whole counts: find where the truth changes, once.
    low = bool(condition.compute({CELL: OneValue(0)}))
    top = 1
    while bool(condition.compute({CELL: OneValue(top)})) is low:
        top *= 2
        if top > 2**40:
            raise Stop("J504 same", condition=condition.text)
    bottom = top // 2
    while top - bottom > 1:
        middle = (top + bottom) // 2
        bottom, top = (middle, top) if bool(condition.compute({CELL: OneValue(middle)})) is low else (bottom, middle)
    if any(
        bool(condition.compute({CELL: OneValue(above)})) is low for above in (top + 1, 2 * top, 8 * top, top + 2**41)
    ):
        raise Stop("J504 threshold", condition=condition.text)
    return not low, Fraction(top - 1)


def _counted(
    every: Expression, cut: Sequence[tuple[bool, Fraction]], schema: Schema, *, conditions: bool
) -> Expression:
    if len(cut) != 1:
        raise Stop("J504 two_thresholds" if cut else "J504 all_cells")
    above, threshold = cut[0]
    counted = occupied(every, threshold)
    if above:
        return counted
    if conditions:
        raise Stop("J504 cells_below")
    return schema.size(*schema.names) - counted


def aggregated(name: str, number: PrivateNumber) -> PrivateNumber:
    """An aggregate over the groups of a private number."""
    if not number.groups:
        raise Stop("J504 single", name=name)
    made = {"sum": total, "max": largest, "min": smallest, "mean": mean_of_cells, "stddev": deviation}[name]
    return PrivateNumber(number.table, made(number.expression))


# Public facts


def fact_of(value: Any, name: str) -> Any:
    """A named part of a value."""
    if isinstance(value, TableValue):
        return fact_of_table(value, name)
    if isinstance(value, Features):
        if name not in value.seen:
            raise Stop("J503 metafeature", name=name)
        return value.seen[name]
    if (
        isinstance(value, Leaf | TreeNode)
        and name in {"pred", "size", "votes", "att", "children"}
        and hasattr(value, name)
    ):
        return getattr(value, name)
    if isinstance(value, KnownAttribute) and name in {"name", "values"}:
        return getattr(value, name)
    raise Stop("J503 part", kind=kind_of(value), name=name)


def fact_of_table(table: TableValue, name: str) -> Any:
    """A public fact of a table."""
    schema = table.schema
    if name == "attributes":
        return [attribute_of(schema, attribute) for attribute in schema.attributes]
    if name == "label":
        if schema.label is None:
            raise Stop("J503 label")
        return attribute_of(schema, schema.label)
    if name == "rows":
        if schema.rows is None:
            raise Stop("J503 rows")
        return schema.rows
    if name in schema:
        return attribute_of(schema, name)
    if name.endswith("_range"):
        return axis_size(schema, name.removesuffix("_range"))
    listed = ", ".join(schema.names[:8])
    raise Stop("J503 fact", name=name, columns=listed)
