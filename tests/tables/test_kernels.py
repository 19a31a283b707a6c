"""Kernels count and add up what slow loops over rows do, and no row adds more than they say."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from some_tables import added_up, block_of, source_of, tally

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import ProbeError, TableError
from jostle.privacy.scores import Misfit
from jostle.tables import pools as module
from jostle.tables.block import Block, code_type
from jostle.tables.closed import KERNELS
from jostle.tables.engines import MemorySource, merge
from jostle.tables.hashes import RowHashes
from jostle.tables.kernels import BLOCK_ROWS, LARGEST_WEIGHT, Counts, Kernel, Marks, SparseCounts, SparseTally, Sums
from jostle.tables.number_kernels import LARGEST_NUMBER, Moments, NumberSum, Products, Ranks
from jostle.tables.pools import GridCounts, KeptCounts, Layer, Pool, Refinements, Stack, joints
from jostle.tables.regions import Box, Regions
from jostle.tables.values import LARGEST_MULTIPLE, finest_grain, grain_of

SCHEMA = Schema(
    {
        "a": Categorical(["0", "1", "2"]),
        "b": Numeric(0, 1, bins=2),
        "c": Categorical(["0", "1"]),
        "one": Numeric(0, 1, bins=1),
    }
)
Row = tuple[int, ...]
EVERY_ROW: list[Row] = list(product(*(range(SCHEMA[name].size + 1) for name in SCHEMA)))
"""Blanks included, which come after the codes."""


def coarse(name: str) -> tuple[int, ...]:
    """Return groups of a column's codes: all but the first together."""
    return tuple(min(code, 1) for code in range(SCHEMA[name].size))


names = st.sampled_from(SCHEMA.names)
groups = st.lists(names, max_size=3)
weights = st.integers(-4, 4) | st.sampled_from([-(2**63), 2**63 - 1])
every_kernel: st.SearchStrategy[Any] = st.one_of(
    st.builds(Counts, st.lists(groups, min_size=1, max_size=4)),
    st.builds(
        Sums, st.just("a"), st.lists(weights, min_size=3, max_size=3), st.integers(1, 5) | st.just(2**30 - 1), groups
    ),
    st.builds(Marks, st.lists(names, min_size=1, max_size=5), st.just(0), st.integers(1, 6)),
    st.builds(Marks, st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5), st.just(1), st.integers(1, 6)),
    st.builds(SparseCounts, groups),
    st.lists(names, max_size=3).map(lambda columns: SparseCounts(columns, [coarse(name) for name in columns])),
    st.permutations(SCHEMA.names).flatmap(
        lambda order: st.integers(1, 3).map(
            lambda split: Refinements(order[: split - 1], order[split - 1 : 3], order[3])
        )
    ),
    st.just(Refinements(["a"], ["one", "b"], "c", [coarse(name) for name in ("a", "one", "b")])),
)
conditions = st.lists(st.tuples(names, st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)), max_size=2).map(
    tuple
)


def code(row: Row, name: str) -> int:
    return row[SCHEMA.names.index(name)]


def is_full(row: Row, group: tuple[str, ...]) -> bool:
    return all(code(row, name) < SCHEMA[name].size for name in group)


def place(row: Row, group: tuple[str, ...], groups: tuple[tuple[int, ...], ...] = ()) -> int:
    found = 0
    for name, merged in zip(group, groups or [()] * len(group), strict=True):
        own = merged or tuple(range(SCHEMA[name].size))
        found = found * (max(own) + 1) + own[code(row, name)]
    return found


def adds(kernel: Any, row: Row) -> Counter[int]:  # noqa: C901 - a case for each kernel
    """Return what a row adds to which cells, the obvious way."""
    found: Counter[int] = Counter()
    if isinstance(kernel, Counts):
        start = 0
        for group in kernel.groups:
            if is_full(row, group):
                found[start + place(row, group)] += 1
            start += SCHEMA.size(*group)
    elif isinstance(kernel, SparseCounts):
        if is_full(row, kernel.columns):
            found[place(row, kernel.columns, kernel.groups)] += 1
    elif isinstance(kernel, Refinements):
        if not is_full(row, (kernel.by,)):
            return found
        row = tuple(code(row, name) if is_full(row, (name,)) else 0 for name in SCHEMA.names)
        start, chosen = 0, len(kernel.base)
        for index, candidate in enumerate(kernel.candidates):
            groups = (*kernel.groups[:chosen], kernel.groups[chosen + index], ()) if kernel.groups else ()
            found[start + place(row, (*kernel.base, candidate, kernel.by), groups)] += 1
            start += kernel.sizes(SCHEMA)[index]
    elif isinstance(kernel, Sums):
        if is_full(row, (kernel.column, *kernel.by)):
            weight = kernel.weights[code(row, kernel.column)]
            found[place(row, kernel.by)] += min(max(weight, -kernel.most), kernel.most)
    else:
        marked = [index for index, name in enumerate(kernel.columns) if code(row, name) == kernel.code]
        found.update(marked[: kernel.most])
    return found


def meets(row: Row, where: tuple[tuple[str, tuple[int, ...]], ...]) -> bool:
    return all(code(row, name) in codes for name, codes in where)


def table_of(rows: list[Row], multiplicity: list[int] | None = None) -> Table:
    block = block_of(SCHEMA, rows, multiplicity)
    return Table(MemorySource(SCHEMA, block.columns, len(rows), block.multiplicity))


rows_with_times = st.lists(st.tuples(st.sampled_from(EVERY_ROW), st.integers(0, 3)), max_size=12)


@given(rows_with_times, every_kernel, conditions)
def test_a_tally_is_the_sum_over_rows(rows: list[tuple[Row, int]], kernel: Kernel, where: Any) -> None:
    told: Counter[int] = Counter()
    for row, times in rows:
        for _ in range(times if meets(row, where) else 0):
            told.update(adds(kernel, row))
    dense = [told[cell] for cell in range(kernel.cells(SCHEMA))]

    written_out = [row for row, times in rows for _ in range(times)]
    assert tally(table_of(written_out), kernel, where) == dense
    assert tally(table_of([row for row, _ in rows], [times for _, times in rows]), kernel, where) == dense


@given(every_kernel)
def test_no_row_adds_more_than_the_bound(kernel: Kernel) -> None:
    """Nor do two rows differ by more than *replaced*, nor one row from none, which is to enter or leave a part."""
    rows = [Counter[int](), *(adds(kernel, row) for row in EVERY_ROW)]
    most = max(sum(map(abs, row.values())) for row in rows)
    farthest = max(
        sum(abs(one[cell] - other[cell]) for cell in one.keys() | other.keys()) for one, other in combinations(rows, 2)
    )

    assert most <= kernel.bound(SCHEMA)
    assert farthest <= kernel.replaced(SCHEMA)
    if not isinstance(kernel, Sums | Marks):  # those may declare more than their weights and columns can do
        assert most == kernel.bound(SCHEMA)
        # Groups that share a column leave together, of which the bound for groups of one cell takes no account.
        shared = isinstance(kernel, Counts) and any(SCHEMA.size(*group) == 1 for group in kernel.groups if group)
        assert shared or farthest == kernel.replaced(SCHEMA)


# Widths of integers


@pytest.mark.parametrize(
    "sizes", [(255,), (256,), (257,), (16, 16), (2, 128), (1, 256), (256, 1), (65536,), (257, 255)]
)
def test_keys_fit_the_narrow_integers_they_are_made_of(sizes: tuple[int, ...]) -> None:
    schema = Schema({str(place): Numeric(0, size, bins=size) for place, size in enumerate(sizes)})
    last = {name: np.array([schema[name].size - 1, 0], dtype=code_type(schema[name].size)) for name in schema}
    source = MemorySource(schema, last, 2)
    cells = schema.size(*schema.names)

    dense = source.tally(Counts.of(*schema.names), ())
    sparse = source.tally(SparseCounts(schema.names), ())

    assert isinstance(dense, np.ndarray)
    assert isinstance(sparse, SparseTally)
    assert np.flatnonzero(dense).tolist() == sparse.keys.tolist() == [0, cells - 1]


@given(st.data())
def test_sparse_keys_of_63_bits(data: st.DataObject) -> None:
    """Against Python's integers, which have no end."""
    sizes = [2**21, 2**20, 2**22]
    schema = Schema({name: Numeric(0, size, bins=size) for name, size in zip("xyz", sizes, strict=True)})
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes)), min_size=1, max_size=5))
    rows.append((sizes[0] - 1, sizes[1] - 1, sizes[2] - 1))
    columns = {
        name: np.array(codes, dtype=code_type(size))
        for name, codes, size in zip("xyz", zip(*rows, strict=True), sizes, strict=True)
    }
    found = MemorySource(schema, columns, len(rows)).tally(SparseCounts(tuple("xyz")), ())
    told = Counter((x * sizes[1] + y) * sizes[2] + z for x, y, z in rows)

    assert isinstance(found, SparseTally)
    assert dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)) == told
    assert found.keys.tolist() == sorted(told)
    assert max(told) == 2**63 - 1


def test_tables_longer_than_a_block() -> None:
    length = 3 * BLOCK_ROWS + 17
    schema = Schema({"a": Numeric(0, 5, bins=5), "b": Numeric(0, 300, bins=300)})
    generator = np.random.default_rng(0)
    columns = {"a": generator.integers(0, 5, length, np.uint8), "b": generator.integers(0, 300, length, np.uint16)}
    table = Table(MemorySource(schema, columns, length))
    pairs = columns["a"].astype(np.int64) * 300 + columns["b"]

    assert tally(table, Counts((("a", "b"), "a"))) == [
        *np.bincount(pairs, minlength=1500).tolist(),
        *np.bincount(columns["a"], minlength=5).tolist(),
    ]
    assert tally(table, SparseCounts(["a", "b"])) == np.bincount(pairs, minlength=1500).tolist()


@given(st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 5)), max_size=9))
def test_partial_tallies_add_up(parts: list[dict[int, int]]) -> None:
    sparse = [SparseTally(np.array(sorted(part)), np.array([part[key] for key in sorted(part)])) for part in parts]
    merged = merge(SparseTally(part.keys.astype(np.int64), part.counts.astype(np.int64)) for part in sparse)
    told = sum(map(Counter, parts), Counter[int]())

    assert isinstance(merged, SparseTally)
    assert dict(zip(merged.keys.tolist(), merged.counts.tolist(), strict=True)) == told


# What is refused


def refused(kernel: Any) -> None:
    with pytest.raises(TableError, match="is not a known kernel"):
        KERNELS.check(kernel)


def test_a_kernel_of_the_asker_s_making_is_refused() -> None:
    class Spy(Counts):
        def add(self, block: Block, schema: Schema, totals: Any) -> None:
            raise AssertionError("runs on rows")

    refused(Spy.of("a"))
    refused(RowHashes())
    refused(lambda block: block)


def test_no_method_can_be_put_in_the_place_of_a_kernel_s_own() -> None:
    for kernel in (Counts.of("a"), Sums("a", [1, 2, 3], 2), Marks(["a"]), SparseCounts(["a"])):
        with pytest.raises(AttributeError):
            object.__setattr__(kernel, "bound", lambda schema: 0)


# Numbers in whole steps of a public unit: what they become, what kernels add up of them, and what a row can change.


# Units


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_a_unit_that_is_not_declared_is_a_power_of_ten_that_fits(low: float, width: float) -> None:
    high = low + width
    grain = finest_grain(low, high)
    if grain is None:
        assert width < 2 * max(abs(low), abs(high)) / LARGEST_MULTIPLE * 10
        return
    assert Fraction(repr(low)) <= grain.number(0) < grain.number(grain.span) <= Fraction(repr(high))
    assert max(abs(grain.first), abs(grain.last), grain.span // 64) <= LARGEST_MULTIPLE
    assert math.log10(grain.unit) == round(math.log10(grain.unit))
    finer = grain.unit / 10
    assert (high - low) / finer > 2**24 or max(abs(low), abs(high)) / finer > LARGEST_MULTIPLE


@pytest.mark.parametrize(("low", "high"), [(0, 1e-300), (-3e-320, 3e-320), (-1e300, 1e300), (1e307, 1.1e307)])
def test_numbers_of_any_size_are_read_with_a_unit_or_without(low: float, high: float) -> None:
    """A unit below 10**-308 is a fraction whose denominator is no float: with such numbers, no table opened."""
    schema = Schema({"a": Numeric(low, high, bins=2)})
    table = Table.from_frame(pd.DataFrame({"a": [low, high, math.inf, -math.inf, 0.0, None]}), schema)
    assert sum(tally(table, Counts.of("a"))) == 5
    grain = finest_grain(low, high)
    if grain is not None:
        assert tally(table, Ranks("a", [0, grain.span])) == [3, 2]


@given(st.sampled_from([1, 0.5, 0.01, 3]), st.lists(st.floats(-50, 150) | st.none(), min_size=1, max_size=20))
def test_numbers_become_the_nearest_multiple_between_the_bounds(unit: float, numbers: list[float | None]) -> None:
    column = Numeric(0, 100, bins=4, missing="value", unit=unit)
    grain = grain_of(0, 100, unit)
    assert grain is not None
    table = Table.from_frame(pd.DataFrame({"a": pd.array(numbers, "Float64")}), Schema({"a": column}))
    ends = [grain.number(0), grain.number(grain.span)]
    told = sum(
        min(max(round(Fraction(number) / grain.unit) * grain.unit, ends[0]), ends[1])
        for number in numbers
        if number is not None
    )
    (found,) = tally(table, NumberSum("a"))

    # Halfway between two multiples, doubles may go either way.
    halfway = sum(abs(number / unit % 1 - 0.5) < 1e-9 for number in numbers if number is not None)
    assert abs(found - told / grain.unit) <= halfway


# What is added up


AGES = Schema({"age": Numeric(-1, 2, bins=2, missing="value", unit=1), "ill": Categorical(["no", "yes"])})


def table_of_ages(rows: list[tuple[float | None, str]]) -> Table:
    return Table.from_frame(pd.DataFrame(rows, columns=["age", "ill"]), AGES)


@pytest.mark.parametrize("most", [3, 6, 30, 32766])
def test_moments_tell_number_mean_and_variance(most: int) -> None:
    rows: list[tuple[float | None, str]] = [(-1, "no"), (2, "no"), (2, "yes"), (1, "no"), (None, "no")]
    first, second, third = tally(table_of_ages(rows), Moments("age", 2, most))
    from_high, from_low = tally(table_of_ages(rows), Moments("age", 1, most))
    numbers = np.array([-1, 2, 2, 1])
    together = first + second + third

    assert from_high + from_low == 4 * most
    assert together == 4 * most**2
    assert -1 + 3 * from_low / (4 * most) == pytest.approx(numbers.mean())
    assert 9 * (first * third - second**2 / 4) / together**2 == pytest.approx(numbers.var())


def test_of_a_grid_numbers_are_the_cells() -> None:
    table = Table.from_grid([0, 2, 0, 5])

    assert tally(table, NumberSum("x")) == [17 * 10**6]
    assert source_of(table).schema["x"].labels[1] == "[1, 2)"


# Sums of products: what they are of every small table, and that no row changes more than is said.


SCHEMA_OF_PRODUCTS = Schema(
    {"a": Categorical(["0", "1", "2"]), "label": Categorical(["n", "y"]), "b": Categorical(["0", "1"])}, label="label"
)
A, B = np.array([[5, 0], [0, 5], [0, 0]]), np.array([[-3], [2]])
EVERY_ROW_OF_PRODUCTS = list(product(range(3), range(2), range(2)))
KERNEL = Products(("a", "b"), (A, B), 4)


def by_hand(rows: Sequence[tuple[int, ...]]) -> list[int]:
    found = np.zeros(6 + 2 * 4, dtype=np.int64)
    for a, label, b in rows:
        x = [*A[a].tolist(), *B[b].tolist()]
        found[:6] += [x[f] * x[g] for f in range(3) for g in range(f, 3)]
        found[6 + 4 * label : 10 + 4 * label] += [4 * each for each in (4, *x)]
    return [int(each) for each in found]


@given(st.lists(st.tuples(st.sampled_from(EVERY_ROW_OF_PRODUCTS), st.integers(0, 3)), max_size=12))
def test_products_and_sums_by_class_are_added_up(rows: list[tuple[tuple[int, ...], int]]) -> None:
    plain = [row for row, times in rows for _ in range(times)]
    assert added_up(KERNEL, SCHEMA_OF_PRODUCTS, plain) == by_hand(plain)
    assert added_up(KERNEL, SCHEMA_OF_PRODUCTS, [row for row, _ in rows], [times for _, times in rows]) == by_hand(
        plain
    )


def test_many_rows_of_the_largest_numbers_are_added_up_exactly() -> None:
    kernel = Products(("a",), (np.array([[LARGEST_NUMBER, LARGEST_NUMBER - 1]] * 3),), LARGEST_NUMBER)
    count = 40_001
    once = added_up(kernel, SCHEMA_OF_PRODUCTS, [(0, 1, 0)])
    assert added_up(kernel, SCHEMA_OF_PRODUCTS, [(0, 1, 0)] * count) == [count * each for each in once]
    assert added_up(kernel, SCHEMA_OF_PRODUCTS, [(0, 1, 0)], [2**33]) == [2**33 * each for each in once]


# Stacks: several grouped, conditioned, weighted tallies in one pass, with what a row adds to them bounded.


SCHEMA_OF_STACKS = Schema(
    {
        "x": Numeric(0, 4, bins=4),
        "y": Numeric(0, 3, bins=3),
    }
)
WEIGHTS = (5, -2, 0, 1)
LAYERS = (
    Layer(("x", "y"), ((), ())),
    Layer(("y", "x"), ((), (0, 0, 1, 1)), (("x", (1, 2, 3)), ("x", (0, 1, 2)))),
    Layer((), (), (("y", ()),)),
    Layer(("y",), ((1, 0, 1),), (("y", (0, 2)),), "x", WEIGHTS),
    Layer((), (), (), "x", WEIGHTS),
)
STACK = Stack(LAYERS)

grids = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=4, max_size=4).map(np.array)


def by_hand_of_stacks(counts: NDArray[np.int64], layer: Layer) -> list[int]:
    """Return a layer's numbers, record by record."""
    found: Counter[tuple[int, ...]] = Counter()
    for place in product(range(4), range(3)):
        codes = dict(zip(("x", "y"), place, strict=True))
        if all(codes[name] in allowed for name, allowed in layer.where):
            groups = zip(layer.columns, layer.groups, strict=True)
            cell = tuple(group[codes[name]] if group else codes[name] for name, group in groups)
            weight = 1 if layer.weighted is None else layer.weights[codes[layer.weighted]]
            found[cell] += weight * int(counts[place])
    return [found[cell] for cell in product(*map(range, layer.shape(SCHEMA_OF_STACKS)))]


@given(grids)
def test_layers_stand_one_after_the_other(counts: NDArray[np.int64]) -> None:
    assert tally(Table.from_grid(counts), STACK) == [
        each for layer in LAYERS for each in by_hand_of_stacks(counts, layer)
    ]


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_the_least_number_of_a_narrow_type_is_not_taken_for_its_own_magnitude(
    kind: type[np.signedinteger[Any]],
) -> None:
    """In such a type, abs(least) == least: the largest magnitude would be 1, and the noise would hide nothing."""
    least = int(np.iinfo(kind).min)
    weights = np.array([least, least, least, 1], dtype=kind)
    if -least > LARGEST_WEIGHT:
        with pytest.raises(TableError, match="weights is"):
            Layer(("y",), ((),), (), "x", weights)
    else:
        kernel = Stack((Layer(("y",), ((),), (), "x", weights),))
        counts = np.zeros((4, 3), dtype=np.int64)
        counts[0, 1] = 1
        assert tally(Table.from_grid(counts), kernel) == [0, least, 0]
        assert kernel.bound(SCHEMA_OF_STACKS) == -least


# Kernels over grids: what they count, and that a row adds no more than they say.


def test_regions_count_the_cells_of_each_run_of_the_order() -> None:
    counts = np.array([[1, 2], [4, 8]])
    kernel = Regions(("x", "y"), np.array([3, 0, 2, 1]), (np.array([0, 1]), np.array([0]), np.array([0, 2, 3])))

    assert tally(Table.from_grid(counts), kernel) == [8, 7, 15, 9, 4, 2]


def test_boxes_count_what_is_inside() -> None:
    counts = np.array([[1, 2, 4], [8, 16, 32]])

    assert tally(Table.from_grid(counts), Box(("x", "y"), (0, 1), (2, 2))) == [18]
    assert tally(Table.from_grid(counts), Box(("x", "y"), (1, 0), (2, 3))) == [56]


def test_the_box_that_is_answered_worst_is_picked_when_there_is_budget() -> None:
    counts = np.array([5, 5, 90, 5])
    low, high = np.array([[0], [2], [0]]), np.array([[2], [3], [4]])
    db = jostle.rehearse(Table.from_grid(counts), epsilon=100, seed=0)

    assert db.pick(Misfit(("x",), low, high, np.array([10, 40, 100])), 50) == 1
    with pytest.raises(ProbeError, match="do not lie in the grid"):
        db.pick(Misfit(("x",), low, high + 1, np.array([10, 40, 100])), 1)
    with pytest.raises(TableError, match="answers is"):
        db.pick(Misfit(("x",), low, high, np.array([10, 40, -(2**63)])), 1)


# Joints: what is counted in place of many grids gives what these would count one by one.


SIDES = (5, 1, 4, 3)
"""Codes of each column; blanks come after them in all but the last."""


def schema() -> Schema:
    """Return columns of which a row may be blank in all but one."""
    columns = {f"c{place}": Categorical(range(side)) for place, side in enumerate(SIDES[:-1])}
    return Schema({**columns, "label": Categorical(range(SIDES[-1]), outside="drop", missing="drop")}, label="label")


SCHEMA_OF_JOINTS = schema()
TAXONOMY = ([0, 0, 1, 1, 1], [0, 0, 1, 2, 2], [3, 4, 2, 1, 0])
"""Levels of which each splits the one before; the last is in another order."""
CROSSING = ([0, 0, 1, 1], [0, 1, 0, 1])
"""Levels of which neither splits the other."""


def a_pool(chance: random.Random) -> Pool:
    """Return grids of levels in any order, some of them twice, with groups that no code is in."""
    levels = (
        chance.sample(TAXONOMY, 3),
        ([0],),
        chance.choice([CROSSING, ([0, 2, 2, 0],), ([0, 0, 0, 0], [0, 1, 2, 3])]),
        ([0, 1, 2],),
    )
    taken = [[chance.randrange(-1, len(own)) for own in levels] for _ in range(chance.randint(1, 40))]
    return Pool(SCHEMA_OF_JOINTS.names, tuple(map(np.array, levels)), taken)


def rows(chance: random.Random, count: int, *, blanks: bool) -> MemorySource:
    """Return rows, some of them several times."""
    columns = {
        name: np.array(
            [chance.randrange(side + (blanks and name != "label")) for _ in range(count)], dtype=code_type(side + 1)
        )
        for name, side in zip(SCHEMA_OF_JOINTS.names, SIDES, strict=True)
    }
    times = np.array([chance.choice([1, 1, 2, 7]) for _ in range(count)]) if chance.random() < 0.5 else None
    return MemorySource(SCHEMA_OF_JOINTS, columns, count, times)


def by_hand_of_joints(source: MemorySource, pool: Pool) -> list[int]:
    """Return the counts of all grids, row by row."""
    found: list[int] = []
    for taken in pool.taken.tolist():
        about = [place for place, level in enumerate(taken) if level >= 0]
        sides = [int(pool.levels[place][taken[place]].max()) + 1 for place in about]
        counts = dict.fromkeys(product(*map(range, sides)), 0)
        for row in range(source.length):
            codes = [int(source.columns[pool.columns[place]][row]) for place in about]
            if all(code < SIDES[place] for place, code in zip(about, codes, strict=True)):
                cell = tuple(
                    int(pool.levels[place][taken[place]][code]) for place, code in zip(about, codes, strict=True)
                )
                counts[cell] += 1 if source.multiplicity is None else int(source.multiplicity[row])
        found += counts.values()
    return found


@pytest.mark.parametrize("room", [1, 60, 2**15])
@pytest.mark.parametrize("blanks", [False, True])
def test_they_give_the_counts_of_all_grids(monkeypatch: pytest.MonkeyPatch, room: int, blanks: bool) -> None:
    monkeypatch.setattr(module, "LEAST_JOINT", room)
    for number in range(25):
        chance = random.Random(number)
        pool, source = a_pool(chance), rows(chance, 30, blanks=blanks)
        made = joints.__wrapped__(pool, SCHEMA_OF_JOINTS)
        tally = np.asarray(source.tally(GridCounts(made.counted), ()))
        expected = by_hand_of_joints(source, pool)
        assert made.added_up(tally).tolist() == expected
        assert np.asarray(source.tally(GridCounts(pool), ())).tolist() == expected
        assert len(made.counted.taken) <= len(pool.taken)


def test_a_row_is_in_one_cell_of_each_joint_even_where_it_is_blank() -> None:
    chance = random.Random(3)
    kernel = GridCounts(joints(a_pool(chance), SCHEMA_OF_JOINTS).counted)
    for _ in range(50):
        assert np.asarray(rows(chance, 1, blanks=True).tally(kernel, ())).sum() % kernel.bound(SCHEMA_OF_JOINTS) == 0


def test_grids_that_lie_in_one_another_are_counted_once() -> None:
    levels = ([[0, 0, 1, 1, 1], [0, 1, 2, 3, 4]], [[0]], [[0, 1, 2, 3]], [[0, 1, 2]])
    pool = Pool(SCHEMA_OF_JOINTS.names, levels, list(product(range(-1, 2), [-1], range(-1, 1), [0])))
    made = joints(pool, SCHEMA_OF_JOINTS)
    assert made.counted.taken.tolist() == [[1, -1, 0, 0]]
    assert made.counted.sizes == [6 * 5 * 3]  # with a group for those that are blank


def test_no_more_cells_are_held_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(SCHEMA_OF_JOINTS.names, ([list(range(5))], [[0]], [list(range(4))], [[0, 1, 2]]),
                [[0, -1, -1, -1], [-1, -1, 0, -1], [-1, -1, -1, 0]])  # fmt: skip
    monkeypatch.setattr(module, "MOST_HELD", 6 + 5 + 3 + 4)
    made = joints.__wrapped__(pool, SCHEMA_OF_JOINTS)
    assert sorted(made.counted.sizes) == [3, 5, 6]


def test_grids_that_were_counted_before_are_not_counted_again() -> None:
    chance = random.Random(5)
    source, asked = rows(chance, 300, blanks=True), [a_pool(chance) for _ in range(6)]
    kept, counted = KeptCounts(), []

    def tally(kernel: Kernel) -> Any:
        assert isinstance(kernel, GridCounts)
        counted.append(len(kernel.pool.taken))
        return source.tally(kernel, ())

    for pool in [*asked, *asked]:
        kernel = GridCounts(joints(pool, SCHEMA_OF_JOINTS).counted)
        assert np.array_equal(kept.tally(kernel, tally), np.asarray(source.tally(kernel, ())))
    assert len(counted) <= len(asked)
    assert sum(counted) < sum(len(joints(pool, SCHEMA_OF_JOINTS).counted.taken) for pool in asked)


def test_counts_are_kept_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 9)
    levels = ([list(range(5))], [[0]], [list(range(4))], [[0, 1, 2]])
    kernel = GridCounts(Pool(SCHEMA_OF_JOINTS.names, levels, [[0, -1, -1, -1], [-1, -1, 0, -1], [-1, -1, -1, 0]]))
    source, kept, counted = rows(random.Random(5), 40, blanks=False), KeptCounts(), []

    def tally(kernel: Kernel) -> Any:
        counted.append(kernel.cells(SCHEMA_OF_JOINTS))
        return source.tally(kernel, ())

    for _ in range(3):
        assert np.array_equal(kept.tally(kernel, tally), np.asarray(source.tally(kernel, ())))
    assert counted == [5 + 4 + 3, 3, 3]
