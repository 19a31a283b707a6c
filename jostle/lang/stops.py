"""What goes wrong while a program runs: found without a place, then given that of the innermost expression."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from traceback import extract_tb

from jostle.errors import BudgetError, Diagnostic, JostleError, ProgramError, Source, Span, said_by

BROKEN_OFF = "J902"
"""Of what goes wrong inside of Jostle itself."""
MOST_WORDS = 160
"""Of what Python says about it, so much is told."""


class Stop(Exception):  # noqa: N818 - it is no error yet: it has no place
    """A mistake that shows while a program runs; nothing in it was computed from private rows."""

    def __init__(self, code: str, title: str, why: str, fix: str) -> None:
        super().__init__(code, title, why, fix)
        self.code = code
        self.title = title
        self.why = why
        self.fix = fix


MISTAKES = Exception
"""What may go wrong in an expression, and is given its place: whatever it is, nobody is shown Python's innards."""


class RefusedProgramError(ProgramError, BudgetError):
    """A program asked for more than its budget, at a place in its text."""


def broken_off(failure: Exception, what: str) -> Stop:
    """A refusal for a failure that is a mistake of ours, with where it shows in our own files."""
    said = _one_line(said_by(failure).replace(": ", ", ", 1))[:MOST_WORDS]
    places = extract_tb(failure.__traceback__)
    where = f" at {'/'.join(Path(places[-1].filename).parts[-3:])}:{places[-1].lineno}" if places else ""
    title = f"{what} broke off: {said}"
    why = f"this is a mistake of ours{where}, not of the program"
    return Stop(BROKEN_OFF, title, why, "report it, with the program and these lines")


def placed(mistake: Exception, source: Source, span: Span) -> ProgramError:
    """A mistake with the place where it showed; one that has a place, of an expression inside, keeps it."""
    if isinstance(mistake, ProgramError):
        return mistake
    if isinstance(mistake, Stop):
        return ProgramError(source, [Diagnostic(mistake.code, mistake.title, span, mistake.why, mistake.fix)])
    if isinstance(mistake, JostleError):
        refused = isinstance(mistake, BudgetError)
        code = "J510" if refused else "J511"
        why = mistake.why or ("a budget is a promise fixed beforehand" if refused else "this cannot be computed here")
        fix = mistake.fix or ("ask for less" if refused else "change what is asked for here")
        kind = RefusedProgramError if refused else ProgramError
        return kind(source, [Diagnostic(code, _one_line(mistake.title), span, _one_line(why), _one_line(fix))])
    if isinstance(mistake, MemoryError):
        return placed(Stop("J502", "this is too large", "there is no memory for it", "use less"), source, span)
    if not isinstance(mistake, ArithmeticError):
        return placed(broken_off(mistake, "this"), source, span)
    return placed(_without_value(mistake), source, span)


def too_large() -> Stop:
    """A refusal of a number that is too large."""
    return Stop("J502", "a number too large", "it is more than 1e308", "use smaller numbers, or logarithms")


def _without_value(mistake: ArithmeticError) -> Stop:
    """A refusal of what cannot be computed, in our words: Python's are about how it computes."""
    if isinstance(mistake, OverflowError):
        return too_large()
    if isinstance(mistake, ZeroDivisionError):
        return Stop("J502", "a division by 0", "it has no value", "test for 0 first")
    return Stop("J502", "this has no value", "numbers are exact where they can be, and of ordinary size", "test first")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def similar(name: str, known: Iterable[str], otherwise: str, what: str = "has a similar name") -> str:
    """What to do about a name that is not known: the known one that was meant, or something else."""
    match = near(name, known)
    return f"`{match}` {what}" if match else otherwise


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody may have meant who wrote another one, if one is like it."""
    candidates = sorted(set(known))
    alike = get_close_matches(name, candidates, n=1, cutoff=0.7)
    return next(iter(alike), None) or next((each for each in candidates if each.lower() == name.lower()), None)
