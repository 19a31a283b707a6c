"""Accounts: a promise, what was spent of it, and what may be asked for beyond that.

A promise is the bound on what all answers about the people in some tables may give away. Tables that declare one
population share an account; one that declares none has its own. Whoever opens a table gets a part of what is left, and
whatever parts are given out, charges go to the one account, which refuses what would pass the promise. A larger promise
is not a matter of asking: it is raised by the data's owner, with a reason.

*What is counted.* An account is about persons once a population or a person is declared: its amounts are what a person
may lose, who has at most so many rows in each table. Else it is about rows. A charge about rows says nothing of a
person, who may have any number of them. So rows are never charged to an account about persons, and one that has charges
about rows becomes one about persons with a reason alone.
"""

from __future__ import annotations

from fractions import Fraction

from attrs import evolve, frozen

from jostle.errors import BudgetError, VaultError, shown
from jostle.privacy.amounts import left_of, recorded, show_amount, too_long
from jostle.tables.schema import Neighbours, Schema

MOST_REASON = 1000
"""Characters of the longest reason that is kept."""


@frozen
class TableFacts:
    """What an account is told of a table that is opened under it: public facts alone."""

    columns: tuple[str, ...] = ()
    neighbours: Neighbours = "add_remove"
    person: str | None = None
    """The column that says whose row it is."""
    rows_per_person: int | None = None
    """The most rows of a person, of a table that declares persons."""
    people: str | None = None
    """The population."""
    name: str = ""
    """The file's; nothing of a table that was read from none."""

    @property
    def about(self) -> str:
        """Whom its answers are about, in words."""
        return about(None if self.rows_per_person is None else (self.rows_per_person,))

    @classmethod
    def of(cls, schema: Schema, name: str = "") -> TableFacts:
        """The facts about a table with a schema."""
        return cls(schema.sources, schema.neighbours, schema.person, schema.rows_per_person, schema.people, name)


def about(rows_each: tuple[int, ...] | None) -> str:
    """Whom a promise is about, in words: rows, or persons of whom each has so many rows in a table.

    >>> about(None), about((16,))
    ('about rows', 'about persons (at most 16 rows each)')
    """
    if rows_each is None:
        return "about rows"
    if not rows_each:
        return "about persons"
    numbers, rows = " or ".join(f"{most:,}" for most in rows_each), "row" if rows_each == (1,) else "rows"
    return f"about persons (at most {numbers} {rows} each{', by table' * (len(rows_each) > 1)})"


@frozen
class Account:
    """The promise for the people in some tables, what was spent of it, and for which neighbours."""

    promise: Fraction
    spent: Fraction
    neighbours: Neighbours
    people: str | None = None
    """The population; None for one table's own account."""
    rows_each: tuple[int, ...] | None = None
    """Of persons: the most rows of each, of all tables, which differ; None where it is about rows."""
    about_rows: Fraction = Fraction(0)
    """What of it was spent about rows."""

    @classmethod
    def made(cls, promise: Fraction, table: TableFacts) -> Account:
        """A new account, of a table that may come later."""
        most = () if table.rows_per_person is None else (table.rows_per_person,)
        return cls(promise, Fraction(0), table.neighbours, table.people, most if most or table.people else None)

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return left_of(self.promise, self.spent)

    @property
    def about(self) -> str:
        """Whom the promise is about, in words."""
        return about(self.rows_each)

    def kept_in(self, vault: str) -> str:
        """Where it is kept, in words."""
        return vault if self.people is None else f"{vault} for {shown(self.people)}"

    def turned_by(self, table: TableFacts) -> bool:
        """Whether a table makes persons, or a population, of what was about rows, and something was spent on those."""
        turned = table.rows_per_person is not None and self.rows_each is None
        return bool(self.about_rows) and (turned or (self.people is None and table.people is not None))

    def joined(self, table: TableFacts, vault: str, reason: str | None) -> Account:
        """Account with one more table; refuse one whose charges would not add up with those there are."""
        self.check_takes(table, vault)
        if self.turned_by(table) and reason is None:
            raise BudgetError(
                f"epsilon {show_amount(self.about_rows)} in {vault} was spent about rows, and covers no persons",
                why="a person of many rows may have lost as many times of that, whatever is promised now",
                fix="a promise about persons in another vault, or in this one with a reason, which is kept: "
                'second_promise="...", or --a-second-promise "..."',
            )
        if table.rows_per_person is None:
            return self
        most = tuple(sorted({*(self.rows_each or ()), table.rows_per_person}))
        return evolve(self, people=self.people or table.people, rows_each=most)

    def check_takes(self, table: TableFacts, vault: str) -> None:
        """Refuse another neighbour relation or population than this one's, and rows where it is about persons."""
        if self.neighbours != table.neighbours:
            raise VaultError(
                f"{vault} keeps a promise {self.about} under {self.neighbours}, not {table.neighbours}",
                why="amounts under two neighbour relations do not add up",
                fix=f'open the table with neighbours="{self.neighbours}"',
            )
        if table.people is not None and self.people not in {None, table.people}:
            raise VaultError(
                f"{self.kept_in(vault)} keeps no promise for {shown(table.people)}",
                why="the same rows would be counted as two populations",
                fix=f"people={shown(self.people)} in the schema",
            )
        if self.rows_each is not None and table.rows_per_person is None:
            raise VaultError(
                f"{self.kept_in(vault)} keeps a promise {self.about}, and this table does not say whose rows it has",
                why="a charge about rows covers no persons",
                fix='say whose: person="patient_id" in the schema; or name a vault file of its own for this table',
            )

    def share(self, requested: Fraction | None, vault: str, raising: str) -> Fraction:
        """Epsilon for whoever opens the database: what is left, or less where less is *requested*.

        The promise as it is known gives what is left of it, so that a script that names its promise runs again, and
        many copies of it at once. Refuse more than the promise, and anything where nothing is left.
        """
        if requested is not None and requested > self.promise:
            raise BudgetError(
                f"epsilon {show_amount(requested)} is asked for, but {show_amount(self.left)} is left "
                f"in {self.kept_in(vault)}",
                why=f"the promise {self.about} is epsilon {show_amount(self.promise)}, and asking for more does not "
                "change it",
                fix=f"leave epsilon out, for what is left of it; {raising}",
                requested=requested,
                left=self.left,
                promise=self.promise,
            )
        if not self.left:
            raise BudgetError(
                f"0 is left in {self.kept_in(vault)}",
                why=f"all of epsilon {show_amount(self.promise)}, promised {self.about}, is spent",
                fix=raising,
                requested=requested,
                left=self.left,
                promise=self.promise,
            )
        return self.left if requested is None else min(requested, self.left)

    def charged(self, amount: Fraction, site: str, table: TableFacts, vault: str, raising: str) -> Account:
        """Account after a charge for a table; refuse one that passes the promise."""
        self.check_takes(table, vault)  # it may be about persons since the table was opened
        if amount < 0:
            asked = f"{site} asks for epsilon {show_amount(amount)}"
            raise BudgetError(asked, why="what is spent is never given back", requested=amount)
        spent = recorded(self.spent + amount)
        if spent > self.promise >= self.spent + amount:
            raise too_long(site, self.left, self.promise)
        if spent > self.promise:
            raise BudgetError(
                f"{site} asks for epsilon {show_amount(amount)}, but {show_amount(self.left)} is left "
                f"in {self.kept_in(vault)}",
                why=f"{show_amount(self.spent)} of epsilon {show_amount(self.promise)}, promised {self.about}, is "
                "spent",
                fix=f"ask for less; {raising}" if self.left else raising,
                requested=amount,
                left=self.left,
                promise=self.promise,
            )
        return evolve(self, spent=spent, about_rows=spent if self.rows_each is None else self.about_rows)

    def raised(self, promise: Fraction, vault: str) -> Account:
        """Account with a larger promise; refuse any other."""
        if promise <= self.promise:
            raise VaultError(
                f"the promise {self.about} in {self.kept_in(vault)} is epsilon {show_amount(self.promise)} already",
                why="a promise is raised, never lowered: whoever relies on what is left of it goes on relying on it",
                fix=f"an epsilon above {show_amount(self.promise)}",
            )
        return evolve(self, promise=promise)


def checked_reason(reason: object, what: str) -> str:
    """A reason for promising the people in the data less than they were; refuse what is none."""
    if isinstance(reason, str) and reason.strip() and len(reason) <= MOST_REASON and reason.isprintable():
        return reason
    raise VaultError(
        f"there is no reason for {what}",
        why="a promise was given to the people in the data, and whoever looks at the vault is told why it grew; "
        f"a reason is one line of at most {MOST_REASON} characters",
        fix='say why: "a second survey year was agreed to"',
    )


def no_promise() -> BudgetError:
    """Error for a table that is opened without a promise, where none was made before."""
    return BudgetError(
        "no epsilon is promised",
        why="a table is only opened with a bound on what its answers may give away",
        fix="jostle.protect(table, epsilon=1), or a vault that holds a promise",
    )
