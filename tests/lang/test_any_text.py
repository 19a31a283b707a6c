"""Whatever a text is, checking it gives a tree or mistakes, and never anything else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_texts import mutant, noise, soup, texts

from jostle.errors import Source, render
from jostle.lang import nodes
from jostle.lang.check import check
from jostle.lang.parser import parse, parse_text
from jostle.lang.printer import show


def check_text(text: str) -> bool:
    """Return whether a text is a program, having checked all that holds for any text."""
    checked = check(Source("text", text))
    for mistake in checked.diagnostics:
        assert 1 <= mistake.span.line <= len(checked.source.lines)
        assert mistake.why
        assert mistake.fix
    assert all(
        character.isprintable() or character in "\n\t" for character in render(checked.source, checked.diagnostics)
    )
    parsed = parse_text(checked.source)
    if any(isinstance(node, nodes.Broken) for node in nodes.walk(parsed.module)):
        assert parsed.diagnostics
    if parsed.diagnostics:
        return False
    shown = show(parsed.module)
    assert parse(Source("shown", shown)) == parsed.module
    assert show(parse(Source("shown", shown))) == shown
    assert comments(shown) == comments(text)
    return True


def comments(text: str) -> list[str]:
    plain = re.sub(r'"(?:[^"\\\n]|\\.)*"|' + r"'(?:[^'\\\n]|\\.)*'", "", text)
    return sorted(line.rstrip() for line in re.findall(r"#[^\n\r]*", plain))


def test_thousands_of_texts() -> None:
    """About one in eight is a program: enough to show that both ways were taken."""
    programs = sum(check_text(text) for text in texts(seed=1, count=2000))
    assert 100 < programs < 1900


@pytest.mark.slow
def test_a_hundred_thousand_texts() -> None:
    programs = sum(check_text(text) for text in texts(seed=2, count=100_000))
    assert 5_000 < programs < 95_000


@given(st.randoms(use_true_random=False), st.sampled_from([noise, soup, mutant]))
def test_texts_that_hypothesis_makes_smaller(chance: object, kind: object) -> None:
    assert callable(kind)
    check_text(kind(chance))


@given(st.text())
def test_any_characters(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "[" * 5000 + "]" * 5000,
        "{{" * 3000,
        "x = " + "-" * 5000 + "1",
        "x = " + "not " * 3000 + "y",
        "x = " + "1 + " * 5000 + "1",
        "x = " + "f(" * 59 + "1" + ")" * 59,
        "x = " + "a." * 5000 + "b",
        "x = " + "lambda: " * 3000 + "1",
        "x = " + "1 if y else " * 3000 + "1",
        "".join(f"{' ' * depth}if x:\n" for depth in range(300)) + " " * 300 + "y",
        "if x:\n    y\n" + "elif x:\n    y\n" * 1000,
        "x = (\n" * 500,
        "x = '" + "\\" * 5001,
        "x = {" + "1, " * 5000 + "}",
        "x = " + "9" * 5000,
        "\n" * 10_000,
        "#" * 10_000,
        "x = 1\n" * 3000,
        "x = = 1\n" * 3000,
        '"""\n' * 2001,
    ],
    ids=lambda text: text[:12].strip(),
)
def test_texts_that_are_large_or_deep(text: str) -> None:
    check_text(text)
