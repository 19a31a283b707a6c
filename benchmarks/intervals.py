"""How often intervals of statistics cover what they are about, and how wide they are.

    python benchmarks/intervals.py > docs/benchmarks/intervals.md

Incomes are drawn from a distribution that is known: a table of them is asked for each statistic over and over, with
other noise each time, and now and then another table is drawn. Intervals are at level 95%. "Own" is of the table's
own statistic, "population" of the distribution that its rows were drawn from.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import jostle
from jostle import Categorical, Numeric, Probe, Schema, Table

ROWS = (300, 3_000, 30_000)
EPSILONS = ("0.1", "1")
TABLES, ASKED = 60, 4
HIGH = 200.0
SCHEMA = Schema({"income": Numeric(0, HIGH, unit=0.01), "kind": Categorical(["a", "b", "c", "d"])})
SHARES = (0.55, 0.3, 0.1, 0.05)
Numbers = NDArray[np.float64]


def drawn(rows: int, chance: np.random.Generator) -> pd.DataFrame:
    """Return rows of people who do not exist."""
    income = np.minimum(chance.gamma(2.0, 20.0, rows), HIGH).round(2)
    return pd.DataFrame({"income": income, "kind": chance.choice(list("abcd"), rows, p=SHARES)})


LARGE = drawn(4_000_000, np.random.default_rng(0))["income"].to_numpy()
"""So many that its statistics are those of the distribution, to a thousandth of what the intervals are wide."""

STATISTICS: dict[str, tuple[Callable[[Probe, str], Any], Callable[[Numbers], float]]] = {
    "mean": (lambda db, e: db.mean("income", epsilon=e), lambda x: float(x.mean())),
    "sum": (lambda db, e: db.sum("income", epsilon=e), lambda x: float(x.sum())),
    "variance": (lambda db, e: db.variance("income", epsilon=e), lambda x: float(x.var())),
    "median": (lambda db, e: db.median("income", epsilon=e), lambda x: float(np.quantile(x, 0.5))),
    "0.9 quantile": (lambda db, e: db.quantile("income", 0.9, epsilon=e), lambda x: float(np.quantile(x, 0.9))),
    "count": (lambda db, e: db.count(e), lambda x: float(len(x))),
    "count of d": (lambda db, e: db.histogram("kind", epsilon=e), lambda _: math.nan),
}


def measured(name: str, rows: int, epsilon: str) -> Iterator[tuple[bool, float, bool | None, float]]:
    """Yield whether an interval covers, and its width, of the table's own statistic and of the population's."""
    ask, truth = STATISTICS[name]
    chance = np.random.default_rng(rows)
    for table_number in range(TABLES):
        frame = drawn(rows, chance)
        numbers = frame["income"].to_numpy()
        own = float((frame["kind"] == "d").sum()) if name == "count of d" else truth(numbers)
        everybody = {"count": float(rows), "count of d": rows * SHARES[-1], "sum": math.nan}.get(name)
        whole = truth(LARGE) if everybody is None else everybody
        seed = zlib.crc32(f"{name} {rows} {epsilon} {table_number}".encode())
        db = jostle.rehearse(Table.from_frame(frame, SCHEMA), seed=seed)
        for _ in range(ASKED):
            answer = ask(db, epsilon)
            low, high = _ends(answer.interval(0.95))
            if name == "sum":
                yield low <= own <= high, high - low, None, math.nan
                continue
            least, most = _ends(answer.interval(0.95, population=True))
            yield low - 0.006 <= own <= high + 0.006, high - low, least <= whole <= most, most - least


def _ends(interval: Any) -> tuple[float, float]:
    return (float(np.ravel(interval[0])[-1]), float(np.ravel(interval[1])[-1]))


def main() -> None:
    """Print the table."""
    times = TABLES * ASKED
    head = __doc__.split("\n\n")[0]
    say = sys.stdout.write
    say(f"# Intervals\n\n{head}\n\nMade by `python benchmarks/intervals.py`: {TABLES} tables of incomes between 0 and ")
    say(f"{HIGH:g}, drawn from one\ndistribution. Each is asked {ASKED} times ({times} intervals a row), level 95%. ")
    say(f"With so many,\na coverage of 95% shows as {0.95 - 2 * math.sqrt(0.0475 / times):.1%} or more in ")
    say("39 of 40 rows.\n\n")
    say("| statistic | rows | ε | own: covers | own: mean width | population: covers | population: mean width |\n")
    say("|---|---|---|---|---|---|---|\n")
    for name in STATISTICS:
        for rows in ROWS:
            for epsilon in EPSILONS:
                own, width, whole, wide = zip(*measured(name, rows, epsilon), strict=True)
                there = [each for each in whole if each is not None]
                population = f"{np.mean(there):.1%} | {np.mean(wide):.4g}" if there else "not asked | "
                say(f"| {name} | {rows:,} | {epsilon} | {np.mean(own):.1%} | {np.mean(width):.4g} | {population} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
