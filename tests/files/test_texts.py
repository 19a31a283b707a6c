"""Texts of JSON and TOML: what is too deep or too long is refused before it does harm, and all else is read."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.files.texts import DamageError, json_parsed, toml_parsed

DEEP = 100_000
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
TOO_MUCH_JSON = {
    "lists": "[" * DEEP,
    "whole lists": "[" * DEEP + "]" * DEEP,
    "mappings": '{"a":' * DEEP,
    "lists behind texts": "[" + '"[", "\\"]", ' * 100 + "[" * 60 + "]" * 61,
    "digits": "9" * 5000,
    "unclosed": '"' * (DEEP + 1),
    "escapes": '"\\' * DEEP,
}
TOO_MUCH_TOML = {
    "lists": "a = " + "[" * DEEP,
    "mappings": "a = {b = " * DEEP,
    "a dotted key": "a." * DEEP + "b = 1",
    "a table's name": "[" + "a." * DEEP + "b]",
    "a key after a text": 'a = "' + "." * 1000 + '"\n' + "b ." * 1000 + "c = 1",
    "digits": "a = " + "9" * 5000,
    "quotes": '"""' * (DEEP + 1),
    "escapes": 'a = """' + '\\"""' * DEEP,
}


@given(json_values)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    for indent in (None, 1):
        assert json_parsed(json.dumps(value, indent=indent)) == value


def no_number(said: str) -> None:
    raise ValueError(said)


@given(st.text('[]{}"\\ ,:1a\n') | st.text())
def test_any_text_is_json_or_damaged(text: str) -> None:
    try:
        known = json.loads(text, parse_constant=no_number)
    except ValueError:
        with pytest.raises(DamageError):
            json_parsed(text)
    else:
        assert json_parsed(text) == known


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "1e999", '"\\ud800"', '"\ud800"', '{"\\udc00": 1}'])
def test_what_is_no_number_or_half_a_character_is_refused(text: str) -> None:
    with pytest.raises(DamageError):
        json_parsed(text)


@pytest.mark.parametrize("text", TOO_MUCH_JSON.values(), ids=TOO_MUCH_JSON.keys())
def test_too_much_json_is_refused_whatever_the_limit_on_calls_in_calls(text: str) -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    try:
        with pytest.raises(DamageError) as damage:
            json_parsed(text)
    finally:
        sys.setrecursionlimit(before)
    assert len(str(damage.value)) < 100


def test_brackets_in_texts_do_not_count() -> None:
    text = json.dumps(["[" * 1000, '"{' * 1000, "\\" * 999])
    assert json_parsed(text) == json.loads(text)


@given(st.text("[]{}\"'\\ ,=.#1a\n") | st.text())
def test_any_text_is_toml_or_damaged(text: str) -> None:
    try:
        known = tomllib.loads(text)
    except ValueError:
        with pytest.raises(DamageError):
            toml_parsed(text)
    else:
        assert toml_parsed(text) == known


@pytest.mark.parametrize("text", TOO_MUCH_TOML.values(), ids=TOO_MUCH_TOML.keys())
def test_too_much_toml_is_refused(text: str) -> None:
    with pytest.raises(DamageError) as damage:
        toml_parsed(text)
    assert len(str(damage.value)) < 200


def test_dots_and_brackets_in_texts_and_comments_do_not_count() -> None:
    dots, brackets = "a." * 200, "[" * 200
    text = f'# {dots} {brackets}\na = "{dots}{brackets}\\""\nb = \'{dots}{brackets}\'\n'
    text += f"c = '''\n{dots}''{brackets}'''\n"
    text += f'd = """{dots}""{brackets}\\""""\n' + "".join(f"e{place}.f.g = 1.5\n" for place in range(200))
    assert toml_parsed(text) == tomllib.loads(text)
