"""It makes no difference to a price whether something has a name: a list, a set, what a function is given or gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import SCHEMA, schema_under

from jostle.errors import Source
from jostle.lang.check import check
from jostle.lang.price import prices
from jostle.tables.schema import Schema

BOUGHT = """def answer(db):
    counts = {v: noisyCount(db[region = v], 1) for v in db.region}
    n = noisyCount(db, 1)
"""
COLUMN = {"db.region": "region", "counts": "region", '["north", "east"]': "region", '{"east", "south"}': "region"}
COLUMN |= {"db.age": "age", "db.label": "label", '["yes"]': "label", "db.attributes": "", "[1, 2]": ""}
TESTS = ("n > 3", "n > 3 and n < 9", "1 < 2", "x != n", "n > 3 or 2 < 1", "not n > 5")
listed = st.sampled_from(sorted(COLUMN))


@st.composite
def public_lists(draw: st.DrawFn) -> tuple[str, str]:
    """Return an expression for a list, and the column whose values are in it, or nothing."""
    source = draw(listed)
    made, column = source, COLUMN[source]
    for _ in range(draw(st.integers(0, 3))):
        x, test = "x", draw(st.sampled_from(TESTS))
        made = draw(
            st.sampled_from(
                (
                    f"[{x} for {x} in {made}]",
                    f"[{x} for {x} in {made} if {test}]",
                    f"{{{x} for {x} in {made} if {test}}}",
                    f"[{x} for {x} in {made} for i in [1] if {test}]",
                    f"list({made})",
                    f"map(lambda {x}: {x}, {made})",
                    f"([{x} for {x} in {made}] if {test} else [{x} for {x} in {made}])".replace("x != n", "n > 2"),
                    f"({{{x}: n for {x} in {made} if {test}}})",
                    f"[{x} for {x}, y in zip({made}, {made}) if {test}]",
                    f"([{x} for {x} in {made}] - [n])",
                )
            )
        )
    return made, column


def purchases(column: str) -> tuple[str, ...]:
    """Return what is bought for each item of a list, which stands for X."""
    part = f"db[{column} = v]" if column else "db"
    return (
        f"return [noisyCount({part}, 1) for v in X]",
        f"return {{v: noisyCount({part}, 1) for v in X if n > 2}}",
        f"return [noisyCount({part}, 1) + noisyCount({part}, 1) for v in X for w in [1, 2]]",
        f"m = 0\n    for v in X:\n        m = m + noisyCount({part}, 1)\n    return m",
        f"m = 0\n    for v in X:\n        if n > 3:\n            m = noisyCount({part}, 1)\n    return m",
        f"for v in X:\n        if noisyCount({part}, 1) > 3:\n            return v\n    return n",
        f"if n > 5:\n        return [noisyCount({part}, 1) for v in X]\n    return n",
        f"return [ask({part}) for v in X] + [ask({part}) for v in X]",
    )


ASK = "def ask(D):\n    return noisyCount(D, 1)\n\n"


def ways(made: str, body: str) -> dict[str, str]:
    """Return a program in which a list stands where it is used, and others in which it comes by another way."""
    head = ASK + BOUGHT
    by_key = 'several["a"]'
    given = body.replace("\n    ", "\n").replace("\n", "\n    ")
    return {
        "as it stands": f"{head}    {body.replace('X', made)}\n",
        "a name": f"{head}    named = {made}\n    {body.replace('X', 'named')}\n",
        "two names": f"{head}    first = {made}\n    named = first\n    {body.replace('X', 'named')}\n",
        "given to a function": (
            f"{ASK}def buy(db, named, n):\n    {given.replace('X', 'named')}\n\n{BOUGHT}    return buy(db, {made}, n)\n"
        ),
        "what a function gives": (
            f"{ASK}def made(db, counts, n):\n    return {made}\n\n"
            f"{BOUGHT}    {body.replace('X', 'made(db, counts, n)')}\n"
        ),
        "what a function gives, and a name": (
            f"{ASK}def made(db, counts, n):\n    found = {made}\n    return found\n\n"
            f"{BOUGHT}    named = made(db, counts, n)\n    {body.replace('X', 'named')}\n"
        ),
        "an item of a list": f"{head}    several = [1, {made}]\n    {body.replace('X', 'several[1]')}\n",
        "a value of a dictionary": f'{head}    several = {{"a": {made}}}\n    {body.replace("X", by_key)}\n',
    }


def price(text: str, schema: Schema | None) -> str:
    """Return what `answer` spends at most, in words."""
    checked = check(Source("p.jst", text), schema)
    assert {each.code for each in checked.diagnostics} <= {"J301"}, (text, checked.diagnostics)
    return prices(checked.module, schema)["answer"].amount.text


@settings(max_examples=25, deadline=None)
@given(st.data(), public_lists())
def test_a_list_costs_the_same_by_whatever_way_it_comes(data: st.DataObject, found: tuple[str, str]) -> None:
    made, column = found
    body = data.draw(st.sampled_from(purchases(column)))
    schema = data.draw(st.sampled_from([None, SCHEMA, schema_under("replace_one")]))
    expected, *others = ways(made, body).items()
    for way, text in others:
        assert price(text, schema) == price(expected[1], schema), (way, text)


FUSED = {
    "list": "big = [v for v in X if T]",
    "set": "big = {v for v in X if T}",
    "dictionary": "big = {v: n for v in X if T}",
    "pairs": "pairs = [(v, n) for v in X if T]\n    big = [v for v, m in pairs]",
    "two steps": "all = [v for v in X]\n    big = [v for v in all if T]",
    "sorted": "big = sorted([v for v in X if T])",
    "function": "big = kept(X, n)",
}
LOOPS = {
    "comprehension": ("[noisyCount(P, 1) for v in X if T]", "[noisyCount(P, 1) for v in big]"),
    "dictionary": ("{v: noisyCount(P, 1) for v in X if T}", "{v: noisyCount(P, 1) for v in big}"),
    "inner": ("[noisyCount(P, 1) for i in [1, 2] for v in X if T]", "[noisyCount(P, 1) for i in [1, 2] for v in big]"),
}


@pytest.mark.representative("way")
@pytest.mark.parametrize("test", ["n > 3", "n > 3 or n < 1", "1 < 2"])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("way", FUSED)
def test_a_condition_costs_the_same_where_a_list_is_made_and_where_it_is_gone_through(
    way: str, loop: str, test: str
) -> None:
    for source, column in COLUMN.items():
        if way == "sorted" and column == "":
            continue
        part = f"db[{column} = v]" if column else "db"
        inline, named = (text.replace("P", part) for text in LOOPS[loop])
        head = f"def kept(xs, n):\n    return [v for v in xs if {test}]\n\n" if way == "function" else ""
        texts = (f"{head}{BOUGHT}    return {inline}\n", f"{head}{BOUGHT}    {FUSED[way]}\n    return {named}\n")
        for schema in (None, SCHEMA):
            first, second = (price(text.replace("X", source).replace("T", test), schema) for text in texts)
            assert first == second, texts[1].replace("X", source)


PARTS = {
    "a list of parts": ("tables = [db[region = v] for v in db.region]", "[noisyCount(D, 1) for D in tables]"),
    "parts by value": (
        "tables = {v: db[region = v] for v in db.region}",
        "[noisyCount(tables[v], 1) for v in db.region]",
    ),
    "parts by their keys": (
        "tables = {v: db[region = v] for v in db.region}",
        "[noisyCount(tables[v], 1) for v in tables]",
    ),
    "parts in pairs": ("tables = [(v, db[region = v]) for v in db.region]", "[noisyCount(D, 1) for v, D in tables]"),
    "parts of parts": (
        "tables = [db[region = v] for v in db.region]",
        "[noisyCount(D[label = w], 1) for D in tables for w in db.label]",
    ),
    "parts side by side": ("tables = zip(db.region, [1, 2, 3])", "[noisyCount(db[region = v], 1) for v, i in tables]"),
}


@pytest.mark.parametrize("way", PARTS)
def test_parts_stay_disjoint_in_lists(way: str) -> None:
    line, bought = PARTS[way]
    for schema in (None, SCHEMA):
        assert price(f"def answer(db):\n    {line}\n    return {bought}\n", schema) == "1"
        twice = f"def answer(db):\n    {line}\n    return {bought} + {bought}\n"
        assert price(twice, schema) == "2"


def test_a_branch_in_a_loop_goes_through_parts_once() -> None:
    body = "m = 0\n    for v in db.region:\n        if n > 3:\n            m = m + noisyCount(db[region = v], 1)\n"
    body += "        else:\n            m = m + 2 * noisyCount(db[region = v], 2)\n    return m"
    for schema in (None, SCHEMA):
        assert price(f"def answer(db):\n    n = noisyCount(db, 1)\n    {body}\n", schema) == "3"
