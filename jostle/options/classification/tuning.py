"""Options that try others: until an accuracy is reached, or unseen, to keep the best.

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

import numpy as np
from attrs import evolve, field, frozen

from jostle.errors import BudgetError, ChoiceError, shown
from jostle.options.base import Option, made, name_in, option
from jostle.options.classification.base import Classifier
from jostle.options.classification.greedy_trees import FriedmanSchuster, Mohammed, PatilSingh
from jostle.options.classification.naive_bayes import BayesTree, Majority, NaiveBayes, counts_of, model_of
from jostle.options.classification.pooled_tree import PooledBayes, PooledTree
from jostle.options.classification.random_trees import FletcherIslam, Jagannathan, RandomForest
from jostle.options.models.kinds import AdditiveModel, hits_of
from jostle.parameters import is_parameter, share, whole
from jostle.privacy.chains import MOST_REFINED
from jostle.privacy.events import Allotment, Event, Laplace, Refined, Reserved, in_turn
from jostle.privacy.fields import fraction
from jostle.privacy.probe import Probe
from jostle.privacy.selection import ETA, GAMMA, SELECTIONS, NumberOfRuns, Scored, Selection
from jostle.privacy.tails import combined_reach
from jostle.tables.fields import Component, Components, listed
from jostle.tables.schema import Schema
from jostle.tasks.classification import Model
from jostle.trace.records import Chosen


@option
@frozen(kw_only=True)
class AccuracyFirst(Classifier):
    """Naive Bayes at the smallest epsilon of a ladder at which it is seen to be as accurate as wanted.

    Ligett, Neel, Roth, Waggoner, Wu. Accuracy first: selecting a differential privacy level for accuracy-constrained
    ERM. NIPS 2017. Naive Bayes's counts are bought at a small epsilon, and the rows counted, with noise, that the model
    predicts right and wrong. While these do not show that the model is as accurate as was wanted, the counts are
    refined to twice the epsilon and the new model is tried. A refined tally costs what its last release costs
    (`privacy.chains`), so all models together cost what the last one does, and each test its own price.

    Differences from the paper: its models are refined by noise on their weights, ours by noise on counts, whose chain
    is exact; its test is a sparse vector, ours are counts of their own, so that those not made are not paid for. (With
    a ladder that doubles, there are few.) The paper's cost is *ex post*: the epsilon that the outcome shows. Here the
    budget is a promise all the same: it is held back whole, each step is charged before it is drawn, and what was not
    needed is free again.

    A model is tried on the rows it was learned from, whose noisy counts it is made of.
    """

    paper = "Ligett, Neel, Roth, Waggoner, Wu, NIPS 2017"
    settles = True

    accuracy: Fraction = share("4/5")
    """Share of the rows that are to be predicted right."""
    steps: int = whole(5, least=2)
    """Rungs of the ladder: each has twice the epsilon of the one before."""
    test_share: Fraction = share("1/5")
    """Part of the budget that all tests may cost."""
    miss: Fraction = share("1/10")
    """How often a model may be taken for as accurate as wanted that is not."""

    def refuses(self, schema: Schema) -> str | None:
        if reason := super().refuses(schema):
            return reason
        cells = counts_of(schema).cells(schema)
        return f"{cells:,} counts are more than the {MOST_REFINED:,} that are refined" if cells > MOST_REFINED else None

    def levels(self, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The epsilon of each rung's counts."""
        most = epsilon * (1 - self.test_share)
        return tuple(most / 2**step for step in reversed(range(self.steps)))

    def each_test(self, epsilon: Fraction) -> Fraction:
        """What one test costs; the last rung needs none."""
        return epsilon * self.test_share / (self.steps - 1)

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        tests = (Laplace(self.each_test(epsilon)),) * (self.steps - 1)
        return Reserved((Refined(self.levels(epsilon)), *tests), epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """The first model that passes its test, or the last one."""
        schema, levels, each = db.schema, self.levels(epsilon), self.each_test(epsilon)
        counts = db.measure_refinable(counts_of(schema), levels[0], site="counts")
        shown = "the last rung, whatever its accuracy"
        for level in (*levels[1:], None):
            noisy = np.array(counts.cells, dtype=np.int64)
            model = model_of(noisy, schema, made_by=self.name, epsilon=counts.epsilon)
            if level is None:
                break
            try:
                if self._passes(db, model, each):
                    shown = "its accuracy was seen to be what was wanted"
                    break
                counts = db.refine(counts, level, site="counts")
            except BudgetError:
                # Others spent what a vault or a table above had left: what was paid for is not lost.
                shown = "the budget ran out beneath it"
                break
        spent = db.spent
        seen = {"epsilon": float(counts.epsilon), "epsilon in all": float(spent)}
        name = type(self).__name__
        db.note_choice(Chosen.one(name, name, f"rung {levels.index(counts.epsilon) + 1}", seen=seen, why=shown))
        return model_of(noisy, schema, made_by=self.name, epsilon=spent)

    def _passes(self, db: Probe, model: AdditiveModel, epsilon: Fraction) -> bool:
        """Whether noisy counts of right and wrong rows show the accuracy, but for a part of the chance to miss."""
        right, wrong = db.measure(hits_of(model, misses=True), epsilon, site="test").tolist()
        wanted, sensitivity = float(self.accuracy), 1 if db.neighbours == "add_remove" else 2
        miss = 2 * float(self.miss) / (self.steps - 1)  # one way only
        beyond = combined_reach([1 - wanted, wanted], sensitivity / float(epsilon), min(1.0, miss))
        return bool((1 - wanted) * right - wanted * wrong > beyond)


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
    kinds = {kind.__name__: kind for kind in CANDIDATES}
    if name_in(text) not in kinds:
        raise ChoiceError(f"{shown(text)} is not {RUN_UNSEEN.what}", fix=f"one of {', '.join(kinds)}")
    return made(text, kinds)


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
        return tuple(option.fitted_on for option in self.among)

    @property
    def name(self) -> str:
        """Its name, and what it tries if that is not all there is."""
        if self == SelectPrivately():
            return "SelectPrivately"
        return f"SelectPrivately({', '.join(option.name for option in self.among)})"

    def refuses(self, schema: Schema) -> str | None:
        return next((reason for option in self.among if (reason := option.refuses(schema))), None)

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        selection = self.selection
        each = selection.stopping.each(epsilon)
        reasons = (selection.hopeless(option, schema, each, rows) for option in self.among)
        return next((reason for reason in reasons if reason), None)

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
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
