"""Ways round a budget, each of which works elsewhere or was tried here, and none of which works.

Where a docstring says what works *there*, that is diffprivlib 0.6, whose accountant is an object beside the mechanisms:
each mechanism is handed the data, and tells an accountant what it spent.
"""

from __future__ import annotations

import copy
import copyreg
import gc
import inspect
import os
import pickle
import random
import sys
import threading
from abc import ABCMeta
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest
from attrs import evolve, frozen
from openings import REGIONS, people, protected, schema, table, troubled
from processes import LIMIT, child_limit, together

import jostle
from jostle import Categorical, Probe, Schema, Table, Trace
from jostle.errors import BudgetError, JostleError, ProbeError, TableError, VaultError
from jostle.options.classification.tuning import TriedClassifiers
from jostle.privacy import noise, selection
from jostle.privacy.account import Account, TableFacts
from jostle.privacy.events import EVENTS, Event, Laplace
from jostle.privacy.expressions import NODES, Total, cells
from jostle.privacy.feature_scores import FeatureScore
from jostle.privacy.mechanism_list import MECHANISMS
from jostle.privacy.mechanisms import AddNoise
from jostle.privacy.nodes import MOST_DEPTH
from jostle.privacy.picks import FindAbove
from jostle.privacy.reals import Exponential
from jostle.privacy.room import Room
from jostle.privacy.score_lists import GROUP_SCORES, SCORES
from jostle.privacy.scores import Fullest, Misfit, QuantileScore
from jostle.privacy.vault import FileVault, MemoryVault
from jostle.tables.closed import Closed
from jostle.tables.engines import MemorySource
from jostle.tables.kernel_list import KERNELS
from jostle.tables.kernels import Counts, SparseCounts, Sums
from jostle.tables.pools import Layer, Stack
from jostle.tables.routes import LeafCounts, Routing
from jostle.tables.schema import Neighbours
from jostle.trace.records import Released

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


def test_no_accountant_named() -> None:
    """There, what names no accountant goes to a default one that allows any amount."""
    with pytest.raises(BudgetError, match="no epsilon is promised"):
        jostle.protect(table())
    for unbounded in (None, float("inf"), "inf", float("nan")):
        with pytest.raises(BudgetError):
            jostle.protect(table(), epsilon=unbounded)


def test_calling_a_mechanism_directly() -> None:
    """There, Laplace(epsilon=1, sensitivity=1).randomise(value) adds noise to data in hand; no accountant hears of it.

    Here the samplers take no data, and a probe has none to give: it is neither a number nor a sequence of them.
    """
    db = protected()
    samplers = [each for name, each in inspect.getmembers(noise.Noise, callable) if not name.startswith("_")]
    for sampler in (noise.discrete_laplace, noise.geometric, *samplers):
        assert not {"value", "values", "data", "table", "db"} & set(inspect.signature(sampler).parameters)
    with pytest.raises(JostleError):
        noise.discrete_laplace(db, 1)  # type: ignore[arg-type]
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


def test_nesting_accountants() -> None:
    """There, in a `with` block of another accountant, the outer one is told nothing.

    Here what is inside was paid for outside, whole, before it began.
    """
    db = protected()
    inner = db.allot("0.5").allot("0.5").parts("region")[0].allot("0.5")
    assert db.left == Fraction("0.5")
    spend_all(inner)
    db.count("0.5")
    spend_all(db)
    with pytest.raises(BudgetError):
        inner.count(TENTH)


def test_clearing_the_list_of_what_was_spent() -> None:
    """There, `accountant.spent_budget.clear()`, or assigning to its private fields, gives everything back."""
    db = protected()
    db.count("0.9")

    for name in ("clear", "pop", "remove", "append", "__delitem__", "__setitem__"):
        assert not hasattr(db.charges, name)
    for name in ("spent", "left", "promise", "charges", "budget", "ledger"):
        with pytest.raises(AttributeError):
            setattr(db, name, ())
    given_out: list[Any] = [db.spent, db.left, db.promise, db.charges[0].epsilon]
    for amount in given_out:
        amount._numerator = 0
        amount._denominator = 1
    for charge in db.charges:
        for name in ("epsilon", "event", "site"):
            object.__setattr__(charge, name, None)
    with pytest.raises(BudgetError, match=r"0\.1 is left"):
        db.count("0.2")
    assert db.spent == Fraction("0.9")


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


def test_opening_the_same_table_twice() -> None:
    one = table()
    spend_all(jostle.protect(one, epsilon=1))
    with pytest.raises(BudgetError, match="0 is left"):
        jostle.protect(one, epsilon=1)


def test_opening_a_frame_and_a_file(tmp_path: Path) -> None:
    rows = people()
    rows.to_csv(tmp_path / "people.csv", index=False)
    rows.to_parquet(tmp_path / "people.parquet")
    spend_all(protected())

    for name in ("people.csv", "people.parquet"):
        for stream in (False, True):
            with pytest.raises(BudgetError, match="0 is left"):
                jostle.protect(Table.read(tmp_path / name, schema(), stream=stream), epsilon=1)


def test_opening_with_another_vault(tmp_path: Path) -> None:
    spend_all(protected(vault=tmp_path / "people.vault"))

    with pytest.raises(BudgetError, match="already kept"):
        protected(vault=tmp_path / "other.vault")
    assert not (tmp_path / "other.vault").exists()
    with pytest.raises(BudgetError, match="0 is left"):
        protected()
    (tmp_path / "link.vault").symlink_to(tmp_path / "people.vault")
    with pytest.raises(BudgetError, match="0 is left"):
        protected(vault=tmp_path / "link.vault")


def test_opening_with_a_vault_what_was_opened_without(tmp_path: Path) -> None:
    protected().count("0.9")
    with pytest.raises(BudgetError, match="already kept in this process"):
        protected(vault=tmp_path / "people.vault")


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


def test_losing_the_vault(tmp_path: Path) -> None:
    db = protected(vault=tmp_path / "people.vault")
    db.count(TENTH)
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(VaultError):
        db.count(TENTH)
    with pytest.raises(VaultError):
        protected(vault=tmp_path / "people.vault")


def test_promising_more_the_second_time(tmp_path: Path) -> None:
    protected(1, vault=tmp_path / "people.vault")
    with pytest.raises(BudgetError, match="1 is left"):
        protected(100, vault=tmp_path / "people.vault")


def test_mixing_two_relations() -> None:
    """Half the noise would do under add_remove, if the rows could be spent on under both."""
    spend_all(protected(neighbours="replace_one"))
    with pytest.raises(VaultError):
        protected(neighbours="add_remove")


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


def test_making_a_probe_without_its_class() -> None:
    for bare in (object.__new__(Probe), Probe(None)):  # type: ignore[arg-type]
        with pytest.raises((AttributeError, ProbeError)):
            bare.count(TENTH)


def test_forking() -> None:
    """A copy of the process has a copy of the ledger. It is refused, as `test_door` shows for each kind of probe."""
    db = protected()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        child_limit()
        try:
            db.count(TENTH)
        except ProbeError:
            os.write(writing, b"refused")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "refused"
    os.waitpid(child, 0)


def test_a_fork_that_has_the_number_of_the_process() -> None:
    """Numbers come again once a process has ended, and are 1 for the first process of each namespace."""
    db, number = protected(), os.getpid()
    memory = MemoryVault().open(Fraction(1), TableFacts(("age",)))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        child_limit()
        try:
            os.getpid = lambda: number
            for spend in (lambda: db.count(TENTH), lambda: memory.pay(TENTH, "count")):
                with suppress(ProbeError, VaultError):
                    spend()
                    os.write(writing, b"answered")
            os.write(writing, b"refused")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "refused"
    os.waitpid(child, 0)


@pytest.mark.parametrize(
    "ask",
    [
        lambda db: db.count(TENTH),
        lambda db: db.histogram("age", epsilon=TENTH),
        lambda db: db.parts("region")[0].count(TENTH),
    ],
)
def test_forking_in_the_middle_of_an_answer(
    ask: Callable[[Probe], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is charged once is drawn once: the copy would draw noise of its own, and tell both."""
    db = jostle.protect(table(), epsilon=1, vault=tmp_path / "people.vault")
    parent, (reading, writing), tally = os.getpid(), os.pipe(), MemorySource.tally

    def forking(source: MemorySource, kernel: Any, where: Any) -> Any:
        found = tally(source, kernel, where)
        children.append(os.fork())  # as a finaliser can
        return found

    children: list[int] = []
    monkeypatch.setattr(MemorySource, "tally", forking)
    with suppress(ProbeError):
        ask(db)
        os.write(writing, b"answered ")
    if os.getpid() != parent:
        os._exit(0)
    os.close(writing)
    for child in children:
        os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "answered "
    assert db.spent == TENTH


def test_forking_between_the_candidates_of_a_selection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No question is asked after the last candidate; the copy would draw for itself whether there are to be more."""
    db = jostle.protect(table(), epsilon=5, vault=tmp_path / "people.vault")
    parent, (reading, writing), best_of = os.getpid(), os.pipe(), selection.best_of

    def forking(*asked: Any) -> Any:
        found = best_of(*asked)
        children.append(os.fork())  # as a finaliser can
        return found

    children: list[int] = []
    monkeypatch.setattr("jostle.privacy.room.best_of", forking)
    with suppress(ProbeError):
        db.select(TriedClassifiers([jostle.options.get("Majority")]), 4)
        os.write(writing, b"answered ")
    if os.getpid() != parent:
        os._exit(0)
    os.close(writing)
    for child in children:
        os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "answered "
    assert db.spent == 4


# What the samplers keep


def tables_seen(rows: pd.DataFrame, asks: Callable[[Probe], object]) -> list[object]:
    """Return what there is to see of the samplers' tables, which were looked at before, and are again."""
    ratio, more = Exponential(1 / TENTH), Exponential(Fraction(20, 3))
    held = [
        noise.sign(ratio),
        *noise.geometric_digits(ratio)[0],
        noise.geometric_digits(ratio)[1],
    ]
    held += [noise.geometric_digits(more)[1], noise.sign(more)]
    asks(jostle.protect(Table.from_frame(rows, schema()), epsilon=1))
    return [(each._edges is None, each._table is None) for each in held] + [
        kept.cache_info() for kept in (noise.sign, noise.geometric_digits, noise.coin)
    ]


@pytest.mark.parametrize("rows", [0, 1, 2000])
def test_whether_there_is_any_row_is_not_told_by_the_samplers_tables(rows: int) -> None:
    """They are made when they are needed, and noise for a sparse tally is drawn for each cell that is occupied."""
    forgetful = noise.Noise()

    def asks(db: Probe) -> object:
        return db.where("region", "north").measure_sparse(SparseCounts(("age",)), TENTH, threshold=10**4)

    seen = []
    for some in (people(rows, seed=8), people(3, seed=9)):
        forgetful.forget()
        seen.append(tables_seen(some, asks))
    assert seen[0] == seen[1]
    forgetful.forget()
    refined = tables_seen(people(5, seed=10), lambda db: db.histogram("age", epsilon=TENTH).refine(epsilon="0.25"))
    forgetful.forget()
    assert refined == tables_seen(people(5, seed=11), lambda db: None)


def asked_from(calls: int, ask: Callable[[], object]) -> object:
    """Return what is answered, or refused, from so many calls down."""
    try:
        return asked_from(calls - 1, ask) if calls else type(ask())
    except (JostleError, RecursionError) as refusal:
        return type(refusal), str(refusal)


def test_how_deep_the_stack_is_tells_nothing_of_rows() -> None:
    """An answer takes fewer calls, one inside the other, where there is no row to look at.

    Who asks from far enough down would be answered there, and not where there is a row.
    """
    limit = len(inspect.stack()) + 300
    before = sys.getrecursionlimit()
    told: list[list[object]] = []
    for seed, names in enumerate((["north"] * 2, ["south"] * 3)):
        rows = people(len(names), seed=seed + 20).assign(region=names)
        answers = []
        for calls in range(300):
            db = jostle.protect(Table.from_frame(rows.assign(age=calls % 100), schema()), epsilon=10**9)
            ask = partial(
                Probe.measure_sparse, epsilon=TENTH / (calls + 1), kernel=SparseCounts(("age",)), threshold=10**6
            )
            ask(db.where("region"))  # what is always needed has been looked up
            part = db.where("region", "north")
            sys.setrecursionlimit(limit)
            try:
                answers.append(asked_from(calls, partial(ask, part)))
            finally:
                sys.setrecursionlimit(before)
        told.append(answers)
    assert told[0] == told[1]
    assert len(set(map(repr, told[0]))) > 1
    assert "failed inside" not in repr(told)


def test_the_deepest_question_comes_to_its_end_or_is_not_begun() -> None:
    db, deep = protected(10**6), cells("age", "region")
    while deep.depth < MOST_DEPTH - 1:
        deep = abs(deep - 1)
    limit, before = len(inspect.stack()) + 300, sys.getrecursionlimit()
    db.release(Total(deep), 1)
    told = []
    for calls in range(300):
        sys.setrecursionlimit(limit)
        try:
            told.append(asked_from(calls, lambda: db.release(Total(deep), 1)))
        finally:
            sys.setrecursionlimit(before)
    assert told[0] is float
    assert told[-1] is not float
    assert "failed inside" not in repr(told)


# Amounts that lie


class Little(int):
    """A number that is less than any other, adds nothing, and takes nothing away."""

    def _always(self, _: object) -> bool:
        return True

    def _never(self, _: object) -> bool:
        return False

    def _other(self, other: Any) -> Any:
        return other

    __lt__ = __le__ = _always
    __gt__ = __ge__ = __eq__ = _never
    __add__ = __radd__ = __rsub__ = _other
    __hash__ = int.__hash__


class Shrinking(Fraction):
    """A fraction with the same manners, whose parts are small when somebody looks."""

    _looked = 0

    @property
    def numerator(self) -> int:
        Shrinking._looked += 1
        return 10**6 if Shrinking._looked % 2 else 1

    def _always(self, _: object) -> bool:
        return True

    __lt__ = __le__ = _always


class Written(str):
    """A text that reads differently each time."""

    __slots__ = ()

    def __str__(self) -> str:
        return "0.001"

    def partition(self, _: Any) -> Any:
        return "0.001", "", ""


class Rounded(float):
    """A float that says it is less than it is."""

    def __repr__(self) -> str:
        return "0.001"


@pytest.mark.parametrize(
    "amount",
    [Little(2), Shrinking(2), Written("2"), Rounded(2.0), 2, 2.0, "2", np.float64(2), np.int64(2), Fraction(2)],
    ids=lambda amount: type(amount).__name__,
)
def test_an_amount_of_another_kind_is_worth_what_it_says_or_refused(amount: Any) -> None:
    """Whatever its class says of itself, 2 is more than 1."""
    for ask in (Probe.count, Probe.allot):
        db = protected()
        with pytest.raises(JostleError):
            ask(db, amount)
        assert db.spent == 0


@pytest.mark.parametrize("amount", [Little(-1), -1, -0.5, "-1", 0, "0", 0.0, float("nan"), float("inf"), "-inf", None])
def test_an_amount_that_would_give_something_back(amount: Any) -> None:
    db = protected()
    db.count("0.5")
    for ask in (Probe.count, Probe.allot):
        with pytest.raises((JostleError, TypeError)):
            ask(db, amount)
    assert db.spent == Fraction("0.5")


@pytest.mark.parametrize("amount", [np.float64(0.1), np.int64(1), np.uint8(1), 0.1, "1/10", 1, Fraction(1, 10)])
def test_honest_amounts_of_any_kind_are_taken(amount: Any) -> None:
    db = protected(1)
    db.count(amount)
    assert db.spent in {1, TENTH}


def test_an_amount_that_is_changed_after_it_was_checked() -> None:
    db = protected()
    amount = Fraction(1, 2)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            amount._denominator = 10**9  # type: ignore[attr-defined]
            amount._denominator = 2  # type: ignore[attr-defined]

    changing = threading.Thread(target=change, daemon=True)
    changing.start()
    try:
        for _ in range(200):
            try:
                db.count(amount)
            except BudgetError:
                continue
    finally:
        stop.set()
        changing.join(LIMIT)
    assert db.spent <= 1
    assert db.spent == sum(charge.epsilon for charge in db.charges)
    assert {charge.epsilon for charge in db.charges} <= {Fraction(1, 2), Fraction(1, 10**9)}


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


def test_registering_ones_own_kinds() -> None:
    """The lists of known kinds have no place where one could be added."""
    kinds: list[tuple[Closed, type]] = [
        (KERNELS, GreedyCounts),
        (SCORES, GreedyScore),
        (GROUP_SCORES, GreedyScore),
        (MECHANISMS, GreedyMechanism),
        (EVENTS, FreeEvent),
        (NODES, GreedyCounts),
    ]
    for known, own in kinds:
        for name in ("add", "append", "update", "register", "__setitem__", "__iadd__", "__ior__"):
            assert not hasattr(known, name)
            assert not hasattr(known.members, name)
        for name, value in (("members", (*known.members, own)), ("kinds", {**known.kinds, own: ()})):
            with pytest.raises(AttributeError):
                setattr(known, name, value)
        with pytest.raises(TypeError):
            known.kinds[own] = ()  # type: ignore[index]
        assert own not in known
        with pytest.raises(JostleError, match=own.__name__):
            known.check(object.__new__(own))


class Alike(ABCMeta):
    """Classes that are equal to any other."""

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(Counts)


def test_a_class_that_says_it_is_another() -> None:
    """Sets of classes look for what is equal. A class of a class of one's own can be equal to any."""
    twin = Alike("Counts", (Counts,), {"__module__": Counts.__module__})
    assert twin == Counts
    db = protected()
    assert twin not in KERNELS
    with pytest.raises(ProbeError):
        db.measure(twin((("age",),)), TENTH)
    assert db.spent == 0


def test_a_known_kernel_with_a_method_of_ones_own() -> None:
    """What is frozen can be given one all the same, if it has no slots. It is not what is used."""
    called: list[object] = []
    trace = Trace()
    db = jostle.protect(table(), epsilon=1, trace=trace)
    kernel, mechanism, score = Counts.of("age"), AddNoise(Counts.of("age")), Fullest("age")
    for thing, names in (
        (kernel, ("bound", "replaced", "cells", "add")),
        (mechanism, ("kernel", "check", "event", "scale", "release", "shown")),
        (score, ("kernel", "scores", "sensitivity", "monotone")),
    ):
        for name in names:
            with suppress(AttributeError):
                object.__setattr__(thing, name, lambda *given: called.append(given))
    db.measure(kernel, TENTH)
    db.perform(mechanism, TENTH, site="mine")
    db.pick(score, TENTH)

    assert not called
    assert [record.scale for record in trace.records if isinstance(record, Released)] == [10, 10, None]
    assert db.spent == 3 * TENTH


def test_weights_that_are_their_own_magnitude() -> None:
    """In 32 bits, abs(-2**31) is -2**31: the largest weight would be 1, and so would the noise, on sums of -2**31.

    Every cell of a table could be read exactly, for a millionth of epsilon. Fields set behind the converters' back are
    read again at the door.
    """
    least = np.array([-(2**31)] * 3 + [1], dtype=np.int32)
    forged = Layer((), (), (), "region", (0, 0, 0, 1))
    for weights in (least, tuple(least), np.array([np.nan, 0, 0, 1])):
        object.__setattr__(forged, "weights", weights)
        with pytest.raises(TableError):
            Layer((), (), (), "region", weights)
        db = protected()
        with pytest.raises((JostleError, AttributeError)):
            db.measure(Stack((forged,)), TENTH)
        assert db.spent == 0


def test_numbers_that_no_validator_has_seen() -> None:
    """A switch of attrs turns all validators off: a row moved scores by 1001 that were said to move by 1."""
    db = protected()
    with attrs.validators.disabled():
        kernel, score = Sums("region", (0, 0, 0, 1), -1), QuantileScore("age", [0, 5], -1001, -1000)
        for ask in (
            lambda: db.measure(kernel, TENTH),
            lambda: db.pick(score, TENTH),
            lambda: db.pick(Misfit(("age",), [[0]], [[1]], [2**62 + 1]), TENTH),
            lambda: db.perform(FindAbove(FeatureScore("TC", 0), 1, 1, Fraction(2)), TENTH, site="mine"),
        ):
            with pytest.raises(JostleError, match="must be"):
                ask()
    assert db.spent == 0


def test_trees_that_share_a_leaf() -> None:
    """Under replace_one, a row that enters a part adds 1 for each of a hundred trees, to a single cell."""
    trace = Trace()
    db = jostle.protect(table(neighbours="replace_one"), epsilon=1, trace=trace)
    trees = Routing((), roots=[0] * 100, attribute=[-1], first=[0], children=[], depth=0)
    db.parts("region")[0].measure(LeafCounts(trees, by_class=False), TENTH)
    assert trace.records[-1].scale == 1000  # type: ignore[union-attr]


def test_changing_the_schema() -> None:
    """Under replace_one a row counts twice; under add_remove it would not, and two parts would cost as one."""
    trace = Trace()
    db = jostle.protect(table(neighbours="replace_one"), epsilon=1, trace=trace)
    for name, value in (("neighbours", "add_remove"), ("columns", ()), ("label", None)):
        object.__setattr__(db.schema, name, value)
    db.measure(Counts.of("age"), TENTH)
    assert trace.records[-1].scale == 20  # type: ignore[union-attr]

    other = protected(seed=1, neighbours="replace_one")
    object.__setattr__(other.schema, "neighbours", "add_remove")
    for part in other.parts("region"):
        part.count(TENTH)
    assert other.spent == 2 * TENTH


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_nothing_that_is_put_into_the_public_schema_runs_among_rows(neighbours: Neighbours) -> None:
    """What goes through a tuple, compares a text or counts rows would stand on the room's frames, and see its rows."""
    seen: list[object] = []

    def look() -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame:
            seen.extend(held for held in frame.f_locals.values() if isinstance(held, Room))
            frame = frame.f_back

    class Listed(tuple[Any, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[Any]:
            look()
            return tuple.__iter__(self)

        def __deepcopy__(self, _: object) -> Any:
            look()
            return self

    class Text(str):
        __slots__ = ()

        def __hash__(self) -> int:
            look()
            return str.__hash__(self)

        def __eq__(self, other: object) -> bool:
            look()
            return str.__eq__(self, other)

    db = jostle.protect(Table.from_frame(people(), evolve(schema(neighbours), rows=COUNTED[neighbours])), epsilon=9)
    tried = TriedClassifiers([jostle.options.get("Majority")])
    poisons = ("columns", Listed(db.schema.columns)), ("neighbours", Text(neighbours)), ("label", Text("smokes"))
    for name, value in (*poisons, ("rows", Text("1"))):
        for facts in (db.schema, db.where("region", "north").schema, db.only("age").schema):
            object.__setattr__(facts, name, value)
        asking: list[Callable[[], object]] = [
            lambda: Probe(db._key.enter("narrowed", "region", (0,))[0]),
            lambda: db._key.enter("split", "region"),
            lambda: db._key.enter("only", ("age",)),
            lambda: db._key.enter("select", tried, Fraction(1, 10), "try"),
            lambda: db._key.enter("allot", TENTH, "some")[0].enter("known", Counts.of("age")),
            lambda: db._key.enter("perform", AddNoise(Counts.of("age")), TENTH, "count"),
            lambda: (db.rows, db.spent, db.left, db.promise, db.charges),
        ]
        for ask in asking:
            ask()
    assert not seen


def test_a_reducer_that_is_registered_for_a_known_class_does_not_run_among_rows() -> None:
    """What `copy` and `pickle` do with an object, everybody can say for its class, by `copyreg.pickle`."""
    seen: list[object] = []

    def reduce(_: object) -> tuple[object, ...]:
        frame: FrameType | None = sys._getframe(1)
        while frame:
            seen.extend(held for held in frame.f_locals.values() if isinstance(held, Room))
            frame = frame.f_back
        return jostle.Categorical, (("no", "yes"),)

    tried = TriedClassifiers([jostle.options.get("Majority")])
    kinds: tuple[type, ...] = (jostle.Categorical, jostle.Numeric, jostle.Schema)
    db = jostle.protect(Table.from_frame(people(), evolve(schema("replace_one"), rows=200)), epsilon=1)
    for kind in kinds:
        copyreg.pickle(kind, reduce)  # type: ignore[arg-type]
    try:
        for part in (db.only("age"), db.where("region", "north"), *db.parts("smokes")):
            part.count(Fraction(1, 100))
        db.select(tried, Fraction(1, 10))
    finally:
        for kind in kinds:
            del copyreg.dispatch_table[kind]
    assert not seen


COUNTED: dict[str, int | None] = {"add_remove": None, "replace_one": 200}


def test_a_finaliser_that_asks_again() -> None:
    """The collector may run one wherever something is made, in the middle of a charge as well."""
    thresholds, db = gc.get_threshold(), protected(10**6)
    answered: list[Probe] = []

    class Again:
        def __init__(self, inner: Probe) -> None:
            self.itself = self
            self.inner = inner

        def __del__(self) -> None:
            with suppress(JostleError):
                self.inner.count(1)
                answered.append(self.inner)

    gc.freeze()  # what other tests left takes long to look through
    try:
        for threshold in range(1, 200):
            inner = db.allot(1)
            gc.collect()
            gc.disable()
            Again(inner)
            gc.set_threshold(threshold)
            gc.enable()
            with suppress(BudgetError):
                inner.count(1)
                answered.append(inner)
            gc.disable()
            assert inner.spent <= 1
    finally:
        gc.collect()  # the last one too, which would ask in the middle of another test
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        gc.enable()
    assert len(answered) == len(set(map(id, answered)))


def test_a_finaliser_that_asks_another_probe_of_the_same_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a charge it would wait for the vault that the charge holds, and neither came to an end."""
    rows = table()
    db, other = jostle.protect(rows, epsilon=1), jostle.protect(rows, epsilon=TENTH)
    told: list[str] = []

    class Asks:
        def __del__(self) -> None:
            try:
                told.append(str(other.count(TENTH)))
            except JostleError as refusal:
                told.append(str(refusal.title))

    charged = Account.charged

    def in_the_middle(*details: Any) -> Account:
        if not told:
            Asks()
        return charged(*details)

    monkeypatch.setattr(Account, "charged", in_the_middle)
    asker = threading.Thread(target=db.count, args=(TENTH,), daemon=True)
    asker.start()
    asker.join(LIMIT / 15)

    assert not asker.is_alive()
    assert told == ["a question is asked in the middle of another"]
    assert [db.spent, other.spent] == [TENTH, Fraction(0)]
    other.count(TENTH)


def test_using_a_part_after_the_whole_is_spent() -> None:
    db = protected()
    part, some = db.parts("region")[0], db.where("region", "north")
    deeper = part.parts("smokes")[0].where("age", db.schema["age"].labels[0])
    spend_all(db)

    for probe in (part, some, deeper, db.parts("region")[0]):
        with pytest.raises(BudgetError):
            probe.count(Fraction(1, 10**6))
        with pytest.raises(BudgetError):
            probe.allot(Fraction(1, 10**6))


def test_an_allotment_larger_than_what_is_left() -> None:
    db = protected()
    db.count("0.6")
    with pytest.raises(BudgetError, match=r"0\.4 is left"):
        db.allot("0.5")
    allotted = db.allot("0.4")
    with pytest.raises(BudgetError):
        allotted.allot("0.5")
    spend_all(allotted)
    assert db.left == 0


def test_asking_a_part_for_what_the_whole_was_asked() -> None:
    """Splitting again is asking again: the second split of a table is paid for on top of the first."""
    db = protected()
    for _ in range(2):
        for part in db.parts("region"):
            part.count("0.5")
    assert db.left == 0
    with pytest.raises(BudgetError):
        db.parts("region")[0].count(TENTH)


def test_exceptions_as_a_channel() -> None:
    """An error that comes for some rows and not for others is an answer that was not paid for.

    One can be had, with nothing in it; a second one cannot.
    """
    db = troubled(lambda row: [][int(row[0])])
    parts = db.parts("region")
    with pytest.raises(ProbeError, match="failed inside the probe") as caught:
        parts[0].count(TENTH)
    assert caught.value.__cause__ is caught.value.__context__ is None
    for part in parts[1:]:
        with pytest.raises(ProbeError, match="no more are answered"):
            part.count(TENTH)


def test_a_refusal_says_nothing_of_the_rows() -> None:
    """Two tables that have nothing in common are refused in the same words, at the same point."""

    def transcript(db: Probe) -> list[str]:
        lines = []
        for ask in (
            lambda: db.where("region", "north").count("0.7"),
            lambda: db.count("0.7"),
            lambda: db.histogram("height", epsilon=TENTH),
            lambda: db.measure_sparse(SparseCounts(("age",)), TENTH, threshold=-1),
            lambda: db.allot(2),
        ):
            try:
                ask()
                lines.append("answered")
            except JostleError as refusal:
                lines.append(str(refusal))
        return lines

    assert transcript(protected(rows=500)) == transcript(protected(rows=0))


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
