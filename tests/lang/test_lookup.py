"""What an editor is told about the word under the cursor."""

from __future__ import annotations

from typing import Any

import pytest
from small_tables import SCHEMA, schema_under

from jostle.errors import Source, Span
from jostle.lang.facts import moves_of
from jostle.lang.lookup import look_up
from jostle.lang.parser import parse_text
from jostle.lang.price import price_of
from jostle.lang.roots import roots
from jostle.tables.schema import Neighbours

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
def told(db):
    def ask(r):
        return noisyCount(db[region = r], epsilon / 2)
    return f"{ask(1)} of {size(db.label)}"
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
        ("DAWA", 0, "Option `DAWA(db, queries)`, from `histograms`, with the parameters `partition_share=0.125`", 1),
        ("DAWA", 1, "Option `DAWA(db, queries)`, from `histograms`, with the parameters `partition_share=0.125`", 1),
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
        ("ask(1", 0, "function `ask(r)`", 14),
        ("size(db", 0, "`size(attribute)`", None),
        ("r]", 0, "parameter `r` of `ask`", 14),
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


def test_any_place_of_any_text_can_be_asked_about() -> None:
    for text in (TEXT, TEXT.replace(")", ""), TEXT.replace("=", "= =")):
        module = parse_text(Source("text", text)).module
        for line, row in enumerate(text.splitlines(), start=1):
            for column in range(1 + line % 5, len(row) + 2, 5):
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
        (3, 16, "a private count: one row changes it by at most 1"),
        (5, 12, "a released number"),
        (2, 16, "a private table"),
        (4, 23, "a private count: one row changes it by at most 1"),
        (3, 13, "a released number; spends 1/10 of epsilon"),
        (1, 11, "a private table"),
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


KINDS = """\
from trees import Mohammed
maker = MkChoiceMaker among {Mohammed}
def answer(db, d=3, word="yes"):
    ages = select sum(age) from db where region == "north"
    groups = select count() from db groupby region, label
    both = (ages + len(db)) / 2
    U = [maxScore(a, db.label, db) for a in db.attributes]
    best = noisyMax(db.attributes, U, epsilon / 4)
    part = db[region = "north"]
    total = {{ both }} spending 5%
    rows = noisyCount(part, epsilon / 3)
    table = {{ groups }} spending epsilon / 10
    model = maker(db, epsilon=epsilon / 8)
    score = gini(db.region, db.label, db)
    deep = abs(max(groups) - 2 * len(part))
    return (best, total, rows, table, model, d, word, deep)
"""


@pytest.mark.parametrize(
    ("text", "nth", "with_schema", "without"),
    [
        ("maker(", 0, "a public value, or a released one; spends 1/8 of epsilon", None),
        ("maker =", 0, "a choice maker", "a choice maker"),
        ("d=3", 0, "a public number", "a public number"),
        ("word=", 0, "a public text", "a public text"),
        (
            "ages =",
            0,
            "a private number: one row changes it by at most 70",
            "a private number: how far one row changes it depends on the schema",
        ),
        (
            "sum",
            0,
            "a private number: one row changes it by at most 70",
            "a private number: one row changes it by what it adds at most, the bound of its column in the schema",
        ),
        ("age)", 0, "4 values: [0, 20), [20, 40), [40, 60), [60, 80]", ""),
        ("region ==", 0, "3 values: north, east, south", ""),
        (
            "groups }}",
            0,
            "private numbers, one for each of 6 groups: one row changes it by at most 1",
            "private numbers, one for each group: one row changes it by at most 1",
        ),
        (
            "both =",
            0,
            "a private number: one row changes it by at most 71/2",
            "a private number: how far one row changes it depends on the schema",
        ),
        ("U =", 0, "a list of 3 with private values", ""),
        ("maxScore", 0, "a private number: one row changes it by at most 1", None),
        ("noisyMax", 0, "an attribute; spends 1/4 of epsilon", "an attribute; spends 1/4 of epsilon"),
        ("part =", 0, "a private table", "a private table"),
        ("{{ both", 0, "a released number; spends 1/20 of epsilon", None),
        ("noisyCount", 0, "a released number; spends 1/3 of epsilon", None),
        ("table,", 0, "a dictionary of released numbers", "a dictionary of released numbers"),
        ("gini", 0, "a private score", "a private score"),
        (
            "deep =",
            0,
            "a private number: one row changes it by at most 2",
            "a private number: one row changes it by at most 3",
        ),
        ("answer", 0, "answer spends at most 103/120 of epsilon", "answer spends at most 103/120 of epsilon"),
    ],
)
def test_hovers_say_what_kind_of_value_it_is_how_far_a_row_moves_it_and_what_it_costs(
    text: str, nth: int, with_schema: str, without: str | None
) -> None:
    places = [(line, row.index(text) + 1) for line, row in enumerate(KINDS.splitlines(), start=1) if text in row]
    for schema, said in ((SCHEMA, with_schema), (None, with_schema if without is None else without)):
        found = look_up(parse_text(Source("text", KINDS)).module, *places[nth], schema)
        assert found is not None
        assert found.text.partition("\n\n")[2] == said


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_what_is_said_without_a_schema_holds_with_one(neighbours: Neighbours) -> None:
    """The words are about a row more or less: where one becomes another, it may count twice."""
    module = parse_text(Source("text", KINDS)).module
    seen: dict[Span, list[Any]] = {}
    known: dict[Span, list[Any]] = {}
    schema = schema_under(neighbours)
    for root in roots(module):
        price_of(module, root, seen=seen)
        price_of(module, root, schema, seen=known)
    compared = 0
    for span, values in seen.items():
        for less, more in zip(values, known[span], strict=False):
            said, inferred = moves_of(less, None), moves_of(more, schema)
            if said is not None and inferred is not None:
                assert inferred <= said * (1 if neighbours == "add_remove" else 2)
                compared += 1
    assert compared >= 8
