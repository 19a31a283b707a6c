"""Tables of random Bayes nets and random trees: public databases for whoever has no others, as varied as one likes.

A generator is a frozen value; it makes the same rows every time. The data are public, so they are drawn from numpy's
seeded generators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, fields, frozen
from numpy.typing import NDArray

from jostle.corpora.cells import plain_table
from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicTable
from jostle.errors import CorpusError

__all__ = ["BayesNet", "RandomTree", "generated_tables"]

LABEL = "label"
MOST_CONFIGURATIONS = 4096
"""Combinations of its parents' values for which a variable has chances of its own; more parents are not taken."""


def _within(least: float, most: float, default: float) -> Any:
    def check(_: object, attribute: Any, value: float) -> None:
        if not least <= value <= most:
            raise CorpusError(f"{attribute.name} is {value!r}, but must lie between {least} and {most}")

    return field(default=default, validator=check)


@frozen(kw_only=True)
class BayesNet:
    """Rows of a random Bayes net: variables in a random order, each with random parents among those before it."""

    rows: int = _within(1, 10**7, 3000)
    attributes: int = _within(1, 1000, 8)
    values: int = _within(2, 1000, 4)
    """Attributes have from 2 to so many values."""
    classes: int = _within(2, 1000, 2)
    parents: int = _within(0, 10, 2)
    """At most so many parents each."""
    skew: float = _within(0.01, 100, 1.0)
    """Chances are drawn from a Dirichlet distribution with 1/skew for every value: from nearly even to nearly sure."""
    noise: float = _within(0, 1, 0.0)
    """Share of labels that are replaced by random ones."""
    seed: int = _within(0, 2**63, 0)

    @property
    def name(self) -> str:
        """The table's name."""
        return _name("bayes-net", self)

    def read(self) -> pa.Table:
        """The rows."""
        chance = np.random.default_rng([self.seed, self.attributes, self.rows])
        sizes = [*chance.integers(2, self.values, size=self.attributes, endpoint=True).tolist(), self.classes]
        drawn: dict[int, NDArray[np.int64]] = {}
        for variable in chance.permutation(len(sizes)).tolist():
            known = list(drawn)
            wanted = chance.permutation(len(known))[: chance.integers(0, self.parents, endpoint=True)]
            configuration = np.zeros(self.rows, dtype=np.int64)
            configurations = 1
            for parent in (known[place] for place in wanted.tolist()):
                if configurations * sizes[parent] <= MOST_CONFIGURATIONS:
                    configuration = configuration * sizes[parent] + drawn[parent]
                    configurations *= sizes[parent]
            chances = _chances(chance, sizes[variable], configurations, self.skew)
            drawn[variable] = _values(chance, chances, configuration)
        label = _noisy(chance, drawn[self.attributes], self.classes, self.noise)
        return _plain({f"a{place}": _texts("v", drawn[place]) for place in range(self.attributes)}, label)


@frozen(kw_only=True)
class RandomTree:
    """Rows of independent attributes, some of them numbers, labelled by a random decision tree."""

    rows: int = _within(1, 10**7, 3000)
    attributes: int = _within(1, 1000, 8)
    numbers: float = _within(0, 1, 0.5)
    """Share of the attributes that are numbers."""
    values: int = _within(2, 1000, 4)
    """The other attributes have from 2 to so many values."""
    classes: int = _within(2, 1000, 2)
    depth: int = _within(0, 12, 3)
    """Tests on the way to a leaf."""
    skew: float = _within(0.01, 100, 1.0)
    """As in a Bayes net: of the values of attributes that are not numbers."""
    noise: float = _within(0, 1, 0.0)
    """Share of labels that are replaced by random ones."""
    seed: int = _within(0, 2**63, 0)

    @property
    def name(self) -> str:
        """The table's name."""
        return _name("random-tree", self)

    def read(self) -> pa.Table:
        """The rows."""
        chance = np.random.default_rng([self.seed, self.attributes, self.rows])
        numeric = round(self.numbers * self.attributes)
        columns: list[NDArray[Any]] = [_number_column(chance, self.rows) for _ in range(numeric)]
        for size in chance.integers(2, self.values, size=self.attributes - numeric, endpoint=True).tolist():
            chances = _chances(chance, size, 1, self.skew)
            columns.append(_values(chance, chances, np.zeros(self.rows, dtype=np.int64)))
        prior = chance.dirichlet(np.full(self.classes, 2.0))
        label = np.empty(self.rows, dtype=np.int64)
        last = -1
        for leaf in _leaves(chance, columns, np.arange(self.rows), self.depth):
            # Drawn once more where it is the label of the leaf before, or else many a tree would say nothing.
            found = chance.choice(self.classes, p=prior)
            last = chance.choice(self.classes, p=prior) if found == last else found
            label[leaf] = last
        named = {
            f"a{place}": pa.array(column) if column.dtype.kind == "f" else _texts("v", column)
            for place, column in enumerate(columns)
        }
        return _plain(named, _noisy(chance, label, self.classes, self.noise))


def _name(kind: str, table: BayesNet | RandomTree) -> str:
    said = " ".join(f"{part.name}={getattr(table, part.name):g}" for part in fields(type(table)) if part.name != "seed")
    return f"{kind} {said} seed={table.seed}"


def _chances(chance: np.random.Generator, size: int, configurations: int, skew: float) -> NDArray[np.float64]:
    """A random distribution over so many values for each configuration."""
    return chance.dirichlet(np.full(size, 1 / skew), size=configurations)


def _values(
    chance: np.random.Generator, chances: NDArray[np.float64], configuration: NDArray[np.int64]
) -> NDArray[np.int64]:
    """A value for each row, drawn from the distribution of its configuration."""
    bounds = np.cumsum(chances, axis=1)[:, :-1]
    thrown = chance.random(len(configuration))
    codes = np.zeros(len(configuration), dtype=np.int64)
    for bound in bounds.T:
        codes += thrown >= bound[configuration]
    return codes


def _noisy(chance: np.random.Generator, label: NDArray[np.int64], classes: int, noise: float) -> NDArray[np.int64]:
    replaced = chance.random(len(label)) < noise
    return np.where(replaced, chance.integers(0, classes, size=len(label)), label)


def _number_column(chance: np.random.Generator, rows: int) -> NDArray[np.float64]:
    """Numbers that are spread evenly, in a bell, or mostly near their least, as amounts of money are."""
    ways: tuple[Callable[[int], NDArray[np.float64]], ...] = (
        chance.random,
        chance.standard_normal,
        chance.standard_exponential,
    )
    return np.round(ways[chance.integers(3)](rows), 4)


def _leaves(
    chance: np.random.Generator, columns: list[NDArray[Any]], rows: NDArray[np.int64], depth: int
) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each leaf of a random tree: numbers are split in two, other attributes by value."""
    if not depth or len(rows) < 2:
        yield rows
        return
    column = columns[chance.integers(len(columns))][rows]
    if column.dtype.kind == "f":
        above = column > column[chance.integers(len(rows))]
        parts = [rows[~above], rows[above]]
    else:
        parts = [rows[column == value] for value in np.unique(column)]
    for part in parts:
        yield from _leaves(chance, columns, part, depth - 1)


def _texts(letter: str, codes: NDArray[np.int64]) -> pa.Array:
    words = pa.array([f"{letter}{code}" for code in range(int(codes.max()) + 1)], pa.large_string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), words)


def _plain(columns: dict[str, pa.Array], label: NDArray[np.int64]) -> pa.Table:
    return plain_table({**columns, LABEL: _texts("c", label)}, LABEL)


def generated_tables(count: int, *, seed: int = 0) -> Corpus:
    """So many tables of many kinds, Bayes nets and trees in turn; more of them begin with the same ones."""
    return Corpus(_table(number, seed) for number in range(count))


def _table(number: int, seed: int) -> PublicTable:
    chance = np.random.default_rng([seed, number])

    def between(least: float, most: float) -> float:
        """A number whose logarithm is spread evenly."""
        return float(round(math.exp(chance.uniform(math.log(least), math.log(most))), 2))

    shared: dict[str, Any] = {
        "rows": round(between(1000, 30000), -2),
        "attributes": int(between(3, 40)),
        "values": int(between(2, 14)),
        "classes": int(between(2, 8)),
        "skew": between(0.5, 5),
        "noise": float(round(chance.uniform(0, 0.3), 2)),
        "seed": int(chance.integers(2**31)),
    }
    shared["rows"] = int(shared["rows"])
    made: BayesNet | RandomTree = (
        RandomTree(depth=int(chance.integers(1, 6)), numbers=float(round(chance.uniform(0, 1), 2)), **shared)
        if number % 2
        else BayesNet(parents=int(chance.integers(1, 4)), **shared)
    )
    return PublicTable(made.name, made, LABEL, artificial=True)
