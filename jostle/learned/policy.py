"""Learned policies: what each alternative of a choice is expected to end in, and the least of it taken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import ChoiceError
from jostle.files.kinds import FileKind
from jostle.learned.forest import Forest
from jostle.learned.keeper import write_whole
from jostle.learned.places import shipped_folder
from jostle.sites import Choice, Decision, Policy

__all__ = ["POLICIES", "LearnedPolicy", "mark_of", "read_policies", "read_with_facts", "write_policies"]

Floats = NDArray[np.float64]
VERSION = 1
POLICIES = FileKind("file of policies", ChoiceError, "learn them anew", version=VERSION)
SHIPPED: Mapping[str, str] = {"JostledTree": "jostled_tree.json"}
"""The files of policies that come with Jostle, by the names of the programs that make the choices."""
MOST_CAUTION = 1e9


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _forests(values: Iterable[Forest]) -> tuple[Forest, ...]:
    return tuple(values)


@frozen(eq=False, kw_only=True)
class LearnedPolicy:
    """Takes the alternative of the least expected loss; of equal ones, the first listed.

    Losses are relative: 1 is the mean over what was tried in the same situation. With some *caution*, the alternative
    that was the best on the whole is the usual one, and another has to be better by so many spreads to be taken: what
    is expected is known roughly, and the least of several rough numbers is often the luckiest, not the best.
    """

    label: str
    among: tuple[str, ...] = field(converter=_names)
    inputs: tuple[str, ...] = field(converter=_names)
    """What it looks at, by name; what else a choice sees is ignored."""
    forests: tuple[Forest, ...] = field(converter=_forests)
    """One for each alternative, with a single output."""
    usual: str
    """What ended best on the whole."""
    caution: float = 0.0
    fixed: bool = False
    """Whether the usual alternative is taken everywhere, since nothing learned did better."""

    def __attrs_post_init__(self) -> None:
        """Refuse forests that do not fit the alternatives and inputs."""
        fit = all(forest.inputs == len(self.inputs) and forest.outputs == 1 for forest in self.forests)
        if len(self.forests) != len(self.among) or not fit:
            raise ChoiceError(f"the policy of {self.label} does not have a forest for each of its alternatives")
        if self.usual not in self.among:
            raise ChoiceError(f"the usual alternative of {self.label} is none of its alternatives")
        if not 0 <= self.caution <= MOST_CAUTION:
            raise ChoiceError(f"the caution of {self.label} is no number of spreads")

    def decide(self, choice: Choice) -> Decision:
        """The alternative expected to end best, site by site."""
        if choice.among != self.among:
            raise ChoiceError(
                f"the policy of {self.label} was learned among {', '.join(self.among)}, "
                f"and is asked to choose among {', '.join(choice.among)}",
                fix="learn it anew",
            )
        missing = [name for name in self.inputs if name not in choice.seen]
        if missing:
            raise ChoiceError(f"the policy of {self.label} looks at {missing[0]!r}, which the choice does not see")
        rows = np.zeros((choice.count, len(self.inputs)))
        for place, name in enumerate(self.inputs):
            rows[:, place] = choice.seen[name]
        # Many sites see the same: they are predicted once.
        distinct, back = np.unique(rows, axis=0, return_inverse=True)
        predicted = [forest.predict(distinct) for forest in self.forests]
        losses, spreads = (np.concatenate(parts, axis=1)[back.ravel()] for parts in zip(*predicted, strict=True))
        if self.fixed:
            why = f"{self.usual} everywhere: nothing learned did better"
            return Decision(choice.everywhere(self.usual), why, losses, spreads)
        unusual = np.arange(len(self.among)) != self.among.index(self.usual)
        why = "least expected loss" + (f", unless {self.usual} is nearly as good" if self.caution else "")
        return Decision(np.argmin(losses + self.caution * spreads * unusual, axis=1), why, losses, spreads)

    def facts(self) -> dict[str, Any]:
        """The facts that a file holds of the policy."""
        forests = [forest.facts() for forest in self.forests]
        facts = {"label": self.label, "among": list(self.among), "inputs": list(self.inputs), "forests": forests}
        return {**facts, "usual": self.usual, "caution": self.caution, "fixed": self.fixed}


@frozen(eq=False)
class PolicyList:
    """What a file holds of policies, beside what it says about them."""

    policies: tuple[LearnedPolicy, ...]


def write_policies(
    path: Path,
    policies: Mapping[str, LearnedPolicy],
    *,
    about: str,
    facts: Mapping[str, Any] | None = None,
    fix: str = "make room, or name another file",
) -> None:
    """Write policies, by label, to a file of JSON that says in words what they are; *facts* go with them."""
    listed = [policies[label].facts() for label in sorted(policies)]
    held = {"version": VERSION, "about": about, **(facts or {}), "policies": listed}
    write_whole(path, json.dumps(held, separators=(",", ":")) + "\n", "policies", fix=fix)


def read_policies(path: Path) -> dict[str, LearnedPolicy]:
    """The policies in a file, by label."""
    return read_with_facts(path)[0]


def shipped_policies(program: str) -> Mapping[str, LearnedPolicy]:
    """Policies that came with Jostle for the choices of a program, by label; none if there are none."""
    return _shipped(program)[0]


def shipped_fitted_on(program: str) -> tuple[str, ...]:
    """Beginnings of the digests of the databases that a program's policies, which came with Jostle, were learned on."""
    return tuple(map(str, _shipped(program)[1].get("fitted_on", ())))


@cache
def _shipped(program: str) -> tuple[Mapping[str, LearnedPolicy], Mapping[str, Any]]:
    file = SHIPPED.get(program)
    path = None if file is None else shipped_folder() / file
    return ({}, {}) if path is None or not path.exists() else read_with_facts(path)


def read_with_facts(path: Path) -> tuple[dict[str, LearnedPolicy], dict[str, Any]]:
    """The policies in a file, by label, and what else it says."""
    file = POLICIES.at(path)
    held = file.facts(file.text())
    listed = file.made(PolicyList, {"policies": held.pop("policies", None)})
    return {policy.label: policy for policy in listed.policies}, held


def mark_of(policies: Mapping[str, Policy | None]) -> str:
    """A mark of what some learned policies say; nothing of others, which are a program's own."""
    learned = [getattr(policies[label], "policy", policies[label]) for label in sorted(policies)]
    marks = [_mark(each) for each in learned if isinstance(each, LearnedPolicy)]
    return hashlib.sha256(" ".join(marks).encode()).hexdigest()[:16] if marks else ""


@lru_cache(maxsize=256)
def _mark(policy: LearnedPolicy) -> str:
    return hashlib.sha256(json.dumps(policy.facts(), sort_keys=True).encode()).hexdigest()
