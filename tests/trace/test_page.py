"""Traces, models and estimates as pages and in notebooks."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, date, datetime
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markup_checks import checked

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.choice.makers.shipped import SHIPPED
from jostle.cli.app import app
from jostle.errors import BudgetError, ProbeError, TableError
from jostle.lang.running import as_markup
from jostle.lang.values import KnownAttribute, Leaf, TreeNode
from jostle.tasks.ranges.estimate import Estimate
from jostle.trace.page import segments, whole_page
from jostle.trace.records import Charged, Chosen, NamedPublic, Opened, Record, Refused, Released, Stated, Trace, Trusted

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[2K&amp;"
SCRIPT = EVIL[:25]
"""What a schema may hold of it."""
finite = st.floats(-1e12, 1e12)


HOSTILE: tuple[Record, ...] = (
    Opened(EVIL, False, Fraction(1), EVIL, (EVIL,), None),
    Trusted(EVIL, EVIL, EVIL),
    NamedPublic((EVIL,), 1, EVIL),
    Charged(EVIL, EVIL, Fraction(1, 10), Fraction(1, 10), Fraction(9, 10)),
    Released(EVIL, EVIL, Fraction(10), 1, (4,)),
    Stated(EVIL, EVIL, whole=False),
    Chosen.one(EVIL, EVIL, EVIL, seen={EVIL: 1.0}, predicted={EVIL: (1.0, 0.1), "b": (2.0, 0.1)}, why=EVIL),
    Refused(EVIL, EVIL),
)


def test_what_a_program_calls_things_is_text_and_nothing_else() -> None:
    page = checked(whole_page(HOSTILE, title=EVIL))

    assert page.text.count("<script>alert(1)</script>") > 10
    assert "NOT PRIVATE" in page.text
    checked(Trace()._repr_html_() or "")


@given(st.text(), st.text())
def test_any_text_is_shown_as_itself(site: str, why: str) -> None:
    page = checked(whole_page((*HOSTILE[:1], Chosen.one(site, "L1", "a", why=f"because {why}")), title="t"))

    assert page.text.count("because") >= 1


def test_a_page_stands_for_itself_and_can_be_read_on_a_phone() -> None:
    page = checked(whole_page(HOSTILE, title="t"))
    metas = [attributes for tag, attributes in page.tags if tag == "meta"]

    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    assert any("default-src 'none'" in str(each.get("content")) for each in metas)


def asked() -> tuple[Trace, Any]:
    """A run with a count, parts, a maker and a refusal, on made-up rows."""
    schema = Schema({"income": Numeric(0, 100_000, bins=8), EVIL[:8]: Categorical(["<b>", "east"])})
    random = np.random.default_rng(1)
    frame = {"income": random.gamma(3, 10_000, 300), EVIL[:8]: random.choice(["<b>", "east"], 300)}
    trace = Trace()
    db = jostle.rehearse(Table.from_frame(frame, schema), epsilon=1, trace=trace)
    db.count("0.1")
    for part in db.parts(EVIL[:8]):
        part.histogram("income", epsilon="0.2")
    answer = jostle.pretrained("ranges")(db, epsilon="0.5")
    with pytest.raises(BudgetError):
        db.count(1)
    return trace, answer


def test_the_bar_of_the_ledger_adds_up_to_the_promise() -> None:
    trace, answer = asked()
    opened, *records = trace.records
    assert isinstance(opened, Opened)
    found = segments(opened, records)

    assert [(each.site, each.epsilon, each.kind) for each in found] == [
        ("count", Fraction(1, 10), "charge"),
        ("parts, together", Fraction(1, 5), "other"),
        ("ranges", Fraction(1, 2), "charge"),
        ("left", Fraction(1, 5), "left"),
    ]
    page = checked(whole_page(trace.records, title="t", answer=answer._repr_html_()))
    spans = [str(attributes["style"]) for tag, attributes in page.tags if tag == "span" and "style" in attributes]
    assert spans == ["flex:0 1 10.0000%", "flex:0 1 20.0000%", "flex:0 1 50.0000%", "flex:0 1 20.0000%"]
    assert "(taken)" in page.text
    assert any(tag == "svg" for tag, _ in page.tags)


def test_what_parts_spent_last_and_an_unlimited_rehearsal_are_said_as_far_as_known() -> None:
    opened = Opened("add_remove", True, Fraction(1), None, ("a",), None)
    part = Charged("a=1/count", "Laplace", Fraction(1, 5), Fraction(1, 5), None)
    assert [each.site for each in segments(opened, [part])] == ["left, but for what parts have spent since"]
    assert segments(Opened("add_remove", False, None, None, ("a",), None), [part]) == ()


@given(finite, finite, finite)
def test_what_was_seen_is_marked_on_a_line_among_what_was_learned_from(value: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    chosen = Chosen.one("choice", "choice", "a", seen={"rows": value, "b": 2.0}, usual={"rows": (low, high)})
    page = checked(whole_page((*HOSTILE[:1], chosen), title="t"))
    (mark,) = [attributes for tag, attributes in page.tags if tag == "circle"]
    place = float(mark["cx"] or "nan") / 80

    assert 0 <= place <= 3
    if value < low:
        assert place <= 1.01
    elif value > high:
        assert place >= 1.99
    else:
        assert 0.99 <= place <= 2.01


def test_a_table_shows_its_schema_and_neither_rows_nor_how_many() -> None:
    schema = Schema({"age": Numeric(0, 100, bins=7), EVIL[:8]: Categorical(["x", "y"])})
    frames = [{"age": [12345.5] * rows, EVIL[:8]: ["x"] * rows} for rows in (3, 977)]
    few, many = (Table.from_frame(frame, schema)._repr_html_() for frame in frames)

    assert few == many
    head, rows = "column kind values or bins", f"age Numeric 7 {EVIL[:8]} Categorical 2"
    assert checked(few).text.split() == f"{head} {rows}".split()


def test_models_makers_and_estimates_are_shown_in_notebooks() -> None:
    for name in SHIPPED:
        assert "chooses among" in checked(jostle.pretrained(name)._repr_html_()).text, name
    schema = Schema({"a": Categorical(["x", "<i>"]), "b": Categorical(["no", "yes"])}, label="b")
    db = jostle.rehearse(Table.from_frame({"a": ["x", "<i>"], "b": ["no", "yes"]}, schema), epsilon=1)
    checked(jostle.options.get("NaiveBayes")(db, epsilon=1)._repr_html_())
    for cells in (np.zeros(3), np.full((2, 70), -1.0), np.arange(300.0), np.ones((2, 2, 2))):
        assert "svg" in {tag for tag, _ in checked(Estimate(cells)._repr_html_()).tags}


def test_published_rows_selected_features_and_advice_are_shown_in_notebooks() -> None:
    schema = Schema({"a": Categorical(["x", "y", EVIL[:30]]), "b": Categorical(["no", "yes"])}, label="b")
    rows = {"a": ["x", EVIL[:30]] * 60, "b": ["no", "yes"] * 60}
    db = jostle.rehearse(Table.from_frame(rows, schema), epsilon=200, seed=1)
    published = jostle.options.get("PrivPfC")(db, epsilon=100)
    page = checked(published._repr_html_())
    assert {"table", "th", "td"} <= {tag for tag, _ in page.tags}
    assert page.texts.count(EVIL[:30]) > 1
    assert f"... and {published.rows - 10:,} more rows" in page.text
    selected = jostle.options.get("Peeling")(db, epsilon=100)
    assert f"a={EVIL[:30]}" in checked(selected._repr_html_()).text
    wide = Schema({f"a{place}": Categorical(["x", "y"]) for place in range(4)} | {"b": schema["b"]}, label="b")
    assert "PooledTree" in checked(jostle.advise(schema=wide, rows=3_000)._repr_html_()).text


def test_a_roc_curve_is_drawn_in_notebooks_and_reports() -> None:
    schema = Schema({"score": jostle.Chances(), "b": Categorical(["no", EVIL[:30]])}, label="b")
    db = jostle.rehearse(Table.from_frame({"score": [0.1, 0.9], "b": ["no", EVIL[:30]]}, schema), epsilon=1, seed=1)
    page = checked(jostle.private_roc_auc(db, "score", epsilon=1)._repr_html_())
    assert {"svg", "polyline", "pre"} <= {tag for tag, _ in page.tags}
    assert "95% for these rows" in page.text


def test_a_trace_file_is_printed_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace(tmp_path / "t.jsonl")
    for record in HOSTILE:
        trace.add(record)
    for words in (["trace", "show", str(tmp_path / "t.jsonl"), "--html"],):
        app(words, standalone_mode=False)
    checked(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "name"), [(1280, "desktop"), (375, "phone")])
def test_a_browser_lays_the_page_out_within_its_width_and_fetches_nothing(
    tmp_path: Path, width: int, name: str
) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser is installed")
    trace, answer = asked()
    page = whole_page(trace.records, title="A run", answer=answer._repr_html_())
    hostile = whole_page(HOSTILE, title=EVIL)
    # A page of the test's own, which may run scripts, writes down how wide the page within a frame of a width is: a
    # browser's own windows are not as narrow as a phone. With no policy on it, whatever it names would be fetched.
    probe = (
        "<script>onload=()=>{const cut=[...document.querySelectorAll('.wide')].filter(e=>e.scrollWidth>e.clientWidth);"
        "parent.document.title+=[document.title.length,document.documentElement.scrollWidth,innerWidth,cut.length,"
        "performance.getEntriesByType('resource').length].join(' ')+';'}</script>"
    )
    frames = []
    for each in (page, hostile):
        free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", each)
        assert free != each
        measured = escape(free.replace("</body>", f"{probe}</body>"))
        frames.append(f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{measured}"></iframe>')
    outer = tmp_path / "page.html"
    outer.write_text(f"<!DOCTYPE html><meta charset=utf-8><title></title>{''.join(frames)}", "utf-8")
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1900", "--dump-dom"]
    done = subprocess.run([*words, outer.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    measures = re.search(r"<title>([\d ]+);([\d ]+);</title>", done.stdout)
    assert measures is not None, done.stdout[:200]
    found = sorted([int(number) for number in each.split()] for each in measures.groups())

    assert [(within, fetched) for _, _, within, _, fetched in found] == [(width, 0)] * 2
    assert all(wide <= within for _, wide, within, _, _ in found), name
    # Nothing of a run's page has to be pushed aside to be read; a hostile name without a gap may have to be.
    titled, _, _, cut, _ = found[0]
    assert (titled, cut) == (len("A run"), 0), name


# What a report draws: numbers by name, trees, grids with intervals, published rows, and the budget as it went.


SCHEMA = Schema(
    {"age": Numeric(0, 80, bins=8), "ill": Categorical(["no", "yes"])},
    label="ill",
)


def opened(trace: Trace | None = None) -> jostle.Probe:
    age = np.random.default_rng(1).integers(0, 80, 2_000)
    table = Table.from_frame({"age": age, "ill": np.where(age > 40, "yes", "no")}, SCHEMA)
    return jostle.rehearse(table, epsilon=10, seed=1, trace=trace)


def test_numbers_by_name_are_bars_as_long_as_they_are_large() -> None:
    drawn = as_markup({"north": 30, EVIL: Fraction(15), "west": -3})

    assert re.findall(r"width:([\d.]+)%", drawn) == ["100.0", "50.0", "0.0"]
    assert "<script>" not in drawn
    assert "\x1b" not in drawn


def test_trees_fold_up_and_their_leaves_say_how_sure_they_are() -> None:
    model = jostle.options.get("FriedmanSchuster(depth=2)")(opened(), epsilon=5)
    drawn = as_markup(model)
    leaves = re.findall(r"<b>\w+ \(([\d.]+)\)</b>.*?width:([\d.]+)rem", drawn)

    assert drawn.count("<details open>") == drawn.count("</details>")
    assert len(leaves) > 1
    assert all(abs(float(width) / 6 - float(share)) < 0.01 for share, width in leaves)


def test_a_program_s_own_tree_is_drawn_as_a_model_s() -> None:
    attribute = KnownAttribute("age", ("young", "old"))
    drawn = as_markup(TreeNode(attribute, {"young": Leaf("no", 3), "old": TreeNode(attribute, {EVIL: Leaf("yes")})}))

    assert drawn.count("<details") == 1
    assert "<b>no (3)</b>" in drawn
    assert "<script>" not in drawn


def test_a_grid_of_one_axis_has_an_interval_for_each_cell() -> None:
    db = jostle.rehearse(Table.from_grid(np.array([10, 200, 30, 40])), epsilon=1, seed=1)
    drawn = jostle.options.get("Identity")(db, epsilon=1)._repr_html_()
    lines = re.findall(r'<line [^>]*y1="([-\d.]+)" y2="([-\d.]+)"', drawn)

    assert len(lines) == 4
    assert all(float(most) < float(least) for most, least in lines)  # pictures count downwards
    assert "95% intervals" in drawn


def test_published_rows_show_how_many_there_are_of_each_group() -> None:
    rows = jostle.options.get("PrivPfC")(opened(), epsilon=5)
    drawn = rows._repr_html_()

    for name in rows.names:
        assert f"<h4>{name}</h4>" in drawn
        assert all(f"{count:,}</td>" in drawn for count in rows.marginal(name).tolist())


def test_a_page_says_on_which_day_it_was_written_and_how_the_budget_went() -> None:
    trace = Trace()
    db = opened(trace)
    for _ in range(4):
        db.count("2.5")
    page = whole_page(trace.records, title="t", day=date(2026, 1, 2))
    (points,) = re.findall(r'<polyline points="([^"]+)"', page)
    heights = [float(point.split(",")[1]) for point in points.split()]

    assert "<time>2026-01-02</time>" in page
    assert sorted(set(heights)) == pytest.approx([24, 54, 84, 114, 144])
    assert heights == sorted(heights)
    assert datetime.now(tz=UTC).date().isoformat() in whole_page(trace.records, title="t")


# What a notebook shows: answers with their bars and intervals, traces, and refusals without frames. A shell of
# IPython's runs the cells, in this process, as the kernel of a notebook does.


FRAME = {
    "age": [20, 40, 60, 80] * 25,
    "region": [SCRIPT, "south", "south", "west"] * 25,
    "label": ["no", "yes"] * 50,
}
SCHEMA_OF_NOTEBOOK = jostle.Schema(
    {
        "age": jostle.Numeric(18, 98),
        "region": jostle.Categorical([SCRIPT, "south", "west"]),
        "label": jostle.Categorical(["no", "yes"]),
    },
    label="label",
)


@pytest.fixture
def trace() -> jostle.Trace:
    return jostle.Trace()


@pytest.fixture
def db(trace: jostle.Trace) -> jostle.Probe:
    return jostle.rehearse(jostle.Table.from_frame(FRAME, SCHEMA_OF_NOTEBOOK), epsilon=100, seed=1, trace=trace)


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
        [label, str(count)] for label, count in zip(SCHEMA_OF_NOTEBOOK["region"].labels, counts, strict=True)
    ]
    assert text.splitlines()[1].endswith("#" * 30)
    assert "± " in text.splitlines()[3]
    page = checked(html)
    assert SCRIPT in page.text
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
    assert frame["region"].to_pylist()[:3] == [SCRIPT, SCRIPT, "south"]
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
    shell.user_ns["schema"] = SCHEMA_OF_NOTEBOOK
    shell.run_cell("import jostle\njostle.options.get('Nave')")
    said = capsys.readouterr().out
    assert said.startswith("OptionError: there is no Option 'Nave'")
    assert "  fix: " in said
    assert "Traceback" not in said
    assert "File" not in said
    shell.run_cell("1 / 0")
    assert "Traceback" in capsys.readouterr().out
