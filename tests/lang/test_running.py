"""Programs run, and what goes wrong while they do is a sentence at a place in their text."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve
from small_tables import ROWS, SCHEMA, opened, program, table_of_rows

from jostle.errors import BudgetError, ProgramError, Source
from jostle.lang.codes import codes, explain
from jostle.lang.program import load_source
from jostle.privacy.opening import rehearse
from jostle.sites import force, record
from jostle.trace.records import Trace

RUNNING = [code for code in codes() if code.startswith("J5")]


def answered(text: str, *given: Any, epsilon: str = "1", entry: str = "answer") -> Any:
    """Return what a program's function answers on the small table."""
    return program(text).run(entry, opened(epsilon), *given, epsilon=Fraction(epsilon))


def public(body: str) -> Any:
    """Return what a function without a table gives."""
    return program(f"def answer():\n    return {body}\n").run("answer")


@pytest.mark.parametrize("code", [code for code in RUNNING if explain(code).wrong])
def test_the_wrong_program_runs_into_its_mistake_and_the_right_one_does_not(code: str) -> None:
    others = [opened()] if "other" in explain(code).wrong else []
    with pytest.raises(ProgramError) as caught:
        answered(explain(code).wrong, *others)
    assert [each.code for each in caught.value.diagnostics] == [code]
    assert 1 <= caught.value.diagnostics[0].span.line <= explain(code).wrong.count("\n") + 1
    answered(explain(code).right, *others)


@pytest.mark.parametrize("code", [code for code in RUNNING if not explain(code).wrong])
def test_what_cannot_be_shown_by_a_program_is_what_checking_prevents(code: str) -> None:
    assert code == "J505"


def test_a_declared_number_of_rows_is_that_of_the_whole_table_and_of_no_part() -> None:
    declared = evolve(SCHEMA, neighbours="replace_one", rows=len(ROWS))
    text = 'def answer(db):\n    return db.rows\n\ndef part(db):\n    return db[region = "north"].rows\n'
    made = program(text)
    assert made.run("answer", opened(schema=declared), epsilon=Fraction(1)) == len(ROWS)
    for name, schema in (("answer", SCHEMA), ("part", declared), ("part", SCHEMA)):
        with pytest.raises(ProgramError, match="the number of rows is private"):
            made.run(name, opened(schema=schema), epsilon=Fraction(1))


def test_a_refused_budget_is_both_a_refusal_and_a_place() -> None:
    with pytest.raises(BudgetError) as caught:
        answered(explain("J510").wrong)
    assert isinstance(caught.value, ProgramError)
    assert "left" in caught.value.diagnostics[0].title


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("7 / 2", Fraction(7, 2)),
        ("6 / 2", 3),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("7 // 2", 3),
        ("7 % 3", 1),
        ("2 ** 10", 1024),
        ("2 ** (0 - 1)", Fraction(1, 2)),
        ("sqrt(9)", 3),
        ("-3 + 1", -2),
        ("5% * 100", 5),
        ("max(1, 3, 2)", 3),
        ("max([1, 3, 2])", 3),
        ("sum([])", 0),
        ("mean([1, 2])", Fraction(3, 2)),
        ("stddev([1, 3])", 1),
        ('argmax({"a": 1, "b": 2})', "b"),
        ("argmin([3, 1, 2])", 1),
        ("sorted([3, 1, 2])", [1, 2, 3]),
        ("list(range(2, 8, 3))", [2, 5]),
        ("zip([1, 2], [3, 4])", [(1, 3), (2, 4)]),
        ("map(lambda x: x + 1, [1, 2])", [2, 3]),
        ("[x * y for x in [1, 2] for y in [3, 4] if x < y]", [3, 4, 6, 8]),
        ("{x: x * x for x in [1, 2]}", {1: 1, 2: 4}),
        ("[1, 2, 3] - [2]", [1, 3]),
        ("[1, 2] | [2, 3]", [1, 2, 3]),
        ("[1, 2] & [2, 3]", [2]),
        ("{1, 1, 2}", [1, 2]),
        ("1 < 2 <= 2", True),
        ("2 in [1, 2] and not 3 in [1, 2]", True),
        ('"a" if 1 == 2 else "b"', "b"),
        ("(1, 2)[1]", 2),
        ('len([1, 2]) + len("abc")', 5),
        ("round(7 / 3, 2)", Fraction(233, 100)),
        ("floor(7 / 2) + ceil(7 / 2)", 7),
        ("all([True, 1 < 2]) and any([False, True])", True),
        ('f"{1 / 3} of {[True, None]} {{x}}"', "0.333333 of [True, None] {x}"),
        (r"""f'{"a"}{ {"b": 1}["b"] }\t\\'""", "a1\t\\"),
        ('f"{{}}"', "{}"),
    ],
)
def test_public_values_are_computed_as_they_are_written(body: str, expected: object) -> None:
    assert public(body) == expected


def test_budgets_stay_exact() -> None:
    assert program("def answer():\n    e = 1 / 3\n    return e / 2 + e / 2 + 2 * e\n").run("answer") == 1


def test_a_sign_before_the_equals_sign_computes_with_the_old_value() -> None:
    assert (
        program("def answer():\n    n = 7\n    n -= 1 if n > 5 else 2\n    n **= 2\n    return n\n").run("answer") == 36
    )
    text = "def answer():\n    xs = [1]\n    ys = xs\n    xs += [2]\n    return [xs, ys]\n"
    assert program(text).run("answer") == [[1, 2], [1]]


@pytest.mark.parametrize(
    ("asked", "bought"),
    [
        ("noisyMean(db, db.age, 1 / 2)", lambda db: db.mean("age", epsilon="1/2")),
        ('noisyMedian(db, "age", 1 / 2)', lambda db: db.median("age", epsilon="1/2")),
        ("noisyQuantile(db, db.age, 90%, epsilon / 2)", lambda db: db.quantile("age", "9/10", epsilon="1/2")),
        ("noisySum(db, attribute=db.age, epsilon=1 / 2)", lambda db: db.sum("age", epsilon="1/2")),
        ("noisyVariance(db, db.age, 1 / 2)", lambda db: db.variance("age", epsilon="1/2")),
    ],
)
def test_a_statistic_of_a_column_is_what_a_probe_buys(asked: str, bought: Callable[[Any], Any]) -> None:
    made = program(f"def answer(db):\n    return {asked}\n")
    price = made.pricing.prices(SCHEMA)["answer"].amount.at(Fraction(1))
    traces = Trace(), Trace()
    one, other = (rehearse(table_of_rows(), epsilon=1, seed=1, trace=trace) for trace in traces)
    assert made.run("answer", one, epsilon=Fraction(1)) == float(bought(other))
    assert one.spent == other.spent == price == Fraction(1, 2)
    kinds = [[(type(each), getattr(each, "epsilon", None)) for each in trace.records] for trace in traces]
    assert kinds[0] == kinds[1]


def test_a_function_inside_another_sees_what_is_around_it_and_may_call_itself() -> None:
    text = """
def answer(n):
    base = 1
    def power(k, by=2):
        found = base
        if k > 0:
            found = by * power(k - 1, by)
        return found
    def nothing():
        pass
    base = 100
    return [power(n), power(2, by=n), nothing(), base]
"""
    assert program(text).run("answer", 3) == [8, 9, None, 100]


def test_a_function_inside_another_asks_of_the_database_around_it() -> None:
    text = """
def answer(data):
    def ask(r):
        return noisyCount(data[region = r], epsilon / 2)
    return {r: ask(r) for r in data.region}
"""
    assert answered(text, epsilon="10000") == {"north": 65, "east": 30, "south": 5}


def test_comprehensions_keep_their_variables_to_themselves() -> None:
    text = "def answer():\n    x = 5\n    xs = [x for x in [1, 2]]\n    return x\n"
    assert program(text).run("answer") == 5


def test_statements_loop_and_branch() -> None:
    text = """
def answer(n):
    found = []
    for i in range(n):
        if i % 2 == 0:
            found = found + [i]
        elif i == 3:
            found = found + ["three"]
        else:
            pass
    return found
"""
    assert program(text).run("answer", 5) == [0, 2, "three", 4]


def test_what_is_bought_is_near_what_is_there() -> None:
    text = """
def answer(db):
    n = {{ len(db) }} spending 100
    young = {{ select count() from db where age < 40 }} spending 100
    by_region = {{ select count() from db groupby region }} spending 100
    ages = {{ select sum(age) from db where region == "east" }} spending 100
    yes = noisyCount(db[label = "yes"], 100)
    return (n, young, by_region, ages, yes)
"""
    n, young, by_region, ages, yes = answered(text, epsilon="500")
    assert round(n) == len(ROWS)
    assert round(young) == 65
    assert {name: round(count) for name, count in by_region.items()} == {"north": 65, "east": 30, "south": 5}
    assert abs(ages - 30 * 50) < 20
    assert round(yes) == 45


def test_a_bin_counts_by_its_middle() -> None:
    text = "def answer(db):\n    return {{ select sum(age) from db where age > 45 }}\n"
    assert abs(answered(text, epsilon="1000") - (30 * 50 + 5 * 70)) < 5


def test_parts_are_paid_once_for_all_values_and_once_for_each_question() -> None:
    text = """
def answer(db):
    counts = {v: noisyCount(db[region = v], epsilon / 4) for v in db.region}
    again = {v: noisyCount(db[region = v], epsilon / 4) for v in db.region}
    return len(counts) + len(again)
"""
    db = opened()
    assert program(text).run("answer", db, epsilon=Fraction(1)) == 6
    assert db.spent == Fraction(1, 2)


def test_numbers_of_different_parts_are_put_together_in_what_holds_both() -> None:
    text = """
def answer(db):
    apart = len(db[label = "yes"]) - 2 * len(db[label = "no"][region = "east"])
    return {{ apart }}
"""
    assert abs(answered(text, epsilon="100") - (45 - 60)) < 1


def test_groups_are_summed_and_indexed() -> None:
    text = """
def answer(db):
    groups = select count() from db groupby region
    most = {{ max(groups) }} spending 100
    east = {{ groups["east"] }} spending 100
    return (most, east, len(groups), {{ stddev(groups) }} spending 100)
"""
    most, east, count, deviation = answered(text, epsilon="300")
    assert (round(most), round(east), count) == (65, 30, 3)
    assert abs(deviation - 24.6) < 0.5


def test_noisy_max_picks_by_scores_and_by_numbers() -> None:
    text = """
def answer(db, rule):
    return noisyMax(domain=db.attributes, utilities=[rule(a, db.label, db) for a in db.attributes], epsilon=epsilon)

def byMax(db):
    return answer(db, maxScore)

def byGini(db):
    return answer(db, gini)

def byGain(db):
    n = noisyCount(db, epsilon / 2)
    return noisyMax(db.attributes, [infoGain(a, db.label, db) for a in db.attributes], epsilon / 2)

def byCounts(db):
    return noisyMax(db.region, {v: len(db[region = v]) for v in db.region}, epsilon)
"""
    made = program(text)
    assert made.run("byMax", opened("1000"), epsilon=Fraction(1000)).name == "age"
    assert made.run("byGini", opened("1000"), epsilon=Fraction(1000)).name == "age"
    assert made.run("byGain", opened("1000"), epsilon=Fraction(1000)).name == "age"
    assert made.run("byCounts", opened("1000"), epsilon=Fraction(1000)) == "north"


def test_a_random_pick_costs_nothing() -> None:
    text = """
def answer(db):
    return noisyMax(db.attributes, [random(a, db.label, db) for a in db.attributes], epsilon)
"""
    db = opened()
    assert program(text).run("answer", db, epsilon=Fraction(1)).name in {"region", "age", "height"}
    assert db.spent == 0


def test_options_run_inside_their_allotment() -> None:
    text = """
from classifiers import Majority

#Option
def Half(db):
    return noisyCount(db, epsilon / 2)

def answer(db):
    n = Half(db, epsilon=epsilon / 4)
    return (n, Majority(db, epsilon=3 * epsilon / 4))
"""
    db = opened()
    n, model = program(text).run("answer", db, epsilon=Fraction(1))
    assert isinstance(n, int)
    assert model.classes == ("no", "yes")
    assert [str(each.epsilon) for each in db.charges] == ["1/4", "3/4"]


def test_a_labelled_choice_is_one_of_jostles() -> None:

    text = """
def answer(db):
    n = noisyCount(db, epsilon / 2)
    action = choose L1 among {stop, branch} informed by {n, size(db.label)}
    if action == stop:
        return 0
    return noisyCount(db, epsilon / 2)
"""
    with force({"L1": "branch"}), record() as kept:
        assert answered(text, epsilon="100") > 0
    assert sorted(kept.lines[0].seen) == ["n", "size(db.label)"]
    with force({"L1": "stop"}):
        assert answered(text) == 0


def test_what_a_program_prints_is_handed_on() -> None:

    said: list[str] = []
    text = 'def answer(db):\n    print("a", 1 / 3, [1, True], {"k": 2})\n    return 0\n'
    load_source(Source("p.jst", text), say=said.append).run("answer", opened(), epsilon=Fraction(1))
    assert said == ["a 0.333333 [1, True] {k: 2}"]


def test_deep_recursion_is_no_crash_of_python() -> None:
    text = """
def down(D, d):
    if d == 0:
        return noisyCount(D, epsilon)
    return [down(D, d - 1)][0]

def answer(db):
    return down(db, 120)
"""
    assert isinstance(answered(text), int)
