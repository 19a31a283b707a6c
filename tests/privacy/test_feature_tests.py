"""Scores of features: how far a record moves them, what that makes of picks and thresholds, and what is not private."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import jostle
from jostle import Categorical, Schema, Table
from jostle.audit.forks import permute_and_flip_chances
from jostle.audit.selections import ThresholdedAnswers, balanced_share
from jostle.errors import PrivateDataError
from jostle.privacy.column_scores import FeatureScore, ScoreName, feature_scores
from jostle.privacy.imitations import CompareWithNoisyThreshold
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.picks import FindAbove, FindNthLargest, PickSeveral
from jostle.privacy.split_scores import GRID
from jostle.tables.block import Block
from jostle.tables.engines import MemorySource
from jostle.tables.schema import Neighbours

KINDS: tuple[ScoreName, ...] = get_args(ScoreName)
RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)
SIZES = (2, 3, 3)
"""Of columns a and b and the label: four features, of which a record has one or two."""
ROWS = list(product(*map(range, SIZES)))
Row = tuple[int, ...]
Integers = NDArray[np.int64]


def schema_under(neighbours: Neighbours, classes: int = 3) -> Schema:
    sizes = {"a": 2, "b": 3, "label": classes}
    columns = {name: Categorical(map(str, range(size))) for name, size in sizes.items()}
    return Schema(columns, label="label", neighbours=neighbours)


class Tallies:
    """The tallies of a score's kernel on small tables: sums of those of single records."""

    def __init__(self, score: FeatureScore, schema: Schema) -> None:
        self.score = score
        self.schema = schema
        self.single = cache(self._single)
        self.values = cache(lambda table: score.values(self.of(table), schema))
        self.scores = cache(lambda table: score.scores(self.of(table), schema))

    def _single(self, row: Row) -> Integers:
        kernel = self.score.kernel(self.schema)
        columns = {name: np.array([code], dtype=np.uint8) for name, code in zip(self.schema, row, strict=True)}
        totals = np.zeros(kernel.cells(self.schema), dtype=np.int64)
        kernel.add(Block(columns, 1), self.schema, totals)
        return totals

    def of(self, table: Iterable[Row]) -> Integers:
        """Return the tally of a table."""
        return np.asarray(sum(map(self.single, table), 0 * self.single(ROWS[0])))


def neighbours_of(table: tuple[Row, ...], relation: Neighbours, rows: list[Row]) -> Iterator[tuple[Row, ...]]:
    yield from ((*table, row) for row in rows)  # of a part, under both relations
    if relation == "replace_one":
        yield from ((*table[:place], row, *table[place + 1 :]) for place in range(len(table)) for row in rows)


@pytest.mark.representative("kind")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_record_moves_a_score_further_than_it_says(kind: ScoreName, relation: Neighbours, classes: int) -> None:
    """All tables of up to two records, and their neighbours; with sampling, and with more records than the bound."""
    schema, rows = schema_under(relation, classes), [row for row in ROWS if row[2] < classes]
    reached = picked = 0
    for most, bound in ((1, 2), (2, 2), (2, 1), (2, 50)):
        score = FeatureScore(kind, most, bound)
        found = Tallies(score, schema)
        for count in range(3):
            for table in combinations_with_replacement(rows, count):
                for each in neighbours_of(table, relation, rows):
                    other = tuple(sorted(each))
                    values = found.values(other) - found.values(table)
                    scores = found.scores(other) - found.scores(table)
                    assert np.abs(values).max() <= score.changes(schema)
                    assert np.abs(scores).max() <= score.sensitivity(schema)
                    assert not score.rises(schema) or values.min() >= 0
                    assert not score.monotone(schema) or scores.min() >= 0 or scores.max() <= 0
                    if bound == 2:
                        reached = max(reached, int(np.abs(values).max()))
                        picked = max(picked, int(np.abs(scores).max()))
    if kind != "IG":
        assert reached == picked == FeatureScore(kind, 2).changes(schema)


def test_what_is_picked_by_differs_from_the_values_by_the_same_for_all() -> None:
    schema = schema_under("add_remove")
    rows = tuple(ROWS[place] for place in np.random.default_rng(0).integers(0, len(ROWS), 50))
    for kind in KINDS:
        found = Tallies(FeatureScore(kind, 9, 100), schema)
        apart = found.values(rows) - found.scores(rows)
        assert len(set(apart.tolist())) == 1


def test_scores_are_those_of_the_paper() -> None:
    having, everyone = np.array([[30, 10], [3, 3], [0, 0]]), np.array([60, 40])
    assert feature_scores("TC", having, everyone, 1).tolist() == [40, 6, 0]
    assert feature_scores("DC", having, everyone, 1).tolist() == [20, 0, 0]
    assert feature_scores("PI", having, everyone, 1).tolist() == [20, 20, 20]
    gain = feature_scores("IG", having, everyone, 1000) / GRID / 100
    told = stats.entropy([60, 40], base=2)
    told -= 0.4 * stats.entropy([30, 10], base=2) + 0.6 * stats.entropy([30, 30], base=2)
    assert gain[0] == pytest.approx(told, abs=0.001)
    assert gain[2] == 0


def test_scores_of_noisy_counts_are_numbers_whatever_they_are() -> None:
    having = np.array([[-5, 3], [2**62, -(2**62)], [0, 0]])
    for kind in KINDS:
        assert feature_scores(kind, having, np.array([-1, 4]), 10).shape == (3,)


# Picks


def peel_chances(scores: tuple[int, ...], times: int, rate: Fraction) -> dict[tuple[int, ...], float]:
    """Return the chance of each list of picks."""
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(times):
        wider = {}
        for picked, chance in found.items():
            left = [place for place in range(len(scores)) if place not in picked]
            for place, one in zip(left, permute_and_flip_chances([scores[each] for each in left], rate), strict=True):
                wider[*picked, place] = chance * one
        found = wider
    return found


@pytest.mark.representative
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_several_picks_lose_no_more_than_epsilon(kind: ScoreName, relation: Neighbours) -> None:
    """All tables of up to two records and their neighbours, by exact chances; TC would lose more at twice the rate."""
    schema, epsilon = schema_under(relation, 2), Fraction(2)
    mechanism = PickSeveral(FeatureScore(kind, 2, 2), 2)
    rate = mechanism._rate(schema, epsilon)
    rows = [row for row in ROWS if row[2] < 2]
    chances = cache(lambda scores, at: peel_chances(scores, 2, at))
    found = Tallies(mechanism.score, schema)

    def loss(at: Fraction) -> float:
        worst = 0.0
        for table in (table for count in range(3) for table in combinations_with_replacement(rows, count)):
            one = chances(tuple(found.scores(table).tolist()), at)
            for other in neighbours_of(table, relation, rows):
                two = chances(tuple(found.scores(tuple(sorted(other))).tolist()), at)
                worst = max(worst, *(abs(math.log(one[each] / two[each])) for each in one))
        return worst

    assert loss(rate) <= float(epsilon) + 1e-9
    if kind == "TC":
        assert loss(2 * rate) > float(epsilon)


def test_picks_are_distributed_as_one_after_the_other() -> None:
    schema = schema_under("add_remove", 2)
    mechanism = PickSeveral(FeatureScore("TC", 2), 2)
    noise, tally = Noise(SeededBits(5)), np.array([3, 1, 0, 2])
    draws = [tuple(mechanism.release(tally, schema, Fraction(3), noise).tolist()) for _ in range(4000)]
    told = peel_chances((3, 1, 0, 2), 2, Fraction(3, 2))
    seen = [draws.count(each) for each in told]
    assert stats.chisquare(seen, [4000 * chance for chance in told.values()]).pvalue > 1e-4


# Thresholds


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_sparse_vector_has_the_noise_that_the_auditor_s_honest_one_has(monotone: bool, most: int) -> None:
    share = balanced_share(most, monotone=monotone)
    told = ThresholdedAnswers(threshold_share=share, query_noise=most if monotone else 2 * most, positives=most)
    mechanism = FindAbove(FeatureScore("TC" if monotone else "DC", 2), 5, most, share)
    assert mechanism.scales(schema_under("add_remove"), Fraction(2)) == told.scales(Fraction(2))


def test_the_sparse_vector_is_distributed_as_the_auditor_s_honest_one() -> None:
    """In the order in which features are gone through, which is drawn first and is uniform."""

    class InOrder(Noise):
        def distinct(self, population: int, count: int) -> Integers:
            return np.arange(population)

    schema = schema_under("add_remove", 2)
    share = balanced_share(2, monotone=True)
    mechanism = FindAbove(FeatureScore("TC", 2), 2, 2, share)
    noise, tally = InOrder(SeededBits(7)), np.array([3, 1, 0, 2])
    draws = [tuple(mechanism.release(tally, schema, Fraction(3), noise).tolist()) for _ in range(4000)]
    honest = ThresholdedAnswers(threshold_share=share, query_noise=2, positives=2)
    chances: dict[tuple[int, ...], float] = {}
    for answers, chance in honest.distribution((1, -1, -2, 0), Fraction(3)).chances.items():
        found = tuple(place for place, answer in enumerate(answers) if answer == 1)
        chances[found] = chances.get(found, 0) + chance
    assert set(draws) <= set(chances)
    seen = [draws.count(each) for each in chances]
    assert stats.chisquare(seen, 4000 * np.array(list(chances.values())) / sum(chances.values())).pvalue > 1e-4


def test_which_feature_is_looked_at_first_is_drawn_anew() -> None:
    db = jostle.rehearse(some_table(), seed=2)
    everything = FindAbove(FeatureScore("TC", 2), -(10**6), 1, Fraction(1, 2))
    assert len({int(db.perform(everything, 1, site="first")[0]) for _ in range(40)}) == 4


@pytest.mark.parametrize("place", [1, 2, 4])
def test_the_so_manieth_best_score_is_found(place: int) -> None:
    db = jostle.rehearse(some_table(), seed=2)
    told = [30, 20, 10, 0][place - 1]
    assert db.perform(FindNthLargest(FeatureScore("TC", 2), place), 10**6, site="best") == told


def some_table() -> Table:
    """Return 40 records, of which 20 have a=1, 30 have b=0, 10 have b=1 and none b=2."""
    place = np.arange(40)
    codes = {"a": place < 20, "b": place >= 30, "label": place % 2}
    columns = {name: each.astype(np.uint8) for name, each in codes.items()}
    return Table(MemorySource(schema_under("add_remove", 2), columns, 40))


# What is not private


def test_private_threshold_testing_runs_on_public_rows_only() -> None:
    asked = CompareWithNoisyThreshold(FeatureScore("TC", 2), 5)
    public = jostle.rehearse(some_table(), epsilon=1000, seed=0)
    assert public.imitate(asked, 900).tolist() == [0, 1, 2]
    private = jostle.protect(some_table(), epsilon=1)
    with pytest.raises(PrivateDataError, match="not private") as refused:
        private.imitate(asked, 1)
    assert "(0, 1)" in str(refused.value)
    assert private.spent == 0
    with pytest.raises(PrivateDataError):
        private.where("a", "0").only("b").allot(1).imitate(asked, "0.5")
