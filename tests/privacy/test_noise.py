"""Noise has the distribution it should, enclosed and drawn."""

from __future__ import annotations

import itertools
import math
import os
import pickle
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from attrs import define
from enumeration import DIGITS, enumerated, exponential, literal_permute_and_flip
from goodness import FALSE_ALARM, fit, fit_geometric, fit_laplace, fit_outcomes
from hypothesis import example, given
from hypothesis import strategies as st
from processes import together
from scipy import stats

from jostle.errors import NoiseError
from jostle.privacy import noise as module
from jostle.privacy import reals
from jostle.privacy.noise import (
    PIECE,
    Bounds,
    Inversion,
    Noise,
    PieceOfBits,
    SeededBits,
    SystemBits,
    Words,
)
from jostle.privacy.reals import Chance, Enclosure, Exponential, Miss, Ratio, RationalChance, Tail, enclose_exponential

LARGEST = 2**63 - 1


def seeded(seed: int = 0) -> Noise:
    return Noise(SeededBits(seed))


def forget() -> None:
    """Drop all distributions that are kept for the next draw."""
    for kept in (module.geometric_digits, module.sign, module.coin):
        kept.cache_clear()


# Exhaustively, with words of 3, 2 and then 5 bits in place of 16, 48 and then 64


@pytest.fixture
def short_words(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def short(bounds: Bounds) -> Inversion:
        return Inversion(cache(bounds), first_bits=3, word_bits=5)

    forget()
    monkeypatch.setattr(module, "Inversion", short)
    yield
    forget()


@pytest.mark.representative
@pytest.mark.usefixtures("short_words")
@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(3, 2)])
def test_discrete_laplace_has_exactly_its_mass_function(scale: Fraction) -> None:
    """All strings of up to 24 bits: each value's share of them encloses its probability, known to 150 digits."""
    found = enumerated(lambda source: int(Noise(source).discrete_laplace(scale, 1)[0]), 24)
    assert found.undecided < Fraction(1, 100)
    assert len(found.lengths) > 1, "no tie was read on"
    q = exponential(1 / scale)
    for value in range(-30, 31):
        assert found.brackets(value, (1 - q) / (1 + q) * q ** abs(value))
    assert found.measure[0] == max(found.measure.values())


@pytest.mark.usefixtures("short_words")
@pytest.mark.parametrize("threshold", [0, 7])
def test_laplace_above_has_exactly_its_mass_function(threshold: int) -> None:
    found = enumerated(lambda source: int(Noise(source).laplace_above("3/2", threshold, 1)[0]), 25)
    q = exponential(Fraction(2, 3))
    for value in range(threshold, threshold + 30):
        assert found.brackets(value, (1 - q) * q ** (value - threshold - 1) if value > threshold else Fraction(0))


@pytest.mark.usefixtures("short_words")
@pytest.mark.parametrize("x", [Fraction(1, 1000), Fraction(1, 7), Fraction(1), Fraction(20)])
def test_an_exponential_coin_has_exactly_its_chance(x: Fraction) -> None:
    found = enumerated(lambda source: bool(Noise(source).bernoulli_exponential(x, 1)[0]), 40)
    assert found.undecided <= Fraction(1, 1 << 30)
    assert found.brackets(outcome=True, probability=exponential(x))
    assert found.brackets(outcome=False, probability=1 - exponential(x))


@pytest.mark.representative
@pytest.mark.usefixtures("short_words")
@pytest.mark.parametrize("scores", [[0, 0], [5, 4], [-3, 0], [0, -40]])
def test_permute_and_flip_between_two_is_the_literal_algorithm(scores: list[int]) -> None:
    found = enumerated(lambda source: Noise(source).permute_and_flip(np.array(scores), "2/3"), 18)
    assert found.undecided < Fraction(1, 3)
    gaps = [max(scores) - score for score in scores]
    for candidate, chance in enumerate(literal_permute_and_flip(gaps, Fraction(2, 3))):
        assert found.brackets(candidate, chance)


@pytest.mark.representative
@pytest.mark.parametrize("bound", range(1, 18))
def test_below_gives_every_number_the_same_share(bound: int) -> None:
    found = enumerated(lambda source: int(Noise(source).below(bound, 1)[0]), 20)
    assert set(found.measure) == set(range(bound))
    assert len(set(found.measure.values())) == 1
    assert found.undecided <= Fraction(1, 1 << 3)


@pytest.mark.parametrize(("population", "count"), [(2, 1), (4, 2), (5, 2), (6, 3), (7, 1)])
def test_distinct_gives_every_arrangement_the_same_share(population: int, count: int) -> None:
    """A string of bits and the same with the numbers renamed are equally long, so the shares are equal to the bit."""
    found = enumerated(lambda source: tuple(Noise(source).distinct(population, count).tolist()), 15)
    assert set(found.measure) == set(itertools.permutations(range(population), count))
    assert len(set(found.measure.values())) == 1
    assert found.undecided < Fraction(1, 2)


# Edges


@pytest.mark.parametrize("chance", [0, 1])
def test_certain_coins(chance: int) -> None:
    noise = seeded(9)
    assert noise.bernoulli(Fraction(chance), 5000).tolist() == [bool(chance)] * 5000
    assert noise.successes(5000, Fraction(chance)).tolist() == list(range(5000 * chance))
    assert noise.binomial(5000, RationalChance(Fraction(chance))) == 5000 * chance
    assert noise.bernoulli_exponential(0, 3).all()


@pytest.mark.parametrize(
    ("population", "count"),
    [(0, 0), (7, 0), (1, 1), (1000, 1000), (1000, 500), (1000, 501), (2**63, 1000), (10**6, 10**5)],
)
def test_distinct_ones_are_distinct(population: int, count: int) -> None:
    chosen = seeded(12).distinct(population, count)
    assert chosen.dtype == np.int64
    assert len(set(chosen.tolist())) == len(chosen) == count
    assert not count or 0 <= chosen.min() <= chosen.max() < population


def test_tied_keys_are_drawn_anew() -> None:
    """Sorting by keys that tie would favour one order of the tied."""

    @define
    class Tied:
        rounds: int = 0

        def words(self, count: int, bits: int) -> Words:
            self.rounds += 1
            keys = [9, 5, 9] if self.rounds < 3 else [9, 5, 1 << (bits - 1)]
            return np.array(keys[:count], dtype=np.uint64)

    source = Tied()
    assert Noise(source).distinct(3, 3).tolist() == [1, 0, 2]
    assert source.rounds == 3


@pytest.mark.parametrize("threshold", [1000, 10**6, 10**4000])
def test_next_to_no_chance_takes_no_time_to_speak_of(threshold: int) -> None:
    chance = Tail(Fraction(1), threshold)
    assert seeded(17).successes(LARGEST, chance).tolist() == []
    assert not seeded(17).bernoulli(chance, 5000).any()


WAITS = st.lists(st.integers(0, 40) | st.integers(0, LARGEST) | st.integers(2**32 - 3, 2**32 + 3), max_size=12)


@given(WAITS, st.integers(0, 100) | st.integers(0, LARGEST), st.integers(0, LARGEST))
@example([LARGEST] * 12, LARGEST - 1, LARGEST)
@example([2**32 - 1, 0], 0, 2**32)
@example([0, 0, 0], LARGEST - 2, LARGEST)
def test_running_positions_against_whole_numbers_without_end(waits: list[int], start: int, room: int) -> None:
    trials = min(start + room, LARGEST)
    expected = []
    position = start - 1
    for wait in waits:
        position += wait + 1
        if position >= trials:
            break
        expected.append(position)
    assert module._running_positions(start, np.array(waits, dtype=np.int64), trials).tolist() == expected


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint32])
def test_scores_as_far_apart_as_their_type_allows(dtype: type[np.int64]) -> None:
    """The gap does not fit the type, and for int64 no signed type: the lower one must still never win."""
    info = np.iinfo(dtype)
    scores = np.array([info.min, info.max, info.min], dtype=dtype)
    noise = seeded(19)
    assert {noise.permute_and_flip(scores, 1) for _ in range(200)} == {1}


# Sources, seeds, sharing


def draws_of_all_kinds(noise: Noise) -> list[list[int]]:
    return [
        noise.discrete_laplace("70000/3", 3000).tolist(),
        noise.discrete_laplace(1, 5).tolist(),
        noise.bernoulli(Fraction(1, 3), 2000).tolist(),
        noise.below(1000, 50).tolist(),
        noise.distinct(50, 30).tolist(),
        noise.successes(10**6, Fraction(1, 1000)).tolist(),
        [noise.permute_and_flip(np.arange(10), 1) for _ in range(20)],
    ]


def test_a_seed_gives_the_same_draws_whether_or_not_tables_exist() -> None:
    first = draws_of_all_kinds(seeded(21))
    assert draws_of_all_kinds(seeded(21)) == first
    forget()
    assert draws_of_all_kinds(seeded(21)) == first
    assert draws_of_all_kinds(seeded(22)) != first


def test_the_operating_system_repeats_nothing() -> None:
    """Equal by chance once in 2**1000 times."""
    assert draws_of_all_kinds(Noise()) != draws_of_all_kinds(Noise())
    copied = pickle.loads(pickle.dumps(Noise()))
    assert copied == Noise()
    assert copied.below(2**63, 20).tolist() != Noise().below(2**63, 20).tolist()


@given(st.integers(0, 2**64), st.lists(st.tuples(st.integers(0, 9), st.sampled_from([8, 16, 32, 48, 64]))))
def test_seeded_bits_are_those_of_numpys_generator(seed: int, requests: list[tuple[int, int]]) -> None:
    """Whatever is asked for in between: rehearsals that were recorded with a seed are to come out the same."""
    source, generator = SeededBits(seed), np.random.Generator(np.random.PCG64(seed))
    for count, bits in requests:
        width = next(width for width in (8, 16, 32, 64) if bits <= width)
        whole = np.frombuffer(generator.bytes(count * width // 8), dtype=f"<u{width // 8}")
        assert source.words(count, bits).tolist() == (whole >> whole.dtype.type(width - bits)).tolist()


def test_a_seeded_source_is_pickled_where_it_stands() -> None:
    noise = seeded(23)
    noise.below(10, 7)
    copied = pickle.loads(pickle.dumps(noise))
    assert draws_of_all_kinds(copied) == draws_of_all_kinds(noise)


def test_the_seed_is_all_a_source_shows() -> None:
    """Two sources of one seed are equal wherever they stand, and print no generator."""
    used = SeededBits(5)
    used.words(10, 64)
    assert used == SeededBits(5)
    assert repr(used) == "SeededBits(seed=5)"


@pytest.mark.representative("source")
@pytest.mark.parametrize("source", [SeededBits(24), SystemBits(), PieceOfBits()], ids=["seeded", "system", "piece"])
@pytest.mark.parametrize("bits", [1, 7, 8, 9, 16, 17, 31, 32, 33, 48, 63, 64])
def test_words_have_their_bits(source: SeededBits | SystemBits | PieceOfBits, bits: int) -> None:
    """Every bit of a word is 1 in half of them; a false alarm once in 10**12 times, for the system's are not seeded."""
    words = source.words(10**4, bits)
    assert words.itemsize * 8 == next(width for width in (8, 16, 32, 64) if width >= bits)
    assert int(words.max()) < 1 << bits
    for bit in range(bits):
        ones = int(np.count_nonzero(words >> words.dtype.type(bit) & words.dtype.type(1)))
        assert abs(ones - 5000) < 7.3 * 50
    assert len(source.words(0, bits)) == 0


def test_a_piece_gives_each_byte_of_the_system_s_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked for at once, what is read is what the system gave, in order, and nothing of it twice."""
    drawn = bytearray()

    def numbered(count: int) -> bytes:
        first = len(drawn) // 4
        drawn.extend(np.arange(first, first + -(-count // 4), dtype="<u4").tobytes()[:count])
        return bytes(drawn[-count:])

    monkeypatch.setattr(os, "urandom", numbered)
    source, read = Noise().of_a_release().source, b""
    for count in (1, 3, PIECE // 8, 1, PIECE, 5, 2 * PIECE, 2):
        read += source.words(count, 64).tobytes()
    assert read == bytes(drawn[: len(read)])
    assert len(drawn) - len(read) < PIECE
    seeds = Noise(SeededBits(3))
    assert seeds.of_a_release() is seeds


def test_threads_that_make_the_same_tables_at_once_draw_the_same() -> None:
    alone = [draws_of_all_kinds(seeded(seed)) for seed in range(8)]
    forget()
    found: dict[int, list[list[int]]] = {}

    def draw(seed: int) -> None:
        found[seed] = draws_of_all_kinds(seeded(seed))

    together(*(partial(draw, seed) for seed in range(8)))
    assert [found[seed] for seed in range(8)] == alone


# Sizes and refusals


@pytest.mark.representative
@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 65536, 65537])
def test_as_many_as_asked_for(size: int) -> None:
    noise = seeded(25)
    draws = [
        noise.discrete_laplace(1000, size),
        noise.geometric(Miss(RationalChance(Fraction(1, 2**63))), size),
        noise.laplace_above(1, 3, size),
        noise.below(10, size),
    ]
    assert [(len(each), each.dtype.name) for each in draws] == [(size, "int64")] * 4
    for coins in (noise.bernoulli(Fraction(1, 2), size), noise.bernoulli_exponential(0, size)):
        assert (len(coins), coins.dtype.name) == (size, "bool")


def test_thresholds_as_high_as_they_may_be() -> None:
    beyond = seeded(26).laplace_above(2**52, 2**62, 10**5)
    assert 2**62 < beyond.min() < 2**62 + 2**45
    assert beyond.max() < 2**62 + 2**57
    with pytest.raises(NoiseError, match="threshold"):
        seeded(26).laplace_above(2**52, 2**62 + 1, 1)


def test_the_largest_values_are_cut_and_never_wrap_round() -> None:
    """Bits that are all ones stand for the largest real number below 1, so they give the largest noise there is."""

    class Ones:
        def words(self, count: int, bits: int) -> Words:
            return np.full(count, (1 << bits) - 1, dtype=np.uint64)

    noise = Noise(Ones())
    assert noise.laplace_above(2**52, 2**62, 2).tolist() == [LARGEST] * 2
    assert noise.geometric(Exponential(Fraction(2**52)), 2).tolist() == [LARGEST] * 2
    assert noise.discrete_laplace(2**52, 2).tolist() == [-LARGEST - 1] * 2


@pytest.mark.parametrize("scale", ["1e-4000", 1e-300, Fraction(1, 10**30)])
def test_the_smallest_scales_give_no_noise(scale: str | float | Fraction) -> None:
    assert not seeded(27).discrete_laplace(scale, 10**5).any()


def test_draws_may_be_written_to() -> None:
    """Callers add to them in place."""
    noise = seeded(28)
    kinds = [noise.discrete_laplace(1, 10), noise.geometric(Exponential(Fraction(10**6)), 10), noise.below(8, 10)]
    assert all(draws.flags.writeable for draws in kinds)


# Goodness of fit of the samplers, against their mass functions. The bits are seeded, so the verdict is the same every
# time. With another seed, each test would fail once in a million times though nothing is wrong.


@pytest.mark.representative
@pytest.mark.parametrize("scale", ["1/1000", "1/3", "1", "10", "1000", "1000000"])
def test_discrete_laplace_fits_its_mass_function(scale: str) -> None:
    draws = seeded(1).discrete_laplace(scale, 10**6)
    assert fit_laplace(draws, float(Fraction(scale))) > FALSE_ALARM
    if scale == "1/1000":
        assert not draws.any(), "other values than 0 have probability 2 * exp(-1000)"


@pytest.mark.parametrize("scale", [10, 1000])
def test_the_fit_is_sharp_enough_to_tell_scales_apart(scale: int) -> None:
    draws = seeded(1).discrete_laplace(scale, 10**6)
    assert fit_laplace(draws, scale * 1.01) < FALSE_ALARM
    assert fit_laplace(draws, scale * 0.99) < FALSE_ALARM
    assert fit_laplace(np.where(draws == 0, 1, draws), scale) < FALSE_ALARM


@pytest.mark.parametrize("seed", range(3))
def test_low_digits_fit_as_well(seed: int) -> None:
    """At scale 10**6 the fit is about thousands at a time; here is the last base-256 digit, and the one before it."""
    draws = seeded(seed).geometric(Exponential(Fraction(10**6)), 10**6)
    for place in (0, 1):
        masses = np.exp(-np.arange(256.0) * 256**place / 10**6)
        found = np.bincount(draws >> (8 * place) & 255, minlength=256)
        assert fit(found, 10**6 * masses / masses.sum()) > FALSE_ALARM
    pairs = np.bincount((draws & 15) << 4 | draws >> 8 & 15, minlength=256).reshape(16, 16)
    assert stats.chi2_contingency(pairs).pvalue > FALSE_ALARM


@pytest.mark.representative
@pytest.mark.parametrize(
    "ratio",
    [
        Exponential(Fraction(5, 2)),
        Exponential(Fraction(12)),
        Exponential(Fraction(25, 2)),  # the first scale with a lower digit
        Exponential(Fraction(12 * 256 + 1)),  # and with two
        Exponential(Fraction(10**15)),
        Miss(RationalChance(Fraction(1, 3))),
        Miss(RationalChance(Fraction(999, 1000))),
        Miss(RationalChance(Fraction(1, 10**6))),
        Miss(Tail(Fraction(3), 8)),
    ],
    ids=str,
)
def test_geometric_fits_its_mass_function(ratio: Ratio) -> None:
    low, high = ratio.power(1, 100)
    assert fit_geometric(seeded(3).geometric(ratio, 10**6), (low + high) / 2**101) > FALSE_ALARM


def test_a_leading_digit_of_255_is_drawn_again() -> None:
    """At lengths the tables are made for, that is rare. A ratio that gives a wrong length costs time, nothing else."""

    class Long(Exponential):
        @property
        def length(self) -> int:
            return 1

    draws = seeded(4).geometric(Long(Fraction(300)), 10**6)
    assert draws.max() > 10 * 256
    assert fit_geometric(draws, math.exp(-1 / 300)) > FALSE_ALARM


def test_values_fill_63_bits_before_they_are_cut() -> None:
    """At length 2**62, the top seven bits are spread over 0 .. 127, and exp(-2) of all waits are longer than that."""
    for ratio in (Miss(RationalChance(Fraction(1, 2**62))), Exponential(Fraction(2**62))):
        draws = seeded(5).geometric(ratio, 10**6)
        cut = draws == LARGEST
        beyond = np.exp(-np.arange(129) / 64)
        expected = 10**6 * np.concatenate([-np.diff(beyond), beyond[-1:]])
        assert fit(np.bincount(np.where(cut, 128, draws >> 56), minlength=129), expected) > FALSE_ALARM


def test_the_largest_scale_fits() -> None:
    draws = seeded(6).discrete_laplace(2**52, 10**6)
    assert fit_laplace(draws >> 32, 2**20) > FALSE_ALARM / 10  # rounded down, which moves it by half a unit in 2**20
    assert np.abs(draws).max() < 2**58
    assert len(np.unique(draws)) > 999_000


@pytest.mark.representative
@pytest.mark.parametrize("chance", [Fraction(1, 7), Fraction(999, 1000), Tail(Fraction(2), 3), Tail(Fraction(2), -3)])
@pytest.mark.parametrize("size", [1000, 10**6])
def test_coins_come_up_as_often_as_they_should(chance: Fraction | Chance, size: int) -> None:
    low, high = (RationalChance(chance) if isinstance(chance, Fraction) else chance).enclose(64)
    p = (low + high) / 2**65
    heads = int(seeded(7).bernoulli(chance, size).sum())
    assert stats.binomtest(heads, size, p).pvalue > FALSE_ALARM


@pytest.mark.representative
@pytest.mark.parametrize("x", ["1e-30", "1/1000", 0.1, 1, 5, "1e30"])
def test_exponential_coins_come_up_as_often_as_they_should(x: str | float) -> None:
    heads = int(seeded(8).bernoulli_exponential(x, 10**6).sum())
    assert stats.binomtest(heads, 10**6, math.exp(-float(Fraction(x)))).pvalue > FALSE_ALARM


@pytest.mark.representative
@pytest.mark.parametrize("bound", [2, 3, 255, 256, 257, 1000, 2**31 + 1, 2**62 + 1, 2**63 - 1, 2**63])
def test_below_is_uniform(bound: int) -> None:
    draws = seeded(10).below(bound, 10**6)
    assert 0 <= draws.min() <= draws.max() < bound
    cells = min(bound, 1000)
    bins = np.array([int(draw) * cells // bound for draw in draws.tolist()])
    widths = np.diff([-(-cell * bound // cells) for cell in range(cells + 1)]).astype(float)
    assert fit(np.bincount(bins, minlength=cells), 10**6 * widths / bound) > FALSE_ALARM
    if bound > 10**9:
        assert fit(np.bincount(draws % 8, minlength=8), np.full(8, 10**6 / 8)) > FALSE_ALARM


@pytest.mark.parametrize(("population", "count"), [(4, 4), (5, 3), (4, 3), (6, 2)])
def test_all_arrangements_are_equally_likely(population: int, count: int) -> None:
    noise = seeded(11)
    found = Counter(tuple(noise.distinct(population, count).tolist()) for _ in range(20_000))
    arrangements = list(itertools.permutations(range(population), count))
    assert fit_outcomes(found, dict.fromkeys(arrangements, 1 / len(arrangements))) > FALSE_ALARM


@pytest.mark.representative
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 5), Fraction(9, 10), Tail(Fraction(1), 0)])
@pytest.mark.parametrize("batch", [1, 2, module.BATCH])
def test_which_coins_come_up(monkeypatch: pytest.MonkeyPatch, chance: Fraction | Chance, batch: int) -> None:
    """Sets of four coins are as likely as if thrown one by one, however many successes are looked for at once."""
    monkeypatch.setattr(module, "BATCH", batch)
    low, high = (RationalChance(chance) if isinstance(chance, Fraction) else chance).enclose(64)
    p = (low + high) / 2**65
    noise = seeded(13)
    found = Counter(tuple(noise.successes(4, chance).tolist()) for _ in range(10_000))
    sets = [members for size in range(5) for members in itertools.combinations(range(4), size)]
    chances = {members: p ** len(members) * (1 - p) ** (4 - len(members)) for members in sets}
    assert fit_outcomes(found, chances) > FALSE_ALARM


@pytest.mark.representative
@pytest.mark.parametrize(("trials", "chance"), [(0, "1/2"), (1, "1/2"), (50, "3/10"), (10**12, "3/1000000000000")])
def test_binomial_fits_its_mass_function(trials: int, chance: str) -> None:
    noise = seeded(14)
    draws = np.array([noise.binomial(trials, Fraction(chance)) for _ in range(10_000)])
    most = min(trials, 60)
    expected = stats.binom.pmf(np.arange(most + 1), trials, float(Fraction(chance)))
    assert fit(np.bincount(draws, minlength=most + 1), 10_000 * expected / expected.sum()) > FALSE_ALARM


def test_many_successes_come_in_batches() -> None:
    """Three million coins of chance 2/3 take more than one batch of waits; every wait must fit, those between too."""
    trials, chance = 3 * 10**6, Fraction(2, 3)
    assert trials * chance > module.BATCH
    found = seeded(15).successes(trials, chance)
    assert 0 <= found[0] < found[-1] < trials
    assert np.all(np.diff(found) > 0)
    assert stats.binomtest(len(found), trials, float(chance)).pvalue > FALSE_ALARM
    assert fit_geometric(np.diff(found) - 1, 1 / 3) > FALSE_ALARM
    assert fit(np.bincount(found % 16, minlength=16), np.full(16, len(found) / 16)) > FALSE_ALARM


def test_successes_among_as_many_trials_as_there_can_be() -> None:
    """At chance 2**-60, of 2**63 - 1 coins 8 come up on average, anywhere among them, the very end too."""
    noise = seeded(16)
    runs = [noise.successes(LARGEST, Fraction(1, 2**60)) for _ in range(5000)]
    for run in runs:
        assert np.all(np.diff(run) > 0)
        assert np.all(run >= 0)
    counts = np.bincount([len(run) for run in runs], minlength=60)
    assert fit(counts, 5000 * stats.poisson.pmf(np.arange(len(counts)), 8)) > FALSE_ALARM
    places = np.bincount(np.concatenate(runs) >> 56, minlength=128)
    assert fit(places, np.full(128, places.sum() / 128)) > FALSE_ALARM


@pytest.mark.representative
@pytest.mark.parametrize("gaps", [[0, 0, 0], [0, 1, 2], [3, 0, 0, 1], [0, 50, 1], [2, 5, 0, 1, 1]])
def test_permute_and_flip_is_the_literal_algorithm(gaps: list[int]) -> None:
    rate = Fraction(1, 2)
    noise = seeded(18)
    scores = 100 - np.array(gaps)
    found: Counter[tuple[int, ...]] = Counter((noise.permute_and_flip(scores, rate),) for _ in range(20_000))
    chances: dict[tuple[int, ...], float] = {
        (i,): float(chance) for i, chance in enumerate(literal_permute_and_flip(gaps, rate))
    }
    assert fit_outcomes(found, chances) > FALSE_ALARM


@pytest.mark.slow
def test_far_gaps_at_the_lowest_rate() -> None:
    """Rates are at least 2**-52, where a gap of 2**53 has a coin of chance exp(-2)."""
    noise = seeded(20)
    scores = np.array([0, 2**53])
    picks = [noise.permute_and_flip(scores, Fraction(1, 2**52)) for _ in range(20_000)]
    assert stats.binomtest(picks.count(0), len(picks), math.exp(-2) / 2).pvalue > FALSE_ALARM
    with pytest.raises(NoiseError, match="at least 2"):
        noise.permute_and_flip(scores, Fraction(1, 2**52 + 1))


# Enclosures of real numbers hold them, as tightly as they say.


BITS = st.integers(0, 400)
SCALES = st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=1000)
CHANCES = st.fractions(min_value=Fraction(1, 10**9), max_value=1 - Fraction(1, 10**9), max_denominator=10**9)


def holds(enclosure: Enclosure, truth: Fraction, bits: int) -> bool:
    """Return whether the enclosure holds a truth known to some 150 digits after the point."""
    low, high = enclosure
    slack = Fraction(1 << bits, 10**150)
    return low <= truth * (1 << bits) + slack and truth * (1 << bits) - slack <= high


@given(st.fractions(min_value=0, max_value=1000, max_denominator=10**6), BITS)
@example(Fraction(0), 0)
@example(Fraction(0), 64)
@example(Fraction(1), 64)
@example(Fraction(64), 64)
@example(Fraction(64) - Fraction(1, 10**6), 64)
def test_exponential_is_enclosed_within_two_units(x: Fraction, bits: int) -> None:
    low, high = enclose_exponential(x, bits)
    assert holds((low, high), exponential(x), bits)
    assert 0 <= low < high <= low + 2
    assert high <= 1 << bits or bits == 0


@given(st.fractions(min_value=0, max_value=50, max_denominator=1000), st.integers(10, 100))
def test_more_bits_enclose_more_tightly(x: Fraction, bits: int) -> None:
    low, high = enclose_exponential(x, bits)
    finer_low, finer_high = enclose_exponential(x, bits + 8)
    assert Fraction(finer_high - finer_low, 1 << 8) < high - low


def test_extreme_exponents_take_no_time_to_speak_of() -> None:
    """Squaring back exp(-10**4000) would take 13,000 squarings; it is far below any unit asked for."""
    assert enclose_exponential(Fraction(10**4000), 64) == (0, 1)
    low, high = enclose_exponential(Fraction(1, 10**4000), 64)
    assert low < high == 1 << 64


def test_a_growing_exponential_is_refused() -> None:
    with pytest.raises(NoiseError, match="x is -1"):
        enclose_exponential(Fraction(-1), 64)


@given(SCALES, st.integers(0, 10**6), BITS)
def test_powers_of_an_exponential(scale: Fraction, exponent: int, bits: int) -> None:
    low, high = Exponential(scale).power(exponent, bits)
    truth = exponential(min(exponent / scale, Fraction(1000)))
    assert holds((low, high), truth, bits)
    assert high - low <= 2


@given(SCALES, BITS)
def test_an_exponential_is_a_chance_too(scale: Fraction, bits: int) -> None:
    assert Exponential(scale).enclose(bits) == Exponential(scale).power(1, bits)
    assert Exponential(scale).length - 1 < scale <= Exponential(scale).length


@given(CHANCES | st.sampled_from([Fraction(0), Fraction(1), Fraction(3, 8)]), BITS)
def test_a_known_chance_is_enclosed_by_the_two_units_next_to_it(chance: Fraction, bits: int) -> None:
    low, high = RationalChance(chance).enclose(bits)
    assert low <= chance * (1 << bits) <= high
    assert high - low == (0 if (chance * (1 << bits)).denominator == 1 else 1)


def tail(scale: Fraction, threshold: int) -> Fraction:
    """Return P(X > threshold) from the mass function: P(|X| <= s) = mass * (1 + 2 * (q + ... + q**s))."""
    q = exponential(1 / scale)
    s = threshold if threshold >= 0 else -threshold - 1
    beyond = (1 - (1 - q) / (1 + q) * (1 + 2 * q * (1 - q**s) / (1 - q))) / 2
    return beyond if threshold >= 0 else 1 - beyond


@given(st.fractions(min_value=Fraction(1, 20), max_value=100, max_denominator=100), st.integers(-100, 100), BITS)
@example(Fraction(1), 0, 64)
@example(Fraction(1), -1, 64)
def test_tails_of_discrete_laplace_noise(scale: Fraction, threshold: int, bits: int) -> None:
    low, high = Tail(scale, threshold).enclose(bits)
    assert holds((low, high), tail(scale, threshold), bits)
    assert 0 <= low <= high <= 1 << bits
    assert high - low <= 2


def test_tails_add_up_to_the_mass_function() -> None:
    """P(X > t-1) - P(X > t) = P(X = t), on both sides of 0."""
    scale, bits = Fraction(5, 3), 300
    q = exponential(1 / scale)
    for t in range(-9, 10):
        upper, lower = (Tail(scale, at).enclose(bits) for at in (t - 1, t))
        found = Fraction(upper[0] - lower[0], 1 << bits)
        assert abs(found - (1 - q) / (1 + q) * q ** abs(t)) < Fraction(4, 1 << bits)


def power(base: Fraction, exponent: int) -> Fraction:
    """Return base ** exponent to 190 digits."""
    truth = DIGITS.power(DIGITS.divide(Decimal(base.numerator), Decimal(base.denominator)), exponent)
    return Fraction(max(truth, Decimal("1e-500")))


@given(CHANCES, st.sampled_from([0, 1, 2, 255, 256, 257, 256**3, 256**7]), BITS)
def test_powers_of_a_miss(chance: Fraction, exponent: int, bits: int) -> None:
    low, high = Miss(RationalChance(chance)).power(exponent, bits)
    assert holds((low, high), power(1 - chance, exponent), bits)
    assert 0 <= low <= high <= 1 << bits
    assert high - low <= 2


@given(
    st.fractions(min_value=Fraction(1, 20), max_value=20, max_denominator=100),
    CHANCES,
    st.integers(-20, 20),
    st.sampled_from([1, 2, 255, 256]),
    st.integers(1, 24),
)
def test_enclosures_hold_without_guard_bits_too(
    scale: Fraction, chance: Fraction, threshold: int, exponent: int, bits: int
) -> None:
    """Carrying more bits makes enclosures tight; that they hold must not rest on it, or it holds by luck."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reals, "GUARD", 0)
        assert holds(enclose_exponential(scale, bits), exponential(scale), bits)
        assert holds(Tail(scale, threshold).enclose(bits), tail(scale, threshold), bits)
        assert holds(Miss(RationalChance(chance)).power(exponent, bits), power(1 - chance, exponent), bits)
        wait = Miss(Exponential(scale)).power(exponent, bits)
        assert holds(wait, power(1 - exponential(1 / scale), exponent), bits)


@pytest.mark.parametrize("chance", [Exponential(Fraction(1, 3)), Tail(Fraction(10), 30), Tail(Fraction(1), -2)])
def test_a_miss_of_an_irrational_chance(chance: Chance) -> None:
    low, high = chance.enclose(600)
    truth = (1 - Fraction(low + high, 2 << 600)) ** 1000
    for bits in (16, 64, 128, 256):
        miss = Miss(chance).power(1000, bits)
        assert holds(miss, truth, bits)
        assert miss[1] - miss[0] <= 2


def test_lengths_of_misses() -> None:
    assert Miss(RationalChance(Fraction(1))).length == 1
    assert Miss(RationalChance(Fraction(1, 3))).length in (3, 4)
    assert 0.99 < Miss(RationalChance(Fraction(1, 10**9))).length / 10**9 < 1.01
    assert Miss(RationalChance(Fraction(1, 10**50))).length == 1 << 64


def test_what_is_no_scale_and_no_chance_is_refused() -> None:
    for scale in (Fraction(0), Fraction(-1, 3)):
        with pytest.raises(NoiseError, match="must be above 0"):
            Exponential(scale)
        with pytest.raises(NoiseError, match="must be above 0"):
            Tail(scale, 1)
    for chance in (Fraction(-1, 10**9), 1 + Fraction(1, 10**9)):
        with pytest.raises(NoiseError, match="between 0 and 1"):
            RationalChance(chance)
