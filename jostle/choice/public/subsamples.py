"""Which parts of public databases makers learn from, if nobody says otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import prod

from jostle.choice.public.databases import PublicDatabase, PublicGrid, PublicTable
from jostle.choice.public.instances import possible_rows
from jostle.choice.public.specs import GridSpec, Spec, TableSpec

__all__ = ["CUTS", "RECORDS", "ROWS", "SHAPES", "default_jobs"]

ROWS = (300, 1000, 3000, 10000)
"""Numbers of rows that are learned from, where a table has them, beside all it has."""
CUTS = 3
"""How often a whole table is cut into rows to learn from and rows to score on, each time by another seed."""
RECORDS = (1000, 10_000, 100_000, 1_000_000)
"""Numbers of records that are drawn from a grid's shape: together with the budgets, all that matters of scale."""
SHAPES = {1: ((1024,), (4096,)), 2: ((64, 64), (128, 128))}
"""Shapes that grids are coarsened to, where their sides allow it; others are taken as they are."""
MOST_CELLS = 2**14
"""Larger grids are not rehearsed on as they are: the slowest Options would take minutes."""


def default_jobs(databases: Iterable[PublicDatabase], axes: Collection[int] = ()) -> list[tuple[PublicDatabase, Spec]]:
    """Return the instances of public databases to be rehearsed on; of grids, only those with so many axes, if said."""
    return [
        (database, spec)
        for database in databases
        if not axes or not isinstance(database, PublicGrid) or len(database.shape) in axes
        for spec in _specs(database)
    ]


def _specs(database: PublicDatabase) -> Iterator[Spec]:
    if isinstance(database, PublicTable):
        for rows in possible_rows(database, ROWS):
            yield from (TableSpec(rows=rows, seed=seed) for seed in range(CUTS if rows is None else 1))
    else:
        for shape in _shapes(database):
            for records in RECORDS:
                yield GridSpec(records=records, shape=shape)


def _shapes(grid: PublicGrid) -> list[tuple[int, ...] | None]:
    fitting: list[tuple[int, ...] | None] = [
        shape
        for shape in SHAPES.get(len(grid.shape), ())
        if all(whole % side == 0 for whole, side in zip(grid.shape, shape, strict=True))
    ]
    if not fitting and prod(grid.shape) <= MOST_CELLS:
        return [None]
    return fitting
