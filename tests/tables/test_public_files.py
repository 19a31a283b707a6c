"""What has a vault beside it is private under any name, and a public file is read once, as it was when it was named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jostle import Categorical, Numeric, Schema, Table, rehearse
from jostle.errors import PrivateDataError, TableError
from jostle.files.content import FileContent, FileMark, is_regular, is_there, read_content, real_path
from jostle.privacy.expressions import rows
from jostle.privacy.opening import raw
from jostle.tables.origins import check_public, read_public, vault_beside

SCHEMA = Schema({"ward": Categorical(["a", "b", "c"]), "age": Numeric(0, 90, bins=9), "ill": Categorical(["0", "1"])})
FIFOS = hasattr(os, "mkfifo")


def people(count: int = 60) -> pd.DataFrame:
    """Return rows of people."""
    random = np.random.default_rng(5)
    columns = {"ward": random.choice(["a", "b", "c"], count), "age": random.integers(0, 90, count)}
    return pd.DataFrame({**columns, "ill": random.choice(["0", "1"], count)})


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


# Vaults beside files


def test_a_file_with_a_vault_beside_it_is_private_under_every_name_it_has(secret: Path, there: Path) -> None:
    check_public(secret)
    beside = vault_beside(secret)
    assert beside == secret.with_name("secret.csv.vault")
    beside.touch()
    (there / "link.csv").symlink_to(secret)
    for path in (secret, there / "link.csv"):
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
