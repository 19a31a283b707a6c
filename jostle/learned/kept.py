"""Policies of labelled choices that are kept on this machine, and found again by the programs they were learned for.

They are kept as trained makers are: in a file that is called by the name of what was trained and a mark of its text. So
a program that has changed does not follow what was learned for another one; it takes the first alternatives again,
and the trace says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from jostle.errors import JostleError
from jostle.learned import keeper
from jostle.learned.policy import LearnedPolicy, read_with_facts, write_policies
from jostle.sites import Choice, Decision, Policy

__all__ = [
    "CHANGED",
    "UNUSABLE",
    "Kept",
    "KeptPolicies",
    "fitted_on",
    "keep_policies",
    "learned_for",
    "learning_anew",
    "nothing_learned",
    "place_of",
    "policies_for",
]

CHANGED = "the first alternative listed: the program has changed since its choices were learned"
"""Why, where what was learned is of another text."""
UNUSABLE = "the first alternative listed: what was learned cannot be used: "
"""How that begins, where what was learned cannot be read."""

_left_out: ContextVar[bool] = ContextVar("jostle_nothing_learned", default=False)


@frozen(eq=False)
class Kept:
    """A learned policy that says where it was learned, and gives way where the choice is another one by now."""

    policy: LearnedPolicy
    learned_on: str
    fitted_on: tuple[str, ...] = ()
    """The beginnings of the digests of the databases it was learned on."""

    def decide(self, choice: Choice) -> Decision:
        """The policy's decision."""
        if choice.among != self.policy.among or not set(self.policy.inputs) <= set(choice.seen):
            return First(CHANGED).decide(choice)
        decision = self.policy.decide(choice)
        return evolve(decision, why=f"learned on {self.learned_on}: {decision.why}")


@frozen(eq=False)
class First:
    """Takes the first alternative, since what was learned cannot be followed."""

    why: str

    def decide(self, choice: Choice) -> Decision:
        """The same decision for every site."""
        return Decision(choice.everywhere(choice.among[0]), self.why)


@frozen(eq=False)
class KeptPolicies(Mapping[str, Policy]):
    """What is known of a program's labels."""

    policies: Mapping[str, Policy] = field(factory=dict)
    path: Path | None = None
    """The file that it was read from; None where there is none that fits."""
    facts: Mapping[str, Any] = field(factory=dict)
    stale: bool = False
    """Whether only another text of the program was trained."""
    problem: str | None = None
    """Why a file that is there cannot be used: every label takes its first alternative then, and says so."""
    order: int = 0
    """When it was written: of two files with policies for one label, the later one counts."""

    @property
    def mark(self) -> str:
        """A mark of what was learned; nothing where nothing was."""
        return "" if self.path is None else f"{self.path.name} {self.order}"

    def __getitem__(self, label: str) -> Policy:
        return self.policies[label] if self.problem is None else First(f"{UNUSABLE}{self.problem}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.policies)

    def __len__(self) -> int:
        return len(self.policies)


NOTHING = KeptPolicies()


@contextmanager
def nothing_learned() -> Iterator[None]:
    """Let programs run as if nothing had been learned before: what is learned anew does not depend on it."""
    token = _left_out.set(True)
    try:
        yield
    finally:
        _left_out.reset(token)


def learning_anew() -> bool:
    """Whether programs run as if nothing had been learned."""
    return _left_out.get()


def learned_for(name: str, mark: str, program: str) -> Mapping[str, Policy]:
    """What was learned for an Option of a program, by label: nothing while it is learned anew (see `policies_for`)."""
    return {} if learning_anew() else policies_for(name, mark, program)


def fitted_on(policies: Mapping[str, Policy | None]) -> tuple[str, ...]:
    """Beginnings of the digests of the databases that policies were learned on, as far as these are kept ones."""
    kept = (policy for policy in policies.values() if isinstance(policy, Kept))
    return tuple(dict.fromkeys(digest for each in kept for digest in each.fitted_on))


def place_of(name: str, mark: str) -> Path:
    """The file that policies for this text are kept in."""
    return keeper.place_of("policies", name, mark)


def keep_policies(
    name: str,
    mark: str,
    program: str,
    policies: Mapping[str, LearnedPolicy],
    *,
    learned_on: str,
    facts: Mapping[str, Any],
    path: Path | None = None,
) -> Path:
    """Keep what was learned for a program, where it finds it or in another file, and return the file."""
    place = place_of(name, mark) if path is None else path
    programs = sorted({*_programs(place_of(name, mark)), program})
    held = {"name": name, "mark": mark, "programs": programs, "learned_on": learned_on, **facts}
    fix = "make room, or name another folder in JOSTLE_HOME" if path is None else "make room, or name another file"
    about = f"the choices of {name}, learned on {learned_on}"
    write_policies(place, policies, about=about, facts=held, fix=fix)
    return place


def policies_for(name: str, mark: str, program: str) -> KeptPolicies:
    """The policies learned for a program, found as they are kept."""
    path = place_of(name, mark)
    try:
        state = path.stat()
    except OSError:
        return _stale(name, program, path.parent, _listed(path.parent))
    return _read(path, state.st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: Path, order: int = 0) -> KeptPolicies:
    """The policies in a file; one that cannot be read is as good as none, but says so."""
    try:
        policies, facts = read_with_facts(path)
    except JostleError as mistake:
        return KeptPolicies(problem=mistake.title)
    learned_on = str(facts.get("learned_on", "public databases"))
    digests = facts.get("fitted_on", [])
    fitted = tuple(map(str, digests)) if isinstance(digests, list) else ()
    known = {label: Kept(policy, learned_on, fitted) for label, policy in policies.items()}
    return KeptPolicies(known, path, facts, order=order)


def _listed(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(each.name for each in folder.iterdir()))
    except OSError:
        return ()


@lru_cache(maxsize=256)
def _stale(name: str, program: str, folder: Path, listed: tuple[str, ...]) -> KeptPolicies:
    """Policies that take the first alternatives, if another text of this program was trained."""
    labels: set[str] = set()
    for each in listed:
        if not each.startswith(f"{keeper.file_name(name)}-") or not each.endswith(".json"):
            continue
        kept = _read(folder / each)
        if program in _programs_in(kept) and kept.facts.get("name") == name:
            labels.update(kept.policies)
    return KeptPolicies(dict.fromkeys(sorted(labels), First(CHANGED)), stale=True) if labels else NOTHING


def _programs(path: Path) -> tuple[str, ...]:
    """The files with this text that were trained before."""
    return _programs_in(_read(path, path.stat().st_mtime_ns)) if path.exists() else ()


def _programs_in(known: KeptPolicies) -> tuple[str, ...]:
    listed = known.facts.get("programs")
    return tuple(map(str, listed)) if isinstance(listed, list) else ()
