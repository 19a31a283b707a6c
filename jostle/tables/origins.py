"""Where rows came from: the one thing that says whether they are private.

Whoever may ask whether other rows are equal to private ones can try out what the last row of a table is, knowing all
the others. So nothing is refused for what it says. What is private is known again by where it came from:

- *a file* by its path, by its inode, and so under all its names; and, to every process, by a vault beside it
  (`rows.csv.vault` beside `rows.csv`, as it is named, where links lead, and under its other names in that folder);
- *what was handed in* by being the same object: a frame, an array, a dict, a list, a column of a dict;
- *an array* by the memory that it lies in, so as a part, and in another dict or frame under other names, as well; the
  columns of a pandas or Arrow frame likewise, but for those that pandas keeps as categories or with a mask. Frames of
  other libraries, Dask's among them, and sparse matrices are known as objects alone.

A copy with memory of its own is another thing (pandas' own copies share that of texts), and so is what was worked out
from rows. This guards against mistakes of whoever opens rows, and not against whoever can copy them.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.lib.array_utils import byte_bounds

from jostle.errors import PrivateDataError
from jostle.files.content import (
    MOST_BYTES,
    FileContent,
    FileMark,
    Inode,
    inode_of,
    is_there,
    path_of,
    read_content,
    real_path,
)

VAULT_ENDING = ".vault"
Region = tuple[object, int, int]
"""Memory from one address to another, which is what it is while an object lives."""


@frozen(eq=False, repr=False)
class Piece:
    """An object that rows came from, or memory that they lie in."""

    thing: object
    """A weak reference, so that rows are not kept for it; or the object if it takes none: a dict, a list, a tuple."""
    low: int = 0
    high: int = 0
    """The addresses; 0 for the object itself."""

    @classmethod
    def of(cls, thing: object, low: int = 0, high: int = 0) -> Piece:
        """The piece of an object, or of memory that it holds."""
        try:
            return cls(weakref.ref(thing), low, high)
        except TypeError:
            return cls(thing, low, high)

    @property
    def lives(self) -> bool:
        """Whether anybody has the object, so that it can be handed in again, and its memory is its own."""
        if isinstance(self.thing, weakref.ref):
            return self.thing() is not None
        return sys.getrefcount(self.thing) > ALONE

    @property
    def key(self) -> tuple[int, int, int]:
        """What tells it from all others, while it lives: an object has one weak reference."""
        return id(self.thing), self.low, self.high


_alone = Piece([])
ALONE = sys.getrefcount(_alone.thing)
"""What Python counts for an object that one piece refers to, and nobody else."""


@frozen(eq=False, repr=False)
class RowOrigin:
    """Where rows came from: the objects that they were made of, and the file that they were read from."""

    pieces: tuple[Piece, ...] = ()
    file: Path | None = None
    inode: Inode | None = None
    """That of the file when it was read."""
    others: tuple[RowOrigin, ...] = ()
    """Those of tables that these rows were worked out from."""

    @classmethod
    def of(cls, *things: object) -> RowOrigin:
        """The origin of rows that were made of these objects, of which one may be a file that they were read from."""
        place = next((each for each in things if isinstance(each, Path | FileContent)), None)
        pieces = tuple(piece for each in things if each is not place for piece in _pieces(each))
        if place is None:
            return cls(pieces)
        inode = place.inode if isinstance(place, FileContent) else inode_of(place)
        return cls(pieces, path_of(place).absolute(), inode)

    def beside(self, *others: RowOrigin) -> RowOrigin:
        """The origin of what is worked out from rows of this one and of others."""
        return evolve(self, others=(*self.others, *others))

    @property
    def all(self) -> tuple[RowOrigin, ...]:
        """This one, and those of all tables that lie before."""
        return (self, *(each for other in self.others for each in other.all))

    @property
    def vaults(self) -> tuple[Path, ...]:
        """The vaults beside its files, under any name that each has in its folder."""
        files = [each.file for each in self.all if each.file is not None]
        return tuple(dict.fromkeys(vault for file in files for vault in _vaults(file) if is_there(vault)))

    def shared(self, other: RowOrigin) -> bool:
        """Whether rows of this origin are, lie in, or were worked out from what rows of the other are."""
        return any(_shared(mine, theirs) for mine in self.all for theirs in other.all)


def _shared(left: RowOrigin, right: RowOrigin) -> bool:
    """Whether rows of two origins lie in the same objects, memory, or file."""
    mine, theirs = ([piece.key for piece in each.pieces if piece.lives] for each in (left, right))
    if not set(mine).isdisjoint(theirs) or _same_file(left, right):
        return True
    low, high = np.array([key[1:] for key in mine if key[2]], np.uint64).reshape(-1, 1, 2).transpose(2, 0, 1)
    other_low, other_high = np.array([key[1:] for key in theirs if key[2]], np.uint64).reshape(-1, 2).T
    return bool(np.any((low < other_high) & (other_low < high)))


def _same_file(left: RowOrigin, right: RowOrigin) -> bool:
    if left.file is None or right.file is None:
        return False
    mine, theirs = {left.inode, inode_of(left.file)}, {right.inode, inode_of(right.file)}
    return real_path(left.file) == real_path(right.file) or bool(mine & theirs - {None})


def _pieces(thing: Any) -> Iterator[Piece]:
    if type(thing).__module__.partition(".")[0] == "narwhals":
        thing = thing.to_native()
    if not isinstance(thing, np.ndarray):  # of which there are many over one memory
        yield Piece.of(thing)
    yield from (Piece.of(*region) for region in _regions(thing))
    if isinstance(thing, Mapping):
        for column in thing.values():
            yield from _pieces(column)


def _regions(thing: object) -> Iterator[Region]:
    """Yield the memory of an array, and of the columns of frames, without a look at what is in it."""
    for holder, column in _columns(thing):
        if isinstance(column, np.ndarray):
            owner = column
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            if column.size:
                yield (owner, *byte_bounds(column))
        else:
            for chunk in column.chunks if hasattr(column, "chunks") else [column]:
                # The first buffer says which cells are empty, as that of other columns may; the second has the cells,
                # or where they begin.
                for buffer in filter(None, chunk.buffers()[1:2] if len(chunk) else []):
                    first, last = (place * _bits(chunk.type) for place in (chunk.offset, chunk.offset + len(chunk)))
                    yield holder, buffer.address + first // 8, buffer.address - -last // 8


def _bits(kind: Any) -> int:
    """How many bits a cell has in an Arrow array, or a place where one begins."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return 64 if "large" in str(kind) else 32


def _columns(thing: Any) -> Iterator[tuple[object, Any]]:
    """Yield arrays, numpy's or Arrow's, that are columns of a thing or itself, with what holds them."""
    # What is not loaded has made nothing.
    pandas, arrow = sys.modules.get("pandas"), sys.modules.get("pyarrow")
    if isinstance(thing, np.ndarray):
        yield thing, thing
    elif arrow is not None and isinstance(thing, arrow.Table | arrow.ChunkedArray | arrow.Array):
        yield from ((thing, column) for column in (thing.columns if isinstance(thing, arrow.Table) else [thing]))
    elif pandas is not None and isinstance(thing, pandas.DataFrame):
        for place in range(thing.shape[1]):
            yield from _columns(thing.iloc[:, place])
    elif pandas is not None and isinstance(thing, pandas.Series):
        if isinstance(thing.dtype, np.dtype):
            yield thing, thing.to_numpy()
        elif isinstance(thing.array, pandas.arrays.ArrowExtensionArray):
            yield thing.array, thing.array.__arrow_array__()


# What is private in this process


@frozen(eq=False)
class PrivateOrigins:
    """Which origins this process was given as private. Its functions alone hold them, and so what was private."""

    take: Callable[[RowOrigin], frozenset[object]]
    """Remember an origin; return a token of its own, and those of all that it shares rows with."""
    has: Callable[[RowOrigin], bool]
    """Say whether rows of an origin were given as private."""


def make_private_origins() -> PrivateOrigins:
    """Nothing that was given as private."""
    known: list[tuple[RowOrigin, object]] = []
    lock = threading.Lock()

    def take(origin: RowOrigin) -> frozenset[object]:
        with lock:
            known[:] = [(living, token) for each, token in known if (living := _living(each)) is not None]
            found = {token for each, token in known if each.shared(origin)}
            held = {piece.key for each, _ in known for piece in each.pieces}
            for part in origin.all:
                # Each once: what is handed in a thousand times is remembered once, and it is seen when nobody has it.
                new = tuple(piece for piece in part.pieces if piece.key not in held)
                if new or not found:
                    token = object()
                    known.append((evolve(part, pieces=new, others=()), token))
                    found.add(token)
            return frozenset(found)

    def has(origin: RowOrigin) -> bool:
        with lock:
            return any(each.shared(origin) for each, _ in known)

    return PrivateOrigins(take, has)


def _living(origin: RowOrigin) -> RowOrigin | None:
    """What could be met with again of an origin; None if nothing could."""
    pieces = tuple(piece for piece in origin.pieces if piece.lives)
    return evolve(origin, pieces=pieces) if pieces or origin.file is not None else None


_private = make_private_origins()


def take_as_private(origin: RowOrigin) -> frozenset[object]:
    """Let what came from there be private from now on; return what it is known by."""
    return _private.take(origin)


def check_public(*things: object) -> None:
    """Refuse what is private: a file that has a vault beside it, or what this process was given as private.

    That is what was handed to `protect`, whether or not it could be opened then, or fitted to, or named as `--data`.

    Whoever reads rows as public asks this: of a file, of objects that rows were made of, or of an origin.
    """
    given = things[0] if things and isinstance(things[0], RowOrigin) else None
    origin = given or RowOrigin.of(*(Path(each) if isinstance(each, str) else each for each in things))
    what = "what is given as public" if origin.file is None else repr(str(origin.file))
    exposed, fix = (
        "what is read as public has no noise on it, or noise that can be taken off",
        "name public data, in a folder of its own; protect(table, epsilon=...) opens private data",
    )
    for vault in origin.vaults:
        raise PrivateDataError(
            f"{what} is private", why=f"its budget is kept in {str(vault)!r}, and {exposed}", fix=fix
        )
    if _private.has(origin):
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
    """The vault beside a file, under any name that it has in its folder; None where there is none."""
    return next(filter(is_there, _vaults(path)), None)


def _vaults(path: Path) -> Iterator[Path]:
    """Yield where a file's vault would be: beside it as it is named, where it is, and under its other names there."""
    named = path.absolute()
    yield named.with_name(named.name + VAULT_ENDING)
    yield vault_beside(path)
    real = real_path(path)
    try:
        if real.stat().st_nlink > 1:
            for vault in real.parent.glob(f"*{VAULT_ENDING}"):
                other = vault.with_name(vault.name.removesuffix(VAULT_ENDING))
                if is_there(other) and other.samefile(real):
                    yield vault
    except (OSError, ValueError):
        return
