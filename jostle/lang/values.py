"""What the variables of a running program hold beside numbers, texts and lists.

A private value holds no row and no number computed from rows: it is a description of what would be computed, and of
whose rows. So nothing a program does with one can show anything; it is bought, through a probe, or it is nothing.

A category is called by its text, or by its number where all categories are written as numbers. A bin of numbers is
called by its middle, or by its lower end where bins are one unit wide. What stands for undeclared and for missing
values is called as the schema calls it. These are the keys of what is grouped by a column. Besides, a value goes by
its label, as `db.age` gives it, and a bin by any number in it: `h[45]`, `h["[40, 50)"]` and `h[42]` are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn, Protocol

from attrs import Factory, evolve, field, frozen

from jostle.lang.extents import Extent, measured, together
from jostle.lang.messages import Stop
from jostle.privacy.expressions import CellSums, one_rule, sensitivity
from jostle.privacy.nodes import Expression, Tally
from jostle.privacy.probe import Probe
from jostle.tables.columns import Column
from jostle.tables.schema import Schema

MOST_LISTED = 8


def first_of(labels: Sequence[str]) -> str:
    """The first of several names, and how many others there are."""
    more = f" and {len(labels) - MOST_LISTED} others" if len(labels) > MOST_LISTED else ""
    return ", ".join(labels[:MOST_LISTED]) + more


@frozen
class OneValue:
    """What a column has in a row: one of its values."""

    value: Any
    """In computations."""
    column: Column | None = None
    """None for what is no column: how many rows there are in a cell."""
    code: int = 0

    def is_called(self, name: object) -> bool:
        """Whether something is a name of it."""
        if self.column is None:
            return bool(self.value == name)
        return self.column.code_called(name) == self.code


@frozen
class Axis:
    """What the groups of a query are called, by one of the things it is grouped by."""

    keys: tuple[Any, ...]
    column: Column | None = None
    """The column whose values they are, one by one; None where they are computed."""
    _places: Mapping[Any, int] = field(init=False, eq=False, repr=False)

    @_places.default
    def _placed(self) -> Mapping[Any, int]:
        return {key: index for index, key in enumerate(self.keys)}

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, column: Column) -> Axis:
        """The values of a column, each of them a group."""
        named = zip(column.meanings, column.labels, strict=True)
        return cls(tuple([label if value is None else value for value, label in named]), column)

    def place(self, name: object) -> int | None:
        """The place of the group that is called so; None if none is."""
        if isinstance(name, bool) and self.column is not None:  # which is equal to 0 or 1, and no number here
            return None
        try:
            found = self._places.get(name)
        except TypeError:
            return None
        if found is None and self.column is not None:
            return self.column.code_called(name)
        return found


def places_of(axes: Sequence[Axis], name: object) -> tuple[int, ...] | None:
    """The place of the group by several things that is called so; None if none is."""
    names = name if len(axes) > 1 and isinstance(name, tuple) else (name,)
    if len(names) != len(axes):
        return None
    found = [axis.place(each) for axis, each in zip(axes, names, strict=True)]
    return None if None in found else tuple([each for each in found if each is not None])


class ByGroup(dict[Any, Any]):
    """Released numbers by group: a dictionary whose keys can be written in each way that a group is called."""

    def __init__(self, axes: Sequence[Axis], values: Mapping[Any, Any]) -> None:
        super().__init__(values)
        self.axes = tuple(axes)

    def key(self, name: object) -> Any:
        """The key that something is a name of; itself if it is none."""
        places = places_of(self.axes, name)
        if places is None:
            return name
        keys = tuple(axis.keys[place] for axis, place in zip(self.axes, places, strict=True))
        return keys if len(keys) > 1 else keys[0]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self.key(name))

    def __missing__(self, name: object) -> Any:
        key = self.key(name)
        if key is name or not super().__contains__(key):
            raise KeyError(name)
        return super().__getitem__(key)

    def __reduce__(self) -> tuple[object, ...]:
        return ByGroup, (self.axes, dict(self))


@frozen
class KnownAttribute:
    """A column, with the values it can have: public facts."""

    name: str
    values: tuple[str, ...] = field(eq=False, repr=False)

    def __str__(self) -> str:
        return self.name


class Seller(Protocol):
    """Where a metafeature's purchases come from."""

    @property
    def schema(self) -> Schema:
        """The public facts."""

    def buy_cells(self, wanted: Expression) -> Any:
        """An expression's numbers, noised."""


class Private:
    """Something computed from rows, described and not computed."""

    __slots__ = ()

    def _refuse(self, *_: object) -> NoReturn:
        raise Stop("J202 looked_at_running")

    __bool__ = __float__ = __int__ = __index__ = __len__ = __iter__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


class TableValue(Private):
    """Rows that a program may ask about: all of a database, or the part with some values."""

    __slots__ = (
        "_codes",
        "_parts",
        "_probe",
        "_probes",
        "_schema",
        "bought_rows",
        "code",
        "column",
        "market",
        "parent",
        "remembers",
    )

    def __init__(
        self,
        probe: Probe | None = None,
        market: Seller | None = None,
        *,
        parent: TableValue | None = None,
        column: str = "",
        code: int = 0,
    ) -> None:
        self._probe = probe
        self.market = market
        self.parent = parent
        self.column = column
        self.code = code
        self._parts: dict[tuple[str, int], TableValue] = {}
        self._probes: dict[str, tuple[Probe, ...]] = {}
        self.remembers = False
        """Whether it may be asked for a part again, by somebody it was handed on to."""
        self.bought_rows: tuple[int, Fraction] | None = None if parent is None else parent.bought_rows
        """A noisy number of these rows, or of more, and what it cost, if one was bought."""
        self._codes: dict[str, dict[str, int]] = {} if parent is None else parent._codes  # noqa: SLF001 - a part shares them
        self._schema: Schema | None = None

    @property
    def schema(self) -> Schema:
        """The public facts. They are looked up once: they do not change. How many rows a part has is none."""
        if self._schema is None and self.parent is not None:
            whole = self.parent.schema
            self._schema = whole if whole.rows is None else evolve(whole, rows=None)
        elif self._schema is None:
            asked = self._probe or self.market
            if asked is None:
                raise Stop("J901 probe")
            self._schema = asked.schema
        return self._schema

    @property
    def root(self) -> TableValue:
        """The database it is a part of."""
        table = self
        while table.parent is not None:
            table = table.parent
        return table

    @property
    def probe(self) -> Probe:
        """The probe of these rows. Parts by one column are one split, all made when one of them asks."""
        if self._probe is None:
            if self.parent is None:
                raise Stop("J505")
            probes = self.parent._probes  # noqa: SLF001 - a table keeps the probes of its parts
            if self.column not in probes:
                probes[self.column] = self.parent.probe.parts(self.column)
            self._probe = probes[self.column][self.code]
        return self._probe

    def part(self, column: str, code: int) -> TableValue:
        """The rows with one code in a column: the same part, each time it is asked for."""
        part = self._parts.get((column, code))
        if part is None:
            part = self._parts[column, code] = TableValue(parent=self, column=column, code=code)
            part.remembers = True
        return part

    def narrowed(self, column: str, value: object, *, remembered: bool) -> TableValue:
        """The rows with one value in a column.

        A part that is not remembered is asked for once, by an expression that says so, of a table that is not asked
        again either.
        """
        code = self.coded(column, value)
        if remembered or self.remembers:
            return self.part(column, code)
        return TableValue(parent=self, column=column, code=code)

    def coded(self, column: str, value: object) -> int:
        """The code of a value of a column."""
        code = self.codes(column).get(value) if type(value) is str else None
        return code_of(self.schema, column, value) if code is None else code

    def codes(self, column: str) -> dict[str, int]:
        """The codes of a column by value: they are looked up once, for all parts."""
        by_label = self._codes.get(column)
        if by_label is None:
            if column not in self.schema:
                raise no_column(self.schema, f"`{column}`")
            by_label = self._codes[column] = {label: code for code, label in enumerate(self.schema[column].labels)}
        return by_label

    def path(self) -> list[TableValue]:
        """The tables it is a part of, from the database down to itself."""
        tables = [self]
        while tables[-1].parent is not None:
            tables.append(tables[-1].parent)
        return tables[::-1]

    def __repr__(self) -> str:
        return "<private table>"


class PrivateNumber(Private):
    """A number computed from the rows of a table, or one for each of several groups."""

    __slots__ = ("expression", "groups", "table")

    def __init__(self, table: TableValue, expression: Expression, groups: tuple[Axis, ...] = ()) -> None:
        self.table = table
        self.expression = expression
        self.groups = groups
        """For each axis what its groups are called; empty for a single number."""

    def __repr__(self) -> str:
        return "<private number>"


class SplitScoreOf(Private):
    """How well an attribute splits the rows of a table: to be picked by, and nothing else."""

    __slots__ = ("attribute", "kind", "label", "table")

    def __init__(self, kind: str, attribute: str, label: str, table: TableValue) -> None:
        self.kind = kind
        self.attribute = attribute
        self.label = label
        self.table = table

    def __repr__(self) -> str:
        return "<private score>"


def numbered(value: Any) -> Any:
    """A score that is a number as such; anything else as it is."""
    if isinstance(value, SplitScoreOf) and value.kind == "maxScore":
        return PrivateNumber(value.table, one_rule(value.attribute, value.label))
    return value


def sensitivity_of(number: PrivateNumber | SplitScoreOf, schema: Schema) -> Fraction | None:
    """How far one row can change a number; None of a score."""
    known = numbered(number)
    return sensitivity(known.expression, schema) if isinstance(known, PrivateNumber) else None


def is_score(number: PrivateNumber | SplitScoreOf) -> bool:
    """Whether a private value is to be picked by only."""
    return not isinstance(numbered(number), PrivateNumber)


def is_count(number: PrivateNumber | SplitScoreOf) -> bool:
    """Whether a private number is a number of rows."""
    known = numbered(number)
    found = known.expression if isinstance(known, PrivateNumber) else None
    tally = found.of if isinstance(found, CellSums) else found
    return isinstance(tally, Tally) and not (tally.weights or tally.persons)


def common(numbers: Iterable[PrivateNumber]) -> tuple[TableValue, list[Expression]]:
    """The smallest table that holds the rows of all, and each number as computed from that table."""
    given = list(numbers)
    tables = [number.table for number in given]
    if all(table is tables[0] for table in tables):
        return tables[0], [number.expression for number in given]
    paths = [table.path() for table in tables]
    if any(path[0] is not paths[0][0] for path in paths):
        raise Stop("J506")
    depth = 0
    while all(len(path) > depth and path[depth] is paths[0][depth] for path in paths):
        depth += 1
    return paths[0][depth - 1], [
        _narrowed(number.expression, path[depth:]) for number, path in zip(given, paths, strict=True)
    ]


def _narrowed(expression: Expression, path: list[TableValue]) -> Expression:
    for table in path:
        expression = expression.where(table.column, table.code)
    return expression


@frozen
class Leaf:
    """A leaf of a decision tree.

    Args:
        pred: the class that is predicted.
        size: how many rows it has, if known.
        votes: rows by class.
    """

    pred: Any
    size: Any = None
    votes: Mapping[Any, Any] | None = field(default=None, eq=False)
    """How many rows of each class there are, as far as was bought."""
    extent: Extent = field(
        default=Factory(lambda self: together((self.pred, self.size, self.votes)), takes_self=True),
        init=False,
        eq=False,
        repr=False,
    )


@frozen
class TreeNode:
    """An inner node of a decision tree."""

    att: KnownAttribute
    children: Mapping[Any, Any] = field(eq=False)
    extent: Extent = field(
        default=Factory(lambda self: measured(self.children), takes_self=True), init=False, eq=False, repr=False
    )


@frozen
class Features:
    """What `predict` sees: metafeatures by name."""

    seen: Mapping[str, float]


def attribute_of(schema: Schema, name: str) -> KnownAttribute:
    """A column as a program sees it."""
    return KnownAttribute(name, schema[name].labels)


def code_of(schema: Schema, name: str, value: object) -> int:
    """The code of a value of a column: one of its texts, or a number in one of its bins."""
    code = schema[name].code_called(value)
    if code is not None:
        return code
    shown = f"`{value}`" if isinstance(value, str | int | float | Fraction) else type(value).__name__
    raise no_value(name, schema[name], shown)


def no_value(name: str, column: Column, shown: str) -> Stop:
    """A refusal where a column does not have a value."""
    return Stop("J507 value", name=name, value=shown, values=first_of(column.labels))


def no_column(schema: Schema, shown: str) -> Stop:
    """A refusal where a table is asked for a column that it does not have."""
    return Stop("J503 column", column=shown, columns=", ".join(schema.names[:12]))
