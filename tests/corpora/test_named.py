"""The list of public files: what was named is on it as it was then, and nothing else is opened."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jostle.corpora import named
from jostle.corpora.databases import PublicGrid, PublicTable
from jostle.corpora.named import NamedFiles, PublicFiles
from jostle.errors import CorpusError, JostleError, PrivateDataError
from jostle.tables.origins import RowOrigin, take_as_private

ROWS = "age,label\n30,1\n40,0\n50,1\n"
PATIENTS = "ward,ill\nnorth,1\nsouth,0\nnorth,0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of public data with a folder below it, and what is no data."""
    made = tmp_path / "public"
    (made / "below").mkdir(parents=True)
    (made / "people.csv").write_text(ROWS)
    np.save(made / "grid.npy", np.arange(1, 5))
    (made / "below" / "more.csv").write_text(ROWS.replace("30", "31"))
    (made / "README.md").write_text("nothing")
    (made / "bad.csv").write_text("no,columns\n")
    return made


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a private file."""
    (tmp_path / "secret.csv").write_text(PATIENTS)
    return tmp_path / "secret.csv"


def found(files: PublicFiles, path: Path | str) -> NamedFiles:
    listing = files.at(str(path))
    assert listing is not None
    return listing


def test_folders_and_files_are_found_by_any_path_to_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    files = PublicFiles.named(["public"])
    (folder.parent / "elsewhere").symlink_to(folder)
    monkeypatch.chdir("/")  # what is seen from where does not change any more
    for path in ("public", "public/", "./public/.", "public/below/..", folder, "elsewhere"):
        assert [each.name for each in found(files, path).corpus] == ["grid", "people"]
        assert [str(each.title) for each in found(files, path).corpus.problems] != []
    for path in ("public/people.csv", "public/below/../people.csv", folder / "people.csv", "elsewhere/people.csv"):
        (table,) = found(files, path).corpus
        assert isinstance(table, PublicTable)
        assert len(table) == 3
    (grid,) = found(files, "public/grid.npy").corpus
    assert isinstance(grid, PublicGrid)
    assert grid.total == 10
    assert [each.name for each in found(files, "public/below").corpus] == ["more"]


def test_nothing_else_is_found_whether_it_is_there_or_not(folder: Path, secret: Path, tmp_path: Path) -> None:
    files = PublicFiles.named([folder])
    (folder / "late.csv").write_text(ROWS)  # after the look
    (folder / "link.csv").symlink_to(secret)
    opened = os.open(secret, os.O_RDONLY)
    paths: list[object] = [
        secret,
        tmp_path,
        tmp_path / "no such file",
        folder / ".." / "secret.csv",
        folder / "late.csv",
        folder / "link.csv",
        folder / "README.md",
        folder / "PEOPLE.CSV",
        folder / "people.csv" / "..",
        f"/proc/self/fd/{opened}",
        "/dev/zero",
        "",
        ".",
        "~",
        "a\0b",
        "\ud800",
        "x" * 10_000,
    ]
    for path in paths:
        listing = files.at(str(path))
        assert listing is None or listing is files.at(str(folder)), path
    os.close(opened)
    assert files.at(str(folder / "people.csv" / "..")) is not None  # that is the folder


def test_what_is_wrong_with_a_file_is_said_of_those_that_were_named(folder: Path) -> None:
    with pytest.raises(CorpusError, match="no column 'label'"):
        PublicFiles.named([folder]).at(str(folder / "bad.csv"))


def test_a_file_is_named_by_itself_and_its_folder_is_not(folder: Path) -> None:
    files = PublicFiles.named([folder / "people.csv"])
    assert found(files, folder / "people.csv").corpus.databases[0].name == "people"
    assert files.at(str(folder)) is None
    assert files.at(str(folder / "grid.npy")) is None


@pytest.mark.parametrize("name", ["nowhere", "README.md", "pipe.csv"])
def test_what_is_no_folder_and_no_data_is_not_named(folder: Path, name: str) -> None:
    os.mkfifo(folder / "pipe.csv")
    with pytest.raises(CorpusError, match="there is no folder of public data"):
        PublicFiles.named([folder / name])


# What is private is not listed


def linked(secret: Path, folder: Path) -> Path:
    (folder / "linked.csv").symlink_to(secret)
    return folder / "linked.csv"


def in_the_groups(secret: Path, folder: Path) -> Path:
    (folder / "groups.toml").symlink_to(secret)
    return folder / "groups.toml"


@pytest.mark.parametrize("way", [linked, in_the_groups])
def test_the_private_file_is_not_named_as_public(secret: Path, folder: Path, way: Callable[[Path, Path], Path]) -> None:
    place = way(secret, folder)
    take_as_private(RowOrigin.of(secret))
    with pytest.raises(PrivateDataError, match=re.escape(repr(str(place)))):
        PublicFiles.named([folder])


def test_a_copy_of_the_private_file_is_not_told_from_other_files(secret: Path, folder: Path) -> None:
    take_as_private(RowOrigin.of(secret))
    (folder / "below" / "copy.csv").write_bytes(secret.read_bytes())
    assert PublicFiles.named([folder]).databases == 3


def test_nor_is_what_has_a_vault_beside_it(folder: Path) -> None:
    (folder / "below" / "more.csv.vault").touch()
    with pytest.raises(PrivateDataError, match="is private"):
        PublicFiles.named([folder])


def test_a_link_to_a_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "up").symlink_to(tmp_path)
    (tmp_path / "other.csv").write_text(ROWS)
    files = PublicFiles.named([folder])
    assert files.at(str(folder / "up" / "other.csv")) is None
    assert files.at(str(folder / "up" / "public" / "people.csv")) is files.at(str(folder / "people.csv"))


def test_what_ends_never_or_is_nobodys_to_read_is_passed_over(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    (folder / "null.csv").symlink_to("/dev/null")
    (folder / "nowhere.csv").symlink_to(folder / "not there")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "folder.csv").mkdir()
    assert [each.name for each in found(PublicFiles.named([folder]), folder).corpus] == ["grid", "people"]


def test_more_files_than_can_be_looked_at_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "MOST_FILES", 4)
    PublicFiles.named([folder, folder])
    (folder / "one_more.csv").write_text(ROWS)
    with pytest.raises(CorpusError, match="more than 4 files"):
        PublicFiles.named([folder])


@pytest.mark.slow
def test_folders_in_folders_in_folders_are_looked_at(folder: Path) -> None:
    deep = folder
    for _ in range(1200):
        deep /= "a"
        deep.mkdir()
    (deep / "deep.csv").write_text(ROWS)
    try:
        assert found(PublicFiles.named([folder]), deep / "deep.csv").corpus.tables[0].name == "deep"
    finally:  # too deep for those who clean up after tests
        (deep / "deep.csv").unlink()
        while deep != folder:
            deep.rmdir()
            deep = deep.parent


@pytest.mark.parametrize("name", ["two\nlines.csv", "\x1b[31mred.csv", "\udcff.csv"])
def test_a_name_cannot_steer_a_terminal(folder: Path, secret: Path, name: str) -> None:
    (folder / name).symlink_to(secret)
    take_as_private(RowOrigin.of(secret))
    with pytest.raises(PrivateDataError) as caught:
        PublicFiles.named([folder])
    assert str(caught.value).replace("\n  why: ", "").replace("\n  fix: ", "").isprintable()


# What is exchanged afterwards is not read


def to_another(path: Path, secret: Path) -> None:
    path.write_bytes(secret.read_bytes())


def to_nothing(path: Path, _: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("exchanged", [to_another, to_nothing])
@pytest.mark.parametrize("name", ["people.csv", "grid.npy"])
def test_a_file_that_was_exchanged_after_the_look_is_not_read(
    folder: Path, secret: Path, name: str, exchanged: Callable[[Path, Path], None]
) -> None:
    files = PublicFiles.named([folder])
    exchanged(folder / name, secret)
    (database,) = found(files, folder / name).corpus
    with pytest.raises(JostleError) as caught:
        _ = database.digest
    assert "ward" not in str(caught.value)


def test_a_corpus_with_a_file_that_was_exchanged_is_not_used_at_all(folder: Path, secret: Path) -> None:
    corpus = found(PublicFiles.named([folder]), folder).corpus
    to_another(folder / "people.csv", secret)
    with pytest.raises(PrivateDataError, match="is not what it was"):
        corpus.grouped()


def test_a_list_travels_and_tells_itself_from_others(folder: Path) -> None:
    files, same = PublicFiles.named([folder]), PublicFiles.named([folder])
    sent = pickle.loads(pickle.dumps(files))
    assert files == same == sent
    assert hash(files) == hash(sent)
    assert [each.name for each in found(sent, folder).corpus] == ["grid", "people"]
    before = found(files, folder).digest
    (folder / "people.csv").write_text(ROWS + "60,1\n")
    other = PublicFiles.named([folder])
    assert other != files
    assert found(other, folder).digest != before
    assert found(other, folder / "below").digest == found(files, folder / "below").digest


def test_groups_are_those_of_the_look(folder: Path) -> None:
    (folder / "more.csv").write_text(ROWS)
    (folder / "groups.toml").write_text('one = ["people", "more"]\n')
    listing = found(PublicFiles.named([folder]), folder)
    (folder / "groups.toml").unlink()
    assert listing.corpus.groups["one"] == ("more", "people")
