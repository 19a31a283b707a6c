"""How a program's maker learns when it is first run: on fewer databases and budgets than `jostle train` takes.

So that a program that was never trained answers within a minute. `jostle train` puts the rest in its place.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve, fields, frozen

from jostle.choice.learning.progress import shown_progress
from jostle.choice.makers.kept import keep, kept
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training
from jostle.choice.makers.trained import Trained
from jostle.corpora.subsamples import few_jobs

__all__ = ["QuickStart", "quickly"]

EPSILONS = ("1/10", "1", "10")


@frozen(kw_only=True, eq=False)
class QuickStart(Training):
    """A training that has a short form for those who run a program before it is trained."""

    def __call__(self, maker: ChoiceMaker) -> Trained:
        """Return what the maker learned, if it is kept; otherwise what it learns in a hurry, which is kept as well."""
        short = evolve(Training(**_shared(self)), epsilons=EPSILONS, repeats=2, jobs=few_jobs)
        full = Training(**_shared(self))
        found = kept(self, maker) or kept(full, maker) or kept(short, maker)
        if found is None:
            found = short.learn(maker, shown_progress())
            keep(short, maker, found)
        return found


def quickly(maker: ChoiceMaker) -> ChoiceMaker:
    """Return a maker that learns in a hurry where it has to learn from databases."""
    training = maker.trainer
    if not isinstance(training, Training) or training.corpus is None:
        return maker
    return evolve(maker, trainer=QuickStart(**_shared(training)))


def _shared(training: Training) -> dict[str, Any]:
    return {str(each.alias): getattr(training, each.name) for each in fields(Training)}
