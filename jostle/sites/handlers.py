"""Handlers: force, follow, record, replay, explore; and the price of a program with choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import product

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError
from jostle.privacy.amounts import Amount, exact
from jostle.privacy.events import Event
from jostle.privacy.events import price as price_of_event
from jostle.privacy.noise import Noise, SeededBits
from jostle.sites.stack import Choice, Decision, Handler, Policy, Taken
from jostle.tables.schema import Neighbours

COIN = 2**40
"""Exploring decisions are remainders of numbers below this: uneven by less than 2**-30, and public anyway."""


class Follow(Handler):
    """Answers choices by policies, label by label."""

    def __init__(self, policies: Mapping[str, Policy]) -> None:
        super().__init__()
        self._policies = dict(policies)

    def decide(self, choice: Choice) -> Decision | None:
        policy = self._policies.get(choice.label)
        return None if policy is None else policy.decide(choice)


class Always:
    """A policy: one alternative, whatever is seen."""

    def __init__(self, alternative: str, why: str = "forced") -> None:
        self._alternative, self._why = alternative, why

    def decide(self, choice: Choice) -> Decision:
        """The same decision for every site."""
        return Decision(choice.everywhere(self._alternative), self._why)


class Force(Follow):
    """Answers choices with one alternative per label, wherever they are made.

    A label that is never met is an error, unless it need not occur.

    >>> from jostle.sites import choose, force
    >>> with force({"Rule": "Gini"}):
    ...     choose("Rule", among=("Max", "Gini"))
    'Gini'
    """

    def __init__(self, alternatives: Mapping[str, str], *, must_occur: bool = True) -> None:
        super().__init__({label: Always(alternative) for label, alternative in alternatives.items()})
        self._unmet = set(alternatives) if must_occur else set()

    def look(self, choice: Choice, decision: Decision) -> None:
        """Note that the label was met, though a handler further in may have answered."""
        self._unmet.discard(choice.label)

    def leave(self) -> None:
        """Refuse a label that was never met: a mistyped one would go unnoticed."""
        if self._unmet:
            label = min(self._unmet)
            raise ChoiceError(f"no choice {label} was met", fix="check the spelling, or must_occur=False")


class Record(Handler):
    """Keeps what was seen and taken, in order; answers nothing.

    >>> from jostle.sites import choose, record
    >>> with record() as kept:
    ...     _ = choose("Rule", among=("Max", "Gini"), informed_by={"n": 12})
    >>> kept.lines[0].site, kept.lines[0].alternatives, kept.lines[0].seen["n"].tolist()
    ('Rule#1', ('Max',), [12.0])
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Taken] = []

    @property
    def lines(self) -> tuple[Taken, ...]:
        """The lines recorded so far."""
        return tuple(self._lines)

    def look(self, choice: Choice, decision: Decision) -> None:
        self._lines.append(Taken(choice.label, choice.site, choice.among, choice.seen, decision.taken))


class Replay(Handler):
    """Answers choices as a recording has them, in its order; a program that asks anything else is refused.

    >>> from jostle.sites import choose, force, record, replay
    >>> with force({"Rule": "Gini"}), record() as kept:
    ...     _ = choose("Rule", among=("Max", "Gini"))
    >>> with replay(kept.lines):
    ...     choose("Rule", among=("Max", "Gini"))
    'Gini'
    """

    def __init__(self, recording: Iterable[Taken]) -> None:
        super().__init__()
        self._lines = tuple(recording)
        self._next = 0

    def decide(self, choice: Choice) -> Decision:
        """The alternative taken at this point of the recording."""
        if self._next == len(self._lines):
            raise ChoiceError(
                f"the recording has ended, and choice {choice.site} comes next", why=_wrong, fix="record it anew"
            )
        line = self._lines[self._next]
        if (line.site, line.among, len(line.taken)) != (choice.site, choice.among, choice.count):
            raise ChoiceError(
                f"the recording goes on with {_named(line.site, line.among, len(line.taken))}, "
                f"the program with {_named(choice.site, choice.among, choice.count)}",
                why=_wrong,
                fix="record it anew",
            )
        self._next += 1
        return Decision(line.taken, "replayed")

    def leave(self) -> None:
        """Refuse to end before the recording does."""
        if self._next < len(self._lines):
            raise ChoiceError(
                f"the program has ended, and the recording goes on with {self._lines[self._next].site}",
                why=_wrong,
                fix="record it anew",
            )


_wrong = "it is a recording of another program, or of another run whose answers were different"


def _named(site: str, among: tuple[str, ...], count: int) -> str:
    return f"{site} among {', '.join(among)}" + ("" if count == 1 else f" at {count} places")


class Explore(Handler):
    """Takes random alternatives now and then, for a policy to be learned from what comes of them.

    With chance *rate* a message is explored: with equal chances all its sites get one random alternative, or each site
    one of its own. Otherwise the label's policy answers; without one, whoever would without this handler. The
    randomness is public and has nothing to do with data, so exploring costs no privacy.
    """

    def __init__(self, seed: int, rate: Amount = 1, policies: Mapping[str, Policy] | None = None) -> None:
        super().__init__()
        self._rate = exact(rate, "rate")
        if not 0 <= self._rate <= 1:
            raise ChoiceError(f"the rate of exploring is {rate}, but must lie between 0 and 1", fix="rate=0.2")
        self._policies = dict(policies or {})
        self._noise = Noise(SeededBits(seed))

    def decide(self, choice: Choice) -> Decision | None:
        """A random decision, or the policy's."""
        if not self._coin(self._rate):
            policy = self._policies.get(choice.label)
            return None if policy is None else policy.decide(choice)
        drawn = self._below(len(choice.among), 1 if self._coin(Fraction(1, 2)) else choice.count)
        return Decision(np.broadcast_to(drawn, (choice.count,)), "explored")

    def _coin(self, chance: Fraction) -> bool:
        return bool(self._noise.bernoulli(chance, 1)[0])

    def _below(self, bound: int, count: int) -> NDArray[np.int64]:
        return self._noise.below(COIN, count) % bound


follow, force, record, replay, explore = Follow, Force, Record, Replay, Explore
"""As they are called around a program: `with force({"Rule": "Gini"}): ...`."""
MOST_RUNS = 10_000


@frozen
class Priced:
    """What a program costs at most, and by which way it comes to that."""

    epsilon: Fraction
    path: tuple[tuple[str, tuple[str, ...]], ...]
    """Site, and the alternatives taken there, along the dearest way; of equally dear ones, the first."""
    runs: int
    """How many ways there are."""


class _Path(Handler):
    """Answers by a list of decisions, and beyond it with the first there is; notes how many there were each time."""

    def __init__(self, given: list[int]) -> None:
        super().__init__()
        self._given = given
        self.taken: list[int] = []
        self.ways: list[int] = []
        self.path: list[tuple[str, tuple[str, ...]]] = []

    def decide(self, choice: Choice) -> Decision:
        ways = len(choice.among) ** choice.count
        if ways > MOST_RUNS:
            raise _too_many(choice.label)
        place = self._given[len(self.taken)] if len(self.taken) < len(self._given) else 0
        self.taken.append(place)
        self.ways.append(ways)
        picked = next(
            each
            for number, each in enumerate(product(range(len(choice.among)), repeat=choice.count))
            if number == place
        )
        self.path.append((choice.site, tuple(choice.among[index] for index in picked)))
        return Decision(np.array(picked, dtype=np.int64), "priced")


def price(program: Callable[[], Event | Fraction], neighbours: Neighbours = "add_remove") -> Priced:
    """The most that *program* costs, whatever is chosen.

    The program is one without data: it takes the same ways as the real one, and returns what it would do, as an event
    or an amount. Each of its choices has to be answered, so it is run once for every way through all of them; a choice
    at many sites at once counts every combination. The numbers a choice sees are whatever the program
    makes up for them: nobody looks at them here, since a bound has to hold for all.

    >>> from jostle.sites import choose
    >>> from jostle.privacy.events import Laplace, in_turn
    >>> def program():
    ...     extra = [Laplace("1/4")] if choose("More", among=("no", "yes")) == "yes" else []
    ...     return in_turn([Laplace("1/2"), *extra])
    >>> price(program).epsilon, price(program).path
    (Fraction(3, 4), (('More#1', ('yes',)),))
    """
    best: Priced | None = None
    given: list[int] = []
    for runs in range(1, MOST_RUNS + 1):
        with _Path(given) as path:
            cost = program()
        amount = cost if isinstance(cost, Fraction) else price_of_event(cost, neighbours)
        if best is None or amount > best.epsilon:
            best = Priced(amount, tuple(path.path), 0)
        given = path.taken
        while given and given[-1] + 1 == path.ways[len(given) - 1]:
            given = given[:-1]
        if not given:
            return Priced(best.epsilon, best.path, runs)
        given = [*given[:-1], given[-1] + 1]
    raise _too_many(None)


def _too_many(label: str | None) -> ChoiceError:
    return ChoiceError(
        f"there are more than {MOST_RUNS:,} ways through " + (f"choice {label}" if label else "the program's choices"),
        why="each of them is priced, so that the bound holds for all",
        fix="declare a cost that is the same for all alternatives, as JostledTree does",
    )
