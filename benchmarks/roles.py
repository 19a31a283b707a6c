"""Write down the role of every public database that Jostle is made with, in jostle/corpora/roles.json.

    python benchmarks/roles.py ROLES.csv FOLDER_OF_TABLES

ROLES.csv has the columns folder, name, group and role. A database is known by its digest, which says nothing of what is
in it; to have it, files are read whole, those to be judged by as well, and nothing else is made of them.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path

from jostle.corpora.folders import public
from jostle.corpora.roles import KEPT


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roles", type=Path)
    parser.add_argument("tables", type=Path)
    given = parser.parse_args()
    with given.roles.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["folder"] == given.tables.name]
    found = {}
    for row in rows:
        (database,) = public(given.tables / f"{row['name']}.csv.gz")
        found[database.digest] = [row["name"], row["group"], row["role"]]
    KEPT.write_text(json.dumps(dict(sorted(found.items())), indent=0) + "\n", encoding="utf-8")
    print(f"{len(found)} databases in {KEPT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
