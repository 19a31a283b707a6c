"""Whether something is private is a matter of where it came from, and never of what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from attrs import evolve
from openings import people, schema

import jostle
from jostle import Numeric, Schema, Table
from jostle.corpora.databases import PublicGrid, PublicTable
from jostle.corpora.folders import public
from jostle.corpora.named import PublicFiles
from jostle.errors import PrivateDataError, SchemaError
from jostle.lang.running import run_program
from jostle.privacy.expressions import rows
from jostle.privacy.opening import raw
from jostle.sklearn import PrivateClassifier
from jostle.tables.made_up import write_made_up

PROGRAM = "def answer(db):\n    return noisyCount(db, epsilon / 10)\n"
SECRET = np.array([[7, 3, 9], [4, 0, 8]])

# Guesses


def guesses(count: int = 1000) -> list[np.ndarray]:
    """Return grids, one of which is the secret one."""
    chance = np.random.default_rng(3)
    found = [chance.integers(0, 10, SECRET.shape) for _ in range(count - 1)]
    return [*found[: count // 2], SECRET, *found[count // 2 :]]


def test_a_thousand_guesses_at_a_grid_are_not_told_from_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever fills a folder of public data and sees the refusals of a service finds no row that way."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.jst").write_text(PROGRAM)
    np.save("secret.npy", SECRET)
    (tmp_path / "public").mkdir()
    for number, guess in enumerate(guesses()):
        np.save(tmp_path / "public" / f"{number}.npy", guess)

    done = run_program(
        Path("program.jst"), data=Path("secret.npy"), epsilon="1", public=[Path("public")], say=None, tell=pytest.fail
    )

    assert done.problem is None


def test_a_schema_that_says_what_rows_it_was_read_off_tells_nothing_about_rows(tmp_path: Path) -> None:
    """Whatever stands there, two tables that differ in a row are opened alike, or refused alike."""
    for rows_of in (people(), people().iloc[1:]):
        rows_of.to_csv(tmp_path / "rows.csv", index=False)
        forged = Schema.from_toml(Schema.infer_public(people(), label="smokes").to_toml())
        jostle.protect(Table.read(tmp_path / "rows.csv", forged), epsilon=1, second_promise="it is another file now")


def test_a_schema_holds_no_mark_of_rows(tmp_path: Path) -> None:
    """Of two files that differ in a row that changes no fact, the schemas are one."""
    frame = pd.concat([people(), people()])
    said = set()
    for each in (frame, frame.iloc[1:]):
        each.to_csv(tmp_path / "rows.csv", index=False)
        said.add(Schema.infer_public(tmp_path / "rows.csv", label="smokes").to_toml())
        said.add(Schema.infer_public(each, label="smokes").to_toml().replace("label", f'inferred_from = "{tmp_path}"'))
    assert len([text for text in said if "rows.csv" in text]) == 1


# Origins


def made_of(kind: str) -> Any:
    frame = people()
    numbers = np.arange(30).reshape(10, 3) % 4
    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "dict of arrays": {name: column.to_numpy() for name, column in frame.items()},
        "grid": numbers,
    }[kind]


def opened(thing: Any) -> Table:
    return Table.from_grid(thing) if isinstance(thing, np.ndarray) else Table.from_frame(thing, schema())


ASKED: dict[str, Callable[[Any], object]] = {
    "rehearse": lambda thing: jostle.rehearse(opened(thing)),
    "raw": lambda thing: raw(opened(thing), [rows()]),
    "infer": Schema.infer_public,
    "public table": lambda thing: PublicTable.of("x", thing, label="smokes"),
    "public grid": lambda thing: PublicGrid.of("x", thing),
    "estimator": lambda thing: PrivateClassifier("Majority", public=True).fit(pd.DataFrame(thing)[["age"]], [0, 1]),
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict of arrays", "grid"])
def test_what_was_opened_as_private_is_not_public_to_anything(kind: str) -> None:
    thing = made_of(kind)
    jostle.protect(opened(thing), epsilon=1)
    asked = {"rehearse", "raw", "public grid"} if kind == "grid" else {"rehearse", "raw", "infer", "public table"}
    for name in asked:
        with pytest.raises(PrivateDataError, match="given as private"):
            ASKED[name](thing)
        ASKED[name](made_of(kind))  # equal rows are others


def test_rows_that_an_estimator_was_fitted_to_are_private(tmp_path: Path) -> None:
    rows_of, y = np.arange(200).reshape(100, 2) % 2, np.arange(100) % 2
    declared = Schema({name: jostle.Categorical([0, 1]) for name in ("a", "b", "y")}, label="y")
    PrivateClassifier("Majority", schema=declared, vault=tmp_path / "v", promise=1).fit(rows_of, y)
    for given, labels in ((rows_of, y), (rows_of, 1 - y), (rows_of.copy(), y)):
        with pytest.raises(PrivateDataError, match="given as private"):
            PrivateClassifier("Majority", public=True).fit(given, labels)
    with pytest.raises(PrivateDataError, match="given as private"):
        PrivateClassifier("Majority", public=True).fit(rows_of.copy(), y.copy()).score(rows_of, y)


# Files


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a private file that was opened."""
    people().to_csv(tmp_path / "secret.csv", index=False)
    jostle.protect(Table.read(tmp_path / "secret.csv", schema()), epsilon=1)
    return tmp_path / "secret.csv"


def test_a_private_file_is_known_by_where_links_lead(secret: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    place = tmp_path / "folder" / "x.csv"
    place.symlink_to(secret)
    secret.write_text(secret.read_text() + "1,north,no\n")
    for ask in (
        lambda: Schema.infer_public(place),
        lambda: jostle.rehearse(Table.read(place, schema())),
        lambda: public(place, label="smokes"),
        lambda: public(place.parent),
        lambda: PublicFiles.named([place.parent, tmp_path]),
        lambda: write_made_up(schema(), place, 3),
    ):
        with pytest.raises(PrivateDataError, match="given as private"):
            ask()


def test_a_copy_is_another_file(secret: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "copy.csv").write_bytes(secret.read_bytes())
    assert PublicFiles.named([tmp_path / "folder"]).at(str(tmp_path / "folder")) is not None
    Schema.infer_public(tmp_path / "folder" / "copy.csv")


# Schemas


def test_a_schema_read_off_the_private_rows_is_refused_by_where_it_came_from(tmp_path: Path) -> None:
    frame = people()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "link.csv").symlink_to(tmp_path / "rows.csv")
    of_frame = Schema.infer_public(frame, label="smokes")
    of_file = Schema.infer_public(tmp_path / "link.csv", label="smokes")
    same = [
        Table.from_frame(frame, of_frame),
        Table.from_frame(frame, evolve(of_frame, neighbours="replace_one")),
        Table.read(tmp_path / "rows.csv", of_file),
        Table.read(tmp_path / "rows.csv", Schema.from_toml(of_file.to_toml())),
    ]
    for each in same:
        with pytest.raises(SchemaError, match="read off this same table"):
            jostle.protect(each, epsilon=1)
    jostle.protect(Table.from_frame(people(), of_frame), epsilon=1)
    assert jostle.protect(Table.from_frame(people(), of_file), epsilon=1).schema.inferred_from is None


def test_a_schema_says_the_file_that_it_was_read_off(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "rows.csv", index=False)
    found = Schema.infer_public(tmp_path / "rows.csv")
    assert f'inferred_from = "{tmp_path / "rows.csv"}"' in found.to_toml()
    assert "inferred_from" not in Schema.infer_public(people()).to_toml()
    with pytest.raises(SchemaError, match="inferred_from is 3"):
        Schema({"x": Numeric(0, 1)}, inferred_from=3)
