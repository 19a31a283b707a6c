"""Statements in places where they make no sense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jostle.errors import Diagnostic
from jostle.lang import nodes


def check_places(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report imports, functions and classes inside others, `return` outside, `==` for a part."""
    yield from _check(module.body, "program")
    for node in nodes.walk(module):
        if isinstance(node, nodes.Index) and _looks_like_a_part(node.index):
            why = "a part of a table is given by attribute = value, a condition on rows by `where`"
            yield Diagnostic("J017", "`==` inside brackets", node.index.span, why, "write one =, as in D[a = v]")


def _looks_like_a_part(index: nodes.ExpressionNode) -> bool:
    if isinstance(index, nodes.BooleanOperation):
        return any(_looks_like_a_part(operand) for operand in index.operands)
    return isinstance(index, nodes.Comparison) and "==" in index.operators


def _check(body: Sequence[nodes.Statement], where: str) -> Iterator[Diagnostic]:  # noqa: C901, PLR0912 - one case per kind of node
    for statement in body:
        match statement:
            case nodes.FunctionDefinition():
                if where.startswith("block") or (where == "function" and statement.marks):
                    title = "an Option inside a function" if statement.marks else "a function under an `if` or a `for`"
                    why = "what a name stands for is the same wherever it is called"
                    fix = f"move it {'to the top of the program' if statement.marks else 'out of the block'}"
                    yield Diagnostic("J016", title, statement.name_span, why, fix)
                yield from _check(statement.body, "function")
            case nodes.ClassDefinition():
                if where not in {"program", "unknown"}:
                    why = "the Options of a program are all listed at its top level"
                    yield Diagnostic("J016", "a class inside something", statement.name_span, why, "move it out")
                yield from _check(statement.body, "class")
            case nodes.If():
                for branch in statement.branches:
                    yield from _check(branch.body, _in_block(where))
            case nodes.For():
                yield from _check(statement.body, _in_block(where))
            case nodes.Broken():
                yield from _check(statement.body, "unknown")
            case nodes.Import() if where not in {"program", "unknown"}:
                why = "what a program uses is listed at its top level"
                yield Diagnostic("J016", "an import inside something", statement.span, why, "move it to the top")
            case nodes.Return() if where in {"program", "block of the program"}:
                why = "`return` gives back what a function found"
                yield Diagnostic("J016", "`return` outside a function", statement.span, why, "put it into a def")
            case nodes.Pass():
                pass
            case _ if where == "class":
                why = "a class holds the functions of an Option: answer, and predict if wanted"
                yield Diagnostic(
                    "J016", "something else than a function in a class", statement.span, why, "move it out"
                )


def _in_block(where: str) -> str:
    return "block of the program" if where in {"program", "block of the program"} else "block"
