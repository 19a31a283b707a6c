"""What leaves through the door keeps its claim; forgetting that a row can move between parts is caught."""

from __future__ import annotations

import pytest

from jostle.audit import audit_subject
from jostle.audit.probes import PROBES, rows_adjacent
from jostle.audit.subjects import Subject
from jostle.privacy.noise import Noise, SeededBits

# Each bound is wrong with probability at most 1/1000; the seed is fixed, so that it is wrong always or never.
NOISE_SEED = 5


@pytest.mark.slow
@pytest.mark.parametrize("subject", PROBES, ids=lambda subject: str(subject.name))
def test_probes_keep_their_claim_and_the_control_is_caught(subject: Subject[object]) -> None:
    finding = audit_subject(subject, noise=Noise(SeededBits(NOISE_SEED)))
    assert finding.as_expected, finding
    # The auditor sees a good part of what is there: a bound near 0 would mean that it looked in the wrong place.
    # Of a row that moves from portion to portion little is to be seen by who does not know the key.
    assert finding.bound.epsilon > (0.1 if subject.name == "ProbePortionsReplaced" else 0.4)


@pytest.mark.parametrize("subject", PROBES, ids=lambda subject: str(subject.name))
def test_pairs_are_neighbours(subject: Subject[object]) -> None:
    assert list(subject.pairs)


def test_adjacency_counts_rows_whatever_their_order() -> None:
    one, two = ("a", "x"), ("b", "y")
    assert rows_adjacent((one, two), (two, one, one), "add_remove")
    assert rows_adjacent((one, two), (two, two), "replace_one")
    assert not rows_adjacent((one, two), (two, one), "add_remove")
    assert not rows_adjacent((one, one), (two, two), "replace_one")
