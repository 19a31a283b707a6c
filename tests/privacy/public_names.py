"""All public names with what is called by them, for tests that go through them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import jostle
import jostle.advice
import jostle.options
import jostle.sklearn

MADE_ELSEWHERE = {
    "jostle.Probe": "`protect` and `rehearse` make them",
    "jostle.Table": "its class methods make them",
    "jostle.expressions.Expression": "functions make them",
    "jostle.options.Option": "those who write one make its parameters",
    "jostle.advice.Advice": "`advise` makes them",
    "jostle.advice.PersonsAdvice": "`advise_rows_per_person` makes them",
}
"""Public classes that nobody makes by calling them."""
FOR_OPTIONS = {
    f"jostle.{name}"
    for name in (
        "Probe.known",
        "Probe.perform",
        "Probe.measure_sparse",
        "Probe.imitate",
        "Probe.select",
        "Probe.note_choice",
        "Probe.note_answer",
        "Probe.below",
        "Probe.shuffled",
        "expressions.Expression.with_parts",
        "expressions.Expression.known",
        "expressions.Expression.value",
    )
}
"""What Jostle's own Options and expressions call, with values of types that say themselves what they are."""


def public(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield a public name and all below it, with what is called by it."""
    if inspect.ismodule(thing):
        for each in thing.__all__:
            yield from public(f"{name}.{each}", getattr(thing, each))
    elif inspect.isclass(thing):
        yield name, thing
        for each, held in vars(thing).items():
            method = held.__func__ if isinstance(held, classmethod | staticmethod) else held
            if not each.startswith("_") and inspect.isfunction(method):
                yield f"{name}.{each}", method
    elif inspect.isfunction(thing):
        yield name, thing


PUBLIC = {
    name: thing
    for module in (jostle, jostle.options, jostle.sklearn, jostle.advice)
    for name, thing in public(module.__name__, module)
}
