"""The door: what goes wrong behind it stays there, and nothing of a caller's goes in."""

from __future__ import annotations

import logging
import os
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openings import SECRET, Trouble, chain, protected, schema, table, troubled
from processes import child_limit

import jostle
from jostle import Table
from jostle.errors import BudgetError, JostleError, ProbeError, TableError
from jostle.privacy.mechanisms import AddNoise
from jostle.privacy.room import Room
from jostle.tables.kernels import Counts, SparseCounts
from jostle.trace.records import Charged, Chosen, Trace

TENTH = Fraction(1, 10)


class Held(Exception):  # noqa: N818 - it is what it holds that matters
    """An error that holds what it is about."""

    def __init__(self, row: str) -> None:
        super().__init__(row)
        self.row = row
        self.add_note(row)


def value_error(row: str) -> None:
    raise ValueError(f"cannot read {row}")


def held(row: str) -> None:
    raise Held(row)


def caused(row: str) -> None:
    try:
        held(row)
    except Held as error:
        raise KeyError(row) from error


def in_a_group(row: str) -> None:
    raise BaseExceptionGroup(row, [Held(row), KeyboardInterrupt(row)])


def not_text(row: str) -> None:
    row.encode().join([b"\xff"]).decode()


def leaving(row: str) -> None:
    raise SystemExit(row)


def stopping(row: str) -> None:
    raise StopIteration(row)


def endless(row: str) -> None:
    endless(row)


def too_large(row: str) -> None:
    raise MemoryError(row)


def odd_numbers(row: str) -> None:
    if np.geterr()["divide"] != "ignore":
        raise Held(row)
    np.array([float(row)]) / 0
    raise Held(row)


TROUBLES = [value_error, held, caused, in_a_group, not_text, leaving, stopping, endless, too_large, odd_numbers]


def failure(action: Callable[[], object]) -> BaseException:
    """Return the error that an action ends in."""
    try:
        action()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
    pytest.fail("nothing went wrong")


def said(error: BaseException) -> str:
    """Return all that an error says, and all that a report of it would show."""
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join([*report.format(), repr(error), str(error.args), str(vars(error))])


def rooms(error: BaseException) -> Iterator[object]:
    """Yield what holds rows, of the variables of all frames that an error leads to."""
    for each in chain(error):
        for frame, _ in traceback.walk_tb(each.__traceback__):
            yield from (thing for thing in frame.f_locals.values() if isinstance(thing, Room | Trouble | np.ndarray))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_error_among_rows_says_where_and_not_what(trouble: Callable[[str], None]) -> None:
    error = failure(lambda: troubled(trouble).count(1))

    assert type(error) is ProbeError
    assert list(chain(error)) == [error]
    assert str(SECRET) not in said(error)
    assert trouble.__name__ not in said(error).partition("failed")[2]
    assert not list(rooms(error))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_after_an_error_among_rows_nothing_is_answered_any_more(trouble: Callable[[str], None]) -> None:
    """That it came may say something about the rows: a second one would say more."""
    db = troubled(trouble)
    allotted, part, some = db.allot(1), db.parts("region")[0], db.where("smokes", "yes")
    failure(lambda: part.count(1))
    spent = db.spent

    for probe in (db, allotted, part, some):
        with pytest.raises(ProbeError, match="no more are answered"):
            probe.count(1)
    with pytest.raises(ProbeError, match="no more are answered"):
        db.parts("region")
    assert db.spent == spent == 2
    assert db.promise == 100
    assert [charge.site for charge in db.charges] == ["allotment", "region=north/count"]


def test_in_a_rehearsal_errors_are_shown_as_text_and_the_next_question_is_answered() -> None:
    db = troubled(caused, private=False)
    error = failure(lambda: db.count(1))

    assert isinstance(error, ProbeError)
    assert f"KeyError: '{SECRET}'" in str(error)
    assert "in caused" in str(error)
    assert not list(rooms(error))
    assert "KeyError" in str(failure(lambda: db.count(1)))


def test_an_interrupt_stops_a_tally_and_leaves_the_charge() -> None:
    interrupted: list[int] = []

    def interrupt(_: str) -> None:
        if not interrupted:
            interrupted.append(1)
            signal.raise_signal(signal.SIGINT)

    db = troubled(interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # however the tests were started
    try:
        error = failure(lambda: db.count(1))
    finally:
        signal.signal(signal.SIGINT, before)

    assert type(error) is KeyboardInterrupt
    assert list(chain(error)) == [error]
    assert not list(rooms(error))
    assert db.spent == 1
    db.count(1)  # whoever stopped it may go on


def jostles_own(row: str) -> None:
    raise TableError(f"a file with {row} in it", fix=row)


def test_whatever_goes_wrong_among_private_rows_is_told_in_the_same_words() -> None:
    """Jostle's own errors, too: what public facts refuse was refused before the charge, so these may say it of rows."""
    troubles = (too_large, caused, jostles_own)
    errors = [failure(partial(troubled(trouble).count, 1)) for trouble in troubles]

    assert len({(type(error), str(error)) for error in errors}) == 1
    assert "not enough memory" in str(failure(lambda: troubled(too_large, private=False).count(1)))
    assert f"a file with {SECRET}" in str(failure(lambda: troubled(jostles_own, private=False).count(1)))


def test_the_rows_are_not_touched_before_the_charge_nor_after_a_refusal() -> None:
    spent: list[Fraction] = []
    db = troubled(lambda _: spent.append(db.spent))
    db.count(1)
    with pytest.raises(BudgetError):
        db.count(100)
    with pytest.raises(JostleError):
        db.histogram("height", epsilon=1)

    assert spent == [1]


def test_the_caller_of_a_question_cannot_have_numpy_report_on_the_rows() -> None:
    reports: list[object] = []
    with np.errstate(all="raise"):
        troubled(lambda row: np.array([float(row)]) / 0).count(1)
    before = np.seterrcall(lambda *report: reports.append(report))
    try:
        with np.errstate(all="call"):
            troubled(lambda row: np.array([float(row)]) / 0).count(1)
    finally:
        np.seterrcall(before)
    assert not reports


def test_nothing_is_logged_warned_of_or_printed(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        db = protected(10)
        db.histogram("age", "region", epsilon=1)
        db.measure_sparse(SparseCounts(("age", "region")), 1, threshold=2)
        db.commonest("age", 1)
        for trouble in TROUBLES:
            failure(lambda trouble=trouble: troubled(trouble).count(1))  # type: ignore[misc]
    assert not seen
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_a_key_is_asked_known_questions_only() -> None:
    key = protected()._key
    asked: tuple[Any, ...] = ("source", "ledger", "check_open", "_release", "__class__", "site", "", 1, None, {})
    for question in asked:
        answer, error = key.enter(question)
        assert answer is None
        assert isinstance(error, ProbeError)


COUNTED = AddNoise(Counts.of())


@pytest.mark.parametrize(
    "asked",
    [
        ("perform", COUNTED, TENTH),
        ("perform", COUNTED, TENTH, "count", "more"),
        ("perform", COUNTED, True, "count"),
        ("perform", COUNTED, np.array([0.1]), "count"),
        ("perform", COUNTED, float("nan"), "count"),
        ("perform", COUNTED, -TENTH, "count"),
        ("perform", COUNTED, TENTH, COUNTED),
        ("perform", COUNTED, TENTH, ("count",)),
        ("perform", COUNTED, TENTH, "x" * 20_000),
        ("perform", COUNTED, TENTH, "\ud800"),
        ("perform", COUNTED.tallied, TENTH, "count"),
        ("perform", (COUNTED,), TENTH, "count"),
        ("perform", Chosen.one("here", "L", "few"), TENTH, "count"),
        ("select", COUNTED, TENTH, "count"),
        ("allot", None, "aside"),
        ("allot", [TENTH], "aside"),
        ("narrowed", "region", (0.5,)),
        ("narrowed", "region", (True,)),
        ("narrowed", "region", ((0,),)),
        ("narrowed", "region", np.array([[0]])),
        ("narrowed", "region", np.array([np.nan])),
        ("narrowed", "region", "0"),
        ("narrowed", "region", (99,)),
        ("narrowed", 3, (0,)),
        ("narrowed", np.arange(3), (0,)),
        ("split", ("region",)),
        ("split", np.arange(3)),
        ("portions", 2.5),
        ("portions", True),
        ("portions", "2"),
        ("portions", (2,)),
        ("portions", 0),
        ("portions", -1),
        ("portions", 10**9),
        ("told", 1.5),
        ("told", np.arange(3)),
        ("told", True),
        ("below", 2.5, 1),
        ("below", 10, np.array([1, 2])),
        ("shuffled", float("inf")),
        ("charges", "all"),
        ("note", "few"),
        ("note", COUNTED),
    ],
    ids=repr,
)
def test_a_question_is_asked_with_what_it_declares(asked: tuple[Any, ...]) -> None:
    """A key can be asked without a probe: everything is read at the door, and what it is not asked with is refused."""
    db = protected()
    answer, error = db._key.enter(*asked)
    assert answer is None
    assert isinstance(error, JostleError)
    assert "failed inside" not in str(error)
    assert db.spent == 0
    assert isinstance(db.count(TENTH), int)


def test_what_a_question_is_asked_with_is_read_as_one_plain_type() -> None:
    db = protected()
    for epsilon in (0.1, "0.1", np.float64(0.1), TENTH):
        assert db._key.enter("perform", COUNTED, epsilon, "count")[1] is None
    assert {charge.epsilon for charge in db.charges} == {TENTH}
    (key, error) = db._key.enter("narrowed", "region", np.array([1.0, 2.0]))
    assert error is None
    assert key.enter("perform", COUNTED, TENTH, "count")[1] is None


def test_a_forked_copy_of_the_process_is_answered_nothing() -> None:
    """It would have a budget of its own."""
    db = protected()
    allotted, part = db.allot(TENTH), db.parts("region")[0]
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        child_limit()
        refusals = 0
        try:
            for probe in (db, allotted, part):
                try:
                    probe.count(TENTH)
                except ProbeError as refusal:
                    refusals += "another process" in str(refusal)
            try:
                jostle.protect(table(), epsilon=TENTH)
            except JostleError as refusal:
                refusals += "another process" in str(refusal)
            jostle.rehearse(table(seed=1)).count(TENTH)
        finally:
            os.write(writing, str(refusals).encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "4"
    os.waitpid(child, 0)
    db.count(TENTH)


@pytest.mark.parametrize("shape", [(1,), (10, 1), (0,), ()])
def test_a_tally_of_other_cells_than_its_kernel_declares_is_not_released(shape: tuple[int, ...]) -> None:
    """One number, broadcast to ten cells, would have the noise of one and change in ten."""

    class Wrong(Trouble):
        """Gives too much or too little."""

        def tally(self, kernel: Any, where: Any) -> Any:
            return np.zeros(shape, dtype=np.int64) if type(kernel) is Counts else super().tally(kernel, where)

    with pytest.raises(TableError, match="does not have the cells"):
        jostle.rehearse(Table(Wrong(schema(), str))).histogram("age", epsilon=TENTH)
    db = jostle.protect(Table(Wrong(schema(), str)), epsilon=1)
    with pytest.raises(ProbeError, match="failed inside the probe"):
        db.histogram("age", epsilon=TENTH)
    with pytest.raises(ProbeError, match="no more are answered"):
        db.histogram("age", epsilon=TENTH)


def test_an_answer_is_given_though_the_trace_is_lost_and_the_next_question_refused(
    tmp_path: Path,
) -> None:
    trace = Trace(tmp_path / "trace.jsonl")
    db = jostle.protect(table(), epsilon=1, trace=trace)
    assert trace._file is not None
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, trace._file)  # as if the disk had filled up in the meantime
    os.close(full)
    assert isinstance(db.count(TENTH), int)
    with pytest.raises(TableError, match="No space left"):
        db.count(TENTH)

    assert db.spent == TENTH
    assert sum(isinstance(record, Charged) for record in trace.records) == 1
