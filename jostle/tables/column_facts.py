"""What a schema's file says of a column or of sparse features: its kind, and facts by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any

from attrs import asdict

from jostle.errors import SchemaError, shown
from jostle.tables.columns import Categorical, Column, Identifier, Numeric
from jostle.tables.dates_and_chances import Chances, Dates
from jostle.tables.features import SparseFeatures

__all__ = ["KINDS", "NOT_IN_FILES", "column_of", "facts_of", "features_of"]

KINDS: Mapping[str, Callable[..., Column | Identifier]] = MappingProxyType(
    {"categorical": Categorical, "numeric": Numeric, "chances": Chances, "dates": Dates, "identifier": Identifier}
)
"""What makes the columns of a kind that a file of a schema names."""
NEEDED = {"categorical": "values", "numeric": "low and high", "dates": "start and end"}
NOT_IN_FILES = {"clock"}


def features_of(facts: Any) -> SparseFeatures:
    """The sparse features that a file declares."""
    if not isinstance(facts, dict) or "column" not in facts or set(facts) - {"column", "words", "buckets"}:
        raise SchemaError("[features] is not complete", fix="column, and words or buckets")
    return SparseFeatures(**facts)


def facts_of(column: Column) -> tuple[str, dict[str, object]]:
    """A column's kind, and its facts as a file has them."""
    facts = {key: value for key, value in asdict(column, recurse=False).items() if value is not None}
    if isinstance(column, Categorical):
        if not column.taxonomy:
            del facts["taxonomy"]
        return "categorical", facts
    del facts["bins" if column.edges else "edges"]
    if column.clock is None:
        return "numeric", facts
    kept = {"bins": column.bins, "outside": column.outside, "missing": column.missing}
    ends = {"start": column.clock.written(0), "end": column.clock.written(column.high)}
    return "dates", {**ends, "unit": column.clock.unit, **kept}


def column_of(name: str, facts: Any) -> Column | Identifier:
    """The column that a file declares."""
    word = facts.get("kind") if isinstance(facts, dict) else None
    if not isinstance(word, str) or word not in KINDS:
        raise _no_kind(name, word)
    kind = KINDS[word]
    given = {key: value for key, value in facts.items() if key != "kind"}
    known = set(signature(kind).parameters) - NOT_IN_FILES
    if unknown := set(given) - known:
        raise SchemaError(
            f"column {shown(name)} has an unknown entry {shown(min(unknown))}",
            fix=f"one of {', '.join(sorted(known))}",
        )
    try:
        return kind(**given)
    except TypeError:
        raise SchemaError(f"column {shown(name)} is not complete", fix=f"give {NEEDED[word]}") from None
    except SchemaError as mistake:
        raise SchemaError(f"column {shown(name)}: {mistake.title}", why=mistake.why, fix=mistake.fix) from None


def _no_kind(name: str, given: object) -> SchemaError:
    if not isinstance(given, str):
        return SchemaError(f"column {shown(name)} has no kind", fix='kind = "categorical" or kind = "numeric"')
    from difflib import get_close_matches  # noqa: PLC0415 - for a slip only

    alike = get_close_matches(given, KINDS, n=1)
    return SchemaError(
        f"column {shown(name)} is of kind {shown(given)}, which is not known",
        fix=f'kind = "{alike[0]}"' if alike else f"one of {', '.join(KINDS)}",
    )
