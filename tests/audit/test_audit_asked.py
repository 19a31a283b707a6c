"""Options and probes under audit: each within its claim as far as the auditor sees, and what breaks it is caught."""

from __future__ import annotations

import math
from typing import Any

import pytest

from jostle.audit import (
    CLASSIFIERS,
    CURVES,
    GRIDS,
    PROBES,
    PUBLISHERS,
    SELECTOR_CONTROLS,
    SELECTORS,
    STATISTICS,
    TREE_CONTROLS,
    Subject,
    audit_subject,
    names,
    subject,
)
from jostle.audit.audited import INQUIRIES, rows_adjacent
from jostle.options import get
from jostle.options import names as option_names
from jostle.privacy.noise import Noise, SeededBits

# Each bound is wrong with probability at most 1/1000; the seed is fixed, so that it is wrong always or never.
NOISE_SEED = 5
OPTIONS = (*CLASSIFIERS, *CURVES, *GRIDS, *PUBLISHERS, *SELECTORS, *STATISTICS)
FAST = ("SpreadVarianceReplaced", "PrivateKDReplaced", "TrainedPeeling")
LEAST_SEEN = {"Majority": 0.3, "DiffGen": 0.3}
"""Options of which the auditor sees a good part of the loss: a bound of 0 everywhere would show nothing."""


def _audited(held: Subject[Any], samples: int | None = None) -> Any:
    return audit_subject(held, samples=samples, noise=Noise(SeededBits(NOISE_SEED)))


@pytest.mark.parametrize(
    "held",
    [pytest.param(each, marks=[] if each.name in FAST else [pytest.mark.slow]) for each in OPTIONS],
    ids=lambda held: str(held.name),
)
def test_options_keep_their_claim(held: Subject[Any]) -> None:
    finding = _audited(held, 800 if held in {*CLASSIFIERS, *PUBLISHERS} else 400)
    assert finding.verdict == "within its claim", finding
    assert finding.bound.epsilon <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAST_SEEN)
def test_the_auditor_sees_a_loss_where_there_is_one(name: str) -> None:
    assert LEAST_SEEN[name] < _audited(subject(name), 2000).bound.epsilon <= 1


def test_raw_stopping_sizes_are_caught() -> None:
    (control,) = TREE_CONTROLS
    finding = _audited(control, 2000)
    assert finding.verdict == "caught"
    assert finding.bound.epsilon == math.inf


@pytest.mark.parametrize("held", SELECTOR_CONTROLS, ids=lambda held: str(held.name))
def test_selectors_that_are_not_private_are_caught(held: Subject[Any]) -> None:
    finding = _audited(held, 1500)
    assert finding.verdict == "caught"
    assert finding.bound.epsilon > 1.5


def test_every_private_option_is_a_subject_under_both_relations() -> None:
    known = set(names())
    private = [name for task in INQUIRIES for name in option_names(task) if get(name).private]
    assert all(f"{name}Replaced" in known for name in private)
    assert {name for name in private if name not in known} == {"SpreadVariance"}  # it is about declared rows alone
    assert len(private) == len(option_names()) - 1
    assert {"TreeWholeLeafBudget", "TreeRawSizes", "SmoothLeaf2017"} <= set(names(controls=True))


@pytest.mark.slow
@pytest.mark.parametrize("held", PROBES, ids=lambda held: str(held.name))
def test_probes_keep_their_claim_and_the_controls_are_caught(held: Subject[Any]) -> None:
    finding = _audited(held)
    assert finding.as_expected, finding
    # The auditor sees a good part of what is there: a bound near 0 would mean that it looked in the wrong place.
    # Of a row that moves from portion to portion little is to be seen by who does not know the key.
    assert finding.bound.epsilon > (0.1 if held.name == "ProbePortionsReplaced" else 0.4)


@pytest.mark.parametrize("held", [*OPTIONS, *PROBES], ids=lambda held: str(held.name))
def test_pairs_are_neighbours(held: Subject[Any]) -> None:
    assert list(held.pairs)


def test_adjacency_counts_rows_whatever_their_order() -> None:
    one, two = ("a", "x"), ("b", "y")
    assert rows_adjacent((one, two), (two, one, one), "add_remove")
    assert rows_adjacent((one, two), (two, two), "replace_one")
    assert not rows_adjacent((one, two), (two, one), "add_remove")
    assert not rows_adjacent((one, one), (two, two), "replace_one")
