"""Rows on a Dask cluster: each piece is tallied where it is, and the partial tallies are added up in a tree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from jostle.errors import TableError
from jostle.files.content import FileState, state_of
from jostle.progress import Stage, stage
from jostle.tables.block import Block
from jostle.tables.encode import Census, counted_columns
from jostle.tables.frames import check_columns, frame_reader
from jostle.tables.pieces import PiecesSource, encode_piece, hold, no_blocks, put_by_person, taken
from jostle.tables.readers import RowFile, is_parquet, open_file, row_groups
from jostle.tables.schema import Schema
from jostle.tables.sources import MOST_PARTS, ReadSource

MERGED_AT_ONCE = 8
"""Partial tallies that one task of the reduction adds up."""
PIECE_ROWS = 1 << 19
"""Row groups of a file are put together up to about so many rows."""

PATIENCE = "10s"
"""How long to wait for a scheduler."""

WORKERS_PATIENCE = 60
"""Seconds to wait for a worker where there is none: some clusters start them when they are wanted."""
LOOK = 1
"""Seconds after which it is looked how far workers are, and whether there are any still."""

WAY_OUT = "see that every worker can read the rows"
"""What to do about any failure on a worker."""

_clients: dict[str, Any] = {}


def is_dask(frame: object) -> bool:
    """Whether *frame* is a Dask dataframe, without importing Dask."""
    return type(frame).__module__.partition(".")[0] in {"dask", "dask_expr"} and hasattr(frame, "to_delayed")


@frozen(eq=False, repr=False)
class DaskSource(PiecesSource):
    """Rows in pieces, and where to compute."""

    pieces: tuple[Any, ...] = ()
    """What *blocks* makes rows of: delayed frames, or row groups of a file."""
    blocks: Callable[[Any, Schema, Census | None], Iterator[Block]] = no_blocks
    """Runs on a worker."""
    client: Any = field(default=None)
    kept: list[list[Any]] = field(factory=list)
    """Once a cluster was asked, what holds its encoded pieces: they are encoded once, and stay on the workers."""
    key: bytes | None = None
    """Of an account that the rows are bounded by, where they are: they are put together by person first."""
    whole: list[list[Any]] = field(factory=list)
    """Then what *kept* is of all rows."""

    def bounded(self, key: bytes) -> DaskSource:
        return evolve(self, key=key, kept=[], seen=[], whole=self.kept)

    def ready(self) -> None:
        """Refuse a cluster without workers, after some patience: what is asked of it would wait for them for ever."""
        client = self.client or _current_client()
        if client is not None and _answers(client):
            _check_workers(client)

    def asked(self, ask: Callable[..., Any], question: object, add: Callable[..., Any], what: str) -> Any:
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
        from dask.callbacks import Callback  # noqa: PLC0415 - as above

        encode, find, sum_up = (delayed(each, pure=False) for each in (encode_piece, ask, add))
        facts = delayed((self.blocks, self.schema), pure=False, traverse=False)
        asked = delayed(question, pure=False, traverse=False)
        encoded = self._held([encode(piece, facts) for piece in self.pieces], partial(delayed, pure=False))
        with stage("asking Dask") as said, Callback(posttask=partial(_told, said)):  # type: ignore[no-untyped-call]
            return _added([find(piece, asked) for piece in encoded], sum_up).compute()

    def _held(self, encoded: list[Any], lazy: Callable[[Callable[..., Any]], Callable[..., Any]]) -> list[Any]:
        """The encoded pieces, or where rows are bounded, what is held of them: first they are put by person."""
        if self.key is None:
            return encoded
        count = min(len(encoded), MOST_PARTS)
        put, take, held = lazy(put_by_person), lazy(taken), lazy(hold)
        split = [put(piece, count) for piece in encoded]
        facts = (self.schema, self.key)
        return [held([take(pieces, part) for pieces in split], *facts) for part in range(count)]

    def _asked_there(self, client: Any, ask: Callable[..., Any], question: object, add: Callable[..., Any]) -> Any:
        """Ask the workers of a cluster, who keep what they encoded."""
        if not self.kept and self.key is None:
            self.kept.append(_encoded_there(client, self.pieces, self.blocks, self.schema))
        elif not self.kept:
            if not self.whole:
                self.whole.append(_encoded_there(client, self.pieces, self.blocks, self.schema))
            self.kept.append(self._held(self.whole[0], lambda work: partial(client.submit, work, pure=False)))
        found = client.map(ask, self.kept[0], question=question, pure=False)
        return _result(client, found, _added(found, lambda some: client.submit(add, some, pure=False)))


def _encoded_there(client: Any, pieces: Iterable[Any], blocks: Callable[..., Iterator[Block]], schema: Schema) -> Any:
    """What will hold the encoded pieces, on the workers of a cluster; nobody waits for them."""
    from dask import delayed  # type: ignore[attr-defined]  # noqa: PLC0415 - an extra, and not explicitly exported

    encode, facts = delayed(encode_piece, pure=False), delayed((blocks, schema), traverse=False)
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


def _result(client: Any, pieces: list[Any], future: Any) -> Any:
    """What workers find, as long as there are any."""
    with stage("asking Dask's workers") as said:
        while True:
            said.at(sum(piece.done() for piece in pieces), len(pieces))
            try:
                return future.result(timeout=LOOK)
            except TimeoutError:
                if future.done():
                    raise
                _check_workers(client)


def _told(said: Stage, _key: object, _found: object, _graph: object, state: Any, _thread: object) -> None:
    """Say how many of the tasks that Dask knows of are done."""
    done = len(state["finished"])
    said.at(done, done + sum(len(state[each]) for each in ("running", "ready", "waiting")))


def dask_source(frame: Any, schema: Schema) -> DaskSource:
    """The rows of a Dask dataframe, to be tallied wherever Dask computes at the time."""
    from dask.base import tokenize  # noqa: PLC0415 - an extra

    check_columns(tuple(frame.columns), schema.sources, "the frame")
    pieces = tuple(frame[list(counted_columns(schema, frame.columns))].to_delayed())
    return DaskSource(schema, tokenize(frame).encode(), pieces=pieces, blocks=_frame_blocks)


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
    return DaskSource(schema, source.identity, pieces=tuple(pieces), blocks=blocks, client=client, kept=kept)


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
