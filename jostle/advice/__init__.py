"""What to expect before anything is spent: losses by budget, with bands, from rehearsals on public databases."""

from __future__ import annotations

from jostle.advice.expected import Advice, advise

__all__ = ["Advice", "advise"]
