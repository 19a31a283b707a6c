"""The auditor runs every grid Option and accuses none."""

from __future__ import annotations

import pytest

from jostle.audit import audit_subject
from jostle.audit.options import GRIDS
from jostle.audit.subjects import Subject
from jostle.options.registry import names
from jostle.privacy.noise import Noise, SeededBits


def test_every_grid_option_is_audited_under_both_relations() -> None:
    assert len(GRIDS) == 2 * len(names("grid"))


@pytest.mark.slow
@pytest.mark.parametrize("held", GRIDS, ids=lambda held: held.name)
def test_no_grid_option_is_accused(held: Subject[tuple[int, ...]]) -> None:
    """A bound above the claim has probability 0.001 at most; the seed is fixed."""
    finding = audit_subject(held, noise=Noise(SeededBits(11)), samples=400)

    assert finding.verdict != "caught"
    assert float(finding.bound.epsilon) <= 1
