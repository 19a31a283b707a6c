"""Options that did not come with Jostle, audited as the built-in ones of their task are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jostle.audit.classifiers import classifier_subjects
from jostle.audit.curves import curve_subjects
from jostle.audit.grids import grid_subjects
from jostle.audit.publishers import publisher_subjects
from jostle.audit.subjects import Subject, look_in
from jostle.options.base import Option, own
from jostle.options.registry import get
from jostle.tasks import CLASSIFICATION, EVALUATION, PUBLISHING, RANGES, Task

__all__ = ["SUBJECTS", "own_subject"]

SUBJECTS: Mapping[Task[Any], Callable[[Option], Iterator[Subject[Any]]]] = {
    CLASSIFICATION: classifier_subjects,
    EVALUATION: curve_subjects,
    PUBLISHING: publisher_subjects,
    RANGES: grid_subjects,
}
"""How the Options of each task are audited."""


@look_in
def own_subject(name: str) -> Subject[Any] | None:
    """An Option of one's own as what is audited; None where there is none of this name."""
    called = name.removesuffix("Replaced")
    if called not in own():
        return None
    option = get(called)
    if option.task not in SUBJECTS:
        return None
    return next((each for each in SUBJECTS[option.task](option) if each.name == name), None)
