"""Folds of private rows: where a row goes does not hang on any other row.

scikit-learn's own splitters go by a row's place, by how many rows there are, and by all labels: a row more moves other
rows to other folds, so neighbouring tables have folds that differ in several rows. Then the budget that a fit is
charged bounds what it says of the rows it was given, and not what a cross-validation says of the whole table.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from jostle.errors import TableError, described, shown
from jostle.privacy.noise import Noise
from jostle.tables.frames import frame_columns
from jostle.tables.persons import distinct, whose_rows

CUT = threading.Event()
"""Set once `PrivateFolds` has cut rows in this process."""
Places = NDArray[np.int64]


def _check_splits(_: object, attribute: object, value: object) -> None:  # noqa: ARG001 - as attrs calls it
    if type(value) is not int or value < 2:
        raise TableError(f"n_splits is {shown(value)}, not a whole number from 2 up", fix="PrivateFolds(5)")


@frozen
class PrivateFolds:
    """Folds that each row is drawn into by itself, all equally likely, with bits from the operating system.

    *Why one row changes no other's fold.* The draws are independent of the rows and of one another. Give the rows that
    two neighbouring tables share the same draws: then the tables differ, in each training set and each held-out set, in
    at most the one row. So for these draws all fits and scores together are bounded by the sum of what they are
    charged, and so they are on average over the draws. There is no seed: with one, a row's draw would hang on its place
    among the others.

    Raises:
        TableError: there are fewer than two folds.

    >>> sum(len(held_out) for _, held_out in PrivateFolds(3).split(range(10)))
    10
    """

    n_splits: int = field(default=5, validator=_check_splits)
    """How many folds; each is held out once. They differ in size, as draws do."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Places, Places]]:  # noqa: ARG002 - scikit-learn gives labels
        """Yield the places of the rows to learn from and of those held out, for each fold.

        *groups* say whose each row is, where persons are protected: all rows of a person go to one fold.

        Raises:
            TableError: there are no rows, or not one group for each.
        """
        try:
            count = _num_samples(X)
        except TypeError:
            raise TableError(f"{described(X)} has no rows", fix="give a dataframe, or an array of rows") from None
        CUT.set()
        drawn = Noise().below(self.n_splits, count)
        if groups is not None:
            drawn = _by_group(drawn, groups)
        for fold in range(self.n_splits):
            yield np.flatnonzero(drawn != fold), np.flatnonzero(drawn == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002 - as above
        """How many folds there are."""
        return self.n_splits


def _by_group(drawn: Places, groups: Any) -> Places:
    """The draws, of which all rows of a group have one; a row of none has its own."""
    cells, length = frame_columns({"groups": groups})
    if length != len(drawn):
        raise TableError(
            f"there are {length:,} groups for {len(drawn):,} rows", fix="groups=X[person]: one for each row"
        )
    codes = distinct(whose_rows(cells["groups"])).codes
    return np.where(codes < 0, drawn, drawn[codes])  # persons are no more than rows: each has the draw of its number
