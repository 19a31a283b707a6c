"""Chains: one tally released again and again, each time with less noise, for what the last release alone would cost.

*What is drawn.* A tally t is released as X1 = t + Z1, with discrete Laplace noise Z1 of scale d / e1 on every cell, d
being its sensitivity. Such noise can be made of noise of a smaller scale by adding more (Gupte and Sundararajan 2010;
Koufogiannis, Han and Pappas 2015): with a = exp(-e1/d), b = exp(-e2/d), e2 > e1, Z2 of scale d / e2, and W independent
of it, 0 with chance c = (1 - a)^2 b / ((1 - b)^2 a) and else discrete Laplace noise of scale d / e1, Z2 + W is
distributed as Z1. (The characteristic function of such noise is (1 - a)^2 / (1 - 2 a cos + a^2), and that for a is that
for b times c + (1 - c) times that for a.) So when e2 is asked for, Z2 is drawn given that Z2 + W is the noise Z1
there was (`Noise.less_laplace`), and X2 = t + Z2 is released. X2 is in turn the first release of what may follow: Z3 is
drawn given Z2 alone, as it is made of noise that is made of it.

*What that costs.* The chances of X1 = x and X2 = y are together P(t + Z2 = y) P(W = x - y), of which only the first
hangs on t: X1 is a randomised function of X2. Hence both, and likewise all releases of a chain, tell two tables apart
by at most exp(e of the last one). The second step by itself may tell more than its difference, up to e1 + e2 given X1:
so a chain is a single event of one account, and never part of two. Between its releases others may come, and which,
and whether and at which e the chain goes on, may hang on all answers so far: a transcript's likelihood is a product of
one factor for every other event and, for each chain, P(t + Z2 = y) P(W = x - y), since the noise of others has nothing
to do with Z1, and e2 is chosen by who sees answers alone. So the ratio between neighbours is at most the product of
exp(price) over events, a chain counting once, with its last epsilon.

*What is kept.* Z1 must be known later, so the tally and its first release stay in the room, and go nowhere else: not
to a file, nor to another process. The tally is not made again; rows that change meanwhile do not count.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

from attrs import define, evolve, field, frozen

from jostle.errors import BudgetError, ProbeError
from jostle.privacy.amounts import show_amount
from jostle.privacy.events import Event, Refined
from jostle.privacy.evidence import Measurement
from jostle.privacy.ledger import Charge
from jostle.privacy.mechanisms import AddNoise
from jostle.privacy.noise import Noise
from jostle.tables.fields import Integers
from jostle.tables.schema import Schema

MOST_CELLS = 2**20
"""Cells of all chains that a room keeps; beyond, those that were begun first are let go."""
LEAST_CELLS = 2**10
"""What a chain counts as beside its own cells, so that a great many of single counts do not fill the memory."""
MOST_REFINED = MOST_CELLS - LEAST_CELLS
"""A tally of more cells is released, and not kept to be refined."""


@frozen
class Refinable:
    """A tally with noise, and the number by which its room knows it, should it be wanted with less noise."""

    cells: tuple[int, ...]
    epsilon: Fraction
    number: int


@frozen(eq=False, repr=False)
class Answered:
    """An answer, with what it was made from and where it is written down. Un-noised: it does not leave the room."""

    answer: Any
    tally: Any
    told: tuple[Measurement, ...]
    line: Charge


@frozen(eq=False, repr=False)
class Chain:
    """A tally and its last release. Un-noised: it does not leave the room."""

    mechanism: AddNoise
    schema: Schema
    tally: Integers
    released: Integers
    levels: tuple[Fraction, ...]
    line: Charge
    """Its line in the ledger that pays for it."""
    told: tuple[Measurement, ...]
    """The last release as measurements."""
    known: list[Measurement]
    """All that was released where the chain began, these among it."""

    @property
    def size(self) -> int:
        """How many cells it counts as where they are kept."""
        return self.tally.size + LEAST_CELLS

    def event(self, epsilon: Fraction, unit: int) -> Event:
        """The event of the chain with one more release; refuse one that says less than the last.

        Who reads of that counts in so many of its amounts.
        """
        if epsilon <= self.levels[-1]:
            last = self.levels[-1] * unit
            raise BudgetError(
                f"an answer at epsilon {show_amount(last)} is to be refined to {show_amount(epsilon * unit)}",
                why="a refined answer has less noise, at a larger epsilon; only the difference is charged",
                fix=f"epsilon={show_amount(2 * last)}",
            )
        return Refined((*self.levels, epsilon))

    def too_little(self, refusal: BudgetError, epsilon: Fraction, unit: int) -> BudgetError:
        """The refusal of one more release for want of budget, by the epsilon that was asked for."""
        wanted = epsilon * unit
        more, left = refusal.requested, refusal.left
        if more is None or left is None:
            return refusal
        return BudgetError(
            f"an answer at epsilon {show_amount(self.levels[-1] * unit)} is to be refined to {show_amount(wanted)}, "
            f"but {show_amount(left)} is left",
            why=f"what it costs beyond the last is {show_amount(more)}; {refusal.why}",
            fix=f"epsilon={show_amount(wanted - more + left)} at most" if left else refusal.fix,
            requested=more,
            left=left,
            promise=refusal.promise,
        )

    def scales(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """The scale of the next release's noise, and that of the wait between both (see `Noise.less_laplace`)."""
        scale = self.mechanism.scale(self.schema, epsilon)
        return scale, scale * epsilon / (epsilon - self.levels[-1])

    def next(self, epsilon: Fraction, line: Charge, noise: Noise) -> Chain:
        """The chain with one more release."""
        before, after = (self.mechanism.scale(self.schema, level) for level in (self.levels[-1], epsilon))
        released = self.tally + noise.less_laplace(self.released - self.tally, before, after)
        told = self.mechanism.measured(released, self.schema, epsilon)
        return evolve(self, released=released, levels=(*self.levels, epsilon), line=line, told=told)

    def refinable(self, number: int) -> Refinable:
        """What may be seen of it: its last release, and the number it is kept by."""
        return Refinable(tuple(self.released.tolist()), self.levels[-1], number)


@define(eq=False, repr=False)
class Chains:
    """The chains of a room that may go on. Each is taken out to be carried on, so that no two carry it on at once."""

    _kept: dict[int, Chain] = field(factory=dict, init=False)
    _cells: int = field(default=0, init=False)
    _last: int = field(default=0, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def add(self, chain: Chain) -> int:
        """Keep a chain, and let go of the oldest ones that there is no room for; return its number."""
        with self._lock:
            self._last += 1
            self._keep(self._last, chain)
            while self._cells > MOST_CELLS:
                self._drop(next(iter(self._kept)))
            return self._last

    def take(self, number: int) -> Chain:
        """A chain, which is kept no longer."""
        with self._lock:
            chain = self._drop(number) if number in self._kept else None
        if chain is None:
            raise ProbeError(
                "this answer can no longer be refined",
                why="it was refined already, or bought elsewhere, or is too large or too old to be kept",
                fix="refine the answer that it was refined to, or ask anew",
            )
        return chain

    def put_back(self, number: int, chain: Chain) -> None:
        """Keep a chain that was not carried on, by the number it had."""
        with self._lock:
            self._keep(number, chain)

    def _keep(self, number: int, chain: Chain) -> None:
        self._kept[number] = chain
        self._cells += chain.size

    def _drop(self, number: int) -> Chain:
        chain = self._kept.pop(number)
        self._cells -= chain.size
        return chain
