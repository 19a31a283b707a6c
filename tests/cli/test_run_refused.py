"""A refused run leaves nothing behind: no vault, no promise, no charge, no trace, no answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from run_here import Run
from small_tables import SCHEMA

from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
from jostle.tables.schema import Neighbours

COUNT = "def answer(db):\n    n = {{ len(db) }} spending 50%\n    return n\n"
ALL = ("--data", "rows.csv", "--schema", "rows.toml", "--epsilon", "1", "--trace", "t.jsonl", "--out", "a.json")


@pytest.fixture
def run(command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs a command in a folder with private rows, a program and some files."""
    monkeypatch.setenv("JOSTLE_HOME", str(tmp_path.parent / "home"))
    (tmp_path / "p.jst").write_text(COUNT)
    (tmp_path / "folder").mkdir()
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "link.csv").symlink_to(tmp_path / "rows.csv")
    (tmp_path / "notes.txt").write_text("no trace\n")
    (tmp_path / "short.toml").write_text('[columns.nosuch]\nkind = "numeric"\nlow = 0\nhigh = 1\n')
    labelless = Path("rows.toml").read_text().replace('label = "label"\n', "", 1)
    (tmp_path / "labelless.toml").write_text(labelless)
    np.save("grid.npy", np.arange(9).reshape(3, 3))
    (tmp_path / "bad.npy").write_bytes(b"no array")
    (tmp_path / "bad.csv.gz").write_bytes(b"not packed")
    return partial(command, "run")


def held(folder: Path) -> Mapping[str, bytes | None]:
    """Return all that is in a folder, byte for byte."""
    paths = sorted(folder.rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths if "home" not in path.parts}


def put(text: str) -> Callable[[], object]:
    return lambda: Path("p.jst").write_text(text)


def inferred() -> None:
    """Write a schema that says that it was read off this file."""
    text = SCHEMA.to_toml().replace("neighbours", f'inferred_from = "{Path.cwd()}/rows.csv"\nneighbours', 1)
    Path("rows.toml").write_text(text)


def pipe() -> None:
    """Make pipes that nobody reads from."""
    os.mkfifo("pipe")
    os.mkfifo("pipe.html")


def nothing() -> None:
    """Change nothing."""


TWICE = "def answer(db):\n    n = {{ len(db) }} spending 2\n    return n\n"
MAKER = (
    "from classifiers import Majority, NaiveBayes\n\nm = MkChoiceMaker among {Majority, NaiveBayes} "
    'trained on public("folder")\n\ndef answer(db):\n    return m(db)\n'
)
ALONE = (
    "from classifiers import NaiveBayes\n\ndef answer(db):\n    n = {{ len(db) }} spending 50%\n"
    "    return NaiveBayes(db, epsilon=epsilon / 2)\n"
)
PARAMETERS = "from classifiers import Mohammed\n\nt = Mohammed(depth=2)\n\ndef answer(db):\n    return t(db=db)\n"
ALTERNATIVES = (
    "from classifiers import Majority, NaiveBayes\n\ndef answer(db):\n    n = {{ len(db) }} spending 50%\n"
    "    a = choose L1 among {Majority, NaiveBayes} informed by {n}\n    return a(db, epsilon=epsilon / 2)\n"
)
CHOSEN = (
    "from classifiers import Majority, NaiveBayes\nfrom public import tableCorpus\n\n"
    "m = MkChoiceMaker among {Majority, NaiveBayes} trained on tableCorpus\n\ndef answer(db):\n    return m(db)\n"
)
LABELLESS = (*ALL[:3], "labelless.toml", *ALL[4:])
MODEL = "from classifiers import NaiveBayes\n\n#Option\ndef answer(db):\n    return NaiveBayes(db)\n"
REFUSED: dict[str, tuple[Callable[[], object], tuple[str, ...], int, str]] = {
    "no program": (nothing, ("q.jst", *ALL), 1, "q.jst"),
    "a mistake of syntax": (put("def answer(db)\n"), ("p.jst", *ALL), 1, "J006"),
    "a private value": (put("def answer(db):\n    return len(db)\n"), ("p.jst", *ALL), 1, "J203"),
    "a file that was not named": (put(MAKER), ("p.jst", *ALL), 1, "J515"),
    "the file among the public ones": (nothing, ("p.jst", *ALL, "--public", "public"), 1, "given as private"),
    "no public files": (nothing, ("p.jst", *ALL, "--public", "nowhere"), 1, "there is no folder"),
    "a maker that has not learned": (put(MAKER), ("p.jst", *ALL, "--public", "folder"), 1, "m has not learned yet"),
    "a maker that learns nothing": (
        put(MAKER),
        ("p.jst", *ALL, "--public", "folder", "--train"),
        1,
        "no public database",
    ),
    "a column that is not there": (put(COUNT.replace("len(db)", 'len(db[regin = "x"])')), ("p.jst", *ALL), 1, "J503"),
    "more than is promised": (put(TWICE), ("p.jst", *ALL), 3, "may spend epsilon 2, and 1 is promised"),
    "nothing of this name": (nothing, ("p.jst", *ALL, "--entry", "nosuch"), 1, "nosuch"),
    "too many values": (put("def answer(db, x, y):\n    return {{ len(db) }}\n"), ("p.jst", *ALL), 1, "takes 3 values"),
    "nothing to force": (nothing, ("p.jst", *ALL, "--force", "L1=stop"), 1, "makes no choice"),
    "no policies": (nothing, ("p.jst", *ALL, "--policy", "nowhere.json"), 1, "nowhere.json"),
    "no promise": (nothing, ("p.jst", *ALL[:4], *ALL[6:]), 1, "no epsilon is promised"),
    "a promise of nothing": (nothing, ("p.jst", *ALL[:5], "0", *ALL[6:]), 1, "0"),
    "a promise in words": (nothing, ("p.jst", *ALL[:5], "lots", *ALL[6:]), 1, "lots"),
    "no data": (nothing, ("p.jst", "--data", "nowhere.csv", *ALL[2:]), 1, "nowhere.csv"),
    "a folder of data": (nothing, ("p.jst", "--data", "folder", *ALL[2:]), 1, "folder"),
    "data that cannot be read": (nothing, ("p.jst", "--data", "bad.csv.gz", *ALL[2:]), 1, "cannot be read"),
    "no grid": (nothing, ("p.jst", "--data", "bad.npy", *ALL[4:]), 1, "NumPy"),
    "data without these columns": (nothing, ("p.jst", *ALL[:3], "short.toml", *ALL[4:]), 1, "nosuch"),
    "no schema": (nothing, ("p.jst", *ALL[:2], *ALL[4:]), 1, "no schema"),
    "a schema that is not there": (nothing, ("p.jst", *ALL[:3], "no.toml", *ALL[4:]), 1, "no.toml"),
    "a schema read off the rows": (inferred, ("p.jst", *ALL), 1, "read off this same table"),
    "a trace in no folder": (nothing, ("p.jst", *ALL[:7], "none/t.jsonl", *ALL[8:]), 1, "cannot write the trace"),
    "a trace that is a folder": (nothing, ("p.jst", *ALL[:7], "folder", *ALL[8:]), 1, "cannot write the trace"),
    "a trace that is none": (nothing, ("p.jst", *ALL[:7], "notes.txt", *ALL[8:]), 1, "no trace"),
    "an answer in no folder": (nothing, ("p.jst", *ALL[:9], "none/a.json"), 1, "cannot write"),
    "an answer that is a folder": (nothing, ("p.jst", *ALL[:9], "folder"), 1, "cannot write"),
    "an answer of another kind": (nothing, ("p.jst", *ALL[:9], "a.csv"), 1, "not written to a file .csv"),
    "a model of another kind": (put(MODEL), ("p.jst", *ALL[:9], "a.npy"), 1, "not written to a file .npy"),
    "an Option that does not run": (put(ALONE), ("p.jst", *LABELLESS), 1, "NaiveBayes does not run here"),
    "an Option with parameters": (put(PARAMETERS), ("p.jst", *LABELLESS), 1, "Mohammed(depth=2) does not run here"),
    "alternatives that do not": (put(ALTERNATIVES), ("p.jst", *LABELLESS), 1, "Majority does not run here"),
    "a maker that does not": (put(CHOSEN), ("p.jst", *LABELLESS), 1, "Majority does not run here"),
    "a maker by itself": (put(CHOSEN), ("p.jst", *LABELLESS, "--entry", "m"), 1, "does not run here"),
    "an Option by itself": (put(ALONE), ("p.jst", *LABELLESS, "--entry", "NaiveBayes"), 1, "NaiveBayes does not"),
    "an answer into a pipe": (pipe, ("p.jst", *ALL[:9], "pipe"), 1, "it is a pipe"),
    "a report into a pipe": (pipe, ("p.jst", *ALL[:8], "--report", "pipe.html"), 1, "it is a pipe"),
    "a trace into a pipe": (pipe, ("p.jst", *ALL[:7], "pipe"), 1, "it is a pipe"),
    "a trace over the data": (nothing, ("p.jst", *ALL[:7], "rows.csv"), 1, "over the private data"),
    "a trace that is the vault": (nothing, ("p.jst", *ALL[:7], "v", "--vault", "v"), 1, "over the vault"),
    "two words on vaults": (nothing, ("p.jst", *ALL, "--vault", "v", "--no-vault"), 1, "contradict"),
    "a vault in no folder": (nothing, ("p.jst", *ALL, "--vault", "none/v"), 1, "the vault"),
    "a vault that is none": (nothing, ("p.jst", *ALL, "--vault", "notes.txt"), 1, "notes.txt"),
}  # fmt: skip


@pytest.mark.representative("why")
@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_refused_run_leaves_the_folder_as_it_was(run: Run, tmp_path: Path, why: str, *, as_json: bool) -> None:
    prepare, words, status, said = REFUSED[why]
    prepare()
    before = held(tmp_path)
    done = run(*words, *(["--json"] if as_json else []))
    assert done.status == status, done
    assert said in (done.out if as_json else done.err)
    assert held(tmp_path) == before


def with_vault(
    promise: str,
    spent: str,
    columns: tuple[str, ...] = SCHEMA.names,
    neighbours: Neighbours = "add_remove",
    text: str = COUNT,
) -> None:
    """Make a vault beside the rows, and a program."""
    put(text)()
    vault = FileVault("rows.csv.vault")
    vault.create(Fraction(promise), TableFacts(columns, neighbours))
    vault.open(None, TableFacts(columns, neighbours)).pay(Fraction(spent), "before")


KEPT: dict[str, tuple[Callable[[], object], tuple[str, ...], int, str]] = {
    "a larger promise": (lambda: with_vault("1/2", "0"), ("p.jst", *ALL), 3, "jostle vault raise"),
    "nothing left": (lambda: with_vault("1", "1"), ("p.jst", *ALL), 3, "0 is left"),
    "nothing left of what is not said": (lambda: with_vault("1", "1"), ("p.jst", *ALL[:4]), 3, "0 is left"),
    "less left than it needs": (
        lambda: with_vault("3", "2", text=TWICE),
        ("p.jst", *ALL[:5], "3", *ALL[6:]),
        3,
        "may spend epsilon 2, and 1 is left of the promise",
    ),
    "other columns": (lambda: with_vault("1", "1/2", ("x", "y")), ("p.jst", *ALL), 1, "other columns"),
    "another relation": (
        lambda: with_vault("1", "1/2", neighbours="replace_one"),
        ("p.jst", *ALL),
        1,
        "keeps a promise about rows under replace_one",
    ),
    "a mistake": (lambda: with_vault("1", "0", text="def f(db)\n"), ("p.jst", *ALL), 1, "J006"),
    "more than there is": (lambda: with_vault("1", "0", text=TWICE), ("p.jst", *ALL), 3, "may spend epsilon 2"),
}


@pytest.mark.parametrize("why", KEPT)
def test_a_refused_run_leaves_a_vault_as_it_was(run: Run, tmp_path: Path, why: str) -> None:
    prepare, words, status, said = KEPT[why]
    prepare()
    before, vault = held(tmp_path), FileVault("rows.csv.vault")
    known = vault.statements()
    done = run(*words)
    assert done.status == status, done
    assert said in done.err
    assert vault.statements() == known
    assert held(tmp_path) == before


def test_what_is_refused_before_the_rows_are_read_needs_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("no table\n")
    (tmp_path / "p.jst").write_text(TWICE)
    assert run("p.jst", *ALL).status == 3


def test_a_maker_that_is_not_called_need_not_have_learned(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.jst").write_text(MAKER + "\ndef count(db):\n    return noisyCount(db, epsilon)\n")
    asked = ("p.jst", *ALL, "--public", "folder", "--entry")
    assert "m has not learned yet" in run(*asked, "answer").err
    assert run(*asked, "count").status == 0


def test_the_same_command_runs_once_it_is_allowed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.jst").write_text(TWICE)
    assert run("p.jst", *ALL).status == 3
    done = run("p.jst", *ALL[:5], "2", *ALL[6:])
    assert done.status == 0, done
    assert {"a.json", "t.jsonl", "rows.csv.vault"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("where", "what"),
    [
        (("--out", "spent.json"), "--out spent.json would be written over the vault"),
        (("--out", "linked.json"), "--out linked.json would be written over the vault"),
        (("--out", "rows.csv"), "--out rows.csv would be written over the private data"),
        (("--out", "kept.json"), "--out kept.json would be written over the trace"),
        (("--out", "../{}/rows.csv"), "would be written over the private data"),
        (("--report", "spent.html", "--vault", "spent.html"), "--report spent.html would be written over the vault"),
        (("--report", "rows.toml"), "a report is not written to a file .toml"),
        (("--report", "p.jst"), "a report is not written to a file .jst"),
    ],
)
def test_nothing_that_a_run_goes_by_is_written_over(
    run: Run, tmp_path: Path, where: tuple[str, ...], what: str
) -> None:
    """Who writes a page over the vault has forgotten what was spent."""
    given = ("p.jst", "--data", "rows.csv", "--schema", "rows.toml", "--epsilon", "1", "--trace", "kept.json")
    first = run(*given, "--vault", "spent.html" if "spent.html" in where else "spent.json")
    assert first.status == 0
    (tmp_path / "linked.json").symlink_to(tmp_path / "spent.json")
    before = held(tmp_path)

    vault = () if "--vault" in where else ("--vault", "spent.json")
    done = run(*given[:5], *vault, "--trace", "kept.json", *(each.format(tmp_path.name) for each in where))

    assert done.status == 1
    assert what in done.err
    assert held(tmp_path) == before


def test_a_choice_is_not_refused_where_one_of_its_alternatives_runs(run: Run) -> None:
    put(ALTERNATIVES.replace("classifiers import Majority", "options import DAWA").replace("Majority", "DAWA"))()
    assert run("p.jst", *LABELLESS).status == 0
    assert FileVault("rows.csv.vault").account().spent == 1
