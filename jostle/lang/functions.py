"""Functions of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from attrs import define

from jostle.lang import nodes
from jostle.lang.frames import Frame, Runner
from jostle.lang.stops import Stop

__all__ = ["Function", "bound"]


@define(eq=False)
class Function:
    """A function of a program, ready to run."""

    name: str
    definition: nodes.FunctionDefinition
    parameters: tuple[str, ...]
    defaults: dict[str, Any]
    body: Callable[[Frame], Any]

    def called(self, frame: Frame, given: list[Any], named: Mapping[str, Any]) -> Any:
        """Its value, called from another function: with the same budget."""
        parameters = self.parameters
        if len(given) == len(parameters) and not named:
            names = dict(zip(parameters, given, strict=True))
        else:
            names = self.bound(given, named)
        return self.body(Frame(frame.program, names, frame.epsilon, frame.depth + 1))

    def run(
        self, program: Runner, given: list[Any], named: Mapping[str, Any], epsilon: Fraction | None, depth: int = 0
    ) -> Any:
        """Its value with a budget."""
        return self.body(Frame(program, self.bound(given, named), epsilon, depth))

    def bound(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Its parameters' values, in their order; refuse those it is given."""
        return bound(self.name, self.parameters, self.defaults, given, named)


def bound(
    name: str, parameters: Sequence[str], defaults: Mapping[str, Any], given: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of parameters, in their order; refuse those that are given."""
    if len(given) > len(parameters):
        raise _misfit(name, parameters, f"it takes {len(parameters)} values, not {len(given)}")
    values = {**defaults, **dict(zip(parameters, given, strict=False))}
    for each, value in named.items():
        if each not in parameters or parameters.index(each) < len(given):
            raise _misfit(name, parameters, f"`{each}` does not fit")
        values[each] = value
    missing = [parameter for parameter in parameters if parameter not in values]
    if missing:
        raise _misfit(name, parameters, f"`{missing[0]}` is missing")
    return {parameter: values[parameter] for parameter in parameters}


def _misfit(name: str, parameters: Sequence[str], why: str) -> Stop:
    head = f"{name}({', '.join(parameters)})"
    return Stop("J508", f"`{name}` is not called as it is defined", f"{why}: it is {head}", f"call {head}")
