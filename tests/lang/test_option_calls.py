"""Options of the library in programs: with parameters, with databases, and with what is neither."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from small_tables import opened, program, table_of_rows

from jostle import JostleError, Probe, Table, Trace, options, rehearse
from jostle.errors import ProgramError, Source
from jostle.lang.check import check
from jostle.lang.library import library
from jostle.lang.price import prices
from jostle.options.classification.naive_bayes import Majority
from jostle.tasks.ranges.estimate import Workload
from jostle.trace.records import Charged

HOMES = {name: module for module, names in library().modules.items() for name in names if module != "public"}
SHAPE = (8, 8)


def grid(*, epsilon: int = 1) -> Probe:
    """Return a probe on a small grid of counts."""
    return rehearse(Table.from_grid(np.arange(64).reshape(SHAPE)), epsilon=epsilon, seed=3)


def text_of(option: str, returned: str, parameters: str = "db, queries") -> str:
    """Return a program that imports an Option."""
    return f"from {HOMES[option]} import {option}\n\ndef answer({parameters}):\n    return {returned}\n"


def test_an_option_with_a_parameter_is_that_of_python() -> None:
    text = text_of("Mohammed", "Mohammed(depth=1)(db, epsilon=epsilon / 2)", "db")
    traces = []
    ways: tuple[Callable[[Probe], Any], ...] = (
        lambda db: program(text).run("answer", db, epsilon=Fraction(1)),
        lambda db: options.get("Mohammed(depth=1)")(db, epsilon="1/2"),
    )
    for run in ways:
        trace = Trace()
        db = rehearse(table_of_rows(), epsilon=1, seed=1, trace=trace)
        traces.append((str(run(db)), trace.records))
    assert traces[0] == traces[1]
    assert {each.site for each in traces[0][1] if isinstance(each, Charged)} >= {"Mohammed(depth=1)"}


WAYS = {
    "called": "def answer(db):\n    return Mohammed(depth=2)(db)",
    "named": "def answer(db):\n    small = Mohammed(depth=2)\n    return small(db)",
    "passed": "def ask(o, D):\n    return o(D)\n\ndef answer(db):\n    return ask(Mohammed(depth=2), db)",
    "returned": "def made(d):\n    return Mohammed(depth=d)\n\ndef answer(db):\n    return made(2)(db)",
    "in_a_list": "def answer(db):\n    return [Mohammed(depth=d) for d in [1, 2]][1](db)",
    "in_a_dictionary": "def answer(db):\n    return {d: Mohammed(depth=d) for d in [1, 2]}[2](db)",
    "by_lambda": "def answer(db):\n    return (lambda d=2: Mohammed(depth=d))()(db)",
    "at_the_top": "top = Mohammed(depth=2)\n\ndef answer(db):\n    return top(db)",
    "by_name": "top = Mohammed(depth=2)\n\ndef answer(rows):\n    return top(db=rows, epsilon=epsilon)",
}


@pytest.mark.parametrize("way", WAYS)
def test_an_option_with_a_parameter_goes_where_options_go(way: str) -> None:
    text = f"from trees import Mohammed\n\n{WAYS[way]}\n"
    checked = check(Source("p.jst", text))
    assert checked.good, checked.diagnostics
    assert prices(checked.module)["answer"].amount.text == "epsilon"
    db = opened()
    program(text).run("answer", db, epsilon=Fraction(1))
    assert db.charges[0].site == "Mohammed(depth=2)"


def test_options_with_parameters_are_chosen_among() -> None:
    text = (
        "from trees import Mohammed\n\nchoice = MkChoiceMaker among {Mohammed(depth=1), Mohammed(depth=2), Mohammed}\n"
    )
    made = program(text)
    assert [each.name for each in made.makers["choice"].among] == ["Mohammed(depth=1)", "Mohammed(depth=2)", "Mohammed"]


ONE_OF_A_TASK = {option.task: name for name, option in sorted(library().options.items())}.values()
EACH = [
    pytest.param(name, marks=[] if name in ONE_OF_A_TASK else pytest.mark.slow) for name in sorted(library().options)
]
WRONG = (
    "{0}()",
    "{0}(3)",
    '{0}("rows.csv")',
    "{0}(db, 3)",
    '{0}(db, "queries")',
    "{0}(db, [1, 2, 3])",
    "{0}(db, queries, 3)",
    "{0}(db, queries, queries=queries)",
    "{0}(db, nosuch=1)",
    "{0}(nosuch=1)",
    "{0}(nosuch=1)(db)",
    "{0}(db, depth=3)",
    "{0}(depth=-1)(db)",
    '{0}(depth="3")(db)',
    '{0}(db, epsilon="1")',
    "{0}(db, epsilon=[1])",
    "{0}(db, epsilon=0)",
    "{0}(db, epsilon=0 - 1)",
    '{0}(db, site="x")',
    "{0}(db)(db)",
    "map({0}, [1, 2])",
    "map({0}, db)",
    "{0}({0})",
)


@pytest.mark.parametrize("option", EACH)
def test_no_wrong_call_of_an_option_spends_or_breaks_off(option: str) -> None:
    on_grid = library().options[option].task == "grid"
    for wrong in WRONG:
        text = text_of(option, wrong.format(option))
        checked = check(Source("p.jst", text))
        if not checked.good:
            assert all(each.code != "J902" for each in checked.diagnostics)
            continue
        db = grid() if on_grid else opened()
        with pytest.raises(JostleError) as caught:
            program(text).run("answer", db, Workload.random_ranges(SHAPE), epsilon=Fraction(1))
        assert isinstance(caught.value, ProgramError), wrong
        assert {each.code for each in caught.value.diagnostics} <= {"J501", "J511"}, wrong
        # What an Option gives is no function, which shows when it has given it.
        assert db.spent == (1 if wrong == "{0}(db)(db)" else 0), wrong


@pytest.mark.parametrize("option", EACH)
def test_what_cannot_be_seen_beforehand_is_refused_before_it_is_charged(option: str) -> None:
    """Values that go through a released number are not known to the check."""
    on_grid = library().options[option].task == "grid"
    first = next(iter(library().options[option].parameters), "nosuch")
    for wrong in (f"{option}(x)", f"{option}(db, x)", f"{option}({first}=x)", f"{option}(db, epsilon=x)"):
        text = text_of(option, wrong)
        text = text.replace("    return", '    x = "a" if noisyCount(db, 0.5) > 3 else [1]\n    return')
        db = grid() if on_grid else opened()
        with pytest.raises(ProgramError) as caught:
            program(text).run("answer", db, Workload.random_ranges(SHAPE), epsilon=Fraction(1))
        assert {each.code for each in caught.value.diagnostics} <= {"J105", "J113", "J501", "J508", "J511"}, wrong
        assert db.spent <= Fraction(1, 2), wrong


def test_what_breaks_off_inside_of_an_option_is_told_with_what_was_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Majority, db: Probe, epsilon: Fraction) -> Any:
        db.count(epsilon / 2)
        return list[int]()[db.spent > 9]

    monkeypatch.setattr(Majority, "run", broken)
    text = text_of("Majority", "Majority(db, epsilon=epsilon / 4)", "db")
    db = opened()
    with pytest.raises(ProgramError) as caught:
        program(text).run("answer", db, epsilon=Fraction(1))
    (mistake,) = caught.value.diagnostics
    assert mistake.code == "J902"
    assert mistake.title == "`Majority` broke off: IndexError, list index out of range"
    assert "epsilon 0.25 was spent by then" in mistake.why
    assert "tests/lang/test_option_calls.py" in mistake.why
    assert (mistake.span.line, mistake.span.column) == (4, 12)
    assert caught.value.__cause__ is None
