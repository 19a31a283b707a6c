"""Tables of made-up people, opened in various ways, for tests that need no particular one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
from attrs import field, frozen
from numpy.typing import NDArray

import jostle
from jostle import Probe, Schema, Table, Trace
from jostle.privacy.door import admit
from jostle.privacy.ledger import Ledger
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.room import Room
from jostle.tables.block import Where
from jostle.tables.closed import KERNELS
from jostle.tables.engines import Folded, Partial, TableSource
from jostle.tables.kernels import DenseKernel, SparseKernel, SparseTally
from jostle.tables.schema import Neighbours

REGIONS = ["north", "east", "south", "west"]


def schema(neighbours: Neighbours = "add_remove") -> Schema:
    """Return what is public about the people."""
    return Schema(
        {
            "age": jostle.Numeric(0, 100, bins=10),
            "region": jostle.Categorical(REGIONS),
            "smokes": jostle.Categorical(["no", "yes"]),
        },
        label="smokes",
        neighbours=neighbours,
    )


def people(rows: int = 200, seed: int = 0) -> pd.DataFrame:
    """Return people who do not exist."""
    chance = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": chance.integers(0, 100, rows),
            "region": chance.choice(REGIONS, rows),
            "smokes": chance.choice(["no", "yes"], rows),
        }
    )


def table(rows: int = 200, seed: int = 0, neighbours: Neighbours = "add_remove") -> Table:
    """Return the people as a table."""
    return Table.from_frame(people(rows, seed), schema(neighbours))


def protected(
    epsilon: Fraction | int | str | None = 1,
    *,
    rows: int = 200,
    seed: int = 0,
    neighbours: Neighbours = "add_remove",
    vault: Path | None = None,
) -> Probe:
    """Return a probe on private people; nobody outside it holds them."""
    return jostle.protect(table(rows, seed, neighbours), epsilon=epsilon, vault=vault)


def room(
    neighbours: Neighbours = "add_remove", *, private: bool = True, seed: int = 0, trace: Trace | None = None
) -> Room:
    """Return a room on people, with a budget of 1 and seeded noise, as only the door has one."""
    ledger, noise = Ledger(Fraction(1), neighbours), Noise(SeededBits(seed))
    rows = table(neighbours=neighbours)._source
    return Room(rows, (), ledger, noise, trace or Trace(), private=private, probe=lambda room: Probe(admit(room)))


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it came from."""
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None:
            yield each
            waiting += [each.__cause__, each.__context__]


NUMBERS = count()
SECRET = 271_828_182
"""A number that stands for private rows: wherever it turns up, rows do."""


@frozen(eq=False)
class Trouble(TableSource):
    """A source of rows that runs into something when it is asked about them."""

    schema: Schema
    trouble: Callable[[str], object]
    """What happens; it is given what a row holds."""
    rows: NDArray[np.int64] = field(factory=lambda: np.full(50, SECRET))
    number: int = field(factory=lambda: next(NUMBERS))
    """Tells this source from all others, so that it has a budget of its own."""

    @property
    def identity(self) -> bytes:
        """Return what the data came as."""
        return str(self.number).encode()

    def tally(self, kernel: DenseKernel | SparseKernel, where: Where) -> Partial:
        """Return zeros, once trouble is over; fingerprints are taken in peace."""
        row = str(self.rows[0])
        if type(kernel) in KERNELS:
            self.trouble(row)
        if isinstance(kernel, SparseKernel):
            return SparseTally(self.rows[:0], self.rows[:0])
        return np.full(kernel.cells(self.schema), 0 if type(kernel) in KERNELS else self.number, dtype=np.int64)

    def fold(self, fold: Folded) -> Folded:
        """Only the owner of rows is told of them."""
        raise AssertionError

    def bounded(self, key: bytes) -> Trouble:
        """All rows: they are of no persons."""
        return self


def troubled(trouble: Callable[[str], object], *, private: bool = True) -> Probe:
    """Return a probe on such a source."""
    rows = Table(Trouble(schema(), trouble))
    return jostle.protect(rows, epsilon=100) if private else jostle.rehearse(rows)
