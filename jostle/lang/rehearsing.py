"""Rehearsals that a program asks for: the error of an Option on a public database, which costs nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from jostle.choice.learning.rehearse import mean_error
from jostle.corpora.databases import PublicDatabase
from jostle.lang.operators import kind_of
from jostle.lang.stops import Stop
from jostle.options.base import Option

__all__ = ["error_of"]


def error_of(option: Any, database: Any, scale: Any, epsilon: Fraction) -> float | None:
    """The mean error of an Option on a public database with *scale* records or rows; None where it refuses."""
    if not isinstance(option, Option):
        raise Stop(
            "J501", f"{kind_of(option)} is rehearsed", "an Option is", "rehearse(DAWA, grid, scale=1000, epsilon=1)"
        )
    if not isinstance(database, PublicDatabase):
        raise Stop(
            "J501", f"a rehearsal on {kind_of(database)}", "it is on a public database", "for grid in gridCorpus:"
        )
    if not option.task.rehearsal.takes(database):
        title = f"`{option.name}` answers nothing about {database.name}"
        raise Stop("J501", title, f"it {option.task.question.does}", "choose another one")
    return mean_error(option, database, int(scale), epsilon)
