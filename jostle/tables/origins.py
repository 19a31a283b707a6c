"""Where rows came from: the one thing that says whether they are private.

Whoever may ask whether other rows are equal to private ones can try out what the last row of a table is, knowing all
the others. So nothing is refused for what it says. What is private is known again by where it came from:

- *a file* by its path, links followed; and, to every process, by a vault beside it (`rows.csv.vault` beside `rows.csv`,
  as it is named and where links lead);
- *what was handed in* by being the same object: a table, a frame, an array, a column of a dict.

Anything else is another thing: a copy, a part, what was worked out from rows, lists. This catches mistakes of whoever
opens rows.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from jostle.errors import PrivateDataError
from jostle.files.content import MOST_BYTES, FileContent, FileMark, is_there, path_of, read_content, real_path

VAULT_ENDING = ".vault"


@frozen(eq=False, repr=False)
class RowOrigin:
    """Where rows came from: the objects that they were made of, and the file that they were read from."""

    things: tuple[weakref.ref[Any], ...] = ()
    """Not the objects themselves, so that rows are not kept for it."""
    file: Path | None = None
    others: tuple[RowOrigin, ...] = ()
    """Those of tables that these rows were worked out from."""

    @classmethod
    def of(cls, *things: object) -> RowOrigin:
        """The origin of rows that were made of these objects, of which one may be a file that they were read from."""
        file = next((thing for thing in things if isinstance(thing, Path | FileContent)), None)
        references = tuple(reference for thing in things if thing is not file for reference in _references(thing))
        return cls(references, None if file is None else path_of(file).absolute())

    def beside(self, *others: RowOrigin) -> RowOrigin:
        """The origin of what is worked out from rows of this one and of others."""
        return evolve(self, others=(*self.others, *others))

    @property
    def all(self) -> tuple[RowOrigin, ...]:
        """This one, and those of all tables that lie before."""
        return (self, *(origin for other in self.others for origin in other.all))

    @property
    def vaults(self) -> tuple[Path, ...]:
        """The vaults beside its files."""
        files = [origin.file for origin in self.all if origin.file is not None]
        return tuple(dict.fromkeys(vault for file in files for vault in _vaults(file) if is_there(vault)))

    @property
    def keys(self) -> frozenset[Path | int]:
        """By what its files, and those of its objects that still live, are told from all others."""
        files = (real_path(origin.file) for origin in self.all if origin.file is not None)
        things = (thing() for origin in self.all for thing in origin.things)
        return frozenset([*files, *(id(thing) for thing in things if thing is not None)])

    def shared(self, other: RowOrigin) -> bool:
        """Whether both have a file or an object in common."""
        return not self.keys.isdisjoint(other.keys)


def _references(thing: Any) -> Iterator[weakref.ref[Any]]:
    """Yield references to an object and to the columns of a dict; lists, and what else takes none, are passed over."""
    if type(thing).__module__.partition(".")[0] == "narwhals":
        thing = thing.to_native()
    try:
        yield weakref.ref(thing)
    except TypeError:
        for column in thing.values() if isinstance(thing, Mapping) else ():
            yield from _references(column)


# What is private in this process


_private: list[tuple[RowOrigin, object]] = []
"""The origins that this process was given as private, each with a token of its own."""
_lock = threading.Lock()


def take_as_private(origin: RowOrigin) -> frozenset[object]:
    """Let what came from there be private from now on; return its token, and those of all that it shares rows with."""
    with _lock:
        _private[:] = [(other, token) for other, token in _private if other.keys]
        tokens = {token: other.keys for other, token in _private if other.shared(origin)}
        if not origin.keys <= frozenset().union(*tokens.values()):
            token = object()
            _private.append((origin, token))
            tokens[token] = origin.keys
        return frozenset(tokens)


def check_public(*things: object) -> None:
    """Refuse what is private: a file that has a vault beside it, or what this process was given as private.

    That is what was handed to `protect`, whether or not it could be opened then, or fitted to, or named as `--data`.

    Whoever reads rows as public asks this: of a file, of objects that rows were made of, or of an origin.
    """
    given = things[0] if things and isinstance(things[0], RowOrigin) else None
    origin = given or RowOrigin.of(*(Path(thing) if isinstance(thing, str) else thing for thing in things))
    what = "what is given as public" if origin.file is None else repr(str(origin.file))
    exposed, fix = (
        "what is read as public has no noise on it, or noise that can be taken off",
        "name public data, in a folder of its own; protect(table, epsilon=...) opens private data",
    )
    for vault in origin.vaults:
        raise PrivateDataError(
            f"{what} is private", why=f"its budget is kept in {str(vault)!r}, and {exposed}", fix=fix
        )
    with _lock:
        given_as_private = any(other.shared(origin) for other, _ in _private)
    if given_as_private:
        raise PrivateDataError(f"{what} was given as private", why=exposed, fix=fix)


def read_public(path: Path, mark: FileMark | None = None, most: int = MOST_BYTES) -> FileContent:
    """A public file's bytes, so many at most; with a mark, only if they are still those that it was taken of."""
    content = read_content(path, most)
    if mark is not None and content.mark != mark:
        raise PrivateDataError(
            f"{str(path)!r} is not what it was when it was named as public",
            why="another file could be in its place by now",
            fix="run the same command again",
        )
    check_public(content)
    return content


# Vaults beside files


def vault_beside(data: Path) -> Path:
    """The path of a private file's vault, if nobody says otherwise: beside the file itself."""
    real = real_path(data)
    return real.with_name(real.name + VAULT_ENDING)


def known_vault(path: Path) -> Path | None:
    """The vault beside a file; None where there is none."""
    return next(filter(is_there, _vaults(path)), None)


def _vaults(path: Path) -> tuple[Path, Path]:
    """Where a file's vault would be: beside it as it is named, and where links lead."""
    named = path.absolute()
    return named.with_name(named.name + VAULT_ENDING), vault_beside(path)
