"""Rows on a cluster of Spark's or Ray's: each part is encoded where it is, and its codes are kept there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen

from jostle.tables.encode import counted_columns
from jostle.tables.frames import check_columns, guarded
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
