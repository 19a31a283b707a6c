"""What goes through the door is rebuilt from plain values, so that no code of the caller's runs where rows are."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from jostle import Table, rehearse
from jostle.errors import ProbeError
from jostle.privacy.mechanisms import AddNoise, AddNoiseAbove, Pick
from jostle.privacy.plain import plain
from jostle.privacy.scores import Fullest
from jostle.tables.kernels import Counts, Marks, SparseCounts, Sums

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text() | st.fractions(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)
QUESTIONS = [
    AddNoise(Counts.of("age", "region")),
    AddNoise(Sums("age", range(10), most=3, by=("region",))),
    AddNoise(Marks(("smokes",))),
    AddNoiseAbove(SparseCounts(("age", "region")), 3),
    Pick(Fullest(("region",))),
]


@given(VALUES)
def test_plain_values_stay_as_they_are(value: object) -> None:
    assert plain(value) == value


def test_lists_become_tuples_and_numpys_numbers_builtin_ones() -> None:
    assert plain([1, [2]]) == (1, (2,))
    for given_, wanted in ((np.float64(0.1), 0.1), (np.int64(3), 3), (np.uint8(3), 3), (np.bool_(True), True)):
        assert plain(given_) == wanted
        assert type(plain(given_)) is type(wanted)


def test_answers_become_plain_numbers_without_how_sure_they_are() -> None:
    db = rehearse(Table.from_grid([5, 6, 7]), seed=0)
    for answer, kind in (
        (db.count(1), int),
        (db.mean("x", epsilon=1), float),
        (db.histogram("x", epsilon=1), np.ndarray),
        (db.top_k("x", 2, epsilon=1), tuple),
    ):
        again = plain(answer)
        assert type(again) is kind
        assert np.array_equal(again, answer.value)


@pytest.mark.parametrize("question", QUESTIONS, ids=repr)
def test_a_question_is_made_anew(question: object) -> None:
    again = plain(question)

    assert again == question
    assert again is not question


def test_whoever_keeps_an_array_cannot_change_the_one_that_went_in() -> None:
    given_ = np.arange(3)
    taken = plain(given_)
    given_[:] = 9

    assert taken.tolist() == [0, 1, 2]
    assert not taken.flags.writeable


def test_whoever_keeps_a_fraction_cannot_change_the_one_that_went_in() -> None:
    given_ = Fraction(1, 3)
    taken = plain(given_)
    given_._numerator = 9  # type: ignore[attr-defined]

    assert taken == Fraction(1, 3)


def test_what_was_changed_behind_a_validator_is_validated_anew() -> None:
    kernel = Sums("age", range(10), most=3)
    object.__setattr__(kernel, "most", -3)

    with pytest.raises(ValueError, match="most"):
        plain(AddNoise(kernel))


class Text(str):
    """A text that could run code."""

    __slots__ = ()


class Number(int):
    """A number that could."""


class Part(Fraction):
    """A fraction that could."""


class Row(tuple):  # type: ignore[type-arg]
    """A tuple that could."""

    __slots__ = ()


class Grid(np.ndarray):
    """An array that could."""


@frozen
class OwnCounts(Counts):
    """A kernel of somebody's own."""


@frozen
class Forged(Counts):
    """One that says it is Jostle's."""


Forged.__module__, Forged.__name__, Forged.__qualname__ = "jostle.tables.kernels", "Counts", "Counts"


class Sneaky(type):
    """Classes that claim to be any other."""

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(Counts)


class Named(str):
    """The name of a module, and at the same time of another."""

    __slots__ = ()

    def partition(self, _: Any) -> Any:
        return "jostle", "", ""


Claimed = Sneaky("Counts", (), {"__module__": "jostle.tables.kernels"})
Misplaced = type("Misplaced", (), {"__module__": Named(__name__)})


def holder(value: object) -> object:
    """Return a fraction with something inside."""
    fraction = Fraction(1, 3)
    fraction._numerator = value  # type: ignore[attr-defined]
    return fraction


def holding(kernel: object) -> object:
    """Return a mechanism of something else than it was made with."""
    mechanism = AddNoise(Counts.of("age"))
    object.__setattr__(mechanism, "tallied", kernel)
    return mechanism


def stuffed(value: object) -> object:
    """Return a kernel with something inside."""
    kernel = Counts.of("age")
    object.__setattr__(kernel, "groups", value)
    return AddNoise(kernel)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Text("age"),
        lambda: Number(1),
        lambda: Part(1, 3),
        lambda: Row((1, 2)),
        lambda: np.arange(3).view(Grid),
        lambda: np.array([object()]),
        lambda: np.array(["age"]),
        lambda: np.datetime64("2026-01-01"),
        lambda: OwnCounts(("age",)),
        lambda: Forged(("age",)),
        Claimed,
        Misplaced,
        lambda: holder(Number(1)),
        lambda: holder(0.5),
        lambda: stuffed(Row()),
        lambda: stuffed((Text("age"),)),
        lambda: stuffed(((Text("age"),),)),
        lambda: holding(OwnCounts(("age",))),
        lambda: 2**65,
        lambda: {"a": 1},
        lambda: {1},
        lambda: 1j,
        lambda: print,
        lambda: Counts,
        lambda: iter(()),
        object,
    ],
)
def test_anything_else_is_refused(make: Callable[[], object]) -> None:
    for value in (make(), (make(),), [1, [make()]]):
        with pytest.raises(ProbeError):
            plain(value)
