"""Rehearsals that a program asks for: the error of an Option on a public database, which costs nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from jostle.choice.learning.rehearse import seed_of
from jostle.choice.public.databases import PublicGrid, PublicTable
from jostle.choice.public.instances import make_instance
from jostle.choice.public.specs import GridSpec, TableSpec
from jostle.choice.public.subsamples import SHAPES
from jostle.errors import OptionError
from jostle.lang.arithmetic import kind_of
from jostle.lang.stops import Stop
from jostle.options.base import Option
from jostle.privacy.opening import rehearse

__all__ = ["error_of"]

TRIALS = 3
"""Runs that an error is the mean of; which noise they have is fixed, so that tables are the same each time."""


def error_of(option: Any, database: Any, scale: Any, epsilon: Fraction) -> float | None:
    """Return the mean error of an Option on a public database with *scale* records or rows; None where it refuses."""
    if not isinstance(option, Option):
        raise Stop(
            "J501", f"{kind_of(option)} is rehearsed", "an Option is", "rehearse(DAWA, grid, scale=1000, epsilon=1)"
        )
    if not isinstance(database, PublicGrid | PublicTable):
        raise Stop(
            "J501", f"a rehearsal on {kind_of(database)}", "it is on a public database", "for grid in gridCorpus:"
        )
    if option.task != database.task:
        raise Stop(
            "J501", f"`{option.name}` answers no {database.task}", f"it answers {option.task}", "choose another one"
        )
    spec: GridSpec | TableSpec
    if isinstance(database, PublicGrid):
        spec = GridSpec(records=int(scale), shape=_shape(database))
    else:
        spec = TableSpec(rows=int(scale))
    instance = make_instance(database, spec)
    losses = []
    for trial in range(TRIALS):
        seed = seed_of(database.key(spec), f"{option.name} {option.version}", str(epsilon), trial)
        try:
            answer: Any = option(
                rehearse(instance.table, epsilon=epsilon, seed=seed), *instance.questions, epsilon=epsilon
            )
        except OptionError:
            return None
        losses.append(float(instance.loss(answer)))
    return float(np.mean(losses))


def _shape(grid: PublicGrid) -> tuple[int, ...] | None:
    """Return the smallest of the usual shapes that a grid can be coarsened to."""
    for shape in SHAPES.get(len(grid.shape), ()):
        if all(whole % side == 0 for whole, side in zip(grid.shape, shape, strict=True)):
            return shape
    return None
