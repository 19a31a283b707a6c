"""Rows on a Dask cluster: each piece is tallied where it is, and the partial tallies are added up in a tree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from jostle.errors import TableError
from jostle.files.content import FileState, state_of
from jostle.progress import unshown
from jostle.tables.block import Block, Where
from jostle.tables.encode import Census, counted_columns
from jostle.tables.engines import Fold, Folded, Partial, added_up, fold_blocks, merge, tally_blocks
from jostle.tables.frames import check_columns, frame_reader
from jostle.tables.hashes import RowHashes
from jostle.tables.kernels import DenseKernel, SparseKernel
from jostle.tables.persons import bounded
from jostle.tables.readers import RowFile, is_parquet, open_file, row_groups
from jostle.tables.schema import Schema
from jostle.tables.sources import MOST_PARTS, ReadSource, by_person, joined_blocks

MERGED_AT_ONCE = 8
"""Partial tallies that one task of the reduction adds up."""
PIECE_ROWS = 1 << 19
"""Row groups of a file are put together up to about so many rows."""

PATIENCE = "10s"
"""How long to wait for a scheduler."""

WORKERS_PATIENCE = 60
"""Seconds to wait for a worker where there is none: some clusters start them when they are wanted."""
LOOK = 10
"""Seconds after which it is looked whether there are workers still."""

WAY_OUT = "see that every worker can read the rows"
"""What to do about any failure on a worker."""

_clients: dict[str, Any] = {}


def is_dask(frame: object) -> bool:
    """Whether *frame* is a Dask dataframe, without importing Dask."""
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

    kept: list[list[Any]] = field(factory=list)
    """Once a cluster was asked, what holds its encoded pieces: they are encoded once, and stay on the workers."""
    seen: list[bytes] = field(factory=list)
    """Once they were tallied, by what all rows together are known again."""
    key: bytes | None = None
    """Of an account that the rows are bounded by, where they are: they are put together by person first."""
    whole: list[list[Any]] = field(factory=list)
    """Then what *kept* is of all rows."""

    def bounded(self, key: bytes) -> DaskSource:
        """The rows that are held of each person."""
        return evolve(self, key=key, kept=[], seen=[], whole=self.kept)

    def fold(self, fold: Folded) -> Folded:
        """What a fold holds of all rows."""
        found: Folded | None = self._asked(_fold_piece, fold, _merge_folds, "read its part")
        return fold if found is None else found

    def tally(self, kernel: DenseKernel | SparseKernel, where: Where) -> Partial:
        """The kernel's tally of all rows that meet the conditions."""
        kernel.cells(self.schema)  # refuses what does not fit before any work is sent out
        nothing = tally_blocks(iter(()), self.schema, kernel, where)
        question = (self.schema, kernel, where)
        found: Tallied | None = self._asked(_tally_piece, question, _merge_all, "tally its part")
        if found is None:
            return nothing
        tally, hashes = found
        self._check_same(hashes)
        return merge([nothing, tally])

    def ready(self) -> None:
        """Refuse a cluster without workers, after some patience: what is asked of it would wait for them for ever."""
        client = self.client or _current_client()
        if client is not None and _answers(client):
            _check_workers(client)

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

    def census(self) -> Census:
        """A census of the rows."""
        found: Census | None = self._asked(_count_piece, (), _count_all, "count what became of its rows")
        return Census() if found is None else found

    def _asked(self, ask: Callable[..., Any], question: object, add: Callable[..., Any], what: str) -> Any:
        """The tallies that workers find in all pieces, added up in a tree; None if there are no pieces."""
        if not self.pieces:
            return None
        client = self.client or _current_client()
        if client is not None and _answers(client):
            _check_workers(client)
        try:
            found = (
                self._asked_here(ask, question, add)
                if client is None
                else self._asked_there(client, ask, question, add)
            )
        except NoWorkersError:
            raise
        except Exception:  # noqa: BLE001 - raised where the rows come from: it may quote them
            found = None
        if found is not None:
            return found
        if client is not None and not _answers(client):
            self.kept.clear()
            self.whole.clear()
            raise TableError(
                "the Dask scheduler does not answer any more",
                why="the rows are read and tallied by its workers",
                fix="start it again, and open the table again; what was charged stays charged",
            )
        raise TableError(f"a worker could not {what}", why="the reason could quote private rows", fix=WAY_OUT)

    def _asked_here(self, ask: Callable[..., Any], question: object, add: Callable[..., Any]) -> Any:
        """Ask wherever Dask computes without a cluster: nothing is kept, as the rows may be more than fit in memory."""
        from dask import delayed  # type: ignore[attr-defined]  # noqa: PLC0415 - an extra, and not explicitly exported

        encode, find, sum_up = (delayed(each, pure=False) for each in (_encode_piece, ask, add))
        facts = delayed((self.blocks, self.schema), pure=False, traverse=False)
        asked = delayed(question, pure=False, traverse=False)
        encoded = self._held([encode(piece, facts) for piece in self.pieces], partial(delayed, pure=False))
        return _added([find(piece, asked) for piece in encoded], sum_up).compute()

    def _held(self, encoded: list[Any], lazy: Callable[[Callable[..., Any]], Callable[..., Any]]) -> list[Any]:
        """The encoded pieces, or where rows are bounded, what is held of them: first they are put by person."""
        if self.key is None:
            return encoded
        count = min(len(encoded), MOST_PARTS)
        put, take, hold = lazy(_put_by_person), lazy(_taken), lazy(_hold)
        split = [put(piece, count) for piece in encoded]
        facts = (self.schema, self.key)
        return [hold([take(pieces, part) for pieces in split], *facts) for part in range(count)]

    def _asked_there(self, client: Any, ask: Callable[..., Any], question: object, add: Callable[..., Any]) -> Any:
        """Ask the workers of a cluster, who keep what they encoded."""
        if not self.kept and self.key is None:
            self.kept.append(_encoded_there(client, self.pieces, self.blocks, self.schema))
        elif not self.kept:
            if not self.whole:
                self.whole.append(_encoded_there(client, self.pieces, self.blocks, self.schema))
            self.kept.append(self._held(self.whole[0], lambda work: partial(client.submit, work, pure=False)))
        found = client.map(ask, self.kept[0], question=question, pure=False)
        return _result(client, _added(found, lambda some: client.submit(add, some, pure=False)))


def _encoded_there(client: Any, pieces: Iterable[Any], blocks: Callable[..., Iterator[Block]], schema: Schema) -> Any:
    """What will hold the encoded pieces, on the workers of a cluster; nobody waits for them."""
    from dask import delayed  # type: ignore[attr-defined]  # noqa: PLC0415 - an extra, and not explicitly exported

    encode, facts = delayed(_encode_piece, pure=False), delayed((blocks, schema), traverse=False)
    return client.compute([encode(piece, facts) for piece in pieces])


def _added(parts: list[Any], add: Callable[[list[Any]], Any]) -> Any:
    while len(parts) > 1:
        parts = [add(parts[i : i + MERGED_AT_ONCE]) for i in range(0, len(parts), MERGED_AT_ONCE)]
    return parts[0]


def _current_client() -> Any:
    """The cluster that Dask computes on at the time, None if there is none; without importing Dask's."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _answers(client: Any) -> bool:
    return bool(client.status == "running")


class NoWorkersError(TableError):
    """A cluster has nobody who works."""


def _check_workers(client: Any) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKERS_PATIENCE)
    except TimeoutError:
        raise NoWorkersError(
            "the Dask cluster has no workers",
            why=f"rows are read and tallied by them, and none came within {WORKERS_PATIENCE} seconds",
            fix="start one: dask worker HOST:PORT, with the scheduler's address",
        ) from None


def _result(client: Any, future: Any) -> Any:
    """What workers find, as long as there are any."""
    while True:
        try:
            return future.result(timeout=LOOK)
        except TimeoutError:
            if future.done():
                raise
            _check_workers(client)


def dask_source(frame: Any, schema: Schema) -> DaskSource:
    """The rows of a Dask dataframe, to be tallied wherever Dask computes at the time."""
    from dask.base import tokenize  # noqa: PLC0415 - an extra

    check_columns(tuple(frame.columns), schema.sources, "the frame")
    pieces = tuple(frame[list(counted_columns(schema, frame.columns))].to_delayed())
    return DaskSource(schema, pieces, _frame_blocks, tokenize(frame).encode())


def connect(address: str, path: Path, schema: Schema) -> DaskSource:
    """A file's rows, to be read and tallied on the cluster at *address* (dask://HOST:PORT).

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
    client = _client(address)
    blocks = partial(_file_blocks, state_of(whole))
    kept: list[Any] = []
    if pieces:
        # As a table in memory is encoded when it is opened. Workers that are new load what they need meanwhile.
        with suppress(Exception):  # the first question tries again, and says what is wrong
            kept.append(_encoded_there(client, pieces, blocks, schema))
    return DaskSource(schema, tuple(pieces), blocks, source.identity, client, kept)


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
    yield from ReadSource(frame_reader(frame), schema).blocks(census)


def _file_blocks(
    opened: FileState | None, piece: tuple[Path, tuple[int, ...]], schema: Schema, census: Census | None = None
) -> Iterator[Block]:
    path, groups = piece
    return ReadSource(RowFile(path, opened, groups), schema).blocks(census)


Encoded = tuple[tuple[Block, ...], Census, Partial]
"""A piece's rows, what became of them, and by what they are known again."""
Tallied = tuple[Partial, Partial]
"""A tally, and by what all rows that were looked at for it are known again."""


def _encode_piece(piece: Any, facts: tuple[Any, Schema]) -> Encoded | None:
    # Whatever goes wrong stays here: Dask would send the exception, and the rows in its frames, to logs and screens.
    try:
        blocks, schema = facts
        census = Census()
        with unshown():  # on a worker, whose errors go to its own log
            found = tuple(blocks(piece, schema, census))
        return found, census, tally_blocks(iter(found), schema, RowHashes(fine=True), ())
    except Exception:  # noqa: BLE001 - see above
        return None


def _put_by_person(encoded: Encoded | None, count: int) -> list[list[Block]] | None:
    """A piece's rows in so many parts, those of a person in one."""
    if encoded is None:
        return None
    try:
        blocks = [by_person(block, count) for block in encoded[0]]
        return [[parts[part] for parts in blocks] for part in range(count)]
    except Exception:  # noqa: BLE001 - as in _encode_piece
        return None


def _taken(parts: list[list[Block]] | None, part: int) -> list[Block] | None:
    return None if parts is None else parts[part]


def _hold(pieces: list[list[Block] | None], schema: Schema, key: bytes) -> Encoded | None:
    """The rows that are held of all persons in one part."""
    try:
        blocks = [block for piece in pieces if piece is not None for block in piece]
        if any(piece is None for piece in pieces):
            return None
        held = bounded(joined_blocks(blocks, schema), schema, key)
        return (held,), Census(), tally_blocks(iter((held,)), schema, RowHashes(fine=True), ())
    except Exception:  # noqa: BLE001 - as in _encode_piece
        return None


def _tally_piece(encoded: Encoded | None, question: tuple[Schema, DenseKernel | SparseKernel, Where]) -> Tallied | None:
    if encoded is None:
        return None
    try:
        return tally_blocks(iter(encoded[0]), *question), encoded[2]
    except Exception:  # noqa: BLE001 - as in _encode_piece
        return None


def _fold_piece(encoded: Encoded | None, question: Fold) -> Fold | None:
    if encoded is None:
        return None
    try:
        return fold_blocks(encoded[0], question)
    except Exception:  # noqa: BLE001 - as in _encode_piece
        return None


def _merge_folds(parts: list[Fold | None]) -> Fold | None:
    whole = [each for each in parts if each is not None]
    return None if len(whole) < len(parts) else added_up(whole, type(whole[0]).merged)


def _count_piece(encoded: Encoded | None, question: object) -> Census | None:  # noqa: ARG001 - asked as tallies are
    return None if encoded is None else encoded[1]


def _count_all(parts: list[Census | None]) -> Census | None:
    total = Census()
    for each in parts:
        if each is None:
            return None
        total.add(each)
    return total


def _merge_all(parts: list[Tallied | None]) -> Tallied | None:
    whole = [each for each in parts if each is not None]
    if len(whole) < len(parts):
        return None
    return merge(tally for tally, _ in whole), merge(hashes for _, hashes in whole)
