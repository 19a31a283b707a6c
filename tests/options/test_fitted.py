"""Models: what they were fitted on, how files keep them, and those of one class."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from processes import ran
from small import METAFEATURES, known_by_rows, options, table, tables
from tables_of_labels import arrow, correlated, table_of
from test_every_option import CLASSIFIERS

import jostle
from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import History, KnownDatabase
from jostle.choice.makers.evaluate import evaluate
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import MkChoiceMaker, Training
from jostle.choice.policies.learn import Labelled
from jostle.choice.trainer import train_maker, train_policies
from jostle.corpora.corpus import Corpus
from jostle.errors import ChoiceError, OptionError
from jostle.lang.program import load
from jostle.options.fitted import kept_apart, marks_of
from jostle.options.functions import function_option
from jostle.options.models import AdditiveModel, Model, Term
from jostle.options.ranges.reading import SPLITS
from jostle.privacy.probe import Probe
from jostle.tables.columns import Categorical
from jostle.tables.schema import Schema

MAJORITY = options()[0]


def fitted(*given: Any) -> Any:
    """An Option that says it was fitted on something."""

    def lucky(db: Probe, *, epsilon: Any) -> Any:
        return MAJORITY(db, epsilon=epsilon)

    return function_option(lucky, task="classification", predict=None, fitted_on=given)


@pytest.mark.parametrize("said", ["d3", "group 3", "digest", "beginning"])
def test_nothing_is_learned_from_what_an_option_was_fitted_on(said: str) -> None:
    history = known_by_rows()
    (digest,) = (digest for digest, each in history.databases.items() if each.name == "d3")
    mark = {"digest": digest, "beginning": digest[:8]}.get(said, said)
    among = (*options()[:1], evolve(fitted(mark), called="NaiveBayes", function=options()[1]))
    among = tuple(_as_rehearsed(each, history) for each in among)
    whole, kept = cases_of(history, options()), cases_of(history, among)
    assert set(whole.databases) - set(kept.databases) == {"d3"}


def _as_rehearsed(option: Any, history: History) -> Any:
    """The Option, under the version that a history has it with."""
    known = options("NaiveBayes")[0]
    if option.name != known.name:
        return option

    class Known(type(option)):  # type: ignore[misc]  # made here, for its version
        version = known.version

    return Known(function=option.function, called=option.called, answers=option.answers, fitted=option.fitted)


def test_a_group_is_kept_apart_as_a_whole() -> None:
    """The people of one database of a group are those of the others."""
    known = [KnownDatabase(f"{number:032x}", f"d{number}", f"g{number // 2}", "classification") for number in range(6)]
    apart = kept_apart([fitted("d3")], known)
    assert {each.name for each in known if each.digest in apart} == {"d2", "d3"}
    assert "d2 is kept apart: lucky was fitted on it, or on others of its group" in apart.values()


def test_databases_folders_and_lists_of_them_are_named_by_what_they_hold(tmp_path: Path) -> None:
    corpus = tables(2)
    corpus["t0"].columns.to_pandas().to_csv(tmp_path / "other.csv", index=False)  # type: ignore[attr-defined]  # a table
    digests = {each.digest for each in corpus}
    assert marks_of(corpus) == digests
    assert marks_of([corpus["t0"], "census"]) == {corpus["t0"].digest, "census"}
    assert marks_of(tmp_path) == {corpus["t0"].digest}
    with pytest.raises(OptionError, match="fitted_on has 3"):
        marks_of(["adult", 3])


def test_training_leaves_them_out_and_says_so() -> None:
    corpus = tables(5)
    option = fitted(corpus["t1"])
    training = Training(corpus=corpus, history=History(), epsilons=("1",), repeats=2, engine="threads")
    maker = ChoiceMaker(among=(MAJORITY, option), informed_by=METAFEATURES[:1])
    history = training.rehearsed(maker)
    assert {each.name for each in history.databases.values()} == {"t0", "t2", "t3", "t4"}
    with pytest.raises(ChoiceError, match="no public database") as refused:
        evolve(training, corpus=Corpus([corpus["t1"]])).rehearsed(maker)
    assert refused.value.why == "1 are kept apart, since an Option was fitted on them"


def test_the_command_says_which_were_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOSTLE_HOME", str(tmp_path))
    corpus = tables(5)
    training = Training(corpus=corpus, epsilons=("1",), repeats=2)
    maker = ChoiceMaker(among=(MAJORITY, fitted("t1")), informed_by=METAFEATURES[:1], trainer=training)
    learned = train_maker(maker, engine="threads")
    assert learned.trained.databases == 4
    assert "t1 is kept apart: lucky was fitted on it, or on others of its group" in learned.as_text()


def test_nothing_is_judged_by_them() -> None:
    corpus = Corpus([*tables(2), table(9)])
    maker = MkChoiceMaker(among=options(), informed_by=METAFEATURES, trained_on=known_by_rows())
    judged = evolve(maker, among=(MAJORITY, _as_rehearsed(_named(fitted("t9")), known_by_rows())))
    found = evaluate(judged, corpus, ["1"], trials=2, workers=1)
    assert {cell.database for cell in found.cells} == {"t0", "t1"}
    assert found.problems == ("t9 is kept apart: NaiveBayes was fitted on it, or on others of its group",)
    with pytest.raises(ChoiceError) as refused:
        evaluate(judged, Corpus([table(9)]), ["1"], trials=2, workers=1)
    assert refused.value.why is not None
    assert "NaiveBayes was fitted on it" in refused.value.why


def _named(option: Any) -> Any:
    return evolve(option, called="NaiveBayes", function=options()[1])


def test_choices_are_not_learned_on_them_and_remember_what_they_were_learned_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOSTLE_HOME", str(tmp_path))
    corpus = tables(4)
    learned = train_policies(
        Labelled("Stump", "mark", "p.py", jostle.tasks.CLASSIFICATION, _chooses, fitted_on=["t2"]),
        corpus=corpus,
        epsilons=["1"],
        engine="threads",
        runs=12,
    )
    assert learned.problems == ("t2 is kept apart: Stump was fitted on it, or on others of its group",)
    from jostle.learned.policies import fitted_on, policies_for  # noqa: PLC0415 - after its home was set

    kept = fitted_on(policies_for("Stump", "mark", "p.py"))
    assert set(kept) == {corpus[name].digest[:8] for name in ("t0", "t1", "t3")}


def _chooses(db: Probe, epsilon: Any, *_: Any) -> Any:
    taken = jostle.choose("How", among=("Majority", "NaiveBayes"), informed_by={"epsilon": float(epsilon)})
    return jostle.options.get(taken)(db, epsilon=epsilon)


def test_what_holds_options_was_fitted_on_what_they_were() -> None:
    asked = jostle.pretrained("ranges")
    assert marks_of(asked.fitted_on) >= {*SPLITS.fitted_on, *asked.trained.digests}
    program = load(Path(__file__).parents[2] / "programs" / "dawa_class.jst")
    assert marks_of(program.options["Partitioning"].fitted_on) == set(SPLITS.fitted_on), "it runs DAWA"
    assert not marks_of(program.options["Reweighting"].fitted_on), "it runs MWEM"
    assert len(marks_of(jostle.options.get("JostledTree").fitted_on)) == 112
    assert not marks_of(jostle.options.get("JostledTree(policies=published)").fitted_on)


def test_a_users_option_says_it_where_it_is_made() -> None:
    @jostle.option(task="classification", fitted_on=["adult", "census"])
    def Mine(db: Probe, *, epsilon: Any) -> Any:  # noqa: N802 - an Option
        return MAJORITY(db, epsilon=epsilon)

    assert marks_of(Mine.fitted_on) == {"adult", "census"}


# Files of models: read by any process, to the last digit; and whoever wrote one, it is a model or a sentence.


SCHEMA, ROWS = correlated(300)
FRAME = arrow(ROWS, SCHEMA)
KINDS = ("Majority", "NaiveBayes", "RandomForest", "BayesTree", "PooledBayes")
"""Options whose models are of every kind there is."""


@cache
def learnt(name: str) -> Model:
    """Return the model of an Option on public rows."""
    option: Any = jostle.options.get(name)
    model: Model = option(jostle.rehearse(table_of(ROWS, SCHEMA), seed=2), epsilon=5)
    return model


def every_kind(kind: type[Model] = Model) -> Iterator[type[Model]]:
    """Yield the classes of models that Jostle has."""
    for each in kind.__subclasses__():
        if each.__module__.startswith("jostle."):
            yield each
        yield from every_kind(each)


READ = """
import sys
import pyarrow as pa, pyarrow.parquet
import jostle
frame = pyarrow.parquet.read_table(sys.argv[1])
for path in sys.argv[2:]:
    model = jostle.load_model(path)
    print(type(model).__name__, model.predict_proba(frame).tobytes().hex())
"""


def test_the_models_of_every_option_are_read_by_a_fresh_process_to_the_last_digit(tmp_path: Path) -> None:
    from pyarrow import parquet  # noqa: PLC0415 - this test alone

    parquet.write_table(FRAME, tmp_path / "rows.parquet")
    by_kind: dict[type[Model], list[str]] = {}
    for name in CLASSIFIERS:
        by_kind.setdefault(type(learnt(name)), []).append(name)
    assert set(by_kind) == set(every_kind())

    for kind, names in by_kind.items():  # a process each: reading one kind may not help with another
        paths = [tmp_path / f"{kind.__name__}{number}.json" for number, _ in enumerate(names)]
        for name, path in zip(names, paths, strict=True):
            learnt(name).save(path)
        done = ran("-c", READ, tmp_path / "rows.parquet", *paths)
        assert done.returncode == 0, done.stderr
        said = [line.split(" ") for line in done.stdout.splitlines()]
        assert said == [[kind.__name__, learnt(name).predict_proba(FRAME).tobytes().hex()] for name in names]


@pytest.mark.parametrize("name", KINDS)
def test_what_is_read_is_written_again_the_same(name: str) -> None:
    text = learnt(name).to_json()
    assert Model.from_json(text).to_json() == text


# Models that tell no rows apart say so, from what they hold: against all rows there can be.


SCHEMA_OF_ONE_CLASS = Schema(
    {"a": Categorical(["0", "1", "2"]), "b": Categorical(["0", "1"]), "label": Categorical(["x", "y", "z"])},
    label="label",
)
ROWS_OF_ONE_CLASS = np.array(list(product(range(3), range(2))))
weights = st.lists(st.integers(-3, 3), min_size=3, max_size=3)


@given(weights, st.lists(weights, min_size=3, max_size=3), st.lists(weights, min_size=2, max_size=2))
def test_additive_models_know_exactly(start: list[int], first: list[list[int]], second: list[list[int]]) -> None:
    terms = (Term(("a",), np.array(first, dtype=float)), Term(("b",), np.array(second, dtype=float)))
    model = AdditiveModel(schema=SCHEMA_OF_ONE_CLASS, start=np.array(start, dtype=float), terms=terms)
    said = set(np.argmax(model.chances(ROWS_OF_ONE_CLASS), axis=1).tolist())
    assert (model.only_class is not None) == (len(said) == 1)
    if model.only_class is not None:
        assert model.classes[said.pop()] == model.only_class


def every_row(schema: Schema) -> np.ndarray:
    return np.array(list(product(*(range(schema[name].size) for name in schema.attributes))))


@pytest.mark.parametrize("name", ["PooledTree", "RandomForest", "BayesTree", "Mohammed(depth=1)", "FletcherIslam"])
def test_whatever_says_so_gives_one_class_to_every_row(name: str) -> None:
    schema, rows = correlated(300)
    told = {True: 0, False: 0}
    for seed, epsilon in product(range(4), ("1/1000", "10")):
        option: jostle.options.Option[Model] = jostle.options.get(name)
        model = option(jostle.rehearse(table_of(rows, schema), seed=seed), epsilon=epsilon)
        said = set(np.argmax(model.chances(every_row(schema)), axis=1).tolist())
        told[model.only_class is not None] += 1
        if model.only_class is not None:
            assert {model.classes[code] for code in said} == {model.only_class}
            assert str(model).startswith(f"predicts {model.only_class!r} for every row")
        else:
            assert str(model) == model.text()
    assert told[False] > 0


def test_one_that_only_counts_classes_says_so_wherever_it_is_shown() -> None:
    schema, rows = correlated(300)
    model = jostle.options.get("Majority")(jostle.rehearse(table_of(rows, schema), seed=1), epsilon=1)
    said = jostle.options.get("Majority").task.shown.text(model)
    assert said.startswith(f"predicts {model.only_class!r} for every row: what was released tells no rows apart")
