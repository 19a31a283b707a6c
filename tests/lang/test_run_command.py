"""`jostle run`: on private data within a promise, on public examples without."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import pyarrow.parquet as pq
import pytest
from small_tables import ROWS, SCHEMA

from jostle.cli import main

PROGRAMS = Path(__file__).parents[2] / "programs"
COUNT = "def answer(db):\n    n = {{ len(db) }} spending 50%\n    return n\n"


@pytest.fixture
def private(tmp_path: Path) -> list[str]:
    """Return the arguments that name a private table."""
    lines = [",".join(SCHEMA.names), *(",".join(map(str, row)) for row in ROWS)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", "utf-8")
    SCHEMA.write(tmp_path / "rows.toml")
    return ["--data", str(tmp_path / "rows.csv"), "--schema", str(tmp_path / "rows.toml")]


def run(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Return what `jostle run` did, in this process: to start one takes longer than most programs."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err), catch_warnings():
        patched.setattr(sys, "argv", ["jostle", "run", *words])
        patched.setenv("JOSTLE_HOME", str(tmp_path / "home"))
        patched.setenv("COLUMNS", "120")
        simplefilter("default")
        with pytest.raises(SystemExit) as ending:
            main()
    return subprocess.CompletedProcess(words, int(ending.value.code or 0), out.getvalue(), err.getvalue())


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "program.jst"
    path.write_text(text, "utf-8")
    return str(path)


def answered(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_program_runs_on_private_rows(tmp_path: Path, private: list[str]) -> None:
    done = answered(run(tmp_path, written(tmp_path, COUNT), *private, "--epsilon", "2", "--json"))
    assert done["private"]
    assert done["epsilon"] == "2"
    assert abs(done["answer"] - len(ROWS)) < 60
    assert done["example"] is None


def test_what_hangs_on_rows_is_told_to_their_owner_alone(tmp_path: Path, private: list[str]) -> None:
    """It goes where the answer does not: an answer is handed on."""
    program, counts = written(tmp_path, COUNT), tmp_path / "grid.npy"
    (tmp_path / "rows.csv").write_text(",".join(SCHEMA.names) + "\n", "utf-8")
    np.save(counts, np.zeros((4, 4), dtype=np.int64))
    for words in ([*private, "--json"], [*private], ["--data", str(counts)]):
        done = run(tmp_path, program, *words, "--epsilon", "1")
        assert done.returncode == 0
        assert done.stderr == "note, for the owner of the data alone: the table has no rows\n"
        assert "no rows" not in done.stdout


def test_a_vault_remembers_what_was_spent(tmp_path: Path, private: list[str]) -> None:
    """The second run has what the first one left of the promise."""
    half, whole = COUNT, COUNT.replace("50%", "100%")
    promised = ["--epsilon", "1", "--vault", str(tmp_path / "v.vault")]
    for program, left in ((half, "1"), (whole, "1/2")):
        assert answered(run(tmp_path, written(tmp_path, program), *private, *promised, "--json"))["epsilon"] == left
    refused = run(tmp_path, written(tmp_path, half), *private, *promised)
    assert refused.returncode == 3
    assert "0 is left" in refused.stderr


def test_what_the_schema_refuses_is_refused_before_the_table_is_opened(tmp_path: Path, private: list[str]) -> None:
    """Nothing is promised and nothing spent, though the wrong column is asked for last, and the rows are not read."""
    text = COUNT.replace("return n", 'return n + noisyCount(db[regin = "north"], epsilon / 2)')
    program, vault = written(tmp_path, text), tmp_path / "v.vault"
    (tmp_path / "rows.csv").write_text("no table at all\n", "utf-8")
    refused = run(tmp_path, program, *private, "--epsilon", "1", "--vault", str(vault))
    assert refused.returncode == 1
    assert "error[J503]: there is no column `regin`" in refused.stderr
    assert not vault.exists()


def test_a_trace_and_an_answer_are_written(tmp_path: Path, private: list[str]) -> None:
    words = ["--epsilon", "1", "--trace", str(tmp_path / "t.jsonl"), "--out", str(tmp_path / "model.json")]
    done = run(tmp_path, str(PROGRAMS / "tree.jst"), *private, *words)
    assert done.returncode == 0, done.stderr
    assert "FriedmanSchuster" in (tmp_path / "t.jsonl").read_text("utf-8")
    assert json.loads((tmp_path / "model.json").read_text("utf-8"))["kind"] == "trees"


def test_a_private_grid_is_a_npy_file(tmp_path: Path) -> None:
    np.save(tmp_path / "grid.npy", np.arange(16).reshape(4, 4))
    words = ["--entry", "Flat", "--data", str(tmp_path / "grid.npy"), "--epsilon", "100", "--json"]
    text = "#Option\ndef Flat(db, queries):\n    total = noisyCount(db, epsilon)\n"
    text += "    return queries over [total / (db.x_range * db.y_range)]\n"
    done = answered(run(tmp_path, written(tmp_path, text), *words))
    assert done["answer"]["shape"] == [4, 4]
    assert abs(sum(map(sum, done["answer"]["cells"])) - 120) < 2


@pytest.mark.parametrize(
    ("text", "words", "status", "said"),
    [
        ("def answer(db):\n    return len(db)\n", ["--epsilon", "1"], 1, "J203"),
        (COUNT, [], 1, "no epsilon is promised"),
        (COUNT, ["--epsilon", "1", "--entry", "nothing"], 1, "nothing"),
        ("def answer(db):\n    return {{ len(db) }} spending 2\n", ["--epsilon", "1"], 3, "may spend epsilon 2"),
        (
            "def answer(db):\n    n = {{ len(db) }} spending 10%\n    return noisyCount(db, abs(n) + 5)\n",
            ["--epsilon", "1"],
            3,
            "J510",
        ),
        ('def answer(db):\n    return noisyCount(db[region = "west"], epsilon)\n', ["--epsilon", "1"], 1, "J507"),
        ("def answer(db, x, y, z):\n    return noisyCount(db, epsilon)\n", ["--epsilon", "1"], 1, "takes 4 values"),
    ],
)
def test_mistakes_end_with_a_sentence_and_a_status(
    tmp_path: Path, private: list[str], text: str, words: list[str], status: int, said: str
) -> None:
    done = run(tmp_path, written(tmp_path, text), *private, *words)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_refused_beforehand_costs_nothing(tmp_path: Path, private: list[str]) -> None:
    vault = ["--vault", str(tmp_path / "v.vault")]
    text = "def answer(db):\n    n = {{ len(db) }} spending 0.9\n    return {{ len(db) }} spending 0.9\n"
    assert run(tmp_path, written(tmp_path, text), *private, "--epsilon", "1", *vault).returncode == 3
    left = run(tmp_path, written(tmp_path, COUNT), *private, "--epsilon", "1", *vault)
    assert left.returncode == 0, left.stderr


def test_a_program_without_a_database_just_runs(tmp_path: Path) -> None:
    done = run(tmp_path, written(tmp_path, 'def main(n=3):\n    print("n", n)\n    return [(1, n), (22, n * n)]\n'))
    assert done.stdout.splitlines() == ["n 3", "1   3", "22  9"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree", "jostled_tree"])
def test_a_program_that_learns_nothing_rehearses_at_once(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, str(PROGRAMS / f"{name}.jst"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NOT PRIVATE")
    assert "loss on this database" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["histogram", "dawa_class", "trees", "dpcomp"])
def test_every_program_runs_as_it_stands(tmp_path: Path, name: str) -> None:
    asks = ["--train"] if "--train" in (PROGRAMS / f"{name}.jst").read_text("utf-8") else []
    done = run(tmp_path, str(PROGRAMS / f"{name}.jst"), *asks)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NOT PRIVATE") or name == "dpcomp"


def test_every_program_says_in_three_lines_what_it_is() -> None:
    for path in PROGRAMS.glob("*.jst"):
        head = path.read_text("utf-8").splitlines()[:4]
        assert [line[:2] for line in head] == ["# ", "# ", "# ", ""]
        assert head[2].startswith(f"# Run: jostle run programs/{path.name}")


CHOICE = """\
def answer(db):
    n = noisyCount(db, epsilon / 2)
    if n < 0 - 1000000:
        return choose L2 among {low, high} informed by {n}
    action = choose L1 among {stop, go} informed by {n}
    return n if action == stop else noisyCount(db, epsilon / 2)
"""


@pytest.mark.parametrize(
    ("forced", "said"),
    [
        ("L1=gone", "choice L1 has no alternative 'gone'"),
        ("L9=stop", "answer makes no choice L9"),
        ("L1", "forces nothing"),
    ],
)
def test_what_cannot_be_forced_is_refused_before_anything_is_spent(
    tmp_path: Path, private: list[str], forced: str, said: str
) -> None:
    program, vault = written(tmp_path, CHOICE), ["--epsilon", "1", "--vault", str(tmp_path / "v.vault")]
    done = run(tmp_path, program, *private, *vault, "--force", forced)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert run(tmp_path, program, *private, *vault).returncode == 0


def test_what_was_forced_and_not_met_is_said_beside_the_answer(tmp_path: Path, private: list[str]) -> None:
    words = ["--epsilon", "1", "--force", "L2=high", "--force", "L1=go", "--json"]
    done = run(tmp_path, written(tmp_path, CHOICE), *private, *words)
    assert isinstance(answered(done)["answer"], int)
    assert done.stderr == "warning: L2 is forced, but no such choice was made in this run\n"


def test_an_answer_that_cannot_be_written_is_not_lost(tmp_path: Path, private: list[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("only some systems have a file that is always full")
    program, words = written(tmp_path, COUNT), [*private, "--epsilon", "1", "--out", "/dev/full"]
    done = run(tmp_path, program, *words)
    assert done.returncode == 1
    assert isinstance(json.loads(done.stdout.splitlines()[-1]), int)
    assert "the answer was paid for, and is printed instead" in done.stderr
    done = run(tmp_path, program, *words, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert isinstance(found["answer"], int)
    assert (found["out"], found["error"]["title"]) == (None, "cannot write /dev/full: No space left on device")


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_spent(tmp_path: Path, private: list[str]) -> None:
    program, vault = written(tmp_path, COUNT), ["--epsilon", "1", "--vault", str(tmp_path / "v.vault")]
    for place in (tmp_path, tmp_path / "none" / "answer.json"):
        done = run(tmp_path, program, *private, *vault, "--out", str(place))
        assert (done.returncode, done.stdout) == (1, "")
        assert f"cannot write {place}" in done.stderr
    assert run(tmp_path, program, *private, *vault).returncode == 0


@pytest.mark.slow
def test_rows_are_published_into_a_file_within_the_promise(tmp_path: Path, private: list[str]) -> None:
    """What cannot be published is refused before anything is charged, by what is public alone."""
    many = "from publishing import ProjectedHistogram\nmany = ProjectedHistogram(k=99)\n"
    program = written(tmp_path, many + "def publish(db):\n    return many(db)\n")
    refused = run(tmp_path, program, *private, "--epsilon", "1")
    assert refused.returncode == 1
    assert f"k=99 columns are asked for, and there are {len(SCHEMA.attributes)} attributes" in refused.stderr

    rows = tmp_path / "published.parquet"
    done = run(tmp_path, str(PROGRAMS / "publish.jst"), *private, "--epsilon", "1", "--out", str(rows))
    assert done.returncode == 0, done.stderr
    found = pq.read_table(rows)
    assert set(found.column_names) <= set(SCHEMA.names)
    assert SCHEMA.label in found.column_names
    assert "PrivPfC released at epsilon 1" in done.stdout


def test_the_answer_is_written_as_the_ending_says_and_one_that_is_not_known_is_refused(
    tmp_path: Path, private: list[str]
) -> None:
    np.save(tmp_path / "grid.npy", np.arange(16).reshape(4, 4))
    text = "#Option\ndef Flat(db, queries):\n    total = noisyCount(db, epsilon)\n"
    text += "    return queries over [total / (db.x_range * db.y_range)]\n"
    vault = str(tmp_path / "v.vault")
    grid = ["--entry", "Flat", "--data", str(tmp_path / "grid.npy"), "--epsilon", "100", "--vault", vault]
    done = run(tmp_path, written(tmp_path, text), *grid, "--out", str(tmp_path / "cells.xlsx"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing is written to a file .xlsx" in done.stderr
    done = run(
        tmp_path, written(tmp_path, text), *grid, "--out", str(tmp_path / "cells.csv")
    )  # with all of the promise
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "cells.csv").read_text("utf-8").splitlines()[0] == '"x_from","x_to","y_from","y_to","count"'
    plain = text.removeprefix("#Option\n")
    np.save(tmp_path / "other.npy", np.arange(25).reshape(5, 5))
    other = ["--data", str(tmp_path / "other.npy"), "--epsilon", "100"]
    done = run(tmp_path, written(tmp_path, plain), *other, "--out", str(tmp_path / "plain.csv"))
    assert done.returncode == 0, done.stderr
    done = run(tmp_path, written(tmp_path, COUNT), *private, "--epsilon", "1", "--out", str(tmp_path / "count.csv"))
    assert done.returncode == 1
    assert (done.stdout, "this answer is not written to a file .csv" in done.stderr) == ("", True)
    either = "from histograms import DAWA\n\n" + COUNT.replace(
        "return n", "if n < -1000:\n        return DAWA(db, epsilon=epsilon / 2)\n    return n"
    )  # which of them it is depends on a released number
    done = run(tmp_path, written(tmp_path, either), *private, "--epsilon", "1", "--out", str(tmp_path / "count.csv"))
    assert done.returncode == 1
    assert "this answer is not written to a file .csv" in done.stderr
    assert isinstance(json.loads(done.stdout.splitlines()[-1]), int)


def test_a_report_is_a_page_with_the_answer_and_the_trace(tmp_path: Path, private: list[str]) -> None:
    program, page = written(tmp_path, COUNT), tmp_path / "run.html"
    done = run(tmp_path, program, *private, "--epsilon", "1", "--no-vault", "--json", "--report", str(page))
    text = page.read_text("utf-8")
    assert str(answered(done)["answer"]) in text
    assert "under add_remove, fixed before the run" in text
    refused = run(tmp_path, program, *private, "--epsilon", "1", "--report", str(tmp_path / "none" / "run.html"))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "fix: --report a file in a folder that there is" in refused.stderr
