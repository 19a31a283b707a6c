"""Mechanisms: the closed list of ways in which anything computed from rows may leave; here, those that add noise.

A mechanism says which kernel it tallies, which event that is, and how the tally becomes an answer. Releasing means
looking at an un-noised tally, so mechanisms are descriptions from a closed list (`MECHANISMS`), each with its proof in
its docstring; a subclass, or one made elsewhere, is refused at the door.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from jostle.errors import ExpressionError, NoiseError, ProbeError, TableError
from jostle.privacy.amounts import show_amount
from jostle.privacy.events import AboveThreshold, Event, Laplace, PermuteAndFlip
from jostle.privacy.evidence import MOST_COMPARED, Measurement, measured
from jostle.privacy.expressions import NODES, evaluate, known_of, sensitivity_of, tallies
from jostle.privacy.fields import fractions
from jostle.privacy.nodes import Expression, Tally
from jostle.privacy.noise import LARGEST, LARGEST_SCALE, LARGEST_THRESHOLD, Noise
from jostle.privacy.reals import Tail
from jostle.privacy.sensitivity import Known, Numbers
from jostle.tables.closed import DENSE_KERNELS, LEVEL_KERNELS
from jostle.tables.engines import Partial
from jostle.tables.fields import Component, Floats, Integers, Within, whole
from jostle.tables.kernels import Counts, DenseKernel, Kernel, SparseCounts, SparseTally
from jostle.tables.number_kernels import Moments
from jostle.tables.persons import OfPersons
from jostle.tables.pools import Stack
from jostle.tables.regions import LevelKernel, Regions
from jostle.tables.schema import Schema

MOST_KEPT = 10**8
"""Cells of a sparse answer that are held at once."""


class Mechanism(ABC):
    """How one tally becomes an answer that may be seen."""

    tallied: Kernel
    """Of most, the kernel that is tallied."""
    events: ClassVar[type[Laplace | PermuteAndFlip | AboveThreshold]]
    """Of which kind its event is, where that is a single one; each class says it."""

    def kernel(self, schema: Schema) -> Kernel:
        """The kernel that is tallied."""
        return self.tallied

    def check(self, schema: Schema, epsilon: Fraction) -> None:  # noqa: B027 - most have nothing to refuse
        """Refuse a request that makes no sense, before any charge."""

    def collect(self, tally: Callable[[Kernel], Partial], schema: Schema) -> Any:
        """What is found among the rows, before noise: one tally, or what several lead to of which none is released."""
        return tally(self.kernel(schema))

    def event(self, epsilon: Fraction) -> Event:
        """The event of this."""
        return self.events(epsilon)

    @abstractmethod
    def release(self, tally: Any, schema: Schema, epsilon: Fraction, noise: Noise) -> Any:
        """The answer."""

    def shown(self, answer: Any) -> Integers:
        """The released numbers, for the trace."""
        return np.asarray(answer, dtype=np.int64).ravel()

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction | None:
        """The scale of the noise, where there is one."""
        return None

    def scales(self, schema: Schema, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The scales of all the noise there is."""
        scale = self.scale(schema, epsilon)
        return () if scale is None else (scale,)

    def measured(self, answer: Any, schema: Schema, epsilon: Fraction) -> tuple[Measurement, ...]:
        """The answer as measurements, as far as it tells how many rows fall where."""
        return ()


def sensitivity(kernel: Kernel, schema: Schema) -> int | Fraction:
    """The most that all cells of a kernel change, summed, between neighbours of the schema's kind, for each row.

    What counts a person once changes by a share of that for each row a person may have.
    """
    most = kernel.bound(schema) if schema.neighbours == "add_remove" else kernel.replaced(schema)
    return Fraction(most, schema.rows_per_person or 1) if isinstance(kernel, OfPersons) and kernel.once else most


@frozen
class AddNoise(Mechanism):
    """Discrete Laplace noise on every cell.

    Between neighbours the tally changes by at most the sensitivity in sum, and each unit of change in a cell changes
    the probability of any noisy value by a factor of at most exp(1/scale) = exp(epsilon/sensitivity).
    """

    events = Laplace
    tallied: DenseKernel = field(validator=Component(DENSE_KERNELS, what="a dense kernel", error=ProbeError))

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return sensitivity(self.tallied, schema) / epsilon

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Integers:
        answer = noise.discrete_laplace(self.scale(schema, epsilon), len(tally))
        answer += tally
        return answer

    def measured(self, answer: Integers, schema: Schema, epsilon: Fraction) -> tuple[Measurement, ...]:
        """The noisy counts of each group of columns, or each partition of a grid."""
        kernel = self.tallied
        if not isinstance(kernel, Counts | Regions):
            return ()
        sizes = (
            kernel.sizes(schema) if isinstance(kernel, Regions) else [schema.size(*group) for group in kernel.groups]
        )
        numbers = np.split(answer, np.cumsum(sizes)[:-1])
        return measured(kernel, numbers, [self.scale(schema, epsilon)] * len(numbers), schema)


@frozen
class AddNoiseToSpread(Mechanism):
    """Discrete Laplace noise on how far apart the numbers of a column are, where the number of rows n is public.

    With u_1, u_2, ... the numbers as whole ones from 0 to m, and S their sum, at most n*m, it is the sum of u**2 less
    S**2 / n, rounded down to a whole number: with n rows, n times the variance. One row changes it by at most m**2.

    *Proof.* Look at n times it, before it is rounded: n * (the sum of u**2) - S**2. Let a row's u become v > u. The
    first part grows by n*(v**2 - u**2), and S by at most d = v - u, to no more than n*m: so S**2 grows by at least 0,
    and at most 2*n*m*d. What is left lies between n*d*(u + v) - 2*n*m*d and n*d*(u + v). As u + v is at most 2*m - d
    and at least d, neither is farther from 0 than n*d*(2*m - d), which is at most n*m**2. A row that enters has u = 0
    before. (S is cut off at n*m, so that this holds with any number of rows.)
    Of whole numbers a <= b <= a + n*m**2, the parts a // n and b // n are at most m**2 apart.
    """

    events = Laplace
    tallied: Moments = field(validator=Component((Moments,), what="moments of numbers", error=ProbeError))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse other moments than second ones of all numbers, and what is too large, or has no public rows."""
        if self.tallied.degree != 2 or self.tallied.window:
            raise ProbeError("how far numbers are apart is told by their second moments", fix='Moments("age", 2, 80)')
        if not schema.rows:
            raise ProbeError("the number of rows is not declared", fix="Moments and AddNoise")

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return self.tallied.bound(schema) / epsilon

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> int:
        return self.spread(tally, schema) + int(noise.discrete_laplace(self.scale(schema, epsilon), 1)[0])

    def spread(self, tally: Integers, schema: Schema) -> int:
        """The number itself, of an un-noised tally."""
        _, mixed, squares = map(int, tally)
        rows, most = schema.rows or 1, self.tallied.most
        return (rows * squares - min((mixed + 2 * squares) // (2 * most), rows * most) ** 2) // rows


@frozen(eq=False, repr=False)
class SparseAnswer:
    """Cells whose noisy count passed a threshold, by key, in rising order."""

    keys: Integers
    values: Integers


@frozen
class AddNoiseAbove(Mechanism):
    """Discrete Laplace noise on every cell of a domain too large to visit, keeping those above a threshold >= 0.

    The answer has exactly the distribution of noising every cell and keeping those above the threshold, which is a
    function of `AddNoise`'s answer and costs what that costs: an empty cell passes by itself with chance P(noise >
    threshold), drawn for all cells at once by the waits between successes; given that it passes, its value is
    distributed as noise above the threshold. Flags that fall on occupied cells are ignored: those have noise of their
    own.
    """

    events = Laplace
    tallied: SparseCounts = field(validator=Component((SparseCounts,), what="a sparse kernel", error=ProbeError))
    threshold: int = field(converter=whole, validator=Within(0, LARGEST_THRESHOLD))

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse a threshold that more empty cells would pass than fit in memory, and too many cells to go over."""
        if self.tallied.cells(schema) > LARGEST:
            raise ProbeError("there are 2**63 cells, one more than are gone over", fix="use fewer columns or bins")
        _, most = Tail(self.scale(schema, epsilon), self.threshold).enclose(128)
        expected = self.tallied.cells(schema) * most >> 128
        if expected > MOST_KEPT:
            raise ProbeError(
                f"about {expected:,} empty cells would pass the threshold {self.threshold}",
                why=f"more than {MOST_KEPT:,} are not held at once",
                fix="raise the threshold or epsilon, or use fewer columns",
            )

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        return sensitivity(self.tallied, schema) / epsilon

    def release(self, tally: SparseTally, schema: Schema, epsilon: Fraction, noise: Noise) -> SparseAnswer:
        scale = self.scale(schema, epsilon)
        flagged = noise.successes(self.tallied.cells(schema), Tail(scale, self.threshold))
        noisy = tally.counts + noise.discrete_laplace(scale, len(tally.counts))
        passed = noisy > self.threshold
        empty = flagged[~np.isin(flagged, tally.keys, assume_unique=True)]
        keys = np.concatenate([tally.keys[passed], empty])
        values = np.concatenate([noisy[passed], noise.laplace_above(scale, self.threshold, len(empty))])
        order = np.argsort(keys)
        return SparseAnswer(keys[order], values[order])

    def shown(self, answer: SparseAnswer) -> Integers:
        return answer.values


def check_scale(scale: Fraction) -> None:
    """Refuse before any charge what the samplers would refuse after it."""
    if not 0 < scale <= LARGEST_SCALE:
        raise NoiseError(
            f"the noise would have scale {show_amount(scale)}, which must be above 0 and at most 2**52",
            why="the scale is what a row can change, over epsilon",
            fix="ask about at least one thing, with a larger epsilon",
        )


def check_tally(tally: Partial, kernel: Kernel, cells: int) -> None:
    """Refuse a tally that is not of the kernel's cells: noise would be added to something else."""
    if isinstance(tally, SparseTally):
        fits = not isinstance(kernel, DenseKernel) and (
            not tally.keys.size or bool(tally.keys[0] >= 0 and tally.keys[-1] < cells)
        )
    else:
        fits = isinstance(kernel, DenseKernel) and tally.shape == (cells,) and tally.dtype == np.int64
    if not fits:
        raise TableError("a tally does not have the cells that its kernel declares")


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

    events = Laplace
    tallied: LevelKernel = field(validator=Component(LEVEL_KERNELS, what="a kernel made of levels", error=ProbeError))
    shares: tuple[Fraction, ...] = field(converter=fractions)

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

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction | None:
        """The scale where there is one level; several have several."""
        scales = self.scales(schema, epsilon)
        return scales[0] if len(scales) == 1 else None

    def scales(self, schema: Schema, epsilon: Fraction) -> tuple[Fraction, ...]:
        return level_scales(self.tallied, self.shares, schema, epsilon)

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> Any:
        """The noisy numbers, an array per level."""
        levels = np.split(tally, np.cumsum(self.tallied.sizes(schema))[:-1])
        scales = self.scales(schema, epsilon)
        return tuple(
            level + noise.discrete_laplace(scale, len(level)) for level, scale in zip(levels, scales, strict=True)
        )

    def shown(self, answer: tuple[Integers, ...]) -> Integers:
        return np.concatenate(answer)

    def measured(self, answer: tuple[Integers, ...], schema: Schema, epsilon: Fraction) -> tuple[Measurement, ...]:
        if not isinstance(self.tallied, Regions):
            return ()
        return measured(self.tallied, answer, self.scales(schema, epsilon), schema)


MOST_CELLS = 2**24
"""Cells an expression may be computed from; Python's own numbers for all of them fit in memory."""
MOST_UNITS = 2**62
"""What is released is no farther from 0 than so many units, before noise."""
LARGEST_DENOMINATOR = 2**2048
FINEST = 62
"""Where they are rounded to fit, it is to a multiple of 2**-FINEST or more."""
LEAST_STEPS = 2**16
"""Where numbers are rounded to fit, a row still moves them by as many units."""


def _leaves(expressions: Iterable[Expression]) -> tuple[Tally, ...]:
    """The different tallies of all expressions, in order of appearance."""
    return tuple(dict.fromkeys(tally for expression in expressions for tally in tallies(expression)))


def stack_of(expressions: Iterable[Expression], schema: Schema) -> Stack:
    """One kernel for all that several expressions need of the rows."""
    return Stack(tuple(tally.layer(schema) for tally in _leaves(expressions)))


def evaluated(expressions: tuple[Expression, ...], tally: Integers, schema: Schema) -> tuple[Numbers, ...]:
    """The exact numbers of expressions, from the tally of their stack."""
    numbers = {}
    start = 0
    for leaf in _leaves(expressions):
        layer = leaf.layer(schema)
        end = start + layer.cells(schema)
        numbers[leaf] = Numbers(tally[start:end].reshape(layer.shape(schema)))
        start = end
    return tuple(evaluate(expression, numbers) for expression in expressions)


@frozen(eq=False, repr=False)
class NoisyNumbers:
    """Released numbers: whole multiples of a public unit."""

    units: Integers
    unit: Fraction

    @property
    def values(self) -> Floats:
        """The numbers, rounded to the nearest doubles."""
        exact = (float(int(number) * self.unit) for number in self.units.ravel())
        return np.fromiter(exact, np.float64, self.units.size).reshape(self.units.shape)


@frozen
class AddNoiseTo(Mechanism):
    """Discrete Laplace noise on an expression, of scale (its inferred sensitivity) / epsilon.

    The numbers of an expression are whole multiples of a public unit, 1/denominator (`Known`). In these units they
    change by at most d = sensitivity / unit between neighbours, summed over cells, as the rules of `nodes` show; noise
    of scale d / epsilon on each of these whole numbers changes the probability of every answer by a factor of at most
    exp(epsilon), as for `AddNoise`. Noise and numbers are whole throughout; what they stand for is computed from the
    answer alone.

    *A coarser unit.* Where numbers in units of 1/denominator would not fit 62 bits, or the scale not 52, they are
    rounded down to multiples of a power of two, u. Rounded down, each cell changes by at most its change rounded up to
    a multiple of u (see `Deviation`), so all cells by at most the sensitivity + cells * u in sum; a single one by at
    most the sensitivity rounded up to a multiple of u.

    Scale and shown numbers, in the trace, are in units.
    """

    events = Laplace
    expression: Expression = field(
        validator=Component(NODES.members, what="a known private expression", error=ExpressionError)
    )

    def kernel(self, schema: Schema) -> Stack:
        return stack_of((self.expression,), schema)

    def check(self, schema: Schema, epsilon: Fraction) -> None:
        """Refuse an expression that depends on no row, or is too large, or whose numbers fit no unit."""
        if self.kernel(schema).cells(schema) > MOST_CELLS:
            raise ExpressionError(
                f"the expression is computed from more than {MOST_CELLS:,} cells",
                fix="use fewer columns, or coarser ones: x.coarsened({column: 2})",
            )
        facts = known_of(self.expression, schema)
        if facts.denominator > LARGEST_DENOMINATOR:
            raise ExpressionError("the expression's numbers have too many different denominators", fix="round them")
        if not sensitivity_of(facts, schema):
            raise ExpressionError("the expression is the same whatever the rows are", fix="compute it without a probe")
        self._unit(facts, schema, epsilon)

    def scale(self, schema: Schema, epsilon: Fraction) -> Fraction:
        """The scale of the noise, in units."""
        facts = known_of(self.expression, schema)
        return _steps(facts, self._unit(facts, schema, epsilon), schema) / epsilon

    def release(self, tally: Integers, schema: Schema, epsilon: Fraction, noise: Noise) -> NoisyNumbers:
        unit, whole = self.in_units(tally, schema, epsilon)
        drawn = noise.discrete_laplace(self.scale(schema, epsilon), whole.size)
        both = zip(whole.ravel().tolist(), drawn.tolist(), strict=True)
        noisy = [max(-LARGEST, min(LARGEST, number + more)) for number, more in both]
        return NoisyNumbers(np.array(noisy, dtype=np.int64).reshape(whole.shape), unit)

    def in_units(self, tally: Integers, schema: Schema, epsilon: Fraction) -> tuple[Fraction, Integers]:
        """The unit, and the exact numbers in whole units: what noise is added to."""
        unit = self._unit(known_of(self.expression, schema), schema, epsilon)
        (exact,) = evaluated((self.expression,), tally, schema)
        step = unit * exact.denominator
        whole = [number * step.denominator // step.numerator for number in exact.flat()]
        # In range, as `check` makes sure for tables of up to MOST_RECORDS; larger ones are cut off where others end.
        kept = [max(-LARGEST, min(LARGEST, number)) for number in whole]
        return unit, np.array(kept, dtype=np.int64).reshape(exact.shape)

    def _unit(self, facts: Known, schema: Schema, epsilon: Fraction) -> Fraction:
        exact = Fraction(1, facts.denominator)
        if _fits(facts, exact, schema, epsilon):
            return exact
        for bits in range(FINEST, -FINEST, -1):
            unit = Fraction(2) ** -bits
            if _fits(facts, unit, schema, epsilon) and _steps(facts, unit, schema) >= LEAST_STEPS:
                return unit
        most, scale = float(max(-facts.least, facts.most)), float(sensitivity_of(facts, schema) / epsilon)
        raise ExpressionError(
            "the expression and its noise do not fit 62 bits",
            why=f"it goes up to {most:.3g}, and its noise has scale {scale:.3g}",
            fix="scale it down, clamp it, or use a larger epsilon",
        )

    def shown(self, answer: NoisyNumbers) -> Integers:
        return answer.units

    def measured(self, answer: NoisyNumbers, schema: Schema, epsilon: Fraction) -> tuple[Measurement, ...]:
        """The noisy counts of a tally of all rows by groups of codes; of any other expression, nothing."""
        tally = self.expression
        if (
            not isinstance(tally, Tally)
            or tally.conditions
            or tally.persons
            or tally.weighted is not None
            or answer.unit != 1
        ):
            return ()
        kernel, numbers = _as_partition(tally, answer.units.ravel(), schema)
        return measured(kernel, [numbers], [self.scale(schema, epsilon)], schema)


def _as_partition(tally: Tally, numbers: Integers, schema: Schema) -> tuple[Counts | Regions, Integers]:
    """A tally of all rows as a partition of its columns' codes, and its numbers without those of empty cells."""
    layer = tally.layer(schema)
    # Where columns have too many combinations to be gone through, the total is all that is told of it.
    if not any(layer.groups) or schema.size(*layer.columns) > MOST_COMPARED:
        return Counts.of(*layer.columns), numbers
    cell_of = np.zeros(1, dtype=np.int64)
    for name, groups, side in zip(layer.columns, layer.groups, layer.shape(schema), strict=True):
        group = np.array(groups or range(schema[name].size), dtype=np.int64)
        cell_of = np.add.outer(cell_of * side, group).ravel()
    order = np.argsort(cell_of, kind="stable")
    occupied, starts = np.unique(cell_of[order], return_index=True)
    return Regions(layer.columns, order, (starts,)), numbers[occupied]


def _steps(facts: Known, unit: Fraction, schema: Schema) -> int:
    """How many units the numbers change by, summed over cells."""
    steps = math.ceil(sensitivity_of(facts, schema) / unit)
    exact = (1 / unit) % facts.denominator == 0
    return steps if exact or facts.cells == 1 else steps + facts.cells


def _fits(facts: Known, unit: Fraction, schema: Schema, epsilon: Fraction) -> bool:
    largest = max(-facts.least, facts.most) / unit
    return largest <= MOST_UNITS and _steps(facts, unit, schema) / epsilon <= LARGEST_SCALE
