"""Pairs must be neighbours: a loss between inputs that are not proves nothing."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.audit import (
    CONTROLS,
    HONEST,
    Relation,
    Subject,
    answer_pairs,
    histogram_pairs,
    key_pairs,
)
from jostle.audit.subjects import answers_close, histograms_adjacent, keys_adjacent

RELATIONS: tuple[Relation, ...] = ("add_remove", "replace_one")

small = st.tuples(*[st.integers(0, 3)] * 3)


def all_neighbours(cells: tuple[int, ...], relation: Relation) -> set[tuple[int, ...]]:
    """Add, remove or move every record there is."""

    def moved(source: tuple[int, ...], cell: int, step: int) -> tuple[int, ...]:
        return (*source[:cell], source[cell] + step, *source[cell + 1 :])

    places = range(len(cells))
    added = {moved(cells, cell, 1) for cell in places}
    removed = {moved(cells, cell, -1) for cell in places if cells[cell]}
    if relation == "add_remove":
        return added | removed
    return {moved(less, cell, 1) for less, cell in product(removed, places)} - {cells}


@given(first=small, second=small, relation=st.sampled_from(RELATIONS))
def test_histograms_are_adjacent_exactly_if_one_record_makes_the_difference(
    first: tuple[int, ...], second: tuple[int, ...], relation: Relation
) -> None:
    assert histograms_adjacent(first, second, relation) == (second in all_neighbours(first, relation))


@given(first=small, second=small, relation=st.sampled_from(RELATIONS))
def test_sparse_histograms_are_adjacent_exactly_if_the_dense_ones_are(
    first: tuple[int, ...], second: tuple[int, ...], relation: Relation
) -> None:
    sparse = [tuple((key, count) for key, count in enumerate(cells) if count) for cells in (first, second)]

    assert keys_adjacent(sparse[0], sparse[1], relation) == histograms_adjacent(first, second, relation)


def test_answers_of_sensitivity_one_move_by_at_most_one_and_monotone_ones_together() -> None:
    assert answers_close((0, 5), (1, 4), monotone=False)
    assert not answers_close((0, 5), (1, 4), monotone=True)
    assert answers_close((0, 5), (1, 5), monotone=True)
    assert answers_close((0, 5), (0, 4), monotone=True)
    assert not answers_close((0, 5), (2, 5), monotone=False)


@pytest.mark.parametrize("subject", [*CONTROLS, *HONEST], ids=lambda subject: str(subject.name))
def test_every_subject_has_pairs_and_all_are_neighbours(subject: Subject[Any]) -> None:
    pairs = list(subject.pairs)

    assert pairs
    assert len({pair.about for pair in pairs}) == len(pairs)
    assert all(pair.first != pair.second for pair in pairs)
    assert pairs == list(subject.pairs)


def test_families_reach_the_places_where_mechanisms_fail() -> None:
    pairs = {(pair.first, pair.second) for pair in histogram_pairs(3, "add_remove")}
    assert ((0, 0, 0), (1, 0, 0)) in pairs
    assert any(max(first) >= 1000 for first, _ in pairs)
    assert all(sum(pair.first) == sum(pair.second) for pair in histogram_pairs(3, "replace_one"))
    assert any(not pair.first for pair in key_pairs(4, "add_remove"))
    rises = {pair.second for pair in answer_pairs(3, monotone=True)}
    assert (1, 1, 1) in rises
    assert ((0, 0, 0, 0), (1, 1, -1, -1)) in {
        (pair.first, pair.second) for pair in answer_pairs(4, monotone=False, downs=(2,))
    }
