"""The labelled choices of a program: which there are below a function, and how it is run to learn them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.errors import ChoiceError, JostleError
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.functions import Function
from jostle.lang.program_options import ProgramOption, fitted_below, labels_in, needed_by, version_of
from jostle.lang.scopes import symbols
from jostle.lang.tasks import task_of as told_task
from jostle.lang.tree_values import to_model
from jostle.lang.values import Leaf, TreeNode
from jostle.privacy.probe import Probe
from jostle.tasks import task_of

if TYPE_CHECKING:
    from jostle.lang.program import Program, SentProgram
    from jostle.sites import Policy

__all__ = ["check_forced", "labelled", "learned_policies", "mark_of"]


def check_forced(program: Program, name: str, forced: Mapping[str, str]) -> None:
    """Refuse to force, by label, what the text below a name shows cannot be taken: before anything is bought.

    Options of the library may make choices that the text does not show.
    """
    needed = needed_by(program, name)
    choices = {node.label: node for each in needed for node in nodes.walk(each) if isinstance(node, nodes.Choose)}
    library = any(isinstance(each, nodes.Import) and each.module != "public" for each in needed)
    for label, alternative in forced.items():
        if label in choices:
            among = [each.name for each in nodes.walk(choices[label].among) if isinstance(each, nodes.Name)]
            if alternative not in among:
                raise ChoiceError(
                    f"choice {label} has no alternative {alternative!r}", fix=f"one of {', '.join(among)}"
                )
        elif not library:
            known = f"one of {', '.join(choices)}" if choices else "leave --force out"
            raise ChoiceError(f"{name} makes no choice {label}", fix=known)


def mark_of(program: Program, name: str) -> str:
    """A mark of the text below a name; comments and layout are no part of it."""
    return version_of(program, name, digest_bytes=10)


def learned_policies(program: Program) -> Mapping[str, Policy]:
    """The policies learned for the labels of a program, through whichever of its functions.

    Of two that were trained and come to the same label, the one that was trained last counts; what is of another text
    counts last of all.
    """
    found: dict[str, Policy] = {}
    for name, known in _known(program).items():
        found.update({label: known[label] for label in labels_in(program, name) if known.get(label) is not None})
    return found


def _known(program: Program) -> dict[str, Any]:
    """The facts known by the names of functions and Options, what counts most last."""
    from jostle.learned.policies import policies_for  # noqa: PLC0415 - most programs make no labelled choice

    if not any(isinstance(node, nodes.Choose) for node in nodes.walk(program.module)):
        return {}
    names = [*program.functions, *program.options]
    place = _place(program)
    known = {name: policies_for(name, mark_of(program, name), place) for name in names if labels_in(program, name)}
    return dict(sorted(known.items(), key=lambda each: each[1].order))


def _place(program: Program) -> str:
    return str(Path(program.source.name).absolute())


class EntryRun:
    """A function or an Option of a program, to be run on public databases; it travels as its text."""

    def __init__(self, program: Program, name: str) -> None:
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


def _run_of(sent: SentProgram, entry: str) -> EntryRun:
    from jostle.lang.program import reloaded  # noqa: PLC0415 - programs hold what is here

    return EntryRun(reloaded(sent), entry)


def labelled(program: Program, name: str | None = None) -> Any:
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
