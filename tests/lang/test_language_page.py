"""The page about the language: its programs have no mistakes, and it names all words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jostle.errors import Source, render
from jostle.lang.check import check
from jostle.lang.printer import show
from jostle.lang.tokens import KEYWORDS

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text("utf-8")
PROGRAMS = re.findall(r"```jostle\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", PROGRAMS, ids=lambda text: text.split("\n", 1)[0])
def test_the_programs_on_the_page_are_right_and_canonical(text: str) -> None:
    checked = check(Source("docs/language.md", text))
    assert render(checked.source, checked.diagnostics) == ""
    assert show(checked.module) == text


def test_the_page_names_every_word() -> None:
    assert len(PROGRAMS) >= 4
    for word in KEYWORDS:
        assert re.search(rf"\b{word}\b", PAGE), word
