"""Blanks: a row without a value in a column takes no part in what is asked about it, and takes part in all else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import evolve, field, frozen
from numpy.typing import NDArray
from some_tables import block_of, tally

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.options.models.kinds import BayesTreeModel, TreeModel
from jostle.privacy.column_scores import SetDiscernibility
from jostle.privacy.expressions import cells, rows, sensitivity, total
from jostle.tables.attributes import UNKNOWN, attribute_codes
from jostle.tables.closed import KERNELS
from jostle.tables.engines import MemorySource
from jostle.tables.feature_kernels import FeatureRefinements, FeatureSums
from jostle.tables.hashes import RowHashes
from jostle.tables.kernels import Counts, Marks, SparseCounts, Sums
from jostle.tables.number_kernels import Moments, NumberSum, Products, Ranks
from jostle.tables.persons import PersonBands, PersonCount
from jostle.tables.pools import GridCounts, Layer, Pool, Refinements, Stack
from jostle.tables.regions import Box, Haar, Regions
from jostle.tables.routes import LeafCounts, Routing, SplitCounts
from jostle.tables.rules import Agreements, Hits, ManyHits, MarginLevels, Margins, Points
from jostle.tables.slopes import Slopes, huber_line

SCHEMA = Schema(
    {
        "a": Categorical(["0", "1", "2"]),
        "b": Categorical(["0", "1"]),
        "n": Numeric(0, 3, bins=3, unit=1),
        "label": Categorical(["no", "yes"]),
    },
    label="label",
)
Row = tuple[int, ...]
EVERY_ROW: list[Row] = list(product(*(range(SCHEMA[name].size + 1) for name in SCHEMA)))
FULL_ROWS = [row for row in EVERY_ROW if all(code < SCHEMA[name].size for code, name in zip(row, SCHEMA, strict=True))]


def table_of(given: list[Row], times: list[int] | None = None) -> Table:
    block = block_of(SCHEMA, given, times)
    return Table(MemorySource(SCHEMA, block.columns, len(given), block.multiplicity))


def added(kernel: Any, row: Row) -> NDArray[np.int64]:
    """Return what a row adds."""
    return np.array(tally(table_of([row]), kernel), dtype=np.int64)


# Every kernel

Question = tuple[tuple[str, ...], int]
"""The columns that some cells are about, and how many cells these are."""


@frozen(eq=False)
class Case:
    """A kernel, and what it should make of blanks."""

    kernel: Any
    questions: tuple[Question, ...]
    """One after the other."""
    branching: tuple[str, ...] = ()
    """Columns in which a blank is as the first code."""
    without: dict[str, Any] = field(factory=dict)
    """For columns of which a blank adds nothing to what else is added up: a kernel that does not look there."""

    def expected(self, row: Row, blank: str) -> NDArray[np.int64]:
        """What the row adds, were it blank there."""
        kernel = self.without.get(blank, self.kernel)
        if blank in self.branching:
            row = tuple(0 if name == blank else code for name, code in zip(SCHEMA, row, strict=True))
        found = added(kernel, row)
        keep = [blank not in names for names, size in self.questions for _ in range(size)]
        return np.where(keep, found, 0)


TREES = Routing(("a", "b", "n"), [0, 6], [0, 1, 1, -1, -1, -1, 2, -1, -1], [0, 3, 5, 0, 0, 0, 7, 0, 0],
                [1, 2, 2, 3, 4, 4, 5, 7, 8, 8], 2)  # fmt: skip
POOL = Pool(("a", "b", "label"), ([[0, 1, 1]], [[0, 1]], [[0, 1]]), [[-1, -1, 0], [0, -1, 0], [-1, 0, 0], [0, 0, 0]])
START = Points((), np.array([[0, 1]]))
A_TERM, B_TERM = Points("a", [[4, 0], [0, 3], [0, 2]]), Points("b", [[0, 5], [3, 0]])
CODED = {"a": np.array([[1, 2], [0, -1], [3, 1]]), "b": np.array([[2], [-2]])}
AB: Question = (("a", "b"), 6)
LABELLED = ("label",)


def _zeroed(term: Points) -> Points:
    return evolve(term, table=0 * term.table)


def rule(make: Callable[..., Any], cells: int) -> Case:
    """Return the case of a kernel that goes by what two columns give each class."""
    without = {"a": make((START, _zeroed(A_TERM), B_TERM)), "b": make((START, A_TERM, _zeroed(B_TERM)))}
    return Case(make((START, A_TERM, B_TERM)), ((LABELLED, cells),), without=without)


def multiplied(blank: str) -> Products:
    """Return the products where a column's numbers are all zero."""
    return Products(("a", "b"), tuple(own * (name != blank) for name, own in CODED.items()), 3)


A_POINTS, B_POINTS = np.array([[2000], [-500], [90]]), np.array([[-300], [1000]])


def sloped(blank: str) -> Slopes:
    """Return the slopes where a column gives no points."""
    points = tuple(own * (name != blank) for name, own in (("a", A_POINTS), ("b", B_POINTS)))
    line, first = huber_line(5)
    return Slopes(("a", "b"), points, (), np.zeros((0, 1), dtype=np.int64), 0, 1, [40], (1,), line, first, 5)


def hit(blank: str) -> ManyHits:
    """Return what two rules get right where a column gives no points."""
    gives = {"a": np.array([[4, -1], [-3, 2], [-1, 5]]), "b": np.array([[-2, 2], [3, -4]])}
    return ManyHits(("a", "b"), tuple(own * (name != blank) for name, own in gives.items()), [1, -1])


def margins(terms: Any) -> Margins:
    return Margins(terms, positive=1, cuts=[-3, 0, 2])


CASES = [
    Case(Counts((("a",), ("b",), ("a", "b"), (), LABELLED)), ((("a",), 3), (("b",), 2), AB, ((), 1), (LABELLED, 2))),
    Case(Sums("a", [5, -1, 2], 5, by="b"), ((("a", "b"), 2),)),
    Case(Marks(["a", "b", "n"], 1, 3), ((("a",), 1), (("b",), 1), (("n",), 1))),
    Case(SparseCounts(["a", "b"]), (AB,)),
    Case(SparseCounts(["a", "b"], [[0, 1, 1], []]), ((("a", "b"), 4),)),
    Case(Box(["a", "b"], [0, 0], [3, 2]), ((("a", "b"), 1),)),
    Case(Regions(["a", "b"], [3, 1, 2, 0, 5, 4], ([0], [0, 2, 3])), ((("a", "b"), 4),)),
    Case(Haar(["a", "b"]), ((("a", "b"), 8),)),
    Case(NumberSum("n", -1), ((("n",), 1),)),
    Case(Moments("n", 2, 9), ((("n",), 3),)),
    Case(Ranks("n", [0, 2]), ((("n",), 2),)),
    Case(multiplied(""), ((LABELLED, 14),), without={"a": multiplied("a"), "b": multiplied("b")}),
    Case(hit(""), ((LABELLED, 2),), without={"a": hit("a"), "b": hit("b")}),
    Case(
        sloped(""),
        ((LABELLED, 1), (("a", "label"), 3), (("b", "label"), 2), (LABELLED, 1)),
        without={"a": sloped("a"), "b": sloped("b")},
    ),
    Case(
        Stack(
            [
                Layer("a", [()]),
                Layer("b", [()], (("a", (1, 2)),)),
                Layer((), (), (), "a", (1, 3, 2)),
                Layer(("b", "label"), [(0, 0), ()]),
            ]
        ),
        ((("a",), 3), (("a", "b"), 2), (("a",), 1), (("b", "label"), 2)),
    ),
    Case(Stack([Layer(("a", "label"), [(), ()], branching="a")]), ((LABELLED, 6),), ("a",)),
    Case(
        GridCounts(POOL), ((LABELLED, 2), (("a", "label"), 4), (("b", "label"), 4), (("a", "b", "label"), 8)),
    ),
    Case(Refinements("a", ["b", "n"], "label"), ((LABELLED, 12), (LABELLED, 18)), ("a", "b", "n")),
    Case(
        FeatureSums([[1, 0], [2, 3]], 9, totals=True),
        2 * ((LABELLED, 1), (("a", "label"), 3), (("b", "label"), 1), (("n", "label"), 3)),
    ),
    Case(
        FeatureRefinements((), 9), ((("a", "label"), 6), (("b", "label"), 2), (("n", "label"), 6), (LABELLED, 2)),
    ),
    Case(LeafCounts(TREES), ((LABELLED, 10),), ("a", "b", "n")),
    Case(LeafCounts(TREES, by_class=False), ((LABELLED, 5),), ("a", "b", "n")),
    Case(LeafCounts(evolve(TREES, roots=np.array([0]))), ((LABELLED, 10),), ("a", "b", "n")),
    Case(SplitCounts(TREES, [3, 7, 8]), ((LABELLED, 48),), ("a", "b", "n")),
    rule(lambda terms: Hits(terms, misses=True), 2),
    rule(lambda terms: Agreements([Hits(terms), Hits((START,))]), 4),
    rule(margins, 8),
    rule(lambda terms: MarginLevels(margins(terms)), 8),
    Case(Hits((Points((), [[1, 0], [0, 1], [1, 0], [2, 0], [0, 5]], by_leaf=True),), TREES, misses=True),
         ((LABELLED, 2),), ("a", "b", "n")),
]  # fmt: skip


def test_every_kernel_has_a_case() -> None:
    about_no_column = {PersonBands, PersonCount}
    assert {type(case.kernel) for case in CASES} == set(KERNELS) - about_no_column


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.kernel).__name__)
def test_a_blank_leaves_what_is_asked_about_its_column_and_nothing_else(case: Case) -> None:
    assert sum(size for _, size in case.questions) == case.kernel.cells(SCHEMA)
    for row in FULL_ROWS:
        for place, name in enumerate(SCHEMA):
            blank = tuple(SCHEMA[name].size if at == place else code for at, code in enumerate(row))
            assert added(case.kernel, blank).tolist() == case.expected(row, name).tolist(), (row, name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.kernel).__name__)
def test_bounds_hold_with_blanks_and_rows_add_up(case: Case) -> None:
    """By brute force: each row alone, each two rows, and all rows in blocks that have blanks or none."""
    kernel, each = case.kernel, np.array([added(case.kernel, row) for row in EVERY_ROW])
    none = np.zeros((1, each.shape[1]), dtype=np.int64)

    assert np.abs(each).sum(axis=1).max() <= kernel.bound(SCHEMA)
    assert max(np.abs(one - np.vstack([each, none])).sum(axis=1).max() for one in each) <= kernel.replaced(SCHEMA)
    times = [place * 7 % 3 for place in range(len(EVERY_ROW))]
    told = (each * np.array(times)[:, None]).sum(axis=0).tolist()
    assert tally(table_of(EVERY_ROW, times), kernel) == told
    written_out = [row for row, count in zip(EVERY_ROW, times, strict=True) for _ in range(count)]
    assert tally(table_of(written_out), kernel) == told


def test_sets_of_columns_are_scored_by_the_same_rows() -> None:
    """The proof of how far scores move apart is about one set of rows."""
    layers = [Layer(("a", "label"), [(), ()]), Layer(("a", "b", "label"), [(), (), ()])]
    score = SetDiscernibility(layers, "0.1")
    counts = np.array(tally(table_of(EVERY_ROW), score.kernel(SCHEMA)))
    labelled = sum(row[-1] < 2 for row in EVERY_ROW)

    assert counts[:6].sum() == counts[6:].sum() == labelled


# What is asked of a table

HALF = {"a": [1.0, None] * 50, "b": [5.0, 9.0] * 50, "c": ["x", "y", "", "z"] * 25}
HALF_SCHEMA = Schema({"a": Numeric(0, 10), "b": Numeric(0, 10), "c": Categorical(["x", "y"])})


def rehearsed(schema: Schema = HALF_SCHEMA) -> Any:
    return jostle.rehearse(Table.from_frame(HALF, schema), seed=1)


def test_an_empty_cell_does_not_change_what_is_known_of_other_columns() -> None:
    db = rehearsed()

    assert db.mean("b", epsilon=1000) == pytest.approx(7.0, abs=0.01)
    assert db.mean("a", epsilon=1000) == pytest.approx(1.0, abs=0.01)
    assert db.sum("a", epsilon=1000) == pytest.approx(50, abs=0.1)
    assert db.quantile("a", 0.5, epsilon=1000) == pytest.approx(1.0, abs=0.01)
    assert db.count(1000) == 100
    assert db.histogram("a", epsilon=1000).value.sum() == db.histogram("c", epsilon=1000).value.sum() == 50
    assert db.histogram("c", "a", epsilon=1000).value.sum() == 25


def test_whole_rows_go_where_that_is_declared() -> None:
    dropping = {"a": Numeric(0, 10, missing="drop"), "c": Categorical(["x", "y"], outside="drop", missing="blank")}
    db = rehearsed(Schema({**dict(HALF_SCHEMA.columns), **dropping}))

    assert db.mean("b", epsilon=1000) == pytest.approx(5.0, abs=0.01)
    assert db.count(1000) == 50


def test_a_blank_meets_no_condition_and_is_in_one_portion() -> None:
    db = rehearsed()

    assert [db.where("c", "x").count(1000), db.where("c", "x", "y").count(1000)] == [25, 50]
    assert [part.count(1000) for part in db.parts("c")] == [25, 25]
    assert sum(portion.count(1000) for portion in db.portions(3)) == 100


def test_counts_that_leave_rows_out_do_not_tell_how_many_there_are() -> None:
    labelled = Schema(dict(HALF_SCHEMA.columns), label="c")
    whole = Schema({**dict(HALF_SCHEMA.columns), "a": Numeric(0, 10, missing="drop")})

    def known(schema: Schema, *columns: str) -> Any:
        db = rehearsed(schema)
        db.histogram(*columns, epsilon=1000)
        return db.allot(1, site="next")

    assert known(HALF_SCHEMA, "a").rows is known(labelled, "a").rows is known(labelled, "a", "c").rows is None
    assert known(HALF_SCHEMA, "a").known(Counts.of()) == known(labelled, "c").known(Counts.of()) == (None,)
    assert known(HALF_SCHEMA, "a", "c").known(Counts.of("a")) == (None,)
    assert known(HALF_SCHEMA, "a").known(Counts.of("a")) != (None,)
    assert known(labelled, "c").rows == 50
    """Of those that have a label, which are what is learnt from."""
    assert known(whole, "a").rows == 50


def test_a_public_number_of_rows_is_that_of_a_column_only_where_it_has_no_blanks() -> None:
    schema = evolve(HALF_SCHEMA, neighbours="replace_one", rows=100)

    assert rehearsed(schema).mean("a", epsilon=1000) == pytest.approx(1.0, abs=0.01)
    assert rehearsed(schema).sum("a", epsilon=1000) == pytest.approx(50, abs=0.1)


def test_what_a_row_changes_of_a_total_is_not_the_same_for_all_rows() -> None:
    left_out = rows() - total(cells("c"))

    assert sensitivity(left_out, HALF_SCHEMA) == 1
    every = {"c": Categorical(["x", "y"], outside="drop", missing="drop")}
    assert sensitivity(left_out, Schema(every)) == 0


# Models


def learned(option: str, **facts: Any) -> tuple[Any, pd.DataFrame]:
    """Return a model, and the rows it learnt from: a says the label, and half of it is blank, as is a third of b."""
    chance = np.random.default_rng(5)
    label = chance.integers(0, 2, 3000)
    frame = pd.DataFrame({"a": label.astype(float), "b": chance.integers(0, 4, 3000).astype(float), "label": label})
    frame.loc[chance.random(3000) < 0.5, "a"] = np.nan
    frame.loc[chance.random(3000) < 0.3, "b"] = np.nan
    columns = {"a": Categorical([0, 1]), "b": Numeric(0, 4, bins=4), "label": Categorical([0, 1])}
    schema = Schema(columns, label="label", **facts)
    rows = frame.assign(label=frame["label"].where(chance.random(3000) < 0.9))
    db = jostle.rehearse(Table.from_frame(rows, schema), seed=2)
    return jostle.options.get(option)(db, epsilon=100), frame


@pytest.mark.parametrize(
    "option", ["NaiveBayes", "FriedmanSchuster", "JostledTree", "FunctionalLogistic", "PLR", "PrivGene", "BayesTree"]
)
def test_models_learn_from_rows_with_blanks_and_predict_them(option: str) -> None:
    model, frame = learned(option)
    there = frame["a"].notna()

    assert np.all(np.isfinite(model.predict_proba(frame)))
    right = np.array(model.predict(frame)).astype(float) == frame["label"]
    assert right[there].mean() > 0.6
    assert right[~there].mean() > 0.4


def test_a_blank_goes_the_same_way_where_a_tree_learns_and_where_it_predicts() -> None:
    row = {"a": [None], "b": ["1"], "n": [None]}
    codes = attribute_codes(row, SCHEMA)
    leaves = TREES.leaves
    counts = added(LeafCounts(TREES, by_class=False), (3, 1, 3, 0))
    model = TreeModel(schema=SCHEMA, made_by="", epsilon=None, routing=TREES, shares=np.full((9, 2), 0.5))

    assert codes.tolist() == [[UNKNOWN, 1, UNKNOWN]]
    assert sorted(model.nodes_of(codes)[0].tolist()) == leaves[counts > 0].tolist()
    one = evolve(model, routing=evolve(TREES, roots=np.array([0])))
    start = np.arange(2.0 * len(leaves)).reshape(-1, 2) ** 2
    bayes = BayesTreeModel(
        schema=SCHEMA, made_by="", epsilon=None, tree=one, start=start, weights=np.zeros((len(leaves), 8, 2))
    )
    leaf = int(np.searchsorted(leaves, one.nodes_of(codes)[0, 0]))
    assert np.argsort(bayes.chances(codes)[0]).tolist() == np.argsort(start[leaf]).tolist()


def test_every_two_rows_are_told_apart_by_their_hashes_blanks_included() -> None:
    found = {tuple(added(RowHashes(), row)) for row in EVERY_ROW}

    assert len(found) == len(EVERY_ROW)
