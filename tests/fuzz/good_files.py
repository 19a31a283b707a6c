"""Good files of every kind that Jostle reads, small ones: what mutations begin with."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from small import METAFEATURES, by_rows, options, planted
from tables_of_labels import correlated, table_of

import jostle
from jostle import Categorical, Numeric, Schema
from jostle.choice.learning.cases import cases_of
from jostle.choice.makers.trained import learn
from jostle.learned.policies import Forest, LearnedPolicy, write_policies
from jostle.options import get
from jostle.options.models import Model

PRIVATE = "ЖЩѬ"
"""Letters that stand in the cells of private files, and nowhere else: a message with one of them quotes a cell."""
PRIVATE_NUMBER = 7777777
"""As likely as these letters."""
MAKER_OPTIONS = ("Majority", "NaiveBayes")


def private_schema() -> Schema:
    """Return what is publicly known of the private files."""
    return Schema(
        {
            "name": Categorical([PRIVATE, PRIVATE[::-1]], outside="other", missing="value"),
            "amount": Numeric(0, 10_000_000, bins=10, missing="value"),
            "small": Numeric(-3, 3, bins=6, outside="drop"),
            "when": Categorical(["2020-01-01", "2021-02-03"], outside="other"),
            "ill": Categorical(["no", "yes"]),
        },
        label="ill",
    )


def private_rows(count: int = 40) -> pa.Table:
    """Return rows of many types, all of them secret."""
    chance = np.random.default_rng(1)
    names = [PRIVATE, PRIVATE[::-1], PRIVATE * 3, "", None]
    return pa.table(
        {
            "name": pa.array([names[int(each)] for each in chance.integers(0, 5, count)]),
            "amount": pa.array([PRIVATE_NUMBER + int(each) for each in chance.integers(0, 3, count)], pa.int64()),
            "small": pa.array(
                np.where(chance.random(count) < 0.1, np.nan, chance.normal(size=count)), from_pandas=True
            ),
            "when": pa.array([int(each) for each in chance.integers(18262, 18700, count)], pa.int32()).cast(
                pa.date32()
            ),
            "ill": pa.array([("no", "yes")[int(each)] for each in chance.integers(0, 2, count)]).dictionary_encode(),
        }
    )


@cache
def schema_files() -> Sequence[bytes]:
    """Return schemas with all that can stand in one."""
    wide = Schema(
        {
            "age": Numeric(0, 120, bins=12, missing="value"),
            "pay": Numeric(-1.5, 1e6, edges=[-1.5, 0, 10, 1e6], outside="other"),
            'odd "name"': Categorical(["é", "\\", 'q"', "1"], outside="other", missing="value"),
            "label": Categorical(["no", "yes"]),
        },
        label="label",
        neighbours="replace_one",
        rows=300,
    )
    by_hand = b"""# by hand
label = 'ill'
columns.ill = { kind = "categorical", values = [ "no", # a comment
  "yes", ] }
[columns."dotted.key"]
kind = "numeric"
low = -1_000
high = 0x7f
bins = 4
"""
    return [wide.to_toml().encode(), by_hand]


@cache
def model_files() -> Sequence[bytes]:
    """Return a model of every kind, as few Options make them."""
    schema, rows = correlated(200)
    names = ("NaiveBayes", "Jagannathan", "BayesTree", "Majority", "PooledTree")
    found = []
    for name in names:
        option: Any = get(name)
        model: Model = option(jostle.rehearse(table_of(rows, schema), seed=2), epsilon=5)
        found.append(model.to_json().encode())
    return found


def labels_schema() -> Schema:
    """Return the schema that the models are for."""
    return correlated(200)[0]


@cache
def maker_files() -> Sequence[bytes]:
    """Return a maker of every kind of learner."""
    among = options(*MAKER_OPTIONS)
    history = planted(by_rows, among, count=12)
    found = [learn(cases_of(history, among), among, METAFEATURES).to_json()]
    facts = json.loads(found[0])
    count = len(facts["metafeatures"])
    forest = Forest([0], [-1], [0.0], [0], [0], [[0.1, 0.2, 0.3]], inputs=count).facts()
    tree = Forest([0], [-1], [0.0], [0], [0], [[0.1, 0.2, 0.3, 0.4, 0.5]], inputs=count).facts()
    near = {
        "count": 2,
        "centre": [0.0] * count,
        "width": [1.0] * count,
        "points": [[0.0] * count, [1.0] * count, [2.0] * count],
        "regrets": [[0.0, 1.0], [1.0, 0.0], [0.5, 0.0]],
        "best": [0.1, 0.2, 0.3],
        "weights": [1.0, 1.0, 1.0],
    }
    constant = {"mean": [0.1, 0.2], "spread": [0.0, 0.1], "best": -1.0}
    prior = Forest([0], [-1], [0.0], [0], [0], [[0.1, 0.2]], inputs=count).facts()
    kinds = (("forest", forest), ("regret tree", tree), ("nearest", near), ("single best", constant), ("prior", prior))
    found += [json.dumps({**facts, "kind": kind, "fitted": each, "learner": kind}) for kind, each in kinds]
    return [each.encode() for each in found]


@cache
def history_files() -> Sequence[bytes]:
    """Return a history of a few databases."""
    return [_saved(planted(by_rows, options(*MAKER_OPTIONS), count=3), "h.jsonl")]


@cache
def packed_history_files() -> Sequence[bytes]:
    """Return the same, packed: at once, and member by member as it is written."""
    text = history_files()[0]
    lines = text.splitlines(keepends=True)
    return [gzip.compress(text, mtime=0), b"".join(gzip.compress(line, mtime=0) for line in lines)]


def _saved(what: Any, name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        what.save(Path(folder) / name)
        return (Path(folder) / name).read_bytes()


@cache
def policy_files() -> Sequence[bytes]:
    """Return policies of two labels, as they are kept for a program."""

    def stump(at: float, left: float, right: float) -> Forest:
        return Forest([0], [0, -1, -1], [at, 0, 0], [1, 0, 0], [2, 0, 0], [[left], [right]], inputs=2)

    both = {
        label: LearnedPolicy(
            label=label,
            among=("small", "large"),
            inputs=("n", "depth"),
            forests=(stump(10, 0.8, 1.2), stump(10, 1.1, 0.9)),
            usual="small",
            caution=0.5,
        )
        for label in ("L1", "L2")
    }
    facts = {"name": "grow", "mark": "abc", "programs": ["p.jst"], "learned_on": "9 public databases"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.json"
        write_policies(path, both, about="a test", facts=facts)
        return [path.read_bytes()]


@cache
def note_files() -> Sequence[bytes]:
    """Return notes on work done: a loss, a failure, and lessons."""
    lessons = {"L1": [["small", "large"], ["n", "depth"], [[3.0, 1.0, 0, 0.8, 1.0], [30.0, 2.0, 1, 1.2, 0.5]]]}
    notes: list[Any] = [
        ["try (1,) a 1 1 ", 0.5],
        ["try (1,) b 1 1 ", None],
        ["teach (1,) a 1 1 1/2 ", {"labels": lessons, "failure": None}],
        ["teach (1,) b 1 1 1/2 ", {"labels": {}, "failure": "BudgetError"}],
    ]
    return ["".join(json.dumps(note) + "\n" for note in notes).encode()]


@cache
def trace_files() -> Sequence[bytes]:
    """Return the trace of two runs, with every kind of record."""
    from jostle.trace.records import Charged, Chosen, Opened, Refused, Released, Trace  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        trace = Trace(Path(folder) / "t.jsonl")
        for private in (True, False):
            trace.add(Opened("add_remove", private, Fraction(1), None, ("age", "ill"), 300 if private else None))
            trace.add(Charged("count", "Laplace", Fraction(1, 3), Fraction(1, 3), Fraction(2, 3)))
            trace.add(Released("count", "Laplace", Fraction(3), 80, tuple(range(64))))
            trace.add(
                Chosen.one("L1#1", "L1", "a", seen={"n": 3.0}, predicted={"a": (0.1, 0.2), "b": (0.3, 0.1)}, why="x")
            )
            trace.add(Chosen("L1#2", "L1", (("n", 1.0, 2.0),), (), (("a", 3), ("b", 2)), ""))
            trace.add(Refused("count", "epsilon 1 is more than is left"))
        trace.close()
        return [(Path(folder) / "t.jsonl").read_bytes()]


@cache
def vault_files() -> Sequence[bytes]:
    """Return a vault of which something was spent three times."""
    from jostle.privacy.account import TableFacts  # noqa: PLC0415
    from jostle.privacy.vault import FileVault  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "v.vault"
        payer = FileVault(path).open(Fraction(1), TableFacts(("age", "ill")))
        for site in ("count", "tree", "count"):
            payer.pay(Fraction(1, 7), site)
        connection = sqlite3.connect(path, isolation_level=None)
        for table in ("promises", "reservations"):  # the same whenever, and by whomever, it was made
            connection.execute(f"UPDATE {table} SET moment = '2026-01-02T03:04:05+00:00', process = 99")  # noqa: S608
        connection.execute("UPDATE accounts SET key = ?", (b"i" * 32,))
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return [path.read_bytes()]


@cache
def csv_files() -> Sequence[bytes]:
    """Return private rows as CSV: plain, with quotes and odd line ends, and with a mark of its encoding."""
    rows = private_rows().to_pylist()
    head = ",".join(rows[0])
    plain = "\n".join([head, *(",".join("" if each is None else str(each) for each in row.values()) for row in rows)])
    quoted = "\r\n".join([head, *(",".join(f'"{each}"' for each in row.values()) for row in rows)]) + "\r\n"
    return [f"{plain}\n".encode(), quoted.encode(), b"\xef\xbb\xbf" + plain.encode()]


@cache
def packed_csv_files() -> Sequence[bytes]:
    """Return the same, packed."""
    return [gzip.compress(each, mtime=0) for each in csv_files()]


@cache
def parquet_files() -> Sequence[bytes]:
    """Return private rows as Parquet, written in several ways."""
    found = []
    ways: list[dict[str, Any]] = [
        {"compression": "none"},
        {"compression": "zstd", "use_dictionary": False, "row_group_size": 10, "data_page_version": "2.0"},
        {"compression": "gzip", "store_schema": False, "write_page_checksum": True},
        {"compression": "snappy", "use_byte_stream_split": ["small"], "use_dictionary": False, "version": "1.0"},
        {
            "compression": "none",
            "use_dictionary": False,
            "column_encoding": {"name": "DELTA_BYTE_ARRAY", "amount": "DELTA_BINARY_PACKED"},
        },
    ]
    for way in ways:
        sink = io.BytesIO()
        rows = private_rows()
        rows = rows.set_column(4, "ill", rows["ill"].cast(pa.string())) if "store_schema" in way else rows
        pa_parquet.write_table(rows, sink, **way)
        found.append(sink.getvalue())
    return found


@cache
def nested_parquet_files() -> Sequence[bytes]:
    """Return the same with columns of lists, which are never read."""
    sink = io.BytesIO()
    rows = private_rows()
    lists = pa.array([[PRIVATE, None], [], None, [PRIVATE]] * (len(rows) // 4))
    pa_parquet.write_table(rows.append_column("more", lists), sink)
    return [*parquet_files(), sink.getvalue()]


@cache
def npy_files() -> Sequence[bytes]:
    """Return private grids of counts, in several types and shapes."""
    chance = np.random.default_rng(2)
    grids = [
        PRIVATE_NUMBER + chance.integers(0, 5, 12),
        (PRIVATE_NUMBER + chance.integers(0, 5, (3, 4))).astype(np.float64),
        np.asfortranarray((PRIVATE_NUMBER + chance.integers(0, 5, (2, 3, 2))).astype(">u4")),
        chance.integers(0, 99, (4, 4)).astype(np.int8),
    ]
    found = []
    for grid in grids:
        sink = io.BytesIO()
        np.save(sink, grid)
        found.append(sink.getvalue())
    return found


@cache
def group_files() -> Sequence[bytes]:
    """Return which databases of a folder share people."""
    return [b'census = ["adult", "adult_1995"]\n"two words" = []\n']


@cache
def arff_files() -> Sequence[bytes]:
    """Return a table in KEEL's format."""
    rows = [f"{place % 5}, {place % 3}.5, {('a', 'b')[place % 2]}" for place in range(20)]
    head = ["@relation x", "@attribute one integer [0, 4]", "@attribute 'two' real", "@attribute class {a, b}", "@data"]
    return ["\n".join([*head, *rows]).encode()]


@cache
def program_files() -> Sequence[bytes]:
    """Return the project's own programs."""
    folder = Path(__file__).parents[2] / "programs"
    return [path.read_bytes() for path in sorted(folder.glob("*.jst"))]
