"""What goes wrong while a program runs: found without a place, then given that of the innermost expression."""

from __future__ import annotations

from jostle.errors import BudgetError, Diagnostic, JostleError, ProgramError, Source, Span

__all__ = ["MISTAKES", "RefusedProgramError", "Stop", "placed"]


class Stop(Exception):  # noqa: N818 - it is no error yet: it has no place
    """A mistake that shows while a program runs; nothing in it was computed from private rows."""

    def __init__(self, code: str, title: str, why: str, fix: str) -> None:
        super().__init__(code, title, why, fix)
        self.code = code
        self.title = title
        self.why = why
        self.fix = fix


MISTAKES = (Stop, JostleError, ArithmeticError)
"""What may go wrong in an expression, and is given its place."""


class RefusedProgramError(ProgramError, BudgetError):
    """A program asked for more than its budget, at a place in its text."""


def placed(mistake: Stop | JostleError | ArithmeticError, source: Source, span: Span) -> ProgramError:
    """Return a mistake with the place where it showed; one that has a place, of an expression inside, keeps it."""
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
    why = "numbers are exact where they can be, and of ordinary size"
    return ProgramError(source, [Diagnostic("J502", f"this has no value: {mistake}", span, why, "check it beforehand")])


def _one_line(text: str) -> str:
    return " ".join(text.split())
