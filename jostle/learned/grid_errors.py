"""How far grid Options were off on public grids: a file that comes with Jostle, for intervals of what they estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.files.kinds import FileKind
from jostle.learned.files import shipped_folder
from jostle.tasks.ranges.boxes import Boxes
from jostle.tasks.ranges.intervals import ELSEWHERE, Asking, Calibrated, CalibratedBars, Kinds

VERSION = 1
FILE = FileKind("file of grid errors", OptionError, "python benchmarks/grid_intervals.py ship makes it anew", VERSION)
TOLD = ": what is told"
"""Behind an Option's name, of queries that it was made to tell."""
PATH = shipped_folder() / "intervals.json"


@frozen
class GridErrors:
    """What is known of the errors of Options, by name."""

    fitted_on: tuple[str, ...]
    """Groups of public databases, of the role learn."""
    levels: tuple[float, ...]
    kinds: Kinds
    options: Mapping[str, Calibrated]


@cache
def kept_errors() -> GridErrors:
    """What came with Jostle."""
    file = FILE.at(PATH)
    found: GridErrors = file.made(GridErrors, file.facts(file.text()))
    return found


@frozen
class KeptBars:
    """What is known of one estimate's errors; looked up when it is asked for."""

    option: str
    version: int
    epsilon: float
    """What was spent; half of it under replace_one, where a record changes twice as much."""
    told: Callable[[Boxes], NDArray[np.bool_]] | None = field(default=None, eq=False)
    """Which queries an Option that counts what is asked was made to tell: those it is off by less on."""

    def half(self, asking: Asking, level: float) -> NDArray[np.float64]:
        """Half the width of each answer's interval; another version of the Option may be off by more."""
        if self.told is None:
            return self._half(self.option, asking, level)
        told = self.told(asking.workload)
        return np.where(told, self._half(f"{self.option}{TOLD}", asking, level), self._half(self.option, asking, level))

    def _half(self, option: str, asking: Asking, level: float) -> NDArray[np.float64]:
        errors = kept_errors()
        known = errors.options.get(option)
        if known is None or known.version != self.version:
            raise OptionError(
                f"there is no calibrated interval for this version of {self.option}",
                why="it is off by more than its noise, and by how much was not tried on public grids",
                fix=ELSEWHERE,
            )
        return CalibratedBars(self.option, known, errors.levels, errors.kinds, self.epsilon).half(asking, level)
