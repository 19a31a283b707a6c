"""Files of models: read by any process, to the last digit; and whoever wrote one, it is a model or a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from processes import ran
from tables_of_labels import arrow, correlated, table_of
from test_every_option import CLASSIFIERS

import jostle
from jostle.options.models import Model

SCHEMA, ROWS = correlated(300)
FRAME = arrow(ROWS, SCHEMA)
KINDS = ("Majority", "NaiveBayes", "RandomForest", "BayesTree", "PooledBayes")
"""Options whose models are of every kind there is."""


@cache
def learnt(name: str) -> Model:
    """Return the model of an Option on public rows."""
    option: Any = jostle.options.get(name)
    model: Model = option(jostle.rehearse(table_of(ROWS, SCHEMA), seed=2), epsilon=5)
    return model


def every_kind(kind: type[Model] = Model) -> Iterator[type[Model]]:
    """Yield the classes of models that Jostle has."""
    for each in kind.__subclasses__():
        if each.__module__.startswith("jostle."):
            yield each
        yield from every_kind(each)


READ = """
import sys
import pyarrow as pa, pyarrow.parquet
import jostle
frame = pyarrow.parquet.read_table(sys.argv[1])
for path in sys.argv[2:]:
    model = jostle.load_model(path)
    print(type(model).__name__, model.predict_proba(frame).tobytes().hex())
"""


def test_the_models_of_every_option_are_read_by_a_fresh_process_to_the_last_digit(tmp_path: Path) -> None:
    from pyarrow import parquet  # noqa: PLC0415 - this test alone

    parquet.write_table(FRAME, tmp_path / "rows.parquet")
    by_kind: dict[type[Model], list[str]] = {}
    for name in CLASSIFIERS:
        by_kind.setdefault(type(learnt(name)), []).append(name)
    assert set(by_kind) == set(every_kind())

    for kind, names in by_kind.items():  # a process each: reading one kind may not help with another
        paths = [tmp_path / f"{kind.__name__}{number}.json" for number, _ in enumerate(names)]
        for name, path in zip(names, paths, strict=True):
            learnt(name).save(path)
        done = ran("-c", READ, tmp_path / "rows.parquet", *paths)
        assert done.returncode == 0, done.stderr
        said = [line.split(" ") for line in done.stdout.splitlines()]
        assert said == [[kind.__name__, learnt(name).predict_proba(FRAME).tobytes().hex()] for name in names]


@pytest.mark.parametrize("name", KINDS)
def test_what_is_read_is_written_again_the_same(name: str) -> None:
    text = learnt(name).to_json()
    assert Model.from_json(text).to_json() == text
