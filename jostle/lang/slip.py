"""A token that cannot stand where it does, and what is around it."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from jostle.errors import Diagnostic, Span
from jostle.lang.tokens import KEYWORDS, SIGNS, Token

__all__ = ["OPERATORS", "TEXTS", "Explainer", "Slip", "place_of", "shown", "touch"]

OPERATORS = frozenset(
    [
        "SAME",
        "DIFFERS",
        "AT_MOST",
        "AT_LEAST",
        "FLOOR",
        "POWER",
        "REMAINDER",
        "STAR",
        "LESSTHAN",
        "MORETHAN",
        "VBAR",
        "AMPERSAND",
        "PLUS",
        "MINUS",
        "SLASH",
    ]
)
TEXTS = {kind: text for text, kind in {**SIGNS, **KEYWORDS}.items() if text != "^"} | {
    "NOISED_OPEN": "{{",
    "NOISED_CLOSE": "}}",
    "INFORMED_BY": "informed by",
    "TRAINED_ON": "trained on",
    "JUDGED_BY": "judged by",
    "NAME": "a name",
    "_NEWLINE": "the end of the line",
}
"""How terminals are written."""


@frozen
class Slip:
    """A token that cannot stand where it does, and what is around it."""

    line: tuple[Token, ...]
    """The tokens of its line."""
    index: int
    """Which of them it is; their number, if it is the end of the line."""
    token: Token
    """The token."""
    expected: frozenset[str]
    """What could have stood there."""

    @property
    def first(self) -> Token:
        """The first token of the line."""
        return self.line[0]

    @property
    def before(self) -> Token | None:
        """The token before it on the line."""
        return self.line[self.index - 1] if self.index else None

    @property
    def after(self) -> Token | None:
        """The token after it on the line."""
        return self.line[self.index + 1] if self.index + 1 < len(self.line) else None

    @property
    def bracket(self) -> str:
        """The innermost bracket open around it, or nothing."""
        stack = [""]
        for token in self.line[: self.index]:
            if token.text in {"(", "[", "{", "{{"}:
                stack.append(token.text)
            elif token.text in {")", "]", "}", "}}"} and len(stack) > 1:
                stack.pop()
        return stack[-1]

    def at_end(self) -> bool:
        """Whether the line ended where something was missing."""
        return self.index >= len(self.line)

    def has(self, kind: str) -> bool:
        """Whether a token of a kind stands before it."""
        return any(token.kind == kind for token in self.line[: self.index])


Explainer = Callable[[Slip], Diagnostic | None]
"""Says what is wrong, if it knows the slip."""


def touch(left: Token, right: Token) -> bool:
    """Whether two tokens stand right beside each other."""
    return (left.span.end_line, left.span.end_column) == (right.span.line, right.span.column)


def place_of(slip: Slip) -> Span:
    """The place of a slip; after the last token, if something is missing at the end."""
    if slip.at_end():
        last = slip.line[-1].span
        return Span(last.end_line, last.end_column, last.end_line, last.end_column + 1)
    return slip.token.span


def shown(token: Token) -> str:
    """A token as people know it."""
    if token.kind == "PERCENT":
        return f"{token.text}%"
    return token.text or TEXTS.get(token.kind, "the end of the block").removeprefix("a ")
