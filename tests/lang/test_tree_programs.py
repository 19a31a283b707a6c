"""Figure 4.1 as a program, its twin in Python, and the library's own Option."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables_of_labels import correlated, schema_of, table_of

from jostle import Table, load, options, rehearse
from jostle.lang.tree_values import pruned
from jostle.lang.values import KnownAttribute, Leaf, TreeNode
from jostle.options.growing import greedy_cost
from jostle.privacy.events import price
from jostle.trace.records import Charged, Trace

PROGRAMS = Path(__file__).parents[2] / "programs"
sys.path.insert(0, str(PROGRAMS.parent))
from programs import tree as twin  # noqa: E402 - a script beside the program it is the twin of


def categories(count: int, seed: int = 3) -> Table:
    """Return a table of three attributes with three values each, the label being mostly the first's."""
    random = np.random.default_rng(seed)
    schema = schema_of(3, 3, 3, 3)
    rows = random.integers(0, 3, (count, 3))
    label = np.where(random.random(count) < 0.8, rows[:, 0], random.integers(0, 3, count))
    return table_of([(*map(int, row), int(each)) for row, each in zip(rows, label, strict=True)], schema)


def facts(model: Any) -> dict[str, Any]:
    """Return a model's tree."""
    return dict(model.facts())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", ["1/10", "1", "10"])
def test_the_program_and_its_twin_in_python_grow_the_same_tree(epsilon: str, seed: int) -> None:
    program = load(PROGRAMS / "tree.jst")
    schema, rows = correlated(400)
    traces = Trace(), Trace()
    one = rehearse(table_of(rows, schema), epsilon=epsilon, seed=seed, trace=traces[0])
    other = rehearse(table_of(rows, schema), epsilon=epsilon, seed=seed, trace=traces[1])
    by_program = program.options["FriedmanSchuster"](one, d=2, epsilon=Fraction(epsilon))
    by_twin = twin.friedman_schuster(other, Fraction(epsilon), depth=2)
    assert facts(by_program) == facts(by_twin)
    spent = [
        [(each.mechanism, each.epsilon, each.spent) for each in trace.records if isinstance(each, Charged)]
        for trace in traces
    ]
    assert spent[0] == spent[1]


def test_the_program_spends_what_the_library_declares() -> None:
    """Where no node stops early: the library's leaves get what is left over, the program's do not."""
    public = categories(20_000)
    program = load(PROGRAMS / "tree.jst")
    trace = Trace()
    db = rehearse(public, epsilon=3, seed=1, trace=trace)
    program.options["FriedmanSchuster"](db, d=2, epsilon=Fraction(3))
    within = [each for each in trace.records if isinstance(each, Charged) and each.site.startswith("FriedmanSchuster/")]
    declared = price(greedy_cost(db.schema, Fraction(3), 2, "bins"), "add_remove")
    assert declared == 3
    assert {each.epsilon for each in within} == {Fraction(3, 6)}
    assert {each.mechanism for each in within} == {"Laplace", "PermuteAndFlip"}
    deepest = [each for each in within if each.site.count("/") == 4]
    assert len(deepest) == 9 * 3  # nine nodes on the last level, three classes each


def test_the_program_is_as_often_right_as_the_library() -> None:
    """Of 30 seeds each: means of losses differ by less than four standard errors, the seeds being fixed."""
    public = categories(1500)
    program = load(PROGRAMS / "tree.jst").options["FriedmanSchuster"]
    library = options.get("FriedmanSchuster(depth=2, numeric=bins)")
    unseen = np.array([[a, b, c] for a in range(3) for b in range(3) for c in range(3)], dtype=np.int64)
    wrong: list[list[float]] = [[], []]
    for seed in range(30):
        for place, (option, named) in enumerate(((program, {"d": 2}), (library, {}))):
            db = rehearse(public, epsilon="1/2", seed=seed + 100 * place)
            model = option(db, epsilon="1/2", **named)
            predicted = np.argmax(model.chances(unseen), axis=1)
            wrong[place].append(float(np.mean(predicted != unseen[:, 0])))
    means = [float(np.mean(each)) for each in wrong]
    errors = [float(np.std(each)) / 30**0.5 for each in wrong]
    assert abs(means[0] - means[1]) <= 4 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5 + 0.01
    assert means[0] < 0.2


def test_pruning_makes_a_leaf_of_a_branch_that_says_the_same() -> None:

    a = KnownAttribute("a", ("x", "y"))
    same = TreeNode(a, {"x": Leaf("c", 50, {"c": 49, "d": 1}), "y": Leaf("c", 50, {"c": 48, "d": 2})})
    assert isinstance(pruned(same), Leaf)
    apart = TreeNode(a, {"x": Leaf("c", 50, {"c": 49, "d": 1}), "y": Leaf("d", 50, {"c": 2, "d": 48})})
    assert pruned(apart) == apart
