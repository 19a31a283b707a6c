"""Rows on a Spark cluster: each partition is encoded where it is, by `mapInArrow`, and its codes are kept there."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen

from jostle.errors import TableError
from jostle.tables.block import Block
from jostle.tables.encode import Census, counted_columns, encode_block
from jostle.tables.frames import check_columns
from jostle.tables.pieces import PiecesSource, encode_piece, hold, put_by_person
from jostle.tables.schema import Schema

CODES = "codes binary"
PART, CODED = "part", "part int, codes binary"
Batches = Iterator[pa.RecordBatch]


def is_spark(frame: object) -> bool:
    """Whether *frame* is one of Spark's, without importing Spark."""
    return type(frame).__module__.partition(".")[0] == "pyspark" and hasattr(frame, "mapInArrow")


@frozen(eq=False, repr=False)
class SparkSource(PiecesSource):
    """Rows in partitions."""

    codes: Any = None
    """A frame of Spark's, with a row for each partition: what `encode_piece` makes of it."""

    def ready(self) -> None:
        """Spark says when it is asked."""

    def bounded(self, key: bytes) -> SparkSource:
        """The rows that are held of each person: first they are put together by person."""
        count = max(1, self.codes.rdd.getNumPartitions())
        put = self.codes.mapInArrow(partial(_put, count), CODED).repartition(count, PART)
        return evolve(self, codes=put.mapInArrow(partial(_held, self.schema, key), CODES).persist(), seen=[])

    def asked(self, ask: Callable[..., Any], question: object, add: Callable[..., Any], what: str) -> Any:
        """What workers find in all partitions, added up; None if there are none."""
        try:
            rows = self.codes.mapInArrow(partial(_asked, ask, question), CODES).collect()
        except Exception:  # noqa: BLE001 - raised where the rows come from: it may quote them
            rows = None
        parts = [pickle.loads(bytes(row[0])) for row in rows or ()]  # noqa: S301 - of our own workers
        found = add(parts) if parts else None
        if rows is None or (parts and found is None):
            raise TableError(
                f"a worker could not {what}",
                why="the reason could quote private rows",
                fix="see that Spark runs, that every worker can read the rows, and has this version of Jostle",
            )
        return found


def spark_source(frame: Any, schema: Schema) -> SparkSource:
    """The rows of a frame of Spark's, encoded when they are first asked for, and kept as codes by its workers."""
    check_columns(tuple(frame.columns), schema.sources, "the frame")
    names = counted_columns(schema, frame.columns)
    chosen = frame.select([f"`{name.replace('`', '``')}`" for name in names])
    codes = chosen.mapInArrow(partial(_encoded, schema, names), CODES).persist()
    return SparkSource(schema, f"{frame.semanticHash()}".encode(), codes=codes)


# What runs on workers


def _row(**cells: Any) -> pa.RecordBatch:
    kinds = {"codes": pa.binary(), PART: pa.int32()}
    return pa.record_batch({name: pa.array([cell], kinds[name]) for name, cell in cells.items()})


def _packed(thing: object) -> bytes:
    return pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)


def _pieces(batches: Batches) -> Iterator[Any]:
    for batch in batches:
        for cell in batch.column("codes"):
            yield pickle.loads(cell.as_py())  # noqa: S301 - written here


def _blocks(batches: Batches, schema: Schema, names: tuple[str, ...], census: Census | None) -> Iterator[Block]:
    for batch in batches:
        yield encode_block(dict(zip(names, batch.columns, strict=True)), schema, batch.num_rows, census)


def _encoded(schema: Schema, names: tuple[str, ...], batches: Batches) -> Batches:
    blocks = lambda piece, schema, census: _blocks(piece, schema, names, census)  # noqa: E731 - of these columns
    yield _row(codes=_packed(encode_piece(batches, (blocks, schema))))


def _asked(ask: Callable[..., Any], question: object, batches: Batches) -> Batches:
    for piece in _pieces(batches):
        yield _row(codes=_packed(ask(piece, question)))


def _put(count: int, batches: Batches) -> Batches:
    for piece in _pieces(batches):
        parts = put_by_person(piece, count)
        for part in range(count):
            yield _row(part=part, codes=_packed(None if parts is None else parts[part]))


def _held(schema: Schema, key: bytes, batches: Batches) -> Batches:
    """All parts that came to one place, which are whole persons'."""
    pieces = list(_pieces(batches))
    if pieces:
        yield _row(codes=_packed(hold(pieces, schema, key)))
