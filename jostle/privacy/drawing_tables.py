"""The distributions that noise is drawn from: of a geometric variable's digits, of a sign, of a coin.

Each is an `Inversion` over enclosures of its distribution function, as narrow as a draw needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from attrs import frozen

from jostle.privacy.inversion import Bounds, Inversion
from jostle.privacy.reals import Chance, Enclosure, Exponential, Ratio

__all__ = ["BASE", "DrawingTables", "coin", "digit_bounds", "geometric_digits", "leading_bounds", "sign"]

BASE = 256
"""Digits are in this base."""
REACH = 12
"""The leading digit's ratio is brought down to a length of about this, so that 255 of it are all but never enough."""
MOST_LOWER_DIGITS = 7
"""With as many, and a leading digit below 128, values fill 63 bits."""
GUARD = 32
"""Bits carried beyond those asked for. The powers of a ratio are off by less than 2**12 units of the last of them."""
KEPT = 64
"""Distributions whose tables are kept. A scale's take 0.1 to 1 MB."""


@frozen(eq=False, repr=False)
class DrawingTables:
    """The distributions that were drawn from, kept for the next draw.

    Which there are, and which of their parts a draw has needed so far, says what was drawn, and how often. Of private
    rows that can be private: how many cells of a sparse tally are occupied, or what a candidate asked that lost. So a
    room with private rows has some of its own (`apart`), which nobody else can look at.
    """

    digits: Callable[[Ratio], tuple[tuple[Inversion, ...], Inversion]]
    sign: Callable[[Exponential], Inversion]
    coin: Callable[[Chance], Inversion]

    @classmethod
    def shared(cls) -> DrawingTables:
        """Those of the process, for whatever is drawn without private rows."""
        return cls(geometric_digits, sign, coin)

    @classmethod
    def apart(cls) -> DrawingTables:
        """Some that nobody else has."""
        kept = lru_cache(maxsize=KEPT)
        return cls(kept(geometric_digits.__wrapped__), kept(sign.__wrapped__), kept(coin.__wrapped__))

    def forget(self) -> None:
        """Drop them all."""
        kept: tuple[Any, ...] = (self.digits, self.sign, self.coin)
        for each in kept:
            each.cache_clear()


@lru_cache(maxsize=KEPT)
def geometric_digits(ratio: Ratio) -> tuple[tuple[Inversion, ...], Inversion]:
    """The distributions of the lower digits, highest first, and of the leading one."""
    lower = 0
    while ratio.length > REACH << (8 * lower) and lower < MOST_LOWER_DIGITS:
        lower += 1
    digits = tuple(Inversion(digit_bounds(ratio, place)) for place in reversed(range(lower)))
    return digits, Inversion(leading_bounds(ratio, lower))


def _powers(ratio: Ratio, place: int, places: int, count: int) -> list[Enclosure]:
    """The enclosures of R**1 .. R**count at *places* bits, where R = ratio**(256**place)."""
    low, high = first_low, first_high = ratio.power(BASE**place, places)
    powers = [(low, high)]
    for _ in range(count - 1):
        low, high = low * first_low >> places, -(-high * first_high >> places)
        powers.append((low, high))
    return powers


def leading_bounds(ratio: Ratio, place: int) -> Bounds:
    """The distribution function of the leading digit, at this place."""

    def bounds(bits: int) -> tuple[list[int], list[int]]:
        # P(H <= k) = 1 - R**(k+1)
        powers = _powers(ratio, place, bits + GUARD, BASE - 1)
        one = 1 << (bits + GUARD)
        return [(one - high) >> GUARD for _, high in powers], [-(-(one - low) >> GUARD) for low, _ in powers]

    return bounds


def digit_bounds(ratio: Ratio, place: int) -> Bounds:
    """The distribution function of a lower digit, at this place."""

    def bounds(bits: int) -> tuple[list[int], list[int]]:
        # P(L <= k) = (1 - R**(k+1)) / (1 - R**256)
        places = bits + GUARD + ratio.length.bit_length()
        powers = _powers(ratio, place, places, BASE)
        # Where R is so near 1 that most places of 1 - R**256 are 0, as many more are needed.
        while (1 << places) - powers[-1][1] < 1 << (bits + GUARD):
            places *= 2
            powers = _powers(ratio, place, places, BASE)
        one = 1 << places
        all_low, all_high = one - powers[-1][1], one - powers[-1][0]
        lows = [((one - high) << bits) // all_high for _, high in powers[:-1]]
        highs = [-(-((one - low) << bits) // all_low) for low, _ in powers[:-1]]
        return lows, highs

    return bounds


@lru_cache(maxsize=KEPT)
def sign(ratio: Exponential) -> Inversion:
    """1 where noise is negative, else 0."""

    def bounds(bits: int) -> tuple[list[int], list[int]]:
        # P(not negative) = 1 / (1 + q)
        one = 1 << (bits + GUARD)
        low, high = ratio.power(1, bits + GUARD)
        return [(one << bits) // (one + high)], [-(-(one << bits) // (one + low))]

    return Inversion(bounds)


@lru_cache(maxsize=KEPT)
def coin(chance: Chance) -> Inversion:
    """1 with this chance, else 0."""

    def bounds(bits: int) -> tuple[list[int], list[int]]:
        low, high = chance.enclose(bits)
        return [(1 << bits) - high], [(1 << bits) - low]

    return Inversion(bounds)
