"""When what was bought before is not bought again."""

from __future__ import annotations

from jostle.privacy.measurements import Look

__all__ = ["is_enough"]

ENOUGH = 4.0
"""What is known with at most so many times the variance that a purchase would have, is not bought again: what is bought
twice by halves has half the precision of what is bought once."""


def is_enough(known: Look, variance: float) -> bool:
    """Whether numbers are known about as well as a purchase would tell them, with noise of a variance."""
    return float(known.variance.mean()) <= ENOUGH * variance
