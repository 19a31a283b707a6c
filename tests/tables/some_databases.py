"""Databases that tests start and fill."""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

PROGRAMS = Path("/usr/lib/postgresql")
PASSWORD = "geheim-und-lang"  # noqa: S105 - of a database that lives as long as a test


def _programs() -> Path:
    found = sorted(PROGRAMS.glob("*/bin/initdb"), key=lambda path: int(path.parent.parent.name))
    named = shutil.which("initdb")
    if not found and named is None:
        pytest.skip("no PostgreSQL server is installed here")
    return found[-1].parent if found else Path(str(named)).resolve().parent


@contextmanager
def started_postgres() -> Iterator[str]:
    """Start a server on a socket in a folder of its own; give the URL of its database."""
    pytest.importorskip("adbc_driver_postgresql")
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a socket's path must be short
    as_owner: list[str] = []
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        shutil.chown(folder, "postgres")
        as_owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def do(program: str, *words: str) -> None:
        subprocess.run(
            [*as_owner, str(programs / program), "-D", str(folder / "data"), *words],
            check=True, timeout=120, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    try:
        (folder / "password").write_text(PASSWORD)
        do("initdb", "-U", "owner", "--auth=scram-sha-256", f"--pwfile={folder}/password", "--no-sync", "--locale=C",
           "--encoding=UTF8")  # fmt: skip
        do("pg_ctl", "-w", "-l", f"{folder}/log", "-o", f"-k {folder} -h '' -F", "start")
        try:
            yield f"postgresql://owner:{PASSWORD}@/postgres?host={folder}"
        finally:
            do("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def in_postgres(url: str, *statements: str, table: pa.Table | None = None) -> None:
    """Run statements, and write a table called t."""
    from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - an extra

    with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in ("SET lock_timeout = '20s'", *statements):
            cursor.execute(statement)
        if table is not None:
            cursor.execute("DROP TABLE IF EXISTS t CASCADE")
            cursor.adbc_ingest("t", table, mode="create")


def in_sqlite(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write rows to a table called t, in columns of no type; give its URL."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(names)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)  # noqa: S608 - a test's
    connection.close()
    return f"sqlite:///{path}"


def in_duckdb(path: Path, *statements: str, table: pa.Table | None = None) -> str:
    """Run statements, and write a table called t; give its URL."""
    import duckdb  # noqa: PLC0415 - an extra

    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        if table is not None:
            connection.register("given", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return f"duckdb:///{path}"
