"""What a notebook shows: answers with their bars and intervals, traces, and refusals without frames.

A shell of IPython's runs the cells, in this process, as the kernel of a notebook does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from markup_checks import checked

import jostle
from jostle.errors import ProbeError, TableError
from jostle.trace.records import Record, Released, Stated

EVIL = "<script>alert(1)</script>"
FRAME = {"age": [20, 40, 60, 80] * 25, "region": [EVIL, "south", "south", "west"] * 25, "label": ["no", "yes"] * 50}
SCHEMA = jostle.Schema(
    {
        "age": jostle.Numeric(18, 98),
        "region": jostle.Categorical([EVIL, "south", "west"]),
        "label": jostle.Categorical(["no", "yes"]),
    },
    label="label",
)


@pytest.fixture
def trace() -> jostle.Trace:
    return jostle.Trace()


@pytest.fixture
def db(trace: jostle.Trace) -> jostle.Probe:
    return jostle.rehearse(jostle.Table.from_frame(FRAME, SCHEMA), epsilon=100, seed=1, trace=trace)


@pytest.fixture
def shell() -> Any:
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    made = interactive.InteractiveShell()
    made.history_manager.enabled = False
    return made


def shown(shell: Any, value: object) -> tuple[str, str]:
    """Return what a cell shows of a value: text, and HTML."""
    held, _ = shell.display_formatter.format(value)
    return held["text/plain"], held["text/html"]


def test_a_histogram_is_its_values_with_counts_and_bars(db: jostle.Probe, shell: Any) -> None:
    found = db.histogram("region", epsilon=10)
    text, html = shown(shell, found)

    counts = np.asarray(found).tolist()
    assert [line.split()[:2] for line in text.splitlines()[:3]] == [
        [label, str(count)] for label, count in zip(SCHEMA["region"].labels, counts, strict=True)
    ]
    assert text.splitlines()[1].endswith("#" * 30)
    assert "± " in text.splitlines()[3]
    page = checked(html)
    assert EVIL in page.text
    assert "width:100.0%" in html
    assert "script" not in {tag for tag, _ in page.tags}
    assert isinstance(found, np.ndarray)
    assert (found + 0).tolist() == counts
    assert repr(found[:2]) == repr(np.array(counts[:2])), "a part is plain numbers"


def test_a_table_of_two_columns_is_shaded_and_of_many_values_is_printed_as_numbers(
    db: jostle.Probe, shell: Any
) -> None:
    text, html = shown(shell, db.crosstab("region", "label", epsilon=10))
    assert text.splitlines()[0].split() == ["no", "yes"]
    assert "rgba" in html
    checked(html)
    text, html = shown(shell, db.histogram("age", "region", "label", epsilon=10))
    assert text.startswith("[[[")
    checked(html)


@pytest.mark.parametrize("name", ["mean", "sum", "variance", "median"])
def test_a_number_shows_its_interval_and_is_a_number(db: jostle.Probe, shell: Any, name: str) -> None:
    found = getattr(db, name)("age", epsilon=5)
    text, html = shown(shell, found)

    assert "(95%)" in text
    assert "±" in text or "from" in text
    assert html.startswith(str(found))
    assert found + 1 == float(found) + 1
    assert f"{found:.1f}" == f"{float(found):.1f}"


def test_counts_and_the_commonest_values_show_how_far_they_may_be_off(db: jostle.Probe, shell: Any) -> None:
    text, _ = shown(shell, db.count(5))
    assert "± " in text
    assert str(db.count(5)).isdigit()
    text, html = shown(shell, db.top_k("region", 2, epsilon=5))
    assert text.splitlines()[0].startswith("south ")
    assert "south" in checked(html).text


def test_answers_are_frames_with_the_ends_of_their_intervals(db: jostle.Probe) -> None:
    found = db.histogram("region", "label", epsilon=10)
    low, high = found.interval()
    frame = found.to_frame()
    assert isinstance(frame, pa.Table)
    assert frame.column_names == ["region", "label", "count", "low", "high"]
    assert frame["region"].to_pylist()[:3] == [EVIL, EVIL, "south"]
    assert frame["count"].to_pylist() == found.value.ravel().tolist()
    assert (frame["low"].to_pylist(), frame["high"].to_pylist()) == (low.ravel().tolist(), high.ravel().tolist())
    assert db.top_k("region", 2, epsilon=5).to_frame("pandas").columns.tolist() == ["value", "count", "low", "high"]
    with pytest.raises(ProbeError, match="parts of an answer"):
        found.T.to_frame()


def test_a_trace_tells_answers_in_their_own_units(db: jostle.Probe, trace: jostle.Trace) -> None:
    ages = [db.mean("age", epsilon=1), db.quantile("age", "1/4", epsilon=1, site="quarter")]
    db.commonest("region", 1)
    cells = jostle.expressions.cells("label") / 8
    halves = db.release_cells(cells, 1, site="halves")

    text = str(trace)
    for number in ages:
        assert number.said in text
    assert not any(str(each) in text for each in next(r for r in trace.records if isinstance(r, Released)).values)
    assert ", ".join(f"{each:.6g}" for each in halves.tolist()) in text
    assert "answer: south" in text
    assert [record.site for record in trace.records if isinstance(record, Stated)] == ["mean", "quarter", "commonest"]
    page = checked(trace._repr_html_() or "")
    assert ages[0].said in page.text
    assert sum(charge.epsilon for charge in db.charges) == 4


def test_a_trace_tells_a_models_chances(db: jostle.Probe, trace: jostle.Trace) -> None:
    model = jostle.options.get("NaiveBayes")(db, epsilon=10)

    (stated,) = (record for record in trace.records if isinstance(record, Stated))
    assert stated.site == "NaiveBayes"
    assert "it says no " in stated.answer
    assert model.text().splitlines()[0] == f"where nothing is known: {stated.answer.partition('it says ')[2]}"
    chances = model.predict_proba({"age": [None], "region": ["south"]})[0]
    assert f"region = south: no {chances[0]:.0%}, yes {chances[1]:.0%}" in model.text()


def test_what_is_paid_for_is_given_where_nothing_can_be_noted(
    db: jostle.Probe, trace: jostle.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = jostle.Trace.add

    def add(given: jostle.Trace, record: Record, released: Any = None) -> None:
        right(given, record, released)
        if isinstance(record, Released):
            given.failure = "there is no room left for it"

    monkeypatch.setattr(jostle.Trace, "add", add)
    assert 18 <= db.mean("age", epsilon=10) <= 98
    assert not any(isinstance(record, Stated) for record in trace.records)
    with pytest.raises(TableError):
        db.count(1)


def test_a_refusal_is_a_sentence_without_frames(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["schema"] = SCHEMA
    shell.run_cell("import jostle\njostle.options.get('Nave')")
    said = capsys.readouterr().out
    assert said.startswith("OptionError: there is no Option 'Nave'")
    assert "  fix: " in said
    assert "Traceback" not in said
    assert "File" not in said
    shell.run_cell("1 / 0")
    assert "Traceback" in capsys.readouterr().out
