"""Many boxes of a grid, in its cells or in the units of its columns.

In units: incomes from 20,000 to 50,000, one region, everything else whole. A box is exact or refused: an end inside a
bin would need a guess at how the bin's records lie, which no error bar of the answer tells.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from jostle.errors import OptionError, shown
from jostle.tables.columns import Categorical, Column, Numeric
from jostle.tables.regions import box_sums
from jostle.tables.schema import Schema

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
    return [_corners_of(schema, box) for box in boxes]


def _corners_of(schema: Schema, box: object) -> tuple[list[int], list[int]]:
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


Corners = NDArray[np.int64]
MOST_QUERIES = 2**24
"""Corners of more queries than this take more than a gigabyte."""


def _shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    sides = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if not sides or any(side < 1 for side in sides):
        raise OptionError(f"the shape {sides} is that of no grid", fix="at least one cell on every side")
    return tuple(map(int, sides))


def _corners(corners: ArrayLike) -> Corners:
    given = np.asarray(corners)
    if given.size and given.dtype.kind not in "iu":
        raise OptionError("the corners of a workload's boxes are not whole numbers")
    return np.ascontiguousarray(given, dtype=np.int64)


@frozen(eq=False, repr=False)
class Boxes:
    """Boxes: cells with low <= index < high on every axis.

    >>> Boxes.prefixes(4).answers(np.array([1, 2, 3, 4]))
    array([ 1.,  3.,  6., 10.])
    """

    shape: tuple[int, ...] = field(converter=_shape)
    low: Corners = field(converter=_corners)
    """A row per query, a column per axis."""
    high: Corners = field(converter=_corners)

    def __attrs_post_init__(self) -> None:
        """Refuse boxes that do not lie in the grid."""
        wanted = (len(self.low), len(self.shape))
        if self.low.shape != wanted or self.high.shape != wanted:
            raise OptionError(
                f"the corners of a workload have shapes {self.low.shape} and {self.high.shape}",
                why=f"a grid of {len(self.shape)} axes needs a row of {len(self.shape)} numbers per query, twice",
            )
        if not len(self.low):
            raise OptionError("the workload has no queries", fix="Workload.identity(shape)")
        outside = np.flatnonzero(np.any((self.low < 0) | (self.low >= self.high) | (self.high > self.shape), axis=1))
        if outside.size:
            box = f"{self.low[outside[0]].tolist()} to {self.high[outside[0]].tolist()}"
            raise OptionError(
                f"query {outside[0]} of the workload, from {box}, does not lie in the grid {self.shape}",
                why="0 <= low < high <= side on every axis; high is the first cell no longer inside",
            )

    @classmethod
    def identity(cls, shape: int | Sequence[int]) -> Self:
        """One query per cell, in row-major order."""
        sides = _shape(shape)
        _check_count(int(np.prod(sides, dtype=object)))
        low = np.indices(sides).reshape(len(sides), -1).T
        return cls(sides, low, low + 1)

    @classmethod
    def prefixes(cls, shape: int | Sequence[int]) -> Self:
        """For each cell the box from the first cell to it."""
        cells = cls.identity(shape)
        return cls(cells.shape, np.zeros_like(cells.low), cells.high)

    @classmethod
    def all_ranges(cls, shape: int | Sequence[int]) -> Self:
        """Every box there is."""
        sides = _shape(shape)
        _check_count(int(np.prod([side * (side + 1) // 2 for side in sides], dtype=object)))
        pairs = [np.triu_indices(side) for side in sides]
        chosen = np.indices([len(low) for low, _ in pairs]).reshape(len(sides), -1)
        low = np.stack([starts[index] for (starts, _), index in zip(pairs, chosen, strict=True)], axis=1)
        last = np.stack([ends[index] for (_, ends), index in zip(pairs, chosen, strict=True)], axis=1)
        return cls(sides, low, last + 1)

    @classmethod
    def random_ranges(cls, shape: int | Sequence[int], count: int = 2000, *, seed: int = 0) -> Self:
        """Boxes whose sides are uniform, from 1 to the grid's, each laid down uniformly where it fits.

        The seed is public, as the workload is.
        """
        sides = np.array(_shape(shape), dtype=np.int64)
        _check_count(count)
        generator = np.random.default_rng(seed)
        lengths = generator.integers(1, sides, size=(count, len(sides)), endpoint=True)
        low = generator.integers(0, sides - lengths, endpoint=True)
        return cls(tuple(sides.tolist()), low, low + lengths)

    @classmethod
    def boxes(
        cls, shape: int | Sequence[int], boxes: Iterable[tuple[int | Sequence[int], int | Sequence[int]]]
    ) -> Self:
        """The listed boxes, each given by its low corner and, one past the last cell, its high corner."""
        sides = _shape(shape)
        corners = [(np.atleast_1d(low), np.atleast_1d(high)) for low, high in boxes]
        if any(low.shape != (len(sides),) or high.shape != (len(sides),) for low, high in corners):
            raise OptionError(f"a box does not have {len(sides)} numbers per corner, one per axis of the grid")
        if not corners:
            raise OptionError("the workload has no queries", fix="Workload.identity(shape)")
        return cls(sides, np.stack([low for low, _ in corners]), np.stack([high for _, high in corners]))

    @classmethod
    def in_units(cls, schema: Schema, asked: Boxes | Asked) -> Self:
        """Boxes in the units of a schema's columns, each axis that is not named being whole.

        >>> from jostle.tables import Categorical, Numeric
        >>> schema = Schema({"income": Numeric(0, 100_000, bins=20), "ill": Categorical(["no", "yes"])})
        >>> Boxes.in_units(schema, [{"income": (20_000, 50_000)}, {"income": (None, 5_000), "ill": "yes"}])
        <Boxes of 2 ranges on a grid of 20 x 2>
        """
        shape = tuple(schema[name].size for name in schema.names)
        if not isinstance(asked, Boxes):
            return cls.boxes(shape, corners_of(schema, asked))
        if asked.shape != shape:
            raise OptionError(
                f"the workload is for a grid of shape {asked.shape}, but the table's is {shape}",
                why="the table's columns are the grid's axes, in the schema's order",
            )
        return asked if isinstance(asked, cls) else cls(asked.shape, asked.low, asked.high)

    def __len__(self) -> int:
        return len(self.low)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} ranges on a grid of {' x '.join(map(str, self.shape))}>"

    def answers(self, cells: ArrayLike) -> NDArray[np.float64]:
        """The sum of the cells in each box, by a summed-area table."""
        grid = np.asarray(cells, dtype=np.float64)
        if grid.shape != self.shape:
            raise OptionError(f"the workload is for a grid of shape {self.shape}, not {grid.shape}")
        answers: NDArray[np.float64] = box_sums(grid, self.low, self.high)
        return answers

    def sizes(self) -> NDArray[np.float64]:
        """How many cells each box has."""
        sizes: NDArray[np.float64] = np.prod(self.high - self.low, axis=1, dtype=np.float64)
        return sizes

    def sample(self, count: int) -> Self:
        """At most so many of the queries, spread evenly over the list."""
        if len(self) <= count:
            return self
        chosen = np.linspace(0, len(self) - 1, count).round().astype(np.int64)
        return type(self)(self.shape, self.low[chosen], self.high[chosen])

    def coverage(self) -> NDArray[np.bool_]:
        """For a sample only, which cells each query holds: queries by cells in row-major order."""
        inside = np.ones((len(self), 1), dtype=np.bool_)
        for axis, side in enumerate(self.shape):
            index = np.arange(side)
            along = (index >= self.low[:, axis, None]) & (index < self.high[:, axis, None])
            inside = (inside[:, :, None] & along[:, None, :]).reshape(len(self), -1)
        return inside


def _check_count(count: int) -> None:
    if count > MOST_QUERIES:
        raise OptionError(
            f"{count:,} queries are more than the {MOST_QUERIES:,} that are held at once",
            fix="Workload.random_ranges(shape, 2000)",
        )
