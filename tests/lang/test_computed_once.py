"""What is the same each time is computed once: it gives what computing it each time would, and goes wrong alike."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle.errors import ProgramError, Source
from jostle.lang.builtins import BUILTINS
from jostle.lang.operations import BUYING, PLAIN
from jostle.lang.program import load_source


def answer(text: str, *values: Any) -> Any:
    """Return what `answer` gives."""
    return load_source(Source("p.jst", text)).run("answer", *values)


def body(*lines: str, head: str = "def answer(k, xs):") -> str:
    """Return a program of one function."""
    return "\n".join([head, *(f"    {line}" for line in lines), ""])


SAME: dict[str, tuple[str, Any]] = {
    "a parameter": (body("return [k / 2 + x for x in xs] + [k / 2]"), [Fraction(5, 2), Fraction(7, 2), Fraction(3, 2)]),
    "a parameter given another value": (body("a = k * 2", "k = 10", "return [a, k * 2]"), [6, 20]),
    "a variable, in each comprehension": (
        body("n = k", "a = [n * 2 + x for x in xs]", "n = 10", "return a + [n * 2 + x for x in xs]"),
        [7, 8, 21, 22],
    ),
    "a variable of a loop": (
        body("a = []", "for n in xs:", "    a = a + [n * 10 + x for x in xs]", "return a"),
        [11, 12, 21, 22],
    ),
    "a name that is another one inside": (body("return [[k * 2 for k in xs], [k * 2 for x in xs]]"), [[2, 4], [6, 6]]),
    "rounds in rounds": (body("n = k", "return [[n * 2 + x * 3 + y for y in xs] for x in xs]"), [[10, 11], [13, 14]]),
    "rounds of several": (body("return [x * 2 + y + k for x in xs for y in xs]"), [6, 7, 8, 9]),
    "a lambda of the time it was made": (
        body("n = k", "f = [lambda y: n * 2 + y for x in xs][0]", "n = 10", "return f(1)"),
        7,
    ),
    "a lambda called again and again": (body("return map(lambda y: k * 2 + y, xs)"), [7, 8]),
    "a call inside a call": (
        "def twice(k, n):\n    return k * 2 if n == 0 else [k * 2, twice(k + 1, n - 1)]\n\n"
        + body("return twice(k, 2)"),
        [6, [8, 10]],
    ),
    "lists": (body("return [xs - x for x in xs] + [xs + xs]"), [[2], [1], [1, 2, 1, 2]]),
    "keys": (body("return {x: k - x for x in xs}"), {1: 2, 2: 1}),
    "known functions of each item": (
        body("return [[sqrt(x) for x in [4, 9]], {abs(x) for x in [1, -1]}]"),
        [[2, 3], [1]],
    ),
    "constants": (body("return [sqrt(4) + 1 / 3, -2 ** 2, 5% * 2]"), [Fraction(7, 3), -4, Fraction(1, 10)]),
    "a function of the program's own, called as a known one": (
        "def sqrt(x):\n    return x + 1\n\n" + body("return sqrt(4)"),
        5,
    ),
    "a known function's name, used for something else": (body("sqrt = lambda x: x * 3", "return sqrt(4)"), 12),
}
"""Programs for k = 3, xs = [1, 2], and what they give."""


@pytest.mark.parametrize(("text", "expected"), SAME.values(), ids=SAME)
def test_it_gives_what_computing_it_each_time_would(text: str, expected: Any) -> None:
    assert answer(text, 3, [1, 2]) == expected


WRONG: dict[str, tuple[str, str]] = {
    "a constant": (body("return 1 + 1 / 0"), "1 / 0"),
    "a constant of a known function": (body("return sqrt(0 - 4)"), "sqrt(0 - 4)"),
    "a parameter": (body("return [1 / (k - 3) for x in xs]"), "1 / (k - 3)"),
    "a variable": (body("n = k", "return [1 / (n - 3) for x in xs]"), "1 / (n - 3)"),
    "a known function of an item": (body("return [sqrt(x) for x in [4, -9]]"), "sqrt(x)"),
    "a variable without a value": (body("if k == 0:", "    n = 1", "return [n * 2 for x in xs]"), "n"),
    "a key": (body("return {x: 1 for x in [xs]}"), "x"),
    "a variable given to a known function": (body("if k == 0:", "    n = 1", "return round(k, n)"), "n"),
}
"""Programs that go wrong, and where."""


@pytest.mark.parametrize(("text", "culprit"), WRONG.values(), ids=WRONG)
def test_what_goes_wrong_has_its_place(text: str, culprit: str) -> None:
    with pytest.raises(ProgramError) as caught:
        answer(text, 3, [1, 2])
    span = caught.value.diagnostics[0].span
    assert text.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1] == culprit


@pytest.mark.parametrize("unreached", ["1 / 0", "sqrt(0 - 4)", "[1 / (k - 3) for x in []]", "{1: 1 / 0 for x in []}"])
def test_what_is_not_reached_does_not_go_wrong(unreached: str) -> None:
    assert answer(body(f"return {unreached} if k == 0 else [{unreached} for x in []]"), 3, [1, 2]) == []


SIGNS = st.sampled_from(["+", "-", "*"])


@given(st.data())
def test_arithmetic_in_rounds_is_pythons(data: st.DataObject) -> None:
    """Sums of products of parameters, variables and items, wherever they are computed."""

    def drawn(depth: int) -> str:
        if depth == 0:
            return data.draw(st.sampled_from(["k", "n", "x", "y", "2", "7"]))
        return f"({drawn(depth - 1)} {data.draw(SIGNS)} {drawn(depth - 1)})"

    made = [drawn(data.draw(st.integers(0, 3))) for _ in range(3)]
    lines = (
        "n = k - 1",
        f"a = [[{made[0]} for y in xs] for x in xs]",
        "n = n + 5",
        f"b = [{made[1]} for x in xs for y in xs]",
        f"c = {{x: [{made[2]} for y in xs] for x in xs}}",
        "return [a, b, c]",
    )
    names: dict[str, Any] = {}
    exec(body(*lines), names)  # noqa: S102 - the same text, as Python reads it
    assert answer(body(*lines), 3, [1, 2]) == names["answer"](3, [1, 2])


def test_every_known_function_runs() -> None:
    assert {*PLAIN, *BUYING} == set(BUILTINS)
    assert not {*PLAIN} & {*BUYING}


ROWS = "    rows = [len({{ select sum(values) from db groupby x / (WIDTH) }} spending epsilon / 6) for w in widths]"


@pytest.mark.parametrize("kind", ["whole", "float", "global"])
def test_groups_that_were_worked_out_before_are_those_of_the_same_numbers_and_columns(kind: str) -> None:
    """Of another width, another axis or another table they are others; asked again, they are the same."""
    width = {"whole": "w", "float": "w * 1.0", "global": "GLOBAL * w / 2"}[kind]
    columns = ROWS.replace("rows", "columns").replace("groupby x", "groupby y")
    lines = ("GLOBAL = 2", "def answer(db):", "    widths = [2, 4, 2]", ROWS, columns, "    return rows + columns")
    text = "\n".join([*lines, ""]).replace("WIDTH", width)
    program = load_source(Source("p.jst", text))
    for shape in ((8, 16), (12, 4), (8, 16)):
        db = jostle.rehearse(jostle.Table.from_grid(np.ones(shape, dtype=np.int64)), epsilon=6)
        expected = [side // part for side in shape for part in (2, 4, 2)]
        assert program.run("answer", db, epsilon=Fraction(6)) == expected
