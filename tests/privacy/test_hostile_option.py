"""An Option that looks for rows everywhere it can reach by ordinary means, and finds none.

What it could do all the same, with `gc`, closures and running frames, is in the docstring of `jostle.privacy.door`.
"""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from attrs import frozen
from openings import Trouble, deepest, protected, reached, schema, table, troubled

import jostle
from jostle import Probe
from jostle.errors import JostleError
from jostle.options.base import Option
from jostle.privacy import opening
from jostle.privacy.events import Event, Laplace
from jostle.privacy.mechanisms import AddNoise
from jostle.privacy.room import QUESTIONS
from jostle.privacy.scores import Fullest
from jostle.tables.kernels import Counts, SparseCounts
from jostle.tasks import CLASSIFICATION

TENTH = Fraction(1, 10)


@frozen
class GreedyMechanism(AddNoise):
    """Releases what it is given."""

    def release(self, tally: Any, *_: object) -> Any:
        return tally


class Hostile(Option):
    """An Option that does everything but answer."""

    task = CLASSIFICATION

    def cost(self, schema: object, epsilon: Fraction) -> Event:
        return Laplace(epsilon)

    def __call__(self, db: Probe, epsilon: Fraction) -> list[str]:
        """Return the ways in which anything was reached that only the door should hold."""
        known = {id(found.thing) for found in reached(jostle)}
        answers = (
            db.count(epsilon / 4),
            db.measure_sparse(SparseCounts(("age",)), epsilon / 4, threshold=0),
            db.commonest("age", epsilon / 4),
            db.parts("region"),
            db.where("region", "north"),
            db.allot(epsilon / 8),
            db.count(epsilon / 16).refine(epsilon=epsilon / 8),
            db.refine(begun := db.measure_refinable(Counts.of("age"), epsilon / 16), epsilon / 8),
            db.reserve(epsilon),
            db.allot(epsilon).known(Counts.of("age")),
        )
        (look,) = answers[-1]
        assert look is not None
        released = {id(answers[1].keys), id(answers[1].values), id(look.counts), id(look.variance)}
        errors = [*self.provoke(db), *deepest(lambda: db.charges), *deepest(lambda: db.count(epsilon))]
        errors += deepest(lambda: db.refine(begun, epsilon))
        texts = [form(db) for form in (repr, str, format, ascii, "{0!r}{0}".format)]
        starts = (db, *answers, *errors, texts, type(db), jostle, opening)
        return [found.way for found in reached(*starts, known=known | released)]

    def provoke(self, db: Probe) -> list[BaseException]:
        """Return all errors that it knows how to get."""
        errors: list[BaseException] = []
        attempts: list[Callable[[], object]] = [
            lambda: db.count(10**6),
            lambda: db.histogram("height", epsilon=1),
            lambda: db.where("region", "up"),
            lambda: db.perform(GreedyMechanism(Counts.of("age")), TENTH, site="mine"),
            lambda: copy.copy(db),
            lambda: pickle.dumps(db),
            lambda: pickle.dumps(db._key),
            lambda: operator.getitem(db, "region"),  # type: ignore[call-overload]
            lambda: operator.length_hint(db),
            lambda: db._key.enter("source"),
            lambda: db._key.enter("_release", AddNoise(Counts.of("age")), TENTH, Counts.of("age"), 10),
            *(lambda question=question: db._key.enter(question) for question in QUESTIONS),
            *(lambda question=question: db._key.enter(question, "region", "x") for question in QUESTIONS),
        ]
        for attempt in attempts:
            try:
                answer = attempt()
            except Exception as error:  # noqa: BLE001 - any will do
                errors.append(error)
            else:
                errors += [each for each in answer if isinstance(each, Exception)] if type(answer) is tuple else []
        assert len(errors) > 15
        return errors


def test_an_option_that_looks_everywhere_finds_no_row() -> None:
    assert Hostile()(protected(), TENTH) == []


@pytest.mark.slow
def test_an_option_that_looks_everywhere_in_a_rehearsal_finds_no_row() -> None:
    assert Hostile()(jostle.rehearse(table(seed=1)), TENTH) == []


def test_the_walker_would_find_rows_if_they_were_there() -> None:
    """It finds them in a closure's frame, behind a weak reference, in an error's locals, in a method's owner."""

    class Careless:
        """A probe as it should not be."""

        def __init__(self, rows: Trouble) -> None:
            self.ask = rows.tally

    def failing(rows: Trouble) -> None:
        raise ValueError(len(rows.rows))

    rows = Trouble(schema(), str)
    assert list(reached(Careless(rows)))
    assert list(reached({"a": [(1, rows.rows)]}))
    assert list(reached(table()))
    assert list(reached(lambda rows=rows: rows))
    elsewhere = {"failing": failing, "rows": rows, "__name__": "elsewhere"}  # not a module of these tests
    with pytest.raises(ValueError, match="50") as caught:
        eval("failing(rows)", elsewhere)  # noqa: S307 - for the sake of its frame
    assert list(reached(caught.value))


@pytest.mark.slow
def test_the_rehearsal_of_one_table_shows_nothing_of_another() -> None:
    """Errors in a rehearsal are shown. They must not lead on to the private tables of the same process."""
    secret = protected()
    known = {id(found.thing) for found in reached(jostle)}

    def fail(_: str) -> None:
        raise ValueError("public")

    rehearsal = troubled(fail, private=False)
    errors = []
    for ask in (lambda: rehearsal.count(1), lambda: rehearsal.pick(Fullest("age"), 1), lambda: rehearsal.allot(0)):
        try:
            ask()
        except JostleError as error:
            errors.append(error)
    assert len(errors) == 3
    assert not list(reached(rehearsal, *errors, known=known))
    assert secret.spent == 0
