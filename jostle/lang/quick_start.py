"""How a program's maker learns when it is first run: in about a second, where `jostle train` takes minutes.

A program that learns from the databases that everybody has, among Options that came with Jostle, learns from some of
the rehearsals that came with them. Any other is rehearsed on fewer databases and budgets than `jostle train` takes,
which `jostle run` does only if it is asked to. `jostle train` puts what it learns in the place of either.

A program may also ask for rehearsals by itself.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

from attrs import evolve, fields, frozen

from jostle.choice.learning.cases import budgets_of
from jostle.choice.learning.history import History, apart
from jostle.choice.learning.rehearse import mean_error
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training
from jostle.choice.makers.shipped import keep, kept, rehearsals_for
from jostle.choice.makers.trained import Trained
from jostle.choice.makers.training import SHARES
from jostle.corpora.databases import PublicDatabase, few_jobs
from jostle.errors import ChoiceError
from jostle.given import given_as
from jostle.lang.messages import Stop
from jostle.lang.operators import kind_of
from jostle.options.base import Option

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
        return self.without_rehearsals(maker) or self._keeping(self.short, maker)

    def without_rehearsals(self, maker: ChoiceMaker) -> Trained | None:
        """The maker as it learned, or learns from rehearsals that came with Jostle; None where these do not tell."""
        found = kept(self.full, maker) or kept(self.came, maker) or kept(self.short, maker)
        if found is None and (history := self.came_with(maker)) is not None:
            return self._keeping(self.came, maker, history)
        return found

    def came_with(self, maker: ChoiceMaker) -> History | None:
        """The rehearsals that came with Jostle, if they tell all that a maker needs.

        The databases named must be those that everybody has, all Options rehearsed as they are now, and everything
        that may be looked at read.
        """
        rehearsal = maker.task.rehearsal
        judged = self.judged_by is None or rehearsal.knows(self.judged_by)
        if self.history is not None or not judged or self.corpus is not rehearsal.corpus():
            return None
        history = rehearsals_for(maker.task)
        instances = [instance for instance in history.instances.values() if apart(instance.key)[1] is None]
        own = [
            metafeature
            for metafeature in maker.informed_by
            if metafeature not in (*rehearsal.metafeatures, *rehearsal.free)
        ]
        told = budgets_of(history, maker.among, rehearsal.other(self.judged_by))
        return (
            history
            if told and all(metafeature.is_read(instance) for metafeature in own for instance in instances)
            else None
        )

    @staticmethod
    def _keeping(training: Training, maker: ChoiceMaker, known: History | None = None) -> Trained:
        found = training.learn(maker, known)
        keep(training, maker, found)
        return found

    @cached_property
    def full(self) -> Training:
        """As `jostle train` learns."""
        return Training(**_shared(self))

    @cached_property
    def came(self) -> Training:
        """From rehearsals that came with Jostle; of what could be bought nothing, unless somebody said for how much."""
        shares = () if self.shares == SHARES else self.shares
        return evolve(self.full, corpus=None, epsilons=CAME, shares=shares)

    @cached_property
    def short(self) -> Training:
        """From a few rehearsals."""
        shares = SHARE if self.shares == SHARES else self.shares
        return evolve(self.full, epsilons=EPSILONS, repeats=2, jobs=few_jobs, shares=shares)


def error_of(option: Any, database: Any, scale: Any, epsilon: Fraction) -> float | None:
    """The mean error of an Option on a public database with *scale* records or rows; None where it refuses."""
    if not isinstance(option, Option):
        raise Stop("J501 rehearsed", kind=kind_of(option))
    if not isinstance(database, PublicDatabase):
        raise Stop("J501 rehearsal", kind=kind_of(database))
    if not option.task.rehearsal.takes(database):
        raise Stop("J501 rehearsed_on", name=option.name, database=database.name, does=option.task.question.does)
    return mean_error(option, database, int(scale), epsilon)


def check_learned(maker: ChoiceMaker, program: str) -> None:
    """Let a maker learn from what came with Jostle; refuse one that cannot, and has not learned."""
    training = maker.trainer
    if maker.known or not isinstance(training, QuickStart):
        return
    found = training.without_rehearsals(maker)
    if found is None:
        raise ChoiceError(
            f"{maker.label} has not learned yet what to choose",
            why="it learns from rehearsals of its Options on public databases, which did not come with Jostle",
            fix=f"jostle train {program}, or jostle run --train, which rehearses on a few of them first",
        )
    maker.known.append(found)


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
