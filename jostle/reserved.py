"""Names of what rooms below keep a place for: given once, by the package itself, as it is first imported.

What is built on a room may bring a member of one of its closed lists. The room cannot name it, since it lies below; and
it cannot take whoever comes. So the package hands down the names, before any other code can reach a room, and a place
is for the class of that name alone (`tables.closed.Places`). And a room may hand over to a function above it, such as
to what chooses the way to a statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

__all__ = ["reserve", "reserved"]

Names = frozenset[str]


def _keeper() -> tuple[Callable[[Mapping[str, Names]], None], Callable[[str], Names]]:
    held: dict[str, Names] = {}

    def reserve(names: Mapping[str, Names]) -> None:
        """Keep places for what has these names, with their modules; a second time, for the same ones only."""
        if held and held != dict(names):
            raise TypeError("places are reserved once, when Jostle is first imported")
        held.update(names)

    def reserved(what: str) -> Names:
        """The names of that for which a place of this kind is kept."""
        return MappingProxyType(held).get(what, frozenset())

    return reserve, reserved


reserve, reserved = _keeper()
