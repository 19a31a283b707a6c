"""Partition-and-select as `ProjectedHistogram` runs it, gone through outcome by outcome with the key known."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from attrs import field, frozen
from tables_of_labels import schema_of, table_of

from jostle.audit.forks import enumerated_runs
from jostle.audit.subjects import Sampler
from jostle.options.publishing.projected_histogram import ProjectedHistogram
from jostle.privacy.scores import Score, pick_rate
from jostle.tables.engines import ViewSource
from jostle.tables.hashes import Portion
from jostle.tables.schema import Neighbours, Schema

Row = tuple[int, ...]
EPSILON = Fraction(3)
SIZES = (2, 2, 2, 2)
EVERY_ROW: list[Row] = list(product(*map(range, SIZES)))
KEYS = (11, 12, 13)


@frozen
class KnownPortions:
    """Stands for a probe: deals rows out by a known key, and keeps what is picked on all portions."""

    source: Any
    schema: Schema
    key: int
    noise: Sampler
    picked: list[int] = field(factory=list)

    def portions(self, count: int) -> list[KnownPortions]:
        sources = [
            ViewSource(self.schema, self.source, Portion(self.schema, self.key, place, count)) for place in range(count)
        ]
        return [KnownPortions(source, self.schema, self.key, self.noise, self.picked) for source in sources]

    def pick(self, score: Score, epsilon: Fraction, *, site: str) -> int:
        assert site
        scores = score.scores(self.source.tally(score.kernel(self.schema), ()), self.schema)
        rate = pick_rate(epsilon, score.sensitivity(self.schema), monotone=score.monotone(self.schema))
        self.picked.append(int(self.noise.permute_and_flip(scores, rate)))
        return self.picked[-1]


def chances(rows: list[Row], schema: Schema, key: int) -> dict[Any, float]:
    """Return how likely each outcome of all picks is, those of portions whose columns are not taken among them."""
    source = table_of(rows, schema)._source

    def run(noise: Sampler) -> tuple[int, ...]:
        db: Any = KnownPortions(source, schema, key, noise)
        ProjectedHistogram(choose_k="partition")._selected(db, 100, EPSILON, 100)
        return tuple(db.picked)

    found = dict(enumerated_runs(run).chances)
    assert sum(found.values()) == pytest.approx(1)
    return found


def apart(one: dict[Any, float], other: dict[Any, float]) -> float:
    assert one.keys() == other.keys()
    return max(abs(math.log(one[each] / other[each])) for each in one)


@pytest.mark.slow
@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_no_row_changes_how_likely_an_outcome_is_by_more_than_is_paid(relation: Neighbours) -> None:
    schema = schema_of(*SIZES, neighbours=relation)
    mixed = [EVERY_ROW[place] for place in np.random.default_rng(4).integers(0, len(EVERY_ROW), 12)]
    worst = 0.0
    for key, rows in product(KEYS, ([], mixed, [(0, 0, 0, 0)] * 60, [(0, 0, 0, 0)] * 30 + [(1, 0, 0, 0)] * 30)):
        more = [chances([*rows, row], schema, key) for row in EVERY_ROW]
        before = [chances(rows, schema, key)] if relation == "add_remove" else more
        worst = max([worst, *(apart(one, other) for one in before for other in more)])
    # Near what is paid; under replace_one half of it, as a row that leaves a portion moves scores half as far as one
    # that becomes another there, and both are provided for.
    assert EPSILON * (Fraction(9, 10) if relation == "add_remove" else Fraction(1, 3)) < worst <= EPSILON
