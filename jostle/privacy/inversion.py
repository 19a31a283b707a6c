"""Draw from a few outcomes exactly, by comparing random bits with the outcomes' cumulative probabilities.

A uniform real U, read bit by bit, gives outcome j when it lies between boundary j-1 and boundary j. Its first 16 bits
settle almost every draw by one look into a table; those whose first bits a boundary runs through get 48 more, and
the rare draw still undecided reads on, word by word, against boundaries enclosed ever more tightly.

*Exactness.* Let F be a boundary with enclosure low <= F * 2**b <= high and w the first b bits of U as a whole number,
so that w <= U * 2**b <= w + 1. If w >= high then U >= F; if w < low then w + 1 <= low and U <= F, and U < F but for an
event of probability zero. An answer is given only when one of the two holds for every boundary; otherwise b grows. Each
answer is thus the one the real U would have given. After b bits U is undecided only if low <= w < high for some
boundary, which has probability at most the sum of (high - low) * 2**-b over the boundaries; as the differences stay
small while b grows, the reading ends with probability one. No floating point, no bias left over.

Enclosures at different b need not lie within each other: each answer rests on one of them alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any, Protocol

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from jostle.errors import NoiseError

__all__ = ["BitSource", "Bounds", "Inversion", "Words"]

Words = NDArray[np.unsignedinteger[Any]]
"""Uniform whole numbers, in the narrowest type that holds them."""

Bounds = Callable[[int], tuple[list[int], list[int]]]
"""From a number of bits b to the low and the high ends of all boundaries, each list rising within 0 .. 2**b."""

UNDECIDED = -1
SMALL_DRAW = 1024
"""Below this many draws, making the table of first words costs more than it saves.

Whether the table happens to exist makes no difference: a seed must give the same draws in a fresh process.
"""
CHUNK = 1 << 16
"""Draws at a time, so that words and table stay in the processor's cache."""


class BitSource(Protocol):
    """Where uniform random bits come from."""

    def words(self, count: int, bits: int) -> Words:
        """*count* uniform whole numbers below 2**bits; *bits* is at most 64."""


@define(slots=True)
class Inversion:
    """A distribution over 0, 1, ..., K, given by its K inner boundaries.

    The tables are made when first needed. Two threads may both make one; they make the same.
    """

    bounds: Bounds
    first_bits: int = 16
    """Bits in the first word; a test shrinks it so that ties happen all the time."""
    word_bits: int = 64
    """Bits after the second look, more than in the first word, and in each further word."""
    _table: NDArray[np.signedinteger[Any]] | None = field(default=None, init=False, repr=False, eq=False)
    _edges: tuple[Words, Words] | None = field(default=None, init=False, repr=False, eq=False)

    def draw(self, source: BitSource, count: int) -> NDArray[np.int64]:
        """*count* independent outcomes."""
        if count < 0:
            raise NoiseError(f"{count} draws are asked for, but there cannot be fewer than 0")
        outcomes = np.empty(count, dtype=np.int64)
        for start in range(0, count, CHUNK):
            part = outcomes[start : start + CHUNK]
            words = source.words(len(part), self.first_bits)
            if len(part) < SMALL_DRAW:
                part[:] = self._second_look(source, words)
                continue
            found = self._first_words().take(words)
            part[:] = found
            undecided = np.flatnonzero(found == UNDECIDED)
            if undecided.size:
                part[undecided] = self._second_look(source, words[undecided])
        return outcomes

    def _second_look(self, source: BitSource, first: Words) -> NDArray[np.int64]:
        more = self.word_bits - self.first_bits
        words = first.astype(np.uint64) << np.uint64(more)
        words |= source.words(len(first), more)
        lows, highs = self._second_edges()
        reached = highs.searchsorted(words, side="right")
        possible = lows.searchsorted(words, side="right")
        for index in np.flatnonzero(reached != possible):
            reached[index] = self._read_on(source, int(words[index]))
        return reached

    def _read_on(self, source: BitSource, word: int) -> int:
        bits = self.word_bits
        while True:
            word = word << self.word_bits | int(source.words(1, self.word_bits)[0])
            bits += self.word_bits
            lows, highs = self.bounds(bits)
            reached = sum(high <= word for high in highs)
            if reached == sum(low <= word for low in lows):
                return reached

    def _first_words(self) -> NDArray[np.signedinteger[Any]]:
        if self._table is None:
            more, size = self.word_bits - self.first_bits, 1 << self.first_bits
            lows, highs = ([int(edge) for edge in edges] for edges in self._second_edges())
            table = np.empty(size, dtype=np.min_scalar_type(-len(lows) - 1))
            decided = 0
            outcome = -1
            # What the second look's enclosures say, rounded outwards to the first bits. An end left out is at the end.
            for outcome, (low, high) in enumerate(zip_longest(lows, highs, fillvalue=size << more)):
                table[decided : low >> more] = outcome
                decided = -(-high >> more)
                table[low >> more : decided] = UNDECIDED
            table[decided:] = outcome + 1
            self._table = table
        return self._table

    def _second_edges(self) -> tuple[Words, Words]:
        if self._edges is None:
            size = 1 << self.word_bits
            lows, highs = self.bounds(self.word_bits)
            # An end at or above 2**bits is never reached by a word: leaving it out says the same and fits 64 bits.
            self._edges = (
                np.array([low for low in lows if low < size], dtype=np.uint64),
                np.array([high for high in highs if high < size], dtype=np.uint64),
            )
        return self._edges
