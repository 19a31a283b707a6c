"""Sparse features, their scores, and the cuts of chances."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise, product
from math import inf, log, log1p
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from some_tables import tally

import jostle
from jostle import Categorical, Chances, Schema, Table
from jostle.errors import JostleError, SchemaError, TableError
from jostle.tables.block import code_type
from jostle.tables.columns import Numeric
from jostle.tables.engines import MemorySource
from jostle.tables.feature_kernels import ONES_AT_ONCE, FeatureSums, feature_count, feature_list, most_ones
from jostle.tables.features import FEW_COLUMNS, Bits, SparseFeatures, words_of
from jostle.tables.kernels import Counts
from jostle.tables.schema import Neighbours
from jostle.tasks.evaluation.instances import area_between, true_curve

SCHEMA = Schema(
    {
        "three": Categorical(["a", "b", "c"]),
        "two": Categorical(["no", "yes"]),
        "one": Categorical(["same"]),
        "label": Categorical(["ham", "spam"]),
    },
    label="label",
    features=SparseFeatures("text", words=["free", "win", "you"]),
)
FEATURES = ("three=a", "three=b", "three=c", "two=yes", "text=free", "text=win", "text=you")
Row = tuple[int, int, int, tuple[int, ...]]
"""Codes of three, two and the label, and the words by number."""
WORDS = [each for count in range(4) for each in combinations(range(3), count)]
EVERY_ROW: list[Row] = list(product(range(3), range(2), range(2), WORDS))


def table_of(rows: list[Row], times: list[int] | None = None, schema: Schema = SCHEMA) -> Table:
    codes = {"three": 0, "two": 1, "label": 2}
    columns = {name: np.array([row[at] for row in rows], dtype=np.uint8) for name, at in codes.items()}
    columns["one"] = np.zeros(len(rows), dtype=np.uint8)
    ends = np.cumsum([0, *(len(row[3]) for row in rows)])
    found = np.array([word for row in rows for word in row[3]], dtype=np.int32)
    assert schema.features is not None
    bits = Bits(ends.astype(np.int64), found, schema.features)
    return Table(MemorySource(schema, columns, len(rows), None if times is None else np.array(times), bits=bits))


def has(row: Row) -> set[int]:
    return {row[0], *([3] if row[1] else []), *(4 + word for word in row[3])}


def test_a_table_has_the_features_of_its_columns_and_of_its_texts() -> None:
    assert tuple(feature.name for feature in feature_list(SCHEMA)) == FEATURES
    assert feature_count(SCHEMA) == 7
    assert most_ones(SCHEMA) == 5


def test_a_number_is_its_bin_and_an_empty_cell_that_is_a_value_a_feature_too() -> None:
    schema = Schema({"age": Numeric(0, 20, bins=2, missing="value"), "label": Categorical(["a"])}, label="label")
    assert [feature.name for feature in feature_list(schema)] == ["age=[0, 10)", "age=[10, 20]", "age=(missing)"]


WEIGHTS = [((1, 1),), ((1, -1),), ((1, 0), (0, 1)), ((2, 0), (-1, 3), (0, 0))]
kernels = st.builds(
    FeatureSums,
    st.sampled_from(WEIGHTS),
    st.integers(1, 7),
    st.booleans(),
    st.lists(st.integers(0, 6), unique=True, max_size=7),
)


@given(st.lists(st.tuples(st.sampled_from(EVERY_ROW), st.integers(0, 3)), max_size=9), kernels)
def test_sums_are_those_over_records_that_have_the_feature(rows: list[tuple[Row, int]], kernel: FeatureSums) -> None:
    """Without sampling; with it, the sums of one record at a time, added up."""
    places = kernel.among or range(7)
    told = np.zeros(kernel.cells(SCHEMA), dtype=np.int64)
    for row, times in rows:
        if kernel.most >= most_ones(SCHEMA):
            found = [
                entry
                for each in kernel.weights
                for entry in ([each[row[2]]] * kernel.totals + [each[row[2]] * (at in has(row)) for at in places])
            ]
        else:
            found = tally(table_of([row]), kernel)
        told += times * np.array(found)
    assert tally(table_of([row for row, _ in rows], [times for _, times in rows]), kernel) == told.tolist()
    assert tally(table_of([row for row, times in rows for _ in range(times)]), kernel) == told.tolist()


@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_bounds_are_reached(most: int) -> None:
    kernel = FeatureSums(((1, 0), (0, 1)), most, totals=True)
    added = np.array([tally(table_of([row]), kernel) for row in EVERY_ROW])
    assert np.abs(added).sum(axis=1).max() == kernel.bound(SCHEMA) == 1 + min(most, 5)


def test_a_record_keeps_some_of_its_features_and_another_record_other_ones() -> None:
    schema = Schema(
        {"label": Categorical(["a"])}, label="label", features=SparseFeatures("t", words=[f"w{i}" for i in range(200)])
    )
    kernel = FeatureSums(((1,),), 5)
    chance = np.random.default_rng(0)
    kept = np.zeros(200, dtype=np.int64)
    for _ in range(200):
        words = np.sort(chance.choice(200, 50, replace=False))
        matrix = sparse.csr_array((np.ones(50), (np.zeros(50, dtype=int), words)), shape=(1, 200))
        found = np.array(tally(Table.from_matrix(matrix, pa.table({"label": ["a"]}), schema), kernel))
        assert found.sum() == 5
        assert set(np.flatnonzero(found)) <= set(words.tolist())
        kept += found
    assert kept.max() < 20  # of 5 expected: no feature is preferred


def test_a_record_of_more_features_than_are_read_at_once_keeps_no_more_than_it_may() -> None:
    count = ONES_AT_ONCE + 20
    schema = Schema({"label": Categorical(["a"])}, label="label", features=SparseFeatures("t", buckets=count))
    matrix = sparse.csr_array(np.ones((1, count)))
    table = Table.from_matrix(matrix, pa.table({"label": ["a"]}), schema)
    for most in (ONES_AT_ONCE, ONES_AT_ONCE + 10):
        kernel = FeatureSums(((1,),), most)
        assert sum(tally(table, kernel)) == kernel.bound(schema) == most


@pytest.mark.parametrize("columns", [[1, 1, 2], [2, 1, 1]])
def test_a_feature_counts_once_though_the_matrix_has_it_twice(columns: list[int]) -> None:
    matrix: Any = sparse.csr_array((np.ones(3), np.array(columns), np.array([0, 3, 3])), shape=(2, 3))
    matrix.has_canonical_format = True  # as it may say of itself when it was changed in place
    told = tally(Table.from_matrix(matrix, pa.table({"label": ["ham", "ham"]}), WORDS_ONLY), FeatureSums(((1, 1),), 9))
    assert told == [0, 1, 1]


@pytest.mark.parametrize(
    ("columns", "ends"), [([0, 3], [0, 2, 2]), ([0, -1], [0, 2, 2]), ([0, 1], [0, 2, 1]), ([0, 1], [0, 9, 2])]
)
def test_a_matrix_whose_numbers_do_not_fit_each_other_is_refused_when_it_is_opened(
    columns: list[int], ends: list[int]
) -> None:
    matrix: Any = sparse.csr_array((2, 3))
    matrix.data, matrix.indices, matrix.indptr = np.ones(2), np.array(columns), np.array(ends)
    with pytest.raises(TableError, match="do not fit each other"):
        Table.from_matrix(matrix, pa.table({"label": ["ham", "ham"]}), WORDS_ONLY)


def test_a_long_table_is_read_some_ones_at_a_time() -> None:
    """As many as a whole matrix says, by one product."""
    chance = np.random.default_rng(1)
    matrix: Any = sparse.random_array((3000, 400), density=0.1, format="csr", rng=chance)
    labels = chance.integers(0, 2, 3000)
    words = [f"w{i}" for i in range(400)]
    schema = Schema({"label": Categorical(["0", "1"])}, label="label", features=SparseFeatures("t", words=words))
    table = Table.from_matrix(matrix, pa.table({"label": labels}), schema)
    sums = np.array(tally(table, FeatureSums(((1, 0), (0, 1)), 1000))).reshape(2, 400)
    dense = (matrix.toarray() > 0).astype(int)
    assert np.array_equal(sums, np.stack([dense[labels == each].sum(axis=0) for each in range(2)]))
    sampled = FeatureSums(((1, 1),), 7)
    assert sum(tally(table, sampled)) == np.minimum(dense.sum(axis=1), 7).sum()


# Texts


def test_words_are_of_two_letters_or_more_in_small_letters() -> None:
    assert words_of("I WIN a free-FREE 1st prize_2 ÄÖ!") == {"win", "free", "1st", "prize_2", "äö"}


TEXTS: list[Any] = ["Win a FREE prize", None, "", "you and you", 17, float("nan"), "nothing of it", "win"]
LABELS = ["spam", "ham", "ham", "spam", "ham", "ham", "perhaps", "spam"]
WORDS_ONLY = Schema({"label": Categorical(["ham", "spam"])}, label="label", features=SCHEMA.features)
BY_CLASS = FeatureSums(((1, 0), (0, 1)), 9, totals=True)


@pytest.mark.parametrize("way", ["objects", "dictionary", "csv", "csv in batches", "parquet", "polars"])
def test_texts_are_read_the_same_way_from_everywhere(way: str, tmp_path: Any) -> None:
    """The row whose label is not declared is dropped, with its words."""
    frame: Any = pd.DataFrame({"text": TEXTS, "label": LABELS})
    as_written = [None if text is None or text != text else str(text) for text in TEXTS]  # noqa: PLR0124 - no number
    written = pd.DataFrame({"text": as_written, "label": LABELS})
    if way == "dictionary":
        frame = written.astype({"text": "category"})
    elif way == "polars":
        frame = pytest.importorskip("polars").DataFrame({"text": as_written, "label": LABELS})
    if way in {"csv", "csv in batches"}:
        path = tmp_path / "rows.csv"
        frame.to_csv(path, index=False)
        table = Table.read(path, WORDS_ONLY, stream=way != "csv")
    elif way == "parquet":
        path = tmp_path / "rows.parquet"
        written.to_parquet(path)
        table = Table.read(path, WORDS_ONLY)
    else:
        table = Table.from_frame(frame, WORDS_ONLY)
    assert tally(table, BY_CLASS) == [4, 0, 0, 0, 3, 1, 2, 1]


def test_words_in_buckets_need_no_vocabulary() -> None:
    features = SparseFeatures("text", buckets=8)
    bits = features.bits_of(["win a prize", "win win", None])
    assert bits.ends.tolist() == [0, 2, 3, 3] or len(set(bits.found.tolist())) == 1
    assert bits.found.max() < 8
    assert features.bits_of(["a prize to win"]).found.tolist() == features.bits_of(["prize, win to"]).found.tolist()


def test_a_vocabulary_is_read_off_public_texts_and_not_off_the_private_ones() -> None:
    frame = pd.DataFrame({"text": ["win free", "win you", "win"], "label": ["spam", "ham", "ham"]})
    schema = Schema.infer_public(frame, label="label", texts="text", words=2)
    assert schema.features == SparseFeatures("text", words=["win", "free"])
    with pytest.raises(SchemaError, match="read off this same table"):
        jostle.protect(Table.from_frame(frame, schema), epsilon=1)
    other = pd.DataFrame({"text": ["win free", "win you", "you"], "label": ["spam", "ham", "ham"]})
    assert jostle.protect(Table.from_frame(other, schema), epsilon=1).spent == 0


# Features as columns


def test_many_columns_are_the_same_as_few() -> None:
    """From some hundred on, ones are looked up by feature."""
    dense = np.random.default_rng(3).random((50, 2 * FEW_COLUMNS)) < 0.1
    dense[:, [0, -1]] = False, True
    features = SparseFeatures("t", buckets=2 * FEW_COLUMNS)
    ends = np.concatenate([[0], np.cumsum(dense.sum(axis=1))]).astype(np.int64)
    bits = Bits(ends, np.nonzero(dense)[1].astype(np.int32), features)
    columns = np.stack([bits.column(name) for name in features.names], axis=1)
    assert np.array_equal(columns, dense)
    assert np.array_equal(bits.column(features.names[0]), dense[:, 0])


def test_a_feature_is_asked_about_by_name_like_a_column() -> None:
    rows = EVERY_ROW[::5]
    found = tally(table_of(rows), Counts.of("text=win", "label"))
    assert found == [sum((1 in row[3]) == bool(has_it) and row[2] == label for row in rows) for has_it, label in
                     product(range(2), range(2))]  # fmt: skip


@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_a_probe_on_some_columns_knows_these_and_the_label(relation: Neighbours) -> None:
    schema = SCHEMA.with_neighbours(relation)
    db = jostle.rehearse(table_of(EVERY_ROW, schema=schema), epsilon=None, seed=1)
    few = db.where("two", "yes").only("text=win", "three")
    assert few.schema.names == ("text=win", "three", "label")
    assert few.schema.features is None
    assert few.schema.neighbours == relation
    assert few.histogram("text=win", epsilon=10**6).tolist() == [24, 24]
    assert few.measure(FeatureSums(((1, 1),), 9), 10**6).tolist() == [24, 16, 16, 16]
    with pytest.raises(JostleError, match="no column"):
        db.only("text=nothing")


def test_of_a_part_with_some_columns_the_number_of_rows_stays_unknown() -> None:
    schema = jostle.Schema(
        {"a": Categorical(["x", "y"]), "label": Categorical(["n", "y"])},
        label="label",
        neighbours="replace_one",
        rows=3,
    )
    frame = pa.table({"a": ["x", "y", "x"], "label": ["n", "n", "y"]})
    db = jostle.rehearse(Table.from_frame(frame, schema))
    part = db.where("a", "x").only("a")
    assert part.schema.rows is None
    assert part.rows is None
    assert db.only("a").rows == 3


def test_equal_columns_with_other_words_are_other_rows() -> None:
    """So that they have a budget of their own, and fall into parts of their own."""
    words = pd.DataFrame({"text": ["win"] * 40, "label": ["ham"] * 40})
    others = pd.DataFrame({"text": ["you"] * 40, "label": ["ham"] * 40})
    jostle.protect(Table.from_frame(words, WORDS_ONLY), epsilon=1).count(1)
    assert jostle.protect(Table.from_frame(others, WORDS_ONLY), epsilon=1).left == 1


# What is refused


def test_counts_of_how_many_rows_have_which_words() -> None:
    """Against a counter, over hypothesis's favourite texts: nothing a text holds breaks the reading."""

    @given(st.lists(st.text(max_size=30) | st.none(), max_size=8))
    @settings(max_examples=40)
    def check(texts: list[str | None]) -> None:
        told = Counter(word for text in texts for word in words_of(text or "") & {"free", "win", "you"})
        bits = SparseFeatures("text", words=["free", "win", "you"]).bits_of(texts)
        assert [told[word] for word in ("free", "win", "you")] == np.bincount(bits.found, minlength=3).tolist()
        assert bits.length == len(texts)

    check()
    assert code_type(2) == np.uint8


# Columns of chances: bins that are even in log-odds, and fine enough near both ends.


def odds(chance: float) -> float:
    return -inf if chance == 0 else inf if chance == 1 else log(chance) - log1p(-chance)


@pytest.mark.parametrize("bins", [2, 3, 10, 1024])
def test_cuts_are_even_in_log_odds_and_alike_at_both_ends(bins: int) -> None:
    cuts = Chances(bins=bins).edges
    assert (cuts[0], cuts[-1]) == (0, 1)
    inner = [odds(cut) for cut in cuts[1:-1] if cut < 0.999]
    steps = [after - before for before, after in pairwise(inner)]
    assert max(steps, default=0) - min(steps, default=0) < 1e-9 * 72
    assert cuts[-2] == pytest.approx(1 - cuts[1], abs=1e-15)
    assert len(cuts) - 1 <= bins
    assert len(cuts) - 1 > 0.9 * bins


def test_a_curve_tells_scores_apart_that_bins_of_equal_width_put_together() -> None:
    """Half of the class has chances within a thousandth of 1, in order there too."""
    random = np.random.default_rng(1)
    labels = (np.arange(4000) % 4 == 0).astype(np.int64)
    scores = 1 / (1 + np.exp(-random.normal(np.where(labels == 1, 12, 7), 3)))
    truth = true_curve(scores, labels)
    off = {}
    for name, column in {"even": jostle.Numeric(0, 1, bins=1024), "chances": Chances()}.items():
        schema = Schema({"score": column, "label": Categorical(["no", "yes"])}, label="label")
        frame = pd.DataFrame({"score": scores, "label": np.where(labels == 1, "yes", "no")})
        db = jostle.rehearse(Table.from_frame(frame, schema), seed=3)
        curve = jostle.private_roc_auc(db, "score", epsilon=4)
        off[name] = area_between((curve.false_positive_rates, curve.true_positive_rates), truth)

    assert off["chances"] < 0.01 < off["even"]
