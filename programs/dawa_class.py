"""Answer range queries by DAWA or MWEM as dawa_class.jst does: the programmer's own estimates, corrected by training.

Run: python programs/dawa_class.py
It answers about a public example; the estimates are corrected on public grids, briefly, when it first runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor, sqrt
from typing import Any

import jostle
from jostle.privacy.expressions import cells, deviation, occupied
from jostle.public import gridCorpus

DAWA, MWEM = jostle.options.get("DAWA"), jostle.options.get("MWEM")


@jostle.metafeature
def uniformity(db: Any) -> float:
    """Return how much the counts of blocks of cells deviate; a block has about the square root of a side."""
    sides = {name: db.schema[name].size for name in db.schema.names}
    blocks: dict[str, Any] = {name: [floor(code / sqrt(size)) for code in range(size)] for name, size in sides.items()}
    return float(db.buy(deviation(cells(*sides).coarsened(blocks))))


@jostle.metafeature
def sparsity(db: Any) -> float:
    """Return the share of cells that are occupied."""
    return float(db.buy(occupied(cells(*db.schema.names))) / db.schema.size(*db.schema.names))


def evenly_parted(seen: Mapping[str, float]) -> float:
    """Return the programmer's own estimate of what DAWA's loss goes by."""
    return max(seen["uniformity"], 0) * max(1 - seen["sparsity"], 0)


def sparsely_filled(seen: Mapping[str, float]) -> float:
    """Return the same of MWEM's."""
    return max(1 - seen["sparsity"] ** 2, 0)


@jostle.option(task="grid", predict=evenly_parted)
def Partitioning(db: jostle.Probe, queries: Any, *, epsilon: Fraction) -> Any:  # noqa: N802 - Options have such names
    """Answer by DAWA."""
    return DAWA(db, queries, epsilon=epsilon)


@jostle.option(task="grid", predict=sparsely_filled)
def Reweighting(db: jostle.Probe, queries: Any, *, epsilon: Fraction) -> Any:  # noqa: N802 - as above
    """Answer by MWEM."""
    return MWEM(db, queries, epsilon=epsilon)


histChoice = jostle.quickly(  # noqa: N816 - the name in dawa_class.jst
    jostle.MkChoiceMaker(
        among=[Partitioning, Reweighting],
        informed_by=[uniformity, sparsity, *jostle.free_facts("grid")],
        trained_on=gridCorpus,
        label="histChoice",
    )
)


def main() -> None:
    """Answer the queries of a public example."""
    example = jostle.public.example("grid")
    db = jostle.rehearse(example.table, epsilon=1, seed=1)
    answers = histChoice(db, *example.questions, epsilon=1)
    print(answers)
    print(f"NOT PRIVATE, a rehearsal: loss {example.loss(answers):.4g}")


if __name__ == "__main__":
    main()
