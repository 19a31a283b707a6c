"""The public databases that Jostle is made with, by what they are used for; how all benchmarks read them.

    python benchmarks/roles.py FOLDER

writes the role of each into jostle/corpora/roles.json. FOLDER has roles.csv, with the columns folder, name, group and
role, and the folders it names: tabular, lines, points and dpbench. A database is known by its digest, which says
nothing of what is in it; to have it, files are read whole, those to be judged by as well, and nothing else is made of
them.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import NamedTuple, get_args

from jostle.corpora.corpus import KEPT, Role
from jostle.corpora.databases import PublicDatabase
from jostle.corpora.folders import points_grid, public
from jostle.tables.readers import header

KINDS = {"tables": "tabular", "lines": "lines", "maps": "points", "selectors": "tabular"}
"""The folders of databases that are measured on by role: tables, columns of numbers, pairs of them, tables again."""
ROLES: tuple[str, ...] = get_args(Role)
LINE, MAP = (1024,), (64, 64)
"""Cells that a column of numbers, and pairs of them, are counted in."""


class Listed(NamedTuple):
    """A database as roles.csv lists it."""

    folder: str
    name: str
    group: str
    role: str


def listed(folder: Path, inside: str | None = None, role: str | None = None) -> list[Listed]:
    """Return the databases of a folder, of those inside one of its folders, or of a role."""
    with (folder / "roles.csv").open(newline="", encoding="utf-8") as file:
        rows = [Listed(**row) for row in csv.DictReader(file)]
    return [each for each in rows if inside in {None, each.folder} and role in {None, each.role}]


def database_of(folder: Path, name: str) -> PublicDatabase:
    """The database of a row of roles.csv."""
    if folder.name == "dpbench":
        (path,) = folder.rglob(f"{name}.npy")
        (grid,) = public(path)
        return grid
    path = folder / f"{name}.csv.gz"
    if folder.name == "tabular":
        (table,) = public(path)
        return table
    shape = LINE if folder.name == "lines" else MAP
    return points_grid(path, shape, columns=header(path)[: len(shape)])


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    found = {
        database_of(given.folder / each.folder, each.name).digest: [each.name, each.group, each.role]
        for each in listed(given.folder)
        if each.folder != "text"
    }
    lines = ",\n".join(f"{json.dumps(digest)}: {json.dumps(known)}" for digest, known in sorted(found.items()))
    KEPT.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(found)} databases in {KEPT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
