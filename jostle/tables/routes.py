"""Trees that rows are led through, and the kernels that count what arrives.

A *routing* is one or more trees whose splits are public: chosen at random, or released before. Each row goes from
the root to one leaf of every tree, by its own codes alone; a blank goes where the first code goes. Leading a row
through public splits is a public function of that row, so what one row adds to the counts at the leaves can be bounded
without looking at any other row.

*Parts.* A routing may give each tree its own part of the rows, so that a row is in one tree only. Which, is a keyed
hash of the row's codes: a function of the row alone. Then a row that is added or removed touches one tree, and a
row that is replaced touches at most two, for any key, known or not. Parts drawn anew by the position of a row would
not do: with a row more, all rows after it move up by one place and change their part, unless the draws are kept
secret, which streaming in pieces, on many machines, several times over, makes hard to promise. The price of the
hash is that equal rows share a part: a table of few different rows is cut unevenly.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import TableError
from jostle.tables.block import Block, Codes
from jostle.tables.features import MIXERS, BitsColumns, mixed
from jostle.tables.fields import Component, Integers, Sides, Within, int64s, names, optional_whole, truth, whole
from jostle.tables.kernels import DenseKernel, add_up, checked_cells
from jostle.tables.schema import Schema

MOST_LEVELS = 2**16
"""Levels are gone through one by one."""
MOST_TREES = 2**20
"""Trees may share a leaf, in which a row then counts once for each: for so many, counts add up within 63 bits."""
LARGEST_KEY = 2**64 - 1


@frozen(eq=False, repr=False)
class Routing:
    """Trees as flat arrays: a node is a number, and its children have larger numbers.

    Node i with attribute[i] = -1 is a leaf. Otherwise it looks at columns[attribute[i]] and sends code v to the node
    children[first[i] + v]; several codes may go to the same child.
    """

    columns: tuple[str, ...] = field(converter=names)
    roots: Integers = field(converter=int64s, validator=Sides(1))
    """One per tree."""
    attribute: Integers = field(converter=int64s, validator=Sides(1))
    first: Integers = field(converter=int64s, validator=Sides(1))
    children: Integers = field(converter=int64s, validator=Sides(1))
    depth: int = field(converter=whole, validator=Within(0, MOST_LEVELS))
    """No leaf is farther from its root."""
    part_key: int | None = field(default=None, converter=optional_whole, validator=Within(0, LARGEST_KEY))
    """With a key, each tree gets a part of the rows; without, all trees get all rows."""

    @property
    def trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def touched(self) -> int:
        """Number of trees a row is in."""
        return 1 if self.part_key is not None else self.trees

    @property
    def leaves(self) -> Integers:
        """The nodes that are leaves."""
        return np.flatnonzero(self.attribute < 0)

    def check(self, schema: Schema) -> None:
        """Refuse arrays that could send a row astray: what went wrong then would depend on rows."""
        sizes = np.array([schema[name].size for name in self.columns], dtype=np.int64)
        nodes = len(self.attribute)
        inner = np.flatnonzero(self.attribute >= 0)
        fits = (
            0 < self.trees <= MOST_TREES
            and len(self.first) == nodes
            and _within(self.roots, 0, nodes)
            and _within(self.attribute, -1, len(sizes))
            and _within(self.first[inner], 0, len(self.children) + 1)
            and _within(self.first[inner] + sizes[self.attribute[inner]], 0, len(self.children) + 1)
        )
        if not fits:
            raise TableError("the routing's arrays do not fit each other, or the schema")
        lengths = sizes[self.attribute[inner]]
        parents = np.repeat(inner, lengths)
        below = self.children[np.repeat(self.first[inner], lengths) + _ramps(lengths)]
        if np.any(below <= parents) or np.any(below >= nodes):
            raise TableError("the routing has a node whose child does not come after it")
        reached = np.zeros(nodes, dtype=np.bool_)
        reached[self.roots] = True
        for _ in range(self.depth + 1):
            onward = below[reached[parents]]
            if not onward.size:
                return
            reached = np.zeros(nodes, dtype=np.bool_)
            reached[onward] = True
        if reached.any():
            raise TableError(f"the routing is deeper than the {self.depth} levels it declares")

    def arrivals(self, block: Block, schema: Schema) -> list[tuple[slice | NDArray[np.intp], NDArray[np.intp]]]:
        """Tree by tree, which rows go through it and the leaf that each of them comes to."""
        sided = block.first_for_blank(self.columns, schema)
        codes = np.stack([sided.columns[name] for name in self.columns]) if self.columns else None
        if self.part_key is None:
            return [(slice(None), self._descend(codes, root, block.length)) for root in self.roots]
        parts = part_of(block.columns, schema, self.part_key, self.trees, block.length)
        arrived: list[tuple[slice | NDArray[np.intp], NDArray[np.intp]]] = []
        for tree, root in enumerate(self.roots):
            rows = np.flatnonzero(parts == tree)
            arrived.append((rows, self._descend(None if codes is None else codes[:, rows], root, len(rows))))
        return arrived

    def _descend(self, codes: Codes | None, root: int, length: int) -> NDArray[np.intp]:
        node = np.full(length, root, dtype=np.intp)
        if codes is None or not self.depth or self.attribute[root] < 0:
            return node
        flat = codes.ravel()
        rows = np.arange(length)
        # The root is the same for all rows, so its column is read in one go.
        node = self.children[self.first[root] + codes[self.attribute[root]]]
        for _ in range(self.depth - 1):
            attribute = self.attribute[node]
            if attribute.min(initial=0) >= 0:
                node = self.children[self.first[node] + flat[attribute * length + rows]]
                continue
            going = np.flatnonzero(attribute >= 0)
            if not going.size:
                break
            at = node[going]
            node[going] = self.children[self.first[at] + flat[attribute[going] * length + going]]
        return np.asarray(node, dtype=np.intp)


def part_of(columns: Mapping[str, Codes], schema: Schema, key: int, parts: int, length: int) -> Integers:
    """The part that each row belongs to: a hash of all its codes, the label's included, and a key."""
    hashes = np.full(length, (key * MIXERS[0]) % 2**64, dtype=np.uint64)
    if isinstance(columns, BitsColumns):  # rows that differ in sparse features alone are different rows
        hashes = mixed(hashes + columns.bits.hashes())
    for name in schema.names:
        hashes = (hashes + columns[name]) * np.uint64(MIXERS[1])
        hashes ^= hashes >> np.uint64(27)
        hashes *= np.uint64(MIXERS[2])
        hashes ^= hashes >> np.uint64(31)
    return _dealt(hashes, parts)


def part_of_marks(marks: NDArray[np.uint64], key: int, parts: int) -> Integers:
    """The part that each person belongs to: a hash of its mark and a key."""
    return _dealt(mixed(marks + np.uint64((key * MIXERS[0]) % 2**64)), parts)


def _dealt(hashes: NDArray[np.uint64], parts: int) -> Integers:
    return ((hashes >> np.uint64(11)) % np.uint64(parts)).astype(np.int64)


@frozen(eq=False, repr=False)
class _Routed(DenseKernel):
    """What both kernels share: a row adds 1 to so many cells per tree that it is in."""

    routing: Routing = field(validator=Component((Routing,)))

    @abstractmethod
    def per_tree(self, schema: Schema) -> int:
        """Number of cells of each tree to which a row adds 1."""

    def bound(self, schema: Schema) -> int:
        """The most one row adds: the cells per tree, for each tree it is in."""
        return self.routing.touched * self.per_tree(schema)

    def replaced(self, schema: Schema) -> int:
        """Twice that, since each cell that a row leaves may be another than the one it enters.

        In a single cell, every row that is asked about adds the same before and after. But one that enters a part, or
        leaves it, adds or takes away what it adds in all trees: they may share their leaf.
        """
        return self.bound(schema) if self.cells(schema) == 1 else 2 * self.bound(schema)


@frozen(eq=False, repr=False)
class LeafCounts(_Routed):
    """How many rows of each class come to each leaf: cells (leaf, class), leaves in rising order of their numbers.

    Where the schema names a label, rows without one are left out.
    """

    by_class: bool = field(default=True, converter=truth)
    """Without, how many rows come to each leaf: cells (leaf)."""

    def cells(self, schema: Schema) -> int:
        self.routing.check(schema)
        return checked_cells(len(self.routing.leaves) * (len(schema.classes) if self.by_class else 1))

    def per_tree(self, schema: Schema) -> int:
        """1: a row comes to one leaf, with one class."""
        return 1

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        slots, block = slots_of(self.routing.leaves, len(self.routing.attribute)), block.labelled(schema)
        labels = block.columns[schema.target].astype(np.int64) if self.by_class else None
        for rows, leaf in self.routing.arrivals(block, schema):
            keys = slots[leaf] if labels is None else slots[leaf] * len(schema.classes) + labels[rows]
            add_up(keys, _weights(block, rows), totals)


@frozen(eq=False, repr=False)
class SplitCounts(_Routed):
    """For each open leaf and each attribute: how many rows there are of each value and class.

    Cells (open leaf, attribute's value, class): for each open leaf in the order given, all columns one after the
    other, for each of their codes all classes. A row adds 1 per column in each tree where it comes to an open leaf: for
    a blank in the cell of the first code, which is where a split would send it. Rows without a label are left out.
    """

    open: Integers = field(converter=int64s, validator=Sides(1))
    """The leaves asked about."""

    def cells(self, schema: Schema) -> int:
        self.routing.check(schema)
        nodes = len(self.routing.attribute)
        if np.any((self.open < 0) | (self.open >= nodes)) or np.any(self.routing.attribute[self.open] >= 0):
            raise TableError("an open leaf is no leaf of the routing")
        if len(np.unique(self.open)) != len(self.open):
            raise TableError("an open leaf is named twice", why="a row would count twice in its cells")
        return checked_cells(len(self.open) * self.width(schema))

    def per_tree(self, schema: Schema) -> int:
        """The number of columns: a row adds 1 for each."""
        return max(1, len(self.routing.columns))

    def width(self, schema: Schema) -> int:
        """How many cells an open leaf has."""
        return sum(schema[name].size for name in self.routing.columns) * len(schema.classes)

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        classes, width = len(schema.classes), self.width(schema)
        slots, block = slots_of(self.open, len(self.routing.attribute)), block.labelled(schema)
        labels = block.columns[schema.target].astype(np.int64)
        sided = block.first_for_blank(self.routing.columns, schema)
        for rows, leaf in self.routing.arrivals(block, schema):
            slot = slots[leaf]
            weights = _weights(block, rows)
            if np.any(slot < 0):
                kept = np.flatnonzero(slot >= 0)
                weights = None if weights is None else weights[kept]
                rows = kept if isinstance(rows, slice) else rows[kept]  # noqa: PLW2901 - the rows that count
                slot = slot[kept]
            base = slot * width + labels[rows]
            for name in self.routing.columns:
                keys = base + sided.columns[name][rows].astype(np.int64) * classes
                add_up(keys, weights, totals)
                base += schema[name].size * classes


def _within(values: Integers, least: int, beyond: int) -> bool:
    return bool(np.all((values >= least) & (values < beyond)))


def _ramps(lengths: Integers) -> Integers:
    """0 .. length-1 for each length, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def slots_of(nodes: Integers, count: int) -> Integers:
    """Each node's place among *nodes*, -1 for those that are not among them."""
    slots = np.full(count, -1, dtype=np.int64)
    slots[nodes] = np.arange(len(nodes))
    return slots


def _weights(block: Block, rows: slice | NDArray[np.intp]) -> Integers | None:
    return None if block.multiplicity is None else block.multiplicity[rows]
