"""Utilities of each leaf's own: the scores are those of the plain ones, and all picks together cost epsilon."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from test_pick_each import (
    EPSILON,
    ROWS,
    SCHEMA,
    SPLIT_BY_A,
    TWO_TREES,
    Row,
    log_chances,
    neighbours_of,
    schema_under,
    scores,
    small_tables,
    split_score,
)

import jostle
from jostle import Table
from jostle.audit.forks import permute_and_flip_chances
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.picks import PickEach
from jostle.privacy.split_scores import MixedSplitScore, Utility, spread_of
from jostle.tables.block import Block
from jostle.tables.routes import Routing
from jostle.tables.schema import Neighbours

PAIRS: tuple[tuple[Utility, Utility], ...] = tuple(itertools.permutations(get_args(Utility), 2))


def mixed(by: tuple[Utility, ...], routing: Routing = SPLIT_BY_A, **changed: Any) -> MixedSplitScore:
    """Return a score whose open leaves have the utilities in turn; b is split by value, d cut in two places."""
    leaves = routing.leaves
    given = [leaves[place :: len(by)] for place in range(len(by))]
    facts: dict[str, Any] = {
        "utilities": by,
        "open": tuple(given),
        "columns": [1, 2, 2],
        "cuts": [0, 1, 2],
        "may": tuple(np.ones((len(each), 3), dtype=np.bool_) for each in given),
        "rows_bound": 4,
    }
    return MixedSplitScore(routing, **{**facts, **changed})


@pytest.mark.parametrize("utilities", PAIRS)
@pytest.mark.parametrize("routing", [SPLIT_BY_A, TWO_TREES])
def test_each_leaf_is_scored_by_its_own_utility(utilities: tuple[Utility, Utility], routing: Routing) -> None:
    rows = tuple(ROWS[place] for place in np.random.default_rng(3).integers(0, len(ROWS), 40))
    found = scores(mixed(utilities, routing), rows)
    half = len(routing.leaves) // 2
    for part, utility in enumerate(utilities):
        plain = scores(split_score(utility, routing), rows)
        assert np.array_equal(found[part * half : (part + 1) * half], plain[part::2])


def test_each_leaf_has_the_spread_of_its_own_utility() -> None:
    score = mixed(("InfoGain", "Max"), TWO_TREES)
    assert score.spreads(SCHEMA, 4).tolist() == [spread_of("InfoGain", 4)] * 2 + [1] * 2
    assert score.spread(SCHEMA) == spread_of("InfoGain", 4)
    assert score.touched(SCHEMA) == 2


def loss(score: MixedSplitScore, first: tuple[Row, ...], second: tuple[Row, ...], relation: Neighbours) -> float:
    """Return the largest log-ratio of any vector of picks, either way, each group being picked in at its own rate."""
    schema = schema_under(relation)
    before, after = scores(score, first), scores(score, second)
    total = [0.0, 0.0]
    for group, spread in enumerate(score.spreads(schema, len(before)).tolist()):
        rate = PickEach(score).rate(schema, EPSILON, spread)
        ratios = log_chances(tuple(before[group].tolist()), rate) - log_chances(tuple(after[group].tolist()), rate)
        total[0] += float(ratios.max())
        total[1] += float(-ratios.min())
    return max(total)


@pytest.mark.representative
@pytest.mark.parametrize("relation", get_args(Neighbours))
@pytest.mark.parametrize("utilities", PAIRS[:3])
def test_picks_by_different_utilities_together_cost_epsilon(
    utilities: tuple[Utility, Utility], relation: Neighbours
) -> None:
    """Exact chances on all neighbouring tables of one row or two."""
    score = mixed(utilities)
    worst = max(
        loss(score, table, other, relation)
        for table in small_tables(1 if relation == "add_remove" else 2)
        for other in neighbours_of(table, relation)
    )
    assert 0.1 < worst <= float(EPSILON) + 1e-9


def test_one_rate_for_all_would_not_do() -> None:
    """A row enters three that are alike, by one candidate, and an empty part, by another: by InfoGain, 3.2 apart.

    That is all that four rows can do. Picked at the rate that Gini allows, whose scores move by 2, it costs too much.
    """
    score = mixed(("Gini", "InfoGain"))
    alike: tuple[Row, ...] = ((1, 0, 0, 0),) * 3
    more = (*alike, (1, 0, 2, 1))
    assert 0.9 * float(EPSILON) < loss(score, alike, more, "add_remove") <= float(EPSILON) + 1e-9
    before, after = (tuple(scores(score, rows)[1].tolist()) for rows in (alike, more))
    rate = PickEach(score).rate(SCHEMA, EPSILON, spread_of("Gini", 4))
    assert float((log_chances(before, rate) - log_chances(after, rate)).max()) > 1.5 * float(EPSILON)


def test_each_leaf_is_picked_in_at_its_own_rate() -> None:
    """Chi-squared over 3,000 draws per leaf, at 0.001 over both; a seed makes it the same every time."""
    score, runs, epsilon = mixed(("Gini", "Max")), 3_000, Fraction(1)
    rows = tuple(ROWS[place] for place in np.random.default_rng(8).integers(0, len(ROWS), 30))
    columns = {name: np.array([row[place] for row in rows], dtype=np.uint8) for place, name in enumerate(SCHEMA.names)}
    kernel = score.kernel(SCHEMA)
    tally = np.zeros(kernel.cells(SCHEMA), dtype=np.int64)
    kernel.add(Block(columns, len(rows)), SCHEMA, tally)
    noise = Noise(SeededBits(2))
    picks = np.array([PickEach(score).release(tally, SCHEMA, epsilon, noise) for _ in range(runs)])
    for group, (values, utility) in enumerate(zip(score.scores(tally, SCHEMA).tolist(), score.utilities, strict=True)):
        expected = permute_and_flip_chances(values, epsilon / spread_of(utility, 4))
        found = np.bincount(picks[:, group], minlength=3)
        assert found.min() > 100
        assert stats.chisquare(found, np.array(expected) * runs).pvalue > 0.001 / 2


@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_the_door_charges_once_for_all_utilities(relation: Neighbours) -> None:
    frame = pa.table({name: ["0", "1", "1"] for name in SCHEMA.names})
    db = jostle.rehearse(Table.from_frame(frame, schema_under(relation)), epsilon=1)
    picks = db.perform(PickEach(mixed(("Max", "InfoGain"), TWO_TREES)), "1/3", site="splits")
    assert len(picks) == 4
    assert db.spent == Fraction(1, 3)


def test_with_one_utility_it_picks_as_the_plain_score_does() -> None:
    frame = pa.table({name: ["0", "1", "1", "0"] for name in SCHEMA.names})
    for seed in range(5):
        found = []
        for score in (split_score("Gini", TWO_TREES), mixed(("Gini",), TWO_TREES)):
            db = jostle.rehearse(Table.from_frame(frame, SCHEMA), epsilon=1, seed=seed)
            found.append(db.perform(PickEach(score), 1, site="splits").tolist())
        assert found[0] == found[1]
