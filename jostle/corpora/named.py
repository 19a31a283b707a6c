"""The files that a program may read as public: those that whoever runs it named, as they were before it was loaded.

A program says `public("grids")`; which folders and files that can be is not its decision. They are named with
`--public`, looked at once, and listed with a hash of each. What a program opens is looked up in that list and nowhere
else, and is read only while it still has that hash. A file is refused for being the private one, or for having a vault
beside it (see `tables.origins`), and never for what it says.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import field, frozen

from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.folders import GROUPS, assembled, database_in, groups_content, stem_of
from jostle.errors import CorpusError, JostleError, PrivateDataError
from jostle.files.content import DIGEST_BYTES, FileContent, is_regular, real_path
from jostle.tables.origins import read_public

__all__ = ["NamedFiles", "PublicFiles"]

MOST_FILES = 10_000


@frozen(eq=False)
class NamedFiles:
    """Public databases, and a hash of the files that they are in."""

    corpus: Corpus
    digest: str


@frozen
class PublicFiles:
    """A list of public files: nothing else is opened for a program."""

    base: Path
    """The folder that paths are seen from."""
    paths: tuple[str, ...]
    """As they were named."""
    databases: int
    """How many there are in all of them."""
    digest: str
    """Of all files: what tells one list from another."""
    places: Mapping[Path, NamedFiles | JostleError] = field(eq=False, repr=False)
    """Folders, and files by their folder's real path and the name they have there: or what is wrong with one."""

    @classmethod
    def named(cls, paths: Iterable[str | Path]) -> PublicFiles:
        """The list of all public files in some folders, or at some paths.

        Refuse, naming the file, whatever is private: what was opened as private, or is about to be, and a file that has
        a vault beside it.
        """
        given = [Path(path) for path in paths]
        look = _Look()
        for source in given:
            if source.is_dir():
                look.into(real_path(source))
            elif is_regular(source) and stem_of(source) is not None:
                look.at(real_path(source.parent) / source.name)
            else:
                raise CorpusError(
                    f"there is no folder of public data {str(source)!r}", fix="--public a folder, or one of its files"
                )
        return cls(
            Path.cwd(),
            tuple(map(str, given)),
            len(look.marks),
            _hash(look.marks.items()),
            {**look.folders, **look.files},
        )

    def at(self, path: str) -> NamedFiles | None:
        """The files listed of a path; None where it leads elsewhere or nowhere, and nothing says which."""
        place = self.base / path
        named = real_path(place.parent) / place.name
        listed = self.places.get(named) or self.places.get(real_path(place))
        if isinstance(listed, JostleError):
            raise listed
        return listed


@frozen(eq=False)
class _Look:
    """A look at all files in some folders, and what was found."""

    folders: dict[Path, NamedFiles] = field(factory=dict)
    files: dict[Path, NamedFiles | JostleError] = field(factory=dict)
    marks: dict[str, str] = field(factory=dict)

    def into(self, root: Path) -> None:
        """Look at a folder and all below it; links to other folders are not followed."""
        waiting = [root]
        while waiting:
            folder = waiting.pop()
            if folder in self.folders:
                continue
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue  # what cannot be listed is not listed
            waiting += [folder / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            names = [entry.name for entry in entries if stem_of(Path(entry.name)) is not None]
            self.folders[folder] = self._listing(folder, names)

    def _listing(self, folder: Path, names: Iterable[str]) -> NamedFiles:
        paths = [folder / name for name in names if is_regular(folder / name)]
        looked_at = [(path, self.at(path)) for path in paths]
        listed = groups_content(folder / GROUPS, read_public)
        corpus = assembled(folder, [(path, _database(looked)) for path, looked in looked_at], listed)
        marks = {path.name: self.marks.get(str(path), "") for path in paths}
        if isinstance(listed, FileContent):
            marks[GROUPS] = listed.mark.digest
        return NamedFiles(corpus, _hash(marks.items()))

    def at(self, path: Path) -> NamedFiles | JostleError:
        """Look at a file, once."""
        if path not in self.files:
            if len(self.files) == MOST_FILES:
                raise CorpusError(
                    f"there are more than {MOST_FILES:,} files in what is named as public",
                    why="each is looked at before a program is loaded",
                    fix="--public the folders that the program names, and not one above them",
                )
            self.files[path] = self._looked_at(path)
        return self.files[path]

    def _looked_at(self, path: Path) -> NamedFiles | JostleError:
        try:
            content = read_public(path)
            listing = NamedFiles(Corpus((database_in(content),)), content.mark.digest)
        except PrivateDataError:
            raise
        except JostleError as mistake:
            return mistake
        self.marks[str(path)] = listing.digest
        return listing


def _database(known: NamedFiles | JostleError) -> PublicDatabase | JostleError:
    return known if isinstance(known, JostleError) else next(iter(known.corpus))


def _hash(named: Iterable[tuple[str, str]]) -> str:
    """A hash of names and the hashes that go with them."""
    listed = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for name, digest in sorted(named):
        listed.update(os.fsencode(name) + b"\0" + digest.encode() + b"\0")
    return listed.hexdigest()
