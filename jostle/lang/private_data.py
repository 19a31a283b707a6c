"""The private data that a run is about: known by their file before a program is loaded, opened after it was checked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from jostle.errors import JostleError
from jostle.files.content import is_regular, read_content
from jostle.privacy.account import TableFacts
from jostle.privacy.opening import Recognised, Where, at_vault, check_account, recognise, vault_of_people
from jostle.tables.origins import RowOrigin, take_as_private
from jostle.tables.queries import OwnQuery
from jostle.tables.readers import GRID_ENDING, read_array
from jostle.tables.schema import Schema
from jostle.tables.table import Table


@frozen(eq=False, repr=False, slots=False)  # without slots, its rows are read once
class PrivateData:
    """A private file, or query, and what is declared of its rows; they are read when they are first needed."""

    path: Path | None
    """None for a query of a database that is no file."""
    declared: Schema | None
    """None for a grid of counts, whose shape says it."""
    asked: OwnQuery | None = None

    @classmethod
    def at(cls, data: Path | OwnQuery, schema: Path | None, persons: Mapping[str, Any] | None = None) -> PrivateData:
        """The private data in a file or of a query: a grid of counts in .npy, or rows with a schema, and whose.

        From now on nothing in this process reads that file as public.
        """
        path = data.file if isinstance(data, OwnQuery) else data
        if path is not None and not is_regular(path):
            if path.is_dir():
                raise JostleError(f"{path} is a folder, not a file", fix="name a file in it")
            raise JostleError(f"there is no file {path}", fix="check the path")
        if path is not None:
            take_as_private(RowOrigin.of(path))
        if isinstance(data, Path) and data.suffix.lower() == GRID_ENDING:
            if any((persons or {}).values()):
                raise JostleError(f"{path} is a grid of counts, which says of no row whose it is", fix="a file of rows")
            return cls(path, None)
        if schema is None:
            raise JostleError(
                f"there is no schema for {path or 'the query'}",
                why="which values can occur is public, and is never read off private rows",
                fix="--schema FILE.toml; jostle schema infer PUBLIC.csv writes one from public data of the same kind",
            )
        declared = Schema.read(schema).with_persons(**(persons or {}))
        return cls(path, declared, data if isinstance(data, OwnQuery) else None)

    @property
    def facts(self) -> TableFacts:
        """What a vault is told of them; nothing of a grid before it is read."""
        return (
            TableFacts() if self.declared is None else TableFacts.of(self.declared, self.path.name if self.path else "")
        )

    def account(self, vault: Path | None, second_promise: str | None) -> Where:
        """Where their budget is kept; refuse a second promise that nobody gave a reason for, before they are read."""
        if self.path is not None:
            vault = vault_of_people(self.path, self.facts, vault)
        where = at_vault(vault, second_promise, forgotten=vault is None)
        if self.path is not None:
            check_account(self.path, self.facts, where)
        return where

    @cached_property
    def table(self) -> Table:
        """The rows."""
        if self.asked is not None and self.declared is not None:
            asked = self.asked
            return Table.query(asked.database, asked.text, self.declared, each_of_one=asked.each_of_one)
        if self.path is None:
            raise TypeError("private data are a file or a query")
        if self.declared is None:
            table = Table.from_grid(read_array(read_content(self.path)))
            table.origin = evolve(table.origin, file=self.path.absolute())
            return table
        return Table.read(self.path, self.declared)

    @cached_property
    def recognised(self) -> Recognised:
        """The rows with their marks."""
        return recognise(self.table)

    @property
    def schema(self) -> Schema:
        """The public facts about the rows: of rows with a schema, before they are read."""
        return self.recognised.schema if self.declared is None else self.declared
