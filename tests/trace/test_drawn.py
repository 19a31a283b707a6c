"""What a report draws: numbers by name, trees, grids with intervals, published rows, and the budget as it went."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from fractions import Fraction

import numpy as np
import pytest

import jostle
from jostle import Categorical, Numeric, Schema, Table, Trace
from jostle.lang.running import as_markup
from jostle.lang.values import KnownAttribute, Leaf, TreeNode
from jostle.trace.page import whole_page

SCHEMA = Schema(
    {"age": Numeric(0, 80, bins=8), "ill": Categorical(["no", "yes"])},
    label="ill",
)
EVIL = "<script>&\x1b[2K"


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
