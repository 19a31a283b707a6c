"""Options as programs call them: with parameters, which gives an Option, or with a database, which gives an answer.

What they are called with is settled before anything is spent, and what goes wrong inside is told like other mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jostle.errors import JostleError
from jostle.lang.arithmetic import fraction, kind_of
from jostle.lang.builtins import EPSILON
from jostle.lang.frames import Frame, bound
from jostle.lang.library import DATABASE, LibraryOption, library_options
from jostle.lang.program_options import ProgramOption
from jostle.lang.stops import Stop, broken_off
from jostle.lang.values import TableValue
from jostle.options.base import Option

__all__ = ["called"]


def called(frame: Frame, option: Option, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The answer of an Option, or an Option with the parameters that it is given."""
    known = library_options().get(type(option).__name__)
    if known is not None and known.is_given_parameters(len(given), named):
        return _with_parameters(option, known, named)
    wanted = dict(named)
    epsilon = wanted.pop(EPSILON, None)
    (table, *questions), wanted = _arranged(option, given, wanted)
    if not isinstance(table, TableValue):
        title, why = f"`{option.name}` is given {kind_of(table)} in place of a database", "an Option answers from one"
        raise Stop("J501", title, why, f"write {option.name}(db)")
    if not isinstance(option, ProgramOption):
        _check_questions(option, questions)
    budget = frame.budget() if epsilon is None else fraction(epsilon, EPSILON)
    try:
        return option(table.probe, *questions, epsilon=budget, **wanted)
    except (Stop, JostleError):
        raise
    except Exception as failure:  # noqa: BLE001 - whatever it is, it is no user's mistake
        raise broken_off(failure, f"`{option.name}`") from None


def _with_parameters(option: Option, known: LibraryOption, named: Mapping[str, Any]) -> Option:
    """The same Option with parameters, all of which are as they may be."""
    if option != type(option)():
        why = "an Option of the library is given its parameters once, by its name"
        raise Stop("J113", f"`{option.name}` is given parameters", why, f"write {known.example}")
    made: Option = type(option)(**{name: known.parameter(name, value) for name, value in named.items()})
    return made


def _arranged(option: Option, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of an Option by place, the database first, and by name."""
    first, *others = _leaves(option)
    values = _bound(first, given, named)
    explicit = [name for place, name in enumerate(values) if place < len(given) or name in named]
    leading = [name for place, name in enumerate(values) if explicit[: place + 1] == list(values)[: place + 1]]
    arranged = [values[name] for name in leading], {name: values[name] for name in explicit if name not in leading}
    for other in others:  # whichever is chosen
        _bound(other, *arranged)
    return arranged


def _leaves(option: Option) -> list[Any]:
    """The Options that may run: of a choice maker, those that it chooses among."""
    return [leaf for each in getattr(option, "among", ()) for leaf in _leaves(each)] or [option]


def _bound(option: Any, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(option, ProgramOption):
        return option.answer.bound(given, named)
    names = (DATABASE, *option.task.question.beside)
    return bound(option.name, names, dict.fromkeys(names[1:]), given, named)


def _check_questions(option: Option, questions: Sequence[Any]) -> None:
    """Refuse questions that are not of the kind that the Option's task asks."""
    for each, (name, kind) in zip(questions, option.task.question.beside.items(), strict=False):
        if each is not None and not isinstance(each, kind):
            title, why = f"`{option.name}` is given {kind_of(each)} in place of {name}", f"{name} come from the caller"
            raise Stop("J501", title, why, f"def answer(db, {name}):")
