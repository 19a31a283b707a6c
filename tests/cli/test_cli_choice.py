"""`jostle train`, `jostle evaluate` and `jostle trace why`, as a user meets them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_here import run
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


def train(monkeypatch: pytest.MonkeyPatch, program: Path, *words: object) -> int:
    return run(monkeypatch, "train", program, "--maker", "choice", "--engine", "threads", "--repeats", 2, *words)


def test_train_rehearses_learns_and_is_found_by_the_program(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, history = tmp_path / "maker.json", tmp_path / "h.jsonl"
    assert train(monkeypatch, program, "--out", out, "--history", history) == 0
    said = capsys.readouterr().out
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
    assert train(monkeypatch, program, "--history", history, "--json") == 0
    assert history.read_bytes() == before, "nothing was missing"
    facts = json.loads(capsys.readouterr().out)
    assert (facts["databases"], facts["options"]) == (4, ["Majority", "NaiveBayes"])
    assert Path(facts["kept"]).exists()


def test_train_on_other_databases_than_the_program_names(
    program: Path, databases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (databases / "broken.csv").write_text("x,y\n1,2\n")
    assert train(monkeypatch, program, "--corpus", databases, "--aslib", tmp_path / "scenario") == 0
    said = capsys.readouterr().out
    assert "on 3 public databases" in said
    assert "warning:" in said
    assert "broken.csv" in said
    assert load_maker(program, "choice").trained.databases == 3
    assert (tmp_path / "scenario" / "algorithm_runs.arff").exists()


def test_train_goes_on_where_it_was_stopped(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "h.jsonl"
    assert train(monkeypatch, program, "--history", history) == 0
    whole = history.read_bytes()
    # As a crash leaves it: half of the lines, and a part of the next one.
    lines = whole.splitlines(keepends=True)
    half = b"".join(lines[: len(lines) // 2])
    history.write_bytes(half + lines[len(lines) // 2][:20])
    first = json.loads(_json_of_train(monkeypatch, capsys, program, history))
    assert history.read_bytes().startswith(half)
    assert first["databases"] == 4
    assert len(read_history(history)) == RUNS
    both = [dict(each._losses) for each in (History.open(history), _read(whole, tmp_path))]
    assert both[0] == both[1], "the same losses, however often it was stopped"


def _json_of_train(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], program: Path, history: Path
) -> str:
    capsys.readouterr()
    assert train(monkeypatch, program, "--history", history, "--json") == 0
    return capsys.readouterr().out


def _read(data: bytes, tmp_path: Path) -> History:
    (tmp_path / "whole.jsonl").write_bytes(data)
    return read_history(tmp_path / "whole.jsonl")


EPSILONS = {
    "several values after one flag": ("--epsilon", "0.5", "10"),
    "a flag for each": ("--epsilon", "0.5", "--epsilon", "10"),
    "both": ("--epsilon", "1/2", "10", "--epsilon", "0.5"),
    "an equals sign": ("--epsilon=0.5", "--epsilon=10"),
}


@pytest.mark.parametrize("words", EPSILONS.values(), ids=EPSILONS)
def test_evaluate_writes_what_was_asked_for(
    words: tuple[str, ...],
    program: Path,
    databases: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert train(monkeypatch, program) == 0
    capsys.readouterr()
    file = tmp_path / "found.json"
    given = ("evaluate", program, "--databases", databases, *words, "--trials", 2, "--workers", 1, "--maker", "choice")
    assert run(monkeypatch, *given, "--json", file) == 0
    output = capsys.readouterr()
    assert "trained on 1 of these databases" in output.err
    assert "t1" in output.err
    assert f"written to {file}" in output.out
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


def test_evaluate_prints_a_table_or_json(
    program: Path, databases: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(monkeypatch, program) == 0
    capsys.readouterr()
    given = ("evaluate", program, "--databases", databases, "--epsilon", "1", "--trials", 2, "--workers", 1)
    assert run(monkeypatch, *given, "--maker", "choice", "--json", "-") == 0
    facts = json.loads(capsys.readouterr().out)
    assert run(monkeypatch, *given, "--maker", "choice") == 0
    said = capsys.readouterr().out
    assert "t20" in said
    said = " ".join(said.split())
    for name, loss, regret in (
        ("the maker", facts["loss_mean"], facts["regret_mean"]),
        (f"always {facts['single_best']}", facts["single_mean"], facts["single_regret"]),
        ("hindsight: the best Option of each cell", facts["hindsight_mean"], None),
    ):
        assert f"{name} {loss:.4g} {'1' if regret is None else f'{regret:.2f}'}" in said
    assert f"{facts['regret_max']:.2f} times at most" in said
    assert run(monkeypatch, *given, "--maker", "choice", "--json") == 0
    assert json.loads(capsys.readouterr().out) == facts
    assert run(monkeypatch, *given, "--json") == 1
    assert "several choice makers" in json.loads(capsys.readouterr().out)["error"]["title"]


def test_tables_of_the_same_people_are_one_group_where_a_maker_is_evaluated(
    program: Path, databases: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else an interval from copies of one table would be narrow."""
    assert train(monkeypatch, program) == 0
    for name in ("t1", "t21"):
        (databases / f"{name}.csv.gz").unlink()
    shutil.copy(databases / "t20.csv.gz", databases / "copy.csv.gz")
    capsys.readouterr()
    given = ("--maker", "choice", "--databases", databases, "--epsilon", "1", "--workers", 1)
    assert run(monkeypatch, "evaluate", program, *given) == 0
    assert "(90%:" not in capsys.readouterr().out


def test_that_a_maker_and_the_option_it_always_runs_differ_by_noise_alone_is_said(
    program: Path, databases: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their losses differ, and the reader would wonder why."""
    given = (program, "--maker", "other")
    assert run(monkeypatch, "train", *given, "--engine", "threads", "--repeats", 2, "--judge", databases) == 1
    assert "has the same rows as t1" in capsys.readouterr().err
    (databases / "t1.csv.gz").unlink()
    assert run(monkeypatch, "train", *given, "--engine", "threads", "--repeats", 2, "--judge", databases) == 0
    assert "so the maker runs that, and the two differ by noise alone" in " ".join(capsys.readouterr().out.split())
    assert run(monkeypatch, "evaluate", *given, "--databases", databases, "--epsilon", "1", "--workers", 1) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the maker ran Majority everywhere, and spent nothing on choosing" in said
    assert "it differs from always Majority by noise alone" in said
    assert "worse than always" not in said


def test_formulas_are_printed_where_they_are_asked_for(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(monkeypatch, program) == 0
    assert "exp(min(max(" not in capsys.readouterr().out
    assert train(monkeypatch, program, "--synthesize") == 0
    said = capsys.readouterr().out
    assert "# Mean regret on databases left out" in said
    for name in ("Majority", "NaiveBayes"):
        assert f"# In the class of {name}:" in said
    assert said.count("        return exp(min(max(") == 2


def test_trace_why_says_what_was_seen_expected_and_taken(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(monkeypatch, program) == 0
    capsys.readouterr()
    maker = load_maker(program, "choice")
    trace = tmp_path / "t.jsonl"
    instance = make_instance(tables(1)["t0"], TableSpec())
    maker(jostle.rehearse(instance.table, epsilon=1, trace=trace), epsilon=1)
    assert run(monkeypatch, "trace", "why", trace, "--json") == 0
    (choice,) = json.loads(capsys.readouterr().out)
    assert {each["name"] for each in choice["predicted"]} == {"Majority", "NaiveBayes"}
    ((taken, count),) = choice["taken"].items()
    assert count == 1
    assert {taken, choice["second"]} == {"Majority", "NaiveBayes"}
    assert set(choice["seen"]) == {name for name, _ in maker.trained.metafeatures}
    assert run(monkeypatch, "trace", "why", trace) == 0
    said = capsys.readouterr().out
    assert f"took {taken}" in said
    assert f"because {choice['why']}" in said
    assert f"otherwise it would have taken {choice['second']}" in said


def test_trace_why_of_a_run_without_choices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "t.jsonl"
    instance: Any = make_instance(tables(1)["t0"], TableSpec())
    jostle.rehearse(instance.table, epsilon=1, trace=trace).count(1)
    assert run(monkeypatch, "trace", "why", trace) == 0
    assert capsys.readouterr().out == "nothing was chosen in this run\n"
