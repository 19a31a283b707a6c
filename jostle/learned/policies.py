"""Policies of labelled choices: their forests, what is kept of them, and how they are found again.

Regression forests with several outputs are fitted with scikit-learn, and read and asked with numpy alone: shipped
makers hold them as JSON, and a newcomer's first choice does not wait for scikit-learn to be imported.

Policies are kept as trained makers are: in a file that is called by the name of what was trained and a mark of its
text. So a program that has changed does not follow what was learned for another one; it takes the first alternatives
again, and the trace says why.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import ArrayLike, NDArray

from jostle.errors import ChoiceError, JostleError
from jostle.files.kinds import FileKind
from jostle.learned import files
from jostle.learned.files import shipped_folder, shortened, write_whole
from jostle.sites import Choice, Decision, Policy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LEAF = -1
LARGEST = 1e9
"""Of what leaves say: logarithms of losses, or losses in units of their mean."""
DIGITS = 4
"""Significant digits of what a file holds: losses are known to fewer."""


def _integers(values: ArrayLike) -> Integers:
    return np.asarray(values, dtype=np.int64)


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


@frozen(eq=False, repr=False)
class Forest:
    """Trees one after the other in common arrays, a row per node.

    >>> stump = Forest([0], [0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [[1.0], [3.0]], inputs=1)
    >>> stump.predict([[0.2], [0.9]])[0].tolist()
    [[1.0], [3.0]]
    """

    roots: Integers = field(converter=_integers)
    feature: Integers = field(converter=_integers)
    """What a node looks at; LEAF at a leaf."""
    threshold: Floats = field(converter=_floats)
    """Up to it, rows go left."""
    left: Integers = field(converter=_integers)
    right: Integers = field(converter=_integers)
    values: Floats = field(converter=_floats)
    """What leaves say, in the order of their nodes, a column per output."""
    inputs: int = field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Refuse arrays that are no trees, so that a damaged file is not walked through."""
        count = len(self.feature)
        inner = self.feature != LEAF
        flat = (self.roots, self.feature, self.threshold, self.left, self.right)
        if not len(self.roots) or any(part.ndim != 1 for part in flat) or any(len(part) != count for part in flat[2:]):
            raise ChoiceError("a forest's arrays differ in length")
        if self.values.ndim != 2 or not (np.abs(self.values) <= LARGEST).all():
            raise ChoiceError("a forest's leaves do not hold numbers")
        if len(self.values) != count - np.count_nonzero(inner):
            raise ChoiceError("a forest has not as many values as leaves")
        nodes = np.arange(count)[inner]
        below = np.concatenate([self.left[inner] - nodes, self.right[inner] - nodes, np.ones(1, dtype=np.int64)])
        ends = np.concatenate([self.left[inner], self.right[inner], self.roots])
        # Children come after their parents, so no walk goes round in circles.
        if below.min() < 1 or ends.min() < 0 or ends.max() >= count:
            raise ChoiceError("a forest's nodes do not form trees")
        if (self.feature < LEAF).any() or (self.feature >= self.inputs).any():
            raise ChoiceError("a forest looks at inputs that it does not have")

    @property
    def outputs(self) -> int:
        """How many numbers a prediction has."""
        return int(self.values.shape[1])

    def predict(self, inputs: ArrayLike) -> tuple[Floats, Floats]:
        """For each row and output the trees' mean, and the standard deviation of their answers."""
        rows = np.asarray(inputs, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.inputs:
            raise ChoiceError(f"a forest of {self.inputs} inputs is asked about rows of shape {rows.shape}")
        node = np.tile(self.roots, (len(rows), 1))
        place = np.arange(len(rows))[:, None]
        while (inner := self.feature[node] != LEAF).any():
            looked_at = rows[place, np.where(inner, self.feature[node], 0)]
            below = np.where(looked_at <= self.threshold[node], self.left[node], self.right[node])
            node = np.where(inner, below, node)
        leaf = np.cumsum(self.feature == LEAF) - 1
        answers = self.values[leaf[node]]
        return answers.mean(axis=1), answers.std(axis=1)

    def facts(self) -> dict[str, Any]:
        """The facts that a file of JSON holds of the forest."""
        return {
            "inputs": self.inputs,
            "roots": self.roots.tolist(),
            "feature": self.feature.tolist(),
            "threshold": shortened(self.threshold.tolist(), DIGITS),
            "left": self.left.tolist(),
            "right": self.right.tolist(),
            "values": shortened(self.values.tolist(), DIGITS),
        }

    def __repr__(self) -> str:
        return f"<Forest of {len(self.roots)} trees, {len(self.feature):,} nodes>"


def fit_forest(
    inputs: ArrayLike,
    outputs: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    trees: int = 40,
    least_rows: int = 5,
    most_leaves: int | None = 64,
    inputs_tried: float = 0.5,
    seed: int = 0,
) -> Forest:
    """A forest fitted to rows of inputs and outputs; the same for the same arguments."""
    from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 - a second's import, for training only

    rows, wanted = np.asarray(inputs, dtype=np.float64), np.asarray(outputs, dtype=np.float64)
    if rows.ndim != 2 or wanted.ndim != 2 or len(rows) != len(wanted) or not len(rows):
        raise ChoiceError(f"a forest is not fitted to {len(rows)} rows of inputs and {len(wanted)} of outputs")
    fitted = RandomForestRegressor(
        n_estimators=trees,
        min_samples_leaf=least_rows,
        max_leaf_nodes=most_leaves,
        max_features=inputs_tried,
        random_state=seed,
        n_jobs=1,
    ).fit(rows, wanted if wanted.shape[1] > 1 else wanted[:, 0], sample_weight=weights)
    return _joined([_numbered(each.tree_) for each in fitted.estimators_], rows.shape[1])


Arrays = tuple[Integers, Floats, Integers, Integers, Floats]


def _numbered(tree: Any) -> Arrays:
    """A scikit-learn tree's arrays, numbered so that children come after their parents."""
    inner = tree.children_left >= 0
    order = [0]
    for node in order:  # grows as it is gone through: breadth first
        if inner[node]:
            order.extend([int(tree.children_left[node]), int(tree.children_right[node])])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    kept = inner[order]
    return (
        np.where(kept, tree.feature[order], LEAF),
        np.where(kept, tree.threshold[order], 0.0),
        np.where(kept, number[tree.children_left[order]], 0),
        np.where(kept, number[tree.children_right[order]], 0),
        tree.value[order, :, 0][~kept],
    )


def _joined(trees: list[Arrays], inputs: int) -> Forest:
    sizes = [len(tree[0]) for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    feature, threshold, left, right, values = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    shift = np.where(feature == LEAF, 0, np.repeat(roots, sizes))
    return Forest(roots, feature, threshold, left + shift, right + shift, values, inputs=inputs)


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
        for index, name in enumerate(self.inputs):
            rows[:, index] = choice.seen[name]
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
    listed = file.made(tuple[LearnedPolicy, ...], held.pop("policies", None))
    return {policy.label: policy for policy in listed}, held


def mark_of(policies: Mapping[str, Policy | None]) -> str:
    """A mark of what some learned policies say; nothing of others, which are a program's own."""
    learned = [getattr(policies[label], "policy", policies[label]) for label in sorted(policies)]
    marks = [_mark(each) for each in learned if isinstance(each, LearnedPolicy)]
    return hashlib.sha256(" ".join(marks).encode()).hexdigest()[:16] if marks else ""


@lru_cache(maxsize=256)
def _mark(policy: LearnedPolicy) -> str:
    return hashlib.sha256(json.dumps(policy.facts(), sort_keys=True).encode()).hexdigest()


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
    return files.place_of("policies", name, mark)


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
        return tuple(sorted(path.name for path in folder.iterdir()))
    except OSError:
        return ()


@lru_cache(maxsize=256)
def _stale(name: str, program: str, folder: Path, listed: tuple[str, ...]) -> KeptPolicies:
    """Policies that take the first alternatives, if another text of this program was trained."""
    labels: set[str] = set()
    for each in listed:
        if not each.startswith(f"{files.file_name(name)}-") or not each.endswith(".json"):
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
