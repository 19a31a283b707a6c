"""Lists, sets and dictionaries, and what is made of them by `for`, where a program is run without data.

A list that a loop made remembers the loop: each round is about another value, and made one item or none. Whoever goes
through the list later does the same in rounds of another loop, so that parts chosen by these values are as disjoint as
they were. So it makes no difference to a price whether a list has a name, or stands where it is gone through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from jostle.lang import nodes
from jostle.lang.accounts import PartedAccount
from jostle.lang.pricing_public import check_items
from jostle.lang.pricing_values import (
    UNKNOWN,
    Bought,
    Callee,
    Column,
    Each,
    Grouped,
    Mapped,
    Names,
    Rows,
    Some,
    Unknown,
    accounts_of,
    combined,
    either,
    is_keyed,
    is_number,
    truth_of,
    whole_list,
)

if TYPE_CHECKING:
    from jostle.lang.pricing import Pricer

__all__ = ["comprehension", "distinct", "item_called", "items", "keyed", "mapped", "seen_by"]

MOST_ROUNDS = 300
"""Longer lists are gone through once for all their items."""
Comprehension = nodes.ListComprehension | nodes.SetComprehension | nodes.DictComprehension


def items(pricer: Pricer, value: Any) -> list[Any] | Some | Unknown:  # noqa: PLR0911 - one per kind
    """The items of a value: as a list if they are few and known."""
    match value:
        case dict():
            return list(value) if is_keyed(value) else Unknown(UNKNOWN, len(value))
        case Mapped():
            return value.keys
        case list():
            return value if len(value) <= MOST_ROUNDS else whole_list(value)
        case Some():
            return value if len(value.items) <= MOST_ROUNDS else whole_list(value)
        case range():
            return list(value) if len(value) <= MOST_ROUNDS else Unknown(UNKNOWN, len(value))
        case Grouped():
            if value.count > MOST_ROUNDS:
                return Unknown(UNKNOWN, value.count)
            return [list(each) if isinstance(each, tuple) else each for each in value.keys()]  # noqa: SIM118 - no dictionary
        case Column():
            pricer.fresh += 1
            return Unknown(Each(pricer.fresh, value.values), value.count, pricer.fresh)
        case Rows() | Bought():
            return Unknown(combined([value]))
    return value if isinstance(value, Unknown) else UNKNOWN


def keyed(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dictionary; a key that is not known stands as a place."""
    found: dict[Any, Any] = {}
    for place, (key, value) in enumerate(pairs):
        known = isinstance(key, str | bool) or is_number(key)
        found[key if known else ("unknown", place)] = value
    return found


def distinct(listed: Sequence[Any]) -> Any:
    """The items of a set: as a list, if it is known which of them are the same."""
    if all(isinstance(each, str) or is_number(each) for each in listed):
        return list(dict.fromkeys(listed))
    names = [each.name for each in listed if isinstance(each, Column | Callee) and each.name]
    if len(listed) < 2 or len(set(names)) == len(listed):
        return list(listed)
    return whole_list(list(listed))


# Items in terms of other rounds


def seen_by(value: Any, loop: int | None, by: Any) -> Any:  # noqa: PLR0911 - one per kind
    """A value that a round of a loop made, as it is for another value: of another loop's round, or known."""
    if loop is None:
        return value
    match value:
        case Each() if value.loop == loop:
            return by
        case Rows():
            return evolve(value, account=_account_by(value.account, loop, by))
        case Bought():
            return evolve(value, accounts=tuple(_account_by(each, loop, by) for each in accounts_of(value)))
        case list():
            return [seen_by(each, loop, by) for each in value]
        case dict():
            return {key: seen_by(each, loop, by) for key, each in value.items()}
        case Unknown() if value.item is not None:
            return evolve(value, item=seen_by(value.item, loop, by))
        case Some():
            return Some(tuple(seen_by(item, loop, by) for item in value.items))
        case Mapped():
            return evolve(value, item=seen_by(value.item, loop, by), known=seen_by(value.known, loop, by))
    return value


def _account_by(account: PartedAccount, loop: int, by: Any) -> PartedAccount:
    """The account of the part that another value chooses, where a round of a loop chose one."""
    if account.parent is None:
        return account
    above = _account_by(account.parent, loop, by)
    if account.chosen_by != loop and above is account.parent:
        return account
    name, value = account.place()
    if account.chosen_by != loop:
        return above.part(name, value, account.chosen_by)
    if isinstance(by, Each):
        return above.part(name, f"round {by.loop}", by.loop)
    return above.part(name, f"value {by}", None) if isinstance(by, str) else account


def item_called(value: Mapped, at: Any) -> Any:
    """The value of a key of a dictionary."""
    known = isinstance(at, str | bool) or is_number(at)
    if value.known is not None:
        return value.known[at] if known and at in value.known else either(list(value.known.values()) or [UNKNOWN])
    key = value.keys.single if isinstance(value.keys, Unknown) else None
    if isinstance(key, Each) and isinstance(value.keys, Unknown) and key.loop == value.keys.loop:
        return seen_by(value.item, key.loop, at)
    return value.item


# What is made by `for`


@frozen(eq=False)
class _Pair:
    """A key and a value of a dictionary that is being made."""

    key: Any
    value: Any


def comprehension(pricer: Pricer, node: Comprehension, names: Names) -> Any:
    """The facts known of a list, a set or a dictionary that is made by `for`."""
    found = _Making(pricer, node, dict(names)).go(0)
    if isinstance(node, nodes.DictComprehension):
        return _dictionary(found)
    return distinct(found) if isinstance(node, nodes.SetComprehension) and isinstance(found, list) else found


def _dictionary(found: list[Any] | Some | Unknown) -> Any:
    if isinstance(found, Unknown):
        pair = found.item if isinstance(found.item, _Pair) else _Pair(UNKNOWN, found.single)
        return Mapped(evolve(found, item=pair.key), pair.value)
    pairs = keyed([(each.key, each.value) for each in (found.items if isinstance(found, Some) else found)])
    if isinstance(found, list):
        return pairs
    keys = Some(tuple(pairs)) if is_keyed(pairs) else Unknown(UNKNOWN, len(pairs))
    return Mapped(keys, either(list(pairs.values()) or [UNKNOWN]), pairs if is_keyed(pairs) else None)


@frozen
class _Making:
    pricer: Pricer
    node: Comprehension
    names: Names

    def go(self, number: int) -> list[Any] | Some | Unknown:
        """A list of what the clauses from this one on give, as far as it is known."""
        if number == len(self.node.clauses):
            return [self.element()]
        clause = self.node.clauses[number]
        iterated = self.pricer.value(clause.iterable, self.names)
        check_items(self.pricer, clause.iterable.span, iterated)
        listed = items(self.pricer, iterated)
        if not isinstance(listed, Unknown):
            return self.one_by_one(number, clause, listed)
        more, loop = self.pricer.rounds(listed, lambda each: self.round(number, clause, each)[0])
        if isinstance(more, Unknown):
            size = more.count
            return Unknown(more.item, None if None in {listed.count, size} else (listed.count or 0) * (size or 0))
        made = list(more.items) if isinstance(more, Some) else more
        if not made:
            return []
        if len(made) == 1:
            return Unknown(made[0], listed.count, loop)
        count = None if listed.count is None else listed.count * len(made)
        return Unknown(_together(made), count)

    def element(self) -> Any:
        if isinstance(self.node, nodes.DictComprehension):
            entry = self.node.entry
            return _Pair(self.pricer.value(entry.key, self.names), self.pricer.value(entry.value, self.names))
        return self.pricer.value(self.node.element, self.names)

    def round(self, number: int, clause: nodes.ComprehensionClause, each: Any) -> tuple[Any, bool]:
        """The value of a round, and whether it gives it in any case."""
        self.pricer.store(clause.target, each, self.names)
        tests = [truth_of(self.pricer.value(test, self.names)) for test in clause.conditions]
        if False in tests:
            return [], True
        return self.go(number + 1), all(test is True for test in tests)

    def one_by_one(
        self, number: int, clause: nodes.ComprehensionClause, listed: list[Any] | Some
    ) -> list[Any] | Some | Unknown:
        """The value for items that are known."""
        certain = isinstance(listed, list)
        rounds = [self.round(number, clause, each) for each in (listed.items if isinstance(listed, Some) else listed)]
        if any(isinstance(more, Unknown) for more, _ in rounds):
            parts = [_as_unknown(more) for more, _ in rounds]
            counts = [part.count for part in parts]
            count = None if None in counts else sum(each for each in counts if each is not None)
            return Unknown(_together([part.single for part in parts]), count)
        made = [one for more, _ in rounds for one in (more.items if isinstance(more, Some) else more)]
        certain = certain and all(isinstance(more, list) and sure for more, sure in rounds)
        return made if certain else Some(tuple(made))


def _as_unknown(more: Any) -> Unknown:
    if isinstance(more, Unknown):
        return more
    made = list(more.items) if isinstance(more, Some) else more
    return Unknown(_together(made), len(made))


def _together(made: Sequence[Any]) -> Any:
    """The facts known of each of several items."""
    if not made:
        return UNKNOWN
    if all(isinstance(each, _Pair) for each in made):
        return _Pair(either([each.key for each in made]), either([each.value for each in made]))
    return either(made)


def mapped(pricer: Pricer, value: Any, call: Callable[[Any], Any]) -> Any:
    """The facts known of a list of what a function gives for each item."""
    listed = items(pricer, value)
    if isinstance(listed, list):
        return [call(each) for each in listed]
    if isinstance(listed, Some):
        return Some(tuple([call(item) for item in listed.items]))
    found, loop = pricer.rounds(listed, call)
    return Unknown(found, listed.count, loop)


def side_by_side(pricer: Pricer, given: Sequence[Any]) -> Any:
    """The facts known of lists side by side."""
    listed = [items(pricer, each) for each in given]
    if all(isinstance(each, list) for each in listed):
        return [list(each) for each in zip(*(each for each in listed if isinstance(each, list)), strict=False)]
    known = [each if isinstance(each, Unknown) else whole_list(each) for each in listed]
    counts = [each.count for each in known if each.count is not None]
    loop = next((each.loop for each in known if each.loop is not None), None)
    return Unknown([each.single for each in known], min(counts, default=None), loop)
