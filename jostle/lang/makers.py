"""What a program learns by: choice makers, their judges and metafeatures, and the labelled choices of functions.

`judged by "auc"` names a loss of the task; `judged by loss` a function of the program, of two values. On grids it is
given two lists of numbers: what was answered to each query of the workload, and what would have been right. On tables,
two lists of classes: those predicted for the held-out rows, and their own; with a third value it is given the chance of
each class, too. It is called on public databases alone, so it sees nothing private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.choice.makers.making import MkChoiceMaker
from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicDatabase
from jostle.errors import ChoiceError, JostleError
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.choices import task_of as told_task
from jostle.lang.frames import Function, Loaded, Sent
from jostle.lang.messages import Stop, placed
from jostle.lang.nodes import symbols
from jostle.lang.operators import is_number, kind_of
from jostle.lang.program_options import Measure, ProgramOption, fitted_below, labels_in, needed_by, version_of
from jostle.lang.quick_start import quickly
from jostle.lang.tree_values import to_model
from jostle.lang.values import Leaf, TreeNode
from jostle.options.base import Option
from jostle.privacy.probe import Probe
from jostle.tasks import UNTOLD, Task, task_of
from jostle.tasks.metafeature import Metafeature

if TYPE_CHECKING:
    from jostle.choice.makers.maker import ChoiceMaker
    from jostle.sites import Policy
    from jostle.tasks import Instance, Judge


def judge_of(program: Loaded, given: Any, task: Task[Any]) -> Judge | None:
    """A function of a program as a judge, or the task's judge of a name."""
    from jostle.tasks import Judge  # noqa: PLC0415 - needs what learns

    if given is None:
        return None
    if isinstance(given, str):
        return task.judge(given)
    if not isinstance(given, Function):
        raise Stop("J409 judging", kind=kind_of(given))
    # Histories know judges by name, so the name says which text it has.
    return Judge(f"{given.name}-{version_of(program, given.name)}", Verdict(program, given))


class Verdict:
    """How bad an answer is, as a function of the program says; it travels as the program's text."""

    def __init__(self, program: Loaded, function: Function) -> None:
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
                raise Stop("J501 loss", name=name, kind=kind_of(found))  # noqa: TRY301 - given its place below
            if not math.isfinite(found) or found < 0:
                raise Stop("J501 bad_loss", name=name, number=f"{float(found):.4g}")  # noqa: TRY301 - as above
        except Stop as mistake:
            raise placed(mistake, self.program.source, self.function.definition.name_span) from None
        return float(found)

    def __reduce__(self) -> tuple[object, ...]:
        return verdict_of, (self.program.sent, self.function.name)


def verdict_of(sent: Sent, function: str) -> Verdict:
    """The judge of a program that was sent here."""
    program = sent.loaded()
    return Verdict(program, program.functions[function])


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
            raise Stop("J408 among", kind=kind_of(each))
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
    known = {metafeature.name for metafeature in named}
    return [*named, *(metafeature for metafeature in task.rehearsal.free if metafeature.name not in known)]


def metafeature_of(program: Any, given: Any) -> Metafeature:
    """A function of a program as a metafeature."""
    if isinstance(given, Metafeature):
        return given
    if not isinstance(given, Function):
        raise Stop("J408 informing", kind=kind_of(given))
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
            raise Stop("J501 training", kind=kind_of(each))
    return Corpus(databases)


def check_forced(program: Loaded, name: str, forced: Mapping[str, str]) -> None:
    """Refuse to force, by label, what the text below a name shows cannot be taken: before anything is bought.

    Options of the library may make choices that the text does not show.
    """
    needed = needed_by(program, name)
    choices = {
        node.label: node for statement in needed for node in nodes.walk(statement) if isinstance(node, nodes.Choose)
    }
    library = any(isinstance(statement, nodes.Import) and statement.module != "public" for statement in needed)
    for label, alternative in forced.items():
        if label in choices:
            among = [node.name for node in nodes.walk(choices[label].among) if isinstance(node, nodes.Name)]
            if alternative not in among:
                raise ChoiceError(
                    f"choice {label} has no alternative {alternative!r}", fix=f"one of {', '.join(among)}"
                )
        elif not library:
            known = f"one of {', '.join(choices)}" if choices else "leave --force out"
            raise ChoiceError(f"{name} makes no choice {label}", fix=known)


def mark_of(program: Loaded, name: str) -> str:
    """A mark of the text below a name; comments and layout are no part of it."""
    return version_of(program, name, digest_bytes=10)


def learned_policies(program: Loaded) -> Mapping[str, Policy]:
    """The policies learned for the labels of a program, through whichever of its functions.

    Of two that were trained and come to the same label, the one that was trained last counts; what is of another text
    counts last of all.
    """
    found: dict[str, Policy] = {}
    for name, known in _known(program).items():
        found.update({label: known[label] for label in labels_in(program, name) if known.get(label) is not None})
    return found


def _known(program: Loaded) -> dict[str, Any]:
    """The facts known by the names of functions and Options, what counts most last."""
    from jostle.learned.policies import policies_for  # noqa: PLC0415 - most programs make no labelled choice

    if not any(isinstance(node, nodes.Choose) for node in nodes.walk(program.module)):
        return {}
    names = [*program.functions, *program.options]
    place = _place(program)
    known = {name: policies_for(name, mark_of(program, name), place) for name in names if labels_in(program, name)}
    return dict(sorted(known.items(), key=lambda each: each[1].order))


def _place(program: Loaded) -> str:
    return str(Path(program.source.name).absolute())


class EntryRun:
    """A function or an Option of a program, to be run on public databases; it travels as its text."""

    def __init__(self, program: Loaded, name: str) -> None:
        self.program = program
        self.name = name

    def __call__(self, db: Probe, epsilon: Fraction, *questions: Any) -> Any:
        """Its answer; a decision tree becomes a model."""
        target = self.program[self.name]
        if isinstance(target, Function):
            questions = questions[: len(target.parameters) - len(target.defaults) - 1]
        elif len(target.answer.parameters) - len(target.answer.defaults) < 2:
            questions = ()
        found = self.program.run(self.name, db, *questions, epsilon=epsilon)
        return to_model(found, db.schema, self.name, epsilon) if isinstance(found, Leaf | TreeNode) else found

    def __reduce__(self) -> tuple[object, ...]:
        return _run_of, (self.program.sent, self.name)


def _run_of(sent: Sent, entry: str) -> EntryRun:
    return EntryRun(sent.loaded(), entry)


def labelled(program: Loaded, name: str | None = None) -> Any:
    """A function or an Option of a program as something whose choices can be learned."""
    from jostle.choice.policies.learn import Labelled  # noqa: PLC0415 - for training only

    called = name or program.entry
    if called is None:
        raise JostleError(f"{program.source.name} has nothing to run", fix="def main(db):")
    target = program[called]
    if not isinstance(target, Function | ProgramOption):
        raise JostleError(
            f"{called} is no function and no Option of the program",
            why="choices are learned by running what they are made in",
            fix="--entry NAME, a function that is given a database",
        )
    definition = target.answer.definition if isinstance(target, ProgramOption) else target.definition
    return Labelled(
        name=called,
        mark=mark_of(program, called),
        program=_place(program),
        task=task_of(told_task(program.module, definition)),
        run=EntryRun(program, called),
        labels=labels_in(program, called),
        words=frozenset(symbols(program.module) - program.globals.keys() - set(BUILTINS)),
        fitted_on=fitted_below(program, called),
    )
