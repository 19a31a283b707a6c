"""A refined answer whose first release others go by, run through all that noise could be: the chain keeps its price."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, get_args

import pandas as pd
import pytest

from jostle import Categorical, Schema, Table
from jostle.audit import enumerated_runs, privacy_loss
from jostle.audit.forks import Forks
from jostle.privacy.door import admit
from jostle.privacy.ledger import Ledger
from jostle.privacy.probe import Probe
from jostle.privacy.room import Room
from jostle.tables.kernels import Counts
from jostle.tables.schema import Neighbours
from jostle.trace.records import Released, Trace

LABELS = Categorical(["n", "y"])
RELATIONS: tuple[Neighbours, ...] = get_args(Neighbours)
PAIRS = {"add_remove": ("y", "yy"), "replace_one": ("ny", "yy")}
"""Neighbouring tables of one column, a letter a row."""
PRICE = Fraction(11, 2)
CUT = 1e-4
"""Of each draw so much may be left out; a loss that is found holds in spite of it."""


@lru_cache
def table(rows: str, neighbours: Neighbours) -> Table:
    """Return a table of labels."""
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


def transcript(noise: Any, rows: str, neighbours: Neighbours) -> tuple[Any, ...]:
    """What was spent, and all that is seen."""
    trace, ledger = Trace(), Ledger(None, neighbours)
    source = table(rows, neighbours)._source
    room = Room(source, (), ledger, noise, trace, private=False, probe=lambda inner: Probe(admit(inner)))
    used_between(Probe(admit(room)))
    released = (each for each in trace.records if isinstance(each, Released))
    return (ledger.spent, *(each.values for each in released))  # noqa: PD011 - no frame


def losses(neighbours: Neighbours) -> tuple[float, set[Fraction]]:
    """How far two neighbours are told apart, and what was spent at any end."""
    one, other = (
        enumerated_runs(partial(transcript, rows=rows, neighbours=neighbours), cut=CUT) for rows in PAIRS[neighbours]
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
