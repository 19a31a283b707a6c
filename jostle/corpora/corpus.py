"""Corpora: public databases in a fixed order, each name once, and what each is kept for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Literal, Protocol

from attrs import evolve, field, frozen

from jostle.corpora.cells import RowMarks, related
from jostle.corpora.databases import PublicDatabase, PublicGrid, PublicTable, changed
from jostle.errors import CorpusError, JostleError, PrivateDataError
from jostle.files.kinds import json_parsed
from jostle.files.structure import structured

Role = Literal["tune", "learn", "judge"]
KEPT = Path(__file__).with_name("roles.json")
BEGINNING = 8
"""Characters of a database's digest that files of what was learned remember it by."""


@frozen
class Assigned:
    """A public database that Jostle was made with.

    On *tune* databases the constants inside Options were set, and models inside them fitted; from *learn* databases
    makers learn which Option does best; by *judge* databases the figures are measured that are printed of both, and
    they are used for nothing else. Databases that share people or a source have one role. They are known by their
    digests.
    """

    name: str
    group: str
    role: Role


@cache
def known() -> dict[str, Assigned]:
    """Databases that have a role, by their digests."""
    found = structured(json_parsed(KEPT.read_text(encoding="utf-8")), dict[str, tuple[str, str, Role]])
    return {digest: Assigned(*facts) for digest, facts in found.items()}


def _named_once(databases: Iterable[PublicDatabase]) -> tuple[PublicDatabase, ...]:
    given = tuple(databases)
    names = [database.name for database in given]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CorpusError(f"two databases are called {twice!r}", fix="corpus | corpus gives the second another name")
    return given


@frozen(repr=False)
class Corpus:
    """Public databases, and what could not be read.

    >>> corpus = Corpus([PublicGrid.of("a", [1, 2]), PublicGrid.of("b", [3, 4], group="a")])
    >>> len(corpus), corpus.groups, len(corpus.without("a"))
    (2, {'a': ('a', 'b')}, 0)
    """

    databases: tuple[PublicDatabase, ...] = field(default=(), converter=_named_once)
    problems: tuple[JostleError, ...] = ()
    """Why some files are not among them, each naming its file."""

    @property
    def tables(self) -> tuple[PublicTable, ...]:
        """The tables."""
        return tuple(database for database in self.databases if isinstance(database, PublicTable))

    @property
    def grids(self) -> tuple[PublicGrid, ...]:
        """The grids."""
        return tuple(database for database in self.databases if isinstance(database, PublicGrid))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The names of each group's databases."""
        names: dict[str, tuple[str, ...]] = {}
        for database in self.databases:
            names[database.group] = (*names.get(database.group, ()), database.name)
        return names

    def __len__(self) -> int:
        return len(self.databases)

    def __iter__(self) -> Iterator[PublicDatabase]:
        return iter(self.databases)

    def __contains__(self, name: object) -> bool:
        return any(database.name == name for database in self.databases)

    def __getitem__(self, name: str) -> PublicDatabase:
        for database in self.databases:
            if database.name == name:
                return database
        raise CorpusError(f"there is no database {name!r} among these {len(self)}")

    def __or__(self, other: Corpus) -> Corpus:
        """Both corpora's databases: what is in both once, and of two with one name the second renamed.

        A group of one is a group of the other if it has the same name: better apart than on both sides of a split.
        """
        databases = list(self.databases)
        for database in other.databases:
            same = [known for known in databases if _said_name(known) == _said_name(database)]
            if any(known is database or _equal(known, database) for known in same):
                continue
            name = f"{database.name} ({len(same) + 1})" if same else database.name
            databases.append(changed(database, name=name))
        return Corpus(databases, self.problems + other.problems)

    def without(self, group: str) -> Corpus:
        """The databases of all other groups."""
        return evolve(self, databases=[database for database in self.databases if database.group != group])

    def only(self, *names: str) -> Corpus:
        """The databases of these names, in this order."""
        return evolve(self, databases=[self[name] for name in names])

    def in_groups(self, groups: Mapping[str, Iterable[str]]) -> Corpus:
        """The same databases, those listed together in one group, with whatever was in a group with them.

        A name that no database has becomes a problem.
        """
        pairs: list[tuple[str, str]] = []
        called: dict[str, str] = {}
        problems = list(self.problems)
        for group, listed in groups.items():
            given = list(listed)
            names = [name for name in given if name in self]
            problems += [
                CorpusError(f"the group {group!r} names {name!r}, which is no database here", fix="check the name")
                for name in given
                if name not in self
            ]
            called.update(dict.fromkeys(names, group))
            pairs += pairwise(names)
        return _joined(evolve(self, problems=tuple(problems)), pairs, called)

    def grouped(self) -> Corpus:
        """The same databases, tables that share rows in one group; reads them all.

        Those of which more than half of the different rows, without labels, are the same: see `related`; and copies,
        of grids as well. What a generator made shares rows with nobody. What cannot be read moves to the problems.
        """
        readable: list[PublicDatabase] = []
        problems = list(self.problems)
        marks: dict[str, RowMarks] = {}
        for database in self.databases:
            try:
                _ = database.digest  # worked out while the database is in memory anyway
                if (own_marks := database.marks) is not None:
                    marks[database.name] = own_marks
            except PrivateDataError:
                raise
            except JostleError as mistake:
                problems.append(mistake)
            else:
                readable.append(database)
        pairs = [(one, other) for one, other in combinations(marks, 2) if related(marks[one], marks[other])]
        first: dict[str, str] = {}
        pairs += [(first.setdefault(each.digest, each.name), each.name) for each in readable]
        return _joined(Corpus(readable, tuple(problems)), pairs, {})

    def __repr__(self) -> str:
        unread = f", {len(self.problems)} not read" if self.problems else ""
        return f"<Corpus of {len(self.tables)} tables and {len(self.grids)} grids{unread}>"


def _said_name(database: PublicDatabase) -> str:
    """A database's name without the number that a union may have given it."""
    name, bracket, number = database.name.rpartition(" (")
    return name if bracket and number[:-1].isdigit() else database.name


def _equal(one: PublicDatabase, other: PublicDatabase) -> bool:
    if type(one) is not type(other):
        return False
    return one.reader == other.reader or one.digest == other.digest


def _joined(corpus: Corpus, pairs: Iterable[tuple[str, str]], named: Mapping[str, str]) -> Corpus:
    """The same databases, the groups of each pair made one: called as said, or as its first."""
    group = {database.name: database.group for database in corpus.databases}
    renamed: dict[str, str] = {}

    def root(name: str) -> str:
        while name in renamed:
            name = renamed[name]
        return name

    for one, other in pairs:
        if one in group and other in group and root(group[one]) != root(group[other]):
            renamed[root(group[other])] = root(group[one])
    called = {root(group[name]): text for name, text in named.items() if name in group}
    groups = {name: called.get(root(said), root(said)) for name, said in group.items()}
    databases = [
        database if database.group == groups[database.name] else changed(database, group=groups[database.name])
        for database in corpus.databases
    ]
    return evolve(corpus, databases=databases)


class KnownByName(Protocol):
    """A public database, or what a history knows of one.

    What Jostle was made with has roles of its own (`roles`).
    """

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
    by_digest = {database.digest: database for database in listed}
    by_group = {group: database for database in listed for group in groups_of(database)}
    for judged in aside:
        if judged.digest in by_digest:
            raise _shared(judged, f"has the same rows as {by_digest[judged.digest].name}, which is learned from")
        for group in sorted(groups_of(judged)):
            if group in by_group:
                raise _shared(
                    judged, f"is of the group {group}, and so is {by_group[group].name}, which is learned from"
                )
    rows = [(database, database.marks) for database in listed if isinstance(database, PublicDatabase)]
    for judged in aside:
        marks = judged.marks
        for database, others in rows:
            if marks is not None and others is not None and related(marks, others):
                raise _shared(judged, f"shares rows with {database.name}, which is learned from")


def _shared(judged: PublicDatabase, said: str) -> CorpusError:
    return CorpusError(
        f"{judged.name}, to be judged by, {said}",
        why="figures on what was learned from look better than they are anywhere else",
        fix="take it out of one of the two folders",
    )
