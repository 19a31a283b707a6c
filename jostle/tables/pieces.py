"""Rows in pieces on workers of other libraries: our encoder and kernels run there, and partial tallies come back.

Whatever engine holds the rows does one thing for us: it maps a function over all pieces, and adds up what it gives. So
all engines give the same integers. The exception of a worker, which may quote rows, never leaves it.
"""

from __future__ import annotations

import hashlib
import pickle
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial, update_wrapper
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen

from jostle.errors import TableError
from jostle.progress import unshown
from jostle.tables.block import Block, Where
from jostle.tables.encode import Census, counted_columns, encode_block
from jostle.tables.engines import Fold, Folded, Partial, TableSource, added_up, fold_blocks, merge, tally_blocks
from jostle.tables.frames import check_columns, guarded
from jostle.tables.hashes import RowHashes
from jostle.tables.kernels import Kernel
from jostle.tables.persons import bounded
from jostle.tables.schema import Schema
from jostle.tables.sources import by_person, joined_blocks


def no_blocks(piece: Any, schema: Schema, census: Census | None = None) -> Iterator[Block]:  # noqa: ARG001 - as all
    """Yield nothing."""
    return iter(())


@frozen(eq=False, repr=False)
class PiecesSource(TableSource):
    """Rows in pieces, somewhere."""

    schema: Schema
    identity: bytes
    seen: list[bytes] = field(factory=list, kw_only=True)
    """Once they were tallied, by what all rows together are known again."""

    @abstractmethod
    def asked(self, ask: Callable[..., Any], question: object, add: Callable[..., Any], what: str) -> Any:
        """What workers find in all pieces by a function, added up by another; None if there are no pieces."""

    def fold(self, fold: Folded) -> Folded:
        whole: Folded | None = self.asked(fold_piece, fold, merge_folds, "read its part")
        return fold if whole is None else whole

    def tally(self, kernel: Kernel, where: Where) -> Partial:
        kernel.cells(self.schema)  # refuses what does not fit before any work is sent out
        nothing = tally_blocks(iter(()), self.schema, kernel, where)
        question = (self.schema, kernel, where)
        tallied: Tallied | None = self.asked(tally_piece, question, merge_all, "tally its part")
        if tallied is None:
            return nothing
        tally, hashes = tallied
        self._check_same(hashes)
        return merge([nothing, tally])

    def census(self) -> Census:
        """A census of the rows."""
        census: Census | None = self.asked(count_piece, (), count_all, "count what became of its rows")
        return Census() if census is None else census

    def _check_same(self, hashes: Partial) -> None:
        """Refuse rows that are others than at first: one in another part by now, or piece, could count twice."""
        mark = np.asarray(hashes).tobytes()
        if not self.seen:
            self.seen.append(mark)
        if mark != self.seen[0]:
            raise TableError(
                "the rows are not those that were tallied before",
                why="they are read or computed anew for a question, or once a worker is lost, and came out as others",
                fix="write them to a file, and give that: frame.to_parquet",
            )


Encoded = tuple[tuple[Block, ...], Census, Partial]
"""A piece's rows, what became of them, and by what they are known again."""
Tallied = tuple[Partial, Partial]
"""A tally, and by what all rows that were looked at for it are known again."""


Piece = TypeVar("Piece")
Facts = ParamSpec("Facts")
Result = TypeVar("Result")


def quietly(
    work: Callable[Concatenate[Piece, Facts], Result],
) -> Callable[Concatenate[Piece | None, Facts], Result | None]:
    """Work on a piece that gives None where something goes wrong, or went wrong with the piece before.

    An exception stays here: engines send it, and the rows in its frames, to logs and screens.
    """

    def worked(piece: Piece | None, /, *args: Facts.args, **kwargs: Facts.kwargs) -> Result | None:
        try:
            return None if piece is None else work(piece, *args, **kwargs)
        except Exception:  # noqa: BLE001 - see above
            return None

    update_wrapper(worked, work)
    return worked


@quietly
def encode_piece(piece: Any, facts: tuple[Any, Schema]) -> Encoded:
    """A piece as codes."""
    blocks, schema = facts
    census = Census()
    with unshown():  # on a worker, whose errors go to its own log
        encoded = tuple(blocks(piece, schema, census))
    return encoded, census, tally_blocks(iter(encoded), schema, RowHashes(fine=True), ())


@quietly
def put_by_person(encoded: Encoded, count: int) -> list[list[Block]]:
    """A piece's rows in so many parts, those of a person in one."""
    blocks = [by_person(block, count) for block in encoded[0]]
    return [[parts[part] for parts in blocks] for part in range(count)]


@quietly
def taken(parts: list[list[Block]], part: int) -> list[Block]:
    """One of a piece's parts."""
    return parts[part]


@quietly
def hold(pieces: list[list[Block] | None], schema: Schema, key: bytes) -> Encoded | None:
    """The rows that are held of all persons in one part."""
    if any(piece is None for piece in pieces):
        return None
    blocks = [block for piece in pieces if piece is not None for block in piece]
    held = bounded(joined_blocks(blocks, schema), schema, key)
    return (held,), Census(), tally_blocks(iter((held,)), schema, RowHashes(fine=True), ())


@quietly
def tally_piece(encoded: Encoded, question: tuple[Schema, Kernel, Where]) -> Tallied:
    """A piece's tally."""
    return tally_blocks(iter(encoded[0]), *question), encoded[2]


@quietly
def fold_piece(encoded: Encoded, question: Fold) -> Fold:
    """What a fold holds of a piece."""
    return fold_blocks(encoded[0], question)


def merge_folds(parts: list[Fold | None]) -> Fold | None:
    """What a fold holds of several pieces."""
    whole = [part for part in parts if part is not None]
    return None if len(whole) < len(parts) else added_up(whole, type(whole[0]).merged)


@quietly
def count_piece(encoded: Encoded, question: object) -> Census:  # noqa: ARG001 - asked as tallies are
    """The census of a piece."""
    return encoded[1]


def count_all(parts: list[Census | None]) -> Census | None:
    """The census of several pieces."""
    total = Census()
    for part in parts:
        if part is None:
            return None
        total.add(part)
    return total


def merge_all(parts: list[Tallied | None]) -> Tallied | None:
    """The tally of several pieces."""
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None
    return merge(tally for tally, _ in whole), merge(hashes for _, hashes in whole)


# Of engines that hand on Arrow batches: a row for each piece, with what became of it

Batches = Iterator[pa.RecordBatch]
PART = "part"


def _row(**cells: Any) -> pa.RecordBatch:
    kinds = {"codes": pa.binary(), PART: pa.int32()}
    return pa.record_batch({name: pa.array([cell], kinds[name]) for name, cell in cells.items()})


def _packed(thing: object) -> bytes:
    return pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)


def unpacked(code: bytes | bytearray) -> Any:
    """What one of our workers found."""
    return pickle.loads(bytes(code))  # noqa: S301 - see above


def _pieces(batches: Batches) -> Iterator[Any]:
    for batch in batches:
        for cell in batch.column("codes"):
            yield unpacked(cell.as_py())


def _blocks(batches: Batches, schema: Schema, names: tuple[str, ...], census: Census | None) -> Iterator[Block]:
    for batch in batches:
        yield encode_block(dict(zip(names, batch.columns, strict=True)), schema, batch.num_rows, census)


def encoded_batches(schema: Schema, names: tuple[str, ...], batches: Batches) -> Batches:
    """The rows, as codes."""
    blocks = lambda piece, schema, census: _blocks(piece, schema, names, census)  # noqa: E731 - of these columns
    yield _row(codes=_packed(encode_piece(batches, (blocks, schema))))


def asked_of_batches(ask: Callable[..., Any], question: object, batches: Batches) -> Batches:
    """What a function finds in each piece."""
    for piece in _pieces(batches):
        yield _row(codes=_packed(ask(piece, question)))


def put_batches(count: int, batches: Batches) -> Batches:
    """Each piece in so many parts, those of a person in one."""
    for piece in _pieces(batches):
        parts = put_by_person(piece, count)
        for part in range(count):
            yield _row(part=part, codes=_packed(None if parts is None else parts[part]))


def held_batches(schema: Schema, key: bytes, batches: Batches) -> Batches:
    """The rows that are held, of parts that came to one place, which are whole persons'."""
    pieces = list(_pieces(batches))
    if pieces:
        yield _row(codes=_packed(hold(pieces, schema, key)))


@frozen(eq=False, repr=False)
class BatchesSource(PiecesSource):
    """Rows in pieces of an engine that maps functions over Arrow batches; what `encode_piece` makes of each is kept."""

    engine: ClassVar[str]
    codes: Any = None
    """What the engine holds them in: a row for each piece."""

    @abstractmethod
    def mapped(self, work: Callable[[Batches], Batches]) -> Iterable[bytes | bytearray]:
        """What a function gives for each piece."""

    def asked(self, ask: Callable[..., Any], question: object, add: Callable[..., Any], what: str) -> Any:
        try:
            answers = [unpacked(code) for code in self.mapped(partial(asked_of_batches, ask, question))]
            added = add(answers) if answers else None
            failed = bool(answers) and added is None
        except Exception:  # noqa: BLE001 - raised where the rows come from: it may quote them
            failed = True
        if failed:
            raise self.failed(what)
        return added

    def failed(self, what: str) -> TableError:
        """What is said where a worker could not do something."""
        return TableError(
            f"a worker could not {what}",
            why="the reason could quote private rows",
            fix=f"see that {self.engine} runs, that every worker can read the rows, and has this version of Jostle",
        )


# Spark and Ray: each part is encoded where it is, and its codes are kept there

CODES, CODED = "codes binary", "part int, codes binary"


def is_spark(frame: object) -> bool:
    """Whether *frame* is one of Spark's, without importing Spark."""
    return type(frame).__module__.partition(".")[0] == "pyspark" and hasattr(frame, "mapInArrow")


@frozen(eq=False, repr=False)
class SparkSource(BatchesSource):
    """Rows in partitions."""

    engine = "Spark"

    def bounded(self, key: bytes) -> SparkSource:
        """The rows that are held of each person: first they are put together by person."""
        count = max(1, self.codes.rdd.getNumPartitions())
        put = self.codes.mapInArrow(partial(put_batches, count), CODED).repartition(count, PART)
        return evolve(self, codes=put.mapInArrow(partial(held_batches, self.schema, key), CODES).persist(), seen=[])

    def mapped(self, work: Callable[[Batches], Batches]) -> Iterable[bytearray]:
        return [row[0] for row in self.codes.mapInArrow(work, CODES).collect()]


def spark_source(frame: Any, schema: Schema) -> SparkSource:
    """The rows of a frame of Spark's, encoded when they are first asked for, and kept as codes by its workers."""
    check_columns(tuple(frame.columns), schema.sources, "the frame")
    names = counted_columns(schema, frame.columns)
    chosen = frame.select([f"`{name.replace('`', '``')}`" for name in names])
    codes = chosen.mapInArrow(partial(encoded_batches, schema, names), CODES).persist()
    return SparkSource(schema, f"{frame.semanticHash()}".encode(), codes=codes)


MOST_PLACES = 64
"""Rows of persons are put together at no more places."""


def is_ray(frame: object) -> bool:
    """Whether *frame* is one of Ray's datasets, without importing Ray."""
    return type(frame).__module__.startswith("ray.data.") and hasattr(frame, "map_batches")


@frozen(eq=False, repr=False)
class RaySource(BatchesSource):
    """Rows in blocks."""

    engine = "Ray"
    kept: list[Any] = field(factory=list)
    """The same once it was asked: it is computed once, and stays in the cluster's memory."""

    def bounded(self, key: bytes) -> RaySource:
        """The rows that are held of each person: first they are put together by person."""
        whole = self._there()
        count = max(1, min(MOST_PLACES, whole.num_blocks()))
        put = _mapped(whole, partial(put_batches, count)).groupby(PART, num_partitions=count)
        held = put.map_groups(partial(_table, partial(held_batches, self.schema, key)), batch_format="pyarrow")
        return evolve(self, codes=held, kept=[], seen=[])

    def mapped(self, work: Callable[[Batches], Batches]) -> Iterable[bytes]:
        return [row["codes"] for row in _mapped(self._there(), work).take_all()]

    def _there(self) -> Any:
        if not self.kept:
            try:
                there = self.codes.materialize()
            except Exception:  # noqa: BLE001 - raised where the rows come from: it may quote them
                there = None
            if there is None:
                raise self.failed("read its part")
            self.kept.append(there)
        return self.kept[0]


def ray_source(dataset: Any, schema: Schema) -> RaySource:
    """The rows of a dataset of Ray's, encoded when they are first asked for, and kept as codes by its workers."""
    with guarded("the dataset could not be computed"):
        columns = tuple(dataset.columns() or ())
    check_columns(columns, schema.sources, "the dataset")
    names = counted_columns(schema, columns)
    chosen = dataset.select_columns(list(names))
    files = "\n".join(sorted(dataset.input_files())) or dataset.get_dataset_id()
    identity = hashlib.blake2b(files.encode(), digest_size=16).digest()
    return RaySource(schema, identity, codes=_mapped(chosen, partial(encoded_batches, schema, names)))


def _mapped(dataset: Any, work: Callable[[Batches], Batches]) -> Any:
    return dataset.map_batches(partial(_table, work), batch_format="pyarrow", batch_size=None)


def _table(work: Callable[[Batches], Batches], rows: pa.Table) -> pa.Table:
    """Runs on a worker."""
    return pa.Table.from_batches(list(work(iter(rows.to_batches()))))
