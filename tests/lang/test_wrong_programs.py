"""Wrong programs and what is said about them.

A case is a program, `tests/cases/lang/NAME.jst`, and beside it what `jostle check` says about it, `NAME.txt`. What
shows only on certain tables names a schema in its first line, `# Schema: table.toml`, a file of the same folder. What
shows only while running is in `tests/cases/running`: beside the program is what a run on a small table ends with. To
add a case, write the program, run the tests with JOSTLE_REWRITE=1, and review the text.
"""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path

import pytest
from small_tables import ROWS, SCHEMA, opened, table_of_rows

from jostle import protect
from jostle.errors import ProgramError, Source, render
from jostle.lang.check import check
from jostle.lang.codes import codes, explain
from jostle.lang.program import load_source
from jostle.lang.references import check_named

CASES = Path(__file__).parent.parent / "cases" / "lang"
RUNNING = CASES.parent / "running"
PROGRAMS = sorted(CASES.glob("*.jst"))
RUN = sorted(RUNNING.glob("*.jst"))
OURS = {"J505", "J901", "J902"}
"""What no program that passes the check comes to: these stand behind the check, in case it lets something through."""


def expected(shown: str, path: Path) -> str:
    """Return what is to be said about a case; write it down if it is to be."""
    kept = path.with_suffix(".txt")
    if "JOSTLE_REWRITE" in os.environ:
        kept.write_text(shown, "utf-8")
    return kept.read_text("utf-8")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_said_about_a_wrong_program(path: Path) -> None:
    source = Source(path.name, path.read_text("utf-8"))
    checked, _ = check_named(source, CASES)
    found = checked.diagnostics
    shown = render(source, found) + "\n"
    assert shown == expected(shown, path)
    assert found
    assert [each.span for each in found] == sorted(each.span for each in found)
    for mistake in found:
        assert mistake.code in codes()
        assert mistake.why
        assert mistake.fix
        assert not mistake.title.endswith(".")
        assert 1 <= mistake.span.line <= len(source.lines)
        assert 1 <= mistake.span.column <= len(source.lines[mistake.span.line - 1]) + 1
        assert not re.search(r"Token\(|_NEWLINE|LPAR|__ANON", mistake.title + mistake.why + mistake.fix)


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_what_a_run_ends_with(path: Path) -> None:
    source = Source(path.name, path.read_text("utf-8"))
    assert check(source).good
    with pytest.raises(ProgramError) as caught:
        load_source(source).run("answer", opened(), epsilon=Fraction(1))
    shown = render(source, caught.value.diagnostics) + "\n"
    assert shown == expected(shown, path)


ON_A_SCHEMA = sorted(CASES.glob("schema_*.jst"))
"""What shows on tables with a certain schema."""
WITHOUT_ONE = {"schema_no_such_fact", "schema_with_other_mistakes"}
"""Those that have other mistakes as well, which show without a schema."""
UNREADABLE = sorted(CASES.glob("unreadable_*.jst"))


@pytest.mark.parametrize("path", ON_A_SCHEMA, ids=lambda path: path.stem)
def test_what_a_schema_shows_is_refused_before_anything_is_spent(path: Path) -> None:
    source = Source(path.name, path.read_text("utf-8"))
    checked, schema = check_named(source, CASES)
    assert schema is not None
    assert check(source).good is (path.stem not in WITHOUT_ONE)
    db = protect(table_of_rows(ROWS if schema == SCHEMA else (), schema), epsilon=1)
    with pytest.raises(ProgramError) as caught:
        load_source(source).run("answer", db, epsilon=Fraction(1))
    # What shows without a schema is said when the program is read, and no more then.
    expected = checked.diagnostics if check(source).good else check(source).diagnostics
    assert caught.value.diagnostics == expected
    assert set(expected) <= set(checked.diagnostics)
    assert db.spent == 0


@pytest.mark.parametrize("path", UNREADABLE, ids=lambda path: path.stem)
def test_a_schema_that_cannot_be_read_is_a_mistake_beside_those_of_the_program(path: Path) -> None:
    source = Source(path.name, path.read_text("utf-8"))
    checked, schema = check_named(source, CASES)
    assert schema is None
    assert [each.code for each in checked.diagnostics] == ["J112"]
    assert check(source).good


def test_every_expected_text_has_its_program() -> None:
    assert {path.stem for path in CASES.glob("*.txt")} == {path.stem for path in PROGRAMS}
    assert {path.stem for path in RUNNING.glob("*.txt")} == {path.stem for path in RUN}


def test_every_code_has_a_case_and_an_explanation() -> None:
    texts = "".join(path.read_text("utf-8") for path in (*CASES.glob("*.txt"), *RUNNING.glob("*.txt")))
    for code in {*codes()} - OURS:
        assert f"error[{code}]" in texts
        assert explain(code).wrong
        assert explain(code).right
