"""The catalogue: each wrong program makes its mistake and no other, each right one makes none."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from string import Template

import pytest

from jostle.errors import JostleError, Source
from jostle.lang.check import check
from jostle.lang.codes import FAMILIES, codes, explain
from jostle.lang.messages import PARTS, messages

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


LANGUAGE = PACKAGE / "lang"
SOURCES = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
TREES = [ast.parse(text) for path, text in SOURCES.items() if path.parent == LANGUAGE]
SAID = re.compile(r"J\d{3}( \w+)?")


def test_every_code_in_the_sources_is_in_the_catalogue() -> None:
    used = {code for text in SOURCES.values() for code in re.findall(r'"(J\d{3})[ "]', text)}
    assert used == set(codes())


def test_what_the_sources_say_of_a_code_is_what_its_file_has() -> None:
    """Every case that is named has its words, and every case that has words is named."""
    constants = {node.value for tree in TREES for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    named = {each for each in constants if isinstance(each, str) and SAID.fullmatch(each)}
    by_value = {each.strip() for each in constants if isinstance(each, str) and re.fullmatch(r"J\d{3} ", each)}
    known = set[str]()
    for code in codes():
        cases = messages(code)
        shared = cases.get("", {}) if len(cases) > 1 else {}
        known |= {f"{code} {case}".strip() for case in cases if case or not shared}
        for case, parts in cases.items():
            assert {*shared, *parts} == set(PARTS) or parts is shared, (code, case)
    assert {each for each in known if each[:4] not in by_value} <= named
    assert {each for each in named if " " in each} <= known


def test_every_place_gives_the_facts_that_are_said_there() -> None:
    checked = 0
    for tree in TREES:
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            said = next((each.value for each in call.args if isinstance(each, ast.Constant)), None)
            names = {keyword.arg for keyword in call.keywords}
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            if not isinstance(said, str) or not SAID.fullmatch(said) or None in names or name == "_named_once":
                continue
            if name == "_must_be_public":
                names = {"name", "what"}
            code, _, case = said.partition(" ")
            for part in PARTS:
                lines = messages(code)[case].get(part) or messages(code)[""][part]
                wanted = [set(Template(line).get_identifiers()) for line in lines]
                assert any(each <= names for each in wanted), (ast.unparse(call), part)
            checked += 1
    assert checked > 200


def test_a_code_is_found_however_it_is_typed() -> None:
    assert explain(" j101 ") == explain("J101")


def test_an_unknown_code_is_answered_with_those_near_it() -> None:
    with pytest.raises(JostleError, match="J199") as caught:
        explain("J199")
    assert caught.value.why is not None
    assert "J101" in caught.value.why
    assert "J001" not in caught.value.why
