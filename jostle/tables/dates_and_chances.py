"""Columns of dates and of chances: numbers, cut where it suits what they are."""

from __future__ import annotations

import math
from datetime import date

import numpy as np

from jostle.errors import SchemaError, shown
from jostle.given import called_as
from jostle.tables.clock import Clock, moment_of
from jostle.tables.columns import PUBLIC, MissingPolicy, Numeric, OutsideNumeric

__all__ = ["Chances", "Dates"]

MOST_CHANCES = 2**20
LARGEST_ODDS = 36
"""Log-odds of chances that floats can just tell from 1."""


@called_as('Dates("2020-01-01", "2024-12-31")', why=PUBLIC)
def Dates(  # noqa: N802 - it stands beside the other kinds of columns
    start: str | date | np.datetime64,
    end: str | date | np.datetime64,
    *,
    unit: str = "day",
    bins: int = 16,
    outside: OutsideNumeric = "clamp",
    missing: MissingPolicy = "outside",
) -> Numeric:
    """A column of dates or times from a public start to a public end, counted in whole units since the start.

    Args:
        start: the first one, which is public: "1920-01-01".
        end: the last one.
        unit: what is counted: "day", or a shorter one.
        bins: how many bins of equal width.
        outside: what becomes of one out of bounds: the nearest bin, one extra value ("other"), or its row is dropped.
        missing: what becomes of an empty cell: one extra value ("value"), or as *outside* says.

    Raises:
        SchemaError: these are no dates, or do not follow each other.

    >>> born = Dates("1920-01-01", "2010-12-31", bins=9)
    >>> born.labels[0], born.moment(366)
    ('[1920-01-01, 1930-02-10)', datetime.datetime(1921, 1, 1, 0, 0))
    """
    clock = Clock(moment_of("start", start), unit)
    high = clock.count(moment_of("end", end))
    if high <= 0:
        raise SchemaError(
            f"end is {shown(str(end))}, which is no {unit} after start={shown(str(start))}",
            fix='Dates("2020-01-01", "2024-12-31")',
        )
    # Cut between whole units, where there are enough.
    edges = tuple(high * place // bins for place in range(bins + 1)) if type(bins) is int and 0 < bins <= high else ()
    return Numeric(0, high, bins, edges, outside=outside, missing=missing, unit=1, clock=clock)


def Chances(  # noqa: N802 - it stands beside the other kinds of columns
    *, bins: int = 1024, outside: OutsideNumeric = "clamp", missing: MissingPolicy = "outside"
) -> Numeric:
    """A column of chances, from 0 to 1: what a model gives its rows, say, cut where its log-odds are evenly spaced.

    Bins of equal width would not tell apart what is near 0 and 1, where good models put most rows. These are narrower
    towards both ends, down to the distance at which floats near 1 can be told apart.

    Args:
        bins: how many at most; near 1, where cuts would be the same float, fewer.
        outside: what becomes of a number out of bounds: the nearest bin, one extra value, or its row is dropped.
        missing: what becomes of an empty cell: one extra value, or as *outside* says.

    Raises:
        SchemaError: bins is not a number from 2 to 2**20.

    >>> Chances(bins=4).edges[2]
    0.5
    """
    if type(bins) is not int or not 2 <= bins <= MOST_CHANCES:
        raise SchemaError(f"bins is {shown(bins)}, but must be a whole number from 2 to 2**20", fix="bins=1024")
    # From -REACH to REACH, both halves alike: what is 1 less a small number is computed from that one.
    odds = [LARGEST_ODDS * (2 * place - bins) / max(1, bins - 2) for place in range(1, bins)]
    cuts = (math.exp(each) / (1 + math.exp(each)) if each < 0 else 1 / (1 + math.exp(-each)) for each in odds)
    return Numeric(0, 1, edges=tuple(sorted({0.0, 1.0, *cuts})), outside=outside, missing=missing)
