"""`jostle train --entry`: the labelled choices of programs, in Jostle's language and in Python, by one mechanism."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from processes import LIMIT, started
from run_here import Run

import jostle
from jostle.choice.policies import work as label_notes
from jostle.choice.policies.learn import Labelled
from jostle.choice.policies.work import Part, halves, situations_of
from jostle.choice.trainer import train_policies
from jostle.corpora.folders import public
from jostle.errors import ChoiceError
from jostle.learned.policies import CHANGED, nothing_learned, place_of, policies_for
from jostle.programs import load_maker, load_trainable
from jostle.sites import force
from jostle.tasks import RANGES
from jostle.trace.records import Chosen, Trace

PROGRAMS = Path(__file__).parents[3] / "programs"
LANGUAGE = """\
def guess(D, clss, e):
    votes = {c: noisyCount(D[clss = c], e) for c in clss}
    return Leaf(pred=argmax(votes), votes=votes)

#Option
def Stump(db):
    n = noisyCount(db, epsilon / 4)
    how = choose How among {alone, split} informed by {n, epsilon}
    if how == alone:
        return guess(db, db.label, epsilon / 4)
    U = [maxScore(a, db.label, db) for a in db.attributes]
    best = noisyMax(domain=db.attributes, utilities=U, epsilon=epsilon / 4)
    return Node(att=best, children={v: guess(db[best = v], db.label, epsilon / 4) for v in best})

def classify(db):
    return Stump(db)
"""
PYTHON = """\
import jostle

SIDES = ("Majority", "NaiveBayes")


def chosen(n):
    return jostle.choose("Which", among=SIDES, informed_by={"n": n})


@jostle.option(task="classification")
def Either(db, *, epsilon):
    n = db.count(epsilon / 4)
    return jostle.options.get(chosen(n))(db, epsilon=epsilon / 2)


def unused():
    return 1
"""


@pytest.fixture
def databases(tmp_path: Path) -> Path:
    """Return a folder of public tables whose label is, mostly, their first attribute; splitting pays."""
    random = np.random.default_rng(5)
    folder = tmp_path / "databases"
    folder.mkdir()
    for number in range(4):
        rows = random.integers(0, 3, (500, 3))
        label = np.where(random.random(500) < 0.8, rows[:, 0], random.integers(0, 3, 500))
        frame = pd.DataFrame(rows, columns=["a", "b", "c"]).map(lambda code: f"v{code}")
        frame.assign(label=[f"c{code}" for code in label]).to_csv(folder / f"t{number}.csv.gz", index=False)
    return folder


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.jst"
    path.write_text(LANGUAGE)
    return path


@pytest.fixture
def python(tmp_path: Path) -> Path:
    path = tmp_path / "p.py"
    path.write_text(PYTHON)
    return path


@pytest.fixture
def train(command: Run, databases: Path) -> Run:
    """Return what trains an entry of a file."""
    given = ("--corpus", databases, "--engine", "threads", "--repeats", 12, "--epsilon", "1/2", "4")
    return lambda path, entry, *words: command("train", path, *given, "--entry", entry, *words)


def learned(path: Path, databases: Path, entry: str, **named: Any) -> Any:
    found = load_trainable(path, entry=entry)
    assert isinstance(found, Labelled)
    return train_policies(found, corpus=databases, epsilons=("1/2", "4"), engine="threads", runs=12, **named)


def labelled_mark(path: Path) -> str:
    """Return the mark of the text of Stump as it is."""
    found = load_trainable(path, entry="Stump")
    assert isinstance(found, Labelled)
    return found.mark


def choices(option: Any, databases: Path, epsilon: str = "4") -> list[Chosen]:
    """Return what an Option chooses on one of the public tables."""
    situation = situations_of(public(databases), "classification")[0][0]
    trace = Trace()
    db = jostle.rehearse(situation.table, epsilon=epsilon, seed=3, trace=trace)
    option(db, epsilon=epsilon)
    return [each for each in trace.records if isinstance(each, Chosen)]


@pytest.mark.slow
def test_a_formula_takes_the_place_of_a_choice_and_passes_the_check(
    command: Run, train: Run, program: Path, databases: Path
) -> None:
    lines = train(program, "Stump", "--synthesize").out.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("# In the place of: choose "))
    assert any("everywhere" in line and "standard error" in line for line in lines[:place])
    *words, expression = lines[place + 1 :]
    choice = lines[place].removeprefix("# In the place of: ")
    text = program.read_text()
    assert text.count(choice) == 1, "as it stands in the program"
    line = next(line for line in text.splitlines() if choice in line)
    margin = line[: len(line) - len(line.lstrip())]
    pasted = text.replace(line, "\n".join([*(margin + word for word in words), line.replace(choice, expression)]))
    assert jostle.load(program).source.text == text
    program.write_text(pasted)
    assert "choose" not in "".join(each for each in pasted.splitlines() if not each.startswith("#"))
    (situation, *_), _ = situations_of(public(databases), "classification")
    model = jostle.load(program).options["Stump"](jostle.rehearse(situation.table, epsilon=4, seed=1), epsilon=4)
    assert 0 <= situation.loss(model) <= 1


def test_a_program_follows_what_was_learned_and_its_trace_says_so(
    command: Run, train: Run, program: Path, databases: Path
) -> None:
    (before,) = choices(jostle.load(program).options["Stump"], databases)
    assert before.taken == (("alone", 1),)
    assert before.why == "the first alternative listed: nothing was learned for this choice"
    said = train(program, "Stump").out
    assert "Stump: learned on 4 public databases, tried on the same at epsilon 1/2, 4" in said
    assert "How: one group of databases does not tell what was learned from split everywhere: split is taken" in said
    (after,) = choices(jostle.load(program).options["Stump"], databases)
    assert after.taken == (("split", 1),), "which is better here, at this budget"
    assert after.why.startswith("learned on 4 public databases: ")
    assert [name for name, _, _ in after.predicted] == ["alone", "split"]
    assert [name for name, _, _ in after.seen] == ["n", "epsilon"]


@pytest.mark.slow
def test_run_follows_it_unless_something_else_is_said(
    command: Run, train: Run, program: Path, databases: Path, tmp_path: Path
) -> None:
    policies = tmp_path / "policies.json"
    assert train(program, "Stump", "--out", policies).status == 0
    lines = pd.read_csv(databases / "t0.csv.gz").to_csv(index=False).splitlines(keepends=True)
    columns = {name: jostle.Categorical([f"v{code}" for code in range(3)]) for name in "abc"}
    jostle.Schema({**columns, "label": jostle.Categorical(["c0", "c1", "c2"])}, label="label").write(
        tmp_path / "rows.toml"
    )
    given = ("--schema", tmp_path / "rows.toml", "--epsilon", 4, "--no-vault")

    def taken(*words: object) -> tuple[str, str]:
        trace = tmp_path / "t.jsonl"
        trace.unlink(missing_ok=True)
        lines.pop()  # another table each time, in a file and with a budget of its own
        rows = tmp_path / f"rows{len(lines)}.csv"
        rows.write_text("".join(lines))
        words = ("--data", rows, *given, "--trace", trace, *words)
        assert command("run", program, "--entry", "Stump", *words).status == 0
        (choice,) = json.loads(command("trace", "why", trace, "--json").out)
        return next(iter(choice["taken"])), choice["why"]

    assert taken() == ("split", taken()[1])
    assert taken()[1].startswith("learned on 4 public databases: ")
    assert taken("--force", "How=alone") == ("alone", "forced")
    assert taken("--policy", "none")[0] == "alone"
    place_of("Stump", load_trainable(program, entry="Stump").mark).unlink()  # type: ignore[union-attr]  # it is labelled
    assert taken()[0] == "alone"
    assert taken("--policy", policies)[0] == "split"
    assert taken("--policy", policies, "--force", "How=alone")[0] == "alone"
    rows = tmp_path / f"rows{len(lines)}.csv"
    assert "forces nothing" in command("run", program, "--data", rows, *given, "--force", "How").err


@pytest.mark.slow
def test_a_program_that_has_changed_does_not_follow_it_and_says_so(
    command: Run, train: Run, program: Path, databases: Path
) -> None:
    learned(program, databases, "Stump")
    before = jostle.load(program).options["Stump"].version
    program.write_text(LANGUAGE.replace("{alone, split}", "{split, alone}"))
    (choice,) = choices(jostle.load(program).options["Stump"], databases)
    assert (choice.taken, choice.why) == ((("split", 1),), CHANGED)
    assert (
        "p.jst has changed since its choices were learned; jostle train"
        in command("run", program, "--entry", "Stump").err
    )
    program.write_text(LANGUAGE.replace("n = noisyCount", "# half\n    n = noisyCount"))
    assert choices(jostle.load(program).options["Stump"], databases)[0].why.startswith("learned on")
    assert jostle.load(program).options["Stump"].version == before
    with nothing_learned():
        assert jostle.load(program).options["Stump"].version != before


@pytest.mark.slow
def test_a_run_warns_of_policies_that_cannot_be_read(command: Run, train: Run, program: Path, databases: Path) -> None:
    assert train(program, "Stump").status == 0
    path = place_of("Stump", labelled_mark(program))
    path.write_text("no policies")
    said = command("run", program, "--entry", "Stump").err
    wrong = f"the file of policies {path} is not JSON: invalid character "
    assert said.startswith(f"warning: How took the first alternative: {wrong}")
    assert "; jostle train " in said


@pytest.mark.slow
def test_what_is_no_file_is_written_to_and_not_replaced(program: Path, databases: Path, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("only some systems have a file that is always full")
    out = tmp_path / "out"
    out.symlink_to("/dev/full")
    with pytest.raises(ChoiceError, match="cannot write the policies"):
        learned(program, databases, "Stump", out=out)
    assert out.is_symlink()
    assert [each.learned_on for each in policies_for("Stump", labelled_mark(program), str(program)).values()]  # type: ignore[attr-defined]  # they were kept


@pytest.mark.slow
def test_what_an_option_learned_is_followed_wherever_the_program_calls_it(program: Path, databases: Path) -> None:
    learned(program, databases, "Stump")
    loaded = jostle.load(program)
    situation = situations_of(public(databases), "classification")[0][0]
    trace = Trace()
    loaded.run("classify", jostle.rehearse(situation.table, epsilon=4, seed=3, trace=trace), epsilon=Fraction(4))
    (choice,) = [each for each in trace.records if isinstance(each, Chosen)]
    assert choice.taken == (("split", 1),)
    loaded.policies["How"] = policies_for("Stump", load_trainable(program, entry="Stump").mark, "")["How"]  # type: ignore[union-attr]  # it is labelled
    with force({"How": "alone"}):
        assert choices(loaded.options["Stump"], databases)[0].why == "forced"


def test_an_option_in_python_is_trained_as_well(train: Run, python: Path, databases: Path) -> None:
    facts = json.loads(train(python, "Either", "--json").out)
    assert [each["label"] for each in facts["labels"]] == ["Which"]
    assert {each["taken"] for each in facts["labels"][0]["losses"]} == {"learned", "Majority", "NaiveBayes"}

    def option() -> Any:
        """Return the Option as whoever loads the file has it."""
        found = load_trainable(python, entry="Either")
        assert isinstance(found, Labelled)
        return found.run.option  # type: ignore[attr-defined]  # so an Option is run

    (choice,) = choices(option(), databases)
    assert choice.taken == (("NaiveBayes", 1),)
    assert choice.why.startswith("learned on 4 public databases")
    python.write_text(PYTHON.replace("return 1", "return 2"))
    assert choices(option(), databases)[0].why.startswith("learned on"), "it does not use what has changed"
    for changed in (
        PYTHON.replace("among=SIDES", "among=SIDES[::-1]"),
        PYTHON.replace('("Majority", ', '("BayesTree", '),
    ):
        python.write_text(changed)
        assert choices(option(), databases)[0].why == CHANGED


@pytest.mark.slow
def test_training_that_was_stopped_goes_on_and_learns_the_same(
    train: Run, program: Path, databases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = learned(program, databases, "Stump")
    done: list[Part] = []
    perform = label_notes._done

    def stopping(part: Part) -> Any:
        done.append(part)
        if len(done) == 6:
            raise KeyboardInterrupt
        return perform(part)

    with monkeypatch.context() as patched:
        patched.setattr(label_notes, "_done", stopping)
        ended = train(program, "Stump")
    assert ended.status == 130
    said = ended.err
    assert "stopped: what was rehearsed is kept in " in said
    assert "and the same command goes on from there" in said
    notes = next(place_of("Stump", "").parent.glob("*.notes"))
    assert len(notes.read_text().splitlines()) == 5
    notes.write_text(notes.read_text() + '["cut sho')
    again: list[Part] = []

    def noting(part: Part) -> Any:
        again.append(part)
        return perform(part)

    monkeypatch.setattr(label_notes, "_done", noting)
    after = learned(program, databases, "Stump")
    keys = [part.key for part in again]
    assert not set(keys) & {part.key for part in done[:5]}, "what was run is not run again"
    assert done[5].key in keys
    assert {label: each.facts() for label, each in after.policies.items()} == {
        label: each.facts() for label, each in whole.policies.items()
    }
    assert not notes.exists(), "what was learned is kept, and the runs are not needed any more"


@pytest.mark.slow
def test_evaluate_says_what_each_label_is_worth(command: Run, train: Run, program: Path, databases: Path) -> None:
    given = ("evaluate", program, "--entry", "Stump", "--databases", databases, "--epsilon", "1", "--workers", 1)
    assert "nothing was learned for the choices of Stump" in command(*given).err
    assert train(program, "Stump").status == 0
    (label,) = json.loads(command(*given, "--json", "-").out)["labels"]
    losses = {each["taken"]: each["loss"] for each in label["losses"]}
    assert losses["split"] < losses["alone"]
    assert {each["error"] for each in label["losses"]} == {None}, "all tables have the same rows"
    assert "alone everywhere  mean loss" in command(*given).out


@pytest.mark.slow
def test_a_program_on_grids_is_judged_by_the_grid_task_s_loss(tmp_path: Path) -> None:
    text = """\
#Option
def Either(db, queries):
    total = noisyCount(db, epsilon / 2)
    how = choose How among {flat, nothing} informed by {total}
    if how == flat:
        return queries over [total / (db.x_range * db.y_range)]
    return queries over [0]
"""
    (tmp_path / "p.jst").write_text(text)
    (tmp_path / "grids").mkdir()
    random = np.random.default_rng(3)
    for number in range(3):
        np.save(tmp_path / "grids" / f"g{number}.npy", random.integers(50, 60, (8, 8)))
    entry = load_trainable(tmp_path / "p.jst")
    assert isinstance(entry, Labelled)
    assert (entry.name, entry.task, entry.labels) == ("Either", RANGES, ("How",))
    done = train_policies(entry, corpus=tmp_path / "grids", epsilons=("1",), engine="threads", runs=12)
    losses = {name: loss for name, loss, *_ in done.worths[0].losses}
    assert losses["learned"] <= losses["flat"] < losses["nothing"]


@pytest.mark.slow
def test_what_cannot_be_learned_is_refused_in_words(
    command: Run, program: Path, python: Path, databases: Path, tmp_path: Path
) -> None:
    number = tmp_path / "number.jst"
    number.write_text(
        "def f(db):\n    a = choose L among {x, y} informed by {size(db.label)}\n    return noisyCount(db, epsilon)\n"
    )
    wrong: list[tuple[tuple[object, ...], str]] = [
        (("train", program, "--entry", "guess"), "guess makes no labelled choice"),
        (("train", program, "--entry", "nothing"), "defines no 'nothing'"),
        (("train", program, "--maker", "m"), "defines no choice maker"),
        (("train", program, "--maker", "m", "--entry", "Stump"), "two things to train"),
        (("train", python), "defines no choice maker"),
        (("train", python, "--entry", "chosen"), "defines no Option chosen"),
        (("train", program, "--history", tmp_path / "h.jsonl"), "--history is not for labelled choices"),
        (("train", program, "--entry", "Stump", "--engine", "cluster"), "no engine 'cluster'"),
        (("train", number, "--corpus", databases, "--engine", "threads"), "answer that can be judged"),
        (("train", PROGRAMS / "histogram.jst", "--epsilon", "1"), "--epsilon is not for choice makers"),
    ]
    for words, said in wrong:
        told = command(*words)
        assert (told.status, said in told.err, "Traceback" in told.err) == (1, True, False), told
    with pytest.raises(ChoiceError, match="defines no choice maker"):
        load_maker(program)


@pytest.mark.slow
def test_databases_that_share_people_are_on_one_side(databases: Path) -> None:
    for number in range(4, 12):
        rows = pd.read_csv(databases / f"t{number % 4}.csv.gz")
        rows.assign(d=[f"v{place % (number + 1)}" for place in range(len(rows))])[["a", "b", "c", "d", "label"]].to_csv(
            databases / f"t{number}.csv.gz", index=False
        )
    situations, problems = situations_of(public(databases), "classification")
    assert not problems
    learnt, tried = halves(situations)
    groups = [{each.database.group for each in side} for side in (learnt, tried)]
    assert not groups[0] & groups[1]
    assert {*learnt, *tried} == {*situations}
    few = halves(situations[:3])
    assert few[0] == few[1] == situations[:3]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_cluster_learns_what_this_process_learns(program: Path, databases: Path, cluster: str) -> None:
    found = load_trainable(program, entry="Stump")
    assert isinstance(found, Labelled)
    told = [
        train_policies(found, corpus=databases, epsilons=("4",), engine=engine, runs=12)
        for engine in ("threads", cluster)
    ]
    here, there = ({label: policy.facts() for label, policy in each.policies.items()} for each in told)
    assert here == there


@pytest.mark.slow
def test_the_jostled_tree_is_trained_and_then_runs_as_it_learned(train: Run, databases: Path) -> None:
    program = PROGRAMS / "jostled_tree.jst"
    said = train(program, "JostledTree").out
    for words in ("L1: ", "L2: ", "branch everywhere", "stop everywhere", "random everywhere"):
        assert words in said
    found = choices(jostle.load(program).options["JostledTree"], databases)
    assert {each.label for each in found} <= {"L1", "L2"}
    assert all(each.why.startswith("learned on 4 public databases: ") for each in found)


@pytest.mark.slow
def test_ctrl_c_among_processes_is_a_sentence_and_loses_no_run(program: Path, databases: Path, tmp_path: Path) -> None:
    command = ("-m", "jostle", "train", program, "--entry", "Stump", "--corpus", databases, "--repeats", "400")
    folder = place_of("Stump", "").parent
    with started(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not any(each.stat().st_size for each in folder.glob("*.notes")):
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # a terminal's Ctrl-C goes to all processes of a group
        out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, out + err
    (notes,) = folder.glob("*.notes")
    assert f"stopped: what was rehearsed is kept in {notes}, and the same command goes on from there" in err
    assert "Traceback" not in err
    assert all(json.loads(line)[0].startswith("teach") for line in notes.read_text().splitlines())


@pytest.mark.slow
def test_an_engine_that_no_scheduler_answers_at_is_refused_in_words(
    command: Run, train: Run, program: Path, databases: Path
) -> None:
    told = command("train", program, "--engine", "dask://x:1", "--corpus", databases).err
    assert "no scheduler answers at dask://x:1" in told
    assert "Traceback" not in told
