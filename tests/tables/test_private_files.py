"""A private file is known under any name, in any format and order, and nothing private is read as if it were public."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jostle import Categorical, Numeric, Schema, Table, rehearse
from jostle.errors import PrivateDataError, TableError
from jostle.files.content import FileContent, FileMark, is_regular, is_there, read_content, real_path
from jostle.privacy.expressions import rows
from jostle.privacy.opening import raw, recognise
from jostle.tables.private_files import PrivateFile, check_public, read_public, vault_beside

SCHEMA = Schema({"ward": Categorical(["a", "b", "c"]), "age": Numeric(0, 90, bins=9), "ill": Categorical(["0", "1"])})
GRID = Schema({"lat": Numeric(0, 4, bins=4), "lon": Numeric(0, 3, bins=3)})
COUNTS = np.array([[2, 0, 1], [0, 5, 0], [1, 0, 0], [0, 0, 3]])
FIFOS = hasattr(os, "mkfifo")


def people(count: int = 60) -> pd.DataFrame:
    """Return rows of people."""
    random = np.random.default_rng(5)
    columns = {"ward": random.choice(["a", "b", "c"], count), "age": random.integers(0, 90, count)}
    return pd.DataFrame({**columns, "ill": random.choice(["0", "1"], count)})


def points() -> pd.DataFrame:
    """Return the records of the grid, one row each."""
    places = np.repeat(np.argwhere(COUNTS >= 0), COUNTS.ravel(), axis=0)
    return pd.DataFrame(places, columns=["lat", "lon"])


def known(path: Path, schema: Schema = SCHEMA) -> PrivateFile:
    """Return what a private file is known by."""
    found = recognise(Table.read(path, schema))
    return PrivateFile.of(path, schema, found.marks)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a private file."""
    people().to_csv(tmp_path / "secret.csv", index=False)
    return tmp_path / "secret.csv"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Return a folder for files that could be the private one."""
    (tmp_path / "there").mkdir()
    return tmp_path / "there"


def packed(secret: Path, folder: Path) -> Path:
    (folder / "x.csv.gz").write_bytes(gzip.compress(secret.read_bytes()))
    return folder / "x.csv.gz"


def shuffled(_: Path, folder: Path) -> Path:
    people().sample(frac=1, random_state=2)[["ill", "age", "ward"]].to_csv(folder / "x.tsv", index=False, sep="\t")
    return folder / "x.tsv"


def as_parquet(_: Path, folder: Path) -> Path:
    people().to_parquet(folder / "x.parquet", row_group_size=7)
    return folder / "x.parquet"


def texts_in_parquet(_: Path, folder: Path) -> Path:
    people().astype(str).to_parquet(folder / "x.pq")
    return folder / "x.pq"


def with_more(_: Path, folder: Path) -> Path:
    people().assign(note="n", number=range(60)).to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def named_otherwise(kind: Callable[[Path, Path], object]) -> Callable[[Path, Path], Path]:
    def made(secret: Path, folder: Path) -> Path:
        kind(secret, folder / "x.csv")
        return folder / "x.csv"

    return made


WAYS: list[tuple[Callable[[Path, Path], Path], str]] = [
    (named_otherwise(os.link), "is the same file as"),
    (named_otherwise(os.symlink), "is the same file as"),
    (named_otherwise(shutil.copy), "is a copy of"),
    (packed, "has the same rows as"),
    (shuffled, "has the same rows as"),
    (as_parquet, "has the same rows as"),
    (texts_in_parquet, "has the same rows as"),
    (with_more, "has the same rows as"),
]


@pytest.mark.parametrize(("way", "said"), WAYS)
def test_the_private_file_is_known_whatever_it_has_become(
    secret: Path, there: Path, way: Callable[[Path, Path], Path], said: str
) -> None:
    private, other = known(secret), way(secret, there)
    with pytest.raises(PrivateDataError, match=re.escape(f"{str(other)!r} {said} {str(secret)!r}")):
        private.check_other(read_content(other))


def test_what_is_private_may_be_packed_and_its_copy_not(tmp_path: Path, there: Path) -> None:
    people().to_csv(tmp_path / "secret.csv.gz", index=False)
    people().to_csv(there / "x.csv", index=False)
    with pytest.raises(PrivateDataError, match="has the same rows"):
        known(tmp_path / "secret.csv.gz").check_other(read_content(there / "x.csv"))


@pytest.mark.parametrize(
    "counts", [COUNTS, COUNTS.T, COUNTS.astype(np.float32), COUNTS.T.astype(np.uint8), np.asfortranarray(COUNTS)]
)
def test_records_are_known_in_a_grid_of_counts(tmp_path: Path, counts: np.ndarray) -> None:
    points().to_csv(tmp_path / "secret.csv", index=False)
    np.save(tmp_path / "grid.npy", counts)
    with pytest.raises(PrivateDataError, match="has the same rows"):
        known(tmp_path / "secret.csv", GRID).check_other(read_content(tmp_path / "grid.npy"))


def test_a_private_grid_is_known_by_its_records_and_in_another_type(tmp_path: Path) -> None:
    np.save(tmp_path / "secret.npy", COUNTS)
    np.save(tmp_path / "other.npy", COUNTS.astype(np.float64))
    points().set_axis(["x", "y"], axis=1).to_csv(tmp_path / "points.csv", index=False)
    found = recognise(Table.from_grid(COUNTS))
    private = PrivateFile.of(tmp_path / "secret.npy", found.schema, found.marks)
    for name in ("other.npy", "points.csv"):
        with pytest.raises(PrivateDataError, match="has the same rows"):
            private.check_other(read_content(tmp_path / name))


OTHERS: dict[str, bytes] = {
    "row.csv": people().iloc[1:].to_csv(index=False).encode(),
    "column.csv": people()[["ward", "age"]].to_csv(index=False).encode(),
    "empty.csv": b"",
    "header.csv": b"ward,age,ill\n",
    "no.parquet": b"PAR1",
    "no.csv.gz": b"ward,age,ill\n",
    "no.npy": b"\x93NUMPY\x01\x00\xff\xff{",
    "unknown": b"ward,age,ill\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_another_file_or_none_that_can_be_read_is_let_through(secret: Path, there: Path, name: str) -> None:
    (there / name).write_bytes(OTHERS[name])
    known(secret).check_other(read_content(there / name))


@pytest.mark.parametrize("counts", [np.ones((4, 3)), np.ones(12), np.full((4, 3), np.nan), np.full((3, 4), -1)])
def test_other_grids_are_let_through(tmp_path: Path, counts: np.ndarray) -> None:
    points().to_csv(tmp_path / "secret.csv", index=False)
    np.save(tmp_path / "grid.npy", counts)
    known(tmp_path / "secret.csv", GRID).check_other(read_content(tmp_path / "grid.npy"))


def test_two_tables_without_rows_are_not_one(tmp_path: Path) -> None:
    for name in ("secret.csv", "x.csv"):
        (tmp_path / name).write_text(f"ward,age,ill,{name}\n")
    known(tmp_path / "secret.csv").check_other(read_content(tmp_path / "x.csv"))


# Vaults beside files


def test_a_file_with_a_vault_beside_it_is_private_under_every_name_it_has(secret: Path, there: Path) -> None:
    check_public(secret)
    beside = vault_beside(secret)
    assert beside == secret.with_name("secret.csv.vault")
    beside.touch()
    (there / "link.csv").symlink_to(secret)
    os.link(secret, secret.with_name("other_name.csv"))
    for path in (secret, there / "link.csv", secret.with_name("other_name.csv")):
        with pytest.raises(PrivateDataError, match=r"secret\.csv\.vault"):
            check_public(path)
    assert vault_beside(there / "link.csv") == beside


def test_a_link_is_private_where_a_vault_is_beside_the_link(secret: Path, there: Path) -> None:
    (there / "link.csv").symlink_to(secret)
    (there / "link.csv.vault").touch()
    with pytest.raises(PrivateDataError):
        check_public(there / "link.csv")


def test_nothing_private_is_read_rehearsed_on_or_looked_at(secret: Path) -> None:
    table = Table.read(secret, SCHEMA)
    rehearse(table, seed=1)
    vault_beside(secret).touch()
    tasks: list[Callable[[], object]] = [
        lambda: read_public(secret),
        lambda: Schema.infer_public(secret),
        lambda: rehearse(table),
        lambda: rehearse(Table.read(secret, SCHEMA, stream=True)),
        lambda: raw(table, [rows()]),
    ]
    for task in tasks:
        with pytest.raises(PrivateDataError, match="is private"):
            task()


# Reading once


def test_a_file_is_read_only_while_it_is_what_was_looked_at(secret: Path) -> None:
    mark = read_content(secret).mark
    os.utime(secret, (1, 1))
    assert read_public(secret, mark).data == secret.read_bytes()
    text = secret.read_text()
    secret.write_text(text.replace("a,", "b,", 1))
    with pytest.raises(PrivateDataError, match="is not what it was"):
        read_public(secret, mark)
    secret.write_text(text + "x")
    with pytest.raises(PrivateDataError, match="is not what it was"):
        read_public(secret, mark)


@pytest.mark.skipif(not FIFOS, reason="this system has no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", Path("/dev/null"), tmp_path):
        assert not is_regular(path)
        with pytest.raises(TableError):
            read_content(path)


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "no/such", "loop"])
def test_a_path_that_leads_nowhere_is_refused_and_no_more(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    path = tmp_path / name
    assert not is_regular(path)
    real_path(path)
    with pytest.raises(TableError):
        read_content(path)
    check_public(path)


def test_a_long_name_has_no_vault_and_is_read(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".csv")
    path.write_text("a\n")
    assert read_public(path).data == b"a\n"
    assert not is_there(vault_beside(path))


def test_a_file_longer_than_any_disk_is_refused(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_bytes(b"x" * 11)
    assert len(read_content(tmp_path / "long.csv", most=11).data) == 11
    with pytest.raises(TableError, match="more than 10 bytes"):
        read_content(tmp_path / "long.csv", most=10)


def test_a_mark_is_that_of_the_bytes() -> None:
    one, other = FileContent(Path("a"), b"1"), FileContent(Path("b"), b"1")
    assert one.mark == other.mark == FileMark(1, one.mark.digest)
    assert FileContent(Path("a"), b"2").mark != one.mark
