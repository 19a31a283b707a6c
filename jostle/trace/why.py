"""Why choices in a trace were made as they were: each one told on its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen

from jostle.trace.records import Chosen, Record
from jostle.visible import visible

__all__ = ["Explanation", "explanations"]


@frozen
class Explanation:
    """One choice, with what would have been taken second."""

    choice: Chosen
    number: int
    """Which choice of the run it is, from 1."""

    @property
    def expected(self) -> tuple[tuple[str, float, float], ...]:
        """The alternatives with what was expected of them, the least loss first."""
        return tuple(sorted(self.choice.predicted, key=lambda each: each[1]))

    @property
    def most_taken(self) -> str | None:
        """The alternative that was taken, or taken at most places; None where there were no places."""
        return max(self.choice.taken, key=lambda each: each[1], default=(None, 0))[0]

    @property
    def second(self) -> str | None:
        """The alternative that would have been taken otherwise: the best expected of the others; None if none was."""
        return next((name for name, _, _ in self.expected if name != self.most_taken), None)

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        choice = self.choice
        return {
            "number": self.number,
            "site": choice.site,
            "label": choice.label,
            "places": choice.places,
            "seen": {name: least if least == most else [least, most] for name, least, most in choice.seen},
            "predicted": [{"name": name, "loss": loss, "spread": spread} for name, loss, spread in self.expected],
            "taken": dict(choice.taken),
            "why": choice.why,
            "usual": {name: [low, high] for name, low, high in choice.usual},
            "second": self.second,
        }

    def as_text(self) -> str:
        """This in sentences, a line each."""
        return "\n".join(map(visible, self._lines()))

    def _lines(self) -> Iterator[str]:
        choice = self.choice
        where = choice.label if choice.site == choice.label else f"{choice.label} at {choice.site}"
        yield f"{self.number}. {where}: {self._taken()}"
        if choice.why:
            yield f"   because {choice.why}"
        yield f"   it saw {self._seen()}"
        if self.expected:
            width = max(len(name) for name, _, _ in self.expected)
            yield "   it expected a loss of"
            yield from (f"     {name:<{width}}  {loss:.4g} ± {spread:.2g}" for name, loss, spread in self.expected)
        else:
            yield "   it expected nothing in particular of any alternative"
        if self.second is not None:
            yield f"   otherwise it would have taken {self.second}{self._gap()}"

    def _taken(self) -> str:
        choice = self.choice
        if choice.places == 1:
            return f"took {self.most_taken}"
        counted = ", ".join(f"{name} at {count:,}" for name, count in choice.taken) or "nothing"
        return f"at {choice.places:,} places took {counted}"

    def _seen(self) -> str:
        usual = {name: f" (usual is {low:.4g} to {high:.4g})" for name, low, high in self.choice.usual}
        said = [
            (f"{name} {least:.4g}" if least == most else f"{name} {least:.4g} to {most:.4g}") + usual.get(name, "")
            for name, least, most in self.choice.seen
        ]
        return ", ".join(said) or "nothing"

    def _gap(self) -> str:
        """By how much the second was expected to be worse, in words; nothing where it was not."""
        losses = {name: loss for name, loss, _ in self.choice.predicted}
        first, second = losses.get(self.most_taken or ""), losses.get(self.second or "")
        if first is None or second is None or first <= 0 or second < first:
            return ""
        return f", with a loss expected to be {second / first - 1:.1%} higher"


def explanations(records: Iterable[Record]) -> tuple[Explanation, ...]:
    """An explanation of every choice, in the order they were made."""
    chosen = (record for record in records if isinstance(record, Chosen))
    return tuple(Explanation(choice, number) for number, choice in enumerate(chosen, start=1))
