"""Jostle: differential privacy that chooses the algorithm for you, and accounts for the choice.

Public facts about a table: `Schema`, `Categorical`, `Numeric`. The table itself: `Table`. Questions about a private
one, within a budget: `protect`; about a public one, to try things out: `rehearse`. Algorithms
that could answer: `options`.
"""

from jostle import options
from jostle.errors import JostleError
from jostle.privacy.opening import protect, rehearse
from jostle.privacy.probe import Probe
from jostle.tables import Categorical, Numeric, Schema, Table
from jostle.trace.records import Trace

__all__ = [
    "Categorical",
    "JostleError",
    "Numeric",
    "Probe",
    "Schema",
    "Table",
    "Trace",
    "options",
    "protect",
    "rehearse",
]
