"""Find how far grid Options are off on public grids, for the intervals of what they estimate, and show what came of it.

    python benchmarks/grid_intervals.py gather FOLDER --role learn --out learn.npz [--options AskedCells]
    python benchmarks/grid_intervals.py ship learn.npz
    python benchmarks/grid_intervals.py page learn.npz [--judge judge.npz] >> docs/benchmarks/intervals.md

FOLDER is as benchmarks/roles.py has it. Each database is drawn from at several sizes and budgets; each Option runs once
on each, asked for random ranges, single cells, one-sided ranges or a few boxes. Kept of it is how far it was off on
some of what was asked and on boxes of all sizes. `ship` writes jostle/learned/shipped/intervals.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import asdict
from numpy.typing import NDArray
from roles import database_of, listed

import jostle
from jostle.choice.makers.shipped import LINES, MAPS
from jostle.corpora.databases import PublicGrid
from jostle.corpora.parts import GridSpec
from jostle.learned.files import shortened
from jostle.learned.grid_errors import PATH, TOLD, VERSION, GridErrors, kept_errors
from jostle.options import get
from jostle.options.ranges.asked_cells import Told, tells_all
from jostle.tasks.ranges.estimate import Estimate, Workload
from jostle.tasks.ranges.instances import grid_instance
from jostle.tasks.ranges.intervals import Calibrated, Kinds, scale_inputs
from jostle.tasks.ranges.questions import RangeQuestion

Floats = NDArray[np.float64]
Errors = dict[str, NDArray[Any]]
"""A row per query that was answered, by the name of the column."""

COARSE = ("AskedCells", "AskedCells(tree=refined)")
"""Those that count what is asked: they are asked for a few boxes, or for marginals of maps, which tell less than all
cells apart. What they were asked, and what is put together of it, stands apart from the rest."""
OPTIONS = (*dict.fromkeys((*LINES, *MAPS, "AHP", "QuadTree")), *COARSE)
SHAPES = {1: ((1024,), (256,), (1024,), (64,)), 2: ((64, 64), (32, 32), (64, 64), (16, 16))}
EPSILONS = ("0.1", "1", "0.3", "0.03")
LEAST, MOST = 30.0, 3e6
"""Records times epsilon."""
DRAWS = 4
"""Of each database."""
ASKED, BOXES = 40, 120
"""Queries that are judged: of those asked for, and of all sizes."""
FEW = 8
LEAST_FEW, MOST_FEW = 3, 40
TOGETHER = 40
"""Queries put together of what was asked."""
LEVELS = (0.5, 0.8, 0.9, 0.95)
EVERY_OTHER = 2
"""Draw of a map is asked for marginals."""
KINDS = Kinds((1 / 300, 1 / 20), (1e4,))
FEWEST = 25
"""Groups that a factor of its own is found from."""
FLOOR = 0.3
"""In units of noise: smaller errors count as this where the scale is fitted."""


def boxes(shape: tuple[int, ...], count: int, chance: np.random.Generator) -> Workload:
    """Return boxes whose sides are of all sizes alike, by their logarithms."""
    low, high = [], []
    for side in shape:
        length = np.minimum(np.exp(chance.uniform(0, np.log(side + 1), count)).astype(np.int64), side)
        start = (chance.random(count) * (side - length + 1)).astype(np.int64)
        low.append(start)
        high.append(start + length)
    return Workload(shape, np.stack(low, 1), np.stack(high, 1))


def asked(shape: tuple[int, ...], kind: int, chance: np.random.Generator) -> Workload:
    """Return what an Option is asked for."""
    made = (
        lambda: Workload.random_ranges(shape, seed=int(chance.integers(2**31))),
        lambda: Workload.identity(shape),
        lambda: Workload.prefixes(shape),
        lambda: boxes(shape, FEW, chance),
    )
    return made[kind % len(made)]()


def asked_coarsely(shape: tuple[int, ...], draw: int, chance: np.random.Generator) -> Workload:
    """Return what an Option is asked for that counts what is asked."""
    if len(shape) > 1 and draw % EVERY_OTHER:
        return RangeQuestion("marginals").workload(shape)
    return boxes(shape, round(LEAST_FEW * (MOST_FEW / LEAST_FEW) ** chance.random()), chance)


def judged(workload: Workload, chance: np.random.Generator, *, together: bool = False) -> Workload:
    """Return the queries that errors are kept of."""
    picked = chance.choice(len(workload), min(ASKED, len(workload)), replace=False)
    parts = [(workload.low[picked], workload.high[picked])]
    others = [boxes(workload.shape, BOXES, chance)]
    if together:
        others.append(put_together(workload, chance))
    parts += [(other.low, other.high) for other in others]
    return Workload(workload.shape, *(np.concatenate(each) for each in zip(*parts, strict=True)))


def put_together(workload: Workload, chance: np.random.Generator) -> Workload:
    """Return boxes of whole runs of cells that no query cuts, about sets of axes that queries are about."""
    cut = (workload.low > 0) | (workload.high < np.array(workload.shape))
    about = cut[chance.choice(len(cut), TOGETHER)]
    low, high = [], []
    for axis, (starts, side) in enumerate(zip(workload.runs(), workload.shape, strict=True)):
        first, last = np.sort(chance.integers(0, len(starts), (2, TOGETHER)), axis=0)
        low.append(np.where(about[:, axis], starts[first], 0))
        high.append(np.where(about[:, axis], np.append(starts, side)[last + 1], side))
    return Workload(workload.shape, np.stack(low, 1), np.stack(high, 1))


def gather(folder: Path, role: str, names: Sequence[str]) -> Errors:
    """Return how far Options are off on the databases of a role."""
    rows = [row for row in listed(folder, role=role) if row.folder in {"lines", "points"}]
    found: dict[str, list[NDArray[Any]]] = defaultdict(list)
    for place, row in enumerate(rows):
        database = database_of(folder / row.folder, row.name)
        if not isinstance(database, PublicGrid):
            raise TypeError(row.name)
        for draw in range(DRAWS):
            for facts in errors_on(database, names, place, draw):
                for name, values in {**facts, "group": row.group}.items():
                    found[name].append(np.broadcast_to(values, facts["size"].shape))
        print(f"{place + 1} of {len(rows)}: {row.name}", file=sys.stderr, flush=True)
    return {name: np.concatenate(values) for name, values in found.items()}


def errors_on(database: PublicGrid, names: Sequence[str], place: int, draw: int) -> Iterator[dict[str, Any]]:
    """Yield what each Option answers on one draw from a database, and what is true."""
    chance = np.random.default_rng([zlib.crc32(database.name.encode()), draw])
    epsilon = EPSILONS[(draw + place) % len(EPSILONS)]
    # Sizes are spread evenly, by their logarithms, over databases and draws.
    signal = LEAST * (MOST / LEAST) ** ((place * 0.618 + draw / DRAWS) % 1)
    shapes = SHAPES[len(database.shape)]
    instance = grid_instance(
        database,
        GridSpec(
            records=max(10, round(signal / float(epsilon))),
            shape=shapes[(draw + place // 4) % len(shapes)],
            seed=draw,
            declared=(draw + place // 2) % DRAWS == 0,
        ),
    )
    shape = instance.counts.shape
    usual = asked(shape, draw + place // 16, chance), chance
    few = np.random.default_rng([zlib.crc32(database.name.encode()), draw, 1])
    coarse = asked_coarsely(shape, draw + place, few), few
    known: dict[bool, tuple[Workload, Workload, Floats]] = {}
    for name in names:
        if (name in COARSE) not in known:
            workload, drawn = coarse if name in COARSE else usual
            queries = judged(workload, drawn, together=name in COARSE)
            known[name in COARSE] = workload, queries, queries.answers(instance.counts)
        workload, queries, truth = known[name in COARSE]
        seed = zlib.crc32(f"{instance.key} {name} {get(name).version}".encode())
        estimate = get(name)(jostle.rehearse(instance.table, epsilon=epsilon, seed=seed), workload, epsilon=epsilon)
        if isinstance(estimate, Estimate) and not estimate.linear and not (name in COARSE and tells_all(workload)):
            told = Told.of(workload).tells(queries) if name in COARSE else np.zeros(len(queries), dtype=np.bool_)
            yield {
                "option": np.where(told, f"{name}{TOLD}", name),
                "version": get(name).version,
                "axes": len(estimate.shape),
                "cells": estimate.cells.size,
                "size": queries.sizes(),
                "total": estimate.total,
                "epsilon": float(epsilon) / (2 if instance.schema.neighbours == "replace_one" else 1),
                "truth": truth,
                "answer": estimate.answers(queries),
            }


def of_option(errors: Errors, name: str) -> Errors:
    """Return the rows of one Option."""
    kept = errors["option"] == name
    return {column: values[kept] for column, values in errors.items()}


def inputs_of(errors: Errors) -> Floats:
    """Return what scales go by."""
    return scale_inputs(
        errors["size"],
        errors["answer"],
        total=errors["total"],
        cells=errors["cells"].astype(np.float64),
        axes=errors["axes"],
        epsilon=errors["epsilon"],
    )


def kinds_of(errors: Errors) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return of which kind each query is."""
    return KINDS.of(errors["size"] / errors["cells"], errors["total"] * errors["epsilon"])


def quantiles(ratios: Floats, groups: NDArray[Any]) -> tuple[float, ...]:
    """Return what is above the ratio of a new group at each level: each known group counts the same, and so does it."""
    _, which, counts = np.unique(groups, return_inverse=True, return_counts=True)
    weights = 1 / (len(counts) + 1) / counts[which]
    order = np.argsort(ratios)
    below = np.cumsum(weights[order])
    if below[-1] < max(LEVELS):
        raise ValueError(f"{len(counts)} groups are too few for the level {max(LEVELS)}")
    return tuple(float(ratios[order][int(np.searchsorted(below, level - 1e-12))]) for level in LEVELS)


def enough(share: NDArray[np.bool_], signal: NDArray[np.bool_], groups: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which queries a factor is found from: of a kind, of its share where few groups have such, or all."""
    every = np.ones_like(share)
    return next(
        each for each in (share & signal, share, every) if each is every or len(np.unique(groups[each])) >= FEWEST
    )


def fitted(errors: Errors) -> Calibrated:
    """Return what is known of an Option's errors."""
    missed = np.abs(errors["answer"] - errors["truth"]) * errors["epsilon"]
    inputs = inputs_of(errors)
    weights, *_ = np.linalg.lstsq(inputs, np.log(missed + FLOOR), rcond=None)
    weights = np.array([float(f"{weight:.6g}") for weight in weights])
    ratios = missed / np.exp(inputs @ weights)
    share, signal = kinds_of(errors)
    factors = tuple(
        tuple(
            quantiles(ratios[kept], errors["group"][kept])
            for kept in (enough(here, signal == column, errors["group"]) for column in range(len(KINDS.signals) + 1))
        )
        for here in (share == row for row in range(len(KINDS.shares) + 1))
    )
    return Calibrated(
        version=int(errors["version"][0]),
        weights=tuple(weights.tolist()),
        factors=factors,
        least_cells=int(errors["cells"].min()),
        most_cells=int(errors["cells"].max()),
        most_signal=MOST,
        groups=len(set(errors["group"].tolist())),
    )


def halves(known: Calibrated, errors: Errors) -> Floats:
    """Return half the width of each answer's interval, at each level."""
    scales = np.exp(inputs_of(errors) @ np.array(known.weights)) / errors["epsilon"]
    return np.asarray(scales[:, None] * np.array(known.factors)[kinds_of(errors)])


def left_out(errors: Errors, folds: int = 10) -> Floats:
    """Return halves of widths that were found without the group that a query is of, or those that it is put with."""
    groups = np.array(sorted(set(errors["group"].tolist())))
    found = np.empty((len(errors["group"]), len(LEVELS)))
    for fold in range(folds):
        kept = ~np.isin(errors["group"], groups[fold::folds])
        known = fitted({column: values[kept] for column, values in errors.items()})
        found[~kept] = halves(known, {column: values[~kept] for column, values in errors.items()})
    return found


def line(title: str, errors: Errors, half: Floats) -> str:
    """Return a line of the table: coverage by level, each group counting the same; widths; the worst kinds."""
    missed = np.abs(errors["answer"] - errors["truth"])
    # As in estimate.interval, ends are whole numbers.
    low = np.maximum(np.floor(errors["answer"][:, None] - half), 0)
    high = np.maximum(np.ceil(errors["answer"][:, None] + half), 0)
    inside = (low <= errors["truth"][:, None]) & (errors["truth"][:, None] <= high)
    groups = [inside[errors["group"] == group].mean(axis=0) for group in np.unique(errors["group"])]
    cover = np.mean(groups, axis=0)
    share, signal = kinds_of(errors)
    kinds = [inside[(share == row) & (signal == column), -1] for row in range(3) for column in range(2)]
    least = min(float(each.mean()) for each in kinds if len(each))
    width = ((high - low)[:, -1] * errors["epsilon"]) / 2
    cells = [
        *(f"{each:.1%}" for each in cover),
        f"{least:.1%}",
        f"{np.quantile([each[-1] for each in groups], 0.1):.1%}",
        f"{np.median(width):.3g}",
        f"{np.median(missed * errors['epsilon']):.2g}",
    ]
    return f"| {title} | {' | '.join(cells)} |"


def page(learn: Errors, judge: Errors | None) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "\n## Estimates of grids\n"
    yield HEAD
    titles = [
        "Option",
        *(f"{level:.0%}" for level in LEVELS),
        "95%: worst kind",
        "95%: worst tenth of groups",
        "half width · ε",
        "error · ε",
    ]
    for name, errors in (("learn, left out by group", learn), ("judge", judge)):
        if errors is None:
            continue
        yield f"\n### {name[0].upper()}{name[1:]}: {len(set(errors['group'].tolist()))} groups\n"
        yield f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|"
        for option in dict.fromkeys(errors["option"].tolist()):
            own = of_option(errors, option)
            half = left_out(own) if errors is learn else halves(kept_errors().options[option], own)
            yield line(f"`{option}`, version {own['version'][0]}", own, half)


HEAD = f"""How often `estimate.interval(queries, level)` holds what is true, where an Option's errors are more than its
noise. Made by `python benchmarks/grid_intervals.py`: {DRAWS} draws from each public column or map, records
times ε from {LEAST:g} to {MOST:,.0f}, ε from .03 to 1, 64 to 4,096 cells. A quarter is with the number of
records declared and neighbours by replacing. They are asked for random ranges, single cells, one-sided ranges or
{FEW} boxes; judged on {ASKED} of these and {BOXES} boxes of all sizes. `AskedCells` is asked for {LEAST_FEW} to
{MOST_FEW} boxes or for marginals; what it was asked, and {TOGETHER} boxes put together of that, is *what is told*.
Each group of databases counts the same.
Kinds are of queries: up to 1/300 of the grid, up to 1/20, more; below and above records · ε = 10,000.
Widths and errors are medians, in units of 1/ε (of 2/ε where records are replaced): the noise on a single
count has deviation 1.4."""


def write_errors(errors: GridErrors) -> None:
    """Write the file."""
    facts = shortened({"version": VERSION, **asdict(errors)}, 6)
    PATH.write_text(json.dumps(facts) + "\n", encoding="utf-8")
    kept_errors.cache_clear()


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    gathering = commands.add_parser("gather")
    gathering.add_argument("folder", type=Path)
    gathering.add_argument("--role", default="learn")
    gathering.add_argument("--out", type=Path, required=True)
    gathering.add_argument("--options", nargs="*", default=OPTIONS)
    shipping = commands.add_parser("ship")
    shipping.add_argument("learn", type=Path)
    paging = commands.add_parser("page")
    paging.add_argument("learn", type=Path)
    paging.add_argument("--judge", type=Path)
    given = parser.parse_args()
    if given.command == "gather":
        np.savez_compressed(given.out, allow_pickle=False, **gather(given.folder, given.role, given.options))
        return 0
    learn = read(given.learn)
    if given.command == "ship":
        fresh = {name: fitted(of_option(learn, name)) for name in dict.fromkeys(learn["option"].tolist())}
        known = {**kept_errors().options, **fresh}
        write_errors(GridErrors(tuple(sorted(set(learn["group"].tolist()))), LEVELS, KINDS, known))
        return 0
    for said in page(learn, None if given.judge is None else read(given.judge)):
        print(said)
    return 0


def read(path: Path) -> Errors:
    """Return what was gathered."""
    with np.load(path) as held:
        return dict(held)


if __name__ == "__main__":
    sys.exit(main())
