"""The guide's programs are what it says they are."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from small_tables import opened, program

from jostle.errors import Source
from jostle.lang.check import check

GUIDE = Path(__file__).parents[2] / "docs" / "language.md"
BLOCKS = re.findall(r"^```jst ?(.*?)\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_there_are_programs_in_the_guide() -> None:
    assert len(BLOCKS) >= 6


@pytest.mark.parametrize(("said", "text"), BLOCKS)
def test_a_program_of_the_guide_is_right_or_wrong_as_it_says(said: str, text: str) -> None:
    found = [each.code for each in check(Source("guide.jst", text)).diagnostics]
    assert found == said.split()[1:]


@pytest.mark.parametrize("text", [text for said, text in BLOCKS if not said and "import" not in text])
def test_a_right_program_of_the_guide_runs(text: str) -> None:
    made = program(text)
    db = opened()
    assert made.run("answer", db, epsilon=Fraction(1)) is not None
    assert db.spent <= 1
