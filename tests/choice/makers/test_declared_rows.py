"""Tables that declare their number of rows: rehearsed on as such, learned from by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from attrs import evolve
from small import METAFEATURES, by_rows, grid, options, planted, table, tables

import jostle
from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import History, KnownInstance, Line, Runs
from jostle.choice.learning.learners import TreeLearner
from jostle.choice.learning.rehearse import Plan, rehearse_all
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.trained import Trained, learn
from jostle.corpora.databases import default_jobs
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.tasks.base import make_instance

AMONG = options()


def the_other_way(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
    first, second = by_rows(number, epsilon, facts)
    return second, first


def declared(line: Line) -> Line:
    """Return a line about an instance as it would be if the number of rows was declared."""
    if isinstance(line, KnownInstance):
        return evolve(line, key=f"{line.key} declared", sketch=evolve(line.sketch, declared=True))
    return evolve(line, instance=f"{line.instance} declared") if isinstance(line, Runs) else line


@pytest.fixture(scope="module")
def trained() -> Trained:
    """Return what is learned where declaring the number of rows turns round which Option is better."""
    history = planted(by_rows, AMONG) | History(map(declared, planted(the_other_way, AMONG).lines()))
    cases = cases_of(history, AMONG)
    return learn(cases, AMONG, METAFEATURES, shares=(Fraction(1, 50),), learners=(TreeLearner(),))


def test_an_instance_declares_its_rows_under_replace_one() -> None:
    for database, spec in ((table(1), TableSpec(rows=100)), (grid(1), GridSpec(records=700))):
        plain, known = make_instance(database, spec), make_instance(database, evolve(spec, declared=True))
        assert (plain.schema.rows, plain.schema.neighbours) == (None, "add_remove")
        assert (known.schema.rows, known.schema.neighbours) == (known.rows, "replace_one")
        assert known.key.replace(" declared=True", "") == plain.key != known.key


def test_what_is_rehearsed_there_is_kept_apart(tmp_path: Path) -> None:
    jobs = default_jobs(tables(2), declared=True)
    assert len(jobs) == 2 * len(default_jobs(tables(2)))
    history = History.open(tmp_path / "history.jsonl")
    rehearse_all(jobs, Plan(options=AMONG, epsilons=("1",), repeats=1), history, engine="threads")
    again = History.open(tmp_path / "history.jsonl")
    cases = cases_of(again, AMONG)

    assert [each.schema.rows is not None for each in cases.instances].count(True) * 2 == len(cases.instances)
    for each in cases.instances:
        assert each.schema.rows in {None, each.rows}
        assert each.schema.neighbours == ("add_remove" if each.schema.rows is None else "replace_one")
    assert '"declared":false' not in (tmp_path / "history.jsonl").read_text()


def test_a_maker_follows_what_it_learned_for_its_kind_of_table(trained: Trained) -> None:
    assert trained.declared is not None
    maker = ChoiceMaker(among=AMONG, informed_by=METAFEATURES, label="choice").with_trained(trained)
    many, known = (make_instance(table(1, 9000), TableSpec(declared=each)) for each in (False, True))
    taken = []
    for instance in (many, known):
        db = jostle.rehearse(instance.table, epsilon=5, seed=1)
        taken.append(AMONG[maker.choose(db, Fraction(5), trained).chosen].name)
    assert taken == ["NaiveBayes", "Majority"]
    assert Trained.from_json(trained.to_json()).to_json() == trained.to_json()


def test_a_maker_without_such_rehearsals_chooses_as_everywhere_else(trained: Trained) -> None:
    ordinary = evolve(trained, declared=None)
    known = make_instance(table(1, 9000), TableSpec(declared=True))
    assert ordinary.for_schema(known.schema) is ordinary
