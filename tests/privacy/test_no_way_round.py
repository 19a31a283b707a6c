"""Ways round a budget, each of which works elsewhere or was tried here, and none of which works.

Where a docstring says what works *there*, that is diffprivlib 0.6, whose accountant is an object beside the mechanisms:
each mechanism is handed the data, and tells an accountant what it spent.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import evolve, frozen
from openings import REGIONS, people, protected, schema
from processes import together

import jostle
from jostle import Categorical, Probe, Schema, Table
from jostle.errors import BudgetError, JostleError, ProbeError
from jostle.privacy import noise
from jostle.privacy.events import EVENTS, Event, Laplace
from jostle.privacy.expressions import NODES
from jostle.privacy.mechanisms import AddNoise
from jostle.privacy.picks import GROUP_SCORES, SCORES
from jostle.privacy.room import MECHANISMS
from jostle.privacy.scores import Fullest
from jostle.privacy.vault import FileVault
from jostle.tables.closed import KERNELS, Closed
from jostle.tables.kernels import Counts

TENTH = Fraction(1, 10)


def spend_all(db: Probe) -> None:
    """Spend what is left, and make sure that it was all."""
    while db.left:
        db.count(db.left)
    with pytest.raises(BudgetError):
        db.count(Fraction(1, 10**9))


# A budget per accountant


def test_a_second_accountant() -> None:
    """There, a second BudgetAccountant starts from nothing, and the same data can be spent on again.

    Here the account belongs to the data: whoever opens them again has what is left.
    """
    spend_all(protected())
    with pytest.raises(BudgetError, match="0 is left"):
        protected(TENTH)


def test_calling_a_mechanism_directly() -> None:
    """There, Laplace(epsilon=1, sensitivity=1).randomise(value) adds noise to data in hand; no accountant hears of it.

    Here the samplers take no data, and a probe has none to give: it is neither a number nor a sequence of them.
    """
    db = protected()
    samplers = [each for name, each in inspect.getmembers(noise.Noise, callable) if not name.startswith("_")]
    for sampler in samplers:
        assert not {"value", "values", "data", "table", "db"} & set(inspect.signature(sampler).parameters)
    with pytest.raises(JostleError):
        noise.Noise().discrete_laplace(db, 1)  # type: ignore[arg-type]
    impossible: list[Callable[[Any], object]] = [int, float, complex, list, len, iter, memoryview, bytes, abs]
    for convert in impossible:
        with pytest.raises(TypeError):
            convert(db)
    as_array = np.asarray(db)
    assert as_array.dtype == object
    assert as_array.item() is db
    with pytest.raises((ValueError, TypeError)):
        pd.DataFrame(db)
    assert db.spent == 0


def test_repeating_a_seed() -> None:
    """There, random_state=0 gives the same noise each time: two answers differ by what the data differ, exactly.

    Here private noise comes from the operating system. (That 40 draws of this width agree has a chance below 10**-100.)
    """
    db = protected()
    answers = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - that it has no effect is the point
        answers.append(db.histogram("age", "region", epsilon="0.001").tolist())
    assert answers[0] != answers[1]
    for open_one in (jostle.protect, db.count, db.measure, db.perform, db.allot):
        assert not {"seed", "random_state", "rng"} & set(inspect.signature(open_one).parameters)


# A budget per opening


def reopened(rows: pd.DataFrame) -> dict[str, Table]:
    """Return ways in which the same people can come again."""
    coarse = evolve(schema(), columns={"region": jostle.Categorical(REGIONS)}, label=None)
    return {
        "the same frame": Table.from_frame(rows, schema()),
        "a copy of the frame": Table.from_frame(rows.copy(), schema()),
        "the frame under another schema": Table.from_frame(rows, coarse),
        "its rows shuffled": Table.from_frame(rows.sample(frac=1, random_state=1), schema()),
        "its columns in another order": Table.from_frame(rows[rows.columns[::-1]], schema()),
    }


@pytest.mark.parametrize("way", reopened(people()))
def test_opening_the_same_people_twice(way: str) -> None:
    spend_all(protected())
    with pytest.raises(BudgetError, match="0 is left"):
        jostle.protect(reopened(people())[way], epsilon=TENTH)


def test_opening_a_frame_and_a_file(tmp_path: Path) -> None:
    rows = people()
    rows.to_csv(tmp_path / "people.csv", index=False)
    rows.to_parquet(tmp_path / "people.parquet")
    spend_all(protected())

    for name in ("people.csv", "people.parquet"):
        for stream in (False, True):
            with pytest.raises(BudgetError, match="0 is left"):
                jostle.protect(Table.read(tmp_path / name, schema(), stream=stream), epsilon=1)


def test_opening_what_was_opened_as_two_tables_by_its_data_and_by_its_rows() -> None:
    frame = pd.DataFrame({"a": ["x", "y", "x", "z"], "l": ["n", "y", "n", "n"]})
    column = Categorical(["x", "y", "z"])
    both, one = (
        Schema({"a": column, "l": Categorical(labels, outside="drop")}, label="l") for labels in (["n", "y"], ["n"])
    )
    jostle.protect(Table.from_frame(frame, both), epsilon=1)
    jostle.protect(Table.from_frame(frame[frame["l"] == "n"].reset_index(drop=True), one), epsilon=1)

    with pytest.raises(BudgetError, match=r"already kept(.|\n)*open both with one vault"):
        jostle.protect(Table.from_frame(frame, one), epsilon=1)


# A budget per copy


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps, lambda db: pickle.dumps(db, protocol=0)])
def test_copying_a_probe(duplicate: Callable[[object], object]) -> None:
    db = protected()
    for thing in (db, db._key, db.allot(TENTH), db.parts("region")[0]):
        with pytest.raises((ProbeError, TypeError)):
            duplicate(thing)


def test_a_second_probe_with_the_same_key() -> None:
    db = protected()
    twin = Probe(db._key)
    twin.count("0.6")
    with pytest.raises(BudgetError):
        db.count("0.6")
    assert db.spent == twin.spent == Fraction("0.6")


# Amounts


@pytest.mark.parametrize("amount", [-1, -0.5, "-1", 0, "0", 0.0, float("nan"), float("inf"), "-inf", None])
def test_an_amount_that_would_give_something_back(amount: Any) -> None:
    db = protected()
    db.count("0.5")
    for ask in (Probe.count, Probe.allot):
        with pytest.raises((JostleError, TypeError)):
            ask(db, amount)
    assert db.spent == Fraction("0.5")


# Questions of one's own


@frozen
class GreedyCounts(Counts):
    """Says that a row adds nothing, and looks at all of it."""

    def bound(self, schema: object) -> int:
        return 0

    def add(self, block: Any, schema: object, totals: Any) -> None:
        totals += block.columns


@frozen
class GreedyScore(Fullest):
    """Says that rows do not matter."""

    def sensitivity(self, schema: object) -> Fraction:
        return Fraction(1, 10**9)


@frozen
class GreedyMechanism(AddNoise):
    """Releases what it is given."""

    def release(self, tally: Any, *_: object) -> Any:
        return tally


@frozen
class FreeEvent(Event):
    """Costs nothing."""

    epsilon: Fraction = Fraction(0)


@frozen
class CheapLaplace(Laplace):
    """Costs less than it says."""


def test_kernels_scores_mechanisms_and_events_of_ones_own() -> None:
    db = protected()
    for ask in (
        lambda: db.measure(GreedyCounts(("age",)), TENTH),
        lambda: db.measure_sparse(GreedyCounts(("age",)), TENTH, threshold=0),  # type: ignore[arg-type]
        lambda: db.pick(GreedyScore("age"), TENTH),
        lambda: db.perform(GreedyMechanism(Counts.of("age")), TENTH, site="mine"),
        lambda: db.perform(AddNoise(GreedyCounts(("age",))), TENTH, site="mine"),
        lambda: db.perform(FreeEvent(), TENTH, site="mine"),  # type: ignore[arg-type]
        lambda: db.perform(CheapLaplace(TENTH), TENTH, site="mine"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ProbeError):
            ask()
    assert db.spent == 0


def test_what_is_made_from_a_member_is_none() -> None:
    kinds: list[tuple[Closed, type]] = [
        (KERNELS, GreedyCounts),
        (SCORES, GreedyScore),
        (GROUP_SCORES, GreedyScore),
        (MECHANISMS, GreedyMechanism),
        (EVENTS, FreeEvent),
        (NODES, GreedyCounts),
    ]
    for known, own in kinds:
        assert own not in known
        with pytest.raises(JostleError, match=own.__name__):
            known.check(object.__new__(own))


@pytest.mark.parametrize("keep", [False, True])
def test_racing_32_threads(keep: bool, tmp_path: Path) -> None:
    """There, a check and the entry that follows it are two steps, and threads pass between them."""
    path = tmp_path / "people.vault" if keep else None
    probes = [protected(vault=path) for _ in range(4)]
    answered: list[int] = []

    def ask(index: int) -> None:
        for turn in range(3):
            try:
                if turn == index % 3:
                    probes[index % 4].allot(Fraction(1, 40)).count(Fraction(1, 40))
                else:
                    probes[index % 4].count(Fraction(1, 40))
            except BudgetError:
                continue
            answered.append(index)

    together(*(partial(ask, index) for index in range(32)))

    assert len(answered) == 40
    assert sum(db.spent for db in probes) == 1
    if path:
        assert FileVault(path).account().left == 0
