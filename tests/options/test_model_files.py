"""Files of models: read by any process, to the last digit; and whoever wrote one, it is a model or a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import ran
from tables_of_labels import arrow, correlated, table_of
from test_every_option import CLASSIFIERS

import jostle
from jostle.errors import JostleError, OptionError, TableError
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


ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 10**30, 0.5, 1e308, "", "x", "1e900000", "1/0", [], [[]], {}, [0, [1]], ["a"], {"a": 1}),
    *([10**30], [-1], [2**62] * 3, "[columns.a]\nkind = 3", [1e308] * 4),
)


def places(held: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every part of a file, and to the first parts of every list."""
    if way:
        yield way
    items = (
        list(held.items()) if isinstance(held, dict) else list(enumerate(held))[:2] if isinstance(held, list) else []
    )
    for key, value in items:
        yield from places(value, (*way, key))


def changed(held: Any, way: tuple[Any, ...], value: Any) -> Any:
    """Return the parts with another value at a place."""
    if not way:
        return value
    parts = dict(held) if isinstance(held, dict) else list(held)
    parts[way[0]] = changed(parts[way[0]], way[1:], value)
    return parts


@pytest.mark.parametrize("name", KINDS)
def test_a_file_with_any_part_changed_is_a_model_or_refused_in_a_sentence(name: str) -> None:
    held = json.loads(learnt(name).to_json())
    refusals = []
    for way in places(held):
        for value in ODD:
            try:
                model = Model.from_json(json.dumps(changed(held, way, value)))
            except JostleError as refusal:
                refusals.append(str(refusal))
                continue
            assert model.text()
            with suppress(TableError):  # the schema may be another one now
                assert np.isfinite(model.predict_proba(FRAME)).all()
    assert len(refusals) > 100
    assert max(map(len, refusals)) < 1000


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "[]", "{", "NaN", "[" * 100_000, "9" * 5_000, '{"version": ' + "9" * 5_000 + "}"),
        *('{"version": 1}', '{"version": 2, "kind": "trees"}', '{"version": 1, "kind": "rows"}', '{"kind": []}'),
    ],
    ids=lambda text: text[:20],
)
def test_a_text_that_is_no_model_is_refused(text: str) -> None:
    with pytest.raises(OptionError):
        Model.from_json(text)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    (tmp_path / "picture.json").write_bytes(b"\xff\xd8\xff\xe0")
    for path in (tmp_path / "absent.json", tmp_path, tmp_path / "picture.json"):
        with pytest.raises(OptionError, match="cannot read the model"):
            jostle.load_model(path)
    for path in (tmp_path, tmp_path / "absent" / "model.json"):
        with pytest.raises(OptionError, match="cannot write the model"):
            learnt("Majority").save(path)
