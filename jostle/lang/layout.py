"""From logical lines to one stream of tokens, with blocks marked, and comments given to the lines they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from jostle.errors import Diagnostic, Label
from jostle.lang.lexer import Comment
from jostle.lang.tokens import BLOCK_WORDS, Line, Token

__all__ = ["Laid", "block_ends", "give_comments", "lay_out"]

MARK = re.compile(r"#\s*(Option|Metafeature)$")
"""A comment that says what the function under it is."""
MOST_BLOCKS = 40
"""Blocks in blocks; people stop long before."""


@frozen
class Laid:
    """A line, ready to be parsed."""

    line: Line
    """The line itself."""
    before: tuple[Token, ...]
    """Blocks that end or start before it."""
    tokens: tuple[Token, ...]
    """What stands on it, and its end."""
    instead: tuple[Token, ...]
    """What takes its place if it cannot be read."""


def lay_out(lines: Sequence[Line]) -> tuple[list[Laid], list[Diagnostic]]:
    """Lines with the blocks they start and end, and the mistakes in their indentation."""
    layout = _Layout()
    laid = [layout.lay(line, *around) for line, *around in zip(lines, [None, *lines], [*lines[1:], None], strict=False)]
    return laid, layout.mistakes


def block_ends(laid: Sequence[Laid]) -> Iterator[Token]:
    """The ends of the blocks that are still open after the last line."""
    kinds = [token.kind for each in laid for token in (*each.before, *each.tokens)]
    for _ in range(kinds.count("_INDENT") - kinds.count("_DEDENT")):
        yield Token("_DEDENT", "", laid[-1].line.end)


@define
class _Layout:
    mistakes: list[Diagnostic] = field(factory=list)
    levels: list[tuple[int, bool]] = field(factory=lambda: [(0, True)])
    """Indentations around the current line, and whether each is a block or a slip."""
    opened: bool = False
    """Whether the line before opened a block."""

    def lay(self, line: Line, before: Line | None, following: Line | None) -> Laid:
        place = line.tokens[0].span
        blocks = tuple(Token(kind, "", place) for kind in self._settle(line, before))
        deeper = following is not None and following.indent > line.indent
        first = line.tokens[0].text
        if line.tokens[-1].kind != "COLON" and deeper and first in BLOCK_WORDS and not _has_colon(line):
            if line.tokens[0].kind != "FOREIGN" and not line.broken:
                self.mistakes.append(_no_colon(line))
            line.tokens.append(Token("COLON", ":", line.end))
        ends_open = line.tokens[-1].kind == "COLON"
        self.opened = ends_open and deeper
        end = Token("_NEWLINE", "", line.end)
        broken = _broken(line)
        empty = (end, Token("_INDENT", "", place), broken, end, Token("_DEDENT", "", place))
        after = empty if ends_open and not deeper else (end,)
        if ends_open and not deeper and first in BLOCK_WORDS and not line.broken:
            self.mistakes.append(_empty(line))
        instead = (broken, line.tokens[-1], *after) if ends_open else (broken, *after)
        tokens = (*line.tokens, *(after if first in BLOCK_WORDS else (end,)))
        return Laid(line, blocks, instead if line.broken else tokens, instead)

    def _settle(self, line: Line, before: Line | None) -> Iterator[str]:
        """The blocks that open or close until the level is the line's."""
        if self.opened:
            self.levels.append((line.indent, True))
            yield "_INDENT"
            if sum(real for _, real in self.levels) == MOST_BLOCKS:
                self.mistakes.append(_deep(line))
            return
        known = [level for level, _ in self.levels]
        level = line.indent
        if line.indent < known[-1] and line.indent not in known:  # between two levels: it stays in the inner block
            lower = max(level for level in known if level < line.indent)
            level = min(level for level in known if level > line.indent)
            self.mistakes.append(_between(line, lower, level))
        while len(self.levels) > 1 and level < self.levels[-1][0]:
            if self.levels.pop()[1]:
                yield "_DEDENT"
        if level > self.levels[-1][0]:
            if before is None or not before.broken:
                self.mistakes.append(_unexpected(line, before, self.levels[-1][0]))
            self.levels.append((level, False))


def _broken(line: Line) -> Token:
    """A token in place of a line that cannot be read: the names in it."""
    words = " ".join(token.text for token in line.tokens if token.kind == "NAME")
    return Token("BROKEN", words, line.tokens[0].span.to(line.tokens[-1].span))


def _has_colon(line: Line) -> bool:
    depth = 0
    for token in line.tokens:
        depth += (token.text in {"(", "[", "{", "{{"}) - (token.text in {")", "]", "}", "}}"})
        if token.kind == "COLON" and depth == 0:
            return True
    return False


def _no_colon(line: Line) -> Diagnostic:
    word = line.tokens[0].text
    return Diagnostic(
        "J006",
        f"this `{word}` line lacks its colon",
        line.end,
        "a line that a block belongs to ends with a colon",
        "add `:` at the end of the line",
    )


def _empty(line: Line) -> Diagnostic:
    word = line.tokens[0].text
    why = "the block of a line that ends with a colon is indented under it"
    return Diagnostic(
        "J006", f"nothing is indented under this `{word}`", line.tokens[0].span, why, "indent its lines, or write pass"
    )


def _unexpected(line: Line, before: Line | None, level: int) -> Diagnostic:
    others: tuple[Label, ...] = ()
    if before is not None and before.tokens[0].span.line == before.tokens[-1].span.line:
        others = (Label(before.tokens[0].span.to(before.tokens[-1].span), "no block belongs to this"),)
    why = "only the block of a line that ends with a colon is indented further"
    title = f"this line is indented by {line.indent}"
    return Diagnostic("J006", title, line.tokens[0].span, why, f"indent it by {level}", others=others)


def _between(line: Line, lower: int, upper: int) -> Diagnostic:
    why = "a line stands exactly under the lines it belongs with"
    fix = f"indent it by {lower} or by {upper}"
    return Diagnostic("J006", f"this line is indented by {line.indent}", line.tokens[0].span, why, fix)


def _deep(line: Line) -> Diagnostic:
    why = f"blocks go at most {MOST_BLOCKS} deep"
    return Diagnostic("J008", "blocks nested too deep", line.tokens[0].span, why, "move inner blocks into functions")


def give_comments(lines: Sequence[Line], gaps: Sequence[Sequence[Comment]]) -> list[str]:
    """Give each comment to the line it belongs to; return those of a text without lines.

    A comment before a line that ends a block belongs to the block as far in as the comment stands.
    """
    stack: list[Line] = []
    for index, gap in enumerate(gaps):
        line = lines[index] if index < len(lines) else None
        floor = line.indent if line else 0
        level = 10**6
        pending: list[str] = []
        taker: Line | None = None
        for comment in gap:
            if comment.text:
                level = min(level, comment.column)
                inner = next((each for each in reversed(stack) if each.indent <= level), None)
                taker = inner if inner is not None and (inner.indent > floor or line is None) else None
                if taker is not None:
                    taker.below += [*pending, comment.text]
                    pending.clear()
                    continue
            pending.append(comment.text)
        if line is None:
            if not lines:
                return pending
            continue
        line.above = pending
        _read_marks(line)
        while stack and stack[-1].indent >= line.indent:
            stack.pop()
        stack.append(line)
    return []


def _read_marks(line: Line) -> None:
    if line.tokens[0].kind == "DEF":
        while line.above and (mark := MARK.match(line.above[-1])):
            line.above.pop()
            line.marks.insert(0, mark[1])
