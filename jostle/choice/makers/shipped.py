"""Trained makers and their histories: those that came with Jostle, and those that are kept on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen

from jostle.choice.learning.history import History, KnownInstance, read_history
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.trained import Trained
from jostle.corpora.corpus import Role, known
from jostle.corpora.databases import ArrayCells, FrameRows, PublicDatabase
from jostle.errors import ChoiceError, JostleError, shown
from jostle.files.content import FileMark
from jostle.learned import files
from jostle.learned.files import shipped_folder
from jostle.tables.schema import Schema
from jostle.tasks import CLASSIFICATION, PUBLISHING, RANGES, SELECTION, Task
from jostle.tasks.metafeature import Metafeature


class Learns(Protocol):
    """How a maker learns.

    A kept maker is found by a mark of all that it was learned from: Options, metafeatures and predictions with their
    versions, the databases or the history, and how much may be spent. Whatever changes of these, the mark changes.
    """

    def facts(self, maker: ChoiceMaker) -> Iterable[object]:
        """All that a maker's learning depends on."""
        ...


def place_of(training: Learns, maker: ChoiceMaker) -> Path:
    """The file that a maker which learns so is kept in."""
    return files.place_of("makers", maker.label, files.mark_of(training.facts(maker)))


def kept(training: Learns, maker: ChoiceMaker) -> Trained | None:
    """The maker as it learned before, if that is kept and still fits; or None."""
    try:
        path = place_of(training, maker)
        if not path.exists():
            return None
        trained = Trained.read(path, maker.priors())
        trained.check(maker.among, maker.informed_by)
    except JostleError:
        # Whatever is wrong with what is kept, it can be learned again.
        return None
    return trained


def keep(training: Learns, maker: ChoiceMaker, trained: Trained) -> Path:
    """Keep what a maker learned, and return the file."""
    path = place_of(training, maker)
    trained.save(path)
    return path


def identity_of(database: PublicDatabase) -> str:
    """A text that changes when a database does, without reading all of it where that can be helped.

    Of a file: its place, and the hash that it had when it was looked at, or its size and time. Of what a generator or a
    package makes: how it is made. Of what is in memory: its digest.
    """
    reader = database.reader
    said = repr(reader)
    if isinstance(reader, FrameRows | ArrayCells) or " at 0x" in said:
        return database.digest
    mark = getattr(reader, "mark", None)
    if isinstance(mark, FileMark):
        return f"{said} {mark.digest}"
    path = getattr(reader, "path", None)
    if isinstance(path, Path):
        try:
            state = path.stat()
        except OSError:
            return said
        return f"{said} {state.st_size} {state.st_mtime_ns}"
    return said


@frozen
class Shipped:
    """A maker that came with Jostle.

    `jostle train` with the databases named in docs/benchmarks/choosing.md makes them again. A maker that came with
    Jostle learned from databases whose role it is to be learned from (`jostle.corpora.corpus`): constants inside
    Options were set on others. The histories have rehearsals on both, since a program may name databases that
    everybody has.
    """

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
    maker: str = ""
    """Whose losses are told with those of its Options, if it is not of that name itself."""
    judge: str | None = None
    """What it is to do well by, of the task's judges; None for the task's own."""
    looks: bool = True
    """Whether it may look at metafeatures; not where what it learned from parts of tables did harm on whole ones."""
    role: Role | None = "learn"
    """Which databases it learned from; None for all that the history has."""
    asked: bool = False
    """Whether it learned from questions of all kinds; else from what is asked where nobody says."""
    besides: frozenset[str] = frozenset()
    """Metafeatures of the task that it does not look at: what was rehearsed does not cover all their values."""

    @property
    def informed_by(self) -> tuple[Metafeature, ...]:
        """The metafeatures that it may look at."""
        return tuple(
            metafeature
            for metafeature in self.task.rehearsal.metafeatures
            if self.looks and metafeature.name not in self.besides
        )

    def spans(self, schema: Schema) -> bool:
        """Whether it is for tables of so many columns."""
        return not self.axes or len(schema.names) in self.axes


def all_but(task: Task[Any], names: Iterable[str]) -> frozenset[str]:
    """The metafeatures of a task that are none of these."""
    return frozenset(metafeature.name for metafeature in task.rehearsal.metafeatures) - frozenset(names)


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
ASKED_CLASSIFIERS = (
    "Majority",
    "NaiveBayes",
    "BayesTree",
    "Mohammed(depth=1)",
    "Mohammed(depth=2)",
    "Mohammed",
    "Mohammed(depth=5, utility=Gini)",
    "Mohammed(numeric=ordered)",
    "Mohammed(depth=2, numeric=ordered)",
    "PooledBayes",
    "PooledTree",
    "MarginalRegression",
)
"""Those that are rehearsed on tables of all kinds and sizes as well: different ones, and fast."""
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

ASKED_GRIDS = (
    "AskedCells",
    "AskedCells(tree=refined)",
    "RefinedTree",
    "ShrunkTree",
    "Identity",
    "Uniform",
    "UniformGrid",
    "AdaptiveGrid",
    "HierarchicalB",
    "Privelet",
    "GreedyH",
)
"""Those that are rehearsed on questions of all kinds and sizes: fast enough on many cells."""
ASKED_AMONG = ("AskedCells", "AskedCells(tree=refined)")
"""Those that are good on questions unlike those that were rehearsed; each more does harm there."""
LOOKED_AT = ("log_volume", "log_told", "log_parts", "log_records_epsilon")
"""By a maker for such questions: what a query is of noise and of records, whatever the domain and the kind."""

RIGHT = ("PooledTree", "Mohammed(depth=2)", "Mohammed(depth=1)", "Mohammed(depth=5, utility=Gini)", "Majority")
"""To predict as many rows right as can be; few Options, and different ones: each more gives learners noise to fit."""
BALANCED = ("Mohammed(depth=2)", "PooledTree", "NaiveBayes", "Mohammed", "Mohammed(depth=1)")
"""To predict as many of each class right as can be."""
SURE = ("PooledTree", "Majority", "PooledBayes", "MarginalRegression")
"""To give the true classes large chances."""
RANKING = ("MarginalRegression", "Mohammed(depth=1)", "Mohammed(depth=2)", "BayesTree", "PooledBayes", "PooledTree")
"""To rank rows by how likely a class is."""
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

TOLD = ("log_attributes", "log_classes", "log_rows_epsilon")
"""What makers of classifiers look at: how much there is to learn, and of how many rows beside the noise. An epsilon
alone says little of that, and few were rehearsed; each metafeature more gives learners noise to fit."""

SHIPPED = {
    **{
        f"classification{suffix}": Shipped(
            CLASSIFICATION,
            among,
            CLASSIFIERS,
            guess,
            classes=True,
            judge=suffix[1:] or None,
            besides=all_but(CLASSIFICATION, TOLD),
        )
        for suffix, among, guess in (
            ("", RIGHT, "Majority"),
            ("-balanced-error", BALANCED, ""),
            ("-log-loss", SURE, ""),
            ("-auc", RANKING, "Majority"),
        )
    },
    "ranges": Shipped(
        RANGES,
        ASKED_AMONG,
        ASKED_GRIDS,
        axes=(1, 2, 3),
        asked=True,
        besides=all_but(RANGES, LOOKED_AT),
    ),
    "publishing": Shipped(PUBLISHING, PUBLISHERS, PUBLISHERS),
    "selection": Shipped(SELECTION, SELECTING, SELECTORS),
    "selection-auc": Shipped(SELECTION, SELECTED_TO_RANK, SELECTORS, judge="auc", looks=False),
}
LINES = ("ShrunkTree", "RefinedTree", "DAWA", "GreedyH", "HierarchicalB", "UniformGrid", "MWEM")
MAPS = ("RefinedTree", "ShrunkTree", "AdaptiveGrid", "MWEM", "UniformGrid", "GreedyH")
ADVISED = {
    **{name: shipped for name, shipped in SHIPPED.items() if shipped.guess},
    "ranges-1d": Shipped(RANGES, LINES, GRIDS, "Uniform", axes=(1,), maker="ranges"),
    "ranges-2d": Shipped(RANGES, MAPS, GRIDS, "Uniform", axes=(2,), maker="ranges"),
}
"""Those whose losses are told beforehand (`jostle advise`): how far they are from a guess is part of that.

Of ranges it is told by the number of axes, of random ranges.
"""


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
    return rehearsals_for(shipped.task, axes=shipped.axes, role=shipped.role, asked=shipped.asked)


def rehearsals_for(
    task: Task[Any], *, axes: tuple[int, ...] = (), role: Role | None = "learn", asked: bool = False
) -> History:
    """The rehearsals of a task that came with Jostle, on databases of a role; on all that there are if None.

    Those of questions of all kinds if *asked*, else those of what is asked where nobody says.
    """
    history = shipped_history(task)
    return history.of(
        key
        for key, instance in history.instances.items()
        if (instance.asks is not None) == asked
        and (not axes or len(instance.sketch.columns) in axes)
        and (role is None or _role(instance) == role)
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
    first = _shipped(name)
    found = {
        shipped.judge or shipped.task.rehearsal.judges[0].name: each
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
