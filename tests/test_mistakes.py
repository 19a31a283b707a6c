"""Mistakes that newcomers make, and what they are told: `tests/cases/mistakes`.

A case is a line of Python after >>>, or a command after $, and what it ends with. To add one, write the line, run the
tests with JOSTLE_REWRITE=1, and review the text.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_here import ran

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import JostleError
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector, PrivateFolds

CASES = Path(__file__).parent / "cases" / "mistakes"
PROGRAMS = {
    "empty": "",
    "count": "def answer(db):\n    return noisyCount(db, epsilon)\n",
    "twice": "def answer(db):\n    return noisyCount(db, epsilon) + noisyCount(db, epsilon)\n",
    "typo": "def answer(db):\n    return nosyCount(db, epsilon)\n",
    "leak": 'def answer(db):\n    if len(db) > 100:\n        return "many"\n    return "few"\n',
}
SCHEMA = Schema(
    {
        "age": Numeric(18, 98, bins=8),
        "region": Categorical(["north", "east", "south", "west"]),
        "smokes": Categorical(["no", "yes"]),
    },
    label="smokes",
)


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Answers to a survey, and a folder with them, their schema, and programs."""
    chance = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "age": chance.integers(18, 99, 300),
            "region": chance.choice(list(SCHEMA["region"].labels), 300),
            "smokes": chance.choice(["no", "yes"], 300),
        }
    )
    monkeypatch.chdir(tmp_path)
    frame.to_csv("rows.csv", index=False)
    frame.to_csv("rows.txt", index=False)
    frame.to_csv("semicolons.csv", index=False, sep=";")
    frame.to_csv("tabs.csv", index=False, sep="\t")
    frame.to_csv("utf16.csv", index=False, encoding="utf-16")
    frame.to_csv("headless.csv", index=False, header=False)
    frame.to_csv("packed.csv.gz", index=False, compression=None)
    Path("nothing.csv").touch()
    Path("folder.csv").mkdir()
    SCHEMA.write("rows.toml")
    Path("wrong.toml").write_text(SCHEMA.to_toml().replace('"categorical"', '"catgorical"'), "utf-8")
    for name, text in PROGRAMS.items():
        Path(f"{name}.jst").write_text(text, "utf-8")
    return frame


def as_written(name: str, mark: str, told: Callable[[str], str]) -> tuple[str, str]:
    """Return a file of cases as it would be written today, and as it is."""
    path = CASES / name
    text = path.read_text("utf-8")
    cases = [line for line in text.splitlines() if line.startswith(mark)]
    now = "\n\n".join(f"{case}\n{told(case.removeprefix(mark))}" for case in cases) + "\n"
    if "JOSTLE_REWRITE" in os.environ:
        path.write_text(now, "utf-8")
        text = now
    return now, text


def test_what_is_said_of_mistakes_in_python(people: pd.DataFrame) -> None:
    table, public = Table.from_frame(people, SCHEMA), pd.read_csv("rows.csv")
    db = jostle.rehearse(Table.from_frame(public, SCHEMA), epsilon=100, seed=1)
    unlabelled = Table.from_frame(public, Schema(dict(SCHEMA.columns)))
    names = {
        **{name: getattr(jostle, name) for name in ("Categorical", "Numeric", "Schema", "Table")},
        **{kind.__name__: kind for kind in (PrivateClassifier, PrivateFeatureSelector, PrivateFolds)},
        "jostle": jostle,
        "pd": pd,
        "table": table,
        "db": db,
        "frame": people,
        "schema": SCHEMA,
        "unlabelled": unlabelled,
        "model": jostle.options.get("NaiveBayes")(db, epsilon=1),
    }

    def told(line: str) -> str:
        with pytest.raises(JostleError) as refusal:
            eval(line, names)  # noqa: S307 - the lines are those of the file
        return f"{type(refusal.value).__name__}: {refusal.value}".replace(str(Path.cwd()), "FOLDER")

    now, text = as_written("python.txt", ">>> ", told)
    assert now == text


def test_what_is_said_of_mistakes_in_commands(
    people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(people)

    def told(line: str) -> str:
        done = ran(monkeypatch, capsys, *line.split()[1:])
        said = (done.out + done.err).replace(str(Path.cwd()), "FOLDER").rstrip()
        assert "Traceback" not in said
        assert done.status in {1, 2, 3}, line
        return f"{said}\n-> {done.status}"

    now, text = as_written("commands.txt", "$ ", told)
    assert now == text


def test_there_are_as_many_as_are_promised() -> None:
    lines = [line for path in CASES.iterdir() for line in path.read_text("utf-8").splitlines()]
    assert sum(line.startswith((">>> ", "$ ")) for line in lines) >= 60
