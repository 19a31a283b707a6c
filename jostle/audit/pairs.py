"""Neighbouring inputs to audit on, aimed at where mechanisms lose most.

A bound on epsilon found on a pair of inputs counts only if the pair really is one record apart, so every family of
pairs carries its own test of that, and the auditor applies it before it believes a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Literal, TypeVar

from attrs import frozen

from jostle.errors import AuditError

__all__ = [
    "Pair",
    "Pairs",
    "Relation",
    "Vector",
    "answer_pairs",
    "answers_close",
    "chosen_pairs",
    "histogram_pairs",
    "histograms_adjacent",
    "key_pairs",
    "keys_adjacent",
]

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
