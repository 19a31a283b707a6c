"""Texts on a screen: whatever they hold is shown, and steers nothing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.visible import steers, visible, visible_lines

texts = st.text(st.characters(), max_size=20) | st.text(st.sampled_from("ab\n\t\x1b\x9b\u202e\u200b\ud800\\"))


@given(texts)
def test_what_is_shown_is_one_line_of_printable_signs(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)
    if text.isprintable():
        assert visible(text) == text


@given(texts, texts)
def test_texts_are_shown_letter_by_letter(one: str, other: str) -> None:
    assert visible(one + other) == visible(one) + visible(other)
    assert visible_lines(f"{one}\n{other}") == f"{visible_lines(one)}\n{visible_lines(other)}"
    assert all(letter.isprintable() or letter in "\n\t" for letter in visible_lines(one))


@given(st.characters())
def test_what_steers_is_never_shown_as_it_is(letter: str) -> None:
    assert not (steers(letter) and visible(letter) == letter)
    if unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"}:
        assert steers(letter)


@pytest.mark.parametrize("turning", ["\u202e", "\u2066", "\u202a"])
def test_what_turns_the_writing_round_steers(turning: str) -> None:
    assert unicodedata.bidirectional(turning) in {"RLO", "LRI", "LRE"}
    assert steers(turning)
