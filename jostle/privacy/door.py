"""The one door to private data: charge, tally, add noise, answer; and let nothing else through.

Rooms, which hold the rows, are kept in a table that only the two functions made here can look into; a probe holds a key
without any contents. What goes wrong inside comes out as a new error made from public facts: the one that was raised
carries a traceback, and a traceback carries every local variable of the frames it passed.

This guards against accidents and against what Python code ordinarily reaches: attributes, copies, pickles, reprs,
exceptions. It cannot guard against code that takes the interpreter itself apart (`gc`, `ctypes`, function closures) in
the process that holds the rows: an Option that is not trusted that far belongs in another process.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import BudgetError, JostleError, ProbeError
from jostle.privacy.events import Event
from jostle.privacy.ledger import Charge, Ledger
from jostle.privacy.mechanisms import Mechanism, check_mechanism
from jostle.privacy.noise import Noise
from jostle.tables.block import Where
from jostle.tables.engines import Source
from jostle.tables.kernels import check_kernel
from jostle.tables.schema import Schema
from jostle.trace.records import Charged, Refused, Released, Trace, shortened

__all__ = ["Facts", "Key", "Room", "admit", "ask", "look"]


class Key:
    """Opens one room. It has no contents, and no copy of it opens anything."""

    __slots__ = ("__weakref__",)


@frozen
class Facts:
    """What may be known without asking the rows."""

    schema: Schema
    promise: Fraction | None
    spent: Fraction
    left: Fraction | None
    charges: tuple[Charge, ...]


@frozen(eq=False, repr=False)
class Room:
    """Rows and everything needed to answer about them."""

    source: Source
    where: Where
    ledger: Ledger
    noise: Noise
    trace: Trace
    private: bool
    path: str = ""

    @property
    def schema(self) -> Schema:
        """Return the public facts."""
        return self.source.schema

    def site(self, name: str) -> str:
        """Return a name with the path of allotments and parts before it."""
        return f"{self.path}/{name}" if self.path else name

    def spend(self, event: Event, name: str) -> None:
        """Charge an event to the ledger and all above it, and note it."""
        site = self.site(name)
        try:
            epsilon = self.ledger.charge(event, site)
        except BudgetError as refusal:
            self.trace.add(Refused(site, refusal.title))
            raise
        self.trace.add(Charged(site, type(event).__name__, epsilon, self.ledger.spent, self.ledger.left))

    def perform(self, mechanism: Mechanism, epsilon: Fraction, name: str) -> Any:
        """Return a mechanism's answer: check, charge, tally, release, note, in this order."""
        check_mechanism(mechanism)
        kernel = mechanism.kernel(self.schema)
        check_kernel(kernel)
        kernel.cells(self.schema)
        mechanism.check(self.schema, epsilon)
        scale, event = mechanism.scale(self.schema, epsilon), mechanism.event(epsilon)
        self.spend(event, name)
        tally = self.source.tally(kernel, self.where)
        answer = mechanism.release(tally, self.schema, epsilon, self.noise)
        released = mechanism.shown(answer)
        kind = type(mechanism).__name__
        self.trace.add(Released(self.site(name), kind, scale, released.size, shortened(released)))
        return answer

    def allot(self, epsilon: Fraction, name: str) -> Room:
        """Return a room on the same rows with a budget of its own, spent here at once."""
        site = self.site(name)
        try:
            ledger = self.ledger.allot(epsilon, site)
        except BudgetError as refusal:
            self.trace.add(Refused(site, refusal.title))
            raise
        self.trace.add(Charged(site, "Allotment", epsilon, self.ledger.spent, self.ledger.left))
        return evolve(self, ledger=ledger, path=site)

    def narrowed(self, column: str, codes: tuple[int, ...]) -> Room:
        """Return a room with only the rows that have one of the codes."""
        return evolve(self, where=(*self.where, (column, codes)))

    def split(self, column: str) -> tuple[Room, ...]:
        """Return a room for each code of a column; they share no row."""
        labels = self.schema[column].labels
        ledgers = self.ledger.split(len(labels))
        rooms = (self.narrowed(column, (code,)) for code in range(len(labels)))
        return tuple(
            evolve(room, ledger=ledger, path=self.site(f"{column}={label}"))
            for room, ledger, label in zip(rooms, ledgers, labels, strict=True)
        )

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """Return uniform whole numbers that have nothing to do with the rows."""
        return self.noise.below(bound, count)

    def shuffled(self, count: int) -> NDArray[np.int64]:
        """Return 0 .. count-1 in an order that has nothing to do with the rows."""
        return self.noise.distinct(count, count)


QUESTIONS = {"perform", "allot", "narrowed", "split", "below", "shuffled"}
"""The methods of a room that a key gives use of."""


Admit = Callable[[Room], Key]
Ask = Callable[..., tuple[Any, BaseException | None]]
Look = Callable[[Key], Facts]


def _make_door() -> tuple[Admit, Ask, Look]:
    rooms: WeakKeyDictionary[Key, Room] = WeakKeyDictionary()

    def admit(room: Room) -> Key:
        """Return a new key to a room."""
        key = Key()
        rooms[key] = room
        return key

    def ask(key: Key, question: str, *details: object) -> tuple[Any, BaseException | None]:
        """Return the answer, or the error that the asker is to raise where no rows are in sight."""
        room = rooms.get(key)
        if room is None or question not in QUESTIONS:
            return None, ProbeError("this key opens nothing", why="a probe is not copied or sent elsewhere")
        answer, error = _attempt(room, question, details)
        if isinstance(answer, Room):
            answer = admit(answer)
        elif question == "split" and error is None:
            answer = tuple(admit(part) for part in answer)
        return answer, error

    def look(key: Key) -> Facts:
        """Return what may be known of a room without asking the rows."""
        room = rooms[key]
        return Facts(room.schema, room.ledger.promise, room.ledger.spent, room.ledger.left, room.ledger.charges)

    return admit, ask, look


def _attempt(room: Room, question: str, details: tuple[object, ...]) -> tuple[Any, BaseException | None]:
    try:
        return getattr(room, question)(*details), None
    except JostleError as error:
        # A new error of the same words: this one's traceback leads to the rows.
        return None, type(error)(error.title, why=error.why, fix=error.fix)
    except KeyboardInterrupt:
        return None, KeyboardInterrupt()
    except MemoryError:
        return None, ProbeError("there is not enough memory for this question", fix="use fewer cells")
    except BaseException as error:  # noqa: BLE001 - whatever it is, its traceback leads to the rows
        if not room.private:
            return None, error
        return None, ProbeError(
            f"{question} failed inside the probe with {type(error).__name__}",
            why="what went wrong is kept back, since it could quote private rows",
            fix="try the same on public data of the same schema, with jostle.rehearse: there, errors are shown",
        )


admit, ask, look = _make_door()
