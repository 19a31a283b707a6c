"""Answer range queries over a two-dimensional histogram as histogram.jst does: the same program in Python.

Run: python programs/histogram.py
It answers about a public example; the choice is learned on public grids, briefly, when it first runs.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, log, sqrt
from typing import Any

import jostle
from jostle.privacy.expressions import cells, deviation, occupied
from jostle.public import gridCorpus


@jostle.metafeature
def scale(db: Any) -> float:
    """Return the logarithm of the number of records."""
    records = db.buy(cells())
    return log(max(float(records), 1))


@jostle.metafeature
def uniformity(db: Any) -> float:
    """Return how much the counts of blocks of cells deviate; a block has about the square root of a side."""
    sides = {name: db.schema[name].size for name in db.schema.names}
    blocks: dict[str, Any] = {name: [floor(code / sqrt(size)) for code in range(size)] for name, size in sides.items()}
    return float(db.buy(deviation(cells(*sides).coarsened(blocks))))


@jostle.metafeature
def sparsity(db: Any) -> float:
    """Return the share of cells that are occupied."""
    sides = [db.schema[name].size for name in db.schema.names]
    domain_size = sides[0] * (sides[1] if len(sides) > 1 else 1)
    return float(db.buy(occupied(cells(*db.schema.names))) / domain_size)


@jostle.option(task="grid")
def Flat(db: jostle.Probe, queries: Any, *, epsilon: Fraction) -> Any:  # noqa: N802 - Options have such names
    """Answer as if the records were spread evenly."""
    total = db.count(epsilon)
    return queries.over([total / db.schema.size(*db.schema.names)])


noisyHistChoice = jostle.quickly(  # noqa: N816 - the name in histogram.jst
    jostle.MkChoiceMaker(
        among=["DAWA", "MWEM", "AdaptiveGrid", Flat],
        informed_by=[scale, uniformity, sparsity, *jostle.free_facts("grid")],
        trained_on=gridCorpus,
        label="noisyHistChoice",
    )
)


def main() -> None:
    """Answer the queries of a public example."""
    example = jostle.public.example("grid")
    db = jostle.rehearse(example.table, epsilon=1, seed=1)
    answers = noisyHistChoice(db, *example.questions, epsilon=1)
    print(answers)
    print(f"NOT PRIVATE, a rehearsal: loss {example.loss(answers):.4g}")


if __name__ == "__main__":
    main()
