"""Private files: how they are known from their vaults, and how a public file is told from a private one.

A file that has a vault beside it (`rows.csv.vault` beside `rows.csv`) is private to every command and process, whatever
it is about to be read as. Which files a program may read as public is said by whoever runs it; so what is here guards
against a mistake of theirs, not against whoever can write files: a copy without a row or a column is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import JostleError, PrivateDataError
from jostle.files.content import MOST_BYTES, FileContent, FileMark, is_there, read_content, real_path
from jostle.tables.arrays import read_array
from jostle.tables.engines import MemorySource, RowSource
from jostle.tables.fingerprint import Fingerprint, fingerprint
from jostle.tables.readers import FileSource, header
from jostle.tables.schema import Schema

__all__ = ["GRID_ENDING", "PrivateFile", "check_public", "known_vault", "read_public", "vault_beside"]

GRID_ENDING = ".npy"
VAULT_ENDING = ".vault"
MOST_AXES = 4
"""A grid of more is compared with its axes as they are, and not in every order."""


def vault_beside(data: Path) -> Path:
    """The path of a private file's vault, if nobody says otherwise: beside the file itself."""
    real = real_path(data)
    return real.with_name(real.name + VAULT_ENDING)


def check_public(path: Path) -> None:
    """Refuse a file that has a vault beside it, under any name that it has in its folder: it is private."""
    vault = known_vault(path)
    if vault is not None:
        raise PrivateDataError(
            f"{str(path)!r} is private",
            why=f"its budget is kept in {str(vault)!r}, and what is read as public has no noise on it",
            fix="name public data, in a folder of its own; protect(table, epsilon=...) opens private data",
        )


def known_vault(path: Path) -> Path | None:
    """The vault beside a file, under any name that it has in its folder; None where there is none."""
    return next(filter(is_there, _vaults(path)), None)


def _vaults(path: Path) -> Iterator[Path]:
    """Yield where a file's vault would be: beside it as it is named, where it is, and under its other names there."""
    named = path.absolute()
    yield named.with_name(named.name + VAULT_ENDING)
    yield vault_beside(path)
    real = real_path(path)
    try:
        if real.stat().st_nlink > 1:
            for vault in real.parent.glob(f"*{VAULT_ENDING}"):
                other = vault.with_name(vault.name.removesuffix(VAULT_ENDING))
                if is_there(other) and other.samefile(real):
                    yield vault
    except (OSError, ValueError):
        return


def read_public(path: Path, mark: FileMark | None = None, most: int = MOST_BYTES) -> FileContent:
    """A public file's bytes, so many at most; with a mark, only if they are still those that it was taken of."""
    check_public(path)
    content = read_content(path, most)
    if mark is not None and content.mark != mark:
        raise PrivateDataError(
            f"{str(path)!r} is not what it was when it was named as public",
            why="another file could be in its place by now",
            fix="run the same command again",
        )
    return content


@frozen(eq=False, repr=False)
class PrivateFile:
    """What a private file is known by, whatever its name: as private as its rows, and kept by their owner alone."""

    path: Path
    inode: tuple[int, int]
    digest: str
    schema: Schema
    marks: Fingerprint

    @classmethod
    def of(cls, path: Path, schema: Schema, marks: Fingerprint) -> PrivateFile:
        """The identity of the file whose rows have these marks."""
        state = path.stat()
        return cls(path, (state.st_dev, state.st_ino), FileSource(path, schema).identity.hex(), schema, marks)

    def check_other(self, content: FileContent) -> None:
        """Refuse a file that is the private one, a copy of it, or holds the same rows in another format or order."""
        found = self._likeness(content)
        if found is not None:
            raise PrivateDataError(
                f"{str(content.path)!r} {found} {str(self.path)!r}",
                why="that is the private data, and what is read as public has no noise on it",
                fix="take it out of there, or name other folders or files with --public",
            )

    def _likeness(self, content: FileContent) -> str | None:
        """How a file is like the private one, in words, or None."""
        if content.inode == self.inode:
            return "is the same file as"
        if content.mark.digest == self.digest:
            return "is a copy of"
        return "has the same rows as" if self._has_rows(content) else None

    def _has_rows(self, content: FileContent) -> bool:
        """Whether a file has the private rows, read in any way that the private schema allows."""
        if self.marks.rows is None:  # all tables without a row are alike
            return False
        try:
            return any(fingerprint(source).rows == self.marks.rows for source in self._read(content))
        except JostleError:
            return False  # what cannot be read as the private rows are does not hold them

    def _read(self, content: FileContent) -> Iterator[RowSource]:
        if content.path.name.lower().endswith(GRID_ENDING):
            yield from self._turned(read_array(content))
        elif not set(self.schema.sources) - set(header(content)):
            yield FileSource(content, self.schema)

    def _turned(self, counts: NDArray[np.generic]) -> Iterator[RowSource]:
        """Yield the records of a grid as rows under the private schema, its axes in every order that fits."""
        sizes = tuple(self.schema[name].size for name in self.schema.names)
        if counts.dtype.kind not in "iuf" or counts.ndim != len(sizes) or not np.all(np.isfinite(counts)):
            return
        with np.errstate(invalid="ignore"):  # what is too large is told from what it becomes
            whole = counts.astype(np.int64)
        if not np.array_equal(whole, counts) or np.any(whole < 0):
            return
        orders = permutations(range(whole.ndim)) if whole.ndim <= MOST_AXES else [tuple(range(whole.ndim))]
        for order in orders:
            turned = whole.transpose(order)
            if turned.shape == sizes:
                yield MemorySource.of_grid(turned, self.schema, b"")
