"""The samplers: exhaustively where words can be made short, and at the edges of what they take."""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from attrs import define
from enumeration import enumerated, exponential, literal_permute_and_flip
from hypothesis import example, given, settings
from hypothesis import strategies as st
from processes import together

from jostle.errors import NoiseError
from jostle.privacy import noise as drawing_tables
from jostle.privacy import noise as module
from jostle.privacy.noise import (
    PIECE,
    Bounds,
    Inversion,
    Noise,
    PieceOfBits,
    SeededBits,
    SystemBits,
    Words,
    discrete_laplace,
    geometric,
)
from jostle.privacy.reals import Exponential, Miss, RationalChance, Tail

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
    monkeypatch.setattr(drawing_tables, "Inversion", short)
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


@settings(deadline=None)
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
    assert discrete_laplace(10**6, 100).tolist() != discrete_laplace(10**6, 100).tolist()
    assert geometric(10**6, 100).tolist() != geometric(10**6, 100).tolist()
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
