"""What a learner is given, and what it gives back: something that predicts, and is kept in a file.

All learners learn *log regret*, the logarithm of an Option's loss over the best Option's in the same case, because that
is what is minimised; and the logarithm of the best loss, so that what is predicted can be told as a loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.choice.learning.regret import LEAST
from jostle.errors import ChoiceError
from jostle.learned.forest import Forest

__all__ = [
    "LEAST_WIDTH",
    "MOST_LOG",
    "Example",
    "Fitted",
    "Learner",
    "check_array",
    "check_forest",
    "log_regret",
    "losses_of",
]

Floats = NDArray[np.float64]
MOST_LOG = 4.0
"""Regrets above e**4 are as bad as that: one hopeless run does not outweigh everything else."""
ABSURD = 300.0
"""The logarithm of a loss that nobody has seen; products of two such are still numbers."""
LARGEST, LEAST_WIDTH = 1e9, 1e-9
"""Of the numbers that a fitted learner holds, and of what inputs are divided by."""


@frozen(eq=False)
class Example:
    """What a learner is given: a row per case and draw of noise."""

    inputs: Floats
    losses: Floats
    """A column per Option."""
    weights: Floats
    floor: float


def log_regret(losses: Floats, floor: float) -> tuple[Floats, Floats]:
    """The Options' log regrets, and the logarithm of the best loss, a row per case."""
    least = np.maximum(losses, max(floor, LEAST))
    logs = np.log(least)
    best = logs.min(axis=1, keepdims=True)
    return np.minimum(logs - best, MOST_LOG), best


def losses_of(logs: Floats) -> Floats:
    """The losses, or ratios of losses, that these are the logarithms of; absurd ones are cut."""
    return np.asarray(np.exp(np.minimum(logs, ABSURD)))


class Fitted(ABC):
    """Something that predicts."""

    kind: ClassVar[str]

    @abstractmethod
    def check(self, options: int, inputs: int) -> None:
        """Refuse what was not learned among so many Options, from so many inputs."""

    @abstractmethod
    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """For each row and Option the log regret expected, less a common number, and its spread."""

    @abstractmethod
    def best_loss(self, inputs: Floats) -> Floats:
        """For each row the best Option's loss expected."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The facts that a file of JSON holds."""


class Learner(ABC):
    """Learns from examples."""

    name: ClassVar[str]
    looks_at_all: ClassVar[bool] = False
    """Whether it needs every metafeature there is, and does not do with those that pay."""

    @abstractmethod
    def fit(self, example: Example, *, seed: int = 0) -> Fitted:
        """A fitted learner."""


def check_forest(forest: Forest, outputs: int, inputs: int) -> None:
    """Refuse a forest of other outputs or inputs."""
    if (forest.outputs, forest.inputs) != (outputs, inputs):
        raise ChoiceError("a forest is not about these Options, or not about what is looked at")


def check_array(array: Floats, *shape: int) -> None:
    """Refuse an array of another shape, or with numbers that cannot be reckoned with."""
    if array.shape != shape or (array.size and np.abs(array).max() > LARGEST):
        raise ChoiceError("what was learned from cases is not about these Options, or not about what is looked at")
