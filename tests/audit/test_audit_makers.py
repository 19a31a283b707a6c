"""Runs of several steps lose what was charged: makers that look, answers refined, reserved ends."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from attrs import frozen

from jostle import Categorical, Schema
from jostle.audit import Distribution, enumerated_runs, privacy_loss
from jostle.audit.forks import Forks
from jostle.choice.learning.learners import Fitted
from jostle.choice.learning.regret import Figures, fit_regret_tree
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.trained import Trained
from jostle.options import get
from jostle.privacy.door import admit
from jostle.privacy.expressions import rows
from jostle.privacy.ledger import Ledger
from jostle.privacy.probe import Probe
from jostle.privacy.room import Room
from jostle.tables.kernels import Counts
from jostle.tables.schema import Neighbours
from jostle.tables.table import Table
from jostle.tasks.metafeature import View, metafeature
from jostle.trace.records import Released, Trace

EPSILON = Fraction(6)
SHARE = Fraction(1, 2)
"""Of epsilon, for the look."""
CUT = 1e-3
"""Of each draw so much may be left out; a loss that is found holds in spite of it."""
RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)


@metafeature(low="few", high="many")
def total(db: View) -> float:
    """Return the noisy number of records."""
    return db.buy(rows())


@frozen
class FewOrMany(Fitted):
    """Expects the first Option to do best where two records or more are seen, and the second elsewhere."""

    kind = "few or many"

    def check(self, options: int, inputs: int) -> None:
        assert (options, inputs) == (2, 1)

    def predict(self, inputs: Any) -> Any:
        many = inputs[:, 0] >= 2
        return np.stack([~many, many], axis=1).astype(np.float64), np.zeros((len(inputs), 2))

    def best_loss(self, inputs: Any) -> Any:
        return np.ones(len(inputs))

    def facts(self) -> dict[str, Any]:
        return {}


def maker() -> ChoiceMaker:
    among = (get("Uniform"), get("Identity"))
    row = np.ones((1, 1))
    learned = Trained(
        task="grid",
        options=[(each.name, each.version) for each in among],
        metafeatures=[(total.name, total.version)],
        share=SHARE,
        lead=0.0,
        fitted=FewOrMany(),
        reasons=fit_regret_tree(row, np.ones((1, 2)), np.ones(1), np.ones(1), most_leaves=1, least_share=0.02),
        single=0,
        digests=[],
        usual=[(0.0, 1.0)],
        learner="few or many",
        rehearsals=1,
        databases=1,
        groups=1,
        figures=Figures(1, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, single_regret=1.0),
    )
    return ChoiceMaker(among=among, informed_by=[total], known=[learned])


@lru_cache
def table(counts: tuple[int, ...], relation: Neighbours) -> Table:
    return Table.from_grid(np.array(counts), neighbours=relation)


def probe_on(source: Any, ledger: Ledger, noise: Any, trace: Trace) -> Probe:
    room = Room(source, (), ledger, noise, trace, private=False, probe=lambda inner: Probe(admit(inner)))
    return Probe(admit(room))


def transcript(noise: Any, counts: tuple[int, ...], relation: Neighbours, *, shown: str) -> tuple[Any, ...]:
    """What is seen of one run: every released number, or the answer alone."""
    trace = Trace()
    ledger = Ledger(EPSILON, relation)
    source = table(counts, relation)._source
    answer: Any = maker()(probe_on(source, ledger, noise, trace), epsilon=EPSILON)
    assert ledger.spent == EPSILON
    cells = tuple(np.round(answer.cells, 9).tolist())
    seen = tuple((each.site, *each.values) for each in trace.records if isinstance(each, Released))  # noqa: PD011 - released
    return {"answer": cells, "transcript": seen, "both": (*seen, cells)}[shown]


def distribution(counts: tuple[int, ...], relation: Neighbours, shown: str) -> Distribution:
    return enumerated_runs(lambda noise: transcript(noise, counts, relation, shown=shown), cut=CUT)


PAIRS: dict[Neighbours, tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]] = {
    "add_remove": (((0, 0), (1, 0)), ((1, 0), (1, 1))),
    "replace_one": (((2, 0), (1, 1)), ((1, 0), (0, 1))),
}


@pytest.mark.representative
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shown", ["transcript", "answer"])
def test_a_maker_whose_option_uses_its_look_loses_no_more_than_epsilon(relation: Neighbours, shown: str) -> None:
    for first, second in PAIRS[relation]:
        one, other = distribution(first, relation, shown), distribution(second, relation, shown)
        assert one.missing < 0.02
        assert privacy_loss(one, other) <= EPSILON


def test_the_auditor_sees_that_the_look_was_paid_for() -> None:
    """Were the look free, the whole would lose no more than the Option's own part: it loses all of both."""
    one, other = (distribution(counts, "add_remove", "transcript") for counts in PAIRS["add_remove"][0])
    assert privacy_loss(one, other) > 0.9 * float(EPSILON)


def test_the_option_that_is_run_uses_the_look() -> None:
    """Uniform's answer is the mean of both counts, which have the same noise, as the maker spends half on its look."""
    ways = set()
    for *counts, answer in distribution((1, 1), "add_remove", "both").chances:
        site, *numbers = counts[1]
        ways.add(site)
        look = counts[0][1]
        if "Uniform" in site:
            assert sum(answer) == max(0, round((look + numbers[0]) / 2))
    assert len(ways) == 2, "the look decides which of the two is run"


# A refined answer whose first release others go by, run through all that noise could be: the chain keeps its price.


LABELS = Categorical(["n", "y"])
PAIRS_OF_REFINED = {"add_remove": ("y", "yy"), "replace_one": ("ny", "yy")}
"""Neighbouring tables of one column, a letter a row."""
PRICE = Fraction(11, 2)
FINER = CUT / 10


@lru_cache
def table_of_labels(rows: str, neighbours: Neighbours) -> Table:
    """Return a table of one column, a letter a row."""
    frame = pd.DataFrame({"label": list(rows)})
    return Table.from_frame(frame, Schema({"label": LABELS}, label="label", neighbours=neighbours))


def used_between(db: Probe) -> None:
    """A count whose first release an Option inside a maker goes by, and that is refined afterwards as that says."""
    part = db.where("label", "y")
    found = part.measure_refinable(Counts.of(), 2)
    maker = part.allot("3/2")
    (look,) = maker.known(Counts.of())
    assert look is not None
    option = maker.allot("1/2" if look.counts[0] < 2 else "3/2")
    (known,) = option.known(Counts.of())
    assert known is not None
    assert known.counts.tolist() == look.counts.tolist()
    option.measure(Counts.of(), "1/2" if look.counts[0] < 2 else "3/2")
    part.refine(found, 4)


def transcript_of_refined(noise: Any, rows: str, neighbours: Neighbours) -> tuple[Any, ...]:
    """What was spent, and all that is seen."""
    trace, ledger = Trace(), Ledger(None, neighbours)
    source = table_of_labels(rows, neighbours)._source
    used_between(probe_on(source, ledger, noise, trace))
    released = (each for each in trace.records if isinstance(each, Released))
    return (ledger.spent, *(each.values for each in released))  # noqa: PD011 - no frame


def losses(neighbours: Neighbours) -> tuple[float, set[Fraction]]:
    """How far two neighbours are told apart, and what was spent at any end."""
    one, other = (
        enumerated_runs(partial(transcript_of_refined, rows=rows, neighbours=neighbours), cut=FINER)
        for rows in PAIRS_OF_REFINED[neighbours]
    )
    return max(privacy_loss(one, other), privacy_loss(other, one)), {seen[0] for seen in one.chances}


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_what_an_option_did_with_a_first_release_leaves_the_chain_its_price(neighbours: Neighbours) -> None:
    loss, spent = losses(neighbours)
    assert spent == {PRICE}
    assert 0.9 * PRICE < loss <= PRICE


@pytest.mark.slow
def test_a_second_release_with_noise_of_its_own_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that cannot fail shows nothing."""

    def anew(self: Forks, drawn: Any, scale: Any, less: Any) -> Any:
        return self.discrete_laplace(less, len(drawn))

    monkeypatch.setattr(Forks, "less_laplace", anew)
    loss, _ = losses("add_remove")
    assert loss > PRICE


# What stops early and pays for what it used, run through all that its noise could be: each end at its own price.


LEVELS, TEST = (Fraction(1), Fraction(3)), Fraction(2)


def transcript_of_reserved(noise: Any, rows: str) -> tuple[Any, ...]:
    """What was charged, and all that is seen, where a count is refined unless another says that it need not be."""
    trace, ledger = Trace(), Ledger(EPSILON, "add_remove")
    source = table_of_labels(rows, "add_remove")._source
    db = probe_on(source, ledger, noise, trace)
    inner = db.reserve(EPSILON)
    found = inner.measure_refinable(Counts.of(), LEVELS[0])
    if int(inner.measure(Counts.of(), TEST)[0]) < 2:
        inner.refine(found, LEVELS[1])
    inner.settle()
    released = (each for each in trace.records if isinstance(each, Released))
    return (db.spent, *(each.values for each in released))  # noqa: PD011 - no frame


@lru_cache
def distribution_of_reserved(rows: str) -> Distribution:
    return enumerated_runs(lambda noise: transcript_of_reserved(noise, rows), cut=CUT)


def losses_of_reserved(one: Distribution, other: Distribution) -> dict[Fraction, float]:
    """By what was charged, the most by which any end tells the first from the second."""
    most: dict[Fraction, float] = {}
    for seen, chance in one.chances.items():
        loss = math.log(chance / (other.chances.get(seen, 0.0) + other.missing))
        most[seen[0]] = max(most.get(seen[0], -math.inf), loss)
    return most


@pytest.mark.parametrize("rows", ["", "y"])
def test_each_end_loses_no_more_than_was_charged_for_it(rows: str) -> None:
    """Both levels of the chain and the test between them are seen together, and how much was settled for as well."""
    one, other = distribution_of_reserved(rows), distribution_of_reserved(rows + "y")
    early, late = LEVELS[0] + TEST, LEVELS[1] + TEST
    for found in (losses_of_reserved(one, other), losses_of_reserved(other, one)):
        assert found.keys() == {early, late}
        assert found[early] <= early
        assert found[late] <= late
    assert privacy_loss(one, other) <= late < EPSILON


def test_the_auditor_sees_what_each_end_was_charged_for() -> None:
    """An early end loses more than its first release or its test, and a late one more than early ones are charged."""
    found = (
        losses_of_reserved(distribution_of_reserved("y"), distribution_of_reserved("yy")),
        losses_of_reserved(distribution_of_reserved("yy"), distribution_of_reserved("y")),
    )
    early, late = sorted(found[0])
    assert max(each[early] for each in found) > 0.9 * early
    assert max(each[late] for each in found) > 0.9 * late > early
