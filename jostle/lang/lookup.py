"""What stands at a place in a program: its kind, what there is to say about it, and where it was defined.

Beside what a word means that is what kind of value it is, how far a row moves it, what it costs. A program is gone
through as for checking: once for what is private, once without data for what values are and what is spent. With a
schema the second way knows columns, and so how far one row can change whatever is computed from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from jostle.errors import Span
from jostle.lang import nodes
from jostle.lang.accounts import Amount
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.extents import TooDeepError, deep_enough
from jostle.lang.facts import World, kind_of, moves_of
from jostle.lang.guard_rules import checked_worlds
from jostle.lang.library import library
from jostle.lang.nodes import Definition, defined_in, show_parameters, target_names
from jostle.lang.price import price_of
from jostle.lang.roots import Root, roots, table_parameters

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

MOST_SHOWN = 100
"""Longer definitions are cut."""

Around = Sequence[nodes.Node]


@frozen
class Found:
    """What stands at a place."""

    name: str
    """The word."""
    span: Span
    """Where it stands."""
    text: str
    """What there is to say about it."""
    definition: Span | None
    """Where it was defined, if that is in the program."""


def look_up(module: nodes.Module, line: int, column: int, schema: Schema | None = None) -> Found | None:
    """The word at a line and column, or None; with a schema, more is known of it."""
    chain = list(_chain(module, line, column))
    for index in range(len(chain) - 1, -1, -1):
        node = chain[index]
        named = _named(node, line, column)
        if named is None:
            continue
        name, span = named
        text, definition = _meaning(node, name, chain[:index], module)
        is_column = definition is None and text.startswith("column ")
        more = column_facts(name, schema) if is_column else describe(module, node, chain[:index], schema)
        return Found(name, span, f"{text}\n\n{more}" if more else text, definition)
    return None


def _chain(module: nodes.Module, line: int, column: int) -> Iterator[nodes.Node]:
    """The nodes around a place, from the program inwards."""
    node: nodes.Node | None = module
    while node is not None:
        yield node
        node = next((child for child in nodes.children(node) if _covers(child.span, line, column)), None)


def _covers(span: Span, line: int, column: int) -> bool:
    return (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column)


def _named(node: nodes.Node, line: int, column: int) -> tuple[str, Span] | None:
    """The word of a node that stands at a place."""
    words: list[tuple[str, Span]] = []
    match node:
        case nodes.Name() | nodes.ImportedName():
            words = [(node.name, node.span)]
        case nodes.Attribute() | nodes.Keyword() | nodes.ParameterNode() | nodes.FunctionDefinition():
            words = [(node.name, node.name_span)]
        case nodes.ClassDefinition():
            words = [(node.name, node.name_span), (node.base, node.base_span)]
        case nodes.Choose():
            words = [(node.label, node.label_span)]
        case nodes.Select():
            words = [(node.aggregate, node.aggregate_span)]
        case nodes.Import():
            words = [(node.module, node.module_span)]
        case nodes.Noised():
            words = [("{{", evolve(node.span, end_line=node.span.line, end_column=node.span.column + 2))]
        case _:
            pass
    return next((word for word in words if _covers(word[1], line, column)), None)


def _meaning(node: nodes.Node, name: str, around: Around, module: nodes.Module) -> tuple[str, Span | None]:
    match node:
        case nodes.Name():
            meaning = _meaning_of_name(name, around, module)
        case nodes.Keyword():
            meaning = _meaning_of_keyword(name, around, module)
        case nodes.Attribute():
            meaning = f"`{name}` of `{node.value.shown()}`", None
        case nodes.Select():
            meaning = f"aggregate `{name}`", None
        case nodes.Noised():
            meaning = "`{{ ... }}`: a private value, released with noise", None
        case nodes.Import():
            meaning = f"module `{name}`: {', '.join(library().modules.get(name, ()))}", None
        case _:
            meaning = _meaning_where_defined(node, name, around)
    return meaning


def _meaning_where_defined(node: nodes.Node, name: str, around: Around) -> tuple[str, Span | None]:
    """The meaning of a word at the very place that gives it its meaning."""
    meaning: tuple[str, Span | None] = (f"`{name}`", None)
    match node:
        case nodes.ImportedName():
            owner = next(each for each in reversed(around) if isinstance(each, nodes.Import))
            meaning = _imported(owner, name), node.span
        case nodes.ParameterNode():
            meaning = f"parameter `{name}`", node.name_span
        case nodes.FunctionDefinition():
            meaning = _head(node), node.name_span
        case nodes.ClassDefinition() if name == node.name:
            meaning = f"Option `{name}`, a class", node.name_span
        case nodes.Choose():
            meaning = f"label of `{_cut(node.shown())}`", node.label_span
        case _:
            pass
    return meaning


def _meaning_of_name(name: str, around: Around, module: nodes.Module) -> tuple[str, Span | None]:
    for node in reversed(around):
        for bound, span, text in _bound_by(node):
            if bound == name:
                return text, span
    for node in nodes.walk(module):
        if isinstance(node, nodes.Choose) and nodes.Name(name) in getattr(node.among, "items", ()):
            return f"stands for itself: an alternative of {node.label}", node.label_span
    if name == EPSILON:
        return "`epsilon`: what the caller of this function allotted", None
    if name in BUILTINS:
        return f"`{BUILTINS[name].head}`: {BUILTINS[name].meaning}", None
    if any(isinstance(node, nodes.Select | nodes.Condition) for node in around):
        return f"column `{name}`", None
    return f"`{name}` is not defined", None


def _bound_by(node: nodes.Node) -> Iterator[tuple[str, Span, str]]:
    """The names that a node gives a meaning to inside it."""
    match node:
        case nodes.Module():
            yield from _definitions(node.body)
        case nodes.FunctionDefinition():
            for parameter in node.parameters:
                yield (
                    parameter.name,
                    parameter.name_span,
                    f"parameter `{show_parameters((parameter,))}` of `{node.name}`",
                )
            yield from _definitions(node.body)
        case nodes.Lambda():
            for parameter in node.parameters:
                yield parameter.name, parameter.name_span, f"parameter `{show_parameters((parameter,))}`"
        case nodes.ListComprehension() | nodes.SetComprehension() | nodes.DictComprehension():
            for clause in node.clauses:
                for target in target_names(clause.target):
                    yield target.name, target.span, f"each of `{_cut(clause.iterable.shown())}`"
        case _:
            pass


def _definitions(body: Sequence[nodes.Statement]) -> Iterator[tuple[str, Span, str]]:
    for name, span, definition in defined_in(body):
        yield name, span, _describe(name, definition)


def _describe(name: str, definition: Definition) -> str:
    match definition:
        case nodes.Import():
            return _imported(definition, name)
        case nodes.FunctionDefinition():
            return _head(definition)
        case nodes.ClassDefinition():
            return f"Option `{name}`, a class"
        case nodes.Assign() if isinstance(definition.target, nodes.Name):
            kind = "choice maker" if isinstance(definition.value, nodes.MakeChoiceMaker) else "variable"
            return f"{kind} `{_cut(f'{name} = {definition.value.shown()}')}`"
        case nodes.For():
            return f"each of `{_cut(definition.iterable.shown())}`"
        case _:
            return f"variable `{name}`"


def _imported(definition: nodes.Import, name: str) -> str:
    known = library().options.get(name)
    if definition.module == "public" or known is None:
        kind = "public databases" if definition.module == "public" else "Option"
        return f"{kind} `{name}`, from `{definition.module}`"
    given = [f"`{key}={parameter.written}`" for key, parameter in known.parameters.items()]
    parameters = f", with the parameters {', '.join(given)}" if given else ""
    return f"Option `{known.head}`, from `{definition.module}`{parameters}"


def _head(function: nodes.FunctionDefinition) -> str:
    kind = "Option" if function.is_option else "function"
    return f"{kind} `{function.name}({show_parameters(function.parameters)})`"


def _meaning_of_keyword(name: str, around: Around, module: nodes.Module) -> tuple[str, Span | None]:
    call = next((node for node in reversed(around) if isinstance(node, nodes.Call)), None)
    called = call.function.name if call is not None and isinstance(call.function, nodes.Name) else ""
    for function in module.body:
        if isinstance(function, nodes.FunctionDefinition) and function.name == called:
            for parameter in function.parameters:
                if parameter.name == name:
                    return f"parameter `{show_parameters((parameter,))}` of `{called}`", parameter.name_span
    return f"parameter `{name}` of `{called}`" if called else f"parameter `{name}`", None


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


# What a value is, how far a row moves it, and what it costs


MOVED = ("a private number", "a private count", "private numbers")
MOST_LISTED = 8


@frozen(eq=False)
class _Known:
    """What a program was found to do."""

    worlds: dict[Span, World]
    seen: dict[Span, list[Any]]
    paid: dict[Span, Amount]


def describe(
    module: nodes.Module, node: nodes.Node, around: Sequence[nodes.Node], schema: Schema | None = None
) -> str | None:
    """A checked program's words on a name, or None; a program that cannot be read says nothing."""
    if any(isinstance(statement, nodes.Broken) for statement in module.body):
        return None
    if isinstance(node, nodes.FunctionDefinition):
        return _price(module, node, schema)
    call = around[-1] if around else None
    if isinstance(call, nodes.Call) and call.function is node and not isinstance(node, nodes.Attribute):
        # Of a function that is called, what the call gives is of more interest than that it is a function.
        node = call
    span = node.name_span if isinstance(node, nodes.ParameterNode) else node.span
    try:
        with deep_enough():
            known = _gone_through(module, schema)
    except TooDeepError:
        return None
    said = _said(known.worlds.get(span), known.seen.get(span, []), node, schema)
    paid = known.paid.get(span)
    if isinstance(node, nodes.Noised) and node.spending is not None:
        paid = known.paid.get(node.spending.span)
    if paid is not None:
        cost = f"spends {paid.text}" if paid.known else "what it spends is known only while running"
        said = f"{said}; {cost}" if said else cost
    return said


def column_facts(name: str, schema: Schema | None) -> str | None:
    """The public facts of a column."""
    if schema is None or name not in schema:
        return None
    labels = schema[name].labels
    more = f" and {len(labels) - MOST_LISTED} others" if len(labels) > MOST_LISTED else ""
    return f"{len(labels)} values: {', '.join(labels[:MOST_LISTED])}{more}"


def _price(module: nodes.Module, node: nodes.FunctionDefinition, schema: Schema | None) -> str | None:
    found = next((root for root in roots(module) if root.definition is node), None)
    if found is None and node not in module.body:
        return None
    if found is None:
        found = Root(node.name, node, table_parameters(module, node))
    return price_of(module, found, schema)[0].text if found.tables and found.priced else None


def _gone_through(module: nodes.Module, schema: Schema | None) -> _Known:
    seen: dict[Span, list[Any]] = {}
    paid: dict[Span, Amount] = {}
    for root in roots(module):
        price_of(module, root, schema, seen=seen, paid=paid)
    return _Known(checked_worlds(module).worlds, seen, paid)


def _said(world: World | None, seen: Sequence[Any], node: nodes.Node, schema: Schema | None) -> str | None:
    kinds = list(dict.fromkeys(found for each in seen if (found := kind_of(each))))
    private = world is not None and world.is_private
    if not kinds and world is not None:
        kinds = [_kind_of_world(world)]
    if not kinds or not kinds[0]:
        return None
    if world is not None and private and kinds == ["a private value"]:
        kinds = [_kind_of_world(world)]
    moved = _moved(seen, node, schema) if any(kind.startswith(MOVED) for kind in kinds) else ""
    return " or ".join(kinds) + moved


def _kind_of_world(world: World) -> str:
    if world.functions:
        return ""
    names = {"table": "a private table", "score": "a private score", "groups": "private numbers, one for each group"}
    for kind, name in names.items():
        if kind in world.kinds:
            return name
    if world.is_private:
        return "a private number"
    if world.holds_private:
        return "holds private values"
    return "a public value, or a released one" if world.kinds else ""


def _moved(seen: Sequence[Any], node: nodes.Node, schema: Schema | None) -> str:
    """How far one row changes what is computed from rows, as far as that can be said."""
    known: list[Fraction | None] = [moves_of(each, schema) for each in seen]
    amounts = [each for each in known if each is not None]
    if amounts and len(amounts) == len(known):
        return f": one row changes it by at most {_number(max(amounts))}"
    if isinstance(node, nodes.Select) and node.aggregate == "sum":
        return ": one row changes it by what it adds at most, the bound of its column in the schema"
    return "" if schema is not None else ": how far one row changes it depends on the schema"


def _number(value: Fraction) -> str:
    return str(value) if value.denominator < 1000 else f"{float(value):.4g}"
