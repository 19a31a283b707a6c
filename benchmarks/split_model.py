"""Fit the numbers of jostle/options/ranges/reading.py: how public histograms split, without noise.

    python benchmarks/split_model.py --data dpbench [--states 6]

Eight histograms of DPBench (none of those that benchmarks/histograms.py compares on), drawn at four sizes each, made-up
spikes and made-up random walks, as trees of halvings. A hidden Markov tree is fitted by expectation maximisation
(Crouse, Nowak, Baraniuk 1998), from several starts; every histogram counts as much as any other.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jostle.options.ranges.tree import halving_tree

Floats = NDArray[np.float64]

LINES = (
    "HEPTH.n4096",
    "INCOME.n4096",
    "GrossCompenMDSalary1",
    "RejectStats_0_4096_no_outliers_filter_7_1",
    "RejectStats_4_4096_no_outliers_filter_7_1",
)
PLANES = ("BeijingTaxiS_256_256", "Loan_2D_256_256", "MDSalary2D_256_256")
SIDES = {1: (1024, 4096), 2: (64, 128)}
RECORDS = (1_000, 10_000, 100_000, 1_000_000)
WIDTHS = (0.0, 0.03, 0.08, 0.2, 0.4, 0.7)
WEIGHT = 1000
"""Nodes that a histogram counts for."""
DOUBT = 0.5
"""Splits of every kind, and steps between every two states, that are taken as seen beforehand."""


class Fitted(NamedTuple):
    """A model, and how likely it makes the histograms."""

    likely: float
    kinds: Floats
    handed_down: Floats
    first: Floats


class Example(NamedTuple):
    """How likely each kind makes every split of a histogram, per level; what each node of it counts for."""

    splits: list[Floats]
    weight: float


def public_histograms(folder: Path, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield draws from public histograms."""
    for axes, names in ((1, LINES), (2, PLANES)):
        for name in names:
            shape = np.load(folder / f"{axes}D" / f"{name}.npy").astype(np.float64)
            for side in SIDES[axes]:
                counts = shape
                for axis in range(axes):
                    starts = np.arange(0, shape.shape[axis], shape.shape[axis] // side)
                    counts = np.add.reduceat(counts, starts, axis=axis)
                for records in RECORDS:
                    yield generator.multinomial(records, (counts / counts.sum()).ravel()).reshape(counts.shape)


def made_up_histograms(generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield spikes, with a floor and without, and random walks."""
    for floor in (0.0, 0.3):
        for spikes in (1, 2, 5, 20, 100, 300):
            chances = np.zeros(1024)
            chances[generator.choice(1024, spikes, replace=False)] = generator.pareto(1, spikes) + 0.1
            for records in (1_000, 100_000):
                yield generator.multinomial(records, (1 - floor) * chances / chances.sum() + floor / 1024)
    for roughness in (0, 0.01, 0.03, 0.1, 0.3, 1):
        walk = np.exp(roughness * np.cumsum(generator.normal(size=1024)))
        for records in (1_000, 100_000):
            yield generator.multinomial(records, walk / walk.sum())


def example(counts: NDArray[np.int64]) -> Example:
    """Return a histogram's splits; a node without records tells nothing."""
    tree = halving_tree(counts.shape)
    line = counts.ravel()[tree.order]
    sums = [np.add.reduceat(line, starts) for starts in tree.starts]
    splits = []
    for total, below in pairwise(sums):
        part = below[::2]
        kinds = [part == 0, part == total, *(beta_binomial(part, total, width) for width in WIDTHS), 1 / (total + 1)]
        splits.append(np.where(total[:, None] > 0, np.stack([np.asarray(each, dtype=float) for each in kinds], 1), 1))
    return Example(splits, WEIGHT / counts.size)


def beta_binomial(part: NDArray[np.int64], total: NDArray[np.int64], width: float) -> Floats:
    """Return the chance of a part whose share is beta distributed around one half."""
    ways: Floats = gammaln(total + 1) - gammaln(part + 1) - gammaln(total - part + 1)
    if not width:
        by_chance: Floats = np.exp(ways - total * np.log(2))
        return by_chance
    half = (1 / width**2 - 1) / 2
    found: Floats = np.exp(
        ways
        + gammaln(part + half)
        + gammaln(total - part + half)
        - gammaln(total + 2 * half)
        + gammaln(2 * half)
        - 2 * gammaln(half)
    )
    return found


def fit(examples: list[Example], states: int, seed: int, rounds: int) -> Fitted:
    """Return a model fitted from a random start."""
    model = Fitted(
        0,
        np.random.default_rng(seed).dirichlet(np.full(len(WIDTHS) + 3, 2.0), states),
        0.8 * np.eye(states) + 0.2 / states,
        np.full(states, 1 / states),
    )
    for _ in range(rounds):
        seen = Fitted(0, *(np.full(each.shape, DOUBT) for each in model[1:]))
        likely = sum(add_seen(each, model, seen) for each in examples)
        seen.kinds[:, :2] = seen.kinds[:, :2].mean(axis=1, keepdims=True)  # left is as good as right
        model = Fitted(likely, *(each / each.sum(axis=-1, keepdims=True) for each in seen[1:]))
    return model


def add_seen(one: Example, model: Fitted, seen: Fitted) -> float:
    """Add what a histogram's splits and states are expected to be, and return how likely it is."""
    told: list[Floats] = []
    upwards: list[Floats] = []
    likely = 0.0
    for split in reversed(one.splits):
        here = split @ model.kinds.T
        if told:
            handed = told[-1] @ model.handed_down.T
            upwards.append(handed)
            here = here * handed[::2] * handed[1::2]
        scale = here.sum(axis=1, keepdims=True)
        likely += one.weight * float(np.log(scale).sum())
        told.append(here / scale)
    told, upwards = told[::-1], upwards[::-1]
    states = told[0] * model.first
    states /= states.sum()
    seen.first[:] += one.weight * states[0]
    for level, split in enumerate(one.splits):
        alive = split.sum(axis=1) < split.shape[1] - DOUBT
        kinds = split[:, None, :] * model.kinds
        kinds /= kinds.sum(axis=2, keepdims=True)
        seen.kinds[:] += one.weight * np.einsum("ns,nsk->sk", states[alive], kinds[alive])
        if level + 1 < len(one.splits):
            parents = np.repeat(states, 2, axis=0) / np.maximum(upwards[level], 1e-300)
            steps = parents[:, :, None] * model.handed_down * told[level + 1][:, None, :]
            seen.handed_down[:] += one.weight * steps[np.repeat(alive, 2)].sum(axis=0)
            states = steps.sum(axis=1)
    return likely


def main() -> int:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of DPBench's histograms")
    parser.add_argument("--states", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--starts", type=int, default=2)
    given = parser.parse_args()
    generator = np.random.default_rng(5)
    drawn = [*public_histograms(given.data, generator), *made_up_histograms(generator)]
    examples = [example(counts) for counts in drawn]
    fitted = [fit(examples, given.states, seed, given.rounds) for seed in range(given.starts)]
    best = max(fitted, key=lambda each: each.likely)
    np.set_printoptions(precision=4, suppress=True, linewidth=120)
    for name, values in best._asdict().items():
        print(name, np.array2string(np.asarray(values), separator=", "), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
