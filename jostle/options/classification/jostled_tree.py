"""A tree that chooses at every node, and the published trees' rules as policies of its choices.

The rules answer `JostledTree`'s two labels: when to stop, and what to split by. They look at what the tree shows to
every policy: see `jostled_tree.seen_at`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.learned.policies import shipped_fitted_on, shipped_policies
from jostle.options.base import option
from jostle.options.classification.base import Classifier, bought_rows, rows_cost, rows_share
from jostle.options.growing import (
    SURE,
    AtRandom,
    Frontier,
    Grove,
    NumericSplits,
    bought_leaves,
    longest_path,
    pessimistic,
    shares_of,
    without_twigs,
)
from jostle.options.models.kinds import TreeModel
from jostle.parameters import choice, flag, share, whole
from jostle.privacy.events import Event, Laplace, PermuteAndFlip, Repeated, in_turn
from jostle.privacy.picks import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import MixedSplitScore, Utility
from jostle.sites import Always, Choice, Decision, Policy, choose_each
from jostle.tables.routes import LeafCounts
from jostle.tables.schema import Schema

SPLIT_BY = {rule: Always(rule, "fixed") for rule in ("Max", "Gini", "InfoGain", "random")}
"""Mohammed and the greedy trees split by a utility, Jagannathan and Fletcher and Islam at random."""


def _decided(choice: Choice, branch: object, why: str) -> Decision:
    return Decision(np.where(branch, choice.index("branch"), choice.index("stop")), why)  # type: ignore[call-overload]  # a mask


@frozen
class SizeAboveNoise:
    """Friedman and Schuster's rule, and Patil and Singh's: branch where n / (t * |C|) is at least sqrt(2) / e."""

    factor: float = 1.0
    """More than 1 stops sooner."""

    def decide(self, choice: Choice) -> Decision:
        """Which nodes have so many rows that the next level's cells stand out from the noise."""
        seen = choice.seen
        enough = seen["n"] / (seen["t"] * seen["c"]) >= self.factor * math.sqrt(2) / seen["e"]
        return _decided(choice, enough, "Friedman and Schuster's rule on noisy sizes")


@frozen
class BranchUpTo:
    """Mohammed's rule, and Jagannathan's where the depth is given: branch on so many levels, whatever is seen."""

    levels: int

    def decide(self, choice: Choice) -> Decision:
        """The same for all nodes of a level."""
        return _decided(choice, choice.seen["level"] < self.levels, f"{self.levels} levels")


@frozen
class ExpectedSupport:
    """Fletcher and Islam's rule: branch where the rows exceed sqrt(2) * |C| / epsilon, the leaves having all of it."""

    def decide(self, choice: Choice) -> Decision:
        """Which nodes have more rows than the noise on their leaf counts."""
        seen = choice.seen
        noise = math.sqrt(2) * seen["c"] / (seen["e"] * (seen["d"] + seen["level"] + 1))
        return _decided(choice, seen["n"] > noise, "Fletcher and Islam's rule on expected sizes")


Integers = NDArray[np.int64]
ACTIONS = ("stop", "branch")
"""What L1 is among."""
RULES = (*get_args(Utility), "random")
"""What L2 is among."""
PUBLISHED: Mapping[str, Policy] = {"L1": SizeAboveNoise(), "L2": SPLIT_BY["Max"]}
Policies = Literal["learned", "published"]


@option
@frozen(kw_only=True)
class JostledTree(Classifier):
    """A tree, or several, whose nodes each choose whether and how to split.

    A tree that chooses at every node: whether to go on (L1), and by what rule to split (L2).

    Miao. Jostle: automated selection of differentially private algorithms (thesis), figure 4.3: the decisions in which
    the published private trees differ, each a labelled choice that is informed by public and released numbers and
    learned on public databases.

    *What it costs.* All it was given, whatever is chosen. With L levels at most, and a share s of the budget for sizes,
    a level's sizes get s * epsilon / (L+1), on levels 0 to L; its splits, and at the end the leaves, each (1-s) *
    epsilon / (L+1). Levels that are not reached, or whose nodes are all split at random, leave their part to the
    leaves, which get what is left.

    *Why it is private.* What the choices see is public (levels, budgets, domains) or was released before (sizes), and
    so are the choices. Then the nodes of a level and the utility of each are public when the level's splits are asked
    for, in one question: `MixedSplitScore`, one pick per node at the rate its own utility allows, for the price of one,
    since nodes of a tree share no row. Random splits look at no row. Leaves are counted once the tree is public.

    *What it can be.* With the published policies, the same seed gives the same model as `FriedmanSchuster` and,
    with trees=10, `PatilSingh` (sizes_share="1/2"), as `Mohammed` (sizes_share=0, prune=False; for Max and Gini only
    where the number of rows is public, since that buys none and this does), and as `Jagannathan` (sizes_share=0,
    trees=10, combine="mean", prune=False). Fletcher and Islam's stopping and splitting are policies too, but not their
    forest: how many trees there are, their distinct roots, and that the surest node on a row's path answers, are
    decisions beyond L1 and L2.
    """

    paper = "Miao, Jostle (thesis), figure 4.3"

    depth: int = whole(5, least=1)
    """Levels of splits, at most."""
    trees: int = whole(1, least=1)
    """On the same rows; they share every query's budget."""
    sizes_share: Fraction = share("0", zero=True)
    """Part of the budget that buys the sizes of nodes, level by level. With 0, a node's size is what it would be if the
    splits above it were even, from a number of rows that is public or bought."""
    policies: Policies = choice("learned", Policies)
    """Those that were learned on public databases, where there are any, or Friedman and Schuster's stopping and Max."""
    prune: bool = flag(default=True)
    combine: Literal["vote", "mean"] = choice("vote", Literal["vote", "mean"])
    """Whether several trees vote, or their shares are averaged."""
    numeric: NumericSplits = choice("cuts", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""
    rows_share: Fraction = share("1/20")
    """Part of the budget that buys the number of rows, where no sizes are bought and it is not public."""

    @property
    def fitted_on(self) -> tuple[str, ...]:
        """What its policies were learned on, where they were."""
        return shipped_fitted_on("JostledTree") if self.policies == "learned" else ()

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """Sizes on all levels, splits on all but the last, and the leaves, after the rows where bought."""
        budget = _Budget.of(self, schema, schema.rows, epsilon)
        rows = rows_cost(schema, epsilon, budget.rows) if budget.rows else ()
        sizes = [Repeated(Laplace(budget.size), budget.levels + 1)] if budget.size else []
        splits = Repeated(PermuteAndFlip(budget.query), budget.levels)
        return in_turn([*rows, *sizes, splits, Laplace(budget.query)])

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        schema, budget = db.schema, _Budget.of(self, db.schema, db.rows, epsilon)
        grove = Grove(schema, self.trees, numeric=self.numeric)
        rows = None if budget.size else bought_rows(db, epsilon, budget.rows)
        learned = shipped_policies("JostledTree") if self.policies == "learned" else {}
        _Growth(db, grove, budget, {**PUBLISHED, **learned}, rows).grow()
        routing, counts = bought_leaves(db, grove)
        model = TreeModel(
            schema=schema,
            made_by=self.name,
            epsilon=epsilon,
            routing=routing,
            shares=shares_of(grove, counts),
            combine=self.combine,
        )
        return without_twigs(model, pessimistic(grove, counts)) if self.prune else model


@frozen
class _Budget:
    """Who gets what."""

    levels: int
    rows: Fraction
    """The share that buys the number of rows; 0 where that is not bought."""
    size: Fraction
    """The amount for the sizes of one level; 0 where they are not bought."""
    query: Fraction
    """The amount for the splits of one level, and, at least, for the leaves."""
    margin: int
    """How far above a noisy number of rows their bound lies, for InfoGain."""

    @classmethod
    def of(cls, tree: JostledTree, schema: Schema, known: int | None, epsilon: Fraction) -> _Budget:
        levels = min(tree.depth, longest_path(schema, tree.numeric))
        rows = Fraction(0) if tree.sizes_share else rows_share(known, tree.rows_share)
        each = epsilon * (1 - rows) / (levels + 1)
        size = each * tree.sizes_share
        margin = int(SURE * tree.trees / size) if size else int(SURE / (epsilon * rows)) if rows else 0
        return cls(levels, rows, size, each - size, margin)


class _Growth:
    """The growing of the trees. Everything it holds is public or released; the probe alone answers about rows."""

    def __init__(
        self, db: Probe, grove: Grove, budget: _Budget, policies: Mapping[str, Policy], rows: int | None
    ) -> None:
        self.db = db
        self.grove = grove
        self.budget = budget
        self.policies = policies
        self.rows = rows

    def grow(self) -> None:
        """Grow all trees, level by level, as far as the choices go."""
        grove, frontier = self.grove, self.grove.seedlings()
        for _ in range(self.budget.levels):
            sizes = self._sizes(frontier)
            going = grove.splittable(frontier)
            if going.any():
                seen = self._seen(sizes[going])
                going[going] = self._choose("L1", ACTIONS, seen) == ACTIONS.index("branch")
            if not going.any():
                return
            frontier = grove.split(frontier.only(going), self._picks(frontier.only(going), self._seen(sizes[going])))
        if self.budget.size:
            self._sizes(frontier)

    def _choose(self, label: str, among: tuple[str, ...], seen: Mapping[str, object]) -> Integers:
        return choose_each(label, among=among, informed_by=seen, policy=self.policies[label])

    def _seen(self, sizes: NDArray[np.float64]) -> dict[str, object]:
        """The public facts that a choice sees at each node.

        n: rows, noisy or expected. root: the same at the root. d, level: levels left, and gone. e: a query's budget,
        per tree. c: classes. t: the largest branching. k: attributes. signal: n / (t * c) over the noise of a cell.
        """
        grove, level = self.grove, self.grove.depth
        if level == 0:
            self.root = float(sizes.max())
        widest, classes = int(grove.branching.max(initial=1)), len(grove.schema.classes)
        per_tree = float(self.budget.query) / grove.trees
        return {
            "n": sizes,
            "root": self.root,
            "d": self.budget.levels - level,
            "level": level,
            "e": per_tree,
            "c": classes,
            "t": widest,
            "k": len(grove.columns),
            "signal": sizes * per_tree / (widest * classes),
        }

    def _sizes(self, frontier: Frontier) -> NDArray[np.float64]:
        """The rows of each leaf of the frontier: bought, or expected."""
        if self.rows is not None:
            return float(self.rows) * self.grove.part[frontier.nodes]
        routing = self.grove.routing()
        site = f"sizes level {self.grove.depth}"
        size = np.zeros(len(self.grove))
        size[routing.leaves] = self.db.measure(LeafCounts(routing, by_class=False), self.budget.size, site=site)
        return size[frontier.nodes]

    def _picks(self, frontier: Frontier, seen: Mapping[str, object]) -> Integers:
        """The candidate that each leaf is split by: one question for all that are split by a utility."""
        rules = self._choose("L2", RULES, seen)
        picks = np.zeros(len(frontier), dtype=np.int64)
        at_random = np.flatnonzero(rules == RULES.index("random"))
        used = [place for place in range(len(RULES) - 1) if np.any(rules == place)]
        if used:
            parts = [frontier.only(rules == place) for place in used]
            score = MixedSplitScore(
                self.grove.routing(),
                tuple(RULES[place] for place in used),
                tuple(part.nodes for part in parts),
                self.grove.candidate_columns,
                self.grove.candidate_cuts,
                tuple(self.grove.allowed(part) for part in parts),
                self._rows_bound(),
            )
            site = f"split level {self.grove.depth}"
            picked = self.db.perform(PickEach(score), self.budget.query, site=site)
            picks[np.concatenate([np.flatnonzero(rules == place) for place in used])] = picked
        if at_random.size:
            picks[at_random] = AtRandom().choose(self.db, self.grove, frontier.only(rules == RULES.index("random")))
        return picks

    def _rows_bound(self) -> int:
        """A bound on the rows, for InfoGain: known, or bought with a margin."""
        if self.db.rows is not None:
            return max(1, self.db.rows)
        rows = self.root if self.rows is None else self.rows
        return max(1, int(rows) + self.budget.margin)
