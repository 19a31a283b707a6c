"""Files that a program names: whoever runs it says which it may read, before anything of it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jostle.errors import Diagnostic, JostleError, shown
from jostle.lang import nodes
from jostle.lang.scopes import defined_in, target_names
from jostle.lang.stops import Stop

if TYPE_CHECKING:
    from jostle.corpora.named import NamedFiles, PublicFiles

__all__ = ["check_files", "listed"]

NAME = "public"
WHY = "whoever runs a program says which files it may read, and nothing else is looked at"
FIX = "run it with --public FOLDER; in Python, load(program, public=[folder])"


def listed(files: PublicFiles | None, path: str) -> NamedFiles:
    """The files named as public at a path; refuse any other, with the same words whether there is one or not."""
    found = None if files is None else files.at(path)
    if found is None:
        raise Stop("J515", f"{shown(path)} is not among what was named as public", WHY, FIX)
    return found


def check_files(module: nodes.Module, files: PublicFiles | None) -> Iterator[Diagnostic]:
    """Report calls of `public` with what was not named; where nothing was, all calls.

    A path that is only known while the program runs is refused then.
    """
    if NAME in _own_names(module):
        return
    for node in nodes.walk(module):
        if isinstance(node, nodes.Call) and isinstance(node.function, nodes.Name) and node.function.name == NAME:
            culprit, path = _path(node)
            if path is None and files is not None:
                continue
            try:
                listed(files, "this" if path is None else path)
            except Stop as mistake:
                title = mistake.title if path is not None else "no files were named as public"
                yield Diagnostic(mistake.code, title, culprit.span, mistake.why, mistake.fix)
            except JostleError:
                continue  # the file was named, and what is wrong with it shows when it is read


def _path(call: nodes.Call) -> tuple[nodes.ExpressionNode, str | None]:
    """The expression in place of a path in a call, and the path, if it is written there."""
    given = [*call.arguments, *(keyword.value for keyword in call.keywords)]
    if len(given) == 1:
        return given[0], given[0].value if isinstance(given[0], nodes.String) else None
    return call, None


def _own_names(module: nodes.Module) -> set[Any]:
    """The names that a program gives a meaning of its own, anywhere."""
    found = {name for name, _, _ in defined_in(module.body)}
    for node in nodes.walk(module):
        match node:
            case nodes.FunctionDefinition():
                found.update(parameter.name for parameter in node.parameters)
                found.update(name for name, _, _ in defined_in(node.body))
            case nodes.Lambda():
                found.update(parameter.name for parameter in node.parameters)
            case nodes.ComprehensionClause():
                found.update(each.name for each in target_names(node.target))
            case _:
                pass
    return found
