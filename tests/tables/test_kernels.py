"""Kernels: against adding up row by row, and what one row adds against what they declare."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_tables import tally

from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import TableError
from jostle.tables.block import Block, code_type
from jostle.tables.engines import MemorySource, merge
from jostle.tables.hashes import RowHashes
from jostle.tables.kernel_list import KERNELS
from jostle.tables.kernels import BLOCK_ROWS, Counts, Kernel, Marks, SparseCounts, SparseTally, Sums
from jostle.tables.pools import Refinements

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
    columns = {
        name: np.array([code(row, name) for row in rows], dtype=code_type(SCHEMA[name].size + 1)) for name in SCHEMA
    }
    times = None if multiplicity is None else np.array(multiplicity, dtype=np.int64)
    return Table(MemorySource(SCHEMA, columns, len(rows), times))


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


@pytest.mark.parametrize(
    ("kernel", "bound", "replaced"),
    [
        (Counts.of(), 1, 1),
        (Counts.of("one"), 1, 1),
        (Counts(("one", "a")), 2, 3),
        (Counts.of("a"), 1, 2),
        (Counts((("a", "b"), "c", ())), 3, 4),
        (Counts((("a", "b"), (), (), ())), 4, 4),
        (Sums("a", [0, 1, 5], 5), 5, 5),
        (Sums("a", [-2, 1, 5], 5), 5, 7),
        (Sums("a", [2, 1, 5], 4), 4, 4),
        (Sums("a", [0, 1, 5], 5, by="c"), 5, 10),
        (Marks(["a", "b", "c"], 1, 2), 2, 3),
        (Marks(["a", "b", "c"], 1, 1), 1, 2),
        (Marks("a"), 1, 1),
        (SparseCounts(["a", "b"]), 1, 2),
        (SparseCounts([]), 1, 1),
    ],
)
def test_declared_bounds(kernel: Kernel, bound: int, replaced: int) -> None:
    assert (kernel.bound(SCHEMA), kernel.replaced(SCHEMA)) == (bound, replaced)


def test_a_row_with_too_many_marks_keeps_the_first() -> None:
    rows: list[Row] = [(1, 1, 1, 0), (0, 1, 1, 0), (0, 0, 1, 0)]

    assert tally(table_of(rows), Marks(["a", "b", "c"], 1, 2)) == [1, 2, 2]
    assert tally(table_of(rows), Marks(["c", "b", "a"], 1, 1)) == [3, 0, 0]


def test_the_least_integer_is_cut_off_like_any_other() -> None:
    """Its magnitude does not fit 64 bits: cut off in such, it would stay what it is."""
    assert tally(table_of([(0, 0, 0, 0)]), Sums("a", [-(2**63), 0, 0], 3)) == [-3]


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
