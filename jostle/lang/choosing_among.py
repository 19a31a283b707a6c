"""What choice makers choose among: Options, which all answer the same question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jostle.errors import Diagnostic, Label
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.calls import callable_of, gives_parameters
from jostle.lang.library import LibraryOption, library_tasks
from jostle.lang.nodes import show_expression
from jostle.lang.scopes import Definition
from jostle.lang.tasks import OF_A_PROGRAM, task_named

__all__ = ["check_among"]

LITERALS = (nodes.Number, nodes.Percent, nodes.String, nodes.Constant)
WHY = "a choice maker chooses among Options"


def check_among(
    module: nodes.Module, among: nodes.ExpressionNode, top: Mapping[str, Definition]
) -> Iterator[Diagnostic]:
    """Report what is chosen among and is no Option, and Options that answer different questions."""
    items = among.items if isinstance(among, nodes.Set | nodes.List | nodes.Tuple) else ()
    first: tuple[nodes.ExpressionNode, str] | None = None
    for item in items:
        found = _no_option(item, top)
        if found is not None:
            yield found
            continue
        named = item.function if isinstance(item, nodes.Call) else item
        if not isinstance(named, nodes.Name) or _called(named, top) is None:
            continue
        task = task_named(module, named.name)
        first = first or (item, task)
        if task != first[1]:
            answers = _answers()
            title = f"`{show_expression(item)}` answers another question than `{show_expression(first[0])}`"
            why = f"one that is chosen stands in for all others; this one {answers[task]}"
            others = (Label(first[0].span, answers[first[1]]),)
            yield Diagnostic("J410", title, item.span, why, "make a choice maker for each question", others=others)


def _answers() -> dict[str, str]:
    """What Options of each task do."""
    does = {task.name: task.does for task in library_tasks()}
    return {**does, OF_A_PROGRAM: f"neither {' nor '.join(does.values())}"}


def _called(node: nodes.Name, top: Mapping[str, Definition]) -> nodes.FunctionDefinition | LibraryOption | None:
    return callable_of(node.name, top[node.name]) if node.name in top else None


def _no_option(item: nodes.ExpressionNode, top: Mapping[str, Definition]) -> Diagnostic | None:  # noqa: PLR0911 - one per kind
    """The mistake in an alternative that is no Option, or None."""
    shown = show_expression(item)
    title, fix = f"`{shown}` is not an Option", "import or define an Option"
    if isinstance(item, LITERALS):
        return Diagnostic("J408", title, item.span, WHY, fix)
    if isinstance(item, nodes.Call) and isinstance(item.function, nodes.Name):
        option = _called(item.function, top)
        if option is None or (isinstance(option, LibraryOption) and gives_parameters(item, option)):
            return None
        title = f"`{shown}` is not an Option, but what one gives"
        return Diagnostic("J408", title, item.span, WHY, f"name the Option: {item.function.name}")
    if not isinstance(item, nodes.Name):
        return None
    definition = top.get(item.name)
    if isinstance(definition, nodes.FunctionDefinition) and not definition.is_option:
        others = (Label(definition.name_span, "a plain function"),)
        return Diagnostic("J408", title, item.span, WHY, "put #Option on the line above its def", others=others)
    if isinstance(definition, nodes.Import) and definition.module == "public":
        return Diagnostic("J408", title, item.span, WHY, f"it holds databases to learn from: trained on {item.name}")
    if item.name in BUILTINS and definition is None:
        return Diagnostic("J408", title, item.span, WHY, fix)
    return None
