"""All passes over a program, and what they found together.

A pass is a function from a tree to the mistakes in it; it does not change the tree, and knows one kind of rule. Passes
that need a whole tree run only if every line could be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import field, frozen

from jostle.errors import Diagnostic, Source
from jostle.lang import nodes
from jostle.lang.choices import check_choices
from jostle.lang.extents import TooDeepError, deep_enough
from jostle.lang.guard_rules import checked_worlds
from jostle.lang.lexer import MOST_MISTAKES
from jostle.lang.messages import broken_off, message
from jostle.lang.names import check_names
from jostle.lang.parser import parse_text
from jostle.lang.price import Pricing

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

UNDEFINED = "J101"
"""A name that nothing defines."""

Pass = Callable[[nodes.Module], Iterable[Diagnostic]]


def check_places(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report imports, functions and classes inside others, `return` outside, `==` for a part."""
    yield from _check(module.body, "program")
    for node in nodes.walk(module):
        if isinstance(node, nodes.Index) and _looks_like_a_part(node.index):
            yield message("J017 equals", node.index.span)


def _looks_like_a_part(index: nodes.ExpressionNode) -> bool:
    if isinstance(index, nodes.BooleanOperation):
        return any(_looks_like_a_part(operand) for operand in index.operands)
    return isinstance(index, nodes.Comparison) and "==" in index.operators


def _check(body: Sequence[nodes.Statement], where: str) -> Iterator[Diagnostic]:  # noqa: C901, PLR0912 - one case per kind of node
    for statement in body:
        match statement:
            case nodes.FunctionDefinition():
                if where.startswith("block") or (where == "function" and statement.marks):
                    yield message("J016 option" if statement.marks else "J016 function", statement.name_span)
                yield from _check(statement.body, "function")
            case nodes.ClassDefinition():
                if where not in {"program", "unknown"}:
                    yield message("J016 class", statement.name_span)
                yield from _check(statement.body, "class")
            case nodes.If():
                for branch in statement.branches:
                    yield from _check(branch.body, _in_block(where))
            case nodes.For():
                yield from _check(statement.body, _in_block(where))
            case nodes.Broken():
                yield from _check(statement.body, "unknown")
            case nodes.Import() if where not in {"program", "unknown"}:
                yield message("J016 import", statement.span)
            case nodes.Return() if where in {"program", "block of the program"}:
                yield message("J016 return", statement.span)
            case nodes.Pass():
                pass
            case _ if where == "class":
                yield message("J016 statement", statement.span)


def _in_block(where: str) -> str:
    return "block of the program" if where in {"program", "block of the program"} else "block"


PASSES: tuple[Pass, ...] = (check_places, check_names, check_choices)
"""These stand lines that could not be read: what is in them is left alone."""


@frozen
class Checked:
    """A program that was checked."""

    source: Source
    """Its text."""
    module: nodes.Module
    """Its tree; whole if there are no mistakes."""
    diagnostics: tuple[Diagnostic, ...]
    """The mistakes, in source order; the first hundred, if there are more."""
    pricing: Pricing = field(eq=False, repr=False)
    """What its functions spend."""

    @property
    def good(self) -> bool:
        """Whether there are no mistakes."""
        return not self.diagnostics


def check(source: Source, schema: Schema | None = None) -> Checked:
    """A program's tree and all mistakes that can be found without data; with a schema, those on such a table."""
    parsed = parse_text(source)
    pricing = Pricing(parsed.module)
    whole: tuple[Pass, ...] = (
        lambda module: checked_worlds(module).found.values(),
        lambda _: pricing.check(),
    )  # these need every line
    passes = () if parsed.deep else PASSES if parsed.diagnostics else (*PASSES, *whole)
    found = {*parsed.diagnostics, *_found(passes, parsed.module)}
    unknown = {diagnostic.span for diagnostic in found if diagnostic.code == UNDEFINED}
    # What a name may be that nothing defines, is not worth a mistake of its own.
    found = {diagnostic for diagnostic in found if diagnostic.code == UNDEFINED or diagnostic.span not in unknown}
    if schema is not None and not parsed.diagnostics:
        places = {diagnostic.span for diagnostic in found}
        refused = _found((lambda _: pricing.check_schema(schema),), parsed.module)
        found |= {diagnostic for diagnostic in refused if diagnostic.span not in places}
    ordered = sorted(found, key=lambda each: (each.span, each.code, each.title))[:MOST_MISTAKES]
    return Checked(source, parsed.module, tuple(ordered), pricing)


def _found(passes: Iterable[Pass], module: nodes.Module) -> tuple[Diagnostic, ...]:
    """The mistakes that passes find, or that functions call each other deeper than can be followed."""
    try:
        with deep_enough():
            return tuple(mistake for pass_ in passes for mistake in pass_(module))
    except TooDeepError:
        span = module.body[0].span
        return (message("J008 calls", span),)
    except Exception as failure:  # noqa: BLE001 - whatever it is, nobody is shown Python's innards, and nothing runs
        return (broken_off(failure, "checking").at(module.body[0].span),)
