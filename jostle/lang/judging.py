"""Judges of a program: losses that say how bad an answer is, from the answers and the truth.

`judged by "auc"` names a loss of the task; `judged by loss` a function of the program, of two values. On grids it is
given two lists of numbers: what was answered to each query of the workload, and what would have been right. On tables,
two lists of classes: those predicted for the held-out rows, and their own; with a third value it is given the chance of
each class, too. It is called on public databases alone, so it sees nothing private.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from jostle.lang.arithmetic import is_number, kind_of
from jostle.lang.functions import Function
from jostle.lang.program_options import version_of
from jostle.lang.stops import Stop, placed

if TYPE_CHECKING:
    from jostle.lang.program import Program, SentProgram
    from jostle.tasks import Instance, Judge, Task

__all__ = ["Verdict", "judge_of"]


def judge_of(program: Program, given: Any, task: Task[Any]) -> Judge | None:
    """A function of a program as a judge, or the task's judge of a name."""
    from jostle.tasks import Judge  # noqa: PLC0415 - needs what learns

    if given is None:
        return None
    if isinstance(given, str):
        return task.judge(given)
    if not isinstance(given, Function):
        raise Stop("J409", f"{kind_of(given)} judges", "a judge is a function of answers and truth", "def loss(a, t):")
    # Histories know judges by name, so the name says which text it has.
    return Judge(f"{given.name}-{version_of(program, given.name)}", Verdict(program, given))


class Verdict:
    """How bad an answer is, as a function of the program says; it travels as the program's text."""

    def __init__(self, program: Program, function: Function) -> None:
        self.program = program
        self.function = function

    def __call__(self, instance: Instance, answer: Any) -> float:
        """The function's loss, given the answers and the truth."""
        from jostle.choice.learning.judging import told  # noqa: PLC0415 - needs what learns

        name = self.function.name
        sure = len(self.function.parameters) - len(self.function.defaults) > 2
        try:
            found = self.function.run(self.program, told(instance, answer, sure=sure), {}, None)
            if not is_number(found):
                raise Stop("J501", f"`{name}` gives {kind_of(found)}", "a loss is a number", "return 0.1")  # noqa: TRY301 - given its place below
            if not math.isfinite(found) or found < 0:
                title, why = f"`{name}` gives {float(found):.4g}", "a loss is a number from 0 up, the less the better"
                raise Stop("J501", title, why, "return abs(...)")  # noqa: TRY301 - as above
        except Stop as mistake:
            raise placed(mistake, self.program.source, self.function.definition.name_span) from None
        return float(found)

    def __reduce__(self) -> tuple[object, ...]:
        return verdict_of, (self.program.sent, self.function.name)


def verdict_of(sent: SentProgram, function: str) -> Verdict:
    """The judge of a program that was sent here."""
    from jostle.lang.program import reloaded  # noqa: PLC0415 - programs hold what is here

    program = reloaded(sent)
    return Verdict(program, program.functions[function])
