"""Files that nobody damaged by chance: each is small, or claims little, and asks for more than a machine has.

Those in `REFUSED` cannot be what they say they are; those in `READ` can, and are read within the bounds that all
readers are held to.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from good_files import csv_files, history_files, maker_files, model_files, policy_files, private_rows, trace_files

Write = Callable[[Path], object]
DEEP = 100_000
DIGITS = "9" * 5000
MANY = 1 << 30
SLOW = ("gigabyte", "million", "megabytes", "hundred thousand roots")
"""What the names of files have in them that take a while to be made, or to be read to their end."""


def text(said: str) -> Write:
    """Write a text."""
    return lambda path: path.write_text(said, encoding="utf-8")


def data(said: bytes) -> Write:
    """Write bytes."""
    return lambda path: path.write_bytes(said)


def sparse(head: bytes, size: int, tail: bytes = b"") -> Write:
    """Write many zero bytes between a head and a tail, which take no room on the disk."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.write(head)
            file.truncate(size)
            file.seek(0, io.SEEK_END)
            file.write(tail)

    return write


def zipped(pieces: Callable[[], Iterable[bytes]]) -> Write:
    """Write what gzip makes of much."""

    def write(path: Path) -> None:
        packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        with path.open("wb") as file:
            for piece in pieces():
                file.write(packer.compress(piece))
            file.write(packer.flush())

    return write


def many(byte: bytes, head: bytes = b"", size: int = MANY) -> Callable[[], Iterable[bytes]]:
    """Return what yields a head and then one byte as often as that."""
    return lambda: (head if not place else byte * (1 << 20) for place in range((size >> 20) + 1))


# Texts of JSON


def bombs() -> dict[str, str]:
    """Return what a value in a text of JSON may be, and never is."""
    return {
        "lists": "[" * DEEP,
        "lists in lists": "[" * DEEP + "]" * DEEP,
        "mappings in mappings": '{"a":' * DEEP + "1" + "}" * DEEP,
        "5,000 digits": DIGITS,
        "an infinite number": "1e999",
        "an amount beyond all memory": '"1e999999999"',
        "a million numbers": f"[{','.join('0' * 10**6)}]",
        "a text of ten megabytes": f'"{"a" * 10**7}"',
    }


def json_bombs(good: Callable[[], bytes], *steps: str | int) -> dict[str, Write]:
    """Return files that hold nothing but such a value, and good ones with one at some place."""

    def with_bomb(bomb: str) -> Write:
        def write(path: Path) -> None:
            said = held = json.loads(good())
            for step in steps[:-1]:
                held = held[step]
            held[steps[-1]] = "BOMB"
            path.write_text(json.dumps(said).replace('"BOMB"', bomb), encoding="utf-8")

        return write

    found = {name: text(bomb) for name, bomb in bombs().items()}
    return {**found, **{f"{name}, in its place": with_bomb(bomb) for name, bomb in bombs().items()}}


def with_line(good: Callable[[], Iterable[bytes]], line: str) -> Write:
    """Write a good file of lines with one more in it."""
    return lambda path: path.write_bytes(b"".join(good()) + line.encode() + b"\n")


def runs(**changed: str) -> str:
    """Return a line of a history, with some parts as they are given."""
    parts = {"repeat": "0", "epsilons": '["1"]', "losses": "[0.5]", "seconds": "[0.1]", **changed}
    named = "".join(f',"{name}":{part}' for name, part in parts.items())
    return '{"version_":1,"kind":"runs","instance":"i","option":"o","version":1,"failures":[]' + named + "}"


def instance(columns: str) -> str:
    """Return a line of a history, with a sketch of these columns."""
    sketch = '{"columns":[["label",2,false],' + columns + '],"label":"label"}'
    where = '{"version_":1,"kind":"instance","key":"k","database":"' + "0" * 32 + '","rows":9,"sketch":'
    return where + sketch + ',"read":{}}'


# Trees


def tree(levels: int, below: Callable[[int], list[int]], **changed: Any) -> Write:
    """Write a model: so many nodes that ask for one column, each leading to these, and two leaves behind them."""

    def write(path: Path) -> None:
        width = len(below(0))
        held = json.loads(next(each for each in model_files() if b'"kind": "trees"' in each))
        values = ", ".join(f"'{value}'" for value in "abcdef"[:width])
        column = f"[columns.x]\nkind = 'categorical'\nvalues = [{values}]\n"
        held["schema"] = f"label = 'y'\n{column}[columns.y]\nkind = 'categorical'\nvalues = ['no', 'yes']\n"
        held["facts"] = {
            "columns": ["x"],
            "roots": [0],
            "attribute": [0] * levels + [-1, -1],
            "first": [width * node for node in range(levels)] + [0, 0],
            "children": [child for node in range(levels) for child in below(node)],
            "depth": levels,
            "shares": [[0.5, 0.5]] * (levels + 2),
            "combine": "vote",
            **changed,
        }
        path.write_text(json.dumps(held), encoding="utf-8")

    return write


# Arrays


def npy(head: str, cells: bytes = b"", version: tuple[int, int] = (1, 0)) -> Write:
    """Write a .npy file with any header."""
    length = struct.pack("<H" if version == (1, 0) else "<I", len(head) + 1)
    return data(b"\x93NUMPY" + bytes(version) + length + head.encode() + b"\n" + cells)


def cells(shape: str, kind: str = "'<i8'") -> str:
    """Return a .npy file's header."""
    return f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}"


def archive(path: Path) -> None:
    """Write an archive of arrays under the name of a single one."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as whole, whole.open("c.npy", "w") as file:
        for piece in many(b"\0")():
            file.write(piece)


# Parquet


def parquet(table: pa.Table, **ways: Any) -> bytes:
    """Return a Parquet file."""
    sink = io.BytesIO()
    pa_parquet.write_table(table, sink, **ways)
    return sink.getvalue()


def varint(number: int) -> bytes:
    """Return a number as a Parquet file's description of itself has it."""
    found, left = bytearray(), (number << 1) ^ (number >> 63)
    while left > 127:
        found.append(left & 127 | 128)
        left >>= 7
    return bytes([*found, left])


def claiming(rows: int) -> Write:
    """Write a Parquet file that says it has other rows than it has."""
    known = 12_345

    def write(path: Path) -> None:
        good = parquet(private_rows(known))
        start = len(good) - 8 - struct.unpack("<I", good[-8:-4])[0]
        footer = good[start:-8].replace(varint(known), varint(rows))
        path.write_bytes(good[:start] + footer + struct.pack("<I", len(footer)) + good[-4:])

    return write


def long_cells(path: Path) -> None:
    """Write a Parquet file of a hundred thousand cells that all are one text of a megabyte."""
    rows = 100_000
    amounts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["7" * (1 << 20)]))
    others = {name: pa.nulls(rows, pa.string()) for name in ("name", "small", "when", "ill")}
    path.write_bytes(parquet(pa.table({**others, "amount": amounts}), compression="zstd", store_schema=False))


def many_rows(path: Path) -> None:
    """Write a Parquet file of sixty million rows that say nothing, in a few kilobytes."""
    piece = private_rows(1).schema
    with pa_parquet.ParquetWriter(path, piece, compression="zstd") as file:
        for _ in range(8):
            file.write_table(pa.table([pa.nulls(1 << 23, each.type) for each in piece], schema=piece), 1 << 23)


def nested(path: Path) -> None:
    """Write a Parquet file with a column of lists in lists, two hundred deep."""
    kind = pa.int8()
    for _ in range(200):
        kind = pa.list_(kind)
    path.write_bytes(parquet(private_rows(4).append_column("deep", pa.nulls(4, kind))))


def wide(path: Path) -> None:
    """Write a Parquet file of ten thousand columns."""
    more = {f"column {place}": pa.nulls(4, pa.int8()) for place in range(10_000)}
    path.write_bytes(
        parquet(pa.table({**dict(zip(private_rows(4).column_names, private_rows(4), strict=True)), **more}))
    )


HEAD = csv_files()[0].partition(b"\n")[0] + b"\n"
NUMERIC = "[columns.a]\nkind = 'numeric'\n"

REFUSED: Mapping[str, Mapping[str, Write]] = {
    "schema": {
        "lists in lists": text("columns = " + "[" * DEEP),
        "mappings in mappings": text("columns = " + "{a = " * DEEP),
        "a key of 100,000 parts": text("a." * DEEP + "b = 1"),
        "a table's name of 100,000 parts": text(f"[{'a.' * DEEP}b]"),
        "5,000 digits": text(f"rows = {DIGITS}\n{NUMERIC}low = 0\nhigh = 1"),
        "9,000 digits of another base": text(f"rows = 0x{'f' * 9000}\n{NUMERIC}low = 0\nhigh = 1"),
        "bounds of 9,000 digits": text(f"{NUMERIC}low = 0x{'f' * 9000}\nhigh = 1"),
        "more bins than numbers": text(f"{NUMERIC}low = 0\nhigh = 1\nbins = 1{'0' * 30}"),
        "a gigabyte of nothing": sparse(b"# ", MANY),
    },
    "groups": {"lists in lists": text("a = " + "[" * DEEP), "a gigabyte of nothing": sparse(b"# ", MANY)},
    "program": {
        "brackets": text("(" * DEEP),
        "brackets in brackets": text("a = " + "(" * DEEP + "1" + ")" * DEEP),
        "5,000 digits": text(f"a = {DIGITS}"),
        "a power of powers": text("a = " + "9**" * 10_000 + "9"),
        "a gigabyte of nothing": sparse(b"# ", MANY),
    },
    "model": {
        **json_bombs(lambda: model_files()[0], "epsilon"),
        "a chain of 100,000 levels": tree(DEEP, lambda node: [node + 1, DEEP + 1]),
        "a declared depth beyond all numbers": tree(1, lambda _: [1, 2], depth=2**62),
        "places that all nodes share": tree(5000, lambda _: [5000, 5001], first=[0] * 5002, children=[5000, 5001]),
        "a gigabyte of nothing": sparse(b"", MANY),
    },
    "maker": json_bombs(lambda: maker_files()[0], "share"),
    "policies": json_bombs(lambda: policy_files()[0], "policies", 0, "caution"),
    "trace": {
        name: with_line(trace_files, '{"version": 1, "kind": "refused", "site": "a", "reason": ' + bomb + "}")
        for name, bomb in bombs().items()
        if not bomb.startswith('"')
    },
    "history": {
        "lists in lists": with_line(history_files, '{"version_":1,"kind":' + "[" * DEEP),
        "a repeat beyond all memory": with_line(history_files, runs(repeat="2147483648")),
        "an amount beyond all memory": with_line(history_files, runs(epsilons='["1e999999999"]')),
        "an amount of nothing": with_line(history_files, runs(epsilons='["0"]')),
        "a column of a thousand million values": with_line(history_files, instance('["a",1000000000,false]')),
    },
    "packed history": {
        "a gigabyte of nothing": zipped(many(b"\0")),
        "a gigabyte of lines": zipped(many(b"\n")),
    },
    "grid": {
        "10**15 cells": npy(cells("(1000000000000000,)")),
        "10**15 cells of no size": npy(cells("(1000000000000000,)", "'<U0'")),
        "sides beyond all numbers": npy(cells(f"({10**30}, {10**30})")),
        "a billion cells that are not there": npy(cells("(1000000000,)"), bytes(80)),
        "sides below nothing": npy(cells("(-1, -8)"), bytes(64)),
        "objects": npy(cells("(1,)", "'|O'"), b"\x80\x04N."),
        "records": npy(cells("(1,)", "[('a', '<i8'), ('b', '<i8')]"), bytes(16)),
        "a header of brackets": npy("(" * 4000 + ")" * 4000),
        "a long header": npy(cells("(8,)") + " " * 10**7, bytes(64), (2, 0)),
        "an archive of a gigabyte": archive,
    },
    "public parquet": {"cells of a megabyte each": long_cells},
    "parquet": {
        "lists in lists": nested,
        "10**12 rows that are not there": claiming(10**12),
        "rows below nothing": claiming(-5),
        "nothing": data(b"PAR1PAR1"),
        "a description longer than the file": data(b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1"),
    },
    "csv": {"a header of a gigabyte": sparse(HEAD[:-1], MANY), "a million names": data(b"," * 10**6 + b"\n")},
    "packed csv": {"a header of a gigabyte": zipped(many(b"a"))},
}

READ: Mapping[str, Mapping[str, Write]] = {
    "model": {
        "few nodes, and 2**300 ways through them": tree(
            300, lambda node: [min(node + 1, 300), 301] * 2, shares=[[0.5, 0.5]] * 302
        ),
        "a hundred thousand roots": tree(1, lambda _: [1, 2], roots=[1] * DEEP),
    },
    "grid": {"a grid of one cell in 30 dimensions": npy(cells(f"({'1, ' * 30})"), b"\1" + bytes(7))},
    "parquet": {"ten thousand columns": wide, "sixty million rows": many_rows},
    "csv": {
        "a line of a gigabyte": sparse(HEAD, MANY, b"\n" + b",,,,\n"),
        "an open quote and a gigabyte behind it": sparse(HEAD + b'"', MANY),
        "a line of nothing but commas": data(HEAD + b"," * (1 << 25) + b"\n"),
    },
    "packed csv": {
        "a quarter of a gigabyte of lines": zipped(many(b"\n", HEAD, MANY >> 2)),
        "a line of a gigabyte": zipped(many(b"a", HEAD)),
    },
}
