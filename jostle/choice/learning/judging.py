"""Judges that a programmer writes: functions of an Option's answer and of the truth, as two lists.

On a grid these are the answers to the workload's queries, estimated and true; on a table the classes of the held-out
rows, predicted and true. A judge that takes three values is also told how sure the answers are: on a table the chance
of each class, a dictionary for each row. All are of public databases, where judging happens, and nowhere else.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen

from jostle.errors import ChoiceError, JostleError, said_by
from jostle.tasks import Instance, Judge, Task
from jostle.tasks.metafeature import version_of

Loss = Callable[..., Any]
"""From the answers and the truth, and perhaps how sure the answers are: from 0, the less the better."""
NUMBERS = (int, float, Fraction, np.integer, np.floating)


@frozen
class Judging:
    """The loss of a judge, from an instance and an answer on it."""

    loss: Loss
    sure: bool = False
    """Whether the function is told how sure answers are."""

    def __call__(self, instance: Instance, answer: Any) -> float:
        """What the function says of the lists."""
        lists = told(instance, answer, sure=self.sure)
        try:
            found = self.loss(*lists)
        except JostleError:
            raise
        except Exception as mistake:  # noqa: BLE001 - the user's own code may fail in any way
            raise ChoiceError(
                f"{getattr(self.loss, '__name__', 'the judge')} fails: {said_by(mistake)}",
                why="it is called with what an Option answered on a public database, and with the truth",
                fix="let it give a number from 0 up for any two lists of equal length",
            ) from None
        number = float(found) if isinstance(found, NUMBERS) and not isinstance(found, bool) else math.nan
        if not math.isfinite(number) or number < 0:
            raise ChoiceError(
                f"{getattr(self.loss, '__name__', 'the judge')} gives {found!r}, which is no loss",
                why="a loss is a number from 0 up, the less the better",
                fix="return mean(...) of distances",
            )
        return number


def two_lists(instance: Instance, answer: Any) -> tuple[list[Any], list[Any]]:
    """What an Option answered, and what would have been right."""
    return instance.lists(answer)


def told(instance: Instance, answer: Any, *, sure: bool) -> list[list[Any]]:
    """What a judge is told: two lists, and how sure the answers are if it takes that."""
    chances = instance.chances(answer) if sure else []
    if chances is None:
        raise ChoiceError(
            "a judge asks how sure answers are that do not say",
            why="only a model says how likely each class is",
            fix="def loss(answers, truth):",
        )
    return [*two_lists(instance, answer), chances] if sure else [*two_lists(instance, answer)]


def judge_of(given: Judge | Loss | str | None, task: Task[Any] | None = None) -> Judge | None:
    """A judge: the one of a task that a name stands for, or one made of a function."""
    if given is None or isinstance(given, Judge):
        return given
    if isinstance(given, str) and task is not None:
        return task.judge(given)
    if not callable(given):
        raise ChoiceError(
            f"judged_by is {type(given).__name__}", why="a judge is a function", fix="def loss(answers, truth):"
        )
    takes = inspect.signature(given)
    try:
        takes.bind((), ())
        sure = False
    except TypeError:
        sure = True
    if sure:
        try:
            takes.bind((), (), ())
        except TypeError:
            raise ChoiceError(
                f"{getattr(given, '__name__', 'the judge')} does not take two values",
                why="a judge is called with the answers and the truth, as two lists, and if it takes them with chances",
                fix="def loss(answers, truth):",
            ) from None
    # Histories know judges by name, so the name says which text it has.
    return Judge(f"{getattr(given, '__name__', 'judge')}-{version_of(given)}", Judging(given, sure))
