"""Why: a choice told in sentences, at one place and at many."""

from __future__ import annotations

from jostle.trace.records import Chosen
from jostle.trace.render import explanations

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
