"""Publishers of rows on one grid: picked from a pool (PrivPfC), or made finer step by step (DiffGen).

*DiffGen.* Mohammed, Chen, Fung, Yu. Differentially private data release for data mining. KDD 2011. All columns begin as
a single group. Each step splits one group of one column into those below it in its taxonomy (bins: into the halves of
`Numeric.levels`), the one below which the commonest classes have the most rows; then the cells are counted. Where the
paper draws a number's cut and picks among columns apart, bins have a public taxonomy here, and one pick does.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import rows_share
from jostle.options.publishing.base import Caution, Publisher, few, noise_scale, own_groups, published_grid
from jostle.parameters import share, whole
from jostle.privacy.amounts import show_amount
from jostle.privacy.column_scores import LARGEST_SCALE, GridQuality
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import MajoritiesBelow
from jostle.tables.pools import GridCounts, Layer, Pool
from jostle.tables.schema import Schema
from jostle.tasks.publishing import Published

MOST_COUNTED = 2**23
"""Cells of all grids together, by class: more are not counted at once."""


def pool_of(schema: Schema, most_cells: int, most_grids: int) -> Pool:
    """The grids of at most so many cells, by size, until there are so many grids; among equal ones, any.

    Cells are by class. A grid takes one level of each attribute, its taxonomy cut at some depth, or bins put together
    two by two; or it is not about the attribute. The coarsest of all, about the label alone, is always there.
    """
    levels = {name: schema[name].levels for name in schema.attributes}
    sides = tuple(tuple(max(level) + 1 for level in own) for own in levels.values())
    taken = _smallest(sides, max(1, most_cells), most_grids, MOST_COUNTED // max(1, len(schema.classes)))
    # The first level of an attribute puts all together.
    cut = [np.array(own[1:], dtype=np.int64).reshape(-1, schema[name].size) for name, own in levels.items()]
    label = schema.label or ""
    return Pool(
        (*schema.attributes, label),
        (*cut, np.array([own_groups(schema, label)], dtype=np.int64)),
        np.array([(*(level - 1 for level in grid), 0) for grid in taken], dtype=np.int64),
    )


@lru_cache(maxsize=64)
def _smallest(
    sides: tuple[tuple[int, ...], ...], most_cells: int, most_grids: int, most_counted: int
) -> tuple[tuple[int, ...], ...]:
    """Which level of each column the smallest grids take: a walk from the coarsest, one level finer at a time.

    A grid is come to from one other alone: the one that is coarser in its last column that is not at its coarsest.
    """
    start = (0,) * len(sides)
    waiting = [(1, 0, start, 0)]
    smallest: list[tuple[int, ...]] = []
    counted = 0
    while waiting and len(smallest) < most_grids:
        size, _, grid, last = heapq.heappop(waiting)
        counted += size
        if counted > most_counted and smallest:
            break
        smallest.append(grid)
        for place in range(last, len(sides)):
            level = grid[place] + 1
            if level < len(sides[place]):
                finer = (*grid[:place], level, *grid[place + 1 :])
                wider = size // sides[place][level - 1] * sides[place][level]
                if wider <= most_cells:
                    # The hash settles which of equally large ones come first: not the order of the columns.
                    heapq.heappush(waiting, (wider, hash(finer), finer, place))
    return tuple(smallest)


PER_CELL = 5
"""A grid has at most one cell for so many rows times epsilon: the paper's T = 0.2 N epsilon."""
FEW = 4
"""With fewer cells than this to a grid, next to nothing can be told."""


@option
@frozen(kw_only=True)
class PrivPfC(Publisher):
    """One grid out of many by a private pick, then its counts by class.

    Privacy: the number of rows by `AddNoise`, unless it is known; which grids are in the pool follows from public facts
    and that number; a pick by `GridQuality`, whose span is proved there for both neighbour relations and any number of
    classes; the grid's counts by `AddNoise`. In turn these cost epsilon, under add_remove and replace_one.

    Su, Cao, Li, Lyu. PrivPfC: differentially private data publication for classification. VLDB Journal 27, 2018. A grid
    puts each attribute's values together by a taxonomy (`Categorical(taxonomy=...)`), or bins by twos; left out
    altogether, an attribute is one group. One pick by `GridQuality` chooses the grid, which is then counted by class,
    with noise.
    """

    pool: int = whole(10_000, least=1)
    """How many grids to pick from."""
    rows_share: Fraction = share("3/100")
    """Part of epsilon that buys the number of rows, unless it is public."""
    grid_share: Fraction = share("37/97")
    """Part of the rest that picks the grid; the other counts its cells."""
    paper = "Su, Cao, Li, Lyu, VLDB Journal 2018"

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        if reason := super().hopeless(schema, epsilon, rows):
            return reason
        left = epsilon * (1 - rows_share(rows, self.rows_share))
        if self._scale(schema, left) > LARGEST_SCALE:  # with next to no share of it for counts
            return f"epsilon {show_amount(epsilon)} is too little for counts of even one cell"
        if rows is not None and self._most_cells(left, rows) < 1:
            return f"{rows:,} rows at epsilon {show_amount(left)} are too few for a grid of even one cell"
        return None

    def caution(self, schema: Schema, left: Fraction, rows: int) -> str:
        """A caution that grids can have next to no cells, if so."""
        most = self._most_cells(left, rows)
        if most < FEW:
            return f"{few(rows)} at this epsilon: grids of at most {most} cells can be told from noise"
        return ""

    def run(self, db: Probe, epsilon: Fraction, told: Caution | None = None) -> Published:
        """The rows that the noisy cells of the picked grid stand for."""
        schema = db.schema
        rows, left, drowns = self.counted(db, epsilon, self.rows_share, told)
        counts_cost = left * (1 - self.grid_share)
        scale = self._scale(schema, left)
        pool = pool_of(schema, self._most_cells(left, rows), self.pool)
        picked = db.pick(GridQuality(pool, scale), left - counts_cost, site="grid")
        grid = Pool(pool.columns, pool.levels, pool.taken[picked : picked + 1])
        noisy = db.measure(GridCounts(grid), counts_cost, site="counts")
        made = published_grid(schema, grid, noisy)
        return evolve(made, made_by=self.name, epsilon=epsilon, caution=drowns)

    def _scale(self, schema: Schema, left: Fraction) -> Fraction:
        """The scale of the noise on a cell."""
        return (1 if schema.neighbours == "add_remove" else 2) / (left * (1 - self.grid_share))

    def _most_cells(self, left: Fraction, rows: int) -> int:
        return round(rows * left * (1 - self.grid_share) / PER_CELL)


Codes = tuple[int, ...]
Levels = tuple[tuple[int, ...], ...]
"""Of a column: at each, the group of each code."""

MOST_CELLS = 2**20
"""Of the grid, by class: a split that would give more is not offered."""


@frozen
class GroupedCodes:
    """Codes of a column that are one group so far."""

    column: str
    codes: Codes
    level: int
    """The last of the column's levels that leaves them together."""

    def children(self, levels: Levels) -> tuple[GroupedCodes, ...]:
        """What it is split into, the next of its column's levels at which it is; nothing where it never is."""
        for place in range(self.level + 1, len(levels)):
            groups: dict[int, list[int]] = {}
            for code in self.codes:
                groups.setdefault(levels[place][code], []).append(code)
            if len(groups) > 1:
                return tuple(GroupedCodes(self.column, tuple(codes), place) for codes in groups.values())
        return ()


@option
@frozen(kw_only=True)
class DiffGen(Publisher):
    """A grid that is specialised from the top, by picks, then its counts by class.

    Privacy: each of so many picks by `MajoritiesBelow` at its part of epsilon, then the grid's counts by `AddNoise` at
    the rest. Which splits are offered follows from public facts and earlier picks. In turn these cost epsilon, under
    add_remove and replace_one. The number of rows is not needed.
    """

    steps: int = whole(8, least=1)
    """How many groups are split, where there are so many."""
    split_share: Fraction = share("1/2")
    """Part of epsilon that the picks share; the rest counts the cells."""
    paper = "Mohammed, Chen, Fung, Yu, KDD 2011"

    def caution(self, schema: Schema, left: Fraction, rows: int) -> str:
        """A caution that even the least grid of so many splits has cells that drown in noise, if so."""
        cells = len(schema.classes) * (self.steps + 1)
        if rows < cells * noise_scale(schema, left * (1 - self.split_share)):
            return f"{few(rows)} at this epsilon: {self.steps} splits give cells that hold less than the noise"
        return ""

    def run(self, db: Probe, epsilon: Fraction, told: Caution | None = None) -> Published:
        """The rows that the noisy cells of the last grid stand for.

        Where their number is not known, it is once the cells are counted: then there is nothing left to be cautious of.
        """
        schema = db.schema
        levels = {name: schema[name].levels for name in schema.attributes}
        cut = {name: [GroupedCodes(name, tuple(range(schema[name].size)), 0)] for name in schema.attributes}
        each = epsilon * self.split_share / self.steps
        spent = Fraction(0)
        for step in range(self.steps):
            offered = list(_splits(schema, cut, levels))
            if not offered:
                break
            picked = 0
            if len(offered) > 1:
                layers = [_layer(schema, node, children) for node, children in offered]
                picked = db.pick(MajoritiesBelow(layers), each, site=f"split {step + 1}")
                spent += each
            node, children = offered[picked]
            place = cut[node.column].index(node)
            cut[node.column][place : place + 1] = children
        grid = _grid(schema, cut)
        noisy = db.measure(GridCounts(grid), epsilon - spent, site="counts")
        made = published_grid(schema, grid, noisy)
        rows = max(int(noisy.sum()), 1) if db.rows is None else db.rows
        caution = self.caution(schema, epsilon, rows)
        if not caution and rows < len(noisy) * noise_scale(schema, epsilon - spent):
            caution = f"{few(rows)}: the {len(noisy):,} cells that the splits gave hold less than the noise on average"
        return evolve(made, made_by=self.name, epsilon=epsilon, caution=caution)


def _splits(
    schema: Schema, cut: dict[str, list[GroupedCodes]], levels: Mapping[str, Levels]
) -> Iterator[tuple[GroupedCodes, tuple[GroupedCodes, ...]]]:
    """The groups that can be split, with what they are split into."""
    cells = len(schema.classes) * prod(map(len, cut.values()))
    for name, nodes in cut.items():
        for node in nodes:
            children = node.children(levels[name])
            finer = cells // len(nodes) * (len(nodes) + len(children) - 1)
            if children and finer <= MOST_CELLS:
                yield node, children


def _layer(schema: Schema, node: GroupedCodes, children: tuple[GroupedCodes, ...]) -> Layer:
    groups = np.zeros(schema[node.column].size, dtype=np.int64)
    for index, child in enumerate(children):
        groups[list(child.codes)] = index
    return Layer((node.column, schema.label or ""), (tuple(groups.tolist()), ()), ((node.column, node.codes),))


def _grid(schema: Schema, cut: dict[str, list[GroupedCodes]]) -> Pool:
    label = schema.label or ""
    levels: list[NDArray[np.int64]] = []
    for name, nodes in cut.items():
        groups = np.zeros((1, schema[name].size), dtype=np.int64)
        for index, node in enumerate(nodes):
            groups[0, list(node.codes)] = index
        levels.append(groups)
    levels.append(np.array([own_groups(schema, label)], dtype=np.int64))
    return Pool((*cut, label), tuple(levels), [[*(0 if len(nodes) > 1 else -1 for nodes in cut.values()), 0]])
