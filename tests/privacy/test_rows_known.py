"""The number of rows: a public fact only where neighbours have the same, and never that of a part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from openings import people, schema

import jostle
from jostle import Schema, Table
from jostle.errors import SchemaError

DECLARED = evolve(schema("replace_one"), rows=200)


def test_neighbours_that_differ_in_a_declared_number_are_refused(tmp_path: Path) -> None:
    """Under add_remove a total that is not bought, or a choice by it, would tell the two apart for nothing."""
    (tmp_path / "schema.toml").write_text(DECLARED.to_toml().replace("replace_one", "add_remove"))
    for attempt in (
        lambda: evolve(schema(), rows=200),
        lambda: DECLARED.with_neighbours("add_remove"),
        lambda: Schema.read(tmp_path / "schema.toml"),
        lambda: Table.from_grid(np.arange(8), rows=28),
    ):
        with pytest.raises(SchemaError, match="declared under add_remove") as refusal:
            attempt()
        assert refusal.value.fix is not None
        assert "leave rows out" in refusal.value.fix
        assert "replace_one" in refusal.value.fix
    assert Table.from_grid(np.arange(8), neighbours="replace_one", rows=28).schema.rows == 28


def bought_before(epsilon: int) -> jostle.Probe:
    db = jostle.rehearse(Table.from_frame(people(), schema()), seed=1)
    db.count(epsilon)
    return db.allot(4)


def test_what_is_known_is_declared_or_was_bought_before() -> None:
    assert jostle.rehearse(Table.from_frame(people(), schema())).rows is None
    db = jostle.rehearse(Table.from_frame(people(), DECLARED))
    assert db.rows == db.allot(1).rows == 200

    db = bought_before(10**6)
    assert db.rows == db.allot(1).rows == db.only("region").rows == 200
    assert db.schema == schema()
    db.count(1)
    assert db.rows == 200, "what is bought here is not known here"


def test_of_a_part_it_is_not_known() -> None:
    """Whatever is known of the whole, how many rows a part has is private: a row may be exchanged for one outside."""
    for db in (
        jostle.rehearse(Table.from_frame(people(), DECLARED)),
        bought_before(10**6),
    ):
        for part in (*db.parts("region"), db.where("smokes", "yes"), db.parts("region")[0].allot(1)):
            assert part.rows is None
            assert part.schema.rows is None
        assert db.rows == 200


@pytest.mark.parametrize("name", ["Mohammed(utility=InfoGain)", "PooledTree", "FletcherIslam", "Jagannathan"])
def test_parts_of_neighbours_get_the_same_questions_at_the_same_price(name: str) -> None:
    """One row more or less in a part must not change what is asked there before anything was released."""
    options = jostle.options.get(name)
    asked = []
    for frame in (people(), pd.concat([people().iloc[1:], people(1, seed=5)])):
        trace = jostle.Trace()
        part = jostle.rehearse(Table.from_frame(frame, DECLARED), seed=1, trace=trace).parts("region")[1]
        options(part, epsilon=4)
        asked.append([(type(each).__name__, getattr(each, "epsilon", None)) for each in trace.records[:3]])
    assert asked[0] == asked[1]
