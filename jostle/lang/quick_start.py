"""How a program's maker learns when it is first run: in seconds, where `jostle train` takes minutes.

A program that learns from the databases that everybody has, among Options that came with Jostle, learns from some of
the rehearsals that came with them. Any other is rehearsed on fewer databases and budgets than `jostle train` takes.
`jostle train` puts what it learns in the place of either.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve, fields, frozen

from jostle.choice.learning.cases import budgets_of
from jostle.choice.learning.history import apart
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training
from jostle.choice.makers.shipped import keep, kept, rehearsals_for
from jostle.choice.makers.trained import Trained
from jostle.choice.makers.training import SHARES
from jostle.corpora.databases import few_jobs
from jostle.errors import ChoiceError
from jostle.given import given_as

__all__ = ["QuickStart", "quickly"]

EPSILONS = ("1/10", "1", "10")
SHARE = SHARES[1:2]
"""The one share of the budget for metafeatures that is tried, where nobody said which."""
CAME = ("1/100", "3/100", "3/10", "1")
"""Of the budgets of rehearsals that came with Jostle, those that are learned from."""


@frozen(kw_only=True, eq=False)
class QuickStart(Training):
    """A training that has a short form for those who run a program before it is trained."""

    def __call__(self, maker: ChoiceMaker) -> Trained:
        """The maker as it learned, if that is kept; otherwise what it learns in a hurry, which is kept as well."""
        full = Training(**_shared(self))
        shares = SHARE if self.shares == SHARES else self.shares
        came = evolve(full, corpus=None, epsilons=CAME, shares=shares)
        short = evolve(full, epsilons=EPSILONS, repeats=2, jobs=few_jobs, shares=shares)
        found = kept(full, maker) or kept(came, maker) or kept(short, maker)
        if found is None:
            chosen = came if _tells(full, maker) else short
            found = chosen.learn(maker)
            keep(chosen, maker, found)
        return found


def _tells(full: Training, maker: ChoiceMaker) -> bool:
    """Whether the rehearsals that came with Jostle tell all that a maker needs.

    The databases named must be those that everybody has, all Options rehearsed as they are now, and everything that
    may be looked at read.
    """
    judged = full.judged_by is None or maker.task.rehearsal.knows(full.judged_by)
    if full.history is not None or not judged or full.corpus is not maker.task.rehearsal.corpus():
        return False
    history = rehearsals_for(maker.task)
    rehearsed = budgets_of(history, maker.among, maker.task.rehearsal.other(full.judged_by))
    instances = [each for each in history.instances.values() if apart(each.key)[1] is None]
    return bool(rehearsed) and all(each.is_read(instance) for each in maker.informed_by for instance in instances)


def quickly(maker: ChoiceMaker) -> ChoiceMaker:
    """A maker that learns in a hurry where it has to learn from databases.

    Args:
        maker: as it was made; it is not changed.

    Raises:
        ChoiceError: it is no maker.
    """
    fix = 'jostle.quickly(jostle.MkChoiceMaker(among=["NaiveBayes", "Majority"]))'
    training = given_as(maker, ChoiceMaker, "a choice maker", fix=fix, error=ChoiceError).trainer
    if not isinstance(training, Training) or training.corpus is None:
        return maker
    return evolve(maker, trainer=QuickStart(**_shared(training)))


def _shared(training: Training) -> dict[str, Any]:
    return {str(field.alias): getattr(training, field.name) for field in fields(Training)}
