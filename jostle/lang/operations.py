"""The functions that every program knows, as they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jostle.lang.arithmetic import fraction, kind_of
from jostle.lang.buying import noisy_count, noisy_max
from jostle.lang.extents import held
from jostle.lang.frames import Frame
from jostle.lang.listing import items
from jostle.lang.plain_operations import PLAIN
from jostle.lang.showing import holds_private, shown
from jostle.lang.stops import Stop

__all__ = ["BUYING", "PLAIN", "holds_private", "operated", "shown"]


def operated(frame: Frame, site: str, name: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The value of a known function, called from a place in the program."""
    if name in BUYING:
        return BUYING[name](frame, site, *given, **named)
    return PLAIN[name](*given, **named)


def _print(frame: Frame, site: str, *values: Any) -> None:  # noqa: ARG001 - as all of these
    for each in values:
        if holds_private(each):
            raise Stop("J204", "a private value is printed", "it would be seen without noise", "print({{ ... }})")
    frame.program.say(" ".join(shown(value) for value in values))


def _map(frame: Frame, site: str, function: Any, items_: Any) -> list[Any]:
    return held([frame.program.call(frame, site, function, [item]) for item in items(items_)])  # type: ignore[no-any-return]


def _public(frame: Frame, site: str, path: Any) -> Any:  # noqa: ARG001 - as called
    if not isinstance(path, str):
        raise Stop("J501", f"a path is {kind_of(path)}", "it is a text", 'public("folder")')
    return frame.program.public(path)


def _rehearse(frame: Frame, site: str, option: Any, database: Any, scale: Any, epsilon: Any) -> float | None:  # noqa: ARG001, PLR0917 - as called
    from jostle.lang.quick_start import error_of  # noqa: PLC0415 - most programs rehearse nothing

    with frame.program.on_public_data():
        return error_of(option, database, scale, fraction(epsilon, "epsilon"))


BUYING: dict[str, Callable[..., Any]] = {
    "expMech": noisy_max,
    "map": _map,
    "noisyCount": noisy_count,
    "noisyMax": noisy_max,
    "print": _print,
    "public": _public,
    "rehearse": _rehearse,
}
"""Those that have to know who calls them, for its budget or its files, and where from, for the trace: by name."""
