"""Closed lists: which classes may look at rows, or at what was counted of them.

What may be asked of a table is decided by lists of classes: kernels, scores, mechanisms, and so on. A list names its
members in one place, all at once, and cannot be changed afterwards; what is a member does not depend on what was
imported, and a class that is made from a member is none.

A list also says what its members are made of, and does not come to be if it cannot: every field of every member, and of
the parts inside, is read by one of the converters of plain types (see `fields`), or holds parts of known classes. So a
member with a field that takes anything is found out when Jostle is imported, and not by whoever puts something there.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import attrs
from attrs import Attribute, evolve, field, frozen

from jostle.errors import JostleError, TableError
from jostle.reserved import reserved
from jostle.tables.fields import TYPES, Component, Components, listed

__all__ = ["Closed", "Places", "places"]

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
                waiting += [part for each in held.values() for part in each.kinds]
        object.__setattr__(self, "kinds", MappingProxyType(kinds))

    def __contains__(self, kind: object) -> bool:
        # By identity: a class may be equal to any other, if its own class says so.
        return any(kind is member for member in self.members)

    def __iter__(self) -> Iterator[type]:
        return iter(self.members)

    def made_from(self, base: type) -> tuple[type, ...]:
        """The members that a base class stands for."""
        return tuple(member for member in self.members if issubclass(member, base))

    def check(self, value: object) -> None:
        """Refuse a value that is not exactly of a member's class, or holds a part of a class that is not known."""
        if type(value) not in self:
            raise self._refusal(value)
        waiting: list[Any] = [value]
        while waiting:
            each = waiting.pop()
            for part in self._parts(each):
                if not self.knows(type(part)):
                    raise self._refusal(part)
                waiting.append(part)

    def _refusal(self, value: object) -> JostleError:
        return self.error(
            f"{type(value).__name__} is not a known {self.what}, nor a part of one",
            why=self.why,
            fix=f"one of {', '.join(sorted(member.__name__ for member in self.members))}",
        )

    def knows(self, kind: object) -> bool:
        """Whether values of exactly this class are members, or parts of one."""
        return any(kind is known for known in self.kinds)

    def _parts(self, value: object) -> Iterator[object]:
        for name in self.kinds[type(value)]:
            held = getattr(value, name)
            yield from held if type(held) is tuple else () if held is None else (held,)

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


@frozen(eq=False)
class Places:
    """A closed list whose members come from rooms above: each has a place that is kept for it by name (`reserved`).

    A place is filled once, by the module that has the name, as it is imported. Which class is in it cannot be changed
    afterwards, whatever becomes of the module. (Members are not given out by going through the list: they lead to all
    that is built on a room, and nothing that a room leads to does.)
    """

    fill: Callable[..., None]
    """Fill the place that is kept for a class, with *also* as for a `Closed`; or refuse it."""
    now: Callable[[], Closed]
    """The list as it is now."""

    def __contains__(self, kind: object) -> bool:
        return kind in self.now()

    def check(self, value: object) -> None:
        """Refuse a value that is not exactly of a member's class, or holds a part of a class that is not known."""
        self.now().check(value)

    def knows(self, kind: object) -> bool:
        """Whether values of exactly this class are members, or parts of one."""
        return self.now().knows(kind)


def places(start: Closed) -> Places:
    """A list that begins as this one, and has places for what is reserved for its kind."""
    held = [start]
    lock = threading.Lock()

    def fill(kind: type, *, also: Declared = _nothing_else) -> None:
        with lock:
            now = held[0]
            taken = {_full_name(member) for member in now}
            if _full_name(kind) not in reserved(now.what) - taken or not _is_called_so(kind):
                raise now.error(f"there is no place for {kind.__name__} as a {now.what}", why=now.why)
            held[0] = evolve(now, members=(*now.members, kind), also=lambda each: now.also(each) or also(each))

    return Places(fill, lambda: held[0])


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_called_so(kind: type) -> bool:
    """Whether a class is what the module that it names calls by its name."""
    return vars(sys.modules.get(kind.__module__, sys)).get(kind.__name__) is kind
