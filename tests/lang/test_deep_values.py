"""Values have a depth and a size that are bounded where they are made, before a program runs and while it does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from processes import ran
from run_here import write_rows
from small_tables import SCHEMA, opened, program

from jostle.errors import ProgramError, Source
from jostle.lang.check import check
from jostle.lang.extents import MOST_DEPTH, MOST_ITEMS, held, measured
from jostle.lang.lookup import describe
from jostle.lang.price import prices
from jostle.lang.running import as_data, as_text
from jostle.lang.values import Leaf

MOST_CALLS = 1_500_000
"""Of Python's functions: many times what checking such programs takes, and far below what doubles with every line."""
HEAD = "def answer(db):\n    n = noisyCount(db, epsilon / 2)\n"


def doubled(made: str, lines: int = 60, indent: str = "    ") -> str:
    """Return lines each of which makes a value of two of what the line before made."""
    return f"{indent}s = {made}\n" * lines


def answering(made: str, last: str, start: str = "1", head: str = "def answer(db):\n") -> str:
    """Return a program whose lines double what there is, and what it does with it."""
    return f"{head}    s = {start}\n{doubled(made)}    {last}\n"


def in_a_loop(made: str, lines: int = 60) -> str:
    """Return a program that does so again and again."""
    return f"def answer(db):\n    s = len(db)\n    for v in db.label:\n{doubled(made, lines, ' ' * 8)}    return 1\n"


PAIR = "(s, s)"
DOUBLING = {
    "pairs": answering(PAIR, "return 1"),
    "pairs that are computed with": answering(PAIR, "return s + 1"),
    "pairs that are printed": answering(PAIR, "print(s)"),
    "pairs on one of two ways": answering(PAIR, "return (s, 1) if n > 3 else s", head=HEAD),
    "pairs of private values": answering(PAIR, "return noisyCount(db, epsilon)", "len(db)"),
    "pairs that are compared": answering(PAIR, f"t = s\n    s = 1\n{doubled(PAIR)}    return 1 if s == t else 2"),
    "pairs in a loop": in_a_loop(PAIR),
    "tuples of ten in a loop": in_a_loop("(s, s, s, s, s, s, s, s, 1, 2)", 9),
    "tuples of forty in a loop": in_a_loop(f"({'s, ' * 40}len(db[label = v]))"),
    "dictionaries": answering("{1: s, 2: s}", "return s"),
    "trees": answering("Node(att=db.label, children={1: s, 2: s})", "return s", 'Leaf(pred="yes")'),
    "private sums": answering("s + s", "return noisyMax([1, 2], [s, s], epsilon)", "len(db)"),
    "lists in lists of what is not known": answering("[s for x in range(n)] + [s]", "return s", "[n]", HEAD),
    "functions without names": answering("lambda x: (s, s)", "return s(1)", "lambda x: x"),
    "pairs at the top": f"s = 1\n{doubled(PAIR, indent='')}def answer(db):\n    return noisyCount(db, epsilon)\n",
    "calls": "def f0(x):\n    return x\n\n"
    + "".join(f"def f{i + 1}(x):\n    return (f{i}(x), f{i}(x))\n\n" for i in range(60))
    + "def answer(db):\n    return f60(1)\n",
}
"""Programs of which each line doubles what there is."""


RUN_OTHERWISE = {"pairs at the top", "calls", "functions without names"}
"""Of these the first is refused as it is read, the second does as much as it says, the third holds two functions."""


class TooManyCallsError(Exception):
    """More was done than could be."""


def within(most: int, action: Callable[[], Any]) -> Any:
    """Return what an action gives; stop it after so many calls of functions."""
    left = [most]

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            left[0] -= 1
            if left[0] < 0:
                sys.setprofile(None)
                raise TooManyCallsError

    sys.setprofile(count)
    try:
        return action()
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("name", DOUBLING)
def test_what_doubles_with_every_line_is_checked_in_time_that_does_not(name: str) -> None:
    source = Source("x.jst", DOUBLING[name])
    checked = within(MOST_CALLS, lambda: check(source))
    assert not [each for each in checked.diagnostics if each.code.startswith("J9")]
    within(MOST_CALLS, lambda: prices(checked.module))
    within(MOST_CALLS, lambda: prices(checked.module, SCHEMA))
    answer = checked.module.body[-1]
    last = answer.body[-1]  # a function
    assert within(MOST_CALLS, lambda: describe(checked.module, last.value, (answer, last)))


@pytest.mark.parametrize("name", [name for name in DOUBLING if name not in RUN_OTHERWISE])
def test_what_doubles_with_every_line_is_refused_at_its_place_while_running(name: str) -> None:
    with pytest.raises(ProgramError) as caught:
        within(MOST_CALLS, lambda: program(DOUBLING[name]).run("answer", opened("1"), epsilon=Fraction(1)))
    (mistake,) = caught.value.diagnostics
    assert mistake.code in {"J511", "J516"}, mistake
    assert 1 < mistake.span.line < DOUBLING[name].count("\n")


GROWING = {
    "tuples": "s = (s, i)",
    "lists": "s = [s]",
    "lists by `for`": "s = [s for x in range(1)]",
    "dictionaries": "s = {1: s}",
    "dictionaries by `for`": "s = {x: s for x in range(1)}",
    "keys": "s = list({(s, i): 1})[0]",
    "sets": "s = {s} if i % 2 == 0 else (s, 1)",
    "zipped lists": "s = zip([s], [i])",
    "mapped lists": "s = map(lambda x: s, [1])",
    "leaves": "s = Leaf(pred=s)",
    "sorted lists": "s = sorted([s])",
    "lists of lists": "s = list([s]) + []",
    "unions": "s = [s] | [i]",
    "differences": "s = [[s], 1] - 1",
    "trees": "s = Node(att=db.label, children={1: s})",
}


@pytest.mark.parametrize("step", GROWING.values(), ids=GROWING)
def test_what_is_put_into_itself_again_and_again_is_refused(step: str) -> None:
    text = f"{HEAD}    s = 1\n    for i in range(1000000):\n        {step}\n    return {{s: n}}\n"
    with pytest.raises(ProgramError) as caught:
        program(text).run("answer", opened("1"), epsilon=Fraction(1))
    assert [(each.code, each.span.line) for each in caught.value.diagnostics] == [("J516", 5)]


def test_a_process_whose_program_nests_a_key_a_million_deep_shows_what_was_bought(tmp_path: Path) -> None:
    """It ended without a word, once the key was hashed."""
    text = f"{HEAD}    s = 1\n    for i in range(1000000):\n        s = (s, i)\n    return {{s: n}}\n"
    (tmp_path / "x.jst").write_text(text)
    write_rows(tmp_path)
    data = ("--data", "rows.csv", "--schema", "rows.toml")
    done = ran("-m", "jostle", "run", "x.jst", *data, "--epsilon", "1", "--json", cwd=tmp_path)

    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout)
    assert [each["code"] for each in told["diagnostics"]] == ["J516"]
    assert told["diagnostics"][0]["line"] == 5
    assert told["spent"] == "1/2"
    assert len(told["bought"]) == 1


def test_a_value_as_deep_as_may_be_is_shown_hashed_compared_and_written() -> None:
    text = (
        f"def answer():\n    s = 1\n    for i in range({MOST_DEPTH - 1}):\n        s = (s, i)\n    return {{s: s}}[s]\n"
    )
    made = program(text).run("answer")
    assert measured(made).depth == MOST_DEPTH - 1

    assert as_text(made).startswith("((((")
    assert json.dumps(as_data(made)).startswith("[[[[")
    assert made == program(text).run("answer")


def test_trees_are_as_deep_as_calls_may_be() -> None:
    text = """
def grow(db, d):
    if d == 0:
        return Leaf(pred="yes", votes={"yes": 1})
    return Node(att=db.label, children={v: grow(db, d - 1) for v in ["only"]})

def answer(db):
    return grow(db, 140)
"""
    made = program(text).run("answer", opened("1"), epsilon=Fraction(1))
    assert measured(made).depth <= MOST_DEPTH


def test_the_size_of_a_value_counts_what_it_holds_several_times_as_often() -> None:
    pair = held((1, 2))
    four = held([pair, pair])
    assert (measured(pair).depth, measured(pair).size) == (1, 2)
    assert (measured(four).depth, measured(four).size) == (2, 6)
    assert measured([list(four), 1]).depth == 3
    assert measured(Leaf(four)).depth == 3
    assert held([1] * 10) == [1] * 10
    with pytest.raises(Exception, match=f"{MOST_ITEMS:,}"):
        held([held([0] * (MOST_ITEMS // 2))] * 2)


@pytest.mark.parametrize(
    "text",
    [
        'def answer():\n    s = "a"\n    for i in range(60):\n        s = s + s\n    return s\n',
        "def answer():\n    s = [1]\n    for i in range(60):\n        s = s + s\n    return s\n",
        "def answer():\n    return [1 for a in range(10000000) for b in range(10000000)]\n",
    ],
)
@pytest.mark.slow
def test_texts_and_lists_have_a_length(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        program(text).run("answer")
    assert [each.code for each in caught.value.diagnostics] == ["J516"]


@pytest.mark.parametrize(
    ("body", "title"), [("exp(1000)", "a number too large"), ("10.0 ** 1000 + 2.0 ** 5000", "a number too large")]
)
def test_what_python_says_of_a_number_is_not_what_is_told(body: str, title: str) -> None:
    with pytest.raises(ProgramError) as caught:
        program(f"def answer():\n    return {body}\n").run("answer")
    (mistake,) = caught.value.diagnostics
    assert (mistake.code, mistake.title) == ("J502", title)
