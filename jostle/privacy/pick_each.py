"""Many picks at once, one per group of rows that share no row, for the price of one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.events import Event, PermuteAndFlip
from jostle.privacy.mechanisms import Mechanism
from jostle.privacy.noise import Noise
from jostle.privacy.reals import Exponential
from jostle.privacy.score_lists import GROUP_SCORES
from jostle.privacy.split_scores import GroupScore
from jostle.tables.fields import Component
from jostle.tables.kernels import DenseKernel
from jostle.tables.schema import Schema

__all__ = ["PickEach", "permute_and_flip_each"]


@frozen(eq=False, repr=False)
class PickEach(Mechanism):
    """Permute-and-flip once in every group.

    *Proof.* Permute-and-flip at rate r does not change when all scores of a group are shifted by the same number,
    so if a row moves the scores apart by at most D, they may be taken to move by at most D/2 each way, and the pick
    is r*D-private with respect to that row entering or leaving the group. A row is in at most t groups, the picks
    of different groups are drawn independently, and those of the other groups do not see it: all picks together are
    t*r*D-private under add_remove. Under replace_one a row is taken out and another put in, where the table between
    the two is a table as well: 2*t*r*D, whether the new row falls into the same groups or others. The rate is
    epsilon / (t*D) or epsilon / (2*t*D), so both cost epsilon, of which each of the t groups takes its share.

    That covers a routing's disjoint parts (t = 1) and whole forests (t = number of trees) alike.

    D may differ from group to group: each group g is picked in at a rate of its own, epsilon / (t*D_g) or half that. Of
    a row that enters or leaves, group g then takes a share of r_g*D_g = epsilon / t, whatever its D_g is, and so do
    all of the at most t groups the row is in. Which group has which spread is public.
    """

    score: GroupScore = field(validator=Component(GROUP_SCORES.members, what="a score for groups", error=ProbeError))

    def kernel(self, schema: Schema) -> DenseKernel:
        """The kernel that is tallied."""
        return self.score.kernel(schema)

    def check(self, schema: Schema, epsilon: Fraction) -> None:  # noqa: ARG002 - any epsilon will do
        """Refuse a score that makes no sense."""
        self.score.check(schema)

    def event(self, epsilon: Fraction) -> Event:
        """One permute-and-flip event: what falls on one row, over all groups it is in."""
        return PermuteAndFlip(epsilon)

    def rate(self, schema: Schema, epsilon: Fraction, spread: int | None = None) -> Fraction:
        """The rate at which a gap in score lowers the chance of being picked, in groups of this spread."""
        rows_changed = 1 if schema.neighbours == "add_remove" else 2
        apart = self.score.spread(schema) if spread is None else spread
        return epsilon / (rows_changed * self.score.touched(schema) * apart)

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> NDArray[np.int64]:
        """The candidate picked in each group."""
        scores, allowed = self.score.scores(tally, schema), self.score.allowed(schema)
        spreads = self.score.spreads(schema, len(scores))
        picks = np.zeros(len(scores), dtype=np.int64)
        for spread in dict.fromkeys(spreads.tolist()):
            alike = np.flatnonzero(spreads == spread)
            may = None if allowed is None else allowed[alike]
            picks[alike] = permute_and_flip_each(noise, scores[alike], may, self.rate(schema, epsilon, spread))
        return picks

    def shown(self, answer: NDArray[np.int64]) -> NDArray[np.int64]:
        """The picks."""
        return answer


def permute_and_flip_each(
    noise: Noise, scores: NDArray[np.int64], allowed: NDArray[np.bool_] | None, rate: Fraction
) -> NDArray[np.int64]:
    """For each row of *scores* the index picked among those allowed.

    As in `Noise.permute_and_flip`: every candidate's coin comes up with chance exp(-gap * rate), and the pick is a
    uniform one among those whose coin did. The best one's always does.
    """
    if not scores.size:
        return np.zeros(len(scores), dtype=np.int64)
    least = np.iinfo(np.int64).min
    best = (scores if allowed is None else np.where(allowed, scores, least)).max(axis=1)
    gaps = np.maximum(best[:, None] - scores, 0)
    coins = noise.geometric(Exponential(1 / rate), scores.size).reshape(scores.shape) >= gaps
    if allowed is not None:
        coins &= allowed
    winners = coins.sum(axis=1)
    ranks = np.zeros(len(scores), dtype=np.int64)
    for count in np.unique(winners):
        tied = np.flatnonzero(winners == count)
        ranks[tied] = noise.below(int(count), len(tied))
    running = np.cumsum(coins, axis=1)
    picks: NDArray[np.int64] = np.argmax(coins & (running == ranks[:, None] + 1), axis=1).astype(np.int64)
    return picks
