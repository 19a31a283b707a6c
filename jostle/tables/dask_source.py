"""Rows on a Dask cluster: each piece is tallied where it is, and the partial tallies are added up in a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import field, frozen

from jostle.errors import TableError
from jostle.tables.block import Block, Where
from jostle.tables.census import Census
from jostle.tables.engines import Partial, merge, tally_blocks
from jostle.tables.frames import check_columns, encode_frame
from jostle.tables.kernels import DenseKernel, SparseKernel
from jostle.tables.readers import FileSource, is_parquet, open_file, row_groups
from jostle.tables.schema import Schema

__all__ = ["DaskSource", "connect", "dask_source", "is_dask"]

MERGED_AT_ONCE = 8
"""Partial tallies that one task of the reduction adds up."""
PIECE_ROWS = 1 << 20
"""Row groups of a file are put together up to about so many rows."""

PATIENCE = "10s"
"""How long to wait for a scheduler."""

_clients: dict[str, Any] = {}


def is_dask(frame: object) -> bool:
    """Return whether *frame* is a Dask dataframe, without importing Dask."""
    return type(frame).__module__.partition(".")[0] in {"dask", "dask_expr"} and hasattr(frame, "to_delayed")


@frozen(eq=False, repr=False)
class DaskSource:
    """Rows in pieces, and where to compute."""

    schema: Schema
    pieces: tuple[Any, ...]
    """What *blocks* makes rows of: delayed frames, or row groups of a file."""
    blocks: Callable[[Any, Schema, Census | None], Iterator[Block]]
    """Runs on a worker."""
    identity: bytes
    client: Any = field(default=None)

    def tally(self, kernel: DenseKernel | SparseKernel, where: Where) -> Partial:
        """Return what the kernel finds in all rows that meet the conditions."""
        from dask import delayed  # type: ignore[attr-defined]  # noqa: PLC0415 - an extra, and not explicitly exported

        kernel.cells(self.schema)  # refuses what does not fit before any work is sent out
        nothing = tally_blocks(iter(()), self.schema, kernel, where)
        question = delayed((self.blocks, self.schema, kernel, where), pure=False, traverse=False)
        ask, add = delayed(_tally_piece, pure=False), delayed(_merge_all, pure=False)
        tasks = [ask(piece, question) for piece in self.pieces]
        while len(tasks) > 1:
            tasks = [add(tasks[i : i + MERGED_AT_ONCE]) for i in range(0, len(tasks), MERGED_AT_ONCE)]
        return merge([nothing, self._computed(tasks[0])]) if tasks else nothing

    def census(self) -> Census:
        """Return what becomes of the rows."""
        from dask import delayed  # type: ignore[attr-defined]  # noqa: PLC0415 - as above

        question = delayed((self.blocks, self.schema), pure=False, traverse=False)
        count, together = delayed(_count_piece, pure=False), delayed(_count_all, pure=False)
        found: Census = self._computed(together([count(piece, question) for piece in self.pieces]))
        return found

    def _computed(self, task: Any) -> Any:
        try:
            found = task.compute() if self.client is None else self.client.compute(task).result()
        except Exception:  # noqa: BLE001 - raised where the rows come from: it may quote them
            found = None
        if found is None:
            raise TableError("a worker could not tally its part", why="the reason could quote private rows")
        return found


def dask_source(frame: Any, schema: Schema) -> DaskSource:
    """Return the rows of a Dask dataframe, to be tallied wherever Dask computes at the time."""
    from dask.base import tokenize  # noqa: PLC0415 - an extra

    check_columns(tuple(frame.columns), schema.sources, "the frame")
    encode_frame(frame._meta, schema)  # noqa: SLF001 - the columns' types, without rows, to be refused here if at all
    pieces = tuple(frame[list(schema.sources)].to_delayed())
    return DaskSource(schema, pieces, _frame_blocks, tokenize(frame).encode())


def connect(address: str, path: Path, schema: Schema) -> DaskSource:
    """Return a file's rows, to be read and tallied on the cluster at *address* (dask://HOST:PORT).

    The workers find the file under the same path.
    """
    whole = path.resolve()
    source = open_file(whole, schema)
    if not is_parquet(path):
        raise TableError(f"{path.name} is not Parquet", why="only Parquet is read in pieces by a cluster")
    pieces: list[tuple[Path, tuple[int, ...]]] = []
    rows = 0
    for group, length in enumerate(row_groups(path)):
        if not pieces or rows + length > PIECE_ROWS:
            pieces.append((whole, ()))
            rows = 0
        rows += length
        pieces[-1] = (whole, (*pieces[-1][1], group))
    return DaskSource(schema, tuple(pieces), _file_blocks, source.identity, _client(address))


def _client(address: str) -> Any:
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError:
        raise TableError("Dask is not installed", fix='pip install "jostle[dask]"') from None
    known = _clients.get(address)
    if known is None or known.status != "running":
        try:
            known = Client(  # type: ignore[no-untyped-call]  # Dask has no types
                address.replace("dask://", "tcp://", 1), set_as_default=False, timeout=PATIENCE
            )
        except (OSError, ValueError):
            raise TableError(f"no Dask scheduler answers at {address}", fix="dask scheduler --port 8786") from None
        _clients[address] = known
    return known


def _frame_blocks(frame: Any, schema: Schema, census: Census | None = None) -> Iterator[Block]:
    yield encode_frame(frame, schema, census)


def _file_blocks(piece: tuple[Path, tuple[int, ...]], schema: Schema, census: Census | None = None) -> Iterator[Block]:
    path, groups = piece
    return FileSource(path, schema).blocks(groups, census)


def _tally_piece(piece: Any, question: tuple[Any, Schema, DenseKernel | SparseKernel, Where]) -> Partial | None:
    # Whatever goes wrong stays here: Dask would send the exception, and the rows in its frames, to logs and screens.
    try:
        blocks, schema, kernel, where = question
        return tally_blocks(blocks(piece, schema, None), schema, kernel, where)
    except Exception:  # noqa: BLE001 - see above
        return None


def _count_piece(piece: Any, question: tuple[Any, Schema]) -> Census | None:
    try:
        blocks, schema = question
        found = Census()
        for _ in blocks(piece, schema, found):
            pass
    except Exception:  # noqa: BLE001 - as in _tally_piece
        return None
    return found


def _count_all(found: list[Census | None]) -> Census | None:
    total = Census()
    for each in found:
        if each is None:
            return None
        total.add(each)
    return total


def _merge_all(partials: list[Partial | None]) -> Partial | None:
    whole = [partial for partial in partials if partial is not None]
    return merge(whole) if len(whole) == len(partials) else None
