"""What stops early and pays for what it used, run through all that its noise could be: each end at its own price."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pandas as pd
import pytest

from jostle import Categorical, Schema, Table
from jostle.audit import Distribution, enumerated_runs, privacy_loss
from jostle.privacy.door import admit
from jostle.privacy.ledger import Ledger
from jostle.privacy.probe import Probe
from jostle.privacy.room import Room
from jostle.tables.kernels import Counts
from jostle.trace.records import Released, Trace

EPSILON = Fraction(6)
LEVELS, TEST = (Fraction(1), Fraction(3)), Fraction(2)
CUT = 1e-3
"""Of each draw so much may be left out; a loss that is found holds in spite of it."""
SCHEMA = Schema({"label": Categorical(["n", "y"])}, label="label")


@lru_cache
def table(rows: str) -> Table:
    """Return a table of one column, a letter a row."""
    return Table.from_frame(pd.DataFrame({"label": list(rows)}), SCHEMA)


def transcript(noise: Any, rows: str) -> tuple[Any, ...]:
    """What was charged, and all that is seen, where a count is refined unless another says that it need not be."""
    trace, ledger = Trace(), Ledger(EPSILON, "add_remove")
    source = table(rows)._source
    room = Room(source, (), ledger, noise, trace, private=False, probe=lambda inner: Probe(admit(inner)))
    db = Probe(admit(room))
    inner = db.reserve(EPSILON)
    found = inner.measure_refinable(Counts.of(), LEVELS[0])
    if int(inner.measure(Counts.of(), TEST)[0]) < 2:
        inner.refine(found, LEVELS[1])
    inner.settle()
    released = (each for each in trace.records if isinstance(each, Released))
    return (db.spent, *(each.values for each in released))  # noqa: PD011 - no frame


@lru_cache
def distribution(rows: str) -> Distribution:
    return enumerated_runs(lambda noise: transcript(noise, rows), cut=CUT)


def losses(one: Distribution, other: Distribution) -> dict[Fraction, float]:
    """By what was charged, the most by which any end tells the first from the second."""
    most: dict[Fraction, float] = {}
    for seen, chance in one.chances.items():
        loss = math.log(chance / (other.chances.get(seen, 0.0) + other.missing))
        most[seen[0]] = max(most.get(seen[0], -math.inf), loss)
    return most


@pytest.mark.parametrize("rows", ["", "y"])
def test_each_end_loses_no_more_than_was_charged_for_it(rows: str) -> None:
    """Both levels of the chain and the test between them are seen together, and how much was settled for as well."""
    one, other = distribution(rows), distribution(rows + "y")
    early, late = LEVELS[0] + TEST, LEVELS[1] + TEST
    for found in (losses(one, other), losses(other, one)):
        assert found.keys() == {early, late}
        assert found[early] <= early
        assert found[late] <= late
    assert privacy_loss(one, other) <= late < EPSILON


def test_the_auditor_sees_what_each_end_was_charged_for() -> None:
    """An early end loses more than its first release or its test, and a late one more than early ones are charged."""
    found = losses(distribution("y"), distribution("yy")), losses(distribution("yy"), distribution("y"))
    early, late = sorted(found[0])
    assert max(each[early] for each in found) > 0.9 * early
    assert max(each[late] for each in found) > 0.9 * late > early
