"""The program that selects words of private texts, run as a user runs it."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from processes import ran

from jostle import Categorical, Schema, SparseFeatures

PROGRAM = Path(__file__).parents[2] / "programs" / "select.jst"


@pytest.fixture
def private(tmp_path: Path) -> tuple[str, ...]:
    """Texts of which two words say whether they are spam, in two parts, and what the command line is told of them."""
    chance = np.random.default_rng(0)
    spam = chance.random(4000) < 0.4
    words = np.array(["win", "free", "meet", "home", "noon", "late"])
    chances = np.where(spam[:, None], [0.7, 0.6, 0.05, 0.05, 0.3, 0.3], [0.05, 0.05, 0.1, 0.1, 0.3, 0.3])
    texts = [" ".join(words[has]) for has in chance.random((4000, 6)) < chances]
    part = np.where(chance.random(4000) < 0.7, "learn", "test")
    frame = pd.DataFrame({"text": texts, "part": part, "label": np.where(spam, "spam", "ham")})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    columns = {"part": Categorical(["learn", "test"]), "label": Categorical(["ham", "spam"])}
    schema = Schema(columns, label="label", features=SparseFeatures("text", words=words.tolist()))
    schema.write(tmp_path / "rows.toml")
    return "--data", str(tmp_path / "rows.csv"), "--schema", str(tmp_path / "rows.toml"), "--no-vault", "--epsilon", "8"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what was learned is kept: the program learns to choose once."""
    return tmp_path_factory.mktemp("home")


def run(home: Path, entry: str, *words: str) -> str:
    """Run an entry of the program; return what it shows."""
    command = ("-m", "jostle", "run", str(PROGRAM), "--entry", entry, *words)
    done = ran(*command, env={**os.environ, "JOSTLE_HOME": str(home)})
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@pytest.mark.slow
def test_words_of_private_texts_are_selected_from_the_command_line(
    tmp_path: Path, home: Path, private: tuple[str, ...]
) -> None:
    """With what is trained on them, for the one budget."""
    out = tmp_path / "selected.json"
    run(home, "selectFeatures", *private, "--out", str(out))
    found = json.loads(out.read_text())
    assert {"column": "text", "value": "win"} in found["features"]
    assert 7 < Fraction(found["epsilon"]) <= 8  # but for what was looked at
    assert found["model"]["made_by"] == "NaiveBayes"


@pytest.mark.slow
def test_one_program_selects_trains_and_evaluates(tmp_path: Path, home: Path, private: tuple[str, ...]) -> None:
    """On parts that share no row, each with the whole budget."""
    out = tmp_path / "curve.json"
    said = run(home, "selectTrainEvaluate", *private, "--out", str(out))
    assert "epsilon 8 was spent" in said
    assert json.loads(out.read_text())["auc"] > 0.85
