"""The auditor: exact losses, sampled bounds, outputs and pairs of inputs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest

from jostle.audit import (
    CONTROLS,
    HONEST,
    Pair,
    Relation,
    Sampler,
    Subject,
    answer_pairs,
    audit,
    audit_all,
    audit_subject,
    chosen_pairs,
    enumerated,
    histogram_pairs,
    key_pairs,
    lifted,
    names,
    register,
    show_epsilon,
    subject,
)
from jostle.audit.auditor import exact_loss, privacy_loss, statistical_bound
from jostle.audit.counting import NoisyCounts
from jostle.audit.outputs import (
    as_keys,
    as_numbers,
    best_events,
    canonical,
    learn_orders,
    least_chance,
    log_ratio_bound,
    most_chance,
    width_of,
)
from jostle.audit.subjects import (
    Distribution,
    Sample,
    Vector,
    answers_close,
    at_least,
    between,
    histograms_adjacent,
    independent,
    keys_adjacent,
    laplace,
    laplace_table,
    mass,
)
from jostle.errors import AuditError
from jostle.privacy.noise import Noise, SeededBits


@frozen
class Model:
    """What a classifier might release: a label, and noisy counts."""

    label: int
    counts: NDArray[np.int64]


def fit(noise: Sampler, data: Vector, epsilon: Fraction) -> Model:
    """Fit a model with a third of epsilon for the label and two thirds for the counts."""
    label = noise.permute_and_flip(np.array(data), epsilon / 3)
    return Model(label, np.array(data) + noise.discrete_laplace(3 / (2 * epsilon), len(data)))


def reduced(model: Model) -> tuple[object, ...]:
    return model.label, model.counts


own = Subject(
    name="OwnModel",
    module=__name__,
    about="a label and two noisy counts",
    pairs=histogram_pairs(2, "add_remove"),
    sample=lifted(fit, reduced),
    samples=4000,
)


def seeded(seed: int) -> Noise:
    return Noise(SeededBits(seed))


def test_a_mechanism_of_ones_own_is_audited_as_it_is() -> None:
    finding = audit_subject(own, noise=seeded(1))

    assert finding.verdict == "within its claim"
    assert finding.found("exact") is None
    assert 0.3 < finding.bound.epsilon < 1


@pytest.mark.slow
def test_and_is_found_out_when_it_forgets_to_split_its_budget() -> None:
    def careless(noise: Sampler, data: Vector, epsilon: Fraction) -> Model:
        return fit(noise, data, 3 * epsilon)

    finding = audit_subject(evolve(own, sample=lifted(careless, reduced)), noise=seeded(2))

    assert finding.verdict == "breaks its claim"
    assert finding.bound.method == "statistical"


@pytest.mark.slow
def test_a_claim_may_be_more_than_epsilon() -> None:
    def twice(epsilon: Fraction) -> Fraction:
        return 2 * epsilon

    finding = audit_subject(evolve(own, claim=twice), "1/2", noise=seeded(3))

    assert finding.claimed == 1
    assert finding.epsilon == Fraction(1, 2)


def test_a_selecting_mechanism_is_enumerated_from_its_own_sample() -> None:
    def label_only(noise: Sampler, data: Vector, epsilon: Fraction) -> int:
        return noise.permute_and_flip(np.array(data), epsilon)

    sample = lifted(label_only)
    finding = audit_subject(evolve(own, sample=sample, distribution=enumerated(sample)), noise=seeded(4))
    exact = finding.found("exact")

    assert exact is not None
    assert exact.epsilon == pytest.approx(1, abs=1e-6)
    assert finding.bound is exact


def test_an_audit_by_name_finds_what_the_subject_is() -> None:
    finding = audit("NoisyCounts", samples=4000, noise=seeded(5))

    assert finding.name == "NoisyCounts"
    assert finding.relation == "add_remove"
    assert finding.claimed == 1
    assert not finding.exceeds
    assert finding.as_expected


def test_every_control_and_every_honest_twin_is_registered() -> None:
    assert {held.name for held in CONTROLS} <= set(names(controls=True))
    assert {held.name for held in HONEST} <= set(names(controls=False))
    assert set(names()) == set(names(controls=True)) | set(names(controls=False))


def test_all_subjects_are_audited_in_turn() -> None:
    findings = audit_all(controls=True, samples=2000, noise=seeded(6))

    assert isinstance(findings, Iterator)
    assert next(findings).name == names(controls=True)[0]


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(AuditError, match="no mechanism called 'NoisyCount'") as refusal:
        audit("NoisyCount")

    assert refusal.value.why is not None
    assert "NoisyCounts" in refusal.value.why
    assert refusal.value.fix == "jostle audit NoisyCounts"


def test_a_taken_name_is_refused_and_the_holder_named() -> None:
    held = subject("PTT")
    assert register(held) is held
    with pytest.raises(AuditError, match="PTT is registered") as refusal:
        register(evolve(own, name="PTT"))

    assert refusal.value.why == "jostle.audit.audited holds the name"
    assert subject("PTT") is held


def test_a_finding_is_plain_data_that_json_can_hold() -> None:
    finding = audit("PTT", samples=4000, noise=seeded(7))
    data: dict[str, Any] = json.loads(json.dumps(finding.as_data(), allow_nan=False))

    assert data["verdict"] == "caught"
    assert data["control"] is True
    assert data["claimed"] == "1"
    assert [bound["method"] for bound in data["bounds"]] == ["exact", "statistical"]
    assert data["bounds"][0]["epsilon"] == "infinite"
    assert data["bounds"][1]["epsilon"] > 1
    assert data["bounds"][1]["confidence"] == 0.999
    assert data["bounds"][0]["event"] == "output (0, 1)"
    assert data["reference"].startswith("Stoddard")


def test_a_bound_is_shown_rounded_down() -> None:
    assert show_epsilon(0.9999999) == "0.999"
    assert show_epsilon(math.inf) == "infinite"


# Exact distributions and the privacy loss between them, against formulas and brute force.


scales = st.fractions(min_value=Fraction(1, 5), max_value=30, max_denominator=7)
tables = st.lists(st.integers(1, 50), min_size=2, max_size=4).map(
    lambda weights: {place: weight / sum(weights) for place, weight in enumerate(weights)}
)


def test_randomised_response_loses_the_log_odds_of_telling_the_truth() -> None:
    yes, no = Distribution({"yes": 0.75, "no": 0.25}), Distribution({"yes": 0.25, "no": 0.75})

    assert privacy_loss(yes, no) == pytest.approx(math.log(3), abs=1e-9)
    assert privacy_loss(yes, no) < math.log(3)


def test_an_output_that_only_one_input_gives_rise_to_is_an_infinite_loss() -> None:
    sometimes, never = Distribution({0: 0.99, 1: 0.01}), Distribution({0: 1.0})

    assert exact_loss(sometimes, never).epsilon == math.inf
    assert exact_loss(sometimes, never).event == (1,)
    assert exact_loss(never, sometimes).epsilon == pytest.approx(math.log(1 / 0.99), abs=1e-9)


def test_mass_left_out_may_belong_to_any_output_so_no_loss_is_infinite() -> None:
    loss = exact_loss(Distribution({0: 0.9, 1: 0.1}), Distribution({0: 0.999}, missing=0.001))

    assert loss.epsilon == pytest.approx(math.log(0.1 / 0.001), abs=1e-9)


def test_a_chance_too_small_for_a_double_is_not_taken_for_an_impossible_one() -> None:
    tiny, nothing = Distribution({0: 1.0, 1: 0.0}), Distribution({0: 0.5, 1: 0.5})

    assert math.isfinite(exact_loss(nothing, tiny).epsilon)
    assert exact_loss(tiny, nothing).epsilon == pytest.approx(math.log(2), abs=1e-9)


def test_chances_must_add_up_to_one() -> None:
    with pytest.raises(AuditError, match=r"add up to 0\.9"):
        Distribution({0: 0.4, 1: 0.5})


@given(first=st.tuples(tables, tables), second=st.tuples(tables, tables))
def test_the_loss_of_independent_parts_is_that_of_all_their_combinations(
    first: tuple[dict[int, float], dict[int, float]], second: tuple[dict[int, float], dict[int, float]]
) -> None:
    def joint(parts: tuple[dict[int, float], dict[int, float]]) -> Distribution:
        return Distribution({(a, b): p * q for (a, p), (b, q) in product(parts[0].items(), parts[1].items())})

    def apart(parts: tuple[dict[int, float], dict[int, float]]) -> Distribution:
        return independent(Distribution(parts[0]), Distribution(parts[1]))

    combined, summed = exact_loss(joint(first), joint(second)), exact_loss(apart(first), apart(second))

    assert dict(apart(first).outputs()) == pytest.approx(dict(joint(first).chances))
    assert summed.epsilon == combined.epsilon or summed.epsilon == pytest.approx(combined.epsilon, abs=1e-8)


@given(scale=scales)
def test_the_table_of_noise_holds_all_its_mass_and_all_its_tails(scale: Fraction) -> None:
    values, chances, left = laplace_table(scale)

    assert left <= 1e-15
    assert math.fsum(chances) == pytest.approx(1, abs=1e-12)
    above = [math.fsum(chances[values >= value]) for value in range(-5, 6)]
    assert at_least(scale, np.arange(-5, 6)).tolist() == pytest.approx(above, abs=1e-12)
    for low, high in [(-4, -2), (-3, 3), (0, 0), (2, 9), (3, 2)]:
        inside = math.fsum(chances[(values >= low) & (values <= high)])
        assert between(scale, low, high) == pytest.approx(inside, abs=1e-12)


@given(scale=scales, value=st.integers(-40, 40))
def test_neighbouring_values_of_noise_differ_by_the_factor_that_makes_it_private(scale: Fraction, value: int) -> None:
    now, later = mass(scale, np.array([value, value + 1]))

    assert abs(math.log(now / later)) == pytest.approx(float(1 / scale), rel=1e-9)


@given(scale=scales, steps=st.integers(1, 4))
def test_a_shifted_count_loses_the_shift_over_the_scale(scale: Fraction, steps: int) -> None:
    exact = float(steps / scale)

    assert exact * (1 - 1e-6) - 1e-6 < privacy_loss(laplace(7, scale), laplace(7 + steps, scale)) < exact


# The auditor's own statistics: its bounds hold as often as it says, and come close to the truth. All noise is seeded,
# so nothing here flakes; the false-alarm rates are what they would be over seeds.


ONE = Fraction(1)


def known(sample: Sample[int]) -> Subject[int]:
    """Return a mechanism on a single bit as a subject."""
    return Subject(
        name="Known",
        module=__name__,
        about="a mechanism of known loss",
        pairs=chosen_pairs("add_remove", lambda first, second: abs(first - second) == 1, Pair(0, 1, "0 and 1")),
        sample=sample,
    )


def randomised_response(noise: Sampler, data: int, epsilon: Fraction, size: int) -> NDArray[np.int64]:
    """Tell the bit, or its opposite; the chance of the truth is a fraction near e^epsilon / (1 + e^epsilon)."""
    truth = Fraction(1 / (1 + math.exp(-epsilon)))
    return np.where(noise.bernoulli(truth, size), data, 1 - data)


def nothing(noise: Sampler, data: int, epsilon: Fraction, size: int) -> NDArray[np.int64]:
    """Tell one of 10,000 numbers, whatever the bit."""
    return noise.below(10_000, size)


def two_counts(noise: Sampler, data: int, epsilon: Fraction, size: int) -> NDArray[np.int64]:
    """Tell two counts that both hold the bit, so that the loss is twice epsilon."""
    return data + noise.discrete_laplace(1 / epsilon, 2 * size).reshape(size, 2)


@settings(max_examples=60)
@given(data=st.data(), runs=st.integers(1, 3000), alpha=st.sampled_from([0.2, 0.01, 1e-5]))
def test_the_limits_on_a_chance_are_those_of_clopper_and_pearson(data: st.DataObject, runs: int, alpha: float) -> None:
    hits = data.draw(st.integers(0, runs))
    interval = binomtest(hits, runs).proportion_ci(1 - 2 * alpha, method="exact")

    assert float(least_chance(hits, runs, alpha)) == pytest.approx(interval.low, rel=1e-6, abs=1e-12)
    assert float(most_chance(hits, runs, alpha)) == pytest.approx(interval.high, rel=1e-6, abs=1e-12)


def test_an_event_never_seen_bounds_nothing_and_one_always_seen_bounds_little() -> None:
    assert log_ratio_bound(0, 500, (1000, 1000), 0.01) == -math.inf
    assert -0.02 < float(log_ratio_bound(1000, 1000, (1000, 1000), 0.01)) < 0


@pytest.mark.parametrize(("epsilon", "share"), [(Fraction(1, 10), 0.55), (ONE, 0.9), (Fraction(3), 0.9)])
def test_bounds_on_randomised_response_stay_below_the_truth_and_come_close(epsilon: Fraction, share: float) -> None:
    """With confidence 0.8, a fifth of 200 audits may exceed the truth; more than 58 would do so with chance 0.001."""
    bounds = [
        statistical_bound(known(randomised_response), epsilon, 20_000, 0.8, Noise(SeededBits(seed))).epsilon
        for seed in range(200)
    ]

    assert sum(bound > epsilon for bound in bounds) <= 58
    assert float(np.median(bounds)) > share * epsilon


def test_picking_among_thousands_of_events_does_not_make_a_loss_out_of_nothing() -> None:
    """The two inputs are told apart by nothing; the event with the largest ratio among 10,000 outputs is pure luck."""
    bounds = []
    for seed in range(60):
        bound = statistical_bound(known(nothing), ONE, 2000, 0.8, Noise(SeededBits(seed)))
        bounds.append(bound.epsilon)

    assert sum(bound > 0 for bound in bounds) <= 21


def test_the_choosing_runs_alone_would_have_made_one() -> None:
    """What the previous test guards against: the bound on the runs that chose the event."""
    noise = Noise(SeededBits(3))
    first, second = nothing(noise, 0, ONE, 2000), nothing(noise, 1, ONE, 2000)
    order = next(learn_orders(first, second, None))

    lucky = max(event.expected for event in best_events(order, first, second, 0.2))

    assert lucky > 0.5


def test_evidence_from_several_numbers_is_added_up() -> None:
    bound = statistical_bound(known(two_counts), ONE, 100_000, 0.999, Noise(SeededBits(4)))

    assert 1.85 < bound.epsilon < 2


def test_a_noisy_count_is_seen_to_lose_nearly_all_it_claims() -> None:
    sample = NoisyCounts(sensitivity=1).sample

    def one_count(noise: Sampler, data: int, epsilon: Fraction, size: int) -> Any:
        return sample(noise, (data,), epsilon, size)

    bound = statistical_bound(known(one_count), ONE, 100_000, 0.999, Noise(SeededBits(5)))

    assert 0.95 < bound.epsilon < 1
    assert bound.samples == 50_000
    assert bound.confidence == 0.999


def test_an_event_is_turned_round_when_the_second_input_is_the_likelier() -> None:
    first, second = np.array([0] * 900 + [1] * 100), np.array([0] * 500 + [1] * 500)
    order = next(learn_orders(first, second, None))

    forward, backward = best_events(order, first, second, 0.01)

    assert backward.sign == -1
    assert backward.holds(np.array([0, 1])).tolist() == [False, True]
    assert backward.about == "output 1"
    assert backward.expected > forward.expected


def test_seeded_audits_repeat_themselves() -> None:
    again = [statistical_bound(known(two_counts), ONE, 5000, 0.99, Noise(SeededBits(6))) for _ in range(2)]

    assert again[0] == again[1]


# Outputs of any shape can be counted and learned from.


def test_outputs_of_all_shapes_become_keys() -> None:
    assert as_keys(np.array([3, 4])) == [3, 4]
    assert as_keys(np.array([[1, 2], [3, 4]])) == [(1, 2), (3, 4)]
    assert as_keys([np.array([[1], [2]]), (1, "a"), None, {2, 1}, np.int64(7)]) == [
        ((1,), (2,)),
        (1, "a"),
        None,
        (1, 2),
        7,
    ]
    assert as_keys(np.zeros((1, 2, 1), dtype=np.int64)) == [((0,), (0,))]


def test_an_output_that_cannot_be_counted_is_refused() -> None:
    class Model:
        __hash__ = None  # type: ignore[assignment]  # the point: it has no hash

    with pytest.raises(TypeError, match="of type Model cannot be counted"):
        canonical(Model())


def test_numbers_are_read_off_with_their_differences() -> None:
    rows = np.array([[5, 3], [1, 9]])

    assert as_numbers(rows, width_of(rows)).tolist() == [[5, 3, 2], [1, 9, -8]]


def test_outputs_of_different_length_are_filled_up_and_know_their_length() -> None:
    outputs = [(7, "x"), (7,), ()]
    numbers = as_numbers(outputs, width_of(outputs))

    assert width_of(outputs) == 2
    assert numbers[:, 0].tolist() == [2, 1, 0]
    assert numbers[0, 1] == numbers[1, 1] == 7
    assert numbers[2, 1] == numbers[1, 2] < -1e9


# Pairs must be neighbours: a loss between inputs that are not proves nothing.


RELATIONS: tuple[Relation, ...] = ("add_remove", "replace_one")

small = st.tuples(*[st.integers(0, 3)] * 3)


def all_neighbours(cells: tuple[int, ...], relation: Relation) -> set[tuple[int, ...]]:
    """Add, remove or move every record there is."""

    def moved(source: tuple[int, ...], cell: int, step: int) -> tuple[int, ...]:
        return (*source[:cell], source[cell] + step, *source[cell + 1 :])

    places = range(len(cells))
    added = {moved(cells, cell, 1) for cell in places}
    removed = {moved(cells, cell, -1) for cell in places if cells[cell]}
    if relation == "add_remove":
        return added | removed
    return {moved(less, cell, 1) for less, cell in product(removed, places)} - {cells}


@given(first=small, second=small, relation=st.sampled_from(RELATIONS))
def test_histograms_are_adjacent_exactly_if_one_record_makes_the_difference(
    first: tuple[int, ...], second: tuple[int, ...], relation: Relation
) -> None:
    assert histograms_adjacent(first, second, relation) == (second in all_neighbours(first, relation))


@given(first=small, second=small, relation=st.sampled_from(RELATIONS))
def test_sparse_histograms_are_adjacent_exactly_if_the_dense_ones_are(
    first: tuple[int, ...], second: tuple[int, ...], relation: Relation
) -> None:
    sparse = [tuple((key, count) for key, count in enumerate(cells) if count) for cells in (first, second)]

    assert keys_adjacent(sparse[0], sparse[1], relation) == histograms_adjacent(first, second, relation)


def test_answers_of_sensitivity_one_move_by_at_most_one_and_monotone_ones_together() -> None:
    assert answers_close((0, 5), (1, 4), monotone=False)
    assert not answers_close((0, 5), (1, 4), monotone=True)
    assert answers_close((0, 5), (1, 5), monotone=True)
    assert answers_close((0, 5), (0, 4), monotone=True)
    assert not answers_close((0, 5), (2, 5), monotone=False)


@pytest.mark.parametrize("subject", [*CONTROLS, *HONEST], ids=lambda subject: str(subject.name))
def test_every_subject_has_pairs_and_all_are_neighbours(subject: Subject[Any]) -> None:
    pairs = list(subject.pairs)

    assert pairs
    assert len({pair.about for pair in pairs}) == len(pairs)
    assert all(pair.first != pair.second for pair in pairs)
    assert pairs == list(subject.pairs)


def test_families_reach_the_places_where_mechanisms_fail() -> None:
    pairs = {(pair.first, pair.second) for pair in histogram_pairs(3, "add_remove")}
    assert ((0, 0, 0), (1, 0, 0)) in pairs
    assert any(max(first) >= 1000 for first, _ in pairs)
    assert all(sum(pair.first) == sum(pair.second) for pair in histogram_pairs(3, "replace_one"))
    assert any(not pair.first for pair in key_pairs(4, "add_remove"))
    rises = {pair.second for pair in answer_pairs(3, monotone=True)}
    assert (1, 1, 1) in rises
    assert ((0, 0, 0, 0), (1, 1, -1, -1)) in {
        (pair.first, pair.second) for pair in answer_pairs(4, monotone=False, downs=(2,))
    }
