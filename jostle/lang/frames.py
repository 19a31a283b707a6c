"""What a function of a program has while it runs: its variables, and the budget its caller allotted."""

from __future__ import annotations

from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any, Protocol

from jostle.lang.stops import Stop

__all__ = ["MOST_CALLS", "Frame", "Runner"]

MOST_CALLS = 150
"""Calls inside calls; deeper ones are most likely endless."""


class Runner(Protocol):
    """The program that runs, as its functions see it."""

    def say(self, text: str) -> None:
        """Print a line."""

    def public(self, path: str) -> Any:
        """The public databases of a folder or a file, if it was named as public."""

    def bought(self, site: str, value: Any) -> Any:
        """The value bought at a place in the program, after noting it."""

    def on_public_data(self) -> AbstractContextManager[None]:
        """Note nothing that is bought meanwhile: nobody pays for it."""

    def policy(self, label: str) -> Any:
        """The policy of a labelled choice where no handler answers."""

    def call(self, frame: Frame, site: str, function: Any, given: list[Any]) -> Any:
        """The value of a function of the program, or of one that it knows."""


class Frame:
    """The variables of one call."""

    __slots__ = ("depth", "epsilon", "names", "program")

    def __init__(self, program: Runner, names: dict[str, Any], epsilon: Fraction | None, depth: int) -> None:
        if depth > MOST_CALLS:
            raise Stop(
                "J509",
                f"calls are nested more than {MOST_CALLS} deep",
                "a function that calls itself has to stop some time",
                "stop where a parameter that counts down is 0",
            )
        self.program = program
        self.names = names
        self.epsilon = epsilon
        self.depth = depth

    def budget(self) -> Fraction:
        """The budget that the caller allotted."""
        if self.epsilon is None:
            raise Stop("J512", "there is no budget here", "epsilon is what a caller allots", "give epsilon=...")
        return self.epsilon
