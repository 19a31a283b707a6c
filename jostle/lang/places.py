"""Statements in places where they make no sense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jostle.errors import Diagnostic
from jostle.lang import nodes
from jostle.lang.codes import message


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
