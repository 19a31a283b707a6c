"""A tree that chooses at every node: what it costs, what it can be, and what it leaves in the trace."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_of_labels import schema_of, table_of

import jostle
from jostle import Schema, Table, Trace
from jostle.options import get
from jostle.options.classification.jostled_tree import (
    RULES,
    SPLIT_BY,
    BranchUpTo,
    ExpectedSupport,
    JostledTree,
    SizeAboveNoise,
)
from jostle.options.growing import branching
from jostle.options.models.kinds import TreeModel
from jostle.privacy.events import price
from jostle.privacy.ledger import Charge
from jostle.sites import Choice, Decision, Handler, Policy, explore, follow, force, record, replay
from jostle.tables.schema import Neighbours
from jostle.tasks.classification import Model
from jostle.trace.records import Chosen

RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)
SEEDS = range(3)
EPSILONS = ("1/10", "1", "8")


def wide_table(relation: Neighbours = "add_remove") -> Table:
    """Return 600 rows of five attributes, of which two tell the label."""
    random = np.random.default_rng(11)
    data = random.integers(0, (3, 2, 4, 2, 5), (600, 5))
    label = (data[:, 0] + 2 * data[:, 1] + (random.random(600) < 0.2)) % 3
    schema = schema_of(3, 2, 4, 2, 5, 3, neighbours=relation)
    return table_of([(*map(int, row), int(cls)) for row, cls in zip(data, label, strict=True)], schema)


def opened(table: Table, *, known: bool, epsilon: str | Fraction = Fraction(100), **how: Any) -> jostle.Probe:
    """Return a probe; where the number of rows is known, it was bought before."""
    db = jostle.rehearse(table, **how)
    if known:
        db.count(10**6)
    return db.allot(epsilon)


def learnt(
    name: str, table: Table, epsilon: str, seed: int, around: Handler | None = None, *, known: bool = False
) -> TreeModel:
    option: Any = get(name)
    db = opened(table, known=known, epsilon=epsilon, seed=seed)
    with around or Handler():
        model: TreeModel = option(db, epsilon=epsilon)
    assert db.spent == Fraction(epsilon)
    return model


def same_models(mine: str, policies: Mapping[str, Policy], theirs: str, table: Table, *, known: bool = False) -> bool:
    return all(
        learnt(mine, table, epsilon, seed, follow(policies), known=known).facts()
        == learnt(theirs, table, epsilon, seed, known=known).facts()
        for epsilon in EPSILONS
        for seed in SEEDS
    )


@pytest.mark.representative
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("utility", RULES[:-1])
def test_it_can_be_the_tree_of_friedman_and_schuster(relation: Neighbours, utility: str) -> None:
    policies: dict[str, Policy] = {"L1": SizeAboveNoise(), "L2": SPLIT_BY[utility]}
    for prune in (True, False):
        mine = f"JostledTree(depth=3, sizes_share=1/2, prune={prune})"
        theirs = f"FriedmanSchuster(depth=3, utility={utility}, prune={prune})"
        assert same_models(mine, policies, theirs, wide_table(relation))


@pytest.mark.parametrize("utility", RULES[:-1])
def test_it_can_be_the_forest_of_patil_and_singh(utility: str) -> None:
    policies: dict[str, Policy] = {"L1": SizeAboveNoise(), "L2": SPLIT_BY[utility]}
    mine, theirs = "JostledTree(depth=2, trees=4, sizes_share=1/2)", f"PatilSingh(depth=2, trees=4, utility={utility})"
    assert same_models(mine, policies, theirs, wide_table())


@pytest.mark.representative
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("utility", RULES[:-1])
def test_it_can_be_the_tree_of_mohammed(relation: Neighbours, utility: str) -> None:
    """With Max or Gini, that tree does without the number of rows: the same where it is known."""
    policies: dict[str, Policy] = {"L1": BranchUpTo(3), "L2": SPLIT_BY[utility]}
    mine, theirs = "JostledTree(depth=3, sizes_share=0, prune=False)", f"Mohammed(depth=3, utility={utility})"
    assert same_models(mine, policies, theirs, wide_table(relation), known=True)
    bought = same_models(mine, policies, theirs, wide_table(relation))
    assert bought == (utility == "InfoGain")


class JagannathansDepth:
    """Branch on min(k/2, log_b(n) - 1) levels, at least 1, b being the mean branching."""

    def __init__(self, schema: Schema) -> None:
        self.mean = float(branching(schema).mean())

    def decide(self, choice: Choice) -> Decision:
        rows = np.log(choice.seen["root"]) / np.log(self.mean) - 1
        depth = np.maximum(1, np.floor(np.minimum(choice.seen["k"] / 2, rows)))
        return Decision(choice.seen["level"] < depth)


@pytest.mark.parametrize("known", [False, True])
def test_it_can_be_the_forest_of_jagannathan(known: bool) -> None:
    """Random splits leave all of the budget to the leaves, so even trees that could have grown deeper are the same."""
    table = wide_table()
    policies: dict[str, Policy] = {"L1": JagannathansDepth(table.schema), "L2": SPLIT_BY["random"]}
    mine = "JostledTree(depth=5, trees=10, sizes_share=0, prune=False, combine=mean)"
    assert same_models(mine, policies, "Jagannathan", table, known=known)
    fixed: dict[str, Policy] = {"L1": BranchUpTo(4), "L2": SPLIT_BY["random"]}
    assert same_models(mine, fixed, "Jagannathan(depth=4)", table, known=True)


def test_it_can_stop_where_fletcher_and_islam_do() -> None:
    """Their rule: the rows expected at a node, against sqrt(2) * |C| / epsilon, the leaves having all of epsilon."""
    table = wide_table()
    for epsilon in ("1/100", "1/10", "1"):
        noise = np.sqrt(2) * 3 / float(Fraction(epsilon))
        policies: dict[str, Policy] = {"L1": ExpectedSupport(), "L2": SPLIT_BY["random"]}
        with record() as kept, follow(policies):
            learnt("JostledTree(sizes_share=0)", table, epsilon, 4, known=True)
        for line in kept.lines:
            if line.label == "L1":
                assert (line.taken == (line.seen["n"] > noise)).all()


class AtRandom:
    """Any alternative anywhere, from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def decide(self, choice: Choice) -> Decision:
        return Decision(self.random.integers(0, len(choice.among), choice.count))


CONFIGURED = (
    "JostledTree",
    "JostledTree(sizes_share=1/2)",
    "JostledTree(sizes_share=0.1, trees=3)",
    "JostledTree(depth=2, numeric=ordered, prune=False)",
)


def declared_and_spent(
    name: str, table: Table, epsilon: Fraction, around: Handler, *, known: bool = False
) -> tuple[Fraction, Fraction]:
    option: Any = get(name)
    spent: list[Fraction] = []

    def run(db: jostle.Probe, budget: Fraction) -> object:
        model = option.run(db, budget)
        spent.append(db.spent)
        return model

    with around:
        option.perform(opened(table, known=known, seed=1), epsilon, run)
    return price(option.cost(table.schema, epsilon), table.schema.neighbours), spent[0]


@settings(max_examples=40)
@given(
    st.sampled_from(CONFIGURED),
    st.sampled_from(RELATIONS),
    st.booleans(),
    st.fractions(min_value="1/100", max_value=20),
    st.integers(0, 2**20),
)
def test_whatever_is_chosen_costs_what_was_declared(
    name: str, relation: Neighbours, known: bool, epsilon: Fraction, seed: int
) -> None:
    table = wide_table(relation)
    for around in (follow({"L1": AtRandom(seed), "L2": AtRandom(seed + 1)}), explore(seed)):
        declared, spent = declared_and_spent(name, table, epsilon, around, known=known)
        assert declared == spent == epsilon


def charges(around: Handler, epsilon: Fraction = Fraction(1)) -> tuple[Charge, ...]:
    found: list[Charge] = []

    def run(db: jostle.Probe, budget: Fraction) -> Model:
        model = JostledTree(depth=2, sizes_share=Fraction(1, 2)).run(db, budget)
        found.extend(db.charges)
        return model

    with around:
        JostledTree(depth=2).perform(jostle.rehearse(wide_table(), seed=1), epsilon, run)
    return tuple(found)


def test_a_level_that_uses_every_rule_is_charged_for_one_question() -> None:
    sixth = Fraction(1, 6)

    class Mixed:
        def decide(self, choice: Choice) -> Decision:
            return Decision(np.arange(choice.count) % len(RULES))

    found = charges(follow({"L1": BranchUpTo(2), "L2": Mixed()}))
    splits = [charge for charge in found if charge.site.endswith("split level 1")]
    assert [charge.epsilon for charge in splits] == [sixth]
    assert [charge.epsilon for charge in found] == [sixth] * 6


def test_what_random_splits_do_not_use_goes_to_the_leaves() -> None:
    found = charges(force({"L1": "branch", "L2": "random"}))
    assert [charge.epsilon for charge in found] == [Fraction(1, 6)] * 3 + [Fraction(1, 2)]
    found = charges(force({"L1": "stop"}))
    assert [charge.epsilon for charge in found] == [Fraction(1, 6), Fraction(5, 6)]


def lopsided() -> Table:
    """Return rows whose two parts, by the first column, are each split differently by Max and by Gini.

    The second column leaves 98 and 100 of 800 rows wrong, and neither side pure; the third leaves 200 of 600 wrong, and
    200 rows that are all alike. So Max likes the second, and Gini the third.
    """
    cells = ((0, 0, 0, 151), (0, 1, 0, 151), (1, 0, 0, 49), (1, 1, 0, 49), (0, 0, 1, 100), (1, 0, 1, 300))
    rows = [(part, b, c, 2 * part + label) for part in range(2) for b, c, label, count in cells for _ in range(count)]
    return table_of(rows, schema_of(2, 2, 2, 4))


def test_a_mixture_of_rules_splits_each_node_by_its_own() -> None:
    """Hardly any noise: what a node is split by is what its own rule likes best, as if all had that rule."""

    class Mixed:
        def __init__(self, *rules: str) -> None:
            self.rules = rules

        def decide(self, choice: Choice) -> Decision:
            rules = self.rules[: choice.count] if choice.seen["level"][0] else ("Max",)
            return Decision([RULES.index(rule) for rule in rules])

    def attributes(*rules: str) -> list[int]:
        policies: dict[str, Policy] = {"L1": BranchUpTo(2), "L2": Mixed(*rules)}
        model = learnt("JostledTree(depth=2, prune=False)", lopsided(), "100000", 5, follow(policies))
        return [int(place) for place in model.routing.attribute[1:3]]

    for first in RULES[:-1]:
        for second in RULES[:-1]:
            assert attributes(first, second) == [attributes(first, first)[0], attributes(second, second)[1]]
    assert attributes("Max", "Gini") == [1, 2]


def test_nodes_see_what_they_are_said_to_see() -> None:
    table = wide_table()
    with record() as kept, force({"L1": "branch", "L2": "Max"}):
        learnt("JostledTree(depth=3, trees=2)", table, "2", 1, known=True)
    first, *_, last = [line for line in kept.lines if line.label == "L1"]
    assert {name: values.tolist() for name, values in first.seen.items()} == {
        "n": [600] * 2,
        "root": [600] * 2,
        "d": [3] * 2,
        "level": [0] * 2,
        "e": [0.25] * 2,
        "c": [3] * 2,
        "t": [5] * 2,
        "k": [5] * 2,
        "signal": [10] * 2,
    }
    assert set(last.seen["level"]) == {2}
    assert set(last.seen["d"]) == {1}
    assert set(last.seen["n"]) < {600 / first / second for first in (2, 3, 4, 5) for second in (2, 3, 4, 5)}


def test_bought_sizes_are_seen_with_their_noise() -> None:
    with record() as kept, force({"L1": "branch", "L2": "Max"}):
        learnt("JostledTree(depth=1, sizes_share=1/2)", wide_table(), "1", 1)
    seen = float(kept.lines[0].seen["n"][0])
    assert seen == pytest.approx(600, abs=60)
    assert seen == int(seen)


def test_a_run_can_be_replayed_on_the_same_seed_and_not_on_another_tree() -> None:
    table = wide_table()
    with record() as kept:
        first = learnt("JostledTree(policies=published, sizes_share=1/2)", table, "4", 3, explore(7))
    again = learnt("JostledTree(policies=published, sizes_share=1/2)", table, "4", 3, replay(kept.lines))
    assert first.facts() == again.facts()


def test_each_level_leaves_a_line_per_label_in_the_trace() -> None:
    trace = Trace()
    db = opened(wide_table(), known=True, epsilon="1", seed=2, trace=trace)
    with follow({"L1": BranchUpTo(2), "L2": SPLIT_BY["Max"]}):
        JostledTree(depth=2)(db, epsilon=1)
    kept = [line for line in trace.records if isinstance(line, Chosen)]
    path = "allotment/JostledTree(depth=2)"
    assert [line.site for line in kept] == [f"{path}/{place}" for place in ("L1#1", "L2#1", "L1#2", "L2#2")]
    assert kept[0].taken == (("branch", 1),)
    assert {name: (least, most) for name, least, most in kept[0].seen}["n"] == (600, 600)
    assert kept[2].taken == (("branch", kept[2].places),)
    assert kept[2].places > 1
    assert kept[3].why == "fixed"


def test_without_learned_policies_it_stops_as_friedman_and_schuster_and_splits_by_max() -> None:
    mine, theirs = "JostledTree(depth=3, sizes_share=1/2, policies=published)", "FriedmanSchuster"
    for seed in SEEDS:
        assert learnt(mine, wide_table(), "2", seed).facts() == learnt(theirs, wide_table(), "2", seed).facts()


@pytest.mark.parametrize(
    ("policies", "why"), [("learned", "least expected loss"), ("published", "Friedman and Schuster")]
)
def test_what_comes_with_jostle_decides_unless_told_otherwise(policies: str, why: str) -> None:
    trace = Trace()
    option: Any = get(f"JostledTree(policies={policies})")
    option(jostle.rehearse(wide_table(), epsilon=1, seed=2, trace=trace), epsilon=1)
    kept = [line for line in trace.records if isinstance(line, Chosen)]
    assert why in kept[0].why
    assert bool(kept[0].predicted) == (policies == "learned")
