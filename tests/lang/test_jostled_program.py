"""Figure 4.3 as a program: what its two labels choose makes it behave as one published tree or another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tables_of_labels import correlated, table_of

from jostle import load, rehearse
from jostle.sites import Choice, Decision, follow, force, record
from jostle.trace.records import Charged, Trace

PROGRAMS = Path(__file__).parents[2] / "programs"


class SizeAboveNoise:
    """Friedman and Schuster's rule, from what the program's L1 sees; widest is the largest branching, 8 here."""

    def decide(self, choice: Choice) -> Decision:
        seen = choice.seen
        enough = seen["n"] / (8 * seen["size(clss)"]) >= np.sqrt(2) / (seen["e"] / 2)
        return Decision(np.where(enough, choice.index("branch"), choice.index("stop")))


def run(epsilon: str = "4", depth: int = 2) -> tuple[object, Trace]:
    schema, rows = correlated(400)
    trace = Trace()
    db = rehearse(table_of(rows, schema), epsilon=epsilon, seed=5, trace=trace)
    option = load(PROGRAMS / "jostled_tree.jst").options["JostledTree"]
    return option(db, d=depth, epsilon=epsilon), trace


def picks(trace: Trace) -> int:
    return sum(isinstance(each, Charged) and each.mechanism == "PermuteAndFlip" for each in trace.records)


def test_stopping_at_once_gives_a_leaf() -> None:
    with force({"L1": "stop"}):
        _, trace = run()
    assert picks(trace) == 0


def test_splitting_at_random_picks_nothing_and_looks_at_no_rows_for_it() -> None:
    with force({"L1": "branch", "L2": "random"}):
        _, trace = run()
    assert picks(trace) == 0


@pytest.mark.parametrize("rule", ["maxScore", "gini", "infoGain"])
def test_every_rule_splits(rule: str) -> None:
    with force({"L1": "branch", "L2": rule}), record() as kept:
        _, trace = run()
    assert picks(trace) == sum(line.label == "L2" for line in kept.lines) >= 1
    assert {line.alternatives for line in kept.lines if line.label == "L2"} == {(rule,)}


def test_with_friedman_and_schuster_s_rule_it_is_their_tree() -> None:
    """At the root, where the largest branching is the same; the same noise gives the same tree there."""
    schema, rows = correlated(400)
    theirs = load(PROGRAMS / "tree.jst").options["FriedmanSchuster"]
    alike = theirs(rehearse(table_of(rows, schema), epsilon=4, seed=5), d=1, epsilon=4)
    with follow({"L1": SizeAboveNoise()}), force({"L2": "maxScore"}):
        found, _ = run(depth=1)
    assert found.facts() == alike.facts()  # type: ignore[attr-defined]  # both are models


def test_choices_see_released_and_public_numbers_alone() -> None:
    with record() as kept:
        run()
    assert {name for line in kept.lines for name in line.seen} == {"n", "d", "e", "size(clss)", "t"}
