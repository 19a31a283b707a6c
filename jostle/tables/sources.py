"""Rows that are read, batch by batch, and what is kept of them: their codes, in memory or in files of this process.

There is one way in. A *reader* yields batches of a few named columns, a file's, a frame's, a query's; each batch is
encoded by itself, so that nothing is ever held of rows but their codes. These are kept, unless the owner has them read
anew for every question.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen

from jostle.errors import TableError
from jostle.files.content import DIGEST_BYTES
from jostle.tables.block import Block, Codes, Where, Whose
from jostle.tables.columns import Categorical
from jostle.tables.encode import Cells, Census, counted_columns, encode_block
from jostle.tables.engines import Folded, MemorySource, Partial, TableSource, fold_blocks, tally_blocks
from jostle.tables.features import Bits
from jostle.tables.kernels import Kernel
from jostle.tables.persons import bounded, joined_whose, marks_of
from jostle.tables.schema import Schema

MOST_WAITING = 1 << 24
"""Bytes of codes that wait in memory to be written, while more rows are read."""
MOST_HELD = 1 << 28
"""Bytes of codes that are held in memory once all rows are read; more of them stay in files."""
SPILLED_BYTES = 1 << 24
"""Bytes of codes to each part that rows are put into by person, at most MOST_PARTS of them."""
MOST_PARTS = 256


class Reader(Protocol):
    """Where rows come from."""

    @property
    def columns(self) -> tuple[object, ...]:
        """Names of all columns: whatever a frame calls them."""

    @property
    def identity(self) -> bytes:
        """A hash of the data as they came; of what is read once, of what was read of it."""

    @property
    def size(self) -> int:
        """About how many bytes there are to be read, 0 where nobody knows."""

    def batches(
        self, names: tuple[str, ...], few: AbstractSet[str], census: Census | None
    ) -> Iterator[tuple[Mapping[str, Cells], int]]:
        """Yield some rows after the other: columns of these names, and how many rows there are.

        Those of *few* values are read best as dictionaries. A census is told of what is no row.
        """

    def changed(self) -> TableError:
        """What is said where the rows are not those that were read before."""
        return TableError("the rows are not what they were when they were opened", fix="open them again")


@frozen(eq=False, repr=False)
class ReadSource(TableSource):
    """Rows that are read anew, batch by batch, for every tally, as long as they are the same.

    A row that is another by the next question could be in two parts of the table, which are paid for as if they shared
    no row.
    """

    reader: Reader
    schema: Schema
    seen: list[bytes] = field(factory=list)
    """Once they were tallied, by what all rows together are known again."""

    @property
    def identity(self) -> bytes:
        """The reader's."""
        return self.reader.identity

    def blocks(self, census: Census | None = None) -> Iterator[Block]:
        """Yield the rows as codes."""
        schema = self.schema
        names = schema.sources if census is None else counted_columns(schema, self.reader.columns)
        few = {name for name in names if name == schema.person or isinstance(schema.by_name.get(name), Categorical)}
        for columns, length in self.reader.batches(names, few, census):
            yield encode_block(columns, schema, length, census)

    def tally(self, kernel: Kernel, where: Where) -> Partial:
        hasher = hashlib.blake2b(digest_size=DIGEST_BYTES)
        tally = tally_blocks(self._hashed(hasher), self.schema, kernel, where)
        if not self.seen:
            self.seen.append(hasher.digest())
        if hasher.digest() != self.seen[0]:
            raise self.reader.changed()
        return tally

    def _hashed(self, hasher: hashlib.blake2b) -> Iterator[Block]:
        """Yield the blocks; their rows are hashed in order, as two people who change places are others."""
        for block in self.blocks():
            sparse = () if block.bits is None else (block.bits.ends, block.bits.found)
            for codes in (*block.columns.values(), *block.steps.values(), *sparse):
                hasher.update(np.ascontiguousarray(codes).data)
            yield block

    def fold(self, fold: Folded) -> Folded:
        return fold_blocks(self.blocks(), fold)

    def bounded(self, key: bytes) -> KeptSource:
        """The rows that are held of each person: read once, put by person into parts that fit into memory each."""
        return by_persons(self.blocks(), self.schema, self.identity, self.reader.size, key)

    def census(self) -> Census:
        """A census of the rows, by one pass over them."""
        census = Census()
        for _ in self.blocks(census=census):
            pass
        return census

    def kept(self, census: Census | None = None) -> MemorySource | KeptSource:
        """The same rows, read once and kept as codes."""
        return keep(self.blocks(census), self.schema, self)


class Folder:
    """A folder for whoever made it alone, which goes with this object, and not with a copy of the process."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="jostle-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if process == os.getpid():
        shutil.rmtree(path, ignore_errors=True)


@frozen(eq=False, repr=False)
class KeptSource(TableSource):
    """Rows as codes in files of this process that end with it: of each person's, all in one."""

    schema: Schema
    parts: tuple[Path, ...]
    identity: bytes
    folder: Folder
    """Where they are."""
    size: int = 0
    """Bytes of codes."""

    def blocks(self) -> Iterator[Block]:
        """Yield the rows."""
        for path in self.parts:
            with path.open("rb") as file:
                yield from _read(file)

    def tally(self, kernel: Kernel, where: Where) -> Partial:
        return tally_blocks(self.blocks(), self.schema, kernel, where)

    def fold(self, fold: Folded) -> Folded:
        return fold_blocks(self.blocks(), fold)

    def bounded(self, key: bytes) -> KeptSource:
        return by_persons(self.blocks(), self.schema, self.identity, self.size, key)


def keep(blocks: Iterable[Block], schema: Schema, read: ReadSource) -> MemorySource | KeptSource:
    """Rows as codes, once all of them are read: in memory where they are few.

    Until then they wait in a file, so that codes are not held beside what readers hold, nor twice where they are put
    together.
    """
    folder: Folder | None = None
    waiting: list[Block] = []
    bytes_waiting = size = length = 0
    for block in blocks:
        waiting.append(block)
        length += block.length
        bytes_waiting += _bytes_of(block)
        if bytes_waiting > MOST_WAITING:
            folder = folder or Folder()
            _append(folder.path / "rows", joined_blocks(waiting, schema))
            size, bytes_waiting, waiting = size + bytes_waiting, 0, []
    if folder is None:
        return MemorySource.of_block(schema, joined_blocks(waiting, schema), read.identity)
    path = folder.path / "rows"
    if waiting:
        _append(path, joined_blocks(waiting, schema))
    waiting.clear()
    kept = KeptSource(schema, (path,), read.identity, folder, size + bytes_waiting)
    if kept.size > MOST_HELD:
        return kept
    return MemorySource.of_block(schema, joined_blocks(kept.blocks(), schema, length), kept.identity)


def _bytes_of(block: Block) -> int:
    sparse = 0 if block.bits is None else block.bits.found.nbytes + block.bits.ends.nbytes
    names = 0 if block.whose is None else block.whose.codes.nbytes + block.whose.names.nbytes
    return sum(codes.nbytes for held in (block.columns, block.steps) for codes in held.values()) + sparse + names


def _append(path: Path, block: Block) -> None:
    with _written(), path.open("ab") as file:
        pickle.dump(block, file, protocol=pickle.HIGHEST_PROTOCOL)


@contextmanager
def _written() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise TableError(
            f"there is no room for the codes of rows in {tempfile.gettempdir()}",
            why="those of large tables are kept in files of this process",
            fix="set TMPDIR to a folder on a larger disk; stream=True reads a file anew for every question instead",
        ) from None


def _read(file: BufferedReader) -> Iterator[Block]:
    while file.peek(1):
        yield pickle.load(file)  # noqa: S301 - written here, for this process


def by_persons(blocks: Iterable[Block], schema: Schema, identity: bytes, size: int, key: bytes) -> KeptSource:
    """The rows that are held of each person, by one pass over them and one over what is put by person.

    All rows of a person are in memory at once, with those of others whose hash leads to the same part.
    """
    count = min(MOST_PARTS, 1 + size // SPILLED_BYTES)
    folder = Folder()
    paths = tuple(folder.path / f"{part}" for part in range(count))
    for block in blocks:
        for path, piece in zip(paths, by_person(block, count), strict=True):
            _append(path, piece)
    for path in paths:
        pieces: list[Block] = []
        if path.exists():
            with path.open("rb") as file:
                pieces = list(_read(file))
            path.unlink()
        _append(path, bounded(joined_blocks(pieces, schema), schema, key))
    return KeptSource(schema, paths, identity, folder)


def by_person(block: Block, count: int) -> tuple[Block, ...]:
    """A block's rows in so many parts, those of a person in one: by a hash of who that is."""
    whose = block.whose
    if whose is None:
        raise TypeError("rows of nobody are not put by person")
    parts = (marks_of(whose.names) % np.uint64(count)).astype(np.uint16)[whose.codes]
    order = np.argsort(parts, kind="stable")
    ends = np.cumsum(np.bincount(parts, minlength=count))[:-1]
    return tuple(_compact(block.rows(places)) for places in np.split(order, ends))


def _compact(block: Block) -> Block:
    """The block with no more names of persons than it has."""
    whose = block.whose
    if whose is None:
        return block
    persons, codes = np.unique(whose.codes, return_inverse=True)
    names = whose.names.take(pa.array(persons))
    return evolve(block, columns=dict(block.columns), whose=Whose(codes, names))


def joined_blocks(blocks: Iterable[Block], schema: Schema, length: int | None = None) -> Block:
    """The rows of several blocks, in one; where it is said how many there are, no block is held longer than needed."""
    if length is None:
        blocks = list(blocks)
        length = sum(block.length for block in blocks)
    columns: dict[str, Codes] = {name: np.empty(0, dtype=np.uint8) for name in schema.names}
    steps: dict[str, Codes] = {}
    bits: list[Bits] = []
    whose: list[Whose] = []
    start = 0
    for block in blocks:
        end = start + block.length
        for held, parts in ((columns, block.columns), (steps, block.steps)):
            for name in schema.names if held is columns else parts:
                codes = parts[name]
                if not start and (name not in held or len(held[name]) != length or held[name].dtype != codes.dtype):
                    held[name] = np.empty(length, dtype=codes.dtype)
                held[name][start:end] = codes
        bits += [] if block.bits is None else [block.bits]
        whose += [] if block.whose is None else [block.whose]
        start = end
    features = None if schema.features is None else Bits.joined(iter(bits), schema.features)
    return Block(columns, length, None, features, steps, None if schema.person is None else joined_whose(whose))
