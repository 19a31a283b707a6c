"""Figures of choosing on tune, learn and judge databases side by side, from what `benchmarks/fresh.py` wrote."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from roles import KINDS, ROLES

from jostle.choice.learning.regret import Figures, figures, honest_best
from jostle.choice.makers.shipped import SHIPPED
from jostle.tasks import CLASSIFICATION, RANGES

__all__ = ["by_role", "side_by_side"]

Floats = NDArray[np.float64]
MOST_SHOWN = 5
"""Of fixed Options, those of least mean regret on the databases that are learned from."""


HEAD = """Mean regret on databases that constants were set on (tune), that makers learn from, each group left out in
turn (learn), and that took part in nothing (judge); 90% intervals by drawing groups anew, the 95th percentile, and how
far the mean is above that of the Option which does best on *learn* if it is run always."""


@frozen(eq=False)
class Measured:
    """Losses on databases of a role."""

    ways: tuple[str, ...]
    groups: NDArray[np.str_]
    losses: Floats
    """Cells by ways by trials."""
    floor: float

    @property
    def hindsight(self) -> Floats:
        """Of each cell, over the Options: makers are none."""
        return honest_best(self.losses[:, [way not in SHIPPED for way in self.ways]])

    def regrets(self, way: str) -> Floats:
        """Return how many times hindsight's loss that of a way is, by cell."""
        mine = np.nanmean(self.losses[:, self.ways.index(way)], axis=1)
        regrets: Floats = np.maximum(mine, self.floor) / np.maximum(self.hindsight, self.floor)
        return regrets

    def figures(self, way: str, single: str) -> Figures:
        """Return the figures of a way, beside one that is always run."""
        mine, always = (np.nanmean(self.losses[:, self.ways.index(each)], axis=1) for each in (way, single))
        return figures(mine, always, self.hindsight, floor=self.floor, groups=self.groups)


def read(path: Path, kind: str) -> Measured:
    """Return what a file of `benchmarks/fresh.py` holds."""
    found: dict[tuple[str, str, str], dict[tuple[str, int], float]] = defaultdict(dict)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["group"], row["database"], row["epsilon"]][row["way"], int(row["trial"])] = float(row["loss"])
    ways = tuple(dict.fromkeys(way for runs in found.values() for way, _ in runs))
    trials = sorted({trial for runs in found.values() for _, trial in runs})
    losses = [[[runs.get((way, trial), np.nan) for trial in trials] for way in ways] for runs in found.values()]
    floor = (RANGES if kind in {"lines", "maps"} else CLASSIFICATION).rehearsal.floor
    return Measured(ways, np.array([group for group, _, _ in found]), np.array(losses), floor)


def side_by_side(folder: Path, kind: str) -> Iterator[str]:
    """Yield a table: ways, and their mean regrets on databases of each role that was measured."""
    known = {
        role: read(folder / f"{kind}-{role}.csv", kind) for role in ROLES if (folder / f"{kind}-{role}.csv").is_file()
    }
    if not known:
        yield f"Nothing was measured: python benchmarks/fresh.py {kind} learn FOLDER {folder / kind}-learn.csv"
        return
    first = known.get("learn") or next(iter(known.values()))
    fixed = [way for way in first.ways if way not in SHIPPED]
    order = sorted(fixed, key=lambda way: first.figures(way, way).regret_mean)
    makers = [way for way in first.ways if way in SHIPPED]
    heads = [f"{role}: {len(each.losses)} cells, {len(set(each.groups))} groups" for role, each in known.items()]
    yield f"| way | {' | '.join(f'{head} | 95% | beside {order[0]}' for head in heads)} |"
    yield f"|---{'|---' * 3 * len(heads)}|"
    for way in (*makers, *order[:MOST_SHOWN]):
        cells = " | ".join(_cells(each.figures(way, order[0]), is_same=way == order[0]) for each in known.values())
        yield f"| {way if way in makers else f'always {way}'} | {cells} |"


def _cells(found: Figures, *, is_same: bool) -> str:
    beside = "" if is_same else f"{found.beside_low:+.3f} to {found.beside_high:+.3f}"
    mean = f"{found.regret_mean:.3f} ({found.regret_low:.3f} to {found.regret_high:.3f})"
    return f"{mean} | {found.regret_p95:.2f} | {beside}"


def by_role(folder: Path, kinds: Iterable[str] = KINDS) -> str:
    """Return a section of a page: a table for each kind of databases."""
    parts = [HEAD]
    parts += ["\n".join([f"### {kind}", "", *side_by_side(folder, kind)]) for kind in kinds]
    return "\n\n".join(parts)
