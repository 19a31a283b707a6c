"""Folders of public files: what can be read is, what cannot is said, and who shares people is known."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jostle.corpora.databases import PublicGrid, PublicTable
from jostle.corpora.folders import FileRows, points_grid, public, read_folder
from jostle.corpora.parts import GridSpec, TableSpec
from jostle.errors import CorpusError
from jostle.tables.readers import header
from jostle.tasks import make_instance

ROWS = "age,job,label\n30,cook,1\n,?,0\n?,clerk,1\n41.5,,0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a table in three formats, a grid, and a file that is neither."""
    (tmp_path / "plain.csv").write_text(ROWS)
    with gzip.open(tmp_path / "packed.csv.gz", "wt") as file:
        file.write(ROWS)
    typed = {"age": [30.0, None, None, 41.5], "job": ["cook", "?", "clerk", None], "label": [1, 0, 1, 0]}
    pd.DataFrame(typed).to_parquet(tmp_path / "typed.parquet")
    np.save(tmp_path / "grid.n4.npy", np.array([1.0, 0.0, 2.0, 5.0]))
    (tmp_path / "README.md").write_text("no data")
    return tmp_path


def test_a_table_is_the_same_from_every_format(folder: Path) -> None:
    corpus = read_folder(folder)
    assert [database.name for database in corpus] == ["grid.n4", "packed", "plain", "typed"]
    assert corpus.problems == ()
    assert len({table.digest for table in corpus.tables}) == 1
    table = corpus.tables[0]
    assert table.columns["age"].to_pylist() == [30.0, None, None, 41.5]
    assert table.columns["job"].to_pylist() == ["cook", "?", "clerk", None]
    assert table.columns["label"].to_pylist() == ["1", "0", "1", "0"]
    assert corpus.grids[0].counts.tolist() == [1, 0, 2, 5]


def test_listing_a_folder_reads_no_more_than_the_first_lines(folder: Path) -> None:
    corpus = read_folder(folder)
    for path in folder.iterdir():
        path.unlink()
    assert len(corpus) == 4
    assert corpus.groups == {name: (name,) for name in ("grid.n4", "packed", "plain", "typed")}
    with pytest.raises(CorpusError, match=re.escape(f"there is no file {folder / 'plain.csv'}")):
        len(corpus.only("plain").tables[0])


def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    table, grid = tmp_path / "t.csv", tmp_path / "g.npy"
    for rows in (1, 2):
        table.write_text("age,label\n" + "30,1\n" * rows)
        np.save(grid, np.full(4 * rows, rows))
        assert len(public(table).tables[0]) == rows
        assert public(grid).grids[0].counts.tolist() == [rows] * 4 * rows


def test_the_label_may_be_called_otherwise(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("kind\tsize\na\t1\nb\t2\n")
    table = public(tmp_path / "t.tsv", label="kind").tables[0]
    assert (table.name, table.label, table.attributes) == ("t", "kind", ("size",))


BROKEN = {
    "no_label.csv": (b"lon,lat\n1,2\n", "has no column 'label' to predict"),
    "twice.csv": (b"a,a,label\n1,2,3\n", "has two columns 'a'"),
    "two_labels.csv": (b"label,label\n1,2\n", "has two columns 'label'"),
    "nothing.csv": (b"", "has no column 'label'"),
    "not_packed.csv.gz": (b"a,label\n1,2\n", "cannot be read as CSV"),
    "not.parquet": (b"PAR1 or not", "cannot be read as Parquet"),
    "not.npy": (b"1 2 3", "cannot be read as a NumPy array"),
}


def test_files_with_faults_are_problems_and_the_others_are_read(folder: Path) -> None:
    for name, (content, _) in BROKEN.items():
        (folder / name).write_bytes(content)
    corpus = read_folder(folder)
    assert len(corpus) == 4
    assert len(corpus.problems) == len(BROKEN)
    for problem, name in zip(corpus.problems, sorted(BROKEN), strict=True):
        assert isinstance(problem, CorpusError)
        assert str(folder / name) in problem.title
        assert BROKEN[name][1] in problem.title


BROKEN_LATER = {
    "cut.csv.gz": (gzip.compress(b"a,label\n" + b"1,2\n" * 10**6)[:-30], "could not be read to its end"),
    "header_only.csv": (b"a,label\n", "has no rows"),
    "no_label_given.csv": (b"a,label\n1,\n2,?\n", "has no rows with a label"),
    "cut.npy": (None, "has not as many cells as it says"),
    "fractions.npy": (None, "holds something other than counts"),
    "objects.npy": (None, "holds no array of numbers"),
}


def test_faults_farther_down_show_when_the_rows_are_read_and_move_to_the_problems(folder: Path) -> None:
    for name, (content, _) in BROKEN_LATER.items():
        if content is not None:
            (folder / name).write_bytes(content)
    np.save(folder / "cut.npy", np.arange(100))
    (folder / "cut.npy").write_bytes((folder / "cut.npy").read_bytes()[:-50])
    np.save(folder / "fractions.npy", np.array([0.5, 1]))
    np.save(folder / "objects.npy", np.array([{"a": 1}]), allow_pickle=True)

    listed = read_folder(folder)
    assert (len(listed), listed.problems) == (4 + len(BROKEN_LATER), ())
    readable = listed.grouped()
    assert len(readable) == 4
    assert len(readable.problems) == len(BROKEN_LATER)
    for problem, name in zip(readable.problems, sorted(BROKEN_LATER), strict=True):
        assert str(folder / name) in problem.title
        assert BROKEN_LATER[name][1] in problem.title


def test_subfolders_are_followed_only_if_asked_for(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "plain.csv").write_text(ROWS.replace("cook", "baker"))
    (folder / "more" / "other.csv").write_text(ROWS)
    assert len(read_folder(folder)) == 4
    corpus = public(folder, subfolders=True)
    assert len(corpus) == 6
    assert "other" in corpus
    first, second = (table for table in corpus.tables if isinstance(table.reader, FileRows) and "plain" in table.name)
    assert (first.name, second.name) == ("plain", "plain.csv")


def test_databases_of_one_name_in_one_folder_get_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(ROWS)
    (tmp_path / "t.tsv").write_text(ROWS.replace(",", "\t"))
    assert [database.name for database in read_folder(tmp_path)] == ["t", "t.tsv"]


def test_groups_are_read_from_the_folder_and_from_python(folder: Path) -> None:
    (folder / "groups.toml").write_text('census = ["plain", "packed"]\n')
    corpus = read_folder(folder)
    assert corpus.groups == {"grid.n4": ("grid.n4",), "census": ("packed", "plain"), "typed": ("typed",)}
    more = read_folder(folder, groups={"survey": ["typed", "packed"]})
    assert more.groups == {"grid.n4": ("grid.n4",), "survey": ("packed", "plain", "typed")}
    assert [database.name for database in more.without("survey")] == ["grid.n4"]


def test_well_known_relatives_are_in_one_group(tmp_path: Path) -> None:
    for name in ("adult", "census_income_kdd_test", "car"):
        (tmp_path / f"{name}.csv").write_text(ROWS)
    assert read_folder(tmp_path).groups == {"adult": ("adult", "census_income_kdd_test"), "car": ("car",)}


def test_points_are_counted_in_cells_of_equal_sides(tmp_path: Path) -> None:
    frame = pd.DataFrame({"lon": [0.0, 0.9, 1.1, 4.0, None], "lat": [10, 10, 20, 20, 15], "name": list("abcde")})
    grid = points_grid(frame, (4, 2), name="places")
    assert (grid.name, grid.counts.tolist()) == ("places", [[2, 0], [0, 1], [0, 0], [0, 1]])

    frame.to_csv(tmp_path / "towns.csv.gz", index=False)
    read = points_grid(tmp_path / "towns.csv.gz", (4, 2))
    assert (read.name, read.digest) == ("towns", grid.digest)
    assert points_grid(frame, (3,), columns=("lat",)).counts.tolist() == [2, 1, 2]
    assert points_grid(pd.DataFrame({"lon": [5, 5], "lat": [1, 1]}), (2, 2)).counts.tolist() == [[2, 0], [0, 0]]


LISTED = re.compile(r"^\| (\w+)\.csv\.gz \| (\d+) \| (\d+) \| (\d+) \|", re.MULTILINE)


@pytest.mark.slow
def test_the_shared_tables_have_the_rows_and_classes_they_should_and_all_their_relatives(shared: Path) -> None:
    corpus = read_folder(shared / "tabular").grouped()
    assert corpus.problems == ()
    listed = {
        name: tuple(map(int, numbers))
        for name, *numbers in LISTED.findall((shared / "README.md").read_text(encoding="utf-8"))
    }
    assert len(corpus) == len(corpus.tables) == len(listed) == 195
    for table in corpus.tables:
        classes = len(table.columns[table.label].unique())
        assert (len(table), len(table.attributes), classes) == listed[table.name]
        make_instance(table, TableSpec(attributes=3, seed=1))
    together = [set(names) for names in corpus.groups.values()]
    relatives = [
        ("acs_ma_tenure", "acs_national_income", "acs_tx_marital"),
        ("adult", "census_income_kdd_test"),
        ("heart_cleveland", "heart_statlog"),
        ("hypothyroid", "sick"),
        ("kc1", "pc1"),
        ("lending_club", "loans_grade"),
        ("monks1", "monks2", "monks3"),
    ]
    assert all(any(names >= set(each) for names in together) for each in relatives)


def test_the_shared_grids_are_read_and_drawn_from(shared: Path) -> None:
    corpus = read_folder(shared / "dpbench", subfolders=True)
    assert (len(corpus.grids), corpus.problems) == (21, ())
    adult = corpus["ADULTFRANK.n4096"]
    assert isinstance(adult, PublicGrid)
    assert (adult.shape, adult.total) == ((4096,), 17665)
    for grid in corpus.grids:
        shape = (64,) * len(grid.shape)
        assert make_instance(grid, GridSpec(1000, shape, 2)).rows == 1000


def test_the_shared_points_become_grids(shared: Path) -> None:
    paths = sorted((shared / "points").glob("*.csv.gz"))
    grids = [points_grid(path, (128, 64), columns=header(path)[:2]) for path in paths]
    known = {
        "geolife_beijing": 217653,
        "gowalla_locations": 72161,
        "mpls_police_stops": 51920,
        "us_airfields": 12579,
        "us_zipcodes": 41898,
        "world_places": 144563,
    }
    assert known.items() <= {grid.name: grid.total for grid in grids}.items()


def test_a_table_read_from_a_file_travels_without_its_rows(folder: Path) -> None:
    table = public(folder / "plain.csv").tables[0]
    assert isinstance(table, PublicTable)
    assert "columns" not in vars(table)
    assert set(vars(table)) == {"name", "reader", "label", "group", "artificial"}
