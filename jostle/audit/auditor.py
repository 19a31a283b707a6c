"""Audit a mechanism by name: by enumeration if its distribution is known, by sampling if it can be run."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from jostle.audit.exact import exact_bound
from jostle.audit.findings import Finding
from jostle.audit.statistical import statistical_bound
from jostle.audit.subjects import Sampler, Subject, names, subject
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.noise import Noise

__all__ = ["CONFIDENCE", "audit", "audit_all", "audit_subject"]

CONFIDENCE = 0.999


def audit(
    name: str,
    epsilon: Amount | None = None,
    *,
    samples: int | None = None,
    confidence: float = CONFIDENCE,
    noise: Sampler | None = None,
) -> Finding:
    """A finding on the privacy loss of a registered mechanism.

    Run at *epsilon*, or at the one where the mechanism is best tried; *samples* runs on each input of each pair.
    A bound found by sampling holds with the given confidence over everything that was tried.

    >>> from jostle.privacy.noise import SeededBits
    >>> finding = audit("PTT", noise=Noise(SeededBits(1)), samples=2000)
    >>> finding.verdict, finding.bound.epsilon, finding.bound.event
    ('caught', inf, 'output (0, 1)')
    """
    return audit_subject(subject(name), epsilon, samples=samples, confidence=confidence, noise=noise)


def audit_subject(
    held: Subject[Any],
    epsilon: Amount | None = None,
    *,
    samples: int | None = None,
    confidence: float = CONFIDENCE,
    noise: Sampler | None = None,
) -> Finding:
    """The same for a mechanism that need not be registered."""
    amount = held.epsilon if epsilon is None else epsilon_amount(epsilon)
    bounds = []
    if held.distribution is not None:
        bounds.append(exact_bound(held, amount))
    if held.sample is not None:
        runs = held.samples if samples is None else samples
        bounds.append(statistical_bound(held, amount, runs, confidence, noise or Noise()))
    return Finding(
        name=held.name,
        about=held.about,
        relation=held.pairs.relation,
        epsilon=amount,
        claimed=Fraction(held.claim(amount)),
        bounds=tuple(bounds),
        fault=held.fault,
    )


def audit_all(
    *,
    controls: bool | None = None,
    samples: int | None = None,
    confidence: float = CONFIDENCE,
    noise: Sampler | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each registered mechanism, or for the positive controls, or for the others."""
    for name in names(controls=controls):
        yield audit(name, samples=samples, confidence=confidence, noise=noise)
