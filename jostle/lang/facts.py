"""What is known of values without running a program.

Of all ways through it together (`World`): whether a value is public or private. Of one way, run without data: public,
unknown, or private and described; what that is in words, and how far one row moves it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from hashlib import blake2b
from itertools import product
from typing import TYPE_CHECKING, Any

from attrs import Factory, evolve, field, frozen

from jostle.lang import nodes
from jostle.lang.accounts import UNBOUNDED, Amount, PartedAccount
from jostle.lang.extents import Extent, together

if TYPE_CHECKING:
    from jostle.lang.values import Axis, PrivateNumber, SplitScoreOf, TableValue
    from jostle.tables.schema import Schema

PRIVATE = frozenset({"number", "groups", "score", "table"})
"""Kinds of private values: one number, one for each group of a query, a score to be picked by, rows."""
UNSEEN = frozenset({"?"})
"""A function that is not known."""
MOST_DEPTH = 5
"""Lists in lists; deeper ones are taken for what is in them."""


@frozen
class World:
    """What a value may be, on some way through the program. Worlds that say the same have one mark, however deep."""

    kinds: frozenset[str] = field(default=frozenset(), eq=False)
    """`public`, and the kinds of private values."""
    inside: World | None = field(default=None, eq=False)
    """What its items may be."""
    items: tuple[World, ...] | None = field(default=None, eq=False)
    """What each item may be, where their number is known."""
    keyed: bool = field(default=False, eq=False)
    """Whether it is a dictionary: going through it gives its keys, which are public."""
    functions: frozenset[str] = field(default=frozenset(), eq=False)
    """What it may be where it is called: `f NAME`, `b NAME`, `o NAME`, `l NUMBER`, or UNSEEN besides."""
    written: bool = field(default=False, eq=False)
    """Whether it is a text."""
    mark: bytes = field(init=False, repr=False)

    @mark.default
    def _marked(self) -> bytes:
        inside = None if self.inside is None else self.inside.mark
        items = None if self.items is None else [item.mark for item in self.items]
        facts = (sorted(self.kinds), inside, items, self.keyed, sorted(self.functions), self.written)
        return blake2b(repr(facts).encode(), digest_size=16).digest()

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

    def join(self, other: World, known: dict[tuple[bytes, bytes], World] | None = None) -> World:
        """The facts that hold of either; *known* are those of what is in them, which may be in them again and again."""
        if other in (self, NOTHING):
            return self
        if self == NOTHING:
            return other
        known, pair = {} if known is None else known, (self.mark, other.mark)
        if pair in known:
            return known[pair]
        inside = self.inside or other.inside
        if self.inside is not None and other.inside is not None:
            inside = self.inside.join(other.inside, known)
        items = None
        if self.items is not None and other.items is not None and len(self.items) == len(other.items):
            items = tuple([one.join(two, known) for one, two in zip(self.items, other.items, strict=True)])
        functions = self.functions | other.functions
        if functions and not (self.functions and other.functions):
            # The other one may be a function as well, one that was lost sight of.
            functions |= UNSEEN
        keyed, written = self.keyed and other.keyed, self.written or other.written
        known[pair] = World(self.kinds | other.kinds, inside, items, keyed, functions, written)
        return known[pair]

    def depth(self) -> int:
        """How many lists are in lists."""
        return 0 if self.inside is None else 1 + self.inside.depth()


NOTHING = World()
"""What no way through the program gives."""
PUBLIC = World(frozenset({"public"}))


def private(kind: str) -> World:
    """A private value of a kind."""
    return World(frozenset({kind}))


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
        return World(frozenset({"public"}), World(kinds or frozenset({"public"})))
    return World(frozenset({"public"}), None if inside == NOTHING else inside, given if fixed and given else None)


def mapping(values: Iterable[World]) -> World:
    """A dictionary with such values."""
    return evolve(container(values), keyed=True)


def _all_kinds(world: World) -> frozenset[str]:
    return world.kinds if world.inside is None else world.kinds | _all_kinds(world.inside)


Names = dict[str, Any]
NEVER = object()
"""What a statement gives that returns nothing."""


@frozen
class Unknown:
    """A public value that is not known, or a released one; with what its items are, if it is a list."""

    item: Any = None
    """What is known of each of them."""
    count: int | None = None
    """How many items, at most."""
    loop: int | None = None
    """The loop that made them, if each of its rounds made one or none, and each round was about another value."""
    kind: str = ""
    """What it is, for people, where that is known."""
    extent: Extent = field(
        default=Factory(lambda self: together((self.item,)), takes_self=True), init=False, eq=False, repr=False
    )

    @property
    def single(self) -> Any:
        """The facts known of an item."""
        return UNKNOWN if self.item is None else self.item


@frozen
class Some:
    """A list that has some of these, in this order: which of them, is not known."""

    items: tuple[Any, ...]
    extent: Extent = field(
        default=Factory(lambda self: together(self.items), takes_self=True), init=False, eq=False, repr=False
    )


@frozen
class Mapped:
    """A dictionary some or all keys of which are not known."""

    keys: Unknown | Some
    """Its keys, as a list."""
    item: Any
    """What is known of each of its values, in terms of the loop that made the keys."""
    known: dict[Any, Any] | None = field(default=None, eq=False)
    """Its values, where all the keys that it may have are known."""
    extent: Extent = field(
        default=Factory(lambda self: together((self.keys, self.item, self.known)), takes_self=True),
        init=False,
        eq=False,
        repr=False,
    )


@frozen
class Money:
    """An amount of budget: a number in terms of epsilon."""

    amount: Amount


@frozen
class Column:
    """An attribute."""

    name: str
    count: int | None = None
    """How many values, at most."""
    values: tuple[str, ...] | None = None


@frozen
class Each:
    """The value that a round of a loop is about; different rounds have different ones."""

    loop: int
    values: tuple[str, ...] | None = None
    """All that it is in turn, where they are known."""


@frozen(eq=False)
class Rows:
    """A table."""

    account: PartedAccount
    database: int = 0
    """Which of those that the function is given it is, or is a part of."""
    table: TableValue | None = None
    """The table as programs have it while they run, with a schema and without rows; None without a schema."""
    exact: bool = True
    """Whether the table is this very part; if not, one of several, for which it stands."""


@frozen(eq=False)
class Bought:
    """A private value, and the accounts of the rows it is computed from."""

    accounts: tuple[PartedAccount, ...]
    databases: frozenset[int] = frozenset()
    number: PrivateNumber | SplitScoreOf | None = None
    """The value as programs have it while they run, where all it is made of is known."""
    exact: bool = True
    """Whether it is of this very part; if not, what is made of it and of others is not known."""
    moves: Fraction | None = None
    """How far a row more or less can change it, where that needs no schema."""
    kind: str = ""
    """What it is, for people, where that needs no schema."""


@frozen(eq=False)
class Callee:
    """Something that is called: a function of the program, an Option, a lambda or inner function, or one of several."""

    kind: str
    name: str = ""
    node: nodes.Lambda | nodes.FunctionDefinition | None = None
    names: dict[str, Any] = field(factory=dict)
    several: tuple[Any, ...] = ()


@frozen
class Grouped:
    """Released numbers by group, where it is known what the groups are called."""

    axes: tuple[Axis, ...]

    @property
    def count(self) -> int:
        """Number of groups."""
        return math.prod(len(axis) for axis in self.axes)

    def keys(self) -> Iterator[Any]:
        """Yield what the groups are called."""
        if len(self.axes) == 1:
            yield from self.axes[0].keys
        else:
            yield from product(*(axis.keys for axis in self.axes))


UNKNOWN = Unknown()
RELEASED = Unknown(kind="a released number")


def whole(value: Any) -> Any:
    """A fraction that is whole as an int."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def is_number(value: Any) -> bool:
    """Whether a value is a number that is known."""
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def is_scalar(value: Any) -> bool:
    """Whether a value is known, and holds no others."""
    return value is None or isinstance(value, str | bool) or is_number(value)


def scalar_text(value: Any) -> str:
    """A known value that holds no others, as a text."""
    return f"{float(value):.6g}" if isinstance(value, Fraction | float) else str(value)


def truth_of(value: Any) -> Any:
    """Whether a value holds, or that it is not known."""
    if is_scalar(value) or isinstance(value, list | range) or is_keyed(value):
        return bool(value)
    return True if isinstance(value, Column | Callee) else UNKNOWN


def fixed(amount: Any) -> Amount:
    """A number as an amount that does not go by what is allotted."""
    if isinstance(amount, int | Fraction) and not isinstance(amount, bool):
        return Amount(fixed=Fraction(amount))
    if isinstance(amount, float) and math.isfinite(amount):
        return Amount(fixed=Fraction(amount))
    return UNBOUNDED


def accounts_of(value: Any) -> tuple[PartedAccount, ...]:
    """The accounts of the rows that a private value is computed from."""
    if isinstance(value, Rows):
        return (value.account,)
    return value.accounts if isinstance(value, Bought) else ()


def _databases_of(value: Any) -> frozenset[int]:
    return frozenset({value.database}) if isinstance(value, Rows) else value.databases


def private_in(value: Any) -> Iterator[Any]:
    """Yield the private values in a value."""
    if isinstance(value, Rows | Bought):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from private_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from private_in(each)
    elif isinstance(value, Unknown | Mapped) and value.item is not None:
        yield from private_in(value.item)
    elif isinstance(value, Some):
        yield from private_in(list(value.items))


def combined(values: Sequence[Any]) -> Bought:
    """A private value computed from others."""
    private = [each for value in values for each in private_in(value)]
    databases: frozenset[int] = frozenset().union(*map(_databases_of, private))
    accounts = tuple({id(account): account for each in private for account in accounts_of(each)}.values())
    return Bought(accounts, databases, exact=all(each.exact for each in private))


def is_keyed(value: Any) -> bool:
    """Whether a value is a dictionary whose keys are all known."""
    return isinstance(value, dict) and not any(isinstance(each, tuple) for each in value)


def either(values: Sequence[Any]) -> Any:  # noqa: PLR0911 - one case per kind
    """The facts known of a value that is one of these."""
    given = [value for value in values if value is not NEVER]
    if not given:
        return NEVER
    first = given[0]
    if all(each is first for each in given[1:]):
        return first
    if any(True for each in given for _ in private_in(each)):
        return combined(given)
    if all(isinstance(each, Callee) for each in given):
        return Callee("several", several=tuple(given))
    try:
        if all(type(each) is type(first) and each == first for each in given[1:]):
            return first
    except TypeError:
        pass
    if all(isinstance(each, Column) for each in given):
        return Column("", _most([each.count for each in given]))
    if all(isinstance(each, list | Some) or (isinstance(each, Unknown) and each.item is not None) for each in given):
        listed = [each if isinstance(each, Unknown) else whole_list(each) for each in given]
        return Unknown(either([each.single for each in listed]), _most([each.count for each in listed]))
    return RELEASED if all(each == RELEASED or is_number(each) for each in given) else UNKNOWN


def _most(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else max(count for count in counts if count is not None)


def whole_list(value: list[Any] | Some) -> Unknown:
    """The facts known of the items of a list, taken together."""
    items = list(value.items) if isinstance(value, Some) else value
    return Unknown(either(items) if items else UNKNOWN, len(items))


def anchored(value: Any, before: dict[int, PartedAccount]) -> Any:  # noqa: PLR0911 - one per kind
    """A value whose accounts were there before: of a part that was not, the account that it is a part of."""
    if isinstance(value, Rows | Bought):
        found = tuple(_nearest(account, before) for account in accounts_of(value))
        if found == accounts_of(value):
            return value
        number = value.number if isinstance(value, Bought) else None
        return Bought(found, _databases_of(value), number, exact=value.exact)
    if isinstance(value, list):
        return [anchored(each, before) for each in value]
    if isinstance(value, dict):
        return {key: anchored(each, before) for key, each in value.items()}
    if isinstance(value, Unknown) and value.item is not None:
        return evolve(value, item=anchored(value.item, before))
    if isinstance(value, Some):
        return Some(tuple(anchored(list(value.items), before)))
    if isinstance(value, Mapped):
        return Mapped(value.keys, anchored(value.item, before), anchored(value.known, before))
    return value


def _nearest(account: PartedAccount, before: dict[int, PartedAccount]) -> PartedAccount:
    found = account
    while id(found) not in before and found.parent is not None:
        found = found.parent
    return found


def blurred(value: Any) -> Any:
    """The facts known of a value that a loop's rounds change: of a table, not that parts of it are disjoint."""
    if isinstance(value, Callee | Column):
        return value
    private = list(private_in(value))
    if isinstance(value, Rows | Bought):
        return combined([value])
    return Unknown(combined(private)) if private else UNKNOWN


def is_plain(value: Any) -> bool:
    """Whether a value is known to be neither private nor a function, nor one that nothing is known of."""
    if isinstance(value, list | dict):
        return not any(True for _ in private_in(value))
    return value is None or isinstance(value, str | bool | Column | Each | Money) or is_number(value)


CALLED = {
    "option": "an Option",
    "library": "an Option",
    "configured": "an Option",
    "maker": "a choice maker",
    "builtin": "a function",
    "several": "a function",
}


def kind_of(value: Any) -> str:  # noqa: C901, PLR0911, PLR0912 - one case per kind
    """The kind of a value, in words; nothing if that is not known."""
    match value:
        case Rows():
            return "a private table"
        case Bought():
            return _private_kind(value)
        case Money():
            return f"a public number, {value.amount.text}"
        case Column():
            size = "" if value.values is None else f" with {len(value.values)} values"
            return f"an attribute{size}"
        case Each():
            return "a value of an attribute"
        case Callee():
            return CALLED.get(value.kind, "a function")
        case Grouped():
            return "a dictionary of released numbers"
        case Unknown():
            return value.kind or ("a public list" if value.count is not None and _is_public(value.item) else "")
        case bool():
            return "a public truth"
        case str():
            return "a public text"
        case Some() | Mapped() if not any(True for _ in private_in(value)):
            return "a public list" if isinstance(value, Some) else "a public dictionary"
        case list() if all(_is_public(each) for each in value):
            return f"a public list of {len(value)}"
        case list():
            return f"a list of {len(value)} with private values"
        case dict():
            return "a public dictionary" if all(map(_is_public, value.values())) else "a dictionary of private values"
        case None:
            return "nothing"
    return "a public number" if is_number(value) else ""


def _is_public(value: Any) -> bool:
    return not kind_of(value).startswith(("a private", "private", "a list", "a dictionary of private"))


def _private_kind(value: Bought) -> str:
    number = value.number
    if number is None:
        return value.kind or "a private value"
    groups: tuple[tuple[Any, ...], ...] = getattr(number, "groups", ())
    if groups:
        size = 1
        for names in groups:
            size *= len(names)
        return f"private numbers, one for each of {size} groups"
    from jostle.lang.values import is_count, is_score  # noqa: PLC0415 - only with a schema

    return "a private score" if is_score(number) else "a private count" if is_count(number) else "a private number"


def moves_of(value: Any, schema: Schema | None) -> Fraction | None:
    """How far one row can change a private value, over all its numbers together; None if that is not known."""
    if not isinstance(value, Bought):
        return None
    if schema is None or value.number is None:
        return value.moves
    from jostle.errors import JostleError  # noqa: PLC0415 - only with a schema
    from jostle.lang.values import sensitivity_of  # noqa: PLC0415

    try:
        return sensitivity_of(value.number, schema)
    except JostleError:
        return None
