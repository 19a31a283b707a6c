"""No wrong program reaches the data, and no right one is kept from it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from small_tables import SCHEMA, opened, program, table_of_rows

from jostle import protect
from jostle.errors import ProgramError, Source
from jostle.lang.check import check
from jostle.lang.codes import codes, explain
from jostle.lang.guard_rules import check_entry
from jostle.lang.makers import metafeature_of
from jostle.lang.program import load_source
from jostle.privacy.room import QUESTIONS, Room

CASES = Path(__file__).parent.parent / "cases" / "lang"
LEAKS = sorted(CASES.glob("privacy_*.jst"))
LISTED = (
    *("branch_on_rows", "printed", "returned", "informs_a_choice", "index", "loop_bound", "key", "text", "default"),
    *("captured_by_a_lambda", "through_map", "where_of_another_query", "prediction_looks", "file_name", "message"),
)
"""The ways out that are named in the guide."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of every question that reaches a room with rows."""
    found: list[str] = []
    for question in QUESTIONS:
        answer = getattr(Room, question)

        def noted(room: Room, *details: Any, question: str = question, answer: Any = answer) -> Any:
            found.append(question)
            return answer(room, *details)

        monkeypatch.setattr(Room, question, noted)
    return found


def test_the_counting_counts(asked: list[str]) -> None:
    text = "def answer(db):\n    return {{ len(db) }}\n"
    program(text).run("answer", opened(), epsilon=Fraction(1))
    assert asked == ["perform"]


@pytest.mark.parametrize("path", LEAKS, ids=lambda path: path.stem)
def test_no_leak_reaches_the_data(path: Path, asked: list[str]) -> None:
    db = protect(table_of_rows(), epsilon=1)
    with pytest.raises(ProgramError):
        load_source(Source(path.name, path.read_text("utf-8"))).run("answer", db, epsilon=Fraction(1))
    assert asked == []
    assert db.spent == 0


def test_all_ways_out_have_their_case() -> None:
    assert {f"privacy_{name}" for name in LISTED} <= {path.stem for path in LEAKS}
    assert len(list(CASES.glob("*.jst"))) >= 60


@pytest.mark.parametrize("code", [code for code in codes() if code[:2] in {"J2", "J3"}])
def test_no_wrong_program_of_the_catalogue_reaches_the_data(code: str, asked: list[str]) -> None:
    db = protect(table_of_rows(), epsilon=1)
    with pytest.raises(ProgramError):
        program(explain(code).wrong).run("answer", db, epsilon=Fraction(1))
    assert asked == []


def found_in(text: str) -> list[str]:
    return [each.code for each in check(Source("p.jst", text)).diagnostics]


@pytest.mark.parametrize(
    "text",
    [
        "def half(x):\n    return x / 2\n\ndef answer(db):\n    return {{ half(len(db)) }}\n",
        "def answer(db):\n    xs = [len(db[region = v]) for v in db.region]\n    return {{ max(xs) }}\n",
        "def answer(db):\n    n, d = (len(db), 5)\n    if d > 3:\n        return 1\n    return {{ n }}\n",
        "def answer(db):\n    n = len(db)\n    n = {{ n }}\n    if n > 3:\n        return 1\n    return n\n",
        "def answer(db):\n    f = lambda x: x / 2\n    return {{ f(len(db)) }}\n",
        (
            "def answer(db):\n    u = {a: maxScore(a, db.label, db) for a in db.attributes}\n"
            "    return noisyMax(db.attributes, u, epsilon)\n"
        ),
        'def rows(D):\n    return len(D)\n\ndef answer(db):\n    return {{ rows(db[region = "north"]) + rows(db) }}\n',
        (
            "def pick(first, a, b):\n    return a if first else b\n\n"
            "def answer(db):\n    return {{ pick(True, len(db), len(db) / 2) }}\n"
        ),
        (
            "def answer(db):\n    total = 0\n    for v in db.region:\n        total = total + len(db[region = v])\n"
            "    return {{ total }}\n"
        ),
    ],
)
def test_private_values_may_be_bound_passed_and_computed_with(text: str) -> None:
    assert found_in(text) == []
    program(text).run("answer", opened("10"), epsilon=Fraction(10))


def test_a_value_that_is_private_on_one_way_only_is_private() -> None:
    text = "def answer(db, d=5):\n    n = 3\n    if d > 3:\n        n = len(db)\n    return n\n"
    assert found_in(text) == ["J203"]


def test_a_value_that_becomes_private_in_a_loop_is_private_in_the_next_round() -> None:
    text = "def answer(db):\n    n = 0\n    for i in range(3):\n        if n > 2:\n            return 1\n"
    text += "        n = n + len(db)\n    return 0\n"
    assert found_in(text) == ["J202"]


def test_recursion_is_gone_through_until_nothing_new_is_learned() -> None:
    text = "def f(D, d, n):\n    if d == 0:\n        return n\n    return f(D, d - 1, n + len(D))\n\n"
    assert found_in(text + "def answer(db):\n    return f(db, 3, 0)\n") == ["J203"]
    assert found_in(text + "def answer(db):\n    return {{ f(db, 3, 0) }}\n") == []


def test_functions_that_call_each_other_twice_are_gone_through_once() -> None:
    """There are 2**60 ways through these calls, and sixty functions."""
    text = "".join(f"def f{i}(D, n):\n    return f{i + 1}(D, n) - f{i + 1}(D, n)\n\n" for i in range(60))
    text += "def f60(D, n):\n    return len(D) + n\n\n"
    assert found_in(text + "def answer(db):\n    return f0(db, 1)\n") == ["J203"]
    assert found_in(text + "def answer(db):\n    return {{ f0(db, 1) }}\n") == []


def test_calls_in_calls_end_in_a_sentence() -> None:
    inner = "    if 1 > 2:\n        for i in [1]:\n            return [(f{}(D), [1, 2 + 3])]\n\n"
    for depth, code in ((495, "J203"), (505, "J008")):  # the same in every Python
        text = "".join(f"def f{i}(D):\n{inner.format(i + 1)}" for i in range(depth))
        text += f"def f{depth}(D):\n    return len(D)\n\ndef answer(db):\n    return f0(db)\n"
        assert found_in(text) == [code]


def test_calls_are_as_deep_as_the_language_says_whatever_the_python() -> None:
    """Each of many expressions inside each other in each of many calls takes some of the interpreter's own calls."""
    text = "def f(n):\n    if n == 0:\n        return 1\n    return {}f(n - 1){}\n\ndef answer(n):\n    return f(n)\n"
    for before, behind in (("-" * 80, ""), ("len([" * 28, "])" * 28), ("sum([" * 20, "for x in [1]])" * 20)):
        made = program(text.format(before, behind))
        assert made.run("answer", 148) == 1
        with pytest.raises(ProgramError) as caught:
            made.run("answer", 150)
        assert [each.code for each in caught.value.diagnostics] == ["J509"]


def test_a_function_without_a_name_may_call_itself() -> None:
    text = "def answer(db):\n    f = lambda g, D, d: {} if d == 0 else g(g, D, d - 1)\n    return f(f, db, 3)\n"
    assert found_in(text.format("len(D)")) == ["J203"]
    assert found_in(text.format("noisyCount(D, epsilon)")) == []


def test_a_lambda_holds_what_names_stood_for_where_it_was_made() -> None:
    text = "def answer(db):\n    n = 1\n    f = lambda: n\n    n = len(db)\n    return f()\n"
    assert found_in(text) == []
    assert program(text).run("answer", opened(), epsilon=Fraction(1)) == 1


def test_behind_the_check_a_metafeature_has_no_database_to_ask() -> None:
    """Which functions inform a choice is not always written where they do; then this is what stops them."""
    text = "def facts(db):\n    return noisyCount(db, 1)\n\ndef answer(db):\n    return facts(db)\n"
    made = program(text)
    facts = metafeature_of(made, made["facts"])
    with pytest.raises(ProgramError) as caught:
        facts.purchases(SCHEMA)
    assert [each.code for each in caught.value.diagnostics] == ["J505"]


@pytest.mark.parametrize("given", ["(lambda D: 1)", "one", "sorted([one])[0]", "{0: one}[0]", "(one, 3)[0]"])
def test_one_of_several_functions_is_each_of_them(given: str) -> None:
    text = "def one(D):\n    return 1\n\ndef rows(D):\n    return len(D)\n\n"
    text += f"def answer(db, first=True):\n    h = {given} if first else rows\n    return h(db)\n"
    assert found_in(text) in (["J203"], ["J217", "J203"], ["J203", "J217"])


def test_a_function_given_a_database_that_it_does_not_use_as_one_is_checked_before_it_runs() -> None:
    text = "def answer(x):\n    return x == 3\n"
    checked = check(Source("p.jst", text))
    assert checked.good
    assert [each.code for each in check_entry(checked.module, "answer")] == ["J202"]


def test_what_is_told_where_a_private_value_came_from() -> None:
    text = "def f(n):\n    return n > 3\n\ndef answer(db):\n    return f(len(db))\n"
    (mistake,) = check(Source("p.jst", text)).diagnostics
    assert (mistake.span.line, mistake.others[0].span.line) == (2, 5)


def test_messages_while_running_hold_no_private_number() -> None:
    text = "def answer(db):\n    return {{ select count() from db where age > 3 groupby region, region }}\n"
    with pytest.raises(ProgramError) as caught:
        program(text).run("answer", opened(), epsilon=Fraction(1))
    words = str(caught.value)
    assert "100" not in words
    assert SCHEMA.names[0] in words


@pytest.mark.parametrize("leaf", ["n", "2", "len(db)"])
def test_lists_that_are_in_others_again_and_again_are_compared_once(leaf: str) -> None:
    """Lists of five levels, of 25 items each, are made on two ways: gone through item by item, it would not end."""
    ways = [
        [f"        {name} = [{', '.join([item] * 25)}]" for name, item in zip("abcde", [first, *"abcd"], strict=True)]
        for first in ("n", leaf)
    ]
    head = ["def answer(db):", "    n = len(db)", "    if db.label == 1:"]
    text = "\n".join([*head, *ways[0], "    else:", *ways[1], "    return e", ""])
    assert [each.code for each in check(Source("wide.jst", text)).diagnostics] == ["J203"]
