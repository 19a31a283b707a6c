"""Limits on how deep trees go, and marks in the right places: what the grammar cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jostle.errors import Diagnostic, Span
from jostle.lang import nodes
from jostle.lang.layout import MARK
from jostle.lang.lexer import Comment
from jostle.lang.tokens import Line

__all__ = ["MOST_DEPTH", "check_depth", "check_marks"]

MOST_DEPTH = 100
"""Nodes in nodes: so deep that nobody writes it, and flat enough for passes that call themselves."""


def check_depth(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report each statement in which something is nested too deep."""
    for statement in module.body:
        waiting: list[tuple[nodes.Node, int]] = [(statement, 1)]
        while waiting:
            node, depth = waiting.pop()
            if depth > MOST_DEPTH:
                why = f"a program nests at most {MOST_DEPTH} deep; 1 + 1 + 1 nests twice"
                fix = "give parts of the expression names, or use sum([...])"
                yield Diagnostic("J008", "nested too deep", node.span, why, fix)
                break
            waiting.extend((child, depth + 1) for child in nodes.children(node))


def check_marks(lines: Sequence[Line], gaps: Sequence[Sequence[Comment]]) -> Iterator[Diagnostic]:
    """Report marks such as `#Option` that do not stand right above a function."""
    for line in lines:
        for text in [*line.inside, line.beside]:
            if mark := MARK.match(text):
                yield _misplaced(mark[1], line.tokens[0].span)
    for index, gap in enumerate(gaps):
        taken = len(lines[index].marks) if index < len(lines) else 0
        for comment in gap[: len(gap) - taken]:
            if mark := MARK.match(comment.text):
                yield _misplaced(mark[1], comment.span)


def _misplaced(mark: str, span: Span) -> Diagnostic:
    kind = "an Option" if mark == "Option" else "a metafeature"
    why = f"the mark makes the function right under it {kind}"
    return Diagnostic("J010", f"#{mark} stands above no function", span, why, f"put #{mark} on the line above its def")
