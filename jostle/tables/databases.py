"""Databases that a query is asked of: PostgreSQL, and files of SQLite and DuckDB, one transaction that reads for each.

What a database does to rows before they are encoded must be the same for a row whatever the others are. So columns are
read in a form that hangs on the cell alone, with one time zone and one way to write dates; and what is counted there is
counted by forms of which two are equal only where cells are the same, as a database's own equality is not (1 and 1.0,
texts by collation or padding).
"""

from __future__ import annotations

import json
import re
import sqlite3
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import starmap
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

import pyarrow as pa
from attrs import frozen

from jostle.errors import JostleError, TableError
from jostle.tables.encode import Cells
from jostle.tables.frames import UNREADABLE

BATCH_ROWS = 1 << 16
BATCH_BYTES = 1 << 22
ROWS = "jostle_rows"
"""What the rows of a query are called in another around it."""
CALLED = re.compile(r'([A-Za-z_][A-Za-z0-9_$]*)"?\(')
"""A function's name before what it is called with."""
QUOTED = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""Texts and remarks."""
Batch = tuple[list[Cells], int]


@frozen
class QueryPlan:
    """What a query does beside reading rows one by one."""

    limit: bool = False
    """Whether it takes some rows of several, which others could be."""
    volatile: tuple[str, ...] = ()
    """Functions that may say something else when asked again."""
    mixes: tuple[str, ...] = ()
    """What it does by which one row could be in several of its result, or change several."""


class Database(ABC):
    """A database, read in one transaction: whatever is written meanwhile, its rows are those of the first moment."""

    kind: ClassVar[str]
    place: str
    """Where it is, without whatever opens it."""
    file: Path | None = None
    close: Callable[[], object]
    """Ends the connection before this object goes."""

    def _closed_at_last(self, connection: Any) -> Any:
        """The connection, which ends with this object."""
        self.close = weakref.finalize(self, _close, connection)
        return connection

    @abstractmethod
    def names(self, query: str) -> tuple[str, ...]:
        """The names of the columns of a query's result."""

    @abstractmethod
    def batches(self, query: str, names: Iterable[str]) -> Iterator[Batch]:
        """Yield these columns of a query's result, batch by batch."""

    @abstractmethod
    def counted(self, query: str, names: Iterable[str]) -> Iterator[Batch] | None:
        """Yield the combinations of cells that a query's result has in these columns, and last how often each is there.

        None where one of them has numbers that hardly ever are the same.
        """

    @abstractmethod
    def plan(self, query: str) -> QueryPlan:
        """What a query does."""


def _close(connection: Any) -> None:
    with suppress(Exception):  # its database may have gone
        connection.close()


def is_database(text: object) -> bool:
    """Whether a text says where a database is."""
    return isinstance(text, str) and text.partition("://")[0].lower() in KINDS and "://" in text


def file_of(url: str) -> Path | None:
    """The file of a URL that says of one."""
    return None if KINDS[url.partition("://")[0].lower()] is PostgreSQL else _file(url)


def connect(url: str) -> Database:
    """The database of a URL that says where one is: postgresql://HOST/NAME, sqlite:///FILE or duckdb:///FILE."""
    return KINDS[url.partition("://")[0].lower()](url)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _of(what: str, query: str) -> str:
    return f"SELECT {what} FROM (\n{query}\n) AS {ROWS}"  # noqa: S608 - the owner's own query


@contextmanager
def _told(title: str, tell: Callable[[Exception], TableError | None] = lambda _: None) -> Iterator[None]:
    """Turn what a database says into a sentence: it may quote rows, and whatever opened it."""
    try:
        yield
    except JostleError:
        raise
    except Exception as mistake:  # noqa: BLE001 - each library has its own
        told = tell(mistake)
    else:
        return
    raise told or TableError(title, why=UNREADABLE, fix="try the query with the database's own tools") from None


def _called(text: str) -> set[str]:
    """The functions that a text calls."""
    return set(CALLED.findall(QUOTED.sub(" ", text)))


NOT_RUN = "the query could not be run"


PLAIN = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_time64,
    pa.types.is_binary,
    pa.types.is_large_binary,
)
"""Types of cells that are equal where they are the same; others are read as texts, but for floats."""


class ArrowDatabase(Database):
    """A database whose rows come as Arrow: columns of plain types as they are, others as texts."""

    text: ClassVar[str]
    """How a column is read as a text."""
    same: ClassVar[str] = "{}"
    """What two texts have in common just where they are the same, whatever their collation."""

    @abstractmethod
    def _types(self, query: str) -> pa.Schema:
        """The columns of a query's result, and their types."""

    @abstractmethod
    def _streamed(self, statement: str) -> Iterator[Batch]:
        """Yield what a statement gives, batch by batch."""

    def _unmet(self, mistake: Exception) -> TableError | None:
        """What is said where a query cannot be run."""
        return None

    def _ended(self, mistake: Exception) -> TableError | None:
        """What is said where one is not run to its end."""
        return self._unmet(mistake)

    def names(self, query: str) -> tuple[str, ...]:
        with _told(NOT_RUN, self._unmet):
            return tuple(self._types(query).names)

    def batches(self, query: str, names: Iterable[str]) -> Iterator[Batch]:
        with _told(NOT_RUN, self._ended):
            types = self._types(query)
            columns = [self._read(name, types.field(name).type)[0] for name in names]
            yield from self._streamed(_of(", ".join(columns) or "NULL", query))

    def counted(self, query: str, names: Iterable[str]) -> Iterator[Batch] | None:
        with _told(NOT_RUN, self._ended):
            types = self._types(query)
        kinds = [(name, types.field(name).type) for name in names]
        if any(pa.types.is_floating(kind) for _, kind in kinds):
            return None
        keys = [self.same.format(column) if as_text else column for column, as_text in starmap(self._read, kinds)]
        by = f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}" if keys else ""
        return self._guarded(_of(", ".join([*keys, "count(*)::bigint"]), query) + by)

    def _guarded(self, statement: str) -> Iterator[Batch]:
        with _told(NOT_RUN, self._ended):
            yield from self._streamed(statement)

    def _read(self, name: str, kind: pa.DataType) -> tuple[str, bool]:
        """What a column is read as, and whether that is a text."""
        as_text = not (pa.types.is_floating(kind) or any(is_plain(kind) for is_plain in PLAIN))
        return self.text.format(_quoted(name)) if as_text else _quoted(name), as_text


# PostgreSQL

SETTINGS = {
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
}
JOINS = {"Nested Loop": "joins", "Hash Join": "joins", "Merge Join": "joins"}
MIXING = {
    **JOINS,
    "Aggregate": "aggregates",
    "Group": "aggregates",
    "WindowAgg": "looks at several rows at once",
    "Unique": "takes distinct rows",
    "SetOp": "compares rows",
    "Recursive Union": "repeats itself",
    "ProjectSet": "makes several rows of one",
}


class PostgreSQL(ArrowDatabase):
    """A database of PostgreSQL, by ADBC. What opens it may be in the URL, the environment or a service file."""

    kind, text = "PostgreSQL", '{}::text COLLATE "C"'

    def __init__(self, url: str) -> None:
        try:
            from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - an extra
        except ImportError:
            raise TableError(
                "PostgreSQL is not read without its driver", fix='pip install "jostle[postgres]"'
            ) from None
        parts = urlsplit(url)
        self.place = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"
        with _told(f"the database at {self.place} could not be opened", _not_opened):
            self._connection = self._closed_at_last(dbapi.connect(url, autocommit=True))
            self._do("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            for name, value in SETTINGS.items():
                self._do(f"SET LOCAL {name} = '{value}'")
            self._said("SELECT 1")  # which takes the snapshot
            self._do("SAVEPOINT jostle")

    def _do(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def _said(self, statement: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _types(self, query: str) -> pa.Schema:
        with self._connection.cursor() as cursor:
            cursor.execute(_of("*", query) + " LIMIT 0")
            return cursor.fetch_arrow_table().schema

    def _ended(self, mistake: Exception) -> TableError:
        return TableError(
            "the query was not run to its end, or its snapshot has ended",
            why="all questions are about the rows of one moment, which the database holds no longer than its "
            "connection",
            fix="open the table again; what was charged stays charged",
        )

    def _streamed(self, statement: str) -> Iterator[Batch]:
        try:
            yield from self._run(statement)
        except BaseException:  # Ctrl-C included: the snapshot is there for the next question
            with suppress(Exception):
                self._do("ROLLBACK TO SAVEPOINT jostle")
            raise

    def _run(self, statement: str) -> Iterator[Batch]:
        with self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": f"{BATCH_BYTES}"})
            cursor.execute(statement)
            with cursor.fetch_record_batch() as reader:
                for batch in reader:
                    yield batch.columns, batch.num_rows

    def plan(self, query: str) -> QueryPlan:
        with _told(NOT_RUN):
            ((said,),) = self._said(f"EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) {query}")
            whole = json.loads(said) if isinstance(said, str) else said
            nodes = list(_nodes(whole[0]["Plan"], "Plans"))
            called = ", ".join(f"'{name}'" for name in {*_called(json.dumps(whole)), "none"})
            volatile = self._said(
                f"SELECT DISTINCT proname::text FROM pg_proc WHERE provolatile = 'v' AND proname IN ({called})"  # noqa: S608 - names
            )
        kinds = [node["Node Type"] for node in nodes]
        mixes = [MIXING[kind] for kind in kinds if kind in MIXING]
        mixes += ["asks other rows" for node in nodes if node.get("Parent Relationship") in {"InitPlan", "SubPlan"}]
        mixes += ["leaves work to another database" for node in nodes if "Relations" in node]
        tables = [(node.get("Schema"), node["Relation Name"]) for node in nodes if "Relation Name" in node]
        mixes += ["reads a table twice"] if len(set(tables)) < len(tables) else []
        sampled = ["TABLESAMPLE"] if "Sample Scan" in kinds else []
        names = sorted({*sampled, *(name for (name,) in volatile)})
        return QueryPlan("Limit" in kinds, tuple(names), tuple(dict.fromkeys(mixes)))


def _not_opened(_: Exception) -> TableError:
    return TableError(
        "the database could not be opened",
        why="what it says is kept back: that may hold what opens it",
        fix="psql opens it by the same URL, PGHOST, PGUSER, PGPASSWORD, PGSERVICE and ~/.pgpass",
    )


def _nodes(node: Any, below: str) -> Iterator[Any]:
    yield node
    for inner in node.get(below, ()):
        yield from _nodes(inner, below)


# DuckDB

DUCKDB_MIXING = {
    "JOIN": "joins",
    "CROSS_PRODUCT": "joins",
    "GROUP_BY": "aggregates",
    "AGGREGATE": "aggregates",
    "DISTINCT": "takes distinct rows",
    "WINDOW": "looks at several rows at once",
    "UNNEST": "makes several rows of one",
    "EXCEPT": "compares rows",
    "INTERSECT": "compares rows",
    "CTE": "repeats itself",
    "DELIM": "asks other rows",
}


class DuckDB(ArrowDatabase):
    """A file of DuckDB. It reads nothing beside it, and no extension is ever fetched."""

    kind, text, same = "DuckDB", "CAST({} AS VARCHAR)", "encode({})"  # bytes

    def __init__(self, url: str) -> None:
        try:
            import duckdb  # noqa: PLC0415 - an extra
        except ImportError:
            raise TableError("DuckDB is not installed", fix='pip install "jostle[duckdb]"') from None
        self._duckdb = duckdb
        self.file = _file(url)
        self.place = f"duckdb://{self.file.absolute()}"
        config: dict[str, Any] = {"autoinstall_known_extensions": "false", "enable_external_access": "false"}
        with _told(f"{self.file} cannot be opened as a file of DuckDB", self._closed):
            self._connection = self._closed_at_last(duckdb.connect(str(self.file), read_only=True, config=config))
            self._connection.execute("SET TimeZone = 'UTC'")
            self._connection.execute("BEGIN TRANSACTION")
            self._connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()

    def _closed(self, mistake: Exception) -> TableError | None:
        if not isinstance(mistake, self._duckdb.ConnectionException | self._duckdb.IOException):
            return None
        return TableError(
            f"{self.file} cannot be opened as a file of DuckDB",
            why="it is none, or somebody has it open to write",
            fix="close other connections to it",
        )

    def _unmet(self, mistake: Exception) -> TableError | None:
        if isinstance(mistake, self._duckdb.PermissionException | self._duckdb.HTTPException):
            return TableError(
                "the query reads what is not in its file",
                why="files beside it may change between two questions, and nothing is fetched",
                fix="copy it into the file, or Table.from_frame(duckdb.sql(...), schema), which reads it once",
            )
        if isinstance(mistake, self._duckdb.CatalogException):
            return TableError(
                "the query names a table or function that is not there",
                why="extensions of DuckDB are not fetched: they would come from a server",
                fix="see that the file has it; what needs an extension goes into a table of the file first",
            )
        return None

    def _types(self, query: str) -> pa.Schema:
        return self._connection.sql(_of("*", query) + " LIMIT 0").to_arrow_reader(BATCH_ROWS).schema

    def _streamed(self, statement: str) -> Iterator[Batch]:
        for batch in self._connection.sql(statement).to_arrow_reader(BATCH_ROWS):
            yield batch.columns, batch.num_rows

    def plan(self, query: str) -> QueryPlan:
        """What a query does: as it is written, since what is made of it may have its answer already."""
        with _told(NOT_RUN, self._unmet):
            self._connection.execute("PRAGMA disable_optimizer")
            try:
                said = self._connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchall()
            finally:
                self._connection.execute("PRAGMA enable_optimizer")
            whole = json.loads(said[0][1])
            every = self._connection.execute(
                "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"
            ).fetchall()
            named = self._connection.execute(
                "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal UNION ALL SELECT function_name, "
                "macro_definition FROM duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL"
            ).fetchall()
        nodes = [node for root in whole for node in _nodes(root, "children")]
        kinds = [node["name"].strip() for node in nodes]
        called = {name.lower() for name in _called(_with_views(query, named))}  # what a plan may call otherwise
        names = sorted(called & {name for (name,) in every})
        sampled = ["USING SAMPLE"] if any("SAMPLE" in kind for kind in kinds) else []
        mixes = [what for kind in kinds for word, what in DUCKDB_MIXING.items() if word in kind]
        tables = [str(node["extra_info"]["Table"]) for node in nodes if "Table" in node["extra_info"]]
        mixes += ["reads a table twice"] if len(set(tables)) < len(tables) else []
        limit = any("LIMIT" in kind or "TOP_N" in kind for kind in kinds)
        return QueryPlan(limit, (*sampled, *names), tuple(dict.fromkeys(mixes)))


def _with_views(query: str, named: Iterable[tuple[str, str]]) -> str:
    """The query's text, with those of views and macros that it names."""
    left, text = dict(named), query
    while here := [name for name in left if re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE)]:
        text = "\n".join([text, *map(left.pop, here)])
    return text


# SQLite

DETERMINISTIC = 0x800
SQLITE_MIXING = {
    "AggStep": "aggregates",
    "AggStep1": "aggregates",
    "AggFinal": "aggregates",
    "AggValue": "looks at several rows at once",
    "AggInverse": "looks at several rows at once",
    "Compare": "aggregates",
    "OpenEphemeral": "holds rows against each other",
    "OpenAutoindex": "joins",
    "VOpen": "makes several rows of one",
}
"""Steps that a query takes, and what it does by them."""
STOPPING = {"DecrJumpZero", "IfNotZero", "OffsetLimit"}


class SQLite(Database):
    """A file of SQLite, by Python's own library: each cell comes as what it is, whatever the others of its column."""

    kind = "SQLite"

    def __init__(self, url: str) -> None:
        self.file = _file(url)
        self.place = f"sqlite://{self.file.absolute()}"
        if not self.file.exists():
            raise TableError(f"there is no file {self.file}", fix="check the path")
        with _told(f"{self.file} cannot be opened as a file of SQLite"):
            address = f"file:{quote(str(self.file.absolute()))}?mode=ro"
            self._connection = self._closed_at_last(
                sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
            )
            self._connection.text_factory = bytes  # what is no text is a cell like any other
            self._connection.execute("BEGIN")
            self._connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # which takes the snapshot

    def names(self, query: str) -> tuple[str, ...]:
        with _told(NOT_RUN):
            return tuple(column[0] for column in self._connection.execute(_of("*", query) + " LIMIT 0").description)

    def batches(self, query: str, names: Iterable[str]) -> Iterator[Batch]:
        return self._streamed(_of(", ".join(map(_quoted, names)) or "NULL", query))

    def counted(self, query: str, names: Iterable[str]) -> Iterator[Batch] | None:
        columns = list(map(_quoted, names))
        keys = [f"typeof({column}), {column} COLLATE BINARY" for column in columns]
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        return self._streamed(_of(", ".join([*columns, "count(*)"]), query) + by)

    def _streamed(self, statement: str) -> Iterator[Batch]:
        with _told(NOT_RUN):
            cursor = self._connection.execute(statement)
            while rows := cursor.fetchmany(BATCH_ROWS):
                yield [_typed(cells) for cells in zip(*rows, strict=True)], len(rows)

    def plan(self, query: str) -> QueryPlan:
        with _told(NOT_RUN):
            steps = self._connection.execute(f"EXPLAIN {query}").fetchall()
            loops = self._connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
            functions = self._connection.execute("PRAGMA function_list").fetchall()
            roots = dict(self._connection.execute("SELECT rootpage, tbl_name FROM sqlite_master").fetchall())
            views = self._connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'").fetchall()
        steady = {name for name, _, _, _, _, flags in functions if flags & DETERMINISTIC}
        kinds = [kind.decode() for _, kind, *_ in steps]
        called = {
            bytes(step[5]).partition(b"(")[0]
            for step, kind in zip(steps, kinds, strict=True)
            if kind in {"Function", "PureFunc"} and isinstance(step[5], bytes)
        }
        tables = [
            (roots.get(step[3]), step[3])
            for step, kind in zip(steps, kinds, strict=True)
            if kind == "OpenRead" and step[3] in roots
        ]
        text = _with_views(query, ((name.decode(), view.decode()) for name, view in views))
        words = set(re.findall(r"[a-z]+", re.sub(r'"(?:[^"]|"")*"', " ", QUOTED.sub(" ", text)).lower()))
        stops = bool(STOPPING & set(kinds))
        mixes = [SQLITE_MIXING[kind] for kind in kinds if kind in SQLITE_MIXING]
        within = [parent for _, parent, _, said in loops if said.startswith((b"SCAN", b"SEARCH"))]
        mixes += ["joins"] if len(set(within)) < len(within) else []
        mixes += ["reads a table twice"] if len(set(tables)) < len(tables) else []
        mixes += ["takes distinct rows"] if "distinct" in words else []
        mixes += ["asks other rows"] if stops and "limit" not in words else []
        volatile = tuple(sorted(name.decode() for name in called - steady))
        return QueryPlan(stops and "limit" in words, volatile, tuple(dict.fromkeys(mixes)))


def _typed(cells: tuple[object, ...]) -> Cells:
    """A column as Arrow where its cells are of one type; else they are read one by one."""
    kinds = set(map(type, cells)) - {type(None)}
    if len(kinds) == 1 and (kind := ARROW.get(kinds.pop())) is not None:
        return pa.array(cells, kind)
    return list(cells)


ARROW: dict[type, pa.DataType] = {int: pa.int64(), float: pa.float64(), bytes: pa.large_binary()}


def _file(url: str) -> Path:
    """The path in a URL: after three slashes, one more says that it begins at the root."""
    return Path(url.partition("://")[2].removeprefix("/"))


KINDS: dict[str, Callable[[str], Database]] = {
    "postgresql": PostgreSQL,
    "postgres": PostgreSQL,
    "sqlite": SQLite,
    "duckdb": DuckDB,
}
