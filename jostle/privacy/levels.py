"""Noise on the levels of a grid: one tally, each level with its own share of the budget."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ProbeError
from jostle.privacy.events import Event, Laplace
from jostle.privacy.fields import fractions
from jostle.privacy.measurements import Measurement, measured
from jostle.privacy.mechanisms import Mechanism
from jostle.privacy.noise import LARGEST_SCALE, Noise
from jostle.tables.fields import Component
from jostle.tables.kernel_list import LEVEL_KERNELS
from jostle.tables.kernels import Kernel
from jostle.tables.regions import LevelKernel, Regions
from jostle.tables.schema import Schema

__all__ = ["AddNoiseByLevel", "level_scales"]


def level_scales(
    kernel: LevelKernel, shares: Iterable[Fraction], schema: Schema, epsilon: Fraction
) -> tuple[Fraction, ...]:
    """The scale of each level's noise, given its share of epsilon."""
    return tuple(change / (part * epsilon) for change, part in zip(kernel.changes(schema), shares, strict=True))


@frozen(eq=False)
class AddNoiseByLevel(Mechanism):
    """Discrete Laplace noise on every number of every level, of scale (change of the level) / (share * epsilon).

    A row changes one number of each level by one. Under add_remove each level thus changes by 1 in sum, and what is
    released of it is share * epsilon private; under replace_one it changes by 2, or 1 (`LevelKernel.replaced_in`),
    and its noise is as much wider. The levels' noises are independent, so their losses add up: to epsilon, as the
    shares add up to 1.
    """

    tallied: LevelKernel = field(validator=Component(LEVEL_KERNELS, what="a kernel made of levels", error=ProbeError))
    shares: tuple[Fraction, ...] = field(converter=fractions)

    def kernel(self, schema: Schema) -> Kernel:  # noqa: ARG002 - the same for every schema
        """The kernel that is tallied."""
        return self.tallied

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse shares that are not one per level, all above 0, that add up to 1, or too little for their noise."""
        levels = len(self.tallied.sizes(schema))
        if not levels or len(self.shares) != levels or min(self.shares) <= 0 or sum(self.shares) != 1:
            raise ProbeError(
                f"{len(self.shares)} shares of a budget do not split it among {levels} levels",
                why="each level needs a share above 0, and together they are 1",
            )
        if max(level_scales(self.tallied, self.shares, schema, epsilon)) > LARGEST_SCALE:
            raise ProbeError("a level's share of epsilon is too little for its noise", fix="use a larger share")

    def event(self, epsilon: Fraction) -> Event:
        """A Laplace event."""
        return Laplace(epsilon)

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction | None:
        """The scale where there is one level; several have several."""
        scales = self.scales(schema, epsilon)
        return scales[0] if len(scales) == 1 else None

    def scales(self, schema: Schema, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The scale of each level."""
        return level_scales(self.tallied, self.shares, schema, epsilon)

    def release(self, tally: NDArray[np.int64], schema: Schema, epsilon: Fraction, noise: Noise) -> Any:
        """The noisy numbers, an array per level."""
        levels = []
        place = 0
        for size, scale in zip(self.tallied.sizes(schema), self.scales(schema, epsilon), strict=True):
            drawn = noise.discrete_laplace(scale, size)
            drawn += tally[place : place + size]
            levels.append(drawn)
            place += size
        return tuple(levels)

    def shown(self, answer: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
        """The noisy numbers of all levels in turn."""
        return np.concatenate(answer)

    def measured(
        self, answer: tuple[NDArray[np.int64], ...], schema: Schema, epsilon: Fraction
    ) -> tuple[Measurement, ...]:
        """The noisy counts of each partition of a grid."""
        if not isinstance(self.tallied, Regions):
            return ()
        return measured(self.tallied, answer, self.scales(schema, epsilon), schema)
