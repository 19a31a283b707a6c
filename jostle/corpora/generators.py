"""Generated public databases: tables and grids of many kinds, as many as one likes.

Tables are of random Bayes nets and random trees, for whoever has no other databases. A generator is a frozen value; it
makes the same rows every time. The data are public, so they are drawn from numpy's seeded generators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, fields, frozen
from numpy.typing import NDArray

from jostle.corpora.cells import plain_table
from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicGrid, PublicTable, drawn
from jostle.errors import CorpusError

Weights = NDArray[np.float64]
Shape = tuple[int, ...]


def _zipf(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:
    """Weights rank**-strength in a random order of cells."""
    ranks = 1 + chance.permutation(math.prod(shape)).reshape(shape).astype(np.float64)
    weights: Weights = ranks**-strength
    return weights


def _zipf_sorted(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:  # noqa: ARG001 - one protocol
    """Weights that fall from one corner: (1 + sum of the indices)**-strength."""
    return np.asarray((1.0 + np.indices(shape).sum(axis=0)) ** -strength, dtype=np.float64)


def _mixture(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:
    """A sum of so many bells, with random places, widths and heights."""
    weights = np.zeros(shape)
    for _ in range(max(1, round(strength))):
        bell = np.ones(shape)
        for axis, side in enumerate(shape):
            width = side * math.exp(chance.uniform(math.log(0.004), math.log(0.2)))
            distance = (np.arange(side) - chance.uniform(0, side)) / max(width, 0.3)
            along = [1] * len(shape)
            along[axis] = side
            bell = bell * np.exp(-0.5 * distance**2).reshape(along)
        weights += chance.exponential() * bell / max(float(bell.sum()), 1e-300)
    return weights


def _spikes(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:
    """A flat ground with a tenth of the weight, and so many single cells with the rest."""
    cells = math.prod(shape)
    weights = np.full(cells, 0.1 / cells)
    places = chance.permutation(cells)[: max(1, round(strength))]
    heights = chance.exponential(size=len(places))
    weights[places] += 0.9 * heights / heights.sum()
    return weights.reshape(shape)


def _steps(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:
    """So many steps along each axis, each block with a weight of its own."""
    pieces = []
    for side in shape:
        cuts = chance.permutation(side - 1)[: max(1, round(strength)) - 1] if side > 1 else np.empty(0, dtype=np.int64)
        ends = np.zeros(side, dtype=np.int64)
        ends[cuts + 1] = 1
        pieces.append(np.cumsum(ends))
    heights = chance.exponential(size=[int(piece[-1]) + 1 for piece in pieces]) ** 2
    weights: Weights = heights[np.ix_(*pieces)]
    return weights


def _flat(chance: np.random.Generator, shape: Shape, strength: float) -> Weights:  # noqa: ARG001 - one protocol
    """The same weight for every cell."""
    return np.ones(shape)


KINDS: Mapping[str, Callable[[np.random.Generator, Shape, float], Weights]] = MappingProxyType(
    {
        "zipf": _zipf,
        "zipf-sorted": _zipf_sorted,
        "mixture": _mixture,
        "spikes": _spikes,
        "steps": _steps,
        "flat": _flat,
    }
)
"""The kinds of grids, each by the weights of its cells."""
STRENGTHS = {"zipf": (0.5, 2.5), "zipf-sorted": (0.5, 2.5), "mixture": (1, 20), "spikes": (1, 200), "steps": (2, 40)}
"""What makes sense for each: an exponent, or a number of bells, spikes or steps."""


def _kind(_: object, attribute: Any, value: str) -> None:
    if value not in KINDS:
        raise CorpusError(f"{attribute.name} is {value!r}", fix=f"one of {', '.join(KINDS)}")


def _sides(shape: Sequence[int]) -> Shape:
    return tuple(map(int, shape))


def _shape(_: object, attribute: Any, value: Shape) -> None:
    if not value or min(value) < 1:
        raise CorpusError(f"{attribute.name} is {value!r}, that of no grid")


@frozen
class GeneratedGrid:
    """Records drawn from a distribution over the cells of a grid.

    A generator is a frozen value; it makes the same counts every time. The data are public, so they are drawn from
    numpy's seeded generators.
    """

    kind: str = field(validator=_kind)
    shape: Shape = field(converter=_sides, validator=_shape)
    records: int = 1_000_000
    strength: float = 1.0
    """An exponent for Zipf's law; otherwise how many bells, spikes, or steps along an axis."""
    seed: int = 0

    @property
    def name(self) -> str:
        """The grid's name."""
        shape = "x".join(map(str, self.shape))
        return f"{self.kind} {shape} records={self.records} strength={self.strength:g} seed={self.seed}"

    def read(self) -> NDArray[np.int64]:
        """The counts."""
        chance = np.random.default_rng([self.seed, *self.shape])
        weights = KINDS[self.kind](chance, self.shape, self.strength)
        return drawn(weights, self.records, chance)


def generated_grids(count: int, *, seed: int = 0) -> Corpus:
    """So many grids of all kinds, with one axis of 4,096 cells and two of 256 in turn."""
    return Corpus(_grid(number, seed) for number in range(count))


def _grid(number: int, seed: int) -> PublicGrid:
    chance = np.random.default_rng([seed, number, 1])
    kind = list(KINDS)[number // 2 % len(KINDS)]
    least, most = STRENGTHS.get(kind, (1, 1))
    strength = math.exp(chance.uniform(math.log(least), math.log(most)))
    made = GeneratedGrid(
        kind,
        (256, 256) if number % 2 else (4096,),
        int(10 ** chance.uniform(4, 7)),
        float(round(strength, 2)) if kind.startswith("zipf") else float(round(strength)),
        int(chance.integers(2**31)),
    )
    return PublicGrid(made.name, made, artificial=True)


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
            variables = list(drawn)
            wanted = chance.permutation(len(variables))[: chance.integers(0, self.parents, endpoint=True)]
            configuration = np.zeros(self.rows, dtype=np.int64)
            configurations = 1
            for parent in (variables[place] for place in wanted.tolist()):
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
            drawn_class = chance.choice(self.classes, p=prior)
            last = chance.choice(self.classes, p=prior) if drawn_class == last else drawn_class
            label[leaf] = last
        named = {
            f"a{index}": pa.array(column) if column.dtype.kind == "f" else _texts("v", column)
            for index, column in enumerate(columns)
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


def generated(count: int, *, seed: int = 0) -> Corpus:
    """So many generated tables and as many grids.

    >>> generated(3)
    <Corpus of 3 tables and 3 grids>
    """
    return generated_tables(count, seed=seed) | generated_grids(count, seed=seed)
