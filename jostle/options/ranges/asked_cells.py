"""AskedCells: count what the queries tell apart, and nothing finer, each set of axes that they are about by itself.

Ours. A query that holds an axis whole says nothing of it, so queries of one axis at a time are answered from the counts
of that axis alone, which hold many more records each than the grid's cells do. Budget is shared among such sets of
axes, by the cube roots of what least squares would be off by, if that is less than all of them on one tree would be.
And runs of cells that no query cuts are one: a handful of ranges leaves few of them, however fine the grid.

On each of these smaller grids an Option for trees counts. Together they make the grid that is nearest to even, which is
post-processing. Sets that share an axis are counted together.

McKenna, Miklau, Hay, Machanavajjhala, PVLDB 11(10), 2018 (HDMM), for strategies of marginals and how to share a budget
among them; Li, Hay, Miklau, Wang, PVLDB 7(5), 2014, for reducing the domain by what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.ranges.base import GridOption
from jostle.options.ranges.hierarchies import ShrunkTree
from jostle.options.ranges.reading import SPLITS
from jostle.options.ranges.refined_tree import RefinedTree
from jostle.options.ranges.tree import NEARLY, SAMPLE, Tree, best_shares, exact_shares, tree_error, tree_over
from jostle.parameters import choice
from jostle.privacy.events import Allotment, Event
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema, may_be_blank
from jostle.tasks.ranges.boxes import Boxes
from jostle.tasks.ranges.estimate import Estimate, Workload
from jostle.tasks.ranges.task import grid_shape

Floats = NDArray[np.float64]
Axes = tuple[int, ...]
CountedBy = Literal["shrunk", "refined"]
RARE = 1 / 20
"""Of all queries: sets of axes that fewer are about are not counted by themselves."""


@frozen(eq=False)
class Facet:
    """A set of axes, and the queries that are about no others."""

    axes: Axes
    workload: Workload
    tree: Tree

    @classmethod
    def of(cls, workload: Workload, axes: Axes) -> Facet:
        """The facet of some axes."""
        within = _on(workload, axes)
        return cls(axes, within, tree_over(within.shape, within.runs()))

    def load(self, workload: Workload) -> Floats:
        """What queries on these axes ask of the tree's levels, as if all of them were looked at."""
        some = workload.sample(SAMPLE)
        return self.tree.load(some) * (len(workload) / len(some))

    def error(self, load: Floats) -> float:
        """The squared error, summed, that least squares has with all of the budget, up to a constant."""
        sizes = len(self.tree.starts[-1]) / np.array([len(starts) for starts in self.tree.starts])
        return float(tree_error(best_shares(load, sizes), load, sizes))


@frozen(eq=False)
class AskedAxes:
    """The sets of axes that queries are about."""

    cut: NDArray[np.bool_]
    """A row for each set, a column for each axis."""
    which: NDArray[np.intp]
    """Of each query, its set."""
    often: NDArray[np.bool_]
    """Which sets are those of more than a few queries."""

    @classmethod
    def of(cls, workload: Workload, *, apart: bool = True) -> AskedAxes:
        """Those of a workload; one of all axes if they are not to be taken *apart*."""
        cut = (workload.low > 0) | (workload.high < np.array(workload.shape))
        cut[~cut.any(axis=1), int(np.argmin(workload.shape))] = True  # all of the grid: some axis tells that
        numbers = (cut | (not apart)) @ (1 << np.arange(cut.shape[1]))
        found, which, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
        return cls((found[:, None] >> np.arange(cut.shape[1]) & 1) > 0, which, sizes >= RARE * len(workload))

    @property
    def is_one(self) -> bool:
        """Whether all queries are counted together: where sets share an axis, two counts of it would disagree."""
        return bool(self.often.sum() + (not self.often.all()) == 1 or (self.cut.sum(axis=0) > 1).any())

    @property
    def axes(self) -> Axes:
        """All axes that some query is about."""
        return _axes(self.cut.any(axis=0))


def facets_of(workload: Workload, *, apart: bool = True) -> tuple[list[Facet], tuple[Fraction, ...]]:
    """The facets of a workload, and their shares of the budget: of all queries together if not *apart*."""
    kinds = AskedAxes.of(workload, apart=apart)
    if kinds.is_one:
        return [Facet.of(workload, kinds.axes)], (Fraction(1),)
    count_of = range(len(kinds.cut))
    parts = [_some(workload, kinds.which == place) for place in count_of]
    own = [Facet.of(part, _axes(cut)) for part, cut in zip(parts, kinds.cut, strict=True)]
    whole = Facet.of(workload, kinds.axes)
    alone = [facet.error(facet.load(facet.workload)) for facet in own]
    together = [whole.load(_on(part, whole.axes)) for part in parts]
    # Those that gain most by a count of their own are the first to have one.
    gain = [one / whole.error(load) for one, load in zip(alone, together, strict=True)]
    order = sorted(count_of, key=lambda place: (not kinds.often[place], gain[place]))
    ways = []
    for count in range(int(kinds.often.sum()) + 1):
        roots = [alone[place] ** (1 / 3) for place in order[:count]]
        if rest := [together[place] for place in order[count:]]:
            roots.append(whole.error(np.sum(rest, axis=0)) ** (1 / 3))
        ways.append(roots)
    best = int(np.argmin([sum(roots) for roots in ways]))
    facets = [own[place] for place in order[:best]]
    if left := order[best:]:
        facets.append(Facet.of(_some(workload, np.isin(kinds.which, left)), _axes(kinds.cut[left].any(axis=0))))
    return facets, exact_shares(ways[best])


@frozen(eq=False)
class Told:
    """What queries tell apart, for others that are asked of the same answer."""

    axes: AskedAxes
    runs: Sequence[NDArray[np.int64]]
    """Per axis, where the runs of cells begin that no query cuts."""

    @classmethod
    def of(cls, workload: Workload) -> Told:
        """What a workload tells apart."""
        return cls(AskedAxes.of(workload), workload.runs())

    def tells(self, queries: Boxes) -> NDArray[np.bool_]:
        """The queries that are about axes which were asked for together, and cut none of the runs."""
        cut = (queries.low > 0) | (queries.high < np.array(queries.shape))
        sets = self.axes.cut.any(axis=0)[None] if self.axes.is_one else self.axes.cut
        known = (cut[:, None, :] <= sets[None]).all(axis=2).any(axis=1)
        for axis, (starts, side) in enumerate(zip(self.runs, queries.shape, strict=True)):
            ends = np.append(starts, side)
            known &= np.isin(queries.low[:, axis], ends) & np.isin(queries.high[:, axis], ends)
        return np.asarray(known)


def tells_all(workload: Workload) -> bool:
    """Whether queries tell all cells apart, more or less: then `AskedCells` is the Option that it counts by."""
    cells = math.prod(workload.shape)
    if AskedAxes.of(workload).is_one:
        return math.prod(map(len, workload.runs())) > NEARLY * cells
    facets, _ = facets_of(workload)
    return len(facets) == 1 and len(facets[0].tree.starts[-1]) == cells


def _some(workload: Workload, chosen: NDArray[np.bool_]) -> Workload:
    return Workload(workload.shape, workload.low[chosen], workload.high[chosen])


def _on(workload: Workload, axes: Axes) -> Workload:
    """The queries, on some of the axes alone."""
    return Workload(tuple(workload.shape[axis] for axis in axes), workload.low[:, axes], workload.high[:, axes])


def _axes(marks: NDArray[np.bool_]) -> Axes:
    return tuple(np.flatnonzero(marks).tolist())


def fitted(shape: tuple[int, ...], margins: Sequence[tuple[Facet, Floats]], weights: Sequence[float]) -> Floats:
    """The grid nearest to even, in relative entropy, that has the counts of facets' leaves, which share no axis.

    They are made to agree on the number of records: the weighted mean of theirs.
    """
    total = max(float(np.average([leaves.sum() for _, leaves in margins], weights=weights)), 0.0)
    grid = np.full(shape, total / math.prod(shape))
    for facet, leaves in margins:
        others = tuple(axis for axis in range(len(shape)) if axis not in facet.axes)
        tree, wanted = facet.tree, leaves * (total / max(float(leaves.sum()), 1e-300))
        held = np.add.reduceat(grid.sum(axis=others).ravel()[tree.order], tree.starts[-1])
        factors = np.empty(len(tree.order))
        raised = np.divide(wanted, held, out=np.zeros_like(held), where=held > 0)
        factors[tree.order] = np.repeat(raised, tree.leaf_sizes)
        grid *= np.expand_dims(factors.reshape(tree.shape), others)
    return grid


@option
@frozen
class AskedCells(GridOption):
    """Counts what the queries tell apart: sets of axes one by one, and runs of cells that no query cuts.

    Privacy: each set of axes is counted by `ShrunkTree` or `RefinedTree`, on the table of these columns alone and with
    a share of epsilon; in turn they cost epsilon. Which sets there are, their shares and their trees depend on the
    workload and the grid's shape only. A set is counted by a tree over runs of cells, which is a public partition: a
    record is in one of its parts, as it is in one cell. Fitting looks at what was released. Where a column may be
    blank, all columns are counted together, since a record counts only if it has a value in each.
    """

    version: ClassVar[int] = 1
    fitted_on: ClassVar[tuple[str, ...]] = SPLITS.fitted_on
    looks_at_workload = True

    tree: CountedBy = choice("shrunk", CountedBy)
    """Which Option counts: `ShrunkTree`, or `RefinedTree`, which is better where records are few."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """All of it, in as many parts as the queries have sets of axes."""
        return Allotment(epsilon)

    def run(self, db: Probe, workload: Workload | None, epsilon: Fraction) -> Estimate:
        """The grid that agrees with all counts."""
        schema, shape = db.schema, grid_shape(db.schema)
        wanted = workload or Workload.random_ranges(shape)
        facets, shares = facets_of(wanted, apart=not may_be_blank(schema, schema.names))
        if len(facets) == 1 and len(facets[0].axes) == len(shape):
            return self._counted(db, facets[0], epsilon)
        margins = []
        for facet, part in zip(facets, shares, strict=True):
            names = [schema.names[axis] for axis in facet.axes]
            cells = self._counted(db.only(*names), facet, epsilon * part).cells
            margins.append((facet, np.add.reduceat(cells.ravel()[facet.tree.order], facet.tree.starts[-1])))
        return Estimate(fitted(shape, margins, [float(part) ** 2 for part in shares]))

    def errs_as(self, workload: Workload | None) -> GridOption:
        """The Option that it counts by, where all cells are told apart: it is that one by another name."""
        if workload is None or not tells_all(workload):
            return self
        return RefinedTree() if self.tree == "refined" else ShrunkTree()

    def telling(self, workload: Workload | None) -> Callable[[Boxes], NDArray[np.bool_]] | None:
        """The queries that are put together of what it counts."""
        return None if workload is None else Told.of(workload).tells

    def _counted(self, db: Probe, facet: Facet, epsilon: Fraction) -> Estimate:
        if self.tree == "refined":
            return RefinedTree().counted(db, facet.tree, epsilon)
        return ShrunkTree().counted(db, facet.tree, facet.workload, epsilon)
