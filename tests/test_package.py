"""What the package shows of itself: public names, its version, and what it logs."""

from __future__ import annotations

from importlib.metadata import version

import jostle


def test_the_package_lists_its_public_names_alone() -> None:
    assert dir(jostle) == sorted([*jostle.__all__, "__version__"])
    assert all(getattr(jostle, name) is not None for name in dir(jostle))
    assert jostle.__version__ == version("jostle")
