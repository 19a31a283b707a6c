"""What goes wrong, as sentences with a way out."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from attrs import field, frozen

from jostle.visible import visible, visible_lines

MOST_SHOWN = 60
MOST_WORDS = 1000


class JostleError(Exception):
    """A mistake or a refusal: what is wrong, the rule behind it, something to do about it.

    No message ever holds a value computed from private rows.
    """

    def __init__(self, title: str, *, why: str | None = None, fix: str | None = None) -> None:
        title = _short(title)
        why, fix = (None if each is None else _short(each) for each in (why, fix))
        super().__init__(title, why, fix)
        self.title = title
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        lines = [visible(self.title)]
        if self.why:
            # Where it has several lines, as a traceback has, none of them looks like a part of the message.
            lines.append(f"  why: {visible_lines(self.why)}".replace("\n", "\n       "))
        if self.fix:
            lines.append(f"  fix: {visible(self.fix)}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows of it: the sentence alone, since the frames are Jostle's own and say nothing more."""
        return [f"{type(self).__name__}: {self}"]

    def facts(self) -> dict[str, Any]:
        """Its facts, by the names that it is made with."""
        return {"title": self.title, "why": self.why, "fix": self.fix}

    def anew(self) -> JostleError:
        """An equal error that was raised nowhere: it leads to no frame."""
        make, parts = self.__reduce__()
        return make(*parts)

    def __reduce__(self) -> tuple[Callable[..., JostleError], tuple[Any, ...]]:
        return _rebuild, (type(self), self.facts())


def described(value: object) -> str:
    """A value in words that tell nothing of what is in it, but for single numbers and names: "a DataFrame"."""
    if value is None or isinstance(value, str | int | float | Fraction):
        return shown(value)
    return _kind(value)


def shown(value: object) -> str:
    """A value as a program would write it, shortened: a message is a sentence, however long the value.

    A frame or a column is told by its type: whoever writes it where it does not belong may have private rows in it.
    """
    if _holds_rows(value):
        return _kind(value)
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of thousands of digits
        return "a number of too many digits"
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


def said_by(failure: BaseException) -> str:
    """What went wrong in somebody else's code, in its own words, if it can say any."""
    try:
        said = str(failure)
    except Exception:  # noqa: BLE001 - it is their text as well that may fail in any way
        said = ""
    return f"{type(failure).__name__}: {said}" if said else type(failure).__name__


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1] in tuple('aeiouAEIOU') else 'a'} {name}"


def _holds_rows(value: object) -> bool:
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and bool(shape)


def _short(text: object) -> str:
    text = text if isinstance(text, str) else described(text)
    return text if len(text) <= MOST_WORDS else f"{text[: MOST_WORDS - 3]}..."


def _rebuild(kind: type[JostleError], facts: dict[str, Any]) -> JostleError:
    return kind(**facts)


class SchemaError(JostleError, ValueError):
    """The public facts about a table contradict themselves, or are asked of a private one."""


class TableError(JostleError, ValueError):
    """A table cannot be read, or does not have what a question names, or a question is not made of plain values."""


class NoiseError(JostleError, ValueError):
    """A sampler was asked for something it cannot draw exactly."""


class EventError(JostleError, TypeError):
    """A privacy event of unknown kind: it is refused, never guessed."""


class ExpressionError(JostleError, TypeError):
    """A private expression makes no sense, or a row could change it by more than can be bounded."""


class BudgetError(JostleError, ValueError):
    """More budget was asked for than is left; amounts are None where the refusal is not about them."""

    def __init__(
        self,
        title: str,
        *,
        why: str | None = None,
        fix: str | None = None,
        requested: Fraction | None = None,
        left: Fraction | None = None,
        promise: Fraction | None = None,
    ) -> None:
        super().__init__(title, why=why, fix=fix)
        self.requested = _own(requested)
        """What was asked for."""
        self.left = _own(left)
        """What is left of the promise."""
        self.promise = _own(promise)
        """The bound fixed beforehand."""

    def facts(self) -> dict[str, Any]:
        """Its facts, by the names that it is made with."""
        amounts = {"requested": self.requested, "left": self.left, "promise": self.promise}
        return {**super().facts(), **{name: amount for name, amount in amounts.items() if amount is not None}}


class AmountError(BudgetError):
    """What stands where an amount of budget belongs is no number, or none that can be spent."""


def _own(amount: Fraction | None) -> Fraction | None:
    # Another object: whoever catches an error can assign to the parts of a fraction in it, which a ledger goes by.
    return None if amount is None else Fraction(amount.numerator, amount.denominator)


class OptionError(JostleError, ValueError):
    """An Option is unknown, cannot run here, or did not keep to what it declared."""


class AnswerError(OptionError):
    """An Option answered something else than its task asks."""


class FewRowsWarning(UserWarning):
    """Rows times epsilon are too few for what is asked: what comes out will be mostly noise."""


class UnpaidWarning(UserWarning):
    """More may be said of private rows than is charged: by scikit-learn's tools, or to askers who tell each other."""


class ProbeError(JostleError, RuntimeError):
    """A private table could not answer, or was asked for what it does not give."""


class VaultError(JostleError, OSError):
    """The file that remembers what was spent cannot be used."""


class AccessError(JostleError, PermissionError):
    """Whoever asks is unknown, or may not do what they ask for."""


class WireError(JostleError, ValueError):
    """A message between an asker's process and the owner's cannot be read, or is of another version."""


class WaitingError(AccessError):
    """A request waits until the data's owner decides; asking the same again says what became of it."""

    def __init__(self, title: str, *, why: str | None = None, fix: str | None = None, number: int = 0) -> None:
        super().__init__(title, why=why, fix=fix)
        self.number = number
        """The request's, among all that ever waited."""

    def facts(self) -> dict[str, Any]:
        """Its facts, by the names that it is made with."""
        return {**super().facts(), "number": self.number}


class CallError(JostleError, TypeError):
    """Something is called without what it needs, or with what it does not take."""


class PrivateDataError(JostleError, ValueError):
    """Private data are about to be read as if they were public."""


class CorpusError(JostleError, ValueError):
    """A public database cannot be read, or does not give what is asked of it."""


class AuditError(JostleError, ValueError):
    """The auditor does not know what it is asked to audit."""


class ChoiceError(JostleError, ValueError):
    """A choice cannot be made or learned: too little to learn from, or a maker that does not fit its Options."""


class DamageError(ValueError):
    """Something in a file is not what has to stand there: said in words that quote little of it."""


@frozen(order=True)
class Span:
    """A stretch of a program's text; lines and columns count from 1, the end column is the first one not in it."""

    line: int
    """The line it starts in."""
    column: int
    """The column it starts in."""
    end_line: int
    """The line it ends in."""
    end_column: int
    """The column after its last character."""

    def to(self, other: Span) -> Span:
        """The stretch from the start of this one to the end of the other."""
        return Span(self.line, self.column, other.end_line, other.end_column)

    def first(self) -> Span:
        """Its first character."""
        return Span(self.line, self.column, self.line, self.column + 1)


NOWHERE = Span(0, 0, 0, 0)
"""The place of what was not read from a text."""


@frozen
class Source:
    """A program's text and the name it goes by in messages."""

    name: str
    """The path as the user gave it."""
    text: str
    """What is in the file."""
    lines: tuple[str, ...] = field(init=False, repr=False, eq=False)
    """The text by lines, as editors count them."""

    @lines.default
    def _split(self) -> tuple[str, ...]:
        return tuple(self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


@frozen
class Label:
    """A place that explains a mistake, with at most a few words."""

    span: Span
    """The place."""
    text: str
    """What is to be seen there."""


@frozen
class Diagnostic:
    """One mistake in a program, as data; `render` makes text of it."""

    code: str
    """Which kind of mistake, `J201`; `jostle explain` says more about it."""
    title: str
    """What is wrong, in the program's own words."""
    span: Span
    """The culprit."""
    why: str
    """The rule, in one line."""
    fix: str
    """Something to type."""
    label: str = ""
    """A few words under the culprit."""
    others: tuple[Label, ...] = ()
    """Further places that explain it."""

    def as_data(self) -> dict[str, object]:
        """This as plain data, for programs to read."""
        return {
            "code": self.code,
            "title": self.title,
            **_place(self.span),
            "label": self.label,
            "why": self.why,
            "fix": self.fix,
            "others": [{**_place(other.span), "label": other.text} for other in self.others],
        }


def _place(span: Span) -> dict[str, int]:
    return {"line": span.line, "column": span.column, "end_line": span.end_line, "end_column": span.end_column}


class TreeError(JostleError, ValueError):
    """A tree was put together that no program could have."""


class ProgramError(JostleError, ValueError):
    """A program has mistakes; it holds all that were found, in source order."""

    def __init__(self, source: Source, diagnostics: Sequence[Diagnostic]) -> None:
        count = len(diagnostics)
        super().__init__(f"{source.name} has {count} mistake{'s' * (count != 1)}")
        self.source = source
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return render(self.source, self.diagnostics)

    def __reduce__(self) -> tuple[Callable[..., JostleError], tuple[Any, ...]]:
        return ProgramError, (self.source, self.diagnostics)


_RED, _BLUE, _BOLD, _PLAIN = "\x1b[1;31m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m"


def render(source: Source, diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """The mistakes as text for people, in source order, with a blank line between them."""
    ordered = sorted(diagnostics, key=lambda each: (each.span, each.code))
    return "\n\n".join(_render(source, diagnostic, colour=colour) for diagnostic in ordered)


def _render(source: Source, mistake: Diagnostic, *, colour: bool) -> str:
    def paint(style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if colour and text else text

    marks = sorted(
        [(mistake.span, "^", mistake.label), *((other.span, "-", other.text) for other in mistake.others)],
        key=lambda mark: (mark[0].line, mark[1] != "^", mark[0]),
    )
    width = len(str(max(span.line for span, _, _ in marks)))
    bar = paint(_BLUE, " " * width + " |")
    place = f"{source.name}:{mistake.span.line}:{mistake.span.column}"
    shown = [
        paint(_RED, f"error[{mistake.code}]") + paint(_BOLD, f": {visible(mistake.title)}"),
        paint(_BLUE, " " * width + "-->") + f" {visible(place)}",
        bar,
    ]
    advice = (("why", mistake.why), ("fix", mistake.fix))
    last = None
    for span, sign, words in marks:
        if not 1 <= span.line <= len(source.lines):
            continue
        if span.line != last:
            if last is not None and span.line > last + 1:
                shown.append(paint(_BLUE, "..."))
            line = source.lines[span.line - 1]
            shown.append(paint(_BLUE, f"{span.line:>{width}} |") + f" {visible_lines(line)}".rstrip())
            last = span.line
        indent, length = _columns(source.lines[span.line - 1], span)
        style = _RED if sign == "^" else _BLUE
        shown.append(f"{bar} {indent}{paint(style, f'{sign * length} {visible(words)}'.rstrip())}")
    shown += [bar, *(f"{' ' * width} = {word}: {visible(text)}" for word, text in advice)]
    return "\n".join(shown)


def _columns(line: str, span: Span) -> tuple[str, int]:
    """A text as wide as the one before a span, and how many columns the span takes on a screen."""
    before = line[: span.column - 1]
    inside = line[span.column - 1 : span.end_column - 1] if span.end_line == span.line else line[span.column - 1 :]
    indent = "".join("\t" if character == "\t" else " " * _width(character) for character in before)
    return indent, max(1, sum(_width(character) for character in inside.rstrip()))


def _width(character: str) -> int:
    if not character.isprintable():
        return len(visible(character))
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
