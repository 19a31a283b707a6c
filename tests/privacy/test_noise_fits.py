"""Goodness of fit of the samplers, against their mass functions.

The bits are seeded, so the verdict is the same every time. With another seed, each test would fail once in a million
times though nothing is wrong.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from enumeration import literal_permute_and_flip
from goodness import FALSE_ALARM, fit, fit_geometric, fit_laplace, fit_outcomes
from scipy import stats

from jostle.errors import NoiseError
from jostle.privacy import noise as module
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.reals import Chance, Exponential, Miss, Ratio, RationalChance, Tail

LARGEST = 2**63 - 1


def seeded(seed: int) -> Noise:
    return Noise(SeededBits(seed))


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
