"""Which metafeatures Jostle knows for which task."""

from __future__ import annotations

from jostle.choice import about_grids, about_tables
from jostle.choice.metafeatures import Metafeature

__all__ = ["metafeatures_of"]

KNOWN = {
    "classification": (*about_tables.PUBLIC, *about_tables.BOUGHT),
    "grid": (*about_grids.PUBLIC, *about_grids.BOUGHT),
}


def metafeatures_of(task: str) -> tuple[Metafeature, ...]:
    """Return the metafeatures of a task, the free ones first; none for a task that Jostle does not know."""
    return KNOWN.get(task, ())
