"""Files that ask for more than a machine has are refused in words, or read within the bounds of all others."""

from __future__ import annotations

import pytest
from fuzzing import face
from hostile_files import READ, REFUSED, SLOW
from readers import READERS

NAMES = [reader.name for reader in READERS if reader.name in {*REFUSED, *READ}]


def check(name: str, *, slow: bool) -> None:
    became = {**dict.fromkeys(REFUSED.get(name, ()), "refused"), **dict.fromkeys(READ.get(name, ()), "read")}
    expected = {case: what for case, what in became.items() if any(word in case for word in SLOW) is slow}
    assert face(name, list(expected)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_file_is_refused_or_read_as_it_should_be(name: str) -> None:
    check(name, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_large_hostile_file_is_refused_or_read_as_it_should_be(name: str) -> None:
    check(name, slow=True)
