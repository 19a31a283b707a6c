"""Rows on a Ray cluster: each block of a dataset is encoded where it is, by `map_batches`, and its codes are kept."""

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
        whole = self._there("read its part")
        count = max(1, min(MOST_PLACES, whole.num_blocks()))
        put = _mapped(whole, partial(put_batches, count)).groupby(PART, num_partitions=count)
        held = put.map_groups(partial(_table, partial(held_batches, self.schema, key)), batch_format="pyarrow")
        return evolve(self, codes=held, kept=[], seen=[])

    def mapped(self, work: Callable[[Batches], Batches]) -> Iterable[bytes]:
        return [row["codes"] for row in _mapped(self._there("read its part"), work).take_all()]

    def _there(self, what: str) -> Any:
        if not self.kept:
            try:
                there = self.codes.materialize()
            except Exception:  # noqa: BLE001 - raised where the rows come from: it may quote them
                there = None
            if there is None:
                raise self.failed(what)
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
