"""Makers: what they spend, what they go by, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from attrs import evolve, frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from small import METAFEATURES, ROWS, by_rows, known_by_rows, options, planted, size, table, tables

import jostle
from jostle.choice.learning.cases import cases_of
from jostle.choice.learning.history import History, KnownInstance
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import MkChoiceMaker, Training
from jostle.choice.makers.shipped import identity_of, place_of
from jostle.choice.makers.trained import Trained, trained_on
from jostle.choice.makers.training import judge_all
from jostle.corpora.folders import public
from jostle.corpora.parts import TableSpec
from jostle.errors import BudgetError, ChoiceError
from jostle.options.base import Option
from jostle.options.functions import function_option
from jostle.options.registry import get
from jostle.privacy.events import Allotment, Event
from jostle.privacy.nodes import Expression
from jostle.privacy.probe import Probe
from jostle.tables.engines import MemorySource
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks import CLASSIFICATION, make_instance
from jostle.tasks.classification.instances import TableInstance
from jostle.tasks.classification.model import Model
from jostle.tasks.metafeature import Market, View, key_of, metafeature
from jostle.trace.records import Charged, Chosen, Record, Released, Stated, Trace, to_json

AMONG = options()


@pytest.fixture(scope="module")
def trained() -> Trained:
    """Return what is learned where the number of rows decides."""
    cases = cases_of(known_by_rows(), AMONG)
    return trained_on(cases, AMONG, judge_all(cases, METAFEATURES, folds=6, draws=2))


@pytest.fixture
def maker(trained: Trained) -> ChoiceMaker:
    return ChoiceMaker(among=AMONG, informed_by=METAFEATURES, label="classifier").with_trained(trained)


def instance(seed: int, rows: int = 240) -> TableInstance:
    made = make_instance(table(seed, rows), TableSpec())
    assert isinstance(made, TableInstance)
    return made


def choices(records: Sequence[Record], label: str = "classifier") -> list[Chosen]:
    return [record for record in records if isinstance(record, Chosen) and record.label == label]


@settings(max_examples=25)
@given(st.fractions(Fraction(1, 50), 10, max_denominator=50), st.integers(0, 10**6))
def test_it_spends_at_most_its_epsilon_and_the_ledger_agrees(epsilon: Fraction, seed: int) -> None:
    maker = chooser()
    trace = Trace()
    db = jostle.rehearse(instance(1).table, epsilon=2 * epsilon, seed=seed, trace=trace)
    maker(db, epsilon=epsilon)
    assert db.spent == epsilon == db.charges[0].epsilon
    charged = [record for record in trace.records if isinstance(record, Charged)]
    bought = sum(record.epsilon for record in charged if record.site.endswith("metafeature"))
    within = [record for record in charged if record.site.startswith("classifier/") and record.site.count("/") == 1]
    assert bought == epsilon * maker.trained.share
    assert sum((record.epsilon for record in within), Fraction(0)) == epsilon
    with pytest.raises(BudgetError):
        maker(db, epsilon=2 * epsilon)
    assert db.spent == epsilon, "what is refused costs nothing"


_chooser: list[ChoiceMaker] = []


def chooser() -> ChoiceMaker:
    """Return a trained maker, trained once: hypothesis and fixtures of modules do not mix."""
    if not _chooser:
        training = Training(history=known_by_rows())
        made = ChoiceMaker(among=AMONG, informed_by=METAFEATURES, label="classifier")
        _chooser.append(made.with_trained(training.learn(made)))
    return _chooser[0]


def test_it_declares_an_allotment(maker: ChoiceMaker) -> None:
    assert maker.cost(instance(1).schema, Fraction(1, 3)) == Allotment(Fraction(1, 3))
    assert maker.task is CLASSIFICATION
    assert maker.name == "classifier(Majority, NaiveBayes)"
    assert maker.refuses(instance(1).schema) is None


def test_a_choice_goes_by_what_was_released(maker: ChoiceMaker) -> None:
    """Other tables of the same schema, the same released numbers: the same choice, prediction and words."""
    first, other = instance(1), instance(1)
    label = first.schema.label
    flipped = {name: values if name == label else values[::-1].copy() for name, values in _columns(first).items()}
    shifted = evolve(other, table=_table(other.schema, flipped))
    found = []
    for each in (first, shifted):
        for seed in range(40):
            trace = Trace()
            db = jostle.rehearse(each.table, epsilon=1, seed=seed, trace=trace)
            maker(db, epsilon=1)
            (choice,) = choices(trace.records)
            released = next(record.values for record in trace.records if isinstance(record, Released))
            found.append((released, choice))
    by_released: dict[Any, Chosen] = {}
    for released, choice in found:
        assert by_released.setdefault(released, choice) == choice
    assert len(by_released) < len(found), "some numbers were released for both tables"


def _columns(given: TableInstance) -> Mapping[str, np.ndarray]:
    source: Any = given.table._source
    return {name: np.asarray(codes) for name, codes in source.columns.items()}


def _table(schema: Schema, columns: Mapping[str, np.ndarray]) -> Table:
    return Table(MemorySource(schema, dict(columns), len(next(iter(columns.values())))))


def test_few_and_many_rows_are_told_apart(maker: ChoiceMaker) -> None:
    taken = []
    for rows in (150, 30_000):
        trace = Trace()
        maker(jostle.rehearse(instance(2, rows).table, epsilon=10, trace=trace), epsilon=10)
        (choice,) = choices(trace.records)
        taken.append(choice.taken[0][0])
        assert {name for name, _, _ in choice.seen} == {name for name, _ in maker.trained.metafeatures}
        assert {name for name, _, _ in choice.predicted} == {"Majority", "NaiveBayes"}
        assert choice.why
    assert taken == ["Majority", "NaiveBayes"]


def test_one_changed_row_shows_only_in_what_was_charged(maker: ChoiceMaker) -> None:
    """With the same noise on two neighbouring tables, traces differ only in releases, and in what follows from them.

    Records are compared field by field. Openings and charges are equal; of releases, only the values may differ; of
    what is stated of a model, what was released of it; of choices, what was seen and so what was expected and taken may
    differ, but only once a release has, and all of it can be worked out from the released numbers and public facts
    alone.
    """
    given = instance(3)
    columns = _columns(given)
    differed = 0
    for row in range(0, 160, 20):
        neighbour = {name: np.delete(codes, row) for name, codes in columns.items()}
        here, there = (_traced(maker, _table(given.schema, each), seed=row) for each in (columns, neighbour))
        released = False
        for one, other in zip(here, there, strict=True):
            assert type(one) is type(other)
            fields, others = json.loads(to_json(one)), json.loads(to_json(other))
            changed = {name for name in fields if fields[name] != others[name]}
            if isinstance(one, Released):
                assert changed <= {"values"}
                released |= bool(changed)
            elif isinstance(one, Chosen):
                assert changed <= {"seen", "predicted", "taken", "why"}
                assert not changed or released
                assert [one, other] == [_follows(maker, given.schema, run) for run in (here, there)]
            elif isinstance(one, Stated):
                assert changed <= {"answer"}
                assert not changed or released
            else:
                assert not changed
        differed += released
    assert differed == 8, "a row more is seen, where noise is the same: in what was paid for"


@frozen(eq=False)
class Published(Market):
    """Gives what a trace says was released, and has no table."""

    values: tuple[int, ...]

    def buy(self, wanted: Expression) -> np.ndarray:
        assert wanted == ROWS
        return np.array(self.values, dtype=np.float64)


def _follows(maker: ChoiceMaker, schema: Schema, records: Sequence[Record]) -> Chosen:
    """Return the record of the choice that follows from what was released."""
    (values,) = [each.values for each in records if isinstance(each, Released) and each.site.endswith("metafeature")]
    looked_at = maker.trained.check(maker.among, maker.informed_by)
    seen = [each(View(schema, 5.0, Published(values))) for each in looked_at]
    found = maker.trained.predict(seen)
    why = maker.trained.why(seen, looked_at, found.order[0], found)
    return Chosen.one(
        choices(records)[0].site,
        "classifier",
        maker.among[found.order[0]].name,
        seen={each.name: value for each, value in zip(looked_at, seen, strict=True)},
        predicted={maker.among[place].name: (found.losses[place], found.spreads[place]) for place in found.order},
        why=f"{why}; it was learned to keep small the share of held-out rows predicted wrongly",
        usual={each.name: ends for each, ends in zip(looked_at, maker.trained.usual, strict=True)},
    )


def _traced(maker: ChoiceMaker, given: Any, *, seed: int) -> list[Record]:
    trace = Trace()
    # A budget for which the two numbers of rows lie far from where another Option would be taken.
    maker(jostle.rehearse(given, epsilon=5, seed=seed, trace=trace), epsilon=5)
    return list(trace.records)


def test_a_maker_may_be_among_anothers_options(maker: ChoiceMaker) -> None:
    def inner_wins(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return (0.5, 0.1)

    pair = (get("Majority"), maker)
    # On other databases: of those that it learned from itself, nothing is learned about it.
    others = planted(inner_wins, pair, begin=100)
    outer = MkChoiceMaker(among=pair, informed_by=METAFEATURES, trained_on=others, label="outer")
    trace = Trace()
    db = jostle.rehearse(instance(1).table, epsilon=1, trace=trace)
    outer(db, epsilon=1)
    assert db.spent == 1
    assert [choice.label for choice in choices(trace.records, "outer") + choices(trace.records)] == [
        "outer",
        "classifier",
    ]
    assert choices(trace.records, "outer")[0].taken == ((maker.name, 1),)


@frozen
class Newer(Option):
    """An Option under an old name, whose answers have changed."""

    task = CLASSIFICATION
    version: ClassVar[int] = 7

    @property
    def name(self) -> str:
        return "NaiveBayes"

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Allotment(epsilon)

    def __call__(self, *questions: Any, **named: Any) -> Any:
        raise NotImplementedError


def test_changed_options_and_metafeatures_are_refused_with_a_way_out(maker: ChoiceMaker, trained: Trained) -> None:
    cases: list[tuple[tuple[Option, ...], str]] = [
        ((AMONG[0], Newer()), "NaiveBayes has changed since"),
        ((*AMONG, get("BayesTree")), "BayesTree is new"),
        (AMONG[:1], "NaiveBayes is not offered"),
        (AMONG[::-1], "in another order"),
    ]
    for among, words in cases:
        other = ChoiceMaker(among=among, informed_by=METAFEATURES)
        with pytest.raises(ChoiceError, match=words) as refusal:
            other.with_trained(trained)
        assert "jostle train" in (refusal.value.fix or "")
    changed = metafeature(name=trained.metafeatures[0][0])(lambda db: 42.0)
    with pytest.raises(ChoiceError, match="has changed since"):
        ChoiceMaker(among=AMONG, informed_by=(changed, *METAFEATURES[1:])).with_trained(trained)
    with pytest.raises(ChoiceError, match="not offered"):
        ChoiceMaker(among=AMONG).with_trained(trained)


@frozen
class Picky(Option):
    """An Option that does not run on what these tests have."""

    task = CLASSIFICATION

    def refuses(self, schema: Schema) -> str | None:
        return "it has too few columns" if len(schema.names) < 5 else None

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        return Allotment(epsilon)

    def __call__(self, db: Probe, *, epsilon: Fraction, site: str | None = None) -> Any:
        return self.perform(db, epsilon, lambda probe, budget: None)


def test_where_the_best_option_does_not_run_the_next_one_does() -> None:
    def picky_wins(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return (0.01, 0.3, 0.2)

    among = (Picky(), *AMONG)
    maker = MkChoiceMaker(among=among, trained_on=planted(picky_wins, among), informed_by=METAFEATURES)
    trace = Trace()
    maker(jostle.rehearse(instance(1).table, epsilon=1, trace=trace), epsilon=1)
    (choice,) = choices(trace.records, "choice")
    assert choice.taken == (("NaiveBayes", 1),)
    assert choice.predicted[0][0] == "Picky", "the trace shows that it would have been best"
    alone = ChoiceMaker(among=[Picky()])
    assert alone.refuses(instance(1).schema) == "none of its Options does: it has too few columns"


def told_of() -> tuple[list[int | None], Option]:
    told: list[int | None] = []

    def asks(db: Probe, *, epsilon: Fraction) -> Model:
        told.append(db.rows)
        return get("Majority")(db, epsilon=epsilon)

    return told, function_option(asks, task="classification", predict=None)


def test_rows_that_were_bought_are_handed_on_when_sure() -> None:
    told, asks = told_of()
    among = (asks, get("Majority"))

    def asks_wins(number: int, epsilon: float, facts: Mapping[str, float]) -> Sequence[float]:
        return (0.1, 0.6) if facts["rows"] > 3000 else (0.6, 0.1)

    maker = MkChoiceMaker(among=among, informed_by=[size], trained_on=planted(asks_wins, among), spending="1/10")
    assert maker.trained.metafeatures == (("size", size.version),)
    for epsilon in ("1/100", "1000"):
        maker(jostle.rehearse(instance(1, 30_000).table, epsilon=epsilon), epsilon=epsilon)
    assert told[-1] == 28_000, "for much budget, exactly"
    assert told[0] is None, "for little, not at all"


def test_what_was_learned_is_found_again_until_something_changes(maker: ChoiceMaker) -> None:
    made: dict[str, Any] = {"among": AMONG, "informed_by": METAFEATURES, "trained_on": known_by_rows()}
    first = MkChoiceMaker(**made)
    assert isinstance(first.trainer, Training)
    place = place_of(first.trainer, first)
    assert not place.exists()
    mark = first.trained.mark
    assert place.exists()
    # A mark of the file itself: whoever learned anew would not find this.
    facts = json.loads(place.read_text())
    place.write_text(json.dumps({**facts, "rehearsals": 12345}))
    assert MkChoiceMaker(**made).trained.rehearsals == 12345
    others: list[dict[str, Any]] = [
        {"informed_by": METAFEATURES[:2]},
        {"spending": "1/10"},
        {"trained_on": planted(by_rows, AMONG, seed=5)},
        {"among": AMONG[::-1]},
        {"label": "other"},
    ]
    for other in others:
        another = MkChoiceMaker(**{**made, **other})
        assert isinstance(another.trainer, Training)
        assert place_of(another.trainer, another) != place, other
    place.write_text("damaged")
    assert MkChoiceMaker(**made).trained.mark == mark, "what is damaged is learned again"


def test_a_trained_file_and_a_history_file_are_sources_too(maker: ChoiceMaker, tmp_path: Path) -> None:
    maker.trained.save(tmp_path / "maker.json")
    again = MkChoiceMaker(among=AMONG, informed_by=METAFEATURES, trained_on=tmp_path / "maker.json")
    assert again.trained.mark == maker.trained.mark
    known_by_rows().save(tmp_path / "h.jsonl.gz")
    other = MkChoiceMaker(among=AMONG, informed_by=METAFEATURES, trained_on=str(tmp_path / "h.jsonl.gz"))
    assert other.trained.rehearsals == maker.trained.rehearsals


def test_databases_are_recognised_without_being_read(tmp_path: Path) -> None:
    first, second = tables(2)
    assert identity_of(first) == identity_of(table(0)) != identity_of(second)
    path = tmp_path / "a.csv"
    path.write_text("x,label\n1,a\n2,b\n")
    (one,) = public(path)
    before = identity_of(one)
    path.write_text("x,label\n1,a\n2,b\n3,b\n")
    assert identity_of(one) != before


def test_a_history_without_what_is_looked_at_is_refused() -> None:
    bare = History(
        evolve(line, read={}) if isinstance(line, KnownInstance) else line for line in known_by_rows().lines()
    )
    assert key_of(ROWS) not in next(iter(bare.instances.values())).read
    maker = MkChoiceMaker(among=AMONG, informed_by=[size], trained_on=bare)
    with pytest.raises(ChoiceError, match="not read off all databases"):
        _ = maker.trained
