"""Canonical text: it parses to the tree it came from, and keeps what people wrote beside the program."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from random_trees import expressions, modules

from jostle.errors import JostleError, Source, TreeError
from jostle.lang import nodes
from jostle.lang.parser import parse, parse_expression, parse_text
from jostle.lang.printer import MOST_COLUMNS, show

CASES = Path(__file__).parent.parent / "cases" / "fmt"
PROGRAMS = sorted((Path(__file__).parents[2] / "programs").glob("*.jst"))


def canonical(text: str) -> str:
    return show(parse(Source("text", text)))


def check_module(module: nodes.Module) -> None:
    text = show(module)
    again = parse(Source("text", text))
    assert again == module
    assert show(again) == text


@given(modules)
def test_a_tree_is_the_tree_of_its_text(module: nodes.Module) -> None:
    check_module(module)


@pytest.mark.slow
@settings(max_examples=3000)
@given(modules)
def test_thousands_of_trees_are_the_trees_of_their_texts(module: nodes.Module) -> None:
    check_module(module)


@given(expressions)
def test_an_expression_is_the_tree_of_its_text_on_one_line(node: nodes.ExpressionNode) -> None:
    text = node.shown()
    assert "\n" not in text
    assert parse_expression(f"({text})") == node


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_programs_are_canonical(path: Path) -> None:
    assert canonical(path.read_text("utf-8")) == path.read_text("utf-8")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("(a)", "a"),
        ("((a + b)) + c", "a + b + c"),
        ("a + (b + c)", "a + (b + c)"),
        ("a * (b + c)", "a * (b + c)"),
        ("-(a ** b)", "-a ** b"),
        ("(-a) ** b", "(-a) ** b"),
        ("a ^ 2", "a ** 2"),
        ("(a ** b) ** c", "(a ** b) ** c"),
        ("a ** (b ** c)", "a ** b ** c"),
        ("not (a == b)", "not a == b"),
        ("(not a) == b", "(not a) == b"),
        ("(a and b) or c", "a and b or c"),
        ("a and (b or c)", "a and (b or c)"),
        ("(a and b) and c", "(a and b) and c"),
        ("(a < b) < c", "(a < b) < c"),
        ("a if b else (c if d else e)", "a if b else c if d else e"),
        ("(a if b else c) if d else e", "(a if b else c) if d else e"),
        ("{{ len( D ) }}  spending  5%", "{{ len(D) }} spending 5%"),
        ("1 + ({{ n }} spending 5%)", "1 + ({{ n }} spending 5%)"),
        ("{ {a}, {b}, }", "{ {a}, {b}}"),
        ("{ {{ a }} : 1}", "{ {{ a }}: 1}"),
        ("{1: {{ a }}}", "{1: {{ a }}}"),
        ("D[best=v,]", "D[best = v]"),
        ("f(a , b = 1,)", "f(a, b=1)"),
        ("(select count(*) from db groupby a), 1", "((select count() from db groupby a), 1)"),
        ("[1, select count() from db groupby a, b]", "[1, select count() from db groupby a, b]"),
        ("10 % 3", "10 % 3"),
        ("1_000.50", "1_000.50"),
        ("'it\\'s'", '"it\'s"'),
        ("'\"'", r'"\""'),
        ("(a,)", "(a,)"),
        ("()", "()"),
        ("lambda: 1", "lambda: 1"),
        ("choose L among (a if b else c)", "choose L among (a if b else c)"),
    ],
)
def test_brackets_stand_only_where_they_are_needed(written: str, meant: str) -> None:
    assert parse_expression(written).shown() == meant


def test_numbers_that_were_computed_are_written_out() -> None:
    half = parse_expression("0.5")
    assert isinstance(half, nodes.Number)
    assert nodes.Number(half.value / 4).shown() == "0.125"
    assert nodes.Number(half.value * 24).shown() == "12"
    assert nodes.Percent(half.value).shown() == "0.5%"


@pytest.mark.parametrize("path", sorted(CASES.glob("*.jst")), ids=lambda path: path.stem)
def test_canonical_text_looks_like_this(path: Path) -> None:
    """JOSTLE_REWRITE=1 writes the expected files anew, to be reviewed."""
    shown = canonical(path.read_text("utf-8"))
    expected = path.with_suffix(".txt")
    if "JOSTLE_REWRITE" in os.environ:
        expected.write_text(shown, "utf-8")
    assert shown == expected.read_text("utf-8")
    assert canonical(shown) == shown


def comments(text: str) -> list[str]:
    return sorted(re.findall(r"#[^\n]*", text))


@pytest.mark.parametrize("path", [*PROGRAMS, *sorted(CASES.glob("*.jst"))], ids=lambda path: path.stem)
def test_no_comment_is_lost_wherever_it_stands(path: Path) -> None:
    """A comment is put into each line of a program in turn, beside it and above it, at several indentations."""
    text = path.read_text("utf-8")
    lines = text.splitlines()
    for number, line in enumerate(lines):
        beside = [*lines[:number], line if "#" in line or not line.strip() else f"{line}  # note", *lines[number + 1 :]]
        above = ([*lines[:number], " " * indent + "# note", *lines[number:]] for indent in (0, 2, 4, 8, 12))
        variants = [beside, *above]
        for variant in variants:
            changed = "\n".join(variant) + "\n"
            parsed = parse_text(Source("text", changed))
            if parsed.diagnostics:
                # The only thing that a comment can part is a mark and its function.
                assert {each.code for each in parsed.diagnostics} == {"J010"}
                continue
            shown = show(parsed.module)
            assert comments(shown) == comments(changed)
            assert canonical(shown) == shown
            assert parse(Source("text", shown)) == parsed.module


def test_long_lines_are_broken_inside_brackets() -> None:
    items = ", ".join(f"number_{index}" for index in range(20))
    text = canonical(f"names = f([{items}], other=g({items}))")
    assert max(map(len, text.splitlines())) <= MOST_COLUMNS
    assert parse(Source("text", text)) == parse(Source("text", f"names = f([{items}], other=g({items}))"))
    assert canonical(text) == text


def test_a_program_with_mistakes_has_no_canonical_text() -> None:
    with pytest.raises(JostleError, match="Broken"):
        show(parse_text(Source("text", "x = = 2")).module)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: nodes.Name("for"), "is no name"),
        (lambda: nodes.Name("a b"), "is no name"),
        (lambda: nodes.Set(()), "is empty"),
        (lambda: nodes.Number(parse_expression("1").value / 3), "cannot be written with digits"),  # type: ignore[attr-defined]
        (lambda: nodes.String("\ud800"), "half a character"),
        (lambda: nodes.BooleanOperation("and", (nodes.Name("a"),)), "fewer than two"),
        (lambda: nodes.Comparison(nodes.Name("a"), ("<", "<"), (nodes.Name("b"),)), "does not go with"),
        (lambda: nodes.BinaryOperation(nodes.Name("a"), "@", nodes.Name("b")), "is '@'"),
        (lambda: nodes.If((nodes.Branch(None, (nodes.Pass(),)),)), "not last"),
        (lambda: nodes.Assign(nodes.Tuple(()), nodes.Name("a")), "is not a name"),
        (lambda: nodes.FunctionDefinition("f", (), ()), "is empty"),
    ],
)
def test_trees_without_a_text_cannot_be_built(make: object, rule: str) -> None:
    assert callable(make)
    with pytest.raises(TreeError, match=rule):
        make()
