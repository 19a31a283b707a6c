"""The owner's process as it runs: closed to others on its machine, and listening."""

from __future__ import annotations

import ctypes
import resource
import sys
import tracemalloc

import uvicorn

from jostle.errors import AccessError
from jostle.owner.desk import Desk
from jostle.owner.office import Office
from jostle.owner.server import application

SET_DUMPABLE = 4
"""Of prctl: whether others of this user may look into the process, and whether it leaves its memory when it crashes."""
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


def run(office: Office) -> None:
    """Answer until Ctrl-C. Nothing is logged of requests but the audit log: how long they took hangs on rows."""
    settings = office.settings
    config = uvicorn.Config(
        application(office, routes=Desk(office).routes()),
        host=settings.host,
        port=settings.port,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=STOPPING,
    )
    try:
        uvicorn.Server(config).run()
    finally:
        office.close()
