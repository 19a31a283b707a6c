"""Grow trees level by level, by a splitting rule and a stopping rule."""

from __future__ import annotations

from jostle.options.growing.grove import Grove
from jostle.options.growing.splitting import Splitting
from jostle.options.growing.stopping import Stopping
from jostle.privacy.probe import Probe

__all__ = ["grow"]


def grow(db: Probe, grove: Grove, depth: int, splitting: Splitting, stopping: Stopping, *, ask_at_end: bool) -> None:
    """Grow every tree of *grove* by at most *depth* levels; one pass over the rows per level and per kind of question.

    With *ask_at_end* the stopping rule also sees the leaves of the last level, which cannot go on: it may want
    their sizes.
    """
    frontier = grove.seedlings()
    for _ in range(depth):
        going = grove.splittable(frontier) & stopping.goes_on(db, grove, frontier)
        if not going.any():
            return
        going_on = frontier.only(going)
        frontier = grove.split(going_on, splitting.choose(db, grove, going_on))
    if ask_at_end:
        stopping.goes_on(db, grove, frontier)
