"""A file whose rows stay in it is read as long as it is the one that was opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from some_tables import tally

import jostle
from jostle import Categorical, Schema, Table
from jostle.errors import JostleError, ProbeError, TableError
from jostle.tables import dask_source, sources
from jostle.tables.encode import encode_block
from jostle.tables.kernels import Counts

SCHEMA = Schema({"a": Categorical(["x", "y"]), "b": Categorical(["0", "1"])})
BEFORE = pd.DataFrame({"a": ["x"] * 50 + ["y"] * 50, "b": ["0", "1"] * 50})
AFTER = pd.DataFrame({"a": ["y"] * 50 + ["x"] * 50, "b": ["0", "1"] * 50})
"""The same people, each in the other part of the table."""


def written(frame: pd.DataFrame, path: Path, *, later: int) -> None:
    """Write the rows, so many seconds later than the clock says."""
    if path.suffix != ".parquet":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=10)
    moment = path.stat().st_mtime_ns + later * 10**9
    os.utime(path, ns=(moment, moment))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_who_is_in_another_part_by_the_next_question_is_not_counted_in_both(name: str, tmp_path: Path) -> None:
    written(BEFORE, tmp_path / name, later=0)
    db = jostle.protect(Table.read(tmp_path / name, SCHEMA, stream=True), epsilon=1)
    x, y = db.parts("a")
    x.count(1)
    written(AFTER, tmp_path / name, later=1)

    with pytest.raises(ProbeError, match="was not written to since it was opened"):
        y.count(1)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_file_that_looks_the_same_is_seen_to_be_another(name: str, tmp_path: Path) -> None:
    """As long, and of the same moment: as who copies files with their moments leaves it, or a clock of few ticks."""
    path = tmp_path / name
    other = tmp_path / f"other.{name}"
    written(BEFORE, path, later=0)
    written(AFTER, other, later=0)
    db = jostle.protect(Table.read(path, SCHEMA, stream=True), epsilon=1)
    x, y = db.parts("a")
    x.count(1)
    state = path.stat()
    path.write_bytes(other.read_bytes())
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size

    with pytest.raises(ProbeError, match="was not written to since it was opened"):
        y.count(1)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("read", [{}, {"stream": True}], ids=["in memory", "streamed"])
def test_a_row_that_moves_while_the_file_is_read_does_not_count_twice(
    name: str, read: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(BEFORE, tmp_path / name, later=0)

    def slowly(*given: Any) -> Any:
        moment = (tmp_path / name).stat().st_mtime_ns + 10**9
        os.utime(tmp_path / name, ns=(moment, moment))  # as who writes to it in the meantime does
        return encode_block(*given)

    monkeypatch.setattr(sources, "encode_block", slowly)
    with pytest.raises(TableError, match="was written since it was opened"):
        tally(Table.read(tmp_path / name, SCHEMA, **read), Counts.of("a"))


def test_a_piece_that_a_cluster_reads_again_is_of_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_source, "_client", lambda _: None)  # so that Dask computes in this process
    written(BEFORE, tmp_path / "t.parquet", later=0)
    table = Table.read(tmp_path / "t.parquet", SCHEMA, engine="dask://here:1")
    tally(table, Counts.of("a"))
    written(AFTER, tmp_path / "t.parquet", later=1)

    with pytest.raises(JostleError, match="a worker could not tally its part"):
        tally(table, Counts.of("a"))
