"""Nodes of private expressions: what may be computed from tallies, and how far a row can change it.

An expression is a tree of plain frozen values whose leaves are tallies. It says what would be computed; only the
mechanism `AddNoiseTo` computes it, among the rows, and adds noise. Nodes come from a closed list, each with the proof
of its rule in its docstring. In these proofs x stands for the cells of the parts, v = x(D') - x(D) for their change
when a row enters or is swapped, and the bounds on v are those of `Change`.

Here is what all nodes share, and those that arithmetic makes, cell by cell.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce
from typing import NoReturn

import numpy as np
from attrs import evolve, field, fields, frozen

from jostle.errors import ExpressionError
from jostle.given import given_as
from jostle.privacy.amounts import Amount
from jostle.privacy.fields import Coarsening, Condition, coarsenings, is_number, label_conditions, public_number, sides
from jostle.privacy.sensitivity import ZERO, Change, Known, Numbers, known
from jostle.tables.fields import ANY_WHOLE, Component, Components, Within, listed, names, optional_name, truth, wholes
from jostle.tables.kernels import LARGEST_WEIGHT, MOST_RECORDS
from jostle.tables.pools import Layer
from jostle.tables.schema import Schema, may_be_blank

MOST_NODES = 20_000
MOST_DEPTH = 60
"""A tree is walked by functions that call themselves."""


@frozen
class Expression(ABC):
    """Numbers computed from private rows: to be bought with noise, and to be looked at in no other way."""

    nodes: int = field(init=False, eq=False, repr=False)
    depth: int = field(init=False, eq=False, repr=False)

    __array_ufunc__ = None  # numpy's numbers leave the arithmetic to this class
    __iter__ = None  # with places alone, Python would go through them without end

    def __attrs_post_init__(self) -> None:
        """Refuse trees too large to be walked."""
        nodes = 1 + sum(part.nodes for part in self.parts)
        depth = 1 + max((part.depth for part in self.parts), default=0)
        if nodes > MOST_NODES or depth > MOST_DEPTH:
            raise ExpressionError(
                f"the expression has {nodes:,} parts, nested {depth} deep",
                why=f"at most {MOST_NODES:,} parts are looked at, nested at most {MOST_DEPTH} deep",
                fix="buy several expressions, or use mean_of_cells and largest on a list",
            )
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "depth", depth)

    # What each kind of node says

    @property
    @abstractmethod
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it is computed from."""

    @abstractmethod
    def with_parts(self, parts: tuple[Expression, ...]) -> Expression:
        """The same computed from something else."""

    @abstractmethod
    def known(self, schema: Schema, *parts: Known) -> Known:
        """The public facts of it, given those of its parts."""

    @abstractmethod
    def value(self, *parts: Numbers) -> Numbers:
        """Its numbers, given those of its parts."""

    # What may be written with it

    def where(self, column: str, *values: str | int) -> Expression:
        """The same computed from the rows that have one of the values, or codes, in a column.

        Raises:
            TableError: the column is none that has a name.
        """
        return self.with_parts(tuple(part.where(column, *values) for part in self.parts))

    def coarsened(self, groups: dict[str, int | Iterable[int]]) -> Expression:
        """The same computed from coarser columns.

        For each column named, either a number that codes are divided by, rounding down, or the group of each code.

        Raises:
            ExpressionError: groups are no mapping from columns.
        """
        return self.with_parts(tuple(part.coarsened(groups) for part in self.parts))

    def __getitem__(self, index: int | tuple[int, ...]) -> Expression:
        """One cell, by its place along each axis."""
        return Cell(self, (index,) if isinstance(index, int | np.integer) else index)

    def __add__(self, other: object) -> Expression:
        if is_number(other):
            return Shifted(self, public_number(other))
        if not isinstance(other, Expression):
            return NotImplemented
        mine = self.items if isinstance(self, Sum) else (self,)
        others = other.items if isinstance(other, Sum) else (other,)
        return Sum((*mine, *others))

    __radd__ = __add__

    def __neg__(self) -> Expression:
        return Scaled(self, Fraction(-1))

    def __sub__(self, other: object) -> Expression:
        if is_number(other):
            return Shifted(self, -public_number(other))
        return self + (-other) if isinstance(other, Expression) else NotImplemented

    def __rsub__(self, other: object) -> Expression:
        return -self + other

    def __mul__(self, other: object) -> Expression:
        if isinstance(other, Expression):
            raise ExpressionError(
                "two private values are multiplied",
                why="a row changes the product by as much as the other value, which is private and has no small bound",
                fix="buy both, and multiply what comes out",
            )
        return Scaled(self, public_number(other)) if is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Expression:
        if isinstance(other, Expression):
            self._refuse_quotient()
        if not is_number(other):
            return NotImplemented
        if not other:
            raise ExpressionError("a private value is divided by 0", fix="divide by a number other than 0")
        return Scaled(self, 1 / public_number(other))

    def __rtruediv__(self, _: object) -> NoReturn:
        self._refuse_quotient()

    def _refuse_quotient(self) -> NoReturn:
        raise ExpressionError(
            "something is divided by a private value",
            why="where the divisor is small, one row can change the quotient without bound",
            fix="buy both, and divide what comes out",
        )

    def __pow__(self, _: object) -> NoReturn:
        raise ExpressionError(
            "a private value is raised to a power",
            why="the larger it is, the more a row changes the power, and how large it is is private",
            fix="buy it, and raise what comes out; for a standard deviation, deviation(x)",
        )

    __rpow__ = __pow__

    def __abs__(self) -> Expression:
        return Absolute(self)

    def clamped(self, low: Amount, high: Amount) -> Expression:
        """The same with what lies beyond public bounds moved to them.

        Raises:
            AmountError: a bound is no number.
        """
        return Clamped(self, public_number(low), public_number(high))

    def _refuse_look(self, *_: object) -> NoReturn:
        raise ExpressionError(
            "a private value is compared, or looked at",
            why="what follows from it would show it without noise",
            fix="buy it first, db.release(x, epsilon), in a metafeature db.buy(x), and look at what comes out",
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse_look
    __bool__ = __float__ = __int__ = __index__ = __len__ = __round__ = _refuse_look


WHAT = 'a private expression, as expressions.cells("age") is'


@frozen
class OfOne(Expression):
    """A node computed from one part."""

    of: Expression = field(validator=Component(base=Expression, what=WHAT, error=ExpressionError))

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.of,)

    def with_parts(self, parts: tuple[Expression, ...]) -> Expression:
        return evolve(self, of=parts[0])


@frozen
class OfSeveral(Expression):
    """A node computed from several parts."""

    items: tuple[Expression, ...] = field(
        converter=listed, validator=Components(base=Expression, what=WHAT, error=ExpressionError)
    )

    def __attrs_post_init__(self) -> None:
        """Refuse to compute from nothing."""
        if not self.items:
            raise ExpressionError("there is nothing to compute from", fix="give at least one private expression")
        super().__attrs_post_init__()

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.items

    def with_parts(self, parts: tuple[Expression, ...]) -> Expression:
        return evolve(self, items=parts)


@frozen
class Scaled(OfOne):
    """A public multiple: its change is that multiple of v."""

    by: Fraction = field(converter=public_number)

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        shared = math.gcd(self.by.numerator, x.denominator * self.by.denominator)
        denominator = x.denominator * self.by.denominator // shared
        ends = (self.by * x.least, self.by * x.most)
        bounds = (min(ends), max(ends))
        return known(x.shape, denominator, bounds, abs(self.by) * x.mass, lambda v: v.times(self.by), x)

    def value(self, *parts: Numbers) -> Numbers:
        return parts[0].times(self.by)


@frozen
class Shifted(OfOne):
    """A public number more in every cell: its change is v."""

    by: Fraction = field(converter=public_number)

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        denominator = math.lcm(x.denominator, self.by.denominator)
        bounds = (x.least + self.by, x.most + self.by)
        return known(x.shape, denominator, bounds, x.mass + x.cells * abs(self.by), lambda v: v, x)

    def value(self, *parts: Numbers) -> Numbers:
        shift = Numbers(np.array(self.by.numerator, dtype=object), self.by.denominator)
        return parts[0].plus(shift)


@frozen
class Sum(OfSeveral):
    """The sum, cell by cell, of parts of one shape: its change is the sum of theirs, and so are all bounds.

    (A cell of the sum increases only where a cell of some part does, so their numbers add up as well.)
    """

    def known(self, schema: Schema, *parts: Known) -> Known:
        shapes = {x.shape for x in parts}
        if len(shapes) > 1:
            raise ExpressionError(
                "private values of different shapes are added",
                why=f"one has {sides(parts[0].shape)}, another {sides(next(iter(shapes - {parts[0].shape})))}",
                fix="total(x), or the same columns in both",
            )
        bounds = (sum((x.least for x in parts), ZERO), sum((x.most for x in parts), ZERO))
        mass = sum((x.mass for x in parts), ZERO)
        denominator = math.lcm(*(x.denominator for x in parts))
        return known(parts[0].shape, denominator, bounds, mass, lambda *v: reduce(Change.plus, v), *parts)

    def value(self, *parts: Numbers) -> Numbers:
        return reduce(Numbers.plus, parts)


@frozen
class Cell(OfOne):
    """One cell."""

    place: tuple[int, ...] = field(converter=wholes, validator=ANY_WHOLE)

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        if len(self.place) != len(x.shape) or not all(
            0 <= code < side for code, side in zip(self.place, x.shape, strict=True)
        ):
            raise ExpressionError(
                f"there is no cell at {self.place}", why=f"there are {sides(x.shape)}, numbered from 0"
            )
        bounds = (x.least, x.most)
        return known((), x.denominator, bounds, x.mass, lambda v: Change.single(v.low, v.high), x)

    def value(self, *parts: Numbers) -> Numbers:
        (x,) = parts
        cell = x.array[self.place]
        return Numbers(np.array(int(cell), dtype=object), x.denominator)


@frozen
class Absolute(OfOne):
    """How far each cell is from 0: it changes by at most |v|, either way; not at all where no cell can be below 0."""

    def known(self, schema: Schema, *parts: Known) -> Known:
        (x,) = parts
        if x.least >= 0:
            return x

        def rule(v: Change) -> Change:
            cells = v.cells_up + v.cells_down
            return Change(-v.most, v.most, v.moved, v.moved, v.moved, -v.moved, v.moved, cells, cells)

        return known(x.shape, x.denominator, (ZERO, max(-x.least, x.most)), x.mass, rule, x)

    def value(self, *parts: Numbers) -> Numbers:
        return parts[0].absolute()


@frozen
class Clamped(OfOne):
    """Each cell, moved to a public bound where it lies beyond: it changes the way v does, by no more."""

    low: Fraction = field(converter=public_number)
    high: Fraction = field(converter=public_number)

    def known(self, schema: Schema, *parts: Known) -> Known:
        """The bounds, less those on what surely changes."""
        (x,) = parts
        if self.low > self.high:
            raise ExpressionError(
                "a value is clamped to nothing", why="the lower bound is above the upper", fix="clamped(0, 1)"
            )

        def rule(v: Change) -> Change:
            return v._replace(low=min(v.low, ZERO), high=max(v.high, ZERO), total_low=-v.down, total_high=v.up)

        least, most = (min(max(end, self.low), self.high) for end in (x.least, x.most))
        mass = x.cells * max(abs(least), abs(most))
        denominator = math.lcm(x.denominator, self.low.denominator, self.high.denominator)
        return known(x.shape, denominator, (least, most), mass, rule, x)

    def value(self, *parts: Numbers) -> Numbers:
        return parts[0].between(self.low, self.high)


@frozen
class Tally(Expression):
    """Rows, or a weight for each, counted by the groups of the codes of some columns: one axis per column.

    A row falls into one cell, or none if it does not meet the conditions or may have a blank in one of the columns, by
    its own codes alone. Where every row counts 1, a row that enters adds 1 to one cell; where it has a weight w between
    *least* and *most*, w. Without conditions or columns with blanks, the sum of all cells always changes, by just that.
    """

    columns: tuple[str, ...] = field(converter=names)
    conditions: tuple[Condition, ...] = field(default=(), converter=label_conditions)
    """Columns with the values or codes that rows must have."""
    coarse: tuple[Coarsening, ...] = field(default=(), converter=coarsenings)
    """Columns with what their codes are divided by, or the group of each code; the first for a column comes first."""
    weighted: str | None = field(default=None, converter=optional_name)
    """The column whose codes have weights."""
    weights: tuple[int, ...] = field(default=(), converter=wholes, validator=Within(-LARGEST_WEIGHT, LARGEST_WEIGHT))
    """What each code of it counts for, cut off at what a row may add."""
    persons: bool = field(default=False, converter=truth)
    """Whether persons are counted, each once in a cell: a row that enters adds 1 to one cell, or nothing."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()

    def with_parts(self, parts: tuple[Expression, ...]) -> Expression:
        return self

    def where(self, column: str, *values: str | int) -> Expression:
        return evolve(self, conditions=(*self.conditions, (column, values)))

    def coarsened(self, groups: dict[str, int | Iterable[int]]) -> Expression:
        given_as(groups, Mapping, "a mapping from columns to groups", fix='{"age": 2}', error=ExpressionError)
        return evolve(self, coarse=(*self.coarse, *groups.items()))

    def __repr__(self) -> str:
        """As of any value, without `persons` where rows are counted: what was read off databases is known by it."""
        shown = (part for part in fields(Tally) if part.repr and (part.name != "persons" or self.persons))
        return f"Tally({', '.join(f'{part.name}={getattr(self, part.name)!r}' for part in shown)})"

    def layer(self, schema: Schema) -> Layer:
        """The layer that is tallied, in codes."""
        where = tuple((name, tuple(_code(name, value, schema) for value in values)) for name, values in self.conditions)
        for name, _ in self.coarse:
            schema[name]  # refuses one that is not there
        groups = tuple(self._groups(name, schema) for name in self.columns)
        return Layer(self.columns, groups, where, self.weighted, self.weights, persons=self.persons)

    def _groups(self, name: str, schema: Schema) -> tuple[int, ...]:
        size = schema[name].size
        groups: tuple[int, ...] = ()
        for column, given in self.coarse:
            if column != name:
                continue
            before = groups or tuple(range(size))
            if isinstance(given, int):
                if given < 1:
                    raise ExpressionError(f"the codes of {name!r} are divided by {given}", fix="divide by 1 or more")
                groups = tuple(group // given for group in before)
            else:
                if len(given) != max(before) + 1 or min(given) < 0 or max(given) >= len(given):
                    raise ExpressionError(
                        f"{len(given)} groups are given for the {max(before) + 1} values of {name!r}",
                        why="each value has a group of its own or shared, numbered from 0",
                    )
                groups = tuple(given[group] for group in before)
        return groups

    def known(self, schema: Schema, *parts: Known) -> Known:
        """The public facts: what a row can add, which may be nothing."""
        layer = self.layer(schema)
        shape = layer.shape(schema)
        cells = layer.cells(schema)
        weights = self._possible_weights(layer)
        low, high = Fraction(min(weights)), Fraction(max(weights))
        about = self.columns if self.weighted is None else (*self.columns, self.weighted)
        if self.conditions or self.persons or may_be_blank(schema, about):
            low, high = min(low, ZERO), max(high, ZERO)
        up, down = max(high, ZERO), max(-low, ZERO)
        mass = MOST_RECORDS * max(up, down)
        if cells == 1:
            enter = Change.single(low, high)
        else:
            enter = Change(-down, up, up, down, max(up, down), low, high, int(up > 0), int(down > 0))
        least, most = -MOST_RECORDS * down, MOST_RECORDS * up
        swap = enter.swapped().tightened(cells, most - least)
        return Known(shape, 1, least, most, mass, enter.tightened(cells, most - least), swap)

    def _possible_weights(self, layer: Layer) -> tuple[int, ...]:
        """The weights of rows that meet the conditions on the weighted column."""
        if self.weighted is None:
            return (1,)
        allowed = set(range(len(self.weights)))
        for name, codes in layer.where:
            if name == self.weighted:
                allowed &= set(codes)
        return tuple(self.weights[code] for code in sorted(allowed)) or (0,)

    def value(self, *parts: Numbers) -> NoReturn:
        """Refuse: its numbers come from rows."""
        raise ExpressionError("a tally is looked up, not computed")


def _code(column: str, value: str | int, schema: Schema) -> int:
    if isinstance(value, int):
        size = schema[column].size
        if not 0 <= value < size:
            raise ExpressionError(f"column {column!r} has the codes 0 to {size - 1}, and {value} is asked for")
        return value
    labels = schema[column].labels
    if value not in labels:
        raise ExpressionError(
            f"column {column!r} has no value {value!r}", fix=f"one of {', '.join(map(repr, labels[:20]))}"
        )
    return labels.index(value)
