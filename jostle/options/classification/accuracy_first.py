"""Name the accuracy that is wanted, and pay for no more than it takes.

Ligett, Neel, Roth, Waggoner, Wu. Accuracy first: selecting a differential privacy level for accuracy-constrained ERM.
NIPS 2017. Naive Bayes's counts are bought at a small epsilon, and the rows counted, with noise, that the model predicts
right and wrong. While these do not show that the model is as accurate as was wanted, the counts are refined to twice
the epsilon and the new model is tried. A refined tally costs what its last release costs (`privacy.chains`), so all
models together cost what the last one does, and each test its own price.

Differences from the paper: its models are refined by noise on their weights, ours by noise on counts, whose chain is
exact; its test is a sparse vector, ours are counts of their own, so that those not made are not paid for. (With a
ladder that doubles, there are few.) The paper's cost is *ex post*: the epsilon that the outcome shows. Here the budget
is a promise all the same: it is held back whole, each step is charged before it is drawn, and what was not needed is
free again.

A model is tried on the rows it was learned from, whose noisy counts it is made of.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen

from jostle.errors import BudgetError
from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.classification.naive_bayes import counts_of, model_of
from jostle.options.models.additive import AdditiveModel
from jostle.options.models.rules import hits_of
from jostle.parameters import share, whole
from jostle.privacy.chains import MOST_REFINED
from jostle.privacy.events import Event, Laplace, Refined, Reserved
from jostle.privacy.probe import Probe
from jostle.privacy.tails import combined_reach
from jostle.tables.schema import Schema
from jostle.trace.records import Chosen

__all__ = ["AccuracyFirst"]


@option
@frozen(kw_only=True)
class AccuracyFirst(Classifier):
    """Naive Bayes at the smallest epsilon of a ladder at which it is seen to be as accurate as wanted."""

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
        """The reason why this cannot run: no label, or more counts than can be refined; or None."""
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

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """All rungs and tests: what it costs at most."""
        tests = (Laplace(self.each_test(epsilon)),) * (self.steps - 1)
        return Reserved((Refined(self.levels(epsilon)), *tests), epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """The first model that passes its test, or the last one."""
        schema, levels, each = db.schema, self.levels(epsilon), self.each_test(epsilon)
        found = db.measure_refinable(counts_of(schema), levels[0], site="counts")
        shown = "the last rung, whatever its accuracy"
        for level in (*levels[1:], None):
            noisy = np.array(found.cells, dtype=np.int64)
            model = model_of(noisy, schema, made_by=self.name, epsilon=found.epsilon)
            if level is None:
                break
            try:
                if self._passes(db, model, each):
                    shown = "its accuracy was seen to be what was wanted"
                    break
                found = db.refine(found, level, site="counts")
            except BudgetError:
                # Others spent what a vault or a table above had left: what was paid for is not lost.
                shown = "the budget ran out beneath it"
                break
        spent = db.spent
        seen = {"epsilon": float(found.epsilon), "epsilon in all": float(spent)}
        name = type(self).__name__
        db.note_choice(Chosen.one(name, name, f"rung {levels.index(found.epsilon) + 1}", seen=seen, why=shown))
        return model_of(noisy, schema, made_by=self.name, epsilon=spent)

    def _passes(self, db: Probe, model: AdditiveModel, epsilon: Fraction) -> bool:
        """Whether noisy counts of right and wrong rows show the accuracy, but for a part of the chance to miss."""
        right, wrong = db.measure(hits_of(model, misses=True), epsilon, site="test").tolist()
        wanted, sensitivity = float(self.accuracy), 1 if db.neighbours == "add_remove" else 2
        miss = 2 * float(self.miss) / (self.steps - 1)  # one way only
        beyond = combined_reach([1 - wanted, wanted], sensitivity / float(epsilon), min(1.0, miss))
        return bool((1 - wanted) * right - wanted * wrong > beyond)
