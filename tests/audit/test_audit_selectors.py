"""Selectors under audit: each private one within its claim, and what is not private caught."""

from __future__ import annotations

from typing import Any

import pytest

from jostle.audit import SELECTOR_CONTROLS, SELECTORS, Subject, audit_subject, names
from jostle.options import get
from jostle.options import names as option_names
from jostle.privacy.noise import Noise, SeededBits


@pytest.mark.parametrize("subject", SELECTOR_CONTROLS, ids=lambda subject: str(subject.name))
def test_what_is_not_private_is_caught(subject: Subject[Any]) -> None:
    finding = audit_subject(subject, samples=1500, noise=Noise(SeededBits(11)))
    assert finding.verdict == "caught"
    assert finding.bound.epsilon > 1.5


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(each, marks=[] if each.name in {"PrivateKDReplaced", "TrainedPeeling"} else [pytest.mark.slow])
        for each in SELECTORS
    ],
    ids=lambda subject: str(subject.name),
)
def test_selectors_are_within_their_claims(subject: Subject[Any]) -> None:
    finding = audit_subject(subject, samples=400, noise=Noise(SeededBits(12)))
    assert finding.verdict == "within its claim"


def test_every_private_selector_is_a_subject_under_both_relations() -> None:
    known = set(names())
    private = [name for name in option_names("selection") if get(name).private]
    assert all({name, f"{name}Replaced"} <= known for name in private)
    assert len(private) == len(option_names("selection")) - 1
