"""Mistakes: what is said of each, and how one that was found without a place gets that of an expression.

All that a code says stands in one file, `explanations/CODE.txt`: a title, the rule, `messages:`, and programs, `wrong:`
and `right:`. Whoever finds a mistake names the code, and the case where there are several, and gives the facts.

A case is a block of lines: its names, then what it `says`, `why` and the `fix`, with `$fact` for a fact. Of several
lines for one of these, the first one counts whose facts are all given. What a case does not say stands in the block
without a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from string import Template
from textwrap import dedent
from traceback import extract_tb

from jostle.errors import BudgetError, Diagnostic, JostleError, Label, ProgramError, Source, Span, said_by

FOLDER = Path(__file__).with_name("explanations")
BROKEN_OFF = "J902"
"""Of what goes wrong inside of Jostle itself."""
MOST_WORDS = 160
"""Of what Python says about it, so much is told."""
PARTS = ("says", "why", "fix")
Cases = Mapping[str, Mapping[str, Sequence[str]]]
"""The lines that a case may say, by its name and by part."""


# Saying


class Stop(Exception):  # noqa: N818 - it is no error yet: it has no place
    """A mistake without a place, by its code, its case and its facts; nothing in it was computed from private rows."""

    def __init__(self, said: str, **facts: object) -> None:
        super().__init__(said)
        self.said = said
        self.facts = facts

    def __str__(self) -> str:
        return self.words[0]

    @property
    def code(self) -> str:
        """Its code."""
        return self.said.partition(" ")[0]

    @cached_property
    def words(self) -> tuple[str, str, str]:
        """What is wrong, why, and what to do."""
        code, _, case = self.said.partition(" ")
        cases, facts = messages(code), {name: fact for name, fact in self.facts.items() if fact is not None}
        title, why, fix = (_filled(cases[case].get(part) or cases[""][part], facts) for part in PARTS)
        return title, why, fix

    def given(self, **facts: object) -> Stop:
        """The same with further facts."""
        return Stop(self.said, **{**self.facts, **facts})

    def at(self, span: Span, label: str = "", others: tuple[Label, ...] = ()) -> Diagnostic:
        """It with a place."""
        title, why, fix = self.words
        return Diagnostic(self.code, title, span, why, fix, label, others)


def message(said: str, span: Span, *, label: str = "", others: tuple[Label, ...] = (), **facts: object) -> Diagnostic:
    """A mistake at a place, by its code, its case and its facts."""
    return Stop(said, **facts).at(span, label, others)


def messages(code: str) -> Cases:
    """What is said of a code in each case."""
    cases: dict[str, Mapping[str, Sequence[str]]] = {}
    for block in sections(code)["messages"].split("\n\n"):
        names, parts = [""], dict[str, list[str]]()
        for line in block.splitlines():
            part, colon, words = line.partition(": ")
            if colon and part in PARTS:
                parts.setdefault(part, []).append(words)
            else:
                names = line.split()
        cases |= dict.fromkeys(names, parts)
    return cases


def _filled(lines: Sequence[str], facts: Mapping[str, object]) -> str:
    for line in lines:
        with suppress(KeyError):
            return Template(line).substitute(facts)
    raise LookupError(f"{lines} are not said of {', '.join(facts)}")


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody may have meant who wrote another one, if one is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 - once there is a mistake

    candidates = sorted(set(known))
    alike = get_close_matches(name, candidates, n=1, cutoff=0.7)
    return next(iter(alike), None) or next(
        (candidate for candidate in candidates if candidate.lower() == name.lower()), None
    )


# What goes wrong while a program runs


MISTAKES = Exception
"""What may go wrong in an expression, and is given its place: whatever it is, nobody is shown Python's innards."""


WITHOUT_VALUE = {
    MemoryError: "J502 memory",
    OverflowError: "J502 large",
    ZeroDivisionError: "J502 division",
    ArithmeticError: "J502 value",
}
"""What cannot be computed, in our words: Python's are about how it computes."""


class RefusedProgramError(ProgramError, BudgetError):
    """A program asked for more than its budget, at a place in its text."""


def broken_off(failure: Exception, what: str) -> Stop:
    """A refusal for a failure that is a mistake of ours, with where it shows in our own files."""
    said = _one_line(said_by(failure).replace(": ", ", ", 1))[:MOST_WORDS]
    places = extract_tb(failure.__traceback__)
    where = f"{'/'.join(Path(places[-1].filename).parts[-3:])}:{places[-1].lineno}" if places else None
    return Stop(BROKEN_OFF, what=what, failure=said, where=where)


def placed(mistake: Exception, source: Source, span: Span) -> ProgramError:
    """A mistake with the place where it showed; one that has a place, of an expression inside, keeps it."""
    if isinstance(mistake, ProgramError):
        return mistake
    kind = RefusedProgramError if isinstance(mistake, BudgetError) else ProgramError
    return kind(source, [stop_of(mistake).at(span)])


def stop_of(mistake: Exception) -> Stop:
    """The refusal that a mistake is."""
    match mistake:
        case Stop():
            return mistake
        case JostleError():
            why, fix = (None if part is None else _one_line(part) for part in (mistake.why, mistake.fix))
            code = "J510" if isinstance(mistake, BudgetError) else "J511"
            return Stop(code, title=_one_line(mistake.title), why=why or None, fix=fix or None)
        case MemoryError() | ArithmeticError():
            return Stop(next(said for kind, said in WITHOUT_VALUE.items() if isinstance(mistake, kind)))
    return broken_off(mistake, "this")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def sections(code: str) -> dict[str, str]:
    """The parts of a code's file: its entry, its messages, and programs."""
    text = (FOLDER / f"{code}.txt").read_text("utf-8")
    entry, *rest = re.split(r"^(messages|wrong|right):\n", text, flags=re.MULTILINE)
    return {"entry": entry} | {name: dedent(body).strip("\n") for name, body in zip(rest[::2], rest[1::2], strict=True)}
