"""What Options were fitted on: rehearsals there are kept apart, since they would flatter.

An Option that carries something fitted (a model of how counts split, policies of its choices) looks better on the
databases it was fitted on than on any others. So its `fitted_on` names them: by digests or their beginnings, by names
of databases or of groups, or as public databases. Where such Options are rehearsed, nothing is learned from these
databases or judged by them, nor from any other of their groups, which have the same people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from jostle.corpora.corpus import BEGINNING, KnownByName, groups_of, known
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.folders import public
from jostle.errors import OptionError, shown

DIGEST = re.compile(rf"[0-9a-f]{{{BEGINNING},32}}")
"""A digest, or as much of its beginning as is kept in files."""


class SaysFittedOn(Protocol):
    """An Option, or what Options are used in."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def fitted_on(self) -> Any:
        """What it was fitted on, as `marks_of` reads it."""
        ...


def marks_of(given: Any) -> frozenset[str]:
    """Digests and names that `fitted_on` gives: texts as they are, of databases their digests, of folders all in them.

    >>> sorted(marks_of(["census", "0c5f1a2b"]))
    ['0c5f1a2b', 'census']
    """
    if isinstance(given, str):
        return frozenset({given})
    if isinstance(given, PublicDatabase):
        return frozenset({given.digest})
    if isinstance(given, Path):
        return marks_of(public(given))
    if isinstance(given, Iterable):
        return frozenset[str]().union(*map(marks_of, given))
    raise OptionError(
        f"fitted_on has {shown(given)}",
        why="it names the databases that an Option was fitted on",
        fix='fitted_on=["adult"], digests, or a folder of them: Path("census")',
    )


def kept_apart(options: Iterable[SaysFittedOn], databases: Iterable[KnownByName]) -> Mapping[str, str]:
    """By digest, the databases of groups that an Option was fitted on, and a sentence that says so of each."""
    listed = list(databases)
    apart: dict[str, str] = {}
    for option in options:
        marks = marks_of(option.fitted_on)
        if not marks:
            continue
        begun = {mark[:BEGINNING] for mark in marks if DIGEST.fullmatch(mark)}
        of_marks = {each.group for digest, each in known().items() if _is_named(digest, (each.name,), marks, begun)}
        groups = marks | of_marks
        fitted = [each for each in listed if _is_named(each.digest, (each.name, *groups_of(each)), groups, begun)]
        people = {group for each in fitted for group in groups_of(each)}
        for each in listed:
            if not people.isdisjoint(groups_of(each)):
                said = f"{each.name} is kept apart: {option.name} was fitted on it, or on others of its group"
                apart.setdefault(each.digest, said)
    return apart


def _is_named(digest: str, names: Iterable[str], marks: frozenset[str], begun: set[str]) -> bool:
    """Whether a database has one of the names, or a digest that begins as one of the marks."""
    if not marks.isdisjoint(names):
        return True
    return digest[:BEGINNING] in begun and any(digest.startswith(mark) for mark in marks if DIGEST.fullmatch(mark))
