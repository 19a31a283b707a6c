"""Every member of every closed list, built from what a caller may hand in, and held to what it claims.

`attempt` makes the fields of a member up: what makes sense; the same in the guise of another type; and, in place of a
field or of a number inside one, things that have no business there. What is taken has to be made of plain values, and
has to keep its promise, by brute force over small tables, under both relations, in the whole table and in parts.

    cd tests/privacy; python contracts.py 2000     so many attempts for each member, and a table of what came of them
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from attrs import evolve, frozen
from claims import (
    EPSILON,
    hold_above,
    hold_event,
    hold_expression,
    hold_group_score,
    hold_kernel,
    hold_noise,
    hold_pick,
    hold_record,
    hold_score,
    hold_selection,
    impurities,
)
from guises import guise, spoilt
from making import PLAUSIBLE
from some_expressions import tiny, tiny_numbers

from jostle.errors import JostleError
from jostle.options.classification.tuning import TriedClassifiers
from jostle.privacy.descent import Descent
from jostle.privacy.events import EVENTS
from jostle.privacy.expressions import NODES, known_of
from jostle.privacy.mechanisms import AddNoise, AddNoiseAbove, AddNoiseByLevel, AddNoiseTo, AddNoiseToSpread
from jostle.privacy.nodes import Expression
from jostle.privacy.picks import GROUP_SCORES, SCORES, FindAbove, FindNthLargest, PickPartition
from jostle.privacy.room import MECHANISMS, NOTES
from jostle.privacy.scores import QuantileScore
from jostle.privacy.selection import SELECTIONS
from jostle.tables.closed import KERNELS, Closed
from jostle.tables.number_kernels import Moments, NumberSum, Ranks
from jostle.tables.persons import OfPersons
from jostle.tables.schema import Neighbours, Schema

FINEST = 8
"""Steps to a unit of cost with which all noise can be gone through."""
LISTS: Mapping[str, Closed] = {
    "kernels": KERNELS,
    "scores": SCORES,
    "scores for groups": GROUP_SCORES,
    "mechanisms": MECHANISMS,
    "private expressions": NODES,
    "selections": SELECTIONS.now(),
    "events": EVENTS,
    "records of choices": NOTES,
}
SCHEMAS = tuple(tiny(relation) for relation in get_args(Neighbours))
NUMBERS = tuple(tiny_numbers(relation) for relation in get_args(Neighbours))
"""The same with a column of numbers, for what is about numbers."""
DECLARED = tuple(evolve(schema, rows=2) for schema in NUMBERS if schema.neighbours == "replace_one")
"""The same with a public number of rows, whatever it is."""
ONE_CLASS = tuple(evolve(schema, label="c") for schema in SCHEMAS)
"""The same with a label of a single value: there, kernels have the fewest cells."""


def members() -> dict[type, str]:
    """Return every member of every list, with the list."""
    return {member: what for what, known in LISTS.items() for member in known}


def holder(member: type) -> Callable[[Any, Schema], None]:
    """Return what holds a member to what it claims."""
    if member in {AddNoise, AddNoiseAbove, AddNoiseByLevel, AddNoiseTo, AddNoiseToSpread, Descent, FindNthLargest}:
        return hold_noise
    if member is FindAbove:
        return hold_above
    holders: dict[str, Callable[[Any, Schema], None]] = {
        "kernels": hold_kernel,
        "scores": hold_score,
        "scores for groups": hold_group_score,
        "mechanisms": hold_pick,
        "private expressions": hold_expression,
        "events": hold_event,
        "selections": hold_selection,
        "records of choices": hold_record,
    }
    return holders[members()[member]]


@frozen
class Outcome:
    """What came of the attempts at one member."""

    built: int = 0
    """Attempts."""
    taken: int = 0
    """Those that made a value."""
    held: int = 0
    """Values that fit the schema and kept to what they claim, once for each relation."""

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(self.built + other.built, self.taken + other.taken, self.held + other.held)


def given(chance: random.Random, member: type) -> dict[str, Any]:
    """Return fields for a member, and what was done to them: nothing, other guises, or something worse."""
    facts = PLAUSIBLE[member](chance)
    way = chance.choice(["plain", "guise", "guise", "spoilt", "both"])
    if way in {"guise", "both"}:
        facts = {name: guise(chance, value) for name, value in facts.items()}
    if way in {"spoilt", "both"}:
        name = chance.choice(list(facts))
        facts[name] = spoilt(chance, facts[name])
    return facts


def attempt(member: type, seed: str) -> Outcome:
    """Build a member once; hold what is taken to its claims under both relations. Only Jostle's refusals may come."""
    chance = random.Random(seed)
    facts = given(chance, member)
    try:
        value = member(**facts)
    except JostleError:
        return Outcome(built=1)
    known = LISTS[members()[member]]
    known.check(value)
    found = list(impurities(value, known))
    assert not found, found
    held = 0
    about = getattr(value, "tallied", getattr(value, "score", value))
    if isinstance(about, OfPersons):
        schemas = tuple(evolve(schema, person="who", rows_per_person=2) for schema in SCHEMAS)
    else:
        schemas = NUMBERS if type(about) in {Moments, NumberSum, QuantileScore, Ranks} else SCHEMAS
    schemas = DECLARED if member is AddNoiseToSpread else schemas
    for schema in (*schemas, *ONE_CLASS) if known is KERNELS else schemas:
        try:
            check_beforehand(value, schema)
        except JostleError:
            continue  # refused before anything is charged
        holder(member)(value, schema)
        held += 1
    return Outcome(built=1, taken=1, held=held)


def check_beforehand(value: Any, schema: Schema) -> None:
    """Do what a room does before it charges."""
    if type(value) in KERNELS:
        value.cells(schema)
    elif isinstance(value, Expression):
        known_of(value, schema)
    elif type(value) in SCORES:
        value.kernel(schema).cells(schema)
    elif type(value) in GROUP_SCORES:
        value.kernel(schema).cells(schema)
        value.check(schema)
    elif type(value) in MECHANISMS:
        kernel = value.kernel(schema)
        kernel.cells(schema)
        value.check(schema, EPSILON)
        scale = value.scale(schema, EPSILON)
        if scale is not None and not 0 < scale <= 2**52:
            raise JostleError("the noise would be too wide, or none")
        if isinstance(value, PickPartition) and value.grain > FINEST:
            raise JostleError("the steps are too fine for all noise to be gone through")
    elif isinstance(value, TriedClassifiers):
        value.check(schema, EPSILON)


def summary(attempts: int, start: int = 0, only: str | None = None) -> dict[str, Outcome]:
    """Return what comes of so many attempts at each member, list by list, or for one list."""
    found: dict[str, Outcome] = {}
    for member, what in members().items():
        if only not in {None, what}:
            continue
        for number in range(start, start + attempts):
            try:
                found[what] = found.get(what, Outcome()) + attempt(member, f"{member.__name__} {number}")
            except Exception as problem:
                problem.add_note(f"attempt({member.__name__}, '{member.__name__} {number}')")
                raise
    return found


def main(arguments: Iterable[str]) -> None:
    """Print a table of what came of the attempts."""
    (attempts,) = map(int, arguments)
    found = summary(attempts)
    print("| list | members | built | taken | held to what they claim |\n|---|---|---|---|---|")  # noqa: T201
    for what, outcome in {**found, "all": sum(found.values(), Outcome())}.items():
        count = len(members()) if what == "all" else len(list(LISTS[what]))
        print(f"| {what} | {count} | {outcome.built:,} | {outcome.taken:,} | {outcome.held:,} |")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
