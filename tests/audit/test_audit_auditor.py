"""Audits by name, and mechanisms of one's own."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.audit import (
    CONTROLS,
    HONEST,
    Sampler,
    Subject,
    audit,
    audit_all,
    audit_subject,
    enumerated,
    histogram_pairs,
    lifted,
    names,
    register,
    show_epsilon,
    subject,
)
from jostle.audit.subjects import Vector
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
