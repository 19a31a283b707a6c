"""What the tasks' judges say, against scikit-learn and by hand; and that makers learn by the one they are told."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics
from small import grid, options, table, tables

import jostle
from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import History, Runs, read_history
from jostle.choice.learning.rehearse import Plan, rehearse_all
from jostle.choice.makers.making import Training
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.errors import ChoiceError, OptionError
from jostle.tasks import (
    CLASSIFICATION,
    EVALUATION,
    RANGES,
    TASKS,
    UNTOLD,
    Judge,
    Task,
    make_instance,
    register,
    task_of,
)
from jostle.tasks.base import Question
from jostle.tasks.classification.instances import balanced_error, error, log_loss, one_less_auc
from jostle.trace.records import Chosen, Trace

CHANCE = np.random.default_rng(5)


def drawn(classes: int, rows: int = 300) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return labels, and chances of which some are equal."""
    labels = CHANCE.integers(0, classes, rows)
    weights = CHANCE.integers(1, 6, (rows, classes)) + 3.0 * np.eye(classes)[labels] * CHANCE.integers(0, 2, (rows, 1))
    return labels, weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_losses_of_chances_are_those_of_scikit_learn(classes: int) -> None:
    labels, chances = drawn(classes)
    predicted = np.argmax(chances, axis=1)
    assert error(labels, chances) == pytest.approx(1 - metrics.accuracy_score(labels, predicted))
    assert balanced_error(labels, chances) == pytest.approx(1 - metrics.balanced_accuracy_score(labels, predicted))
    assert log_loss(labels, chances) == pytest.approx(metrics.log_loss(labels, chances))
    area = (
        metrics.roc_auc_score(labels, chances[:, 1])
        if classes == 2
        else metrics.roc_auc_score(labels, chances, multi_class="ovo")
    )
    assert one_less_auc(labels, chances) == pytest.approx(1 - area)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=2))
def test_the_area_is_how_often_a_pair_is_in_order(rows: list[tuple[int, int, int, int]]) -> None:
    labels = np.array([row[0] for row in rows])
    chances = np.array([row[1:] for row in rows], dtype=np.float64)
    areas = []
    for one in range(3):
        for other in range(one):
            pairs = [(a, b) for a in chances[labels == one] for b in chances[labels == other]]
            if pairs:
                order = [np.sign(a[one] - b[one]) + np.sign(b[other] - a[other]) for a, b in pairs]
                areas.append(0.5 + float(np.mean(order)) / 4)
    assert one_less_auc(labels, chances) == pytest.approx(1 - float(np.mean(areas)) if areas else 0.5)


def test_a_model_that_is_wrong_and_sure_has_a_finite_log_loss() -> None:
    assert log_loss(np.array([0, 1]), np.array([[0.0, 1.0], [1.0, 0.0]])) == pytest.approx(-np.log(1e-6))


def test_every_judge_judges_what_an_option_of_its_task_answers() -> None:
    for task, database, spec, name in (
        (CLASSIFICATION, table(1), TableSpec(), "NaiveBayes"),
        (RANGES, grid(1), GridSpec(records=500), "Identity"),
    ):
        instance = task.rehearsal.instance(database, spec)
        db = jostle.rehearse(instance.table, epsilon=1, seed=1)
        answer = jostle.options.get(name)(db, *instance.questions, epsilon=1)
        for judge in task.rehearsal.judges:
            found = judge.loss(instance, answer)
            assert 0 <= found < np.inf
            assert pickle.loads(pickle.dumps(judge)).loss(instance, answer) == found
        assert task.rehearsal.judges[0].loss(instance, answer) == instance.loss(answer)
        with pytest.raises(OptionError, match="has no loss on"):
            instance.loss("no answer")


def test_one_rehearsal_is_judged_by_all_judges_and_makers_learn_by_the_one_they_are_told() -> None:
    among = options()
    jobs = [(table(seed), TableSpec()) for seed in range(3)]
    history = rehearse_all(jobs, Plan(options=among, epsilons=("1", "10"), repeats=2), History(), engine="threads")
    runs = [line for line in history.lines() if isinstance(line, Runs)]
    assert all(set(line.others) == {"balanced-error", "log-loss", "auc"} for line in runs)
    plan = Plan(options=among, epsilons=("1", "10"), repeats=2, judged_by=CLASSIFICATION.judge("auc"))
    before = len(history)
    assert len(rehearse_all(jobs, plan, history, engine="threads")) == before, "nothing is run again"
    own, area = cases_of(history, among), cases_of(history, among, judge="auc")
    assert own.judge is None
    assert area.floor == 0.03
    assert not np.array_equal(own.losses, area.losses)
    key = next(iter(history.instances))
    assert set(history.losses(key, "Majority", 1, "auc").values()) == {0.5}, "which tells no row from another"


def test_a_history_that_knows_one_judge_s_losses_has_to_be_judged_anew_by_others() -> None:
    among, jobs = options("Majority"), [(table(0), TableSpec())]
    plan = Plan(options=among, epsilons=("1",), repeats=1)
    rehearsed = rehearse_all(jobs, plan, History(), engine="threads")
    former = History(
        Runs(each.instance, each.option, each.version, each.repeat, each.epsilons, each.losses, each.seconds)
        if isinstance(each, Runs)
        else each
        for each in rehearsed.lines()
    )
    key = next(iter(former.instances))
    assert former.missing(key, "Majority", 1, ("1",), 0) == ()
    assert former.missing(key, "Majority", 1, ("1",), 0, "auc") == ("1",)
    asked = Plan(options=among, epsilons=("1",), repeats=1, judged_by=CLASSIFICATION.judge("auc"))
    again = rehearse_all(jobs, asked, former, engine="threads")
    assert again.losses(key, "Majority", 1) == rehearsed.losses(key, "Majority", 1)
    assert again.losses(key, "Majority", 1, "auc") == {("1", 0): 0.5}


def test_what_other_judges_said_is_written_and_read(tmp_path: object) -> None:
    one = Runs("a v1", "Majority", 1, 0, ("1", "3"), (0.5, 0.4), (0.1, 0.1), (), {"auc": (0.5, None)})
    other = Runs("a v1", "Majority", 1, 0, ("10",), (0.3,), (0.1,))
    history = History([one, other])
    path = f"{tmp_path}/h.jsonl"
    history.save(path)
    again = read_history(path)
    assert list(again.lines()) == list(history.lines())
    assert again.losses("a v1", "Majority", 1, "auc") == {("1", 0): 0.5, ("3", 0): None}
    with pytest.raises(ChoiceError, match="different lengths"):
        Runs("a v1", "Majority", 1, 0, ("1",), (0.5,), (0.1,), (), {"auc": (0.5, 0.4)})


def test_a_maker_is_told_its_judge_by_name() -> None:
    maker = jostle.MkChoiceMaker(among=["Majority", "NaiveBayes"], trained_on=tables(4), judged_by="auc")
    assert isinstance(maker.trainer, Training)
    assert maker.trainer.judged_by is CLASSIFICATION.judge("auc")
    with pytest.raises(ChoiceError, match="answers to grid are not judged by 'auc'") as refusal:
        jostle.MkChoiceMaker(among=["Identity"], judged_by="auc")
    assert refusal.value.fix == "one of l2, l1, relative, or a function of two lists"


def test_the_maker_that_came_with_jostle_for_a_loss_is_found_by_it() -> None:
    assert jostle.pretrained("classification", judged_by="error").label == "classification"
    for loss in CLASSIFICATION.rehearsal.judges:
        assert jostle.pretrained("classification", judged_by=loss.name).judge is loss
    assert jostle.pretrained("classification-log-loss", judged_by="auc").label == "classification-auc"
    assert jostle.pretrained("ranges", judged_by="l2").label == "ranges"
    for name, judge in (("selection", "log-loss"), ("ranges", "l1")):
        with pytest.raises(ChoiceError, match=f"no maker {name!r} came with Jostle that is judged by {judge!r}"):
            jostle.pretrained(name, judged_by=judge)


@pytest.mark.parametrize(("judge", "said"), [("error", "predicted wrongly"), ("auc", "area under the curve")])
def test_a_trace_says_which_loss_a_choice_was_learned_by(judge: str, said: str) -> None:
    trace = Trace()
    db = jostle.rehearse(make_instance(table(1), TableSpec()).table, epsilon=1, seed=1, trace=trace)
    jostle.pretrained("classification", judged_by=judge)(db, epsilon=1)
    (choice, *_) = [record for record in trace.records if isinstance(record, Chosen)]
    assert said in choice.why


def test_a_judge_of_three_values_is_told_how_sure_answers_are() -> None:
    told: list[dict[str, float]] = []

    def unsure(predicted: list[str], truth: list[str], chances: list[dict[str, float]]) -> float:
        told[:] = chances
        return float(np.mean([1 - row[label] for row, label in zip(chances, truth, strict=True)]))

    from jostle.choice.learning.judging import judge_of  # noqa: PLC0415 - beside what it is about

    judge = judge_of(unsure)
    assert judge is not None
    instance = make_instance(table(1), TableSpec())
    model = jostle.options.get("NaiveBayes")(jostle.rehearse(instance.table, epsilon=1, seed=1), epsilon=1)
    assert 0 < judge.loss(instance, model) < 1
    assert all(set(row) == set(instance.schema.classes) and sum(row.values()) == pytest.approx(1) for row in told)
    other = make_instance(grid(1), GridSpec(records=500))
    db = jostle.rehearse(other.table, epsilon=1, seed=1)
    estimate = jostle.options.get("Identity")(db, *other.questions, epsilon=1)
    with pytest.raises(ChoiceError, match="answers are that do not say"):
        judge.loss(other, estimate)


def test_tasks_are_known_by_their_names() -> None:
    assert task_of("classification") is CLASSIFICATION
    assert task_of("grid") is task_of("ranges") is task_of(RANGES) is RANGES
    assert pickle.loads(pickle.dumps(RANGES)) is RANGES
    assert pickle.loads(pickle.dumps(UNTOLD)) is UNTOLD
    with pytest.raises(OptionError, match="there is no task 'weather'") as refusal:
        task_of("weather")
    assert refusal.value.fix == f"one of {', '.join(sorted(TASKS))}"
    with pytest.raises(OptionError, match="there is a task 'ranges' already"):
        register(_named("ranges"))


def test_what_only_a_caller_can_give_is_told_from_what_a_program_can_write() -> None:
    assert RANGES.question.handed == ("queries",)
    assert (tuple(EVALUATION.question.beside), EVALUATION.question.handed) == (("scores", "positive"), ())


def _named(name: str) -> Task[object]:
    return Task(
        name=name,
        question=Question(does="does nothing", answers=(object,), gives="anything", suits=lambda schema: False),
        rehearsal=evolve(RANGES.rehearsal, judges=(Judge("none", lambda instance, answer: 0.0),)),
    )
