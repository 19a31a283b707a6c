"""Which parts of public databases makers learn from, if nobody says otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import evolve

from jostle.corpora.databases import PublicDatabase
from jostle.corpora.specs import Spec

__all__ = ["default_jobs", "few_jobs"]

Jobs = list[tuple[PublicDatabase, Spec]]


def default_jobs(databases: Iterable[PublicDatabase], axes: Collection[int] = (), *, declared: bool = False) -> Jobs:
    """The instances of public databases to be rehearsed on; of those with axes, only with so many, if said.

    With *declared*, each comes a second time, with a schema that declares the number of rows: what is rehearsed there
    is what a maker learns for such tables.
    """
    jobs = [
        (database, spec)
        for database in databases
        if not axes or database.axes is None or database.axes in axes
        for spec in database.usual()
    ]
    return [*jobs, *((database, evolve(spec, declared=True)) for database, spec in jobs if declared)]


def few_jobs(databases: Iterable[PublicDatabase]) -> Jobs:
    """Few instances of public databases, and small ones."""
    return [(database, spec) for database in databases for spec in database.few()]
