"""What a run gave: its answer, or what it had bought where it came to no answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from attrs import frozen

from jostle.lang.answers import as_data, as_text
from jostle.lang.program import Purchase
from jostle.privacy.account import Account, about
from jostle.privacy.amounts import show_amount
from jostle.trace.records import Record, Released, Trace
from jostle.visible import visible

__all__ = ["Outcome", "Spending", "all_bought"]


@frozen
class Spending:
    """What a run spent, and what became of the promise."""

    given: Fraction
    """What it could spend: what was left."""
    spent: Fraction
    vault: str | None = None
    """The file that remembers it; None where nothing does."""
    account: Account | None = None
    """What the vault says afterwards, of all runs."""
    rows_per_person: int | None = None
    """The most rows of a person, where it was spent about persons; None where it was about rows."""

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        promise, left = (None, None) if self.account is None else (self.account.promise, self.account.left)
        return {
            "spent": str(self.spent),
            "vault": self.vault,
            "promise": None if promise is None else str(promise),
            "left": None if left is None else str(left),
            "rows_per_person": self.rows_per_person,
        }

    def as_text(self) -> str:
        """This as a sentence."""
        spent = f"epsilon {show_amount(self.spent)} was spent"
        if self.account is not None and self.given != self.account.promise:
            spent += f" of {show_amount(self.given)} that could be"
        spent += f", {about(None if self.rows_per_person is None else (self.rows_per_person,))}"
        if self.account is None:
            return f"{spent}; " + ("no vault remembers it" if self.vault is None else f"{self.vault} cannot be read")
        left, promise = show_amount(self.account.left), show_amount(self.account.promise)
        return f"{spent}; {left} of the promised {promise} is left in {self.vault}"


@frozen(eq=False)
class Outcome:
    """What a run gave."""

    program: str
    entry: str
    answer: Any
    private: bool
    """Whether it ran on private data."""
    example: str | None = None
    """The public database it ran on instead, if it ran on one."""
    loss: float | None = None
    """How far off the answer is, on a public database."""
    epsilon: Fraction | None = None
    """What the run could spend; None without a database."""
    records: tuple[Record, ...] = ()
    """The trace."""
    spending: Spending | None = None
    """Of private data."""
    problem: BaseException | None = None
    """What ended the run after something was bought; there is no answer then."""
    bought: tuple[tuple[str, Any], ...] = ()
    """Where a run came to no answer: all that had been bought, by where in the program or in an Option it was."""

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        facts = {
            "program": self.program,
            "entry": self.entry,
            "private": self.private,
            "example": self.example,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "loss": self.loss,
            "answer": as_data(self.answer),
        }
        if self.spending is not None:
            facts |= self.spending.as_data()
        if self.problem is not None:
            facts["bought"] = [{"site": site, "value": as_data(value)} for site, value in self.bought]
        return facts

    def as_text(self) -> str:
        """A text for people."""
        lines = [as_text(self.answer)] if self.problem is None else list(self._bought_text())
        if self.example is not None and self.epsilon is not None:
            head = (
                f"NOT PRIVATE: a rehearsal on the public database {self.example}, epsilon {show_amount(self.epsilon)}"
            )
            lines.insert(0, head)
        if self.loss is not None:
            lines.append(f"loss on this database: {self.loss:.4g}")
        return "\n".join(lines)

    def _bought_text(self) -> list[str]:
        """The lines that say what was bought: all of it, since it is nowhere else."""
        lines = [f"  {visible(site)}: {json.dumps(as_data(value))}" for site, value in self.bought]
        return ["there is no answer; until the program stopped, it had bought", *lines]


def all_bought(bought: Sequence[Purchase], trace: Trace) -> tuple[tuple[str, Any], ...]:
    """Everything a program bought, and what was released since then to an Option that came to no end."""
    records = trace.records
    known = bought[-1].records if bought else 0
    since = [
        (record.site, list(trace.released(place)))
        for place, record in enumerate(records)
        if place >= known and isinstance(record, Released)
    ]
    return (*((_site(each, records), each.value) for each in bought), *since)


def _site(bought: Purchase, records: Sequence[Record]) -> str:
    """The site where something was bought: as the trace says it, with the part of the table."""
    last = records[bought.records - 1] if bought.records else None
    return last.site if isinstance(last, Released) and last.site.endswith(bought.site) else bought.site
