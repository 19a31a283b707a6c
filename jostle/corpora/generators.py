"""Generated public databases: tables and grids of many kinds, as many as one likes."""

from __future__ import annotations

from jostle.corpora.corpus import Corpus
from jostle.corpora.generators_grids import generated_grids
from jostle.corpora.generators_tables import generated_tables

__all__ = ["generated", "generated_grids", "generated_tables"]


def generated(count: int, *, seed: int = 0) -> Corpus:
    """So many generated tables and as many grids.

    >>> generated(3)
    <Corpus of 3 tables and 3 grids>
    """
    return generated_tables(count, seed=seed) | generated_grids(count, seed=seed)
