"""Features: what a record has or has not, each a column of 0 and 1, of which most records have few.

A table has features of two kinds, all of them public:

- *of its columns*. A column of more than two codes gives one feature per code, which is 1 where the column has that
  code: a number is its bin, an empty cell that is a value is one too. A column of two codes gives one feature, for the
  second, since the first says the same; a column of a single code gives none. So a record has at most one 1 a column.
- *of its texts*, or of a sparse matrix: one per word of a public vocabulary, or per bucket of a public number of
  them, in which words are put by a hash. `SparseFeatures` declares them in a schema. A text has a word or has not,
  however often.

What a text has depends on that text alone, by a fixed way of taking words from texts; nothing is learned from other
texts. A feature has a name that says where it is from, such as "colour=red" or "text=free", and can be asked about by
it like a column with the values 0 and 1.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import SchemaError, shown
from jostle.given import given_items
from jostle.tables.columns import Categorical, check_text
from jostle.tables.fields import Integers

PRESENCE = Categorical(("0", "1"), outside="drop", missing="drop")
"""What a feature is as a column."""
MOST_FEATURES = 2**22
WORD = re.compile(r"\w\w+")
MIXERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Odd constants that spread what a row has over 64 bits."""


def words_of(text: str) -> frozenset[str]:
    """Different words of a text: two or more letters, digits or _ in a row, in small letters.

    >>> sorted(words_of("Win a FREE prize, free!"))
    ['free', 'prize', 'win']
    """
    return frozenset(WORD.findall(text.lower()))


def _vocabulary(words: Iterable[str]) -> tuple[str, ...]:
    if isinstance(words, str | bytes) or not isinstance(words, Iterable):
        raise SchemaError("the vocabulary is not a list of words", fix='words=["free", "win"]')
    listed = tuple(words)
    for word in listed:
        if not isinstance(word, str):
            raise SchemaError(f"{shown(word)} is not a word of a vocabulary", fix='words=["free", "win"]')
        check_text("the word", word)
    return tuple(map(str.__str__, listed))


@frozen
class SparseFeatures:
    """The public facts about a table's sparse features: from which column of texts they are read, and which there are.

    Of a sparse matrix (`Table.from_matrix`), *words* are what its columns are called.

    Raises:
        SchemaError: there are neither words nor buckets, or both.

    >>> SparseFeatures("text", words=["free", "win"]).names
    ('text=free', 'text=win')
    """

    column: str
    """The column of texts, which the schema does not declare otherwise."""
    words: tuple[str, ...] = field(default=(), converter=_vocabulary)
    """A vocabulary, as public knowledge has it."""
    buckets: int = 0
    """In place of a vocabulary: how many buckets there are, in which words are put by a hash."""
    names: tuple[str, ...] = field(init=False, eq=False, repr=False)
    """What each feature is called."""
    places: Mapping[str, int] = field(init=False, eq=False, repr=False)
    """Where each is among them."""

    def __attrs_post_init__(self) -> None:
        """Refuse features that cannot be told apart, and none at all."""
        if not isinstance(self.column, str):
            raise SchemaError(f"the column {shown(self.column)} has no name", fix='SparseFeatures("text", words=[...])')
        check_text("the column name", self.column)
        if type(self.buckets) is not int or not 0 <= self.buckets <= MOST_FEATURES:
            raise SchemaError(f"buckets is {shown(self.buckets)}", fix="a whole number from 2 to 2**22, such as 4096")
        if bool(self.words) == bool(self.buckets):
            raise SchemaError(
                "features have either a public vocabulary or a number of buckets",
                fix='SparseFeatures("text", words=["free", "win"]), or SparseFeatures("text", buckets=4096)',
            )
        if len(set(self.words)) != len(self.words):
            twice = next(word for word in self.words if self.words.count(word) > 1)
            raise SchemaError(f"the word {shown(twice)} is declared twice", fix="declare it once")
        if self.size == 1:
            raise SchemaError(
                "one feature is declared, but 2 to 2**22 can be",
                why="with one alone, there is nothing to select from",
                fix="declare more words" if self.words else "a larger number of buckets, such as 4096",
            )
        if self.size > MOST_FEATURES:
            raise SchemaError(
                f"{self.size:,} features are declared, but 2 to 2**22 can be", fix="put words in fewer buckets"
            )
        last = self.words or tuple(f"#{bucket}" for bucket in range(self.buckets))
        object.__setattr__(self, "names", tuple(f"{self.column}={word}" for word in last))
        # Read only, as what a schema holds: everybody is given it.
        places = {name: index for index, name in enumerate(self.names)}
        object.__setattr__(self, "places", MappingProxyType(places))

    def __reduce__(self) -> tuple[type[SparseFeatures], tuple[str, tuple[str, ...], int]]:
        return SparseFeatures, (self.column, self.words, self.buckets)

    @property
    def size(self) -> int:
        """How many features there are."""
        return len(self.words) or self.buckets

    def bits_of(self, texts: Iterable[str | None]) -> Bits:
        """Which features each text has; an empty one has none.

        Raises:
            SchemaError: they are no texts.
        """
        texts = given_items(texts, "a list of texts", fix='["free, win", None]', error=SchemaError)
        if wrong := [text for text in texts if text is not None and not isinstance(text, str)]:
            raise SchemaError(f"a {type(wrong[0]).__name__} stands where a text or None is wanted")
        by_word = {word: index for index, word in enumerate(self.words)}
        features: list[int] = []
        ends = [0]
        for text in texts:
            words = words_of(text or "")
            if self.buckets:
                features += sorted({_bucket(word, self.buckets) for word in words})
            else:
                features += sorted(by_word[word] for word in words if word in by_word)
            ends.append(len(features))
        return Bits(np.array(ends, dtype=np.int64), np.array(features, dtype=np.int32), self)


FEW_COLUMNS = 200
"""So many are looked for among all ones, one by one, before the ones are sorted by feature."""


def _bucket(word: str, buckets: int) -> int:
    digest = hashlib.blake2b(word.encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % buckets


@frozen(eq=False, repr=False)
class Bits:
    """Which features each of some rows has, those only. No repr: nothing should ever print one."""

    ends: Integers
    """Row r has the features found[ends[r]:ends[r + 1]], each once, in rising order."""
    found: NDArray[np.int32]
    facts: SparseFeatures
    _rows: list[Any] = field(factory=list, init=False)
    """Once so many columns were asked for that it pays: the rows of each feature, and where a feature's begin. Before
    that, something for each of them."""

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self.ends) - 1

    def column(self, name: str) -> NDArray[np.uint8]:
        """Which rows have a feature, as 0 and 1."""
        codes = np.zeros(self.length, dtype=np.uint8)
        feature = self.facts.places[name]
        if len(self._rows) < FEW_COLUMNS:
            self._rows.append(None)
            here = np.flatnonzero(self.found == feature)
            codes[np.searchsorted(self.ends, here, side="right") - 1] = 1
            return codes
        if self._rows[0] is None:
            order = np.argsort(self.found, kind="stable")
            rows = np.repeat(np.arange(self.length, dtype=np.int32), np.diff(self.ends))[order]
            starts = np.searchsorted(self.found[order], np.arange(self.facts.size + 1))
            self._rows[0] = rows, starts
        rows, starts = self._rows[0]
        codes[rows[starts[feature] : starts[feature + 1]]] = 1
        return codes

    def part(self, start: int, stop: int) -> Bits:
        """The same for neighbouring rows."""
        ends = self.ends[start : stop + 1]
        return Bits(ends - ends[0], self.found[ends[0] : ends[-1]], self.facts)

    def rows(self, places: NDArray[np.intp]) -> Bits:
        """The same for the rows at these places."""
        lengths = (self.ends[1:] - self.ends[:-1])[places]
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        offsets = np.repeat(self.ends[:-1][places] - ends[:-1], lengths)
        return Bits(ends, self.found[offsets + np.arange(ends[-1])], self.facts)

    def hashes(self) -> NDArray[np.uint64]:
        """A hash of what each row has."""
        hashes = mixed(self.found.astype(np.uint64))
        running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(hashes, dtype=np.uint64)])
        return np.asarray(running[self.ends[1:]] - running[self.ends[:-1]])

    def lists(self) -> list[bytes]:
        """What each row has, as bytes."""
        ends = self.ends.tolist()
        return [self.found[start:end].tobytes() for start, end in pairwise(ends)]

    @classmethod
    def joined(cls, parts: Iterable[Bits], facts: SparseFeatures) -> Bits:
        """The rows of several, one after the other."""
        held = list(parts)
        lengths = [part.ends[1:] - part.ends[:-1] for part in held]
        features = [part.found for part in held]
        return cls(
            np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate([np.empty(0, np.int64), *lengths]))]),
            np.concatenate([np.empty(0, dtype=np.int32), *features]),
            facts,
        )


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of each number (that of splitmix64)."""
    hashes = numbers + np.uint64(MIXERS[0])
    hashes ^= hashes >> np.uint64(30)
    hashes *= np.uint64(MIXERS[1])
    hashes ^= hashes >> np.uint64(27)
    hashes *= np.uint64(MIXERS[2])
    hashes ^= hashes >> np.uint64(31)
    return hashes


class BitsColumns(dict[str, Any]):
    """Columns of codes by name, a feature's made when it is asked for."""

    def __init__(self, columns: Mapping[str, Any], bits: Bits) -> None:
        super().__init__(columns)
        self.bits = bits

    def __missing__(self, name: str) -> NDArray[np.uint8]:
        return self.bits.column(name)
