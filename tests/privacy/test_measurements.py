"""What was released is kept: what is told of it is right, belongs to one allotment, and is nobody's to change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import ProbeError
from jostle.privacy.evidence import Look, noise_variance
from jostle.privacy.expressions import cells, rows
from jostle.privacy.mechanisms import AddNoiseByLevel, sensitivity
from jostle.tables.kernels import Counts, Sums
from jostle.tables.regions import Regions
from jostle.tables.schema import Neighbours

SIZES = {"a": 2, "b": 3, "c": 4}
TABLE = Schema(
    {name: Categorical(list(map(str, range(size))), outside="drop", missing="drop") for name, size in SIZES.items()}
)
RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)
SURE = 10**6
"""An epsilon at which noise is nothing."""


def some_table(relation: Neighbours = "add_remove") -> Table:
    random = np.random.default_rng(3)
    frame = pd.DataFrame({name: random.integers(0, size, 60).astype(str) for name, size in SIZES.items()})
    return Table.from_frame(frame, evolve(TABLE, neighbours=relation))


def opened(**how: Any) -> jostle.Probe:
    return jostle.rehearse(some_table(), seed=5, **how)


def the_look(db: jostle.Probe, kernel: Counts | Regions) -> Look:
    (look,) = db.known(kernel)
    assert look is not None
    return look


@pytest.mark.parametrize("bought", [("a", "b", "c"), ("c", "a"), ("b",), ()])
def test_what_is_told_of_fewer_columns_is_the_sum_over_the_others(bought: tuple[str, ...]) -> None:
    """Compared with numpy's sums for every choice and order of columns."""
    db = opened()
    answer = np.asarray(db.histogram(*bought, epsilon=1)) if bought else np.array(int(db.count(1)))
    inner = db.allot(1)
    for size in range(len(SIZES) + 1):
        for wanted in itertools.permutations(SIZES, size):
            (look,) = inner.known(Counts.of(*wanted))
            if not set(wanted) <= set(bought):
                assert look is None
                continue
            assert look is not None
            gone = tuple(place for place, name in enumerate(bought) if name not in wanted)
            left = [name for name in bought if name in wanted]
            expected = answer.sum(axis=gone).transpose([left.index(name) for name in wanted])
            assert look.counts.tolist() == expected.ravel().tolist()
            scale = sensitivity(Counts.of(*bought), TABLE) / Fraction(1)
            parts = math.prod(SIZES[name] for name in bought if name not in wanted)
            assert look.variance.tolist() == [parts * noise_variance(scale)] * len(look.counts)


def test_a_tally_by_groups_tells_of_coarser_ones_and_not_of_finer() -> None:
    db = opened()
    groups: dict[str, int | Iterable[int]] = {"c": (0, 0, 2, 2)}  # there is no group 1
    answer = db.release_cells(cells("c", "a").coarsened(groups), 1)
    inner = db.allot(1)
    assert inner.known(Counts.of("c")) == (None,)
    halves = Regions(("c",), np.arange(4), (np.array([0, 2]),))
    assert the_look(inner, halves).counts.tolist() == answer[[0, 2]].sum(axis=1).tolist()
    assert the_look(inner, Counts.of("a")).counts.tolist() == answer[[0, 2]].sum(axis=0).tolist()
    assert inner.known(Regions(("c",), np.arange(4), (np.array([0, 1]),))) == (None,)
    assert the_look(inner, Regions(("c",), np.array([3, 2, 1, 0]), (np.array([0, 2]),))).counts.tolist() == [
        *answer[[2, 0]].sum(axis=1)
    ]


def test_of_a_tally_by_groups_of_too_many_codes_the_total_is_told_and_nothing_is_gone_through() -> None:
    """Even one number for each combination of codes would not fit into memory."""
    names = ("a", "b", "c")
    schema = Schema({name: Numeric(0, 1, bins=10**5, missing="drop") for name in names})
    db = jostle.rehearse(Table.from_frame({name: [0.2, 0.7] for name in names}, schema), epsilon=SURE + 1)

    answer = db.release_cells(cells(*names).coarsened(dict.fromkeys(names, 10**5 // 2)), SURE)

    assert answer.sum() == 2
    assert the_look(db.allot(1), Counts.of()).counts.tolist() == [2]


def test_several_answers_are_averaged_by_their_precision() -> None:
    db = opened()
    first, second = db.count("1/2"), db.histogram("a", epsilon=2)
    (look,) = db.allot(1).known(Counts.of())
    one, other = noise_variance(Fraction(2)), 2 * noise_variance(Fraction(1, 2))
    assert look is not None
    assert look.variance[0] == pytest.approx(1 / (1 / one + 1 / other))
    assert look.counts[0] == pytest.approx((first / one + second.sum() / other) / (1 / one + 1 / other))


def test_each_answer_is_told_once_of_the_finest_level_that_it_refines() -> None:
    db = opened()
    total, by_a = db.count(1), db.histogram("a", epsilon=1)
    root, levels = db.allot(1).known(Counts([(), ("a",)]))
    assert root is not None
    assert levels is not None
    assert root.counts.tolist() == [int(total)]
    assert levels.counts.tolist() == np.asarray(by_a).tolist()


def test_levels_of_a_tree_have_the_noise_of_their_shares() -> None:
    db = opened()
    tree = Regions(("c",), np.arange(4), (np.array([0]), np.array([0, 2]), np.arange(4)))
    shares = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    db.perform(AddNoiseByLevel(tree, shares), Fraction(2), site="tree")
    looks = db.allot(1).known(tree)
    for look, share in zip(looks, shares, strict=True):
        assert look is not None
        assert set(look.variance.tolist()) == {noise_variance(1 / (2 * share))}


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_variance_is_that_of_the_noise(relation: Neighbours) -> None:
    """400 answers: the mean square of what they are off by, within five standard errors (of a kurtosis of 6)."""
    table = some_table(relation)
    truth = np.asarray(jostle.rehearse(table).histogram("b", epsilon=SURE))
    off, runs = [], 400
    db = jostle.rehearse(table, seed=1)
    for _ in range(runs):
        part = db.allot(10)
        part.histogram("b", "c", epsilon=1)
        look = the_look(part.allot(1), Counts.of("b"))
        off.append(look.counts - truth)
    found = float(np.mean(np.square(off)))
    error = float(look.variance[0]) * math.sqrt(5 / (3 * runs))
    assert abs(found - float(look.variance[0])) < 5 * error


def test_a_measurement_belongs_to_one_allotment_and_what_is_in_it() -> None:
    db = opened()
    outer = db.allot(10)
    outer.count(1)
    assert outer.known(Counts.of()) == (None,), "its own purchases are not known beforehand"
    assert db.allot(1).known(Counts.of()) == (None,), "not outside"
    inner = outer.allot(3)
    assert the_look(inner, Counts.of())
    inner.count(1)
    assert len(inner.charges) == 1
    assert the_look(outer.allot(1), Counts.of()).variance == noise_variance(Fraction(1)), "what is bought inside stays"
    assert opened().allot(1).known(Counts.of()) == (None,), "nor in another probe on the same table"


@pytest.mark.parametrize("relation", RELATIONS)
def test_of_parts_nothing_is_known(relation: Neighbours) -> None:
    db = jostle.rehearse(some_table(relation), seed=5)
    db.histogram("a", "b", epsilon=SURE)
    db = db.allot(10)
    for part in (db.where("a", "1"), *db.parts("a"), db.where("a", "0", "1"), db.parts("b")[1].allot(1)):
        assert part.known(Counts.of()) == (None,)
        assert part.rows is None
    inside = db.where("a", "1")
    inside.count(1)
    assert the_look(inside.allot(1), Counts.of())
    assert db.where("a", "1").allot(1).known(Counts.of()) == (None,)
    assert the_look(db.allot(1), Counts.of()).variance == 6 * noise_variance(Fraction(1, SURE))


def test_what_is_told_is_a_copy_and_nothing_can_be_put_in() -> None:
    db = opened()
    answer = db.measure(Counts.of("a"), 1)
    kept = answer.tolist()
    answer[:] = -1
    inner = db.allot(1)
    look = the_look(inner, Counts.of("a"))
    with pytest.raises(ValueError, match="read-only"):
        look.counts[0] = 7
    look.counts.setflags(write=True)
    look.counts[0] = 7
    object.__setattr__(look, "variance", np.zeros(2))
    again = the_look(inner, Counts.of("a"))
    assert again.counts.tolist() == kept
    assert again.variance.tolist() == [noise_variance(Fraction(1))] * 2
    assert not [name for name in dir(inner) if name in {"before", "released", "told"}]
    with pytest.raises(ProbeError):
        inner._ask("told", 7)


def test_other_answers_are_no_numbers_of_rows() -> None:
    """Sums, conditions, weights, mixtures, finer units: nothing is taken for what it is not."""
    db = opened()
    db.measure(Sums("a", (1, 2), 2), 1)
    db.release_cells(cells("b").where("a", "1"), 1)
    db.release_cells(cells("b") + cells("b"), 1)
    db.release(rows() / 3, 1)
    db.histogram("a", "a", epsilon=1)
    db.pick(jostle.privacy.scores.Fullest(("a",)), 1)
    assert db.allot(1).known(Counts([(), ("a",), ("b",)])) == (None, None, None)
