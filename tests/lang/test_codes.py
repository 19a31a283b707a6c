"""The catalogue: each wrong program makes its mistake and no other, each right one makes none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jostle.errors import JostleError, Source
from jostle.lang.check import check
from jostle.lang.codes import FAMILIES, codes, explain

PACKAGE = Path(__file__).parents[2] / "jostle"


BEFORE_RUNNING = {*(code for code in codes() if code[1] in "01234"), "J501", "J503", "J504", "J506", "J507"}
"""What checking finds, of those about running with a schema."""


@pytest.mark.parametrize("code", codes())
def test_the_wrong_program_has_the_mistake_and_the_right_one_has_none(code: str) -> None:
    entry = explain(code)
    assert entry.as_data()["family"] == FAMILIES[code[:2]]
    if code in BEFORE_RUNNING:
        assert f"error[{code}]" in entry.as_text()
        assert {mistake.code for mistake in entry.mistakes()} == {code}
    if entry.right:
        assert check(Source("right.jst", entry.right)).diagnostics == ()
    assert entry.title
    assert entry.rule


def test_every_code_in_the_sources_is_in_the_catalogue() -> None:
    used = {code for path in PACKAGE.rglob("*.py") for code in re.findall(r'"(J\d{3})"', path.read_text("utf-8"))}
    assert used == set(codes())


def test_a_code_is_found_however_it_is_typed() -> None:
    assert explain(" j101 ") == explain("J101")


def test_an_unknown_code_is_answered_with_those_near_it() -> None:
    with pytest.raises(JostleError, match="J199") as caught:
        explain("J199")
    assert caught.value.why is not None
    assert "J101" in caught.value.why
    assert "J001" not in caught.value.why
