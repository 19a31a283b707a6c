"""What is wrong with a file's text: said in words that quote nothing of it."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["DamageError", "named"]


class DamageError(ValueError):
    """Something in a text is not what has to stand there."""

    def __init__(self, wrong: str, where: Iterable[str | int] = ()) -> None:
        super().__init__(wrong)
        self.wrong = wrong
        """What is wrong: "is not a text", said of a place."""
        self.where = tuple(where)
        """The names and numbers that lead to the place."""

    def inside(self, step: str | int) -> DamageError:
        """The same, seen from what holds the place under this name or number."""
        return DamageError(self.wrong, (step, *self.where))

    def __str__(self) -> str:
        return f"{_place(self.where)} {self.wrong}".lstrip()


def named(text: str) -> str:
    """A name as a message shows it: short, and unable to steer a terminal."""
    return text if text.isidentifier() and len(text) <= 40 else f"{text[:40]!r}"


def _place(where: tuple[str | int, ...]) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{named(step)}" for step in where]
    return "".join(steps).removeprefix(".")
