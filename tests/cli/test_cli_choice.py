"""`jostle train`, `jostle evaluate` and `jostle trace why`, as a user meets them."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_here import Run
from small import table, tables

import jostle
from jostle.choice.learning.history import History, read_history
from jostle.choice.learning.rehearse import EPSILONS as DEFAULT
from jostle.choice.makers.trained import Trained
from jostle.corpora.databases import default_jobs
from jostle.corpora.parts import TableSpec
from jostle.programs import load_maker
from jostle.tasks import make_instance

RUNS = 2 * 2 * len(DEFAULT) * len(default_jobs(tables(4)))
"""Options, repeats, budgets, instances."""
PROGRAM = """\
from small import METAFEATURES, tables
from jostle.choice.makers.making import MkChoiceMaker

choice = MkChoiceMaker(among=["Majority", "NaiveBayes"], informed_by=METAFEATURES, trained_on=tables(4))
other = MkChoiceMaker(among=["Majority"], trained_on=tables(2))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def databases(tmp_path: Path) -> Path:
    folder = tmp_path / "databases"
    folder.mkdir()
    for number in (1, 20, 21):
        frame = table(number).columns.to_pandas()
        # With the label last.
        frame[[*(name for name in frame if name != "label"), "label"]].to_csv(folder / f"t{number}.csv.gz", index=False)
    return folder


@pytest.fixture
def train(command: Run, program: Path) -> Run:
    return partial(command, "train", program, "--maker", "choice", "--engine", "threads", "--repeats", 2)


def test_train_rehearses_learns_and_is_found_by_the_program(
    command: Run, train: Run, program: Path, tmp_path: Path
) -> None:
    out, history = tmp_path / "maker.json", tmp_path / "h.jsonl"
    said = train("--out", out, "--history", history).out
    assert "choice: learned from " in said
    assert "rehearsals on 4 public databases" in said
    assert f"rehearsals are kept in {history}, and are not run again" in said
    assert f"written to {out}" in said
    assert len(read_history(history)) == RUNS
    mark = Trained.read(out).mark
    loaded = load_maker(program, "choice")
    before = history.read_bytes()
    assert loaded.trained.mark == mark, "the program's maker finds it, and learns nothing"
    assert not (tmp_path / "jostle-home" / "histories").exists()
    facts = json.loads(train("--history", history, "--json").out)
    assert history.read_bytes() == before, "nothing was missing"
    assert (facts["databases"], facts["options"]) == (4, ["Majority", "NaiveBayes"])
    assert Path(facts["kept"]).exists()


def test_train_on_other_databases_than_the_program_names(
    train: Run, program: Path, databases: Path, tmp_path: Path
) -> None:
    (databases / "broken.csv").write_text("x,y\n1,2\n")
    said = train("--corpus", databases, "--aslib", tmp_path / "scenario").out
    assert "on 3 public databases" in said
    assert "warning:" in said
    assert "broken.csv" in said
    assert load_maker(program, "choice").trained.databases == 3
    assert (tmp_path / "scenario" / "algorithm_runs.arff").exists()


def test_train_goes_on_where_it_was_stopped(command: Run, train: Run, program: Path, tmp_path: Path) -> None:
    history = tmp_path / "h.jsonl"
    assert train("--history", history).status == 0
    whole = history.read_bytes()
    # As a crash leaves it: half of the lines, and a part of the next one.
    lines = whole.splitlines(keepends=True)
    half = b"".join(lines[: len(lines) // 2])
    history.write_bytes(half + lines[len(lines) // 2][:20])
    first = json.loads(train("--history", history, "--json").out)
    assert history.read_bytes().startswith(half)
    assert first["databases"] == 4
    assert len(read_history(history)) == RUNS
    both = [dict(each._losses) for each in (History.open(history), _read(whole, tmp_path))]
    assert both[0] == both[1], "the same losses, however often it was stopped"


def _read(data: bytes, tmp_path: Path) -> History:
    (tmp_path / "whole.jsonl").write_bytes(data)
    return read_history(tmp_path / "whole.jsonl")


@pytest.mark.parametrize(
    "words", [("--epsilon", "1/2", "10", "--epsilon", "0.5"), ("--epsilon=0.5", "--epsilon=10")], ids=["both", "equals"]
)
def test_evaluate_writes_what_was_asked_for(
    words: tuple[str, ...], command: Run, train: Run, program: Path, databases: Path
) -> None:
    assert train().status == 0
    file = Path("found.json")
    given = ("evaluate", program, "--databases", databases, *words, "--trials", 2, "--workers", 1, "--maker", "choice")
    done = command(*given, "--json", file)
    assert "trained on 1 of these databases" in done.err
    assert "t1" in done.err
    assert f"written to {file}" in done.out
    found = json.loads(file.read_text())
    assert {(cell["database"], cell["epsilon"]) for cell in found["cells"]} == {
        (f"t{number}", epsilon) for number in (1, 20, 21) for epsilon in (0.5, 10)
    }
    for name in ("regret_mean", "regret_p95", "regret_max", "gap_closed", "worse_share"):
        assert name in found
    for cell in found["cells"]:
        assert set(cell["losses"]) == {"Majority", "NaiveBayes"}
        assert sum(cell["chosen"].values()) == 2
    regrets = [cell["regret"] for cell in found["cells"]]
    assert found["regret_mean"] == pytest.approx(np.mean(regrets))
    assert found["regret_max"] == max(regrets)
    assert found["seen_before"] == ["t1"]


def test_evaluate_prints_a_table_or_json(command: Run, train: Run, program: Path, databases: Path) -> None:
    assert train().status == 0
    given = ("evaluate", program, "--databases", databases, "--epsilon", "1", "--trials", 2, "--workers", 1)
    facts = json.loads(command(*given, "--maker", "choice", "--json", "-").out)
    said = command(*given, "--maker", "choice").out
    assert "t20" in said
    said = " ".join(said.split())
    for name, loss, regret in (
        ("the maker", facts["loss_mean"], facts["regret_mean"]),
        (f"always {facts['single_best']}", facts["single_mean"], facts["single_regret"]),
        ("hindsight: the best Option of each cell", facts["hindsight_mean"], None),
    ):
        assert f"{name} {loss:.4g} {'1' if regret is None else f'{regret:.2f}'}" in said
    assert f"{facts['regret_max']:.2f} times at most" in said
    assert json.loads(command(*given, "--maker", "choice", "--json").out) == facts
    assert "several choice makers" in json.loads(command(*given, "--json").out)["error"]["title"]


def test_tables_of_the_same_people_are_one_group_where_a_maker_is_evaluated(
    command: Run, train: Run, program: Path, databases: Path
) -> None:
    """Else an interval from copies of one table would be narrow."""
    assert train().status == 0
    for name in ("t1", "t21"):
        (databases / f"{name}.csv.gz").unlink()
    shutil.copy(databases / "t20.csv.gz", databases / "copy.csv.gz")
    given = ("--maker", "choice", "--databases", databases, "--epsilon", "1", "--workers", 1)
    assert "(90%:" not in command("evaluate", program, *given).out


def test_that_a_maker_and_the_option_it_always_runs_differ_by_noise_alone_is_said(
    command: Run, train: Run, program: Path, databases: Path
) -> None:
    """Their losses differ, and the reader would wonder why."""
    given = (program, "--maker", "other")
    judged = ("train", *given, "--engine", "threads", "--repeats", 2, "--judge", databases)
    assert "has the same rows as t1" in command(*judged).err
    (databases / "t1.csv.gz").unlink()
    assert "so the maker runs that, and the two differ by noise alone" in " ".join(command(*judged).out.split())
    said = " ".join(command("evaluate", *given, "--databases", databases, "--epsilon", "1", "--workers", 1).out.split())
    assert "the maker ran Majority everywhere, and spent nothing on choosing" in said
    assert "it differs from always Majority by noise alone" in said
    assert "worse than always" not in said


def test_formulas_are_printed_where_they_are_asked_for(train: Run) -> None:
    assert "exp(min(max(" not in train().out
    said = train("--synthesize").out
    assert "# Mean regret on databases left out" in said
    for name in ("Majority", "NaiveBayes"):
        assert f"# In the class of {name}:" in said
    assert said.count("        return exp(min(max(") == 2


def test_trace_why_says_what_was_seen_expected_and_taken(
    command: Run, train: Run, program: Path, tmp_path: Path
) -> None:
    assert train().status == 0
    maker = load_maker(program, "choice")
    trace = tmp_path / "t.jsonl"
    instance = make_instance(tables(1)["t0"], TableSpec())
    maker(jostle.rehearse(instance.table, epsilon=1, trace=trace), epsilon=1)
    (choice,) = json.loads(command("trace", "why", trace, "--json").out)
    assert {each["name"] for each in choice["predicted"]} == {"Majority", "NaiveBayes"}
    ((taken, count),) = choice["taken"].items()
    assert count == 1
    assert {taken, choice["second"]} == {"Majority", "NaiveBayes"}
    assert set(choice["seen"]) == {name for name, _ in maker.trained.metafeatures}
    said = command("trace", "why", trace).out
    assert f"took {taken}" in said
    assert f"because {choice['why']}" in said
    assert f"otherwise it would have taken {choice['second']}" in said


def test_trace_why_of_a_run_without_choices(command: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    instance: Any = make_instance(tables(1)["t0"], TableSpec())
    jostle.rehearse(instance.table, epsilon=1, trace=trace).count(1)
    assert command("trace", "why", trace).out == "nothing was chosen in this run\n"
