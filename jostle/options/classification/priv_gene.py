"""PrivGene: linear rules that are bred, and picked by how many rows they get right.

Zhang, Xiao, Yang, Zhang, Winslett. PrivGene: differentially private model fitting using genetic algorithms. SIGMOD
2013.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.base import option
from jostle.options.classification.base import Classifier, bought_rows, rows_cost, rows_share
from jostle.options.classification.descents import MOST_CODES, line_numbers
from jostle.options.models.kinds import AdditiveModel, Term
from jostle.parameters import positive, share, whole
from jostle.privacy.events import Event, PermuteAndFlip, in_turn
from jostle.privacy.picks import Pick
from jostle.privacy.probe import Probe
from jostle.privacy.scores import MostHits
from jostle.tables.rules import MOST_COLUMNS, ManyHits
from jostle.tables.schema import Schema

Integers = NDArray[np.int64]

SIDE = 2**10
"""Weights are whole numbers from -SIDE to SIDE, and so are numbers in x."""
SHRINKS = 0.9
"""How much shorter mutations get from round to round."""
LITTERS = 2


@option
@frozen(kw_only=True)
class PrivGene(Classifier):
    """A linear rule, bred round by round from two parents, which are picked by how many rows they get right.

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
        """The reason why this cannot run: no label, or more columns or codes than are gone through; or None."""
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
        """The rule of the last pick."""
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
        return _model(schema, numbers, parents[0], self.name, epsilon)

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


def _model(
    schema: Schema, numbers: dict[str, Integers], weights: Integers, made_by: str, epsilon: Fraction
) -> AdditiveModel:
    """A model whose likeliest class is the rule's."""
    whole = np.hstack([np.zeros((len(weights), 1)), weights / SIDE])
    terms, place = [], 1
    for name, own in numbers.items():
        terms.append(Term((name,), (own / SIDE) @ whole[place : place + own.shape[1]]))
        place += own.shape[1]
    return AdditiveModel(schema=schema, made_by=made_by, epsilon=epsilon, start=whole[0], terms=tuple(terms))
