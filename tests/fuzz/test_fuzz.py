"""Whatever is done to a file, reading it ends in one sentence, or in something that works."""

from __future__ import annotations

import pytest
from fuzzing import fuzz
from readers import READERS, Reader

FEW, MANY = 120, 10_000
MOST_TITLES = 40
"""Different sentences about a private file: one that told of a cell would be another one each time."""


def check(reader: Reader, count: int) -> None:
    outcome = fuzz(reader.name, 0, count)
    assert not outcome.failures, "\n".join(f"{each['at']}: {each['why']} {each['more']}" for each in outcome.failures)
    assert outcome.cases == outcome.refused + outcome.read == count
    # A mutation that always, or never, does harm would show nothing.
    assert outcome.read > count / 100
    assert outcome.refused or reader.forgives
    if reader.private:
        assert len(outcome.titles) <= MOST_TITLES, sorted(outcome.titles)


@pytest.mark.parametrize("name", ["trace", "csv"])
def test_a_hundred_damaged_files_are_refused_in_words_or_read(name: str) -> None:
    """Of a text and of rows; below, of every kind."""
    (reader,) = (each for each in READERS if each.name == name)
    check(reader, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_ten_thousand_damaged_files_are_refused_in_words_or_read(reader: Reader) -> None:
    check(reader, MANY)
