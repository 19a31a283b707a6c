"""Every classification Option keeps its claim as far as the auditor sees; a tree that reads raw sizes does not."""

from __future__ import annotations

import math

import pytest

from jostle.audit import audit_subject, names
from jostle.audit.options import CLASSIFIERS, TREE_CONTROLS
from jostle.audit.subjects import Subject
from jostle.options import names as option_names
from jostle.privacy.noise import Noise, SeededBits

# Each bound is wrong with probability at most 1/1000; the seed is fixed, so that it is wrong always or never.
NOISE_SEED = 5


@pytest.mark.slow
@pytest.mark.parametrize("subject", CLASSIFIERS, ids=lambda subject: str(subject.name))
def test_options_keep_their_claim(subject: Subject[object]) -> None:
    finding = audit_subject(subject, samples=800, noise=Noise(SeededBits(NOISE_SEED)))
    assert finding.as_expected, finding


@pytest.mark.slow
def test_the_auditor_sees_a_loss_where_there_is_one() -> None:
    """The majority class of a few rows loses most of epsilon on the first one: a bound of 0 would show nothing."""
    majority = next(subject for subject in CLASSIFIERS if subject.name == "Majority")
    finding = audit_subject(majority, samples=2000, noise=Noise(SeededBits(NOISE_SEED)))
    assert 0.3 < finding.bound.epsilon <= 1


@pytest.mark.parametrize("subject", TREE_CONTROLS, ids=lambda subject: str(subject.name))
def test_raw_stopping_sizes_are_caught(subject: Subject[object]) -> None:
    finding = audit_subject(subject, samples=2000, noise=Noise(SeededBits(NOISE_SEED)))
    assert finding.verdict == "caught"
    assert finding.bound.epsilon == math.inf


def test_every_classification_option_is_a_subject_under_both_relations() -> None:
    known = set(names())
    assert all({name, f"{name}Replaced"} <= known for name in option_names("classification"))
    assert {"TreeWholeLeafBudget", "TreeRawSizes", "SmoothLeaf2017"} <= set(names(controls=True))


@pytest.mark.parametrize("subject", CLASSIFIERS, ids=lambda subject: str(subject.name))
def test_pairs_are_neighbours(subject: Subject[object]) -> None:
    assert list(subject.pairs)
