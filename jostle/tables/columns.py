"""What is publicly known of one column: the values it may take, and what becomes of any other.

*Taxonomies* are public trees over a categorical column's values, by which values are put together. A taxonomy is a list
of branches; a branch is a value, or a list of branches. Cut at some depth, it puts the values below each branch there
together: `[["north", "south"], "abroad"]` has levels {all}, {north, south} {abroad}, and all apart.

Every column turns into codes 0 .. size-1, each standing for one declared value or bin. What happens to an empty cell,
or to a value that was not declared, is fixed here, beforehand, and looks at that cell alone: nothing about the other
rows, and no message, ever depends on it.

*Blanks.* Where nothing else is declared, such a cell is a *blank*: its row takes no part in what is asked about its
column, and takes part in everything else. In blocks, a blank is the number after the last code (`blank`), so that it is
a value like any other to hashes that tell rows apart and deal them out. A question about several columns leaves out
rows with a blank in any of them. What *branches* on a column, a tree say, sends a blank where it sends the first code,
when it learns and when it predicts; and a row whose label is blank is not learnt from.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from attrs import field, frozen

from jostle.errors import SchemaError, described, shown
from jostle.given import called_as, made_as
from jostle.tables.values import EMPTY, Clock, Grain, finest_grain, grain_of, moment_of, number_in, span_text, time_in
from jostle.visible import steers

Taxonomy = tuple[Any, ...]
"""Branches: values, or tuples of branches."""

MOST_DEPTH = 20
FIX = 'taxonomy=[["north", "south"], "abroad"]'


def taxonomy(value: object) -> Taxonomy:
    """Read nested lists of values."""
    return _branches(value, MOST_DEPTH)


def _branches(value: object, depth: int) -> Taxonomy:
    if isinstance(value, str | bytes) or not isinstance(value, list | tuple):
        raise SchemaError(f"the taxonomy has {shown(value)} where a list of branches is due", fix=FIX)
    if not depth:
        raise SchemaError(f"the taxonomy is deeper than {MOST_DEPTH} levels", fix=FIX)
    return tuple(
        str.__str__(below)
        if isinstance(below, str)
        else _branches(below, depth - 1)
        if isinstance(below, list | tuple)
        else str(below)
        for below in value
    )


def check_taxonomy(branches: Taxonomy, values: Iterable[str]) -> None:
    """Refuse a tree that does not hold each of the values once."""
    if not branches:
        return
    declared, seen = set(values), set[str]()
    for value in _leaves(branches):
        if value not in declared:
            raise SchemaError(f"the taxonomy holds {shown(value)}, which is not one of the values", fix=FIX)
        if value in seen:
            raise SchemaError(f"the taxonomy holds {shown(value)} twice", why="each value is in one group")
        seen.add(value)
    if missing := declared - seen:
        raise SchemaError(f"the taxonomy does not hold {shown(min(missing))}", why="each value is in one group")


def _leaves(branch: object) -> Iterator[str]:
    if isinstance(branch, str):
        yield branch
    elif isinstance(branch, tuple):
        if not branch:
            raise SchemaError("the taxonomy has a branch without values", fix=FIX)
        for below in branch:
            yield from _leaves(below)


def levels_of(branches: Taxonomy, values: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """The group of each value at each depth, from all together to each by itself; no two depths alike.

    >>> levels_of((("north", "south"), "abroad"), ("abroad", "north", "south"))
    ((0, 0, 0), (1, 0, 0), (2, 0, 1))
    """
    levels = [tuple(0 for _ in values)]
    cut: list[Any] = [branches]
    while any(not isinstance(part, str) for part in cut):
        cut = [below for part in cut for below in ((part,) if isinstance(part, str) else part)]
        group = {value: number for number, part in enumerate(cut) for value in _leaves(part)}
        now = tuple(group[value] for value in values)
        if max(now, default=0) > max(levels[-1], default=0):
            levels.append(now)
    return tuple(levels)


OTHER = "(other)"
"""How the extra value is called that stands for all undeclared ones."""
MISSING = "(missing)"
"""How the extra value is called that stands for no value at all."""

PUBLIC = "which values can occur is public knowledge, and is never read off private rows"
OutsideCategorical = Literal["blank", "other", "drop"]
OutsideNumeric = Literal["clamp", "blank", "other", "drop"]
MissingPolicy = Literal["blank", "value", "drop"]
MOST_EXACT = 2.0**53
"""Below it, whole numbers and floats are the same numbers."""
MOST_BINS = 2**30
"""With the extra values, codes fit 32 bits."""


def _texts(values: object) -> tuple[str, ...]:
    fix = 'values=["no", "yes"]'
    if isinstance(values, AbstractSet):
        raise SchemaError("values is a set, which has no order", fix=fix)
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise SchemaError(f"values is {shown(values)}, not a list of values", fix=fix)
    return tuple(map(_text, values))


def _text(value: object) -> str:
    """A declared value as a cell of its type would be written."""
    if isinstance(value, str):
        return str.__str__(value)
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        raise SchemaError("an empty cell is declared as a value", fix='missing="value"')
    if isinstance(value, timedelta | np.timedelta64):
        return str(span_text(value))
    if isinstance(value, bytes) or hasattr(value, "__iter__"):
        raise SchemaError(f"the value {shown(value)} is not a single value", fix='values=["no", "yes"]')
    if isinstance(value, Real) and not isinstance(value, Integral):
        number = float(value)
        if math.isnan(number):
            raise SchemaError("an empty cell is declared as a value", fix='missing="value"')
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return str(value)


def _number(value: Any) -> Any:
    """A number of any library as Python's own; what is no number is left for the check to name."""
    if isinstance(value, Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _numbers(values: Any) -> tuple[Any, ...]:
    if not isinstance(values, Iterable):
        raise SchemaError(f"edges is {shown(values)}, not a list of numbers", fix="edges=[0, 10, 100]")
    return tuple(map(_number, values))


def _check_number(name: str, value: object, fix: str) -> None:
    try:
        good = type(value) in {int, float} and math.isfinite(value)  # type: ignore[arg-type]  # a number, as just seen
    except OverflowError:
        good = False
    if not good:
        said = shown(value) if len(shown(value)) < 40 else "too large"
        if isinstance(value, date | np.datetime64):
            fix = 'Dates("2020-01-01", "2024-12-31") is a column of dates'
        raise SchemaError(f"{name} is {said}, not a finite number", fix=fix)


def _check_policy(name: str, value: str, allowed: object) -> None:
    choices = get_args(allowed)
    if not isinstance(value, str) or value not in choices:
        raise SchemaError(f"{name} is {shown(value)}", fix=f"{name} = one of {', '.join(map(repr, choices))}")


def check_text(what: str, text: str) -> None:
    """Refuse a name or value that could not be written to a file, or would steer the screens it is shown on."""
    if text != text.encode(errors="replace").decode():
        raise SchemaError(f"{what} {shown(text)} is not a text that can be written to a file")
    if steers(text):
        raise SchemaError(
            f"{what} {shown(text)} holds control characters",
            why="wherever it is shown, they would steer the screen",
            fix="take them out of the schema and of the data",
        )


def is_too_long(value: str) -> bool:
    """Whether a value is a whole number of so many digits that floats do not tell it from the next one.

    One that is written with an exponent has few of them: such as codes may look like, 15E30 say.
    """
    number = number_in(value)
    few = "e" in value.lower() and "x" not in value.lower()
    return number is not None and MOST_EXACT <= abs(number) < math.inf and not few


def _check_told_apart(values: tuple[str, ...]) -> None:
    """Refuse numbers and moments of which cells may come in a type that does not tell them apart."""
    declared: dict[float | datetime | time, str] = {}
    for value in values:
        if is_too_long(value):
            raise SchemaError(
                f"the value {shown(value)} is a number of 2**53 or more",
                why="one empty cell makes libraries hold all numbers as floats, which do not tell such ones apart",
                fix="put a letter before each, here and in the data; of what tells rows apart, Identifier()",
            )
        for said in (number_in(value), time_in(value)):
            if said is not None and declared.setdefault(said, value) is not value:
                raise SchemaError(
                    f"the value {shown(value)} is the same as {shown(declared[said])}",
                    why="libraries write one for the other: 1, 1.0, 01 and True are one number",
                    fix="declare one of them; where they are not the same, put a letter before each, and in the data",
                )


def _number_written(label: str) -> int | Fraction | None:
    """The number that a label is, if it is one."""
    try:
        found = Fraction(label)
    except (ValueError, ZeroDivisionError):
        return None
    return int(found) if found.denominator == 1 else found


class Coded(ABC):
    """What all columns have: a code for each declared value or bin, perhaps one for others, and one for no value."""

    outside: str
    missing: str

    @property
    @abstractmethod
    def declared(self) -> tuple[str, ...]:
        """The label of each declared value, or bin; no two alike."""

    @property
    @abstractmethod
    def declared_count(self) -> int:
        """How many there are."""

    @abstractmethod
    def _declared_levels(self) -> Iterable[tuple[int, ...]]:
        """The group of each of them, coarser ones first."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of each code, no two alike."""
        return self.declared + (OTHER,) * (self.outside == "other") + (MISSING,) * (self.missing == "value")

    @cached_property
    def size(self) -> int:
        """Number of codes."""
        return self.declared_count + (self.outside == "other") + (self.missing == "value")

    @property
    def blank(self) -> int | None:
        """What stands for a blank in blocks, beyond the codes; None where no row has any."""
        return self.size if "blank" in {self.outside, self.missing} else None

    @property
    def other_code(self) -> int | None:
        """The code of what is not declared, or *blank*; None if it is moved to an end, or its row dropped."""
        return {"other": self.declared_count, "blank": self.blank}.get(self.outside)

    @property
    def missing_code(self) -> int | None:
        """The code of empty cells, or *blank*; None if their rows are dropped."""
        return {"value": self.size - 1, "blank": self.blank}.get(self.missing)

    @property
    @abstractmethod
    def meanings(self) -> tuple[int | Fraction | str | None, ...]:
        """The value of each code in computations: a number, a text, or None where it has none."""

    @property
    @abstractmethod
    def _numbers(self) -> tuple[int | Fraction | None, ...]:
        """The number that each code is, if it is one."""

    @cached_property
    def _names(self) -> Mapping[object, int]:
        """The codes of all names but the numbers in a bin."""
        found: dict[object, int] = {label: code for code, label in enumerate(self.labels)}
        for code, number in enumerate(self._numbers):
            if number is not None:
                found.setdefault(number, code)
        return found

    def code_called(self, name: object) -> int | None:
        """The code of a value, by its label, what it means, or a number in it; None if it is called otherwise."""
        if isinstance(name, bool) or not isinstance(name, str | int | float | Fraction):
            return None
        code = self._names.get(name)
        return self._code_within(name) if code is None and not isinstance(name, str) else code

    def _code_within(self, number: float | Fraction) -> int | None:
        """The code of the bin that a number is in."""
        return None

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The group of each code, coarser ones first, from all together to each by itself.

        The extra values are each a group by itself, but where all are together.
        """
        size = self.size
        wider = [
            (*level, *range(max(level) + 1, max(level) + 1 + size - len(level))) for level in self._declared_levels()
        ]
        alike = (0,) * size
        return (*(() if alike in wider else (alike,)), *wider)


@made_as('Categorical(["no", "yes"])', why=PUBLIC)
@frozen
class Categorical(Coded):
    """A column with a declared list of values.

    A cell has a value if it is the same, however it is written and whatever type it comes in: 1, 1.0, "01" and True are
    one number, "TRUE" and "true" one truth, "2024-01-02" and that day's midnight one moment.

    Raises:
        SchemaError: there are no values, or two that are the same.
    """

    values: tuple[str, ...] = field(converter=_texts)
    """Every value the column may take, as public knowledge has it."""
    outside: OutsideCategorical = "blank"
    """What becomes of an undeclared value: it is a blank, which leaves the questions about this column and no others;
    or one extra value for all such ("other"); or its whole row is dropped."""
    missing: MissingPolicy = "blank"
    """What becomes of an empty cell or text: it is a blank, or one extra value ("value"), or its row is dropped."""
    taxonomy: Taxonomy = field(default=(), converter=taxonomy)
    """A public tree over the values, as nested lists: which of them may be put together. Without one, none are."""

    def __attrs_post_init__(self) -> None:
        """Refuse declarations that contradict themselves."""
        check_taxonomy(self.taxonomy, self.values)
        if not self.values:
            raise SchemaError("a categorical column has no values", fix='values=["no", "yes"]')
        if len(set(self.values)) != len(self.values):
            twice = next(value for value in self.values if self.values.count(value) > 1)
            raise SchemaError(f"the value {shown(twice)} is declared twice", fix="declare it once")
        _check_policy("outside", self.outside, OutsideCategorical)
        _check_policy("missing", self.missing, MissingPolicy)
        for value in self.values:
            if value in EMPTY:
                raise SchemaError("an empty cell is declared as a value", fix='missing="value"')
            if value in {OTHER, MISSING}:
                raise SchemaError(f"the value {shown(value)} is declared, but the name is taken by Jostle")
            check_text("the value", value)
        _check_told_apart(self.values)

    @cached_property
    def meanings(self) -> tuple[int | Fraction | str | None, ...]:
        """Texts, or numbers where all categories are written as numbers; those that are one number are told apart."""
        plain = [None if label in {OTHER, MISSING} else label for label in self.labels]
        texts, numbers = ([value for value in values if value is not None] for values in (plain, self._numbers))
        return self._numbers if len(set(numbers)) == len(texts) else tuple(plain)

    @cached_property
    def _numbers(self) -> tuple[int | Fraction | None, ...]:
        return tuple(map(_number_written, self.labels))

    @property
    def declared(self) -> tuple[str, ...]:
        return self.values

    @property
    def declared_count(self) -> int:
        return len(self.values)

    def _declared_levels(self) -> Iterable[tuple[int, ...]]:
        """By the taxonomy."""
        return levels_of(self.taxonomy or self.values, self.values)


@made_as("Numeric(0, 100)", why=PUBLIC)
@frozen
class Numeric(Coded):
    """A column of numbers with public bounds, cut into bins.

    Raises:
        SchemaError: the bounds are no numbers, or bins do not fit between them.
    """

    low: float = field(converter=_number)
    """The least value, as public knowledge has it."""
    high: float = field(converter=_number)
    """The greatest value."""
    bins: int = field(default=16, converter=_number)
    """How many bins of equal width; where edges are given, as many as they cut."""
    edges: tuple[float, ...] = field(default=(), converter=_numbers)
    """Bin edges in rising order, from low to high; bin i holds edges[i] <= x < edges[i+1], the last one also high."""
    outside: OutsideNumeric = "clamp"
    """What becomes of a number out of bounds: it counts as the nearest one within; or it is a blank, which leaves the
    questions about this column and no others; or one extra value for all such ("other"); or its whole row is dropped. A
    text that is no number counts as an empty cell."""
    missing: MissingPolicy = "blank"
    """What becomes of an empty cell: it is a blank, or one extra value ("value"), or its row is dropped."""
    unit: float | None = field(default=None, converter=_number)
    """What sums, means and quantiles round each number to a multiple of: 1 for whole numbers, 0.01 for cents. Without
    one, a power of ten that is far below what noise hides."""
    clock: Clock | None = None
    """Of dates and times: what they are counted by. See `Dates`."""

    def __attrs_post_init__(self) -> None:
        """Refuse declarations that contradict themselves."""
        _check_number("low", self.low, "low=0")
        _check_number("high", self.high, "high=100")
        if not float(self.low) < float(self.high):
            swapped = float(self.low) > float(self.high)
            raise SchemaError(
                f"low={self.low} is not below high={self.high}",
                why="numbers lie between bounds that are public",
                fix=f"low={self.high}, high={self.low}" if swapped else f"a larger high than {self.high}",
            )
        if self.edges:
            self._check_edges()
            object.__setattr__(self, "edges", tuple(map(float, self.edges)))
            object.__setattr__(self, "bins", len(self.edges) - 1)
        else:
            self._check_bins()
        _check_policy("outside", self.outside, OutsideNumeric)
        _check_policy("missing", self.missing, MissingPolicy)
        if self.unit is not None:
            self._check_unit(self.unit)
        if not isinstance(self.clock, Clock | None):
            raise SchemaError(f"clock is {shown(self.clock)}", fix='Dates("2020-01-01", "2024-12-31")')

    def _check_unit(self, unit: float) -> None:
        _check_number("unit", unit, "unit=1")
        if unit <= 0 or grain_of(self.low, self.high, unit) is None:
            raise SchemaError(
                f"unit={unit} does not fit low={self.low} and high={self.high}",
                why="at least two of its multiples lie between the bounds, and none is beyond 2**30 units",
                fix="unit=1 for whole numbers, unit=0.01 for cents, or no unit",
            )

    def _check_edges(self) -> None:
        for edge in self.edges:
            _check_number("an edge", edge, "edges=[0, 10, 100]")
        if len(self.edges) == 1 or any(not float(left) < float(right) for left, right in pairwise(self.edges)):
            raise SchemaError("edges do not rise strictly", fix="edges=[0, 10, 100]")
        if float(self.edges[0]) != float(self.low) or float(self.edges[-1]) != float(self.high):
            raise SchemaError(f"edges run from {self.edges[0]} to {self.edges[-1]}, not from low to high")

    def _check_bins(self) -> None:
        if type(self.bins) is not int or not 1 <= self.bins <= MOST_BINS:
            raise SchemaError(f"bins is {shown(self.bins)}, but must be a whole number from 1 to 2**30", fix="bins=16")
        width = float(self.high) - float(self.low)
        if not math.isfinite(width * self.bins):
            raise SchemaError(f"low={self.low} and high={self.high} are too far apart", fix="use bounds that can occur")
        if width / self.bins < 4 * math.ulp(max(abs(float(self.low)), abs(float(self.high)))):
            raise SchemaError(
                f"{self.bins} bins from low={self.low} to high={self.high} are narrower than numbers can tell apart",
                fix="use fewer bins",
            )

    @property
    def cut_points(self) -> tuple[float, ...]:
        """All bin edges, from low to high."""
        if self.edges:
            return self.edges
        low, width = float(self.low), float(self.high) - float(self.low)
        inner = (low + width * index / self.bins for index in range(1, self.bins))
        return (low, *inner, float(self.high))

    @cached_property
    def grain(self) -> Grain | None:
        """Unit and multiples of it that sums are made of; None where bounds are too close to each other for any."""
        return finest_grain(self.low, self.high) if self.unit is None else grain_of(self.low, self.high, self.unit)

    def moment(self, number: float) -> datetime:
        """The date or time that a number of this column stands for, such as its mean.

        Raises:
            SchemaError: the column has no dates or times, or there is no such date.
        """
        if self.clock is None:
            raise SchemaError("these are numbers, not dates", fix='Dates("2020-01-01", "2024-12-31")')
        try:
            return self.clock.moment(number)
        except (TypeError, ValueError, OverflowError):
            raise SchemaError(
                f"there is no date {described(number)} units after the start",
                fix="a number between the column's bounds",
            ) from None

    @cached_property
    def meanings(self) -> tuple[int | Fraction | None, ...]:
        """The middle of each bin, or its lower end where bins are one unit wide."""
        cuts = [Fraction(repr(float(cut))) for cut in self.cut_points]
        whole = all(right - left == 1 for left, right in pairwise(cuts))
        inner = [left if whole else (left + right) / 2 for left, right in pairwise(cuts)]
        shown = [int(each) if each.denominator == 1 else each for each in inner]
        return (*shown, *(None for _ in self.labels[len(shown) :]))

    @property
    def _numbers(self) -> tuple[int | Fraction | None, ...]:
        return self.meanings

    def _code_within(self, number: float | Fraction) -> int | None:
        cuts = self.cut_points
        within = cuts[0] <= number <= cuts[-1]
        return min(sum(cut <= number for cut in cuts) - 1, self.bins - 1) if within else None

    @property
    def bin_count(self) -> int:
        """Number of bins, extra values not counted."""
        return self.bins

    @property
    def declared(self) -> tuple[str, ...]:
        written = self._written_cuts()
        bins = [f"[{left}, {right})" for left, right in pairwise(written)]
        return (*bins[:-1], f"[{written[-2]}, {written[-1]}]")

    @property
    def declared_count(self) -> int:
        return self.bins

    def _declared_levels(self) -> Iterable[tuple[int, ...]]:
        """Bins in 2 groups, 4, and so on."""
        counts = [2**level for level in range(self.bins.bit_length()) if 2**level < self.bins]
        return [tuple(code * count // self.bins for code in range(self.bins)) for count in (*counts, self.bins)]

    def _written_cuts(self) -> list[str]:
        cuts = self.cut_points
        if self.clock is not None:
            return [self.clock.written(cut) for cut in cuts]
        return next(
            texts
            for digits in (6, 9, 12, 17)  # 17 tell any two floats apart
            if len(set(texts := [f"{cut:.{digits}g}" for cut in cuts])) == len(cuts)
        )


Column = Categorical | Numeric


@frozen
class Identifier:
    """A column of names or numbers that tell rows apart: declared, so that everybody knows, and never asked about.

    It is looked at for `Table.notes` alone, which tell the owner of values that stand in several rows.
    """


MOST_CHANCES = 2**20
LARGEST_ODDS = 36
"""Log-odds of chances that floats can just tell from 1."""


@called_as('Dates("2020-01-01", "2024-12-31")', why=PUBLIC)
def Dates(  # noqa: N802 - it stands beside the other kinds of columns
    start: str | date | np.datetime64,
    end: str | date | np.datetime64,
    *,
    unit: str = "day",
    bins: int = 16,
    outside: OutsideNumeric = "clamp",
    missing: MissingPolicy = "blank",
) -> Numeric:
    """A column of dates or times from a public start to a public end, counted in whole units since the start.

    Args:
        start: the first one, which is public: "1920-01-01".
        end: the last one.
        unit: what is counted: "day", or a shorter one.
        bins: how many bins of equal width.
        outside: what becomes of one out of bounds: the nearest bin, a blank, one extra value ("other"), or its row is
            dropped.
        missing: what becomes of an empty cell: a blank, one extra value ("value"), or its row is dropped.

    Raises:
        SchemaError: these are no dates, or do not follow each other.

    >>> born = Dates("1920-01-01", "2010-12-31", bins=9)
    >>> born.labels[0], born.moment(366)
    ('[1920-01-01, 1930-02-10)', datetime.datetime(1921, 1, 1, 0, 0))
    """
    clock = Clock(moment_of("start", start), unit)
    high = clock.count(moment_of("end", end))
    if high <= 0:
        raise SchemaError(
            f"end is {shown(str(end))}, which is no {unit} after start={shown(str(start))}",
            fix='Dates("2020-01-01", "2024-12-31")',
        )
    # Cut between whole units, where there are enough.
    edges = tuple(high * index // bins for index in range(bins + 1)) if type(bins) is int and 0 < bins <= high else ()
    return Numeric(0, high, bins, edges, outside=outside, missing=missing, unit=1, clock=clock)


def Chances(  # noqa: N802 - it stands beside the other kinds of columns
    *, bins: int = 1024, outside: OutsideNumeric = "clamp", missing: MissingPolicy = "blank"
) -> Numeric:
    """A column of chances, from 0 to 1: what a model gives its rows, say, cut where its log-odds are evenly spaced.

    Bins of equal width would not tell apart what is near 0 and 1, where good models put most rows. These are narrower
    towards both ends, down to the distance at which floats near 1 can be told apart.

    Args:
        bins: how many at most; near 1, where cuts would be the same float, fewer.
        outside: what becomes of a number out of bounds: the nearest bin, a blank, one extra value ("other"), or its
            row is dropped.
        missing: what becomes of an empty cell: a blank, one extra value ("value"), or its row is dropped.

    Raises:
        SchemaError: bins is not a number from 2 to 2**20.

    >>> Chances(bins=4).edges[2]
    0.5
    """
    if type(bins) is not int or not 2 <= bins <= MOST_CHANCES:
        raise SchemaError(f"bins is {shown(bins)}, but must be a whole number from 2 to 2**20", fix="bins=1024")
    # From -REACH to REACH, both halves alike: what is 1 less a small number is computed from that one.
    odds = [LARGEST_ODDS * (2 * index - bins) / max(1, bins - 2) for index in range(1, bins)]
    cuts = (math.exp(odd) / (1 + math.exp(odd)) if odd < 0 else 1 / (1 + math.exp(-odd)) for odd in odds)
    return Numeric(0, 1, edges=tuple(sorted({0.0, 1.0, *cuts})), outside=outside, missing=missing)
