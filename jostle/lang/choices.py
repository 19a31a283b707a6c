"""Choices: labels, alternatives, and Options that answer one question, as far as the text tells which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jostle.errors import Diagnostic, Label
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.library import LibraryOption, LibraryTask, library
from jostle.lang.messages import message, near
from jostle.lang.names import callable_of, gives_parameters
from jostle.lang.nodes import Definition, defined_in, first_defined

OF_A_PROGRAM = "program"
"""The task of what answers to none that is known."""
OVER = "over"
"""What a program says of a table that gives a workload its answers."""


def task_of(module: nodes.Module, definition: nodes.Node) -> str:
    """The task that an Option answers: as the Options it calls, or as what it looks at tells."""
    top = {name: each for name, (_, each) in first_defined(module.body).items()}
    seen, waiting, known_tasks, options = set[int](), [definition], library().tasks, library().options
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        for node in nodes.walk(current):
            word = OVER if isinstance(node, nodes.Over) else node.name if isinstance(node, nodes.Attribute) else ""
            told = next((task.name for task in known_tasks if task.is_told_by(word)), None)
            if told is not None:
                return told
            if not isinstance(node, nodes.Name) or node.name not in top:
                continue
            known = top[node.name]
            if isinstance(known, nodes.Import) and node.name in options:
                return options[node.name].task
            if isinstance(known, nodes.ClassDefinition):
                waiting += [each for each in (known.method("answer"),) if each is not None]
            else:
                waiting.append(known)
    return OF_A_PROGRAM


LITERALS = (nodes.Number, nodes.Percent, nodes.String, nodes.Constant)


def check_among(
    module: nodes.Module, among: nodes.ExpressionNode, top: Mapping[str, Definition]
) -> Iterator[Diagnostic]:
    """Report what is chosen among and is no Option, and Options that answer different questions."""
    first: tuple[nodes.ExpressionNode, str] | None = None
    for item in nodes.items_of(among):
        found = _no_option(item, top)
        if found is not None:
            yield found
            continue
        named = item.function if isinstance(item, nodes.Call) else item
        if not isinstance(named, nodes.Name) or _called(named, top) is None:
            continue
        task = task_of(module, named)
        first = first or (item, task)
        if task != first[1]:
            answers = _answers()
            others = (Label(first[0].span, answers[first[1]]),)
            yield message(
                "J410",
                item.span,
                others=others,
                written=item.shown(),
                first=first[0].shown(),
                does=answers[task],
            )


def _answers() -> dict[str, str]:
    """What Options of each task do."""
    does = {task.name: task.does for task in library().tasks}
    return {**does, OF_A_PROGRAM: f"neither {' nor '.join(does.values())}"}


def _called(node: nodes.Name, top: Mapping[str, Definition]) -> nodes.FunctionDefinition | LibraryOption | None:
    return callable_of(node.name, top[node.name]) if node.name in top else None


def _no_option(item: nodes.ExpressionNode, top: Mapping[str, Definition]) -> Diagnostic | None:  # noqa: PLR0911 - one per kind
    """The mistake in an alternative that is no Option, or None."""
    shown = item.shown()
    if isinstance(item, LITERALS):
        return message("J408 no_option", item.span, written=shown)
    if isinstance(item, nodes.Call) and isinstance(item.function, nodes.Name):
        option = _called(item.function, top)
        if option is None or (isinstance(option, LibraryOption) and gives_parameters(item, option)):
            return None
        return message("J408 answer", item.span, written=shown, name=item.function.name)
    if not isinstance(item, nodes.Name):
        return None
    definition = top.get(item.name)
    if isinstance(definition, nodes.FunctionDefinition) and not definition.is_option:
        others = (Label(definition.name_span, "a plain function"),)
        return message("J408 function", item.span, others=others, written=shown)
    if isinstance(definition, nodes.Import) and definition.module == "public":
        return message("J408 databases", item.span, written=shown)
    if item.name in BUILTINS and definition is None:
        return message("J408 no_option", item.span, written=shown)
    return None


METHODS = ("answer", "predict")
"""The functions of an Option's class."""


def check_choices(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report labels, alternatives, Options and metafeatures that do not do."""
    functions = nodes.functions_of(module.body)
    defined = {name for name, _, _ in defined_in(module.body)}
    inside = [node for node in nodes.walk(module) if isinstance(node, nodes.FunctionDefinition)]
    known = {*defined, *BUILTINS, *(parameter.name for function in inside for parameter in function.parameters)}
    known.update(name for function in inside for name, _, _ in defined_in(function.body))
    top = {name: each for name, (_, each) in first_defined(module.body).items()}
    labels: dict[str, nodes.Choose] = {}
    for node in nodes.walk(module):
        match node:
            case nodes.Choose():
                yield from _check_label(node, labels)
                yield from _check_alternatives(node.among)
                yield from _check_symbols(node, known)
            case nodes.MakeChoiceMaker():
                yield from _check_alternatives(node.among)
                yield from check_among(module, node.among, top)
                yield from _check_metafeatures(node.informed_by, functions)
                yield from _check_judge(module, node, functions, defined)
            case nodes.FunctionDefinition() if node.is_option and not node.parameters:
                yield message("J108 option", node.name_span, name=node.name)
            case nodes.ClassDefinition():
                yield from _check_class(module, node, defined)
            case _:
                pass


def _check_label(node: nodes.Choose, labels: dict[str, nodes.Choose]) -> Iterator[Diagnostic]:
    if not node.label[0].isupper():
        capital = f"{node.label[0].upper()}{node.label[1:]}"
        yield message("J405", node.label_span, name=node.label, capital=capital)
    first = labels.setdefault(node.label, node)
    if first is not node and (first.among, first.informed_by) != (node.among, node.informed_by):
        others = (Label(first.label_span, "first here"),)
        yield message("J404", node.label_span, others=others, name=node.label)


def _check_alternatives(among: nodes.ExpressionNode) -> Iterator[Diagnostic]:
    items = nodes.items_of(among)
    seen: dict[nodes.ExpressionNode, nodes.ExpressionNode] = {}
    for item in items:
        first = seen.setdefault(item, item)
        if first is not item:
            yield message("J407 twice", item.span, others=(Label(first.span, "first here"),))
    if len(items) == 1:
        yield message("J407 one", among.span)


def _check_symbols(node: nodes.Choose, defined: set[str]) -> Iterator[Diagnostic]:
    """Report a labelled choice whose alternatives are not all names, or of which only some are defined."""
    if not isinstance(node.among, nodes.Set | nodes.List):
        if node.among != nodes.Tuple(()):
            yield message("J406 unwritten", node.among.span, name=node.label)
        return
    names = [item for item in node.among.items if isinstance(item, nodes.Name)]
    for item in node.among.items:
        if not isinstance(item, nodes.Name):
            yield message("J406 unnamed", item.span)
    known = [name for name in names if name.name in defined]
    for name in names if known else ():
        if name.name not in defined:
            others = (Label(known[0].span, "defined"),)
            facts: dict[str, Any] = {"name": name.name, "similar": near(name.name, defined), "defined": known[0].name}
            yield message("J403", name.span, others=others, **facts)


def _check_metafeatures(
    informed_by: nodes.ExpressionNode | None, functions: dict[str, nodes.FunctionDefinition]
) -> Iterator[Diagnostic]:
    for item in nodes.items_of(informed_by):
        if not isinstance(item, nodes.Name) or item.name not in functions:
            continue
        function = functions[item.name]
        others = (Label(function.name_span, "defined here"),)
        needed = [parameter for parameter in function.parameters if parameter.default is None]
        if function.is_option:
            yield message("J408 option", item.span, others=others, name=item.name)
        elif len(needed) != 1:
            yield message("J408 values", item.span, others=others, name=item.name, count=len(needed))


def _check_judge(
    module: nodes.Module,
    maker: nodes.MakeChoiceMaker,
    functions: dict[str, nodes.FunctionDefinition],
    defined: set[str],
) -> Iterator[Diagnostic]:
    """Report a judge that is no loss of the task by name, and no plain function of two values, or three."""
    judge, task = maker.judged_by, _task(module, maker)
    if judge is None or (isinstance(judge, nodes.Name) and judge.name not in defined and judge.name not in BUILTINS):
        return  # what is not defined is reported as that
    if isinstance(judge, nodes.String):
        if task is not None and judge.value not in task.judges:
            match = near(judge.value, task.judges)
            known = ", ".join(f'"{name}"' for name in task.judges)
            yield message(
                "J409 loss", judge.span, name=judge.value, does=task.does, known=known, better=match or task.judges[0]
            )
        return
    if not isinstance(judge, nodes.Name) or judge.name not in functions:
        yield message("J409 name", judge.span, name=judge.name if isinstance(judge, nodes.Name) else None)
        return
    function = functions[judge.name]
    others = (Label(function.name_span, "defined here"),)
    needed = sum(parameter.default is None for parameter in function.parameters)
    most = 2 if task is None or not task.sure else 3
    if function.is_option:
        yield message("J409 option", judge.span, others=others, name=judge.name)
    elif needed > most or len(function.parameters) < 2:
        taken = len(function.parameters) if needed <= most else needed
        count = f"{taken} value{'' if taken == 1 else 's'}"
        yield message("J409 values", judge.span, others=others, name=judge.name, count=count)


def _task(module: nodes.Module, maker: nodes.MakeChoiceMaker) -> LibraryTask | None:
    """The task of the first Option that is chosen among, where that is told."""
    first = next(iter(nodes.items_of(maker.among)), None)
    name = None if first is None else task_of(module, first)
    return next((task for task in library().tasks if task.name == name), None)


def _check_class(module: nodes.Module, node: nodes.ClassDefinition, defined: set[str]) -> Iterator[Diagnostic]:
    if node.base != "Option":
        yield message("J107 base", node.base_span, name=node.name, base=node.base)
    methods = nodes.functions_of(node.body)
    if "answer" not in methods and not any(isinstance(statement, nodes.Broken) for statement in node.body):
        yield message("J107 answer", node.name_span, name=node.name)
    known = defined.union(
        *(task.free for task in library().tasks if task.name == task_of(module, nodes.Name(node.name)))
    )
    for method in methods.values():
        yield from _check_method(node, method, known)


def _check_method(
    owner: nodes.ClassDefinition, method: nodes.FunctionDefinition, known: set[str]
) -> Iterator[Diagnostic]:
    if method.name not in METHODS:
        similar = near(method.name, METHODS)
        yield message("J107 function", method.name_span, name=owner.name, function=method.name, similar=similar)
    elif method.name == "answer" and not method.parameters:
        yield message("J108 answer", method.name_span)
    elif method.name == "predict" and len(method.parameters) != 1:
        yield message("J108 predict", method.name_span)
    elif method.name == "predict":
        yield from _check_features(method, known)


def _check_features(predict: nodes.FunctionDefinition, known: set[str]) -> Iterator[Diagnostic]:
    features = predict.parameters[0].name
    for node in nodes.walk(predict):
        if isinstance(node, nodes.Attribute) and node.value == nodes.Name(features) and node.name not in known:
            yield message("J111", node.name_span, name=node.name, similar=near(node.name, known))
