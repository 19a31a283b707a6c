"""Rows that are made up from a schema."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle import Categorical, Numeric, Schema, Table, options, rehearse
from jostle.errors import PrivateDataError, TableError
from jostle.tables.made_up import made_up, write_made_up
from jostle.tables.origins import vault_beside

SCHEMA = Schema(
    {
        "age": Numeric(18, 98, bins=8),
        "height": Numeric(0.5, 2.5, edges=[0.5, 1.5, 1.8, 2.5], missing="value"),
        "ward": Categorical(["a", "b", "c"], outside="other", missing="value"),
        "ill": Categorical(["no", "yes"]),
    },
    label="ill",
)


def test_every_row_fits_the_schema_and_every_declared_value_occurs(tmp_path: Path) -> None:
    write_made_up(SCHEMA, tmp_path / "rows.csv", 2000)
    table = Table.read(tmp_path / "rows.csv", SCHEMA)
    db = rehearse(table, epsilon=10_000)

    assert table.notes == ()
    assert db.count(100) == 2000
    for name in SCHEMA.names:
        counts = db.histogram(name, epsilon=1000)
        assert all(counts[code] for code, label in enumerate(SCHEMA[name].labels) if label != "(other)")


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(1, 4), st.booleans(), st.integers(1, 30), st.integers(0, 3))
def test_any_schema_gives_so_many_rows_again_and_again(
    values: int, bins: int, label: bool, rows: int, seed: int
) -> None:
    columns = {"a": Categorical(range(values)), "b": Numeric(-1, 1, bins=bins), "c": Numeric(0, 2, bins=bins)}
    schema = Schema(columns, label="a" if label else None)
    made = made_up(schema, rows, seed=seed)

    assert made.num_rows == rows
    assert made.equals(made_up(schema, rows, seed=seed))
    assert rehearse(Table.from_frame(made, schema), epsilon=10_000).count(1000) == rows


def test_there_is_something_to_learn_and_another_seed_makes_other_rows() -> None:
    made = made_up(SCHEMA, 3000, seed=1)
    db = rehearse(Table.from_frame(made, SCHEMA), epsilon=1000)
    model, guess = (options.get(name)(db, epsilon=100) for name in ("PooledTree", "Majority"))
    assert model.score(made) > guess.score(made)
    assert not made.equals(made_up(SCHEMA, 3000, seed=2))


def test_no_file_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("somebody's", "utf-8")
    with pytest.raises(TableError, match="there is a file"):
        write_made_up(SCHEMA, path, 3)
    assert path.read_text("utf-8") == "somebody's"
    path.unlink()
    vault_beside(path).touch()
    with pytest.raises(PrivateDataError):
        write_made_up(SCHEMA, path, 3)
    with pytest.raises(TableError, match="cannot write"):
        write_made_up(SCHEMA, tmp_path / "no" / "rows.csv", 3)
    with pytest.raises(TableError, match="rows is 0"):
        made_up(SCHEMA, 0)
