"""Scorers: public rules that give each row a number, with the places where that number may be cut."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.tables.margins import Margins

__all__ = ["Scorer"]


@frozen(eq=False, repr=False)
class Scorer:
    """What scores rows for one class of the label: made of public facts, or of what was released."""

    margins: Margins
    """The rule and the class; its cuts are all the thresholds that there may be."""
    values: NDArray[np.float64]
    """The score that each cut stands for."""
    name: str
    """What scores, in words."""
    positive: str
    """The class that high scores speak for."""

    @property
    def intervals(self) -> int:
        """How many intervals the cuts make."""
        return len(self.values) + 1

    def at(self, places: NDArray[np.int64]) -> Margins:
        """The kernel that counts rows between the cuts at these places alone."""
        return evolve(self.margins, cuts=self.margins.cuts[places])
