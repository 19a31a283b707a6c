"""What programs import: Options by their names, and public databases."""

from __future__ import annotations

from typing import Any

from jostle.lang.stops import Stop

__all__ = ["imported"]

GRIDS, TABLES = 24, 24
"""How many generated databases there are beside those that come with packages."""


def imported(module: str, name: str) -> Any:
    """Return what a module of the library calls so."""
    if module == "public":
        return _public(name)
    from jostle.options.base import get  # noqa: PLC0415 - loads every algorithm

    return get(name)


def _public(name: str) -> Any:
    from jostle.choice.generators import generated_grids, generated_tables  # noqa: PLC0415 - for training only
    from jostle.choice.packaged import packaged  # noqa: PLC0415

    if name == "gridCorpus":
        return generated_grids(GRIDS)
    if name == "tableCorpus":
        return packaged() | generated_tables(TABLES)
    raise Stop("J104", f"there are no databases `{name}`", "public holds gridCorpus and tableCorpus", "gridCorpus")
