"""A random forest on disjoint parts of the rows, as IBM's library has it, after Fletcher and Islam.

Holohan, Braghin, Mac Aonghusa, Levacher. Diffprivlib: the IBM differential privacy library, 2019. Every tree splits
at random and gets its own part of the rows, so each may use the whole budget; a leaf's label is picked by
permute-and-flip.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen

from jostle.options.base import option
from jostle.options.classification.base import Classifier
from jostle.options.growing.grove import Grove, NumericSplits
from jostle.options.growing.grow import grow
from jostle.options.growing.leaves import add_upwards, leaf_counts, shares_of
from jostle.options.growing.splitting import AtRandom
from jostle.options.growing.stopping import AtDepth
from jostle.options.models.trees import TreeModel
from jostle.parameters import choice, whole
from jostle.privacy.events import Event, PermuteAndFlip
from jostle.privacy.pick_each import PickEach
from jostle.privacy.probe import Probe
from jostle.privacy.split_scores import LeafMajority
from jostle.tables.schema import Schema

__all__ = ["RandomForest"]

KEYS = 2**62


@option
@frozen(kw_only=True)
class RandomForest(Classifier):
    """Random trees on disjoint parts of the rows, leaf labels picked."""

    paper = "Holohan, Braghin, Mac Aonghusa, Levacher, 2019"

    trees: int = whole(10, least=1)
    depth: int = whole(5, least=1)
    """Levels of splits."""
    numeric: NumericSplits = choice("ordered", NumericSplits)
    """Numeric columns are cut in two, or split by all bins; or all columns are cut, in declared order."""

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:  # noqa: ARG002 - the same for every schema
        """One pick: a row is in one leaf of one tree."""
        return PermuteAndFlip(epsilon)

    def run(self, db: Probe, epsilon: Fraction) -> TreeModel:
        """A forest. The key that cuts the rows into parts is random, and need not be secret."""
        schema = db.schema
        grove = Grove(schema, self.trees, numeric=self.numeric)
        grow(db, grove, self.depth, AtRandom(), AtDepth(), ask_at_end=False)
        routing = grove.routing(part_key=int(db.below(KEYS, 1)[0]) if self.trees > 1 else None)
        labels = db.perform(PickEach(LeafMajority(routing)), epsilon, site="leaves")
        votes = leaf_counts(routing, np.eye(len(schema.classes))[labels], len(schema.classes))
        shares = shares_of(grove, add_upwards(grove, votes))
        return TreeModel(schema=schema, made_by=self.name, epsilon=epsilon, routing=routing, shares=shares)
