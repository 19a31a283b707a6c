"""One suite for every registered Option: what it declares, what it spends, what it leaves alone, what it copes with."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from attrs import evolve
from tables_of_labels import arrow, correlated, schema_of, table_of

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.errors import BudgetError, JostleError, OptionError
from jostle.options import Option, get, names
from jostle.options.evaluation.pri_roc import scorer_of
from jostle.options.statistics.moments import SpreadVariance
from jostle.privacy.amounts import Amount
from jostle.privacy.events import price
from jostle.privacy.measured import Measured
from jostle.tables.kernels import Counts, SparseKernel
from jostle.tables.schema import Neighbours
from jostle.tables.sources import ReadSource
from jostle.tasks import EVALUATION, MEANS, QUANTILES, RANGES, SUMS, VARIANCES
from jostle.tasks.classification.model import Model
from jostle.tasks.evaluation import RocCurve
from jostle.tasks.evaluation.instances import SCORE, scored_table
from jostle.tasks.publishing import Published
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.ranges.task import groups_of
from jostle.tasks.selection import SelectedFeatures

EPSILONS = (Fraction(1, 20), Fraction(1, 3), Fraction(1), Fraction(7), Fraction("0.0123456789"))
STATISTICS = (MEANS, SUMS, VARIANCES, QUANTILES)
RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)
VARIANTS = (
    "FriedmanSchuster(utility=Gini)",
    "FriedmanSchuster(utility=InfoGain, depth=2)",
    "FriedmanSchuster(numeric=bins, prune=False)",
    "Mohammed(utility=InfoGain)",
    "Mohammed(depth=6, numeric=ordered)",
    "Jagannathan(depth=3, trees=2)",
    "PatilSingh(utility=InfoGain, trees=3)",
    "FletcherIslam(most_trees=2)",
    "RandomForest(trees=1)",
    "RandomForest(numeric=cuts)",
    "BayesTree(depth=3)",
    "JostledTree(sizes_share=1/2, policies=published, trees=2)",
    "JostledTree(depth=2, numeric=ordered, prune=False, combine=mean)",
    "PublishedTree(publisher=PrivBayes)",
    "PublishedTree(publisher=ProjectedHistogram)",
    "SuLQID3(utility=Max, depth=2)",
    "FunctionalLogistic(penalty=10.0)",
    "PLR(strength=2.0, steps=9)",
    "PrivateERM(few=1, threshold_share=1/3)",
    "PrivGene(children=5, rounds=3)",
    "AccuracyFirst(accuracy=1/100, steps=2)",
)
PUBLISHER_VARIANTS = (
    "ProjectedHistogram(k=1, gamma=1/3, bins=paper)",
    "PrivPfC(pool=5, grid_share=1/2)",
    "PrivBayes(degree=1, theta=1.0)",
    "DiffGen(steps=2, split_share=1/3)",
)
EVALUATION_VARIANTS = (
    "PriROC(thresholds=FixedSpace, counts=Privelet, reading=rising)",
    "PriROC(levels=7)",
)
SELECTORS = (
    "ScorePerturbation(score=TC)",
    "ClusterSelection(score=PI, threshold=3)",
    "NoisyCut(threshold=5, top=2)",
    "NoisyCut(score=TC)",
    "SparseVector(threshold=5, score=DC)",
    "SparseVector(score=PI, most=1)",
    "Peeling(threshold=2, score=DC)",
    "Peeling(top=2, threshold=2)",
    "PrivateKD(top=2)",
    "Peeling(training=7/10, score=IG, threshold=2)",
    "ScorePerturbation(training=1/2)",
    "FirstFeatures(top=2)",
)
CLASSIFIERS = (*names("classification"), *VARIANTS)
PUBLISHERS = (*names("publishing"), *PUBLISHER_VARIANTS)
EVERYONE = (*names(), *VARIANTS, *PUBLISHER_VARIANTS, *EVALUATION_VARIANTS, *SELECTORS)


def tables(option: Option, relation: Neighbours, rows: int | None = None) -> list[Table]:
    """Return tables that the Option's task is about and that it does not refuse."""
    if isinstance(option, SpreadVariance):
        relation, rows = "replace_one", 120  # it is about declared rows alone
    if option.task is EVALUATION:
        scores, labels = np.arange(120) % 17 / 10 - 0.8, (np.arange(120) % 17 > 9).astype(np.int64)
        made = [scored_table(scores, labels, Numeric(-1, 1, bins=64), neighbours=relation, rows=rows and 120)]
    elif option.task is not RANGES:
        schema, data = correlated(120, neighbours=relation, rows=rows and 120)
        if isinstance(option, SpreadVariance):  # and of numbers in all of them
            columns = {name: evolve(each, missing="drop") if name == "size" else each for name, each in schema.columns}
            schema = evolve(schema, columns=columns)
        made = [table_of(data, schema)]
    else:
        line, square = np.arange(16) % 5, np.arange(64).reshape(8, 8) % 7
        made = [Table.from_grid(grid, neighbours=relation, rows=rows and int(grid.sum())) for grid in (line, square)]
    accepted = [table for table in made if option.refuses(table.schema) is None]
    assert accepted, f"{option.name} refuses every table tried"
    return accepted


def comparable(answer: Any) -> bytes:
    """Return an answer as bytes, the same for the same answer."""
    if isinstance(answer, SelectedFeatures):
        return repr(answer.data()).encode()
    if isinstance(answer, Model):
        return answer.to_json().encode()
    if isinstance(answer, Measured):
        return repr((answer, answer.interval())).encode()
    if isinstance(answer, Published | RocCurve):
        return json.dumps(answer.data()).encode()
    if hasattr(answer, "cells"):
        return np.asarray(answer.cells).tobytes()
    return np.asarray(answer.keys).tobytes() + np.asarray(answer.values).tobytes()


@pytest.mark.representative("name")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", EVERYONE)
def test_too_little_for_any_noise_is_refused_before_it_is_charged(name: str, relation: Neighbours) -> None:
    option = get(name)
    for table in tables(option, relation):
        for epsilon in ("1e-300", "1e-30", "1e-15", "9e-13"):
            db = jostle.rehearse(table, epsilon=1)
            with pytest.raises(OptionError, match="does not run here"):
                option(db, epsilon=epsilon)
            assert db.spent == 0


@pytest.mark.representative("name")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", EVERYONE)
def test_a_run_is_refused_before_anything_is_charged_or_answers_for_its_cost(name: str, relation: Neighbours) -> None:
    """However little there is to spend, and however long the fraction: what goes wrong after a charge is paid for."""
    option: Any = get(name)
    long = Fraction(3**2583 + 1, 3**2584), Fraction(1, 2) + Fraction(1, 3**2000), Fraction(1, 3**2585)
    for table in tables(option, relation):
        for epsilon in (*(Fraction(1, 2**power) for power in (20, 28, 32, 36, 38, 39)), *long):
            db = jostle.rehearse(table, epsilon=1, seed=1)
            try:
                option(db, epsilon=epsilon)
            except JostleError:
                assert db.spent == 0, epsilon
            else:
                # Shares of a fraction that is as long as may be are longer, and where each is charged, rounded up.
                rounded = Fraction(100, 2**60) if option.settles and epsilon in long else 0
                assert paid(option, db.spent, epsilon + rounded), epsilon


CHEAP = tuple(name for name in names("ranges") if name not in {"AHP", "DAWA", "RefinedTree", "ShrunkTree"})
"""Options for grids that answer of large ones within a second."""


@pytest.mark.representative("side")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("side", [1, 2, 3, 65_536, 65_537, pytest.param(2**17 + 1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", names("ranges"))
def test_grids_of_any_side_are_answered_or_refused_before_anything_is_charged(
    name: str, side: int, relation: Neighbours
) -> None:
    if side > 3 and name not in CHEAP:
        pytest.skip("it takes seconds on such grids")
    option: Any = get(name)
    db = jostle.rehearse(Table.from_grid(np.arange(side) % 5, neighbours=relation), epsilon=1, seed=1)
    try:
        option(db, epsilon=1)
    except OptionError:
        assert db.spent == 0
    else:
        assert paid(option, db.spent, 1)


@pytest.mark.parametrize("name", names("ranges"))
def test_a_workload_of_slabs_of_one_cell_is_answered(name: str) -> None:
    """It needs nothing of some levels of a wavelet, which are needed all the same for the cells."""
    option: Any = get(name)
    table = Table.from_grid(np.arange(512).reshape(8, 8, 8))
    if reason := option.refuses(table.schema):
        pytest.skip(reason)
    places = np.arange(8)
    slabs = Workload(
        (8, 8, 8), np.stack([places, places * 0, places * 0], 1), np.stack([places + 1, *[places * 0 + 8] * 2], 1)
    )
    db = jostle.rehearse(table, epsilon=1, seed=1)
    option(db, slabs, epsilon=1)
    assert paid(option, db.spent, 1)


@pytest.mark.representative("name")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", EVERYONE)
@pytest.mark.parametrize("all_pairs", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["in turn", "all pairs"])
def test_what_is_spent_is_what_was_declared(name: str, relation: Neighbours, *, all_pairs: bool) -> None:
    """Whether the number of rows is bought, declared, or known since somebody bought it and more before."""
    option, bought = get(name), (None, "1/100", 10**6)
    for rows in (None, 1) if relation == "replace_one" else (None,):
        for table in tables(option, relation, rows):
            for place, epsilon in enumerate(EPSILONS):
                declared = price(option.cost(table.schema, epsilon), relation)
                assert declared <= epsilon
                assert declared > 0 or table.schema.rows is not None  # what is public already may cost nothing
                for before in bought if all_pairs else bought[place % 3 :][:1]:
                    db = jostle.rehearse(table, seed=3)
                    if before is not None:
                        look_around(db, before)
                    option.perform(db, epsilon, partial(_checked, option, declared))


@pytest.mark.parametrize("name", EVERYONE)
def test_on_a_part_of_a_table_whose_rows_are_declared_it_spends_what_the_part_declares(name: str) -> None:
    """How many of them are in the part, is private."""
    option = get(name)
    for table in tables(option, "replace_one", 1):
        part = jostle.rehearse(table, seed=3).parts(table.schema.names[0])[0]
        assert part.rows is None
        if option.refuses(part.schema) is not None:
            continue  # it is about declared rows alone
        declared = price(option.cost(part.schema, Fraction(1)), "replace_one")
        option.perform(part, Fraction(1), partial(_checked, option, declared))


def look_around(db: jostle.Probe, epsilon: Amount) -> None:
    """Buy what others may use: numbers of all rows, by class, by class and attribute, and of a grid's quarters."""
    schema = db.schema
    db.count(epsilon)
    wanted: list[tuple[str, ...]] = [(name,) for name in schema.names]
    if schema.label is not None:
        wanted += [(name, schema.label) for name in schema.attributes]
    db.measure(Counts(wanted), epsilon)
    if len(schema.names) <= 2 and not schema.label:
        db.release_cells(groups_of(tuple((name, schema[name].size) for name in schema.names)), epsilon)


def _checked(option: Any, declared: Fraction, probe: jostle.Probe, budget: Fraction) -> object:
    asked: tuple[Any, ...] = ()
    if option.task in STATISTICS:
        asked = option.task.question.read(probe.schema, option.task.question.usual(probe.schema))
    if option.task is RANGES:
        asked = (_workload(probe),)
    if option.task is EVALUATION:
        asked = (scorer_of(probe.schema, SCORE),)
    run = option.run(probe, *asked, budget)
    assert paid(option, probe.spent, declared)
    return run


def paid(option: Any, spent: Fraction, declared: Fraction | int) -> bool:
    """Whether what was spent is what was declared, or no more by one that may end early."""
    return 0 < spent <= declared if option.settles else spent == declared


def _workload(probe: jostle.Probe) -> Any:
    return Workload.random_ranges(tuple(probe.schema[name].size for name in probe.schema.names))


@pytest.mark.parametrize("name", EVERYONE)
def test_one_call_spends_its_allotment_and_the_same_seed_gives_the_same(name: str) -> None:
    option: Any = get(name)
    table = tables(option, "add_remove")[0]
    answers = []
    for _ in range(2):
        db = jostle.rehearse(table, epsilon=2, seed=8)
        answers.append(comparable(option(db, epsilon=1)))
        assert paid(option, db.spent, 1)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", EVERYONE)
def test_a_budget_too_small_is_refused_before_any_charge(name: str) -> None:
    option: Any = get(name)
    db = jostle.rehearse(tables(option, "add_remove")[0], epsilon=1)
    with pytest.raises(BudgetError):
        option(db, epsilon=2)
    assert db.spent == 0


@pytest.mark.parametrize("name", [*names("classification"), *names("publishing"), *names("selection")])
def test_a_table_without_a_label_is_refused_before_any_charge(name: str) -> None:
    option: Any = get(name)
    schema = Schema({"a": Categorical(["x", "y"])})
    db = jostle.rehearse(Table.from_frame(pa.table({"a": ["x"]}), schema), epsilon=1)
    with pytest.raises(OptionError, match="no label"):
        option(db, epsilon=1)
    assert db.spent == 0


@pytest.mark.parametrize("name", EVERYONE)
def test_a_name_with_its_parameters_gives_the_same_option_back(name: str) -> None:
    option = get(name)
    assert get(option.name) == option


@pytest.mark.parametrize("name", [*CLASSIFIERS, *names("selection")])
def test_the_data_are_left_as_they_were(name: str) -> None:
    option: Any = get(name)
    table = tables(option, "add_remove")[0]
    before = {key: codes.copy() for key, codes in table._source.columns.items()}  # type: ignore[attr-defined]
    option(jostle.rehearse(table, epsilon=1), epsilon=1)
    after = table._source.columns  # type: ignore[attr-defined]  # an in-memory source
    assert all(np.array_equal(codes, after[key]) for key, codes in before.items())


@pytest.mark.parametrize("name", EVERYONE)
def test_rows_that_are_streamed_give_the_same_answer_and_what_holds_more_of_them_says_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dense tallies have a public number of cells; sparse ones may have one for each row, and so may rows drawn."""
    option: Any = get(name)
    asked: list[Any] = []
    tally = ReadSource.tally

    def noted(source: ReadSource, kernel: Any, where: Any) -> Any:
        asked.append(kernel)
        return tally(source, kernel, where)

    monkeypatch.setattr(ReadSource, "tally", noted)
    kept, streamed = (
        written(tables(option, "add_remove")[0], tmp_path / "rows.parquet", stream=each) for each in (False, True)
    )
    answers = [option(jostle.rehearse(table, epsilon=1, seed=1), epsilon=1) for table in (kept, streamed)]
    assert comparable(answers[0]) == comparable(answers[1])
    assert asked
    draws_rows = "PrivBayes" in name
    assert bool(option.holds) == draws_rows | any(isinstance(kernel, SparseKernel) for kernel in asked)


def written(table: Table, path: Path, *, stream: bool) -> Table:
    """Return the same rows, read from a Parquet file."""
    source: Any = table._source
    codes = np.stack([source.columns[name] for name in table.schema.names], axis=1)
    times = 1 if source.multiplicity is None else source.multiplicity
    pa_parquet.write_table(arrow(np.repeat(codes, times, axis=0).tolist(), table.schema), path)
    return Table.read(path, table.schema, stream=stream)


def _edge(name: str, relation: Neighbours) -> tuple[Schema, list[tuple[int, ...]]]:
    if name == "two hundred classes":
        return schema_of(3, 2, 200, neighbours=relation), [(row % 3, row % 2, row % 200) for row in range(400)]
    shapes: dict[str, tuple[tuple[int, ...], list[tuple[int, ...]]]] = {
        "empty": ((3, 2, 2), []),
        "one row": ((3, 2, 2), [(2, 1, 1)]),
        "one class": ((3, 2, 1), [(0, 1, 0), (1, 1, 0)]),
        "one attribute": ((4, 2), [(3, 1), (0, 0), (3, 1)]),
        "a constant attribute": ((1, 2), [(0, 1), (0, 0), (0, 1)]),
        "no attribute": ((2,), [(0,), (1,), (1,)]),
        "wide": ((40, 40, 40, 40, 2), [(7, 7, 7, 7, 1)] * 30),
        "all rows alike": ((3, 2, 2), [(1, 1, 1)] * 50),
    }
    sizes, rows = shapes[name]
    return schema_of(*sizes, neighbours=relation), rows


EDGES = (
    "empty",
    "one row",
    "one class",
    "one attribute",
    "a constant attribute",
    "no attribute",
    "wide",
    "all rows alike",
    "two hundred classes",
)


@pytest.mark.representative("name")
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_tables_at_the_edge_work_and_cost_what_they_should(name: str, edge: str) -> None:
    option: Any = get(name)
    for relation in RELATIONS:
        schema, rows = _edge(edge, relation)
        db = jostle.rehearse(table_of(rows, schema), epsilon=1)
        model = option(db, epsilon=1)
        assert paid(option, db.spent, 1)
        frame = arrow(rows or [(0,) * len(schema.names)], schema)
        chances = model.predict_proba(frame)
        assert chances.shape == (max(len(rows), 1), len(schema.classes))
        assert np.allclose(chances.sum(axis=1), 1)
        assert chances.min() >= 0
        assert set(model.predict(frame)) <= set(schema.classes)


@pytest.mark.representative("name")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_more_values_classes_or_rows_never_change_the_price(name: str, relation: Neighbours) -> None:
    option = get(name)
    for sizes in ((2, 2), (2, 2, 2), (50, 2, 2), (3, 3, 3, 3, 3, 3, 9), (2,) * 30):
        for rows in (None, 0, 10, 10**6) if relation == "replace_one" else (None,):
            schema = schema_of(*sizes, neighbours=relation, rows=rows)
            for epsilon in EPSILONS:
                assert price(option.cost(schema, epsilon), relation) == epsilon


@pytest.mark.representative
@pytest.mark.parametrize(
    "name", ["FriedmanSchuster", "Mohammed", "PatilSingh", "RandomForest", "BayesTree", "JostledTree", "SuLQID3"]
)
def test_depth_never_changes_the_price(name: str) -> None:
    schema = Schema({"n": Numeric(0, 1), "a": Categorical(["x"]), "label": Categorical(["n", "y"])}, label="label")
    for depth in (1, 2, 3, 7, 40):
        assert price(get(f"{name}(depth={depth})").cost(schema, Fraction(1, 3)), "add_remove") == Fraction(1, 3)


@pytest.mark.representative
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_missing_values_are_a_value(name: str) -> None:
    option: Any = get(name)
    schema = Schema(
        {
            "n": Numeric(0, 8, bins=4, missing="value"),
            "a": Categorical(["x"], missing="value"),
            "label": Categorical(["n", "y"]),
        },
        label="label",
    )
    frame = pa.table({"n": [None, 1.0, None, 7.0], "a": ["x", None, None, "x"], "label": ["n", "y", "n", "y"]})
    model = option(jostle.rehearse(Table.from_frame(frame, schema), epsilon=50), epsilon=50)
    assert model.predict_proba(frame).shape == (4, 2)


@pytest.mark.parametrize(
    "name",
    [
        "NaiveBayes",
        "FriedmanSchuster",
        "Mohammed",
        "BayesTree",
        "JostledTree",
        "PublishedTree",
        "SuLQID3",
        "PLR",
        "PrivateERM",
        "PrivGene(rounds=16)",
    ],
)
def test_without_noise_to_speak_of_they_learn(name: str) -> None:
    """At epsilon = 1000 on 3,000 rows, whose label follows from two attributes nine times in ten, most are found."""
    schema, rows = correlated(3000)
    option: Any = get(name)
    model = option(jostle.rehearse(table_of(rows, schema), epsilon=1000, seed=1), epsilon=1000)
    assert model.score(arrow(rows, schema)) > 0.75
