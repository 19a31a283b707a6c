"""Trace files: written as things happen, read back equal, whole even after a crash in mid-line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.errors import TableError
from jostle.trace.records import Charged, Opened, Record, Refused, Released, Trace, from_json, read_trace, to_json

amounts = st.fractions(min_value=0, max_value=1000)
records = st.one_of(
    st.builds(
        Opened,
        neighbours=st.sampled_from(["add_remove", "replace_one"]),
        private=st.booleans(),
        promise=st.none() | amounts,
        vault=st.none() | st.text(),
        columns=st.lists(st.text()).map(tuple),
        public_rows=st.none() | st.integers(0),
    ),
    st.builds(Charged, st.text(), st.text(), amounts, amounts, st.none() | amounts),
    st.builds(Released, st.text(), st.text(), st.none() | amounts, st.integers(0), st.lists(st.integers()).map(tuple)),
    st.builds(Refused, st.text(), st.text()),
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


def test_a_file_that_is_no_trace_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"some": "json"}\n', encoding="utf-8")
    with pytest.raises(TableError, match=r"line 1 of .* is no trace record"):
        read_trace(path)
    with pytest.raises(TableError, match="cannot read"):
        read_trace(tmp_path / "none.jsonl")


def test_a_trace_that_cannot_be_opened_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot write the trace"):
        Trace(tmp_path / "no such folder" / "run.jsonl")
