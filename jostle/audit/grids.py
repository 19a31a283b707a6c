"""Every Option of the grid task as it is called, audited through the door: table, allotment, mechanisms, estimate.

Each subject rehearses on grids of four cells, which runs the same code as a private table does but for the source of
bits. An estimate is reduced to its cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from jostle.audit.pairs import Relation, Vector, histogram_pairs
from jostle.audit.subjects import Outputs, Sampler, Subject, register
from jostle.options.base import Option
from jostle.options.registry import built_in
from jostle.privacy.opening import rehearse
from jostle.tables import Table
from jostle.tasks import RANGES
from jostle.tasks.ranges.workload import Workload

__all__ = ["GRIDS"]

RUNS = 500
SHAPE = (2, 2)


@lru_cache
def _table(counts: Vector, relation: Relation) -> Table:
    return Table.from_grid(np.array(counts).reshape(SHAPE), neighbours=relation)


def _estimated(option: Callable[..., Any], relation: Relation) -> Callable[..., Outputs]:
    """The sample that runs an Option again and again in one rehearsal."""
    workload = Workload.all_ranges(SHAPE)

    def sample(noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Outputs:
        db = rehearse(_table(data, relation), seed=int(noise.below(2**62, 1)[0]))
        cells = [option(db, workload, epsilon=epsilon).cells.ravel() for _ in range(size)]
        return np.round(np.array(cells), 6)

    return sample


def grid_subjects(option: Option) -> Iterator[Subject[Any]]:
    """Yield an Option of range queries as what is audited, under each relation of neighbours."""
    for relation in get_args(Relation):
        yield Subject(
            name=option.name + ("Replaced" if relation == "replace_one" else ""),
            module=__name__,
            about=f"4 cells by {option.name}, a record {'replaced' if relation == 'replace_one' else 'added'}",
            pairs=histogram_pairs(4, relation),
            sample=_estimated(option, relation),
            samples=RUNS,
        )


GRIDS: tuple[Subject[Any], ...] = tuple(
    subject for kind in built_in() if kind.task is RANGES for subject in grid_subjects(kind())
)

for _subject in GRIDS:
    register(_subject)
