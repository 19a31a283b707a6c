"""Instances of tasks: rows drawn, questions asked, and the texts they are known by."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from processes import ran
from roles import question_roles, spread
from scipy import stats

import jostle
from jostle.corpora.databases import PublicGrid, PublicTable, coarsened
from jostle.corpora.parts import GridSpec, TableSpec, possible_rows
from jostle.errors import CorpusError, OptionError
from jostle.options import get
from jostle.options.ranges.tree import halving_cuts
from jostle.tables.engines import MemorySource
from jostle.tasks import RANGES, make_instance
from jostle.tasks.classification.instances import MOST_HELD_OUT, TableInstance
from jostle.tasks.metafeature import View, text_of
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.ranges.instances import GridInstance
from jostle.tasks.ranges.questions import KINDS, RangeQuestion, facts_of
from jostle.tasks.ranges.task import ASKED, grid_shape


def numbered(rows: int) -> PublicTable:
    """Return a table whose rows are all different: the number of the row is in two columns."""
    numbers = np.arange(rows)
    frame = pd.DataFrame(
        {
            "hundreds": [f"h{number // 100}" for number in numbers],
            "label": [f"c{number % 3}" for number in numbers],
            "rest": [f"r{number % 100}" for number in numbers],
            "even": [f"e{number % 2}" for number in numbers],
        }
    )
    return PublicTable.of(f"numbered {rows}", frame)


def table_instance(database: PublicTable, spec: TableSpec) -> TableInstance:
    instance = make_instance(database, spec)
    assert isinstance(instance, TableInstance)
    return instance


def grid_instance(database: PublicGrid, spec: GridSpec) -> GridInstance:
    instance = make_instance(database, spec)
    assert isinstance(instance, GridInstance)
    return instance


def learnt_rows(instance: TableInstance) -> list[tuple[str, ...]]:
    """Return the rows that an instance gives to learn from, as texts."""
    source = instance.table._source
    assert isinstance(source, MemorySource)
    schema = instance.schema
    return list(zip(*(np.array(schema[name].labels)[source.columns[name]] for name in schema), strict=True))


def held_rows(instance: TableInstance) -> list[tuple[str, ...]]:
    schema = instance.schema
    columns = {
        name: np.array(schema[name].labels)[instance.codes[:, place]] for place, name in enumerate(schema.attributes)
    }
    columns["label"] = np.array(schema.classes)[instance.labels]
    return list(zip(*(columns[name] for name in schema), strict=True))


def rows_of(table: PublicTable) -> list[tuple[str, ...]]:
    return list(zip(*(table.columns[name].to_pylist() for name in table.columns.column_names), strict=True))


@pytest.mark.parametrize(
    ("length", "rows", "learnt", "held"),
    [
        (3000, None, 2000, 1000),
        (3000, 300, 300, MOST_HELD_OUT),
        (3000, 2400, 2400, 600),
        (9000, None, 7000, MOST_HELD_OUT),
        (3, None, 2, 1),
    ],
)
def test_rows_are_learnt_from_or_held_out_never_both(length: int, rows: int | None, learnt: int, held: int) -> None:
    table = numbered(length)
    instance = table_instance(table, TableSpec(rows=rows, seed=5))
    training, scored = learnt_rows(instance), held_rows(instance)

    assert (len(training), len(scored), instance.rows) == (learnt, held, learnt)
    assert not set(training) & set(scored)
    assert set(training) | set(scored) <= set(rows_of(table))
    assert len(set(training)) + len(set(scored)) == learnt + held


def test_an_instance_is_a_random_sample() -> None:
    """Every row is as likely to be learnt from as any other: 400 draws of 100 of 400 rows, chi-squared at 1e-6."""
    table = numbered(400)
    names = {row: place for place, row in enumerate(rows_of(table))}
    seen = np.zeros(400)
    for seed in range(400):
        for row in learnt_rows(table_instance(table, TableSpec(rows=100, seed=seed))):
            seen[names[row]] += 1
    # Without replacement, the counts vary by three quarters of what independent draws would.
    statistic = float(((seen - 100) ** 2 / 75).sum())
    assert stats.chi2(399).sf(statistic) > 1e-6
    assert stats.chi2(399).cdf(statistic) > 1e-6


def test_fewer_rows_of_one_seed_are_some_of_more_rows() -> None:
    table = numbered(3000)
    few, many = (learnt_rows(table_instance(table, TableSpec(rows=rows, seed=2))) for rows in (100, 900))
    assert set(few) < set(many)


def test_some_attributes_are_drawn_the_schemas_order_kept() -> None:
    table = numbered(300)
    schemas = [table_instance(table, TableSpec(attributes=2, seed=seed)).schema for seed in range(20)]
    assert {schema.attributes for schema in schemas} == {("hundreds", "rest"), ("hundreds", "even"), ("rest", "even")}
    assert {schema.label for schema in schemas} == {"label"}
    whole = table_instance(table, TableSpec(seed=1))
    assert table_instance(table, TableSpec(attributes=7, seed=1)).schema == whole.schema
    assert learnt_rows(table_instance(table, TableSpec(attributes=7, seed=1))) == learnt_rows(whole)


def test_the_schema_is_that_of_the_whole_database_and_does_not_say_how_many_rows() -> None:
    frame = pd.DataFrame({"a": np.arange(400) / 4, "b": ["rare", *["often"] * 399], "label": ["x", "y"] * 200})
    schema = table_instance(PublicTable.of("t", frame), TableSpec(rows=20, bins=5)).schema
    assert schema["a"] == jostle.Numeric(0, 99.75, bins=5)
    assert schema["b"].labels == ("often", "rare")
    assert (schema.rows, schema.neighbours) == (None, "add_remove")


@pytest.mark.parametrize("name", ["Majority", "NaiveBayes", "Mohammed"])
def test_the_loss_is_the_share_of_wrong_predictions_as_a_model_tells_of_a_frame(name: str) -> None:
    table = numbered(600)
    instance = table_instance(table, TableSpec(rows=400, attributes=2, seed=3))
    model = get(name)(jostle.rehearse(instance.table, epsilon=1, seed=4), epsilon=1)
    held = pd.DataFrame(held_rows(instance), columns=list(instance.schema))
    assert instance.loss(model) == pytest.approx(1 - model.score(held))


def test_sizes_that_leave_too_little_to_score_on_are_not_possible() -> None:
    table = numbered(1000)
    assert possible_rows(table, (300, 800, 801, 3000)) == (300, 800, None)
    make_instance(table, TableSpec(rows=800))
    with pytest.raises(CorpusError, match="numbered 1000 has too few rows for 801"):
        make_instance(table, TableSpec(rows=801))
    with pytest.raises(CorpusError, match="numbered 2 has fewer than 3 rows"):
        make_instance(numbered(2), TableSpec())


@given(st.integers(3, 60), st.lists(st.integers(1, 80), max_size=5))
def test_possible_sizes_are_just_those_that_work(length: int, sizes: list[int]) -> None:
    table = numbered(length)
    possible = possible_rows(table, sizes)
    assert possible[-1] is None
    for size in sizes:
        if size in possible:
            assert table_instance(table, TableSpec(rows=size)).rows == size
        else:
            with pytest.raises(CorpusError):
                make_instance(table, TableSpec(rows=size))


def test_keys_say_what_they_are_of() -> None:
    table, grid = numbered(10), PublicGrid.of("grid", [1, 2])
    assert table.key(TableSpec(300, 5, 7)) == f"{table.digest} rows=300 attributes=5 seed=7 bins=16 v1"
    assert grid.key(GridSpec(1000, (64, 64), 7)) == f"{grid.digest} records=1000 shape=64x64 seed=7 v1"
    assert make_instance(grid, GridSpec(5)).key == grid.key(GridSpec(5))
    specs = [TableSpec(), TableSpec(3), TableSpec(attributes=3), TableSpec(seed=3), TableSpec(bins=3)]
    assert len({table.key(spec) for spec in specs}) == len(specs)


SUMS = """
import numpy as np, pandas as pd
from jostle.corpora.databases import PublicGrid, PublicTable
from jostle.tasks import make_instance
from jostle.corpora.parts import GridSpec, TableSpec
def weighted(numbers): return int(np.asarray(numbers, dtype=np.int64) @ np.arange(len(numbers)))
frame = pd.DataFrame({"a": np.arange(500) / 4, "b": [f"b{n % 7}" for n in range(500)], "label": list("xyzxy") * 100})
table = PublicTable.of("t", frame)
for spec in (TableSpec(200, None, 3), TableSpec(300, 1, 4)):
    instance = make_instance(table, spec)
    columns = instance.table._source.columns
    print(instance.key, [weighted(columns[name]) for name in instance.schema], weighted(instance.codes.sum(axis=1)))
grid = make_instance(PublicGrid.of("g", np.arange(1, 501).reshape(20, 25)), GridSpec(1000, (10, 5), 9))
print(grid.key, weighted(grid.counts.ravel()), int(grid.truth.sum()))
"""
TOLD = """\
fb6b85e92918d59147ecd8fe1dea2548 rows=200 seed=3 bins=16 v1 [144549, 58632, 15389] 465138
fb6b85e92918d59147ecd8fe1dea2548 rows=300 attributes=1 seed=4 bins=16 v1 [343104, 34830] 146606
e61307fa05e348bfb687ec5c5417621c records=1000 shape=10x5 seed=9 v1 32558 672919
"""


def test_another_process_makes_the_same_instances() -> None:
    """Nothing depends on hash seeds, on addresses, or on what was made before."""
    for seed in ("1", "2"):
        done = ran("-c", SUMS, check=True, env={"PYTHONHASHSEED": seed})
        assert done.stdout == TOLD


def test_cells_are_added_up_in_blocks() -> None:
    counts = np.arange(24).reshape(4, 6)
    assert coarsened(counts, (2, 3)).tolist() == [[14, 22, 30], [62, 70, 78]]
    assert coarsened(counts, (1, 1)).tolist() == [[276]]
    assert coarsened(counts, (4, 6)).tolist() == counts.tolist()
    assert coarsened(counts, (3, 6)).sum(axis=0).tolist() == counts.sum(axis=0).tolist()
    assert coarsened(np.arange(5), (2,)).tolist() == [3, 7]
    for shape in ((5, 6), (4,), (0, 6), (8, 6)):
        with pytest.raises(CorpusError, match="is not coarsened"):
            coarsened(counts, shape)


def test_records_are_drawn_from_the_grids_own_distribution() -> None:
    """200 draws of 1,000 records from a grid of 6 cells, chi-squared at 1e-6; empty cells stay empty."""
    weights = np.array([[1, 2, 0], [3, 4, 10]])
    grid = PublicGrid.of("grid", weights)
    total = np.zeros((2, 3))
    for seed in range(200):
        counts = grid_instance(grid, GridSpec(1000, None, seed)).counts
        assert counts.sum() == 1000
        total += counts
    expected = weights / 20 * 200_000
    assert total[0, 2] == 0
    occupied = weights > 0
    assert stats.chisquare(total[occupied], expected[occupied]).pvalue > 1e-6


def test_a_grid_instance_asks_random_ranges_and_scores_as_dpbench_does() -> None:
    instance = grid_instance(PublicGrid.of("grid", np.arange(1, 65)), GridSpec(500, (16,), 3))
    assert (instance.rows, instance.schema.names, len(instance.workload)) == (500, ("x",), 2000)
    expected = Workload.random_ranges((16,), 2000, seed=3)
    assert instance.workload.low.tolist() == expected.low.tolist()

    db = jostle.rehearse(instance.table, epsilon=1, seed=4)
    estimate = get("Identity")(db, *instance.questions, epsilon=1)
    differences = expected.answers(instance.counts) - estimate.answers(expected)
    assert instance.loss(estimate) == pytest.approx(np.linalg.norm(differences) / 2000 / 500)


def test_without_a_number_of_records_a_grid_is_taken_as_it_is() -> None:
    counts = np.array([3, 0, 5, 1])
    instance = grid_instance(PublicGrid.of("grid", counts), GridSpec())
    assert (instance.counts.tolist(), instance.rows) == (counts.tolist(), 9)


def test_answers_about_other_tables_are_no_answers() -> None:
    """They could be scored, and would be judged by what they do not know."""
    table, other = (table_instance(numbered(rows), TableSpec()) for rows in (300, 900))
    model = get("Majority")(jostle.rehearse(other.table, seed=1), epsilon=1)
    assert other.loss(model) >= 0
    with pytest.raises(OptionError, match="a model of another table"):
        table.loss(model)
    small, large = (grid_instance(PublicGrid.of(f"g{side}", np.ones(side)), GridSpec()) for side in (8, 16))
    estimate = get("Identity")(jostle.rehearse(large.table, seed=1), *large.questions, epsilon=1)
    assert large.loss(estimate) >= 0
    with pytest.raises(OptionError, match="an estimate of 16 cells"):
        small.loss(estimate)


# What is asked of grids: every kind of question lies in its grid, is the same each time, and tells what it is.


SHAPES = [(64,), (16, 33), (4, 5, 6)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_question_lies_in_its_grid_and_is_the_same_each_time(kind: str, shape: tuple[int, ...]) -> None:
    question = RangeQuestion(kind, 30, 7)
    workload, again = question.workload(shape), RangeQuestion.of(str(question)).workload(shape)

    assert workload.shape == shape  # whose boxes lie in it, or it would not have been made
    assert (workload.low == again.low).all()
    assert (workload.high == again.high).all()


def test_facts_of_a_question_are_those_that_its_boxes_have() -> None:
    shape = (4, 10)
    workload = RangeQuestion("ranges", 50, 1).workload(shape)
    facts = facts_of(workload)

    boxes = [
        [(low, high, side) for low, high, side in zip(*corners, shape, strict=True)]
        for corners in zip(workload.low.tolist(), workload.high.tolist(), strict=True)
    ]
    sides = [side for box in boxes for side in box]
    cut = [(low, high, side) for low, high, side in sides if high - low < side]
    assert facts.log_queries == pytest.approx(math.log10(50))
    volumes = [math.prod((high - low) / side for low, high, side in box) for box in boxes]
    assert facts.log_volume == pytest.approx(np.mean(np.log10(volumes)))
    assert facts.log_length == pytest.approx(np.mean([math.log10(high - low) for low, high, _ in sides]))
    assert facts.whole == pytest.approx(1 - len(cut) / len(sides))
    assert facts.edges == pytest.approx(sum(low == 0 or high == side for low, high, side in cut) / len(cut))
    assert facts.cells == pytest.approx(np.mean([all(high - low == 1 for low, high, _ in box) for box in boxes]))


def test_what_a_query_takes_is_told_by_parts_whatever_the_domain() -> None:
    few = Workload.boxes(1024, [(0, 512), (256, 512)])
    facts = facts_of(few)
    assert facts.log_told == pytest.approx(math.log10(3)), "the cells to 256, those to 512, and the rest"
    assert facts.log_parts == pytest.approx(np.mean(np.log10([1, 1]))), "all but one, or one"
    assert facts_of(Workload.boxes(8, [(0, 4), (2, 4)])).log_told == facts.log_told

    marginals = facts_of(RangeQuestion("marginals").workload((4, 16)))
    assert marginals.log_told == pytest.approx((4 * math.log10(4) + 16 * math.log10(16)) / 20), "of one axis each"
    assert marginals.log_parts == 0

    prefixes = facts_of(RangeQuestion("prefixes").workload((64,)))
    assert prefixes.log_told == pytest.approx(63 / 64 * math.log10(64)), "one of them is all of the axis"
    nodes = [min(length, 64 - length, 12) for length in range(1, 64)]
    assert prefixes.log_parts == pytest.approx(np.log10([*nodes, 1]).mean())


def test_what_is_asked_is_seen_by_metafeatures_in_rehearsals_and_runs_alike() -> None:
    grid = PublicGrid.of("toy", np.arange(64).reshape(8, 8))
    spec = GridSpec(records=100, asks="cells 1 0")
    instance = RANGES.rehearsal.instance(grid, spec)
    rehearsed = RANGES.question.asked_in(instance.schema, spec.asks)

    for asked in (rehearsed, RANGES.question.read(instance.schema, instance.questions)):
        view = View(instance.schema, 1.0, None, asked=asked)  # type: ignore[arg-type]  # nothing is bought
        assert {fact.name: fact(view) for fact in ASKED}["single_cells"] == 1
    usual = View(instance.schema, 1.0, None)  # type: ignore[arg-type]  # as above
    said = RangeQuestion.of("ranges 2000 0").workload(grid_shape(instance.schema))
    assert ASKED[0](usual) == ASKED[0](evolve(usual, asked=(said,)))
    assert " asks=cells:1:0 " in grid.key(spec)


def test_questions_to_be_judged_by_have_other_sides_and_records_than_those_learned_from() -> None:
    roles = question_roles()
    assert set(roles.kinds("learn")) < set(roles.kinds("judge")) == set(KINDS)
    for role, powers in (("learn", True), ("judge", False)):
        for at, size in spread(64, 2, 1):
            side, low = roles.sides(role, (2 ** (2 + 6 * size),))[0], math.log10(roles.records(role, 2 + 5 * at))
            assert (side & (side - 1) == 0) == powers
            assert (math.floor(2 * low + 1e-6) % 2 == 0) == powers or abs(2 * low - round(2 * low)) < 0.01


def test_unlike_sides_are_halved_in_turn() -> None:
    levels = halving_cuts((2, 16))
    assert [tuple(map(len, cuts)) for cuts in levels] == [(1, 1), (2, 1), (2, 2), (2, 4), (2, 8), (2, 16)]


# What stands for a function that is in no file: the same in every process, and another once anything in it changes.


TEXT = """def size(db):
    kinds = db.kind in {"few", "some", "many", "most"}
    return max((each for each in (1, 2)), key=lambda each: each + 10) + kinds
"""


def made(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "nowhere", "exec"), names)  # noqa: S102 - so it is in no file
    return names["size"]


@pytest.mark.parametrize(
    ("old", "new"), [("+ 10", "+ 11"), ('"most"', '"more"'), ("(1, 2)", "(1, 3)"), ("max", "min"), ("each + 10", "10")]
)
def test_whatever_changes_in_a_function_changes_its_text(old: str, new: str) -> None:
    assert text_of(made(TEXT)) == text_of(made(TEXT))
    assert text_of(made(TEXT)) != text_of(made(TEXT.replace(old, new)))


TYPED = f"""import jostle

{TEXT}

@jostle.option(task="grid")
def Typed(db, *, epsilon):
    return [size(each) for each in "ab" if each in {{"x", "y", "z"}}]

print(jostle.metafeature(size).version, Typed.version, Typed.mark)
"""


@pytest.mark.slow
def test_an_option_and_a_metafeature_typed_in_have_the_same_marks_in_every_process() -> None:
    printed = {
        ran("-c", TYPED, env={**os.environ, "PYTHONHASHSEED": seed}, check=True).stdout for seed in ("1", "2", "3")
    }
    assert len(printed) == 1


def test_the_version_of_a_metafeature_goes_by_all_of_it() -> None:
    one, other = (jostle.metafeature(made(text)).version for text in (TEXT, TEXT.replace("+ 10", "+ 11")))
    assert one != other
