"""A server of tables in this process, as `jostle serve` runs one, and what tests need around it."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from attrs import frozen

from jostle.owner.client import connect
from jostle.owner.office import Office, Share
from jostle.owner.rooms import Rooms, key_of
from jostle.owner.server import Server, application
from jostle.owner.wire import JSON, MSGPACK
from jostle.privacy.door import Key
from jostle.privacy.opening import rehearse
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tables.table import Table

LIMIT = 60
SCHEMA = """
[columns.region]
kind = "categorical"
values = ["north", "south", "west"]

[columns.age]
kind = "numeric"
low = 0.0
high = 100.0
bins = 10
"""
CSV = "region,age\n" + "".join(f"{('north', 'south', 'west')[row % 3]},{row % 90}\n" for row in range(120))


@frozen(eq=False)
class Served:
    """An office that is served, and who has keys."""

    office: Office
    url: str
    web: Any
    """What is behind HTTP."""

    @property
    def server(self) -> Server:
        """The sessions."""
        server: Server = self.web.server
        return server

    def direct(self, token: str, data: bytes) -> tuple[int, bytes]:
        """Status and reply to the bytes of a question, without HTTP around."""
        reply: tuple[int, bytes] = self.web.done(token, data, MSGPACK, self.server.answer)
        return reply

    def token(self, name: str, epsilon: object = "10", table: str = "visits") -> str:
        """A key of somebody, who has a share if there is an epsilon for it."""
        token, _ = self.office.make_key(name, "analyst")
        if epsilon is not None:
            self.office.give_share(table, name, str(epsilon))
        return token

    def connected(self, name: str = "anna", epsilon: object = "10", **named: Any) -> Probe:
        """A probe of somebody new."""
        return connect(self.url, token=self.token(name, epsilon), **named)

    def post(self, path: str, message: Mapping[str, Any], token: str) -> httpx.Response:
        """What comes of a message that is sent by hand."""
        return post(self.url, path, JSON.write(message), token)


def post(url: str, path: str, body: bytes, token: str, content: str = "application/json") -> httpx.Response:
    """What comes of some bytes."""
    headers = {"authorization": f"Bearer {token}", "content-type": content}
    return httpx.post(f"{url}/v1/{path}", content=body, headers=headers, timeout=LIMIT)


def owner_file(folder: Path, *, promise: object = 100, schema: str = SCHEMA, rows: str = CSV, more: str = "") -> Path:
    """An owner.toml with one table."""
    folder.mkdir(exist_ok=True)
    (folder / "visits.toml").write_text(schema)
    (folder / "visits.csv").write_text(rows)
    path = folder / "owner.toml"
    path.write_text(
        f'padding = 0\n{more}\n[tables.visits]\ndata = "visits.csv"\nschema = "visits.toml"\npromise = "{promise}"\n'
    )
    return path


class RehearsedRooms(Rooms):
    """Rooms on public rows, with noise from a seed of the server's: the last that were to be served."""

    now: Probe

    @property
    def schema(self) -> Schema:
        return self.now.schema

    def room(self, share: Share) -> Key:
        return key_of(self.now)

    def snapshot(self, salt: bytes) -> tuple[bytes, ...]:
        return (secrets.token_bytes(8),)

    def left(self, share: Share) -> None:
        return None

    def was_paid(self, share: Share, mark: str) -> bool:
        return False


@frozen(eq=False)
class Rehearsals:
    """Gives probes as `jostle.rehearse` does, on rooms of a server."""

    url: str
    token: str

    def __call__(self, table: Table, **named: Any) -> Probe:
        RehearsedRooms.now = rehearse(table, **named)
        return connect(self.url, token=self.token)


@contextmanager
def rehearsing(folder: Path) -> Iterator[Rehearsals]:
    """Serve public rows with seeded noise."""
    with serving(owner_file(folder, promise=10**9), RehearsedRooms) as served:
        yield Rehearsals(served.url, served.token("anna", 10**9))


@contextmanager
def serving(path: Path, opened: type[Rooms] = Rooms) -> Iterator[Served]:
    """Serve what a file owner.toml says, at a port of this machine, in a thread."""
    office = Office.read(path)
    app = application(office, opened=opened)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="on"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + LIMIT
    while not server.started:
        assert time.monotonic() < until
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Served(office, f"http://127.0.0.1:{port}", app.state.web)
    finally:
        server.should_exit = True
        thread.join(LIMIT)
        office.close()
