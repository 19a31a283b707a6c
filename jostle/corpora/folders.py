"""Read public databases from files: tables from CSV and Parquet, grids from .npy, and grids of points.

Listing a folder reads names and first lines; the rest of a file is read when it is first needed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.corpora.cells import KNOWN_RELATIVES, plain_table
from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import ArrayCells, PublicDatabase, PublicGrid, PublicTable, changed, whole_counts
from jostle.errors import CorpusError, JostleError, PrivateDataError, TableError, shown
from jostle.files.content import FileContent, FileMark, Place, is_regular, path_of
from jostle.files.kinds import FileKind
from jostle.given import given_as, given_flag, given_path
from jostle.tables.encode import Cells
from jostle.tables.frames import PARQUET_ENDINGS, frame_columns, guarded
from jostle.tables.origins import check_public, read_public
from jostle.tables.readers import (
    CSV_ENDINGS,
    GRID_ENDING,
    check_array,
    header,
    read_array,
    read_columns,
)
from jostle.tables.values import as_numbers, by_type, chunks, plain
from jostle.visible import visible


@frozen
class FilePoints:
    """Counts of a file's points in the cells of a grid."""

    path: Path
    columns: tuple[str, ...]
    shape: tuple[int, ...]

    def read(self) -> NDArray[np.int64]:
        """The counts."""
        content = read_public(self.path)
        names = header(content)
        absent = next((name for name in self.columns if name not in names), None)
        if absent is not None:
            raise CorpusError(f"the file {self.path} has no column {absent!r}")
        with guarded(f"the file {self.path} cannot be read as points"):
            return _counts(list(read_columns(content, self.columns).values()), self.shape, f"the file {self.path}")


def points_grid(
    source: Any, shape: tuple[int, ...], *, columns: tuple[str, ...] = ("lon", "lat"), name: str = "points"
) -> PublicGrid:
    """The grid of a file's or a dataframe's points: cells of equal sides between the least and the greatest.

    Points without a number for every column are left out. A file's grid is called like the file.

    >>> import pyarrow as pa
    >>> points_grid(pa.table({"lon": [0, 0, 9], "lat": [0, 1, 1]}), (2, 2)).counts.tolist()
    [[1, 1], [0, 1]]
    """
    if len(columns) != len(shape):
        raise CorpusError(f"the shape {shape} has not one side for each of {len(columns)} columns")
    if isinstance(source, str | Path):
        path = Path(source)
        stem = path.name.partition(".")[0]
        return PublicGrid(stem, FilePoints(path.absolute(), tuple(columns), tuple(shape)))
    check_public(source)
    found, _ = frame_columns(source, tuple(columns))
    return PublicGrid(name, ArrayCells(_counts([found[column] for column in columns], tuple(shape), name)))


def _counts(columns: list[Cells], shape: tuple[int, ...], name: str) -> NDArray[np.int64]:
    points = np.stack([_numbers(cells) for cells in columns], axis=1) if columns else np.empty((0, len(shape)))
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        raise CorpusError(f"{name} has no points")
    low, high = points.min(axis=0), points.max(axis=0)
    # Where all points are at one place along an axis, they are in its first cell.
    bounds = [(first, last if last > first else first + 1.0) for first, last in zip(low, high, strict=True)]
    counts, _ = np.histogramdd(points, bins=list(shape), range=bounds)
    return whole_counts(counts, name)


def _numbers(cells: Cells) -> NDArray[np.float64]:
    if isinstance(cells, list):
        numbers = np.full(len(cells), np.nan)
        for places, values in by_type(cells):
            numbers[places] = as_numbers(values)
        return numbers
    return np.concatenate([as_numbers(plain(chunk)) for chunk in chunks(cells)] or [np.empty(0)])


LOG = logging.getLogger(__name__)
GROUPS = "groups.toml"
"""A file that says which of a folder's databases share people: lines such as census = ["adult", "adult_1995"]."""
GROUPS_FILE = FileKind("list of groups", CorpusError, 'write lines such as group = ["a", "b"]', most_bytes=1 << 25)
TABLE_ENDINGS = CSV_ENDINGS + PARQUET_ENDINGS
Written = tuple[int, int]
"""A file's size, and when it was written, in nanoseconds."""


@frozen
class FileRows:
    """Rows of a CSV or Parquet file."""

    path: Path
    label: str
    mark: FileMark | None = field(default=None, repr=False)
    """Of what is read and nothing else, where that was looked at before; it is no part of what a maker is kept by."""
    written: Written | None = field(default=None, repr=False)
    """Of the file that was looked at: rows of a file that was written anew since are not taken from memory."""

    def read(self) -> pa.Table:
        """The rows in one form."""
        try:
            content = read_public(self.path, self.mark)
            names = header(content)
            columns = read_columns(content, names)
            if not columns:
                raise CorpusError(f"the file {self.path} has no rows")
            with guarded(f"the file {self.path} cannot be read as a table"):
                table = plain_table(columns, self.label)
        except PrivateDataError:
            raise
        except JostleError as mistake:
            raise _naming(self.path, mistake) from None
        if not len(table):
            raise CorpusError(f"the file {self.path} has no rows with a label")
        return table


@frozen
class FileCells:
    """Counts of a grid in a .npy file."""

    path: Path
    mark: FileMark | None = field(default=None, repr=False)
    """As of `FileRows`."""
    written: Written | None = field(default=None, repr=False)

    def read(self) -> NDArray[np.int64]:
        """All rows."""
        try:
            counts = read_array(read_public(self.path, self.mark))
        except TableError as mistake:
            raise _naming(self.path, mistake) from None
        return whole_counts(counts, f"the file {self.path}")


def read_folder(
    folder: str | Path,
    *,
    label: str = "label",
    subfolders: bool = False,
    groups: Mapping[str, Iterable[str]] | None = None,
) -> Corpus:
    """The public databases in a folder's files, and a problem for each file that cannot be one.

    Tables are CSV or Parquet files with a column that is called as *label* says; grids are .npy files of counts. Other
    files are passed over. Databases that share people are put in one group as the folder's groups.toml says, as
    *groups* does, and where they are known to; `grouped` finds out who else shares rows, and reads them all for that.
    """
    root = Path(folder)
    if not root.is_dir():
        raise CorpusError(f"there is no folder {root}", fix="check the path")
    databases = [(path, _looked_at(path, label)) for path in _files(root, subfolders=subfolders)]
    corpus = assembled(root, databases, groups_content(root / GROUPS, read_public), groups or {})
    LOG.info("%s", visible(f"{root}: {len(corpus)} public databases, {len(corpus.problems)} files that are none"))
    return corpus


def groups_content(path: Path, read: Callable[..., FileContent]) -> FileContent | JostleError | None:
    """The content of a folder's list of groups, or why it cannot be read; None where there is none."""
    if not is_regular(path):
        return None
    try:
        return read(path, most=GROUPS_FILE.most_bytes)
    except PrivateDataError:
        raise
    except JostleError as mistake:
        return mistake


def assembled(
    root: Path,
    looked_at: Iterable[tuple[Path, PublicDatabase | JostleError]],
    listed: FileContent | JostleError | None = None,
    groups: Mapping[str, Iterable[str]] | None = None,
) -> Corpus:
    """The databases found in a folder as a corpus, in the groups that its groups.toml lists."""
    databases: dict[str, PublicDatabase] = {}
    problems: list[JostleError] = []
    for path, database in looked_at:
        if isinstance(database, JostleError):
            problems.append(database)
            continue
        name = database.name
        if name in databases:  # nursery.csv and nursery.parquet, or two of one name in two subfolders
            name = path.relative_to(root).as_posix()
        databases[name] = database if name == database.name else changed(database, name=name)
    corpus = Corpus(tuple(databases.values()), tuple(problems))
    return _in_all_groups(corpus, listed, groups or {})


def public(
    path: str | Path,
    *,
    label: str = "label",
    subfolders: bool = False,
    groups: Mapping[str, Iterable[str]] | None = None,
) -> Corpus:
    """The public databases in a folder, or the one in a file.

    Args:
        path: a folder, or a file.
        label: the column that is to be predicted, where a file does not say.
        subfolders: whether folders in it are looked into.
        groups: names of databases that share rows, by group.

    Raises:
        CorpusError: there is no such folder or file, or nothing in it can be read.

    >>> public("no/such/folder")
    Traceback (most recent call last):
    jostle.errors.CorpusError: there is no file or folder no/such/folder
      fix: check the path
    """
    place = given_path(path, CorpusError)
    given_as(label, str, "the name of a column", fix='label="income"', error=CorpusError)
    given_flag(subfolders, "subfolders", error=CorpusError)
    if groups is not None:
        fix = 'groups={"census": ["adult", "income"]}'
        given_as(groups, Mapping, "a mapping from groups to names", fix=fix, error=CorpusError)
    if place.is_dir():
        return read_folder(place, label=label, subfolders=subfolders, groups=groups)
    if not is_regular(place):
        raise CorpusError(f"there is no file or folder {place}", fix="check the path")
    if stem_of(place) is None:
        raise CorpusError(
            f"the file {place} has no ending that says how to read it",
            fix=f"one of {', '.join((*TABLE_ENDINGS, GRID_ENDING))}",
        )
    return Corpus((database_in(place, label),))


def _files(root: Path, *, subfolders: bool) -> Iterator[Path]:
    paths = root.rglob("*") if subfolders else root.iterdir()
    yield from sorted(path for path in paths if stem_of(path) is not None and is_regular(path))


def stem_of(path: Path) -> str | None:
    """A file's name without the ending that says what it is, or None if it has no such ending."""
    name = path.name
    for ending in sorted((*TABLE_ENDINGS, GRID_ENDING), key=len, reverse=True):
        if name.lower().endswith(ending) and len(name) > len(ending) and not name.startswith("."):
            return name[: -len(ending)]
    return None


def _looked_at(path: Path, label: str) -> PublicDatabase | JostleError:
    """The database in a file, or what is wrong with it; a private file is refused with all that is beside it."""
    try:
        return database_in(path, label)
    except PrivateDataError:
        raise
    except JostleError as mistake:
        return mistake


def _written(path: Path) -> Written | None:
    """When a file was written, or None where that cannot be told."""
    with suppress(OSError):
        status = path.stat()
        return status.st_size, status.st_mtime_ns
    return None


def database_in(place: Place, label: str = "label") -> PublicDatabase:
    """The database in a file, after a look at how it begins; in what was read of one, and in nothing else."""
    path, mark = path_of(place), place.mark if isinstance(place, FileContent) else None
    check_public(place)
    stem = stem_of(path) or path.name
    if path.suffix.lower() == GRID_ENDING:
        try:
            check_array(place)
        except TableError as mistake:
            raise _naming(path, mistake) from None
        return PublicGrid(stem, FileCells(path.absolute(), mark, _written(path)))
    try:
        names = header(place)
    except JostleError as mistake:
        raise _naming(path, mistake) from None
    if names.count(label) != 1 or len(set(names)) != len(names):
        twice = next((name for name in names if names.count(name) > 1), None)
        raise CorpusError(
            f"the file {path} has no column {label!r} to predict"
            if twice is None
            else f"the file {path} has two columns {twice!r}",
            fix='public(path, label="..."), or of points, points_grid(path, shape)'
            if twice is None
            else "give each a name of its own",
        )
    return PublicTable(stem, FileRows(path.absolute(), label, mark, _written(path)), label)


def _naming(path: Path, mistake: JostleError) -> CorpusError:
    title = mistake.title if str(path) in mistake.title else f"the file {path} is not read: {mistake.title}"
    return CorpusError(title, why=mistake.why, fix=mistake.fix)


def _in_all_groups(
    corpus: Corpus, listed: FileContent | JostleError | None, given: Mapping[str, Iterable[str]]
) -> Corpus:
    try:
        groups = {} if listed is None else _listed_groups(listed)
    except JostleError as mistake:
        groups = {}
        corpus = evolve(corpus, problems=(*corpus.problems, mistake))
    present = [[name for name in names if name in corpus] for names in KNOWN_RELATIVES]
    corpus = corpus.in_groups({names[0]: names for names in present if names})
    return corpus.in_groups(groups).in_groups(given)


def _listed_groups(listed: FileContent | JostleError) -> dict[str, list[str]]:
    if isinstance(listed, JostleError):
        raise listed
    file = GROUPS_FILE.at(listed.path)
    facts = file.toml(file.decoded(listed.data))
    for group, names in facts.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise file.damaged(f"has a group {shown(group)} that is no list of names")
    return facts
