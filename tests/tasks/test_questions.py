"""What is asked of grids: every kind of question lies in its grid, is the same each time, and tells what it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from attrs import evolve
from roles import question_roles, spread

from jostle.corpora.databases import PublicGrid
from jostle.corpora.parts import GridSpec
from jostle.options.ranges.tree import halving_cuts
from jostle.tasks import RANGES
from jostle.tasks.metafeature import View
from jostle.tasks.ranges.questions import KINDS, RangeQuestion, facts_of
from jostle.tasks.ranges.task import ASKED, grid_shape

SHAPES = [(64,), (16, 33), (4, 5, 6)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_question_lies_in_its_grid_and_is_the_same_each_time(kind: str, shape: tuple[int, ...]) -> None:
    question = RangeQuestion(kind, 30, 7)
    workload, again = question.workload(shape), RangeQuestion.of(str(question)).workload(shape)

    assert workload.shape == shape  # whose boxes lie in it, or it would not have been made
    assert (workload.low == again.low).all()
    assert (workload.high == again.high).all()


def test_facts_of_a_question_are_those_that_its_boxes_have() -> None:
    shape = (4, 10)
    workload = RangeQuestion("ranges", 50, 1).workload(shape)
    facts = facts_of(workload)

    boxes = [
        [(low, high, side) for low, high, side in zip(*corners, shape, strict=True)]
        for corners in zip(workload.low.tolist(), workload.high.tolist(), strict=True)
    ]
    sides = [side for box in boxes for side in box]
    cut = [(low, high, side) for low, high, side in sides if high - low < side]
    assert facts.log_queries == pytest.approx(math.log10(50))
    volumes = [math.prod((high - low) / side for low, high, side in box) for box in boxes]
    assert facts.log_volume == pytest.approx(np.mean(np.log10(volumes)))
    assert facts.log_length == pytest.approx(np.mean([math.log10(high - low) for low, high, _ in sides]))
    assert facts.whole == pytest.approx(1 - len(cut) / len(sides))
    assert facts.edges == pytest.approx(sum(low == 0 or high == side for low, high, side in cut) / len(cut))
    assert facts.cells == pytest.approx(np.mean([all(high - low == 1 for low, high, _ in box) for box in boxes]))


def test_what_is_asked_is_seen_by_metafeatures_in_rehearsals_and_runs_alike() -> None:
    grid = PublicGrid.of("toy", np.arange(64).reshape(8, 8))
    spec = GridSpec(records=100, asks="cells 1 0")
    instance = RANGES.rehearsal.instance(grid, spec)
    rehearsed = RANGES.question.asked_in(instance.schema, spec.asks)

    for asked in (rehearsed, RANGES.question.read(instance.schema, instance.questions)):
        view = View(instance.schema, 1.0, None, asked=asked)  # type: ignore[arg-type]  # nothing is bought
        assert {fact.name: fact(view) for fact in ASKED}["single_cells"] == 1
    usual = View(instance.schema, 1.0, None)  # type: ignore[arg-type]  # as above
    said = RangeQuestion.of("ranges 2000 0").workload(grid_shape(instance.schema))
    assert ASKED[0](usual) == ASKED[0](evolve(usual, asked=(said,)))
    assert " asks=cells:1:0 " in grid.key(spec)


def test_questions_to_be_judged_by_have_other_sides_and_records_than_those_learned_from() -> None:
    roles = question_roles()
    assert set(roles.kinds("learn")) < set(roles.kinds("judge")) == set(KINDS)
    for role, powers in (("learn", True), ("judge", False)):
        for at, size in spread(64, 2, 1):
            side, low = roles.sides(role, (2 ** (2 + 6 * size),))[0], math.log10(roles.records(role, 2 + 5 * at))
            assert (side & (side - 1) == 0) == powers
            assert (math.floor(2 * low + 1e-6) % 2 == 0) == powers or abs(2 * low - round(2 * low)) < 0.01


def test_unlike_sides_are_halved_in_turn() -> None:
    levels = halving_cuts((2, 16))
    assert [tuple(map(len, cuts)) for cuts in levels] == [(1, 1), (2, 1), (2, 2), (2, 4), (2, 8), (2, 16)]
