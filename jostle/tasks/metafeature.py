"""Metafeatures: what about a database may decide which Option is best.

A metafeature is a function of a `View`: of public facts, which are free, and of what it buys there. The same function
runs on a private table, where what it buys is charged and noisy, and on public ones, where noise of the same size is
put on what was read; so a maker is trained on what it will see.
"""

from __future__ import annotations

import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any, Protocol, overload, runtime_checkable

import numpy as np
from attrs import Factory, field, frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError, ExpressionError, OptionError, described, shown
from jostle.given import given_as
from jostle.privacy.expressions import known_of
from jostle.privacy.nodes import Expression
from jostle.privacy.sensitivity import Known
from jostle.tables.schema import Schema


def text_of(function: Callable[..., Any]) -> str:
    """The source of a function; of one that stands in no file, what its code does: the same in every process."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return _of_code(getattr(function, "__code__", None))


def _of_code(code: CodeType | None) -> str:
    if code is None:
        return ""
    constants = ", ".join(map(_of_constant, code.co_consts))
    return f"{code.co_code!r} ({constants}) {code.co_names!r} {code.co_varnames!r}"


def _of_constant(constant: object) -> str:
    """A constant as text, without what is another in each process: addresses of code, the order of sets."""
    if isinstance(constant, CodeType):
        return _of_code(constant)
    if isinstance(constant, tuple):
        return f"({', '.join(map(_of_constant, constant))})"
    if isinstance(constant, frozenset):
        return f"{{{', '.join(sorted(map(_of_constant, constant)))}}}"
    return repr(constant)


Floats = NDArray[np.float64]


class Market(ABC):
    """Where what a metafeature buys comes from."""

    @abstractmethod
    def buy(self, wanted: Expression) -> Floats:
        """The numbers of an expression, in its shape."""

    def variance(self, wanted: Expression) -> float:
        """Variance of the noise on each number of an expression: 0 where there is none."""
        return 0.0


OF_PROBES = frozenset({"release", "release_cells", "count", "histogram", "sum", "mean", "quantile", "parts"})
"""What a probe is asked, and the view of one is not."""


@frozen(eq=False, repr=False)
class View:
    """What a metafeature sees of a database: public facts, and whatever it buys."""

    schema: Schema
    epsilon: float
    """The budget of the whole answer, which is public."""
    market: Market
    rows: int | None = field(default=Factory(lambda view: view.schema.rows, takes_self=True))
    """The number of rows, if it is known: declared in the schema, or bought before."""
    asked: tuple[Any, ...] | None = None
    """What is asked beside the table, as its task reads it; None where nobody says."""
    judged_by: str | None = None
    """The name of the loss that is to be kept small; None for the task's own."""

    @property
    def label(self) -> str:
        """The column to be predicted."""
        if self.schema.label is None:
            raise ChoiceError("the schema names no label", fix='Schema(columns, label="...")')
        return self.schema.label

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has; on a grid, its sides."""
        return tuple(self.schema[name].size for name in self.schema.attributes)

    def __getattr__(self, name: str) -> Any:
        if name in OF_PROBES:
            raise ChoiceError(
                f"a metafeature does not ask for db.{name}",
                why="its maker sets the price of what it buys, and learns from it on public databases as well",
                fix="db.buy(expression), for one number, or db.buy_cells(expression): buy(cells()) is a count",
            )
        raise AttributeError(f"what a metafeature sees has no {name!r}", name=name, obj=self)

    def buy(self, wanted: Expression) -> float:
        """The one number of a private expression, with noise. Bought twice, it is paid once."""
        return float(self.market.buy(wanted)[()])

    def variance(self, wanted: Expression) -> float:
        """Variance of the noise on each number that is bought of a private expression, which is public."""
        return self.market.variance(wanted)

    def buy_cells(self, wanted: Expression) -> Floats:
        """All numbers of a private expression, with noise, for one price."""
        return self.market.buy(wanted)


class ReadOff(Protocol):
    """A public instance that metafeatures were read off."""

    @property
    def read(self) -> Mapping[str, tuple[float, ...]]:
        """What was read, by its key."""

    @property
    def schema(self) -> Schema:
        """The public facts about it."""


@frozen(eq=False)
class Metafeature:
    """A named function of a view."""

    name: str
    measure: Callable[[View], float] = field(repr=False)
    low: str = field(kw_only=True)
    """What is said of a database where it is small."""
    high: str = field(kw_only=True)
    _version: str | None = field(default=None, kw_only=True)
    """None for a mark of the function's text, which takes time to find out."""

    @property
    def version(self) -> str:
        """A mark that changes with the function, so that what was learned with another one is not used."""
        return self._version or version_of(self.measure)

    def purchases(self, schema: Schema, known: dict[str, Known] | None = None) -> tuple[Expression, ...]:
        """The expressions it buys, found out without data; *known* is what was worked out for the schema before."""
        listing = Listing(schema) if known is None else Listing(schema, known=known)
        self(View(schema, 1.0, listing))
        return tuple(listing.wanted.values())

    def changes(self) -> Iterator[ChangedMetafeature]:
        """It with small changes of its definition, as far as whoever measures knows any."""
        measure: object = self.measure
        if isinstance(measure, Changeable):
            for changed in measure.changes():
                again = Metafeature(
                    self.name, changed.measure, low=self.low, high=self.high, version=changed.measure.version
                )
                yield ChangedMetafeature(again, changed.what, changed.definition)

    def is_read(self, instance: ReadOff) -> bool:
        """Whether all that it buys was read off an instance."""
        return all(key_of(wanted) in instance.read for wanted in self.purchases(instance.schema))

    def __call__(self, view: View) -> float:
        """Its value."""
        given = self.measure(view)
        try:
            # A private expression, and an array of several numbers, are no number either.
            return float(given)
        except (TypeError, ValueError, ExpressionError):
            raise ChoiceError(
                f"the metafeature {shown(self.name)} gives back {described(given)}, not a number",
                why="a maker learns from a number how a database lies among others",
                fix="return a number; what is private is bought: return db.buy(expression)",
            ) from None

    def __reduce__(self) -> tuple[object, ...]:
        # With its mark: another machine may not have the file that the function stands in.
        return _sent, (self.name, self.measure, self.low, self.high, self.version)


Measure = Callable[[View], float]


class MarkedMeasure(Protocol):
    """A function of a view that knows a mark of its text."""

    def __call__(self, view: View, /) -> float:
        """The metafeature's value."""

    @property
    def version(self) -> str:
        """A mark that changes with the text."""


@frozen(eq=False)
class ChangedMeasure:
    """A function of a view whose definition was changed a little."""

    measure: MarkedMeasure
    what: str
    """What was changed, in words."""
    definition: str
    """The whole changed definition, as text of the program."""


@runtime_checkable
class Changeable(Protocol):
    """A function of a view that knows small changes of its definition."""

    def changes(self) -> Iterator[ChangedMeasure]:
        """It with each of them."""


@frozen(eq=False)
class ChangedMetafeature:
    """A metafeature whose definition was changed a little."""

    metafeature: Metafeature
    what: str
    definition: str


def _sent(name: str, measure: Measure, low: str, high: str, version: str) -> Metafeature:
    return Metafeature(name, measure, low=low, high=high, version=version)


@overload
def metafeature(function: Measure, /) -> Metafeature: ...
@overload
def metafeature(
    *, low: str | None = None, high: str | None = None, name: str | None = None
) -> Callable[[Measure], Metafeature]: ...
def metafeature(
    function: Measure | None = None, /, *, low: str | None = None, high: str | None = None, name: str | None = None
) -> Metafeature | Callable[[Measure], Metafeature]:
    """Make a function of a view a metafeature; *low* and *high* say in words what small and large values mean.

    Raises:
        OptionError: it is no function, or is not told in texts.

    >>> @metafeature(low="few attributes", high="many attributes")
    ... def width(db: View) -> float:
    ...     return len(db.schema.attributes)
    >>> width.name, width.high
    ('width', 'many attributes')
    """
    for told in (low, high, name):
        if told is not None:
            given_as(told, str, "a text", fix='metafeature(low="few rows", high="many rows")', error=OptionError)

    def made(measure: Measure) -> Metafeature:
        if not callable(measure) or not hasattr(measure, "__name__"):
            raise OptionError(f"{described(measure)} is no function", fix="@jostle.metafeature, above def width(db)")
        called = name or measure.__name__
        return Metafeature(
            called,
            measure,
            low=low or f"{called} is small",
            high=high or f"{called} is large",
        )

    return made if function is None else made(function)


@lru_cache(maxsize=1024)
def version_of(function: Callable[..., Any]) -> str:
    """A mark of what a function does: of its source, without comments on other functions."""
    return hashlib.blake2b(text_of(function).encode(), digest_size=4).hexdigest()


@frozen(eq=False)
class Listing(Market):
    """Writes down what is bought, and gives ones for it."""

    schema: Schema
    wanted: dict[str, Expression] = field(factory=dict)
    known: dict[str, Known] = field(factory=dict)

    def buy(self, wanted: Expression) -> Floats:
        key = key_of(wanted)
        self.wanted[key] = wanted
        if key not in self.known:
            self.known[key] = known_of(wanted, self.schema)
        return np.ones(self.known[key].shape)


def key_of(wanted: Expression) -> str:
    """A short name of what is bought, the same wherever it is the same."""
    known = _keys.get(id(wanted))
    if known is None or known[0] is not wanted:
        known = (wanted, hashlib.blake2b(repr(wanted).encode(), digest_size=6).hexdigest())
        if len(_keys) >= KEYS_KEPT:
            _keys.clear()
        _keys[id(wanted)] = known
    return known[1]


_keys: dict[int, tuple[Expression, str]] = {}
KEYS_KEPT = 4096


def distinct(metafeatures: Iterable[Metafeature], schema: Schema) -> dict[str, Expression]:
    """The expressions that several metafeatures buy together, each thing once."""
    return {key_of(wanted): wanted for each in metafeatures for wanted in each.purchases(schema)}


def named(metafeatures: Iterable[Metafeature]) -> Mapping[str, Metafeature]:
    """Metafeatures by name; two of one name are refused."""
    found: dict[str, Metafeature] = {}
    for each in metafeatures:
        if found.setdefault(each.name, each) is not each:
            raise ChoiceError(f"two metafeatures are called {each.name!r}", fix='@metafeature(name="...")')
    return found
