"""Exact samplers: the only place where private randomness is drawn.

*A few outcomes* are drawn by comparing random bits with their cumulative probabilities. A uniform real U, read bit by
bit, gives outcome j when it lies between boundary j-1 and boundary j. Its first 16 bits settle almost every draw by one
look into a table; those whose first bits a boundary runs through get 48 more, and the rare draw still undecided reads
on, word by word, against boundaries enclosed ever more tightly.

*Exactness.* Let F be a boundary with enclosure low <= F * 2**b <= high and w the first b bits of U as a whole number,
so that w <= U * 2**b <= w + 1. If w >= high then U >= F; if w < low then w + 1 <= low and U <= F, and U < F but for an
event of probability zero. An answer is given only when one of the two holds for every boundary; otherwise b grows. Each
answer is thus the one the real U would have given. After b bits U is undecided only if low <= w < high for some
boundary, which has probability at most the sum of (high - low) * 2**-b over the boundaries; as the differences stay
small while b grows, the reading ends with probability one. No floating point, no bias left over.

Enclosures at different b need not lie within each other: each answer rests on one of them alone.

*All else* is made of one thing, a geometric variable G with P(G >= g) = ratio**g, drawn digit by digit in base 256.

*Exactness.* Write G = H * 256**j + L_{j-1} * 256**(j-1) + ... + L_0. Since P(G = g) is proportional to ratio**g, the
digits are independent: L_i has P(l) proportional to (ratio**(256**i))**l on 0..255, and H is geometric with ratio
ratio**(256**j). Each digit has 256 outcomes and is drawn exactly by inversion (see `Inversion`). H is cut at 255, which
stands for "255 or more": being memoryless, H - 255 given H >= 255 is distributed as H, so H is drawn again and added.

Discrete Laplace noise, P(x) proportional to exp(-|x|/scale), with q = exp(-1/scale), is negative with probability
q / (1+q); given that it is not, x is geometric, and given that it is, -1-x is geometric with the same ratio. So a fair
use of one biased sign S and one G gives x = G or x = -1-G, which in two's complement is G xor -S: no rejection of -0.

Permute-and-flip (McKenna, Sheldon 2020) walks the candidates in random order and stops at the first whose coin of bias
exp(-gap * rate) comes up; all coins may be thrown beforehand, and the first success in a random order is a uniform one
among the successes. A coin of bias exp(-gap * rate) is the event G >= gap with ratio exp(-rate).

Noise of scale t can be made of noise of a smaller scale s by adding more (see `chains`). Backwards: given noise z of
scale t that was made so, `less_laplace` draws the noise y of scale s that it was made of. Let a = exp(-1/t) and
b = exp(-1/s), r = a b and q = b / a, and turn z round if it is below 0. P(y | z) is proportional to b**|y| times
(a**|z - y| + [y = z] (1 - a**2) q / ((1 - q) (1 - r))), and these weights, whatever z is, sum to (1 - b**2) a**z over
(1 - q) (1 - r). Hence y is below 0 with chance r (1 - q) / (1 - b**2), and -1 - y is geometric with ratio r then; else
a geometric G with ratio q is drawn, and y = G if G <= z; else y = z with chance (1 - a**2) / (1 - r), or y - z - 1 is
geometric with ratio r. Both chances are that one geometric variable is no greater than another (`NoLater`).

Values beyond 2**63 - 1 are given as 2**63 - 1. With the largest scale accepted, 2**52, noise reaches that with
probability exp(-2048), which every claim of exactness here leaves out. Waits for a success may well be longer; for them
2**63 - 1 says *at least* that, which is past the last trial there can be.

Canonne, Kamath, Steinke (2020) is the reference for exact discrete sampling; the digit decomposition is ours.
"""

from __future__ import annotations

import io
import math
import operator
import os
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Protocol

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from jostle.errors import NoiseError
from jostle.privacy.amounts import Amount, epsilon_amount, exact, show_amount
from jostle.privacy.reals import Chance, Enclosure, Exponential, Miss, NoLater, Ratio, RationalChance
from jostle.tables.fields import Integers, Truths

Words = NDArray[np.unsignedinteger[Any]]
"""Uniform whole numbers, in the narrowest type that holds them."""

Bounds = Callable[[int], tuple[list[int], list[int]]]
"""From a number of bits b to the low and the high ends of all boundaries, each list rising within 0 .. 2**b."""

UNDECIDED = -1
SMALL_DRAW = 1024
"""Below this many draws, making the table of first words costs more than it saves.

Whether the table happens to exist makes no difference: a seed must give the same draws in a fresh process.
"""
PIECE = 1 << 11
"""Bytes that are drawn at once for a release: as many as a few cells take."""
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

    def draw(self, source: BitSource, count: int) -> Integers:
        """*count* independent outcomes."""
        if count < 0:
            raise NoiseError(f"{count} draws are asked for, but there cannot be fewer than 0")
        outcomes = np.empty(count, dtype=np.int64)
        for start in range(0, count, CHUNK):
            part = outcomes[start : start + CHUNK]
            first = source.words(len(part), self.first_bits)
            undecided: slice | NDArray[np.intp] = slice(None)
            if len(part) >= SMALL_DRAW:
                part[:] = self._first_words().take(first)
                undecided = np.flatnonzero(part == UNDECIDED)
                first = first[undecided]
            if not len(first):
                continue
            more = self.word_bits - self.first_bits
            words = first.astype(np.uint64) << np.uint64(more)
            words |= source.words(len(first), more)
            lows, highs = self._edges or self._second_edges()
            reached = highs.searchsorted(words, side="right")
            possible = lows.searchsorted(words, side="right")
            for index in np.flatnonzero(reached != possible):
                reached[index] = self._read_on(source, int(words[index]))
            part[undecided] = reached
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

    def _first_words(self) -> NDArray[np.signedinteger[Any]]:
        if self._table is None:
            more, size = self.word_bits - self.first_bits, 1 << self.first_bits
            lows, highs = ([int(edge) for edge in edges] for edges in self._edges or self._second_edges())
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
        size = 1 << self.word_bits
        lows, highs = self.bounds(self.word_bits)
        # An end at or above 2**bits is never reached by a word: leaving it out says the same and fits 64 bits.
        self._edges = (
            np.array([low for low in lows if low < size], dtype=np.uint64),
            np.array([high for high in highs if high < size], dtype=np.uint64),
        )
        return self._edges


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


@lru_cache(maxsize=KEPT)
def geometric_digits(ratio: Ratio) -> tuple[tuple[Inversion, ...], Inversion]:
    """The distributions of the lower digits, highest first, and of the leading one."""
    lower = 0
    while ratio.length > REACH << (8 * lower) and lower < MOST_LOWER_DIGITS:
        lower += 1
    digits = tuple(Inversion(digit_bounds(ratio, digit)) for digit in reversed(range(lower)))
    return digits, Inversion(leading_bounds(ratio, lower))


def _powers(ratio: Ratio, digit: int, places: int, count: int) -> list[Enclosure]:
    """The enclosures of R**1 .. R**count at *places* bits, where R = ratio**(256**place)."""
    low, high = first_low, first_high = ratio.power(BASE**digit, places)
    powers = [(low, high)]
    for _ in range(count - 1):
        low, high = low * first_low >> places, -(-high * first_high >> places)
        powers.append((low, high))
    return powers


def leading_bounds(ratio: Ratio, digit: int) -> Bounds:
    """The distribution function of the leading digit, at this place."""

    def bounds(bits: int) -> tuple[list[int], list[int]]:
        # P(H <= k) = 1 - R**(k+1)
        powers = _powers(ratio, digit, bits + GUARD, BASE - 1)
        one = 1 << (bits + GUARD)
        return [(one - high) >> GUARD for _, high in powers], [-(-(one - low) >> GUARD) for low, _ in powers]

    return bounds


def digit_bounds(ratio: Ratio, digit: int) -> Bounds:
    """The distribution function of a lower digit, at this place."""

    def bounds(bits: int) -> tuple[list[int], list[int]]:
        # P(L <= k) = (1 - R**(k+1)) / (1 - R**256)
        places = bits + GUARD + ratio.length.bit_length()
        powers = _powers(ratio, digit, places, BASE)
        # Where R is so near 1 that most places of 1 - R**256 are 0, as many more are needed.
        while (1 << places) - powers[-1][1] < 1 << (bits + GUARD):
            places *= 2
            powers = _powers(ratio, digit, places, BASE)
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


LARGEST = 2**63 - 1
LARGEST_SCALE = 2**52
LARGEST_THRESHOLD = 2**62
MOST_SUCCESSES = 10**9
"""More successes than this would not fit in memory as positions."""
BATCH = 1 << 20
"""Successes looked for at a time, so that what is needed beside the answer stays small."""


class OfBytes:
    """Bits that come in bytes."""

    __slots__ = ()
    read: Callable[[int], bytes]
    """What gives so many bytes."""

    def words(self, count: int, bits: int) -> Words:
        """*count* uniform whole numbers below 2**bits."""
        width = 8 if bits <= 8 else 16 if bits <= 16 else 32 if bits <= 32 else 64
        words: Words = np.frombuffer(self.read(count * width // 8), dtype=f"<u{width // 8}")
        return words if bits == width else words >> words.dtype.type(width - bits)


@frozen
class SystemBits(OfBytes):
    """Bits from the operating system's generator."""

    read = staticmethod(os.urandom)


class _System(io.RawIOBase):
    """The operating system's generator, as a stream."""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill all of a buffer."""
        buffer[:] = os.urandom(len(buffer))
        return len(buffer)


@frozen
class PieceOfBits(OfBytes):
    """Bits of the operating system's that are drawn many at once, for one release: each of them is given once.

    It is made for a release, used in its thread alone, and let go with it. So of two processes that a fork makes of one
    none draws what the other draws, unless for the very same release.
    """

    read: Callable[[int], bytes] = field(
        factory=lambda: io.BufferedReader(_System(), PIECE).read, init=False, repr=False, eq=False
    )


@frozen
class SeededBits(OfBytes):
    """Reproducible bits, for rehearsals on public data only."""

    seed: int
    read: Callable[[int], bytes] = field(init=False, repr=False, eq=False)

    @read.default
    def _make_generator(self) -> Callable[[int], bytes]:
        return np.random.Generator(np.random.PCG64(self.seed)).bytes


@frozen
class Noise:
    """The samplers over one source of bits. An Option never holds one: a probe draws for it."""

    source: BitSource = field(factory=SystemBits)

    def of_a_release(self) -> Noise:
        """The same for one release, where drawing many bits at once is for free."""
        return Noise(PieceOfBits()) if type(self.source) is SystemBits else self

    def geometric(self, ratio: Ratio, size: int) -> Integers:
        """*size* draws of G >= 0 with P(G >= g) = ratio**g."""
        digits, leading = geometric_digits(ratio)
        most = LARGEST >> (8 * len(digits))
        total = leading.draw(self.source, size)
        unfinished = np.flatnonzero(total == BASE - 1)
        while unfinished.size:
            more = leading.draw(self.source, unfinished.size)
            total[unfinished] += more
            # Beyond *most* nothing more is asked of it; a ratio next to 1 would never come to an end.
            unfinished = unfinished[(more == BASE - 1) & (total[unfinished] <= most)]
        if not digits:
            return total
        beyond = np.flatnonzero(total > most)
        if beyond.size == size:
            # Spares the tables of the lower digits, which for a ratio next to 1 take long to make.
            return np.full(size, LARGEST, dtype=np.int64)
        total[beyond] = most
        for digit in digits:
            total <<= 8
            total |= digit.draw(self.source, size)
        total[beyond] = LARGEST
        return total

    def discrete_laplace(self, scale: Amount, size: int) -> Integers:
        """*size* draws with P(x) proportional to exp(-|x|/scale), scale an exact rational."""
        ratio = Exponential(_checked_scale(scale))
        negative = sign(ratio).draw(self.source, size)
        magnitude = self.geometric(ratio, size)
        magnitude ^= -negative
        return magnitude

    def less_laplace(self, drawn: Integers, scale: Amount, less: Amount) -> Integers:
        """The noise of scale *less* that each of *drawn*, of a larger *scale*, was made of by adding more."""
        more, fewer = 1 / _checked_scale(scale), 1 / _checked_scale(less)
        if fewer <= more:
            raise NoiseError("noise is made of noise of a smaller scale alone")
        between, both = Exponential(_checked_scale(1 / (fewer - more))), Exponential(1 / (fewer + more))
        far = np.abs(drawn)
        made_of = self.geometric(between, far.size)
        beyond = np.flatnonzero(made_of > far)
        made_of[beyond] = far[beyond]
        further = beyond[~self.bernoulli(NoLater(Exponential(1 / (2 * more)), between), beyond.size)]
        made_of[further] += np.minimum(self.geometric(both, further.size), LARGEST - 1 - far[further]) + 1
        across = np.flatnonzero(~self.bernoulli(NoLater(both, between), far.size))
        made_of[across] = -1 - self.geometric(both, across.size)
        return np.where(drawn < 0, -made_of, made_of)

    def laplace_above(self, scale: Amount, threshold: int, size: int) -> Integers:
        """*size* draws of discrete Laplace noise given that it exceeds *threshold* >= 0."""
        threshold = operator.index(threshold)
        if not 0 <= threshold <= LARGEST_THRESHOLD:
            raise NoiseError(f"threshold is {threshold}, but must lie between 0 and 2**62")
        beyond = self.geometric(Exponential(_checked_scale(scale)), size)
        np.minimum(beyond, LARGEST - threshold - 1, out=beyond)
        beyond += threshold + 1
        return beyond

    def bernoulli(self, chance: Fraction | Chance, size: int) -> Truths:
        """*size* coins that come up with the given chance, rational or enclosable."""
        chance = RationalChance(chance) if isinstance(chance, Fraction) else chance
        return coin(chance).draw(self.source, size).astype(np.bool_)

    def bernoulli_exponential(self, x: Amount, size: int) -> Truths:
        """*size* coins of chance exp(-x), x >= 0 an exact rational."""
        exponent = exact(x, "x")
        if exponent < 0:
            raise NoiseError(f"x is {show_amount(exponent)}, but exp(-x) is a chance only from 0 on")
        return self.bernoulli(Exponential(1 / exponent) if exponent else Fraction(1), size)

    def below(self, bound: int, size: int) -> Integers:
        """*size* uniform whole numbers from 0 to bound - 1; *bound* is at most 2**63."""
        bound = operator.index(bound)
        if not 1 <= bound <= LARGEST + 1:
            raise NoiseError(f"bound is {bound}, but must lie between 1 and 2**63")
        if size < 0:
            raise NoiseError(f"{size} draws are asked for, but there cannot be fewer than 0")
        bits = (bound - 1).bit_length()
        if bits == 0:
            return np.zeros(size, dtype=np.int64)
        drawn = self.source.words(size, bits).astype(np.int64)
        rejected = np.flatnonzero(drawn >= bound) if bound != 1 << bits else np.empty(0, dtype=np.int64)
        while rejected.size:
            drawn[rejected] = self.source.words(rejected.size, bits)
            rejected = rejected[drawn[rejected] >= bound]
        return drawn

    def distinct(self, population: int, count: int) -> Integers:
        """*count* different whole numbers below *population*: every such set, in every order, equally likely.

        Draws with replacement and keeps first appearances: each new one is uniform among those not yet seen.
        """
        if not 0 <= count <= population:
            raise NoiseError(f"cannot choose {count:,} different ones out of {population:,}")
        if 2 * count > population:
            return self._shuffled(population)[:count]
        chosen = np.empty(0, dtype=np.int64)
        while chosen.size < count:
            chosen = np.concatenate([chosen, self.below(population, count - chosen.size)])
            _, first = np.unique(chosen, return_index=True)
            chosen = chosen[np.sort(first)]
        return chosen

    def _shuffled(self, count: int) -> Integers:
        while True:
            keys = self.source.words(count, 64)
            order = np.argsort(keys)
            ranked = keys[order]
            # Without ties, every order is equally likely; with one, all keys are drawn anew.
            if not np.any(ranked[1:] == ranked[:-1]):
                return order.astype(np.int64)

    def successes(self, trials: int, chance: Fraction | Chance) -> Integers:
        """In rising order, which of *trials* independent coins come up, in time linear in how many do.

        The wait for the next success is geometric with ratio 1 - chance. *trials* is at most 2**63 - 1.
        """
        trials = operator.index(trials)
        if not 0 <= trials <= LARGEST:
            raise NoiseError(f"trials is {trials}, but must lie between 0 and 2**63 - 1")
        ratio = Miss(RationalChance(chance) if isinstance(chance, Fraction) else chance)
        expected = trials // ratio.length
        if expected > MOST_SUCCESSES:
            raise NoiseError(
                f"about {expected:,} of {trials:,} coins would come up, more than fit in memory",
                fix="raise the threshold, or use fewer cells",
            )
        batch = min(16 + expected + 4 * math.isqrt(expected), BATCH)
        batches = [np.empty(0, dtype=np.int64)]
        start = 0
        while start < trials:
            positions = _running_positions(start, self.geometric(ratio, batch), trials)
            batches.append(positions)
            if positions.size < batch:
                break
            start = int(positions[-1]) + 1
        return np.concatenate(batches)

    def binomial(self, trials: int, chance: Fraction | Chance) -> int:
        """How many of *trials* independent coins come up."""
        return len(self.successes(trials, chance))

    def permute_and_flip(self, scores: Integers, rate: Amount) -> int:
        """The index picked by permute-and-flip: each coin comes up with chance exp(-gap * rate)."""
        if scores.ndim != 1 or not scores.size:
            raise NoiseError("permute-and-flip needs a list of at least one score")
        exact_rate = epsilon_amount(rate, "rate")
        if exact_rate * LARGEST_SCALE < 1:
            raise NoiseError(f"rate is {show_amount(exact_rate)}, but must be at least 2**-52")
        coins = self.geometric(Exponential(1 / exact_rate), scores.size) >= _gaps_below_best(scores)
        winners = np.flatnonzero(coins)
        return int(winners[self.below(winners.size, 1)[0]])


def _checked_scale(scale: Amount) -> Fraction:
    exact_scale = scale if isinstance(scale, Fraction) else exact(scale, "scale")
    if not 0 < exact_scale <= LARGEST_SCALE:
        raise NoiseError(f"scale is {show_amount(exact_scale)}, but must be above 0 and at most 2**52")
    return exact_scale


def _gaps_below_best(scores: Integers) -> Integers:
    if not np.can_cast(scores.dtype, np.int64):
        raise NoiseError(f"the scores are {scores.dtype}, not whole numbers below 2**63")
    wide = scores.astype(np.int64)
    # Scores far apart differ by more than int64 holds, but never by more than uint64 does. Such a gap is capped, where
    # no coin comes up but with the probability that is left out.
    gaps: Words = wide.max().view(np.uint64) - wide.view(np.uint64)
    return np.minimum(gaps, np.uint64(LARGEST)).astype(np.int64)


def _running_positions(start: int, steps: Integers, trials: int) -> Integers:
    """The places start + (steps summed so far, one more per success), up to the first that reaches *trials*.

    Summed in halves of 32 bits, so that no sum of fewer than 2**31 steps wraps round.
    """
    low_half = 0xFFFFFFFF
    lower = np.cumsum((steps & low_half) + 1) + ((start & low_half) - 1)
    upper = np.cumsum(steps >> 32) + (start >> 32) + (lower >> 32)
    lower &= low_half
    inside = (upper < trials >> 32) | ((upper == trials >> 32) & (lower < trials & low_half))
    positions: Integers = (upper[inside] << 32) | lower[inside]
    return positions
