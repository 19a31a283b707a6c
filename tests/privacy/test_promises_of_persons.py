"""A promise about persons: all small tables of persons, and what tells two of them apart that differ in one person.

A table is up to three persons of up to three rows each, of two kinds of rows; of each person at most m = 1 or 2 are
held. Neighbours are one person more, or one person who becomes another, who may have another number of rows.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, get_args

import numpy as np
import pytest
from attrs import evolve
from making import made
from some_expressions import ROWS, SIZES, Row, tiny, tiny_numbers

import jostle
from jostle import Categorical, Numeric
from jostle.errors import JostleError
from jostle.expressions import cells, persons, rows
from jostle.options.rows_of_persons import LOOK
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.room import Room
from jostle.sites import force
from jostle.tables.block import code_type
from jostle.tables.closed import KERNELS
from jostle.tables.engines import MemorySource
from jostle.tables.kernels import SparseTally
from jostle.tables.persons import PersonBands, PersonCount, whose_rows
from jostle.tables.schema import Neighbours, Schema
from jostle.trace.records import Charged

Bag = tuple[int, ...]
BAGS: tuple[Bag, ...] = tuple(bag for size in range(4) for bag in combinations_with_replacement(range(2), size))
"""The rows of a person: up to three, each of one of two kinds."""
TABLES = tuple(product(BAGS, repeat=3))
KINDS: list[type] = sorted(KERNELS, key=lambda kind: kind.__name__)
KEY = b"any"


def source(table: tuple[Bag, ...], schema: Schema, kinds: tuple[Row, Row] = (ROWS[0], ROWS[-1])) -> MemorySource:
    """The rows that are held of a table's persons."""
    rows = [(person, kinds[kind]) for person, bag in enumerate(table) for kind in bag]
    columns = {
        name: np.array([row[place] for _, row in rows], dtype=code_type(SIZES[name]))
        for place, name in enumerate(SIZES)
    }
    whose = whose_rows([person for person, _ in rows])
    return MemorySource(schema, columns, len(rows), whose=whose).bounded(KEY)


def of_persons(schema: Schema, most: int) -> Schema:
    return evolve(schema, person="who", rows_per_person=most)


@pytest.mark.parametrize("most", [1, 2])
def test_what_is_held_of_a_person_is_a_function_of_that_person_alone(most: int) -> None:
    """In all 1,000 tables: what is held of all is what is held of each alone, and never more than m rows."""
    schema = of_persons(tiny(), most)
    alone = {at: rows_of(source(((),) * at[0] + (at[1],), schema)) for at in product(range(3), BAGS)}
    assert all(sum(held.values()) == min(most, len(bag)) for (_, bag), held in alone.items())
    for table in TABLES:
        assert rows_of(source(table, schema)) == sum((alone[at] for at in enumerate(table)), Counter())


def rows_of(held: MemorySource) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(codes.tolist() for codes in held.columns.values()), strict=True))


def apart(one: Any, other: Any) -> int:
    """How far two tallies are apart, summed over cells."""
    if isinstance(one, SparseTally):
        one, other = (
            Counter(dict(zip(each.keys.tolist(), each.counts.tolist(), strict=True))) for each in (one, other)
        )
        return sum(abs(one[key] - other[key]) for key in one.keys() | other.keys())
    return int(np.abs(one - other).sum())


def neighbours(relation: Neighbours) -> Iterator[tuple[tuple[Bag, ...], tuple[Bag, ...]]]:
    """Tables that differ in one person, beside another one, who has more rows than are held."""
    for before, after in product(BAGS, repeat=2):
        if relation == "replace_one" or not after:
            yield (before, (0, 1, 1)), (after, (0, 1, 1))


def kernels(kind: type, schema: Schema) -> Iterator[Any]:
    """A few kernels of a kind that fit a schema."""
    chance = random.Random(kind.__name__)
    found = 0
    for _ in range(200):
        try:
            kernel = made(chance, kind)
            kernel.cells(schema)
        except JostleError:
            continue
        yield kernel
        found += 1
        if found == 2:
            return


@pytest.mark.representative("kind")
@pytest.mark.parametrize("relation", get_args(Neighbours))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
def test_no_person_changes_a_kernel_by_more_than_so_many_rows(kind: type, relation: Neighbours) -> None:
    """In the whole table and in a part of it; what counts persons is changed by 1 by a person, not by m."""
    for most, base in product((1, 2), (tiny(relation), tiny_numbers(relation))):
        schema = of_persons(base, most)
        for kernel, where in product(kernels(kind, schema), ((), (("a", (1,)),))):
            bound = most * sensitivity(kernel, schema)
            held = {
                table: source(table, schema).tally(kernel, where)
                for table in {t for p in neighbours(relation) for t in p}
            }
            for first, second in neighbours(relation):
                assert apart(held[first], held[second]) <= bound, f"{kernel} {first} {second}"


SCHEMA = Schema({"a": Categorical(["0", "1"]), "x": Numeric(0, 3, bins=3)}, label="a")


def in_parts(db: Any) -> None:
    for part in db.parts("a"):
        part.allot("1/4").count("1/4")
        for inner in part.parts("x"):
            inner.count("1/4")


def in_portions(db: Any) -> None:
    for portion in db.portions(3):
        portion.persons("1/4")
        portion.histogram("a", "x", epsilon="1/4")


def in_allotments(db: Any) -> None:
    inner = db.allot(1)
    inner.count("1/2")
    inner.allot("1/2").histogram("x", epsilon="1/2")


def persons_in_parts(db: Any) -> None:
    for part in db.parts("a"):
        part.persons("1/4")
        part.portions(2)[0].beyond("1/4")


def with_fewer_rows(db: Any) -> None:
    """What is read of a person in parts is of the rows that are read of them in all."""
    db.measure(PersonBands(), "1/2")
    fewer = db.bounded(1, "1/2")
    for part in fewer.parts("a"):
        part.count("1/8")
    fewer.where("a", "1").histogram("x", epsilon="1/8")
    fewer.persons("1/16").refine(epsilon="1/8")
    for portion in db.portions(2):
        fewer = portion.bounded(1, "1/2")
        for part in fewer.parts("a"):
            part.count("1/8")
        fewer.measure(PersonBands(), "1/4")


def in_expressions(db: Any) -> None:
    """Alone, persons are counted once; by groups, or with other numbers, as often as they have rows."""
    db.release(persons(), "1/5")
    db.release(persons().where("a", "1"), "1/5")
    db.release(persons() + rows(), "1/5")
    db.release(persons().where("a", "0") + persons().where("a", "1"), "1/5")
    by_group: Any = cells("a")
    db.release_cells(evolve(by_group, persons=True), "1/5")


ASKED: dict[str, Callable[[Any], Any]] = {
    "count": lambda db: (db.count("1/2"), db.where("a", "1").count("1/2")),
    "histogram": lambda db: db.histogram("a", epsilon=1),
    "mean": lambda db: (db.mean("x", epsilon="1/3"), db.sum("x", epsilon="2/3")),
    "parts": in_parts,
    "portions": in_portions,
    "allotments": in_allotments,
    "chains": lambda db: (db.count("1/4").refine(epsilon="1/2"), db.persons("1/4").refine(epsilon="1/2")),
    "persons": lambda db: (db.persons("1/2"), db.where("a", "1").persons("1/2")),
    "beyond": lambda db: db.beyond(1),
    "persons in parts": persons_in_parts,
    "fewer rows": with_fewer_rows,
    "expressions": in_expressions,
    "expressions in parts": lambda db: list(map(in_expressions, db.parts("x"))),
}
"""Questions of all kinds."""


def told(db: Any, what: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Fraction]]:
    """What is tallied for questions, and the last scale of the noise on each: answers are without it."""
    found: dict[Any, tuple[Any, Fraction]] = {}
    begin, answer, refine = Room.begin, Room._answer, Room.refine

    def answered(room: Room, mechanism: Any, epsilon: Fraction, site: str) -> Any:
        result = answer(room, mechanism, epsilon, site)
        found[len(found)] = np.array(result.tally), mechanism.scale(room.schema, epsilon)
        return result

    def began(room: Room, mechanism: Any, epsilon: Fraction, site: str) -> Any:
        result = begin(room, mechanism, epsilon, site)
        found["chain", id(room.chains), result.number] = found.pop(max(key for key in found if type(key) is int))
        found[len(found) + 1000] = np.zeros(1), Fraction(1)
        return result

    def refined(room: Room, number: int, epsilon: Fraction, site: str) -> Any:
        tally, scale = found.pop(("chain", id(room.chains), number))
        before = room.chains._kept[number].levels[-1]
        result = refine(room, number, epsilon, site)
        found["chain", id(room.chains), result.number] = tally, scale * before / epsilon
        return result

    with monkeypatch.context() as patch:
        patch.setattr(Room, "_answer", answered)
        patch.setattr(Room, "begin", began)
        patch.setattr(Room, "refine", refined)
        ASKED[what](db)
    return list(found.values())


@pytest.mark.representative("what")
@pytest.mark.parametrize("relation", get_args(Neighbours))
@pytest.mark.parametrize("what", ASKED)
def test_all_answers_together_tell_no_more_of_a_person_than_is_charged(
    what: str, relation: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their likelihoods' ratio is exactly exp(sum of changes over scales): at most exp of what was charged.

    Of a chain the last release counts alone.
    """
    worst = Fraction(0)
    for most in (1, 2):
        schema = evolve(SCHEMA, neighbours=relation, person="who", rows_per_person=most)
        seen: dict[tuple[Bag, ...], list[tuple[Any, Fraction]]] = {}
        for table in dict.fromkeys(table for pair in neighbours(relation) for table in pair):
            of_all = [(who, str(kind), kind * 2.5 + 0.1) for who, bag in enumerate(table) for kind in bag]
            columns = dict(zip(("who", "a", "x"), map(list, zip(*of_all, strict=True)), strict=True))
            db = jostle.rehearse(jostle.Table.from_frame(columns, schema), epsilon=2)
            seen[table] = told(db, what, monkeypatch)
            spent = db.spent
        for first, second in neighbours(relation):
            pairs = zip(seen[first], seen[second], strict=True)
            loss = sum((Fraction(apart(one, other)) / scale for (one, scale), (other, _) in pairs), Fraction(0))
            assert loss <= spent, f"{most} {first} {second}: {loss}"
            worst = max(worst, loss)
    assert worst > 0


def test_fewer_rows_of_a_person_are_read_for_as_much_less_noise() -> None:
    """An amount buys as many times more of a row; nothing is charged before something is asked, and then all of it."""
    frame = {"who": [1, 1, 1, 2], "a": ["0", "1", "0", "1"], "x": [1, 2, 1, 0]}
    db = jostle.rehearse(jostle.Table.from_frame(frame, evolve(SCHEMA, person="who", rows_per_person=2)), epsilon=1000)
    fewer = db.bounded(1, 400)
    assert [fewer.unit, fewer.promise, fewer.schema.rows_per_person, db.spent] == [1, 400, 1, 0]
    assert [fewer.count(100), fewer.count(100).scale, db.spent] == [2, 1 / 100, 400]
    assert db.measure(PersonBands(), 100).tolist() == [1, 1]
    with pytest.raises(JostleError, match="in a part of the table"):
        db.parts("a")[0].bounded(1, 1)
    with pytest.raises(JostleError, match="3 rows of a person are asked for, of 2 that are held"):
        db.bounded(3, 1)
    with pytest.raises(JostleError, match="where nobody counts persons"):
        jostle.rehearse(jostle.Table.from_frame(frame, SCHEMA)).bounded(1, 1)


def test_persons_cost_what_they_are_asked_for_and_count_each_once() -> None:
    """In the whole table noise does not grow with the rows of a person; in parts it does."""
    frame = {"who": [1, 1, 1, 2], "a": ["0", "1", "0", "1"], "x": [1, 2, 1, 0]}
    schema = evolve(SCHEMA, person="who", rows_per_person=2)
    db = jostle.rehearse(jostle.Table.from_frame(frame, schema), epsilon=3000)
    assert (db.persons(500), db.beyond(500), db.persons(500).scale, db.count(100).scale) == (2, 1, 1 / 500, 2 / 100)
    assert repr(db.count(100)).endswith("(95%), of at most 2 a person")
    assert repr(db.persons(100)).endswith("(95%)")
    assert (db.parts("a")[0].persons(100).scale, db.portions(2)[0].persons(100).scale) == (2 / 100, 1 / 100)
    with pytest.raises(JostleError, match="persons are counted once in a part"):
        db.parts("a")[0].measure(PersonCount(), 1)
    with pytest.raises(JostleError, match="declares no person"):
        jostle.rehearse(jostle.Table.from_frame(frame, SCHEMA)).persons(1)


def test_amounts_are_those_of_whoever_reads_them() -> None:
    """A user counts persons, an Option rows, and an account persons again; a program of a user's counts as the user."""
    frame = {"who": [1, 1, 1, 2], "a": ["0", "1", "0", "1"], "x": [1, 2, 1, 0]}
    schema = evolve(SCHEMA, person="who", rows_per_person=4)
    seen: list[Any] = []
    shown: list[str] = []

    @jostle.option(task="classification")
    def of_persons_option(db: jostle.Probe, *, epsilon: Fraction) -> Any:
        """An Option."""
        seen.append((epsilon, db.promise, db.unit))
        model = jostle.options.get("NaiveBayes")(db, epsilon=epsilon)
        seen.append((db.spent, db.left, model.epsilon))
        shown.append(repr(db))
        return model

    trace = jostle.Trace()
    db = jostle.protect(jostle.Table.from_frame(frame, schema), epsilon=2, trace=trace)
    with force({LOOK: "as declared"}):  # of as many rows as the schema says
        model = of_persons_option(db, epsilon=1)
    quarter = Fraction(1, 4)
    assert seen == [(quarter, quarter, 1), (quarter, 0, quarter)]
    assert model.epsilon == 1
    told: Any = (db.promise, db.spent, db.left, db.unit)
    assert told == (2, 1, 1, 4)
    assert shown == ["<Probe: epsilon 0.25 of 0.25 spent about rows under add_remove>"]
    assert repr(db) == "<Probe: epsilon 1 of 2 spent about persons (at most 4 rows each) under add_remove>"
    assert [charge.epsilon for charge in db.charges] == [1]
    charged = [record for record in trace.records if isinstance(record, Charged)]
    assert {record.epsilon for record in charged} == {1}
    with pytest.raises(jostle.errors.BudgetError, match="asks for epsilon 3, but 1 is left") as refusal:
        db.count(3)
    told = (refusal.value.requested, refusal.value.left, refusal.value.promise)
    assert told == (3, 1, 2)
