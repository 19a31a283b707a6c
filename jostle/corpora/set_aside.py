"""Databases set aside to judge what was learned on others: none may be among these, or have their people.

What Jostle was made with has roles of its own (`roles`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.relatives import related
from jostle.corpora.roles import known
from jostle.errors import CorpusError

__all__ = ["KnownByName", "check_set_aside", "groups_of"]


class KnownByName(Protocol):
    """A public database, or what a history knows of one."""

    @property
    def digest(self) -> str:
        """Of what it says."""
        ...

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def group(self) -> str:
        """Whose people it has."""
        ...


def groups_of(database: KnownByName) -> frozenset[str]:
    """The group that a database was put in, and the one it has among those that Jostle was made with."""
    role = known().get(database.digest)
    return frozenset({database.group} if role is None else {database.group, role.group})


def check_set_aside(aside: Corpus, learned_from: Iterable[KnownByName]) -> None:
    """Refuse databases to judge by of which some are learned from, or are in a group with some that are.

    What is learned from may be known by name alone; where its rows are at hand, so are those who share them.
    """
    listed = list(learned_from)
    by_digest = {each.digest: each for each in listed}
    by_group = {group: each for each in listed for group in groups_of(each)}
    for judged in aside:
        if judged.digest in by_digest:
            raise _shared(judged, f"has the same rows as {by_digest[judged.digest].name}, which is learned from")
        for group in sorted(groups_of(judged)):
            if group in by_group:
                raise _shared(
                    judged, f"is of the group {group}, and so is {by_group[group].name}, which is learned from"
                )
    rows = [(each, each.marks) for each in listed if isinstance(each, PublicDatabase)]
    for judged in aside:
        marks = judged.marks
        for each, others in rows:
            if marks is not None and others is not None and related(marks, others):
                raise _shared(judged, f"shares rows with {each.name}, which is learned from")


def _shared(judged: PublicDatabase, said: str) -> CorpusError:
    return CorpusError(
        f"{judged.name}, to be judged by, {said}",
        why="figures on what was learned from look better than they are anywhere else",
        fix="take it out of one of the two folders",
    )
