"""What a program spends, added up without data: amounts in terms of epsilon, on tables and their parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from attrs import define, field, frozen

ZERO = Fraction(0)
MOST_DIGITS = 6
"""Of a number in words, above and below the line."""


@frozen
class Amount:
    """A share of what the caller allots, and a fixed amount besides."""

    share: Fraction = ZERO
    fixed: Fraction = ZERO
    known: bool = True
    """False if there is no bound that could be worked out."""

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.share + other.share, self.fixed + other.fixed, self.known and other.known)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.share - other.share, self.fixed - other.fixed, self.known and other.known)

    def times(self, factor: Fraction) -> Amount:
        """A multiple."""
        return Amount(self.share * factor, self.fixed * factor, self.known)

    def most(self, other: Amount) -> Amount:
        """A bound on both."""
        if self.fixed == other.fixed or self.share == other.share or _dominates(self, other) or _dominates(other, self):
            first = (self.share, self.fixed) >= (other.share, other.fixed)
            found = self if first else other
        else:
            found = Amount(max(self.share, other.share), max(self.fixed, other.fixed))
        return Amount(found.share, found.fixed, self.known and other.known)

    def at(self, epsilon: Fraction) -> Fraction | None:
        """The amount where the caller allots so much; None without a bound."""
        return self.share * epsilon + self.fixed if self.known else None

    @property
    def text(self) -> str:
        """The amount in words: `epsilon`, `3/2 of epsilon`, `0.1`."""
        if not self.known:
            return "an amount that is known only while running"
        parts = []
        if self.share == 1:
            parts.append("epsilon")
        elif self.share:
            parts.append(f"{_short(self.share)} of epsilon")
        if self.fixed:
            parts.append(_short(self.fixed))
        return " and ".join(parts) or "nothing"


def _short(number: Fraction) -> str:
    text = str(number)
    return text if len(text) <= 2 * MOST_DIGITS else f"about {float(number):.4g}"


def _dominates(one: Amount, other: Amount) -> bool:
    return one.share >= other.share and one.fixed >= other.fixed


NONE = Amount()
UNBOUNDED = Amount(known=False)


@define(eq=False)
class PartedAccount:
    """What is spent on some rows: on all of them, and on parts of them by one attribute and another.

    A part is either the one with a certain value, or stands for all parts that a loop goes through, each once: whatever
    is spent there in one round is spent on each of them, and as they are disjoint, together they cost that.
    """

    parent: PartedAccount | None = None
    chosen_by: int | None = None
    """The loop whose rounds go through parts such as this; None for a part with a certain value."""
    own: Amount = NONE
    parts: dict[str, dict[str, PartedAccount]] = field(factory=dict)
    """By attribute, then by value or loop."""
    choices: list[tuple[PartedAccount, ...]] = field(factory=list)
    """What is spent besides where one of several ways is gone: for each time, what it is on each of them."""

    def part(self, attribute: str, value: str, chosen_by: int | None) -> PartedAccount:
        """The account of a part."""
        group = self.parts.setdefault(attribute, {})
        if value not in group:
            group[value] = PartedAccount(self, chosen_by)
        return group[value]

    def total(self, times: int) -> Amount:
        """The cost of all of it, where so many disjoint parts are paid."""
        found = self.own
        for group in self.parts.values():
            found += _group_total(group, times)
        for ways in self.choices:
            most = NONE
            for way in ways:
                most = most.most(way.total(times))
            found += most
        return found

    def choose(self, ways: Sequence[PartedAccount]) -> None:
        """Note what is spent here on one of several ways, the dearest of which counts."""
        if any(way.parts or way.choices for way in ways):
            self.choices.append(tuple(ways))
            return
        most = NONE
        for each in ways:
            most = most.most(each.own)
        self.own += most

    def path(self) -> list[PartedAccount]:
        """The accounts above, from the whole table down to this."""
        found = [self]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found[::-1]

    def place(self) -> tuple[str, str]:
        """The attribute and value by which it is a part of the account above."""
        groups = {} if self.parent is None else self.parent.parts
        return next(
            (name, value) for name, group in groups.items() for value, account in group.items() if account is self
        )

    def everything(self) -> Iterator[PartedAccount]:
        """Yield it and all accounts below, but for those of ways that were gone."""
        yield self
        for group in self.parts.values():
            for account in group.values():
                yield from account.everything()

    def repeat(self, loop: int, count: int | None, before: Mapping[int, PartedAccount]) -> None:
        """Let what a round of a loop spent count for every round, but on parts that the rounds go through once each.

        *before* holds, by identity, what each account that was there then had been like.
        """
        known = before.get(id(self), EMPTY)
        self.own = known.own + repeated(self.own - known.own, count)
        for group in self.parts.values():
            for account in group.values():
                if account.chosen_by != loop:
                    account.repeat(loop, count, before)
        for ways in self.choices[len(known.choices) :]:
            for way in ways:
                way.repeat(loop, count, before)

    def as_it_is(self) -> PartedAccount:
        """A copy of it as it is now, which does not change, with the same parts."""
        parts = {name: dict(group) for name, group in self.parts.items()}
        return PartedAccount(self.parent, self.chosen_by, self.own, parts, list(self.choices))

    def since(self, before: PartedAccount) -> PartedAccount:
        """The spendings on it since it was like that, on it and on parts that were not there."""
        parts = {
            name: {value: account for value, account in group.items() if value not in before.parts.get(name, {})}
            for name, group in self.parts.items()
        }
        added = {name: group for name, group in parts.items() if group}
        return PartedAccount(self.parent, None, self.own - before.own, added, self.choices[len(before.choices) :])

    def become(self, other: PartedAccount) -> None:
        """Be like another one again."""
        self.own = other.own
        self.parts = {name: dict(group) for name, group in other.parts.items()}
        self.choices = list(other.choices)


EMPTY = PartedAccount()


def repeated(amount: Amount, count: int | None) -> Amount:
    """An amount that is spent so often; None if it is not known how often."""
    if amount == NONE:
        return amount
    return UNBOUNDED if count is None else amount.times(Fraction(count))


def _group_total(group: dict[str, PartedAccount], times: int) -> Amount:
    # Loops may come to the same part again, so what they spend adds up; parts with certain values are disjoint.
    looped = NONE
    single = NONE
    for account in group.values():
        if account.chosen_by is not None:
            looped += account.total(times)
        else:
            single = single.most(account.total(times))
    return (looped + single).times(Fraction(times))
