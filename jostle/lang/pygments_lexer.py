"""Colours for programs, wherever Pygments makes them: documents, terminals, `rich`."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace, _TokenType

from jostle.lang.builtins import BUILTINS
from jostle.lang.lexer import KEYWORDS

_CONSTANTS = ("True", "False", "None")
_TRUTHS = ("and", "or", "not", "in")


def _pair(first: str, second: str, kind: _TokenType) -> tuple[str, object]:
    """A rule for a keyword and the word after it."""
    coloured: object = bygroups(Keyword, Whitespace, kind)  # type: ignore[no-untyped-call] # its stubs leave it so
    return rf"({first})(\s+)({second})", coloured


def _formatted(quote: str, kind: _TokenType) -> list[object]:
    """The rules for a text with values in it."""
    return [
        (quote, kind, "#pop"),
        (r"\n", Whitespace, "#pop"),
        (r"\{\{|\}\}|\\.", String.Escape),
        (r"\{", String.Interpol, "value"),
        (rf"[^{quote}\\{{}}\n]+|.", kind),
    ]


class JostleLexer(RegexLexer):
    """Splits programs into coloured pieces."""

    name = "Jostle"
    aliases: ClassVar[list[str]] = ["jostle", "jst"]
    filenames: ClassVar[list[str]] = ["*.jst"]
    version_added = ""
    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"#\s*(?:Option|Metafeature)\s*$", Comment.Preproc),
            (r"#.*$", Comment.Single),
            (r'f"', String.Affix, "double"),
            (r"f'", String.Affix, "single"),
            (r'"(?:[^"\\\n]|\\.)*"', String.Double),
            (r"'(?:[^'\\\n]|\\.)*'", String.Single),
            (r"(?:[0-9][0-9_]*(?:\.[0-9_]+)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?%?", Number),
            _pair(r"def", r"\w+", Name.Function),
            _pair(r"class", r"\w+", Name.Class),
            _pair(r"choose", r"\w+", Name.Label),
            _pair("informed|judged", r"by\b", Keyword),
            _pair("trained", r"on\b", Keyword),
            (words(_CONSTANTS, prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words(_TRUTHS, prefix=r"\b", suffix=r"\b"), Operator.Word),
            (words(tuple(sorted(KEYWORDS)), prefix=r"\b", suffix=r"\b"), Keyword),
            (r"epsilon\b", Name.Builtin.Pseudo),
            (words(tuple(sorted(BUILTINS)), prefix=r"\b", suffix=r"\b"), Name.Builtin),
            (r"[^\W\d]\w*", Name),
            (r"\{\{|\}\}", Operator),
            (r"==|!=|<=|>=|(?://|\*\*|[+\-*/%|&^])=?|[=<>]", Operator),
            (r"[()\[\]{}:,.]", Punctuation),
        ],
        "double": _formatted('"', String.Double),
        "single": _formatted("'", String.Single),
        "value": [(r"\}", String.Interpol, "#pop"), (r"\{(?!\{)", Punctuation, "braced"), include("root")],
        "braced": [(r"\}", Punctuation, "#pop"), (r"\{(?!\{)", Punctuation, "braced"), include("root")],
    }
