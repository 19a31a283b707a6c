"""The tree engine against the slow, obvious way, and the rules it is put together from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tables_of_labels import table_of

import jostle
from jostle import Categorical, Numeric, Schema
from jostle.options import get
from jostle.options.classification.random_trees import forest_size
from jostle.options.growing import (
    AtDepth,
    AtRandom,
    BySupport,
    ByUtility,
    Grove,
    NoisySize,
    expected_errors,
    grow,
    longest_path,
    pessimistic,
)
from jostle.tables.columns import Column
from jostle.tables.routes import LeafCounts

SEEDS = range(20)
LOUD = Fraction(10**6)
"""So large an epsilon that the best candidate is picked for certain."""


def random_rows(seed: int, count: int = 200) -> tuple[Schema, list[tuple[int, ...]]]:
    random = np.random.default_rng(seed)
    sizes = (3, 4, 2, 6, 2)
    columns: dict[str, Column] = {
        f"a{place}": Categorical(map(str, range(size))) for place, size in enumerate(sizes[:3])
    }
    columns |= {"n": Numeric(0, 6, bins=6), "label": Categorical(["n", "y"])}
    rows = random.integers(0, sizes, (count, 5))
    rows[:, 4] = np.where(random.random(count) < 0.8, (rows[:, 0] + (rows[:, 3] > 2)) % 2, rows[:, 4])
    return Schema(columns, label="label"), [tuple(map(int, row)) for row in rows]


def table(schema: Schema, rows: Sequence[tuple[int, ...]]) -> jostle.Table:
    return table_of(rows, schema)


def wrong(rows: list[tuple[int, ...]]) -> int:
    labels = [row[-1] for row in rows]
    return len(labels) - max(labels.count(0), labels.count(1)) if labels else 0


def parts(rows: list[tuple[int, ...]], schema: Schema, column: int, cut: int) -> list[list[tuple[int, ...]]]:
    name = schema.attributes[column]
    if cut:
        return [[row for row in rows if row[column] < cut], [row for row in rows if row[column] >= cut]]
    return [[row for row in rows if row[column] == code] for code in range(schema[name].size)]


def check_by_hand(grove: Grove, rows: list[tuple[int, ...]], node: int, ranges: dict[int, tuple[int, int]]) -> int:
    """Check that a node was split by a best candidate, and its children likewise; return how many were split."""
    routing = grove.routing()
    column = int(routing.attribute[node])
    if column < 0:
        return 0
    costs = {}
    for candidate, (place, cut) in enumerate(zip(grove.candidate_columns, grove.candidate_cuts, strict=True)):
        low, high = ranges[int(place)]
        if (low < cut < high) if cut else high - low > 1:
            costs[candidate] = sum(map(wrong, parts(rows, grove.schema, int(place), int(cut))))
    first = int(routing.first[node])
    size = int(grove.sizes[column])
    children = routing.children[first : first + size]
    cut = int(np.argmax(children != children[0])) if len(set(children.tolist())) == 2 and size > 2 else 0
    if size == 2:
        cut = 0 if grove.candidate_cuts[grove.candidate_columns == column][0] == 0 else 1
    chosen = sum(map(wrong, parts(rows, grove.schema, column, cut)))
    assert chosen == min(costs.values())
    pieces = parts(rows, grove.schema, column, cut)
    below = list(dict.fromkeys(children.tolist()))
    assert len(below) == len(pieces)
    split = 1
    for branch, (child, piece) in enumerate(zip(below, pieces, strict=True)):
        low, high = ranges[column]
        narrowed = ((low, cut), (cut, high))[branch] if cut else (branch, branch + 1)
        split += check_by_hand(grove, piece, child, {**ranges, column: narrowed})
    return split


@pytest.mark.representative
@pytest.mark.parametrize("seed", SEEDS)
def test_without_noise_every_split_is_the_best_there_is(seed: int) -> None:
    schema, rows = random_rows(seed)
    grove = Grove(schema)
    db = jostle.rehearse(table(schema, rows), seed=seed)
    grow(db, grove, 3, ByUtility(utility="Max", epsilon=LOUD), AtDepth(), ask_at_end=False)
    assert grove.depth == 3
    assert check_by_hand(grove, rows, 0, {place: (0, int(size)) for place, size in enumerate(grove.sizes)}) >= 3


@pytest.mark.parametrize("numeric", ["cuts", "bins", "ordered", "mixed"])
def test_random_trees_run_out_of_splits_where_they_should(numeric: Any) -> None:
    """Grown without end, every leaf has one code left of every column, so no two rows of one leaf differ."""
    schema = Schema(
        {"a": Categorical(["x", "y", "z"]), "n": Numeric(0, 4, bins=4), "label": Categorical(["n", "y"])},
        label="label",
    )
    rows = [(a, n, 0) for a in range(3) for n in range(4)]
    db = jostle.rehearse(table(schema, rows), seed=4)
    grove = Grove(schema, 5, numeric=numeric)
    grow(db, grove, 100, AtRandom(), AtDepth(), ask_at_end=False)
    assert grove.depth <= longest_path(schema, numeric)
    counts = db.measure(LeafCounts(grove.routing(), by_class=False), LOUD)
    assert counts.tolist() == [1] * 12 * 5


def alternating(handicap: float) -> Grove:
    """Tree on 400 rows whose label follows every second of four values, which no single cut finds."""
    schema = Schema({"a": Categorical(list("wxyz")), "label": Categorical(["n", "y"])}, label="label")
    rows = [(code, code % 2) for code in range(4) for _ in range(100)]
    grove = Grove(schema, numeric="mixed")
    splitting = ByUtility(utility="Max", epsilon=LOUD, handicap=handicap)
    grow(jostle.rehearse(table(schema, rows), seed=3), grove, 3, splitting, AtDepth(), ask_at_end=False)
    return grove


@pytest.mark.parametrize("handicap", [51, 1e300])
def test_a_mixed_column_is_split_by_value_where_that_gains_more_than_its_handicap(handicap: float) -> None:
    """By value all 400 rows are told apart, by the best cut 300: two parts more are worth 100 rows, 50 each.

    With little budget and many values, the handicap is larger than any that a pick takes.
    """
    by_value = alternating(49)
    assert (by_value.depth, by_value.part.tolist()) == (1, [1, *[1 / 4] * 4])
    cut = alternating(handicap)
    assert cut.depth > 1
    assert set(cut.part[1:3].tolist()) == {1 / 2}


def test_a_mixed_column_that_was_cut_is_not_split_into_values_that_cannot_occur() -> None:
    grove = Grove(
        Schema({"a": Categorical(list("wxyz")), "label": Categorical(["n", "y"])}, label="label"), numeric="mixed"
    )
    assert grove.candidate_cuts.tolist() == [1, 2, 3, 0]
    assert grove.allowed(grove.seedlings()).all()
    assert grove.allowed(grove.split(grove.seedlings(), np.array([1]))).tolist() == [
        [True, False, False, False],
        [False, False, True, False],
    ]


def test_random_cuts_are_even() -> None:
    """2,000 trees: which column the roots split by, and where, by chi-squared at 0.001; a seed keeps it so."""
    schema = Schema(
        {"a": Categorical(["x", "y"]), "n": Numeric(0, 5, bins=5), "label": Categorical(["n", "y"])}, label="label"
    )
    grove = Grove(schema, 2000)
    db = jostle.rehearse(table(schema, [(0, 0, 0)]), seed=6)
    picks = AtRandom().choose(db, grove, grove.seedlings())
    assert stats.chisquare(np.bincount(picks), [1000, 250, 250, 250, 250]).pvalue > 0.001


def test_a_level_that_would_be_too_large_is_not_grown() -> None:
    columns = {f"a{place}": Categorical(map(str, range(1000))) for place in range(4)}
    schema = Schema({**columns, "label": Categorical(["n", "y"])}, label="label")
    db = jostle.rehearse(table(schema, [(1, 2, 3, 4, 0)]), seed=6)
    grove = Grove(schema)
    grow(db, grove, 4, AtRandom(), AtDepth(), ask_at_end=False)
    assert grove.depth == 2
    assert db.spent == 0


def test_a_noisy_size_stops_below_the_noise_and_goes_on_above() -> None:
    """Friedman and Schuster's rule: size / (largest branching * classes) against sqrt(2) / epsilon."""
    schema = Schema({"a": Categorical(["x", "y", "z"]), "label": Categorical(["n", "y"])}, label="label")
    epsilon = Fraction(1, 2)
    least = math.sqrt(2) / float(epsilon) * 3 * 2
    for count, goes_on in ((int(least / 3), False), (int(least * 3), True)):
        db = jostle.rehearse(table(schema, [(0, 0)] * count), seed=2)
        rule = NoisySize(epsilon=epsilon)
        grove = Grove(schema)
        assert rule.goes_on(db, grove, grove.seedlings()).tolist() == [goes_on]
        assert rule.sizes[0] == pytest.approx(count, abs=30)
        assert db.spent == epsilon


def test_support_is_shared_out_evenly_along_a_path() -> None:
    schema = Schema(
        {"a": Categorical(["x", "y", "z"]), "b": Categorical(["u", "v"]), "label": Categorical(["n", "y"])},
        label="label",
    )
    db = jostle.rehearse(table(schema, [(0, 0, 0)]), seed=2)
    grove = Grove(schema)
    frontier = grove.seedlings()
    assert BySupport(rows=12.0, least=11.9).goes_on(db, grove, frontier).all()
    frontier = grove.split(frontier, np.array([0]))
    assert BySupport(rows=12.0, least=3.9).goes_on(db, grove, frontier).all()
    assert not BySupport(rows=12.0, least=4.1).goes_on(db, grove, frontier).any()
    frontier = grove.split(frontier, np.array([1, 1, 1]))
    assert BySupport(rows=12.0, least=1.9).goes_on(db, grove, frontier).all()
    assert not BySupport(rows=12.0, least=2.1).goes_on(db, grove, frontier).any()


def test_the_forest_of_fletcher_and_islam_has_the_size_their_rule_gives() -> None:
    schema = Schema(
        {f"a{place}": Categorical(map(str, range(2 + place))) for place in range(4)}
        | {"label": Categorical(["n", "y"])},
        label="label",
    )
    mean, noise = 3.5, math.sqrt(2) * 2
    for rows, epsilon in ((100, 1.0), (1000, 0.1), (5000, 1.0), (200_000, 0.05)):
        trees, roots = 4, [0, 1, 2, 3]
        while rows / mean**2 > noise * trees / epsilon and trees < 100:
            trees += 1
        while noise * trees / epsilon > rows / mean**2 and trees > 1:
            trees -= 1
            roots = roots[:-1] or roots
        found = forest_size(schema, rows, epsilon, "cuts", 100)
        assert found[0] == trees
        assert found[1] == tuple(roots)


def test_expected_errors_are_the_binomial_upper_limit() -> None:
    """Quinlan's own example: 6, 9 and 1 rows without an error give 6 * 0.206 + 9 * 0.143 + 1 * 0.750."""
    found = expected_errors(np.array([6.0, 9.0, 1.0]), np.zeros(3))
    assert found.tolist() == pytest.approx([6 * 0.206, 9 * 0.143, 0.750], abs=0.01)
    for rows, errors in ((10, 2), (40, 7), (5, 4)):
        chance = float(expected_errors(np.array([float(rows)]), np.array([float(errors)]))[0]) / rows
        assert stats.binom.cdf(errors, rows, chance) == pytest.approx(0.25)


def test_pruning_takes_back_a_split_that_tells_nothing_and_keeps_one_that_does() -> None:
    schema = Schema({"a": Categorical(["x", "y"]), "label": Categorical(["n", "y"])}, label="label")
    grove = Grove(schema)
    grove.split(grove.seedlings(), np.array([0]))
    assert pessimistic(grove, np.array([[40.0, 10.0], [20.0, 5.0], [20.0, 5.0]])).tolist() == [True, False, False]
    assert pessimistic(grove, np.array([[25.0, 25.0], [25.0, 0.0], [0.0, 25.0]])).tolist() == [False, False, False]


def test_a_pruned_tree_is_smaller_and_no_node_of_it_hangs_loose() -> None:
    schema, rows = random_rows(3, 400)
    db = jostle.rehearse(table(schema, rows), seed=1)
    whole: Any = get("FriedmanSchuster(prune=False)")
    pruned: Any = get("FriedmanSchuster")
    large = whole(db, epsilon=20).routing
    small = pruned(jostle.rehearse(table(schema, rows), seed=1), epsilon=20).routing
    assert len(small.attribute) < len(large.attribute)
    reachable = {int(small.roots[0])} | set(small.children.tolist())
    assert reachable == set(range(len(small.attribute)))
    small.check(schema)


@pytest.mark.parametrize("name", ["Mohammed(depth=4)", "FriedmanSchuster(depth=5)"])
def test_wide_domains_do_not_grow_without_bound(name: str) -> None:
    """20 values by 8 attributes, as in the octamers of a protease: four levels are 160,000 nodes."""
    random = np.random.default_rng(1)
    schema = Schema(
        {**{f"p{place}": Categorical(map(str, range(20))) for place in range(8)}, "label": Categorical(["n", "y"])},
        label="label",
    )
    rows = [(*map(int, row), int(row[0] % 2)) for row in random.integers(0, 20, (500, 8))]
    option: Any = get(name)
    model = option(jostle.rehearse(table(schema, rows), seed=1), epsilon=1)
    assert model.privacy.startswith("All outputs")
