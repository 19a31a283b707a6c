"""What is asked of grids: kinds of workloads, how they are written in a word or three, and what is public of them.

Which Option does best depends on the question as much as on the records: single cells want noise on cells, prefixes
want a hierarchy, a handful of boxes wants next to nothing else. So makers rehearse many kinds, and look at facts of
what is asked, which are free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from attrs import field, frozen, validators
from numpy.typing import NDArray

from jostle.errors import CorpusError, shown
from jostle.tasks.ranges.estimate import Workload

if TYPE_CHECKING:
    from jostle.tasks.ranges.boxes import Boxes

Sides = tuple[int, ...]
Lengths = NDArray[np.int64]
MOST_ASKED = 1 << 17
"""Queries of a rehearsed question: so many cells or prefixes, evenly spread, where there are more."""
MOST_LOOKED_AT = 1 << 12
"""Queries that the facts of a workload are worked out from: so many, evenly spread over the list."""


def _laid_down(sides: Sides, lengths: Lengths, generator: np.random.Generator) -> Workload:
    """Boxes of these lengths, each laid down uniformly where it fits."""
    low = generator.integers(0, np.array(sides) - lengths, endpoint=True)
    return Workload(sides, low, low + lengths)


def _cells(sides: Sides, count: int, generator: np.random.Generator) -> Workload:  # noqa: ARG001 - all there are
    return _some(sides, lambda cells: (cells, cells + 1))


def _prefixes(sides: Sides, count: int, generator: np.random.Generator) -> Workload:  # noqa: ARG001 - as above
    return _some(sides, lambda cells: (np.zeros_like(cells), cells + 1))


def _some(sides: Sides, corners: Callable[[Lengths], tuple[Lengths, Lengths]]) -> Workload:
    """A box for each cell, or for so many of them."""
    cells = prod(sides)
    places = np.arange(cells) if cells <= MOST_ASKED else np.linspace(0, cells - 1, MOST_ASKED).astype(np.int64)
    return Workload(sides, *corners(np.stack(np.unravel_index(places, sides), axis=1)))


def _ranges(sides: Sides, count: int, generator: np.random.Generator) -> Workload:
    return _laid_down(sides, generator.integers(1, sides, size=(count, len(sides)), endpoint=True), generator)


def _short(sides: Sides, count: int, generator: np.random.Generator) -> Workload:
    """Boxes whose sides are at most a sixteenth of the grid's, the shorter the likelier."""
    longest = np.maximum(1, np.array(sides) / 16)
    lengths = np.floor(longest ** generator.random((count, len(sides)))).astype(np.int64)
    return _laid_down(sides, lengths, generator)


def _long(sides: Sides, count: int, generator: np.random.Generator) -> Workload:
    """Boxes whose sides are at least half the grid's."""
    least = [max(1, side // 2) for side in sides]
    return _laid_down(sides, generator.integers(least, sides, size=(count, len(sides)), endpoint=True), generator)


def _marginals(sides: Sides, count: int, generator: np.random.Generator) -> Workload:  # noqa: ARG001 - all there are
    """Each value of each axis, the other axes whole; of one axis, a sixteenth of it at a time."""
    if len(sides) == 1:
        edges = np.unique(np.arange(17) * sides[0] // 16)
        return Workload(sides, edges[:-1, None], edges[1:, None])
    low = np.zeros((sum(sides), len(sides)), dtype=np.int64)
    high = np.tile(np.array(sides), (sum(sides), 1))
    start = 0
    for axis, side in enumerate(sides):
        low[start : start + side, axis] = np.arange(side)
        high[start : start + side, axis] = np.arange(1, side + 1)
        start += side
    return Workload(sides, low, high)


def _windows(sides: Sides, count: int, generator: np.random.Generator) -> Workload:
    """Boxes of one length for all, a tenth of each side."""
    lengths = np.tile([max(1, round(side / 10)) for side in sides], (count, 1))
    return _laid_down(sides, lengths, generator)


def _bands(sides: Sides, count: int, generator: np.random.Generator) -> Workload:
    """Ranges of one axis, drawn for each, the other axes whole; of one axis, ranges that start or end with it."""
    lengths = generator.integers(1, sides, size=(count, len(sides)), endpoint=True)
    if len(sides) == 1:
        low = np.where(generator.random((count, 1)) < 0.5, 0, np.array(sides) - lengths)
        return Workload(sides, low, low + lengths)
    axis = generator.integers(0, len(sides), size=count)
    whole = np.arange(len(sides)) != axis[:, None]
    return _laid_down(sides, np.where(whole, np.array(sides), lengths), generator)


KINDS: Mapping[str, Callable[[Sides, int, np.random.Generator], Workload]] = MappingProxyType(
    {
        "cells": _cells,
        "prefixes": _prefixes,
        "ranges": _ranges,
        "short": _short,
        "long": _long,
        "few": _ranges,
        "marginals": _marginals,
        "windows": _windows,
        "bands": _bands,
    }
)
"""Kinds of workloads by name, each of so many queries where they are drawn; "few" are ranges of which there are few."""


ONE_OF_EACH = tuple("few 10 0" if name == "few" else name for name in KINDS)
"""A question of every kind, as texts that a spec has."""


def _kind(_: object, __: object, kind: str) -> None:
    if kind not in KINDS:
        raise CorpusError(f"there are no questions of the kind {shown(kind)}", fix=f"one of {', '.join(KINDS)}")


@frozen
class RangeQuestion:
    """What is asked of a grid in a rehearsal.

    >>> RangeQuestion.of("few 5 3").workload((64,))
    <Workload of 5 ranges on a grid of 64>
    >>> str(RangeQuestion("cells"))
    'cells 2000 0'
    """

    kind: str = field(validator=_kind)
    count: int = field(default=2000, validator=validators.ge(1))
    """Queries, where it is said how many."""
    seed: int = field(default=0, validator=validators.ge(0))

    @classmethod
    def of(cls, text: str) -> RangeQuestion:
        """The question that a text stands for."""
        kind, *numbers = text.split()
        if len(numbers) > 2 or not all(number.isdecimal() for number in numbers):
            raise CorpusError(f"{shown(text)} says no questions", fix='"ranges 2000 0": a kind, how many, and a seed')
        return cls(kind, *map(int, numbers))

    def __str__(self) -> str:
        return f"{self.kind} {self.count} {self.seed}"

    def workload(self, sides: Sequence[int]) -> Workload:
        """The queries on a grid of these sides; as they are public, numpy's seeded generators draw them."""
        return KINDS[self.kind](tuple(sides), self.count, np.random.default_rng(self.seed))


@lru_cache(maxsize=1024)
def workload_of(text: str, sides: Sides) -> Workload:
    """The queries that a text asks of a grid of these sides."""
    return RangeQuestion.of(text).workload(sides)


@frozen
class WorkloadFacts:
    """What is public of a workload, in numbers that are alike for grids of any size."""

    log_queries: float
    """The logarithm of the number of queries."""
    log_volume: float
    """The mean logarithm of the share of cells that a query holds."""
    log_length: float
    """The mean logarithm of how many cells a query has along an axis."""
    cells: float
    """The share of queries that are single cells."""
    edges: float
    """The share of sides, of those that are not whole, that start or end with their axis."""
    whole: float
    """The share of sides that are whole axes."""
    log_told: float
    """The mean logarithm of how many parts all queries tell apart of the axes that a query does not hold whole."""
    log_parts: float
    """The mean logarithm of how many of them a query is put together of, as a tree that halves them would."""


def facts_of(workload: Boxes) -> WorkloadFacts:
    """What is public of a workload; worked out once, and known as long as the workload is there."""
    known = _facts.get(workload)
    if known is None:
        known = _facts[workload] = _worked_out(workload)
    return known


def _worked_out(workload: Boxes) -> WorkloadFacts:
    some = workload.sample(MOST_LOOKED_AT)
    told, parts = _parts(workload.runs(), some)
    lengths = (some.high - some.low).astype(np.float64)
    shares = lengths / np.array(some.shape)
    whole = shares == 1
    at_edge = ((some.low == 0) | (some.high == np.array(some.shape))) & ~whole
    return WorkloadFacts(
        log_queries=float(np.log10(len(workload))),
        log_volume=float(np.log10(shares).sum(axis=1).mean()),
        log_length=float(np.log10(lengths).mean()),
        cells=float((lengths == 1).all(axis=1).mean()),
        edges=float(at_edge.sum() / max(1, (~whole).sum())),
        whole=float(whole.mean()),
        log_told=told,
        log_parts=parts,
    )


def _parts(runs: Sequence[NDArray[np.int64]], some: Boxes) -> tuple[float, float]:
    """Of some queries, the mean logarithms of the parts told apart, and of those that a query is put together of.

    The parts of an axis are its runs of cells that no query cuts. Along it a query is put together of its own, or of
    all but the others, or of two nodes of each level of the tree of halvings.
    """
    told, parts = np.zeros(len(some)), np.zeros(len(some))
    for axis, starts in enumerate(runs):
        first, last = (np.searchsorted(starts, ends[:, axis]) for ends in (some.low, some.high))
        own, all_ = last - first, len(starts)
        told += np.where(own < all_, math.log10(all_), 0.0)
        others = np.where(own < all_, np.minimum(own, all_ - own), 1)
        parts += np.log10(np.minimum(others, max(1.0, 2 * math.log2(all_))))
    return float(told.mean()), float(parts.mean())


_facts: WeakKeyDictionary[Boxes, WorkloadFacts] = WeakKeyDictionary()


def in_words(facts: WorkloadFacts, sides: Sequence[int]) -> str:
    """What is asked, in a few words for traces.

    >>> in_words(facts_of(RangeQuestion("cells").workload((16,))), (16,))
    'single cells'
    """
    if facts.cells > 0.5:
        return "single cells"
    if facts.log_queries < np.log10(50):
        return "a few ranges"
    if facts.whole >= 0.5 and len(sides) > 1:
        return "ranges of one axis at a time"
    if facts.edges > 0.9:
        return "ranges that start or end with an axis"
    return "short ranges" if facts.log_volume < -1.5 * len(sides) else "ranges"
