"""Public tables in one form, whatever they were read from, and which of them are about the same people.

Numbers are floats, and everything else is a text. A file says nothing of types, a dataframe guesses them, Parquet
declares them. So that one table gives the same instances on every machine and from every reader, its columns are judged
here by what the cells say, and hashed so.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import CorpusError
from jostle.tables.encode import Cells
from jostle.tables.values import (
    NUMBER,
    as_numbers,
    as_texts,
    by_type,
    check_readable,
    chunks,
    is_number,
    is_text,
    plain,
)

DIGEST_BYTES = 16
UNKNOWN = "?"
"""How collections of public data write a cell that says nothing; in a column of categories, it is one of them."""


def plain_table(columns: Mapping[str, Cells], label: str) -> pa.Table:
    """The columns in one form, without rows whose label is empty.

    A column where every cell is a number, empty or a question mark becomes one of floats. Any other becomes one of
    texts, as does the label.
    """
    if label not in columns:
        raise CorpusError(f"there is no column {label!r} to predict", fix="name the column of classes")
    made = {name: _plain_column(name, cells, is_label=name == label) for name, cells in columns.items()}
    table = pa.table(made)
    classes = table[label].combine_chunks()
    return table.filter(classes.is_valid()) if classes.null_count else table


def _plain_column(name: str, cells: Cells, *, is_label: bool) -> pa.Array:
    if isinstance(cells, list):
        written: list[str | None] = [None] * len(cells)
        for places, values in by_type(cells):
            for place, text in zip(places.tolist(), as_texts(values).to_pylist(), strict=True):
                written[place] = text
        return _plain_texts(pa.array(written, pa.large_string()), is_label=is_label)
    check_readable(name, cells.type)
    parts = [_decoded(plain(chunk)) for chunk in chunks(cells)]
    if parts and not is_label and all(is_number(part.type) for part in parts):
        return _numbers(np.concatenate([as_numbers(part) for part in parts]))
    texts = [as_texts(part).cast(pa.large_string()) for part in parts]
    return _plain_texts(pa.concat_arrays(texts or [pa.array([], pa.large_string())]), is_label=is_label)


def _decoded(values: pa.Array) -> pa.Array:
    return plain(pc.cast(values, values.type.value_type)) if pa.types.is_dictionary(values.type) else values


def _plain_texts(texts: pa.Array, *, is_label: bool) -> pa.Array:
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    if is_label:
        return pc.if_else(pc.equal(texts, UNKNOWN), pa.scalar(None, texts.type), texts).dictionary_encode()
    distinct = texts.dictionary_encode()
    said = distinct.dictionary.filter(pc.not_equal(distinct.dictionary, UNKNOWN))
    if len(said) and pc.all(pc.match_substring_regex(said, NUMBER)).as_py():
        table = as_numbers(distinct.dictionary)
        return pa.array(table, mask=np.isnan(table)).take(distinct.indices)
    return distinct


def _numbers(numbers: NDArray[np.float64]) -> pa.Array:
    return pa.array(numbers, mask=np.isnan(numbers))


def table_digest(table: pa.Table, label: str) -> str:
    """A hash of a plain table: names, label and cells, in order."""
    hasher = hashlib.blake2b(digest_size=DIGEST_BYTES)
    hasher.update(f"table {len(table)} {label!r}".encode())
    for name in table.column_names:
        kind, parts = _bytes(table[name].combine_chunks())
        hasher.update(f"{name!r} {kind}".encode())
        for part in parts:
            hasher.update(part)
    return hasher.hexdigest()


def _bytes(values: pa.Array) -> tuple[str, list[bytes]]:
    """A plain column's kind and bytes, which do not depend on the machine."""
    if is_text(values.type) or pa.types.is_dictionary(values.type):
        # A dictionary in the order in which words first appear.
        coded = (_decoded(values) if pa.types.is_dictionary(values.type) else values).dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        words = [word.encode() for word in coded.dictionary.to_pylist()]
        lengths = np.array([len(word) for word in words], dtype="<i8")
        return f"texts {len(words)}", [codes.astype("<i4").tobytes(), lengths.tobytes(), b"".join(words)]
    numbers = as_numbers(values) + 0.0  # which makes zero of minus zero
    numbers[np.isnan(numbers)] = np.nan  # of all the ways to write it, one
    return "numbers", [numbers.astype("<f8").tobytes()]


def grid_digest(counts: NDArray[np.int64]) -> str:
    """A hash of a grid: its shape and its counts."""
    hasher = hashlib.blake2b(f"grid {counts.shape}".encode(), digest_size=DIGEST_BYTES)
    hasher.update(np.ascontiguousarray(counts, dtype="<i8").tobytes())
    return hasher.hexdigest()


def row_hashes(table: pa.Table, label: str) -> NDArray[np.uint64]:
    """The hashes of a plain table's different rows, sorted; the label and the columns' names do not count."""
    constant = np.uint64(0x9E3779B97F4A7C15)
    hashes = np.zeros(len(table), dtype=np.uint64)
    for name in table.column_names:
        if name != label:
            hashes = (hashes + _cell_hashes(table[name].combine_chunks())) * constant
            hashes ^= hashes >> np.uint64(29)
    return np.unique(hashes)


def _cell_hashes(values: pa.Array) -> NDArray[np.uint64]:
    if pa.types.is_dictionary(values.type):
        words = [hashlib.blake2b(word.encode(), digest_size=8).digest() for word in values.dictionary.to_pylist()]
        table = np.frombuffer(b"".join([*words, bytes(8)]), dtype="<u8").astype(np.uint64)  # the last, for empty cells
        hashes: NDArray[np.uint64] = table[values.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)]
        return hashes
    numbers = as_numbers(values) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


KNOWN_RELATIVES = (
    ("adult", "ada", "census_income_kdd_test", "census_income_kdd"),  # one survey, different years, and recoded
    ("heart_cleveland", "heart_statlog", "cleveland"),  # the second is a recoded part of the first
    ("hypothyroid", "sick"),  # the same patients, another label
    ("monks1", "monks2", "monks3"),  # the same rows, another label
    ("acs_national_income", "acs_tx_marital", "acs_ma_tenure"),  # one survey, overlapping areas
    ("lending_club", "loans_grade"),  # one lender
    ("rt_polarity", "sst2"),  # the same sentences
    ("kc1", "pc1", "cm1"),  # software measured by one programme
)
"""Well-known databases, by their usual names, whose rows are about the same people or things."""
LEAST_SHARED = 20
"""So few different rows can be in two tables by chance."""
MOST_FILLED = 0.25
"""Of all rows that a table's values could make up, the share from which on other tables have the same by chance."""


@frozen(eq=False)
class RowMarks:
    """What tells whether two tables have the same rows."""

    attributes: tuple[str, ...]
    hashes: NDArray[np.uint64]
    """Of the different rows, without labels, sorted."""
    filled: float
    """How many of the rows that the columns' values could make up there are."""

    @classmethod
    def of(cls, columns: pa.Table, label: str) -> RowMarks:
        """A table's marks."""
        attributes = tuple(name for name in columns.column_names if name != label)
        hashes = row_hashes(columns, label)
        values = (float(len(columns[name].unique())) for name in attributes)
        return cls(attributes, hashes, len(hashes) / math.prod(values))


def related(one: RowMarks, other: RowMarks) -> bool:
    """Whether more than half of one table's different rows are also in the other, and not by chance.

    Tables of few attributes with few values have the same rows without having the same people; they are taken to be
    related only if their attributes have the same names.
    """
    smaller = min(len(one.hashes), len(other.hashes))
    if len(one.attributes) != len(other.attributes) or smaller < LEAST_SHARED:
        return False
    if max(one.filled, other.filled) > MOST_FILLED and one.attributes != other.attributes:
        return False
    return 2 * len(np.intersect1d(one.hashes, other.hashes, assume_unique=True)) > smaller
