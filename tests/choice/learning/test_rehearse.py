"""Rehearsals: what is missing is run, in whatever processes, and a history keeps it whatever happens."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from processes import LIMIT, started
from small import EPSILONS, METAFEATURES, attributes, grid, jobs_of, known_by_rows, options, size, table, tables

from jostle.choice.learning.history import (
    History,
    KnownDatabase,
    KnownInstance,
    Runs,
    Sketch,
    from_json,
    judge_in,
    read_history,
    to_json,
)
from jostle.choice.learning.rehearse import Plan, rehearse_all, seed_of
from jostle.choice.learning.workers import performed, quiet_interrupts
from jostle.corpora.databases import PublicTable
from jostle.corpora.parts import TableSpec
from jostle.errors import ChoiceError
from jostle.interrupts import interrupts_ignored
from jostle.options.base import Option
from jostle.options.functions import function_option
from jostle.options.registry import get
from jostle.privacy.probe import Probe
from jostle.progress import Stage
from jostle.tasks import Judge, make_instance

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


# Worker processes: they know the Options that this one knows, and what ends one is told in a sentence.


def double(part: int) -> int:
    return 2 * part


def killed(part: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def ended(part: int) -> None:
    os._exit(7)


class OddError(Exception):
    """One that cannot be made again from what is pickled of it."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def fails(part: int) -> None:
    raise OddError("this", "that")


class Unread:
    """A value that is written, and cannot be read."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return int, ("no number",)


def gives_unread(part: int) -> Unread:
    return Unread()


def gives_a_lock(part: int) -> Any:
    return threading.Lock()


def results(function: Callable[[Any], object], *parts: object) -> dict[int, object]:
    return dict(performed(function, parts, workers=2))


def test_parts_come_back_by_their_places() -> None:
    assert results(double, 1, 2, 3) == {0: 2, 1: 4, 2: 6}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # loky's own, as work is given up
@pytest.mark.parametrize(
    ("function", "parts", "said"),
    [
        pytest.param(killed, (1, 2), "a worker process was killed, most likely for want of memory", id="killed"),
        *(
            pytest.param(*case, id=name, marks=pytest.mark.slow)
            for name, case in {
                "ended": (ended, (1, 2), "a worker process ended itself, with status 7"),
                "failing": (fails, (1, 2), "a worker process failed: OddError: this and that"),
                "unread": (double, (1, Unread()), "a worker process failed: ValueError: invalid literal"),
                "unwritten answer": (gives_a_lock, (1, 2), "a worker process failed: TypeError: cannot pickle"),
            }.items()
        ),
        pytest.param(gives_unread, (1, 2), "a worker process gave what cannot be read: ValueError", id="unread answer"),
        pytest.param(double, (1, threading.Lock()), "what is to be done cannot be sent to a worker", id="unwritten"),
    ],
)
def test_what_a_worker_dies_of_is_a_sentence(
    function: Callable[[Any], object], parts: tuple[object, ...], said: str
) -> None:
    with pytest.raises(ChoiceError) as caught:
        results(function, *parts)

    assert said in caught.value.title
    assert "--workers 1" in (caught.value.fix or "")
    assert results(double, 1, 2) == {0: 2, 1: 4}, "there are workers again"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_cluster_that_loses_a_worker_says_so() -> None:
    """By joblib's backend for clusters it would wait for ever."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made:  # type: ignore[no-untyped-call]  # Dask has no types
        engine = str(made.scheduler_address).replace("tcp://", "dask://")
        with pytest.raises(ChoiceError, match=r"a worker of dask://.* failed: KilledWorker"):
            list(performed(ended, [1], engine=engine))


def test_whoever_was_started_to_ignore_ctrl_c_ignores_it_among_workers() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_ignored(), quiet_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with quiet_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


# Histories: appended to, merged, cut short, damaged.


BASE = KnownDatabase("0c5f", "nursery", "nursery", "classification")
INSTANCE = KnownInstance("0c5f v1", "0c5f", 300, Sketch([("a", 3, False), ("label", 2, False)], "label"))


def runs(repeat: int = 0, *losses: float | None, epsilons: tuple[str, ...] = ("1/10", "1")) -> Runs:
    return Runs("0c5f v1", "Majority", 1, repeat, epsilons, losses or (0.5, 0.25), [0.1] * len(epsilons))


def test_what_is_added_is_in_the_file_at_once_and_nothing_there_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "h.jsonl"
    history = History.open(path)
    history.add(BASE, INSTANCE)
    before = path.read_bytes()
    history.add(runs())
    assert path.read_bytes().startswith(before)
    again = read_history(path)
    assert list(again.lines()) == list(history.lines())
    assert again.missing("0c5f v1", "Majority", 1, ("1/10", "1", "10"), 0) == ("10",)
    assert again.missing("0c5f v1", "Majority", 2, ("1/10",), 0) == ("1/10",), "another version was not run"
    assert again.missing("0c5f v1", "Majority", 1, ("1/10",), 1) == ("1/10",), "nor was another repeat"


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_a_file_cut_short_anywhere_is_good_up_to_its_last_whole_line(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"h.{ending}"
    history = History.open(path)
    sizes, known = [0], [0]
    for repeat in range(3):
        history.add(*(() if repeat else (BASE, INSTANCE)), runs(repeat))
        sizes.append(path.stat().st_size)
        known.append(len(history))
    data = path.read_bytes()
    for cut in range(sizes[1], len(data)):
        path.write_bytes(data[:cut])
        whole = max(place for place, size in enumerate(sizes) if size <= cut)
        assert len(read_history(path)) == known[whole]
        opened = History.open(path)
        opened.add(runs(9))
        assert len(read_history(path)) == known[whole] + 2, "the next line begins on a line of its own"


def test_an_unknown_line_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    for wrong in ("{}", "not JSON", '{"version_": 1, "kind": "weather"}', to_json(BASE).replace("group", "gruop"), "7"):
        path.write_text(f"{to_json(BASE)}\n{wrong}\n")
        with pytest.raises(ChoiceError, match=r"line 2 of .*h\.jsonl is not of a history"):
            read_history(path)
    path.write_text(to_json(BASE).replace('"version_":1', '"version_":2') + "\n")
    with pytest.raises(ChoiceError, match="line 1"):
        read_history(path)
    with pytest.raises(ChoiceError, match="cannot read the history"):
        read_history(tmp_path / "none.jsonl")
    (tmp_path / "no.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(ChoiceError, match=r"the history .*no\.jsonl\.gz is not gzipped"):
        read_history(tmp_path / "no.jsonl.gz")


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 1e6, allow_nan=False)), min_size=1, max_size=4).flatmap(
        lambda losses: st.tuples(st.just(losses), st.integers(0, 5), st.text(max_size=5))
    )
)
def test_every_line_reads_back(drawn: tuple[list[float | None], int, str]) -> None:
    losses, repeat, text = drawn
    epsilons = [str(place + 1) for place in range(len(losses))]
    line = Runs("0c5f v1", "Majority", 1, repeat, epsilons, losses, [0.0] * len(losses), (text,))
    assert from_json(to_json(line)) == line
    database = KnownDatabase("0c5f", text, text, "grid")
    assert from_json(to_json(database)) == database


def test_merging_knows_what_either_knows(tmp_path: Path) -> None:
    one = History([BASE, INSTANCE, runs(0)])
    read = KnownInstance(INSTANCE.key, "0c5f", 300, INSTANCE.sketch, {"rows": (300.0,)})
    other = History([BASE, read, runs(0, None, 0.75, epsilons=("1", "10")), runs(1)])
    both = one | other
    assert both.losses("0c5f v1", "Majority", 1) == {
        ("1/10", 0): 0.5,
        ("1", 0): None,
        ("10", 0): 0.75,
        ("1/10", 1): 0.5,
        ("1", 1): 0.25,
    }
    assert both.instances["0c5f v1"].read == {"rows": (300.0,)}
    assert (one | one).losses("0c5f v1", "Majority", 1) == one.losses("0c5f v1", "Majority", 1)
    assert len(both.of([])) == 0
    assert len(both.of(["0c5f v1"])) == len(both)


def test_a_saved_history_reads_back_and_the_same_history_makes_the_same_file(tmp_path: Path) -> None:
    history = known_by_rows()
    for name in ("h.jsonl", "h.jsonl.gz"):
        history.save(tmp_path / name)
        first = (tmp_path / name).read_bytes()
        again = read_history(tmp_path / name)
        assert again.instances == history.instances
        assert again.databases == history.databases
        assert len(again) == len(history)
        again.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    key = next(iter(history.instances))
    found = again.array(key, "Majority", 1, EPSILONS)
    wanted = history.array(key, "Majority", 1, EPSILONS)
    assert found is not None
    assert wanted is not None
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert history.array(key, "Majority", 1, ("7",)) is None
    assert gzip.decompress((tmp_path / "h.jsonl.gz").read_bytes()) == (tmp_path / "h.jsonl").read_bytes()


@pytest.mark.parametrize("declared", [False, True])
def test_a_sketch_is_a_schema_that_looks_the_same(declared: bool) -> None:
    instance = make_instance(table(3), TableSpec(declared=declared))
    schema = instance.schema
    sketch = Sketch.of(schema)
    again = sketch.schema(instance.rows)
    assert (again.label, again.rows, again.neighbours) == (schema.label, schema.rows, schema.neighbours)
    assert (again.rows is not None) == declared
    assert [(name, again[name].size, type(again[name])) for name in again.names] == [
        (name, schema[name].size, type(schema[name])) for name in schema.names
    ]
    assert Sketch.of(again) == sketch


WRITER = """
import sys
from small import options, tables, jobs_of, EPSILONS
from jostle.choice.learning.history import History
from jostle.choice.learning.rehearse import Plan, rehearse_all
plan = Plan(options=options(), epsilons=EPSILONS, repeats=40)
rehearse_all(jobs_of(tables(4)), plan, History.open(sys.argv[1]), engine=sys.argv[2])
"""


@pytest.mark.representative
@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_killed_rehearsal_leaves_a_file_that_is_gone_on_with(tmp_path: Path, engine: str) -> None:
    """`kill -9` at a moment nobody chose: what was finished is there, and only the rest is run again."""
    path = tmp_path / "h.jsonl"
    places = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with started("-c", WRITER, path, engine, env={**os.environ, "PYTHONPATH": places}) as writer:
        while writer.poll() is None and not (path.exists() and path.stat().st_size > 8000):
            time.sleep(0.01)
        writer.send_signal(signal.SIGKILL)
        assert writer.wait(LIMIT) == -signal.SIGKILL, "it was not finished yet"
    left = read_history(path)
    assert 0 < len(left) < 40 * 4 * 2 * len(EPSILONS)
    before = path.read_bytes()
    opened = History.open(path)
    assert len(opened) == len(left)
    opened.add(runs(0))
    assert path.read_bytes()[: before.rfind(b"\n") + 1] == before[: before.rfind(b"\n") + 1]
    assert len(read_history(path)) == len(left) + 2
