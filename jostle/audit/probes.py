"""What probes give out, audited through the door itself: tables, schema, kernels, ledgers and noise together.

Each subject rehearses on made-up tables, which runs the same code as a private table does but for the source of bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa

from jostle.audit.subjects import Fault, Outputs, Pair, Pairs, Relation, Sampler, Subject, register
from jostle.errors import JostleError
from jostle.privacy.opening import rehearse
from jostle.privacy.probe import Probe
from jostle.tables import Categorical, Schema, SparseCounts, Table

Rows = tuple[tuple[str, str], ...]
"""A made-up table: the values of two columns, row by row."""

RUNS = 4_000
THRESHOLD = 1


def rows_adjacent(first: Rows, second: Rows, relation: Relation) -> bool:
    """Whether two tables are one record apart, whatever the order of their rows."""
    gone, come = Counter(first) - Counter(second), Counter(second) - Counter(first)
    changes = (gone.total(), come.total())
    return changes == (1, 1) if relation == "replace_one" else changes in {(0, 1), (1, 0)}


def table_rows_pairs(relation: Relation) -> Pairs[Rows]:
    """Tables to which a row comes, or in which one becomes another: in the same part, or moving between two."""
    some: Rows = (("a", "x"), ("b", "x"), ("b", "y"))

    def make() -> Iterator[Pair[Rows]]:
        if relation == "add_remove":
            yield Pair((), (("a", "x"),), "empty; a row comes")
            yield Pair(some, (*some, ("a", "x")), "a few rows; one more comes to the first part")
            yield Pair((("b", "y"),) * 9, (("b", "y"),) * 10, "nine equal rows; a tenth comes")
        else:
            yield Pair((("a", "x"),), (("b", "x"),), "the only row moves to another part")
            yield Pair(some, (("a", "y"), *some[1:]), "a row changes within its part")
            yield Pair((("a", "x"),) * 9, (*((("a", "x"),) * 8), ("b", "y")), "one of nine equal rows becomes another")

    return Pairs(relation=relation, make=make, neighbours=partial(rows_adjacent, relation=relation))


@lru_cache
def _table(rows: Rows, relation: Relation) -> Table:
    schema = Schema({"part": Categorical(["a", "b"]), "value": Categorical(["x", "y"])}, neighbours=relation)
    columns = {name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(schema.names)}
    return Table.from_frame(pa.table(columns), schema)


def _asked(question: Callable[[Probe, Fraction], Any], relation: Relation) -> Callable[..., Outputs]:
    """The sample that puts one question again and again to a rehearsal's probe."""

    def sample(noise: Sampler, data: Rows, epsilon: Fraction, size: int) -> Outputs:
        db = rehearse(_table(data, relation), seed=int(noise.below(2**62, 1)[0]))
        return [question(db, epsilon) for _ in range(size)]

    return sample


def _counts(db: Probe, epsilon: Fraction) -> tuple[int, ...]:
    return tuple(db.histogram("part", "value", epsilon=epsilon).ravel().tolist())


def _refined(db: Probe, epsilon: Fraction) -> tuple[int, ...]:
    first = db.histogram("value", epsilon=epsilon / 2)
    return (*first.ravel().tolist(), *first.refine(epsilon=epsilon).ravel().tolist())


def _commonest(db: Probe, epsilon: Fraction) -> str:
    return db.commonest("value", epsilon)


def _whole_parts(db: Probe, epsilon: Fraction) -> tuple[int, ...]:
    return tuple(part.count(epsilon) for part in db.parts("part"))


def _half_parts(db: Probe, epsilon: Fraction) -> tuple[int, ...]:
    return _whole_parts(db, epsilon / 2)


def _whole_portions(db: Probe, epsilon: Fraction) -> tuple[int, ...]:
    return tuple(part.count(epsilon) for part in db.portions(2))


def _half_portions(db: Probe, epsilon: Fraction) -> tuple[int, ...]:
    return _whole_portions(db, epsilon / 2)


def _sparse(db: Probe, epsilon: Fraction) -> tuple[tuple[int, int], ...]:
    found = db.measure_sparse(SparseCounts(("part", "value")), epsilon, threshold=THRESHOLD)
    return tuple(zip(found.keys.tolist(), found.values.tolist(), strict=True))


def _refusals(db: Probe, epsilon: Fraction) -> tuple[object, ...]:
    """A probe's words on questions that it refuses, and a count between them."""
    refused: list[Callable[[], object]] = [
        lambda: db.measure_sparse(SparseCounts(("part",)), epsilon, threshold=-1),
        lambda: db.count(epsilon / 10**30),
        lambda: db.where("part", "z"),
        lambda: db.where("part").count(0),
    ]
    return (*map(_said, refused), db.count(epsilon), *map(_said, refused))


def _said(question: Callable[[], object]) -> str:
    try:
        return type(question()).__name__
    except JostleError as refusal:
        return f"{type(refusal).__name__}: {refusal}"


def _refused_if_empty(noise: Sampler, data: Rows, epsilon: Fraction, size: int) -> Outputs:
    """A histogram, refused where there is nothing to count."""
    return _asked(_counts, "add_remove")(noise, data, epsilon, size) if data else ["the table has no rows"] * size


def _subject(
    name: str, about: str, question: Callable[[Probe, Fraction], Any], relation: Relation, fault: Fault | None = None
) -> Subject[Rows]:
    return Subject(
        name=name,
        module=__name__,
        about=about,
        pairs=table_rows_pairs(relation),
        sample=_asked(question, relation),
        samples=RUNS,
        fault=fault,
    )


PROBES: tuple[Subject[Rows], ...] = (
    _subject("ProbeHistogram", "a probe's histogram, a row added", _counts, "add_remove"),
    _subject("ProbeHistogramReplaced", "a probe's histogram, a row replaced", _counts, "replace_one"),
    _subject("ProbeRefined", "a probe's histogram, and the same refined", _refined, "add_remove"),
    _subject("ProbeRefinedReplaced", "the same, a row replaced", _refined, "replace_one"),
    _subject("ProbeCommonest", "a probe's commonest value, a row added", _commonest, "add_remove"),
    _subject("ProbeCommonestReplaced", "a probe's commonest value, a row replaced", _commonest, "replace_one"),
    _subject("ProbeSparse", "a probe's sparse histogram, a row added", _sparse, "add_remove"),
    _subject("ProbeSparseReplaced", "a probe's sparse histogram, a row replaced", _sparse, "replace_one"),
    _subject("ProbeParts", "counts of two parts, each with all of epsilon, a row added", _whole_parts, "add_remove"),
    _subject("ProbePartsReplaced", "counts of two parts, each with half, a row replaced", _half_parts, "replace_one"),
    _subject(
        "ProbePartsForgetMoves",
        "counts of two parts, each with all of epsilon, a row replaced, claimed to cost epsilon",
        _whole_parts,
        "replace_one",
        Fault("a row that moves changes both counts", "Kifer, Machanavajjhala, SIGMOD 2011, on bounded neighbours"),
    ),
    _subject(
        "ProbePortions", "counts of two portions, each with all of epsilon, a row added", _whole_portions, "add_remove"
    ),
    _subject(
        "ProbePortionsReplaced", "counts of two portions, each with half, a row replaced", _half_portions, "replace_one"
    ),
    _subject("ProbeRefusals", "a probe's refusals, in their words, and a count between them", _refusals, "add_remove"),
    Subject(
        name="ProbeRefusesEmpty",
        module=__name__,
        about="a probe's histogram, refused where the table has no rows",
        pairs=table_rows_pairs("add_remove"),
        sample=_refused_if_empty,
        samples=RUNS,
        fault=Fault(
            "the refusal is an answer without noise: it tells an empty table from one with a row",
            "Haeberlen, Pierce, Narayan, USENIX Security 2011, on what else than answers tells",
        ),
    ),
)
"""In the order of the auditor's table."""

for _probe in PROBES:
    register(_probe)
