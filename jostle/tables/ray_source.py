"""Rows on a Ray cluster: each block of a dataset is encoded where it is, by `map_batches`, and its codes are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen

from jostle.errors import TableError
from jostle.tables.encode import counted_columns
from jostle.tables.frames import check_columns, guarded
from jostle.tables.pieces import (
    PART,
    PiecesSource,
    asked_of_batches,
    encoded_batches,
    held_batches,
    put_batches,
    unpacked,
)
from jostle.tables.schema import Schema

MOST_PLACES = 64
"""Rows of persons are put together at no more places."""
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def is_ray(frame: object) -> bool:
    """Whether *frame* is one of Ray's datasets, without importing Ray."""
    return type(frame).__module__.startswith("ray.data.") and hasattr(frame, "map_batches")


@frozen(eq=False, repr=False)
class RaySource(PiecesSource):
    """Rows in blocks."""

    codes: Any = None
    """A dataset with a row for each block: what `encode_piece` makes of it."""
    kept: list[Any] = field(factory=list)
    """The same once it was asked: it is computed once, and stays in the cluster's memory."""

    def ready(self) -> None:
        """Ray says when it is asked."""

    def bounded(self, key: bytes) -> RaySource:
        """The rows that are held of each person: first they are put together by person."""
        whole = self._there("read its part")
        count = max(1, min(MOST_PLACES, whole.num_blocks()))
        put = _mapped(whole, partial(put_batches, count)).groupby(PART, num_partitions=count)
        held = put.map_groups(partial(_table, partial(held_batches, self.schema, key)), batch_format="pyarrow")
        return evolve(self, codes=held, kept=[], seen=[])

    def asked(self, ask: Callable[..., Any], question: object, add: Callable[..., Any], what: str) -> Any:
        """What workers find in all blocks, added up; None if there are none."""
        there = self._there(what)
        try:
            rows = _mapped(there, partial(asked_of_batches, ask, question)).take_all()
        except Exception:  # noqa: BLE001 - raised where the rows come from: it may quote them
            rows = None
        parts = [unpacked(row["codes"]) for row in rows or ()]
        found = add(parts) if parts else None
        if rows is None or (parts and found is None):
            raise _failed(what)
        return found

    def _there(self, what: str) -> Any:
        if not self.kept:
            try:
                there = self.codes.materialize()
            except Exception:  # noqa: BLE001 - raised where the rows come from: it may quote them
                there = None
            if there is None:
                raise _failed(what)
            self.kept.append(there)
        return self.kept[0]


def _failed(what: str) -> TableError:
    return TableError(
        f"a worker could not {what}",
        why="the reason could quote private rows",
        fix="see that Ray runs, that every worker can read the rows, and has this version of Jostle",
    )


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


def _mapped(dataset: Any, work: Work) -> Any:
    return dataset.map_batches(partial(_table, work), batch_format="pyarrow", batch_size=None)


def _table(work: Work, rows: pa.Table) -> pa.Table:
    """Runs on a worker."""
    return pa.Table.from_batches(list(work(iter(rows.to_batches()))))
