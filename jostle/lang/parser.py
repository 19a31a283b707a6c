"""From a text to a tree: the one way in.

A line that cannot be read is reported and becomes a `Broken` node, and reading goes on, so that one run finds the
mistakes of all lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from jostle.errors import NOWHERE, Diagnostic, JostleError, ProgramError, Source
from jostle.files.kinds import FileKind
from jostle.lang import nodes, tables
from jostle.lang.build import Builder
from jostle.lang.layout import Laid, block_ends, give_comments, lay_out
from jostle.lang.lexer import MOST_MISTAKES, scan
from jostle.lang.mistakes import explain_rejection, ours
from jostle.lang.shape import check_depth, check_marks

__all__ = ["Parsed", "parse", "parse_expression", "parse_text", "read_source", "typed_source"]


ENDING = ".jst"
"""Of programs. What comes through a pipe has a name without one."""
PROGRAM = FileKind("program", JostleError, "save it as UTF-8 in your editor", most_bytes=1 << 24)


@frozen
class Parsed:
    """What became of a text: a tree, and the mistakes that were found on the way."""

    source: Source
    """The text."""
    module: nodes.Module
    """The tree; with `Broken` statements in it where a line could not be read."""
    diagnostics: tuple[Diagnostic, ...]
    """The mistakes, in source order; empty if the tree is whole."""
    deep: bool = False
    """Whether the tree goes too deep for functions that call themselves."""


def read_source(path: Path | str) -> Source:
    """The text of a program file; a file of another kind is not read: messages quote lines of what is."""
    if Path(path).suffix not in {ENDING, ""}:
        raise JostleError(f"{path} is no program: its name does not end in {ENDING}", fix=f"name a {ENDING} file")
    return Source(str(path), PROGRAM.at(path).text())


def typed_source(stream: BinaryIO) -> Source:
    """The text of a program that is typed in, or comes through a pipe."""
    return Source("<stdin>", PROGRAM.at("<stdin>").decoded(stream.read(PROGRAM.most_bytes)))


def parse(source: Source) -> nodes.Module:
    """The tree of a text, or raise `ProgramError` with all syntax mistakes in it."""
    parsed = parse_text(source)
    if parsed.diagnostics:
        raise ProgramError(source, parsed.diagnostics)
    return parsed.module


def parse_text(source: Source) -> Parsed:
    """The tree of a text, and the syntax mistakes in it."""
    found = scan(source)
    lost = give_comments(found.lines, found.gaps)
    laid, misplaced = lay_out(found.lines)
    mistakes = [*found.mistakes, *misplaced]
    statements = _parse_lines(source, laid, mistakes)
    mistakes += check_marks(found.lines, found.gaps)
    span = found.lines[0].tokens[0].span.to(found.lines[-1].tokens[-1].span) if found.lines else NOWHERE
    module = nodes.Module(tuple(statements), trivia=nodes.Trivia(above=tuple(lost)), span=span)
    deep = list(check_depth(module))
    mistakes += deep
    ordered = sorted(set(mistakes), key=lambda each: (each.span, each.code))[:MOST_MISTAKES]
    return Parsed(source, module, tuple(ordered), deep=bool(deep))


def _parse_lines(source: Source, laid: Sequence[Laid], mistakes: list[Diagnostic]) -> list[nodes.Statement]:
    """The statements of lines; a line that does not fit is reported, and something else is read in its place."""
    builder = Builder({each.line.number: each.line for each in laid}, source)
    run = tables.Reading(tables.load(), builder.build)
    for each in laid:
        for token in each.before:
            run.feed(token)
        known, start = len(builder.mistakes), None
        for index, token in enumerate(each.tokens):
            expected = run.feed(token)
            start = run.height if start is None else start
            if expected is None:
                continue
            if not each.line.broken and len(mistakes) < MOST_MISTAKES:
                mistakes.append(explain_rejection(each.line.tokens, index, token, expected))
            each.line.broken = True
            run.take_back(start)
            del builder.mistakes[known:]
            for other in each.instead:
                run.feed(other)
            break
    for token in block_ends(laid) if laid else ():
        run.feed(token)
    mistakes += builder.mistakes
    statements: list[nodes.Statement] | None = run.finish()
    if statements is None and not mistakes:
        mistakes.append(ours(laid[0].line.end if laid else NOWHERE))
    return statements or []


def parse_expression(text: str) -> nodes.ExpressionNode:
    """The tree of a single expression, for tests and the Python front door."""
    source = Source("expression", text)
    body = parse(source).body
    if len(body) != 1 or not isinstance(body[0], nodes.ExpressionStatement):
        raise JostleError(f"{text!r} is not one expression", fix="write one expression on one line")
    return body[0].value
