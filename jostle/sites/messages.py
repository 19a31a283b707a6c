"""The message that a choice sends, and the decision that comes back. One message stands for one site or for many."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from jostle.errors import ChoiceError
from jostle.trace.records import Chosen

__all__ = ["Choice", "Decision", "Policy", "Taken", "numbers"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def _integers(values: ArrayLike) -> Integers:
    given = np.array(values, dtype=np.int64)
    given.setflags(write=False)
    return given


def _floats(values: ArrayLike | None) -> Floats | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


@frozen(eq=False)
class Choice:
    """What is asked: for each of so many sites, which of the alternatives."""

    label: str
    """Stands once in the source, and owns one policy."""
    site: str
    """One visit of the label: one line in the trace."""
    among: tuple[str, ...]
    seen: Mapping[str, Floats]
    """Everything that is public or released and may inform the choice, a number for each site."""
    count: int
    """How many sites choose at once."""

    def everywhere(self, alternative: str) -> Integers:
        """This alternative for all sites."""
        return np.full(self.count, self.index(alternative), dtype=np.int64)

    def index(self, alternative: str) -> int:
        """The place of this alternative among all; refuse one that is none."""
        if alternative not in self.among:
            raise ChoiceError(
                f"choice {self.label} has no alternative {alternative!r}", fix=f"one of {', '.join(self.among)}"
            )
        return self.among.index(alternative)


@frozen(eq=False)
class Decision:
    """What is answered."""

    taken: Integers = field(converter=_integers)
    """For each site the place of its alternative among those listed."""
    why: str = ""
    losses: Floats | None = field(default=None, converter=_floats)
    """Sites by alternatives: what loss was expected, where that was the reason."""
    spreads: Floats | None = field(default=None, converter=_floats)

    def check(self, choice: Choice) -> None:
        """Refuse an answer to something else."""
        shape = (choice.count, len(choice.among))
        if self.taken.shape != (choice.count,) or np.any((self.taken < 0) | (self.taken >= len(choice.among))):
            raise ChoiceError(
                f"choice {choice.label} was answered with something else than {choice.count} alternatives",
                fix="a policy returns the place of an alternative for every site",
            )
        if any(part is not None and part.shape != shape for part in (self.losses, self.spreads)):
            raise ChoiceError(f"choice {choice.label} was answered with losses that are not sites by alternatives")

    def record(self, choice: Choice) -> Chosen:
        """The record of this in a trace."""
        counts = np.bincount(self.taken, minlength=len(choice.among)).tolist()
        predicted: list[tuple[str, float, float]] = []
        if self.losses is not None and choice.count:
            losses, spreads = self.losses.mean(axis=0), np.zeros(len(choice.among))
            if self.spreads is not None:
                spreads = self.spreads.mean(axis=0)
            predicted = [*zip(choice.among, losses.tolist(), spreads.tolist(), strict=True)]
        return Chosen(
            choice.site,
            choice.label,
            tuple((name, float(seen.min()), float(seen.max())) for name, seen in choice.seen.items() if seen.size),
            tuple(predicted),
            tuple((name, count) for name, count in zip(choice.among, counts, strict=True) if count),
            self.why,
        )


class Policy(Protocol):
    """Answers the choices of one label."""

    def decide(self, choice: Choice) -> Decision:
        """The decision for every site."""


@frozen(eq=False)
class Taken:
    """One line of a recording: what was seen at a site (or at many at once), and what was taken."""

    label: str
    site: str
    among: tuple[str, ...]
    seen: Mapping[str, Floats]
    taken: Integers

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The alternatives taken, site by site, in words."""
        return tuple(self.among[place] for place in self.taken.tolist())


def numbers(label: str, informed_by: Mapping[str, Any], count: int | None) -> tuple[dict[str, Floats], int]:
    """The numbers seen, an array per name with one for each site, and how many sites there are.

    Without *count*, the arrays say how many; single numbers stand for all sites.
    """
    read = {name: _read(label, name, value) for name, value in informed_by.items()}
    lengths = {len(values) for values in read.values() if values.ndim}
    if len(lengths) > 1 or (count is not None and lengths - {count}):
        raise ChoiceError(f"choice {label} is informed by arrays of different lengths", fix="one number per site")
    sites = next(iter(lengths), count)
    if sites is None:
        raise ChoiceError(f"choice {label} does not say how many sites choose", fix="informed_by={'n': an array}")
    return {name: np.broadcast_to(values, (sites,)) for name, values in read.items()}, sites


def _read(label: str, name: str, value: Any) -> Floats:
    try:
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            array = value.astype(np.float64)
        elif isinstance(value, list | tuple):
            array = np.array([_number(each) for each in value], dtype=np.float64)
        else:
            array = np.array(_number(value), dtype=np.float64)
    except TypeError:
        array = np.full(1, np.nan)
        kind: str | None = type(value).__name__
    else:
        kind = None
    if array.ndim > 1 or not np.isfinite(array).all():
        raise ChoiceError(
            f"choice {label} is informed by {name!r}, which is {kind or 'not finite'}, not a number",
            why="what a choice sees shows in the output, so it is public, or was released by a mechanism",
            fix="a public number, or one bought before: n = db.count(epsilon / 2)",
        )
    array.setflags(write=False)
    return array


def _number(value: Any) -> float:
    if isinstance(value, int | float | Fraction | np.number):
        return float(value)
    raise TypeError
