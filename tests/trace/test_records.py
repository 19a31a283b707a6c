"""Trace files: written as things happen, read back equal, whole even after a crash in mid-line."""

from __future__ import annotations

import json
import os
import resource
from fractions import Fraction
from pathlib import Path

import pytest
from attrs import fields
from hypothesis import given
from hypothesis import strategies as st
from processes import child_limit, together

from jostle.errors import TableError
from jostle.trace.records import (
    Charged,
    Chosen,
    NamedPublic,
    Opened,
    ReadPublic,
    Record,
    Refused,
    Released,
    Trace,
    from_json,
    read_trace,
    to_json,
)

amounts = st.fractions(min_value=0, max_value=1000)
counts = st.integers(0, 2**63 - 1)
numbers = st.floats(allow_nan=False, allow_infinity=False)
records = st.one_of(
    st.builds(
        Opened,
        neighbours=st.sampled_from(["add_remove", "replace_one"]),
        private=st.booleans(),
        promise=st.none() | amounts,
        vault=st.none() | st.text(),
        columns=st.lists(st.text()).map(tuple),
        public_rows=st.none() | counts,
    ),
    st.builds(Charged, st.text(), st.text(), amounts, amounts, st.none() | amounts),
    st.builds(Released, st.text(), st.text(), st.none() | amounts, counts, st.lists(st.integers()).map(tuple)),
    st.builds(Refused, st.text(), st.text()),
    st.builds(NamedPublic, st.lists(st.text()).map(tuple), counts, st.text()),
    st.builds(ReadPublic, st.text(), counts, st.text()),
    st.builds(
        Chosen,
        st.text(),
        st.text(),
        seen=st.lists(st.tuples(st.text(), numbers, numbers)).map(tuple),
        predicted=st.lists(st.tuples(st.text(), numbers, numbers)).map(tuple),
        taken=st.lists(st.tuples(st.text(), st.integers(1, 2**40))).map(tuple),
        why=st.text(),
    ),
)


@given(records)
def test_a_record_survives_json(record: Record) -> None:
    line = to_json(record)
    assert "\n" not in line
    assert json.loads(line)["version"] == 1
    assert from_json(line) == record


def test_a_trace_file_is_read_back_and_a_line_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    trace = Trace(path)
    written = (Refused("a", "no"), Released("b", "Laplace", Fraction(1, 3), 1, (4,)))
    for record in written:
        trace.add(record)
    assert read_trace(path) == written == trace.records
    trace.close()
    path.write_bytes(path.read_bytes() + b'{"version": 1, "kind": "rele')
    assert read_trace(path) == written


OPENED = Opened("add_remove", True, Fraction(1), None, ("a",), None)
REFUSED = Refused("a", "no")


def test_a_line_cut_short_in_the_middle_is_left_out_where_the_next_run_begins(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for _ in range(3):
        trace = Trace(path)
        trace.add(OPENED)
        trace.add(REFUSED)
        trace.close()
        path.write_bytes(path.read_bytes()[:-20])  # the crash

    assert read_trace(path) == (OPENED, OPENED, OPENED)


def test_a_bad_line_that_no_crash_explains_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(f"{to_json(OPENED)}\n{to_json(REFUSED)[:-9]}\n{to_json(REFUSED)}\n", encoding="utf-8")

    with pytest.raises(TableError, match="line 2"):
        read_trace(path)


def test_whatever_a_crash_left_of_the_first_line_is_written_on_from(tmp_path: Path) -> None:
    line = to_json(OPENED)
    for length in range(len(line) + 1):
        path = tmp_path / f"{length}.jsonl"
        path.write_text(line[:length], encoding="utf-8")
        for _ in range(2):
            trace = Trace(path)
            trace.add(OPENED)
            trace.close()
        assert read_trace(path)[-2:] == (OPENED, OPENED)


def test_a_full_disk_is_an_error_at_the_next_question_and_no_record_is_lost_from_memory() -> None:
    """The answer at hand is paid for, and is given; `check` is what the next question meets."""
    trace = Trace("/dev/full")
    trace.add(OPENED)
    trace.add(REFUSED)

    with pytest.raises(TableError, match="cannot write the trace /dev/full: No space left"):
        trace.check()
    assert trace.records == (OPENED, REFUSED)


def test_a_file_that_may_not_grow_any_more_is_an_error_as_well(tmp_path: Path) -> None:
    """Where only part of a line fits, writing it raises nothing."""
    path = tmp_path / "run.jsonl"
    child = os.fork()
    if not child:
        child_limit()
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (3 * len(to_json(OPENED)), resource.RLIM_INFINITY))
            trace = Trace(path)
            for number in range(5):
                trace.check()
                status = 10 + number
                trace.add(OPENED)
        except TableError:
            status += 10
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 22  # refused after the third
    assert read_trace(path) == (OPENED, OPENED)


def test_a_trace_that_was_closed_is_not_written_to(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "run.jsonl")
    trace.add(OPENED)
    trace.close()
    trace.close()

    with pytest.raises(TableError, match="it was closed"):
        trace.check()
    Trace().close()
    Trace().check()


def test_lines_of_several_threads_and_processes_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record = Released("a" * 9000, "AddNoise", None, 64, range(64))

    def write() -> None:
        trace = Trace(path)
        for _ in range(50):
            trace.add(record)
        trace.close()

    child = os.fork()
    if not child:
        child_limit()
        try:
            write()
        finally:
            os._exit(0)
    together(*[write] * 4)
    os.waitpid(child, 0)
    assert read_trace(path) == (record,) * 250


def test_records_have_no_times() -> None:
    """How long a tally takes depends on rows."""
    names = {field.name for kind in (Opened, Charged, Released, Refused) for field in fields(kind)}
    assert not [name for name in names if any(word in name for word in ("time", "moment", "second", "duration"))]
    assert "moment" not in json.loads(to_json(OPENED))


def test_a_trace_that_keeps_nothing_holds_no_record() -> None:
    trace = Trace(kept=False)
    trace.add(Refused("count", "too much"))
    assert (trace.records, trace.count) == ((), 0)
    with pytest.raises(TableError, match="kept"):
        Trace(kept="no")  # type: ignore[arg-type]
