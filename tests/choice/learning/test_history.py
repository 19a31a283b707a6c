"""Histories: appended to, merged, cut short, damaged."""

from __future__ import annotations

import gzip
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import LIMIT, started
from small import EPSILONS, known_by_rows, table

from jostle.choice.learning.history import (
    History,
    KnownDatabase,
    KnownInstance,
    Runs,
    Sketch,
    from_json,
    read_history,
    to_json,
)
from jostle.corpora.parts import TableSpec
from jostle.errors import ChoiceError
from jostle.tasks import make_instance

BASE = KnownDatabase("0c5f", "nursery", "nursery", "classification")
INSTANCE = KnownInstance("0c5f v1", "0c5f", 300, Sketch([("a", 3, False), ("label", 2, False)], "label"))


def runs(repeat: int = 0, *losses: float | None, epsilons: tuple[str, ...] = ("1/10", "1")) -> Runs:
    return Runs("0c5f v1", "Majority", 1, repeat, epsilons, losses or (0.5, 0.25), [0.1] * len(epsilons))


def test_what_is_added_is_in_the_file_at_once_and_nothing_there_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "h.jsonl"
    history = History.open(path)
    history.add(BASE, INSTANCE)
    before = path.read_bytes()
    history.add(runs())
    assert path.read_bytes().startswith(before)
    again = read_history(path)
    assert list(again.lines()) == list(history.lines())
    assert again.missing("0c5f v1", "Majority", 1, ("1/10", "1", "10"), 0) == ("10",)
    assert again.missing("0c5f v1", "Majority", 2, ("1/10",), 0) == ("1/10",), "another version was not run"
    assert again.missing("0c5f v1", "Majority", 1, ("1/10",), 1) == ("1/10",), "nor was another repeat"


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_a_file_cut_short_anywhere_is_good_up_to_its_last_whole_line(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"h.{ending}"
    history = History.open(path)
    sizes, known = [0], [0]
    for repeat in range(3):
        history.add(*(() if repeat else (BASE, INSTANCE)), runs(repeat))
        sizes.append(path.stat().st_size)
        known.append(len(history))
    data = path.read_bytes()
    for cut in range(sizes[1], len(data)):
        path.write_bytes(data[:cut])
        whole = max(place for place, size in enumerate(sizes) if size <= cut)
        assert len(read_history(path)) == known[whole]
        opened = History.open(path)
        opened.add(runs(9))
        assert len(read_history(path)) == known[whole] + 2, "the next line begins on a line of its own"


def test_an_unknown_line_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    for wrong in ("{}", "not JSON", '{"version_": 1, "kind": "weather"}', to_json(BASE).replace("group", "gruop"), "7"):
        path.write_text(f"{to_json(BASE)}\n{wrong}\n")
        with pytest.raises(ChoiceError, match=r"line 2 of .*h\.jsonl is not of a history"):
            read_history(path)
    path.write_text(to_json(BASE).replace('"version_":1', '"version_":2') + "\n")
    with pytest.raises(ChoiceError, match="line 1"):
        read_history(path)
    with pytest.raises(ChoiceError, match="cannot read the history"):
        read_history(tmp_path / "none.jsonl")
    (tmp_path / "no.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(ChoiceError, match=r"the history .*no\.jsonl\.gz is not gzipped"):
        read_history(tmp_path / "no.jsonl.gz")


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 1e6, allow_nan=False)), min_size=1, max_size=4).flatmap(
        lambda losses: st.tuples(st.just(losses), st.integers(0, 5), st.text(max_size=5))
    )
)
def test_every_line_reads_back(drawn: tuple[list[float | None], int, str]) -> None:
    losses, repeat, text = drawn
    epsilons = [str(place + 1) for place in range(len(losses))]
    line = Runs("0c5f v1", "Majority", 1, repeat, epsilons, losses, [0.0] * len(losses), (text,))
    assert from_json(to_json(line)) == line
    database = KnownDatabase("0c5f", text, text, "grid")
    assert from_json(to_json(database)) == database


def test_merging_knows_what_either_knows(tmp_path: Path) -> None:
    one = History([BASE, INSTANCE, runs(0)])
    read = KnownInstance(INSTANCE.key, "0c5f", 300, INSTANCE.sketch, {"rows": (300.0,)})
    other = History([BASE, read, runs(0, None, 0.75, epsilons=("1", "10")), runs(1)])
    both = one | other
    assert both.losses("0c5f v1", "Majority", 1) == {
        ("1/10", 0): 0.5,
        ("1", 0): None,
        ("10", 0): 0.75,
        ("1/10", 1): 0.5,
        ("1", 1): 0.25,
    }
    assert both.instances["0c5f v1"].read == {"rows": (300.0,)}
    assert (one | one).losses("0c5f v1", "Majority", 1) == one.losses("0c5f v1", "Majority", 1)
    assert len(both.of([])) == 0
    assert len(both.of(["0c5f v1"])) == len(both)


def test_a_saved_history_reads_back_and_the_same_history_makes_the_same_file(tmp_path: Path) -> None:
    history = known_by_rows()
    for name in ("h.jsonl", "h.jsonl.gz"):
        history.save(tmp_path / name)
        first = (tmp_path / name).read_bytes()
        again = read_history(tmp_path / name)
        assert again.instances == history.instances
        assert again.databases == history.databases
        assert len(again) == len(history)
        again.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    key = next(iter(history.instances))
    found = again.array(key, "Majority", 1, EPSILONS)
    wanted = history.array(key, "Majority", 1, EPSILONS)
    assert found is not None
    assert wanted is not None
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert history.array(key, "Majority", 1, ("7",)) is None
    assert gzip.decompress((tmp_path / "h.jsonl.gz").read_bytes()) == (tmp_path / "h.jsonl").read_bytes()


@pytest.mark.parametrize("declared", [False, True])
def test_a_sketch_is_a_schema_that_looks_the_same(declared: bool) -> None:
    instance = make_instance(table(3), TableSpec(declared=declared))
    schema = instance.schema
    sketch = Sketch.of(schema)
    again = sketch.schema(instance.rows)
    assert (again.label, again.rows, again.neighbours) == (schema.label, schema.rows, schema.neighbours)
    assert (again.rows is not None) == declared
    assert [(name, again[name].size, type(again[name])) for name in again.names] == [
        (name, schema[name].size, type(schema[name])) for name in schema.names
    ]
    assert Sketch.of(again) == sketch


WRITER = """
import sys
from small import options, tables, jobs_of, EPSILONS
from jostle.choice.learning.history import History
from jostle.choice.learning.rehearse import Plan, rehearse_all
plan = Plan(options=options(), epsilons=EPSILONS, repeats=40)
rehearse_all(jobs_of(tables(4)), plan, History.open(sys.argv[1]), engine=sys.argv[2])
"""


@pytest.mark.representative
@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_killed_rehearsal_leaves_a_file_that_is_gone_on_with(tmp_path: Path, engine: str) -> None:
    """`kill -9` at a moment nobody chose: what was finished is there, and only the rest is run again."""
    path = tmp_path / "h.jsonl"
    places = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with started("-c", WRITER, path, engine, env={**os.environ, "PYTHONPATH": places}) as writer:
        while writer.poll() is None and not (path.exists() and path.stat().st_size > 8000):
            time.sleep(0.01)
        writer.send_signal(signal.SIGKILL)
        assert writer.wait(LIMIT) == -signal.SIGKILL, "it was not finished yet"
    left = read_history(path)
    assert 0 < len(left) < 40 * 4 * 2 * len(EPSILONS)
    before = path.read_bytes()
    opened = History.open(path)
    assert len(opened) == len(left)
    opened.add(runs(0))
    assert path.read_bytes()[: before.rfind(b"\n") + 1] == before[: before.rfind(b"\n") + 1]
    assert len(read_history(path)) == len(left) + 2
