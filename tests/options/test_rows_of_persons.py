"""How many rows of a person an Option reads."""

from __future__ import annotations

import numpy as np
import pytest

import jostle
from jostle import Categorical, Numeric, Schema
from jostle.options.rows_of_persons import LOOK, ROWS, SHARES, expected_logs
from jostle.sites import force
from jostle.trace.records import Chosen

SCHEMA = Schema({"x": Numeric(0, 100, bins=20), "y": Categorical(["no", "yes"])}, label="y")


def visits(rows: int) -> jostle.Table:
    """A table of persons with equally many rows, of at most 64 that are declared."""
    chance = np.random.default_rng(rows)
    who = np.repeat(np.arange(2000), rows)
    x = chance.uniform(0, 100, len(who))
    frame = {"who": who, "x": x, "y": np.where(x > 50, "yes", "no")}
    return jostle.Table.from_frame(frame, SCHEMA.with_persons("who", 64))


@pytest.mark.parametrize("rows", [1, 32])
def test_a_look_finds_how_many_rows_persons_have(rows: int) -> None:
    """So many are read of a person, all that was asked for is spent, and the trace says why."""
    trace = jostle.Trace()
    db = jostle.rehearse(visits(rows), epsilon=1, trace=trace)
    model = jostle.options.get("PooledTree")(db, epsilon=1)
    assert [db.spent, db.left] == [1, 0]
    assert model.epsilon == 1
    taken = {each.label: each.taken[0][0] for each in trace.records if isinstance(each, Chosen)}
    assert taken[LOOK] == "5%"
    assert taken[ROWS] == f"{rows}"
    assert "noise and rows left out" in str(trace)


def test_whoever_knows_better_forces_it() -> None:
    """Nothing is bought then, nor for a budget that is not there, in a part, or for a few counts."""
    db = jostle.rehearse(visits(1), epsilon=3)
    with force({LOOK: "as declared"}):
        assert jostle.options.get("PooledTree")(db, epsilon=1).epsilon == 1
    with pytest.raises(jostle.errors.BudgetError):
        jostle.options.get("PooledTree")(db, epsilon=3)
    jostle.options.get("PooledTree")(db.parts("x")[0], epsilon=1)
    assert not [each for each in db.charges if LOOK in each.site]


@pytest.mark.parametrize("noise", [1.0, 1e3, 1e9])
def test_what_was_learned_is_a_formula(noise: float) -> None:
    """Where noise is small, all shares come to much the same; where it is large, no look is far behind."""
    logs = dict(zip(SHARES, expected_logs(noise), strict=True))
    assert min(logs, key=lambda way: logs[way]) == "5%"
    assert (logs["as declared"] > 1) == (noise > 1e6)
