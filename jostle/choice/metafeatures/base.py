"""Metafeatures: what about a database may decide which Option is best.

A metafeature is a function of a `View`: of public facts, which are free, and of what it buys there. The same function
runs on a private table, where what it buys is charged and noisy, and on public ones, where noise of the same size is
put on what was read; so a maker is trained on what it will see.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, overload

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.choice.learning.history import KnownInstance
from jostle.errors import ChoiceError
from jostle.privacy.expressions import Expression, known_of, sensitivity
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.opening import raw
from jostle.privacy.probe import Probe
from jostle.privacy.tallied import Tally
from jostle.tables.schema import Schema
from jostle.tables.table import Table

__all__ = [
    "Metafeature",
    "Purchases",
    "Replica",
    "Stall",
    "View",
    "distinct",
    "metafeature",
    "named",
    "read_raw",
    "seeded",
    "version_of",
]

Floats = NDArray[np.float64]
STEPS = 1000
"""Training noise is a whole number of so many steps per unit."""


class Market(ABC):
    """Where what a metafeature buys comes from."""

    @abstractmethod
    def buy(self, wanted: Expression) -> Floats:
        """Return the numbers of an expression, in its shape."""


@frozen(eq=False, repr=False)
class View:
    """What a metafeature sees of a database: public facts, and whatever it buys."""

    schema: Schema
    epsilon: float
    """The budget of the whole answer, which is public."""
    market: Market

    @property
    def label(self) -> str:
        """Return the column to be predicted."""
        if self.schema.label is None:
            raise ChoiceError("the schema names no label", fix='Schema(columns, label="...")')
        return self.schema.label

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return how many values each attribute has; on a grid, its sides."""
        return tuple(self.schema[name].size for name in self.schema.attributes)

    def buy(self, wanted: Expression) -> float:
        """Return the one number of a private expression, with noise. Bought twice, it is paid once."""
        return float(self.market.buy(wanted)[()])

    def buy_cells(self, wanted: Expression) -> Floats:
        """Return all numbers of a private expression, with noise, for one price."""
        return self.market.buy(wanted)


@frozen(eq=False)
class Metafeature:
    """A named function of a view."""

    name: str
    measure: Callable[[View], float] = field(repr=False)
    low: str = field(kw_only=True)
    """What is said of a database where it is small."""
    high: str = field(kw_only=True)
    version: str = field(kw_only=True)
    """Changes with the function, so that what was learned with another one is not used."""

    def purchases(self, schema: Schema) -> tuple[Expression, ...]:
        """Return what it buys, found out without data."""
        listing = Listing(schema)
        self(View(schema, 1.0, listing))
        return tuple(listing.wanted.values())

    def is_read(self, instance: KnownInstance) -> bool:
        """Return whether a history has what it buys on an instance."""
        return all(key_of(wanted) in instance.read for wanted in self.purchases(instance.sketch.schema()))

    def __call__(self, view: View) -> float:
        """Return its value."""
        return float(self.measure(view))


Measure = Callable[[View], float]


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

    >>> @metafeature(low="few attributes", high="many attributes")
    ... def width(db: View) -> float:
    ...     return len(db.schema.attributes)
    >>> width.name, width.high
    ('width', 'many attributes')
    """

    def made(measure: Measure) -> Metafeature:
        called = name or measure.__name__
        return Metafeature(
            called,
            measure,
            low=low or f"{called} is small",
            high=high or f"{called} is large",
            version=version_of(measure),
        )

    return made if function is None else made(function)


def version_of(function: Callable[..., Any]) -> str:
    """Return a mark of what a function does: of its source, without comments on other functions."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        text = repr((getattr(code, "co_code", b""), getattr(code, "co_consts", ()), getattr(code, "co_names", ())))
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


@frozen(eq=False)
class Listing(Market):
    """Writes down what is bought, and gives ones for it."""

    schema: Schema
    wanted: dict[str, Expression] = field(factory=dict)

    def buy(self, wanted: Expression) -> Floats:
        """Return something of the right shape."""
        self.wanted[key_of(wanted)] = wanted
        return np.ones(known_of(wanted, self.schema).shape)


@frozen(eq=False)
class Purchases(Market):
    """Buys from a probe, each thing once, all at the same price."""

    db: Probe
    each: Fraction
    listed: Mapping[str, Expression]
    bought: dict[str, Floats] = field(factory=dict)

    def buy(self, wanted: Expression) -> Floats:
        """Return what was bought before, or buy it."""
        key = key_of(wanted)
        if key not in self.listed:
            raise ChoiceError(
                "a metafeature buys something that it did not buy when it was priced",
                why="what it costs is fixed before the data are touched",
                fix="buy first, and decide afterwards, whatever the numbers are",
            )
        if key not in self.bought:
            self.bought[key] = self.db.release_cells(wanted, self.each, site="metafeature")
        return self.bought[key]

    def rows(self, sure: float) -> int | None:
        """Return how many rows there are, if what was bought tells: counts of all rows, as exactly as asked for.

        The sum of m counts with Laplace noise of scale s on each has a standard deviation of sqrt(2m) s. What is so
        often that, *sure*, is taken for the number itself.
        """
        found: list[tuple[float, float]] = []
        for key, numbers in self.bought.items():
            wanted = self.listed[key]
            if isinstance(wanted, Tally) and wanted.weighted is None and not wanted.conditions:
                scale = float(sensitivity(wanted, self.db.schema) / self.each)
                found.append((math.sqrt(2 * numbers.size) * scale, float(numbers.sum())))
        if not found:
            return None
        deviation, rows = min(found)
        return round(rows) if rows >= max(1.0, sure * deviation) else None


@frozen(eq=False)
class Stall:
    """What was read off one public database, with what is worked out for each purchase only once."""

    read: Mapping[str, tuple[float, ...]]
    schema: Schema
    worked_out: dict[int, tuple[Expression, Floats, Fraction]] = field(factory=dict)
    """By the expression's identity; the expression is held with it, so that its place is not taken by another."""

    def values(self, wanted: Expression) -> tuple[Floats, Fraction]:
        """Return an expression's numbers, and its sensitivity."""
        known = self.worked_out.get(id(wanted))
        if known is None:
            key = key_of(wanted)
            if key not in self.read:
                raise ChoiceError(
                    "what a metafeature buys was not read off all databases",
                    fix="train again, with the databases at hand",
                )
            values = np.array(self.read[key]).reshape(known_of(wanted, self.schema).shape)
            known = (wanted, values, sensitivity(wanted, self.schema))
            self.worked_out[id(wanted)] = known
        return known[1], known[2]


@frozen(eq=False)
class Replica(Market):
    """Puts noise on what was read off a public database, as it would be bought there; none where *each* is None."""

    stall: Stall
    each: Fraction | None
    noise: Noise
    bought: dict[str, Floats] = field(factory=dict)

    def buy(self, wanted: Expression) -> Floats:
        """Return what was read, noised once."""
        values, moved = self.stall.values(wanted)
        if self.each is None:
            return values
        key = key_of(wanted)
        if key not in self.bought:
            # In steps a thousandth of what a row changes: fine enough for training.
            scale = max(Fraction(1), Fraction(round(STEPS * moved / self.each)))
            self.bought[key] = values + self.noise.discrete_laplace(scale, values.size).reshape(values.shape) / STEPS
        return self.bought[key]


def key_of(wanted: Expression) -> str:
    """Return a short name of what is bought, the same wherever it is the same."""
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
    """Return what several metafeatures buy together, each thing once."""
    return {key_of(wanted): wanted for each in metafeatures for wanted in each.purchases(schema)}


def read_raw(metafeatures: Iterable[Metafeature], table: Table) -> dict[str, tuple[float, ...]]:
    """Return what metafeatures buy on a public table, without noise; a table opened as private is refused."""
    wanted = distinct(metafeatures, table.schema)
    numbers = raw(table, wanted.values())
    return {key: tuple(map(float, found)) for key, found in zip(wanted, numbers, strict=True)}


def named(metafeatures: Iterable[Metafeature]) -> Mapping[str, Metafeature]:
    """Return metafeatures by name; two of one name are refused."""
    found: dict[str, Metafeature] = {}
    for each in metafeatures:
        if found.setdefault(each.name, each) is not each:
            raise ChoiceError(f"two metafeatures are called {each.name!r}", fix='@metafeature(name="...")')
    return found


def seeded(seed: Any) -> Noise:
    """Return a noise that is a function of a seed, for training."""
    digest = hashlib.blake2b(repr(seed).encode(), digest_size=8).digest()
    return Noise(SeededBits(int.from_bytes(digest, "big")))
