"""What came with Jostle: trained makers for its tasks, and the histories of rehearsals they were trained on.

`jostle train` with the databases named in docs/choosing.md makes them again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from attrs import frozen

from jostle.choice.learning.history import History, read_history
from jostle.choice.learning.places import shipped_folder
from jostle.choice.makers.trained import Trained
from jostle.errors import ChoiceError
from jostle.tasks import CLASSIFICATION, RANGES, Task

__all__ = ["SHIPPED", "Shipped", "rehearsals_of", "shipped_history", "shipped_maker"]


@frozen
class Shipped:
    """A maker that came with Jostle."""

    task: Task[Any]
    among: tuple[str, ...]
    axes: tuple[int, ...] = ()
    """For grids, the numbers of axes it is for."""


CLASSIFIERS = (
    "Majority",
    "NaiveBayes",
    "BayesTree",
    "BayesTree(depth=2)",
    "Mohammed(depth=1)",
    "Mohammed(depth=2)",
    "Mohammed",
    "Mohammed(depth=5, utility=Gini)",
    "Mohammed(numeric=ordered)",
    "Mohammed(depth=2, numeric=ordered)",
    "FriedmanSchuster",
    "FriedmanSchuster(depth=5)",
    "Jagannathan",
    "FletcherIslam",
    "PatilSingh",
    "RandomForest(trees=1)",
    "PooledBayes",
    "PooledTree",
)
GRIDS = (
    "Identity",
    "Uniform",
    "UniformGrid",
    "AdaptiveGrid",
    "DAWA",
    "MWEM",
    "Privelet",
    "HierarchicalB",
    "QuadTree",
    "AHP",
    "GreedyH",
    "ShrunkTree",
)

SHIPPED = {
    "classification": Shipped(CLASSIFICATION, CLASSIFIERS),
    "ranges-1d": Shipped(RANGES, GRIDS, axes=(1,)),
    "ranges-2d": Shipped(RANGES, GRIDS, axes=(2,)),
}


@lru_cache(maxsize=4)
def shipped_history(task: Task[Any]) -> History:
    """Return the rehearsals of a task that came with Jostle."""
    path = shipped_folder() / f"{task.name}.jsonl.gz"
    if not path.exists():
        raise ChoiceError(
            f"no rehearsals of the task {task.name!r} came with Jostle",
            fix="trained_on=a folder of public databases",
        )
    return read_history(path)


def rehearsals_of(name: str) -> History:
    """Return the rehearsals that a maker which came with Jostle learned from."""
    shipped = _shipped(name)
    history = shipped_history(shipped.task)
    if not shipped.axes:
        return history
    return history.of(key for key, known in history.instances.items() if len(known.sketch.columns) in shipped.axes)


def _shipped(name: str) -> Shipped:
    if name not in SHIPPED:
        raise ChoiceError(f"no maker {name!r} came with Jostle", fix=f"one of {', '.join(SHIPPED)}")
    return SHIPPED[name]


@lru_cache(maxsize=8)
def shipped_maker(name: str) -> Trained:
    """Return what a maker that came with Jostle has learned."""
    _shipped(name)
    return Trained.read(shipped_folder() / f"{name}.json")
