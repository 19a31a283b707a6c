"""Random programs that ask Options, choose and go through parts, and an account of which rows they touch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np
from attrs import define, field

from jostle.privacy.events import price
from jostle.privacy.room import Room
from jostle.tables.schema import Schema

__all__ = ["Releases", "asking", "noted"]

OPTIONS = (
    "NaiveBayes",
    "Majority",
    'AccuracyFirst(accuracy="1/2")',
    "SelectPrivately",
    "JostledTree",
    "DAWA",
    "PrivateKD(top=1)",
    "Mine",
    "Other",
    "first",
)
NAMED = tuple(each for each in OPTIONS if "(" not in each)
"""Alternatives of a choice are shown by their names."""
HEAD = """from options import AccuracyFirst, DAWA, JostledTree, Majority, NaiveBayes, PrivateKD, SelectPrivately

#Option
def Mine(db):
    n = noisyCount(db, epsilon / 4)
    if n > 20:
        return NaiveBayes(db, epsilon=epsilon / 2)
    return Majority(db[region = "north"], epsilon=epsilon / 4)

first = AccuracyFirst(accuracy="3/5")

#Option
def Other(db):
    a = choose M1 among {Mine, first, Majority} informed by {size(db.label)}
    for v in db.region:
        m = noisyCount(db[region = v], epsilon / 8)
    return a(db, epsilon=epsilon / 4)

def ask(D, e):
    n = noisyCount(D, e / 2)
    if n > 10:
        return n
    return n + ({{ len(D) }} spending e / 2)

def twice(D, e):
    return noisyCount(D, e) + noisyCount(D[label = "yes"], e)

"""
BUDGETS = ("epsilon / 3", "epsilon / 10", "0.1", "0.7", "epsilon", "1/30")
COLUMNS = (("region", '"north"'), ("region", '"east"'), ("age", "30"), ("label", '"yes"'), ("height", "1"))


def asking(chance: Random) -> str:  # noqa: C901 - one case per kind
    """Return a program that asks tables and their parts, and may well ask for too much."""
    labels = iter(range(1, 100))

    def table(depth: int = 2) -> str:
        found = chance.choice(("db", "db", "D"))
        for _ in range(chance.randrange(depth + 1)):
            column, value = chance.choice(COLUMNS)
            found += f"[{column} = {value}]"
        return found

    def asked(where: str) -> str:
        option, budget = chance.choice(OPTIONS), chance.choice(BUDGETS)
        return chance.choice(
            (
                f"{option}({where}, epsilon={budget})",
                f"{option}(db={where}, epsilon={budget})",
                f"noisyCount({where}, {budget})",
                f"({{{{ select count() from {where} groupby region }}}} spending {budget})",  # noqa: S608 - a query, no SQL
                f"noisyMax(db.attributes, [maxScore(a, db.label, {where}) for a in db.attributes], {budget})",
                f"{chance.choice(('ask', 'twice'))}({where}, {budget})",
            )
        )

    def lines(depth: int, indent: str) -> Iterator[str]:
        for _ in range(chance.randrange(1, 4)):
            kind, more = chance.randrange(8 if depth else 5), indent + "    "
            if kind < 2:
                yield f"{indent}x = {asked(table())}"
            elif kind == 2:
                among, label = chance.sample(NAMED, 2), f"L{next(labels)}"
                yield f"{indent}f = choose {label} among {{{', '.join(among)}}} informed by {{n}}"
                yield f"{indent}x = f({table()}, epsilon={chance.choice(BUDGETS)})"
            elif kind == 3:
                yield f"{indent}f = choose L{next(labels)} among {{ask, twice}} informed by {{n}}"
                yield f"{indent}x = [f(db[region = v], {chance.choice(BUDGETS)}) for v in db.region]"
            elif kind == 4:
                yield f"{indent}D = {table()}"
            elif kind == 5:
                yield f"{indent}for v in db.region:"
                yield f"{more}D = {table(1)}[region = v]"
                yield from lines(depth - 1, more)
            elif kind == 6:
                yield f"{indent}if n > {chance.choice((-5, 50, 500))}:"
                yield from lines(depth - 1, more)
            else:
                yield f"{indent}for i in range({chance.choice((1, 2))}):"
                yield from lines(depth - 1, more)

    body = "\n".join(["    D = db", "    n = noisyCount(db, epsilon / 20)", *lines(2, "    "), "    return n"])
    return f"{HEAD}def answer(db):\n{body}\n"


@define
class Releases:
    """What was drawn from which rows, noted where it was drawn and not where it was charged."""

    drawn: list[tuple[tuple[tuple[str, tuple[int, ...]], ...], Fraction]] = field(factory=list)
    """The conditions on rows, and how much a row that meets them could be told by."""
    inside: int = 0
    """How many selections run around what is asked: their candidates are not seen."""

    def note(self, where: Any, epsilon: Fraction) -> None:
        """Note a release."""
        if not self.inside:
            self.drawn.append((tuple(where), epsilon))

    def loss(self, schema: Schema) -> Fraction:
        """The most that all of it tells of any one record of the schema: gone, or exchanged for any other."""
        named = sorted({name for where, _ in self.drawn for name, _ in where})
        rows = [
            dict(zip(named, codes, strict=True)) for codes in product(*(range(schema[each].size) for each in named))
        ]
        met = np.array([[all(row[name] in codes for name, codes in where) for row in rows] for where, _ in self.drawn])
        if not self.drawn:
            return Fraction(0)
        amounts = [epsilon for _, epsilon in self.drawn]
        if schema.neighbours == "add_remove":
            pairs = [(place, place) for place in range(len(rows))]
        else:
            pairs = [(one, other) for one in range(len(rows)) for other in range(one + 1)]
        sides = {tuple(met[:, one] | met[:, other]) for one, other in pairs}
        return max(sum((a for a, hit in zip(amounts, each, strict=True) if hit), Fraction(0)) for each in sides)


@contextmanager
def noted(monkeypatch: Any) -> Iterator[Releases]:
    """Note all that is drawn among rows meanwhile, by what no ledger has a part in."""
    releases = Releases()
    release, select, refine = Room._release, Room.select, Room.refine

    def released(room: Room, mechanism: Any, epsilon: Fraction, *others: Any) -> Any:
        releases.note(room.where, epsilon)
        return release(room, mechanism, epsilon, *others)

    def selected(room: Room, selection: Any, epsilon: Fraction, site: str) -> Any:
        event = selection.event(selection.stopping.each(epsilon))
        before = len(room.ledger.charges)
        releases.inside += 1
        try:
            return select(room, selection, epsilon, site)
        finally:
            releases.inside -= 1
            if len(room.ledger.charges) > before:
                releases.note(room.where, price(event, room.ledger.neighbours))

    def refined(room: Room, number: int, epsilon: Fraction, site: str) -> Any:
        chain = room.chains.take(number)
        room.chains.put_back(number, chain)
        found = refine(room, number, epsilon, site)
        releases.note(room.where, epsilon - chain.levels[-1])
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Room, "_release", released)
        patched.setattr(Room, "select", selected)
        patched.setattr(Room, "refine", refined)
        yield releases
