"""Noisy choices of splits: which attribute tells most about the label, by a score of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from jostle.privacy.picks import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import SplitScore, Utility
from jostle.tables.routes import Routing

__all__ = ["any_of", "best_of"]

UTILITIES: dict[str, Utility] = {"maxScore": "Max", "gini": "Gini", "infoGain": "InfoGain"}
"""What splits are scored by, in the words of the language."""
UNKNOWN_ROWS = 2**22
"""The bound on rows that infoGain goes by where none was bought: with it, the pick is private whatever the rows."""
SURE = 3
"""A bound on rows that was bought lies so many scales of its noise above the noisy number."""
DRAWN_BELOW = 2**40
"""Random picks are remainders of numbers below this: uneven by less than 2**-20, and public anyway."""


def any_of(probe: Probe, count: int) -> int:
    """One of so many places at random: it looks at nothing, and costs nothing."""
    return int(probe.below(DRAWN_BELOW, 1)[0]) % count


def best_of(  # noqa: PLR0917 - the parts of a question
    probe: Probe,
    rule: str,
    attributes: Sequence[str],
    epsilon: Fraction,
    bought: tuple[int, Fraction] | None,
    site: str,
) -> int:
    """The place of the attribute whose split is nearly the best, as permute-and-flip picks it by a rule.

    *bought* is a noisy number of these rows, or of more, and what it cost. Whatever it is, the pick is as private: a
    bound that is too low costs sense alone (see `SplitScore`).
    """
    schema = probe.schema
    names = schema.attributes
    count = len(attributes)
    one_leaf = Routing(names, np.array([0]), np.array([-1]), np.array([0]), np.zeros(0, dtype=np.int64), depth=0)
    score = SplitScore(
        one_leaf,
        np.array([0]),
        UTILITIES[rule],
        np.array([names.index(name) for name in attributes]),
        np.zeros(count, dtype=np.int64),
        np.ones((1, count), dtype=np.bool_),
        probe.rows or _rows_at_most(bought),
    )
    return int(probe.perform(PickEach(score), epsilon, site=site)[0])


def _rows_at_most(bought: tuple[int, Fraction] | None) -> int:
    if bought is None:
        return UNKNOWN_ROWS
    found, spent = bought
    return max(1, found + int(SURE / spent) + 1)
