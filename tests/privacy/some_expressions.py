"""Private expressions made up for tests, and the slow, obvious way to compute and to compare them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, Literal

import numpy as np
from attrs import frozen
from hypothesis import strategies as st
from numpy.typing import NDArray

from jostle import Categorical, Numeric, Schema
from jostle.privacy.expressions import (
    Above,
    Along,
    CellSums,
    Deviation,
    Extreme,
    FarFromFlat,
    Mean,
    Total,
    cells,
    known_of,
    sums,
)
from jostle.privacy.expressions import rows as all_rows
from jostle.privacy.mechanisms import evaluated, stack_of
from jostle.privacy.nodes import Absolute, Cell, Clamped, Expression, Scaled, Shifted, Sum, Tally
from jostle.privacy.sensitivity import Change, Numbers
from jostle.tables.block import Block
from jostle.tables.schema import Neighbours

SIZES = {"a": 2, "b": 3, "c": 1}
ROWS = list(product(*(range(size) for size in SIZES.values())))
"""Every row there can be, in codes."""

Row = tuple[int, ...]
Array = NDArray[Any]


def tiny(neighbours: Neighbours = "add_remove") -> Schema:
    """Return a schema with six different rows."""
    columns = {name: Categorical([f"{name}{code}" for code in range(size)]) for name, size in SIZES.items()}
    return Schema(columns, label="a", neighbours=neighbours)


def tiny_numbers(neighbours: Neighbours = "add_remove") -> Schema:
    """Return the same, but that the second column is of numbers: 0 or 1, or none."""
    columns = {**dict(tiny().columns), "b": Numeric(0, 1.5, edges=[0, 1, 1.5], missing="value", unit=0.25)}
    return Schema(columns, label="a", neighbours=neighbours)


def tables(most: int) -> list[tuple[Row, ...]]:
    """Return every table of at most so many rows, up to the order of its rows."""
    return [rows for count in range(most + 1) for rows in combinations_with_replacement(ROWS, count)]


def tally_of(rows: tuple[Row, ...], expression: Expression, schema: Schema) -> NDArray[np.int64]:
    """Return what the kernel finds in these rows."""
    kernel = stack_of((expression,), schema)
    codes = np.array(rows, dtype=np.uint8).reshape(len(rows), len(SIZES))
    block = Block({name: codes[:, place] for place, name in enumerate(SIZES)}, len(rows))
    totals = np.zeros(kernel.cells(schema), dtype=np.int64)
    kernel.add(block, schema, totals)
    return totals


def by_table(expression: Expression, schema: Schema, most: int) -> dict[tuple[Row, ...], Array]:
    """Return the expression's numbers, in units of 1/denominator, for every small table, by the code that runs.

    Rows are tallied one at a time and their tallies added, which is what kernels are: sums over rows.
    """
    single = {row: tally_of((row,), expression, schema) for row in ROWS}
    empty = tally_of((), expression, schema)
    found = {}
    for rows in tables(most):
        tally = sum((single[row] for row in rows), empty)
        (numbers,) = evaluated((expression,), tally, schema)
        found[rows] = numbers.array.reshape(-1)
    return found


@frozen
class Met:
    """How an expression was seen to change: the true counterpart of a `Change`, as far as small tables show it."""

    entries: Array
    """One row per table and row that enters."""
    swaps: Array


def changes(values: dict[tuple[Row, ...], Array]) -> Met:
    """Return all changes between small tables, a row entering or becoming another."""
    entries, swaps = [], []
    longest = max(map(len, values))
    for rows, value in values.items():
        if len(rows) == longest:
            continue
        after = [values[tuple(sorted((*rows, row)))] for row in ROWS]
        entries += [each - value for each in after]
        swaps += [other - each for each in after for other in after]
    return Met(np.array(entries), np.array(swaps))


def within(met: Array, bound: Change, denominator: int) -> dict[str, bool]:
    """Return, bound by bound, whether what was met keeps to it."""
    ups, downs = np.maximum(met, 0), np.maximum(-met, 0)
    totals, moved = met.sum(axis=1), np.abs(met).sum(axis=1)
    return {
        "low": int(met.min()) >= bound.low * denominator,
        "high": int(met.max()) <= bound.high * denominator,
        "up": int(ups.sum(axis=1).max()) <= bound.up * denominator,
        "down": int(downs.sum(axis=1).max()) <= bound.down * denominator,
        "moved": int(moved.max()) <= bound.moved * denominator,
        "total_low": int(totals.min()) >= bound.total_low * denominator,
        "total_high": int(totals.max()) <= bound.total_high * denominator,
        "cells_up": int((met > 0).sum(axis=1).max()) <= bound.cells_up,
        "cells_down": int((met < 0).sum(axis=1).max()) <= bound.cells_down,
    }


def widest(met: Met, neighbours: Neighbours, denominator: int) -> Fraction:
    """Return the largest change met, summed over cells, between neighbours of a table or of a part."""
    seen = [met.entries] if neighbours == "add_remove" else [met.entries, met.swaps]
    return Fraction(max(int(np.abs(each).sum(axis=1).max()) for each in seen), denominator)


# The slow way


def slow(  # noqa: C901, PLR0911 - one per kind of node
    expression: Expression, rows: tuple[Row, ...], schema: Schema
) -> dict[tuple[int, ...], Fraction]:
    """Return the numbers of an expression by its definition: one per cell, by place."""
    found: Any = expression
    parts = [slow(part, rows, schema) for part in expression.parts]
    match found:
        case Tally():
            return _slow_tally(found, rows)
        case Scaled():
            return {place: found.by * each for place, each in parts[0].items()}
        case Shifted():
            return {place: each + found.by for place, each in parts[0].items()}
        case Sum():
            return {place: sum((part[place] for part in parts), Fraction(0)) for place in parts[0]}
        case Absolute():
            return {place: abs(each) for place, each in parts[0].items()}
        case Clamped():
            return {place: min(max(each, found.low), found.high) for place, each in parts[0].items()}
        case Along():
            lines: dict[tuple[int, ...], list[Fraction]] = {}
            for place, each in parts[0].items():
                lines.setdefault(place[: found.axis] + place[found.axis + 1 :], []).append(each)
            ways: dict[str, Callable[[list[Fraction]], Fraction | int]] = {"sum": sum, "max": max, "min": min}
            how = ways[found.how]
            return {place: Fraction(how(line)) for place, line in lines.items()}
        case CellSums():
            sums = dict.fromkeys(product(*map(range, found.shape)), Fraction(0))
            for number, each in zip(found.sums, parts[0].values(), strict=True):
                if number >= 0:
                    sums[list(sums)[number]] += each
            return sums
    return {(): _slow_number(found, [list(part.values()) for part in parts], parts)}


def _slow_number(  # noqa: PLR0911 - one per kind of node
    found: Any, parts: list[list[Fraction]], placed: list[dict[tuple[int, ...], Fraction]]
) -> Fraction:
    every = [each for part in parts for each in part]
    mean = sum(every, Fraction(0)) / len(every)
    match found:
        case Total():
            return sum(every, Fraction(0))
        case Mean():
            return mean
        case Cell():
            return placed[0][found.place]
        case Extreme():
            return max(every) if found.how == "max" else min(every)
        case Above():
            return Fraction(sum(each > found.threshold for each in every))
        case FarFromFlat():
            return sum((abs(each - mean) for each in every), Fraction(0))
        case Deviation():
            square = sum(((each - mean) ** 2 for each in every), Fraction(0)) / len(every)
            return Fraction(math.isqrt(math.floor(square * 4**found.bits)), 2**found.bits)
    raise TypeError(found)


def _slow_tally(found: Tally, rows: tuple[Row, ...]) -> dict[tuple[int, ...], Fraction]:
    names = list(SIZES)

    def group(name: str, code: int) -> int:
        for column, groups in found.coarse:
            if column == name:
                code = code // groups if isinstance(groups, int) else groups[code]
        return code

    sides = [range(max(group(name, code) for code in range(SIZES[name])) + 1) for name in found.columns]
    counted: Counter[tuple[int, ...]] = Counter()
    for row in rows:
        codes = dict(zip(names, row, strict=True))
        if all(codes[name] in values or f"{name}{codes[name]}" in values for name, values in found.conditions):
            weight = 1 if found.weighted is None else found.weights[codes[found.weighted]]
            counted[tuple(group(name, codes[name]) for name in found.columns)] += weight
    return {place: Fraction(counted[place]) for place in product(*sides)}


# Expressions of all kinds

numbers = st.fractions(-3, 3, max_denominator=4)
COLUMNS: list[tuple[str, ...]] = [(), ("a",), ("b",), ("c",), ("a", "b"), ("b", "a"), ("a", "b", "c")]


@st.composite
def leaves(draw: st.DrawFn, columns: tuple[str, ...] | None = None) -> Expression:
    """Return a tally: plain, weighted, under conditions, coarsened."""
    names = draw(st.sampled_from(COLUMNS)) if columns is None else columns
    tally = cells(*names)
    if draw(st.booleans()):
        weights = draw(st.lists(st.integers(-3, 3), min_size=3, max_size=3))
        tally = sums("b", weights, draw(st.integers(1, 3)), by=names)
    for name in draw(st.lists(st.sampled_from(["a", "b"]), max_size=2)):
        code = draw(st.integers(0, SIZES[name] - 1))
        value = code if draw(st.booleans()) else f"{name}{code}"
        tally = tally.where(name, value, 0)
    if columns is None and draw(st.booleans()):
        coarse: list[int | tuple[int, ...]] = [2, (0, 1, 0), (1, 1, 0), (0, 0, 0)]
        tally = tally.coarsened({"b": draw(st.sampled_from(coarse))})
    return tally


@st.composite
def vectors(  # noqa: PLR0911 - one per kind of node
    draw: st.DrawFn, depth: int = 2, columns: tuple[str, ...] | None = None
) -> Expression:
    """Return an expression that may have several cells; with *columns*, one axis for each of these."""
    kinds = ["leaf", "scaled", "shifted", "sum", "difference", "absolute", "clamped", "along", "gathered"]
    kind = draw(st.sampled_from(kinds if columns is None else kinds[:-2])) if depth else "leaf"
    if kind == "leaf":
        return draw(leaves(columns))
    if kind in {"sum", "difference"}:
        names = draw(st.sampled_from(COLUMNS)) if columns is None else columns
        left, right = draw(vectors(depth - 1, names)), draw(vectors(depth - 1, names))
        return left + right if kind == "sum" else left - draw(numbers) * right
    if kind == "along":
        names = draw(st.sampled_from([("a", "b"), ("b", "a"), ("a", "b", "c")]))
        ways: list[Literal["sum", "max", "min"]] = ["sum", "max", "min"]
        return Along(draw(vectors(depth, names)), draw(st.sampled_from(ways)), draw(st.integers(0, len(names) - 1)))
    if kind == "gathered":
        shape = draw(st.sampled_from([(), (2,), (1, 3)]))
        places = st.integers(-1, math.prod(shape) - 1)
        return CellSums(draw(vectors(depth, ("b", "a"))), draw(st.lists(places, min_size=6, max_size=6)), shape)
    of = draw(vectors(depth - 1, columns))
    if kind == "scaled":
        return of * draw(numbers)
    if kind == "shifted":
        return of - draw(numbers)
    if kind == "absolute":
        return abs(of - draw(st.integers(0, 2)))
    low, high = sorted([draw(numbers), draw(numbers)])
    return of.clamped(low, high)


@st.composite
def scalars(draw: st.DrawFn, depth: int = 2) -> Expression:  # noqa: PLR0911 - one per kind of node
    """Return an expression that is one number."""
    kinds = ["total", "mean", "extreme", "above", "far", "deviation", "arithmetic", "extremes"]
    kind = draw(st.sampled_from(kinds if depth else kinds[:-2]))
    if kind == "arithmetic":
        first, second = draw(scalars(depth=depth - 1)), draw(scalars(depth=depth - 1))
        return abs(draw(numbers) * first - second) + draw(numbers)
    if kind == "extremes":
        items = draw(st.lists(scalars(depth=0), min_size=1, max_size=3))
        return draw(st.sampled_from([Mean(items), Extreme(items, "max"), Extreme(items, "min")]))
    of = draw(vectors())
    if kind == "mean":
        return Mean((of,))
    if kind == "extreme":
        return Extreme((of, draw(leaves())), draw(st.sampled_from(["max", "min"])))
    if kind == "above":
        return Above(of, draw(numbers))
    if kind == "deviation":
        return Deviation(of, draw(st.sampled_from([0, 3, 20])))
    return Total(of) if kind == "total" else FarFromFlat(of)


def some(rows: int, seed: int) -> Iterator[tuple[Row, ...]]:
    """Yield a few larger tables."""
    generator = np.random.default_rng(seed)
    for _ in range(3):
        yield tuple(ROWS[place] for place in generator.integers(0, len(ROWS), rows))


@frozen
class Own(Expression):
    """Claims to change by nothing."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()

    def with_parts(self, parts: tuple[Expression, ...]) -> Expression:
        return self

    def known(self, schema: Schema, *parts: Any) -> Any:
        return known_of(all_rows().clamped(0, 0), schema)

    def value(self, *parts: Numbers) -> Numbers:
        return Numbers(np.array(0))
