"""Recognise a table that comes again, whatever way it was read and whatever order its rows are in."""

from __future__ import annotations

import hashlib

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.tables.block import Block
from jostle.tables.engines import RowSource
from jostle.tables.kernels import DenseKernel, SparseTally
from jostle.tables.schema import Schema

__all__ = ["Fingerprint", "RowHashes", "fingerprint"]

LANES = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
"""Odd constants that make two independent 64-bit hashes of a row."""


@frozen
class RowHashes(DenseKernel):
    """Sums of row hashes modulo 2**64: the same for the same rows in any order. Never noised, never released."""

    fine: bool = False
    """Whether numbers count as exactly as they are held, and not by their bins alone."""

    def cells(self, schema: Schema) -> int:  # noqa: ARG002 - the same for every schema
        """One per lane, and the number of rows."""
        return len(LANES) + 1

    def bound(self, schema: Schema) -> int:  # noqa: ARG002 - as above
        """Refuse: no noise could hide this."""
        raise TypeError("row hashes are not released")

    def add(self, block: Block, schema: Schema, totals: NDArray[np.int64]) -> None:
        """Add the block's row hashes to *totals*, which wrap round."""
        weights = np.ones(1, dtype=np.uint64) if block.multiplicity is None else block.multiplicity.view(np.uint64)
        found = np.zeros_like(totals)
        for lane, constant in enumerate(LANES):
            hashes = np.full(block.length, constant, dtype=np.uint64)
            for name in schema.names:
                hashes = (hashes + block.columns[name]) * np.uint64(constant)
                hashes ^= hashes >> np.uint64(29)
            for name in sorted(block.steps) if self.fine else ():
                hashes = (hashes + block.steps[name]) * np.uint64(constant)
                hashes ^= hashes >> np.uint64(29)
            if block.bits is not None:
                hashes = (hashes + block.bits.hashes()) * np.uint64(constant)
                hashes ^= hashes >> np.uint64(29)
            found[lane] = (hashes * weights).view(np.int64).sum()
        found[-1] = block.length if block.multiplicity is None else block.multiplicity.sum()
        totals += found  # as arrays, which wrap round without a warning


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
        return frozenset(_hash(mark, salt) for mark in marks)


def fingerprint(source: RowSource) -> Fingerprint:
    """The marks of a table, by one pass over its rows."""
    totals = source.tally(RowHashes(), ())
    if isinstance(totals, SparseTally):
        raise TypeError("row hashes are dense")
    rows = f"{len(source.schema.names)}".encode() + totals.tobytes() if totals[-1] else None
    return Fingerprint(source.identity, rows)


def _hash(mark: bytes, salt: bytes) -> str:
    return hashlib.blake2b(mark, key=salt, digest_size=16).hexdigest()
