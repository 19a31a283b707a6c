"""Learn what share of epsilon a look at how many rows persons have is worth, and judge it by others.

    python benchmarks/persons_look.py learn|judge FOLDER [--trials 4] [--page docs/benchmarks/persons.md]

FOLDER is the one that `benchmarks/roles.py` reads. A situation is a table with several rows a person, how many of these
a schema declares, and the cells that are counted; what is lost is by how many rows the counts are off, in sum. *Learn*
runs `with_fewer_rows` with each share taken everywhere, on generated shapes (geometric, Zipf, lognormal) and on tables
of the roles tune and learn, of which a column of many values is taken for who each row is of. It searches a formula for
the logarithm of what each share loses over 5%, as `jostle train --synthesize` does, says what choosing by formulas is
worth on groups left out, and prints them as they stand in `jostle/options/rows_of_persons.py`. *Judge* runs what
stands there, beside each share everywhere, on other shapes and on tables to be judged by; also models. Either
is kept in persons.json beside the page, which `benchmarks/persons.py` writes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

import jostle
from jostle import Numeric, Schema, Table
from jostle.choice.learning.formulas import TermSearch, TermSum
from jostle.options.rows_of_persons import LOOK, SHARES, with_fewer_rows
from jostle.sites import force

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "persons.md"
EPSILONS = ("1/20", "1/5", "1", "5")
FIXED = "5%"
"""What all is held against."""
SHAPES_LEARNED, SHAPES_JUDGED = 60, 60
MOST_ROWS = 60_000
FOLDS = 10
INPUTS = ("noise", "cells", "most", "epsilon")
Floats = NDArray[np.float64]
Shape = Callable[[np.random.Generator, int], NDArray[np.int64]]


@frozen(eq=False)
class Situation:
    """Rows of persons and the cells they are in, and how many rows of a person are declared."""

    group: str
    table: Table
    truth: NDArray[np.int64]
    most: int

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.truth)

    def off(self, epsilon: Fraction, seed: int, forced: dict[str, str]) -> float:
        """Rows that counts are off by, in sum, of all rows."""
        db = jostle.rehearse(self.table, epsilon=epsilon, seed=seed)
        with force(forced, must_occur=False) if forced else nullcontext():
            probe, rest = with_fewer_rows(db, epsilon, self.cells, "grid")
        return float(np.abs(np.asarray(probe.histogram("cell", epsilon=rest)) - self.truth).sum() / self.truth.sum())

    def seen(self, epsilon: Fraction) -> tuple[float, ...]:
        """What a choice there sees, in the order of INPUTS."""
        noise = self.cells * self.most / float(epsilon)
        return noise, float(self.cells), float(self.most), float(epsilon)


def _geometric(chance: np.random.Generator, persons: int) -> NDArray[np.int64]:
    return chance.geometric(2 ** -chance.uniform(0.5, 5), persons)


def _zipf(chance: np.random.Generator, persons: int) -> NDArray[np.int64]:
    top, power = 10 ** chance.uniform(1.5, 3.5), chance.uniform(0.7, 1.5)
    return np.maximum(1, (top / np.arange(1, persons + 1) ** power).astype(np.int64))


def _lognormal(chance: np.random.Generator, persons: int) -> NDArray[np.int64]:
    return np.ceil(chance.lognormal(chance.uniform(0, 3), chance.uniform(0.4, 1.4), persons)).astype(np.int64)


def _two_kinds(chance: np.random.Generator, persons: int) -> NDArray[np.int64]:
    """Most have a row or two, a few have many."""
    many = chance.random(persons) < chance.uniform(0.01, 0.3)
    return np.where(many, chance.poisson(2 ** chance.uniform(3, 7), persons), chance.integers(0, 2, persons)) + 1


def _negative_binomial(chance: np.random.Generator, persons: int) -> NDArray[np.int64]:
    size, mean = chance.uniform(0.3, 3), 2 ** chance.uniform(0, 5)
    return chance.negative_binomial(size, size / (size + mean), persons) + 1


def _level(chance: np.random.Generator, persons: int) -> NDArray[np.int64]:
    return chance.integers(1, int(2 ** chance.uniform(1, 7)) + 1, persons)


LEARNED: dict[str, Shape] = {"geometric": _geometric, "Zipf": _zipf, "lognormal": _lognormal}
JUDGED: dict[str, Shape] = {"two kinds": _two_kinds, "negative binomial": _negative_binomial, "level": _level}
PERSONS = {
    "learn": {
        "compas": "c_charge_desc",
        "cylinder_bands": "customer",
        "lending_club": "funded_amnt",
        "diabetes130": "diag_1",
        "diamonds": "price",
        "adult": "fnlwgt",
        "acs_national_income": "INDP",
        "card_overdue": "DAYS_EMPLOYED",
        "online_shoppers": "product_related",
        "fire_brigade_animals": "property_type",
        "mpls_stops": "neighborhood",
        "page_blocks": "area",
    },
    "judge": {
        "museum_kind": "Admin_area",
        "bird_strike": "species",
        "covid_test": "clinic_name",
        "shop_churn": "CashbackAmount",
        "car_claim_fr": "LicAge",
        "teen_profiles": "friends",
        "compute_jobs": "compounds",
        "okcupid_sex": "ethnicity",
    },
}
"""A column of many values, taken for who each row is of."""
MODELS = ("PooledTree", "MarginalRegression")


def made(shapes: dict[str, Shape], count: int, seed: int) -> Iterator[Situation]:
    """Yield situations of generated rows, shapes in turn; cells are crowded or not."""
    chance = np.random.default_rng(seed)
    for number in range(count):
        name = [*shapes][number % len(shapes)]
        rows = shapes[name](chance, int(10 ** chance.uniform(2.3, 4.3)))
        rows = chance.permutation(rows)
        rows = rows[: max(50, int(np.searchsorted(np.cumsum(rows), MOST_ROWS)))]
        cells = int(10 ** chance.uniform(1, 3.7))
        shares = chance.dirichlet(np.full(cells, 10 ** chance.uniform(-1.3, 1)))
        cell = chance.choice(cells, int(rows.sum()), p=shares)
        yield situation(f"{name} {number}", np.repeat(np.arange(len(rows)), rows), cell, cells, chance)


def real(folder: Path, role: str, seed: int) -> Iterator[Situation]:
    """Yield situations of public tables: cells are of one or two of their columns."""
    chance = np.random.default_rng(seed)
    for name, person in PERSONS[role].items():
        frame = pd.read_csv(folder / "tabular" / f"{name}.csv.gz", keep_default_na=False, na_values=[""], dtype=str)
        frame = frame.sample(min(len(frame), MOST_ROWS), random_state=1)
        others = [column for column in frame.columns if column != person and 2 <= frame[column].nunique() <= 200]
        for _ in range(3):
            names = chance.choice(others, 2, replace=False)
            codes, cells = np.zeros(len(frame), dtype=np.int64), 1
            for column in names:
                values = frame[column].astype("category").cat.codes.to_numpy() + 1
                codes, cells = codes * (values.max() + 1) + values, cells * int(values.max() + 1)
            yield situation(name, frame[person].astype("category").cat.codes.to_numpy(), codes, cells, chance)


def situation(
    group: str, who: NDArray[Any], cell: NDArray[np.int64], cells: int, chance: np.random.Generator
) -> Situation:
    """One in which 2 to 256 rows of a person are declared."""
    most = int(2 ** chance.integers(1, 9))
    schema = Schema({"cell": Numeric(0, cells, bins=cells, unit=1)}).with_persons("who", most)
    table = Table.from_frame({"who": who, "cell": cell}, schema)
    return Situation(group, table, np.bincount(cell, minlength=cells), most)


def measured(situations: list[Situation], ways: dict[str, dict[str, str]], trials: int) -> dict[str, Any]:
    """What each way loses, situation by situation and budget by budget: geometric means over trials, of equal seeds."""
    seen, groups, logs = [], [], []
    for number, each in enumerate(situations):
        for epsilon in map(Fraction, EPSILONS):
            seen.append(each.seen(epsilon))
            groups.append(each.group)
            logs.append(
                [
                    float(np.mean([math.log(each.off(epsilon, trial, forced)) for trial in range(trials)]))
                    for forced in ways.values()
                ]
            )
        print(number, each.group, each.cells, each.most, np.round(np.exp(logs[-1]), 3).tolist(), flush=True)
    return {"ways": [*ways], "seen": seen, "groups": groups, "logs": logs, "trials": trials}


def formulas(seen: Floats, logs: Floats, groups: list[str], fixed: int) -> list[TermSum]:
    """For each way a formula of the logarithm of what it loses over the fixed one."""
    weights = np.ones(len(seen))
    search = TermSearch.of(seen, INPUTS, weights, len(set(groups)))
    return [search.fitted(logs[:, way] - logs[:, fixed])[0] for way in range(logs.shape[1])]


def chosen(sums: list[TermSum], seen: Floats) -> NDArray[np.intp]:
    """The way of the least expected loss."""
    return np.argmin([each.values(seen, INPUTS) for each in sums], axis=0)


def left_out(found: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """By how much choosing by formulas loses less than each way everywhere, on groups left out; with its error."""
    seen, logs, groups = np.array(found["seen"]), np.array(found["logs"]), found["groups"]
    fixed = found["ways"].index(FIXED)
    names = sorted(set(groups))
    fold = np.array([names.index(group) % FOLDS for group in groups])
    mine = np.zeros(len(seen))
    for number in range(FOLDS):
        out = fold == number
        sums = formulas(seen[~out], logs[~out], [g for g, o in zip(groups, out, strict=True) if not o], fixed)
        mine[out] = logs[out, chosen(sums, seen[out])]
    return {way: over_groups(logs[:, place] - mine, groups) for place, way in enumerate(found["ways"])}


def over_groups(rises: Floats, groups: list[str]) -> tuple[float, float]:
    """The mean over groups, and its standard error."""
    means = pd.Series(rises).groupby(np.array(groups)).mean().to_numpy()
    return float(means.mean()), float(means.std(ddof=1) / math.sqrt(len(means)))


def main() -> int:
    """Measure, print, and keep it."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("what", choices=("learn", "judge"))
    words.add_argument("folder", type=Path)
    words.add_argument("--trials", type=int, default=4)
    words.add_argument("--page", type=Path, default=PAGE)
    given = words.parse_args()
    if given.what == "learn":
        situations = [*made(LEARNED, SHAPES_LEARNED, 1), *real(given.folder, "learn", 1)]
        found = measured(situations, {each: {LOOK: each} for each in SHARES}, given.trials)
        sums = formulas(np.array(found["seen"]), np.array(found["logs"]), found["groups"], found["ways"].index(FIXED))
        found["formulas"] = {way: each.text(str) for way, each in zip(found["ways"], sums, strict=True)}
        found["gains"] = left_out(found)
        print(json.dumps({"formulas": found["formulas"], "gains": found["gains"]}, indent=1))
    else:
        situations = [*made(JUDGED, SHAPES_JUDGED, 2), *real(given.folder, "judge", 2)]
        found = measured(situations, {"learned": {}} | {each: {LOOK: each} for each in SHARES}, given.trials)
    logs = np.array(found["logs"])
    for way, place in zip(found["ways"], range(logs.shape[1]), strict=True):
        print(way, over_groups(logs[:, place] - logs[:, 0], found["groups"]))
    results = given.page.with_suffix(".json")
    kept = json.loads(results.read_text("utf-8")) if results.exists() else {}
    kept[f"look {given.what}"] = found
    results.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
