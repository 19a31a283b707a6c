"""The grammar's tables: what is kept is what Lark makes, and it accepts what Lark accepts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lark import Lark
from lark import Token as LarkToken
from random_texts import texts

from jostle.errors import Source
from jostle.lang import tables
from jostle.lang.layout import block_ends, lay_out
from jostle.lang.lexer import scan
from jostle.lang.tokens import Token


def test_the_kept_tables_are_those_of_the_grammar() -> None:
    """If this fails: python -m jostle.lang.tables."""
    assert json.loads(tables.KEPT.read_text("utf-8")) == tables.make()


@pytest.fixture(scope="module")
def lark() -> Lark:
    return Lark(tables.GRAMMAR.read_text("utf-8"), parser="lalr", lexer="basic", maybe_placeholders=False)


def tokens_of(text: str) -> list[Token]:
    laid, _ = lay_out(scan(Source("text", text)).lines)
    inside = [token for each in laid for token in (*each.before, *each.tokens)]
    return [*inside, *(block_ends(laid) if laid else ())]


def try_tokens(tokens: list[Token]) -> tuple[int, frozenset[str]] | None:
    """Return where the loop stops, and what it would go on with."""
    run = tables.Reading(tables.load(), lambda _, pieces: pieces)
    for index, token in enumerate(tokens):
        expected = run.feed(token)
        if expected is not None:
            return index, expected
    assert run.finish() is not None
    return None


def lark_expects(lark: Any, tokens: list[Token]) -> set[str]:
    """Return what Lark would go on with; $END if that is all that was missing."""
    parser = lark.parse_interactive("")
    for token in tokens:
        parser.feed_token(LarkToken(token.kind, token.text))
    found: set[str] = parser.accepts()
    return found


def test_the_loop_accepts_what_lark_accepts_and_offers_what_it_offers(lark: Lark) -> None:
    accepted = 0
    for text in texts(seed=3, count=1500):
        tokens = tokens_of(text)
        stopped = try_tokens(tokens)
        if stopped is None:
            assert tables.END in lark_expects(lark, tokens)
            accepted += 1
        else:
            index, expected = stopped
            assert expected == lark_expects(lark, tokens[:index])
            assert tokens[index].kind not in expected
    assert 100 < accepted < 1400


def test_what_was_fed_can_be_taken_back() -> None:
    right, wrong = tokens_of("x = [1, 2]\n"), tokens_of("x = [1, (2 +\n")
    once = tables.Reading(tables.load(), lambda rule, pieces: (rule, pieces))
    twice = tables.Reading(tables.load(), lambda rule, pieces: (rule, pieces))
    for token in right:
        once.feed(token)
    assert twice.feed(wrong[0]) is None
    start = twice.height
    for token in wrong[1:6]:
        assert twice.feed(token) is None
    twice.take_back(start)
    for token in right:
        assert twice.feed(token) is None
    assert twice.finish() == once.finish()


def test_another_grammar_is_read_anew(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "tables.json"
    kept.write_text('{"grammar": "of yesterday"}')
    monkeypatch.setattr(tables, "KEPT", kept)
    tables.load.cache_clear()
    try:
        assert len(tables.load().states) == len(tables.make()["states"])
    finally:
        tables.load.cache_clear()
