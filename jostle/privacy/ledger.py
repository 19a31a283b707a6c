"""Ledgers: who may spend how much, and what was spent. Every charge is checked before data are touched.

A ledger with a promise is a *filter*: the promise is fixed before the run, requests may depend on all answers so far,
and a request that would pass the promise is refused. Without one it is an *odometer*: it tells at any time what was
spent.

*Why that is sound.* Each answer is epsilon_i-private given the answers before it, where epsilon_i may depend on those
answers only. For any transcript the likelihood ratio between neighbours is at most exp(sum of its epsilon_i); a filter
stops every transcript before its sum passes the promise, so the whole run is promise-private; an odometer's reading
bounds the transcript at hand. A refusal is part of the transcript, and depends on nothing but what came before it.

*Parts that share no row.* The row in which neighbours differ is in one part (in two, if it can move), and every other
part is the same in both. So the ratio is a product over that part's answers alone (those two parts' answers), however
the parts' requests depend on each other's answers. For a part that a row moves out of or into, the change is a row
that leaves or enters: the sensitivities used under replace_one cover this as well (`DenseKernel.replaced`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from attrs import frozen

from jostle.errors import BudgetError
from jostle.privacy.amounts import INSIDE_BITS, RECORDED_BITS, left_of, recordable, recorded, show_amount, too_long
from jostle.privacy.events import Allotment, Event, Reserved, dearest, disjoint, in_turn, price, times
from jostle.tables.schema import Neighbours

NOTHING = Fraction(0)
Pay = Callable[[Fraction, str], object]
"""Records an amount of a site for good, in a ledger above or a vault, or raises BudgetError and records nothing."""


@frozen
class Charge:
    """One line of a ledger."""

    site: str
    event: Event
    epsilon: Fraction

    def times(self, unit: int) -> Charge:
        """This charge, for those who count in so many of its amounts."""
        return self if unit == 1 else Charge(self.site, times(self.event, unit), self.epsilon * unit)


class Ledger:
    """What one stretch of work may spend and has spent. Safe to use from many threads."""

    def __init__(
        self,
        promise: Fraction | None,
        neighbours: Neighbours,
        *,
        payer: Pay | None = None,
        turn: threading.RLock | None = None,
        raised: Callable[[], Fraction] | None = None,
        grows: bool = True,
        most_bits: int = RECORDED_BITS,
        opening: Callable[[], object] | None = None,
        unit: int = 1,
        lines: int | None = None,
        reservation: _Reservation | None = None,
    ) -> None:
        self._opened = promise
        self._raised = raised
        """By how much a payer's promise was raised since."""
        self._grows = grows
        """Whether that may be spent here."""
        self.promise = promise
        """The bound fixed before the run, or raised since by the data's owner; None for an odometer."""
        self.neighbours: Neighbours = neighbours
        self._pay_above = payer
        self._reservation = reservation
        """What is held for it, where it spends what is reserved."""
        # One for a whole tree of ledgers: a charge to a part and to all above it is a single step.
        self._turn = turn or threading.RLock()
        self._most_bits = most_bits
        """Of amounts and totals: of an allotment's more than of what it is recorded in, which is divided in it."""
        self._opening = opening
        """What pays for all of it, before anything is paid out of it; None once that is done."""
        self.unit = unit
        """What an amount here is multiplied by for those who read of it: rows of a person, where they count persons."""
        self.spent = Fraction(0)
        """The budget spent so far."""
        self._reserved: list[_Reservation] = []
        """What is held back and not settled."""
        self._lines = lines
        """How many charges are kept to be looked up, the last ones; all, if None."""
        self._items: deque[Charge | _Group | _Reservation] = deque(maxlen=lines)
        self._settled = False
        """Whether it was a reservation's, and that is over."""

    @property
    def left(self) -> Fraction | None:
        """The budget that may still be spent; None for an odometer."""
        if self.promise is None:
            return None
        return left_of(self.promise, self.spent, self._held if self._reserved else NOTHING, self._most_bits)

    @property
    def _held(self) -> Fraction:
        """The rest of what was reserved, which nobody else may spend.

        It is added up anew each time, and not kept as a sum: an interrupt, or two who settle at once, could leave a sum
        below what is held, or below 0, and more could then be spent than was promised.
        """
        return sum((reservation.rest for reservation in self._reserved), NOTHING)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge so far that is kept, those to parts included."""
        with self._turn:
            return tuple(self._listed())

    @property
    def event(self) -> Event:
        """All that is kept as one event, whose price is what was spent, but for what totals were rounded up."""
        with self._turn:
            return in_turn(item.event for item in self._items)

    def _listed(self) -> Iterator[Charge]:
        for item in self._items:
            if isinstance(item, Charge):
                yield item
            else:
                for part in item.parts:
                    yield from part.charges

    def charge(self, event: Event, site: str) -> Fraction:
        """Charge an event here and with everyone above, or raise BudgetError and charge nobody. Return its price."""
        return self.enter(event, site).epsilon

    def enter(self, event: Event, site: str) -> Charge:
        """Charge an event as `charge` does; return the line itself, which is for nobody outside the room."""
        cost = recordable(price(event, self.neighbours), f"what {site} asks for", self._most_bits)
        kept = Charge(site, event, cost)
        with self._turn:
            self.pay(kept.epsilon, site)
            self._items.append(kept)
        return kept

    def extend(self, line: Charge, event: Event, site: str) -> Charge:
        """Pay what an event costs beyond the one that it began as, whose line in this ledger becomes the event's.

        Refuse a line of another ledger: what was begun on one budget is not carried on on another.
        """
        cost = recordable(price(event, self.neighbours), f"what {line.site} asks for", self._most_bits)
        kept = Charge(line.site, event, cost)
        with self._turn:
            index = next((-at for at, item in enumerate(reversed(self._items), 1) if item is line), None)
            if index is None:
                raise BudgetError(
                    f"{site} carries on what was bought from another budget, or long ago",
                    why="what the two cost together would stand in no one account",
                    fix="carry it on where it began",
                )
            self.pay(kept.epsilon - line.epsilon, site)
            self._items[index] = kept
        return kept

    def pay(self, amount: Fraction, site: str, *, held: Fraction = Fraction(0)) -> None:
        """Pass an amount on to the payer and count it as spent. Of what is held back, *held* is for this."""
        with self._turn:
            after = self._check(amount, site, held)
            if self._opening is not None:
                self.open()
            if self._pay_above is not None:
                # What is rounded up here is paid there: no account above has less.
                self._pay_above(after - self.spent, site)
            self.spent = after

    def allot(self, epsilon: Fraction, site: str) -> Ledger:
        """Set a budget aside, spent here at once and whole; return the ledger that may use it."""
        budget = self.charge(Allotment(epsilon), site)
        return Ledger(budget, self.neighbours, most_bits=INSIDE_BITS, unit=self.unit, lines=self._lines)

    def earmark(
        self, epsilon: Fraction, site: str, opening: Callable[[], object], *, unit: int | None = None
    ) -> Ledger:
        """As `allot`, but *opening*, which charges it here, is done once something is to be paid out of it.

        So whatever is refused before costs nothing. Nothing is held back for it meanwhile. Where fewer rows of a person
        are read than here, they are a *unit* of their own, and an amount of a row is as many times larger.
        """
        with self._turn:
            self._check(recordable(epsilon, f"what {site} asks for", self._most_bits), site)
        unit = self.unit if unit is None else unit
        budget = epsilon * Fraction(self.unit, unit)
        return Ledger(budget, self.neighbours, most_bits=INSIDE_BITS, opening=opening, unit=unit, lines=self._lines)

    def open(self) -> None:
        """Pay for what was earmarked, if that was not done."""
        with self._turn:
            if self._opening is not None:
                self._opening()  # who is interrupted after this pays twice, and not never
                self._opening = None

    def reserve(self, epsilon: Fraction, site: str) -> Ledger:
        """Hold a budget back; return the ledger that may spend up to it, paid here as it is spent, until it settles."""
        reservation = _Reservation(self, epsilon)
        with self._turn:
            self._check(recordable(epsilon, f"what {site} asks for", self._most_bits), site)
            self._reserved.append(reservation)
            self._items.append(reservation)
        return reservation.ledger

    def settle(self) -> Ledger:
        """End a reservation: what of it was not spent is nobody's any more; return the ledger that it was held in."""
        with self._turn:
            held = self._reservation
            if held is None or held not in held.above._reserved:  # noqa: SLF001 - one tree
                raise BudgetError(
                    "nothing is reserved here", why="a reservation is settled once", fix="db.reserve(epsilon)"
                )
            self._settled = True
            self.promise = self.spent  # before it is let go: whoever is interrupted here spends no more
            held.above._reserved.remove(held)  # noqa: SLF001 - as above
        return held.above

    def below(self, promise: Fraction | None, payer: Pay, most_bits: int, held: _Reservation | None = None) -> Ledger:
        """A ledger of the same tree, whose charges are paid here."""
        return Ledger(
            promise,
            self.neighbours,
            payer=payer,
            turn=self._turn,
            most_bits=most_bits,
            unit=self.unit,
            lines=self._lines,
            reservation=held,
        )

    def split(self, count: int) -> tuple[Ledger, ...]:
        """Ledgers for *count* parts that share no row; together they cost the dearest one (or two)."""
        group = _Group(self, count, self._most_bits)
        with self._turn:
            self._items.append(group)
        return group.parts

    def look_up(self) -> None:
        """Take in what the data's owner has raised the promise by."""
        if self._grows and self._raised is not None and self._opened is not None:
            self.promise = self._opened + self._raised()

    def _check(self, amount: Fraction, site: str, held: Fraction = Fraction(0)) -> Fraction:
        """What is spent with this in all, as it is recorded; refuse what would pass the promise."""
        if amount < 0:
            raise BudgetError(
                f"{site} asks for epsilon {show_amount(amount * self.unit)}",
                why="what is spent is never given back",
                requested=amount * self.unit,
            )
        exact, kept = self.spent + amount, self._held - held if self._reserved else -held
        after = recorded(exact, self._most_bits)
        if self.promise is not None and after + kept > self.promise:
            self.look_up()
        if self.promise is not None and after + kept > self.promise:
            left = left_of(self.promise, self.spent, kept, self._most_bits) * self.unit
            promise, asked = self.promise * self.unit, amount * self.unit
            if exact + kept <= self.promise:
                raise too_long(site, left, promise)
            raise BudgetError(
                f"{site} asks for epsilon {show_amount(asked)}, but {show_amount(left)} is left",
                why=f"what was reserved is settled, at epsilon {show_amount(promise)}"
                if self._settled
                else f"all that may be spent here, fixed beforehand, is epsilon {show_amount(promise)}",
                fix="ask the probe that it was reserved on, or reserve anew"
                if self._settled
                else "ask for less, or open the table again without epsilon: its promise was raised since"
                if self._raised is not None and self._raised()
                else "ask for less, or promise more: before the first question, or by jostle vault raise",
                requested=asked,
                left=left,
                promise=promise,
            )
        return after


class _Group:
    """The parts of one split: what they cost together is kept up to date with every charge to one of them.

    Amounts only grow, so the dearest parts are always among those that were dearest before and the one just charged.
    """

    def __init__(self, above: Ledger, count: int, most_bits: int) -> None:
        self._above = above
        self._paid = [Fraction(0)] * count
        self._dearest: tuple[int, ...] = ()
        self._cost = Fraction(0)
        self.parts = tuple(above.below(None, partial(self.pay, index), most_bits) for index in range(count))

    @property
    def event(self) -> Event:
        return disjoint(part.event for part in self.parts)

    def pay(self, index: int, amount: Fraction, site: str) -> None:
        paid = {part: self._paid[part] for part in (*self._dearest, index)}
        paid[index] += amount
        cost = dearest(paid.values(), self._above.neighbours)
        if cost > self._cost:
            self._above.pay(cost - self._cost, site)
        self._paid[index] = paid[index]
        self._dearest = tuple(sorted(paid, key=paid.__getitem__, reverse=True)[:2])
        self._cost = cost


class _Reservation:
    """A budget held back in a ledger: every charge is paid there when it is made, out of what is held.

    Nothing is given back, since nothing was spent beforehand. Ledgers above, and a vault, hold nothing back: where they
    run out meanwhile, a charge is refused.
    """

    def __init__(self, above: Ledger, at_most: Fraction) -> None:
        self.above = above
        self._at_most = at_most
        self.ledger = above.below(at_most, self.pay, INSIDE_BITS, self)
        self.parts = (self.ledger,)

    @property
    def event(self) -> Event:
        return Reserved((self.ledger.event,), self._at_most)

    @property
    def rest(self) -> Fraction:
        """What of it is not spent."""
        return self._at_most - self.ledger.spent

    def pay(self, amount: Fraction, site: str) -> None:
        # What the ledger above counts as spent first, it holds back as well until the one below counts it.
        self.above.pay(amount, site, held=amount)
