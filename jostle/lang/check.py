"""All passes over a program, and what they found together.

A pass is a function from a tree to the mistakes in it; it does not change the tree, and knows one kind of rule. Passes
that need a whole tree run only if every line could be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import frozen

from jostle.errors import Diagnostic, Source
from jostle.lang import nodes
from jostle.lang.choices import check_choices
from jostle.lang.lexer import MOST_MISTAKES
from jostle.lang.names import check_names
from jostle.lang.parser import parse_text
from jostle.lang.places import check_places
from jostle.lang.price import check_price
from jostle.lang.worlds import check_worlds

__all__ = ["PASSES", "WHOLE_PASSES", "Checked", "check"]

Pass = Callable[[nodes.Module], Iterable[Diagnostic]]

PASSES: tuple[Pass, ...] = (check_places, check_names, check_choices)
"""These stand lines that could not be read: what is in them is left alone."""
WHOLE_PASSES: tuple[Pass, ...] = (check_worlds, check_price)
"""These need every line; they run if there is no syntax mistake."""


@frozen
class Checked:
    """A program that was checked."""

    source: Source
    """Its text."""
    module: nodes.Module
    """Its tree; whole if there are no mistakes."""
    diagnostics: tuple[Diagnostic, ...]
    """The mistakes, in source order; the first hundred, if there are more."""

    @property
    def good(self) -> bool:
        """Return whether there are no mistakes."""
        return not self.diagnostics


def check(source: Source) -> Checked:
    """Return a program's tree and all mistakes that can be found without data."""
    parsed = parse_text(source)
    passes = () if parsed.deep else PASSES if parsed.diagnostics else (*PASSES, *WHOLE_PASSES)
    found = {*parsed.diagnostics, *(mistake for each in passes for mistake in each(parsed.module))}
    ordered = sorted(found, key=lambda each: (each.span, each.code, each.title))[:MOST_MISTAKES]
    return Checked(source, parsed.module, tuple(ordered))
