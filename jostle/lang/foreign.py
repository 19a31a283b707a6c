"""What Python or other languages have and this one does not: the reason, and what to write."""

from __future__ import annotations

from jostle.errors import Diagnostic
from jostle.lang.slip import OPERATORS, Explainer, Slip, touch

__all__ = ["EXPLAINERS"]

_LOOPS = "how often a loop runs would show, so loops go over lists whose length is public"
_ERRORS = "nothing that goes wrong may depend on private rows, so there is nothing to catch"
_SCOPES = "a function sees the names of the program around it and gives back values"
_PLAIN = "a program is a sequence of values, computed one after the other"

FOREIGN_WORDS = {
    "while": (_LOOPS, "write for i in range(d):"),
    "break": (_LOOPS, "put the condition into the list, as in [x for x in xs if ...]"),
    "continue": (_LOOPS, "put the rest of the block under an if"),
    "try": (_ERRORS, "check public facts with if before"),
    "except": (_ERRORS, "check public facts with if before"),
    "finally": (_ERRORS, "write the lines after each other"),
    "raise": (_ERRORS, "return None where there is no answer"),
    "assert": (_ERRORS, "write if and return"),
    "with": (_PLAIN, "write {{ e }} spending 0.1 for a budget of its own"),
    "as": ("names of the library stay what they are", "import the name as it is"),
    "global": (_SCOPES, "return the value"),
    "nonlocal": (_SCOPES, "return the value"),
    "yield": (_PLAIN, "return a list"),
    "async": (_PLAIN, "write a plain def"),
    "await": (_PLAIN, "call the function"),
    "del": ("values never change once they are made", "use another name"),
    "is": ("values are equal or not; there is no other sameness", "write =="),
}
"""For each word, why it is missing and what to do instead."""


def _foreign_word(slip: Slip) -> Diagnostic | None:
    if slip.token.kind != "FOREIGN":
        return None
    why, fix = FOREIGN_WORDS[slip.token.text]
    return Diagnostic("J012", f"`{slip.token.text}` is not in the language", slip.token.span, why, fix)


def _else_if(slip: Slip) -> Diagnostic | None:
    if slip.before and slip.before.kind == "ELSE" and slip.index == 1 and slip.token.kind == "IF":
        why = "a further condition is one word"
        return Diagnostic(
            "J012", "`else if` is not in the language", slip.before.span.to(slip.token.span), why, "write elif"
        )
    return None


def _augmented(slip: Slip) -> Diagnostic | None:
    before = slip.before
    if slip.token.kind != "EQUAL" or before is None or not touch(before, slip.token):
        return None
    if before.kind in OPERATORS:
        name = slip.line[slip.index - 2].text if slip.index > 1 else "x"
        why, title = "a name is given a new value with = alone", f"`{before.text}=` is not in the language"
        return Diagnostic(
            "J012", title, before.span.to(slip.token.span), why, f"write {name} = {name} {before.text} ..."
        )
    if before.kind == "COLON":
        why, title = "a name is given a value on a line of its own", "`:=` is not in the language"
        return Diagnostic("J012", title, before.span.to(slip.token.span), why, "write = on a line before")
    return None


def _annotation(slip: Slip) -> Diagnostic | None:
    if slip.first.kind != "DEF":
        return None
    arrow = slip.token.kind == "MINUS" and slip.after and slip.after.kind == "MORETHAN"
    if arrow or (slip.token.kind == "COLON" and slip.bracket == "("):
        why, title = "types are found out, not written", "a type in the head of a function"
        return Diagnostic("J012", title, slip.token.span, why, "take the type out")
    if slip.token.kind == "COLON" and slip.index == 2:
        why = "a function has brackets, with its parameters in them"
        return Diagnostic(
            "J013", "this function has no brackets", slip.token.span, why, f"write def {slip.line[1].text}():"
        )
    return None


def _slice(slip: Slip) -> Diagnostic | None:
    if slip.token.kind != "COLON":
        return None
    if slip.bracket == "[":
        why, title = "brackets after a value hold one index, or the conditions of a part", "a slice"
        return Diagnostic("J012", title, slip.token.span, why, "write [x for x in xs if ...]")
    if slip.bracket == "(" and slip.before and slip.before.kind == "NAME":
        why = "a named value is given with ="
        return Diagnostic("J014", "`:` in a call", slip.token.span, why, f"write {slip.before.text}=...")
    return None


def _star(slip: Slip) -> Diagnostic | None:
    if slip.token.kind not in {"STAR", "POWER"}:
        return None
    if slip.before and slip.before.kind == "IMPORT":
        why = "a program names what it uses, so that it means the same when the library grows"
        return Diagnostic("J012", "an import of everything", slip.token.span, why, "list the names")
    if slip.before and slip.before.kind in {"LPAR", "COMMA", "LSQB", "LBRACE"}:
        why, title = "functions take as many values as they have parameters", f"`{slip.token.text}` before a value"
        return Diagnostic("J012", title, slip.token.span, why, "write the values out, or pass one list")
    return None


def _generator(slip: Slip) -> Diagnostic | None:
    if slip.token.kind == "FOR" and slip.bracket in {"(", "{{"}:
        why = "what is made by `for` inside an expression is a list, a set or a dictionary"
        return Diagnostic("J012", "`for` without brackets of a list", slip.token.span, why, "put [ ] around it")
    return None


def _pairs(slip: Slip) -> Diagnostic | None:
    fixes = {"<>": "write !=", "&&": "write and", "||": "write or", "=>": "write >=", "=<": "write <="}
    for left, right in ((slip.before, slip.token), (slip.token, slip.after)):
        if left and right and touch(left, right) and left.text + right.text in fixes:
            pair = left.text + right.text
            why = "comparisons are == != < <= > >=, and truths are joined by words"
            return Diagnostic("J012", f"`{pair}` is not in the language", left.span.to(right.span), why, fixes[pair])
    return None


def _dots(slip: Slip) -> Diagnostic | None:
    if slip.index or slip.token.kind != "DOT":
        return None
    why = "a program says all that it does"
    return Diagnostic(
        "J014", "`...` stands for something left out", slip.token.span, why, "write pass, or what belongs there"
    )


def _import(slip: Slip) -> Diagnostic | None:
    if slip.token.kind == "IMPORT" and slip.index == 0:
        why = "names come from the library one by one"
        return Diagnostic("J012", "`import` on its own", slip.token.span, why, "write from histograms import DAWA")
    return None


EXPLAINERS: tuple[Explainer, ...] = (
    _foreign_word,
    _else_if,
    _import,
    _dots,
    _pairs,
    _augmented,
    _annotation,
    _slice,
    _star,
    _generator,
)
"""The first that knows a slip speaks."""
