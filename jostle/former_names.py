"""Modules by the names that the documentation of version 0.1.0 gave, so that what was written for it still runs."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["FORMER", "answer_to_former_names"]

FORMER = {
    "jostle.choosing": "jostle.sites",
    "jostle.choice.handlers": "jostle.sites",
    "jostle.choice.judging": "jostle.choice.learning.judging",
    "jostle.choice.making": "jostle.choice.makers.making",
    "jostle.choice.train_labels": "jostle.choice.policies.learn",
    "jostle.options.classifiers": "jostle.options.classification",
    "jostle.options.histograms": "jostle.options.ranges",
    "jostle.options.histograms.estimate": "jostle.tasks.ranges.estimate",
    "jostle.options.histograms.workload": "jostle.tasks.ranges.workload",
    "jostle.options.model": "jostle.options.models",
    "jostle.options.trees": "jostle.options.classification",
}
"""The name of a package stands for the names of its modules, too."""


class Renamed:
    """Hands out the module that stands under another name now."""

    def __init__(self, present: str) -> None:
        self.present = present

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 - as importlib calls it
        """The module of today."""
        module = import_module(self.present)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own spec, which importing it under another name took."""
        module.__spec__ = self.spec


class Finder:
    """Finds modules by their former names."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG004 - as importlib calls it
        """The place to load a module from that was renamed, or None."""
        package, _, rest = name.rpartition(".")
        present = FORMER.get(name) or (f"{FORMER[package]}.{rest}" if package in FORMER else None)
        if present is None:
            return None
        return ModuleSpec(name, Renamed(present), is_package=True)  # type: ignore[arg-type]  # loaders are what acts like one


def answer_to_former_names() -> None:
    """Let modules be imported by their former names from now on."""
    if not any(finder is Finder for finder in sys.meta_path):
        # First, since a package would look for modules in its folder of today, and load them a second time.
        sys.meta_path.insert(0, Finder)
