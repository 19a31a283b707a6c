"""Taxonomies: which trees are refused, and what groups they give."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jostle import Categorical, Numeric, Schema

VALUES = ("a", "b", "c", "d")


def test_levels_go_from_all_together_to_each_by_itself() -> None:
    column = Categorical(VALUES, taxonomy=[["a", ["b", "c"]], "d"], missing="value")
    assert column.levels == (
        (0, 0, 0, 0, 0),
        (0, 0, 0, 0, 1),  # there, and missing
        (0, 0, 0, 1, 2),
        (0, 1, 1, 2, 3),
        (0, 1, 2, 3, 4),
    )
    assert Categorical(VALUES).levels == ((0, 0, 0, 0), (0, 1, 2, 3))
    assert Categorical(["a"]).levels == ((0,),)
    assert Numeric(0, 1, bins=6).levels == ((0,) * 6, (0, 0, 0, 1, 1, 1), (0, 0, 1, 2, 2, 3), (0, 1, 2, 3, 4, 5))


def test_a_taxonomy_stays_in_a_schema_file() -> None:
    schema = Schema({"x": Categorical(['a"', "b", "c"], taxonomy=[['a"', ["b"]], "c"])})
    assert Schema.from_toml(schema.to_toml()) == schema
    assert "taxonomy" not in Schema({"x": Categorical(VALUES)}).to_toml()


trees = st.recursive(st.just(0), lambda below: st.lists(below, min_size=1, max_size=3), max_leaves=8)


@given(trees.filter(lambda tree: isinstance(tree, list)))
def test_each_level_is_finer_than_the_one_before(tree: Any) -> None:
    names: list[str] = []

    def named(branch: Any) -> Any:
        if isinstance(branch, list):
            return [named(each) for each in branch]
        names.append(f"v{len(names)}")
        return names[-1]

    given_tree = named(tree)
    levels = Categorical(names, taxonomy=given_tree).levels
    assert set(levels[0]) == {0}
    assert sorted(levels[-1]) == list(range(len(names)))
    for coarse, fine in pairwise(levels):
        assert max(fine) > max(coarse)
        assert len(set(zip(coarse, fine, strict=True))) == len(set(fine))
