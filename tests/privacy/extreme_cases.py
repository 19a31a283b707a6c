"""For each kernel, parameters and records beyond which it goes another way, or a type of integers ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle import Categorical, Numeric, Schema
from jostle.tables.block import code_type
from jostle.tables.engines import MemorySource, RowSource, RowView, ViewSource
from jostle.tables.feature_kernels import MOST_ONES, ONES_AT_ONCE, FeatureRefinements, FeatureSums
from jostle.tables.features import FEW_COLUMNS, Bits, SparseFeatures
from jostle.tables.kernels import BLOCK_ROWS, LARGEST_WEIGHT, Counts, Kernel, Marks, SparseCounts, SparseTally, Sums
from jostle.tables.number_kernels import LARGEST_NUMBER, Moments, NumberSum, Products, Ranks
from jostle.tables.pools import GridCounts, Layer, Pool, Refinements, Stack
from jostle.tables.regions import Box, Haar, Regions
from jostle.tables.routes import LeafCounts, Routing, SplitCounts
from jostle.tables.rules import (
    MOST_GIVEN,
    MOST_POINTS,
    MOST_RULES,
    Agreements,
    Hits,
    ManyHits,
    MarginLevels,
    Margins,
    Points,
)
from jostle.tables.slopes import MOST_POINTS as MOST_SLOPED
from jostle.tables.slopes import STEEPEST, UNIT, Slopes

SIZES = [2**power + more for power in (7, 8, 16) for more in (-1, 0, 1)]
"""Numbers of codes about where their types end."""
SEVERAL = 2**8 + 1
"""Groups, layers, trees: more than the narrowest type counts."""
TIMES = 2**31
BEHIND = 1


@frozen
class Record:
    """A record: its codes, in the schema's order, the features it has, and its numbers' steps."""

    codes: tuple[int, ...]
    has: Sequence[int] | NDArray[Any] = ()
    steps: Mapping[str, int] = field(factory=dict)


@frozen
class Case:
    """A kernel, and records that may move it most."""

    kernel: Kernel
    schema: Schema
    records: tuple[Record, ...]
    """The last is like others that many of may be there."""
    among: int = BLOCK_ROWS + 3


def source(schema: Schema, records: Sequence[Record], times: Sequence[int] | None = None) -> MemorySource:
    """Return the records as a table keeps them."""
    columns = {
        name: np.array([each.codes[place] for each in records], dtype=code_type(schema[name].size))
        for place, name in enumerate(schema.names)
    }
    bits = None
    if schema.features is not None:
        ends = np.cumsum([0, *(len(each.has) for each in records)])
        found = np.concatenate([np.asarray(each.has, dtype=np.int32) for each in records])
        bits = Bits(ends.astype(np.int64), found, schema.features)
    steps = {
        name: np.array([each.steps[name] for each in records], dtype=np.uint32) for name in records[0].steps if records
    }
    held = None if times is None else np.array(times, dtype=np.int64)
    return MemorySource(schema, columns, len(records), held, bits=bits, steps=steps)


def added(kernel: Kernel, rows: RowSource) -> dict[int, int]:
    """Return what a table adds to which cells, in Python's numbers."""
    found = rows.tally(kernel, ())
    if not isinstance(found, SparseTally):
        places = np.flatnonzero(found)
        return dict(zip(places.tolist(), found[places].tolist(), strict=True))
    told: dict[int, int] = {}
    for key, count in zip(found.keys.tolist(), found.counts.tolist(), strict=True):
        told[key] = told.get(key, 0) + count
    return told


def _narrowed(case: Case, record: Record) -> RowSource:
    """Return a record of which one column more is known, and not told."""
    wider = evolve(case.schema, columns=(("more", Categorical(["x", "y"])), *case.schema.columns))
    return ViewSource(case.schema, source(wider, [evolve(record, codes=(1, *record.codes))]), RowView(case.schema))


def routes(case: Case) -> Iterator[tuple[Record, list[dict[int, int]]]]:
    """Yield each record with what it adds: alone, as one of very many alike, and of a wider table.

    And of some that add most, behind many others.
    """
    filling = [case.records[-1]] * case.among
    before = added(case.kernel, source(case.schema, filling))
    for place, record in enumerate(case.records):
        found = [added(case.kernel, source(case.schema, [record])), added(case.kernel, _narrowed(case, record))]
        many = added(case.kernel, source(case.schema, [record], [TIMES]))
        assert not any(number % TIMES for number in many.values())
        found.append({cell: number // TIMES for cell, number in many.items()})
        if place < BEHIND:
            behind = added(case.kernel, source(case.schema, [*filling, record]))
            apart = {cell: behind.get(cell, 0) - before.get(cell, 0) for cell in behind.keys() | before.keys()}
            found.append({cell: number for cell, number in apart.items() if number})
        yield record, found


def wide(size: int, classes: int = 2) -> Schema:
    """Return a schema with a column of so many codes."""
    label = Categorical([str(code) for code in range(classes)])
    return Schema({"b": Numeric(0, size, bins=size), "a": label, "one": Categorical(["x"])}, label="a")


def ends(schema: Schema) -> tuple[Record, ...]:
    """Return records at the ends of all columns."""
    last = tuple(schema[name].size - 1 for name in schema.names)
    return (
        Record(last),
        Record((last[0], *(0 for _ in last[1:]))),
        Record((last[0] // 2, *last[1:])),
        Record(tuple(0 for _ in last)),
    )


def of_sizes(make: Callable[[int], Kernel], sizes: Sequence[int] = SIZES) -> list[Case]:
    """Return a case for each number of codes of a column."""
    among = [BLOCK_ROWS + 3 if size == max(sizes) else 3 for size in sizes]
    return [Case(make(size), wide(size), ends(wide(size)), many) for size, many in zip(sizes, among, strict=True)]


def of_classes(make: Callable[[int], Kernel], most: int = 2**16 + 1) -> list[Case]:
    """Return a case for each of some numbers of classes."""
    counts = [count for count in (1, 2**8, 2**8 + 1, 2**16 + 1) if count <= most]
    return [Case(make(count), wide(5, count), ends(wide(5, count)), among=3) for count in counts]


def stump(size: int, trees: int = 1, columns: Sequence[str] = ("b",), key: int | None = None) -> Routing:
    """Return trees that share a root, which splits a column in two, and both leaves."""
    return Routing(
        columns, [0] * trees, [0, -1, -1], [0, size, size], [1] * (size // 2) + [2] * (-(-size // 2)), 1, key
    )


def points(size: int) -> list[Points]:
    """Return terms with the most points that there may be."""
    by_code = np.full((size, 2), [MOST_POINTS, -MOST_POINTS])
    by_code[size // 2 :] *= -1
    return [Points(("b",), by_code)] * SEVERAL


def margins(size: int) -> Margins:
    """Return intervals of margins, up to the ends of 64 bits."""
    far = 2 * SEVERAL * MOST_POINTS
    return Margins(points(size), positive=1, cuts=[-(2**63), -far, 1 - far, 0, far - 1, far, 2**63 - 1])


def featured(count: int, columns: int = 0) -> Schema:
    """Return a schema with so many sparse features, and columns beside them."""
    more = {f"c{place}": Categorical(["x", "y", "z"]) for place in range(columns)}
    label = Categorical(["n", "y"])
    return Schema({**more, "a": label}, label="a", features=SparseFeatures("t", buckets=count))


def crowded(schema: Schema, most: int) -> tuple[Record, ...]:
    """Return records with all features, with as many as count, with one more or less, and with none."""
    count = 0 if schema.features is None else schema.features.size
    beside = len(schema.names) - 1
    numbers = sorted({min(count, max(0, each)) for each in (count, most + 1, most, most - beside)}, reverse=True)
    full = (2,) * beside
    found = [Record((*full, place % 2), np.arange(count - number, count)) for place, number in enumerate(numbers)]
    return *found, Record((*full, 1), [0]), Record((*(0 for _ in full), 0), ())


def of_features(make: Callable[[int], Kernel], every: int = 1) -> list[Case]:
    """Return cases with as many features, and as many that count, as are looked at together; fewer, and more.

    Of these, one of *every* so many.
    """
    cases = []
    for count, columns, most in (
        *((127 + more, 0, 127 + other) for more in range(3) for other in range(2)),
        (2**8, 3, 2**8),
        (2**8, 3, 2**8 + 2),
        (ONES_AT_ONCE, 0, ONES_AT_ONCE - 1),
        (ONES_AT_ONCE + 1, 1, ONES_AT_ONCE),
        (2 * ONES_AT_ONCE, 0, 1),
        (2 * ONES_AT_ONCE + 1, 2, 2 * ONES_AT_ONCE),
    ):
        schema = featured(count, columns)
        cases.append(Case(make(most), schema, crowded(schema, most), among=3))
    return cases[::every]


def most_that_count() -> Case:
    """Return the most features of a record that may count, and some more."""
    schema = featured(count := MOST_ONES + 2)
    return Case(FeatureSums([[1, -1]], MOST_ONES), schema, (Record((1,), np.arange(count)), Record((0,), [0])), among=1)


def numbered() -> list[Schema]:
    """Return schemas with numbers on coarse and fine grains, near to 0 and far, and none for some rows."""
    far = 2**30 - 1
    return [
        Schema({"b": Numeric(low, high, bins=4, missing="value", unit=1)})
        for low, high in ((0, 1), (0, 255), (0, 2**16), (-far, far), (far - 1, far), (-far, 0), (-(2**29), 2**29 - 1))
    ]


def of_numbers(make: Callable[[int, int], Kernel]) -> list[Case]:
    """Return cases with numbers at both ends, next to them, in the middle, and none."""
    cases = []
    for schema in numbered():
        column = schema["b"]
        grain = column.grain if isinstance(column, Numeric) else None
        assert grain is not None
        steps = sorted({0, 1, grain.span // 2, grain.span - 1, grain.span, grain.none})
        records = tuple(Record((4 if step == grain.none else 0,), (), {"b": step}) for step in steps)
        cases.append(Case(make(grain.first, grain.span), schema, records))
    return cases


def from_lowest(first: int, span: int) -> NumberSum:
    return NumberSum("b", first if span < 2**30 else (first + first + span) // 2)


def named(count: int) -> Schema:
    """Return a schema with so many columns of two values."""
    return Schema({f"c{place}": Categorical(["n", "y"]) for place in range(count)})


def marks() -> list[Case]:
    cases = []
    for count in (127, 128, 255, 256, 257):
        schema = named(count)
        records = Record((1,) * count), Record((0, 1) * (count // 2) + (1,) * (count % 2)), Record((0,) * count)
        cases += [Case(Marks(schema.names, 1, most), schema, records, 5) for most in (1, count - 1, count, 2**30 - 1)]
    schema = featured(2 * FEW_COLUMNS)
    assert schema.features is not None
    records = Record((0,), np.arange(2 * FEW_COLUMNS)), Record((0,), np.arange(FEW_COLUMNS)), Record((0,), ())
    return [*cases, *(Case(Marks(schema.features.names, 1, most), schema, records, 5) for most in (1, 255, 256, 300))]


def keys_of_63_bits(make: Callable[[Sequence[str]], Kernel], sizes: Sequence[int]) -> Case:
    names = [f"x{place}" for place in range(len(sizes))]
    schema = Schema({name: Numeric(0, size, bins=size) for name, size in zip(names, sizes, strict=True)})
    schema = evolve(schema, columns=(*schema.columns, ("a", Categorical(["n", "y"]))), label="a")
    return Case(make(names), schema, ends(schema))


def halved(size: int) -> list[int]:
    return [code % 2 for code in range(size)]


def slopes(size: int) -> Slopes:
    """Return a loss whose slopes are the largest and 0, by points as far as there are."""
    points = np.array([[MOST_SLOPED, -MOST_SLOPED], [0, 1]] * size)[:size]
    line = [STEEPEST, STEEPEST, STEEPEST - 1, 0]
    return Slopes(("b", "one"), (points, [[1, -1]]), (), np.zeros((0, 2)), 0, 1, (-1, 1), (1, 1), line, -(2**61), 32)


def marked(few: int) -> Case:
    """Return marks that many and few records have, of the largest weights."""
    schema = featured(300)
    assert schema.features is not None
    weights = np.full((300, 1), MOST_SLOPED // UNIT >> 5)
    weights[::2] *= -1
    kernel = Slopes((), (), schema.features.names, weights, UNIT, few, [3], (1,), [STEEPEST, 0], -(2**30), 31)
    return Case(kernel, schema, crowded(schema, 256), among=3)


CASES: dict[type, Callable[[], list[Case]]] = {
    Counts: lambda: (
        of_sizes(lambda _: Counts([("b",), ("b", "a"), (), ("one",), *[("b",)] * SEVERAL]), SIZES[:6])
        + of_sizes(lambda _: Counts([("b", "a")]))
    ),
    Sums: lambda: (
        of_sizes(lambda size: Sums("b", [-(2**63)] * (size // 2) + [2**63 - 1] * (-(-size // 2)), LARGEST_WEIGHT))
        + of_sizes(lambda size: Sums("b", [-(2**63)] * (size - 1) + [2**63 - 1], 2**15, by=("b", "a")))
    ),
    Marks: marks,
    SparseCounts: lambda: (
        of_sizes(lambda _: SparseCounts(("b", "a")))
        + of_sizes(lambda size: SparseCounts(("b", "one"), (halved(size), ())))
        + [keys_of_63_bits(SparseCounts, (2**21, 2**20, 2**22))]
    ),
    Refinements: lambda: (
        (
            of_sizes(lambda _: Refinements((), ("b", "one"), "a"))
            + of_sizes(lambda size: Refinements(("one",), ("b",), "a", ((), halved(size))))
            + [keys_of_63_bits(lambda names: Refinements(names[:2], names[2:], "a"), (2**21, 2**20, 2**20, 2**20))]
        )
        + of_classes(lambda _: Refinements(("one",), ("b",), "a"))
    ),
    FeatureSums: lambda: (
        (
            of_features(lambda most: FeatureSums([[1, 0], [0, 1]], most, totals=True))
            + of_features(lambda most: FeatureSums([[2**10, -(2**10)]], most), 2)
            + of_features(lambda most: FeatureSums([[1, -1], [1, 1]], most, among=range(126)), 3)
            + [most_that_count()]
        )
        + of_classes(lambda count: FeatureSums([[2**10] * count, [-1] * (count - 1) + [2**10]], 1, totals=True))
    ),
    FeatureRefinements: lambda: (
        (
            of_features(lambda most: FeatureRefinements((), most))
            + of_features(lambda most: FeatureRefinements(range(1, 40), most))
        )
        + of_classes(lambda _: FeatureRefinements((0, 4), 1))
    ),
    Stack: lambda: (
        of_sizes(
            lambda size: Stack(
                [
                    Layer(("b", "a"), ((), ())),
                    Layer(("b",), (halved(size),), (("b", (size - 1, 0)),)),
                    Layer((), (), (), "b", [-LARGEST_WEIGHT] * (size // 2) + [LARGEST_WEIGHT] * (-(-size // 2))),
                    *[Layer(("one", "b"), ((), ()))] * 9,
                ]
            )
        )
        + of_sizes(lambda _: Stack([Layer(("b",), ((),))] * SEVERAL), SIZES[:3])
    ),
    Products: lambda: (
        (
            of_sizes(
                lambda size: Products(
                    ("b",), [np.array([[LARGEST_NUMBER, -LARGEST_NUMBER], [1, 0]] * size)[:size]], LARGEST_NUMBER
                )
            )
            + of_sizes(
                lambda size: Products(("b", "one"), [np.full((size, 9), -LARGEST_NUMBER), [[LARGEST_NUMBER]]]),
                SIZES[:3],
            )
        )
        + of_classes(lambda _: Products(("b",), [np.full((5, 2), -LARGEST_NUMBER)], LARGEST_NUMBER), 2**8 + 1)
    ),
    ManyHits: lambda: (
        of_sizes(lambda size: ManyHits(("b",), [np.array([[MOST_GIVEN, -MOST_GIVEN], [1, 0]] * size)[:size]], [-1, 1]))
        + of_classes(lambda count: ManyHits((), (), np.arange(count - 1)))[1:]
    ),
    Slopes: lambda: (
        of_sizes(slopes)
        + of_classes(lambda count: evolve(slopes(5), classes=(count - 1, 0)))
        + [marked(few) for few in (1, 255, 256, 300)]
    ),
    Regions: lambda: of_sizes(
        lambda size: Regions(("b", "a"), np.arange(2 * size)[::-1], [[0], np.arange(2 * size), [0, size]])
    ),
    Haar: lambda: (
        of_sizes(lambda _: Haar(("b",)))
        + of_sizes(lambda _: Haar(("b", "a", "b")), SIZES[:1])
        + [Case(Haar(named(9).names), named(9), (Record((1,) * 9), Record((1, 0, 0) * 3), Record((0,) * 9)))]
    ),
    Box: lambda: (
        of_sizes(lambda size: Box(("b", "b"), (0, size // 2), (size, size)), SIZES[:6])
        + of_sizes(lambda size: Box(("b",), (size - 1,), (size,)))
    ),
    GridCounts: lambda: (
        (
            of_sizes(
                lambda size: GridCounts(
                    Pool(("b",), [[range(size), [0] * size, halved(size)]], [[0], [1], [2], [2], [-1]])
                )
            )
            + of_sizes(
                lambda size: GridCounts(Pool(("one", "b"), [[[0]], [halved(size)]], [[0, 0], [-1, 0]] * SEVERAL)),
                SIZES[:3],
            )
        )
        + of_classes(
            lambda count: GridCounts(Pool(("b", "a"), [[range(5), [0] * 5], [range(count)]], [[0, 0], [1, 0], [-1, 0]]))
        )
    ),
    LeafCounts: lambda: (
        (
            of_sizes(lambda size: LeafCounts(stump(size, 9)))
            + of_sizes(lambda size: LeafCounts(stump(size, SEVERAL)), SIZES[:3])
            + of_sizes(lambda size: LeafCounts(stump(size, SEVERAL, key=2**64 - 1), by_class=False), SIZES[:3])
        )
        + of_classes(lambda _: LeafCounts(stump(5, 3)))
    ),
    SplitCounts: lambda: (
        (
            of_sizes(lambda size: SplitCounts(stump(size, 3, ("b", "a", "b")), [1, 2]))
            + of_sizes(lambda size: SplitCounts(stump(size, SEVERAL), [2]), SIZES[:3])
            + of_sizes(lambda size: SplitCounts(stump(size, SEVERAL, key=1), [2, 1]), SIZES[:3])
        )
        + of_classes(lambda _: SplitCounts(stump(5, 3, ("b", "a")), [2]), 2**8 + 1)
    ),
    Hits: lambda: (
        (
            of_sizes(lambda size: Hits(points(size)), SIZES[:3])
            + of_sizes(lambda size: Hits(points(size)[:1], misses=True))
        )
        + of_classes(lambda count: Hits([Points(("b",), np.full((5, count), MOST_POINTS))], misses=True), 2**8 + 1)
    ),
    Agreements: lambda: of_sizes(lambda size: Agreements([Hits(points(size)[:1])] * MOST_RULES), SIZES[3:7]),
    Margins: lambda: of_sizes(margins, SIZES[:3]),
    MarginLevels: lambda: of_sizes(lambda size: MarginLevels(margins(size)), SIZES[:3]),
    NumberSum: lambda: of_numbers(from_lowest),
    Moments: lambda: (
        of_numbers(lambda _, __: Moments("b", 1, LARGEST_WEIGHT))
        + of_numbers(lambda _, __: Moments("b", 2, LARGEST_NUMBER))
    ),
    Ranks: lambda: of_numbers(lambda _, __: Ranks("b", [0])) + of_numbers(lambda _, span: Ranks("b", [0, span])),
}
"""For each kernel, what makes its cases."""
