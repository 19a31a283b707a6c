"""Mechanisms under audit: exact losses, samples that fit them, and all that is drawn gone through."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from jostle.audit import (
    CONTROLS,
    HONEST,
    Finding,
    Forks,
    Sampler,
    Subject,
    audit_subject,
    enumerated,
    enumerated_runs,
    laplace,
    privacy_loss,
)
from jostle.audit.auditor import exact_bound, exact_loss, statistical_bound
from jostle.audit.forks import permute_and_flip_chances
from jostle.audit.outputs import as_keys
from jostle.audit.selections import SinglePick, ThresholdedAnswers, balanced_share, grid_quality
from jostle.audit.subjects import Vector
from jostle.errors import AuditError
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.reals import Exponential, Tail

ONE = Fraction(1)
SUBJECTS = (*CONTROLS, *HONEST)
RUN = [subject for subject in SUBJECTS if subject.sample is not None]
BOTH = [subject for subject in RUN if subject.distribution is not None]
LONG = {"PeelingRounds", "PeelingRoundsMonotone"}
"""Subjects whose samples take seconds."""
BY_NAME: dict[str, Subject[Any]] = {subject.name: subject for subject in SUBJECTS}

LEAST_EXPECTED = 10
FALSE_ALARM = 1e-6
"""Chance of failing a test of fit that should hold, over seeds; the seed here is fixed."""


def name_of(subject: Subject[Any]) -> str:
    return subject.name


def exact_epsilon(name: str, epsilon: Fraction = ONE) -> float:
    return exact_bound(BY_NAME[name], epsilon).epsilon


def fit(expected: dict[Hashable, float], outputs: list[Hashable]) -> float:
    """Return the p-value of a chi-squared test, rare outputs taken together."""
    seen = Counter(outputs)
    common = {output: chance for output, chance in expected.items() if chance * len(outputs) >= LEAST_EXPECTED}
    rest = 1 - math.fsum(common.values())
    observed = np.array([*(seen[output] for output in common), len(outputs) - sum(seen[output] for output in common)])
    hoped = np.array([*common.values(), max(rest, 1e-12)]) * len(outputs)
    if hoped[-1] < LEAST_EXPECTED:
        observed[0], hoped[0] = observed[0] + observed[-1], hoped[0] + hoped[-1]
        observed, hoped = observed[:-1], hoped[:-1]
    statistic = float((((observed - hoped) ** 2) / hoped).sum())
    return 1.0 if len(hoped) == 1 else float(chi2.sf(statistic, len(hoped) - 1))


@pytest.mark.representative
@pytest.mark.parametrize(
    "subject",
    [pytest.param(each, marks=[pytest.mark.slow] if each.name in LONG else []) for each in BOTH],
    ids=name_of,
)
def test_sampling_fits_the_exact_distribution(subject: Subject[Any]) -> None:
    assert subject.sample is not None
    assert subject.distribution is not None
    noise = Noise(SeededBits(2024))
    runs = 4000 if subject.samples < 100_000 else 20_000
    for pair in list(subject.pairs)[:4]:
        for data in (pair.first, pair.second):
            exact = subject.distribution(data, subject.epsilon)
            outputs = as_keys(subject.sample(noise, data, subject.epsilon, runs))
            parted = next(iter(exact.parts.values()), ())
            if len(parted) > 1:  # all combinations of values would be too many: part by part
                for place in range(len(parted)):
                    marginal: dict[Hashable, float] = {}
                    for label, chance in exact.chances.items():
                        for value, share in exact.parts[label][place].outputs():
                            key = (label, value)
                            marginal[key] = marginal.get(key, 0.0) + chance * share
                    labelled = 0 if () in exact.chances else 1
                    rows: list[Hashable] = [
                        (row[0] if labelled else (), row[labelled + place]) for row in outputs if isinstance(row, tuple)
                    ]
                    assert len(rows) == runs
                    assert fit(marginal, rows) > FALSE_ALARM
            else:
                assert fit(dict(exact.outputs()), [subject.view(output) for output in outputs]) > FALSE_ALARM


def test_the_test_of_fit_sees_a_twentieth_too_much_noise() -> None:
    """A test that cannot fail shows nothing: noise of scale 1.05 does not fit the distribution of scale 1."""
    counts = BY_NAME["NoisyCounts"]
    assert counts.distribution is not None
    noisy = Noise(SeededBits(1)).discrete_laplace("1.05", 20_000).tolist()

    assert fit(dict(counts.distribution((0, 0, 0), ONE).parts[()][0].chances), noisy) < FALSE_ALARM


@pytest.mark.parametrize("subject", CONTROLS, ids=name_of)
def test_every_control_is_caught(subject: Subject[Any]) -> None:
    finding = audit_subject(subject, samples=subject.samples // 5, noise=Noise(SeededBits(1)))

    assert finding.verdict == "caught"
    assert finding.bound.epsilon > finding.claimed
    assert subject.fault is not None
    assert subject.fault.how
    assert subject.fault.reference


@pytest.mark.parametrize("subject", HONEST, ids=name_of)
def test_no_honest_mechanism_is_accused(subject: Subject[Any]) -> None:
    finding = audit_subject(subject, samples=subject.samples // 5, noise=Noise(SeededBits(2)))

    assert finding.verdict == "within its claim"


@pytest.mark.representative("subject")
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 3), Fraction(2)])
@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(held, marks=[pytest.mark.slow] * (held.name == "LastStep"))  # whose tables are the largest
        for held in HONEST
        if held.distribution
    ],
    ids=name_of,
)
def test_honest_mechanisms_keep_their_claim_exactly_at_other_epsilons_too(
    subject: Subject[Any], epsilon: Fraction
) -> None:
    assert 0 < exact_bound(subject, epsilon).epsilon <= subject.claim(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("subject", [held for held in CONTROLS if held.sample], ids=name_of)
def test_every_control_that_can_be_run_is_caught_by_its_runs_alone(subject: Subject[Any]) -> None:
    bound = statistical_bound(subject, subject.epsilon, subject.samples, 0.999, Noise(SeededBits(3)))

    assert bound.epsilon > subject.claim(subject.epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("subject", BOTH, ids=name_of)
def test_no_bound_found_by_sampling_exceeds_the_exact_one(subject: Subject[Any]) -> None:
    finding: Finding = audit_subject(subject, noise=Noise(SeededBits(4)))
    exact, statistical = finding.found("exact"), finding.found("statistical")

    assert exact is not None
    assert statistical is not None
    assert statistical.epsilon <= exact.epsilon + 1e-6


def test_threshold_testing_gives_an_output_that_the_other_input_never_does() -> None:
    """The counterexample in full: answers (0, 1) against (1, 1), threshold 0, epsilon 1."""
    ptt = BY_NAME["PTT"]
    assert ptt.distribution is not None
    before, after = ptt.distribution((0, 1), ONE), ptt.distribution((1, 1), ONE)

    assert before.chances[0, 1] == pytest.approx((1 - math.exp(-1)) / 2, abs=5e-4)
    assert (0, 1) not in after.chances
    assert privacy_loss(before, after) == math.inf
    assert exact_epsilon("PTTMonotone") == math.inf


def test_variant_four_costs_nearly_what_its_repair_says_and_no_more() -> None:
    """Lyu, Su, Li: (1+6c)/4 for c positives, so 13/4 for two."""
    assert 3.2 < exact_epsilon("SparseVectorVariant4") <= 13 / 4


def test_variants_three_and_six_lose_more_with_every_query() -> None:
    def pattern(queries: int) -> float:
        variant = ThresholdedAnswers(threshold_share=Fraction(1, 2), query_noise=1, positives=None)
        half = queries // 2
        level, apart = (0,) * queries, (1,) * half + (-1,) * half
        return privacy_loss(variant.distribution(level, ONE), variant.distribution(apart, ONE))

    losses = [pattern(queries) for queries in (2, 4, 6, 8)]
    assert losses == sorted(losses)
    assert losses[-1] > 3
    assert exact_epsilon("SparseVectorVariant3") > 5


@pytest.mark.parametrize("positives", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_standard_sparse_vector_is_private_because_of_each_of_its_factors(
    positives: int, *, monotone: bool
) -> None:
    factor = positives if monotone else 2 * positives
    share = balanced_share(positives, monotone=monotone)
    level, apart = (0,) * 6, (1,) * (6 - positives) + ((0,) if monotone else (-1,)) * positives

    def loss(query_noise: int) -> float:
        mechanism = ThresholdedAnswers(threshold_share=share, query_noise=query_noise, positives=positives)
        return privacy_loss(mechanism.distribution(level, ONE), mechanism.distribution(apart, ONE))

    assert 0.4 < loss(factor) <= 1
    if factor > 1:
        assert loss(factor // 2) > loss(factor)


def test_the_leaf_rule_loses_what_its_formula_says_and_more_with_larger_majorities() -> None:
    leaf = BY_NAME["SmoothLeaf2017"]
    assert leaf.distribution is not None
    tables = [leaf.distribution((majority, 0), ONE) for majority in (1, 2, 3, 4, 800)]

    losses = [privacy_loss(one, next_one) for one, next_one in pairwise(tables)]
    assert losses[0] == pytest.approx(2.1313, abs=1e-3)
    assert losses[1] == pytest.approx(6.3237, abs=1e-3)
    assert losses[2] > 17
    assert losses[3] < math.inf


def test_noise_of_scale_epsilon_is_only_too_little_below_one() -> None:
    assert exact_epsilon("NoiseScaleEpsilon", Fraction(1, 2)) == pytest.approx(2)
    assert exact_epsilon("NoiseScaleEpsilon", Fraction(2)) == pytest.approx(1 / 2)


def test_the_value_of_the_maximum_tells_about_all_scores() -> None:
    assert 4.9 < exact_epsilon("NoisyMaxValue") <= 5


def test_the_quality_of_a_grid_moves_by_its_stated_sensitivity() -> None:
    """Brute force over leads: one more record raises it by at most 1.0889 and lowers it by at most 0.0889."""
    rate = 0.02
    bound = (1 + math.sqrt(3)) / 2 * math.exp(-(1 + math.sqrt(3)))
    moves = [
        grid_quality([(500 + lead + 1, 500)], rate) - grid_quality([(500 + lead, 500)], rate)
        for lead in range(-500, 500)
    ]

    assert max(moves) == pytest.approx(1 + bound, abs=1e-4)
    assert min(moves) == pytest.approx(-bound, abs=1e-4)
    assert max(moves) <= 1 + bound
    assert round(1 + bound, 4) == 1.0889


def test_the_choice_of_a_grid_loses_up_to_the_span_of_all_moves_of_its_quality() -> None:
    """Span 1.1778 for an added record, twice that for a replaced one; P ~ exp(epsilon/2 * quality) halves it."""
    epsilon = Fraction(1, 20)

    def share(name: str) -> float:
        return exact_epsilon(name, epsilon) / float(epsilon)

    assert 1.16 < share("PrivPfCUnscaled") <= 1.1779
    assert 1.16 < share("PrivPfCMonotone") <= 1.1779
    assert 0.58 < share("PrivPfCAsPrinted") <= 0.5890
    assert 0.52 < share("PrivPfCChoice") <= 0.5354


def test_permute_and_flip_needs_half_the_rate_when_scores_move_apart() -> None:
    """The monotone rate on scores that are not: caught by enumeration alone."""
    greedy = Subject(
        name="Greedy",
        module=__name__,
        about="monotone rate on non-monotone scores",
        pairs=BY_NAME["PermuteAndFlip"].pairs,
        distribution=BY_NAME["PermuteAndFlipMonotone"].distribution,
        sample=SinglePick(monotone=True).sample,
    )

    assert exact_bound(greedy, ONE).epsilon == pytest.approx(2, abs=0.05)
    assert exact_epsilon("PermuteAndFlip") == pytest.approx(1, abs=1e-6)


# Enumeration by running the mechanism through all outcomes, against formulas and brute force.


def walk_and_flip(scores: list[int], rate: Fraction) -> list[float]:
    """Permute-and-flip as its paper states it: over all orders, the first whose coin comes up."""
    coins = [math.exp(-(max(scores) - score) * float(rate)) for score in scores]
    picked = [0.0] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = 1 / len(orders)
        for candidate in order:
            picked[candidate] += reached * coins[candidate]
            reached *= 1 - coins[candidate]
    return picked


@given(
    scores=st.lists(st.integers(-3, 8), min_size=1, max_size=5), rate=st.fractions(Fraction(1, 9), 3, max_denominator=9)
)
def test_permute_and_flip_picks_as_often_as_walking_through_all_orders(scores: list[int], rate: Fraction) -> None:
    assert permute_and_flip_chances(scores, rate) == pytest.approx(walk_and_flip(scores, rate), abs=1e-12)


@settings(max_examples=20)
@given(scale=st.fractions(Fraction(1, 4), 6, max_denominator=5), centre=st.integers(-3, 3))
def test_a_noisy_count_run_through_its_noise_has_the_distribution_of_the_formula(scale: Fraction, centre: int) -> None:
    found = enumerated_runs(lambda noise: int(noise.discrete_laplace(scale, 1)[0]) + centre)

    expected = laplace(centre, scale)
    assert found.missing <= 1e-12
    assert all(found.chances[value] == pytest.approx(expected.chances[value], rel=1e-12) for value in found.chances)


def test_two_draws_of_noise_are_all_pairs_of_values() -> None:
    scale = Fraction(1, 2)
    found = enumerated_runs(lambda noise: int(noise.discrete_laplace(scale, 2).sum()), cut=1e-9)

    single = laplace(0, scale).chances
    convolved: dict[int, float] = defaultdict(float)
    for (one, chance), (other, another) in product(single.items(), single.items()):
        convolved[one + other] += chance * another
    assert all(
        abs(found.chances.get(value, 0.0) - convolved[value]) <= found.missing + 1e-12 for value in range(-9, 10)
    )
    assert 0 < found.missing <= 2e-9


def test_every_sampler_has_its_distribution() -> None:
    def chances(draw: Callable[[Sampler], Hashable]) -> dict[Any, float]:
        return dict(enumerated_runs(draw).chances)

    half = Fraction(1, 2)
    assert chances(lambda noise: tuple(noise.bernoulli(Fraction(1, 3), 2))) == pytest.approx(
        {(False, False): 4 / 9, (False, True): 2 / 9, (True, False): 2 / 9, (True, True): 1 / 9}
    )
    assert chances(lambda noise: bool(noise.bernoulli(Fraction(0), 1)[0])) == {False: 1.0}
    assert chances(lambda noise: bool(noise.bernoulli_exponential(half, 1)[0])) == pytest.approx(
        {False: 1 - math.exp(-0.5), True: math.exp(-0.5)}
    )
    assert chances(lambda noise: int(noise.below(3, 1)[0])) == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    assert chances(lambda noise: tuple(noise.distinct(3, 2))) == pytest.approx(
        dict.fromkeys(permutations(range(3), 2), 1 / 6)
    )
    assert chances(lambda noise: noise.binomial(3, half)) == pytest.approx({0: 1 / 8, 1: 3 / 8, 2: 3 / 8, 3: 1 / 8})
    assert chances(lambda noise: tuple(noise.successes(2, half))) == pytest.approx(
        dict.fromkeys([(), (0,), (1,), (0, 1)], 1 / 4)
    )
    passes = chances(lambda noise: bool(noise.bernoulli(Tail(Fraction(2), 1), 1)[0]))
    assert passes[True] == pytest.approx(math.exp(-1) / (1 + math.exp(-0.5)))
    waits = chances(lambda noise: int(noise.geometric(Exponential(Fraction(2)), 1)[0]))
    assert waits[0] == pytest.approx(1 - math.exp(-0.5))
    assert waits[3] == pytest.approx((1 - math.exp(-0.5)) * math.exp(-1.5))
    beyond = chances(lambda noise: int(noise.laplace_above(Fraction(2), 5, 1)[0]))
    assert min(beyond) == 6
    assert beyond[7] == pytest.approx((1 - math.exp(-0.5)) * math.exp(-0.5))
    assert chances(lambda noise: noise.permute_and_flip(np.array([0, 0]), Fraction(1))) == pytest.approx(
        {0: 0.5, 1: 0.5}
    )


def test_what_is_drawn_next_may_depend_on_what_was_drawn() -> None:
    def run(noise: Sampler) -> tuple[int, ...]:
        first = int(noise.below(2, 1)[0])
        return (first, *noise.below(3, first).tolist())

    assert dict(enumerated_runs(run).chances) == pytest.approx({(0,): 0.5, (1, 0): 1 / 6, (1, 1): 1 / 6, (1, 2): 1 / 6})


def test_a_coin_that_hardly_ever_comes_up_stays_possible() -> None:
    """The far candidate has chance exp(-2000): nought as a double, but no reason to call the loss infinite."""

    def sample(noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> list[int]:
        return [noise.permute_and_flip(np.array(data), epsilon) for _ in range(size)]

    select = enumerated(sample)
    near, far = select((0, 1), Fraction(1)), select((0, 2000), Fraction(1))

    assert math.isfinite(exact_loss(near, far).epsilon)
    assert privacy_loss(near, near) < 1e-9


@pytest.mark.slow
def test_too_many_combinations_are_refused_with_a_way_out() -> None:
    with pytest.raises(AuditError, match="more than 200,000 combinations") as refusal:
        enumerated_runs(lambda noise: int(noise.discrete_laplace(5, 4).sum()))

    assert refusal.value.fix is not None
    assert "independent parts" in refusal.value.fix


def test_each_path_is_as_likely_as_its_draws() -> None:
    forks = Forks()
    forks.below(4, 1)
    forks.bernoulli(Fraction(1, 5), 1)

    assert forks.chance == pytest.approx(1 / 4 * 4 / 5)
    assert forks.advance()
