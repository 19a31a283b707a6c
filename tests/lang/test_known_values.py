"""What is said beforehand of public values that are known is what happens, and no more."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_tables import opened

from jostle.errors import ProgramError, Source
from jostle.lang.check import check
from jostle.lang.extents import deep_enough
from jostle.lang.program import Program
from jostle.lang.values import TableValue

TOLD = {"J501", "J502", "J503", "J507", "J508"}
leaves = st.sampled_from(
    (
        *(
            "0",
            "1",
            "2",
            "7",
            "0.5",
            "-1",
            '"a"',
            '"b"',
            "True",
            "None",
            "[]",
            "[1, 2]",
            '["a"]',
            "{1: 2}",
            "db.region",
        ),
        *("epsilon", "x", "y", "[db.region, db.age]", "db.attributes", "range(3)"),
    )
)


def several(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return expressions made of others."""
    two = st.tuples(inner, inner)
    signs = st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", "in", "and", "or"])
    names = st.sampled_from(
        ["abs", "sqrt", "log", "len", "sum", "max", "min", "mean", "size", "sorted", "floor", "list"]
    )
    return st.one_of(
        st.tuples(signs, two).map(lambda made: f"({made[1][0]} {made[0]} {made[1][1]})"),
        st.tuples(names, inner).map(lambda made: f"{made[0]}({made[1]})"),
        two.map(lambda made: f"{made[0]}[{made[1]}]" if made[0][0] not in "-(" else f"({made[0]})[{made[1]}]"),
        two.map(lambda made: f"[{made[0]} for x in {made[1]}]"),
        two.map(lambda made: f"[y for y in {made[0]} if {made[1]}]"),
        st.tuples(inner, inner, inner).map(lambda made: f"({made[0]} if {made[1]} else {made[2]})"),
        two.map(lambda made: f"[{made[0]}, {made[1]}]"),
        inner.map(lambda made: f"f({made})"),
        inner.map(lambda made: f"(not {made})"),
        inner.map(lambda made: f"(-{made})"),
    )


expressions = st.recursive(leaves, several, max_leaves=8)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return a program that is known altogether beforehand, but for what it buys."""
    x, y, test, value, last = (draw(expressions) for _ in range(5))
    inside = [each.replace("f(", "f2(").replace("db.", "[2, 3] + ") for each in (test, value)]
    return (
        "def f2(x):\n    return [x]\n\n"
        f"def f(x, y=2):\n    if {inside[0]}:\n        return {inside[1]}\n    return x\n\n"
        f"def answer(db):\n    x, y = 1, None\n    x = {x}\n    y = {y}\n    for x in {value}:\n        y = x\n"
        f"    return ({last}, noisyCount(db, epsilon))\n"
    )


@settings(max_examples=150, deadline=None)
@given(texts())
def test_what_is_said_beforehand_happens(text: str) -> None:
    db, source = opened(), Source("p.jst", text)
    checked = check(source, db.schema)
    told = {each.code for each in checked.diagnostics}
    assume(told <= TOLD)
    made = Program(source, checked.module)
    with deep_enough():
        try:
            made.functions["answer"].run(made, [TableValue(db)], {}, Fraction(1))
        except ProgramError as mistake:
            (code,) = {each.code for each in mistake.diagnostics}
            assert code in TOLD, text
        else:
            assert not told, text
