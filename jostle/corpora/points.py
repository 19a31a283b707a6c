"""Make grids of points: how many fall into each cell of a map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.corpora.databases import ArrayCells, PublicGrid, whole_counts
from jostle.errors import CorpusError
from jostle.tables.encode import Cells
from jostle.tables.frames import frame_columns
from jostle.tables.guard import guarded
from jostle.tables.origins import check_public, read_public
from jostle.tables.readers import header, read_columns
from jostle.tables.values import as_numbers, by_type, chunks, plain

__all__ = ["FilePoints", "points_grid"]


@frozen
class FilePoints:
    """Counts of a file's points in the cells of a grid."""

    path: Path
    columns: tuple[str, ...]
    shape: tuple[int, ...]

    def read(self) -> NDArray[np.int64]:
        """The counts."""
        content = read_public(self.path)
        names = header(content)
        absent = next((name for name in self.columns if name not in names), None)
        if absent is not None:
            raise CorpusError(f"the file {self.path} has no column {absent!r}")
        with guarded(f"the file {self.path} cannot be read as points"):
            return _counts(list(read_columns(content, self.columns).values()), self.shape, f"the file {self.path}")


def points_grid(
    source: Any, shape: tuple[int, ...], *, columns: tuple[str, ...] = ("lon", "lat"), name: str = "points"
) -> PublicGrid:
    """The grid of a file's or a dataframe's points: cells of equal sides between the least and the greatest.

    Points without a number for every column are left out. A file's grid is called like the file.

    >>> import pyarrow as pa
    >>> points_grid(pa.table({"lon": [0, 0, 9], "lat": [0, 1, 1]}), (2, 2)).counts.tolist()
    [[1, 1], [0, 1]]
    """
    if len(columns) != len(shape):
        raise CorpusError(f"the shape {shape} has not one side for each of {len(columns)} columns")
    if isinstance(source, str | Path):
        path = Path(source)
        stem = path.name.partition(".")[0]
        return PublicGrid(stem, FilePoints(path.absolute(), tuple(columns), tuple(shape)))
    check_public(source)
    found, _ = frame_columns(source, tuple(columns))
    return PublicGrid(name, ArrayCells(_counts([found[column] for column in columns], tuple(shape), name)))


def _counts(columns: list[Cells], shape: tuple[int, ...], name: str) -> NDArray[np.int64]:
    points = np.stack([_numbers(cells) for cells in columns], axis=1) if columns else np.empty((0, len(shape)))
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        raise CorpusError(f"{name} has no points")
    low, high = points.min(axis=0), points.max(axis=0)
    # Where all points are at one place along an axis, they are in its first cell.
    bounds = [(first, last if last > first else first + 1.0) for first, last in zip(low, high, strict=True)]
    counts, _ = np.histogramdd(points, bins=list(shape), range=bounds)
    return whole_counts(counts, name)


def _numbers(cells: Cells) -> NDArray[np.float64]:
    if isinstance(cells, list):
        numbers = np.full(len(cells), np.nan)
        for places, values in by_type(cells):
            numbers[places] = as_numbers(values)
        return numbers
    return np.concatenate([as_numbers(plain(chunk)) for chunk in chunks(cells)] or [np.empty(0)])
