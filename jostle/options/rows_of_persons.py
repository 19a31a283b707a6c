"""How many rows of a person an Option reads: fewer than the schema allows, where persons are bought a look at.

Of a person's m rows as many times less is to be hidden as fewer of them are read, and what the others would have said
is lost. Counts of B cells are off by about B·m/ε for the noise, and by the rows left out. How many rows persons have is
private. A noisy histogram of that, by powers of two, costs a person's epsilon once, not m times, so a small share of
the budget buys it well. What then costs least is read, at most what the schema says.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.privacy.probe import Probe
from jostle.sites import Choice, Decision, choices_noted, choose
from jostle.tables.persons import PersonBands, band_ends

SHARE = Fraction(1, 20)
"""Of epsilon, for the look. This and the next were set by hand, and not learned; docs/benchmarks/persons.md has what
looks came to on grids of 200 cells with 16 and 64 rows of a person, at epsilon 0.1 to 10."""
LEAST_CELLS = 100
LEAST_ROWS = 8
LEAST_EPSILON = 0.05
"""With fewer cells, fewer rows of a person or less epsilon nothing is looked at."""
LOOK, ROWS = "look at rows of persons", "rows of a person"


@frozen
class WherePaying:
    """Looks where much may be gained, by public facts."""

    def decide(self, choice: Choice) -> Decision:
        """Look at persons of many rows whose many cells are asked for."""
        cells, most, epsilon = (float(choice.seen[name][0]) for name in ("cells", "most", "epsilon"))
        pays = cells >= LEAST_CELLS and most >= LEAST_ROWS and epsilon >= LEAST_EPSILON
        return Decision(
            choice.everywhere("look" if pays else "as declared"),
            f"looked at are {LEAST_CELLS} cells, {LEAST_ROWS} rows of a person and epsilon {LEAST_EPSILON:g} or more",
        )


@frozen(eq=False)
class LeastError:
    """Takes the number of rows of a person with the least error to expect."""

    errors: NDArray[np.float64]

    def decide(self, choice: Choice) -> Decision:  # noqa: ARG002 - what was seen is in the errors
        """The least of them."""
        losses = self.errors[None, :]
        return Decision(losses.argmin(axis=1), "noise and rows left out, by the noisy histogram", losses)


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
    seen = {"cells": float(cells), "most": float(most), "epsilon": float(epsilon)}
    with choices_noted(db):
        if choose(LOOK, among=("as declared", "look"), informed_by=seen, policy=WherePaying()) == "as declared":
            return db, epsilon
        ends, paid = band_ends(most), epsilon * SHARE
        bands = db.measure(PersonBands(), paid, site=f"{site}: {LOOK}")
        rest = epsilon - paid
        errors = expected_errors(bands, ends, cells, float(rest))
        rows = int(choose(ROWS, among=[f"{end}" for end in ends], informed_by=seen, policy=LeastError(errors)))
    if rows == most:
        return db, rest
    return db.bounded(rows, rest, site=f"on {rows} rows of a person"), rest
