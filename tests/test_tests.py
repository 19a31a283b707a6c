"""What holds of all tests: none ends unchecked, and what is expected to fail says what would mend it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@cache
def files() -> Mapping[str, ast.Module]:
    """Return the modules of the tests, parsed."""
    found = {str(path.relative_to(TESTS)): ast.parse(path.read_text("utf-8")) for path in sorted(TESTS.rglob("*.py"))}
    assert len(found) > 100
    return found


def functions_in(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Yield the tests of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def early_ends(body: list[ast.stmt]) -> Iterator[int]:
    """Yield the lines where statements end what they are in, with nothing looked at just before.

    Functions inside have ends of their own.
    """
    for place, statement in enumerate(body):
        if isinstance(statement, ast.Return) and not any(isinstance(each, ast.Assert) for each in body[:place]):
            yield statement.lineno
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from early_ends(getattr(statement, name, []))
        for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            yield from early_ends(part.body)


def test_no_test_ends_before_it_has_looked() -> None:
    """What a test does not look at it is not given: parameters and hypotheses say so, and a skip has a reason."""
    early = [
        f"{file}:{line} {test.name}"
        for file, tree in files().items()
        for test in functions_in(tree)
        for line in early_ends(test.body)
    ]
    assert early == []


def test_what_is_expected_to_fail_has_to_and_says_what_would_mend_it() -> None:
    for file, tree in files().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "xfail":
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                assert "reason" in given, f"{file}:{node.lineno} gives no remedy"
                assert "strict" not in given, f"{file}:{node.lineno}: all are strict, as the settings have it"


def test_no_two_files_of_tests_have_one_name() -> None:
    """They lie in no packages, so the second one cannot be collected."""
    names = [path.name for path in TESTS.rglob("*.py")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_fixtures_stand_in_one_file() -> None:
    """It stands above the tests, so that examples in docstrings have them as well."""
    assert [file for file in files() if file.endswith("conftest.py")] == []


# The tests of these


def test_early_ends_are_found_wherever_they_stand() -> None:
    text = """
def test_one(x):
    if x:
        return
    for y in x:
        try:
            f(y)
        except ValueError:
            return
    match x:
        case 1:
            return
    with x:
        return
    if not x:
        assert x is None
        return

    def inner():
        return 1

    assert inner()
"""
    (test,) = functions_in(ast.parse(text))
    assert list(early_ends(test.body)) == [4, 9, 12, 14]


def test_xfail_is_strict(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getini("xfail_strict") is True
