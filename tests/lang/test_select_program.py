"""The program that selects words of private texts, run as a user runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
from processes import ran

from jostle import Categorical, Schema, SparseFeatures

PROGRAM = Path(__file__).parents[2] / "programs" / "select.jst"


def test_words_of_private_texts_are_selected_from_the_command_line(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    spam = chance.random(4000) < 0.4
    words = np.array(["win", "free", "meet", "home", "noon", "late"])
    chances = np.where(spam[:, None], [0.7, 0.6, 0.05, 0.05, 0.3, 0.3], [0.05, 0.05, 0.1, 0.1, 0.3, 0.3])
    texts = [" ".join(words[has]) for has in chance.random((4000, 6)) < chances]
    pd.DataFrame({"text": texts, "label": np.where(spam, "spam", "ham")}).to_csv(tmp_path / "rows.csv", index=False)
    schema = Schema(
        {"label": Categorical(["ham", "spam"])}, label="label", features=SparseFeatures("text", words=words.tolist())
    )
    schema.write(tmp_path / "rows.toml")
    private = ("--data", str(tmp_path / "rows.csv"), "--schema", str(tmp_path / "rows.toml"), "--no-vault")
    out = tmp_path / "selected.json"
    words_of_command = ("-m", "jostle", "run", str(PROGRAM), *private, "--epsilon", "8", "--out", str(out))
    done = ran(*words_of_command, env={**os.environ, "JOSTLE_HOME": str(tmp_path / "home")})
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert {"column": "text", "value": "win"} in found["features"][:2]
    assert found["epsilon"] == "8"
