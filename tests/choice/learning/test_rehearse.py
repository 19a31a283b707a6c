"""Rehearsals: what is missing is run, whatever happens to it is written down, and every engine finds the same."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from processes import LIMIT, started
from small import EPSILONS, METAFEATURES, attributes, grid, jobs_of, options, size, tables

from jostle.choice.learning.history import History, judge_in, read_history
from jostle.choice.learning.rehearse import Plan, rehearse_all, seed_of
from jostle.corpora.databases import PublicTable
from jostle.errors import ChoiceError
from jostle.options.base import Option
from jostle.options.functions import function_option
from jostle.options.registry import get
from jostle.privacy.probe import Probe
from jostle.progress import Stage
from jostle.tasks import Judge

PLAN = Plan(options=options(), epsilons=EPSILONS, repeats=2)
JOBS = jobs_of(tables(2))


def all_losses(history: History) -> dict[tuple[str, str], Any]:
    return {
        (key, option.name): dict(history.losses(key, option.name, option.version))
        for key in history.instances
        for option in PLAN.options
    }


def test_only_what_is_missing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[int, int]] = []
    monkeypatch.setattr(Stage, "at", lambda _, finished, total: done.append((finished, total)))
    history = rehearse_all(JOBS, PLAN, History(), engine="threads")
    assert len(history) == 2 * 2 * 2 * len(EPSILONS)
    assert done[-1] == (len(history), len(history))
    done.clear()
    rehearse_all(JOBS, PLAN, history, engine="threads")
    assert not done
    more = Plan(options=options("Majority", "NaiveBayes", "Mohammed(depth=1)"), epsilons=EPSILONS, repeats=2)
    rehearse_all(JOBS, more, history, engine="threads")
    assert done[-1] == (2 * 2 * len(EPSILONS),) * 2, "the new Option alone"
    done.clear()
    rehearse_all(jobs_of(tables(3)), more, history, engine="threads")
    assert done[-1] == (3 * 2 * len(EPSILONS),) * 2, "the new database alone"
    done.clear()
    wider = Plan(options=more.options, epsilons=(*EPSILONS, "100"), repeats=2)
    rehearse_all(JOBS, wider, history, engine="threads")
    assert done[-1] == (2 * 3 * 2,) * 2, "the new budget alone"


def test_a_run_is_a_function_of_what_is_run() -> None:
    """In another order, or resumed in the middle, the losses are the same."""
    whole = all_losses(rehearse_all(JOBS, PLAN, History(), engine="threads"))
    turned = all_losses(rehearse_all(JOBS[::-1], PLAN, History(), engine="threads"))
    assert turned == whole
    first = rehearse_all(JOBS[:1], Plan(options=options(), epsilons=("1",), repeats=1), History(), engine="threads")
    assert all_losses(rehearse_all(JOBS, PLAN, first, engine="threads")) == whole
    assert len({seed_of("k", f"{name} 1", "1", repeat) for name in "ab" for repeat in range(3)}) == 6


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_processes_and_a_cluster_find_what_threads_find(cluster: str) -> None:
    wanted = all_losses(rehearse_all(JOBS, PLAN, History(), engine="threads"))
    assert all_losses(rehearse_all(JOBS, PLAN, History(), engine="processes", workers=2)) == wanted
    assert all_losses(rehearse_all(JOBS, PLAN, History(), engine="processes", workers=1)) == wanted
    assert all_losses(rehearse_all(JOBS, PLAN, History(), engine=cluster)) == wanted


def test_an_engine_that_is_none_is_refused() -> None:
    with pytest.raises(ChoiceError, match="no engine 'cluster'"):
        rehearse_all(JOBS, PLAN, History(), engine="cluster")


def always(answer: Any, name: str) -> Option:
    def run(db: Probe, *, epsilon: Fraction) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    run.__name__ = name
    return function_option(run, task="classification", predict=None)


def test_crashes_and_refusals_are_results() -> None:
    def greedy(db: Probe, *, epsilon: Fraction) -> Any:
        db.count(2 * epsilon)

    among = (
        get("Majority"),
        always(ZeroDivisionError("division by zero"), "crashes"),
        always("no model", "answers_wrongly"),
        function_option(greedy, task="classification", predict=None),
    )
    plan = Plan(options=among, epsilons=("1", "10"), repeats=1)
    history = rehearse_all(JOBS[:1], plan, History(), engine="threads")
    (key,) = history.instances
    losses = {each.name: list(history.losses(key, each.name, each.version).values()) for each in among}
    assert all(loss is not None and 0 <= loss <= 1 for loss in losses.pop("Majority"))
    assert losses == {name: [None, None] for name in ("crashes", "answers_wrongly", "greedy")}
    failures = {name: why for (_, name, _), why in history.failures.items()}
    assert failures["crashes"] == ("crashed: ZeroDivisionError: division by zero",)
    assert failures["greedy"][0].startswith("refused: greedy/count asks for epsilon 2, but 1 is left")
    said = "answers_wrongly gives back a value of type str, not a model or a tree"
    assert failures["answers_wrongly"] == (f"crashed: {said}",)
    assert history.missing(key, "crashes", among[1].version, ("1", "10"), 0) == (), "it is not tried again"


def test_a_loss_that_is_no_number_is_a_crash() -> None:
    judge = Judge("never", lambda instance, answer: float("nan"))
    plan = Plan(options=options("Majority"), epsilons=("1",), repeats=1, judged_by=judge)
    history = rehearse_all(JOBS[:1], plan, History(), engine="threads")
    (key,) = history.instances
    assert judge_in(key) == "never"
    assert judge_in(JOBS[0][0].key(JOBS[0][1])) is None
    assert history.losses(key, "Majority", 1) == {("1", 0): None}
    assert history.failures[key, "Majority", 1] == ("crashed: its loss is nan",)


def test_metafeatures_are_read_once_per_instance_and_later_ones_are_added() -> None:
    plan = Plan(options=options("Majority"), epsilons=("1",), repeats=2, metafeatures=(attributes,))
    history = rehearse_all(JOBS[:1], plan, History(), engine="threads")
    (known,) = history.instances.values()
    assert attributes.is_read(known), "it buys nothing"
    assert not size.is_read(known)
    wider = Plan(options=options("Majority"), epsilons=("1",), repeats=2, metafeatures=METAFEATURES)
    runs = len(history)
    rehearse_all(JOBS[:1], wider, history, engine="threads")
    (known,) = history.instances.values()
    assert size.is_read(known)
    assert sum(next(iter(known.read.values()))) == known.rows == 160
    assert len(history) == runs


def test_options_meet_only_databases_of_their_task() -> None:
    plan = Plan(options=options("Majority", "Identity"), epsilons=("1",), repeats=1)
    history = rehearse_all([*JOBS[:1], *jobs_of_grid()], plan, History(), engine="threads")
    tried = {(history.databases[history.instances[key].database].task, name) for key, name, _ in history._losses}
    assert tried == {("classification", "Majority"), ("grid", "Identity")}


def jobs_of_grid() -> Any:
    return jobs_of([grid(0)])  # type: ignore[arg-type]  # any sequence of databases does


PROGRAM = """
from small import tables
from jostle.choice.makers.making import MkChoiceMaker
choice = MkChoiceMaker(among=["Majority", "NaiveBayes"], trained_on=tables(40))
"""


@contextmanager
def training(tmp_path: Path, written: int) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start `jostle train`, and wait until it has written so many bytes."""
    program = tmp_path / "p.py"
    program.write_text(PROGRAM)
    places = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    path = tmp_path / "h.jsonl"
    command = ("-m", "jostle", "train", program, "--history", path, "--repeats", "20")
    environment = {**os.environ, "PYTHONPATH": places}
    with started(*command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not (path.exists() and path.stat().st_size >= written):
            time.sleep(0.01)
        yield process, path


@pytest.mark.representative
@pytest.mark.parametrize(
    ("written", "later"), [(1, 0.0), (1, 0.3), (20_000, 0.0)], ids=["before workers start", "as they start", "at work"]
)
def test_ctrl_c_leaves_a_valid_file_and_says_how_to_go_on(tmp_path: Path, written: int, later: float) -> None:
    with training(tmp_path, written) as (process, path):
        time.sleep(later)
        os.killpg(process.pid, signal.SIGINT)  # a terminal's Ctrl-C goes to all processes of a group
        out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, out + err
    assert out == ""
    assert "Traceback" not in err
    assert f"stopped: what was rehearsed is kept in {path}, and the same command goes on from there" in err
    history = read_history(path)
    assert (written > 1) <= len(history) < 3 * 40 * 2 * 20 * 7
    assert set(history.instances) <= {database.key(spec) for database, spec in jobs_at_default()}


def jobs_at_default() -> Any:
    from jostle.corpora.databases import default_jobs  # noqa: PLC0415 - for this test alone

    return default_jobs(tables(40))


def test_a_database_under_another_name_is_not_run_again() -> None:
    history = rehearse_all(JOBS, PLAN, History(), engine="threads")
    renamed = [(PublicTable(f"copy of {database.name}", database.reader), spec) for database, spec in JOBS]
    before = len(history)
    rehearse_all(renamed, PLAN, history, engine="threads")
    assert len(history) == before
