"""Traces as text: whole, and why a choice was made."""

from __future__ import annotations

import io
import os
from fractions import Fraction
from pathlib import Path

import pytest
from attrs import evolve
from rich.console import Console

from jostle.trace.records import Charged, Chosen, NamedPublic, Opened, ReadPublic, Record, Refused, Released
from jostle.trace.render import explanations, render_trace

CASES = Path(__file__).parent.parent / "cases" / "trace"

OPENED = Opened("add_remove", True, Fraction(1), "survey.vault", ("age", "region"), None)
COUNT = (
    Charged("count", "Laplace", Fraction(1, 10), Fraction(1, 10), Fraction(9, 10)),
    Released("count", "Laplace", Fraction(10), 1, (4987,)),
)

TRACES: dict[str, tuple[Record, ...]] = {
    "private": (
        OPENED,
        *COUNT,
        Charged("Tree", "Allotment", Fraction(1, 2), Fraction(3, 5), Fraction(2, 5)),
        Charged("Tree/leaves", "Laplace", Fraction(1, 2), Fraction(1, 2), Fraction(0)),
        Released("Tree/leaves", "Laplace", Fraction(2), 1000, range(64)),
        Charged("pick", "PermuteAndFlip", Fraction(1, 3), Fraction(14, 15), Fraction(1, 15)),
        Released("pick", "Pick", None, 1, (2,)),
        Refused("count", "count asks for epsilon 1, but 1/15 is left"),
    ),
    "public files": (
        OPENED,
        NamedPublic(("grids", "ta\x1b[2Kbles"), 1200, "9f3a"),
        ReadPublic("grids/a.npy", 1, "77b1"),
        *COUNT,
    ),
    "part": (
        OPENED,
        Charged("region=[bold]/count", "Laplace", Fraction(1, 5), Fraction(1, 5), None),
        Released("region=[bold]/count", "Laplace", Fraction(5), 1, (-3,)),
    ),
    "rehearsal": (
        Opened("replace_one", False, None, None, ("age",), 500),
        Released("histogram", "Laplace", Fraction(2, 3), 0, ()),
    ),
    "persons": (evolve(OPENED, rows_per_person=16), *COUNT),
    "two runs, the first without its beginning": (*COUNT, OPENED, *COUNT),
    "choices": (
        OPENED,
        Charged("noisyHist/scale", "Laplace", Fraction(3, 100), Fraction(3, 100), Fraction(97, 100)),
        Chosen.one(
            "noisyHist#1",
            "noisyHist",
            "DAWA",
            seen={"scale": 41207, "uniformity": 12.9, "sparsity": 0.12},
            predicted={"DAWA": (0.0031, 0.0004), "AdaptiveGrid": (0.0047, 0.0009), "MWEM": (0.0058, 0.001)},
        ),
        Chosen(
            "JostledTree/L1#2",
            "L1",
            (("n", -3, 480), ("d", 2, 2)),
            (("stop", 1.0412, 0.04), ("branch", 0.97, 0.035)),
            (("branch", 1012), ("stop", 2)),
            "least expected loss",
        ),
        Chosen.one("JostledTree/[L2]#1", "[L2]", "Max", why="the first alternative listed"),
    ),
    "empty": (),
}


@pytest.mark.parametrize("name", TRACES)
def test_golden(name: str) -> None:
    screen = io.StringIO()
    Console(file=screen, width=100, color_system=None).print(render_trace(TRACES[name]))
    shown = "".join(f"{line.rstrip()}\n" for line in screen.getvalue().splitlines())
    golden = CASES / f"{name}.txt"
    if os.environ.get("JOSTLE_REWRITE"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


def test_of_many_alternatives_the_first_are_shown_and_whatever_was_taken() -> None:
    expected = {f"Option{number}": (0.1 + number / 100, 0.01) for number in range(9)}
    console = Console(file=io.StringIO(), width=110)
    console.print(render_trace([Chosen.one("choice", "choice", "Option7", predicted=expected)]))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert [line.split()[0] for line in text.splitlines() if "Option" in line] == [
        *(f"Option{number}" for number in range(5)),
        "Option7",
    ]
    assert "... and 3 more, expected to be worse" in text


# Why: a choice told in sentences, at one place and at many.


ONE = Chosen.one(
    "run/choice",
    "choice",
    "DAWA",
    seen={"scale": 41207.0},
    predicted={"DAWA": (0.0031, 0.0004), "MWEM": (0.0058, 0.001), "AdaptiveGrid": (0.0047, 0.0009)},
    why="records crowd in a few regions",
)
MANY = Chosen(
    "tree",
    "L1",
    (("depth", 2, 2), ("rows", 10, 90)),
    (("Max", 0.3, 0.0), ("Gini", 0.2, 0.1)),
    (("Gini", 7), ("Max", 3)),
    "",
)
BLIND = Chosen.one("L2", "L2", "small")


def test_one_choice_in_sentences() -> None:
    (found,) = explanations([ONE])
    assert found.as_text() == (
        "1. choice at run/choice: took DAWA\n"
        "   because records crowd in a few regions\n"
        "   it saw scale 4.121e+04\n"
        "   it expected a loss of\n"
        "     DAWA          0.0031 ± 0.0004\n"
        "     AdaptiveGrid  0.0047 ± 0.0009\n"
        "     MWEM          0.0058 ± 0.001\n"
        "   otherwise it would have taken AdaptiveGrid, with a loss expected to be 51.6% higher"
    )


def test_many_places_and_nothing_predicted() -> None:
    first, second = explanations([MANY, BLIND])
    assert "at 10 places took Gini at 7, Max at 3" in first.as_text()
    assert "it saw depth 2, rows 10 to 90" in first.as_text()
    assert first.second == "Max"
    assert (second.number, second.second, second.as_data()["seen"]) == (2, None, {})
    assert "2. L2: took small" in second.as_text()
    assert "otherwise" not in second.as_text()


def test_what_was_expected_to_be_worse_may_be_taken_and_is_told_without_a_gap() -> None:
    behind = Chosen.one("c", "c", "b", predicted={"a": (0.1, 0.0), "b": (0.2, 0.0)})
    (found,) = explanations([behind])
    assert found.as_text().endswith("otherwise it would have taken a")
    assert [each["name"] for each in found.as_data()["predicted"]] == ["a", "b"]
