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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from jostle import corpora
from jostle.corpora.corpus import KEPT, Role
from jostle.corpora.databases import PublicDatabase, PublicGrid, PublicTable, changed
from jostle.corpora.folders import points_grid, public
from jostle.tables.readers import header
from jostle.tasks.ranges.questions import Sides

KINDS = {"tables": "tabular", "lines": "lines", "maps": "points", "selectors": "tabular"}
"""The folders of databases that are measured on by role: tables, columns of numbers, pairs of them, tables again."""
ROLES: tuple[str, ...] = get_args(Role)
LINE, MAP = (1024,), (64, 64)
"""Cells that a column of numbers, and pairs of them, are counted in."""
FINE = {1: (1 << 18,), 2: (1 << 10, 1 << 10), 3: (1 << 6, 1 << 6, 1 << 6)}
"""The same where questions are asked, and of three columns: these are made coarser for each."""
LABELS, CLASSES, MOST_OF_ONE = 3, (2, 60), 0.97
"""Columns of a table that are asked for beside its own label; how many values they have, and how common one may be."""
MOST_ALIKE = 30
"""A column of fewer values is no axis of three."""


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


def asked_of(folder: Path, axes: int, role: str) -> list[PublicGrid]:
    """Return the grids of a role that questions are asked of, as fine as these are: lines, maps, and cubes."""
    if axes < 3:
        inside = ("lines", "points")[axes - 1]
        found = [(folder / inside / f"{row.name}.csv.gz", row) for row in listed(folder, inside, role)]
        grids = [(points_grid(path, FINE[axes], columns=header(path)[:axes]), row) for path, row in found]
    else:
        grids = [
            (cube, row)
            for row in listed(folder, "tabular", role)
            if (cube := cube_of(folder / "tabular" / f"{row.name}.csv.gz")) is not None
        ]
    return [changed(grid, group=row.group, name=row.name) for grid, row in grids]


def cube_of(path: Path) -> PublicGrid | None:
    """Return the grid of the three columns of numbers of a table that have most values; None where there are none."""
    table: Any
    (table,) = public(path)
    numbers = [name for name in table.attributes if pa.types.is_floating(table.columns[name].type)]
    values = {name: pc.count_distinct(table.columns[name]).as_py() for name in numbers}
    wide = sorted((name for name in numbers if values[name] >= MOST_ALIKE), key=lambda name: -values[name])[:3]
    return points_grid(path, FINE[3], columns=tuple(wide)) if len(wide) == 3 else None


def labelled_of(folder: Path, role: str) -> list[list[PublicTable]]:
    """Return the tables of a role, each with several of its columns as the label; its own comes first."""
    found = []
    for row in listed(folder, "tabular", role):
        path = folder / "tabular" / f"{row.name}.csv.gz"
        (own,) = public(path)
        tables = [own, *(table for name in labels_of(own) for table in public(path, label=name))]
        found.append([changed(table, group=row.group, name=row.name) for table in tables])
    return found


def labels_of(table: Any) -> list[str]:
    """Return other columns of a table that classes can be: those of fewest, of most, and of middling many values."""
    values = {}
    for name in table.attributes:
        counts = table.columns[name].drop_null().value_counts().field("counts").to_numpy()
        if CLASSES[0] <= len(counts) <= CLASSES[1] and counts.max() <= MOST_OF_ONE * len(table):
            values[name] = len(counts)
    names = sorted(values, key=lambda name: (values[name], name))
    return list(dict.fromkeys(names[place * (len(names) - 1) // (LABELS - 1)] for place in range(LABELS) if names))


@frozen
class QuestionRoles:
    """Which questions makers learn from, and which they are judged by alone, as databases have roles."""

    by_kind: Mapping[str, str]
    by_sides: Mapping[str, str]
    by_records: Mapping[str, str]

    def kinds(self, role: str) -> tuple[str, ...]:
        """The kinds of a role; to be judged by, there are all, those that were learned from as well."""
        return tuple(kind for kind, of in self.by_kind.items() if role in {of, "judge"})

    def sides(self, role: str, wanted: Sequence[float]) -> Sides:
        """The sides of a role that are nearest to those wanted: powers of two, or others."""
        if self.by_sides["powers of two"] == role:
            return tuple(2 ** round(np.log2(side)) for side in wanted)
        return tuple(side - (side > 2 and side & (side - 1) == 0) for side in map(round, wanted))

    def records(self, role: str, log_wanted: float) -> int:
        """The number of records of a role that is nearest to the one wanted: in every other half decade."""
        half = int(np.floor(2 * log_wanted))
        if self.by_records["even" if half % 2 == 0 else "odd"] != role:
            log_wanted += 0.5 if half % 4 > 1 else -0.5
        return max(1, round(10**log_wanted))


def question_roles() -> QuestionRoles:
    """The roles of what is asked of grids."""
    facts = json.loads((Path(corpora.__file__).parent / "questions.json").read_text(encoding="utf-8"))["grid"]
    return QuestionRoles(facts["kinds"], facts["sides"], facts["half decades of records"])


def spread(count: int, dimensions: int, seed: int) -> Iterator[tuple[float, ...]]:
    """Yield points that fill the unit cube evenly, however many are taken of them: Sobol's, scrambled by a seed."""
    from scipy.stats import qmc  # noqa: PLC0415 - for training only

    points = qmc.Sobol(dimensions, seed=seed).random_base2(max(0, (count - 1).bit_length()))
    yield from map(tuple, points[:count].tolist())


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
    for role in ROLES:
        for axes in FINE:
            for grid in asked_of(given.folder, axes, role):
                found[grid.digest] = [grid.name, grid.group, role]
        for table in (each for tables in labelled_of(given.folder, role) for each in tables if role != "tune"):
            found[table.digest] = [table.name, table.group, role]
    lines = ",\n".join(f"{json.dumps(digest)}: {json.dumps(known)}" for digest, known in sorted(found.items()))
    KEPT.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(found)} databases in {KEPT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
