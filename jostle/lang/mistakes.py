"""What to say about a token that cannot stand where it does.

Each rule knows one slip and how to tell it from the tokens around; the first that recognises its slip speaks. The last
one always does: it says what could have stood there.
"""

from __future__ import annotations

from collections.abc import Sequence

from jostle.errors import Diagnostic, Span
from jostle.lang.foreign import EXPLAINERS
from jostle.lang.slip import OPERATORS, TEXTS, Explainer, Slip, place_of, shown
from jostle.lang.tokens import CLAUSE_WORDS, KEYWORDS, Token

__all__ = ["explain_rejection", "ours"]

_VALUE_ENDS = frozenset(
    {"NAME", "NUMBER", "PERCENT", "STRING", "TRUE", "FALSE", "NONE", "RPAR", "RSQB", "RBRACE", "NOISED_CLOSE"}
)
_VALUE_STARTS = frozenset({"NAME", "NUMBER", "PERCENT", "STRING", "TRUE", "FALSE", "NONE", "LBRACE", "NOISED_OPEN"})
_WORD_KINDS = frozenset(KEYWORDS.values()) | frozenset(CLAUSE_WORDS.values())
_CLAUSES = {"AMONG", *CLAUSE_WORDS.values()}


def explain_rejection(line: Sequence[Token], index: int, token: Token, expected: frozenset[str]) -> Diagnostic:
    """A mistake about a token of a line; an index after the last one means the end of the line."""
    slip = Slip(tuple(line), min(index, len(line)), token, expected)
    return next(found for explain in _EXPLAINERS if (found := explain(slip)))


def ours(span: Span) -> Diagnostic:
    """Report that reading failed without a reason."""
    why = "every text is a program, or has a mistake that can be named"
    return Diagnostic("J901", "this text could not be read", span, why, "report it with the text: this is our mistake")


def _orphan_else(slip: Slip) -> Diagnostic | None:
    word = slip.token.text
    if slip.index or word not in {"else", "elif"}:
        return None
    why = f"`{word}` goes on with the `if` right above it, at the same indentation"
    return Diagnostic("J006", f"`{word}` without an `if`", slip.token.span, why, "indent it like its `if`")


def _equals(slip: Slip) -> Diagnostic | None:
    if slip.token.kind != "EQUAL":
        return None
    if slip.bracket == "[" and slip.has("EQUAL"):
        why, title = (
            "a part is given by attribute = value, with commas between",
            "this part's second condition comes too late",
        )
        return Diagnostic("J017", title, slip.token.span, why, "write D[a = v, b = w]")
    if slip.first.kind in {"IF", "ELIF", "RETURN"} or slip.has("WHERE") or slip.has("IF"):
        why = "= gives a value to a name, == compares"
        return Diagnostic("J007", "`=` where values are compared", slip.token.span, why, "write ==")
    if not slip.bracket and slip.has("EQUAL"):
        why = "a line gives a value once"
        return Diagnostic(
            "J007", "a second `=` on this line", slip.token.span, why, "write two lines, or == to compare"
        )
    why = "= gives a value to a name"
    return Diagnostic("J007", "`=` after something that is no name", slip.token.span, why, "write == to compare")


def _word_as_name(slip: Slip) -> Diagnostic | None:
    token, before, after = slip.token, slip.before, slip.after
    if token.kind not in _WORD_KINDS or "NAME" not in slip.expected or token.kind in CLAUSE_WORDS.values():
        return None
    naming = before is not None and before.kind in {"DEF", "CLASS", "FOR", "IMPORT", "DOT"}
    given = after is not None and after.kind == "EQUAL"
    listed = slip.first.kind in {"DEF", "FROM"} and before is not None and before.kind in {"COMMA", "LPAR", "FROM"}
    if naming or given or listed:
        why = f"`{token.text}` is a word of the language, which a name cannot be"
        return Diagnostic("J011", f"`{token.text}` as a name", token.span, why, f"write {token.text}_ or another name")
    return None


def _given_word(slip: Slip) -> Diagnostic | None:
    before = slip.before
    if slip.index != 1 or before is None or before.kind not in _WORD_KINDS or slip.token.kind != "EQUAL":
        return None
    why = f"`{before.text}` is a word of the language, which a name cannot be"
    return Diagnostic("J011", f"`{before.text}` as a name", before.span, why, f"write {before.text}_ or another name")


def _choice_words(slip: Slip) -> Diagnostic | None:
    token, before = slip.token, slip.before
    seconds = dict(CLAUSE_WORDS.keys())
    for each in (token, before):
        if each and each.kind == "NAME" and each.text in seconds:
            second = seconds[each.text]
            why = "the two words belong together, on one line"
            return Diagnostic(
                "J015", f"`{each.text}` without `{second}`", each.span, why, f"write {each.text} {second}"
            )
    if before and before.kind == "CHOOSE" and token.kind != "NAME":
        why = "each choice has a label, under which it is learned and reported"
        return Diagnostic("J015", "a choice without a label", token.span, why, "write choose L1 among {...}")
    if (before and before.kind == "MKCHOICEMAKER") or (slip.index > 1 and slip.line[slip.index - 2].kind == "CHOOSE"):
        maker = before is not None and before.kind == "MKCHOICEMAKER"
        words = "MkChoiceMaker" if maker or before is None else f"choose {before.text}"
        why, fix = "what is chosen from stands after `among`", f"write {words} among {{A, B}}"
        return Diagnostic("J015", f"`{words}` without `among`", place_of(slip), why, fix)
    if token.kind in _CLAUSES and "NAME" not in slip.expected:
        why = "it is part of MkChoiceMaker or choose"
        return Diagnostic(
            "J015", f"`{token.text}` outside a choice", token.span, why, "start with MkChoiceMaker among {...}"
        )
    return None


def _spending(slip: Slip) -> Diagnostic | None:
    if slip.token.kind != "SPENDING":
        return None
    if slip.has("NOISED_CLOSE"):
        why = "`spending` counts for the whole line, so in the middle of a computation it needs brackets"
        return Diagnostic(
            "J015", "`spending` in the middle of a computation", slip.token.span, why, "write ({{ e }} spending 0.1)"
        )
    return Diagnostic(
        "J015",
        "`spending` after something that spends nothing",
        slip.token.span,
        "budget is spent where something private is released",
        "write {{ e }} spending 0.1; an Option is told in its call: AnOption(db, epsilon=epsilon / 2)",
    )


def _noised(slip: Slip) -> Diagnostic | None:
    if slip.bracket != "{{" or slip.token.kind not in {"COMMA", "COLON"}:
        return None
    why = "`{{` and `}}` release one private value"
    title = f"`{slip.token.text}` between `{{{{` and `}}}}`"
    return Diagnostic("J014", title, slip.token.span, why, "write { { with a space for a set in a set")


def _select(slip: Slip) -> Diagnostic | None:
    if slip.expected == {"FROM"}:
        why = "an aggregate says over which rows it goes"
        return Diagnostic(
            "J013", "this `select` does not say from what", place_of(slip), why, "write from db after the brackets"
        )
    if slip.has("SELECT") and slip.before and slip.before.kind == "SELECT":
        why = "rows themselves are never selected, only what they add up to"
        return Diagnostic(
            "J013", "this `select` selects no aggregate", place_of(slip), why, "write select count() from db"
        )
    return None


def _percent(slip: Slip) -> Diagnostic | None:
    if slip.before and slip.before.kind == "PERCENT" and slip.token.kind in _VALUE_STARTS | {"LPAR"}:
        why = "% right after a number makes a share of it, as in 5%"
        number = slip.before.text
        return Diagnostic(
            "J004",
            f"`{number}%` before a value",
            slip.before.span,
            why,
            f"write {number} % with a space for the remainder",
        )
    return None


def _class_head(slip: Slip) -> Diagnostic | None:
    if slip.first.kind == "CLASS" and slip.index == 2:
        why, fix = "a class is an Option", f"write class {slip.line[1].text}(Option):"
        return Diagnostic(
            "J013",
            "this class does not say what it is",
            place_of(slip),
            why,
            fix,
        )
    return None


def _no_colon(slip: Slip) -> Diagnostic | None:
    if (
        slip.expected
        and "COLON" in slip.expected
        and slip.first.kind in {"IF", "ELIF", "ELSE", "FOR", "DEF", "CLASS"}
        and slip.at_end()
    ):
        why = "a line that a block belongs to ends with a colon"
        return Diagnostic(
            "J006",
            f"this `{slip.first.text}` line lacks its colon",
            place_of(slip),
            why,
            "add `:` at the end of the line",
        )
    return None


def _ends_early(slip: Slip) -> Diagnostic | None:
    if not slip.at_end():
        return None
    last = slip.line[-1]
    why = f"after `{shown(last)}` comes {_list(slip.expected)}"
    fix = "complete the line, or put brackets around what goes on in the next one"
    return Diagnostic("J013", f"the line ends after `{shown(last)}`", last.span, why, fix)


def _side_by_side(slip: Slip) -> Diagnostic | None:
    before, token = slip.before, slip.token
    if before is None or before.kind not in _VALUE_ENDS or token.kind not in _VALUE_STARTS:
        return None
    if slip.index == 1 and before.text == "print":
        why = "`print` is a function"
        return Diagnostic("J014", "`print` without brackets", before.span, why, f"write print({shown(token)})")
    between = "a comma or a sign" if slip.bracket else "a sign"
    why = f"between two values stands {between}"
    title = f"`{shown(before)}` and `{shown(token)}` side by side"
    return Diagnostic("J014", title, token.span, why, f"put {between} between them")


def _something(slip: Slip) -> Diagnostic:
    before = f"after `{shown(slip.before)}`" if slip.before else "at the start of a line"
    why = f"{before} comes {_list(slip.expected)}"
    fix = f"take `{shown(slip.token)}` out, or complete what stands before it"
    return Diagnostic("J014", f"`{shown(slip.token)}` cannot stand here", slip.token.span, why, fix)


def _list(expected: frozenset[str]) -> str:
    """The tokens that could have stood there, in words, the likeliest first."""
    found: list[str] = []
    rest = set(expected)
    if {"NAME", "NUMBER"} <= rest:
        found.append("a value")
        rest -= _VALUE_STARTS | {"LPAR", "LSQB", "MINUS", "PLUS", "NOT", "LAMBDA", "SELECT", "MKCHOICEMAKER", "CHOOSE"}
        rest -= {"FROM", "RETURN", "PASS", "IF", "FOR", "DEF", "CLASS"} if "DEF" in rest else set()
    if {"PLUS", "SLASH"} <= rest:
        found.append("an operator")
        rest -= OPERATORS | {"AND", "OR", "NOT", "IN", "IF", "OVER"}
        rest -= {"LPAR", "LSQB", "DOT"}
    rest -= {"$END", "BROKEN", "_INDENT", "_DEDENT"}
    found += sorted(
        text if kind in {"NAME", "_NEWLINE"} else f"`{text}`" for kind in rest if (text := TEXTS.get(kind, kind))
    )
    return " or ".join(found[:4]) if found else "nothing"


_EXPLAINERS: tuple[Explainer, ...] = (
    _orphan_else,
    *EXPLAINERS,
    _given_word,
    _equals,
    _class_head,
    _choice_words,
    _word_as_name,
    _spending,
    _select,
    _noised,
    _percent,
    _no_colon,
    _ends_early,
    _side_by_side,
    _something,
)
