"""What every method does is said once: in its own docstring, or in that of the base that it overrides."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import jostle


def test_every_public_method_is_told_in_its_class_or_in_a_base() -> None:
    untold = set()
    for found in pkgutil.walk_packages(jostle.__path__, "jostle."):
        if found.name == "jostle.__main__":
            continue
        for held in vars(import_module(found.name)).values():
            if inspect.isclass(held) and held.__module__ == found.name and not held.__name__.startswith("_"):
                untold |= {
                    f"{found.name}.{held.__name__}.{name}"
                    for name, member in vars(held).items()
                    if not name.startswith("_")
                    and (inspect.isfunction(member) or isinstance(member, classmethod | staticmethod | property))
                    and not inspect.getdoc(getattr(held, name))
                }

    assert not untold
