"""Every reader of files that Jostle has, a line each: what it is given, and what is done with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import good_files
import uses
from attrs import frozen
from good_files import PRIVATE
from mutations import (
    Mutation,
    bytes_damaged,
    in_place,
    json_damaged,
    lines_damaged,
    packed_damaged,
    text_damaged,
)
from vaults import vault_damaged

PRIVATE_CELL = re.compile(f"[{PRIVATE}]|7777")


@frozen
class Reader:
    """One way in which files come into Jostle."""

    name: str
    files: Callable[[], Sequence[bytes]]
    """Good ones."""
    damage: Mutation
    use: Callable[[Path], None]
    ending: str
    stem: str = "file"
    private: bool = False
    """Whether its rows may not be told to anybody, in a message or otherwise."""
    native: bool = False
    """Whether another library's compiled code reads it, which can end the process."""

    forgives: bool = False
    """Whether it passes over what is damaged."""

    def quotes(self, said: str) -> str | None:
        """Return what a message quotes of private rows."""
        found = PRIVATE_CELL.search(said) if self.private else None
        return None if found is None else found[0]


def _footer(data: bytes) -> int:
    """Return where a Parquet file's own description of itself begins."""
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def _either(*mutations: Mutation) -> Mutation:
    return lambda data, chance: chance.choice(mutations)(data, chance)


PARQUET = _either(bytes_damaged, in_place(lambda _: 4), in_place(_footer), in_place(_footer))
GRID = _either(bytes_damaged, in_place(lambda _: 0), text_damaged)

READERS = (
    Reader("schema", good_files.schema_files, text_damaged, uses.use_schema, ".toml"),
    Reader("groups", good_files.group_files, text_damaged, uses.use_groups, ".toml", stem="groups"),
    Reader("program", good_files.program_files, text_damaged, uses.use_program, ".jst"),
    Reader("model", good_files.model_files, json_damaged, uses.use_model, ".json"),
    Reader("maker", good_files.maker_files, json_damaged, uses.use_maker, ".json"),
    Reader("policies", good_files.policy_files, json_damaged, uses.use_policies, ".json"),
    Reader("history", good_files.history_files, lines_damaged(json_damaged), uses.use_history, ".jsonl"),
    Reader(
        "packed history",
        good_files.packed_history_files,
        packed_damaged(lines_damaged(json_damaged)),
        uses.use_history,
        ".jsonl.gz",
    ),
    Reader("notes", good_files.note_files, lines_damaged(json_damaged), uses.use_notes, ".jsonl", forgives=True),
    Reader("trace", good_files.trace_files, lines_damaged(json_damaged), uses.use_trace, ".jsonl"),
    Reader("vault", good_files.vault_files, vault_damaged, uses.use_vault, ".vault", native=True),
    Reader("csv", good_files.csv_files, text_damaged, uses.use_rows, ".csv", private=True, native=True),
    Reader(
        "packed csv",
        good_files.packed_csv_files,
        packed_damaged(text_damaged),
        uses.use_rows,
        ".csv.gz",
        private=True,
        native=True,
    ),
    Reader("public csv", good_files.csv_files, text_damaged, uses.use_public_rows, ".csv", native=True),
    Reader("parquet", good_files.nested_parquet_files, PARQUET, uses.use_rows, ".parquet", private=True, native=True),
    Reader("public parquet", good_files.parquet_files, PARQUET, uses.use_public_rows, ".parquet", native=True),
    Reader("grid", good_files.npy_files, GRID, uses.use_grid, ".npy", private=True, native=True),
    Reader("public sets", good_files.arff_files, text_damaged, uses.use_sets, ".dat"),
)
