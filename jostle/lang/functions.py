"""Functions of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from attrs import define

from jostle.lang import nodes
from jostle.lang.frames import Frame, Runner
from jostle.lang.stops import Stop

__all__ = ["Function"]


@define(eq=False)
class Function:
    """A function of a program, ready to run."""

    name: str
    definition: nodes.FunctionDefinition
    parameters: tuple[str, ...]
    defaults: dict[str, Any]
    body: Callable[[Frame], Any]

    def called(self, frame: Frame, given: list[Any], named: Mapping[str, Any]) -> Any:
        """Return what it gives, called from another function: with the same budget."""
        parameters = self.parameters
        if len(given) == len(parameters) and not named:
            names = dict(zip(parameters, given, strict=True))
        else:
            names = self._bound(given, named)
        return self.body(Frame(frame.program, names, frame.epsilon, frame.depth + 1))

    def run(
        self, program: Runner, given: list[Any], named: Mapping[str, Any], epsilon: Fraction | None, depth: int = 0
    ) -> Any:
        """Return what it gives with a budget."""
        return self.body(Frame(program, self._bound(given, named), epsilon, depth))

    def _bound(self, given: list[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        if len(given) > len(self.parameters):
            raise self._misfit(f"it takes {len(self.parameters)} values, not {len(given)}")
        names = {**self.defaults, **dict(zip(self.parameters, given, strict=False))}
        for name, value in named.items():
            if name not in self.parameters or self.parameters.index(name) < len(given):
                raise self._misfit(f"`{name}` does not fit")
            names[name] = value
        missing = [name for name in self.parameters if name not in names]
        if missing:
            raise self._misfit(f"`{missing[0]}` is missing")
        return names

    def _misfit(self, why: str) -> Stop:
        head = f"{self.name}({', '.join(self.parameters)})"
        return Stop("J508", f"`{self.name}` is not called as it is defined", f"{why}: it is {head}", f"call {head}")
