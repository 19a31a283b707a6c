"""Whatever a member of a closed list is built from, it is refused, or it is plain and keeps what it claims."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve, field, frozen
from claims import hold_above, hold_group_score, hold_kernel, hold_noise, hold_pick, hold_score
from contracts import LISTS, Outcome, attempt, check_beforehand, members, summary
from making import PLAUSIBLE, made
from some_expressions import tiny

import jostle
from jostle.errors import JostleError, TableError
from jostle.privacy.column_scores import FeatureScore
from jostle.privacy.events import price
from jostle.privacy.mechanisms import AddNoise, AddNoiseByLevel, AddNoiseTo
from jostle.privacy.picks import FindAbove, FindNthLargest, Pick, PickEach, PickLargest, PickPartition, PickSeveral
from jostle.privacy.scores import Fullest, Misfit
from jostle.privacy.split_scores import Halves, LeafMajority
from jostle.tables.closed import Closed
from jostle.tables.feature_kernels import FeatureSums
from jostle.tables.fields import Component, Components, Sides, Within, int64s, listed, names, whole, wholes
from jostle.tables.kernels import Counts, DenseKernel, Marks, Sums
from jostle.tables.number_kernels import Ranks
from jostle.tables.pools import Layer, Stack
from jostle.tables.regions import Haar, Regions
from jostle.tables.routes import LeafCounts, SplitCounts
from jostle.tables.rules import Margins

Hold = Callable[[Any, Any], None]
FEW, MANY = 12, 2000
DEAR = 200
"""Of mechanisms, all of whose noise is gone through."""
REPLACED = tiny("replace_one")
ADDED = tiny("add_remove")
ONE_CLASS = evolve(REPLACED, label="c")


def test_every_member_and_every_class_of_a_part_is_built_here() -> None:
    """Whoever adds a member to a list says here how one is built; so that it is attempted with everything else, too."""
    kinds = {kind for known in LISTS.values() for kind in known.kinds}
    options = {kind for kind in kinds if hasattr(kind, "task")}  # parts of a selection; they have tests of their own
    assert set(PLAUSIBLE) == kinds - options
    assert len(members()) == sum(len(known.members) for known in LISTS.values()), "a class is in two lists"


@pytest.mark.parametrize("member", members(), ids=lambda member: str(member.__name__))
def test_a_member_is_refused_or_keeps_what_it_claims(member: type) -> None:
    few = FEW // 2 if member in {PickPartition, PickLargest} else FEW  # all whose noise is gone through take long
    found = Outcome()
    for number in range(few):
        found += attempt(member, f"{member.__name__} {number}")

    assert found.built == few
    assert found.taken > few // 8
    assert found.held > few // 8


@pytest.mark.slow
@pytest.mark.parametrize("what", LISTS)
def test_thousands_of_members_are_refused_or_keep_what_they_claim(what: str) -> None:
    many = DEAR if what == "mechanisms" else MANY
    found = summary(many, start=FEW, only=what)[what]

    assert found.built == many * len(list(LISTS[what]))
    assert found.taken > found.built // 3
    assert found.held > found.taken


# It would be seen


def breaks(member: type, hold: Hold, schema: Any, attempts: int = 200) -> bool:
    """Return whether one of many members that make sense does not keep what it claims."""
    for number in range(attempts):
        value = made(random.Random(number), member)
        try:
            check_beforehand(value, schema)
        except JostleError:
            continue
        try:
            hold(value, schema)
        except AssertionError:
            return True
    return False


def single_or_twice(kernel: Any, schema: Any) -> int:
    """Return what trees claimed once."""
    return 1 if kernel.cells(schema) == 1 else 2 * int(kernel.bound(schema))


def by_level(kernel: Any, schema: Any) -> tuple[int, ...]:
    return (1,) * len(kernel.sizes(schema))


def one_way(mechanism: Any, schema: Any, epsilon: Fraction) -> Fraction:
    return Fraction(mechanism.tallied.bound(schema)) / epsilon


UNDERSTATED: list[tuple[type, str, Any, type, Hold, Any]] = [
    (LeafCounts, "replaced", single_or_twice, LeafCounts, hold_kernel, REPLACED),
    (SplitCounts, "replaced", single_or_twice, SplitCounts, hold_kernel, ONE_CLASS),
    (LeafCounts, "bound", lambda *_: 1, LeafCounts, hold_kernel, ADDED),
    (Layer, "most", property(lambda _: 1), Stack, hold_kernel, ADDED),
    (Counts, "bound", lambda *_: 1, Counts, hold_kernel, ADDED),
    (Sums, "replaced", lambda kernel, _: kernel.most, Sums, hold_kernel, REPLACED),
    (Marks, "replaced", lambda kernel, schema: kernel.bound(schema), Marks, hold_kernel, REPLACED),
    (Regions, "moved", by_level, Regions, hold_kernel, REPLACED),
    (Haar, "moved", by_level, Haar, hold_kernel, REPLACED),
    (Fullest, "sensitivity", lambda *_: Fraction(1, 2), Fullest, hold_score, ADDED),
    (Fullest, "monotone", lambda *_: True, Fullest, hold_score, REPLACED),
    (Misfit, "monotone", lambda *_: True, Misfit, hold_score, ADDED),
    (LeafMajority, "touched", lambda *_: 1, LeafMajority, hold_group_score, ADDED),
    (
        AddNoise,
        "scale",
        lambda one, schema, epsilon: one.tallied.bound(schema) / epsilon,
        AddNoise,
        hold_noise,
        REPLACED,
    ),
    (AddNoiseTo, "scale", lambda *_: Fraction(1, 8), AddNoiseTo, hold_noise, ADDED),
    (PickEach, "rate", lambda _, __, epsilon, spread=None: epsilon / (spread or 1), PickEach, hold_pick, REPLACED),
    (PickSeveral, "_rate", lambda one, _, epsilon: 2 * epsilon / one.times, PickSeveral, hold_pick, ADDED),
    (FeatureScore, "changes", lambda *_: Fraction(1), FindAbove, hold_above, REPLACED),
    (FeatureScore, "changes", lambda *_: Fraction(1), FindNthLargest, hold_noise, REPLACED),
    (FeatureSums, "bound", lambda kernel, _: kernel.totals + 1, FeatureSums, hold_kernel, ADDED),
    (PickPartition, "scale", lambda one, _, epsilon: one.grain / (4 * epsilon), PickPartition, hold_pick, ADDED),
    (Pick, "_rate", lambda _, __, epsilon: epsilon, Pick, hold_pick, REPLACED),
]


@pytest.mark.parametrize(
    ("owner", "name", "claim", "member", "hold", "schema"),
    UNDERSTATED,
    ids=[f"{owner.__name__}.{name}" for owner, name, *_ in UNDERSTATED],
)
def test_a_claim_that_is_too_small_is_seen(
    owner: type,
    name: str,
    claim: Any,
    member: type,
    hold: Hold,
    schema: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first two were claimed once; others forget trees, groups, parts, or that a row has two places."""
    assert not breaks(member, hold, schema, attempts=20)
    monkeypatch.setattr(owner, name, claim)
    assert breaks(member, hold, schema)


# A list is not made of members with other fields


@frozen
class Undeclared(DenseKernel):
    """Takes anything as a weight."""

    columns: tuple[str, ...] = field(converter=names)
    weights: Any = ()

    def cells(self, schema: Any) -> int:
        return 1

    def bound(self, schema: Any) -> int:
        return 1

    def add(self, block: Any, schema: Any, totals: Any) -> None: ...


def with_field(name: str, **facts: Any) -> type:
    """Return a class with one field."""
    made: type = frozen(type("Made", (), {name: field(**facts), "__annotations__": {name: Any}}))
    return made


class Loose:
    """No frozen value."""


class Sly:
    """Reads numbers as it likes."""

    def __call__(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    "member",
    [
        Undeclared,
        Loose,
        with_field("number"),
        with_field("number", converter=int),
        with_field("number", converter=whole),
        with_field("number", validator=Within(0, 1)),
        with_field("number", converter=Sly(), validator=Within(0, 1)),
        with_field("numbers", converter=wholes, validator=Sides(1)),
        with_field("numbers", converter=tuple),
        with_field("array", converter=int64s),
        with_field("parts", converter=listed),
        with_field("parts", validator=Components((Layer,))),
        with_field("parts", converter=listed, validator=Component((Layer,))),
        with_field("part", validator=Component((Loose,))),
        with_field("part", validator=Component((Undeclared,))),
        with_field("part", converter=whole, validator=Component((Layer,))),
    ],
    ids=repr,
)
def test_a_list_does_not_come_to_be_with_a_field_of_no_declared_type(member: type) -> None:
    with pytest.raises(TypeError, match=r"no declared plain type|no frozen value"):
        Closed("kernel", (Counts, member), why="")


def test_a_list_with_declared_fields_comes_to_be() -> None:
    for member in (
        with_field("number", converter=whole, validator=Within(0, 1)),
        with_field("parts", converter=listed, validator=Components((Layer,))),
        with_field("part", validator=Component((Layer,), optional=True)),
    ):
        assert list(Closed("kernel", (member,), why="")) == [member]


# What the machine found


def test_a_single_private_number_is_clamped_to_bounds_of_any_length() -> None:
    """A single cell is a number to numpy, which was squeezed into 64 bits after the charge."""
    from jostle.privacy.expressions import rows  # noqa: PLC0415

    db = jostle.rehearse(jostle.Table.from_grid([1, 2]), epsilon=3, seed=0)
    large = 2**200
    assert db.release(rows().clamped(Fraction(-1, 3**30), large), 1) >= 0
    assert db.release(rows().clamped(-large, large), 1) < 100


def test_shares_too_small_for_their_noise_are_refused_before_the_charge() -> None:

    db = jostle.rehearse(jostle.Table.from_grid([1, 2]), epsilon=1, seed=0)
    least = Fraction(1, 2**60)
    kernel = Regions(("x",), [0, 1], [[0], [0, 1]])
    with pytest.raises(jostle.JostleError):
        db.perform(AddNoiseByLevel(kernel, [least, 1 - least]), 1, site="levels")
    assert db.spent == 0
    assert price(AddNoiseByLevel(kernel, [Fraction(1, 2)] * 2).event(Fraction(1)), "add_remove") == 1


def test_starts_whose_differences_run_over_do_not_rise() -> None:
    """From a number above 0 down to the least one is a step up, as 64 bits have it."""
    least = -(2**63)
    with pytest.raises(TableError):
        Regions(("b",), [0, 1, 2], [[0, 1, least]]).cells(ADDED)
    numbers = jostle.Schema({"x": jostle.Numeric(0, 9)})
    with pytest.raises(TableError):
        Ranks("x", [0, 1, least]).cells(numbers)
    Ranks("x", [0, 1, 3]).cells(numbers)


def test_stretches_whose_differences_run_over_are_refused() -> None:
    """The least number less two is a large one: a stretch seemed to end there, and was looked up after the charge."""
    margins = Margins(terms=(), positive=0, cuts=[0, 1, 2])
    for begins, ends in (([2], [-(2**63)]), ([0, 2**63 - 1, 2], [-(2**63), -(2**63) + 5, 4])):
        with pytest.raises(JostleError):
            Halves(margins, begins, ends).check(ADDED)
