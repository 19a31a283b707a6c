"""Mistakes in single words, signs and brackets, as sentences."""

from __future__ import annotations

import re

from jostle.errors import Diagnostic, Label, Span

__all__ = [
    "backslash",
    "character",
    "closes_nothing",
    "closes_wrong",
    "deep",
    "escape",
    "long_number",
    "never_closed",
    "number",
    "prefixed_string",
    "set_in_a_set",
    "string_not_closed",
    "tab",
    "triple",
]

_INSTEAD = {
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{NOT EQUAL TO}": "!=",
    "\N{MULTIPLICATION SIGN}": "*",
    "\N{DIVISION SIGN}": "/",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{NO-BREAK SPACE}": "a plain space",
    "\N{UNION}": "|",
    "\N{INTERSECTION}": "&",
    "\N{ELEMENT OF}": "in",
    "\N{LOGICAL AND}": "and",
    "\N{LOGICAL OR}": "or",
    "\N{NOT SIGN}": "not",
    "@": "#Option on the line above the def",
    "!": "not, or != to compare",
    "\t": "a space",
}
_CLOSING = {"(": ")", "[": "]", "{": "}", "{{": "}}"}


def character(found: str, span: Span) -> Diagnostic:
    """Report a character that is no part of the language."""
    if found == ";":
        return Diagnostic(
            "J001",
            "`;` between statements",
            span,
            "a line holds one statement",
            "put each statement on a line of its own",
        )
    name = (
        f"`{found}`" if found.isprintable() and found != "\N{NO-BREAK SPACE}" else f"the character U+{ord(found):04X}"
    )
    instead = _INSTEAD.get(found)
    fix = f"write {instead}" if instead else f"take {name} out, or put it into a string"
    return Diagnostic(
        "J001", f"{name} means nothing here", span, "programs are made of names, numbers, strings and signs", fix
    )


def tab(span: Span) -> Diagnostic:
    """Report a tab in the indentation."""
    why = "how wide a tab is differs from editor to editor, and indentation decides what belongs to what"
    return Diagnostic(
        "J002", "a tab in the indentation", span, why, "indent with four spaces; `jostle fmt` keeps to that"
    )


def string_not_closed(span: Span) -> Diagnostic:
    """Report a string that runs to the end of its line."""
    return Diagnostic(
        "J003", "this string is never closed", span, "a string ends on its line", "close it with the same quote"
    )


def triple(span: Span) -> Diagnostic:
    """Report a string in three quotes."""
    return Diagnostic(
        "J003", "a string in three quotes", span, "a string ends on its line", "start each line of a note with #"
    )


def prefixed_string(prefix: str, span: Span) -> Diagnostic:
    """Report a letter right before a string."""
    why = "strings are plain: they name columns and files, and never hold values"
    return Diagnostic("J003", f"`{prefix}` right before a string", span, why, f"take `{prefix}` out")


def escape(text: str, span: Span) -> Diagnostic | None:
    r"""Report a backslash before a letter for which it means nothing."""
    for found in re.finditer(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", text):
        written = found[1]
        known = written in {"n", "t", "\\", '"', "'"}
        if len(written) > 1:
            point = int(written[1:], 16)
            known = point < 0x110000 and not 0xD800 <= point < 0xE000
        if not known:
            start = span.column + found.start()
            place = Span(span.line, start, span.line, start + len(found[0]))
            why = r"a backslash stands before n, t, a quote, another backslash, or u and four digits"
            return Diagnostic("J003", f"`{found[0]}` means nothing in a string", place, why, rf"write \\{written}")
    return None


def number(text: str, span: Span) -> Diagnostic:
    """Report digits that run into letters."""
    why = "a number is digits with at most one point, and a name starts with a letter"
    if re.match(r"0[xXoObB]", text):
        return Diagnostic(
            "J004", f"`{text}` is not a number", span, "numbers are written to base ten", "write its value"
        )
    return Diagnostic(
        "J004", f"`{text}` is neither a number nor a name", span, why, "put a sign between them, as in 5 * x"
    )


def long_number(span: Span, digits: int, exponent: int) -> Diagnostic:
    """Report a number that nobody means."""
    why = f"numbers are computed with exactly; they have at most {digits} characters and exponents up to {exponent}"
    return Diagnostic("J004", "this number is out of proportion", span, why, "write a shorter one")


def backslash(span: Span) -> Diagnostic:
    """Report a line that is continued with a backslash."""
    why = "a line goes on inside brackets, and before words such as `informed by`"
    return Diagnostic("J001", "a backslash at the end of a line", span, why, "put the whole expression in brackets ( )")


def deep(span: Span, most: int) -> Diagnostic:
    """Report too many brackets in brackets."""
    why = f"brackets go at most {most} deep"
    return Diagnostic("J008", "brackets nested too deep", span, why, "give parts of the expression names")


def never_closed(opener: str, span: Span) -> Diagnostic:
    """Report a bracket without its partner."""
    closing = _CLOSING[opener]
    return Diagnostic(
        "J005",
        f"`{opener}` is never closed",
        span,
        "every bracket has a partner",
        f"add `{closing}` where the expression ends",
    )


def closes_nothing(sign: str, span: Span) -> Diagnostic:
    """Report a closing bracket too many."""
    return Diagnostic("J005", f"`{sign}` closes nothing", span, "every bracket has a partner", f"take `{sign}` out")


def set_in_a_set(span: Span) -> Diagnostic:
    """Report two opening braces in a row that were not meant to release something."""
    why = "`{{` and `}}` release one private value"
    return Diagnostic("J005", "`{{` before several values", span, why, "write { { with a space for a set in a set")


def closes_wrong(sign: str, span: Span, opener: str, opened: Span) -> Diagnostic:
    """Report a closing bracket of another kind than the one opened last."""
    closing = _CLOSING[opener]
    why = "brackets close in the order opposite to the one they were opened in"
    return Diagnostic(
        "J005",
        f"`{sign}` cannot close `{opener}`",
        span,
        why,
        f"write `{closing}`",
        others=(Label(opened, "opened here"),),
    )
