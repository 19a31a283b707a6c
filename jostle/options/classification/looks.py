"""What classification Options know before they buy: class counts, from what was released before them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.options.classification.noisy_numbers import noise_variance
from jostle.options.looks import is_enough
from jostle.privacy.measurements import Look, together
from jostle.privacy.probe import Probe
from jostle.tables.kernels import Counts

__all__ = ["ClassCounts", "class_counts", "several_counts"]

Floats = NDArray[np.float64]


@frozen(eq=False)
class ClassCounts:
    """The class counts of all rows as an Option comes to know them."""

    counts: Floats
    variance: float
    """Of the noise in each."""
    cost: Fraction
    """What was spent on them: nothing where they were known about as well."""


def class_counts(db: Probe, epsilon: Fraction, *, always: bool = False) -> ClassCounts:
    """The noisy class counts, bought with *epsilon* and averaged with what is known of them.

    What is known about as well is not bought again, unless *always*.
    """
    schema = db.schema
    kernel = Counts.of(schema.label or "")
    variance = noise_variance(kernel, schema, epsilon)
    (known,) = db.known(kernel)
    if known is not None and is_enough(known, variance) and not always:
        return ClassCounts(known.counts, float(known.variance.mean()), Fraction(0))
    counts, spread = _joined(db.measure(kernel, epsilon, site="classes"), variance, known)
    return ClassCounts(counts, spread, epsilon)


def several_counts(db: Probe, kernel: Counts, epsilon: Fraction, *, site: str) -> tuple[Floats, float]:
    """Noisy counts of several groups of columns, averaged with what is known of each, and their mean variance.

    Groups that are known about as well as they would be bought are left out of the tally, so that the others have less
    noise; not all of them, since there is nothing else to buy.
    """
    schema, looks = db.schema, db.known(kernel)
    whole = noise_variance(kernel, schema, epsilon)
    wanted = [look is None or not is_enough(look, whole) for look in looks]
    if not any(wanted):
        wanted = [True] * len(looks)
    bought = Counts([group for group, want in zip(kernel.groups, wanted, strict=True) if want])
    noisy, variance = db.measure(bought, epsilon, site=site), noise_variance(bought, schema, epsilon)
    found: list[tuple[Floats, float]] = []
    place = 0
    for group, want, look in zip(kernel.groups, wanted, looks, strict=True):
        if want:
            size = schema.size(*group)
            found.append(_joined(noisy[place : place + size], variance, look))
            place += size
        elif look is not None:
            found.append((look.counts, float(look.variance.mean())))
    counts, variances = zip(*found, strict=True)
    return np.concatenate(counts), float(np.mean(variances))


def _joined(noisy: NDArray[np.int64], variance: float, known: Look | None) -> tuple[Floats, float]:
    """Noisy counts, averaged by 1 / variance with what was known of them, and the variance of what comes of it."""
    if known is None:
        return noisy.astype(np.float64), variance
    both = together([Look(noisy, np.full(len(noisy), variance)), known])
    return both.counts, float(both.variance.mean())
