"""The catalogue of mistakes: for each code the rule, a wrong program and a right one.

Codes go by the pass that finds the mistake.
"""

from __future__ import annotations

from textwrap import indent

from attrs import asdict, frozen

from jostle.errors import Diagnostic, JostleError, Source, render
from jostle.lang.check import check
from jostle.lang.messages import FOLDER, sections
from jostle.lang.references import check_named

EXAMPLE = FOLDER / "example.toml"
"""A schema with the columns of the programs here."""
FAMILIES = {
    "J0": "syntax",
    "J1": "names",
    "J2": "privacy",
    "J3": "budget",
    "J4": "choices",
    "J5": "running",
    "J9": "a mistake of ours",
}
"""What the first digit says."""


@frozen
class Refusal:
    """What is known about a kind of mistake."""

    code: str
    """Its code."""
    title: str
    """What it is."""
    rule: str
    """The rule behind it."""
    wrong: str
    """A program with the mistake; empty if it shows only while running."""
    right: str
    """The same without it."""

    @property
    def family(self) -> str:
        """The pass that finds it, in a word."""
        return FAMILIES[self.code[:2]]

    def as_text(self) -> str:
        """A text for people, with the message that the wrong program gets."""
        parts = [f"{self.code} ({self.family}): {self.title}", self.rule]
        if self.wrong:
            source = Source("wrong.jst", self.wrong)
            parts += ["wrong:", indent(self.wrong, "    ")]
            # Some mistakes show only while running.
            if found := self.mistakes():
                parts.append(indent(render(source, found), "    "))
        if self.right:
            parts += ["right:", indent(self.right, "    ")]
        return "\n\n".join(parts)

    def mistakes(self) -> tuple[Diagnostic, ...]:
        """The mistakes of the wrong program: by itself, or, if there are none, on a table like in the guide."""
        source = Source("wrong.jst", self.wrong)
        checked, _ = check_named(source)
        if self.family != "running" or not checked.good:
            return checked.diagnostics
        from jostle.tables.schema import Schema  # noqa: PLC0415 - without one, no library of numbers is loaded

        return check(source, Schema.read(EXAMPLE)).diagnostics

    def as_data(self) -> dict[str, str]:
        """This as plain data."""
        return {"code": self.code, "family": self.family, **asdict(self)}


def codes() -> tuple[str, ...]:
    """All codes in the catalogue, in order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("J*.txt")))


def explain(code: str) -> Refusal:
    """The entry of a code."""
    wanted, known = code.strip().upper(), codes()
    if wanted not in known:
        families = {start: [each for each in known if each[:2] == start] for start in FAMILIES}
        if family := families.get(wanted[:2]):
            why = f"the codes of {FAMILIES[wanted[:2]]} are {', '.join(family)}"
        else:
            ends = (f"{known[0]} to {known[-1]} ({FAMILIES[start]})" for start, known in families.items())
            why = f"there are {', '.join(ends)}"
        raise JostleError(
            f"there is no code {code}", why=why, fix="copy the code out of the brackets in a message, as in error[J101]"
        )
    found = sections(wanted)
    title, _, rule = found["entry"].partition("\n")
    return Refusal(wanted, title, rule.strip(), found.get("wrong", ""), found.get("right", ""))
