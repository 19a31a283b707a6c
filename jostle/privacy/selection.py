"""Selections: run candidates unseen, score each privately, and let the best one out.

A *candidate run* is a whole epsilon_1-private computation: something is released, and a noisy score with it. Of a
random number K of independent runs, the one with the highest score leaves, with its score; that there were others, how
many, and what they gave, is seen nowhere. Running K of them and letting all be seen would cost K epsilon_1. The best
alone costs (2 + eta) epsilon_1, for the distribution of K that `NumberOfRuns` draws, however large K is.

Liu and Talwar, Private selection from private candidates, STOC 2019 (eta = 1: a geometric K, 3 epsilon_1). Papernot and
Steinke, Hyperparameter tuning with Renyi differential privacy, ICLR 2022 (any eta > -1).

*Why (2 + eta) epsilon_1 is enough.* Let Q be the distribution of one run's output (all that it released and its score)
on table D, and Q' that on a neighbour. Q(S) <= exp(epsilon_1) Q'(S) for every set S of outputs. Let f(x) = E[x^K], the
generating function of K. Write s(y) for the score within an output y, and let L and E be the sets of outputs with
a lower score than y, and with an equal one. K has nothing to do with D.

1. The winner's score is at most s(y) with chance f(Q(L) + Q(E)), and below with chance f(Q(L)). Of equal scores the
   earliest run wins; runs are independent and alike, so given that the best score is s(y), the winner is distributed as
   a run given that score. Hence

       A(y) = Q(y)/Q(E) (f(Q(L) + Q(E)) - f(Q(L))) = Q(y) * integral over t from 0 to 1 of f'(Q(L) + t Q(E)).

2. For P(K = k) proportional to (1 - gamma)^k (eta + 1)(eta + 2)...(eta + k - 1)/k!, k >= 1,

       f'(x) = c (gamma + (1 - gamma)(1 - x))^(-(eta + 1)) with a constant c: differentiate the binomial series.

3. Put x = Q(L) + t Q(E), and x' likewise with Q'. 1 - x is the chance of a higher score, plus (1 - t) times that of an
   equal one. Each of these chances is at least exp(-epsilon_1) times that under Q'. So 1 - x is at least
   exp(-epsilon_1) (1 - x'), and gamma + (1 - gamma)(1 - x) at least exp(-epsilon_1) (gamma + (1 - gamma)(1 - x')). As
   eta + 1 > 0,

       f'(x) <= exp((eta + 1) epsilon_1) f'(x').

4. With Q(y) <= exp(epsilon_1) Q'(y): A(y) <= exp((2 + eta) epsilon_1) A'(y), for every y, and so for every set.

(Outputs are finitely or countably many: numbers released here are whole.) Nothing was assumed of the scores, so they
may be as bad as they like. But runs must be independent and alike, K must be exactly of this distribution (no cap, no
time limit), and K must not be seen: given K = k, the best of k costs k epsilon_1. `NumberOfRuns.draw` is exact.

*How losers are kept from sight.* A probe's caller is never given a candidate's probe. Candidates are run behind the
door (`Room.select`), by code from a closed list (`SELECTIONS`, whose members run Options from a closed list of Jostle's
own). Every run has a room of its own: a ledger with epsilon_1, an empty trace, which is thrown away unless it wins, and
no handlers of choices, since it runs in an empty context. When it is over, its room answers nothing any more. An error
in a run could depend on a loser: a private room then says only that there was one, and is closed.

What shows the number of runs is not hidden: how long a selection takes, whether an interrupt came before its end, and
how many tallies the records of a cluster list. None of these is hidden for any question; but here they undo more, since
the charge covers the winner only where nobody knows K.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Generic, TypeVar

from attrs import field, frozen

from jostle.errors import BudgetError, ProbeError
from jostle.privacy.events import LEAST_ETA, Event, Selected
from jostle.privacy.fields import TYPES, fraction
from jostle.privacy.noise import Noise
from jostle.tables.closed import Closed, Places
from jostle.tables.schema import Schema
from jostle.trace.records import Chosen, Record, Released, Stated

Asker_contra = TypeVar("Asker_contra", contravariant=True)
"""What a candidate asks by. This module lies below probes."""
Run = TypeVar("Run")

GAMMA, ETA = Fraction(1, 50), Fraction(1, 2)
"""The usual distribution of the number of runs: 28.5 in the mean, and 1 with chance 0.08."""
LEAST_STOP = Fraction(1, 10_000)
"""Runs that stop less often would take too long."""
MOST_PARTS = 1_000_000
"""Of the denominators of its parameters: a coin of the walk is then one whole number below 2**63, however long it is.
(Where it went wrong would show how many runs there were.)"""


@frozen
class NumberOfRuns:
    """How many candidates are run: P(K = k) proportional to (1 - gamma)^k (eta + 1) ... (eta + k - 1) / k!, k >= 1.

    With eta = 1 a geometric distribution, with eta = 0 the logarithmic one. Smaller eta costs less, and has more chance
    of few runs.
    """

    gamma: Fraction = field(default=GAMMA, converter=fraction)
    eta: Fraction = field(default=ETA, converter=fraction)

    def __attrs_post_init__(self) -> None:
        """Refuse what the proof does not cover, and what would not end."""
        if not LEAST_STOP <= self.gamma < 1:
            raise BudgetError(f"gamma is {self.gamma}, but must be at least 1/10000 and below 1", fix='gamma="1/20"')
        if not LEAST_ETA <= self.eta <= 1:
            raise BudgetError(f"eta is {self.eta}, but must lie between -9/10 and 1", fix="eta=0")
        if max(self.gamma.denominator, self.eta.denominator) > MOST_PARTS:
            raise BudgetError(f"gamma or eta is a fraction of more than {MOST_PARTS:,} parts", fix='gamma="1/20"')

    def each(self, epsilon: Fraction) -> Fraction:
        """The budget of one run, if all together are to cost *epsilon*.

        >>> NumberOfRuns(eta=1).each(Fraction(3))
        Fraction(1, 1)
        """
        return epsilon / (2 + self.eta)

    def weight(self, runs: int) -> Fraction:
        """A number that the chance of so many runs is in proportion to; 1 - gamma for a single one."""
        weight = 1 - self.gamma
        for k in range(1, runs):
            weight *= (1 - self.gamma) * (k + self.eta) / (k + 1)
        return weight

    def draw(self, noise: Noise) -> int:
        """A number of runs, exactly distributed.

        A walk from 1 upwards stops at every number with chance gamma; otherwise it goes on from k to k + 1 with
        chance (k + eta)/(k + 1), or else begins anew from 1. It stops at k without beginning anew with chance
        gamma (1 - gamma)^(k - 1) (1 + eta)/2 ... (k - 1 + eta)/k, which is `weight` times a constant; and what comes
        after a new beginning has the same distribution.
        """
        runs = 1
        while not _coin(noise, self.gamma):
            runs = runs + 1 if _coin(noise, (runs + self.eta) / (runs + 1)) else 1
        return runs


def _coin(noise: Noise, chance: Fraction) -> bool:
    # Not `bernoulli`, which keeps a table for every chance it was asked about.
    return bool(noise.below(chance.denominator, 1)[0] < chance.numerator)


@frozen(eq=False)
class Scored:
    """What one run gives."""

    answer: Any
    score: int
    """Released; higher is better."""


class Selection(ABC, Generic[Asker_contra]):
    """What candidates there are, how one is run, and how often."""

    stopping: NumberOfRuns

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of candidates; each run is of one of them, all equally likely."""

    @abstractmethod
    def check(self, schema: Schema, each: Fraction) -> None:
        """Refuse, from public facts alone and before any charge, a candidate that would not run."""

    @abstractmethod
    def candidate(self, each: Fraction) -> Event:
        """The event of one run, at most."""

    @abstractmethod
    def run(self, db: Asker_contra, place: int, each: Fraction) -> Scored:
        """Run a candidate and score it. *db* has a budget of *each*, and belongs to this run alone."""

    def event(self, each: Fraction) -> Event:
        """The event of the whole selection."""
        return Selected(self.candidate(each), self.stopping.eta)


SELECTIONS = Places(
    Closed(
        "selection",
        (),
        why="a selection sees candidates that nobody else may see, so only those made for it may be used",
        error=ProbeError,
        types=TYPES,
    )
)
"""The selections whose code may see candidates that lose. They are built on what is built on probes."""


def best_of(stopping: NumberOfRuns, noise: Noise, run: Callable[[], tuple[Scored, Run]]) -> tuple[Scored, Run]:
    """The best-scored of a random number of runs, with what else it gave; of equal scores, the earliest."""
    return max((run() for _ in range(stopping.draw(noise))), key=lambda made: made[0].score)  # at least one


def seen_of(records: Iterable[Record]) -> tuple[Record, ...]:
    """The winner's releases and choices; its charges are of a ledger that nobody else has."""
    return tuple(record for record in records if isinstance(record, Released | Chosen | Stated))
