"""A cluster encodes rows once and keeps them; one that is lost is said to be."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from some_tables import source_of, tally

from jostle import Categorical, Numeric, Schema, Table, rehearse
from jostle.errors import TableError
from jostle.tables import dask_source
from jostle.tables.kernels import Counts, SparseCounts

SCHEMA = Schema({"a": Categorical(["x", "y", "z"], outside="other"), "b": Numeric(0, 100, bins=7)})


def some_frame() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    return pd.DataFrame({"a": generator.choice(list("xyzw"), 5000), "b": generator.normal(50, 40, 5000)})


def test_pieces_are_encoded_once_and_kept_on_the_workers(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_frame().to_parquet(tmp_path / "t.parquet", row_group_size=1000)
    monkeypatch.setattr(dask_source, "PIECE_ROWS", 1000)
    table = Table.read(tmp_path / "t.parquet", SCHEMA, engine=cluster)
    here = Table.read(tmp_path / "t.parquet", SCHEMA)
    source = source_of(table)
    assert isinstance(source, dask_source.DaskSource)
    assert len(source.pieces) == 5

    first = tally(table, Counts.of("a"))
    (kept,) = source.kept
    (tmp_path / "t.parquet").unlink()  # nothing is read again

    assert first == tally(here, Counts.of("a"))
    assert tally(table, SparseCounts(["a", "b"])) == tally(here, SparseCounts(["a", "b"]))
    assert table.notes == here.notes
    assert source.kept == [kept]


def test_a_cluster_without_workers_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(dask_source, "WORKERS_PATIENCE", 1)
    monkeypatch.setattr(dask_source, "LOOK", 1)
    some_frame().to_parquet(tmp_path / "t.parquet")
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, protocol="tcp") as few:
        table = Table.read(tmp_path / "t.parquet", SCHEMA, engine=few.scheduler_address.replace("tcp://", "dask://", 1))
        db = rehearse(table, epsilon=1)
        db.count("1/10")
        few.scale(0)
        source = source_of(table)
        assert isinstance(source, dask_source.DaskSource)
        source.client.run_on_scheduler(_retired)
        for ask in (lambda: db.count("1/10"), lambda: tally(table, Counts.of("a"))):
            with pytest.raises(TableError, match="the Dask cluster has no workers"):
                ask()
        assert db.spent == Fraction(1, 10)


async def _retired(dask_scheduler: Any) -> None:
    """Let a scheduler's workers go."""
    await dask_scheduler.retire_workers(workers=list(dask_scheduler.workers), close_workers=True, remove=True)


def test_a_scheduler_that_is_lost_is_said_to_be(cluster: str, tmp_path: Path) -> None:
    some_frame().to_parquet(tmp_path / "t.parquet")
    table = Table.read(tmp_path / "t.parquet", SCHEMA, engine=cluster)
    tally(table, Counts.of("a"))
    source = source_of(table)
    assert isinstance(source, dask_source.DaskSource)
    source.client.close()

    with pytest.raises(TableError) as refusal:
        tally(table, Counts.of("a"))
    assert refusal.value.title == "the Dask scheduler does not answer any more"
    assert refusal.value.why is not None
    assert "private" not in refusal.value.why
