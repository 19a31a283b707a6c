"""Hashes of rows: by which a table is known again, and by which rows are dealt out among portions.

*Portions* are rows dealt out by a keyed hash of each. Which portion a row is in, is the same however often it is asked,
in whatever pieces and on whatever machines the rows are read; no other row and no order of rows has to do with it (see
`part_of`). So portions share no row, whoever knows the key: a row that is added or removed touches one of them, and a
row that becomes another touches at most two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.block import Block
from jostle.tables.engines import RowSource, RowView
from jostle.tables.fields import Integers
from jostle.tables.kernels import DenseKernel, SparseTally
from jostle.tables.routes import part_of, part_of_marks
from jostle.tables.schema import Schema

LANES = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
"""Odd constants that make two independent 64-bit hashes of a row."""
HASHED_AT_ONCE = 2**14
"""Rows."""


@frozen
class RowHashes(DenseKernel):
    """Sums of row hashes modulo 2**64: the same for the same rows in any order. Never noised, never released."""

    fine: bool = False
    """Whether numbers count as exactly as they are held, and not by their bins alone."""

    def cells(self, schema: Schema) -> int:
        return len(LANES) + 1

    def bound(self, schema: Schema) -> int:
        """Refuse: no noise could hide this."""
        raise TypeError("row hashes are not released")

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        """Add the block's row hashes to *totals*, which wrap round."""
        sums = np.zeros_like(totals)
        # In pieces that stay in the processor's cache, and in memory that is asked for once.
        hashes = np.empty((len(LANES), HASHED_AT_ONCE), dtype=np.uint64)
        codes, shifted = np.empty((2, HASHED_AT_ONCE), dtype=np.uint64)
        for start in range(0, block.length, HASHED_AT_ONCE):
            rows = slice(start, min(start + HASHED_AT_ONCE, block.length))
            size = rows.stop - start
            for lane, constant in enumerate(LANES):
                hashes[lane] = constant
            for part in self._parts(block, schema, rows):
                codes[:size] = part
                for lane, constant in enumerate(LANES):
                    mixed, moved = hashes[lane, :size], shifted[:size]
                    mixed += codes[:size]
                    mixed *= np.uint64(constant)
                    np.right_shift(mixed, np.uint64(29), out=moved)
                    mixed ^= moved
            if block.multiplicity is not None:
                hashes[:, :size] *= block.multiplicity[rows].view(np.uint64)
            sums[:-1] += hashes[:, :size].view(np.int64).sum(axis=1)
        sums[-1] = block.records
        totals += sums  # as arrays, which wrap round without a warning

    def _parts(self, block: Block, schema: Schema, rows: slice) -> Iterator[NDArray[np.unsignedinteger[Any]]]:
        """Yield what each of some rows has of each column, one after the other."""
        for name in schema.names:
            yield block.columns[name][rows]
        for name in sorted(block.steps) if self.fine else ():
            yield block.steps[name][rows]
        if block.bits is not None:
            yield block.bits.part(rows.start, rows.stop).hashes()


@frozen(repr=False)
class Fingerprint:
    """Two marks of a table: of the data as they came, and of the rows as the schema reads them, without any names.

    Either may give it away as one seen before: the first under another schema, the second in another file format or
    order of rows. They find the account that the table has, and nothing is refused to an asker by them. Both are as
    private as the rows until hashed with a salt.
    """

    raw: bytes
    rows: bytes | None
    """None where no row is left, since all labels are missing, say: there, all tables of these columns are alike."""

    def salted(self, salt: bytes) -> frozenset[str]:
        """Both marks, useless to anyone without the salt: guesses at the rows cannot be checked."""
        marks = (b"raw" + self.raw, *(() if self.rows is None else (b"rows" + self.rows,)))
        return frozenset(hashlib.blake2b(mark, key=salt, digest_size=16).hexdigest() for mark in marks)


def fingerprint(source: RowSource) -> Fingerprint:
    """The marks of a table, by one pass over its rows; of a query's, by what it asks, and where."""
    if source.stays_there:
        return Fingerprint(source.identity, None)
    totals = source.tally(RowHashes(), ())
    if isinstance(totals, SparseTally):
        raise TypeError("row hashes are dense")
    rows = f"{len(source.schema.names)}".encode() + totals.tobytes() if totals[-1] else None
    return Fingerprint(source.identity, rows)


@frozen
class Portion(RowView):
    """One of so many portions that rows are dealt out among.

    The columns of its own schema are what a row is known by: what is asked of a portion may go by fewer of them.
    """

    key: int
    place: int
    of: int

    def block(self, block: Block, schema: Schema) -> Block:
        """The rows of a block that are in it: one by one, or person by person by their marks."""
        whose = block.whose
        if self.own.person is not None:  # all rows of a person go together
            if whose is None or whose.marks is None:
                raise TypeError("rows of no bounded person are not dealt out")
            dealt = part_of_marks(whose.marks, self.key, self.of)
            return block.rows(np.flatnonzero(dealt[whose.codes] == self.place))
        parts = part_of(block.columns, self.own, self.key, self.of, block.length)
        return block.rows(np.flatnonzero(parts == self.place))
