"""Where what metafeatures buy comes from: a probe, which charges for it, or what was read off public databases."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError
from jostle.privacy.evidence import noise_variance
from jostle.privacy.expressions import known_of, sensitivity, sensitivity_of
from jostle.privacy.nodes import Expression
from jostle.privacy.noise import Noise, SeededBits
from jostle.privacy.opening import raw
from jostle.privacy.probe import Probe
from jostle.privacy.sensitivity import Known
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks.metafeature import Market, Metafeature, distinct, key_of

Floats = NDArray[np.float64]
STEPS = 1000
"""Training noise is a whole number of so many steps per unit."""


@frozen(eq=False)
class Purchases(Market):
    """Buys from a probe, each thing once, all at the same price."""

    db: Probe
    each: Fraction
    listed: Mapping[str, Expression]
    bought: dict[str, Floats] = field(factory=dict)

    def buy(self, wanted: Expression) -> Floats:
        """The values bought before; buy what was not."""
        key = key_of(wanted)
        if key not in self.listed:
            raise ChoiceError(
                "a metafeature buys something that it did not buy when it was priced",
                why="what it costs is fixed before the data are touched",
                fix="buy first, and decide afterwards, whatever the numbers are",
            )
        if key not in self.bought:
            self.bought[key] = self.db.release_cells(wanted, self.each, site="metafeature")
        return self.bought[key]

    def variance(self, wanted: Expression) -> float:
        """Variance of the noise on what is bought."""
        return noise_variance(sensitivity(wanted, self.db.schema) / self.each)


def bought(db: Probe, metafeatures: Iterable[Metafeature], budget: Fraction) -> Fraction:
    """Buy what metafeatures look at, each thing at the same price, and give what that cost: all, or nothing."""
    listed = distinct(metafeatures, db.schema)
    market = Purchases(db, budget / max(1, len(listed)), listed)
    for wanted in listed.values():
        market.buy(wanted)
    return market.each * len(market.bought)


@frozen(eq=False)
class Stall:
    """What was read off one public database, with what is worked out for each purchase only once."""

    read: Mapping[str, tuple[float, ...]]
    schema: Schema
    known: dict[str, Known] = field(factory=dict)
    """Of each purchase, by its key."""
    worked_out: dict[str, tuple[Floats, Fraction]] = field(factory=dict)
    listed: dict[int, tuple[Metafeature, dict[str, Expression]]] = field(factory=dict)
    """By the metafeature's identity; it is held with it, so that its place is not taken by another."""

    def distinct(self, metafeatures: Iterable[Metafeature]) -> dict[str, Expression]:
        """The expressions that several metafeatures buy here together, each thing once."""
        expressions: dict[str, Expression] = {}
        for metafeature in metafeatures:
            if id(metafeature) not in self.listed:
                wanted = metafeature.purchases(self.schema, self.known)
                self.listed[id(metafeature)] = (metafeature, {key_of(expression): expression for expression in wanted})
            expressions.update(self.listed[id(metafeature)][1])
        return expressions

    def values(self, wanted: Expression) -> tuple[Floats, Fraction]:
        """An expression's numbers, and its sensitivity."""
        key = key_of(wanted)
        if key not in self.worked_out:
            if key not in self.read:
                raise ChoiceError(
                    "what a metafeature buys was not read off all databases",
                    fix="train again, with the databases at hand",
                )
            if key not in self.known:
                self.known[key] = known_of(wanted, self.schema)
            known, values = self.known[key], np.array(self.read[key])
            if values.size != math.prod(known.shape):
                raise ChoiceError(
                    "what a metafeature buys has another length in the history than the database it was read off gives",
                    fix="put a copy of the history in its place, or train again, with the databases at hand",
                )
            self.worked_out[key] = (values.reshape(known.shape), sensitivity_of(known, self.schema))
        return self.worked_out[key]


@frozen(eq=False)
class Replica(Market):
    """Puts noise on what was read off a public database, as it would be bought there; none where *each* is None."""

    stall: Stall
    each: Fraction | None
    noise: Noise
    bought: dict[str, Floats] = field(factory=dict)

    def buy(self, wanted: Expression) -> Floats:
        """The values read, noised once."""
        values, moved = self.stall.values(wanted)
        if self.each is None:
            return values
        key = key_of(wanted)
        if key not in self.bought:
            # In steps a thousandth of what a row changes: fine enough for training.
            scale = max(Fraction(1), Fraction(round(STEPS * moved / self.each)))
            self.bought[key] = values + self.noise.discrete_laplace(scale, values.size).reshape(values.shape) / STEPS
        return self.bought[key]

    def variance(self, wanted: Expression) -> float:
        """Variance of the noise that would be on what is bought."""
        return 0.0 if self.each is None else noise_variance(self.stall.values(wanted)[1] / self.each)


def read_raw(metafeatures: Iterable[Metafeature], table: Table) -> dict[str, tuple[float, ...]]:
    """The values that metafeatures buy on a public table, without noise; a private one is refused."""
    wanted = distinct(metafeatures, table.schema)
    numbers = raw(table, wanted.values())
    return {key: tuple(map(float, found)) for key, found in zip(wanted, numbers, strict=True)}


def seeded(seed: Any) -> Noise:
    """A noise that is a function of a seed, for training."""
    digest = hashlib.blake2b(repr(seed).encode(), digest_size=8).digest()
    return Noise(SeededBits(int.from_bytes(digest, "big")))
