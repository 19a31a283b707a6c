"""Mistakes that newcomers make, and what they are told: `tests/cases/mistakes`.

A case is a line of Python after >>>, or a command after $, and what it ends with. To add one, write the line, run the
tests with JOSTLE_REWRITE=1, and review the text.
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from openings import protected
from run_here import ran
from scipy.sparse import csr_array
from some_expressions import Own
from some_tables import SMALL, small_frame

import jostle
from jostle import Categorical, Dates, Identifier, Numeric, Schema, SparseFeatures, Table
from jostle.errors import JostleError
from jostle.privacy import expressions
from jostle.privacy.mechanisms import AddNoiseTo
from jostle.privacy.noise import Noise, SeededBits
from jostle.sites import Always, choose_each
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector, PrivateFolds
from jostle.tables.kernels import Counts, Marks, SparseCounts, Sums
from jostle.tasks.ranges.estimate import Workload

Names = dict[str, Any]

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


def of_users(people: pd.DataFrame) -> Names:
    """Return what users have at hand."""
    public = pd.read_csv("rows.csv")
    db = jostle.rehearse(Table.from_frame(public, SCHEMA), epsilon=100, seed=1)
    line, plane = ({name: Numeric(0, 64, bins=64) for name in names} for names in ("x", "xy"))
    labelled = {"age": Numeric(0, 100, bins=8), "ill": Categorical(["no", "yes"])}
    income, region = Numeric(0, 100_000, bins=20, missing="value"), Categorical(["north", "east", "south"])
    return {
        **{name: getattr(jostle, name) for name in ("Categorical", "Numeric", "Schema", "Table", "choose")},
        **{kind.__name__: kind for kind in (Always, PrivateClassifier, PrivateFeatureSelector, PrivateFolds, Workload)},
        "jostle": jostle,
        "pd": pd,
        "math": math,
        "table": Table.from_frame(people, SCHEMA),
        "db": db,
        "frame": people,
        "schema": SCHEMA,
        "unlabelled": Table.from_frame(public, Schema(dict(SCHEMA.columns))),
        "model": jostle.options.get("NaiveBayes")(db, epsilon=1),
        "choose_each": choose_each,
        "SIZES": ("small", "large"),
        "asked": partial(jostle.advise, schema=Schema(labelled, label="ill"), rows=1000),
        "guessed": partial(jostle.advise_rows_per_person, rows=1000, cells=9),
        "LINE": Schema(line),
        "MAP": Schema(plane),
        "UNITS": Schema({"income": income, "region": region}),
    }


def of_tables(_: pd.DataFrame) -> Names:
    """Return what schemas and tables are made of."""
    features = SparseFeatures("text", words=["free", "win", "you"])
    return {
        **{kind.__name__: kind for kind in (Categorical, Dates, Identifier, Numeric, Schema, SparseFeatures, Table)},
        "np": np,
        "pd": pd,
        "pl": pl,
        "pa": pa,
        "dt": dt,
        "cast": cast,
        "SMALL": SMALL,
        "small_frame": small_frame,
        "WORDS_ONLY": Schema({"label": Categorical(["ham", "spam"])}, label="label", features=features),
        "eye": lambda rows, columns: csr_array(np.eye(rows, columns)),
    }


def of_questions(_: pd.DataFrame) -> Names:
    """Return what is asked of a probe, and what noise is drawn with."""
    kinds = (AddNoiseTo, Counts, Fraction, Marks, Own, SparseCounts, Sums)
    names = "argmax along cells largest mean_of_cells rows sums total"
    return {
        **{name: getattr(expressions, name) for name in names.split()},
        **{kind.__name__: kind for kind in kinds},
        "np": np,
        "math": math,
        "noise": Noise(SeededBits(29)),
        "db": protected(9),
    }


@pytest.mark.parametrize(("file", "names"), [("python", of_users), ("tables", of_tables), ("questions", of_questions)])
def test_what_is_said_of_mistakes_in_python(
    file: str, names: Callable[[pd.DataFrame], Names], people: pd.DataFrame
) -> None:
    known = names(people)
    db = known.get("db")

    def told(line: str) -> str:
        before = db and db.spent
        with pytest.raises(JostleError) as refusal:
            eval(line, known)  # noqa: S307 - the lines are those of the file
        paid = any(method in line for method in (").interval(", ").refine(", ").save("))  # which is asked of an answer
        assert paid or before == (db and db.spent), line
        return f"{type(refusal.value).__name__}: {refusal.value}".replace(str(Path.cwd()), "FOLDER")

    now, text = as_written(f"{file}.txt", ">>> ", told)
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
