"""Linear models in whole numbers: by descent, PLR by the logistic loss and PrivateERM by Huber's; bred, PrivGene.

Chaudhuri, Monteleoni, Sarwate. Differentially private empirical risk minimization. JMLR 12, 2011. Their output
perturbation is proved for an exact minimiser, and their objective perturbation for noise and a minimiser that are real
numbers. What is released here is the last of so many steps in whole numbers (`Descent`), whose claim holds as it runs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from jostle.options.base import option, preset
from jostle.options.classification.base import Classifier, bought_rows, rows_cost, rows_share
from jostle.options.models.kinds import AdditiveModel, Term
from jostle.parameters import positive, share, whole
from jostle.privacy.amounts import show_amount
from jostle.privacy.descent import FINEST, Descent
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, in_turn
from jostle.privacy.noise import LARGEST_SCALE
from jostle.privacy.picks import Pick
from jostle.privacy.probe import Probe
from jostle.privacy.scores import MostHits
from jostle.tables.columns import Numeric
from jostle.tables.features import PRESENCE
from jostle.tables.kernels import MOST_RECORDS
from jostle.tables.rules import ManyHits
from jostle.tables.schema import Schema
from jostle.tables.slopes import MOST_COLUMNS, MOST_POINTS, UNIT

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MANY = 32
"""So many features of 0 and 1 are marks, of which a row has few."""
OF_MARKS = 4
"""How much of a row's squared norm all marks have, where a column has 1."""
MOST_CODES = 2**24
"""Codes times numbers of all columns: more are not multiplied in every step."""
LEAST_PENALTY, LARGEST_PENALTY = Fraction(1, 1000), Fraction(1)
STEPS = 200
CONVERGED = 4.0
"""Steps are as many as leave exp(-4) of where they began, or STEPS."""
STARTS = 31
"""Where classes begin is picked among so many."""
GAINS = (0, 1, 2, 4, 8, 16, 32, 64)
"""How much stronger than the start the rest may be taken for, where there are several classes."""
POINTS = 2**24
FINE = 100
"""Rounding may add a hundredth to what a row moves."""


@option
@frozen(kw_only=True)
class PLR(Classifier):
    """Logistic regression, regularised, by descent in whole numbers; of several classes each against the rest.

    Privacy: the number of rows, where it is not public, then one `Descent` for all classes, whose noise grows with
    their number. Its penalty, steps and fineness hang on public facts, epsilon and the released number alone.
    """

    paper = "Chaudhuri, Monteleoni, Sarwate, JMLR 2011"
    loss: ClassVar[str] = "logistic"

    strength: float = positive(8.0)
    """The penalty is so many times what noise would be at a penalty of 1."""
    steps: int = whole(STEPS, least=1)
    """Steps at most."""
    few: int = whole(16, least=1)
    """Where columns are words: a row with fewer of them is shorter."""
    rows_share: Fraction = share("1/20")
    """Part of the budget that buys the number of rows, where it is not public."""
    threshold_share: Fraction = share("1/10")
    """Part of the rest that picks where classes begin (`_has_starts`)."""

    def refuses(self, schema: Schema) -> str | None:
        if reason := super().refuses(schema):
            return reason
        columns, _ = _columns_and_marks(schema)
        if len(columns) >= MOST_COLUMNS or len(schema.attributes) >= UNIT**2 // 4:
            return f"{len(columns):,} columns are more than the {MOST_COLUMNS - 1:,} that points are added up of"
        codes = sum(schema[name].size * _width(schema, name) for name in columns)
        return f"{codes:,} numbers of codes are more than {MOST_CODES:,}" if codes > MOST_CODES else None

    def hopeless(self, schema: Schema, epsilon: Fraction, rows: int | None) -> str | None:
        if reason := super().hopeless(schema, epsilon, rows):
            return reason
        widest = max(self._descent(schema, epsilon, each).scale(schema, epsilon) for each in (1, rows or 1))
        return f"epsilon {show_amount(epsilon)} is too little for weights" if 16 * widest > LARGEST_SCALE else None

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The number of rows, where it is bought, the weights, and where classes begin."""
        bought = rows_share(schema.rows, self.rows_share)
        rest = epsilon * (1 - bought)
        picks = rest * self.threshold_share
        return in_turn([*rows_cost(schema, epsilon, bought), Laplace(rest - picks), PermuteAndFlip(picks)])

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        """A model of the noisy weights, with the start that gets most rows right."""
        schema, bought = db.schema, rows_share(db.rows, self.rows_share)
        rest, rows = epsilon * (1 - bought), bought_rows(db, epsilon, bought)
        at_start = rest * self.threshold_share if _has_starts(schema) else Fraction(0)
        descent = self._descent(schema, rest - at_start, min(rows, MOST_RECORDS))
        weights = db.perform(descent, rest - at_start, site="weights") / 2.0**descent.bits
        model = _model(schema, descent, weights, self.name, epsilon)
        return _restarted(db, model, at_start) if at_start else model

    def _descent(self, schema: Schema, epsilon: Fraction, rows: int) -> Descent:
        """The question: its penalty, steps and fineness from public facts and epsilon alone."""
        columns, marks = _columns_and_marks(schema)
        parts = 1 + len(columns) + OF_MARKS * bool(marks)
        side = math.isqrt(UNIT**2 // parts)
        numbers = [line_numbers(schema, name, side) for name in columns]
        classes = range(len(schema.classes)) if len(schema.classes) > 2 else (len(schema.classes) - 1,)
        weights = 1 + sum(own.shape[1] for own in numbers) + len(marks)
        penalty = self._penalty(math.sqrt(weights) * len(classes) / (rows * float(epsilon)))
        mark = math.isqrt(OF_MARKS) * side if marks else 0
        facts = columns, numbers, marks, mark, self.few, side, classes, self.loss, penalty, rows
        length = Descent(*facts, 1, 0).length
        steps = min(self.steps, math.ceil(CONVERGED / float(length * penalty)))
        bits = (FINE * math.isqrt(weights) * rows / length).__ceil__().bit_length()
        descent = Descent(*facts, steps, min(FINEST, bits))
        while descent.reached * UNIT > MOST_POINTS >> 1:
            descent = Descent(*facts, steps, descent.bits - 1)
        return descent

    def _penalty(self, noise: float) -> Fraction:
        """The penalty, from what noise would be at a penalty of 1; a rounded number, alike on all machines."""
        penalty = self.strength * noise
        return Fraction(f"{min(float(LARGEST_PENALTY), max(float(LEAST_PENALTY), penalty)):.3g}")


PrivateERM = preset(
    PLR,
    "PrivateERM",
    "A linear support vector machine by Huber's loss, regularised, by descent in whole numbers; otherwise as `PLR`.",
    paper=PLR.paper,
    loss="huber",
)


def _has_starts(schema: Schema) -> bool:
    """Whether where classes begin is picked: there are several, and not too many columns and codes to go through."""
    points = STARTS * sum(schema[name].size for name in schema.attributes)
    return len(schema.classes) > 1 and len(schema.attributes) < MOST_COLUMNS and points <= MOST_CODES


def _restarted(db: Probe, model: AdditiveModel, epsilon: Fraction) -> AdditiveModel:
    """The model with another start: of those that split what rows can have evenly, the one that gets most right.

    The penalty draws weights towards 0, and the start with them, by as much whatever the classes' shares. Of several
    classes, the terms are taken for stronger, beside the start.
    """
    tables = [term.weights - term.weights[:, :1] for term in model.terms]
    own = model.start[1:] - model.start[0]
    if len(model.classes) == 2:
        least, most = (sum(float(each(table)) for table in tables) for each in (np.min, np.max))
        starts = -np.linspace(least, most, STARTS)[:, None]
        gains = np.ones(STARTS)
    else:
        starts, gains = np.tile(own, (len(GAINS), 1)), np.array(GAINS, dtype=np.float64)
    tallest = max([1.0, *(float(np.abs(each).max()) for each in (starts, *tables) if each.size)])
    unit = POINTS / tallest
    points = [np.rint(np.einsum("r,ck->crk", gains, table[:, 1:] * unit)).astype(np.int64) for table in tables]
    hits = ManyHits(
        [name for term in model.terms for name in term.columns],
        [point.reshape(len(point), -1) for point in points],
        np.rint(starts * unit).astype(np.int64).ravel(),
    )
    taken = db.perform(Pick(MostHits(hits)), epsilon, site="start")
    start = np.concatenate([[0.0], starts[taken]])
    terms = tuple(Term(term.columns, gains[taken] * table) for term, table in zip(model.terms, tables, strict=True))
    return evolve(model, start=start, terms=terms)


def _columns_and_marks(schema: Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that have numbers of their own, and those that are marks."""
    marks = tuple(name for name in schema.attributes if schema[name] == PRESENCE)
    if len(marks) < MANY:
        marks = ()
    are_marks = set(marks)
    columns = (name for name in schema.attributes if name not in are_marks and schema[name].size > 1)
    return tuple(columns), marks


def _width(schema: Schema, name: str) -> int:
    size = schema[name].size
    return 1 if isinstance(schema[name], Numeric) or size == 2 else size


def line_numbers(schema: Schema, name: str, side: int) -> Integers:
    """A column's codes by its numbers, none of them longer than *side*."""
    column = schema[name]
    if isinstance(column, Numeric):
        numbers = np.zeros((column.size, 1), dtype=np.int64)
        count = column.bin_count
        numbers[:count, 0] = (2 * np.arange(count) + 1) * side // count - side
        return numbers
    return np.array([[-side], [side]]) if column.size == 2 else np.eye(column.size, dtype=np.int64) * side


def _model(schema: Schema, descent: Descent, weights: Floats, made_by: str, epsilon: Fraction) -> AdditiveModel:
    """A model whose classes' log-odds are the weights'; of two classes, half for one and half against the other."""
    if len(schema.classes) == 2:
        weights = np.hstack([-weights / 2, weights / 2])
    elif len(schema.classes) == 1:
        weights = np.zeros((len(weights), 1))
    terms, place = [], 1
    for name, own in zip(descent.columns, descent.numbers, strict=True):
        terms.append(Term((name,), (own / UNIT) @ weights[place : place + own.shape[1]]))
        place += own.shape[1]
    each = math.isqrt(descent.mark**2 // descent.few) / UNIT
    of_marks = zip(descent.marks, weights[place:], strict=True)
    terms += [Term((name,), np.stack([0 * own, own * each])) for name, own in of_marks]
    return AdditiveModel(
        schema=schema, made_by=made_by, epsilon=epsilon, start=weights[0] * descent.constant / UNIT, terms=tuple(terms)
    )


SIDE = 2**10
"""Weights are whole numbers from -SIDE to SIDE, and so are numbers in x."""
SHRINKS = 0.9
"""How much shorter mutations get from round to round."""
LITTERS = 2


@option
@frozen(kw_only=True)
class PrivGene(Classifier):
    """A linear rule, bred round by round from two parents, which are picked by how many rows they get right.

    Zhang, Xiao, Yang, Zhang, Winslett. PrivGene: differentially private model fitting using genetic algorithms.

    Each round has two litters. A child takes its first weights from one parent and the others from the other, cut at a
    random place; then one of its weights is moved by a random step, which shrinks from round to round. The best of each
    litter is picked and both are the parents of the next round. In the last round there is one litter, and the best of
    it is the rule.

    Privacy: picks (`MostHits`), each by permute-and-flip at its part of epsilon. All else is made of what was picked
    and of coins. How many rounds there are hangs on epsilon and the number of rows, which is public or bought.

    Differences from the paper: picks are permute-and-flip over rows predicted right, whose scores a row moves one way,
    by 1 at most; the paper's enhanced exponential mechanism is for scores that are losses. Children are as many.
    """

    paper = "Zhang, Xiao, Yang, Zhang, Winslett, SIGMOD 2013"

    children: int = whole(100, least=2)
    """In a litter."""
    rows_a_round: float = positive(300.0)
    """There is a round for so many rows times epsilon."""
    rounds: int = whole(8, least=1)
    """At most."""
    rows_share: Fraction = share("1/20")
    """Part of the budget that buys the number of rows, where it is not public."""

    def refuses(self, schema: Schema) -> str | None:
        if reason := super().refuses(schema):
            return reason
        if len(schema.attributes) >= MOST_COLUMNS:
            return f"{len(schema.attributes):,} columns are more than the {MOST_COLUMNS - 1:,} that are added up"
        codes = sum(schema[name].size for name in schema.attributes) * self.children * (len(schema.classes) - 1)
        return f"{codes:,} points of codes are more than {MOST_CODES:,}" if codes > MOST_CODES else None

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The picks, however many, after the number of rows where that is bought."""
        bought = rows_share(schema.rows, self.rows_share)
        return in_turn([*rows_cost(schema, epsilon, bought), PermuteAndFlip(epsilon * (1 - bought))])

    def run(self, db: Probe, epsilon: Fraction) -> AdditiveModel:
        schema, bought = db.schema, rows_share(db.rows, self.rows_share)
        rest, rows = epsilon * (1 - bought), bought_rows(db, epsilon, bought)
        if len(schema.classes) == 1:  # nothing to learn: rows are counted, as it costs the same
            db.count(rest, site="rows")
            return AdditiveModel(schema=schema, made_by=self.name, epsilon=epsilon, start=np.zeros(1))
        numbers = {name: line_numbers(schema, name, SIDE) for name in schema.attributes}
        weights = (1 + sum(own.shape[1] for own in numbers.values()), len(schema.classes) - 1)
        rounds = max(1, min(self.rounds, int(rows * float(rest) / self.rows_a_round)))
        picks = LITTERS * (rounds - 1) + 1
        parents = [_uniform(db, SIDE, weights) for _ in range(LITTERS)]
        for number in range(rounds):
            reach = max(1, round(SIDE * SHRINKS**number))
            litters = LITTERS if number < rounds - 1 else 1
            parents = [
                self._best(db, numbers, self._litter(db, parents, reach, fresh=not number), rest / picks)
                for _ in range(litters)
            ]
        return _bred_model(schema, numbers, parents[0], self.name, epsilon)

    def _litter(self, db: Probe, parents: list[Integers], reach: int, *, fresh: bool) -> Integers:
        """Children by weights by classes: of the first round at random, then bred."""
        shape = parents[0].shape
        if fresh:
            return _uniform(db, SIDE, (self.children, *shape))
        first, other = (parent.ravel() for parent in parents)
        cuts = db.below(len(first) + 1, self.children)
        moved, steps = db.below(len(first), self.children), _uniform(db, reach, (self.children,))
        litter = np.where(np.arange(len(first)) < cuts[:, None], first, other)
        litter[np.arange(self.children), moved] += steps
        return np.clip(litter, -SIDE, SIDE).reshape(self.children, *shape)

    def _best(self, db: Probe, numbers: dict[str, Integers], litter: Integers, epsilon: Fraction) -> Integers:
        points, place = [], 1
        for own in numbers.values():
            part = litter[:, place : place + own.shape[1]]
            points.append(np.einsum("cf,rfk->crk", own, part).reshape(len(own), -1))
            place += own.shape[1]
        hits = ManyHits(tuple(numbers), points, (litter[:, 0] * SIDE).ravel())
        best: Integers = litter[db.perform(Pick(MostHits(hits)), epsilon, site="litter")]
        return best


def _uniform(db: Probe, reach: int, shape: tuple[int, ...]) -> Integers:
    """Whole numbers from -reach to reach that have nothing to do with the rows."""
    return db.below(2 * reach + 1, int(np.prod(shape))).reshape(shape) - reach


def _bred_model(
    schema: Schema, numbers: dict[str, Integers], weights: Integers, made_by: str, epsilon: Fraction
) -> AdditiveModel:
    """A model whose likeliest class is the rule's."""
    whole = np.hstack([np.zeros((len(weights), 1)), weights / SIDE])
    terms, place = [], 1
    for name, own in numbers.items():
        terms.append(Term((name,), (own / SIDE) @ whole[place : place + own.shape[1]]))
        place += own.shape[1]
    return AdditiveModel(schema=schema, made_by=made_by, epsilon=epsilon, start=whole[0], terms=tuple(terms))
