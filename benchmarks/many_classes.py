"""Trees on made-up tables of many classes that few columns nearly fix.

    python benchmarks/many_classes.py RESULTS.csv

A row a run: kind of table, classes, columns, rows, epsilon, way, and its losses by all judges. A label follows from a
column of as many values (one), from who is at home, who is away and who has the ball (teams), from three columns of a
few values together (product), from cuts of four numbers (cuts), from habits in twelve columns (habits), from a group
and a place in it (group), from one column of many uneven values, of half of which another column says the rest (wide,
wide and few). One row in thirty has any class. All other columns say nothing.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import warnings
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jostle.choice.learning.rehearse import seed_of
from jostle.corpora.databases import FrameRows, PublicTable
from jostle.corpora.parts import TableSpec
from jostle.options import get
from jostle.privacy.opening import rehearse
from jostle.tasks import CLASSIFICATION

KINDS = ("one", "teams", "product", "cuts", "habits", "group", "wide", "wide and few")
CLASSES, ROWS, EPSILONS = (8, 32, 60), (500, 3000, 20_000), ("1/20", "1/2", "5")
WIDTHS = (8, 20, 57)
WAYS = ("PooledTree", "Mohammed(depth=2)", "Mohammed", "Mohammed(depth=4)")
NOISE = 1 / 30


def uneven(chance: np.random.Generator, rows: int, values: int, skew: float) -> Any:
    """Return codes of which the first are the commonest."""
    weight = 1 / np.arange(1, values + 1) ** skew
    return chance.choice(values, rows, p=weight / weight.sum())


def cut_up(chance: np.random.Generator, numbers: Any, classes: int) -> Any:
    """Return the box of each row: the largest box is cut in two until there are so many."""
    sides = numbers.shape[1]
    boxes = [(np.zeros(sides), np.ones(sides))]
    while len(boxes) < classes:
        low, high = boxes.pop(int(np.argmax([np.prod(high - low) for low, high in boxes])))
        side = chance.integers(sides)
        ends, begins = high.copy(), low.copy()
        ends[side] = begins[side] = low[side] + (high[side] - low[side]) * chance.uniform(0.3, 0.7)
        boxes += [(low, ends), (begins, high)]
    return sum(place * ((numbers >= low) & (numbers < high)).all(axis=1) for place, (low, high) in enumerate(boxes))


def told(chance: np.random.Generator, kind: str, rows: int, classes: int) -> tuple[dict[str, Any], Any]:
    """Return the columns that say something, and the label."""
    label = uneven(chance, rows, classes, float(chance.choice([0, 0.5, 1])))
    if kind in {"one", "group"}:
        key = chance.permutation(classes)[label]
        return {"key": key} if kind == "one" else {"group": key // 4, "place": key % 4}, label
    if kind == "habits":
        columns = {}
        for place in range(12):
            values = int(chance.integers(2, 9))
            usual = chance.integers(values, size=classes)[label]
            columns[f"habit {place}"] = np.where(chance.random(rows) < 0.8, usual, chance.integers(values, size=rows))
        return columns, label
    if kind == "teams":
        home, side = chance.integers(classes, size=rows), chance.integers(2, size=rows)
        away = (home + 1 + chance.integers(classes - 1, size=rows)) % classes
        return {"home": home, "away": away, "side": side}, np.where(side, home, away)
    if kind == "product":
        values = math.ceil(classes ** (1 / 3))
        parts = chance.integers(values, size=(3, rows))
        named = chance.permutation(np.arange(values**3) % classes)
        return {f"part {place}": part for place, part in enumerate(parts)}, named[values ** np.arange(3) @ parts]
    if kind == "cuts":
        numbers = chance.random((rows, 4))
        return {f"number {place}": numbers[:, place] for place in range(4)}, cut_up(chance, numbers, classes)
    many = int(chance.integers(30, 90))
    few = int(chance.integers(15, 40)) if kind == "wide" else 3
    wide, other = chance.permutation(many)[uneven(chance, rows, many, 1.1)], uneven(chance, rows, few, 1.0)
    deep = chance.random(many) < 1 / 2
    said = chance.integers(classes, size=(many, few))
    return {"wide": wide, "other": other}, np.where(deep[wide], said[wide, other], said[wide, 0])


def made(kind: str, classes: int, width: int, rows: int) -> PublicTable:
    """Return a table."""
    chance = np.random.default_rng([KINDS.index(kind), classes, width, rows])
    many = rows * 5 // 4 + 10
    columns, label = told(chance, kind, many, classes)
    label = np.where(chance.random(many) < NOISE, chance.integers(classes, size=many), label)
    for place in range(len(columns), width):
        values = int(chance.choice([2, 3, 5, 8, 20, 40]))
        number = chance.random() < 2 / 5
        columns[f"nothing {place}"] = chance.random(many) if number else uneven(chance, many, values, 1)
    names = list(columns)
    chance.shuffle(names)
    arrays = {
        name: pa.array(columns[name] if columns[name].dtype == float else [f"v{code:03d}" for code in columns[name]])
        for name in names
    }
    table = pa.table({**arrays, "label": pa.array([f"c{code:02d}" for code in label])})
    return PublicTable(f"{kind}, {classes} classes, {width} columns, {rows} rows", FrameRows(table), "label")


def main() -> int:
    """Write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of few rows, which are asked for
    judges = CLASSIFICATION.rehearsal.judges
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "classes", "columns", "rows", "epsilon", "way", *(judge.name for judge in judges)])
        for number, (kind, classes, rows) in enumerate(product(KINDS, CLASSES, ROWS)):
            width = WIDTHS[number % len(WIDTHS)]
            instance = CLASSIFICATION.rehearsal.instance(made(kind, classes, width, rows), TableSpec(rows=rows))
            for epsilon, way in product(EPSILONS, WAYS):
                db = rehearse(instance.table, epsilon=epsilon, seed=seed_of(instance.key, way, epsilon, 0))
                model: Any = get(way)(db, epsilon=Fraction(epsilon))
                losses = [judge.loss(instance, model) for judge in judges]
                writer.writerow([kind, classes, width, rows, epsilon, way, *losses])
    return 0


if __name__ == "__main__":
    sys.exit(main())
