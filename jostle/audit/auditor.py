"""Audit a mechanism by name: by enumeration if its distribution is known, by sampling if it can be run.

*By sampling.* Half of the runs choose what to measure: a quarter to learn orders of the outputs, a quarter to choose
pairs, directions and cuts (see `outputs`). The most promising few events are then measured on fresh runs, and only
these.

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

import math
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, Literal

from attrs import asdict, frozen

from jostle.audit.outputs import (
    Features,
    OutputEvent,
    best_events,
    learn_orders,
    least_chance,
    log_ratio_bound,
    most_chance,
)
from jostle.audit.subjects import (
    LEAST_CHANCE,
    RELATIVE_ERROR,
    Distribution,
    Fault,
    Outputs,
    Pair,
    Relation,
    Sampler,
    Subject,
    names,
    subject,
)
from jostle.errors import AuditError
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.noise import Noise
from jostle.progress import stage

Verdict = Literal["caught", "missed", "within its claim", "breaks its claim"]
"""The first two are for positive controls, the others for mechanisms believed to be private."""


@frozen(kw_only=True)
class Bound:
    """A lower bound on the privacy loss, and how it can be seen."""

    method: Literal["exact", "statistical"]
    epsilon: float
    """The mechanism loses at least this much; may be infinite if found by enumeration."""
    pair: str
    """What is particular about the two inputs."""
    first: str
    second: str
    """The inputs themselves. They are made up, so they may be shown."""
    likelier: Literal["first", "second"]
    """Under which of the two the event happens more often."""
    event: str
    """What to look for in the output."""
    chances: tuple[float, float]
    """The event's chance under the likelier input and under the other: exact, or at least and at most."""
    confidence: float = 1.0
    """The bound holds with at least this probability over the runs, whatever the mechanism."""
    samples: int = 0
    """Runs on each input that the bound was measured on, not counting those that chose the event."""
    tried: int = 1
    """How many events were measured; the confidence allows for all of them."""

    def as_data(self) -> dict[str, Any]:
        """Plain data, fit for JSON; an infinite bound is the word "infinite"."""
        epsilon = "infinite" if math.isinf(self.epsilon) else self.epsilon
        return asdict(self) | {"epsilon": epsilon}


@frozen(kw_only=True)
class Finding:
    """The result of one audit."""

    name: str
    about: str
    relation: Relation
    epsilon: Fraction
    """What the mechanism was run at."""
    claimed: Fraction
    """What it promises when run at that."""
    bounds: tuple[Bound, ...]
    """What was found, by each method that applies."""
    fault: Fault | None = None

    @property
    def bound(self) -> Bound:
        """The largest bound found."""
        return max(self.bounds, key=lambda bound: bound.epsilon)

    @property
    def exceeds(self) -> bool:
        """Whether the mechanism was seen to lose more than it claims."""
        return self.bound.epsilon > self.claimed

    @property
    def verdict(self) -> Verdict:
        """The judgement in words."""
        if self.fault is not None:
            return "caught" if self.exceeds else "missed"
        return "breaks its claim" if self.exceeds else "within its claim"

    @property
    def as_expected(self) -> bool:
        """Whether a control was caught, or any other mechanism kept its claim."""
        return self.exceeds == (self.fault is not None)

    def found(self, method: Literal["exact", "statistical"]) -> Bound | None:
        """The bound found this way, if it was tried."""
        return next((bound for bound in self.bounds if bound.method == method), None)

    def as_data(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "name": self.name,
            "about": self.about,
            "relation": self.relation,
            "epsilon": show_amount(self.epsilon),
            "claimed": show_amount(self.claimed),
            "verdict": self.verdict,
            "as_expected": self.as_expected,
            "control": self.fault is not None,
            "fault": self.fault.how if self.fault else None,
            "reference": self.fault.reference if self.fault else None,
            "bounds": [bound.as_data() for bound in self.bounds],
        }


def show_epsilon(epsilon: float) -> str:
    """The bound for people, rounded down so that it stays one, but for a slack of 1e-9 kept for rounding.

    >>> show_epsilon(1.23456), show_epsilon(1 - 2e-10), show_epsilon(math.inf)
    ('1.234', '1.000', 'infinite')
    """
    return "infinite" if math.isinf(epsilon) else f"{math.floor((epsilon + 1e-9) * 1000) / 1000:.3f}"


def show_event(event: tuple[Hashable, ...]) -> str:
    """An event for people: a label, then the values of the parts.

    >>> show_event(((0, 1),)), show_event(((), 3, "anything")), show_event((2, 3))
    ('output (0, 1)', 'output 3, anything', 'output 2, 3')
    """
    values = event[1:] if event[0] == () and len(event) > 1 else event
    return f"output {', '.join(value if isinstance(value, str) else repr(value) for value in values)}"


ANYTHING = "anything"


@frozen
class Loss:
    """How much likelier some event is under one distribution than under another.

    For pure differential privacy the worst event is a single output, so looking at each is enough. What is reported
    is a lower bound that holds in spite of rounding and of noise cut short: with p and q the table's entries, a the
    relative error and m the mass missing from the second table, the true ratio is at least p(1-a) / (q(1+a) + m). The
    loss is infinite when an output stands in one table and not in the other, and nothing is missing from the other.

    Parts that are independent given a label are worst together where each is worst alone, so their losses add up; a
    part on which the second input is never less likely adds 0, as the event "whatever it is" does.
    """

    epsilon: float
    """Lower bound on ln of the ratio; infinite if the event never happens under the second."""
    event: tuple[Hashable, ...]
    """The label, and the value of each part."""
    first_chance: float
    second_chance: float


def exact_loss(first: Distribution, second: Distribution) -> Loss:
    """The largest loss of *first* over *second*, one way only."""
    worst = Loss(0.0, (ANYTHING,), 1.0, 1.0)
    for label, chance in first.chances.items():
        epsilon, other = _log_ratio(chance, second.chances.get(label), second.missing)
        event: tuple[Hashable, ...] = (label,)
        for mine, theirs in zip(first.parts.get(label, ()), second.parts.get(label, ()), strict=False):
            part = exact_loss(mine, theirs)
            epsilon += part.epsilon
            chance *= part.first_chance  # noqa: PLW2901 - the chance of label and parts so far
            other *= part.second_chance
            event += part.event
        if epsilon > worst.epsilon:
            worst = Loss(epsilon, event, chance, other)
    return worst


def _log_ratio(chance: float, other: float | None, missing: float) -> tuple[float, float]:
    """A lower bound on ln of the ratio of the true chances, and the other chance for the report."""
    least = chance * (1 - RELATIVE_ERROR)
    if least <= LEAST_CHANCE:
        return -math.inf, other or 0.0
    if other is None and missing == 0:
        return math.inf, 0.0
    most = max(other or 0.0, 0.0 if other is None else LEAST_CHANCE) * (1 + RELATIVE_ERROR) + missing
    return math.log(least) - math.log(most), other if other is not None else missing


def privacy_loss(first: Distribution, second: Distribution) -> float:
    """The largest loss between two distributions, whichever way round.

    >>> fair, biased = Distribution({0: 0.5, 1: 0.5}), Distribution({0: 0.25, 1: 0.75})
    >>> round(privacy_loss(fair, biased), 6)
    0.693147
    """
    return max(exact_loss(first, second).epsilon, exact_loss(second, first).epsilon)


def exact_bound(subject: Subject[Any], epsilon: Fraction) -> Bound:
    """The largest loss over all pairs of the subject and both directions."""
    if subject.distribution is None:
        raise AuditError(f"{subject.name} has no exact distribution", fix="audit it by sampling")
    best: Bound | None = None
    for pair in subject.pairs:
        tables = subject.distribution(pair.first, epsilon), subject.distribution(pair.second, epsilon)
        sides: tuple[Literal["first", "second"], ...] = ("first", "second")
        for likelier, (high, low) in zip(sides, (tables, tables[::-1]), strict=True):
            loss = exact_loss(high, low)
            if best is None or loss.epsilon > best.epsilon:
                best = Bound(
                    method="exact",
                    epsilon=loss.epsilon,
                    pair=pair.about,
                    first=repr(pair.first),
                    second=repr(pair.second),
                    likelier=likelier,
                    event=show_event(loss.event),
                    chances=(loss.first_chance, loss.second_chance),
                )
    if best is None:
        raise AuditError(f"{subject.name} has no pairs to be audited on", fix="give it at least one pair")
    return best


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
        for index, pair in enumerate(pairs):
            said.at(index, len(pairs) + FINALISTS)
            outputs = _run(subject, pair, epsilon, samples // 2, noise)
            candidates += [_Candidate(index, pair, event) for event in _promising(outputs, subject.features, alpha)]
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
