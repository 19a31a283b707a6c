"""What to say about a token that cannot stand where it does.

Each rule knows some slips and how to tell them from the tokens around; the first that recognises its slip speaks. The
last one always does: it says what could have stood there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from attrs import frozen

from jostle.errors import Diagnostic, Span
from jostle.lang.lexer import BRACKETS, CLAUSE_WORDS, KEYWORDS, Token

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

LOOPS = "how often a loop runs would show, so loops go over lists whose length is public"
ERRORS = "nothing that goes wrong may depend on private rows, so there is nothing to catch"
SCOPES = "a function sees the names of the program around it and gives back values"
PLAIN = "a program is a sequence of values, computed one after the other"
FOREIGN_WORDS = {
    "while": (LOOPS, "write for i in range(d):"),
    "break": (LOOPS, "put the condition into the list, as in [x for x in xs if ...]"),
    "continue": (LOOPS, "put the rest of the block under an if"),
    "try": (ERRORS, "check public facts with if before"),
    "except": (ERRORS, "check public facts with if before"),
    "finally": (ERRORS, "write the lines after each other"),
    "raise": (ERRORS, "return None where there is no answer"),
    "assert": (ERRORS, "write if and return"),
    "with": (PLAIN, "write {{ e }} spending 0.1 for a budget of its own"),
    "as": ("names of the library stay what they are", "import the name as it is"),
    "global": (SCOPES, "return the value"),
    "nonlocal": (SCOPES, "return the value"),
    "yield": (PLAIN, "return a list"),
    "async": (PLAIN, "write a plain def"),
    "await": (PLAIN, "call the function"),
    "del": ("values never change once they are made", "use another name"),
    "is": ("values are equal or not; there is no other sameness", "write =="),
}
"""For each of Python's words, why it is missing and what to do instead."""
PAIRS = {"<>": "write !=", "&&": "write and", "||": "write or", "=>": "write >=", "=<": "write <="}
SHORT = frozenset({"+=", "-=", "*=", "/=", "//=", "%=", "**=", "|=", "&="})
NO_NAME = "is a word of the language, which a name cannot be"
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


Said = tuple[str, str, Span, str, str]
"""The parts of a mistake: its code, its title, its place, why, and what to do."""


def explain_rejection(line: Sequence[Token], index: int, token: Token, expected: frozenset[str]) -> Diagnostic:
    """A mistake about a token of a line; an index after the last one means the end of the line."""
    slip = Slip(tuple(line), min(index, len(line)), token, expected)
    return Diagnostic(*next(chain.from_iterable(rule(slip) for rule in RULES)))


def _foreign_words(slip: Slip) -> Iterator[Said]:
    token, before = slip.token, slip.before
    if not slip.index and token.text in {"else", "elif"}:
        why = f"`{token.text}` goes on with the `if` right above it, at the same indentation"
        yield "J006", f"`{token.text}` without an `if`", token.span, why, "indent it like its `if`"
    if token.kind == "FOREIGN":
        yield "J012", f"`{token.text}` is not in the language", token.span, *FOREIGN_WORDS[token.text]
    if before.kind == "else" and slip.index == 1 and token.kind == "if":
        title = "`else if` is not in the language"
        yield "J012", title, before.span.to(token.span), "a further condition is one word", "write elif"
    if token.kind == "import" and not slip.index:
        why = "names come from the library one by one"
        yield "J012", "`import` on its own", token.span, why, "write from histograms import DAWA"
    if token.kind == "." and not slip.index:
        title, why = "`...` stands for something left out", "a program says all that it does"
        yield "J014", title, token.span, why, "write pass, or what belongs there"


def _foreign_signs(slip: Slip) -> Iterator[Said]:
    token, before = slip.token, slip.before
    for left, right in ((before, token), (token, slip.after)):
        if (pair := left.text + right.text) in PAIRS and _touch(left, right):
            why = "comparisons are == != < <= > >=, and truths are joined by words"
            yield "J012", f"`{pair}` is not in the language", left.span.to(right.span), why, PAIRS[pair]
    if token.kind == "=" and _touch(before, token):
        span, title = before.span.to(token.span), f"`{before.text}=` is not in the language"
        if before.kind == ":":
            yield "J012", title, span, "a name is given a value on a line of its own", "write = on a line before"


def _foreign_forms(slip: Slip) -> Iterator[Said]:
    token, before = slip.token, slip.before
    if slip.first == "def":
        if (token.kind == "-" and slip.after.kind == ">") or (token.kind == ":" and slip.bracket == "("):
            title = "a type in the head of a function"
            yield "J012", title, token.span, "types are found out, not written", "take the type out"
        if token.kind == ":" and slip.index == 2:
            why, fix = "a function has brackets, with its parameters in them", f"write def {slip.line[1].text}():"
            yield "J013", "this function has no brackets", token.span, why, fix
    if token.kind == ":" and slip.bracket == "[":
        why = "brackets after a value hold one index, or the conditions of a part"
        yield "J012", "a slice", token.span, why, "write [x for x in xs if ...]"
    if token.kind == ":" and slip.bracket == "(" and before.kind == "NAME":
        yield "J014", "`:` in a call", token.span, "a named value is given with =", f"write {before.text}=..."
    if token.kind in {"*", "**"} and before.kind == "import":
        why = "a program names what it uses, so that it means the same when the library grows"
        yield "J012", "an import of everything", token.span, why, "list the names"
    if token.kind in {"*", "**"} and before.kind in {"(", ",", "[", "{"}:
        why, fix = "functions take as many values as they have parameters", "write the values out, or pass one list"
        yield "J012", f"`{token.text}` before a value", token.span, why, fix
    if token.kind == "for" and slip.bracket in {"(", "{{"}:
        why = "what is made by `for` inside an expression is a list, a set or a dictionary"
        yield "J012", "`for` without brackets of a list", token.span, why, "put [ ] around it"


def _equals(slip: Slip) -> Iterator[Said]:
    token, before = slip.token, slip.before
    if token.kind != "=":
        return
    if slip.index == 1 and before.kind in WORDS:
        fix = f"write {before.text}_ or another name"
        yield "J011", f"`{before.text}` as a name", before.span, f"`{before.text}` {NO_NAME}", fix
    if slip.bracket == "[" and slip.has("="):
        title, why = "this part's second condition comes too late", "a part is given by attribute = value, with commas"
        yield "J017", title, token.span, f"{why} between", "write D[a = v, b = w]"
    if slip.first in {"if", "elif", "return"} or slip.has("where") or slip.has("if"):
        why = "= gives a value to a name, == compares"
        yield "J007", "`=` where values are compared", token.span, why, "write =="
    if not slip.bracket and slip.has("="):
        fix = "write two lines, or == to compare"
        yield "J007", "a second `=` on this line", token.span, "a line gives a value once", fix
    yield "J007", "`=` after something that is no name", token.span, "= gives a value to a name", "write == to compare"


def _choices(slip: Slip) -> Iterator[Said]:
    token, before = slip.token, slip.before
    if slip.first == "class" and slip.index == 2:
        fix = f"write class {slip.line[1].text}(Option):"
        yield "J013", "this class does not say what it is", slip.place, "a class is an Option", fix
    for each in (token, before):
        if each.kind == "NAME" and each.text in CLAUSE_WORDS:
            second, why = CLAUSE_WORDS[each.text], "the two words belong together, on one line"
            yield "J015", f"`{each.text}` without `{second}`", each.span, why, f"write {each.text} {second}"
    if before.kind == "choose" and token.kind != "NAME":
        why = "each choice has a label, under which it is learned and reported"
        yield "J015", "a choice without a label", token.span, why, "write choose L1 among {...}"
    if before.kind == "MkChoiceMaker" or (slip.index > 1 and slip.line[slip.index - 2].kind == "choose"):
        words = before.kind if before.kind == "MkChoiceMaker" else f"choose {before.text}"
        why, fix = "what is chosen from stands after `among`", f"write {words} among {{A, B}}"
        yield "J015", f"`{words}` without `among`", slip.place, why, fix
    if token.kind in {"among", *CLAUSES} and "NAME" not in slip.expected:
        why, fix = "it is part of MkChoiceMaker or choose", "start with MkChoiceMaker among {...}"
        yield "J015", f"`{token.text}` outside a choice", token.span, why, fix


def _words(slip: Slip) -> Iterator[Said]:
    token, before = slip.token, slip.before
    if token.kind in WORDS - CLAUSES and "NAME" in slip.expected:
        naming = before.kind in {"def", "class", "for", "import", "."} or slip.after.kind == "="
        if naming or (slip.first in {"def", "from"} and before.kind in {",", "(", "from"}):
            fix = f"write {token.text}_ or another name"
            yield "J011", f"`{token.text}` as a name", token.span, f"`{token.text}` {NO_NAME}", fix
    if token.kind == "spending" and slip.has("}}"):
        why = "`spending` counts for the whole line, so in the middle of a computation it needs brackets"
        yield "J015", "`spending` in the middle of a computation", token.span, why, "write ({{ e }} spending 0.1)"
    if token.kind == "spending":
        why = "budget is spent where something private is released"
        fix = "write {{ e }} spending 0.1; an Option is told in its call: AnOption(db, epsilon=epsilon / 2)"
        yield "J015", "`spending` after something that spends nothing", token.span, why, fix
    if slip.expected == {"from"}:
        title, why = "this `select` does not say from what", "an aggregate says over which rows it goes"
        yield "J013", title, slip.place, why, "write from db after the brackets"
    if before.kind == "select":
        title, why = "this `select` selects no aggregate", "rows themselves are never selected, only what they add up"
        yield "J013", title, slip.place, f"{why} to", "write select count() from db"


def _values(slip: Slip) -> Iterator[Said]:
    token, before = slip.token, slip.before
    if slip.bracket == "{{" and token.kind in {",", ":"}:
        why, fix = "`{{` and `}}` release one private value", "write { { with a space for a set in a set"
        yield "J014", f"`{token.text}` between `{{{{` and `}}}}`", token.span, why, fix
    if before.kind == "PERCENT" and token.kind in VALUE_STARTS | {"("}:
        why, fix = "% right after a number makes a share of it, as in 5%", "with a space for the remainder"
        yield "J004", f"`{before.text}%` before a value", before.span, why, f"write {before.text} % {fix}"
    if ":" in slip.expected and slip.first in {"if", "elif", "else", "for", "def", "class"} and slip.at_end:
        title, why = f"this `{slip.first}` line lacks its colon", "a line that a block belongs to ends with a colon"
        yield "J006", title, slip.place, why, "add `:` at the end of the line"
    if slip.at_end:
        last = slip.line[-1]
        fix = "complete the line, or put brackets around what goes on in the next one"
        why = f"after `{_shown(last)}` comes {_likely(slip.expected)}"
        yield "J013", f"the line ends after `{_shown(last)}`", last.span, why, fix
    if before.kind in VALUE_ENDS and token.kind in VALUE_STARTS:
        if slip.index == 1 and before.text == "print":
            fix = f"write print({_shown(token)})"
            yield "J014", "`print` without brackets", before.span, "`print` is a function", fix
        between, title = "a comma or a sign" if slip.bracket else "a sign", f"`{_shown(before)}` and `{_shown(token)}`"
        why = f"between two values stands {between}"
        yield "J014", f"{title} side by side", token.span, why, f"put {between} between them"
    why = f"{f'after `{_shown(before)}`' if slip.index else 'at the start of a line'} comes {_likely(slip.expected)}"
    fix = f"take `{_shown(token)}` out, or complete what stands before it"
    yield "J014", f"`{_shown(token)}` cannot stand here", token.span, why, fix


RULES: tuple[Callable[[Slip], Iterator[Said]], ...] = (
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
