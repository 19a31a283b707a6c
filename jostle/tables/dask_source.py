"""Rows on a Dask cluster: each partition is tallied where it is, and the partial tallies are added up in a tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import field, frozen

from jostle.errors import TableError
from jostle.tables.block import Where
from jostle.tables.engines import Partial, merge, tally_blocks
from jostle.tables.kernels import DenseKernel, SparseCounts
from jostle.tables.readers import check_columns, encode_frame, open_file
from jostle.tables.schema import Schema

__all__ = ["DaskSource", "connect", "dask_source", "is_dask"]

MERGED_AT_ONCE = 8
"""Partial tallies that one task of the reduction adds up."""


def is_dask(frame: object) -> bool:
    """Return whether *frame* is a Dask dataframe, without importing Dask."""
    return type(frame).__module__.partition(".")[0] in {"dask", "dask_expr"} and hasattr(frame, "map_partitions")


@frozen(eq=False, repr=False)
class DaskSource:
    """The partitions of a Dask dataframe, each a delayed frame, and where to compute."""

    schema: Schema
    partitions: tuple[Any, ...]
    identity: bytes
    client: Any = field(default=None)

    def tally(self, kernel: DenseKernel | SparseCounts, where: Where) -> Partial:
        """Return what the kernel finds in all rows that meet the conditions."""
        import dask  # noqa: PLC0415 - an extra

        kernel.cells(self.schema)  # refuses what does not fit before any work is sent out
        run = dask.delayed(_tally_partition, pure=False)
        add = dask.delayed(_merge_all, pure=False)
        tasks = [run(partition, self.schema, kernel, where) for partition in self.partitions]
        while len(tasks) > 1:
            tasks = [add(tasks[i : i + MERGED_AT_ONCE]) for i in range(0, len(tasks), MERGED_AT_ONCE)]
        result = self.client.compute(tasks[0]).result() if self.client is not None else tasks[0].compute()
        if result is None:
            raise TableError("a worker could not tally its partition", why="the reason could quote private rows")
        total: Partial = result
        return total


def dask_source(frame: Any, schema: Schema) -> DaskSource:
    """Return the rows of a Dask dataframe."""
    check_columns(tuple(map(str, frame.columns)), schema, "the frame")
    return _source(frame, schema, _current_client())


def connect(address: str, path: Path, schema: Schema) -> DaskSource:
    """Return a file's rows, to be read and tallied on the cluster at *address* (dask://HOST:PORT)."""
    distributed = _distributed()
    open_file(path, schema)
    import dask.dataframe as dask_frame  # noqa: PLC0415 - an extra

    try:
        client = distributed.Client(address.replace("dask://", "tcp://", 1), set_as_default=False, timeout="10s")
    except OSError:
        raise TableError(f"no Dask scheduler answers at {address}", fix="dask scheduler --port 8786") from None
    if path.name.lower().endswith((".parquet", ".pq")):
        frame = dask_frame.read_parquet(path, columns=list(schema.names), split_row_groups=True)
        return _source(frame, schema, client)
    raise TableError(f"{path.name} is not Parquet", why="only Parquet is read in pieces by a cluster")


def _source(frame: Any, schema: Schema, client: Any) -> DaskSource:
    from dask.base import tokenize  # noqa: PLC0415 - an extra

    partitions = tuple(frame[list(schema.names)].to_delayed())
    return DaskSource(schema, partitions, tokenize(frame).encode(), client)


def _distributed() -> Any:
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError:
        raise TableError("Dask is not installed", fix='pip install "jostle[dask]"') from None
    return distributed


def _current_client() -> Any:
    try:
        return _distributed().default_client()
    except (TableError, ValueError):
        return None


def _tally_partition(frame: Any, schema: Schema, kernel: DenseKernel | SparseCounts, where: Where) -> Partial | None:
    # Whatever goes wrong stays here: Dask would send the exception, and the rows in its frames, to logs and screens.
    try:
        block = encode_frame(frame, schema)
        return tally_blocks(iter([block]), schema, kernel, where)
    except Exception:  # noqa: BLE001 - see above
        return None


def _merge_all(partials: list[Partial | None]) -> Partial | None:
    whole = [partial for partial in partials if partial is not None]
    return merge(whole) if len(whole) == len(partials) else None
