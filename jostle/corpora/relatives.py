"""Find out which public tables are about the same people: those that have the same rows, whatever their labels."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from attrs import frozen
from numpy.typing import NDArray

from jostle.corpora.cells import row_hashes

__all__ = ["KNOWN_RELATIVES", "RowMarks", "related"]

KNOWN_RELATIVES = (
    ("adult", "ada", "census_income_kdd_test", "census_income_kdd"),  # one survey, different years, and recoded
    ("heart_cleveland", "heart_statlog", "cleveland"),  # the second is a recoded part of the first
    ("hypothyroid", "sick"),  # the same patients, another label
    ("monks1", "monks2", "monks3"),  # the same rows, another label
    ("acs_national_income", "acs_tx_marital", "acs_ma_tenure"),  # one survey, overlapping areas
    ("lending_club", "loans_grade"),  # one lender
    ("rt_polarity", "sst2"),  # the same sentences
    ("kc1", "pc1", "cm1"),  # software measured by one programme
)
"""Well-known databases, by their usual names, whose rows are about the same people or things."""
LEAST_SHARED = 20
"""So few different rows can be in two tables by chance."""
MOST_FILLED = 0.25
"""Of all rows that a table's values could make up, the share from which on other tables have the same by chance."""


@frozen(eq=False)
class RowMarks:
    """What tells whether two tables have the same rows."""

    attributes: tuple[str, ...]
    hashes: NDArray[np.uint64]
    """Of the different rows, without labels, sorted."""
    filled: float
    """How many of the rows that the columns' values could make up there are."""

    @classmethod
    def of(cls, columns: pa.Table, label: str) -> RowMarks:
        """A table's marks."""
        attributes = tuple(name for name in columns.column_names if name != label)
        hashes = row_hashes(columns, label)
        values = (float(len(columns[name].unique())) for name in attributes)
        return cls(attributes, hashes, len(hashes) / math.prod(values))


def related(one: RowMarks, other: RowMarks) -> bool:
    """Whether more than half of one table's different rows are also in the other, and not by chance.

    Tables of few attributes with few values have the same rows without having the same people; they are taken to be
    related only if their attributes have the same names.
    """
    smaller = min(len(one.hashes), len(other.hashes))
    if len(one.attributes) != len(other.attributes) or smaller < LEAST_SHARED:
        return False
    if max(one.filled, other.filled) > MOST_FILLED and one.attributes != other.attributes:
        return False
    return 2 * len(np.intersect1d(one.hashes, other.hashes, assume_unique=True)) > smaller
