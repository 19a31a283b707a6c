"""DiffGen: one grid, made finer step by step where a private pick says so.

Mohammed, Chen, Fung, Yu. Differentially private data release for data mining. KDD 2011. All columns begin as a single
group. Each step splits one group of one column into those below it in its taxonomy (bins: into the halves of
`Numeric.levels`), the one below which the commonest classes have the most rows; then the cells are counted. Where the
paper draws a number's cut and picks among columns apart, bins have a public taxonomy here, and one pick does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import prod

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.publishing.base import Caution, Publisher, few, noise_scale, published_grid
from jostle.parameters import share, whole
from jostle.privacy.majorities_below import MajoritiesBelow
from jostle.privacy.probe import Probe
from jostle.tables.pools import GridCounts, Pool
from jostle.tables.schema import Schema
from jostle.tables.stacks import Layer
from jostle.tasks.publishing import Published

__all__ = ["DiffGen"]

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

    def run(self, db: Probe, epsilon: Fraction, told: Caution | None = None) -> Published:  # noqa: ARG002 - too late
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
    for place, child in enumerate(children):
        groups[list(child.codes)] = place
    return Layer((node.column, schema.label or ""), (tuple(groups.tolist()), ()), ((node.column, node.codes),))


def _grid(schema: Schema, cut: dict[str, list[GroupedCodes]]) -> Pool:
    levels: list[NDArray[np.int64]] = []
    for name, nodes in cut.items():
        groups = np.zeros((1, schema[name].size), dtype=np.int64)
        for place, node in enumerate(nodes):
            groups[0, list(node.codes)] = place
        levels.append(groups)
    return Pool(tuple(cut), tuple(levels), np.zeros((1, len(cut)), dtype=np.int64))
