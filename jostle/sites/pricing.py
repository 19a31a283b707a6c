"""Price a program with choices: run it without data down every branch, and keep the dearest."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
from attrs import frozen

from jostle.errors import ChoiceError
from jostle.privacy.events import Event
from jostle.privacy.events import price as price_of_event
from jostle.sites.messages import Choice, Decision
from jostle.sites.stack import Handler
from jostle.tables.schema import Neighbours

__all__ = ["Priced", "price"]

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
