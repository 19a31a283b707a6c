"""That every Option, maker, program and statistic answers by a server as it does on the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from serving import Rehearsals, rehearsing
from small_tables import program, table_of_rows
from tables_of_labels import correlated, table_of
from test_every_option import comparable, tables
from test_oracle import answered, digest, makers_choices, options_answers, programs_runs, same_as_frozen
from test_what_an_asker_sees import ASKING, loaded, questions, scored_frame, scored_schema

import jostle
from jostle import Table
from jostle.errors import ProgramError, Source, render
from jostle.lang.program import Program
from jostle.options import get
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector
from jostle.tables.kernels import Counts

REPRESENTATIVE = (
    "Majority",
    "PooledTree",
    "AccuracyFirst(accuracy=1/100, steps=2)",
    "SelectPrivately",
    "PrivateERM",
    "DAWA",
    "MWEM",
    "PrivBayes",
    "PriROC",
    "SparseVector(threshold=5, score=DC)",
    "Peeling(top=2, threshold=2)",
)


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsals]:
    with rehearsing(tmp_path_factory.mktemp("served")) as rehearsals:
        yield rehearsals


@pytest.mark.parametrize("name", REPRESENTATIVE)
def test_an_option_answers_and_spends_as_on_the_rows(name: str, remote: Rehearsals) -> None:
    option: Any = get(name)
    table = tables(option, "replace_one")[0]
    here, there = jostle.rehearse(table, epsilon=9, seed=8), remote(table, epsilon=9, seed=8)
    assert comparable(option(there, epsilon=4)) == comparable(option(here, epsilon=4))
    assert (there.spent, there.left, there.charges) == (here.spent, here.left, here.charges)
    assert there.schema == here.schema


def everything_asked(db: jostle.Probe) -> list[Any]:
    """Return what each kind of question answers."""
    told = db.histogram("region", epsilon=1)
    found: list[Any] = [db.count("1/3"), db.mean("age", epsilon=1), db.quantile("age", "1/4", epsilon=1), told]
    found += [db.variance("age", epsilon=1), db.top_k("region", 2, epsilon=1), db.commonest("region", 1)]
    found += [told.refine(epsilon=3), db.crosstab("region", "label", epsilon=1)]
    found += [each.count(1) for each in (*db.parts("region"), *db.portions(3), db.where("region", "north"))]
    found += [db.only("age").histogram("age", epsilon=1), db.below(10, 5).tolist(), db.shuffled(4).tolist()]
    reserved = db.reserve(2)
    found += [reserved.count("1/2"), db.allot(1).sum("age", epsilon="1/2"), db.charges, db.spent]
    reserved.settle()
    again = db.allot(1)
    (look,) = again.known(Counts.of("region"))
    assert look is not None
    found += [again.rows, look.counts.tolist()]
    return [repr(each) for each in found]


def test_every_question_is_answered_as_on_the_rows(remote: Rehearsals) -> None:
    table = table_of_rows()
    assert everything_asked(remote(table, seed=3)) == everything_asked(jostle.rehearse(table, seed=3))


def test_amounts_are_of_a_person_for_whoever_asks_and_of_a_row_on_the_wire(remote: Rehearsals) -> None:
    schema = jostle.Schema({"age": jostle.Numeric(0, 100)}, person="who", rows_per_person=4)
    table = Table.from_frame({"who": [1, 1, 2, 3, 3, 3], "age": [10, 20, 30, 40, 50, 60]}, schema)
    answers = []
    for opened in (remote, jostle.rehearse):
        db = opened(table, epsilon=20, seed=2)
        part = db.parts("age")[3]
        answers.append([repr(each) for each in (db.persons(1), db.beyond(2), db.count(3), part.persons(2), db.left)])
        assert db.unit == 4
        assert db.hand(1, site="x", option="DAWA", settles=False).unit == 1
    assert answers[0] == answers[1]


def test_a_program_answers_as_on_the_rows(remote: Rehearsals) -> None:
    made = program("def answer(db):\n    return noisyCount(db, epsilon / 4) + noisyCount(db, epsilon / 2)\n")
    answers = [
        made.run("answer", opened(table_of_rows(), epsilon=1, seed=4), epsilon=Fraction(1))
        for opened in (remote, jostle.rehearse)
    ]
    assert answers[0] == answers[1]


def test_errors_are_those_that_the_rows_give(remote: Rehearsals) -> None:
    said = []
    for opened in (remote, jostle.rehearse):
        db = opened(table_of_rows(), epsilon=1, seed=1)
        asks: tuple[Callable[[jostle.Probe], object], ...] = (
            lambda db: db.count(2),
            lambda db: db.mean("height of trees", epsilon=1),
            lambda db: db.settle(),
            lambda db: db.portions(0),
            lambda db: db.refine(db.measure_refinable(Counts.of(), "0.1"), "0.05"),
        )
        for ask in asks:
            with pytest.raises(jostle.JostleError) as caught:
                ask(db)
            said.append((type(caught.value), str(caught.value)))
    assert said[:5] == said[5:]


@pytest.mark.slow
def test_all_options_answer_cost_and_tell_what_is_frozen(remote: Rehearsals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jostle, "rehearse", remote)
    same_as_frozen("options", options_answers())


@pytest.mark.slow
def test_makers_choose_what_is_frozen(remote: Rehearsals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jostle, "rehearse", remote)
    same_as_frozen("makers", makers_choices())


@pytest.mark.slow
def test_programs_answer_and_tell_what_is_frozen(remote: Rehearsals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jostle, "rehearse", remote)
    same_as_frozen("runs", programs_runs())


CASES = Path(__file__).parents[1] / "cases"
UNREAD = {"file_found_while_running", "file_not_named", "no_budget"}
"""Programs that are refused when they are read, as those in `cases/lang` are."""
CORPUS = sorted(
    each for each in (*CASES.glob("running/*.jst"), *CASES.glob("stopped/*.jst"), *ASKING) if each.stem not in UNREAD
)
"""Every program that asks a table."""


def asked_of(path: Path, program: Program) -> Table:
    """Return a table as a program asks about."""
    task = questions(program) if path in ASKING else ""
    if task == "grid":
        return Table.from_grid((np.arange(64) * 37 % 29) ** 2)
    if task == "evaluation":
        return Table.from_frame(scored_frame([(row % 7 / 7, "yn"[row % 3 == 0]) for row in range(90)]), scored_schema())
    schema, rows = correlated(300)
    return table_of(rows, schema) if task else table_of_rows()


def told(program: Program, db: jostle.Probe) -> list[Any]:
    """Return what a program answers, or stops with; and what it was charged."""
    try:
        said = digest(answered(program.run(program.entry or "answer", db, epsilon=Fraction(1))))
    except ProgramError as stopped:
        said = render(program.source, stopped.diagnostics)
    return [said, db.charges, db.spent]


@pytest.mark.slow
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_every_program_answers_as_on_the_rows(path: Path, remote: Rehearsals) -> None:
    program = loaded(Source(path.name, path.read_text("utf-8")))
    table = asked_of(path, program)
    there, here = (told(program, opened(table, epsilon=1, seed=6)) for opened in (remote, jostle.rehearse))
    assert there == here
    assert there[2] > 0 or "error[" in there[0]


def test_estimators_are_fitted_and_scored_as_options_on_the_rows(remote: Rehearsals) -> None:
    schema, rows = correlated(300)
    table = table_of(rows, schema)
    answers: list[Any] = []
    for opened in (remote, jostle.rehearse):
        db = opened(table, seed=5)
        learn, judge = db.portions(2)
        classifier = PrivateClassifier("NaiveBayes", 4, score_epsilon=1).fit(learn)
        answers.append((classifier.model_.to_json(), classifier.score(judge), list(classifier.classes_), db.spent))
        frame = {name: schema[name].labels[:1] for name in schema.attributes}
        answers[-1] += (classifier.predict(pa.table(frame)).tolist(), db.charges)
        selector = PrivateFeatureSelector("Peeling(top=2, threshold=2)", 4).fit(db)
        answers[-1] += (selector.get_feature_names_out().tolist(),)
        with pytest.raises(jostle.JostleError, match="beside a probe"):
            PrivateClassifier("NaiveBayes", 4, schema=schema).fit(db)
    assert answers[0] == answers[1]
    assert answers[0][3] == 5 - 1, "portions share no row: the dearer of fit and score is paid"
