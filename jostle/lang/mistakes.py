"""What to say about a token that cannot stand where it does.

Each rule knows some slips and how to tell them from the tokens around; the first that recognises its slip speaks. The
last one always does: it says what could have stood there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from attrs import frozen

from jostle.errors import Diagnostic, Span
from jostle.lang.lexer import BRACKETS, CLAUSE_WORDS, KEYWORDS, Token
from jostle.lang.messages import message

OPERATORS = frozenset({"==", "!=", "<=", ">=", "//", "**", "%", "*", "<", ">", "|", "&", "+", "-", "/"})
VALUES = frozenset({"NAME", "NUMBER", "PERCENT", "STRING", "True", "False", "None"})
VALUE_STARTS, VALUE_ENDS = VALUES | {"{", "{{", "TEXT_START"}, VALUES | {")", "]", "}", "}}", "TEXT_END"}
CLAUSES = frozenset(f"{first} {second}" for first, second in CLAUSE_WORDS.items())
WORDS = frozenset(KEYWORDS) | CLAUSES
UNNAMED = {
    "NAME": "a name",
    "_NEWLINE": "the end of the line",
    "TEXT_MIDDLE": "the rest of the text",
    "TEXT_END": "the rest of the text",
}
"""How terminals are written that are no fixed texts."""

PAIRS = {"<>": "!=", "&&": "and", "||": "or", "=>": ">=", "=<": "<="}
"""Signs of other languages, each with what to write instead."""
SHORT = frozenset({"+=", "-=", "*=", "/=", "//=", "%=", "**=", "|=", "&="})
NO_SIGN = Token("", "", Span(0, 0, 0, 0))
"""Stands beside the first and the last token of a line."""


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
    def first(self) -> str:
        """The kind of the first token of the line."""
        return self.line[0].kind

    @property
    def before(self) -> Token:
        """The token before it on the line."""
        return self.line[self.index - 1] if self.index else NO_SIGN

    @property
    def after(self) -> Token:
        """The token after it on the line."""
        return self.line[self.index + 1] if self.index + 1 < len(self.line) else NO_SIGN

    @property
    def bracket(self) -> str:
        """The innermost bracket open around it, or nothing."""
        stack = [""]
        for token in self.line[: self.index]:
            if token.text in BRACKETS:
                stack.append(token.text)
            elif token.text in BRACKETS.values() and len(stack) > 1:
                stack.pop()
        return stack[-1]

    @property
    def at_end(self) -> bool:
        """Whether the line ended where something was missing."""
        return self.index >= len(self.line)

    @property
    def place(self) -> Span:
        """Where it is; after the last token, if something is missing at the end."""
        if not self.at_end:
            return self.token.span
        last = self.line[-1].span
        return Span(last.end_line, last.end_column, last.end_line, last.end_column + 1)

    def has(self, kind: str) -> bool:
        """Whether a token of a kind stands before it."""
        return any(token.kind == kind for token in self.line[: self.index])


def explain_rejection(line: Sequence[Token], index: int, token: Token, expected: frozenset[str]) -> Diagnostic:
    """A mistake about a token of a line; an index after the last one means the end of the line."""
    slip = Slip(tuple(line), min(index, len(line)), token, expected)
    return next(chain.from_iterable(rule(slip) for rule in RULES))


def _foreign_words(slip: Slip) -> Iterator[Diagnostic]:
    token, before = slip.token, slip.before
    if not slip.index and token.text in {"else", "elif"}:
        yield message("J006 alone", token.span, word=token.text)
    if token.kind == "FOREIGN":
        yield message(f"J012 {token.text}", token.span, word=token.text)
    if before.kind == "else" and slip.index == 1 and token.kind == "if":
        yield message("J012 else_if", before.span.to(token.span))
    if token.kind == "import" and not slip.index:
        yield message("J012 import", token.span)
    if token.kind == "." and not slip.index:
        yield message("J014 dots", token.span)


def _foreign_signs(slip: Slip) -> Iterator[Diagnostic]:
    token, before = slip.token, slip.before
    for left, right in ((before, token), (token, slip.after)):
        if (pair := left.text + right.text) in PAIRS and _touch(left, right):
            yield message("J012 sign", left.span.to(right.span), word=pair, instead=PAIRS[pair])
    if token.kind == "=" and before.kind == ":" and _touch(before, token):
        yield message("J012 assigned", before.span.to(token.span), word=":=")


def _foreign_forms(slip: Slip) -> Iterator[Diagnostic]:
    token, before = slip.token, slip.before
    if slip.first == "def":
        if (token.kind == "-" and slip.after.kind == ">") or (token.kind == ":" and slip.bracket == "("):
            yield message("J012 type", token.span)
        if token.kind == ":" and slip.index == 2:
            yield message("J013 brackets", token.span, name=slip.line[1].text)
    if token.kind == ":" and slip.bracket == "[":
        yield message("J012 slice", token.span)
    if token.kind == ":" and slip.bracket == "(" and before.kind == "NAME":
        yield message("J014 colon", token.span, name=before.text)
    if token.kind in {"*", "**"} and before.kind == "import":
        yield message("J012 everything", token.span)
    if token.kind in {"*", "**"} and before.kind in {"(", ",", "[", "{"}:
        yield message("J012 star", token.span, sign=token.text)
    if token.kind == "for" and slip.bracket in {"(", "{{"}:
        yield message("J012 brackets", token.span)


def _equals(slip: Slip) -> Iterator[Diagnostic]:
    token, before = slip.token, slip.before
    if token.kind != "=":
        return
    if slip.index == 1 and before.kind in WORDS:
        yield message("J011", before.span, word=before.text)
    if slip.bracket == "[" and slip.has("="):
        yield message("J017 second", token.span)
    if slip.first in {"if", "elif", "return"} or slip.has("where") or slip.has("if"):
        yield message("J007 compared", token.span)
    if not slip.bracket and slip.has("="):
        yield message("J007 second", token.span)
    yield message("J007 no_name", token.span)


def _choices(slip: Slip) -> Iterator[Diagnostic]:
    token, before = slip.token, slip.before
    if slip.first == "class" and slip.index == 2:
        yield message("J013 class", slip.place, name=slip.line[1].text)
    for each in (token, before):
        if each.kind == "NAME" and each.text in CLAUSE_WORDS:
            yield message("J015 pair", each.span, first=each.text, second=CLAUSE_WORDS[each.text])
    if before.kind == "choose" and token.kind != "NAME":
        yield message("J015 label", token.span)
    if before.kind == "MkChoiceMaker" or (slip.index > 1 and slip.line[slip.index - 2].kind == "choose"):
        words = before.kind if before.kind == "MkChoiceMaker" else f"choose {before.text}"
        yield message("J015 among", slip.place, choice=words)
    if token.kind in {"among", *CLAUSES} and "NAME" not in slip.expected:
        yield message("J015 outside", token.span, word=token.text)


def _words(slip: Slip) -> Iterator[Diagnostic]:
    token, before = slip.token, slip.before
    if token.kind in WORDS - CLAUSES and "NAME" in slip.expected:
        naming = before.kind in {"def", "class", "for", "import", "."} or slip.after.kind == "="
        if naming or (slip.first in {"def", "from"} and before.kind in {",", "(", "from"}):
            yield message("J011", token.span, word=token.text)
    if token.kind == "spending" and slip.has("}}"):
        yield message("J015 spending_inside", token.span)
    if token.kind == "spending":
        yield message("J015 spending_nothing", token.span)
    if slip.expected == {"from"}:
        yield message("J013 from", slip.place)
    if before.kind == "select":
        yield message("J013 aggregate", slip.place)


def _values(slip: Slip) -> Iterator[Diagnostic]:
    token, before = slip.token, slip.before
    if slip.bracket == "{{" and token.kind in {",", ":"}:
        yield message("J014 purchase", token.span, sign=token.text)
    if before.kind == "PERCENT" and token.kind in VALUE_STARTS | {"("}:
        yield message("J004 percent", before.span, number=before.text)
    if ":" in slip.expected and slip.first in {"if", "elif", "else", "for", "def", "class"} and slip.at_end:
        yield message("J006 colon", slip.place, word=slip.first)
    if slip.at_end:
        last = slip.line[-1]
        yield message("J013 line_end", last.span, last=_shown(last), likely=_likely(slip.expected))
    if before.kind in VALUE_ENDS and token.kind in VALUE_STARTS:
        if slip.index == 1 and before.text == "print":
            yield message("J014 print", before.span, value=_shown(token))
        between = "a comma or a sign" if slip.bracket else "a sign"
        yield message("J014 side_by_side", token.span, one=_shown(before), other=_shown(token), between=between)
    known: dict[str, Any] = {"before": _shown(before) if slip.index else None, "likely": _likely(slip.expected)}
    yield message("J014 token", token.span, sign=_shown(token), **known)


RULES: tuple[Callable[[Slip], Iterator[Diagnostic]], ...] = (
    _foreign_words,
    _foreign_signs,
    _foreign_forms,
    _equals,
    _choices,
    _words,
    _values,
)


def _touch(left: Token, right: Token) -> bool:
    """Whether two tokens stand right beside each other."""
    return (left.span.end_line, left.span.end_column) == (right.span.line, right.span.column)


def _shown(token: Token) -> str:
    """A token as people know it."""
    ends = {"": "the end of the block", "_NEWLINE": "the end of the line"}
    return f"{token.text}%" if token.kind == "PERCENT" else token.text or ends.get(token.kind, ends[""])


def _likely(expected: frozenset[str]) -> str:
    """The tokens that could have stood there, in words, the likeliest first."""
    found: list[str] = []
    rest = set(expected) - {"$END", "BROKEN", "_INDENT", "_DEDENT"}
    if {"NAME", "NUMBER"} <= rest:
        found.append("a value")
        rest -= VALUE_STARTS | {"(", "[", "-", "+", "not", "lambda", "select", "MkChoiceMaker", "choose"}
        rest -= {"from", "return", "pass", "if", "for", "def", "class"} if "def" in rest else set()
    if {"+", "/"} <= rest:
        found.append("an operator")
        rest -= OPERATORS | {"and", "or", "not", "in", "if", "over", "(", "[", "."}
    found += sorted({UNNAMED.get(kind, f"`{kind}`") for kind in rest - SHORT})
    return " or ".join(found[:4]) if found else "nothing"
