"""Which metafeatures Jostle knows for which task."""

from __future__ import annotations

from jostle.choice.metafeatures import grids, tables
from jostle.choice.metafeatures.base import Metafeature

__all__ = ["metafeatures_of"]

KNOWN = {
    "classification": (*tables.PUBLIC, *tables.BOUGHT),
    "grid": (*grids.PUBLIC, *grids.BOUGHT),
}


def metafeatures_of(task: str) -> tuple[Metafeature, ...]:
    """Return the metafeatures of a task, the free ones first; none for a task that Jostle does not know."""
    return KNOWN.get(task, ())
