"""Outputs of any shape, and events worth measuring: sets of outputs that one input gives rise to more often.

An *order* gives each output a score that grows with how much it speaks for the first input; the sets tried are
those above a cut. Orders are learned on one part of the runs and the cut is chosen on another, so that a chosen
event may be anything at all without harm to the bound, which is measured on fresh runs.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import betaincinv
from sklearn.naive_bayes import CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from jostle.audit.subjects import Outputs

MOST_COLUMNS = 400
"""Longer outputs are cut for the classifiers; the keys still tell them apart."""
FILLER = -(2.0**40)
"""Stands for a number that an output does not have; no count comes near it."""
MOST_COMPARED = 5
"""With up to this many numbers in an output, their differences are features too."""


def canonical(output: Any) -> Hashable:
    """The output as something that can be counted: arrays, lists, sets and dictionaries become tuples.

    >>> canonical({"b": [1, 2], "a": None})
    (('a', None), ('b', (1, 2)))
    """
    if isinstance(output, np.ndarray):
        output = output.tolist()
    if isinstance(output, np.generic):
        return canonical(output.item())
    if isinstance(output, (list, tuple)):
        return tuple(canonical(part) for part in output)
    if isinstance(output, Mapping):
        return tuple(sorted(((canonical(key), canonical(value)) for key, value in output.items()), key=repr))
    if isinstance(output, AbstractSet):
        return tuple(sorted((canonical(part) for part in output), key=repr))
    if not isinstance(output, Hashable):
        raise TypeError(f"an output of type {type(output).__name__} cannot be counted; reduce it to numbers first")
    return output


def as_keys(outputs: Outputs) -> list[Hashable]:
    """One hashable key per run."""
    if isinstance(outputs, np.ndarray) and outputs.ndim <= 2:
        rows: list[Any] = outputs.tolist()
        return rows if outputs.ndim == 1 else [tuple(row) for row in rows]
    return [canonical(output) for output in outputs]


def width_of(outputs: Outputs) -> int:
    """How many numbers the longest output holds."""
    if isinstance(outputs, np.ndarray):
        return int(np.prod(outputs.shape[1:]))
    return max((len(list(_numbers(canonical(output)))) for output in outputs), default=0)


def as_numbers(outputs: Outputs, width: int) -> NDArray[np.float64]:
    """One row of numbers per run: the first *width* in the output, and their differences if they are few.

    Outputs that come as a sequence may differ in length, so theirs goes first; short ones are filled up.
    """
    width = min(width, MOST_COLUMNS)
    if isinstance(outputs, np.ndarray):
        columns = outputs.reshape(len(outputs), -1)[:, :width].astype(np.float64)
    else:
        columns = np.full((len(outputs), width + 1), FILLER)
        for row, output in enumerate(outputs):
            numbers = list(_numbers(canonical(output)))
            columns[row, 0] = len(numbers)
            columns[row, 1 : len(numbers) + 1] = numbers[:width]
    if 1 < columns.shape[1] <= MOST_COMPARED:
        differences = [columns[:, i] - columns[:, j] for i, j in combinations(range(columns.shape[1]), 2)]
        columns = np.column_stack([columns, *differences])
    return columns


def _numbers(output: Any) -> Iterator[float]:
    if isinstance(output, tuple):
        for part in output:
            yield from _numbers(part)
    elif isinstance(output, (bool, int, float)):
        yield float(output)
    elif output is None:
        yield -1.0
    else:
        # Any number will do that is the same each time; the built-in hash of a string is not.
        yield float(zlib.crc32(repr(output).encode()) % 2**20)


Floats = NDArray[np.float64]
Features = Callable[[Outputs], Floats]

PRIOR = 2.0
"""Added to the counts of each output before their ratio is taken, so that rare ones do not come first by luck."""
FEW_OUTPUTS = 64
"""Up to so many different outputs, their own frequencies say all that a classifier could."""
MOST_CUTS = 200
MOST_BINS = 24
MOST_LEAVES = 64
LEAST_LEAF = 30


def least_chance(successes: Any, runs: int, alpha: float) -> Any:
    """The Clopper-Pearson lower limit: the chance lies below it with probability at most *alpha*."""
    hits = np.asarray(successes, dtype=np.float64)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), runs - hits + 1, alpha), 0.0)


def most_chance(successes: Any, runs: int, alpha: float) -> Any:
    """The Clopper-Pearson upper limit: the chance lies above it with probability at most *alpha*."""
    return 1 - least_chance(runs - np.asarray(successes), runs, alpha)


def log_ratio_bound(likelier: Any, other: Any, runs: tuple[int, int], alpha: float) -> Any:
    """A lower bound on ln of the ratio of two chances, wrong with probability at most *alpha*."""
    with np.errstate(divide="ignore"):
        high = np.log(least_chance(likelier, runs[0], alpha / 2))
        return high - np.log(most_chance(other, runs[1], alpha / 2))


@frozen
class Order:
    """Outputs by how much they speak for the first input."""

    about: str
    score: Callable[[Outputs], Floats]
    table: dict[Hashable, float] | None = None
    """The scores themselves, where there is one for each output."""


@frozen
class OutputEvent:
    """All outputs whose score reaches a cut, or, turned round, does not exceed it."""

    order: Order
    cut: float
    sign: int
    """1 if the first input is the likelier one, -1 if the second."""
    expected: float
    """The bound the choosing runs would give: higher than the truth for the luckiest of many, so never reported."""

    def holds(self, outputs: Outputs) -> NDArray[np.bool_]:
        """For each run whether the event happened."""
        return self.sign * self.order.score(outputs) >= self.cut

    @property
    def about(self) -> str:
        """The event for the report."""
        if self.order.table is not None:
            held = [output for output, score in self.order.table.items() if self.sign * score >= self.cut]
            if 0 < len(held) <= 3 and self.cut > 0:
                return f"output {' or '.join(sorted(map(repr, held)))}"
            return f"one of {len(held)} outputs, of {len(self.order.table)} seen"
        side = "at least" if self.sign > 0 else "at most"
        return f"{self.order.about} scores the output {side} {self.sign * self.cut:.4g}"


def learn_orders(first: Outputs, second: Outputs, features: Features | None) -> Iterator[Order]:
    """Yield orders learned from runs on the first and on the second input."""
    keys = as_keys(first), as_keys(second)
    order = _by_frequency(*keys)
    yield order
    if order.table is not None and len(order.table) > FEW_OUTPUTS:
        width = max(width_of(first), width_of(second))
        read: Features = features or (lambda outputs: as_numbers(outputs, width))
        numbers = np.concatenate([read(first), read(second)])
        origin = np.repeat([1, 0], [len(first), len(second)])
        if numbers.shape[1]:
            yield _by_tree(numbers, origin, read)
            yield _by_columns(numbers, origin, read)


def _by_frequency(first: list[Hashable], second: list[Hashable]) -> Order:
    ours, theirs = Counter(first), Counter(second)
    # In order of appearance, so that nothing depends on how keys hash.
    table = {key: math.log((ours[key] + PRIOR) / (theirs[key] + PRIOR)) for key in [*ours, *theirs]}

    def score(outputs: Outputs) -> Floats:
        return np.array([table.get(key, 0.0) for key in as_keys(outputs)], dtype=np.float64)

    return Order("frequency", score, table)


def _by_tree(numbers: Floats, origin: NDArray[np.int64], read: Features) -> Order:
    tree = DecisionTreeClassifier(max_leaf_nodes=MOST_LEAVES, min_samples_leaf=LEAST_LEAF, random_state=0)
    tree.fit(numbers, origin)

    def score(outputs: Outputs) -> Floats:
        chance = tree.predict_proba(read(outputs))[:, 1]
        return np.asarray(chance - 0.5, dtype=np.float64)

    return Order("a decision tree", score)


def _by_columns(numbers: Floats, origin: NDArray[np.int64], read: Features) -> Order:
    """The order by evidence summed over columns: best where they are independent."""
    places = np.linspace(0, 1, MOST_BINS + 1)[1:-1]
    edges = [np.unique(np.quantile(column, places)) for column in numbers.T]

    def binned(rows: Floats) -> NDArray[np.int64]:
        bins = [np.searchsorted(cuts, column, side="right") for cuts, column in zip(edges, rows.T, strict=True)]
        return np.column_stack(bins)

    bayes = CategoricalNB(min_categories=[len(cuts) + 1 for cuts in edges])
    bayes.fit(binned(numbers), origin)

    def score(outputs: Outputs) -> Floats:
        evidence = bayes.predict_log_proba(binned(read(outputs)))
        return np.asarray(evidence[:, 1] - evidence[:, 0], dtype=np.float64)

    return Order("naive Bayes", score)


def best_events(order: Order, first: Outputs, second: Outputs, alpha: float) -> Iterator[OutputEvent]:
    """Yield, for each direction, the cut that would give the largest bound if these runs were the measuring ones."""
    scores = order.score(first), order.score(second)
    for sign in (1, -1):
        likelier, other = (np.sort(sign * side) for side in scores[::sign])
        cuts = np.unique(likelier)
        if len(cuts) > MOST_CUTS:
            cuts = np.unique(np.quantile(cuts, np.linspace(0, 1, MOST_CUTS), method="nearest"))
            cuts = np.union1d(cuts, np.quantile(likelier, np.linspace(0, 1, MOST_CUTS), method="nearest"))
        hits = [len(side) - np.searchsorted(side, cuts, side="left") for side in (likelier, other)]
        bounds = log_ratio_bound(hits[0], hits[1], (len(likelier), len(other)), alpha)
        best = int(np.argmax(bounds))
        yield OutputEvent(order, float(cuts[best]), sign, float(bounds[best]))
