"""Tasks: what can be asked of a private table, how it is judged, learned from and shown."""

from jostle.tasks.base import TASKS, UNTOLD, Instance, Judge, Task, make_instance, register, task_of
from jostle.tasks.classification import CLASSIFICATION
from jostle.tasks.evaluation import EVALUATION
from jostle.tasks.publishing import PUBLISHING
from jostle.tasks.ranges import RANGES
from jostle.tasks.selection import SELECTION
from jostle.tasks.statistics import MEANS, QUANTILES, SUMS, VARIANCES

__all__ = [
    "CLASSIFICATION",
    "EVALUATION",
    "MEANS",
    "PUBLISHING",
    "QUANTILES",
    "RANGES",
    "SELECTION",
    "SUMS",
    "TASKS",
    "UNTOLD",
    "VARIANCES",
    "Instance",
    "Judge",
    "Task",
    "make_instance",
    "register",
    "task_of",
]
