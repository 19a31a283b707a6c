"""Wrong programs and what is said about them.

A case is a program, `tests/cases/lang/NAME.jst`, and beside it what `jostle check` says about it, `NAME.txt`. To add
one, write the program, run the tests with JOSTLE_REWRITE=1, and review the text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from jostle.errors import Source, render
from jostle.lang.check import check
from jostle.lang.codes import codes

CASES = Path(__file__).parent.parent / "cases" / "lang"
PROGRAMS = sorted(CASES.glob("*.jst"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_said_about_a_wrong_program(path: Path) -> None:
    source = Source(path.name, path.read_text("utf-8"))
    shown = render(source, check(source).diagnostics) + "\n"
    expected = path.with_suffix(".txt")
    if "JOSTLE_REWRITE" in os.environ:
        expected.write_text(shown, "utf-8")
    assert shown == expected.read_text("utf-8")
    assert shown.strip()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_mistake_has_a_rule_something_to_type_and_a_place(path: Path) -> None:
    source = Source(path.name, path.read_text("utf-8"))
    found = check(source).diagnostics
    assert [each.span for each in found] == sorted(each.span for each in found)
    for mistake in found:
        assert mistake.code in codes()
        assert mistake.why
        assert mistake.fix
        assert not mistake.title.endswith(".")
        assert 1 <= mistake.span.line <= len(source.lines)
        assert 1 <= mistake.span.column <= len(source.lines[mistake.span.line - 1]) + 1
        assert not re.search(r"Token\(|_NEWLINE|LPAR|__ANON", mistake.title + mistake.why + mistake.fix)


def test_every_expected_text_has_its_program() -> None:
    assert {path.stem for path in CASES.glob("*.txt")} == {path.stem for path in PROGRAMS}
