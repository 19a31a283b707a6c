"""What programs spend at most, worked out without data; and that none spends more."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from random_programs import programs
from small_tables import SCHEMA, schema_under, table_of_rows

from jostle import rehearse
from jostle.errors import ProgramError, Source
from jostle.lang.check import check
from jostle.lang.parser import parse
from jostle.lang.price import prices
from jostle.lang.program import Program
from jostle.tables.schema import Neighbours


def price(text: str, name: str = "answer", *, known: bool = False) -> str:
    """Return what a function spends at most, in words."""
    return prices(parse(Source("p.jst", text)), SCHEMA if known else None)[name].amount.text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return {{ len(db) }}", "epsilon"),
        ("return {{ len(db) }} spending 5%", "1/20 of epsilon"),
        ("return {{ len(db) }} spending 0.1", "1/10"),
        ("return noisyCount(db, epsilon / 3) + noisyCount(db, epsilon / 3)", "2/3 of epsilon"),
        ("return (noisyCount(db, epsilon / 3), noisyCount(db, 0.2))", "1/3 of epsilon and 1/5"),
        ("return {v: noisyCount(db[region = v], epsilon / 2) for v in db.region}", "1/2 of epsilon"),
        ("return [noisyCount(db, epsilon / 10) for i in range(4)]", "2/5 of epsilon"),
        ("f = lambda x=noisyCount(db, epsilon / 4): x\n    return noisyCount(db, epsilon / 2)", "3/4 of epsilon"),
        ("def f(x=noisyCount(db, epsilon / 4)):\n        return x\n    return [f(), f(2), f()]", "1/4 of epsilon"),
        ('return noisyCount(db[region = "north"], 1) + noisyCount(db[region = "east"], 2)', "2"),
        ('return noisyCount(db[region = "north"], 1) + noisyCount(db[region = "north"], 2)', "3"),
        ('return noisyCount(db[region = "north"], 1) + noisyCount(db[label = "yes"], 2)', "3"),
        ("return noisyCount(db[age = 1], 1) + noisyCount(db[age = 2], 2)", "3"),
        (
            "n = noisyCount(db, epsilon / 2)\n    if n > 3:\n        return noisyCount(db, epsilon / 2)\n    return n",
            "epsilon",
        ),
        (
            (
                "n = noisyCount(db, epsilon / 4)\n    if n > 3:\n        m = noisyCount(db, epsilon / 4)\n    else:\n"
                "        m = noisyCount(db, epsilon / 2)\n    return m"
            ),
            "3/4 of epsilon",
        ),
        (
            (
                "n = noisyCount(db, epsilon / 4)\n    if n > 3:\n        if n > 5:\n            return 1\n"
                "    return noisyCount(db, epsilon / 2)"
            ),
            "3/4 of epsilon",
        ),
        ("return [noisyCount(db[region = v], 1) for v in db.region for i in range(3)]", "3"),
        ("return [noisyCount(db[region = v], 1) for i in range(3) for v in db.region]", "3"),
        ("return {v: {w: noisyCount(db[region = v][label = w], 1) for w in db.label} for v in db.region}", "1"),
        (
            "return noisyMax(db.attributes, [maxScore(a, db.label, db) for a in db.attributes], epsilon / 5)",
            "1/5 of epsilon",
        ),
        ('return {{ len(db[region = "north"]) + len(db[region = "east"]) }} spending 1', "1"),
    ],
)
def test_purchases_add_up_and_disjoint_parts_cost_the_dearest(body: str, expected: str) -> None:
    assert price(f"def answer(db):\n    {body}\n") == expected


def test_a_table_that_a_loop_narrows_is_not_taken_for_disjoint_parts() -> None:
    """A row of the first region is in every one of these tables but the last ones, which are empty."""
    text = "def answer(db):\n    D = db\n    for v in db.region:\n        D = D[region = v]\n"
    text += "        n = noisyCount(D, 1)\n    return 0\n"
    assert price(text) == "an amount that is known only while running"
    assert price(text, known=True) == "3"


def test_with_a_schema_more_is_known() -> None:
    text = "def answer(db):\n    return [noisyCount(db, epsilon / 10) for v in db.region]\n"
    assert price(text) == "an amount that is known only while running"
    assert price(text, known=True) == "3/10 of epsilon"


def test_too_many_values_are_one_mistake_with_a_schema_as_well() -> None:
    text = "def answer(db):\n    return {{ len(db, 1) }}\n"
    assert [each.code for each in check(Source("p.jst", text), SCHEMA).diagnostics] == ["J105"]


def test_under_replace_one_two_parts_are_paid() -> None:
    text = "def answer(db):\n    return {v: noisyCount(db[region = v], epsilon / 4) for v in db.region}\n"
    found = prices(parse(Source("p.jst", text)), schema_under("replace_one"))["answer"]
    assert found.amount.share == Fraction(1, 2)


def test_recursion_is_gone_as_deep_as_public_parameters_let_it() -> None:
    text = """
def down(D, d):
    n = noisyCount(D, epsilon / 4)
    if d == 0 or n < 3:
        return n
    best = noisyMax(D.attributes, [maxScore(a, D.label, D) for a in D.attributes], epsilon / 8)
    return {v: down(D[best = v], d - 1) for v in best}

def answer(db, d=2):
    return down(db, d)
"""
    assert price(text) == "epsilon"
    assert "only while running" in price(text.replace("d=2", "d"))


def test_options_cost_what_they_are_given() -> None:
    text = (
        "from trees import Mohammed, FriedmanSchuster\n\nchoice = MkChoiceMaker among {Mohammed, FriedmanSchuster}\n\n"
    )
    text += "def answer(db):\n    a = Mohammed(db, epsilon=epsilon / 4)\n    return choice(db, epsilon=epsilon / 2)\n"
    assert price(text) == "3/4 of epsilon"


def test_a_program_that_spends_too_much_is_wrong() -> None:
    text = "def answer(db):\n    return {{ len(db) }} + {{ len(db) }}\n"
    (mistake,) = check(Source("p.jst", text)).diagnostics
    assert (mistake.code, mistake.title) == ("J301", "`answer` may spend 2 of epsilon")


def test_a_fixed_amount_is_compared_when_the_budget_is_known() -> None:
    text = "def answer(db):\n    return noisyCount(db, 0.4) + noisyCount(db, 0.4)\n"
    checked = check(Source("p.jst", text))
    assert checked.good
    assert prices(checked.module)["answer"].amount.at(Fraction(1)) == Fraction(4, 5)


ROUNDABOUT = {
    "named_values": ("return map(function=ask, items=[db, db])", 2),
    "keys_of_a_dictionary": (
        "shares = {v: 10 * v for v in [1, 0.1]}\n    return noisyCount(db, shares[1]) + noisyCount(db, shares[0.1])",
        11,
    ),
    "items_of_a_set": ("return [ask(db) for i in range(len({1, 1, 2}))]", 2),
    "a_chosen_part": (
        (
            'a = db[region = "north"]\n    b = db[region = "east"]\n'
            "    D = choose L1 among {a, b} informed by {epsilon}\n    return noisyCount(D, 1) + Ask(D)"
        ),
        11,
    ),
    "a_function_out_of_a_list": ("return {0: ask, 1: twice}[1](db)", 2),
    "one_of_two_functions": ("h = twice if ask(db) > 3 else ask\n    return h(db)", 3),
    "what_a_lambda_holds": ("e = 2\n    f = lambda D: noisyCount(D, e)\n    e = 1 / 100\n    return f(db)", 2),
    "a_list_that_grows": (
        (
            'n = ask(db)\n    Ds = [D for D in [db[region = "north"]] if n > 3] + [db]\n'
            "    return [ask(D) for D in Ds + [db]]"
        ),
        4,
    ),
    "a_number_given_twice_at_the_top": ("return noisyCount(db, share)", 3),
}


@pytest.mark.parametrize("name", ROUNDABOUT)
def test_what_is_spent_in_a_roundabout_way_counts(name: str) -> None:
    body, expected = ROUNDABOUT[name]
    text = "if 1 > 2:\n    share = 1 / 10\nelse:\n    share = 3\n\ndef ask(D):\n    return noisyCount(D, 1)\n\n"
    text += "def twice(D):\n    return noisyCount(D, 1) + noisyCount(D, 1)\n\n"
    text += "#Option\ndef Ask(db):\n    return noisyCount(db, epsilon)\n\n"
    text += f"def answer(db):\n    {body}\n"
    source = Source("p.jst", text)
    checked = check(source)
    assert {each.code for each in checked.diagnostics} <= {"J301"}
    bound = prices(checked.module, SCHEMA)["answer"].amount.at(Fraction(10))
    assert bound == expected
    db = rehearse(table_of_rows(), epsilon=100, seed=3)
    Program(source, checked.module).run("answer", db, epsilon=Fraction(10))
    assert bound is None or db.spent <= bound


def test_a_function_that_is_not_known_beforehand_has_no_price() -> None:
    text = "def ask(D):\n    return noisyCount(D, epsilon / 4)\n\ndef answer(db):\n    n = ask(db)\n"
    text += "    f = [ask, 3][n % 2]\n    return f(db)\n"
    assert "which function is called" in prices(parse(Source("p.jst", text)))["answer"].text


@pytest.mark.parametrize("amount", ["0", "0 - 1", "epsilon - epsilon", "epsilon - 2 * epsilon", "0 * epsilon"])
def test_spending_nothing_is_a_mistake_before_anything_runs(amount: str) -> None:
    for purchase in ("noisyCount(db, {})", "{{{{ len(db) }}}} spending {}", "noisyMax([1], [len(db)], {})"):
        text = f"def answer(db):\n    return {purchase.format(amount)}\n"
        (mistake,) = check(Source("p.jst", text)).diagnostics
        assert mistake.code == "J302"


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@settings(max_examples=40)
@given(text=programs())
def test_no_program_spends_more_than_its_price(text: str, neighbours: Neighbours) -> None:
    source = Source("p.jst", text)
    schema = schema_under(neighbours)
    checked = check(source, schema)
    assert {each.code for each in checked.diagnostics} <= {"J301"}, text
    found = prices(checked.module, schema)["answer"]
    bound = found.amount.at(Fraction(1))
    for rows in ((), (("north", 10.0, 1.0, "yes"),) * 7 + (("east", 50.0, 2.0, "no"),) * 3):
        db = rehearse(table_of_rows(rows, schema), seed=3)
        try:
            Program(source, checked.module).run("answer", db, epsilon=Fraction(1))
        except ProgramError as mistake:
            assert {each.code for each in mistake.diagnostics} <= {"J502", "J507", "J509"}, text  # noqa: PT017 - any of these will do
        if bound is not None:
            assert db.spent <= bound, text
