"""Traces as web pages: nothing of a program's text is markup, nothing is fetched, and the ledger adds up."""

from __future__ import annotations

import re
import shutil
import subprocess
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markup_checks import checked

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.choice.makers.shipped import SHIPPED
from jostle.cli.app import app
from jostle.errors import BudgetError
from jostle.tasks.ranges.estimate import Estimate
from jostle.trace.page import segments, whole_page
from jostle.trace.records import Charged, Chosen, NamedPublic, Opened, Record, Refused, Released, Stated, Trace, Trusted

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[2K&amp;"
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
    assert checked(few).text.split() == [
        "column",
        "kind",
        "values",
        "or",
        "bins",
        "age",
        "Numeric",
        "7",
        EVIL[:8],
        "Categorical",
        "2",
    ]


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
