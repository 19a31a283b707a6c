"""The words of the language, and the pieces a text is cut into."""

from __future__ import annotations

from attrs import define, field, frozen

from jostle.errors import Span

__all__ = ["BLOCK_WORDS", "CLAUSE_WORDS", "FOREIGN", "KEYWORDS", "SIGNS", "Line", "Token"]

KEYWORDS = {
    word: word.upper()
    for word in [
        "from",
        "import",
        "return",
        "pass",
        "if",
        "elif",
        "else",
        "for",
        "in",
        "def",
        "class",
        "lambda",
        "spending",
        "over",
        "select",
        "MkChoiceMaker",
        "choose",
        "where",
        "groupby",
        "among",
        "or",
        "and",
        "not",
        "True",
        "False",
        "None",
    ]
}
"""Words that cannot be names, and their terminals in the grammar."""

CLAUSE_WORDS = {
    ("informed", "by"): "INFORMED_BY",
    ("trained", "on"): "TRAINED_ON",
    ("judged", "by"): "JUDGED_BY",
}
"""Pairs of words that are one terminal; each word alone is an ordinary name."""

CONTINUING = frozenset({"AMONG", "INFORMED_BY", "TRAINED_ON", "JUDGED_BY", "SPENDING", "WHERE", "GROUPBY"})
"""A line that starts with one of these goes on with the line before it."""

BLOCK_WORDS = frozenset({"if", "elif", "else", "for", "def", "class", "while", "with", "try", "except", "finally"})
"""Words that start a line which a block belongs to, here or in Python."""

FOREIGN = frozenset(
    [
        "while",
        "try",
        "except",
        "finally",
        "with",
        "as",
        "global",
        "nonlocal",
        "yield",
        "async",
        "await",
        "assert",
        "del",
        "break",
        "continue",
        "is",
        "raise",
    ]
)
"""Python's words that the language does not have. They cannot be names, so that programs read like Python."""

SIGNS = {
    "==": "SAME",
    "!=": "DIFFERS",
    "<=": "AT_MOST",
    ">=": "AT_LEAST",
    "//": "FLOOR",
    "**": "POWER",
    "^": "POWER",
    "%": "REMAINDER",
    ",": "COMMA",
    "=": "EQUAL",
    ":": "COLON",
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    "{": "LBRACE",
    "}": "RBRACE",
    "*": "STAR",
    "<": "LESSTHAN",
    ">": "MORETHAN",
    "|": "VBAR",
    "&": "AMPERSAND",
    "+": "PLUS",
    "-": "MINUS",
    "/": "SLASH",
    ".": "DOT",
}
"""Signs and their terminals in the grammar. `^` is the thesis's power sign."""


@frozen
class Token:
    """A piece of text of one kind."""

    kind: str
    """The terminal of the grammar."""
    text: str
    """As written."""
    span: Span
    """Where."""


@define(eq=False)
class Line:
    """A logical line: what stands on it, and the comments around it."""

    indent: int
    """How many spaces stand before it."""
    tokens: list[Token]
    above: list[str] = field(factory=list)
    """Comments and empty lines before it."""
    inside: list[str] = field(factory=list)
    """Comments in the middle of it."""
    beside: str = ""
    """The comment at its end."""
    below: list[str] = field(factory=list)
    """Comments after it and its block."""
    marks: list[str] = field(factory=list)
    """Words marked above it, `Option`."""
    broken: bool = False
    """Whether a mistake in it was reported already."""

    @property
    def number(self) -> int:
        """The number of the line it starts in."""
        return self.tokens[0].span.line

    @property
    def end(self) -> Span:
        """The place right after its last token."""
        last = self.tokens[-1].span
        return Span(last.end_line, last.end_column, last.end_line, last.end_column + 1)
