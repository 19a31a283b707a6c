"""What programs import: Options by their names, and public databases."""

from __future__ import annotations

from typing import Any

from jostle.lang.stops import Stop

__all__ = ["imported"]


def imported(module: str, name: str) -> Any:
    """The object that a module of the library calls so."""
    if module == "public":
        return _public(name)
    from jostle.options.registry import get  # noqa: PLC0415 - loads every algorithm

    return get(name)


def _public(name: str) -> Any:
    from jostle import public  # noqa: PLC0415 - for training only

    if name in public.CORPORA:
        return getattr(public, name)
    raise Stop("J104", f"there are no databases `{name}`", "public holds gridCorpus and tableCorpus", "gridCorpus")
