"""What came with Jostle: trained makers for its tasks, and the histories of rehearsals they were trained on.

`jostle train` with the databases named in docs/benchmarks/choosing.md makes them again. A maker that came with Jostle
learned from databases whose role it is to be learned from (`jostle.corpora.roles`): constants inside Options were set
on others. The histories have rehearsals on both, since a program may name databases that everybody has.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from attrs import frozen

from jostle.choice.learning.history import History, KnownInstance, read_history
from jostle.choice.makers.trained import Trained
from jostle.corpora.roles import Role, known
from jostle.errors import ChoiceError, shown
from jostle.learned.places import shipped_folder
from jostle.tables.schema import Schema
from jostle.tasks import CLASSIFICATION, PUBLISHING, RANGES, SELECTION, Task

__all__ = ["ADVISED", "SHIPPED", "Shipped", "rehearsals_for", "rehearsals_of", "shipped_history", "shipped_maker"]


@frozen
class Shipped:
    """A maker that came with Jostle."""

    task: Task[Any]
    among: tuple[str, ...]
    rehearsed: tuple[str, ...]
    """The Options of its task that losses are known of."""
    guess: str = ""
    """The one of them that knows next to nothing, which the others are compared with; empty where there is none."""
    classes: bool = False
    """Whether classes are predicted: losses are then shares, and the guess is the commonest class."""
    axes: tuple[int, ...] = ()
    """For grids, the numbers of axes it is for."""
    judge: str | None = None
    """What it is to do well by, of the task's judges; None for the task's own."""
    looks: bool = True
    """Whether it may look at metafeatures; not where what it learned from parts of tables did harm on whole ones."""
    role: Role | None = "learn"
    """Which databases it learned from; None for all that the history has."""

    def spans(self, schema: Schema) -> bool:
        """Whether it is for tables of so many columns."""
        return not self.axes or len(schema.names) in self.axes


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
    "RandomForest",
    "RandomForest(trees=1)",
    "PooledBayes",
    "PooledTree",
    "MarginalRegression",
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
    "RefinedTree",
)

RIGHT = ("PooledTree", "Mohammed(depth=1)", "NaiveBayes", "Mohammed(depth=2)", "Majority", "MarginalRegression")
"""To predict as many rows right as can be; few Options, and different ones: each more gives learners noise to fit."""
RANKING = (
    "MarginalRegression",
    "Mohammed(depth=1)",
    "Mohammed",
    "BayesTree(depth=2)",
    "PooledTree",
    "Mohammed(depth=5, utility=Gini)",
)
"""To rank rows by how likely a class is."""
LINES = ("ShrunkTree", "RefinedTree", "DAWA", "GreedyH", "HierarchicalB", "UniformGrid", "MWEM")
SELECTING = (
    "FirstFeatures(top=0)",
    "FirstFeatures",
    "Peeling(top=3, training=0.9)",
    "Peeling(training=0.9)",
    "Peeling(training=0.7)",
    "Peeling(training=0.5)",
    "Peeling(training=0.3)",
)
"""Each with one budget for selecting and training, which is split in these ways."""
SELECTED_TO_RANK = ("FirstFeatures", "Peeling(training=0.5)")
"""All features; where they are too many, as of texts, the best of some."""
SELECTORS = (
    *SELECTING,
    "SparseVector(training=0.9)",
    "ScorePerturbation(training=0.9)",
    "ClusterSelection(training=0.9)",
)
PUBLISHERS = ("PrivPfC", "PrivBayes", "ProjectedHistogram")
MAPS = ("RefinedTree", "ShrunkTree", "AdaptiveGrid", "MWEM", "UniformGrid", "GreedyH")

SHIPPED = {
    "classification": Shipped(CLASSIFICATION, RIGHT, CLASSIFIERS, "Majority", classes=True),
    "classification-auc": Shipped(CLASSIFICATION, RANKING, CLASSIFIERS, "Majority", classes=True, judge="auc"),
    "ranges-1d": Shipped(RANGES, LINES, GRIDS, "Uniform", axes=(1,)),
    "ranges-2d": Shipped(RANGES, MAPS, GRIDS, "Uniform", axes=(2,)),
    "publishing": Shipped(PUBLISHING, PUBLISHERS, PUBLISHERS),
    "selection": Shipped(SELECTION, SELECTING, SELECTORS),
    "selection-auc": Shipped(SELECTION, SELECTED_TO_RANK, SELECTORS, judge="auc", looks=False),
}
ADVISED = {name: shipped for name, shipped in SHIPPED.items() if shipped.guess}
"""Those whose losses are told beforehand (`jostle advise`): how far they are from a guess is part of that."""


@lru_cache(maxsize=4)
def shipped_history(task: Task[Any]) -> History:
    """The rehearsals of a task that came with Jostle."""
    path = shipped_folder() / f"{task.name}.jsonl.gz"
    if not path.exists():
        raise ChoiceError(
            f"no rehearsals of the task {task.name!r} came with Jostle",
            fix="trained_on=a folder of public databases",
        )
    return read_history(path)


def rehearsals_of(name: str) -> History:
    """The rehearsals that a maker which came with Jostle learned from."""
    shipped = _shipped(name)
    return rehearsals_for(shipped.task, axes=shipped.axes, role=shipped.role)


def rehearsals_for(task: Task[Any], *, axes: tuple[int, ...] = (), role: Role | None = "learn") -> History:
    """The rehearsals of a task that came with Jostle, on databases of a role; on all that there are if None."""
    history = shipped_history(task)
    return history.of(
        key
        for key, instance in history.instances.items()
        if (not axes or len(instance.sketch.columns) in axes) and (role is None or _role(instance) == role)
    )


def _role(instance: KnownInstance) -> Role | None:
    database = known().get(instance.database)
    return None if database is None else database.role


def _shipped(name: str) -> Shipped:
    if not isinstance(name, str) or name not in SHIPPED:
        raise ChoiceError(f"no maker {shown(name)} came with Jostle", fix=f"one of {', '.join(SHIPPED)}")
    return SHIPPED[name]


def shipped_by(name: str, judge: str) -> str:
    """The name of the maker that is for the same as one that came with Jostle, and learned by this loss.

    >>> shipped_by("classification", "auc")
    'classification-auc'
    """
    if name in RANGES.also:
        found = {RANGES.judges[0].name: name}
    else:
        first = _shipped(name)
        found = {
            shipped.judge or shipped.task.judges[0].name: each
            for each, shipped in SHIPPED.items()
            if (shipped.task, shipped.axes) == (first.task, first.axes)
        }
    if judge not in found:
        raise ChoiceError(
            f"no maker {name!r} came with Jostle that is judged by {judge!r}",
            why=f"there is one for {', '.join(found)}",
            fix=f"MkChoiceMaker(among=..., judged_by={judge!r}), which learns when it is first run",
        )
    return found[judge]


@lru_cache(maxsize=8)
def shipped_maker(name: str) -> Trained:
    """The learned state of a maker that came with Jostle."""
    _shipped(name)
    return Trained.read(shipped_folder() / f"{name}.json")
