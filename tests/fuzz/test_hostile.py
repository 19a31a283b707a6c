"""Files that ask for more than a machine has are refused in words, or read within the bounds of all others."""

from __future__ import annotations

import pytest
from fuzzing import face
from hostile_files import READ, REFUSED
from readers import READERS


@pytest.mark.parametrize("name", sorted({*REFUSED, *READ} & {reader.name for reader in READERS}))
def test_a_hostile_file_is_refused_or_read_as_it_should_be(name: str) -> None:
    became = dict(face(name))
    expected = {**dict.fromkeys(REFUSED.get(name, ()), "refused"), **dict.fromkeys(READ.get(name, ()), "read")}
    assert became == expected
