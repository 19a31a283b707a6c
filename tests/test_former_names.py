"""Names that the documentation of version 0.1.0 gave go on standing for what they stood for."""

from __future__ import annotations

import importlib
import sys

import pytest

import jostle
from jostle.former_names import FORMER, answer_to_former_names
from jostle.options.ranges import Workload

WRITTEN = {
    "jostle.choosing": ("follow", "force", "record", "choose", "price"),
    "jostle.choosing.handlers": ("Always",),
    "jostle.choice.handlers": ("choose_each", "explore", "replay"),
    "jostle.choice.judging": ("Judging", "judge_of"),
    "jostle.choice.making": ("MkChoiceMaker",),
    "jostle.choice.train_labels": ("train_labels",),
    "jostle.options.classifiers.pooled_tree": ("PooledTree",),
    "jostle.options.histograms": ("Workload", "noisy_wavelet", "least_squares"),
    "jostle.options.histograms.workload": ("Workload",),
    "jostle.options.histograms.estimate": ("Estimate",),
    "jostle.options.model": ("load_model",),
    "jostle.options.trees.published": ("SPLIT_BY", "SizeAboveNoise"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_former_name_stands_for_the_very_module_of_today(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__name__ != name
    assert module is sys.modules[module.__name__]
    assert module.__spec__ is not None
    assert module.__spec__.name == module.__name__
    for each in WRITTEN[name]:
        assert hasattr(module, each)


def test_every_former_name_is_tried() -> None:
    assert {name for name in FORMER if not any(each.startswith(name) for each in WRITTEN)} == set()


def test_a_class_is_the_same_under_both_names() -> None:
    former = next(name for name in FORMER if name.endswith("histograms"))
    assert importlib.import_module(former).Workload is Workload


def test_what_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("jostle.options.histograms.none_such")


def test_they_are_answered_to_once() -> None:
    assert jostle.__name__ == "jostle"
    before = list(sys.meta_path)
    answer_to_former_names()
    assert sys.meta_path == before
