"""Corpora: unions keep names apart, and whoever shares rows is found out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from jostle.corpora.corpus import Corpus
from jostle.corpora.databases import PublicGrid, PublicTable
from jostle.errors import CorpusError


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
