"""Judges that a programmer writes: functions of an Option's answer and of the truth, as two lists.

On a grid these are the answers to the workload's queries, estimated and true; on a table the classes of the held-out
rows, predicted and true. Both are of public databases, where judging happens, and nowhere else.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen

from jostle.choice.learning.rehearse import Judge
from jostle.choice.metafeatures.base import version_of
from jostle.choice.public.instances import GridInstance, PublicInstance
from jostle.errors import ChoiceError, JostleError

__all__ = ["Judging", "Loss", "judge_of", "two_lists"]

Loss = Callable[[Sequence[Any], Sequence[Any]], Any]
"""From the answers and the truth: from 0, the less the better."""
NUMBERS = (int, float, Fraction, np.integer, np.floating)


@frozen
class Judging:
    """The loss of a judge, from an instance and an answer on it."""

    loss: Loss

    def __call__(self, instance: PublicInstance, answer: Any) -> float:
        """Return what the function says of the two lists."""
        lists = two_lists(instance, answer)
        try:
            found = self.loss(*lists)
        except JostleError:
            raise
        except Exception as mistake:  # noqa: BLE001 - the user's own code may fail in any way
            raise ChoiceError(
                f"{getattr(self.loss, '__name__', 'the judge')} fails: {type(mistake).__name__}: {mistake}",
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


def two_lists(instance: PublicInstance, answer: Any) -> tuple[list[Any], list[Any]]:
    """Return what an Option answered, and what would have been right."""
    if isinstance(instance, GridInstance):
        return answer.answers(instance.workload).tolist(), instance.truth.tolist()
    classes = instance.schema.classes
    predicted = np.argmax(answer.chances(instance.codes), axis=1)
    return [classes[code] for code in predicted.tolist()], [classes[code] for code in instance.labels.tolist()]


def judge_of(given: Judge | Loss | None) -> Judge | None:
    """Return a judge, made of a function of two lists if it is none yet."""
    if given is None or isinstance(given, Judge):
        return given
    if not callable(given):
        raise ChoiceError(
            f"judged_by is {type(given).__name__}", why="a judge is a function", fix="def loss(answers, truth):"
        )
    try:
        inspect.signature(given).bind((), ())
    except TypeError:
        raise ChoiceError(
            f"{getattr(given, '__name__', 'the judge')} does not take two values",
            why="a judge is called with the answers and the truth, as two lists",
            fix="def loss(answers, truth):",
        ) from None
    # Histories know judges by name, so the name says which text it has.
    return Judge(f"{getattr(given, '__name__', 'judge')}-{version_of(given)}", Judging(given))
