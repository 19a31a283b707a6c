"""Time trees on made-up tables as rows and attributes grow.

python benchmarks/trees_speed.py [--results docs/benchmarks/trees_speed.json]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.options import get

SIZES = ((125_000, 14), (250_000, 14), (500_000, 14), (1_000_000, 14), (1_000_000, 7), (1_000_000, 28))
OPTIONS = ("FriedmanSchuster(depth=5)", "Mohammed(depth=5)", "BayesTree", "Jagannathan(depth=5)", "RandomForest")
REPEATS = 3


def main() -> None:
    """Time every Option on every size, best of a few runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("docs/benchmarks/trees_speed.json"))
    given = parser.parse_args()
    found = []
    for rows, attributes in SIZES:
        table = made_up(rows, attributes)
        for option in OPTIONS:
            seconds = min(timed(option, table) for _ in range(REPEATS))
            found.append({"rows": rows, "attributes": attributes, "option": option, "seconds": round(seconds, 4)})
            print(found[-1], flush=True)
    given.results.write_text(json.dumps(found))


def timed(option: str, table: Table) -> float:
    """Return the seconds of one fit, the table being in memory already."""
    learn: Any = get(option)
    start = time.perf_counter()
    learn(jostle.rehearse(table, epsilon=1), epsilon=1)
    return time.perf_counter() - start


def made_up(rows: int, attributes: int) -> Table:
    """Return a table of attributes by turns numeric and of 8 values, whose label follows from two of them."""
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    data: dict[str, Any] = {}
    for place in range(attributes):
        columns[f"a{place}"] = Categorical(map(str, range(8))) if place % 2 else Numeric(0, 1)
        data[f"a{place}"] = random.integers(0, 8, rows).astype(str) if place % 2 else random.random(rows)
    label = data["a0"] + 0.2 * data["a1"].astype(int) + random.normal(0, 0.3, rows) > 1
    schema = Schema({**columns, "label": Categorical(["no", "yes"])}, label="label")
    return Table.from_frame(pa.table({**data, "label": np.where(label, "yes", "no")}), schema)


if __name__ == "__main__":
    main()
