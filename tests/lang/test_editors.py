"""Colours: Pygments and the TextMate grammar know the language's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Name, Number, String

from jostle.lang.builtins import BUILTINS
from jostle.lang.lexer import CLAUSE_WORDS, KEYWORDS
from jostle.lang.pygments_lexer import JostleLexer

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "programs").glob("*.jst"))
GRAMMAR = ROOT / "editors" / "jostle.tmLanguage.json"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_pygments_knows_every_piece_of_the_programs(path: Path) -> None:
    text = path.read_text("utf-8")
    pieces = list(JostleLexer().get_tokens(text))
    assert "".join(piece for _, piece in pieces) == text
    assert not [piece for kind, piece in pieces if kind is Error]


def test_pygments_colours() -> None:
    text = "#Option\ndef f(db):  # why\n    x = choose L1 among {stop} informed by {n}\n    {{ len(db) }} spending 5%"
    kinds = {piece: kind for kind, piece in JostleLexer().get_tokens(text)}
    assert kinds["#Option"] is Comment.Preproc
    assert kinds["# why"] is Comment.Single
    assert kinds["f"] is Name.Function
    assert kinds["L1"] is Name.Label
    assert kinds["by"] is Keyword
    assert kinds["spending"] is Keyword
    assert kinds["len"] is Name.Builtin
    assert kinds["5%"] is Number
    assert kinds["stop"] is Name


def test_pygments_colours_values_in_texts() -> None:
    pieces = [*JostleLexer().get_tokens("""f"a{{ {n + {1: 'b'}[1]}" + x""")]
    kinds = {piece: kind for kind, piece in pieces}
    assert kinds["{{"] is String.Escape
    assert kinds["n"] is kinds["x"] is Name
    assert kinds["'b'"] is String.Single
    assert Error not in kinds.values()


def test_pygments_finds_the_lexer_by_name_and_by_file() -> None:
    assert isinstance(get_lexer_by_name("jostle"), JostleLexer)
    assert isinstance(get_lexer_for_filename("x.jst"), JostleLexer)


def patterns(grammar: Any) -> Iterator[tuple[str, str]]:
    """Return the regular expressions of a grammar with their scopes."""
    if isinstance(grammar, dict):
        for key in ("match", "begin", "end"):
            if key in grammar:
                yield grammar.get("name", ""), grammar[key]
        for value in grammar.values():
            yield from patterns(value)
    elif isinstance(grammar, list):
        for value in grammar:
            yield from patterns(value)


def test_the_textmate_grammar_knows_every_word() -> None:
    grammar = json.loads(GRAMMAR.read_text("utf-8"))
    known = [(scope, re.compile(pattern)) for scope, pattern in patterns(grammar)]

    def scope_of(word: str) -> str:
        return next((scope for scope, pattern in known if pattern.fullmatch(word)), "")

    for word in KEYWORDS:
        assert scope_of(word).startswith(("keyword.", "constant.language"))
    for first, second in CLAUSE_WORDS.items():
        assert scope_of(f"{first} {second}").startswith("keyword.")
    for word in BUILTINS:
        assert scope_of(word).startswith("support.function")
    assert scope_of("5%").startswith("constant.numeric")
    assert scope_of("{{").startswith("keyword.operator")
    assert scope_of("#Option").startswith("meta.annotation")
    assert scope_of("# why").startswith("comment.line")
    assert scope_of("total") == ""
    for include in grammar["patterns"]:
        assert include["include"].removeprefix("#") in grammar["repository"]


def test_the_package_points_to_files_that_are_there() -> None:
    folder = ROOT / "editors" / "vscode"
    package = json.loads((folder / "package.json").read_text("utf-8"))
    (language,) = package["contributes"]["languages"]
    (grammar,) = package["contributes"]["grammars"]
    assert (folder / language["configuration"]).is_file()
    assert Path(grammar["path"]).name == GRAMMAR.name
    assert grammar["scopeName"] == json.loads(GRAMMAR.read_text("utf-8"))["scopeName"]
    json.loads((folder / "language-configuration.json").read_text("utf-8"))
