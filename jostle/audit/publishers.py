"""Every publishing Option as it is called, audited through the door, on the tables that classifiers are audited on.

Published data are reduced to which columns there are, and how many of the rows agree with every possible one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from jostle.audit.classifiers import subjects_of
from jostle.audit.subjects import Subject, register
from jostle.options.base import Option
from jostle.options.publishing.projected_histogram import ProjectedHistogram
from jostle.options.registry import built_in
from jostle.tasks import PUBLISHING
from jostle.tasks.publishing.published import Published

__all__ = ["PUBLISHERS", "publisher_subjects"]


def _reduced(published: Published) -> tuple[float, ...]:
    """For each column whether it is published, and for every possible row how many agree with it."""
    names = published.schema.names
    there = [float(name in published.names) for name in names]
    places = [names.index(name) for name in published.names]
    agreeing = []
    for row in product(*(range(published.schema[name].size) for name in names)):
        own = [column.groups[row[place]] for column, place in zip(published.columns, places, strict=True)]
        agreeing.append(float(published.counts[np.all(published.cells == own, axis=1)].sum()))
    return *there, *agreeing


def publisher_subjects(option: Option, name: str | None = None) -> Iterator[Subject[Any]]:
    """Yield a publishing Option as what is audited, under each relation of neighbours."""
    return subjects_of(option, _reduced, "rows", name)


PUBLISHERS: tuple[Subject[Any], ...] = (
    *(subject for kind in built_in() if kind.task is PUBLISHING for subject in publisher_subjects(kind())),
    *publisher_subjects(ProjectedHistogram(choose_k="partition"), "PartitionAndSelect"),
)

for _subject in PUBLISHERS:
    register(_subject)
