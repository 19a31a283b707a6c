"""Jostle: differential privacy that chooses the algorithm for you, and accounts for the choice.

Public facts about a table: `Schema`, `Categorical`, `Numeric`. The table itself: `Table`. Questions about a private
one, within a budget: `protect`; about a public one, to try things out: `rehearse`. Algorithms
that could answer: `options`. What is computed from rows without being looked at: `expressions`. Public databases to
learn from: `public`. Decision trees that a program grows itself: `trees`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from jostle.errors import JostleError
from jostle.handed import UPWARD

if TYPE_CHECKING:
    from jostle import expressions, options, public, trees
    from jostle.advice import advise, advise_rows_per_person
    from jostle.api import free_facts, option, pretrained, private_roc_auc
    from jostle.choice.makers.making import MkChoiceMaker
    from jostle.lang.program import load
    from jostle.lang.quick_start import quickly
    from jostle.options.evaluation.comparing import compare_models
    from jostle.options.models import load_model
    from jostle.owner.client import connect
    from jostle.privacy.opening import protect, rehearse
    from jostle.privacy.probe import Probe
    from jostle.sites import choose
    from jostle.tables import Categorical, Chances, Dates, Identifier, Numeric, Schema, SparseFeatures, Table
    from jostle.tasks.metafeature import metafeature
    from jostle.trace.records import Trace

__all__ = [
    "Categorical",
    "Chances",
    "Dates",
    "Identifier",
    "JostleError",
    "MkChoiceMaker",
    "Numeric",
    "Probe",
    "Schema",
    "SparseFeatures",
    "Table",
    "Trace",
    "advise",
    "advise_rows_per_person",
    "choose",
    "compare_models",
    "connect",
    "expressions",
    "free_facts",
    "load",
    "load_model",
    "metafeature",
    "option",
    "options",
    "pretrained",
    "private_roc_auc",
    "protect",
    "public",
    "quickly",
    "rehearse",
    "trees",
]

_HOMES = {
    name: module
    for module, names in {
        "jostle.advice": "advise advise_rows_per_person",
        "jostle.api": "pretrained free_facts private_roc_auc quickly option metafeature MkChoiceMaker",
        "jostle.lang.program": "load",
        "jostle.options.evaluation.comparing": "compare_models",
        "jostle.options.models": "load_model",
        "jostle.owner.client": "connect",
        "jostle.privacy.opening": "protect rehearse",
        "jostle.privacy.probe": "Probe",
        "jostle.sites": "choose",
        "jostle.tables": "Categorical Chances Dates Identifier Numeric Schema SparseFeatures Table",
        "jostle.trace.page": "Trace",
    }.items()
    for name in names.split()
}
_MODULES = {
    "expressions": "jostle.expressions",
    "options": "jostle.options",
    "public": "jostle.public",
    "trees": "jostle.trees",
}
"""Where the public names are. They are looked up when first used, so that checking a program does not load numpy."""

# Before a probe is asked for a statistic.
UPWARD["statistics"] = "jostle.options.statistics.choosing.answer"


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - takes longer than all else here

        return version("jostle")
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'jostle' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
