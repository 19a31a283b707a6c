"""Names: each one that is used is defined, once, before it is used, and called with what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from jostle.errors import Diagnostic, Label, Span
from jostle.lang import nodes
from jostle.lang.builtins import AGGREGATES, BUILTINS, EPSILON, Builtin
from jostle.lang.library import LibraryOption, library, look_among_installed
from jostle.lang.messages import Stop, message, near
from jostle.lang.nodes import Definition, defined_in, first_defined, symbols, target_names

Callable = nodes.FunctionDefinition | nodes.Lambda | Builtin | LibraryOption
"""What is called."""
NO_LITERAL = object()
"""What an expression is that is not a plain value as written."""


@frozen
class Signature:
    """What something is called with."""

    name: str
    parameters: tuple[str, ...]
    required: tuple[str, ...]
    most: int | None
    extra: frozenset[str]
    head: str
    place: Span | None

    def renamed(self, name: str) -> Signature:
        """The same for something that goes by another name."""
        return evolve(self, name=name, head=f"{name}{self.head[len(self.name) :]}")


def signature_of(function: Callable) -> Signature:
    """The parameters that something is called with."""
    match function:
        case Builtin():
            plain = tuple(name for name in function.parameters if not name.startswith("*"))
            required = plain[: function.least]
            return Signature(function.name, plain, required, function.most, frozenset(), function.head, None)
        case LibraryOption():
            asked = function.asked
            return Signature(function.name, asked, asked[:1], len(asked), frozenset({EPSILON}), function.head, None)
    names = tuple(parameter.name for parameter in function.parameters)
    needed = tuple(parameter.name for parameter in function.parameters if parameter.default is None)
    shown = ", ".join(
        parameter.name if parameter.default is None else f"{parameter.name}=..." for parameter in function.parameters
    )
    if isinstance(function, nodes.Lambda):
        return Signature("lambda", names, needed, len(names), frozenset(), f"lambda {shown}", function.span)
    extra = frozenset({EPSILON}) if function.is_option else frozenset()
    return Signature(function.name, names, needed, len(names), extra, f"{function.name}({shown})", function.name_span)


def callable_of(name: str, definition: Definition) -> nodes.FunctionDefinition | LibraryOption | None:
    """The function or the Option that a name at the top of a program is called as; None for anything else."""
    match definition:
        case nodes.FunctionDefinition():
            return definition
        case nodes.ClassDefinition():
            answer = definition.method("answer")
            return None if answer is None else evolve(answer, name=name, marks=("Option",))
        case nodes.Import():
            return library().options.get(name) if definition.module != "public" else None
        case _:
            return None


def check_call(call: nodes.Call, function: Callable, name: str = "") -> Iterator[Diagnostic]:
    """Report values that something does not take, or takes and does not get; it goes by *name* if that is given."""
    if isinstance(function, LibraryOption) and gives_parameters(call, function):
        yield from _parameters_again(call, function, name) if name else _check_parameters(call, function)
        return
    signature = signature_of(function)
    if name:
        signature = signature.renamed(name)
    others = (Label(signature.place, "defined here"),) if signature.place else ()
    facts: dict[str, Any] = {"others": others, "name": signature.name, "head": signature.head}
    given = signature.parameters[: len(call.arguments)]
    if signature.most is not None and len(call.arguments) > signature.most:
        surplus = call.arguments[signature.most]
        example = None
        if isinstance(function, LibraryOption) and function.parameters and not name:
            example = f"{function.example}({', '.join(function.asked)})"
        count = f"{signature.most} value{'s' * (signature.most != 1)}"
        yield message("J105 many", surplus.span, **facts, count=count, given=len(call.arguments), example=example)
    for keyword in {each.name: each for each in call.keywords}.values():
        if keyword.name in given:
            yield message("J105 twice", keyword.name_span, **facts, parameter=keyword.name)
        elif keyword.name not in signature.parameters and keyword.name not in signature.extra:
            example = _parameter_apart(call, keyword, function)
            said = "J105 not_taken" if example is None else "J105 not_taken_here"
            yield message(said, keyword.name_span, **facts, parameter=keyword.name, example=example)
    named = {keyword.name for keyword in call.keywords}
    missing = [each for each in signature.required if each not in given and each not in named]
    if missing:
        alone = isinstance(function, LibraryOption) and not call.arguments and not call.keywords
        lacking = " and ".join(f"`{each}`" for each in missing)
        said = "J105 lacking_all" if alone else "J105 lacking"
        yield message(said, call.function.span, **facts, lacking=lacking, missing=", ".join(missing))


def _parameter_apart(call: nodes.Call, keyword: nodes.Keyword, function: Callable) -> str | None:
    """A call of an Option with one of its parameters taken out of it; None for what is none of them."""
    if not isinstance(function, LibraryOption) or keyword.name not in function.parameters:
        return None
    rest = [*call.arguments, *(each for each in call.keywords if each != keyword)]
    return f"{function.name}({keyword})({', '.join(map(format, rest))})"


# Parameters of the library's Options


def gives_parameters(call: nodes.Call, option: LibraryOption) -> bool:
    """Whether a call of an Option gives it parameters, and asks nothing of a database."""
    return option.is_given_parameters(len(call.arguments), {keyword.name for keyword in call.keywords})


def _parameters_again(call: nodes.Call, option: LibraryOption, name: str) -> Iterator[Diagnostic]:
    """Report parameters for an Option that has been given some, or for a choice maker."""
    example = f"{option.name}({', '.join(map(format, call.keywords))})"
    yield message("J113 again", call.keywords[0].name_span, name=name, example=example)


def _check_parameters(call: nodes.Call, option: LibraryOption) -> Iterator[Diagnostic]:
    for keyword in call.keywords:
        value = _literal(keyword.value)
        try:
            if keyword.name not in option.parameters:
                raise option.no_parameter(keyword.name)
            if value is not NO_LITERAL:
                option.parameter(keyword.name, value)
        except Stop as mistake:
            span = keyword.value.span if keyword.name in option.parameters else keyword.name_span
            yield mistake.at(span)


def _literal(node: nodes.ExpressionNode) -> Any:
    """The plain value that is written, or NO_LITERAL."""
    match node:
        case nodes.Number():
            return node.value
        case nodes.Percent():
            return node.share
        case nodes.String() | nodes.Constant():
            return node.value
        case nodes.UnaryOperation(operand=nodes.Number(value=value)):
            return -value if node.operator == "-" else value
        case _:
            return NO_LITERAL


def check_names(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report names that are not defined, or not once, or not yet, and calls that do not fit."""
    resolver = _Resolver(module)
    resolver.check_imports()
    resolver.check_twice(module.body, "program")
    resolver.check_body(module.body, _Scope())
    yield from resolver.found


@define
class _Scope:
    """The names of the function that is being read; outside of functions there are none of its own."""

    function: nodes.FunctionDefinition | nodes.Lambda | None = None
    own: dict[str, Span] = field(factory=dict)
    """The names defined somewhere in the function, and where first."""
    ready: set[str] = field(factory=set)
    """Those that have a value where reading has come to."""
    looping: int = 0
    """How many loops are around; a name may get its value in an earlier round."""

    def inner(self, names: Iterable[str]) -> _Scope:
        """A scope with some more names, for a comprehension."""
        names = list(names)
        return _Scope(
            self.function, {**self.own, **dict.fromkeys(names, Span(0, 0, 0, 0))}, self.ready | set(names), self.looping
        )


@define
class _Resolver:
    module: nodes.Module
    found: list[Diagnostic] = field(factory=list)
    top: dict[str, tuple[Span, Definition]] = field(init=False)
    """The names at the top level."""
    ready: set[str] = field(factory=set)
    """Those that have a value where reading has come to."""
    symbols: frozenset[str] = field(init=False)

    @top.default
    def _top(self) -> dict[str, tuple[Span, Definition]]:
        return first_defined(self.module.body)

    @symbols.default
    def _symbols(self) -> frozenset[str]:
        return symbols(self.module)

    def check_imports(self) -> None:
        for statement in self.module.body:
            if not isinstance(statement, nodes.Import):
                continue
            if any(name.name not in library().modules.get(statement.module, ()) for name in statement.names):
                look_among_installed()
            if statement.module not in library().modules:
                self._unknown_module(statement)
                continue
            for each in statement.names:
                if each.name not in library().modules[statement.module]:
                    self._unknown_import(statement.module, each)

    def _unknown_module(self, statement: nodes.Import) -> None:
        homes = (
            name for name, names in library().modules.items() if any(name.name in names for name in statement.names)
        )
        better = near(statement.module, library().modules) or next(homes, None)
        facts: dict[str, Any] = {"module": statement.module, "better": better, "modules": _listed(library().modules)}
        self.found.append(message("J103", statement.module_span, **facts))

    def _unknown_import(self, module: str, name: nodes.ImportedName) -> None:
        home, names = _home(name.name), library().modules[module]
        facts: dict[str, Any] = {"module": module, "name": name.name, "home": home, "names": _listed(names)}
        self.found.append(message("J104 name", name.span, **facts, similar=near(name.name, names)))

    def check_twice(self, body: Sequence[nodes.Statement], where: str) -> None:
        """Report functions, classes and imports whose name something else has too."""
        seen: dict[str, tuple[Span, Definition]] = {}
        for name, span, definition in defined_in(body):
            if isinstance(definition, nodes.Broken):
                continue
            if name == EPSILON:
                self._epsilon(span)
            first = seen.setdefault(name, (span, definition))
            if first[0] is span or (_is_variable(first[1]) and _is_variable(definition)):
                continue
            others = (Label(first[0], "first here"),)
            self.found.append(message("J102", span, others=others, name=name, where=where))

    def _epsilon(self, span: Span) -> None:
        self.found.append(message("J109 given", span))

    # Statements

    def check_body(self, body: Sequence[nodes.Statement], scope: _Scope) -> None:
        for statement in body:
            self._check_statement(statement, scope)

    def _check_statement(self, statement: nodes.Statement, scope: _Scope) -> None:  # noqa: C901, PLR0912 - one case per kind of node
        match statement:
            case nodes.FunctionDefinition():
                self._check_function(statement, scope)
            case nodes.ClassDefinition():
                self.check_twice(statement.body, "class")
                for method in statement.body:
                    if isinstance(method, nodes.FunctionDefinition):
                        self._check_function(method, scope)
                self._define(statement.name, scope)
            case nodes.Import():
                for each in statement.names:
                    self._define(each.name, scope)
            case nodes.Assign():
                self._read(statement.value, scope)
                for name in target_names(statement.target):
                    self._define(name.name, scope)
            case nodes.For():
                self._read(statement.iterable, scope)
                for name in target_names(statement.target):
                    self._define(name.name, scope)
                scope.looping += 1
                self.check_body(statement.body, scope)
                scope.looping -= 1
            case nodes.If():
                for branch in statement.branches:
                    if branch.condition is not None:
                        self._read(branch.condition, scope)
                    self.check_body(branch.body, scope)
            case nodes.Broken():
                for word in statement.words:
                    self._define(word, scope)
                self.check_body(statement.body, scope)
            case _:
                for child in nodes.children(statement):
                    self._read(child, scope)

    def _check_function(self, function: nodes.FunctionDefinition, scope: _Scope) -> None:
        for parameter in function.parameters:
            if parameter.default is not None:
                self._read(parameter.default, scope)
            if parameter.name == EPSILON and function.is_option:
                self._epsilon(parameter.name_span)
        inner = _Scope(function, dict(scope.own), {*scope.ready, *([function.name] if scope.function else [])})
        for parameter in function.parameters:
            inner.own[parameter.name] = parameter.name_span
            inner.ready.add(parameter.name)
        parameters = {each.name for each in function.parameters}
        for name, span, definition in defined_in(function.body):
            if name == EPSILON:
                if not isinstance(definition, nodes.Broken):
                    self._epsilon(span)
                continue
            if inner.own.setdefault(name, span) is not span and name not in parameters:
                inner.own[name] = span
                inner.ready.discard(name)
        self._define(function.name, scope)
        self.check_body(function.body, inner)

    def _define(self, name: str, scope: _Scope) -> None:
        (self.ready if scope.function is None else scope.ready).add(name)

    # Expressions

    def _read(self, node: nodes.Node, scope: _Scope, *, columns: bool = False) -> None:  # noqa: C901, PLR0912 - one case per kind of node
        match node:
            case nodes.Name():
                self._check_name(node, scope, columns=columns)
            case nodes.ListComprehension() | nodes.SetComprehension() | nodes.DictComprehension():
                inner = scope
                for clause in node.clauses:
                    self._read(clause.iterable, inner, columns=columns)
                    inner = inner.inner(name.name for name in target_names(clause.target))
                    for condition in clause.conditions:
                        self._read(condition, inner, columns=columns)
                for child in nodes.children(node):
                    if not isinstance(child, nodes.ComprehensionClause):
                        self._read(child, inner, columns=columns)
            case nodes.Lambda():
                for parameter in node.parameters:
                    if parameter.default is not None:
                        self._read(parameter.default, scope, columns=columns)
                self._read(node.body, scope.inner(each.name for each in node.parameters), columns=columns)
            case nodes.Select():
                self._check_aggregate(node)
                self._read(node.table, scope, columns=columns)
                for part in (node.value, node.where, *node.groupby):
                    if part is not None:
                        self._read(part, scope, columns=True)
            case nodes.Condition():
                self._read(node.attribute, scope, columns=True)
                self._read(node.value, scope, columns=columns)
            case nodes.Choose():
                if not isinstance(node.among, nodes.Set | nodes.List | nodes.Tuple):
                    self._read(node.among, scope, columns=columns)
                if node.informed_by is not None:
                    self._read(node.informed_by, scope, columns=columns)
            case _:
                if isinstance(node, nodes.Call):
                    self._check_call(node, scope)
                for child in nodes.children(node):
                    self._read(child, scope, columns=columns)

    def _check_name(self, node: nodes.Name, scope: _Scope, *, columns: bool) -> None:
        name = node.name
        if name in scope.own:
            if name not in scope.ready and not scope.looping:
                self._too_early(node, scope.own[name])
        elif name in self.top:
            if scope.function is None and name not in self.ready and not scope.looping:
                self._too_early(node, self.top[name][0])
        elif name == EPSILON:
            if scope.function is None:
                self.found.append(message("J109 outside", node.span))
        elif name not in BUILTINS and name not in self.symbols and not columns:
            self._unknown(node, scope)

    def _unknown(self, node: nodes.Name, scope: _Scope) -> None:
        similar = near(node.name, [*scope.own, *self.top, *BUILTINS, *self.symbols])
        self.found.append(message("J101 name", node.span, name=node.name, home=_home(node.name), similar=similar))

    def _too_early(self, node: nodes.Name, defined: Span) -> None:
        others = (Label(defined, "only defined here"),) if defined.line else ()
        self.found.append(message("J106", node.span, others=others, name=node.name))

    def _check_aggregate(self, node: nodes.Select) -> None:
        if node.aggregate not in AGGREGATES:
            facts: dict[str, Any] = {"aggregate": node.aggregate, "aggregates": _listed(AGGREGATES)}
            self.found.append(message("J110", node.aggregate_span, **facts, similar=near(node.aggregate, AGGREGATES)))

    def _check_call(self, node: nodes.Call, scope: _Scope) -> None:
        if not isinstance(node.function, nodes.Name) or node.function.name in scope.own:
            return
        name = node.function.name
        if name in self.top:
            definition = self.top[name][1]
            if (known := callable_of(name, definition)) is not None:
                self.found += check_call(node, known)
            elif isinstance(definition, nodes.Import) and definition.module == "public":
                self.found.append(message("J105 databases", node.function.span, name=name))
        elif name in BUILTINS:
            self.found += check_call(node, BUILTINS[name])


def _home(name: str) -> str | None:
    """The first module of the library that has a name."""
    return next((module for module, names in library().modules.items() if name in names), None)


def _is_variable(definition: Definition) -> bool:
    return isinstance(definition, nodes.Assign | nodes.For)


def _listed(names: Iterable[str]) -> str:
    *rest, last = sorted(names)
    return f"{', '.join(rest)} and {last}" if rest else last
