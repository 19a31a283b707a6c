"""PriROC: ROC curves of scores on private rows.

Noisy counts of both kinds of rows, by interval of scores, make the curve. A good scorer's higher intervals hold a
larger share of the class than its lower ones: its curve is concave. Noise that says otherwise is smoothed away by a
least-squares fit (Ayer and others 1955), of all shares at once. A scorer need not be good: where released counts
contradict the fit by more than noise does, the curve only rises, as any does.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError, shown
from jostle.given import PRICE, called_as
from jostle.options.base import Option, check_probe, option
from jostle.options.models.kinds import UNIT, TreeModel, rule_of
from jostle.options.ranges.wavelets import haar_variances, inverse_haar
from jostle.parameters import choice, share, whole
from jostle.privacy.amounts import Amount
from jostle.privacy.events import Allotment, Event
from jostle.privacy.evidence import noise_variance
from jostle.privacy.mechanisms import AddNoiseByLevel, level_scales, sensitivity
from jostle.privacy.picks import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import Halves
from jostle.tables.columns import Numeric
from jostle.tables.routes import Routing
from jostle.tables.rules import MarginLevels, Margins, Points
from jostle.tables.schema import Schema
from jostle.tasks.classification.model import Model
from jostle.tasks.evaluation import EVALUATION, RocCurve
from jostle.tasks.evaluation.instances import Scorer
from jostle.tasks.ranges.estimate import Workload
from jostle.tasks.selection import SelectedFeatures

Integers = NDArray[np.int64]
MOST_CUTS = 4095
"""Cuts of a model's scores, where it has more of them than that."""


def scorer_of(schema: Schema, scores: object, positive: object = None) -> Scorer:
    """The scorer of a schema's rows: a column's name, or a model; refuse what is neither, by public facts."""
    chosen = positive_class(schema, positive)
    if isinstance(scores, str):
        return _of_column(schema, scores, chosen)
    if isinstance(scores, Model):
        return _of_model(schema, scores, chosen)
    raise OptionError(
        f"{type(scores).__name__} gives no scores",
        why="scores are in a column of the table, or are those of a model that an Option released",
        fix='"score", or model = NaiveBayes(db)',
    )


def positive_class(schema: Schema, positive: object = None) -> str:
    """The class that is looked for: of two, the second where nobody says; refuse one that is none."""
    if schema.label is None:
        raise OptionError("the schema names no label", fix='Schema(columns, label="...")')
    classes = schema.classes
    if len(classes) < 2:
        raise OptionError(
            "the label has one class only",
            why="a curve tells a class from the others",
            fix=f'"{schema.label}": Categorical(["no", "yes"])',
        )
    if positive is None:
        if len(classes) > 2:
            named = ", ".join(map(repr, classes[:20]))
            raise OptionError(
                f"the label has {len(classes)} classes",
                why=f"one is told from the others: {named}",
                fix=f"positive={classes[-1]!r:.60}",
            )
        return classes[1]
    if not isinstance(positive, str) or positive not in classes:
        named = ", ".join(map(repr, classes[:20]))
        raise OptionError(f"the label has no class {shown(positive)}", fix=f"positive = one of {named}")
    return str(positive)


def _of_column(schema: Schema, name: str, positive: str) -> Scorer:
    if name not in schema.names or name == schema.label:
        shown = ", ".join(repr(attribute) for attribute in schema.attributes[:20]) or "none"
        raise OptionError(f"the table has no column {name!r:.60} of scores", fix=f"one of {shown}")
    column = schema[name]
    if not isinstance(column, Numeric):
        raise OptionError(
            f"the scores in {name!r} have no bounds",
            why="a column of scores is one of numbers, cut into bins between bounds that are public",
            fix=f'Schema({{"{name}": Chances(), ...}}), or Numeric(-20, 20, bins=1024) for log-odds',
        )
    if column.bin_count < 3:
        raise OptionError(
            f"the scores in {name!r} are cut into fewer than three bins: that is one threshold at most",
            why="a curve goes through several thresholds",
            fix="bins=1024 where the schema declares it",
        )
    code = schema.classes.index(positive)
    table = np.zeros((column.size, len(schema.classes)), dtype=np.int64)
    # Values beyond the bins, and missing ones, come last among the codes: they count as below all thresholds.
    table[:, code] = np.where(np.arange(column.size) < column.bin_count, np.arange(column.size), -1)
    margins = Margins((Points((name,), table),), positive=code, cuts=np.arange(1, column.bin_count))
    return Scorer(margins, np.array(column.cut_points[1:-1]), f"column {name!r}", positive)


def has_threshold(model: Model) -> bool:
    """Whether a model of two classes gives rows more than one score, so that there is a curve."""
    return len(_rule_of_class(model, 1)[2]) > 0


def _of_model(schema: Schema, model: Model, positive: str) -> Scorer:
    check_schema(schema, model)
    code = schema.classes.index(positive)
    terms, routing, cuts, unit = _rule_of_class(model, code)
    if not len(cuts):
        raise OptionError(
            "the model gives all rows one score: there is no threshold",
            why="a curve goes through thresholds between scores",
            fix="a model that tells rows apart",
        )
    margins = Margins(terms, routing, positive=code, cuts=cuts)
    return Scorer(margins, cuts / unit, model.made_by or "a model", positive)


def _rule_of_class(model: Model, code: int) -> tuple[tuple[Points, ...], Routing | None, Integers, int]:
    """A model's rule for a class, the cuts of its scores, and what one of them is in points."""
    terms, routing = rule_of(model)
    if isinstance(model, TreeModel):
        terms = tuple(evolve(term, table=_alone(term.table, code)) for term in terms)
        cuts = _tree_cuts(model, terms[0].table[:, code])
        unit = UNIT * model.routing.trees if model.combine == "mean" or model.routing.trees == 1 else len(cuts)
    else:
        leaves = 1 if routing is None else routing.trees
        ends = [_ends(term.table, code) for term in terms]
        low, high = sum(low for low, _ in ends) * leaves, sum(high for _, high in ends) * leaves
        cuts, unit = _even(low, high), UNIT
    return terms, routing, cuts, unit


def check_schema(schema: Schema, model: Model) -> None:
    """Refuse a model that was learned from tables whose values have other codes."""
    if evolve(model.schema, neighbours=schema.neighbours, rows=schema.rows) != schema:
        raise OptionError(
            "the model was learned from tables of another schema",
            why="it is applied to rows as their schema declares them",
            fix="open the test table with the schema that the model has: model.schema",
        )


def _alone(table: Integers, code: int) -> Integers:
    """The points of one class, others having none: the margin is the class's own share."""
    kept = np.zeros_like(table)
    kept[:, code] = table[:, code]
    return kept


def _tree_cuts(model: TreeModel, points: Integers) -> Integers:
    """All scores that rows can have but the least, if they are few; else some from end to end."""
    if model.routing.trees == 1:
        scores = np.unique(points)[1:]
        return scores if len(scores) <= MOST_CUTS else _even(int(scores[0]), int(scores[-1]))
    if model.combine == "vote":
        return np.arange(1, model.routing.trees + 1)
    return _even(0, int(points.max()) * model.routing.trees)


def _ends(table: Integers, code: int) -> tuple[int, int]:
    """The least and the largest margin that a term can add."""
    others = np.delete(table, code, axis=1)
    own = table[:, code]
    if others.shape[1] == 1:
        return int((own - others[:, 0]).min()), int((own - others[:, 0]).max())
    return int(own.min() - others.max()), int(own.max() - others.min())


def _even(low: int, high: int) -> Integers:
    """Cuts between two scores, evenly spaced."""
    count = min(MOST_CUTS, max(0, high - low))
    cuts = [low + (high - low) * place // (count + 1) for place in range(1, count + 1)]
    return np.array([cut for before, cut in pairwise([low, *cuts]) if cut > before], dtype=np.int64)


Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
LEAST = 1e-3
"""Rows that an interval holds at least."""
LEAD = 8.0
"""By how many variances of noise less a convex curve has to be off: few scorers tell the class by low scores."""
SPREADS = 2.0
"""How many standard deviations more than expected noise may be off."""
KURTOSIS = 5.0
"""The variance of a squared draw of Laplace noise, in units of the squared variance."""


def _isotonic(values: Floats, weights: Floats | None = None) -> Floats:
    """The rising numbers nearest to these by least squares."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - takes its time to load

    return np.asarray(isotonic_regression(values, weights=weights).x)


def rising_curve(counts: Floats) -> Curve:
    """Both rates as running counts, made to rise by least squares (Hay and others 2010), over their ends."""
    others, own = (_running(each[::-1]) for each in (counts[1], counts[0]))
    return others, own


def _running(counts: Floats) -> Floats:
    sums = np.concatenate([[0.0], np.maximum(_isotonic(np.cumsum(counts)), 0.0)])
    return _rates(sums)


def _rates(sums: Floats) -> Floats:
    return sums / sums[-1] if sums[-1] > 0 else np.linspace(0.0, 1.0, len(sums))


def concave_curve(counts: Floats, variance: float, even: float | None) -> Curve | None:
    """The concave curve that fits the counts, or the convex one if that fits better; None where neither does.

    *variance* is that of each count's noise. *even* is the variance of how many rows the intervals hold in all where
    they were made to hold equally many, which is then known better than their counts say; None where they were not.
    """
    own, others = counts
    totals, cells = own + others, counts.shape[1]
    if even is None:
        rows = np.maximum(np.diff(np.concatenate([[0.0], np.maximum(_isotonic(np.cumsum(totals)), 0.0)])), LEAST)
    else:
        mean = max(float(totals.mean()), 0.5)
        # Medians of rows that are few, or alike, do not part them evenly.
        prior = even + (mean / 10) ** 2
        rows = np.maximum((totals * prior + mean * 2 * variance) / (prior + 2 * variance), LEAST)
    fits = [_fitted(counts, rows, sign) for sign in (1, -1)]
    misfits = [((counts - fit) ** 2).sum() / variance for fit in fits]
    better = int(misfits[1] < misfits[0] - LEAD)
    if misfits[better] > 2 * cells + SPREADS * math.sqrt(2 * cells * KURTOSIS):
        return None
    own, others = (_rates(np.concatenate([[0.0], np.cumsum(part[::-1])])) for part in fits[better])
    return others, own


def _fitted(counts: Floats, rows: Floats, sign: int) -> Floats:
    """Counts of so many rows in all whose share of the class rises with the score, or falls (-1)."""
    own, others = counts
    share = np.clip(sign * _isotonic(sign * (own - others + rows) / (2 * rows), rows**2), 0.0, 1.0)
    return np.stack([share * rows, (1 - share) * rows])


Thresholds = Literal["RecursiveMedians", "FixedSpace"]
Counts = Literal["fitting", "intervals", "Privelet"]
Reading = Literal["concave", "rising"]
MOST_LEVELS = 10
MEDIANS_OFF = 0.6
"""By how many rows medians leave an interval off its even share, in units of 1 / the epsilon that a level costs."""


@option
@frozen(kw_only=True)
class PriROC(Option[RocCurve]):
    """Draws the ROC curve of a column of scores, or of a model, on private rows.

    Stoddard, Chen, Machanavajjhala, Differentially private algorithms for empirical machine learning, 2014. Scores are
    cut into intervals, rows of the class and others are counted in each with noise, and the curve is drawn through the
    running counts. What differs from the paper:

    - One row is of one class, so under add_remove the counts of both kinds are one tally, each with noise for all of
      the budget; the paper gives each one half. Under replace_one a row can leave one kind for the other, and the noise
      is for half the budget in both: a quarter would be needed if they were paid one by one.
    - Medians are picked by permute-and-flip among public cuts (`Halves`), where the paper adds heavy-tailed noise for
      smooth sensitivity.
    - Few intervals are counted one by one, since running sums of few counts have less noise than Privelet's; from about
      a hundred on, as wavelets.
    - Medians say how many rows intervals hold in all, and good scorers' curves are concave: both go into the curve.
    """

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
        if schema.label is None:
            return "the schema names no label"
        return "the label has one class only" if len(schema.classes) < 2 else None

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
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
        counts = np.stack([inverse_haar(np.concatenate(half)) for half in halves])
        return counts[:, :intervals], by_level


def _variance(scales: tuple[Fraction, ...], wanted: Workload) -> float:
    """The mean variance of the noise on sums of counts: of one scale, or of a wavelet's levels."""
    noise = [noise_variance(scale) for scale in scales]
    variances = wanted.sizes() * noise[0] if len(noise) == 1 else haar_variances(wanted, noise)
    return float(variances.mean())
