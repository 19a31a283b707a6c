"""That public names refuse what is plainly of a wrong kind in a sentence, and never fail inside over it.

Each argument of each public name is tried in turn, the others being right, and then all of them at once.
"""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import GeneratorType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from public_names import FOR_OPTIONS, MADE_ELSEWHERE, PUBLIC
from scipy.sparse import csr_array

import jostle
from jostle import Categorical, Numeric, Probe, Schema, SparseFeatures, Table, Trace, expressions
from jostle.errors import CallError, JostleError, OptionError
from jostle.given import called_as
from jostle.privacy.scores import Fullest
from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector, PrivateFolds
from jostle.tables.kernels import Counts

CELL = "cell-of-a-row"
FRAME = pd.DataFrame({"age": [1, 2], "sex": [CELL, CELL]})
WRONG = {"a number": 3, "None": None, "a text": "nonsense", "a list": [], "a frame": FRAME}
SCHEMA = Schema(
    {"age": Numeric(0, 10, bins=2), "paid": Numeric(0, 5, bins=2), "sex": Categorical(["f", "m"])}, label="sex"
)
WORDS = Schema(dict(SCHEMA.columns), label="sex", features=SparseFeatures("text", words=["one", "two"]))
ROWS = pd.DataFrame({"age": [1, 2, 3, 9] * 10, "paid": [1, 1, 4, 4] * 10, "sex": ["f", "m"] * 20})


@cache
def table() -> Table:
    return Table.from_frame(ROWS, SCHEMA)


def probe() -> Probe:
    """A probe with a budget of its own: an answer of one is refined by no other."""
    return jostle.rehearse(table(), epsilon=10, seed=1)


def trace() -> Trace:
    """A trace with records."""
    kept = Trace()
    jostle.rehearse(table(), epsilon=1, seed=1, trace=kept).count("0.1")
    return kept


@cache
def persons(column: str) -> Table:
    """A table of persons, a row each."""
    schema = Schema(
        {column: Numeric(0, 10), f"{column} group": Categorical(["young", "old"])},
        person="name",
        rows_per_person=1,
        people="all",
    )
    return Table.from_frame({column: [1], f"{column} group": ["young"], "name": ["Ann"]}, schema)


@cache
def model() -> Any:
    return jostle.options.get("NaiveBayes")(probe(), epsilon=1)


@cache
def fitted(kind: Any) -> Any:
    return kind(schema=SCHEMA, public=True, random_state=1).fit(ROWS[["age", "paid"]], ROWS["sex"])


OWNERS: Mapping[str, Callable[[], Any]] = {
    "jostle.JostleError": lambda: JostleError("title"),
    "jostle.Numeric": lambda: jostle.Dates("2020-01-01", "2021-01-01"),
    "jostle.Probe": probe,
    "jostle.Schema": lambda: SCHEMA,
    "jostle.SparseFeatures": lambda: SparseFeatures("text", words=["one", "two"]),
    "jostle.Table": lambda: persons("age"),
    "jostle.Trace": trace,
    "jostle.advice.Advice": cache(lambda: jostle.advise(schema=SCHEMA, rows=1000)),
    "jostle.advice.PersonsAdvice": lambda: jostle.advise_rows_per_person("geometric 2", rows=1000, cells=9),
    "jostle.expressions.Expression": lambda: expressions.cells("age"),
    "jostle.options.Option": lambda: jostle.options.get("NaiveBayes"),
    "jostle.sklearn.PrivateClassifier": lambda: deepcopy(fitted(PrivateClassifier)),
    "jostle.sklearn.PrivateFeatureSelector": lambda: deepcopy(fitted(PrivateFeatureSelector)),
    "jostle.sklearn.PrivateFolds": PrivateFolds,
}
"""What methods are called on."""

BY_NAME: Mapping[str, Callable[[], Any]] = {
    "X": lambda: ROWS[["age", "paid"]],
    "y": lambda: ROWS["sex"],
    "above": lambda: 0,
    "among": lambda: ["NaiveBayes", "Majority"],
    "attribute": lambda: "age",
    "attributes": lambda: ["age"],
    "axis": lambda: 0,
    "column": lambda: "sex",
    "columns": lambda: "age",
    "counts": lambda: [1, 2, 3],
    "database": lambda: jostle.public.gridCorpus.grids[0],
    "db": probe,
    "fitted_on": tuple,
    "down": lambda: "age",
    "across": lambda: "sex",
    "end": lambda: "2021-01-01",
    "epsilon": lambda: "0.1",
    "expression": expressions.rows,
    "features": lambda: ROWS[["age", "paid"]],
    "labels": lambda: ROWS["sex"],
    "label": lambda: "sex",
    "frame": lambda: ROWS,
    "function": lambda: lambda db: 1.0,
    "groups": lambda: {"age": 2},
    "guess": lambda: "geometric 8",
    "high": lambda: 10,
    "how": lambda: "sum",
    "k": lambda: 1,
    "kernel": lambda: Counts.of("age"),
    "low": lambda: 0,
    "made_by": lambda: "grown",
    "maker": lambda: jostle.pretrained("classification"),
    "matrix": lambda: np.zeros((40, 2)),
    "models": lambda: [model(), model()],
    "most": lambda: 9,
    "name": lambda: "NaiveBayes",
    "neighbours": lambda: "replace_one",
    "number": lambda: 3.0,
    "of": lambda: expressions.cells("age"),
    "more": lambda: expressions.cells("age"),
    "option": lambda: jostle.options.get("Identity"),
    "path": lambda: Path("nowhere"),
    "rows": lambda: 1000,
    "scale": lambda: 100,
    "schema": lambda: SCHEMA,
    "share": lambda: "0.5",
    "start": lambda: "2020-01-01",
    "table": table,
    "task": lambda: "classification",
    "text": SCHEMA.to_toml,
    "texts": lambda: ["one", None],
    "threshold": lambda: 3,
    "title": lambda: "title",
    "tree": lambda: jostle.trees.Leaf("f", 3),
    "values": lambda: ["f", "m"],
    "weights": lambda: [1, 2],
}
"""Arguments that are right, for parameters of these names."""
RIGHT: Mapping[str, Mapping[str, Callable[[], Any]]] = {
    "jostle.Probe.portions": {"count": lambda: 2},
    "jostle.Probe.top_k": {"column": lambda: "sex"},
    "jostle.Probe.where": {"values": lambda: "f"},
    "jostle.Probe.mean": {"column": lambda: "age"},
    "jostle.Probe.median": {"column": lambda: "age"},
    "jostle.Probe.quantile": {"column": lambda: "age"},
    "jostle.Probe.quantiles": {"column": lambda: "age", "shares": lambda: [0.5]},
    "jostle.Probe.sum": {"column": lambda: "age"},
    "jostle.Probe.variance": {"column": lambda: "age"},
    "jostle.Probe.pick": {"score": lambda: Fullest(["age"])},
    "jostle.expressions.Expression.where": {"values": lambda: "f"},
    "jostle.expressions.deviation": {"of": lambda: expressions.cells("age")},
    "jostle.Schema": {"columns": lambda: dict(SCHEMA.columns)},
    "jostle.Table.query": {"database": lambda: "sqlite:///rows.db", "query": lambda: "SELECT * FROM t"},
    "jostle.sklearn.PrivateClassifier.fit": {"y": lambda: ROWS["sex"]},
    "jostle.sklearn.PrivateClassifier.score": {"y": lambda: ROWS["sex"]},
    "jostle.sklearn.PrivateFeatureSelector.fit": {"y": lambda: ROWS["sex"]},
    "jostle.Probe.hand": {"settles": lambda: False, "option": lambda: "DAWA"},
    "jostle.SparseFeatures": {"column": lambda: "text", "words": lambda: ["one", "two"]},
    "jostle.Table.read": {"path": lambda: Path("rows.csv")},
    "jostle.Schema.infer_public": {"source": lambda: ROWS},
    "jostle.Schema.read": {"path": lambda: Path("rows.toml")},
    "jostle.Schema.size": {"names": lambda: "age"},
    "jostle.Schema.write": {"path": lambda: Path("written.toml")},
    "jostle.advise_rows_per_person": {"cells": lambda: 9},
    "jostle.advice.advise_rows_per_person": {"cells": lambda: 9},
    "jostle.choose": {"label": lambda: "L", "among": lambda: ["stop", "go"]},
    "jostle.expressions.Expression.coarsened": {"groups": lambda: {"age": 2}},
    "jostle.expressions.sums": {"column": lambda: "age"},
    "jostle.load": {"path": lambda: Path("count.jst")},
    "jostle.load_model": {"path": lambda: Path("model.json")},
    "jostle.option": {"given": lambda: type(jostle.options.get("Identity"))},
    "jostle.options.get": {"name": lambda: "NaiveBayes"},
    "jostle.options.option": {"given": lambda: type(jostle.options.get("Identity"))},
    "jostle.pretrained": {"name": lambda: "classification"},
    "jostle.private_roc_auc": {"scores": model},
    "jostle.protect": {"epsilon": lambda: 1},
    "jostle.Trace.released": {"place": lambda: 0},
    "jostle.Table.join": {"other": lambda: persons("height"), "on": lambda: "name"},
    "jostle.Table.join_public": {
        "frame": lambda: pd.DataFrame({"age group": ["young", "old"], "fare": ["half", "full"]}),
        "on": lambda: "age group",
    },
    "jostle.Table.from_matrix": {
        "schema": lambda: WORDS,
        "matrix": lambda: csr_array(np.ones((40, 2))),
    },
    "jostle.public.folder": {"path": lambda: Path("tables")},
    "jostle.trees.Leaf": {"pred": lambda: "f"},
    "jostle.trees.Node": {"children": lambda: {"[0, 5)": jostle.trees.Leaf("f", 3), "[5, 10]": jostle.trees.Leaf("m")}},
}
"""Arguments that are right for one public name alone."""

EXEMPT = {
    "jostle.Probe": MADE_ELSEWHERE["jostle.Probe"],
    "jostle.Table": MADE_ELSEWHERE["jostle.Table"],
    "jostle.advice.Advice": MADE_ELSEWHERE["jostle.advice.Advice"],
    "jostle.expressions.Expression": MADE_ELSEWHERE["jostle.expressions.Expression"],
    "jostle.options.Option": "a class to derive from, as Python says of it",
    "jostle.options.Option.cost": "called by `perform`, with a schema and a budget that were looked at",
    "jostle.options.Option.hopeless": "called by `refuse_hopeless`, with a schema and a budget that were looked at",
    "jostle.options.Option.perform": "called by an Option itself, with a function of its own",
    "jostle.options.Option.refuses": "called by `perform`, with a schema that was looked at",
    "jostle.Table.per_person": "what it takes has names that anybody gives; see tests/tables/test_per_person.py",
    "jostle.Trace.add": "called by probes, with records",
    "jostle.Trace.markup": "called by traces, with records",
    "jostle.Trace.text": "as above",
    "jostle.Probe.settle": "it takes nothing, and settles only what an Option reserved",
    **dict.fromkeys(FOR_OPTIONS, "called by Jostle's own Options and expressions"),
}
"""Public names that are not tried, and why."""
ALLOWED: Mapping[str, tuple[type[Exception], ...]] = {
    # As scikit-learn says it of all its own.
    "jostle.sklearn.PrivateFeatureSelector.get_feature_names_out": (ValueError,),
}
"""Errors of other libraries that are allowed to come, and why."""


def called_on(name: str) -> Callable[..., Any]:
    """What is called by a name; a method, on an owner of its own."""
    owner, _, last = name.rpartition(".")
    called: Callable[..., Any] = getattr(OWNERS[owner](), last) if owner in OWNERS else PUBLIC[name]
    return called


def taken(name: str) -> list[inspect.Parameter]:
    """What may be given to it."""
    return [
        each for each in inspect.signature(called_on(name)).parameters.values() if each.kind is not each.VAR_KEYWORD
    ]


def calls(name: str, wrong: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Which argument is wrong, and all that are given, by name."""
    given = taken(name)
    needed = given_always(name)
    for each in given:
        yield each.name, {**{other: right(name, other) for other in needed if other != each.name}, each.name: wrong}
    if needed:
        yield "all", dict.fromkeys(needed, wrong)


def given_always(name: str) -> list[str]:
    """The parameters that it is never called without."""
    return [each.name for each in taken(name) if each.default is each.empty or each.name in RIGHT.get(name, {})]


def right(name: str, parameter: str) -> Any:
    """An argument that is right."""
    return RIGHT.get(name, {}).get(parameter, BY_NAME.get(parameter, lambda: "unknown"))()


def call(name: str, arguments: Mapping[str, Any]) -> None:
    """Call what has the name, and use up what it gives."""
    placed, named, wanted = [], {}, True
    for each in taken(name):
        if each.name not in arguments:
            wanted = False
        elif each.kind is each.VAR_POSITIONAL:
            placed.append(arguments[each.name])
        elif each.kind is each.KEYWORD_ONLY or not wanted:
            named[each.name] = arguments[each.name]
        else:
            placed.append(arguments[each.name])
    given = called_on(name)(*placed, **named)
    if isinstance(given, GeneratorType):
        list(given)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the right arguments name."""
    folder = tmp_path_factory.mktemp("files")
    ROWS.to_csv(folder / "rows.csv", index=False)
    SCHEMA.write(folder / "rows.toml")
    with sqlite3.connect(folder / "rows.db") as connection:
        ROWS.to_sql("t", connection)
    connection.close()
    (folder / "count.jst").write_text("def answer(db):\n    return noisyCount(db, epsilon)\n", "utf-8")
    model().save(folder / "model.json")
    (folder / "tables").mkdir()
    ROWS.to_csv(folder / "tables" / "rows.csv", index=False)
    return folder


@pytest.fixture(autouse=True)
def here(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in the folder."""
    monkeypatch.chdir(files)


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - EXEMPT.keys()))
def test_what_is_wrong_is_refused_in_a_sentence(name: str) -> None:
    failed = []
    for kind, wrong in WRONG.items():
        for place, arguments in calls(name, wrong):
            try:
                call(name, arguments)
            except JostleError as refusal:
                if CELL in str(refusal):
                    failed.append(f"{place} is {kind}: a cell is shown")
            except ALLOWED.get(name, ()):
                pass
            except Exception as mistake:  # noqa: BLE001 - all are told of at once
                failed.append(f"{place} is {kind}: {mistake!r:.120}")
    assert failed == []


OF_OTHERS = {f"jostle.Probe.{each}" for each in ("refine", "persons", "beyond", "bounded")} | {"jostle.connect"}
"""What is asked of an answer, of a table of persons, or of a server."""


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - EXEMPT.keys() - OF_OTHERS))
def test_what_is_right_is_not_refused(name: str) -> None:
    call(name, {each: right(name, each) for each in given_always(name)})


MAKERS = ["classification", "ranges", "publishing", "selection"]


@pytest.mark.parametrize("name", [*(each.__name__ for each in jostle.options.built_in()), *MAKERS])
def test_an_option_asks_a_probe_alone(name: str) -> None:
    option = jostle.pretrained(name) if name in MAKERS else jostle.options.get(name)
    for wrong in WRONG.values():
        with pytest.raises(OptionError) as refusal:
            option(wrong, epsilon=1)
        assert CELL not in str(refusal.value)


def test_nothing_is_charged_for_what_is_refused() -> None:
    db: Any = jostle.protect(Table.from_frame(ROWS, SCHEMA), epsilon=1)
    asked: tuple[Callable[[Any], object], ...] = (
        lambda wrong: db.mean(wrong, epsilon="0.1"),
        lambda wrong: db.release(wrong, "0.1"),
        lambda wrong: db.top_k("sex", [wrong], epsilon="0.1"),
        lambda wrong: jostle.private_roc_auc(db, [wrong], epsilon="0.1"),  # type: ignore[arg-type]  # as is tried
        lambda wrong: jostle.compare_models(db, [wrong, wrong], epsilon="0.1"),
    )
    for wrong in WRONG.values():
        for ask in asked:
            with pytest.raises(JostleError):
                ask(wrong)
    assert db.spent == 0


def test_a_call_that_does_not_fit_is_told_from_one_that_fails_inside() -> None:
    @called_as("added(1, by=2)", why="by is to be known")
    def added(number: Any, *, by: Any) -> Any:
        return number + by

    assert added(1, by=2) == 3
    assert inspect.signature(added).parameters.keys() == {"number", "by"}
    called: Any = added
    wrong: tuple[tuple[tuple[int, ...], dict[str, int], str], ...] = (
        ((1,), {}, "added is called without by\n  why: by is to be known"),
        ((1, 2), {}, "added is given too many values\n  why: by name it takes by"),
        ((1,), {"by": 2, "to": 3}, "added does not take 'to'\n  why: it takes number, by"),
        ((1,), {"by": 2, "number": 3}, "added is given something twice\n  why: it takes number, by"),
    )
    for placed, named, said in wrong:
        with pytest.raises(CallError) as refusal:
            called(*placed, **named)
        assert str(refusal.value) == f"{said}\n  fix: added(1, by=2)"
    with pytest.raises(TypeError, match="unsupported operand") as inside:
        added(1, by="2")
    assert not isinstance(inside.value, CallError)


def test_the_lists_name_what_is_there() -> None:
    assert PUBLIC.keys() >= EXEMPT.keys() | ALLOWED.keys() | RIGHT.keys()


def test_what_is_given_back_refuses_what_is_no_path() -> None:
    db = probe()
    given_back: tuple[Callable[[Any], object], ...] = (
        model().save,
        jostle.options.get("Identity")(
            jostle.rehearse(Table.from_grid([1, 2, 3, 4]), seed=1, epsilon=1), epsilon=1
        ).write,
        jostle.options.get("ProjectedHistogram")(db, epsilon=5).write,
        jostle.options.get("Peeling(top=1)")(db, epsilon=1).save,
        jostle.private_roc_auc(db, model(), epsilon=1).save,
    )
    for write in given_back:
        for wrong in (each for each in WRONG.values() if not isinstance(each, str)):
            with pytest.raises(JostleError):
                write(wrong)
