"""The public tables kept beside the project: each is inferred, read in every way, and has all the rows it should."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from some_tables import source_of, tally

from jostle import Schema, Table
from jostle.tables.engines import MemorySource
from jostle.tables.hashes import fingerprint
from jostle.tables.kernels import Counts

LISTED = re.compile(r"^\| (\w+\.csv\.gz) \| (\d+) \| (\d+) \| (\d+) \|", re.MULTILINE)

TOO_MANY_TEXTS = {"acs_tx_marital.csv.gz"}
"""Has a column of many numbers where a letter stands for none."""

OF_PERSONS = {"climb_success.csv.gz", "fire_cause.csv.gz"}
"""Have a column of names that may say whose rows they are: it is no attribute."""


@cache
def listed(shared: Path) -> dict[str, tuple[int, int, int]]:
    """Return the numbers of rows, attributes and classes of every table, as their list has them."""
    found = LISTED.findall((shared / "README.md").read_text(encoding="utf-8"))
    return {name: (int(rows), int(attributes), int(classes)) for name, rows, attributes, classes in found}


def test_the_list_is_whole(shared: Path) -> None:
    assert len(listed(shared)) == 195
    assert set(listed(shared)) == {path.name for path in (shared / "tabular").iterdir()}


@pytest.mark.slow
def test_every_public_table_can_be_inferred_read_and_tallied(shared: Path) -> None:
    for name, (rows, attributes, classes) in listed(shared).items():
        path = shared / "tabular" / name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of columns with too many different texts
            schema = Schema.infer_public(path, label="label")
        memory, stream = Table.read(path, schema), Table.read(path, schema, stream=True)
        kernel = Counts((*((attribute, "label") for attribute in schema.attributes), ()))
        told = tally(memory, kernel)

        assert told[-1] == rows, name
        assert sum(told) == rows * (len(schema.attributes) + 1), name
        assert len(schema.classes) == classes, name
        assert len(schema.attributes) == attributes - (name in TOO_MANY_TEXTS | OF_PERSONS), name
        assert tally(stream, kernel) == told, name
        assert fingerprint(source_of(memory)) == fingerprint(source_of(stream)), name


@pytest.mark.slow
def test_every_public_table_is_read_alike_from_a_frame(shared: Path) -> None:
    """Pandas guesses types: 1.0 for 1, truths for words. What is read stays the same."""
    for name in listed(shared):
        path = shared / "tabular" / name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            schema = Schema.infer_public(path, label="label")
        texts = pd.read_csv(path, dtype=str, keep_default_na=False)
        guessed = pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)
        told = fingerprint(source_of(Table.read(path, schema))).rows

        for frame in (texts, guessed):
            table = Table.from_frame(frame, schema)
            assert fingerprint(source_of(table)).rows == told, name
            assert isinstance(source_of(table), MemorySource)
