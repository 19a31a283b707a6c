"""The owner's process as it runs: closed to others on its machine, and listening."""

from __future__ import annotations

import ctypes
import fcntl
import resource
import socket
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from jostle.errors import AccessError, VaultError
from jostle.files.kinds import writing
from jostle.owner.office import Office
from jostle.owner.settings import Settings

try:
    import uvicorn

    from jostle.owner.desk import Desk
    from jostle.owner.server import application
except ImportError as missing:
    raise AccessError(f"{missing.name}, which serves, is not installed", fix='pip install "jostle[serve]"') from None

SET_DUMPABLE = 4
"""Of prctl: whether others of this user may look into the process, and whether it leaves its memory when it crashes."""
KEEPING = 60
"""Seconds that a connection stays open where nothing is asked over it."""
STOPPING = 10
"""Seconds for answers that are on their way when the server ends."""


def closed_to_others() -> None:
    """Let nobody look into this process who is not root: no core file, no debugger, no list of where memory went."""
    if tracemalloc.is_tracing():
        raise AccessError(
            "this process notes where its memory goes (tracemalloc)",
            why="what it notes hangs on rows",
            fix="serve without PYTHONTRACEMALLOC and -X tracemalloc",
        )
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0)


def listening(settings: Settings) -> socket.socket:
    """What the server listens on, taken before anything else is done: a key is shown once, and to somebody."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    held = socket.socket(family, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind((settings.host, settings.port))
    except OSError as mistake:
        held.close()
        raise AccessError(
            f"cannot listen on {settings.listen}: {mistake.strerror or 'no such address'}",
            fix='name another: listen = "127.0.0.1:8766" in owner.toml',
        ) from None
    return held


@contextmanager
def alone(office: Office) -> Iterator[None]:
    """Hold the vaults of an office against other servers: what one of them counts, another would not know."""
    with ExitStack() as held:
        for vault in sorted({table.vault for table in office.tables.values()}):
            path = vault.with_name(f"{vault.name}.serving")
            with writing(path, VaultError):
                file = held.enter_context(path.open("a"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise AccessError(
                    f"another server serves what {vault} keeps",
                    why="what waits, and which answers were given, a process knows of its own requests",
                    fix="end that one before",
                ) from None
        yield


def run(office: Office, held: socket.socket) -> None:
    """Answer until Ctrl-C. Nothing is logged of requests but the audit log: how long they took hangs on rows."""
    settings = office.settings
    config = uvicorn.Config(
        application(office, routes=Desk(office).routes()),
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=KEEPING,
        timeout_graceful_shutdown=STOPPING,
    )
    try:
        uvicorn.Server(config).run(sockets=[held])
    finally:
        held.close()
        office.close()
