"""Draw from a few outcomes exactly, by comparing random bits with the outcomes' cumulative probabilities.

A uniform real U, read bit by bit, gives outcome j when it lies between boundary j-1 and boundary j. Its first 16 bits
settle almost every draw by one look into a table; those whose first bits a boundary runs through get 48 more, and
the rare draw still undecided reads on, word by word, against boundaries enclosed ever more tightly.

*Exactness.* Let F be a boundary with enclosure low <= F * 2**b <= high and w the first b bits of U as a whole number,
so that w <= U * 2**b <= w + 1. If w >= high then U >= F; if w < low then w + 1 <= low and U <= F, and U < F but for an
event of probability zero. An answer is given only when one of the two holds for every boundary; otherwise b grows. Each
answer is thus the one the real U would have given, and U stays undecided after b bits with probability at most
(number of boundaries) * (1 + width of the enclosures) * 2**-b, so the reading ends with probability one. No floating
point, no bias left over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

__all__ = ["BitSource", "Bounds", "Inversion", "Words"]

Words = NDArray[np.unsignedinteger[Any]]
"""Uniform whole numbers, in the narrowest type that holds them."""

Bounds = Callable[[int], tuple[list[int], list[int]]]
"""From a number of bits to the low and the high ends of all boundaries, each list in rising order."""

UNDECIDED = -1
SMALL_DRAW = 1024
"""Below this many draws, making the table of first words costs more than it saves."""
CHUNK = 1 << 16
"""Draws at a time, so that words and table stay in the processor's cache."""


class BitSource(Protocol):
    """Where uniform random bits come from."""

    def words(self, count: int, bits: int) -> Words:
        """Return *count* uniform whole numbers below 2**bits; *bits* is at most 64."""


@define(slots=True)
class Inversion:
    """A distribution over 0, 1, ..., K, given by its K inner boundaries."""

    bounds: Bounds
    first_bits: int = 16
    """Bits in the first word; a test shrinks it so that ties happen all the time."""
    word_bits: int = 64
    """Bits after the second look, and in each further word."""
    _lookup: NDArray[np.int16] | None = field(default=None, init=False, repr=False)
    _edges: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None = field(default=None, init=False, repr=False)

    def draw(self, source: BitSource, count: int) -> NDArray[np.int64]:
        """Return *count* independent outcomes."""
        outcomes = np.empty(count, dtype=np.int64)
        for start in range(0, count, CHUNK):
            part = outcomes[start : start + CHUNK]
            part[:] = self._draw_chunk(source, len(part))
        return outcomes

    def _draw_chunk(self, source: BitSource, count: int) -> NDArray[np.int64]:
        words = source.words(count, self.first_bits)
        if count < SMALL_DRAW:
            return self._second_look(source, words)
        outcomes = self._first_words()[words].astype(np.int64)
        undecided = np.flatnonzero(outcomes == UNDECIDED)
        if undecided.size:
            outcomes[undecided] = self._second_look(source, words[undecided])
        return outcomes

    def _second_look(self, source: BitSource, first: Words) -> NDArray[np.int64]:
        more = self.word_bits - self.first_bits
        words = (first.astype(np.uint64) << np.uint64(more)) | source.words(len(first), more).astype(np.uint64)
        lows, highs = self._second_edges()
        reached = np.searchsorted(highs, words, side="right")
        possible = np.searchsorted(lows, words, side="right")
        outcomes = reached.astype(np.int64)
        for index in np.flatnonzero(reached != possible):
            outcomes[index] = self._read_on(source, int(words[index]))
        return outcomes

    def _read_on(self, source: BitSource, word: int) -> int:
        bits = self.word_bits
        while True:
            word = word << self.word_bits | int(source.words(1, self.word_bits)[0])
            bits += self.word_bits
            lows, highs = self.bounds(bits)
            reached = sum(high <= word for high in highs)
            if reached == sum(low <= word for low in lows):
                return reached

    def _first_words(self) -> NDArray[np.int16]:
        if self._lookup is None:
            size = 1 << self.first_bits
            lows, highs = self.bounds(self.first_bits)
            reached = np.bincount([high for high in highs if high < size], minlength=size).cumsum()
            possible = np.bincount([low for low in lows if low < size], minlength=size).cumsum()
            self._lookup = np.where(reached == possible, reached, UNDECIDED).astype(np.int16)
        return self._lookup

    def _second_edges(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        if self._edges is None:
            size = 1 << self.word_bits
            lows, highs = self.bounds(self.word_bits)
            # An end at or above 2**bits is never reached by a word: leaving it out says the same and fits 64 bits.
            self._edges = (
                np.array([low for low in lows if low < size], dtype=np.uint64),
                np.array([high for high in highs if high < size], dtype=np.uint64),
            )
        return self._edges
