"""Choose by trying: run Options unseen, score each privately, and keep the best.

A choice maker predicts which Option will do best and runs that one. This Option predicts nothing, and needs no
training: a random number of times it draws an Option, runs it on a part of the budget, and has the rows counted that
its model predicts right, with noise; it gives back the model that scored highest. `jostle.privacy.selection` says why
all runs together cost as much as 2 + eta of them, and how those that lost are kept from sight.

A model is scored on the rows it was learned from. At the budgets where noise is what is wrong with models this makes
little difference; with much budget it favours Options that fit the rows too closely.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, ClassVar

from attrs import evolve, field, frozen

from jostle.errors import ChoiceError, shown
from jostle.options.base import Option, option
from jostle.options.classification.base import Classifier
from jostle.options.classification.bayes_tree import BayesTree
from jostle.options.classification.fletcher_islam import FletcherIslam
from jostle.options.classification.friedman_schuster import FriedmanSchuster
from jostle.options.classification.jagannathan import Jagannathan
from jostle.options.classification.majority import Majority
from jostle.options.classification.mohammed import Mohammed
from jostle.options.classification.naive_bayes import NaiveBayes
from jostle.options.classification.patil_singh import PatilSingh
from jostle.options.classification.pooled_bayes import PooledBayes
from jostle.options.classification.pooled_tree import PooledTree
from jostle.options.classification.random_forest import RandomForest
from jostle.options.models.rules import hits_of
from jostle.options.written import made, name_in
from jostle.parameters import is_parameter, share
from jostle.privacy.events import Allotment, Event, Laplace, in_turn
from jostle.privacy.fields import fraction
from jostle.privacy.probe import Probe
from jostle.privacy.selection import ETA, GAMMA, SELECTIONS, NumberOfRuns, Scored, Selection
from jostle.tables.fields import Component, Components, listed
from jostle.tables.schema import Schema
from jostle.tasks.classification import Model
from jostle.trace.records import Chosen

__all__ = ["CANDIDATES", "SelectPrivately", "TriedClassifiers"]

CANDIDATES: tuple[type[Classifier], ...] = (
    BayesTree,
    FletcherIslam,
    FriedmanSchuster,
    Jagannathan,
    Majority,
    Mohammed,
    NaiveBayes,
    PatilSingh,
    PooledBayes,
    PooledTree,
    RandomForest,
)
"""The Options that may be run unseen: Jostle's own, which keep nothing of a run anywhere but in their model."""


def _candidates(given: Iterable[Option | str]) -> tuple[Option, ...]:
    return tuple(_named(each) if isinstance(each, str) else each for each in given)


def _named(text: str) -> Option:
    known = {kind.__name__: kind for kind in CANDIDATES}
    if name_in(text) not in known:
        raise ChoiceError(f"{shown(text)} is not {RUN_UNSEEN.what}", fix=f"one of {', '.join(known)}")
    return made(text, known)


RUN_UNSEEN = Components(
    CANDIDATES, what="an Option that is run unseen: whoever runs one that loses, sees it lose", error=ChoiceError
)


@frozen
class TriedClassifiers(Selection[Probe]):
    """Classification Options, all equally likely; a run's score is the noisy number of rows its model predicts right.

    One run is the Option on (1 - score_share) of the run's budget, and the count on the rest: a row changes it by at
    most 1 (see `Hits`), so noise of scale 1 / its budget makes it private. In turn they cost the run's budget.
    """

    among: tuple[Option, ...] = field(converter=listed, validator=RUN_UNSEEN)
    score_share: Fraction = share("1/10")
    stopping: NumberOfRuns = field(factory=NumberOfRuns, validator=Component((NumberOfRuns,)))

    def __attrs_post_init__(self) -> None:
        """Refuse to try nothing."""
        if not self.among:
            raise ChoiceError("there are no Options to try", fix='among=["NaiveBayes", "BayesTree"]')

    @property
    def size(self) -> int:
        """Number of Options."""
        return len(self.among)

    def check(self, schema: Schema, each: Fraction) -> None:
        """Refuse a schema or a budget that one of the Options does not run on: that it was drawn would show."""
        for one in self.among:
            if reason := one.refuses(schema) or self.hopeless(one, schema, each, schema.rows):
                raise ChoiceError(f"{one.name} does not run here: {reason}", fix="leave it out of among=[...]")

    def hopeless(self, one: Option, schema: Schema, each: Fraction, rows: int | None) -> str | None:
        """The reason why nothing can come of an Option's part of a run's budget, or None."""
        return one.hopeless(schema, each * (1 - self.score_share), rows)

    def candidate(self, each: Fraction) -> Event:
        """The Option's allotment, and one noisy count."""
        score = each * self.score_share
        return in_turn([Allotment(each - score), Laplace(score)])

    def run(self, db: Probe, place: int, each: Fraction) -> Scored:
        """Run an Option, and have the rows counted that its model predicts right."""
        score = each * self.score_share
        model: Model = self.among[place](db, epsilon=each - score)
        right = int(db.measure(hits_of(model), score, site="score")[0])
        return Scored((place, model), right)


@option
@frozen(kw_only=True)
class SelectPrivately(Classifier):
    """Run a random number of Options unseen, and keep the one whose model predicts the most rows right."""

    paper: ClassVar[str] = "Liu, Talwar, STOC 2019; Papernot, Steinke, ICLR 2022"

    among: tuple[Option, ...] = field(
        factory=lambda: tuple(kind() for kind in CANDIDATES), converter=_candidates, validator=RUN_UNSEEN
    )
    """What is tried: Options from `CANDIDATES`, or their names; usually all of them."""
    score_share: Fraction = share("1/10")
    """Part of a run's budget that its score costs."""
    gamma: Fraction = share(str(GAMMA))
    """How soon runs stop; smaller is more runs."""
    eta: Fraction = field(default=ETA, converter=fraction)
    """The shape of their number's distribution: all together cost as much as 2 + eta runs."""

    def __attrs_post_init__(self) -> None:
        """Refuse what cannot be tried before a table is opened for it."""
        self.selection  # noqa: B018 - it checks all that it is made of

    @property
    def selection(self) -> TriedClassifiers:
        """The selection that the door is asked for."""
        return TriedClassifiers(self.among, self.score_share, NumberOfRuns(self.gamma, self.eta))

    @property
    def fitted_on(self) -> tuple[Any, ...]:
        """What the Options that are tried were fitted on."""
        return tuple(option.fitted_on for option in self.among)

    @property
    def name(self) -> str:
        """Its name, and what it tries if that is not all there is."""
        if self == SelectPrivately():
            return "SelectPrivately"
        return f"SelectPrivately({', '.join(option.name for option in self.among)})"

    def refuses(self, schema: Schema) -> str | None:
        """The reason why one of the Options cannot run on tables of this schema, or None."""
        return next((reason for option in self.among if (reason := option.refuses(schema))), None)

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        """The reason why nothing can come of the part of epsilon that one of the Options has, or None."""
        selection = self.selection
        each = selection.stopping.each(epsilon)
        reasons = (selection.hopeless(option, schema, each, rows) for option in self.among)
        return next((reason for reason in reasons if reason), None)

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One selection: 2 + eta times what a run costs, which is all of epsilon."""
        selection = self.selection
        return selection.event(selection.stopping.each(epsilon))

    def run(self, db: Probe, epsilon: Fraction) -> Model:
        """The best-scored model; say in the trace which Option made it, and its score."""
        (place, model), right = db.select(self.selection, epsilon, site="selection")
        taken = self.among[place].name
        db.note_choice(
            Chosen.one(
                type(self).__name__,
                type(self).__name__,
                taken,
                seen={"rows right, noised": right},
                why="it scored highest of the runs, whose number and other outcomes nobody sees",
            )
        )
        made: Model = evolve(model, made_by=f"{type(self).__name__}, which took {taken},", epsilon=epsilon)
        return made


SELECTIONS.fill(TriedClassifiers, also=is_parameter)
