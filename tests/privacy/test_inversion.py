"""Inversion is proved here by exhaustion: with short words, every string of bits is run through.

The samplers use first words of 16 bits and then 64, where a tie is rare. With 2 to 4 bits and then 3 to 6, ties happen
all the time, and all that depends on word lengths is the same code.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from attrs import Factory, define
from enumeration import Enumeration, enumerated, exponential
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jostle.errors import NoiseError
from jostle.privacy import noise, reals
from jostle.privacy.noise import (
    SMALL_DRAW,
    BitSource,
    Bounds,
    Inversion,
    SeededBits,
    Words,
    coin,
    digit_bounds,
    geometric_digits,
    leading_bounds,
    sign,
)
from jostle.privacy.reals import Chance, Exponential, Miss, RationalChance, Tail

WORDS = [(2, 3), (3, 5), (4, 6), (2, 6)]
SOME_SLOW = [(2, 3), (3, 5), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in WORDS[2:])]
BOUNDARIES = st.lists(st.fractions(min_value=0, max_value=1, max_denominator=40), max_size=6).map(sorted)


def enclosing(boundaries: list[Fraction], loose: int = 0) -> Bounds:
    """Return enclosures of known boundaries, as tight as can be, or *loose* units wider at each end."""

    def bounds(bits: int) -> tuple[list[int], list[int]]:
        size = 1 << bits
        lows = [max(0, (size * edge).__floor__() - loose) for edge in boundaries]
        highs = [min(size, (size * edge).__ceil__() + loose) for edge in boundaries]
        return lows, highs

    return bounds


def enumerated_draw(inversion: Inversion, most_bits: int) -> Enumeration:
    return enumerated(lambda source: int(inversion.draw(source, 1)[0]), most_bits)


def probabilities(boundaries: list[Fraction]) -> list[Fraction]:
    edges = [Fraction(0), *boundaries, Fraction(1)]
    return [high - low for low, high in pairwise(edges)]


@pytest.mark.parametrize(("first_bits", "word_bits"), SOME_SLOW)
@settings(max_examples=60, deadline=None)
@given(boundaries=BOUNDARIES, loose=st.integers(0, 2))
@example(boundaries=[], loose=0)
@example(boundaries=[Fraction(0), Fraction(0), Fraction(1)], loose=0)
@example(boundaries=[Fraction(1, 2)], loose=2)
@example(boundaries=[Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**4)], loose=1)
def test_every_outcome_has_its_probability(
    first_bits: int, word_bits: int, boundaries: list[Fraction], loose: int
) -> None:
    inversion = Inversion(enclosing(boundaries, loose), first_bits, word_bits)
    found = enumerated_draw(inversion, 24)
    assert sum(found.measure.values()) + found.undecided == 1
    assert found.undecided <= Fraction(2 * (loose + 1) * len(boundaries), 1 << (24 - word_bits))
    for outcome, probability in enumerate(probabilities(boundaries)):
        assert found.brackets(outcome, probability, Fraction(0))
    assert set(found.measure) <= set(range(len(boundaries) + 1))


@pytest.mark.parametrize(("first_bits", "word_bits"), WORDS)
def test_ties_are_broken_by_reading_on(first_bits: int, word_bits: int) -> None:
    """A boundary at 1/3 runs through one word of every length, so one string in 2**b is a tie after b bits."""
    found = enumerated_draw(Inversion(enclosing([Fraction(1, 3)]), first_bits, word_bits), 8 * word_bits)
    assert set(found.lengths) == {word_bits * words for words in range(1, 9)}
    for words in range(1, 9):
        assert found.lengths[word_bits * words] == (1 << word_bits) - 1
    assert found.undecided == Fraction(1, 1 << 8 * word_bits)


SAMPLERS = {
    "sign at scale 1": (sign(Exponential(Fraction(1))).bounds, [1 / (1 + exponential(Fraction(1)))]),
    "sign at scale 1/1000": (sign(Exponential(Fraction(1, 1000))).bounds, [1 / (1 + exponential(Fraction(1000)))]),
    "coin exp(-1/3)": (coin(Exponential(Fraction(3))).bounds, [1 - exponential(Fraction(1, 3))]),
    "coin 3/8": (coin(RationalChance(Fraction(3, 8))).bounds, [Fraction(5, 8)]),
    "coin of a tail": (
        coin(Tail(Fraction(2), 1)).bounds,
        [1 - exponential(Fraction(1)) / (1 + exponential(Fraction(1, 2)))],
    ),
    "leading digit at scale 1/3": (
        leading_bounds(Exponential(Fraction(1, 3)), 0),
        [1 - exponential(Fraction(3 * k)) for k in range(1, 256)],
    ),
    "leading digit at scale 10": (
        leading_bounds(Exponential(Fraction(10)), 0),
        [1 - exponential(Fraction(k, 10)) for k in range(1, 256)],
    ),
    "leading digit at scale 1000": (
        leading_bounds(Exponential(Fraction(1000)), 1),
        [1 - exponential(Fraction(256 * k, 1000)) for k in range(1, 256)],
    ),
    "lowest digit at scale 1000": (
        digit_bounds(Exponential(Fraction(1000)), 0),
        [(1 - exponential(Fraction(k, 1000))) / (1 - exponential(Fraction(256, 1000))) for k in range(1, 256)],
    ),
    "middle digit at scale 2**52": (
        digit_bounds(Exponential(Fraction(2**52)), 3),
        [(1 - exponential(Fraction(k, 2**28))) / (1 - exponential(Fraction(1, 2**20))) for k in range(1, 256)],
    ),
    "leading digit of a wait": (
        leading_bounds(Miss(RationalChance(Fraction(1, 10))), 0),
        [1 - Fraction(9, 10) ** k for k in range(1, 256)],
    ),
    "lowest digit of a wait": (
        digit_bounds(Miss(RationalChance(Fraction(1, 1000))), 0),
        [(1 - Fraction(999, 1000) ** k) / (1 - Fraction(999, 1000) ** 256) for k in range(1, 256)],
    ),
}


@pytest.mark.representative("name")
@pytest.mark.parametrize(("first_bits", "word_bits"), SOME_SLOW)
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_digit_sign_and_coin_has_its_probability(name: str, first_bits: int, word_bits: int) -> None:
    """Every string of bits, against probabilities to 150 digits, until all but 2**-10 of them are decided."""
    bounds, boundaries = SAMPLERS[name]
    found = enumerated_draw(Inversion(cache(bounds), first_bits, word_bits), 24)
    assert found.undecided < Fraction(1, 1 << 10)
    for outcome, probability in enumerate(probabilities(boundaries)):
        assert found.brackets(outcome, probability)
    ties = sum(count for length, count in found.lengths.items() if length > word_bits)
    assert ties >= (1 if len(boundaries) == 1 else 100) or name == "coin 3/8"


@pytest.mark.representative("name")
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("bits", [1, 2, 16, 64, 128, 192])
def test_boundaries_are_enclosed_in_rising_order(name: str, bits: int) -> None:
    bounds, boundaries = SAMPLERS[name]
    lows, highs = bounds(bits)
    slack = Fraction(1 << bits, 10**150)
    assert lows == sorted(lows)
    assert highs == sorted(highs)
    for low, high, boundary in zip(lows, highs, boundaries, strict=True):
        assert 0 <= low <= boundary * (1 << bits) + slack
        assert boundary * (1 << bits) - slack <= high <= 1 << bits
        assert high - low <= 2


@pytest.mark.representative("name")
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("bits", range(1, 13))
def test_boundaries_are_enclosed_without_guard_bits_too(monkeypatch: pytest.MonkeyPatch, name: str, bits: int) -> None:
    """Carrying more bits makes enclosures tight; that they hold must not rest on it, or it holds by luck."""
    monkeypatch.setattr(noise, "GUARD", 0)
    monkeypatch.setattr(reals, "GUARD", 0)
    bounds, boundaries = SAMPLERS[name]
    slack = Fraction(1 << bits, 10**150)
    for low, high, boundary in zip(*bounds(bits), boundaries, strict=True):
        assert low <= boundary * (1 << bits) + slack
        assert boundary * (1 << bits) - slack <= high


def test_digits_next_to_no_chance_at_all() -> None:
    """Waiting for a chance of 2**-1000, a low digit is all but uniform; 1 - ratio has a thousand leading zeros."""
    lows, highs = digit_bounds(Miss(RationalChance(Fraction(1, 2**1000))), 2)(64)
    for k, (low, high) in enumerate(zip(lows, highs, strict=True), start=1):
        assert low <= k << 56 <= high + 1
        assert high - low <= 2


def test_digits_of_a_geometric_variable_multiply_to_its_mass() -> None:
    """Two digits of a wait for a chance of 1/1000, as they are enclosed, against 0.999**g / 1000."""
    (digit,), leading = geometric_digits(Miss(RationalChance(Fraction(1, 1000))))
    size = 1 << 128

    def masses(inversion: Inversion) -> list[Fraction]:
        lows, highs = inversion.bounds(128)
        return probabilities([Fraction(low + high, 2 * size) for low, high in zip(lows, highs, strict=True)])

    low_digit, high_digit = masses(digit), masses(leading)
    for value in (0, 1, 255, 256, 257, 511, 512, 10_000):
        found = high_digit[value >> 8] * low_digit[value & 255]
        assert abs(found - Fraction(999, 1000) ** value / 1000) < Fraction(1, 1 << 120)


@define
class Cells:
    """First words 0, 1, 2, ..., and after them nothing but zeros, or nothing but ones: the ends of each cell."""

    ones: bool
    first: bool = True
    counts: list[int] = Factory(list)

    def words(self, count: int, bits: int) -> Words:
        """Return the words."""
        self.counts.append(count)
        if self.first:
            self.first = False
            return np.arange(count, dtype=np.uint64) % np.uint64(1 << bits)
        return np.full(count, (1 << bits) - 1 if self.ones else 0, dtype=np.uint64)


@pytest.mark.representative("name")
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("first_bits", "word_bits"), [(4, 6), (8, 16), (16, 64)])
def test_the_table_of_first_words_cell_by_cell(name: str, first_bits: int, word_bits: int) -> None:
    """Both ends of every cell must give what the boundaries say, the sizes really used among them.

    What a real number gives rises with it, so between two ends that agree there is nothing else to give.
    """
    bounds, boundaries = SAMPLERS[name]
    inversion = Inversion(cache(bounds), first_bits, word_bits)
    count = max(SMALL_DRAW, 1 << first_bits)
    lower_ends, upper_ends = Cells(ones=False), Cells(ones=True)
    lower, upper = inversion.draw(lower_ends, count), inversion.draw(upper_ends, count)
    for word in range(1 << first_bits):
        assert lower[word] == bisect_right(boundaries, Fraction(word, 1 << first_bits))
        assert upper[word] == bisect_left(boundaries, Fraction(word + 1, 1 << first_bits))
    assert np.array_equal(lower[: 1 << first_bits], lower[-(1 << first_bits) :])
    # The table settles what it can: a second look is for cells that a boundary, as enclosed, runs through.
    second_looks = lower_ends.counts[1] if lower_ends.counts[1:] else 0
    lows, highs = bounds(word_bits)
    more = word_bits - first_bits
    touched = {cell for low, high in zip(lows, highs, strict=True) for cell in range(low >> more, -(-high >> more))}
    assert second_looks == len(touched) * count >> first_bits


def test_table_and_search_give_the_same() -> None:
    """Draws below and above the size where a table pays differ only in how bits are read, not in what they mean."""
    boundaries = [Fraction(k, 7) for k in range(1, 7)]
    for first_bits, word_bits in WORDS:
        for ones in (False, True):
            inversion = Inversion(enclosing(boundaries, 1), first_bits, word_bits)
            size = 1 << first_bits
            few, many = (inversion.draw(Cells(ones=ones), count) for count in (size, SMALL_DRAW))
            assert np.array_equal(few, many[:size])


@define
class Recorded:
    """Seeded bits that remember how many words they gave for each request."""

    source: BitSource
    counts: list[int] = Factory(list)

    def words(self, count: int, bits: int) -> Words:
        """Return the words."""
        self.counts.append(count)
        return self.source.words(count, bits)


@pytest.mark.representative
@pytest.mark.parametrize(("first_bits", "word_bits"), WORDS)
@pytest.mark.parametrize("size", [SMALL_DRAW - 1, 200_000])
def test_frequencies_of_many_draws(first_bits: int, word_bits: int, size: int) -> None:
    """Through the table and without it; a false alarm once in 10**6 seeds."""
    boundaries = [Fraction(1, 10), Fraction(1, 3), Fraction(2, 3)]
    source = Recorded(SeededBits(20))
    draws = Inversion(enclosing(boundaries), first_bits, word_bits).draw(source, size)
    expected = np.array([float(p) for p in probabilities(boundaries)])
    found = np.bincount(draws, minlength=4) / size
    assert np.all(np.abs(found - expected) < 5.2 * np.sqrt(expected / size))
    assert source.counts.count(1) > size >> (word_bits + 1), "hardly a tie was read on"


def test_many_outcomes_fit_the_table() -> None:
    """With 40,000 outcomes, their numbers no longer fit 16 bits."""
    outcomes = 40_000
    boundaries = [Fraction(k, outcomes) for k in range(1, outcomes)]
    draws = Inversion(enclosing(boundaries)).draw(Cells(ones=False), 1 << 16)
    assert draws[0] == 0
    assert draws[-1] == outcomes * 65535 // 65536
    assert np.all(np.diff(draws) >= 0)


@pytest.mark.parametrize("boundaries", [[], [Fraction(0)], [Fraction(1)], [Fraction(0), Fraction(1)]])
@pytest.mark.parametrize("size", [0, 1, 5000])
def test_certain_outcomes(boundaries: list[Fraction], size: int) -> None:
    draws = Inversion(enclosing(boundaries)).draw(SeededBits(1), size)
    assert draws.dtype == np.int64
    assert draws.tolist() == [boundaries.count(Fraction(0))] * size


def test_fewer_than_no_draws_are_refused() -> None:
    with pytest.raises(NoiseError, match="-1 draws"):
        Inversion(enclosing([])).draw(SeededBits(1), -1)


def test_a_chance_of_any_kind_can_be_a_coin() -> None:
    """A chance is anything that can be enclosed: here 1/sqrt(2), by its square."""

    class RootHalf:
        def enclose(self, bits: int) -> tuple[int, int]:
            root = math.isqrt((1 << 2 * bits) // 2)
            return root, root + 1

    chance: Chance = RootHalf()
    found = enumerated_draw(Inversion(coin(chance).bounds, 3, 5), 20)
    heads = found.measure[1]
    assert heads**2 <= Fraction(1, 2) <= (heads + found.undecided) ** 2
