"""What can be audited: a mechanism, its claim, what its outputs are, and the neighbouring inputs to try it on.

A bound on epsilon found on a pair of inputs counts only if the pair really is one record apart, so every family of
pairs carries its own test of that, and the auditor applies it before it believes a pair.

Registering a mechanism makes it a *subject*. Only two things are asked of it: a way to run it, and neighbouring
inputs. If its distribution can be worked out as well, the auditor uses that too.

>>> from jostle.audit import Subject, histogram_pairs, lifted, register
>>> def run(noise, data, epsilon):
...     return int(noise.discrete_laplace(1 / epsilon, 1)[0]) + data[0]
>>> mine = Subject(
...     name="FirstCellByHand",
...     module=__name__,
...     about="noisy count of the first cell",
...     pairs=histogram_pairs(2, "add_remove"),
...     sample=lifted(run),
... )
>>> mine.claim(mine.epsilon)
Fraction(1, 1)
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
from attrs import Attribute, Factory, field, frozen
from numpy.typing import NDArray

from jostle.errors import AuditError
from jostle.privacy.amounts import Amount
from jostle.privacy.reals import Chance, Ratio

RELATIVE_ERROR = 1e-10
TAIL = 1e-15
LEAST_CHANCE = 1e-290
"""A chance in a table that underflowed may have been anything up to this; what cannot happen is not in the table."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def _adds_up(holder: Distribution, _: Attribute[Any], chances: Mapping[Any, float]) -> None:
    total = math.fsum(chances.values()) + holder.missing
    if min(chances.values(), default=0.0) < 0 or not math.isclose(total, 1, abs_tol=1e-9):
        raise AuditError(f"the chances of a distribution add up to {total:.12g}, not to 1")


@frozen
class Distribution:
    """What comes out, and how often.

    An output is a *label*, followed by parts which, given the label, are independent of each other. Most
    mechanisms need labels only; a vector of noisy counts is all parts under one empty label.

    *Accuracy.* Chances are doubles, computed by sums and products of positive numbers without cancellation;
    RELATIVE_ERROR bounds how far any of them is off, with much to spare (a sum of 10,000 terms of relative error
    1e-15 is off by 1e-11 at most). Noise without end is cut where less than TAIL is left, and the mass left out is
    kept as *missing*: it may belong to any output, so a table gives each output's chance between its entry and its
    entry plus *missing*.
    """

    missing: float = field(kw_only=True, default=0.0)
    """Mass of what was left out."""
    chances: Mapping[Any, float] = field(validator=_adds_up)
    parts: Mapping[Any, tuple[Distribution, ...]] = Factory(dict)
    """What is released after a label, if anything."""

    def outputs(self) -> Iterator[tuple[Hashable, float]]:
        """Yield all outputs and their chances; with parts, an output is one flat tuple: label first, if not empty."""
        for label, chance in self.chances.items():
            rows: list[tuple[tuple[Hashable, ...], float]] = [(_flat(label), chance)]
            for part in self.parts.get(label, ()):
                rows = [
                    ((*row, *_flat(value)), so_far * next_chance)
                    for row, so_far in rows
                    for value, next_chance in part.outputs()
                ]
            if label in self.parts:
                yield from rows
            else:
                yield label, chance


def _flat(label: Hashable) -> tuple[Hashable, ...]:
    return label if isinstance(label, tuple) else (label,)


def independent(*parts: Distribution) -> Distribution:
    """The distribution of a tuple of independent parts."""
    return Distribution({(): 1.0}, {(): parts})


def mass(scale: Fraction, value: Integers) -> Floats:
    """P(X = value) for discrete Laplace noise X."""
    ratio = 1 / float(scale)
    chances: Floats = math.tanh(ratio / 2) * np.exp(-np.abs(value) * ratio)
    return chances


def at_least(scale: Fraction, value: Integers) -> Floats:
    """P(X >= value) for discrete Laplace noise X."""
    ratio = 1 / float(scale)
    upper = np.exp(-np.maximum(value, 1) * ratio) / (1 + math.exp(-ratio))
    lower = 1 - np.exp((np.minimum(value, 0) - 1) * ratio) / (1 + math.exp(-ratio))
    return np.where(value > 0, upper, lower)


def between(scale: Fraction, low: int, high: int) -> float:
    """P(low <= X <= high) for discrete Laplace noise X."""
    if high < low:
        return 0.0
    if low < 0 <= high:
        return between(scale, low, -1) + between(scale, 0, high)
    if high < 0:
        return between(scale, -high, -low)
    ratio = 1 / float(scale)
    return math.exp(-low * ratio) * -math.expm1(-(high - low + 1) * ratio) / (1 + math.exp(-ratio))


def laplace_table(scale: Fraction, tail: float = TAIL) -> tuple[Integers, Floats, float]:
    """The values of discrete Laplace noise, until at most *tail* is left, their chances, and what is left."""
    ratio = 1 / float(scale)
    reach = max(0, math.ceil(-math.log(tail * (1 + math.exp(-ratio)) / 2) / ratio) - 1)
    values = np.arange(-reach, reach + 1, dtype=np.int64)
    left = 2 * math.exp(-(reach + 1) * ratio) / (1 + math.exp(-ratio))
    return values, mass(scale, values), left


def laplace(centre: int, scale: Fraction, tail: float = TAIL) -> Distribution:
    """The distribution of *centre* plus discrete Laplace noise."""
    values, chances, left = laplace_table(scale, tail)
    return Distribution(dict(zip((values + centre).tolist(), chances.tolist(), strict=True)), missing=left)


Data = TypeVar("Data")

Relation = Literal["add_remove", "replace_one"]
"""What makes two inputs neighbours: one record more or less, or one record replaced by another."""

Vector = tuple[int, ...]
"""Counts of cells, or answers to queries."""

KeyCounts = tuple[tuple[int, int], ...]
"""The occupied cells of a sparse histogram: (key, count), keys rising, counts above 0."""


@frozen
class Pair(Generic[Data]):
    """Two neighbouring inputs."""

    first: Data
    second: Data
    about: str
    """What is particular about them, for the report."""


@frozen(kw_only=True)
class Pairs(Generic[Data]):
    """A family of neighbouring inputs."""

    relation: Relation
    """The relation they are neighbours under."""
    make: Callable[[], Iterable[Pair[Data]]]
    """Where the pairs come from; called anew by each audit, and each time with the same result."""
    neighbours: Callable[[Data, Data], bool]
    """Whether two inputs really are neighbours."""

    def __iter__(self) -> Iterator[Pair[Data]]:
        for pair in self.make():
            if not self.neighbours(pair.first, pair.second):
                raise AuditError(
                    f"the pair {pair.about!r} is not a pair of neighbours under {self.relation}",
                    why="what an output tells apart may differ in one record only",
                    fix="mend the generator of pairs",
                )
            yield pair


def chosen_pairs(relation: Relation, neighbours: Callable[[Data, Data], bool], *pairs: Pair[Data]) -> Pairs[Data]:
    """The family of just these pairs."""
    return Pairs(relation=relation, make=lambda: pairs, neighbours=neighbours)


def answers_close(first: Vector, second: Vector, *, monotone: bool) -> bool:
    """Whether no answer differs by more than 1, and if *monotone*, all that differ do so the same way."""
    steps = {after - before for before, after in zip(first, second, strict=True)}
    return steps <= {0, 1} or steps <= {0, -1} or (not monotone and steps <= {-1, 0, 1})


def answer_pairs(count: int, *, monotone: bool, downs: tuple[int, ...] = (1,)) -> Pairs[Vector]:
    """Vectors of *count* scores or query answers of sensitivity 1, before and after a record is added.

    Start level, or with the first one or the last one ahead by 2, and raise one, all, or all but one. Answers
    that are not *monotone* also move apart: the last few fall, for each number in *downs*, while all others rise.
    """
    level = (0,) * count
    starts = {"level": level, "first leads by 2": (2, *level[1:]), "last leads by 2": (*level[1:], 2)}
    one_last = (*level[1:], 1)
    moves = {
        "one rises": one_last,
        "all rise": (1,) * count,
        "all but one rise": tuple(1 - step for step in one_last),
    }
    if not monotone:
        moves |= {f"the last {down} fall, the rest rise": (1,) * (count - down) + (-1,) * down for down in downs}

    def make() -> Iterator[Pair[Vector]]:
        for start, before in starts.items():
            for move, steps in moves.items():
                after = tuple(value + step for value, step in zip(before, steps, strict=True))
                yield Pair(before, after, f"{start}; {move}")

    def neighbours(first: Vector, second: Vector) -> bool:
        return answers_close(first, second, monotone=monotone)

    return Pairs(relation="add_remove", make=make, neighbours=neighbours)


def histograms_adjacent(first: Vector, second: Vector, relation: Relation) -> bool:
    """Whether two histograms over the same cells are one record apart."""
    if min(*first, *second) < 0:
        return False
    steps = sorted(after - before for before, after in zip(first, second, strict=True) if after != before)
    return steps == [-1, 1] if relation == "replace_one" else steps in ([1], [-1])


def added(first: Vector, second: Vector) -> bool:
    """Whether two histograms over the same cells are one record apart, which is there in one of them."""
    return histograms_adjacent(first, second, "add_remove")


def histogram_pairs(cells: int, relation: Relation) -> Pairs[Vector]:
    """Histograms before and after a record is added to a cell, or moves to it from the next."""
    empty = (0,) * cells
    starts = {
        "empty": empty,
        "one occupied cell": (1, *empty[1:]),
        "another cell occupied": (*empty[1:], 3),
        "heavy cell": (1000, *empty[1:]),
        "all equal": (5,) * cells,
    }

    def make() -> Iterator[Pair[Vector]]:
        for start, before in starts.items():
            if relation == "add_remove":
                yield Pair(before, (before[0] + 1, *before[1:]), f"{start}; one more in the first cell")
            elif cells > 1 and before[0]:
                after = (before[0] - 1, before[1] + 1, *before[2:])
                yield Pair(before, after, f"{start}; one moves from the first cell to the second")

    def neighbours(first: Vector, second: Vector) -> bool:
        return histograms_adjacent(first, second, relation)

    return Pairs(relation=relation, make=make, neighbours=neighbours)


def keys_adjacent(first: KeyCounts, second: KeyCounts, relation: Relation) -> bool:
    """Whether two sparse histograms are one record apart."""
    keys = sorted({key for key, _ in first + second})
    if not keys or min((count for _, count in first + second), default=0) <= 0:
        return False
    dense = [tuple(dict(side).get(key, 0) for key in keys) for side in (first, second)]
    return histograms_adjacent(dense[0], dense[1], relation)


def key_pairs(cells: int, relation: Relation) -> Pairs[KeyCounts]:
    """Sparse histograms over *cells* >= 3 cells: a key appears, disappears, or gains a record."""
    last = cells - 1
    if relation == "add_remove":
        pairs: tuple[Pair[KeyCounts], ...] = (
            Pair((), ((0, 1),), "empty; a key appears"),
            Pair(((1, 4),), ((1, 4), (last, 1)), "one occupied key; another appears"),
            Pair(((1, 1),), ((1, 2),), "a lone record is joined by another"),
            Pair(((0, 500), (2, 1)), ((0, 501), (2, 1)), "heavy key; it gains a record"),
        )
    else:
        pairs = (
            Pair(((0, 1),), ((last, 1),), "the only record moves to another key"),
            Pair(((0, 2), (1, 2)), ((0, 1), (1, 3)), "a record moves between occupied keys"),
            Pair(((1, 500),), ((1, 499), (last, 1)), "heavy key; one of its records moves to an empty one"),
        )

    def neighbours(first: KeyCounts, second: KeyCounts) -> bool:
        return keys_adjacent(first, second, relation)

    return Pairs(relation=relation, make=lambda: pairs, neighbours=neighbours)


Data_contra = TypeVar("Data_contra", contravariant=True)

Outputs = Sequence[Any] | NDArray[Any]
"""One entry (of a sequence) or one row (of an array) per run."""


class Sampler(Protocol):
    """The samplers a mechanism may draw from: what `Noise` offers, and `Forks` runs through."""

    def discrete_laplace(self, scale: Amount, size: int) -> NDArray[np.int64]:
        """Draws with P(x) proportional to exp(-|x|/scale)."""

    def less_laplace(self, drawn: NDArray[np.int64], scale: Amount, less: Amount) -> NDArray[np.int64]:
        """The noise of a smaller scale that each of *drawn* was made of."""

    def geometric(self, ratio: Ratio, size: int) -> NDArray[np.int64]:
        """Draws of G >= 0 with P(G >= g) = ratio**g."""

    def laplace_above(self, scale: Amount, threshold: int, size: int) -> NDArray[np.int64]:
        """Discrete Laplace draws given that they exceed the threshold."""

    def bernoulli(self, chance: Fraction | Chance, size: int) -> NDArray[np.bool_]:
        """Coins of the given chance."""

    def bernoulli_exponential(self, x: Amount, size: int) -> NDArray[np.bool_]:
        """Coins of chance exp(-x)."""

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """Uniform whole numbers from 0 to bound - 1."""

    def distinct(self, population: int, count: int) -> NDArray[np.int64]:
        """Different whole numbers below *population*, in random order."""

    def successes(self, trials: int, chance: Fraction | Chance) -> NDArray[np.int64]:
        """Which of *trials* coins come up."""

    def binomial(self, trials: int, chance: Fraction | Chance) -> int:
        """How many of *trials* coins come up."""

    def permute_and_flip(self, scores: NDArray[np.int64], rate: Amount) -> int:
        """The index picked by permute-and-flip."""


class Sample(Protocol[Data_contra]):
    """Run a mechanism *size* times."""

    def __call__(self, noise: Sampler, data: Data_contra, epsilon: Fraction, size: int, /) -> Outputs:
        """One output per run."""


class Exact(Protocol[Data_contra]):
    """Work out what a mechanism does, without running it."""

    def __call__(self, data: Data_contra, epsilon: Fraction, /) -> Distribution:
        """The distribution of the output."""


@frozen
class Fault:
    """Why a mechanism breaks its claim, for a positive control."""

    how: str
    reference: str


def _itself(output: Any) -> Any:
    return output


def _same(epsilon: Fraction) -> Fraction:
    return epsilon


def _runnable(holder: Subject[Any], _: Attribute[Any], value: object) -> None:
    if value is None and holder.sample is None:
        raise AuditError(f"{holder.name} has neither a sample nor a distribution", fix="give it sample=...")


@frozen(kw_only=True)
class Subject(Generic[Data]):
    """A mechanism to audit."""

    name: str
    module: str
    """The module that registers it, named when another wants the same name."""
    about: str
    """What it releases, in a few words."""
    pairs: Pairs[Data]
    claim: Callable[[Fraction], Fraction] = _same
    """The privacy loss promised when run at epsilon."""
    sample: Sample[Data] | None = None
    """How to run it many times; see `lifted` for a mechanism that only runs once."""
    distribution: Exact[Data] | None = field(default=None, validator=_runnable)
    """The exact distribution of view(output); outputs in the sense of `Distribution.outputs`."""
    view: Callable[[Any], Hashable] = _itself
    """The part of an output that *distribution* is about; a bound on what it tells is one on the whole."""
    features: Callable[[Outputs], NDArray[np.float64]] | None = None
    """Numbers to tell outputs apart by, a row for each; by default all numbers found in them."""
    fault: Fault | None = None
    """For a positive control: what is wrong with it."""
    epsilon: Fraction = Fraction(1)
    """Where it is audited unless told otherwise."""
    samples: int = 100_000
    """How often it is run on each input unless told otherwise."""

    @property
    def is_control(self) -> bool:
        """Whether it is known to break its claim."""
        return self.fault is not None


def lifted(run: Callable[[Sampler, Data, Fraction], Any], reduce: Callable[[Any], Any] = _itself) -> Sample[Data]:
    """*run*, a mechanism that runs once, as one that runs many times; *reduce* makes its output comparable.

    An output may be a number, a tuple, an array, or a nesting of these; reduce a model to one of them first.
    """

    def sample(noise: Sampler, data: Data, epsilon: Fraction, size: int) -> Outputs:
        return [reduce(run(noise, data, epsilon)) for _ in range(size)]

    return sample


_REGISTERED: dict[str, Subject[Any]] = {}


def register(new: Subject[Data]) -> Subject[Data]:
    """The subject *new*, now known to the auditor by its name."""
    holder = _REGISTERED.setdefault(new.name, new)
    if holder is not new:
        raise AuditError(
            f"{new.name} is registered with the auditor already",
            why=f"{holder.module} holds the name",
            fix=f"register what {new.module} brings under another name",
        )
    return new


def names(*, controls: bool | None = None) -> tuple[str, ...]:
    """The names of all subjects, or of the positive controls, or of the others, in order of registration."""
    return tuple(name for name, held in _REGISTERED.items() if controls in (None, held.is_control))


Finder = Callable[[str], Subject[Any] | None]
_FINDERS: list[Finder] = []


def look_in(finder: Finder) -> Finder:
    """Let subjects be found that are not registered, since they come and go: *finder* gives the one of a name."""
    _FINDERS.append(finder)
    return finder


def subject(name: str) -> Subject[Any]:
    """The subject of this name."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    for finder in _FINDERS:
        if (found_subject := finder(name)) is not None:
            return found_subject
    folded = {known.lower(): known for known in _REGISTERED}
    near = [folded[key] for key in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]
    raise AuditError(
        f"no mechanism called {name!r} is registered with the auditor",
        why=f"similar names are registered: {', '.join(near)}" if near else "no name comes near it",
        fix=f"jostle audit {near[0]}" if near else f"one of {', '.join(_REGISTERED)}",
    )
