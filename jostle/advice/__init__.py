"""What to expect before anything is spent: losses by budget, and how many rows of a person to read."""

from __future__ import annotations

from jostle.advice.expected import Advice, advise
from jostle.advice.persons import PersonsAdvice, advise_rows_per_person

__all__ = ["Advice", "PersonsAdvice", "advise", "advise_rows_per_person"]
