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
from jostle.tables.frames import check_columns
from jostle.tables.pieces import (
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
        import ray  # noqa: PLC0415 - an extra
        from ray.data import from_arrow_refs  # noqa: PLC0415 - the same

        pieces = self._there("read its part").to_arrow_refs()
        count = max(1, min(MOST_PLACES, len(pieces)))
        put: Any = ray.remote(num_returns=count)(_put)
        hold: Any = ray.remote(_held)
        parts = [put.remote(piece, count) for piece in pieces]
        held = [
            hold.remote(self.schema, key, *(part[place] if count > 1 else part for part in parts))
            for place in range(count)
        ]
        return evolve(self, codes=from_arrow_refs(held) if pieces else self.codes, kept=[], seen=[])

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
    columns = tuple(dataset.columns() or ())
    check_columns(columns, schema.sources, "the dataset")
    names = counted_columns(schema, columns)
    chosen = dataset.select_columns(list(names))
    files = "\n".join(sorted(dataset.input_files())) or dataset.get_dataset_id()
    identity = hashlib.blake2b(files.encode(), digest_size=16).digest()
    return RaySource(schema, identity, codes=_mapped(chosen, partial(encoded_batches, schema, names)))


def _mapped(dataset: Any, work: Work) -> Any:
    return dataset.map_batches(partial(_table, work), batch_format="pyarrow", batch_size=None)


# What runs on workers


def _table(work: Work, rows: pa.Table) -> pa.Table:
    return pa.Table.from_batches(list(work(iter(rows.to_batches()))))


def _put(piece: pa.Table, count: int) -> Any:
    """A block's rows in so many tables, those of a person in one."""
    rows = list(put_batches(count, iter(piece.to_batches())))
    parts = [pa.Table.from_batches(rows[place::count]) for place in range(count)]
    return parts if count > 1 else parts[0]


def _held(schema: Schema, key: bytes, *parts: pa.Table) -> pa.Table:
    return _table(partial(held_batches, schema, key), pa.concat_tables(parts))
