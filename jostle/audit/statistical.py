"""Lower bounds on epsilon from runs alone.

Half of the runs choose what to measure: a quarter to learn orders of the outputs, a quarter to choose pairs,
directions and cuts (see `events`). The most promising few events are then measured on fresh runs, and only these.

*Confidence.* The finalists are fixed before the fresh runs are drawn. For each, Clopper-Pearson limits on its two
chances are wrong with probability at most alpha/2 each, so the bound ln(least/most) exceeds the true loss with
probability at most alpha; with alpha = (1 - confidence) / number of finalists, the largest of the bounds exceeds
it with probability at most 1 - confidence, whatever the mechanism, the pairs and the classifiers are. Runs of one
mechanism on one input are shared between finalists; the union bound does not ask for independence. What the
choosing saw plays no part in it.

Ding, Wang, Wang, Zhang, Kifer (2018) test hypotheses about chosen events; Bichsel, Steffen, Bogunovic, Vechev (2021)
learn the event with a classifier; both measure on fresh runs, as here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from attrs import frozen

from jostle.audit.events import (
    Features,
    OutputEvent,
    best_events,
    learn_orders,
    least_chance,
    log_ratio_bound,
    most_chance,
)
from jostle.audit.findings import Bound
from jostle.audit.pairs import Pair
from jostle.audit.subjects import Outputs, Sampler, Subject
from jostle.errors import AuditError
from jostle.progress import stage

__all__ = ["statistical_bound"]

FINALISTS = 3
LEAST_SAMPLES = 400
ROUNDING = 1e-9
"""The inverse incomplete beta function is off by less than this."""


@frozen
class _Candidate:
    place: int
    pair: Pair[Any]
    event: OutputEvent


def statistical_bound(
    subject: Subject[Any], epsilon: Fraction, samples: int, confidence: float, noise: Sampler
) -> Bound:
    """The largest bound that *samples* runs on each input show with the given confidence over all of it."""
    if samples < LEAST_SAMPLES:
        raise AuditError(f"samples is {samples}, but fewer than {LEAST_SAMPLES} show nothing", fix="samples=20_000")
    if not 0 < confidence < 1:
        raise AuditError(f"confidence is {confidence}, but must lie between 0 and 1", fix="confidence=0.999")
    alpha = (1 - confidence) / FINALISTS
    pairs, runs = list(subject.pairs), samples - samples // 2
    candidates, bounds = [], []
    measured: dict[int, tuple[Outputs, Outputs]] = {}
    with stage(f"running {subject.name}") as said:
        for place, pair in enumerate(pairs):
            said.at(place, len(pairs) + FINALISTS)
            outputs = _run(subject, pair, epsilon, samples // 2, noise)
            candidates += [_Candidate(place, pair, event) for event in _promising(outputs, subject.features, alpha)]
        if not candidates:
            raise AuditError(f"{subject.name} has no pairs to be audited on", fix="give it at least one pair")
        candidates.sort(key=lambda candidate: -candidate.event.expected)
        for number, finalist in enumerate(candidates[:FINALISTS]):
            said.at(len(pairs) + number, len(pairs) + FINALISTS)
            if finalist.place not in measured:
                measured[finalist.place] = _run(subject, finalist.pair, epsilon, runs, noise)
            bounds.append(_measured(finalist, measured[finalist.place], runs, alpha, confidence))
    return max(bounds, key=lambda bound: bound.epsilon)


def _run(
    subject: Subject[Any], pair: Pair[Any], epsilon: Fraction, size: int, noise: Sampler
) -> tuple[Outputs, Outputs]:
    if subject.sample is None:
        raise AuditError(f"{subject.name} cannot be run, only enumerated")
    sides = [subject.sample(noise, data, epsilon, size) for data in (pair.first, pair.second)]
    for side in sides:
        if len(side) != size:
            raise AuditError(f"{subject.name} gave {len(side)} outputs for {size} runs")
    return sides[0], sides[1]


def _promising(outputs: tuple[Outputs, Outputs], features: Features | None, alpha: float) -> list[OutputEvent]:
    first, second = outputs
    learning = len(first) // 2
    return [
        event
        for order in learn_orders(first[:learning], second[:learning], features)
        for event in best_events(order, first[learning:], second[learning:], alpha)
    ]


def _measured(
    finalist: _Candidate, outputs: tuple[Outputs, Outputs], runs: int, alpha: float, confidence: float
) -> Bound:
    event, pair = finalist.event, finalist.pair
    likelier, other = (int(event.holds(side).sum()) for side in outputs[:: event.sign])
    epsilon = float(log_ratio_bound(likelier, other, (runs, runs), alpha)) - ROUNDING
    return Bound(
        method="statistical",
        epsilon=max(0.0, epsilon),
        pair=pair.about,
        first=repr(pair.first),
        second=repr(pair.second),
        likelier="first" if event.sign > 0 else "second",
        event=event.about,
        chances=(
            float(least_chance(likelier, runs, alpha / 2)),
            float(most_chance(other, runs, alpha / 2)),
        ),
        confidence=confidence,
        samples=runs,
        tried=FINALISTS,
    )
