"""Which rows of a person are held: as it is done, and the ways to do it that look right and are not.

Inputs are rows in the order of a file, each with whose it is, as it is written there, and of which of two kinds it is.
At most one row of each person is to be held, and noise on the counts of both kinds is as for one row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.audit.subjects import Distribution, Fault, Pair, Pairs, Sampler, Subject, independent, laplace
from jostle.tables.block import Block
from jostle.tables.columns import Categorical
from jostle.tables.persons import bounded, whose_rows, written_one_way
from jostle.tables.schema import Schema

Rows = tuple[tuple[str, int], ...]
SCHEMA = Schema({"kind": Categorical(["0", "1"])}, person="who", rows_per_person=1)
KEY = b"auditor 2"
BATCH = 2
"""Rows of a piece of a file, or a batch."""
WRITTEN = ("1", "1.0", "2")


def _mark(*parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode(), key=KEY, digest_size=8).digest()


def _by_rule(rows: Rows, person: Callable[[int], object], mark: Callable[[int], bytes]) -> list[int]:
    """The kinds of the rows that a rule holds: of each person, as it tells persons apart, the one of the least mark."""
    best: dict[object, int] = {}
    for place in range(len(rows)):
        who = person(place)
        if who not in best or mark(place) < mark(best[who]):
            best[who] = place
    return [rows[place][1] for place in best.values()]


def _as_done(rows: Rows) -> list[int]:
    codes = np.array([kind for _, kind in rows], dtype=np.uint8)
    block = bounded(Block({"kind": codes}, len(rows), whose=whose_rows([who for who, _ in rows])), SCHEMA, KEY)
    return list(map(int, block.columns["kind"]))


def _who(rows: Rows, place: int) -> str | None:
    return written_one_way(rows[place][0])


def _by_row_number(rows: Rows) -> list[int]:
    return _by_rule(rows, lambda place: _who(rows, place), _mark)


def _per_piece(rows: Rows) -> list[int]:
    return _by_rule(rows, lambda place: (_who(rows, place), place // BATCH), lambda place: _mark(rows[place]))


def _per_part(rows: Rows) -> list[int]:
    return _by_rule(rows, lambda place: (_who(rows, place), rows[place][1]), lambda place: _mark(rows[place]))


def _numbered_per_batch(rows: Rows) -> list[int]:
    def mark(place: int) -> bytes:
        before = rows[place // BATCH * BATCH : place]
        return _mark(_who(rows, place), rows[place][1], before.count(rows[place]))

    return _by_rule(rows, lambda place: _who(rows, place), mark)


def _as_written(rows: Rows) -> list[int]:
    return _by_rule(rows, lambda place: rows[place][0], lambda place: _mark(rows[place]))


@frozen
class HeldCounts:
    """Counts of the rows that are held of each kind, with noise as for one row."""

    rule: Callable[[Rows], list[int]]

    def counts(self, rows: Rows) -> tuple[int, int]:
        """How many rows of each kind are held."""
        kinds = self.rule(rows)
        return kinds.count(0), kinds.count(1)

    def sample(self, noise: Sampler, data: Rows, epsilon: Fraction, size: int) -> NDArray[np.int64]:
        """Both noisy counts, per run."""
        drawn = noise.discrete_laplace(1 / epsilon, size * 2)
        return np.array(self.counts(data)) + drawn.reshape(size, 2)

    def distribution(self, data: Rows, epsilon: Fraction) -> Distribution:
        """The distribution: both counts are independent."""
        return independent(*(laplace(count, 1 / epsilon) for count in self.counts(data)))


WRONG: tuple[tuple[str, Callable[[Rows], list[int]], str], ...] = (
    ("RowNumbersHashed", _by_row_number, "a person who comes moves the numbers of other persons' rows"),
    ("RowsPerPiece", _per_piece, "a person with rows in two pieces of a file has one of each"),
    ("RowsPerPart", _per_part, "a person with rows in two disjoint parts has one in each"),
    ("NumberedPerBatch", _numbered_per_batch, "where a batch ends hangs on others' rows, and so do numbers and hashes"),
    ("TwoSpellings", _as_written, "a person who is written as 1 and as 1.0 has two rows"),
)


def _without(rows: Rows, person: str) -> Rows:
    return tuple(row for row in rows if written_one_way(row[0]) != person)


@cache
def _worst(rule: Callable[[Rows], list[int]]) -> tuple[Rows, Rows]:
    """Rows with and without a person, which a rule tells apart as far as any of four rows."""
    counts = HeldCounts(rule).counts
    tables = (
        tuple(zip(who, kinds, strict=True)) for who in product(WRITTEN, repeat=4) for kinds in product((0, 1), repeat=4)
    )
    pairs = [(rows, _without(rows, person)) for rows in tables for person in ("1", "2")]
    return max(
        (pair for pair in pairs if pair[0] != pair[1]),
        key=lambda pair: sum(abs(one - other) for one, other in zip(counts(pair[0]), counts(pair[1]), strict=True)),
    )


def _pairs() -> Iterator[Pair[Rows]]:
    for name, rule, _ in WRONG:
        yield Pair(*_worst(rule), f"a person more, whom {name} tells apart most")


def _neighbours(first: Rows, second: Rows) -> bool:
    return any(
        _without(first, person) == second != first for person in {written_one_way(who) or "" for who, _ in first}
    )


PERSONS = Pairs(relation="add_remove", make=_pairs, neighbours=_neighbours)
PERSON_CONTROLS = tuple(
    Subject(
        name=name,
        module=__name__,
        about="counts of rows, one of each person",
        pairs=PERSONS,
        sample=HeldCounts(rule).sample,
        distribution=HeldCounts(rule).distribution,
        fault=Fault(how, "one row of each person, by a hash of that person's own rows"),
    )
    for name, rule, how in WRONG
)
HELD_ROWS = Subject(
    name="HeldRows",
    module=__name__,
    about="counts of rows, one of each person, as tables hold them",
    pairs=PERSONS,
    sample=HeldCounts(_as_done).sample,
    distribution=HeldCounts(_as_done).distribution,
)
