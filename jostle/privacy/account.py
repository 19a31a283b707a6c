"""Accounts: a promise, what was spent of it, and what may be asked for beyond that.

A promise is the bound on what all answers about one private database may give away. Whoever opens the database gets a
part of what is left of it, and whatever parts are given out, charges go to the one account, which refuses what would
pass the promise. A larger promise is not a matter of asking: it is raised by the data's owner, with a reason.
"""

from __future__ import annotations

from fractions import Fraction

from attrs import evolve, frozen

from jostle.errors import BudgetError, VaultError
from jostle.privacy.amounts import left_of, recorded, show_amount, too_long

__all__ = ["Account", "about", "no_promise"]


def about(rows_each: tuple[int, ...] | None) -> str:
    """Whom a promise is about, in words: rows, or persons of whom each has so many rows in a table.

    >>> about(None), about((16,))
    ('about rows', 'about persons (at most 16 rows each)')
    """
    if rows_each is None:
        return "about rows"
    if not rows_each:
        return "about persons"
    numbers, rows = " or ".join(f"{each:,}" for each in rows_each), "row" if rows_each == (1,) else "rows"
    return f"about persons (at most {numbers} {rows} each{', by table' * (len(rows_each) > 1)})"


@frozen
class Account:
    """The promise for a private database, what was spent of it, and for which neighbours."""

    promise: Fraction
    spent: Fraction
    neighbours: str

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return left_of(self.promise, self.spent)

    def share(self, requested: Fraction | None, vault: str, raising: str) -> Fraction:
        """Epsilon for whoever opens the database: what is left, or less where less is *requested*.

        The promise as it is known gives what is left of it, so that a script that names its promise runs again, and
        many copies of it at once. Refuse more than the promise, and anything where nothing is left.
        """
        if requested is not None and requested > self.promise:
            raise BudgetError(
                f"epsilon {show_amount(requested)} is asked for, but {show_amount(self.left)} is left in {vault}",
                why=f"the promise is epsilon {show_amount(self.promise)}, and asking for more does not change it",
                fix=f"leave epsilon out, for what is left of it; {raising}",
                requested=requested,
                left=self.left,
                promise=self.promise,
            )
        if not self.left:
            raise BudgetError(
                f"0 is left in {vault}",
                why=f"all of the promised epsilon {show_amount(self.promise)} is spent",
                fix=raising,
                requested=requested,
                left=self.left,
                promise=self.promise,
            )
        return self.left if requested is None else min(requested, self.left)

    def charged(self, amount: Fraction, site: str, vault: str, raising: str) -> Account:
        """Account after a charge; refuse one that passes the promise."""
        asked = f"{site} asks for epsilon {show_amount(amount)}"
        if amount < 0:
            raise BudgetError(asked, why="what is spent is never given back", requested=amount)
        spent = recorded(self.spent + amount)
        if spent > self.promise >= self.spent + amount:
            raise too_long(site, self.left, self.promise)
        if spent > self.promise:
            raise BudgetError(
                f"{asked}, but {show_amount(self.left)} is left in {vault}",
                why=f"{show_amount(self.spent)} of the promised epsilon {show_amount(self.promise)} is spent",
                fix=f"ask for less; {raising}" if self.left else raising,
                requested=amount,
                left=self.left,
                promise=self.promise,
            )
        return evolve(self, spent=spent)

    def raised(self, promise: Fraction, vault: str) -> Account:
        """Account with a larger promise; refuse any other."""
        if promise <= self.promise:
            raise VaultError(
                f"the promise in {vault} is epsilon {show_amount(self.promise)} already",
                why="a promise is raised, never lowered: whoever relies on what is left of it goes on relying on it",
                fix=f"an epsilon above {show_amount(self.promise)}",
            )
        return evolve(self, promise=promise)

    def check_relation(self, neighbours: str, vault: str) -> None:
        """Refuse another neighbour relation than this one's."""
        if self.neighbours != neighbours:
            raise VaultError(
                f"{vault} keeps a budget under {self.neighbours}, not {neighbours}",
                why="amounts under two neighbour relations do not add up",
                fix=f'open the table with neighbours="{self.neighbours}"',
            )


def no_promise() -> BudgetError:
    """Error for a table that is opened without a promise, where none was made before."""
    return BudgetError(
        "no epsilon is promised",
        why="a table is only opened with a bound on what its answers may give away",
        fix="jostle.protect(table, epsilon=1), or a vault that holds a promise",
    )
