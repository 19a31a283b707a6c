"""The functions that every program knows and that ask a probe: noisy counts, and noisy picks."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from jostle.lang.arithmetic import fraction, kind_of, plain_number
from jostle.lang.frames import Frame
from jostle.lang.listing import items
from jostle.lang.splits import any_of, best_of
from jostle.lang.stops import Stop
from jostle.lang.values import Private, PrivateNumber, SplitScoreOf, TableValue, common, numbered
from jostle.privacy.expressions import one_rule
from jostle.privacy.picks import PickLargest

__all__ = ["noisy_count", "noisy_max"]


def _epsilon(frame: Frame, given: Any) -> Fraction:
    if given is None:
        return frame.budget()
    return given if type(given) is Fraction else fraction(given, "epsilon")


def noisy_count(frame: Frame, site: str, table: Any, epsilon: Any = None) -> Any:
    """How many rows a table has, or a private number, noised."""
    budget = epsilon if type(epsilon) is Fraction else _epsilon(frame, epsilon)
    if isinstance(table, TableValue):
        found = table.probe.count(budget, site=site).value
        table.bought_rows = (found, budget)
        return frame.program.bought(site, found)
    table = numbered(table)
    if isinstance(table, PrivateNumber):
        if table.groups:
            raise Stop("J504", "`noisyCount` of several groups", "it gives one number", "{{ ... }} gives all of them")
        number = table.table.probe.release(table.expression, budget, site=site)
        return frame.program.bought(site, plain_number(Fraction(number)))
    raise Stop("J501", f"`noisyCount` is given {kind_of(table)}", "it counts rows", "noisyCount(db, epsilon / 2)")


def noisy_max(frame: Frame, site: str, domain: Any, utilities: Any, epsilon: Any = None) -> Any:
    """The item of a domain whose utility is the largest, nearly."""
    candidates = list(items(domain, "the domain of `noisyMax`"))
    if isinstance(utilities, dict):
        scores = [
            utilities[candidate]
            for candidate in candidates
            if isinstance(candidate, Hashable) and candidate in utilities
        ]
    else:
        scores = list(items(utilities))
    if not candidates or len(candidates) != len(scores):
        raise Stop(
            "J508",
            "`noisyMax` has not one utility for each item",
            f"there are {len(candidates)} items and {len(scores)} utilities",
            "U = [maxScore(a, clss, D) for a in atts]",
        )
    if all(isinstance(score, SplitScoreOf) for score in scores):
        return frame.program.bought(site, candidates[_pick_split(frame, site, scores, epsilon)])
    scores = [numbered(score) for score in scores]
    if all(isinstance(score, PrivateNumber) for score in scores):
        table, expressions = common(scores)
        picked = table.probe.perform(PickLargest(tuple(expressions)), _epsilon(frame, epsilon), site=site)
        return frame.program.bought(site, candidates[int(picked)])
    if any(isinstance(score, Private) for score in scores):
        raise Stop(
            "J504", "`noisyMax` over utilities of different kinds", "they are not compared", "use one of them for all"
        )
    raise Stop("J213", "`noisyMax` over public values", "nothing in them needs noise", "argmax(...)")


def _pick_split(frame: Frame, site: str, scores: list[SplitScoreOf], epsilon: Any) -> int:
    first = scores[0]
    table, kind, label = first.table, first.kind, first.label
    if any(score.table is not table or score.kind != kind or score.label != label for score in scores):
        raise Stop(
            "J504", "`noisyMax` over scores of different kinds", "they are not compared", "one score, for one table"
        )
    if kind == "random":
        return any_of(table.probe, len(scores))
    schema = table.schema
    budget = _epsilon(frame, epsilon)
    names, attributes = [score.attribute for score in scores], schema.attributes
    if kind == "maxScore" and (label != schema.label or len(set(names)) < len(names)):
        rules = PickLargest(tuple(one_rule(name, label) for name in names))
        return int(table.probe.perform(rules, budget, site=site))
    if label != schema.label or any(name not in attributes for name in names):
        raise Stop(
            "J504",
            f"`{kind}` looks at `{label}`",
            f"{kind} is for the label of the table, and its attributes",
            "maxScore is for any two columns",
        )
    return best_of(table.probe, kind, names, budget, table.bought_rows, site)
