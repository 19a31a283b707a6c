"""How many rows of a person an Option reads: fewer than the schema allows, where persons are bought a look at.

Of a person's m rows as many times less is to be hidden as fewer of them are read, and what the others would have said
is lost. Counts of B cells are off by about B·m/ε for the noise, and by the rows left out. How many rows persons have is
private. A noisy histogram of that, by powers of two, costs a person's epsilon once, not m times, so a small share of
the budget buys it well. What then costs least is read, at most what the schema says.
"""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.privacy.probe import Probe
from jostle.sites import Choice, Decision, choices_noted, choose
from jostle.tables.persons import PersonBands, band_ends
from jostle.trace.records import Chosen

LOOK, ROWS = "look at rows of persons", "rows of a person"
SHARES = {"as declared": Fraction(0), "2%": Fraction(1, 50), "5%": Fraction(1, 20), "10%": Fraction(1, 10)}
"""Of epsilon, for the look."""


@frozen
class LeastLoss:
    """Takes the share of the least expected loss."""

    def decide(self, choice: Choice) -> Decision:
        """That of the least logarithm."""
        logs = np.array([[each] for each in expected_logs(float(choice.seen["noise"][0]))]).T
        return Decision(logs.argmin(axis=1), "least expected loss by formulas learned on public tables", np.exp(logs))


def expected_logs(noise: float) -> tuple[float, ...]:
    """The logarithm of what each share is expected to lose over 5%, by the noise in all cells as declared.

    Learned by `benchmarks/persons_look.py`, which prints them; docs/benchmarks/persons.md says how good they are.
    """
    return (
        -3.484 + 0.5138 * log(max(noise, 1230)),  # as declared
        0.04257,  # 2%
        0,  # 5%
        0.00452,  # 10%
    )


def expected_errors(
    bands: NDArray[np.int64], ends: NDArray[np.int64], cells: float, epsilon: float
) -> NDArray[np.float64]:
    """Rows that an answer is off by in all, for each number of rows of a person at the end of a band.

    >>> expected_errors(np.array([50, 0, 20]), np.array([1, 2, 4]), 10, 1.0).tolist()
    [60.0, 50.0, 40.0]
    """
    starts = np.concatenate([[0], ends[:-1]])
    rows = (starts + 1 + ends) / 2
    beyond = np.clip(rows[None, :] - ends[:, None], 0, None)
    errors: NDArray[np.float64] = cells * ends / epsilon + beyond @ np.clip(bands, 0, None)
    return errors


def with_fewer_rows(db: Probe, epsilon: Fraction, cells: int, site: str) -> tuple[Probe, Fraction]:
    """A probe and the epsilon to be asked of it: as given, or after a look, on as many rows of a person as is best.

    Args:
        db: a probe of one who counts persons.
        epsilon: what the look and all after it may cost.
        cells: about how many counts an answer rests on.
        site: what runs, for the trace.
    """
    if db.left is not None and db.left < epsilon:
        return db, epsilon  # refused as a whole, before anything is bought
    most = db.schema.rows_per_person or 1
    own = float(epsilon)
    seen = {"noise": cells * most / own, "cells": float(cells), "most": float(most), "epsilon": own}
    with choices_noted(db):
        paid = epsilon * SHARES[choose(LOOK, among=tuple(SHARES), informed_by=seen, policy=LeastLoss())]
        if not paid:
            return db, epsilon
    ends, rest = band_ends(most), epsilon - paid
    bands = db.measure(PersonBands(), paid, site=f"{site}: {LOOK}")
    errors = expected_errors(bands, ends, cells, float(rest))
    rows = int(ends[errors.argmin()])
    expected = {f"{end}": (error, 0.0) for end, error in zip(ends.tolist(), errors.tolist(), strict=True)}
    why = "noise and rows left out, by the noisy histogram"
    db.note_choice(Chosen.one(ROWS, ROWS, f"{rows}", seen=seen, predicted=expected, why=why))
    if rows == most:
        return db, rest
    return db.bounded(rows, rest, site=f"on {rows} rows of a person"), rest
