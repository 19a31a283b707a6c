"""Rows on a Spark cluster: each partition is encoded where it is, by `mapInArrow`, and its codes are kept there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from attrs import evolve, frozen

from jostle.tables.encode import counted_columns
from jostle.tables.frames import check_columns
from jostle.tables.pieces import PART, Batches, BatchesSource, encoded_batches, held_batches, put_batches
from jostle.tables.schema import Schema

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
