"""Every Option of the evaluation task as it is called, audited through the door: table, allotment, picks, counts.

Each subject rehearses on tables of eight scores and two classes, which runs the same code as a private table does but
for the source of bits. A curve is reduced to its thresholds and to the counts that were released for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from jostle.audit.pairs import Relation, Vector, histogram_pairs
from jostle.audit.subjects import Outputs, Sampler, Subject, register
from jostle.options.base import Option
from jostle.options.evaluation.pri_roc import PriROC
from jostle.privacy.opening import rehearse
from jostle.tables import Numeric, Table
from jostle.tasks.evaluation.curve import RocCurve
from jostle.tasks.evaluation.instances import SCORE, scored_table

__all__ = ["CURVES", "curve_subjects"]

RUNS = 500
SCORES = 8
MOST_THRESHOLDS = 4


@lru_cache
def _table(counts: Vector, relation: Relation) -> Table:
    """The table with so many rows of each score and class, classes side by side: a row moves from one to the other."""
    cells = np.repeat(np.arange(len(counts)), counts)
    return scored_table(
        (cells // 2).astype(np.float64) + 0.5, cells % 2, Numeric(0, SCORES, bins=SCORES), neighbours=relation
    )


def _reduced(curve: RocCurve) -> list[float]:
    """Thresholds, as many numbers for every curve, and each kind's running counts."""
    cuts = np.full(MOST_THRESHOLDS, -1.0)
    cuts[: len(curve.thresholds[:MOST_THRESHOLDS])] = curve.thresholds[:MOST_THRESHOLDS]
    counts = np.zeros((2, MOST_THRESHOLDS + 1))
    counts[:, : curve.counts.shape[1]] = curve.counts[:, : MOST_THRESHOLDS + 1]
    return [*cuts.tolist(), *np.round(counts, 6).ravel().tolist()]


def _drawn(option: Callable[..., RocCurve], relation: Relation) -> Callable[..., Outputs]:
    """The sample that runs an Option again and again in one rehearsal."""

    def sample(noise: Sampler, data: Vector, epsilon: Fraction, size: int) -> Outputs:
        db = rehearse(_table(data, relation), seed=int(noise.below(2**62, 1)[0]))
        return np.array([_reduced(option(db, SCORE, epsilon=epsilon)) for _ in range(size)])

    return sample


def curve_subjects(option: Option[Any], name: str | None = None) -> Iterator[Subject[Any]]:
    """Yield an evaluation Option as what is audited, under each relation of neighbours."""
    for relation in get_args(Relation):
        yield Subject(
            name=(name or option.name) + ("Replaced" if relation == "replace_one" else ""),
            module=__name__,
            about=f"curve by {option.name}, a record {'replaced' if relation == 'replace_one' else 'added'}",
            pairs=histogram_pairs(2 * SCORES, relation),
            sample=_drawn(option, relation),
            samples=RUNS,
        )


CURVES: tuple[Subject[Any], ...] = tuple(curve_subjects(PriROC(levels=2), "PriROC"))
"""With medians: of eight scores, four intervals are made."""

for _subject in CURVES:
    register(_subject)
