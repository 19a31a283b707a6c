"""What version 0.1.0 wrote on a user's machine goes on being of use: histories, makers, policies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from small import EPSILONS, METAFEATURES, grid, options, tables

import jostle
from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import History, judge_in, read_history
from jostle.choice.learning.rehearse import Plan, rehearse_all
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.trained import Trained
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.learned.policies import policies_for, read_policies
from jostle.programs import load_trainable, shipped_choice

WRITTEN = Path(__file__).parents[1] / "cases" / "version_0_1"
POLICY = "Stump-ca82a41efa37e92029ec.json"


def test_a_history_is_gone_on_with_and_nothing_in_it_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    shutil.copy(WRITTEN / "history.jsonl", path)
    history = History.open(path)
    runs = len(history)
    assert runs == (6 + 2) * 2 * 2 * 3 + 2 * 3
    jobs = [(each, TableSpec()) for each in tables(6)]
    plan = Plan(options=options(), epsilons=EPSILONS, repeats=2, metafeatures=METAFEATURES)
    rehearse_all(jobs, plan, history, engine="threads")
    rehearse_all(
        [(grid(0), GridSpec(records=1000))],
        Plan(options=options("Identity"), epsilons=EPSILONS, repeats=2),
        history,
        engine="threads",
    )
    assert len(history) == runs
    assert path.read_bytes() == (WRITTEN / "history.jsonl").read_bytes()
    assert {judge_in(key) for key in history.instances} == {None, "wrong-0123abcd"}
    cases = cases_of(history.of(plan.key(database, spec) for database, spec in jobs), options())
    assert (len(cases), cases.floor) == (6 * 3, 0.01)
    more = Plan(options=options("PooledTree"), epsilons=("1",), repeats=1)
    rehearse_all(jobs[:1], more, history, engine="threads")
    assert len(read_history(path)) == runs + 1


def test_a_maker_is_read_and_chooses_as_it_did() -> None:
    trained = Trained.read(WRITTEN / "maker.json")
    assert (trained.task, trained.judge) == ("classification", None)
    maker = ChoiceMaker(among=options(), informed_by=METAFEATURES).with_trained(trained)
    rows = [0.0] * len(trained.metafeatures)
    again = Trained.from_json(trained.to_json())
    np.testing.assert_allclose(again.predict(rows).losses, trained.predict(rows).losses)
    held = json.loads((WRITTEN / "maker.json").read_text())
    assert set(held) - set(json.loads(again.to_json())) <= {"with_rows"}, "the one thing that is not used any more"
    assert maker.task is jostle.options.get("Majority").task


def test_a_maker_is_found_under_its_file(tmp_path: Path) -> None:
    made = jostle.MkChoiceMaker(among=options(), informed_by=METAFEATURES, trained_on=WRITTEN / "maker.json")
    assert made.trained.options == (("Majority", 1), ("NaiveBayes", made.among[1].version))


def test_policies_are_followed_by_the_program_that_they_were_learned_for(tmp_path: Path) -> None:
    program = tmp_path / "stump.jst"
    shutil.copy(WRITTEN / "stump.jst", program)
    entry = load_trainable(program, entry="Stump")
    assert f"Stump-{getattr(entry, 'mark', None)}.json" == POLICY, "the text has the mark that it had"
    home = tmp_path / "jostle-home" / "policies"
    home.mkdir(parents=True)
    shutil.copy(WRITTEN / POLICY, home)
    known = policies_for("Stump", POLICY.removeprefix("Stump-").removesuffix(".json"), str(program))
    assert (list(known), known.problem, known.stale) == (["How"], None, False)
    assert jostle.load(program, say=None).policy("How") is not None
    assert read_policies(WRITTEN / POLICY)["How"].among == ("alone", "split")


@pytest.mark.parametrize("name", ["classification", "ranges-1d", "ranges-2d"])
def test_what_came_with_it_is_used_as_it_was(name: str) -> None:
    assert shipped_choice(name).trained.summary.startswith("learned from")
