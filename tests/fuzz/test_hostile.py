"""Files that ask for more than a machine has are refused in words, or read within the bounds of all others."""

from __future__ import annotations

import pytest
from fuzzing import face
from hostile_files import READ, REFUSED, SLOW
from readers import READERS

NAMES = {reader.name for reader in READERS}
BECAME = {
    f"{name}: {case}": what
    for what, files in (("refused", REFUSED), ("read", READ))
    for name, cases in files.items()
    for case in cases
    if name in NAMES
}
LARGE = {case for case in BECAME if any(word in case for word in SLOW)}


@pytest.mark.slow
def test_hostile_files_are_refused_or_read_as_they_should_be() -> None:
    expected = {case: what for case, what in BECAME.items() if case not in LARGE}
    assert face(list(expected)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(LARGE))
def test_a_large_hostile_file_is_refused_or_read_as_it_should_be(case: str) -> None:
    assert face([case]) == {case: BECAME[case]}
