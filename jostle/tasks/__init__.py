"""Tasks: what can be asked of a private table, how it is judged, learned from and shown."""

from jostle.tasks.base import TASKS, UNTOLD, Instance, Judge, Task, make_instance, register, task_of
from jostle.tasks.classification import CLASSIFICATION
from jostle.tasks.evaluation import EVALUATION
from jostle.tasks.publishing import PUBLISHING
from jostle.tasks.ranges import RANGES
from jostle.tasks.selection import SELECTION

__all__ = [
    "CLASSIFICATION",
    "EVALUATION",
    "PUBLISHING",
    "RANGES",
    "SELECTION",
    "TASKS",
    "UNTOLD",
    "Instance",
    "Judge",
    "Task",
    "make_instance",
    "register",
    "task_of",
]
