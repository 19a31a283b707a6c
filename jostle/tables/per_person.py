"""One row a person: what is worked out from all rows of each, by a function of these rows alone.

An aggregate is written as a short text: `"count up to 100"`, `"any fall"`, `"last diagnosis by date"`. It looks at the
codes and the steps of one person's rows, in no order that a file has: sums and means are of whole steps on the column's
grain, and where several rows are as early, as common or as large, the one of the smaller codes (for *last* and *most*,
of the larger ones) is taken. Empty cells are left out; where none is left, the result is empty.

*Why neighbours stay persons.* A person's row in the result is f(the bag of that person's rows), with f and all bounds
fixed by public facts. So a person who comes or goes adds or takes one row, and one whose rows become others has one row
that becomes another. Nobody else's row changes: the table has one row a person, and what is true of rows under
`add_remove` or `replace_one` is true of persons.

Rows are folded in pieces, in any order: a *fold* holds, for each person, what the aggregates need of the rows so far,
and two folds merge to that of all their rows. So a file larger than memory is folded batch by batch, and a cluster's
pieces are folded where they are; only what is held of each person has to fit into memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.errors import SchemaError, TableError, shown
from jostle.tables.block import Block, Codes, Whose, code_type, grain_in
from jostle.tables.columns import Categorical, Column, Numeric
from jostle.tables.encode import DROPPED, Census, binned, empty_code, encode_column, strict, with_columns
from jostle.tables.fields import Integers, Truths
from jostle.tables.persons import check_persons, distinct, texts_of_names
from jostle.tables.schema import Schema
from jostle.tables.values import Grain, number_in

Facts = tuple[NDArray[Any], ...]
Word = Literal["count", "any", "all", "first", "last", "commonest", "least", "most", "sum", "mean"]

FORMS: Mapping[str, str] = {
    "count": '"count", or "count up to 100": how many rows',
    "any": '"any COLUMN", or "any COLUMN is VALUE": whether a row has the value',
    "all": '"all COLUMN", or "all COLUMN is VALUE": whether all rows have it',
    "first": '"first COLUMN by DATE"',
    "last": '"last COLUMN by DATE"',
    "commonest": '"commonest COLUMN"',
    "least": '"least COLUMN"',
    "most": '"most COLUMN"',
    "sum": '"sum COLUMN up to 60", or "sum COLUMN from -10 up to 10"',
    "mean": '"mean COLUMN"',
}
"""How each aggregate is written. Without COLUMN, it is the one of the result's name."""
TOKEN = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(\S+))""")
TRUE_WORDS = frozenset({"yes", "y", "t"})
"""Values that say that something is so, beside 1 and true."""
MOST_APART = 64
"""Of whole numbers, so many at most have a bin each."""


# What is written


@frozen
class Aggregate:
    """What is worked out of one column of a person's rows."""

    name: str
    """The column of the result."""
    word: Word
    source: str | None = None
    """The column that is looked at; None for a count."""
    by: str | None = None
    """What rows are in order of."""
    value: str | None = None
    """The value that is looked for."""
    low: float | None = None
    high: float | None = None
    """Bounds of a sum, or of a count."""

    def declared(self, schema: Schema) -> Column:
        """The public facts about the result: those of the column, unless it is another kind of thing."""
        if self.source is None:
            return _counted(self.high or 0)
        column = schema[self.source]
        if self.word == "sum" and isinstance(column, Numeric):
            return Numeric(self.low or 0, self.high or 0, unit=column.unit)
        return Categorical(["no", "yes"]) if self.value is not None else column


def aggregates_of(written: Mapping[str, str], schema: Schema) -> tuple[Aggregate, ...]:
    """The aggregates that texts say, by the names of their results; refuse what does not fit the schema."""
    if schema.person is None:
        raise TableError(
            "the schema names no person",
            why="one row a person is made of what says whose row each is",
            fix='Schema(columns, person="patient_id")',
        )
    if not written:
        raise TableError("no result is asked for", fix='table.per_person(visits="count", ill="any ill")')
    return tuple(_read(name, text, schema) for name, text in written.items())


def schema_per_person(aggregates: tuple[Aggregate, ...], schema: Schema) -> Schema:
    """The public facts about the results: the same persons, one row of each."""
    columns = {aggregate.name: aggregate.declared(schema) for aggregate in aggregates}
    label = schema.label if isinstance(columns.get(schema.label or ""), Categorical) else None
    return evolve(schema, columns=columns, label=label, features=None, identifiers=(), rows_per_person=1)


def _read(name: str, text: object, schema: Schema) -> Aggregate:
    words = [a or b or c for a, b, c in TOKEN.findall(text)] if isinstance(text, str) else []
    if not words or words[0] not in FORMS:
        raise TableError(
            f"{shown(text)} is no aggregate of a person's rows",
            fix=f"{name}=" + ("..., one of " + ", ".join(FORMS) if isinstance(text, str) else '"count up to 100"'),
        )
    aggregate = _parsed(name, words)
    if aggregate is None:
        raise TableError(
            f"{shown(text)} is not how {shown(words[0])} is written",
            why="a name of several words stands in quotation marks",
            fix=FORMS[words[0]],
        )
    return _checked(aggregate, schema)


def _parsed(name: str, words: list[str]) -> Aggregate | None:
    """The aggregate that words say; None where they say none."""
    word: Any = words[0]
    rest = words[1:]
    parts: dict[str, Any] = {}
    if word in {"count", "sum"} and rest[-3:-1] == ["up", "to"]:
        parts["high"], rest = _bound(rest[-1]), rest[:-3]
        if word == "sum" and rest[-2:-1] == ["from"]:
            parts["low"], rest = _bound(rest[-1]), rest[:-2]
        if None in parts.values():
            return None
    elif word in {"first", "last"} and rest[-2:-1] == ["by"]:
        parts["by"], rest = rest[-1], rest[:-2]
    elif word in {"any", "all"} and rest[-2:-1] == ["is"]:
        parts["value"], rest = rest[-1], rest[:-2]
    if len(rest) > (word != "count") or ("by" not in parts and word in {"first", "last"}):
        return None
    if word == "sum" and "high" not in parts:
        return None
    return Aggregate(name, word, None if word == "count" else rest[0] if rest else name, **parts)


def _bound(text: str) -> float | None:
    number = number_in(text)
    if number is None or not np.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _checked(aggregate: Aggregate, schema: Schema) -> Aggregate:
    """The aggregate with what the schema says of it; refuse one that does not fit."""
    if aggregate.source is None:
        high = schema.rows_per_person if aggregate.high is None else aggregate.high
        if type(high) is not int or not 1 <= high < 2**30:
            raise TableError(f"a count up to {shown(high)} has no whole bound", fix='"count up to 100"')
        return evolve(aggregate, high=high)
    for name in filter(None, (aggregate.source, aggregate.by)):
        if name not in schema:
            schema[name]  # says what is wrong, but for features
            raise TableError(f"{shown(name)} is a feature of texts, no column", fix=f"one of {', '.join(schema.names)}")
    column = schema[aggregate.source]
    if aggregate.by is not None and not isinstance(schema[aggregate.by], Numeric):
        raise TableError(
            f"{shown(aggregate.by)} is a column of categories, which come in no order of time",
            fix=f"{aggregate.word} {aggregate.source} by a column of dates or numbers",
        )
    if aggregate.word in {"sum", "mean"}:
        grain_in(schema, aggregate.source)
    if aggregate.word == "sum" and isinstance(column, Numeric):
        _check_sum(aggregate, column)
    if aggregate.word in {"any", "all"}:
        _check_truth(aggregate, column)
    return aggregate


def _check_truth(aggregate: Aggregate, column: Column) -> None:
    if not isinstance(column, Categorical):
        raise TableError(f"{shown(aggregate.source)} is a column of numbers, not of truths", fix=FORMS["most"])
    if _hit(aggregate, column) is not None:
        return
    if aggregate.value is None:
        raise TableError(
            f"nothing says which value of {shown(aggregate.source)} counts",
            why="of two values that are a yes and a no, the yes does",
            fix=f'"{aggregate.word} {_quoted(aggregate.source or "")} is {_quoted(column.values[-1])}"',
        )
    raise TableError(
        f"{shown(aggregate.value)} is not a declared value of {shown(aggregate.source)}",
        fix=f"one of {', '.join(map(repr, column.values[:20]))}",
    )


def _check_sum(aggregate: Aggregate, column: Numeric) -> None:
    if column.clock is not None:
        raise TableError(f"{shown(aggregate.source)} is a column of dates, which have no sum", fix=FORMS["mean"])
    if column.low < 0 and aggregate.low is None:
        raise TableError(
            f"nothing says how small a sum of {shown(aggregate.source)} may be",
            why=f"one row may have {column.low:g}, and sums are kept within public bounds",
            fix=f'"sum {_quoted(aggregate.source or "")} from {column.low * 10:g} up to {aggregate.high:g}"',
        )
    try:
        fits = Numeric(aggregate.low or 0, aggregate.high or 0, unit=column.unit).grain is not None
    except SchemaError as mistake:
        raise TableError(
            f"the bounds of the sum {shown(aggregate.name)}: {mistake.title}", why=mistake.why, fix=FORMS["sum"]
        ) from None
    if not fits:
        raise TableError(
            f"the bounds of the sum {shown(aggregate.name)} are too close for numbers of their size", fix=FORMS["sum"]
        )


def _quoted(name: str) -> str:
    return f"'{name}'" if re.search(r"\s", name) else name


def _hit(aggregate: Aggregate, column: Categorical) -> int | None:
    """The code of the value that is looked for; None where there is none."""
    if aggregate.value is not None:
        code = int(encode_column([aggregate.value], strict(column))[0])
        return None if code == DROPPED else code
    so = [code for code, value in enumerate(column.values) if value.lower() in TRUE_WORDS or number_in(value) == 1]
    return so[0] if len(column.values) == 2 and len(so) == 1 else None


def _counted(most: float) -> Numeric:
    """Counts from 0 up to a bound, small ones each in a bin of its own."""
    apart = most <= MOST_APART
    cuts = (0, *(count + 0.5 for count in range(int(most))), most) if apart else ()
    return Numeric(0, most, edges=cuts, unit=1)


# What is held of each person while rows are read


@frozen(eq=False, repr=False)
class Held:
    """Facts about persons: rows of numbers, each about the person at a place in some list."""

    who: Integers
    facts: Facts

    def rows(self, places: NDArray[Any]) -> Held:
        """Those at these places, or where this is true."""
        return Held(self.who[places], tuple(fact[places] for fact in self.facts))

    def sorted(self) -> Held:
        """The same, person after person."""
        if np.all(self.who[1:] >= self.who[:-1]):
            return self
        return self.rows(np.argsort(self.who, kind="stable"))

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where each person begins, of those that are in order."""
        return np.flatnonzero(np.diff(self.who, prepend=-1))


Reduce = Callable[[Held], Held]


def _added(held: Held) -> Held:
    """For each person, the sum of each fact."""
    held = held.sorted()
    starts = held.starts
    return Held(
        held.who[starts], tuple(np.add.reduceat(fact, starts) for fact in held.facts) if starts.size else held.facts
    )


def _extreme(held: Held, better: np.ufunc, facts: int | None = None) -> Held:
    """For each person, the first row of those that are best in all facts, or in so many, one after the other."""
    held = held.sorted()
    for index in range(len(held.facts) if facts is None else facts):
        starts = held.starts
        if len(starts) == len(held.who):
            return held
        best = better.reduceat(held.facts[index], starts)
        held = held.rows(held.facts[index] == np.repeat(best, np.diff(starts, append=len(held.who))))
    return held.rows(held.starts)


def _tallied(held: Held) -> Held:
    """For each person and each cell, how often it stands there: the last fact, which is added up."""
    *cell, count = held.facts
    order = np.lexsort((*cell, held.who))
    keys = [key[order] for key in (held.who, *cell)]
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(new)
    counts = np.add.reduceat(count[order], starts) if starts.size else count
    return Held(keys[0][starts], (*(key[starts] for key in keys[1:]), counts))


REDUCED: Mapping[str, Reduce] = {
    **dict.fromkeys(("count", "any", "all", "sum", "mean"), _added),
    **dict.fromkeys(("first", "least"), partial(_extreme, better=np.minimum)),
    **dict.fromkeys(("last", "most"), partial(_extreme, better=np.maximum)),
    "commonest": _tallied,
}


def _taken(aggregate: Aggregate, block: Block, who: Integers, schema: Schema) -> Held:
    """What an aggregate needs of the rows of a block, not reduced yet."""
    if aggregate.source is None:
        return Held(who, (np.ones(block.length, dtype=np.int64),))
    column = schema[aggregate.source]
    ordered = aggregate.word in {"least", "most", "sum", "mean"}
    there = _present(block, aggregate.source, column, ordered=ordered)
    if aggregate.by is not None:
        there &= _present(block, aggregate.by, schema[aggregate.by], ordered=True)
    places = np.flatnonzero(there)
    cell = tuple(codes[places] for codes in _cells(block, aggregate.source))
    return Held(who[places], _facts(aggregate, block, places, cell, schema))


def _facts(aggregate: Aggregate, block: Block, places: NDArray[np.intp], cell: Facts, schema: Schema) -> Facts:
    column, ones = schema[aggregate.source or ""], np.ones(len(places), dtype=np.int64)
    if aggregate.word in {"sum", "mean"}:
        steps = block.numbers(aggregate.source or "", schema)[places]
        return steps + grain_in(schema, aggregate.source or "").first, ones
    if aggregate.word in {"any", "all"} and isinstance(column, Categorical):
        return (cell[-1] == _hit(aggregate, column)).astype(np.int64), ones
    if aggregate.word == "commonest":
        return *cell, ones
    if aggregate.by is None:
        return cell
    # Ties go by the encoded row, whatever of it is asked for.
    row = (codes[places] for name in (aggregate.by, *schema.names) for codes in _cells(block, name))
    return (*row, *cell)


def _cells(block: Block, name: str) -> Facts:
    """A column's steps, where it has any, and its codes."""
    steps = block.steps.get(name)
    return (block.columns[name],) if steps is None else (steps, block.columns[name])


def _present(block: Block, name: str, column: Column, *, ordered: bool) -> Truths:
    """Which rows have a cell in a column that is not empty; one that has a place in an order, where that matters."""
    codes = block.columns[name]
    there = codes < column.size
    if column.missing == "value":
        there &= codes != column.missing_code
    if ordered and name in block.steps:
        grain = column.grain if isinstance(column, Numeric) else None
        there &= block.steps[name] != (-1 if grain is None else grain.none)
    elif ordered:
        there &= codes < column.declared_count
    return there


@frozen(eq=False, repr=False)
class PersonFold:
    """What is held of some rows: of which persons, and for each aggregate its facts."""

    aggregates: tuple[Aggregate, ...]
    schema: Schema
    persons: pa.Array = field(factory=lambda: pa.array([], pa.large_string()))
    """The persons of these rows, each once, by the one value of each."""
    held: tuple[Held, ...] = ()

    def of(self, block: Block) -> PersonFold:
        """The fold of a block's rows alone."""
        whose = distinct(check_persons(block.whose, self.schema))
        order = np.argsort(whose.codes, kind="stable")
        block = block.rows(order)  # once, in place of once for each aggregate
        there = np.bincount(whose.codes, minlength=len(whose.names)) > 0
        present = np.flatnonzero(there)
        who = (np.cumsum(there) - 1)[whose.codes[order]]
        held = (REDUCED[aggregate.word](_taken(aggregate, block, who, self.schema)) for aggregate in self.aggregates)
        persons = texts_of_names(whose.names.take(pa.array(present)))
        return evolve(self, persons=persons, held=tuple(held))

    def merged(self, other: PersonFold) -> PersonFold:
        """The fold of the rows of both."""
        if not len(self.persons) or not len(other.persons):
            return self if len(self.persons) else other
        coded = pa.concat_arrays([self.persons, other.persons]).dictionary_encode()
        places = coded.indices.to_numpy().astype(np.int64)
        mine, theirs = places[: len(self.persons)], places[len(self.persons) :]
        held = (
            REDUCED[aggregate.word](
                Held(
                    np.concatenate([mine[left.who], theirs[right.who]]),
                    tuple(map(np.concatenate, zip(left.facts, right.facts, strict=True))),
                )
            )
            for aggregate, left, right in zip(self.aggregates, self.held, other.held, strict=True)
        )
        return evolve(self, persons=coded.dictionary, held=tuple(held))

    def rows(self, census: Census | None = None) -> Block:
        """One row a person, in the order of their values; a census counts what became of them."""
        order = pc.sort_indices(self.persons).to_numpy().astype(np.int64)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        codes: dict[str, NDArray[np.int32]] = {}
        steps: dict[str, Codes] = {}
        columns: dict[str, Column] = {}
        nothing = (Held(np.empty(0, dtype=np.int64), ()),) * len(self.aggregates)
        for aggregate, held in zip(self.aggregates, self.held or nothing, strict=True):
            columns[aggregate.name] = column = aggregate.declared(self.schema)
            there = evolve(held, who=ranks[held.who])
            codes[aggregate.name], stepped = _result(aggregate, column, there, len(order), self.schema)
            if stepped is not None:
                steps[aggregate.name] = stepped
        whose = Whose(np.arange(len(order), dtype=np.int32), self.persons.take(pa.array(order)))
        return with_columns(Block({}, len(order), whose=whose), codes, steps, columns, census)


def _result(
    aggregate: Aggregate, column: Column, held: Held, length: int, schema: Schema
) -> tuple[NDArray[np.int32], Codes | None]:
    """Codes and steps of an aggregate's results for so many persons; those that nothing is held of are empty."""
    if aggregate.word in {"first", "last", "least", "most", "commonest"}:
        return _carried(held, column, length, counted=aggregate.word == "commonest")
    if isinstance(column, Categorical):
        codes = np.full(length, empty_code(column), dtype=np.int32)
        if held.facts:
            hits, rows = held.facts
            # Of a column's own two values, which is the one is said by the column.
            so = 1 if aggregate.value is not None else _hit(aggregate, column) or 0
            codes[held.who] = np.where(hits > 0 if aggregate.word == "any" else hits == rows, so, 1 - so)
        return codes, None
    numbers = np.full(length, np.nan)
    if held.facts and column.grain is not None:
        grain = column.grain
        multiples = np.clip(_multiples(aggregate, held, grain, schema), grain.first, grain.last)
        exact = multiples * float(grain.unit.numerator) / float(grain.unit.denominator)
        numbers[held.who] = np.clip(exact, float(column.low), float(column.high))
    return binned(numbers, column)


def _multiples(aggregate: Aggregate, held: Held, grain: Grain, schema: Schema) -> Integers:
    """Counts, sums and means as whole multiples of the result's unit: what lies between goes to the nearer, halves up.

    Sums are whole numbers, so they are the same in whatever order rows come.
    """
    total = held.facts[0]
    if aggregate.source is None:
        return total
    if aggregate.word == "mean":
        rows = held.facts[1]
        return np.asarray((total + rows // 2) // rows)
    units = grain_in(schema, aggregate.source).unit / grain.unit
    # What is far beyond the bounds is cut off first: as a number of finer units it might not fit 63 bits.
    low, high = (max(-(2**62), min(2**62, int(edge / units))) for edge in (grain.first - 1, grain.last + 1))
    cut = np.clip(total, low - 1, high + 1)
    return np.asarray((cut * units.numerator + units.denominator // 2) // units.denominator)


def _carried(held: Held, column: Column, length: int, *, counted: bool) -> tuple[NDArray[np.int32], Codes | None]:
    """Cells that stand in a person's rows, as they are there."""
    if counted and held.facts:
        held = _extreme(Held(held.who, (held.facts[-1], *held.facts[:-1])), np.maximum, facts=1)
    codes = np.full(length, empty_code(column), dtype=np.int32)
    if held.facts:
        codes[held.who] = held.facts[-1]
    grain = None if isinstance(column, Categorical) else column.grain
    if grain is None:
        return codes, None
    steps = np.full(length, grain.none, dtype=code_type(grain.none + 1))
    if held.facts:
        steps[held.who] = held.facts[-2]
    return codes, steps
