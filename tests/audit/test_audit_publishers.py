"""Every publishing Option keeps its claim as far as the auditor sees."""

from __future__ import annotations

import pytest

from jostle.audit import audit_subject, names
from jostle.audit.options import PUBLISHERS
from jostle.audit.subjects import Subject
from jostle.options import names as option_names
from jostle.privacy.noise import Noise, SeededBits

NOISE_SEED = 5


@pytest.mark.slow
@pytest.mark.parametrize("subject", PUBLISHERS, ids=lambda subject: str(subject.name))
def test_publishers_keep_their_claim(subject: Subject[object]) -> None:
    finding = audit_subject(subject, samples=800, noise=Noise(SeededBits(NOISE_SEED)))
    assert finding.as_expected, finding


@pytest.mark.slow
def test_the_auditor_sees_a_loss_where_there_is_one() -> None:
    subject = next(subject for subject in PUBLISHERS if subject.name == "DiffGen")
    finding = audit_subject(subject, samples=1500, noise=Noise(SeededBits(NOISE_SEED)))
    assert 0.3 < finding.bound.epsilon <= 1


def test_every_publishing_option_is_a_subject_under_both_relations() -> None:
    assert all({name, f"{name}Replaced"} <= set(names()) for name in option_names("publishing"))
