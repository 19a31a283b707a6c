"""Persons: whose row each one is, and which rows of a person are read where there are more than a promise covers.

*Who is who* goes by what a cell says, exactly and however it is written: 1, 1.0 and "01" are one person, and two long
numbers that one float stands for are two. No hash decides it.

*Which rows.* Of each person at most m are held: those with the smallest keyed hashes of (key, person, encoded row, its
number among that person's equal rows), ties by the hash, then by the row. An encoded row is the codes, steps and
features of all columns of the schema that a table is opened with, whatever is asked later; the number goes over all
rows of the person, held or not. So what is held of a person is a function of the key and of the rows of that person,
as a bag: of no other row, and of no order, file, batch or piece that rows come in. The key is the account's, and need
not be secret. A row of nobody is left out.

*Where.* A source that is bounded has all rows of a person in one block wherever a kernel counts persons.
"""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.errors import SchemaError, TableError
from jostle.tables.block import Block, Whose
from jostle.tables.features import mixed
from jostle.tables.fields import Integers, Truths, Within, truth, whole
from jostle.tables.kernels import MOST_RECORDS, DenseKernel
from jostle.tables.schema import ROWS_PER_PERSON, Schema
from jostle.tables.values import (
    EMPTY,
    HEXADECIMAL,
    NUMBER,
    TRUTHS,
    UNSAID,
    as_texts,
    by_type,
    chunks,
    one_by_one,
    plain,
    time_in,
)

Hashes: TypeAlias = NDArray[np.uint64]

NOBODY = -1
"""The code of a row without a person."""
PUBLIC_KEY = b"jostle rehearses"
"""Of rehearsals, which are of public rows."""
PLAIN_NUMBER = r"^(0|-?[1-9][0-9]{0,17})$"
"""Whole numbers that are written in the one way already."""
MOST_OF_32 = 2**31 - 1
LONGEST_PLAIN = 18
LONGEST_EXPONENT = 18
PERHAPS_DATE = r"^[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$"
PLAIN_TEXT = (
    r"^([A-Za-z][A-Za-z_-]*[0-9][A-Za-z0-9_-]*"
    r"|[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})$"
)
"""Texts that are no number, no moment and not empty, as one sees at once."""
PARTS = re.compile(r"([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?", re.ASCII)
STEP = np.uint64(0xC2B2AE3D27D4EB4F)


def whose_rows(values: pa.Array | pa.ChunkedArray | list[object]) -> Whose:
    """Whose the rows are whose cells in the column of persons these are; NOBODY's where one is empty."""
    if isinstance(values, list):
        parts = [(places, whose_rows(cells)) for places, cells in by_type(values)]
        joined = joined_whose([part for _, part in parts])
        codes: NDArray[np.signedinteger[Any]] = np.full(len(values), NOBODY, dtype=np.int32)
        if parts:
            codes[np.concatenate([places for places, _ in parts])] = joined.codes
        return evolve(joined, codes=codes)
    return joined_whose([_whose_chunk(plain(chunk)) for chunk in chunks(values)])


def joined_whose(parts: list[Whose]) -> Whose:
    """Whose the rows of several are, one after the other."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.names) for part in parts)])
    wide = np.int32 if starts[-1] < MOST_OF_32 else np.int64
    codes = [
        np.where(part.codes < 0, NOBODY, part.codes + start) for part, start in zip(parts, starts[:-1], strict=True)
    ]
    whole = all(pa.types.is_integer(part.names.type) for part in parts) and bool(parts)
    names = [part.names if whole else texts_of_names(part.names) for part in parts]
    empty = pa.array([], pa.large_string())
    every: NDArray[Any] = np.concatenate([np.empty(0, dtype=wide), *codes])
    return Whose(every.astype(wide, copy=False), pa.concat_arrays(names) if names else empty)


def distinct(whose: Whose) -> Whose:
    """The same, each name being there once."""
    places, names = _numbered(whose.names)
    if len(places) == len(whose.codes) and np.array_equal(whose.codes, np.arange(len(places))):
        return Whose(places, names)
    return Whose(np.append(places, np.int32(NOBODY))[whose.codes], names)  # nobody's code is the last


def _numbered(names: pa.Array) -> tuple[NDArray[np.signedinteger[Any]], pa.Array]:
    """Each name's place among different ones, and these."""
    if pa.types.is_integer(names.type) and len(names):
        numbers = names.to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < 4 * len(numbers):  # near each other: a table of all between is quicker than one of hashes
            there = np.zeros(high - low + 1, dtype=np.bool_)
            there[numbers - low] = True
            places = (np.cumsum(there) - 1).astype(np.int32 if len(there) < MOST_OF_32 else np.int64)
            return places[numbers - low], pa.array(np.flatnonzero(there) + low)
    coded = names.dictionary_encode()
    return coded.indices.to_numpy(), coded.dictionary


def texts_of_names(names: pa.Array) -> pa.Array:
    """Names as texts, each in the one way."""
    if not pa.types.is_integer(names.type):
        return names
    texts, ends = pc.cast(names, pa.large_string()), pc.min_max(names).as_py()
    low, high = (ends[end] or 0 for end in ("min", "max"))
    # Dates have eight digits; longer numbers than these are written with a power of ten.
    plain = (low > -(10**18) and high < 10**7) or (low >= 10**8 and high < 10**18)
    return texts if plain else one_way(texts)


def _whose_chunk(values: pa.Array) -> Whose:
    objects = one_by_one(values)
    if objects is not None:
        return whose_rows(objects)
    if pa.types.is_dictionary(values.type):
        persons = _whose_chunk(plain(values.dictionary))
        indices = values.indices.fill_null(len(persons.codes)).to_numpy(zero_copy_only=False)
        inside = (indices >= 0) & (indices < len(persons.codes))  # others are a damaged file's
        table = np.append(persons.codes, np.int32(NOBODY))
        return evolve(persons, codes=table[np.where(inside, indices, len(persons.codes))])
    may_be_whole = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string)
    try:  # reads nothing as a number that the slower way does not, and the same numbers
        numbers = pc.cast(values, pa.int64()) if any(is_kind(values.type) for is_kind in may_be_whole) else None
    except pa.ArrowInvalid:
        numbers = None
    if numbers is not None:
        codes: NDArray[np.signedinteger[Any]] = np.arange(len(numbers), dtype=np.int32)
        if numbers.null_count:
            codes[numbers.is_null().to_numpy(zero_copy_only=False)] = NOBODY
            numbers = numbers.fill_null(0)  # nobody's number
        return Whose(codes, numbers)
    every = as_texts(values).cast(pa.large_string()).dictionary_encode()
    distinct_names = one_way(every.dictionary).dictionary_encode()
    table = np.append(distinct_names.indices.fill_null(NOBODY).to_numpy(zero_copy_only=False), np.int32(NOBODY))
    places = every.indices.fill_null(len(every.dictionary)).to_numpy(zero_copy_only=False)
    return Whose(table[places].astype(np.int32, copy=False), distinct_names.dictionary)


def one_way(texts: pa.Array) -> pa.Array:
    """Each text in the one way to write what it says: numbers exactly, moments; null for an empty one."""
    numbers = pc.and_(
        pc.match_substring_regex(texts, PLAIN_NUMBER), pc.invert(pc.match_substring_regex(texts, PERHAPS_DATE))
    )
    done = pc.or_(numbers, pc.match_substring_regex(texts, PLAIN_TEXT)).fill_null(fill_value=True)
    others = np.flatnonzero(~done.to_numpy(zero_copy_only=False))
    if not len(others):
        return texts
    written = np.full(len(texts), None, dtype=object)
    written[others] = [written_one_way(text) for text in texts.take(pa.array(others)).to_pylist()]
    return pc.if_else(done, texts, pa.array(written.tolist(), pa.large_string()))


def written_one_way(text: str) -> str | None:
    """The text, or in place of a number or a moment the one way to write it; None for an empty one.

    >>> [written_one_way(each) for each in ("1.0", "01", "1e0", "9007199254740993", "Ann", "NaN", "2024-01-02")]
    ['1', '1', '1', '9007199254740993', 'Ann', None, '2024-01-02 00:00:00']
    """
    if text in EMPTY or text in UNSAID:
        return None
    moment = time_in(text)
    if moment is not None:
        return str(moment)
    if text.lower() in TRUTHS:
        return f"{TRUTHS[text.lower()]:.0f}"
    if re.match(HEXADECIMAL, text, re.ASCII):
        return str((int(text, 16) + 2**63) % 2**64 - 2**63)
    return _number(text.strip()) if re.match(NUMBER, text, re.ASCII) else text


def _number(text: str) -> str:
    """A number exactly, however long it is: its digits, and a power of ten where it is not a short whole one."""
    match = PARTS.fullmatch(text)
    if match is None:
        return "-inf" if text.startswith("-") else "inf"
    sign, whole, part, power = match.groups()
    digits = (whole + part).lstrip("0")
    short = digits.rstrip("0")
    if not short:
        return "0"
    tens = (power or "0").lstrip("+-").lstrip("0")
    minus = "-" if sign == "-" else ""
    if len(tens) > LONGEST_EXPONENT:  # no float is as large, or as small
        return "0" if (power or "").startswith("-") else f"{minus}inf"
    zeros = int(power or "0") - len(part) + len(digits) - len(short)
    if zeros >= 0 and len(short) + zeros <= LONGEST_PLAIN:
        return minus + short + "0" * zeros
    return f"{minus}{short}e{zeros}"


def check_persons(whose: Whose | None, schema: Schema) -> Whose:
    """Whose the rows are; refuse rows that came in some way that does not say it."""
    if whose is None:
        raise TableError(
            f"the schema says that {schema.person!r} is whose each row is, and these rows do not say it",
            fix="give rows with that column, or a schema without a person",
        )
    return whose


def bounded(block: Block, schema: Schema, key: bytes) -> Block:
    """The rows that are held, of a block with all rows of its persons: at most so many of each person.

    Of a block that is bounded already, they are fewer. They are a function of what was held of each person alone.
    """
    whose, most = check_persons(block.whose, schema), schema.rows_per_person or ROWS_PER_PERSON
    if whose.marks is None or whose.read is None:
        whose = distinct(whose)
        read = np.bincount(whose.codes, minlength=len(whose.names)).astype(np.int64)
        whose = Whose(whose.codes, pa.array([], pa.large_string()), marks_of(whose.names), read)
        block = evolve(block, columns=dict(block.columns), whose=whose)
    marks: Any = whose.marks
    here = np.bincount(whose.codes, minlength=len(marks))
    if not np.any(here > most):
        return block
    many = np.flatnonzero((here > most)[whose.codes])
    keep = np.ones(block.length, dtype=np.bool_)
    keep[many] = False
    ranks = np.cumsum(here > most) - 1
    codes = whose.codes[many]
    lane = np.uint64(int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little"))
    keep[many[_smallest(block.rows(many), ranks[codes], mixed(marks + lane)[codes], most)]] = True
    return block.rows(np.flatnonzero(keep))


def _smallest(block: Block, codes: NDArray[np.intp], marks: Hashes, most: int) -> NDArray[np.intp]:
    """Places of the rows of the smallest hashes, so many of each person, who are numbered and marked."""
    rows = row_marks(block)
    hashes = mixed(marks + rows)
    order = np.argsort(hashes)
    alike = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]]) + 1
    before, after = order[alike - 1], order[alike]
    if np.all(codes[before] == codes[after]) and np.all(_equal(block, before, after)):
        drawn = hashes[order]
        drawn[alike] += (since(np.diff(alike, prepend=-1) == 1) + 1).astype(np.uint64) * STEP
        drawn = mixed(drawn)
        bits = np.uint64(int(codes.max()).bit_length())
        # A person and the first bits of a hash in one number: where these differ, the others do not matter.
        short = drawn >> bits
        if bits:
            short |= codes[order].astype(np.uint64) << (np.uint64(64) - bits)
        last = np.argsort(short)
        if np.all(short[last[1:]] != short[last[:-1]]):
            return _first_of_each(codes, order[last], most)
    return _smallest_exactly(block, codes, rows, hashes, most)


def _smallest_exactly(
    block: Block, codes: NDArray[np.intp], rows: Hashes, hashes: Hashes, most: int
) -> NDArray[np.intp]:
    """The same where two hashes are equal, or begin alike: by whole hashes, and then by whole rows."""
    texts = _written(block)
    order = np.array(sorted(range(block.length), key=lambda row: (codes[row], rows[row], texts[row])))
    persons = codes[order]
    same = np.array([False, *(texts[after] == texts[before] for before, after in pairwise(order))])
    same[1:] &= persons[1:] == persons[:-1]
    drawn = mixed(hashes[order] + since(same).astype(np.uint64) * STEP)
    # Sorted anew, those of one hash stay in the order of their rows.
    return _first_of_each(codes, order[np.lexsort((drawn, persons))], most)


def _first_of_each(codes: NDArray[np.intp], order: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Of rows that are sorted by person, the first ones of each."""
    counts = np.bincount(codes)
    return order[np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts) < most]


def since(goes_on: Truths) -> NDArray[np.intp]:
    """How many places each one is after the last that begins something."""
    places = np.arange(len(goes_on))
    return places - np.maximum.accumulate(np.where(goes_on, 0, places))


def _equal(block: Block, left: NDArray[np.intp], right: NDArray[np.intp]) -> Truths:
    """Whether rows at two lists of places are equal, one by one."""
    same = np.ones(len(left), dtype=np.bool_)
    for codes in (*block.columns.values(), *block.steps.values()):
        same &= codes[left] == codes[right]
    if block.bits is not None:
        some = np.flatnonzero(same)
        texts = [bits.lists() for bits in (block.bits.rows(left[some]), block.bits.rows(right[some]))]
        same[some] = [one == other for one, other in zip(*texts, strict=True)]
    return same


def _written(block: Block) -> list[bytes]:
    """Each row as bytes, which differ where rows do."""
    cells = [*block.columns.values(), *(block.steps[name] for name in sorted(block.steps))]
    matrix = np.stack([codes.astype(">u8") for codes in cells], axis=1)
    features = [b""] * block.length if block.bits is None else block.bits.lists()
    return [row.tobytes() + more for row, more in zip(matrix, features, strict=True)]


def row_marks(block: Block) -> Hashes:
    """A hash of each row as it is encoded, all of its columns, steps and features."""
    hashes = np.zeros(block.length, dtype=np.uint64)
    if block.bits is not None:
        hashes = mixed(block.bits.hashes())
    for codes in (*block.columns.values(), *(block.steps[name] for name in sorted(block.steps))):
        hashes = (hashes + codes) * STEP
        hashes ^= hashes >> np.uint64(29)
    return hashes


def marks_of(names: pa.Array) -> Hashes:
    """A hash of each name."""
    names = texts_of_names(names)
    if not len(names):
        return np.empty(0, dtype=np.uint64)
    ends = np.frombuffer(names.buffers()[1], dtype=np.int64)[names.offset : names.offset + len(names) + 1]
    lengths = np.diff(ends)
    data = names.buffers()[2]
    letters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]] if data is not None and ends[-1] else None
    if letters is None:
        return np.zeros(len(names), dtype=np.uint64)
    places = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], lengths)
    hashes = mixed((places.astype(np.uint64) << np.uint64(8)) + letters + np.uint64(1))
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    return mixed(running[ends[1:] - ends[0]] - running[ends[:-1] - ends[0]])


MOST_COUNTED = 1 << 16
COUNTED_AT_ONCE = 1 << 18
"""Cells."""


@frozen(eq=False)
class Repeats:
    """How often values stand in a column: all of them, or of more than MOST_COUNTED those with the smallest hashes.

    A value that there is no room for has so many before it from then on, so that the others are counted whole.
    """

    marks: Hashes = field(factory=lambda: np.empty(0, dtype=np.uint64))
    counts: Integers = field(factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def of(cls, values: pa.Array | pa.ChunkedArray | list[object]) -> Repeats:
        """Those of a column's cells; empty ones are left out."""
        repeats = cls()
        for start in range(0, len(values), COUNTED_AT_ONCE):
            whose = whose_rows(values[start : start + COUNTED_AT_ONCE])
            counts = np.bincount(whose.codes[whose.codes != NOBODY], minlength=len(whose.names))
            repeats = repeats.merged(cls(marks_of(whose.names)[counts > 0], counts[counts > 0]))
        return repeats

    def merged(self, other: Repeats) -> Repeats:
        """Those of the cells of both."""
        marks, places = np.unique(np.concatenate([self.marks, other.marks]), return_inverse=True)
        counts = np.zeros(len(marks), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        return Repeats(marks[:MOST_COUNTED], counts[:MOST_COUNTED])

    @property
    def most(self) -> int:
        """In how many rows one of them stands."""
        return int(self.counts.max(initial=0))


@frozen
class OfPersons(DenseKernel):
    """What counts persons, each once, however many of their rows are asked about.

    A row more or less changes it by 1 at most, and so do all rows of a person together.
    """

    once: bool = field(default=True, converter=truth, kw_only=True)
    """Whether noise is as for a person; in a part it is as for each of a person's rows, which are in several parts."""

    @property
    def of_persons(self) -> bool:
        return True

    def cells(self, schema: Schema) -> int:
        """One, where the schema declares persons."""
        if schema.person is None:
            raise SchemaError(
                "the schema declares no person, so nobody counts them",
                fix='person="patient_id", the column that says whose each row is',
            )
        return 1

    def bound(self, schema: Schema) -> int:
        """1: a row is of one person."""
        return 1


@frozen
class PersonCount(OfPersons):
    """How many persons there are, of those with more than so many rows."""

    more_than: int = field(default=0, converter=whole, validator=Within(0, MOST_RECORDS))
    """Rows that were read of a person, held or not."""

    def replaced(self, schema: Schema) -> int:
        """1: one person more, and one less, or either."""
        return 1

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        read, codes = _read(block, schema)
        totals[0] += np.count_nonzero(read[np.unique(codes)] > self.more_than)


@frozen
class PersonBands(OfPersons):
    """How many persons have 1 row, 2, 3 or 4, 5 to 8, and so on by twice as many; the last band has all with more."""

    def cells(self, schema: Schema) -> int:
        """As many as lead up to the most rows of a person that are held."""
        return super().cells(schema) + len(band_ends(schema.rows_per_person or ROWS_PER_PERSON)) - 1

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        read, codes = _read(block, schema)
        ends = band_ends(schema.rows_per_person or ROWS_PER_PERSON)
        bands = np.searchsorted(ends[:-1], read[np.unique(codes)])
        totals += np.bincount(bands, minlength=len(ends))


def band_ends(most: int) -> Integers:
    """The most rows of a person in each band, up to the most that are held.

    >>> band_ends(1).tolist(), band_ends(6).tolist(), band_ends(16).tolist()
    ([1], [1, 2, 4, 6], [1, 2, 4, 8, 16])
    """
    return np.array([*(1 << power for power in range((most - 1).bit_length())), most], dtype=np.int64)


@frozen
class BeyondCount(DenseKernel):
    """How many rows are not held, and of how many persons. Never noised, never released: told to the owner alone."""

    @property
    def of_persons(self) -> bool:
        return True

    def cells(self, schema: Schema) -> int:
        return 2

    def bound(self, schema: Schema) -> int:
        """Refuse: no noise hides a person of many rows."""
        raise TypeError("rows that are not held are not released")

    def add(self, block: Block, schema: Schema, totals: Integers) -> None:
        read, codes = _read(block, schema)
        beyond = read[np.unique(codes)] - (schema.rows_per_person or 0)
        totals += np.array([beyond[beyond > 0].sum(), np.count_nonzero(beyond > 0)])


def _read(block: Block, schema: Schema) -> tuple[Integers, NDArray[np.signedinteger[Any]]]:
    """How many rows of each person were read, and whose the block's are."""
    whose = check_persons(block.whose, schema)
    if whose.read is None:
        raise TypeError("rows that are not bounded have no persons to be counted")
    return whose.read, whose.codes
