"""Closed lists: which classes may look at rows, or at what was counted of them.

What may be asked of a table is decided by lists of classes: kernels, scores, mechanisms, and so on. A list names its
members in one place, and a class that is made from a member is none. It is also what reads a question that comes from
another process: a name, and fields.

A list also says what its members are made of, and does not come to be if it cannot: every field of every member, and of
the parts inside, is read by one of the converters of plain types (see `fields`), or holds parts of known classes. So a
member with a field that takes anything is found out when Jostle is imported, and not by whoever puts something there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import attrs
from attrs import Attribute, define, evolve, field, frozen

from jostle.errors import JostleError, TableError
from jostle.tables.feature_kernels import FeatureRefinements, FeatureSums
from jostle.tables.fields import TYPES, Component, Components, listed
from jostle.tables.kernels import Counts, DenseKernel, Marks, SparseCounts, Sums
from jostle.tables.number_kernels import Moments, NumberSum, Products, Ranks
from jostle.tables.persons import PersonBands, PersonCount
from jostle.tables.pools import GridCounts, Refinements, Stack
from jostle.tables.regions import Box, Haar, LevelKernel, Regions
from jostle.tables.routes import LeafCounts, SplitCounts
from jostle.tables.rules import Agreements, Hits, ManyHits, MarginLevels, Margins
from jostle.tables.slopes import Slopes

Converters = Mapping[Callable[..., object], type | None]


Declared = Callable[["Attribute[Any]"], bool]


def _nothing_else(_: Attribute[Any]) -> bool:
    return False


@frozen(eq=False)
class Closed:
    """The classes of one kind that may do what is done among rows; exactly these."""

    what: str
    """What a member is, in a word."""
    members: tuple[type, ...]
    why: str
    """Why no other will do."""
    error: type[JostleError] = TableError
    types: Converters = TYPES
    """What reads the fields of members and of their parts."""
    also: Declared = _nothing_else
    """Whether a field is of a plain type that is declared in another way."""
    kinds: Mapping[type, tuple[str, ...]] = field(init=False, repr=False)
    """Members and all classes of parts that may be inside one, each with the names of its fields that hold parts."""

    def __attrs_post_init__(self) -> None:
        """Refuse a list that does not say what its members are made of."""
        kinds: dict[type, tuple[str, ...]] = {}
        waiting = list(self.members)
        while waiting:
            kind = waiting.pop()
            if kind not in kinds:
                held = dict(self._held(kind))
                kinds[kind] = tuple(held)
                waiting += [part for component in held.values() for part in component.kinds]
        object.__setattr__(self, "kinds", MappingProxyType(kinds))

    def __contains__(self, kind: object) -> bool:
        return kind in self.members

    def __iter__(self) -> Iterator[type]:
        return iter(self.members)

    def made_from(self, base: type) -> tuple[type, ...]:
        """The members that a base class stands for."""
        return tuple(member for member in self.members if issubclass(member, base))

    def check(self, value: object) -> None:
        """Refuse a value that is not exactly of a member's class, or holds a part of a class that is not known."""
        if type(value) not in self.members:
            raise self._refusal(value)
        waiting: list[Any] = [value]
        while waiting:
            holder = waiting.pop()
            for name in self.kinds[type(holder)]:
                held = getattr(holder, name)
                for part in held if type(held) is tuple else () if held is None else (held,):
                    if type(part) not in self.kinds:
                        raise self._refusal(part)
                    waiting.append(part)

    def _refusal(self, value: object) -> JostleError:
        return self.error(
            f"{type(value).__name__} is not a known {self.what}, nor a part of one",
            why=self.why,
            fix=f"one of {', '.join(sorted(member.__name__ for member in self.members))}",
        )

    def _held(self, kind: type) -> Iterator[tuple[str, Component]]:
        """Yield the names of fields that hold parts, and which; refuse a field of no declared plain type."""
        if not attrs.has(kind) or kind.__setattr__ is object.__setattr__:
            raise TypeError(f"{kind.__name__} is no frozen value")
        for attribute in attrs.fields(kind):
            if not attribute.init:
                continue  # it is made of the others
            converter, validator = attribute.converter, attribute.validator
            if isinstance(validator, Component) and converter is (
                listed if isinstance(validator, Components) else None
            ):
                yield attribute.name, validator
            elif not self._declares(attribute):
                raise TypeError(f"{kind.__name__}.{attribute.name} has no declared plain type")

    def _declares(self, attribute: Attribute[Any]) -> bool:
        converter: Any = attribute.converter
        if converter in self.types:
            return isinstance(attribute.validator, self.types[converter] or object)
        return self.also(attribute)


@define(eq=False)
class Places:
    """A closed list whose members stand in rooms above: the module of each fills it in, as it is imported."""

    _now: Closed

    def fill(self, kind: type, *, also: Declared = _nothing_else) -> None:
        """Take in a class, with *also* as for a `Closed`."""
        now = self._now
        self._now = evolve(
            now, members=(*now.members, kind), also=lambda attribute: now.also(attribute) or also(attribute)
        )

    def now(self) -> Closed:
        """The list as it is now."""
        return self._now

    def __contains__(self, kind: object) -> bool:
        return kind in self._now

    def check(self, value: object) -> None:
        """Refuse a value that is not exactly of a member's class, or holds a part of a class that is not known."""
        self._now.check(value)


KERNELS = Closed(
    "kernel",
    (
        Agreements,
        Box,
        Counts,
        FeatureRefinements,
        FeatureSums,
        GridCounts,
        Haar,
        Hits,
        LeafCounts,
        ManyHits,
        MarginLevels,
        Margins,
        Marks,
        Moments,
        NumberSum,
        PersonBands,
        PersonCount,
        Products,
        Ranks,
        Refinements,
        Regions,
        Slopes,
        SparseCounts,
        SplitCounts,
        Stack,
        Sums,
    ),
    why="only code inside jostle.tables runs on rows",
)
"""All kernels: what may run on rows."""
DENSE_KERNELS = KERNELS.made_from(DenseKernel)
LEVEL_KERNELS = KERNELS.made_from(LevelKernel)
