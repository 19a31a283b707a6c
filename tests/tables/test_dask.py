"""Dask: the same integers from a cluster, rows encoded once, and a plain refusal when a worker fails."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import dask.dataframe as dask_frame
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from some_tables import SMALL, small_frame, source_of, tally

from jostle import Categorical, Dates, Numeric, Schema, Table, progress, rehearse
from jostle.errors import TableError
from jostle.tables import dask_source
from jostle.tables.hashes import fingerprint
from jostle.tables.kernels import Counts, Kernel, Marks, SparseCounts, Sums
from jostle.tables.persons import PersonBands, PersonCount

SCHEMA = Schema(
    {
        "a": Categorical(["x", "y", "z"], outside="other", missing="value"),
        "b": Numeric(0, 100, bins=7),
        "c": Categorical([0, 1], missing="value"),
    }
)
KERNELS: list[Kernel] = [
    Counts((("a", "b"), ("c",), ())),
    Sums("b", range(7), 5, by="a"),
    Marks(["a", "b", "c"], 1, 2),
    SparseCounts(["a", "b", "c"]),
]
WHERE = (("c", (0, 2)),)


def some_frame(rows: int = 5000) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "a": generator.choice(np.array(["x", "y", "z", "w", None]), rows),
            "b": generator.normal(50, 40, rows),
            "c": generator.choice([0, 1, 2, np.nan], rows),
        }
    )


def partitioned(frame: pd.DataFrame, parts: int = 20) -> Any:
    return dask_frame.from_pandas(frame, npartitions=parts)  # type: ignore[no-untyped-call]  # Dask has no types


# In one process


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_partitions_add_up_to_the_frame(kernel: Kernel) -> None:
    whole, parts = Table.from_frame(some_frame(), SCHEMA), Table.from_frame(partitioned(some_frame()), SCHEMA)

    for where in ((), WHERE):
        assert tally(parts, kernel, where) == tally(whole, kernel, where)


def test_how_far_it_is_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "APART", 0)
    tally(Table.from_frame(partitioned(some_frame(100)), SCHEMA), KERNELS[0], ())
    assert re.search(r"asking Dask: [1-9]\d*%", capsys.readouterr().err)


def test_the_owner_is_told_of_all_parts_together() -> None:
    odd = some_frame().assign(b=lambda frame: frame["b"] - 2)
    whole, parts = Table.from_frame(odd, SCHEMA), Table.from_frame(partitioned(odd), SCHEMA)

    assert whole.notes
    assert parts.notes == whole.notes


def test_a_frame_is_recognised_in_parts() -> None:
    whole = fingerprint(source_of(Table.from_frame(some_frame(), SCHEMA)))
    parts = fingerprint(source_of(Table.from_frame(partitioned(some_frame()), SCHEMA)))
    again = fingerprint(source_of(Table.from_frame(partitioned(some_frame()), SCHEMA)))

    assert whole.rows == parts.rows
    assert parts.raw == again.raw


def fails(frame: pd.DataFrame) -> pd.DataFrame:
    if len(frame):
        raise ValueError(f"secret {frame}")
    return frame


def test_what_fails_among_the_rows_is_not_quoted() -> None:
    table = Table.from_frame(partitioned(some_frame()).map_partitions(fails, meta=some_frame()[:0]), SCHEMA)

    with pytest.raises(TableError) as refusal:
        tally(table, Counts.of("a"))

    assert str(refusal.value).startswith(
        "a worker could not tally its part\n  why: the reason could quote private rows"
    )


DATED = Schema(
    {
        "day": Dates("2024-01-01", "2024-12-31", bins=4, missing="value"),
        "code": Categorical(["01", "02", "x"], outside="other", missing="value"),
        "sex": Categorical(["a", "b"], missing="value"),
        "count": Numeric(0, 10, bins=5, missing="value"),
    }
)
LINES = ["2024-01-01,1,a,1", "2024-09-01,1,b,2", "2024-12-01,01,a,3"]


def mapped(read: Any, places: list[Any]) -> Any:
    return dask_frame.from_map(read, places)  # type: ignore[no-untyped-call]  # as above


def parts_of(files: list[list[str]], **how: Any) -> Table:
    """Return a table of parts that pandas reads one by one, as `from_map` does, each in the types that it finds."""

    def part(lines: list[str]) -> pd.DataFrame:
        return pd.read_csv(io.StringIO("\n".join(lines)), names=list(DATED.names), **how)

    return Table.from_frame(mapped(part, files), DATED)


@pytest.mark.parametrize("junk", ["2024-01-01,x,a,1", "when,1,a,1", "2024-01-01,1,a,one", "2024-01-01,1,,"])
def test_a_row_that_gives_its_part_other_types_changes_no_other(junk: str) -> None:
    """01 is 1 among numbers and a text among texts, a date a moment or a text, a whole number perhaps a float."""
    whole = parts_of([LINES, LINES])
    for how in ({}, {"parse_dates": ["day"]}, {"parse_dates": ["day"], "dtype": {"sex": "category"}}):
        with_junk = parts_of([LINES, [*LINES, junk]], **how)
        alone = parts_of([[junk]], **how)
        for name in DATED.names:
            told = [tally(table, Counts.of(name)) for table in (whole, alone, with_junk)]
            assert [a + b for a, b in zip(told[0], told[1], strict=True)] == told[2]


def moving(rows: Any, change: str) -> Any:
    """Return rows in two parts, of which one is another row each time they are computed."""
    times = iter(range(100))

    def part(place: int) -> pd.DataFrame:
        found = rows[place * 10 : place * 10 + 10].copy()
        if place == 0 and next(times) % 2:
            found[change] = found[change].to_numpy()[::-1] if change == "order" else found[change] + 1
        return found

    return mapped(part, [0, 1])


@pytest.mark.parametrize("change", ["b", "c"])
def test_rows_that_come_out_as_others_are_refused(change: str) -> None:
    """Who is in another part of the table by the next question would be in both."""
    rows = pd.DataFrame({"a": ["x", "y"] * 10, "b": np.arange(20.0), "c": [0] * 20})
    table = Table.from_frame(moving(rows, change), SCHEMA)

    def ask() -> None:
        for _ in range(3):
            tally(table, Counts.of("a"), (("c", (0,)),))

    with pytest.raises(TableError, match="are not those that were tallied before"):
        ask()


def test_rows_that_come_in_another_order_are_the_same() -> None:
    rows = pd.DataFrame({"a": ["x", "y"] * 10, "b": np.arange(20.0), "c": [0] * 20, "order": range(20)})
    table = Table.from_frame(moving(rows, "order"), SCHEMA)

    assert tally(table, Counts.of("a")) == tally(table, Counts.of("a")) == [10, 10, 0, 0, 0]


def test_a_cluster_reads_parquet_only(tmp_path: Path) -> None:
    small_frame().to_csv(tmp_path / "t.csv", index=False)

    with pytest.raises(TableError, match=r"t\.csv is not Parquet"):
        Table.read(tmp_path / "t.csv", SMALL, engine="dask://127.0.0.1:1")


def test_row_groups_are_put_together_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_source, "_client", lambda _: None)  # so that Dask computes in this process
    monkeypatch.setattr(dask_source, "PIECE_ROWS", 1000)
    some_frame().to_parquet(tmp_path / "t.parquet", row_group_size=300)
    some_frame(0).astype({"a": str}).to_parquet(tmp_path / "none.parquet")
    table = Table.read(tmp_path / "t.parquet", SCHEMA, engine="dask://here:1")
    none = Table.read(tmp_path / "none.parquet", SCHEMA, engine="dask://here:1")
    source = source_of(table)

    assert isinstance(source, dask_source.DaskSource)
    assert [groups for _, groups in source.pieces] == [
        (0, 1, 2),
        (3, 4, 5),
        (6, 7, 8),
        (9, 10, 11),
        (12, 13, 14),
        (15, 16),
    ]
    assert tally(table, KERNELS[0]) == tally(Table.from_frame(some_frame(), SCHEMA), KERNELS[0])
    assert tally(none, Counts.of("c")) == [0, 0, 0]
    assert tally(none, SparseCounts(["c"])) == [0, 0, 0]


# On two worker processes


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalCluster]:
    made = LocalCluster(  # type: ignore[no-untyped-call]  # Dask has no types
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    yield made
    for client in dask_source._clients.values():
        client.close()
    made.close()


@pytest.fixture
def client(workers: LocalCluster) -> Iterator[Client]:
    """Make a cluster of worker processes the place where Dask computes."""
    with Client(workers) as made:  # type: ignore[no-untyped-call]  # Dask has no types
        yield made


def address(workers: LocalCluster) -> str:
    return str(workers.scheduler_address).replace("tcp://", "dask://")


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_a_cluster_gives_the_same_integers(workers: LocalCluster, tmp_path: Path) -> None:
    some_frame().to_parquet(tmp_path / "t.parquet", row_group_size=300)
    here = Table.read(tmp_path / "t.parquet", SCHEMA)
    stream = Table.read(tmp_path / "t.parquet", SCHEMA, stream=True)
    there = Table.read(tmp_path / "t.parquet", SCHEMA, engine=address(workers))
    parts = Table.from_frame(partitioned(some_frame()), SCHEMA)

    for kernel in KERNELS:
        for where in ((), WHERE):
            told = tally(here, kernel, where)
            assert told == tally(stream, kernel, where) == tally(there, kernel, where) == tally(parts, kernel, where)
    assert fingerprint(source_of(here)) == fingerprint(source_of(there))
    assert fingerprint(source_of(here)).rows == fingerprint(source_of(parts)).rows


@pytest.mark.slow
def test_a_cluster_holds_the_same_rows_of_persons(
    workers: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces of few rows are put together by person first, on the workers."""
    monkeypatch.setattr(dask_source, "PIECE_ROWS", 300)
    schema = SCHEMA.with_persons("who", 3)
    frame = some_frame()
    frame["who"] = np.arange(len(frame)) ** 2 % 101
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=100)
    ways = [
        Table.read(tmp_path / "t.parquet", schema),
        Table.read(tmp_path / "t.parquet", schema, engine=address(workers)),
    ]
    here, there = (source_of(table).bounded(b"key") for table in ways)
    for kernel in (Counts.of("a"), Counts.of("b", "c"), PersonCount(), PersonCount(more_than=3), PersonBands()):
        assert np.array_equal(np.asarray(here.tally(kernel, ())), np.asarray(there.tally(kernel, ())))
    assert ways[0].notes == ways[1].notes


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_a_cluster_makes_the_same_row_of_a_person_with_columns_looked_up_before(
    workers: LocalCluster, tmp_path: Path
) -> None:
    path = tmp_path / "t.parquet"
    frame = some_frame().assign(d="2024-01-02", p=lambda rows: rows.index % 300)
    frame.to_parquet(path, row_group_size=300)
    dates = Dates("2024-01-01", "2024-12-31")
    schema = Schema({**dict(SCHEMA.columns), "d": dates}, person="p", people="all")
    public = {"a": ["x", "z"], "kind": ["one", "two"]}
    kinds = {"kind": Categorical(["one", "two"], missing="value")}
    asked = {"n": "count", "a": "last by d", "b": "mean", "kind": "commonest", "ever": "any kind is two"}

    made, joined = [], []
    for table in (Table.read(path, schema), Table.read(path, schema, engine=address(workers))):
        rich = table.join_public(public, on="a", columns=kinds)
        made.append(rich.per_person(**asked))
        joined.append(made[-1].join(rich.per_person(last="last kind by d"), on="p"))
        made.append(rich)
    for kernel in (Counts((("n", "a", "b"), ("kind",))), Sums("b", range(7), 5, by="ever")):
        assert tally(made[0], kernel) == tally(made[2], kernel)
        assert tally(joined[0], kernel) == tally(joined[1], kernel)
    for where in ((), (("kind", (0,)),)):
        assert tally(made[1], Counts((("a", "kind"),)), where) == tally(made[3], Counts((("a", "kind"),)), where)


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_a_worker_s_failure_is_a_plain_refusal_and_no_rows_are_logged(
    workers: LocalCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first row group is broken; what Parquet says of it stays on the worker."""
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [f"secret{row**3}" for row in range(4000)], "b": 1.0, "c": 0}).to_parquet(
        path, row_group_size=2000
    )
    table = Table.read(path, SCHEMA, engine=address(workers))
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 3000 + whole[3004:])
    with_frame = Table.from_frame(partitioned(pd.DataFrame({"a": ["secret"] * 4, "b": 1.0, "c": 0}), 2), SCHEMA)
    source = source_of(with_frame)
    assert isinstance(source, dask_source.DaskSource)

    with pytest.raises(TableError, match="a worker could not tally its part"):
        tally(table, Counts.of("a"))
    with pytest.raises(TableError, match="a worker could not tally its part"):
        tally(with_frame, Counts.of("a"), (("no such column", (0,)),))

    sys.stdout.flush()
    assert "secret" not in "".join(capfd.readouterr())


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_a_worker_that_dies_is_a_plain_refusal() -> None:
    frame = partitioned(some_frame(), 2).map_partitions(dies, meta=some_frame()[:0])

    with pytest.raises(TableError, match="a worker could not tally its part"):
        tally(Table.from_frame(frame, SCHEMA), Counts.of("a"))


def dies(frame: pd.DataFrame) -> pd.DataFrame:
    import os  # noqa: PLC0415 - sent to a worker by value

    if len(frame):
        os._exit(1)
    return frame


@pytest.mark.slow
def test_an_address_where_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_source, "PATIENCE", "1s")
    small_frame().to_parquet(tmp_path / "t.parquet")

    for nobody in ("dask://127.0.0.1:1", "dask://nonsense"):
        with pytest.raises(TableError) as refusal:
            Table.read(tmp_path / "t.parquet", SMALL, engine=nobody)
        assert refusal.value.title == f"no Dask scheduler answers at {nobody}"


# A cluster encodes rows once and keeps them; one that is lost is said to be.


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
