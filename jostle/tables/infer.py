"""Read a schema off public data."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from datetime import time, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jostle.errors import SchemaError, shown
from jostle.files.content import FileContent
from jostle.files.kinds import toml_written as written
from jostle.given import given_as
from jostle.tables import readers
from jostle.tables.columns import (
    MISSING,
    OTHER,
    Categorical,
    Column,
    Dates,
    Identifier,
    MissingPolicy,
    Numeric,
    is_too_long,
)
from jostle.tables.encode import Cells, texts_of
from jostle.tables.features import SparseFeatures, words_of
from jostle.tables.fields import Floats, Integers
from jostle.tables.frames import frame_columns
from jostle.tables.origins import RowOrigin, check_public, read_public
from jostle.tables.persons import NOBODY, Repeats, distinct, whose_rows
from jostle.tables.schema import Schema
from jostle.tables.values import (
    EMPTY,
    NUMBER,
    as_numbers,
    as_texts,
    by_type,
    check_readable,
    chunks,
    is_number,
    is_text,
    moment_in,
    number_in,
    plain,
    time_in,
)
from jostle.visible import steers

MOST_CODED = 10
"""A column of numbers with at most so many different ones counts as categorical."""
CODE_WIDTH = 8
"""Digits: amounts of so many are not all of the same number of them."""
CODE_WORDS = re.compile(
    r"(^|[\W_\d])(barcode|codes?|ean|fips|gtin|iban|ids?|identifier|imei|insee|isbn|issn|naics|phone|plz|postal"
    r"|postcodes?|sic|siren|siret|sku|ssn|tel|telephone|upc|uuid|zip|zipcodes?)($|[\W_\d])"
)
"""Where they are in a column's name, its numbers are codes."""
NAMES = re.compile(r"(^|[\W_\d])(guid|ids?|identifier|uuid)($|[\W_\d])")
"""Where they are in a column's name, its values are names of something, persons perhaps."""
MOST_ROWS_EACH = 200
"""Names whose values stand in more rows than that on average are of wards or of kinds, and not of persons."""
NOTHING: frozenset[str | None] = EMPTY | {None}
MOST_VALUES = 1000
"""A column of texts with more different ones is an identifier, or it is free text and left out."""


def infer_public(
    source: object, *, label: str | None = None, bins: int = 16, texts: str | None = None, words: int = 10_000
) -> Schema:
    """A schema read off public data: its values, its bounds, its empty cells.

    Only for data that anybody may see. What this looks at is not paid for, so it refuses whatever was opened as
    private, and `protect` refuses a table that came from where its schema was read off: the same file, or the same
    frame. A copy is another table to both. Of a column of *texts*, the words that most of them have become a
    vocabulary: at most so many.

    A column that is called an identifier, or has a text of its own in each of many rows, becomes one. Where values of
    an identifier repeat, a warning proposes it as the person: whether it names persons, values do not say.

    Args:
        source: a dataframe, or a CSV or Parquet file.
        label: the column that is to be predicted.
        bins: how many bins of equal width numbers get.
        texts: a column of texts.
        words: how many words at most.

    Raises:
        PrivateDataError: the file, or what is given, is private.
        SchemaError: there are no rows, or none of the columns that are named.
        TableError: the data cannot be read.
    """
    if any(kind.__module__.partition(".")[0] == "jostle" for kind in type(source).__mro__):
        raise SchemaError(
            f"a schema is not read off a {type(source).__name__}, which may be private",
            why="values and bounds read off rows would be public for free, and say who is in the table",
            fix="write the schema from public knowledge, or infer it from a public table of the same kind",
        )
    content = read_public(Path(source)) if isinstance(source, str | Path) else None
    origin = RowOrigin.of(source if content is None else content)
    check_public(origin)
    cells = frame_columns(source)[0] if content is None else _file_columns(content)
    if not any(len(column) for column in cells.values()):
        raise SchemaError("there are no rows to read a schema off", fix="give public rows, or write the schema by hand")
    if texts is not None:
        given_as(texts, str, "the name of a column", fix='texts="comment"', error=SchemaError)
    features = None if texts is None else SparseFeatures(texts, words=_vocabulary(texts, cells.pop(texts, None), words))
    columns: dict[str, Column | Identifier] = {}
    for name, values in cells.items():
        if steers(name):
            warnings.warn(f"the column name {name!r} holds control characters, and it is left out", stacklevel=3)
            continue
        column = _infer_column(name, values, bins, is_label=name == label)
        if column is None:
            warnings.warn(f"{name!r} has more than {MOST_VALUES} different texts and is left out", stacklevel=2)
        else:
            columns[name] = column
    return Schema(columns, label=label, features=features, inferred_from=origin)


def rows_of_persons(path: Path, person: str) -> Integers:
    """How many rows each person has in a file that anybody may see; rows of nobody are left out.

    Raises:
        PrivateDataError: the file is private.
        SchemaError: it has no such column.
        TableError: it cannot be read.
    """
    content = read_public(path)
    names = readers.header(content)
    if person not in names:
        raise SchemaError(
            f"there is no column {shown(person)} of persons in {path}", fix=f"one of {', '.join(map(repr, names[:20]))}"
        )
    cells = readers.read_columns(content, (person,)).get(person, [])
    codes = distinct(whose_rows(cells)).codes
    return np.bincount(codes[codes != NOBODY]).astype(np.int64)


def _vocabulary(name: str, cells: Cells | None, most: int) -> list[str]:
    if cells is None:
        raise SchemaError(f"there is no column {name!r} of texts", fix="compare it with the names of the columns")
    if type(most) is not int or most < 2:
        raise SchemaError(f"words is {shown(most)}, but must be a whole number from 2", fix="words=10_000")
    counts = Counter(word for text in texts_of(cells) for word in words_of(text or "") if not steers(word))
    if len(counts) < 2:
        raise SchemaError(f"the texts in {name!r} have fewer than two words", fix="name a column of longer texts")
    return [word for word, _ in sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))[:most]]


def _file_columns(content: FileContent) -> dict[str, Cells]:
    names = readers.header(content)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SchemaError(f"the file {content.path} has two columns {twice[0]!r}", fix="give each a name of its own")
    marks = [mark for mark in (";", "\t", "|") if len(names) == 1 and mark in names[0]]
    if marks:
        raise SchemaError(
            f"the file {content.path} has one column, with {marks[0]!r} in its name",
            why="commas are between the columns of a .csv file, and tabs between those of a .tsv file",
            fix="write it so, or give a dataframe that was read otherwise",
        )
    return dict(readers.read_columns(content, names))


def _infer_column(name: str, values: Cells, bins: int, *, is_label: bool) -> Column | Identifier | None:
    texts, numbers, empty = _distinct(name, values)
    policy: MissingPolicy = "value" if empty else "blank"
    if len(texts) > MOST_CODED and not is_label:
        if dates := _dates(texts, bins, policy):
            return dates
        if _identifies(name, values, texts, numbers):
            return Identifier()
    if numbers is not None and len(texts) > MOST_CODED and not is_label and not _are_codes(name, texts, numbers):
        finite = numbers[np.isfinite(numbers)]
        if finite.size and finite.min() < finite.max():
            return Numeric(_plain(finite.min()), _plain(finite.max()), bins=bins, missing=policy)
    if unfit := {text for text in texts if steers(text)}:
        warnings.warn(f"values of {name!r} that hold control characters are not declared: {len(unfit)}", stacklevel=4)
        texts -= unfit
    if len(texts) > MOST_VALUES:
        if is_label:
            raise SchemaError(f"the label {name!r} has more than {MOST_VALUES} values", fix="name a column of classes")
        return None
    declared = _told_apart(sorted(texts, key=_natural))
    if any(is_too_long(text) for text in texts):
        warnings.warn(
            f"numbers of 2**53 or more in {name!r} are not declared: floats do not tell them apart", stacklevel=4
        )
        return Categorical(declared or ["?"], outside="other", missing=policy)
    return Categorical(declared or ["?"], missing=policy)


def _identifies(name: str, values: Cells, texts: set[str], numbers: Floats | None) -> bool:
    """Whether a column tells rows, or whose they are, from one another; where values repeat, a person is proposed."""
    named = (
        NAMES.search(_in_words(name)) is not None
        and (numbers is None or _are_whole(numbers))
        and len(values) <= MOST_ROWS_EACH * len(texts)
    )
    if not named and (numbers is not None or len(texts) <= MOST_VALUES):
        return False
    repeats = Repeats.of(values).most
    if named and repeats > 1:
        said = f"one value stands in {repeats:,} rows: if it says whose each row is, this protects persons"
        warnings.warn(f"person = {written(name)}  # {said}", stacklevel=5)
    return named or repeats == 1


def _are_codes(name: str, texts: set[str], numbers: Floats) -> bool:
    """Whether whole numbers are names of something, of which no mean is wanted: postcodes, say.

    Some begin with zeros, or all are as long as telephone numbers are; or the column is called so.
    """
    if not _are_whole(numbers):
        return False
    if CODE_WORDS.search(_in_words(name)):
        return True
    digits = [text for text in texts if re.fullmatch(r"\d+", text, re.ASCII)]
    widths = {len(text) for text in digits}
    zeros = any(text[0] == "0" and len(text) > 1 for text in digits)
    long = len(widths) == 1 and min(widths) >= CODE_WIDTH and not all(map(moment_in, digits))
    return len(digits) == len(texts) and (zeros or long)


def _are_whole(numbers: Floats) -> bool:
    numbers = numbers[~np.isnan(numbers)]
    return bool(np.all(numbers >= 0) and np.all(numbers == np.floor(numbers)))


def _in_words(name: str) -> str:
    """A column's name in words that are told apart: homeZip, but not locCodeAndComment."""
    return re.sub("(?<=[a-z])(?=[A-Z][a-z]*$)", " ", name).lower()


def _dates(texts: set[str], bins: int, missing: MissingPolicy) -> Numeric | None:
    """The dates or times that these all are, from the first to the last; None if they are not, or are numbers."""
    moments = []
    for text in texts:
        moment = None if re.match(NUMBER, text, re.ASCII) else moment_in(text)
        if moment is None:
            return None
        moments.append(moment)
    first, last = min(moments), max(moments)
    unit = "day" if all(moment.time() == time() for moment in moments) else "second"
    return None if last - first < timedelta(seconds=1) else Dates(first, last, unit=unit, bins=bins, missing=missing)


def _told_apart(texts: list[str]) -> list[str]:
    """The texts without those that are the same as one before, or too long a number to be declared."""
    kept: dict[object, str] = {}
    for text in texts:
        number, moment = number_in(text), time_in(text)
        if not is_too_long(text) and number not in kept and moment not in kept:
            said: list[object] = [meaning for meaning in (number, moment) if meaning is not None]
            kept.update(dict.fromkeys(said or [text], text))
    return list(dict.fromkeys(kept.values()))


def _distinct(name: str, values: Cells) -> tuple[set[str], Floats | None, bool]:
    """The different texts, the different numbers if there is nothing else, and whether cells are empty."""
    if isinstance(values, list):
        groups = [cells for _, cells in by_type(values)]
        empty = sum(map(len, groups)) < len(values)
    else:
        check_readable(name, values.type)
        groups = list(map(plain, chunks(values)))
        empty = False
    texts: set[str] = set()
    numbers: list[Floats] | None = []
    for group in groups:
        distinct = pc.unique(group)
        if pa.types.is_dictionary(group.type):
            distinct = plain(group.dictionary).take(pc.unique(group.indices))
        written = as_texts(distinct).to_pylist()
        texts.update(text for text in written if text not in NOTHING)
        empty = empty or not NOTHING.isdisjoint(written)
        if numbers is not None:
            read = as_numbers(distinct)
            # Texts that are no numbers look like empty cells there.
            only = is_number(distinct.type) or (
                is_text(distinct.type)
                and all(re.match(NUMBER, text, re.ASCII) for text in written if text not in NOTHING)
            )
            numbers = [*numbers, read] if only else None
    return texts - {OTHER, MISSING}, None if numbers is None else np.concatenate([*numbers, np.empty(0)]), empty


def _plain(number: np.float64) -> float:
    return int(number) if number == np.floor(number) and abs(number) < 2**53 else float(number)


def _natural(text: str) -> tuple[int, float, str]:
    return (0, float(text), text) if re.match(NUMBER, text, re.ASCII) else (1, 0.0, text)


Schema.infer_public = staticmethod(infer_public)
