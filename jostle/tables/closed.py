"""Closed lists: which classes may look at rows, or at what was counted of them.

What may be asked of a table is decided by lists of classes: kernels, scores, mechanisms, and so on. A list names its
members in one place, all at once, and cannot be changed afterwards; what is a member does not depend on what was
imported, and a class that is made from a member is none.

A list also says what its members are made of, and does not come to be if it cannot: every field of every member, and of
the parts inside, is read by one of the converters of plain types (see `fields`), or holds parts of known classes. So a
member with a field that takes anything is found out when Jostle is imported, and not by whoever puts something there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import attrs
from attrs import field, frozen

from jostle.errors import JostleError, TableError
from jostle.tables.fields import TYPES, Part, Parts, listed

__all__ = ["Closed"]

Converters = Mapping[Callable[..., object], type | None]


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
    kinds: Mapping[type, tuple[str, ...]] = field(init=False, repr=False)
    """Members and all classes of parts that may be inside one, each with the names of its fields that hold parts."""

    def __attrs_post_init__(self) -> None:
        """Refuse a list that does not say what its members are made of."""
        kinds: dict[type, tuple[str, ...]] = {}
        waiting = list(self.members)
        while waiting:
            kind = waiting.pop()
            if kind not in kinds:
                held = dict(_held(kind, self.types))
                kinds[kind] = tuple(held)
                waiting += [part for each in held.values() for part in each.kinds]
        object.__setattr__(self, "kinds", MappingProxyType(kinds))

    def __contains__(self, kind: object) -> bool:
        # By identity: a class may be equal to any other, if its own class says so.
        return any(kind is member for member in self.members)

    def __iter__(self) -> Iterator[type]:
        return iter(self.members)

    def made_from(self, base: type) -> tuple[type, ...]:
        """Return the members that a base class stands for."""
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
        """Return whether values of exactly this class are members, or parts of one."""
        return any(kind is known for known in self.kinds)

    def _parts(self, value: object) -> Iterator[object]:
        for name in self.kinds[type(value)]:
            held = getattr(value, name)
            yield from held if type(held) is tuple else () if held is None else (held,)


def _held(kind: type, types: Converters) -> Iterator[tuple[str, Part]]:
    """Yield the names of fields that hold parts, and which; refuse a field of no declared plain type."""
    if not attrs.has(kind) or kind.__setattr__ is object.__setattr__:
        raise TypeError(f"{kind.__name__} is no frozen value")
    for attribute in attrs.fields(kind):
        if not attribute.init:
            continue  # it is made of the others
        converter, validator = attribute.converter, attribute.validator
        if isinstance(validator, Part) and converter is (listed if isinstance(validator, Parts) else None):
            yield attribute.name, validator
        elif converter not in types or not isinstance(validator, types[converter] or object):
            raise TypeError(f"{kind.__name__}.{attribute.name} has no declared plain type")
