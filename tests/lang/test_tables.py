"""The grammar's tables: what is kept is what Lark makes, and it accepts what Lark accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lark import Lark
from lark import Token as LarkToken
from random_texts import texts

from jostle.errors import Source
from jostle.lang import parser
from jostle.lang.lexer import Text, Token


def test_the_kept_tables_are_those_of_the_grammar() -> None:
    """If this fails: python -m jostle.lang.parser."""
    assert json.loads(parser.KEPT.read_text("utf-8")) == parser.made()


@pytest.fixture(scope="module")
def lark() -> Lark:
    return Lark(parser.GRAMMAR.read_text("utf-8"), parser="lalr", lexer="basic", maybe_placeholders=False)


def tokens_of(text: Text) -> Iterator[Token]:
    for line in text.lines:
        yield from (*line.before, *line.tokens, *line.after)
    yield from text.ends() if text.lines else ()


def read(text: str) -> tuple[parser.Reading, list[Token]]:
    cut = Text(Source("text", text))
    return parser.Reading(cut, parser.Builder(cut.source, {})), list(tokens_of(cut))


def lark_expects(lark: Any, tokens: list[Token]) -> set[str]:
    """Return what Lark would go on with; $END if that is all that was missing."""
    written = {terminal.name: terminal.pattern.value for terminal in lark.terminals}
    named = {text: name for name, text in written.items()}
    run = lark.parse_interactive("")
    for token in tokens:
        run.feed_token(LarkToken(named.get(token.kind, token.kind), token.text))
    return {written.get(name, name) for name in run.accepts()}


def test_the_loop_accepts_what_lark_accepts_and_offers_what_it_offers(lark: Lark) -> None:
    accepted = 0
    for text in texts(seed=3, count=1500):
        reading, tokens = read(text)
        stops = (
            (index, expected) for index, token in enumerate(tokens) if (expected := reading.feed(token)) is not None
        )
        stopped = next(stops, None)
        if stopped is None:
            assert "$END" in lark_expects(lark, tokens)
            accepted += 1
        else:
            index, expected = stopped
            assert expected == lark_expects(lark, tokens[:index])
            assert tokens[index].kind not in expected
    assert 100 < accepted < 1400


def test_another_grammar_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "tables.json"
    kept.write_text('{"grammar": "of yesterday"}')
    monkeypatch.setattr(parser, "KEPT", kept)
    parser.tables.cache_clear()
    try:
        assert len(parser.tables().actions) == len(parser.made()["actions"])
    finally:
        parser.tables.cache_clear()
