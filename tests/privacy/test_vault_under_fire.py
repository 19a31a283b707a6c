"""A short run of benchmarks/vault.py: processes charge one vault at once, and are killed at random."""

from __future__ import annotations

from fractions import Fraction

import pytest
from vault import ASKED, trial


@pytest.mark.slow
@pytest.mark.parametrize("promise", [Fraction(1000), 200 * ASKED])
def test_nothing_released_is_unrecorded_and_nothing_overspent(promise: Fraction) -> None:
    outcome = trial(seconds=15, processes=4, kills_a_second=8, promise=promise)

    assert outcome.held
    assert outcome.kills > 0
    assert 0 < outcome.released <= outcome.reserved
    assert outcome.spent == outcome.reserved * ASKED <= promise
