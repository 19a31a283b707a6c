"""Judges that a programmer writes: functions of the answers and the truth."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small import grid, tables

import jostle
from jostle.choice.learning.judging import judge_of, two_lists
from jostle.choice.learning.rehearse import run_once
from jostle.choice.makers.making import Training
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.errors import ChoiceError
from jostle.tasks import Judge, make_instance


def wrong(predicted: Sequence[str], truth: Sequence[str]) -> float:
    return sum(one != other for one, other in zip(predicted, truth, strict=True)) / len(truth)


def worst(answers: Sequence[float], truth: Sequence[float]) -> float:
    return max(abs(one - other) for one, other in zip(answers, truth, strict=True))


def test_on_a_table_it_is_given_classes() -> None:
    instance = make_instance(tables(1)["t0"], TableSpec())
    model = jostle.options.get("NaiveBayes")(jostle.rehearse(instance.table, epsilon=1, seed=1), epsilon=1)
    predicted, truth = two_lists(instance, model)
    assert {*predicted, *truth} <= {*instance.schema.classes}
    judge = judge_of(wrong)
    assert judge is not None
    assert judge.loss(instance, model) == pytest.approx(instance.loss(model))
    assert pickle.loads(pickle.dumps(judge)).loss(instance, model) == judge.loss(instance, model)


def test_on_a_grid_it_is_given_answers_to_the_queries() -> None:
    instance: Any = make_instance(grid(0), GridSpec(records=500))
    estimate = jostle.options.get("Identity")(
        jostle.rehearse(instance.table, epsilon=1, seed=1), *instance.questions, epsilon=1
    )
    judge = judge_of(worst)
    assert judge is not None
    found = np.abs(estimate.answers(instance.questions[0]) - instance.truth).max()
    assert judge.loss(instance, estimate) == pytest.approx(found)


def test_a_judge_is_known_by_its_text() -> None:
    one, other = judge_of(wrong), judge_of(worst)
    assert one is not None
    assert other is not None
    assert one.name.startswith("wrong-")
    assert other.name.startswith("worst-")
    assert judge_of(one) is one
    assert judge_of(None) is None


def test_a_maker_learns_by_it(tmp_path: Path) -> None:
    maker = jostle.MkChoiceMaker(among=["Majority", "NaiveBayes"], trained_on=tables(4), judged_by=wrong)
    assert isinstance(maker.trainer, Training)
    assert isinstance(maker.trainer.judged_by, Judge)


def test_a_judge_that_fails_says_so() -> None:
    def failing(_: Any, __: Any) -> float:
        return float("no number")

    instance = make_instance(tables(1)["t0"], TableSpec())
    majority = jostle.options.get("Majority")
    judge = judge_of(failing)
    with pytest.raises(ChoiceError, match="failing fails: ValueError: could not convert"):
        run_once(majority, instance, "1", 1, judge)
