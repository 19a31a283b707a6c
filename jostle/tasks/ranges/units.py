"""Boxes of a grid in the units of its columns: incomes from 20,000 to 50,000, one region, everything else whole.

A box is exact or refused: an end inside a bin would need a guess at how the bin's records lie, which no error bar of
the answer tells.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.errors import OptionError, shown
from jostle.tables.columns import Categorical, Column, Numeric
from jostle.tables.schema import Schema

__all__ = ["Asked", "Box", "bins_at", "corners_of", "edges_of"]

Box = Mapping[str, Any]
"""By the column's name, two numbers, or None for an end that is open; of a categorical column, values."""
Asked = Box | Sequence[Box]
CLOSE = 1e-9
"""Of a bin's width: what is so close to an edge is the edge, written in decimals."""
MOST_BINS = 2**24
"""An axis of more is not held as an array."""


def corners_of(schema: Schema, asked: Asked) -> list[tuple[list[int], list[int]]]:
    """The low and high corners, in cells, of a box or several; refuse what is no box of the schema's grid."""
    boxes = [asked] if isinstance(asked, Mapping) else asked
    if not isinstance(boxes, list | tuple):
        raise _no_box(boxes, schema)
    return [_corners(schema, box) for box in boxes]


def _corners(schema: Schema, box: object) -> tuple[list[int], list[int]]:
    if not isinstance(box, Mapping):
        raise _no_box(box, schema)
    unknown = next((name for name in box if name not in schema), None)
    if unknown is not None:
        raise OptionError(
            f"the grid has no column {shown(unknown)}", fix=f"one of {', '.join(map(shown, schema.names))}"
        )
    spans = [_span(name, schema[name], box[name]) if name in box else (0, schema[name].size) for name in schema.names]
    return [low for low, _ in spans], [high for _, high in spans]


def _no_box(given: object, schema: Schema) -> OptionError:
    name = schema.names[0]
    column = schema[name]
    ends = f"({column.low:g}, {column.high:g})" if isinstance(column, Numeric) else shown(column.values[0])
    return OptionError(
        f"{shown(given)} says no ranges", fix=f'{{"{name}": {ends}}}, a list of such, or Workload.random_ranges(shape)'
    )


def _span(name: str, column: Column, wanted: Any) -> tuple[int, int]:
    return _values(name, column, wanted) if isinstance(column, Categorical) else _range(name, column, wanted)


def _values(name: str, column: Categorical, wanted: Any) -> tuple[int, int]:
    """The codes of one value, or of several that stand beside one another in the schema."""
    values = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
    known = {label: code for code, label in enumerate(column.labels)}
    for value in values:
        if str(value) not in known:
            raise OptionError(f"{name} has no value {shown(value)}", fix=f"one of {', '.join(map(shown, known))}")
    codes = sorted({known[str(value)] for value in values})
    if not codes:
        raise OptionError(f"no values of {name} are named", fix="leave the column out for all of them")
    if codes[-1] - codes[0] >= len(codes):
        raise OptionError(
            f"the values {', '.join(map(shown, values))} of {name} do not stand beside one another in the schema",
            why="a query is a box of neighbouring cells",
            fix="ask for each by a box of its own, and add the answers up",
        )
    return codes[0], codes[-1] + 1


def _range(name: str, column: Numeric, wanted: Any) -> tuple[int, int]:
    if isinstance(wanted, str) or not isinstance(wanted, Sequence) or len(wanted) != 2:
        raise OptionError(f"{name} is from {shown(wanted)}", fix=f'{{"{name}": ({column.low:g}, {column.high:g})}}')
    first, last = wanted
    low = 0 if first is None else _edge(name, column, first)
    high = column.bin_count if last is None else _edge(name, column, last)
    if low >= high:
        raise OptionError(
            f"the range of {name} from {shown(first)} to {shown(last)} is empty", fix="the lower end first"
        )
    return low, high


def _edge(name: str, column: Numeric, end: object) -> int:
    """The number of the edge that an end of a range is; refuse one inside a bin, with the edges beside it."""
    if isinstance(end, bool) or not isinstance(end, Real) or not math.isfinite(end):
        raise OptionError(f"an end of the range of {name} is {shown(end)}, not a number", fix="20_000, or None")
    number = float(end)
    below = min(max(_bin_of(column, number), 0), column.bin_count - 1)
    edges = edges_of(column, np.array([below, below + 1])).tolist()
    width = edges[1] - edges[0]
    for step, edge in enumerate(edges):
        if abs(number - edge) <= CLOSE * width:
            return below + step
    if not float(column.low) <= number <= float(column.high):
        raise OptionError(
            f"{end} is out of the bounds of {name}", fix=f"from {column.low:g} to {column.high:g}, or None"
        )
    raise OptionError(
        f"{end} lies inside a bin of {name}",
        why="how the records of a bin lie in it was not asked of the data",
        fix=f"{edges[0]:.12g} or {edges[1]:.12g}; or a schema with an edge there",
    )


def _bin_of(column: Numeric, number: float) -> int:
    """The bin that a number is in, about: it may be the one before or after where it is an edge."""
    if column.edges:
        return bisect_left(column.edges, number) - 1
    low, width = float(column.low), float(column.high) - float(column.low)
    place = (number - low) / width * column.bin_count
    return math.floor(min(max(place, -1.0), float(column.bin_count)))


def edges_of(column: Numeric, places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The edges with these numbers, from 0 to the number of bins."""
    if column.edges:
        return np.array(column.edges)[places]
    low, width = float(column.low), float(column.high) - float(column.low)
    # The same steps as for `cut_points`, so that they are the same to the last digit.
    found = low + width * places.astype(np.float64) / column.bin_count
    return np.where(places == column.bin_count, float(column.high), found)


def bins_at(column: Numeric, codes: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the bins of codes begin and end; not-a-number for those that stand for no range."""
    inside = codes < column.bin_count
    bins = np.where(inside, codes, 0)
    low, high = edges_of(column, bins), edges_of(column, bins + 1)
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)
