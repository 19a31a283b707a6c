"""Choice makers of a program."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jostle.choice.makers.making import MkChoiceMaker
from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicDatabase
from jostle.lang.arithmetic import kind_of
from jostle.lang.functions import Function
from jostle.lang.judging import judge_of
from jostle.lang.program_options import Measure, version_of
from jostle.lang.quick_start import quickly
from jostle.lang.stops import Stop
from jostle.options.base import Option
from jostle.tasks import UNTOLD, Task
from jostle.tasks.metafeature import Metafeature

if TYPE_CHECKING:
    from jostle.choice.makers.maker import ChoiceMaker

__all__ = ["make", "metafeature_of"]


def make(  # noqa: PLR0917 - a clause each
    program: Any,
    label: str,
    among: list[Any],
    informed_by: list[Any] | None,
    trained_on: Any,
    spending: Fraction | None,
    judged_by: Any,
) -> ChoiceMaker:
    """A choice maker as a program describes it."""
    for each in among:
        if not isinstance(each, Option):
            raise Stop("J408", f"{kind_of(each)} among Options", "a choice maker chooses among Options", "#Option")
    task = among[0].task if among else UNTOLD
    maker = MkChoiceMaker(
        among=among,
        informed_by=None if informed_by is None else _informed(program, informed_by, task),
        trained_on=_corpus(trained_on),
        spending=spending,
        judged_by=judge_of(program, judged_by, task),
        label=label,
    )
    return quickly(maker)


def _informed(program: Any, given: list[Any], task: Task[Any]) -> list[Metafeature]:
    """The metafeatures that a program names, and the public facts that Jostle knows for the task: these are free."""
    named = [metafeature_of(program, each) for each in given]
    known = {each.name for each in named}
    return [*named, *(each for each in task.rehearsal.free if each.name not in known)]


def metafeature_of(program: Any, given: Any) -> Metafeature:
    """A function of a program as a metafeature."""
    if isinstance(given, Metafeature):
        return given
    if not isinstance(given, Function):
        raise Stop(
            "J408", f"{kind_of(given)} informs a choice", "metafeatures are functions of a database", "def f(db):"
        )
    words = given.name.replace("_", " ")
    return Metafeature(
        given.name,
        Measure(program, given),
        low=f"{words} is small",
        high=f"{words} is large",
        version=version_of(program, given.name),
    )


def _corpus(given: Any) -> Any:
    if given is None or isinstance(given, Corpus):
        return given
    databases: list[Any] = []
    for each in given if isinstance(given, list | tuple) else [given]:
        if isinstance(each, Corpus):
            databases.extend(each)
        elif isinstance(each, PublicDatabase):
            databases.append(each)
        else:
            raise Stop("J501", f"{kind_of(each)} to train on", "makers learn from public databases", 'public("folder")')
    return Corpus(databases)
