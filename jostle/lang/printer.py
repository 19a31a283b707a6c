"""From a tree to its canonical text: `parse(show(tree)) == tree` for every tree.

Brackets stand only where they are needed. What is too long for a line is broken inside its outermost brackets, where
line ends mean nothing. Comments stay with their statements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from jostle.errors import JostleError, Source
from jostle.lang import nodes
from jostle.lang.parser import Parsed, parse_text

INDENT = "    "
MOST_COLUMNS = 100
"""Longer lines are broken."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def show(module: nodes.Module) -> str:
    """The canonical text of a program."""
    lines = [*module.trivia.above, *_block(module.body, 0)]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)


def _block(body: Sequence[nodes.Statement], depth: int) -> list[str]:
    lines: list[str] = []
    previous: nodes.Statement | None = None
    for statement in body:
        above = list(statement.trivia.above)
        if previous is None:
            while above and not above[0]:
                del above[0]
        elif (_stands_apart(statement, depth) or _stands_apart(previous, depth)) and (not above or above[0]):
            above.insert(0, "")
        lines += [_indent(line, depth) for line in above]
        lines += _show(statement, depth)
        lines += [_indent(line, depth) for line in statement.trivia.below]
        previous = statement
    return lines


def _stands_apart(statement: nodes.Statement, depth: int) -> bool:
    """Whether empty lines belong around a statement."""
    functions = nodes.FunctionDefinition | nodes.ClassDefinition
    return isinstance(statement, functions) and depth <= 1


def _indent(line: str, depth: int) -> str:
    return INDENT * depth + line if line else ""


def _lines(text: str, trivia: nodes.Trivia, depth: int) -> list[str]:
    """A text of one logical line as lines no longer than allowed where that can be."""
    beside = f"  {trivia.beside}" if trivia.beside else ""
    if trivia.kept and _says_the_same(trivia.kept, text):
        lines = list(trivia.kept)
    else:
        lines = [*trivia.inside, *_fit(text, len(INDENT) * depth)]
    return [_indent(line, depth) for line in [*lines[:-1], lines[-1] + beside]]


def _says_the_same(kept: Sequence[str], text: str) -> bool:
    """Whether a statement as it was written still is what its tree says."""
    written, meant = (_parse_alone(each) for each in ("\n".join(kept), text))
    return not written.diagnostics and not meant.diagnostics and written.module == meant.module


def _parse_alone(text: str) -> Parsed:
    """The tree of a statement, or of a head with some block."""
    first = "if x:\n    pass\n" if text.startswith(("elif", "else")) else ""
    return parse_text(Source("statement", f"{first}{text}{' pass' if text.endswith(':') else ''}\n"))


def _fit(text: str, column: int) -> list[str]:
    if column + len(text) <= MOST_COLUMNS or (bracket := _widest_bracket(text)) is None:
        return [text]
    start, end, commas = bracket
    cuts = [start, *(comma + 1 for comma in commas), end]
    items = [text[left:right].strip() for left, right in pairwise(cuts)]
    inner = [INDENT + line for item in items for line in _fit(item, column + len(INDENT))]
    return [text[:start].rstrip(), *inner, text[end:].lstrip()]


def _widest_bracket(text: str) -> tuple[int, int, list[int]] | None:
    """Where the widest outermost bracket's inside starts and ends, and its commas."""
    plain = _STRING.sub(lambda found: "s" * len(found[0]), text)
    best: tuple[int, int, list[int]] | None = None
    stack: list[int] = []
    commas: list[int] = []
    for index, character in enumerate(plain):
        if character in _CLOSING:
            stack.append(index)
        elif character in _CLOSING.values():
            start = stack.pop() + 1
            if not stack:
                best = max((best, (start, index, commas)), key=lambda each: each[1] - each[0] if each else 0)
                commas = []
        elif character == "," and len(stack) == 1:
            commas.append(index)
    if best is None or best[1] - best[0] < len(INDENT):
        return None
    start, end, commas = best
    if text[start] == "{" == text[start - 1] and text[end - 1] == "}" and text[start + 1] == " ":
        return start + 1, end - 1, []
    return best


def _show(statement: nodes.Statement, depth: int) -> list[str]:
    if isinstance(statement, nodes.If):
        words = ("if", *("elif" for _ in statement.branches))
        branches = zip(words, statement.branches, strict=False)
        return [line for word, branch in branches for line in _branch(word, branch, depth)]
    head = format(statement)
    if not head:
        kind = type(statement).__name__
        raise JostleError(f"a tree with a {kind} in it has no canonical text", fix="mend the program first")
    marks = [_indent(f"#{mark}", depth) for mark in getattr(statement, "marks", ())]
    return [*marks, *_head(head, statement, depth), *_block(getattr(statement, "body", ()), depth + 1)]


def _branch(word: str, branch: nodes.Branch, depth: int) -> list[str]:
    above, below = ([_indent(line, depth) for line in lines] for lines in (branch.trivia.above, branch.trivia.below))
    return [*above, *_lines(format(branch, word), branch.trivia, depth), *_block(branch.body, depth + 1), *below]


def _head(text: str, statement: nodes.Statement, depth: int) -> list[str]:
    """The first line of a statement; the clauses of a choice that it ends with stand under each other."""
    value: Any = getattr(statement, "value", None)
    trivia = statement.trivia
    clauses = [found for part in getattr(value, "CLAUSES", ()) if (found := nodes.write(value, part).strip())]
    fits = len(INDENT) * depth + len(text) <= MOST_COLUMNS
    if len(clauses) < 2 or trivia.inside or (fits and isinstance(value, nodes.Choose)):
        return _lines(text, trivia, depth)
    start = text.removesuffix(" ".join(clauses))
    *others, last = [start + clauses[0], *(" " * len(start) + clause for clause in clauses[1:])]
    lines = [line for other in others for line in _lines(other, nodes.Trivia(), depth)]
    return [*lines, *_lines(last, trivia, depth)]
