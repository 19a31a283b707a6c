"""PriROC: ROC curves of scores on private rows.

Stoddard, Chen, Machanavajjhala, Differentially private algorithms for empirical machine learning, 2014. Scores are cut
into intervals, rows of the class and others are counted in each with noise, and the curve is drawn through the running
counts. What differs from the paper:

- One row is of one class, so under add_remove the counts of both kinds are one tally, each with noise for all of the
  budget; the paper gives each one half. Under replace_one a row can leave one kind for the other, and the noise is for
  half the budget in both: a quarter would be needed if they were paid one by one.
- Medians are picked by permute-and-flip among public cuts (`Halves`), where the paper adds heavy-tailed noise for
  smooth sensitivity.
- Few intervals are counted one by one, since running sums of few counts have less noise than Privelet's; from about a
  hundred on, as wavelets.
- Medians say how many rows intervals hold in all, and good scorers' curves are concave: both go into the curve.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.given import PRICE, called_as
from jostle.options.base import Option, check_probe, option
from jostle.options.evaluation.reading import concave_curve, rising_curve
from jostle.options.evaluation.scorers import scorer_of
from jostle.options.ranges.base import noise_variance
from jostle.options.ranges.wavelet import haar_variances, inverse_haar
from jostle.parameters import choice, share, whole
from jostle.privacy.amounts import Amount
from jostle.privacy.events import Allotment, Event
from jostle.privacy.halves import Halves
from jostle.privacy.levels import AddNoiseByLevel, level_scales
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.pick_each import PickEach
from jostle.privacy.probe import Probe
from jostle.tables.margins import MarginLevels
from jostle.tables.schema import Schema
from jostle.tasks.evaluation import EVALUATION, RocCurve, Scorer
from jostle.tasks.ranges.workload import Workload
from jostle.tasks.selection import SelectedFeatures

__all__ = ["PriROC"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Thresholds = Literal["RecursiveMedians", "FixedSpace"]
Counts = Literal["fitting", "intervals", "Privelet"]
Reading = Literal["concave", "rising"]
MOST_LEVELS = 10
MEDIANS_OFF = 0.6
"""By how many rows medians leave an interval off its even share, in units of 1 / the epsilon that a level costs."""


@option
@frozen(kw_only=True)
class PriROC(Option[RocCurve]):
    """Draws the ROC curve of a column of scores, or of a model, on private rows."""

    task = EVALUATION
    paper: ClassVar[str] = "Stoddard, Chen, Machanavajjhala 2014"

    thresholds: Thresholds = choice("RecursiveMedians", Thresholds)
    """Where scores are cut: so that intervals hold equally many rows, give or take noise; or at even distances."""
    levels: int = whole(4, least=2)
    """There are 2**levels intervals, or as many as there are different scores."""
    medians_share: Fraction = share("3/10")
    """Part of the budget that picks the medians."""
    counts: Counts = choice("fitting", Counts)
    """How intervals are counted: one by one, as wavelets, or in whichever way running counts have less noise."""
    reading: Reading = choice("concave", Reading)
    """How the curve is made of the counts: concave where they do not contradict that, or no more than rising."""

    @called_as("option(db, epsilon=0.1)", why=PRICE)
    def __call__(
        self,
        db: Probe,
        scores: object = "score",
        positive: str | None = None,
        *,
        epsilon: Amount,
        site: str | None = None,
    ) -> RocCurve:
        """The curve of a column of scores, by its name, or of a model, for one class of the label.

        Of features that were selected and trained on at once, it is their model's, on their columns.
        """
        check_probe(db, self.name)
        if isinstance(scores, SelectedFeatures) and scores.model is not None:
            db, scores = db.only(*scores.columns), scores.model
        scorer = scorer_of(db.schema, "score" if scores is None else scores, positive)
        if self.levels > MOST_LEVELS:
            raise OptionError(f"2**{self.levels} intervals are more than are counted", fix=f"levels={MOST_LEVELS}")
        return self.perform(db, epsilon, lambda probe, budget: self.run(probe, scorer, budget), site=site)

    def refuses(self, schema: Schema) -> str | None:
        """The reason why there is no curve on tables of this schema, whatever the scores, or None."""
        if schema.label is None:
            return "the schema names no label"
        return "the label has one class only" if len(schema.classes) < 2 else None

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """An allotment: how much of it picks medians, depends on how many thresholds there can be."""
        return Allotment(epsilon)

    def run(self, db: Probe, scorer: Scorer, epsilon: Fraction) -> RocCurve:
        """The curve, spending *epsilon* through the probe."""
        wanted = 2**self.levels
        even: float | None = None
        if scorer.intervals <= wanted:
            places, left = np.arange(scorer.intervals - 1), epsilon
        elif self.thresholds == "FixedSpace":
            places, left = np.arange(1, wanted) * scorer.intervals // wanted - 1, epsilon
        else:
            each = epsilon * self.medians_share / self.levels
            places, left = self._medians(db, scorer, each), epsilon - each * self.levels
            moved = 1 if db.neighbours == "add_remove" else 2
            even = (MEDIANS_OFF * moved / float(each)) ** 2
        counts, scales = self._counted(db, scorer, places, left)
        curve = None
        if self.reading == "concave":
            curve = concave_curve(counts, _variance(scales, Workload.identity(counts.shape[1])), even)
        others, own = rising_curve(counts) if curve is None else curve
        return RocCurve(
            thresholds=scorer.values[places][::-1],
            false_positive_rates=others,
            true_positive_rates=own,
            counts=counts,
            scales=tuple(map(float, scales)),
            scorer=scorer.name,
            positive=scorer.positive,
            made_by=self.name,
            epsilon=epsilon,
        )

    def _medians(self, db: Probe, scorer: Scorer, each: Fraction) -> Integers:
        """The places of cuts that part rows again and again in halves, a level of them for *each* epsilon."""
        ends = np.array([0, scorer.intervals])
        for level in range(self.levels):
            wide = np.flatnonzero(np.diff(ends) > 1)
            halves = Halves(scorer.margins, ends[wide], ends[wide + 1])
            picked = db.perform(PickEach(halves), each, site=f"medians {level + 1}")
            ends = np.sort(np.concatenate([ends, picked + 1]))
        return ends[1:-1] - 1

    def _counted(
        self, db: Probe, scorer: Scorer, places: Integers, epsilon: Fraction
    ) -> tuple[Floats, tuple[Fraction, ...]]:
        """Counts of both kinds of rows by interval, and the scales of their noise."""
        margins, schema = scorer.at(places), db.schema
        levels = MarginLevels(margins)
        sizes = levels.sizes(schema)
        shares = (Fraction(1, len(sizes)),) * len(sizes)
        plain = (sensitivity(margins, schema) / epsilon,)
        by_level = level_scales(levels, shares, schema, epsilon)
        intervals = len(places) + 1
        running = Workload.prefixes(intervals)
        if self.counts == "intervals" or (
            self.counts == "fitting" and _variance(plain, running) <= _variance(by_level, running)
        ):
            noisy = db.measure(margins, epsilon, site="counts").reshape(2, intervals)
            return noisy.astype(np.float64), plain
        released = db.perform(AddNoiseByLevel(levels, shares), epsilon, site="counts")
        halves = zip(*(np.split(each, 2) for each in released), strict=True)
        found = np.stack([inverse_haar(np.concatenate(half)) for half in halves])
        return found[:, :intervals], by_level


def _variance(scales: tuple[Fraction, ...], wanted: Workload) -> float:
    """The mean variance of the noise on sums of counts: of one scale, or of a wavelet's levels."""
    noise = [noise_variance(each) for each in scales]
    found = wanted.sizes() * noise[0] if len(noise) == 1 else haar_variances(wanted, noise)
    return float(found.mean())
