"""What an editor is told about the word under the cursor."""

from __future__ import annotations

import pytest

from jostle.errors import Source
from jostle.lang.lookup import look_up
from jostle.lang.parser import parse_text

TEXT = """\
from histograms import DAWA, MWEM
def grow(D, atts, d=5):
    n = noisyCount(D, epsilon / 2)
    U = [size(a) for a in atts]
    action = choose L1 among {stop, branch} informed by {n, d}
    if action == stop:
        return {{ select sum(age) from D where age > n }}
    return grow(D[best = 1], atts, d=d - 1)
#Option
def Count(db):
    return grow(db, db.attributes)
maker = MkChoiceMaker among {DAWA, Count}
"""


def word(text: str, nth: int = 0) -> tuple[str, int | None]:
    """Look up the nth place where a word stands; return what is said and the line of the definition."""
    places = [
        (line, column + 1)
        for line, row in enumerate(TEXT.splitlines(), start=1)
        for column in range(len(row))
        if row.startswith(text, column)
    ]
    found = look_up(parse_text(Source("text", TEXT)).module, *places[nth])
    assert found is not None
    return found.text, found.definition.line if found.definition else None


@pytest.mark.parametrize(
    ("text", "nth", "said", "line"),
    [
        ("DAWA", 0, "Option `DAWA`, from `histograms`", 1),
        ("DAWA", 1, "Option `DAWA`, from `histograms`", 1),
        ("histograms", 0, "module `histograms`: AHP", None),
        ("grow", 0, "function `grow(D, atts, d=5)`", 2),
        ("grow", 2, "function `grow(D, atts, d=5)`", 2),
        ("noisyCount", 0, "`noisyCount(table, epsilon=...)`: how many rows, with noise", None),
        ("D,", 1, "parameter `D` of `grow`", 2),
        ("epsilon", 0, "`epsilon`: what the caller", None),
        ("a)", 0, "each of `atts`", 4),
        ("n, d", 0, "variable `n = noisyCount(D, epsilon / 2)`", 3),
        ("L1", 0, "label of `choose L1 among {stop, branch}", 5),
        ("stop", 1, "stands for itself: an alternative of L1", 5),
        ("sum", 0, "aggregate `sum`", None),
        ("age", 1, "column `age`", None),
        ("best", 0, "column `best`", None),
        ("d=d", 0, "parameter `d=5` of `grow`", 2),
        ("Count(db)", 0, "Option `Count(db)`", 10),
        ("Count}", 0, "Option `Count(db)`", 10),
        ("attributes", 0, "`attributes` of `db`", None),
        ("db)", 0, "parameter `db`", 10),
        ("maker", 0, "choice maker `maker = MkChoiceMaker among {DAWA, Count}`", 12),
    ],
)
def test_what_is_said_and_where_it_was_defined(text: str, nth: int, said: str, line: int | None) -> None:
    found = word(text, nth)
    assert found[0].startswith(said)
    assert found[1] == line


def test_nothing_stands_between_words() -> None:
    assert look_up(parse_text(Source("text", "x = 1 + 2\n")).module, 1, 7) is None
    assert look_up(parse_text(Source("text", "")).module, 1, 1) is None


def test_every_place_of_every_text_can_be_asked_about() -> None:
    for text in (TEXT, TEXT.replace(")", ""), TEXT.replace("=", "= =")):
        module = parse_text(Source("text", text)).module
        for line, row in enumerate(text.splitlines(), start=1):
            for column in range(1, len(row) + 2):
                look_up(module, line, column)


CHECKED = """\
def total(db):
    rows = len(db)
    known = {{ rows }} spending 10%
    more = {{ select count(*) from db where age > 3 }} spending 20%
    return known + more
"""


@pytest.mark.parametrize(
    ("line", "column", "said"),
    [
        (1, 5, "total spends at most 3/10 of epsilon"),
        (3, 16, "private: a private value"),
        (5, 12, "public, or released"),
        (2, 16, "private: a database"),
        (4, 23, "private: one row changes it by 1 at most, over all groups together"),
    ],
)
def test_a_word_is_said_to_be_private_or_not_and_what_it_costs(line: int, column: int, said: str) -> None:
    found = look_up(parse_text(Source("text", CHECKED)).module, line, column)
    assert found is not None
    assert found.text.split("\n\n")[-1] == said


def test_a_program_with_a_mistake_of_form_says_less_but_something() -> None:
    found = look_up(parse_text(Source("text", "def f(db):\n    return db\nx = = 3\n")).module, 2, 12)
    assert found is not None
    assert "\n\n" not in found.text
