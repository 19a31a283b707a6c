"""What the members of closed lists claim, held to it by brute force over small tables.

Under both relations, in the whole table and in parts of it, by the code that runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from attrs import Attribute, fields, frozen
from numpy.typing import NDArray
from some_expressions import ROWS, SIZES, Row, by_table, changes, within

from jostle.audit.auditor import privacy_loss
from jostle.audit.forks import enumerated_runs, permute_and_flip_chances
from jostle.options.base import Option
from jostle.parameters import is_parameter
from jostle.privacy.events import Disjoint, InTurn, Refined, Repeated, Reserved, Selected, price
from jostle.privacy.expressions import known_of
from jostle.privacy.mechanisms import AddNoiseAbove
from jostle.privacy.picks import FindAbove, PickEach, PickPartition
from jostle.privacy.reals import Tail
from jostle.tables.block import Where, code_type
from jostle.tables.closed import Closed
from jostle.tables.engines import MemorySource
from jostle.tables.kernels import MOST_RECORDS, SparseTally
from jostle.tables.persons import whose_rows
from jostle.tables.schema import Neighbours, Schema
from jostle.trace.records import from_json, to_json

Integers = NDArray[np.int64]
Tallied = dict[int, int]
"""What is added to which cells."""
Rows = tuple[Row, ...]


@frozen
class Heavy:
    """A table of many records, as how often each row is there."""

    times: tuple[int, ...]

    def more(self, place: int) -> Heavy:
        """Return the table with one record more."""
        return Heavy(tuple(count + (place == at) for at, count in enumerate(self.times)))


Held = Rows | Heavy
Ways = Callable[[Schema], Iterable[tuple[Where, list[tuple[Any, Any]]]]]
"""Parts of a table, with neighbours that are looked at in each."""
PARTS: tuple[Where, ...] = ((), (("b", (0, 2)),), (("a", (1,)), ("b", (1, 2))), (("c", (0,)),))
"""The whole table, and parts of it."""
EPSILON = Fraction(2)
SLACK = 1e-6


def impurities(value: Any, known: Closed, way: str = "") -> Iterator[str]:
    """Yield where something that is taken is not of plain builtin types, arrays of one's own, or known classes."""
    kind = type(value)
    inside: dict[str, Any] = {}
    if kind is tuple:
        inside = {f"[{place}]": each for place, each in enumerate(value)}
    elif kind in known.kinds:
        inside = {f".{each.name}": getattr(value, each.name) for each in fields(kind)}
    elif not _is_plain(value):
        yield f"{way} is {kind.__name__}: {value!r:.60}"
    for step, each in inside.items():
        yield from impurities(each, known, way + step)


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    if kind is Fraction:
        return type(value.numerator) is type(value.denominator) is int
    if kind is np.ndarray:
        plain = value.dtype.isnative and value.dtype in {np.dtype(np.int64), np.dtype(np.bool_)}
        return plain and not value.flags.writeable and value.base is None
    if isinstance(value, Option):
        attributes: tuple[Attribute[Any], ...] = fields(kind)
        return all(map(is_parameter, attributes))
    return kind in {int, str, bool, type(None)}


@cache
def source(held: Held, schema: Schema) -> MemorySource:
    """Return the rows as the tables keep them."""
    rows, times = (ROWS, np.array(held.times, dtype=np.int64)) if isinstance(held, Heavy) else (held, None)
    columns = {
        name: np.array([row[place] for row in rows], dtype=code_type(SIZES[name])) for place, name in enumerate(SIZES)
    }
    if schema.person is None:
        return MemorySource(schema, columns, len(rows), times)
    # Each row is somebody else's: what persons with several do, is held to elsewhere.
    return MemorySource(schema, columns, len(rows), whose=whose_rows(list(range(len(rows))))).bounded(b"")


def tally(kernel: Any, rows: Held, schema: Schema, where: Where = ()) -> Any:
    """Return what a kernel finds, by the code that runs."""
    return source(rows, schema).tally(kernel, where)


def added(kernel: Any, row: Row, schema: Schema, where: Where) -> Tallied:
    """Return what one row adds to which cells, in Python's numbers."""
    found = tally(kernel, (row,), schema, where)
    if isinstance(found, SparseTally):
        return dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True))
    assert found.shape == (kernel.cells(schema),)
    return {place: int(number) for place, number in enumerate(found.tolist()) if number}


def distance(one: Tallied, other: Tallied) -> int:
    return sum(abs(one.get(cell, 0) - other.get(cell, 0)) for cell in one.keys() | other.keys())


def pairs(rows: Sequence[Row], relation: Neighbours) -> Iterator[tuple[Rows, Rows]]:
    """Yield neighbouring tables: a row more, or a row become another, beside one of a few others."""
    beside: list[Rows] = [(), (rows[0],), (rows[-1], rows[2], rows[2])]
    for base in beside:
        for row in rows:
            if relation == "add_remove":
                yield base, (*base, row)
            else:
                yield from (((*base, row), (*base, other)) for other in rows if other > row)


def hold_kernel(kernel: Any, schema: Schema) -> None:
    """Hold what a row adds, takes away or changes to `bound` and `replaced`, in the table and in parts of it."""
    cells, bound, replaced = kernel.cells(schema), kernel.bound(schema), kernel.replaced(schema)
    assert (type(cells), type(bound), type(replaced)) == (int, int, int)
    for where in PARTS:
        alone = [added(kernel, row, schema, where) for row in ROWS]
        assert all(sum(map(abs, each.values())) <= min(bound, replaced) for each in alone), f"{kernel}: bound {bound}"
        assert all(distance(one, other) <= replaced for one, other in product(alone, alone)), f"{kernel}: {replaced}"
        largest = max((abs(number) for each in alone for number in each.values()), default=0)
        assert largest * MOST_RECORDS < 2**63, f"{kernel}: sums do not fit"
    together: Counter[int] = Counter()
    for row in ROWS:
        for cell, number in added(kernel, row, schema, ()).items():
            together[cell] += number
    whole = tally(kernel, tuple(ROWS), schema)
    if isinstance(whole, SparseTally):
        assert dict(zip(whole.keys.tolist(), whole.counts.tolist(), strict=True)) == together
    else:
        assert whole.tolist() == [together[cell] for cell in range(cells)]


def each_way(schema: Schema) -> Iterator[tuple[Where, list[tuple[Held, Held]]]]:
    """Yield parts of a table, with neighbours of which rows are asked about in that part alone."""
    for where in PARTS[:3]:
        yield where, list(pairs(ROWS, schema.neighbours))


def hold_score(score: Any, schema: Schema, neighbours: Ways = each_way) -> None:
    """Hold how a score's candidates move to its sensitivity, and to being monotone where it says so."""
    kernel, sensitivity = score.kernel(schema), score.sensitivity(schema)
    kernel.cells(schema)
    assert type(sensitivity) is Fraction
    scored = cache(lambda rows, where: score.scores(tally(kernel, rows, schema, where), schema).tolist())
    for where, ways in neighbours(schema):
        for one, other in ways:
            first, second = scored(one, where), scored(other, where)
            moves = [b - a for a, b in zip(first, second, strict=True)]
            if score.monotone(schema):
                assert min(moves) >= 0 or max(moves) <= 0, f"{score}: {moves}"
                assert max(map(abs, moves)) <= sensitivity, f"{score}: {moves}"
            # What is added to all scores changes no pick.
            assert max(moves) - min(moves) <= 2 * sensitivity, f"{score}: {moves}"


def hold_group_score(score: Any, schema: Schema, neighbours: Ways = each_way) -> None:
    """Hold how far a row moves the scores of all groups apart, each in units of its spread, to the groups it is in."""
    kernel = score.kernel(schema)
    kernel.cells(schema)
    score.check(schema)
    allowed, steps = score.allowed(schema), 1 if schema.neighbours == "add_remove" else 2
    scored = cache(lambda rows, where: score.scores(tally(kernel, rows, schema, where), schema))
    for where, ways in neighbours(schema):
        for one, other in ways:
            first, second = scored(one, where), scored(other, where)
            spreads = score.spreads(schema, len(first))
            apart = Fraction(0)
            for group in range(len(first)):
                may = slice(None) if allowed is None else np.flatnonzero(allowed[group])
                moves = (second[group] - first[group])[may].tolist()
                apart += Fraction(max(moves) - min(moves), int(spreads[group]))
            assert apart <= steps * score.touched(schema), f"{score}: {apart}"


class Recorder:
    """Draws no noise, and remembers what was asked for."""

    def __init__(self) -> None:
        self.scales: list[tuple[Fraction, int]] = []
        self.asked: list[tuple[Any, ...]] = []

    def discrete_laplace(self, scale: Any, size: int) -> Integers:
        assert isinstance(scale, Fraction | int)
        self.scales.append((Fraction(scale), size))
        return np.zeros(size, dtype=np.int64)

    def successes(self, trials: int, chance: Any) -> Integers:
        self.asked.append((trials, chance))
        return np.zeros(0, dtype=np.int64)

    def laplace_above(self, scale: Any, threshold: int, size: int) -> Integers:
        self.asked.append((scale, threshold, size))
        return np.zeros(size, dtype=np.int64)


def hold_noise(mechanism: Any, schema: Schema, neighbours: Ways = each_way) -> None:
    """Hold the noise that is asked for, on every number released, to what neighbours change: at most epsilon in all.

    Without noise, the numbers that noise is added to come out.
    """
    kernel = mechanism.kernel(schema)
    cells = kernel.cells(schema)
    mechanism.check(schema, EPSILON)
    assert price(mechanism.event(EPSILON), schema.neighbours) == EPSILON
    sparse = isinstance(mechanism, AddNoiseAbove)

    @cache
    def released(rows: Held, where: Where) -> tuple[Tallied, list[Fraction]]:
        noise: Any = Recorder()
        found = mechanism.collect(lambda kernel: tally(kernel, rows, schema, where), schema)
        answer = mechanism.release(found, schema, EPSILON, noise)
        scales = [scale for scale, size in noise.scales for _ in range(size)]
        if sparse:
            scale = mechanism.scale(schema, EPSILON)
            assert noise.asked[0] == (cells, Tail(scale, mechanism.threshold))
            assert noise.asked[1][:2] == (scale, mechanism.threshold)
            assert set(scales) <= {scale}
            return dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)), [scale] * cells
        numbers = mechanism.shown(answer).ravel().tolist()
        assert len(numbers) == len(scales)
        return {place: number for place, number in enumerate(numbers) if number}, scales

    for where, ways in neighbours(schema):
        for one, other in ways:
            (first, scales), (second, same) = released(one, where), released(other, where)
            assert scales == same, "the noise depends on rows"
            loss = sum(
                (abs(first.get(cell, 0) - second.get(cell, 0)) / scales[cell] for cell in first.keys() | second.keys()),
                Fraction(0),
            )
            assert loss <= EPSILON, f"{mechanism}: {loss}"


def hold_pick(mechanism: Any, schema: Schema) -> None:
    """Hold how much likelier a pick is on a neighbour to epsilon, all chances worked out."""
    # One-sided noise on every run of cells: with much budget, little of it is left to be gone through.
    epsilon, cut = (Fraction(8), 1e-3) if isinstance(mechanism, PickPartition) else (EPSILON, 1e-12)
    kernel = mechanism.kernel(schema)
    kernel.cells(schema)
    mechanism.check(schema, epsilon)
    assert price(mechanism.event(epsilon), schema.neighbours) == epsilon
    known: dict[bytes, Any] = {}

    @cache
    def chances(rows: Rows, where: Where) -> Any:
        found = tally(kernel, rows, schema, where)
        key = found.keys.tobytes() + found.counts.tobytes() if isinstance(found, SparseTally) else found.tobytes()
        if key not in known:
            known[key] = (
                _chances_of_each(mechanism, found, schema)
                if isinstance(mechanism, PickEach)
                else enumerated_runs(lambda noise: _output(mechanism, found, schema, epsilon, noise), cut)
            )
        return known[key]

    for where, ways in each_way(schema):
        for one, other in ways:
            first, second = chances(one, where), chances(other, where)
            if isinstance(mechanism, PickEach):
                loss = sum(
                    max(abs(math.log(a / b)) for a, b in zip(ours, theirs, strict=True))
                    for ours, theirs in zip(first, second, strict=True)
                )
            else:
                loss = privacy_loss(first, second)
            assert loss <= epsilon + SLACK, f"{mechanism}: {loss}"


def hold_above(mechanism: FindAbove, schema: Schema, neighbours: Ways = each_way) -> None:
    """Hold the noise of the sparse vector to how far rows move one score, and to whether they all move one way.

    Of the threshold: the most that a score moves, over its share. Of each score: twice that, or once where all move the
    same way, for every feature that may be found, over the rest.
    """
    kernel, score = mechanism.kernel(schema), mechanism.score
    kernel.cells(schema)
    mechanism.check(schema, EPSILON)
    assert price(mechanism.event(EPSILON), schema.neighbours) == EPSILON
    of_threshold, of_scores = mechanism.scales(schema, EPSILON)
    valued = cache(lambda rows, where: score.values(tally(kernel, rows, schema, where), schema).tolist())
    for where, ways in neighbours(schema):
        for one, other in ways:
            first, second = valued(one, where), valued(other, where)
            moves = [b - a for a, b in zip(first, second, strict=True)]
            furthest, one_way = max(map(abs, moves)), min(moves) >= 0 or max(moves) <= 0
            shift = furthest if one_way and score.rises(schema) else 2 * furthest
            assert furthest / of_threshold <= mechanism.share * EPSILON, f"{mechanism}: {moves}"
            assert mechanism.most * shift / of_scores <= (1 - mechanism.share) * EPSILON, f"{mechanism}: {moves}"
    noise: Any = Recorder()
    found = tally(kernel, tuple(ROWS), schema)
    passing = [value >= mechanism.threshold for value in score.values(found, schema)]
    noise.distinct = lambda population, _: np.arange(population)
    picked = mechanism.release(found, schema, EPSILON, noise).tolist()
    assert picked == [place for place, above in enumerate(passing) if above][: mechanism.most]
    assert noise.scales == [(of_threshold, 1), (of_scores, len(passing))]


def _output(mechanism: Any, found: Any, schema: Schema, epsilon: Fraction, noise: Any) -> Any:
    answer = mechanism.release(found, schema, epsilon, noise)
    return answer if isinstance(answer, int) else tuple(answer.tolist())


def _chances_of_each(mechanism: PickEach, found: Any, schema: Schema) -> list[list[float]]:
    """Return the chances of the candidates of each group, which are picked independently."""
    scores, allowed = mechanism.score.scores(found, schema), mechanism.score.allowed(schema)
    chances = []
    for group, spread in enumerate(mechanism.score.spreads(schema, len(scores)).tolist()):
        may = slice(None) if allowed is None else np.flatnonzero(allowed[group])
        chances.append(permute_and_flip_chances(scores[group][may].tolist(), mechanism.rate(schema, EPSILON, spread)))
    return chances


def hold_expression(expression: Any, schema: Schema) -> None:
    """Hold all that is said of an expression to what it is on small tables, and to how rows change it."""
    known = known_of(expression, schema)
    values = by_table(expression, schema, 2)
    for numbers in values.values():
        assert all(known.least <= Fraction(int(each), known.denominator) <= known.most for each in numbers)
        assert sum(abs(int(each)) for each in numbers) <= known.mass * known.denominator
    met = changes(values)
    kept = {**within(met.entries, known.enter, known.denominator), **within(met.swaps, known.swap, known.denominator)}
    assert all(kept.values()), f"{expression}: {kept}"


def priced(event: Any, relation: Neighbours) -> Fraction:
    """Return what an event costs, worked out by its definition."""
    if isinstance(event, InTurn | Reserved):
        return sum((priced(each, relation) for each in event.events), Fraction(0))
    if isinstance(event, Refined):
        return max(event.levels)
    if isinstance(event, Repeated):
        return (
            sum([priced(event.event, relation)] * event.times, Fraction(0))
            if event.times < 99
            else event.times * priced(event.event, relation)
        )
    if isinstance(event, Selected):
        return 2 * priced(event.candidate, relation) + event.eta * priced(event.candidate, relation)
    if isinstance(event, Disjoint):
        costs = sorted((priced(each, relation) for each in event.events), reverse=True)
        return sum(costs[: 1 if relation == "add_remove" else 2], Fraction(0))
    found: Fraction = event.epsilon
    return found


def hold_event(event: Any, schema: Schema) -> None:
    """Hold an event's price to the definition of each kind."""
    cost = price(event, schema.neighbours)
    assert type(cost) is Fraction
    assert cost >= 0
    assert cost == priced(event, schema.neighbours)


def hold_selection(selection: Any, schema: Schema) -> None:
    """Hold a run to what is charged for it, and the selection to epsilon."""
    each = selection.stopping.each(EPSILON)
    selection.check(schema, each)
    assert price(selection.candidate(each), schema.neighbours) == each
    assert price(selection.event(each), schema.neighbours) == EPSILON
    assert selection.size == len(selection.among) > 0


def hold_record(record: Any, _: Schema) -> None:
    """Hold a record to being written and read again."""
    assert from_json(to_json(record)) == record
