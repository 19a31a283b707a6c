"""A maker as a whole, run through all that its noise could be: it buys a look, which the Option that it runs uses."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args

import numpy as np
import pytest
from attrs import frozen

from jostle.audit import Distribution, enumerated_runs, privacy_loss
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


def transcript(noise: Any, counts: tuple[int, ...], relation: Neighbours, *, shown: str) -> tuple[Any, ...]:
    """What is seen of one run: every released number, or the answer alone."""
    trace = Trace()
    ledger = Ledger(EPSILON, relation)
    source = table(counts, relation)._source
    room = Room(source, (), ledger, noise, trace, private=False, probe=lambda inner: Probe(admit(inner)))
    answer: Any = maker()(Probe(admit(room)), epsilon=EPSILON)
    assert ledger.spent == EPSILON
    cells = tuple(np.round(answer.cells, 9).tolist())
    seen = tuple((each.site, *each.values) for each in trace.records if isinstance(each, Released))
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
