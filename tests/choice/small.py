"""Small public databases, and histories that say what is planted in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from jostle.choice.learning.history import History, KnownDatabase, KnownInstance, Line, Runs, Sketch
from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicDatabase, PublicGrid, PublicTable
from jostle.corpora.generators import BayesNet, GeneratedGrid
from jostle.corpora.parts import GridSpec, Spec, TableSpec
from jostle.options.base import Option
from jostle.options.registry import get
from jostle.privacy.expressions import cells
from jostle.tasks.metafeature import Metafeature, View, key_of, metafeature

EPSILONS = ("1/10", "1", "10")
LABEL = "label"
ROWS = cells(LABEL)


def options(*names: str) -> tuple[Option, ...]:
    return tuple(get(name) for name in names or ("Majority", "NaiveBayes"))


def table(seed: int, rows: int = 240) -> PublicTable:
    made = BayesNet(rows=rows, attributes=3, values=3, classes=2, noise=0.1, seed=seed)
    return PublicTable(f"t{seed}", made, LABEL)


def tables(count: int) -> Corpus:
    return Corpus(map(table, range(count)))


def grid(seed: int) -> PublicGrid:
    made = GeneratedGrid("mixture", (64,), records=5000, strength=3, seed=seed)
    return PublicGrid(f"g{seed}", made)


def jobs_of(corpus: Corpus) -> list[tuple[PublicDatabase, Spec]]:
    """Return one instance of each database: what a test rehearses on."""
    return [(each, TableSpec() if isinstance(each, PublicTable) else GridSpec(records=1000)) for each in corpus]


@metafeature(low="there are few rows", high="there are many rows")
def size(db: View) -> float:
    """Return the number of rows, bought."""
    return float(np.log10(max(1.0, db.buy_cells(ROWS).sum())))


@metafeature(low="the first class is rare", high="the first class is common")
def first_share(db: View) -> float:
    """Return the first class's share, of the same purchase."""
    counts = db.buy_cells(ROWS)
    return float(counts[0] / max(1.0, counts.sum()))


@metafeature(low="epsilon is small", high="epsilon is large")
def budget(db: View) -> float:
    """Return the budget's logarithm, a public fact."""
    return float(np.log10(db.epsilon))


@metafeature
def attributes(db: View) -> float:
    """Return how many attributes there are, a public fact."""
    return len(db.schema.attributes)


Planted = Callable[[int, float, Mapping[str, float]], Sequence[float]]
"""From a database's number, a budget and its facts to the losses of the Options."""


def planted(
    losses: Planted,
    among: Sequence[Option],
    *,
    count: int = 24,
    repeats: int = 2,
    seed: int = 0,
    group: Callable[[int], str] = lambda number: f"group {number}",
    noise: float = 0.01,
    begin: int = 0,
) -> History:
    """Return a history of made-up losses, on databases of 100 to 100,000 rows and 2 to 9 attributes.

    They have numbers from *begin* on.
    """
    chance = np.random.default_rng(seed)
    lines: list[Line] = []
    for number in range(begin, begin + count):
        width = int(chance.integers(2, 10))
        rows = int(10 ** chance.uniform(2, 5))
        first = int(rows * chance.uniform(0.1, 0.9))
        sketch = Sketch([(f"a{place}", 4, False) for place in range(width)] + [(LABEL, 2, False)], LABEL)
        digest = f"{number:032x}"[::-1]
        facts = {"rows": float(rows), "attributes": float(width), "first": first / rows}
        lines.append(KnownDatabase(digest, f"d{number}", group(number), "classification"))
        lines.append(KnownInstance(f"{digest} v1", digest, rows, sketch, {key_of(ROWS): (first, rows - first)}))
        for place, option in enumerate(among):
            for repeat in range(repeats):
                found = [
                    losses(number, float(Fraction(epsilon)), facts)[place] * (1 + noise * chance.standard_normal())
                    for epsilon in EPSILONS
                ]
                lines.append(
                    Runs(f"{digest} v1", option.name, option.version, repeat, EPSILONS, found, [0.0] * len(EPSILONS))
                )
    return History(lines)


METAFEATURES: tuple[Metafeature, ...] = (budget, attributes, size, first_share)


def by_rows(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
    """Return losses of two Options: the second is better where there are many rows, much worse where there are few."""
    many = facts["rows"] > 3000
    return (0.3, 0.1) if many else (0.3, 0.6)


@cache
def known_by_rows() -> History:
    return planted(by_rows, options())
