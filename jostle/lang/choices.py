"""Choices: labels, alternatives, and Options that answer one question, as far as the text tells which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jostle.errors import Diagnostic, Label
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.library import LibraryOption, LibraryTask, library_options, library_tasks
from jostle.lang.names import callable_of, gives_parameters
from jostle.lang.nodes import show_expression
from jostle.lang.scopes import Definition, defined_in
from jostle.lang.stops import near, similar

OF_A_PROGRAM = "program"
"""The task of what answers to none that is known."""
OVER = "over"
"""What a program says of a table that gives a workload its answers."""


def task_named(module: nodes.Module, name: str) -> str:
    """The task of an Option that goes by a name at the top of a program."""
    return task_of(module, nodes.Name(name))


def task_of(module: nodes.Module, definition: nodes.Node) -> str:
    """The task that an Option answers: as the Options it calls, or as what it looks at tells."""
    top: dict[str, Definition] = {}
    for name, _, each in defined_in(module.body):
        top.setdefault(name, each)
    seen, waiting = set[int](), [definition]
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        for node in nodes.walk(current):
            word = OVER if isinstance(node, nodes.Over) else node.name if isinstance(node, nodes.Attribute) else ""
            told = next((task.name for task in library_tasks() if task.is_told_by(word)), None)
            if told is not None:
                return told
            if not isinstance(node, nodes.Name) or node.name not in top:
                continue
            known = top[node.name]
            if isinstance(known, nodes.Import) and node.name in library_options():
                return library_options()[node.name].task
            if isinstance(known, nodes.ClassDefinition):
                waiting += [each for each in (known.method("answer"),) if each is not None]
            else:
                waiting.append(known)
    return OF_A_PROGRAM


LITERALS = (nodes.Number, nodes.Percent, nodes.String, nodes.Constant)
WHY = "a choice maker chooses among Options"


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


METHODS = ("answer", "predict")
"""The functions of an Option's class."""


def check_choices(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report labels, alternatives, Options and metafeatures that do not do."""
    functions = nodes.functions_of(module.body)
    defined = {name for name, _, _ in defined_in(module.body)}
    inside = [node for node in nodes.walk(module) if isinstance(node, nodes.FunctionDefinition)]
    known = {*defined, *BUILTINS, *(each.name for function in inside for each in function.parameters)}
    known.update(name for function in inside for name, _, _ in defined_in(function.body))
    top: dict[str, Definition] = {}
    for name, _, definition in defined_in(module.body):
        top.setdefault(name, definition)
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
                why = "an Option is called with the database it answers from"
                title = f"the Option `{node.name}` takes no database"
                yield Diagnostic("J108", title, node.name_span, why, f"write def {node.name}(db):")
            case nodes.ClassDefinition():
                yield from _check_class(module, node, defined)
            case _:
                pass


def _check_label(node: nodes.Choose, labels: dict[str, nodes.Choose]) -> Iterator[Diagnostic]:
    if not node.label[0].isupper():
        why = "labels start with a capital, so that nobody takes them for variables"
        fix = f"write {node.label[0].upper()}{node.label[1:]}"
        yield Diagnostic("J405", f"the label `{node.label}`", node.label_span, why, fix)
    first = labels.setdefault(node.label, node)
    if first is not node and (first.among, first.informed_by) != (node.among, node.informed_by):
        why = "one label is one choice, learned once: its alternatives and what informs it are the same everywhere"
        title = f"the label `{node.label}` stands for two choices"
        others = (Label(first.label_span, "first here"),)
        yield Diagnostic("J404", title, node.label_span, why, "give this choice a label of its own", others=others)


def _check_alternatives(among: nodes.ExpressionNode) -> Iterator[Diagnostic]:
    items = nodes.items_of(among)
    seen: dict[nodes.ExpressionNode, nodes.ExpressionNode] = {}
    for item in items:
        first = seen.setdefault(item, item)
        if first is not item:
            why, others = "each alternative stands once", (Label(first.span, "first here"),)
            yield Diagnostic("J407", "the same alternative twice", item.span, why, "take one out", others=others)
    if len(items) == 1:
        why = "with a single alternative there is nothing to choose"
        yield Diagnostic("J407", "a choice among one", among.span, why, "add another one, or use it without a choice")


def _check_symbols(node: nodes.Choose, defined: set[str]) -> Iterator[Diagnostic]:
    """Report a labelled choice whose alternatives are not all names, or of which only some are defined."""
    if not isinstance(node.among, nodes.Set | nodes.List):
        if node.among != nodes.Tuple(()):
            why = "what is learned is learned for alternatives that stand in the program"
            title = f"the alternatives of `{node.label}` are not written out"
            yield Diagnostic("J406", title, node.among.span, why, "write among {a, b}")
        return
    names = [item for item in node.among.items if isinstance(item, nodes.Name)]
    for item in node.among.items:
        if not isinstance(item, nodes.Name):
            why = "alternatives are shown in traces by their names"
            yield Diagnostic("J406", "an alternative without a name", item.span, why, "give it a name on a line before")
    known = [name for name in names if name.name in defined]
    for name in names if known else ():
        if name.name not in defined:
            fix = similar(name.name, defined, f"define `{name.name}`, or rename `{known[0].name}`")
            why = "alternatives are either all defined, or all new words that stand for themselves"
            others = (Label(known[0].span, "defined"),)
            title = f"`{name.name}` is not defined, but others are"
            yield Diagnostic("J403", title, name.span, why, fix, others=others)


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
            why = "a metafeature is a function from a database to a number"
            yield Diagnostic("J408", f"`{item.name}` is an Option", item.span, why, "name a metafeature", others=others)
        elif len(needed) != 1:
            why = "a metafeature is a function from a database to a number"
            title = f"`{item.name}` takes {len(needed)} values"
            fix = f"write def {item.name}(db):"
            yield Diagnostic("J408", title, item.span, why, fix, others=others)


def _check_judge(
    module: nodes.Module,
    maker: nodes.MakeChoiceMaker,
    functions: dict[str, nodes.FunctionDefinition],
    defined: set[str],
) -> Iterator[Diagnostic]:
    """Report a judge that is no loss of the task by name, and no plain function of two values, or three."""
    judge, task = maker.judged_by, _task(module, maker)
    why = "a judge is a function of the answers and the truth: two lists, of public databases"
    if judge is None or (isinstance(judge, nodes.Name) and judge.name not in defined and judge.name not in BUILTINS):
        return  # what is not defined is reported as that
    if isinstance(judge, nodes.String):
        if task is not None and judge.value not in task.judges:
            match = near(judge.value, task.judges)
            known = ", ".join(f'"{name}"' for name in task.judges)
            title, why = f'there is no loss "{judge.value}"', f"an Option that {task.does} is judged by {known}"
            yield Diagnostic("J409", title, judge.span, why, f'write judged by "{match or task.judges[0]}"')
        return
    if not isinstance(judge, nodes.Name) or judge.name not in functions:
        title = (
            f"`{judge.name}` is no function of the program" if isinstance(judge, nodes.Name) else "a judge has no name"
        )
        yield Diagnostic("J409", title, judge.span, why, "write def loss(answers, truth): and name it here")
        return
    function = functions[judge.name]
    others = (Label(function.name_span, "defined here"),)
    needed = sum(parameter.default is None for parameter in function.parameters)
    most = 2 if task is None or not task.sure else 3
    if function.is_option:
        fix = "name a plain function of two lists"
        yield Diagnostic("J409", f"`{judge.name}` is an Option", judge.span, why, fix, others=others)
    elif needed > most or len(function.parameters) < 2:
        taken = len(function.parameters) if needed <= most else needed
        title = f"`{judge.name}` takes {taken} value{'' if taken == 1 else 's'}"
        fix = f"write def {judge.name}(answers, truth):"
        yield Diagnostic("J409", title, judge.span, why, fix, others=others)


def _task(module: nodes.Module, maker: nodes.MakeChoiceMaker) -> LibraryTask | None:
    """The task of the first Option that is chosen among, where that is told."""
    first = next(iter(nodes.items_of(maker.among)), None)
    name = None if first is None else task_of(module, first)
    return next((task for task in library_tasks() if task.name == name), None)


def _check_class(module: nodes.Module, node: nodes.ClassDefinition, defined: set[str]) -> Iterator[Diagnostic]:
    if node.base != "Option":
        why = "a class is an Option"
        fix = f"write class {node.name}(Option):"
        yield Diagnostic("J107", f"`{node.name}` is a kind of `{node.base}`", node.base_span, why, fix)
    methods = nodes.functions_of(node.body)
    if "answer" not in methods and not any(isinstance(each, nodes.Broken) for each in node.body):
        why = "an Option answers from a database"
        title = f"`{node.name}` has no `answer`"
        yield Diagnostic("J107", title, node.name_span, why, "add def answer(db, queries):")
    known = defined.union(*(task.free for task in library_tasks() if task.name == task_named(module, node.name)))
    for method in methods.values():
        yield from _check_method(node, method, known)


def _check_method(
    owner: nodes.ClassDefinition, method: nodes.FunctionDefinition, known: set[str]
) -> Iterator[Diagnostic]:
    if method.name not in METHODS:
        match = near(method.name, METHODS)
        fix = f"write {match}" if match else "move it out of the class"
        why = "an Option has `answer`, and `predict` if wanted"
        title = f"`{owner.name}` has a function `{method.name}`"
        yield Diagnostic("J107", title, method.name_span, why, fix)
    elif method.name == "answer" and not method.parameters:
        why = "an Option is called with the database it answers from"
        yield Diagnostic("J108", "`answer` takes no database", method.name_span, why, "write def answer(db):")
    elif method.name == "predict" and len(method.parameters) != 1:
        why = "`predict` sees the metafeatures, and nothing else"
        yield Diagnostic("J108", "`predict` takes one value", method.name_span, why, "write def predict(F):")
    elif method.name == "predict":
        yield from _check_features(method, known)


def _check_features(predict: nodes.FunctionDefinition, known: set[str]) -> Iterator[Diagnostic]:
    features = predict.parameters[0].name
    for node in nodes.walk(predict):
        if isinstance(node, nodes.Attribute) and node.value == nodes.Name(features) and node.name not in known:
            fix = similar(node.name, known, f"write def {node.name}(db):")
            why = "the metafeatures are functions of the program, or public facts that every choice maker has"
            yield Diagnostic("J111", f"there is no metafeature `{node.name}`", node.name_span, why, fix)
