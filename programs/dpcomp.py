"""Compare every histogram algorithm on every public grid as dpcomp.jst does: the same program in Python.

Run: python programs/dpcomp.py
It looks at public grids only, so nothing is spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jostle
from jostle.public import error_of, gridCorpus

algorithms = [
    "AHP",
    "AdaptiveGrid",
    "DAWA",
    "GreedyH",
    "HierarchicalB",
    "Identity",
    "MWEM",
    "PerturbedHistogram",
    "Privelet",
    "QuadTree",
    "ShrunkTree",
    "ThresholdedHistogram",
    "Uniform",
    "UniformGrid",
]

Row = tuple[str, int, str, str, dict[str, float | None]]


def errors(
    grids: Iterable[Any] = gridCorpus,
    scales: Sequence[int] = (1000, 100_000),
    epsilons: Sequence[str] = ("0.01", "0.1", "1"),
) -> list[Row]:
    """Return for each grid, scale and epsilon the best algorithm, and the error of each; None where one refuses."""
    options = {name: jostle.options.get(name) for name in algorithms}
    rows = []
    for grid in grids:
        for scale in scales:
            for epsilon in epsilons:
                found = {name: error_of(each, grid, scale=scale, epsilon=epsilon) for name, each in options.items()}
                known = {name: error for name, error in found.items() if error is not None}
                rows.append((grid.name, scale, epsilon, min(known, key=known.__getitem__), found))
    return rows


def main() -> None:
    """Print the table, each algorithm's error in turn."""
    for grid, scale, epsilon, best, found in errors():
        shown = ", ".join(f"{name} {'-' if error is None else f'{error:.3g}'}" for name, error in found.items())
        print(f"{grid}, {scale:,} records, epsilon {epsilon}: {best} ({shown})")


if __name__ == "__main__":
    main()
