"""Parts of a table that are asked for once are forgotten, and what a program spends is the same."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tables_of_labels import correlated, schema_of, table_of

from jostle import Table, rehearse
from jostle.errors import Source
from jostle.lang.asked_once import once_in
from jostle.lang.check import check
from jostle.lang.nodes import FunctionDefinition
from jostle.lang.program import Program, load, load_source
from jostle.lang.values import TableValue as Rows
from jostle.trace.records import Charged, Trace

PROGRAMS = Path(__file__).parents[2] / "programs"

BY_VALUE = "{v: noisyCount(D[a = v], e) for v in a}"
GROWN = "{v: grow(D[a = v], a, e) for v in a}"
KEPT: dict[str, str] = {
    "by value": f"    return {BY_VALUE}",
    "to a function": f"    return {GROWN}",
    "beside counts": f"    n = noisyCount(D, e)\n    return {BY_VALUE} if n > 0 else n",
    "on ways that exclude each other": f"    if e > 1:\n        return {BY_VALUE}\n    return {GROWN}",
    "handed on": "    return grow(D, a, e)",
}
"""Functions that hand D on at most once."""
MORE: dict[str, str] = {
    "twice": f"    n = {BY_VALUE}\n    return {BY_VALUE}",
    "before a way on": f"    if e > 1:\n        n = {BY_VALUE}\n    return {BY_VALUE}",
    "in a loop": f"    for i in [1, 2]:\n        n = {BY_VALUE}\n    return n",
    "in rounds": "    return [grow(D, a, e) for i in [1, 2]]",
    "in a lambda": "    return lambda i: grow(D, a, e)",
    "in a function inside": f"    def ask():\n        return {BY_VALUE}\n    return ask()",
    "a value twice": "    return {v: noisyCount(D[a = v], e) + noisyCount(D[a = v], e) for v in a}",
    "in a list": "    return [D]",
    "in a leaf": "    return Leaf(D)",
    "returned": "    return D",
    "another name": "    T = D\n    return noisyCount(T, e)",
    "one of two": "    return [D if e > 1 else a]",
    "two arguments": "    return grow(D, D, e)",
}
"""Functions after which somebody could ask D for a part again."""


def once(body: str) -> tuple[bool, int]:
    """Return whether D is handed on at most once, and how many parts are forgotten."""
    text = f"def grow(D, a, e):\n    return 0\n\ndef answer(D, a, e):\n{body}\n"
    module = check(Source("p.jst", text)).module
    (definition,) = (each for each in module.body if isinstance(each, FunctionDefinition) and each.name == "answer")
    found = once_in(definition, ["D", "a", "e"], ["grow", "answer"])
    return "D" in found.names, len(found.parts)


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_a_table_is_handed_on_once(body: str) -> None:
    assert once(body) == (True, body.count("[a = v]"))


@pytest.mark.parametrize("body", MORE.values(), ids=MORE)
def test_a_table_may_be_asked_again(body: str) -> None:
    assert once(body) == (False, 0)


@pytest.mark.parametrize(
    "body", ["    return [D[a = v] for v in a]", '    return {v: noisyCount(D[a = v], e) for v in ["x", "x"]}']
)
def test_a_part_with_a_place_in_a_list_or_of_a_value_that_may_come_twice_is_remembered(body: str) -> None:
    assert once(body)[1] == 0


HALVES = """def half(T, w, e):
    return noisyCount(T[a1 = w], e)

def each(D, w, e):
    a = D.a0
    return {v: half(D[a = v], w, e) for v in a}

def whole(D, a, w, e):
    return {v: half(D[a = v], w, e) for v in a}

def both(D, a, e):
    first = whole(D, a, "v0", e)
    return whole(D, a, "v1", e)

def kept(T):
    return Leaf(pred=T)

def same(T):
    return T

"""
TWICE: dict[str, str] = {
    "in one function": '    n = whole(db, db.a0, "v0", epsilon / 2)\n    return whole(db, db.a0, "v1", epsilon / 2)',
    "one function below": "    return both(db, db.a0, epsilon / 2)",
    "where the column has another name": '    n = each(db, "v0", epsilon / 2)\n    return each(db, "v1", epsilon / 2)',
    "from a list": '    n = [whole(T, T.a0, w, epsilon / 2) for T in [db] for w in ["v0", "v1"]]\n    return 0',
    "from a leaf": (
        '    T = kept(db)\n    n = whole(T.pred, db.a0, "v0", epsilon / 2)\n'
        '    return whole(T.pred, db.a0, "v1", epsilon / 2)'
    ),
    "from leaves of parts": (
        "    a = db.a0\n    Ts = {v: kept(db[a = v]) for v in a}\n"
        '    n = [half(Ts[v].pred, w, epsilon / 2) for v in a for w in ["v0", "v1"]]\n    return 0'
    ),
    "as what a function returns": (
        "    a = db.a0\n    Ts = {v: same(db[a = v]) for v in a}\n"
        '    n = [half(Ts[v], w, epsilon / 2) for v in a for w in ["v0", "v1"]]\n    return 0'
    ),
    "by a lambda": (
        '    f = lambda T: [half(T, "v0", epsilon / 2), half(T, "v1", epsilon / 2)]\n'
        "    a = db.a0\n    n = {v: f(db[a = v]) for v in a}\n    return 0"
    ),
}
"""Programs that ask the same parts for parts of theirs, at two times."""


def table() -> Table:
    schema = schema_of(2, 2, 2)
    return table_of([(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)], schema)


@pytest.mark.parametrize("body", TWICE.values(), ids=TWICE)
def test_parts_that_are_asked_for_twice_cost_the_dearest(body: str) -> None:
    """The parts asked for the first time and those asked for the second time share no row."""
    text = f"{HALVES}def answer(db):\n{body}\n"
    names = table().schema.names
    for place, name in enumerate(names[:2]):
        text = text.replace(f"a{place}", name)
    labels = table().schema[names[1]].labels
    text = text.replace("v0", labels[0]).replace("v1", labels[1])
    program = load_source(Source("p.jst", text))
    db = rehearse(table(), epsilon=10, seed=1)
    program.run("answer", db, epsilon=Fraction(1))
    assert db.spent == Fraction(1, 2)


def charged(program: Program, public: Table, *, remembers: bool) -> list[Any]:
    """Return what a tree costs, line by line, and the tree."""
    trace = Trace()
    rows = Rows(rehearse(public, epsilon=5, seed=1, trace=trace))
    rows.remembers = remembers
    option = program.options[next(iter(program.options))]
    tree = option.answer.run(program, [rows], {}, Fraction(5))
    return [tree, *((each.site, each.epsilon, each.spent) for each in trace.records if isinstance(each, Charged))]


def test_forgetting_parts_changes_no_charge_of_a_tree() -> None:
    schema, rows = correlated(400)
    program = load(PROGRAMS / "tree.jst")
    forgetful, remembering = (charged(program, table_of(rows, schema), remembers=each) for each in (False, True))
    assert len(forgetful) > 20
    assert forgetful == remembering


@pytest.mark.parametrize("remembers", [False, True])
def test_a_tree_holds_its_parts_only_where_they_may_be_asked_for_again(remembers: bool) -> None:
    schema, rows = correlated(400)
    program = load(PROGRAMS / "tree.jst")
    whole = Rows(rehearse(table_of(rows, schema), epsilon=5, seed=1))
    whole.remembers = remembers
    program.options["FriedmanSchuster"].answer.run(program, [whole], {}, Fraction(5))
    assert bool(whole._parts) is remembers


@pytest.mark.parametrize("remembered", [True, False])
def test_a_part_that_is_forgotten_wrongly_is_never_cheaper(remembered: bool) -> None:
    """Its parts are another split then, one after the first: charges add up where the dearest would have been due."""
    schema, rows = correlated(50)
    probe = rehearse(table_of(rows, schema), epsilon=10, seed=1)
    whole = Rows(probe)
    first, second = schema.attributes[:2]
    for code in (0, 1):
        part = whole.narrowed(first, schema[first].labels[0], remembered=remembered)
        part.narrowed(second, schema[second].labels[code], remembered=remembered).probe.count(1)
    assert probe.spent == (1 if remembered else 2)
