"""What a checker knows of a value: whether it is public or private, without knowing the value."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from attrs import evolve, frozen

__all__ = ["NOTHING", "PUBLIC", "UNKNOWN", "World", "container", "function", "joined", "mapping", "private", "text"]

PRIVATE = frozenset({"number", "groups", "score", "table"})
"""Kinds of private values: one number, one for each group of a query, a score to be picked by, rows."""
UNKNOWN = frozenset({"?"})
"""A function that is not known."""
MOST_DEPTH = 5
"""Lists in lists; deeper ones are taken for what is in them."""


MOST_KNOWN = 1 << 14
"""Facts that are kept, so that the same ones are one object: then they are compared and joined without going deeper."""


@frozen(cache_hash=True)
class World:
    """What a value may be, on some way through the program."""

    kinds: frozenset[str] = frozenset()
    """`public`, and the kinds of private values."""
    inside: World | None = None
    """What its items may be."""
    items: tuple[World, ...] | None = None
    """What each item may be, where their number is known."""
    keyed: bool = False
    """Whether it is a dictionary: going through it gives its keys, which are public."""
    functions: frozenset[str] = frozenset()
    """What it may be where it is called: `f NAME`, `b NAME`, `o NAME`, `l NUMBER`, or UNKNOWN besides."""
    written: bool = False
    """Whether it is a text."""

    @property
    def is_private(self) -> bool:
        """Whether it may be private."""
        return bool(self.kinds & PRIVATE)

    @property
    def holds_private(self) -> bool:
        """Whether it, or anything in it, may be private."""
        return self.is_private or (self.inside is not None and self.inside.holds_private)

    @property
    def word(self) -> str:
        """The kind of private value it is, in words."""
        if "table" in self.kinds:
            return "a database"
        if "score" in self.kinds:
            return "a private score"
        return "a private value"

    def each(self) -> World:
        """The facts known of an item."""
        return PUBLIC if self.keyed or self.inside is None else self.inside

    @lru_cache(maxsize=MOST_KNOWN)  # noqa: B019 - they are few, and no bigger than programs
    def join(self, other: World) -> World:
        """The facts that hold of either."""
        if other in (self, NOTHING):
            return self
        if self == NOTHING:
            return other
        inside = (
            self.inside.join(other.inside)
            if self.inside is not None and other.inside is not None
            else self.inside or other.inside
        )
        items = None
        if self.items is not None and other.items is not None and len(self.items) == len(other.items):
            items = tuple(one.join(two) for one, two in zip(self.items, other.items, strict=True))
        functions = self.functions | other.functions
        if functions and not (self.functions and other.functions):
            # The other one may be a function as well, one that was lost sight of.
            functions |= UNKNOWN
        return _one(
            World(
                self.kinds | other.kinds,
                inside,
                items,
                self.keyed and other.keyed,
                functions,
                self.written or other.written,
            )
        )

    def depth(self) -> int:
        """How many lists are in lists."""
        return 0 if self.inside is None else 1 + self.inside.depth()


NOTHING = World()
"""What no way through the program gives."""
PUBLIC = World(frozenset({"public"}))


@lru_cache(maxsize=MOST_KNOWN)
def _one(world: World) -> World:
    """The one object that stands for these facts."""
    return world


def private(kind: str) -> World:
    """A private value of a kind."""
    return _one(World(frozenset({kind})))


def function(*names: str) -> World:
    """The facts known of a function."""
    return evolve(PUBLIC, functions=frozenset(names))


def text() -> World:
    """A text."""
    return evolve(PUBLIC, written=True)


def joined(worlds: Iterable[World]) -> World:
    """The facts that hold of any of these."""
    found = NOTHING
    for world in worlds:
        found = found.join(world)
    return found


def container(items: Iterable[World], *, fixed: bool = False) -> World:
    """A list of such items."""
    given = tuple(items)
    inside = joined(given)
    if inside.depth() >= MOST_DEPTH:
        kinds = _all_kinds(inside)
        return _one(World(frozenset({"public"}), _one(World(kinds or frozenset({"public"})))))
    return _one(World(frozenset({"public"}), None if inside == NOTHING else inside, given if fixed and given else None))


def mapping(values: Iterable[World]) -> World:
    """A dictionary with such values."""
    return _one(evolve(container(values), keyed=True))


def _all_kinds(world: World) -> frozenset[str]:
    return world.kinds if world.inside is None else world.kinds | _all_kinds(world.inside)
