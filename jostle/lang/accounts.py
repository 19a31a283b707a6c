"""What a program spends, added up without data: amounts in terms of epsilon, on tables and their parts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from attrs import define, field, frozen

__all__ = ["NONE", "UNBOUNDED", "Account", "Amount"]

ZERO = Fraction(0)


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
        """Return a multiple."""
        return Amount(self.share * factor, self.fixed * factor, self.known)

    def most(self, other: Amount) -> Amount:
        """Return a bound on both."""
        if self.fixed == other.fixed or self.share == other.share or _dominates(self, other) or _dominates(other, self):
            first = (self.share, self.fixed) >= (other.share, other.fixed)
            found = self if first else other
        else:
            found = Amount(max(self.share, other.share), max(self.fixed, other.fixed))
        return Amount(found.share, found.fixed, self.known and other.known)

    def at(self, epsilon: Fraction) -> Fraction | None:
        """Return the amount where the caller allots so much; None without a bound."""
        return self.share * epsilon + self.fixed if self.known else None

    @property
    def text(self) -> str:
        """Return the amount for people."""
        from jostle.lang.shown_amounts import shown_amount  # noqa: PLC0415 - small, and for messages alone

        return shown_amount(self)


def _dominates(one: Amount, other: Amount) -> bool:
    return one.share >= other.share and one.fixed >= other.fixed


NONE = Amount()
UNBOUNDED = Amount(known=False)


@define(eq=False)
class Account:
    """What is spent on some rows: on all of them, and on parts of them by one attribute and another.

    A part is either the one with a certain value, or stands for all parts that a loop goes through, each once: whatever
    is spent there in one round is spent on each of them, and as they are disjoint, together they cost that.
    """

    parent: Account | None = None
    chosen_by: int | None = None
    """The loop whose rounds go through parts such as this; None for a part with a certain value."""
    own: Amount = NONE
    parts: dict[str, dict[str, Account]] = field(factory=dict)
    """By attribute, then by value or loop."""

    def part(self, attribute: str, value: str, chosen_by: int | None) -> Account:
        """Return the account of a part."""
        group = self.parts.setdefault(attribute, {})
        if value not in group:
            group[value] = Account(self, chosen_by)
        return group[value]

    def total(self, times: int) -> Amount:
        """Return what all of it costs, where so many disjoint parts are paid."""
        found = self.own
        for group in self.parts.values():
            found += _group_total(group, times)
        return found

    def path(self) -> list[Account]:
        """Return the accounts above, from the whole table down to this."""
        found = [self]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found[::-1]

    def everything(self) -> Iterator[Account]:
        """Yield it and all accounts below."""
        yield self
        for group in self.parts.values():
            for each in group.values():
                yield from each.everything()

    def copied(self, parent: Account | None = None, known: dict[int, Account] | None = None) -> Account:
        """Return a copy, with where each account went in *known*."""
        made = Account(parent, self.chosen_by, self.own)
        if known is not None:
            known[id(self)] = made
        made.parts = {
            attribute: {value: each.copied(made, known) for value, each in group.items()}
            for attribute, group in self.parts.items()
        }
        return made


def _group_total(group: dict[str, Account], times: int) -> Amount:
    # Loops may come to the same part again, so what they spend adds up; parts with certain values are disjoint.
    looped = NONE
    single = NONE
    for each in group.values():
        if each.chosen_by is not None:
            looped += each.total(times)
        else:
            single = single.most(each.total(times))
    return (looped + single).times(Fraction(times))
