"""Trained makers: what was learned, as one small file, and what it says of a database."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import asdict, evolve, field, frozen

from jostle.choice.learning.cases import Cases, Failed
from jostle.choice.learning.formulas import plain
from jostle.choice.learning.learners import LEARNERS, Fitted, Learner, Predict, from_facts, log_regret, losses_of
from jostle.choice.learning.regret import Figures, fit_regret_tree, in_words, path_of, single_best, with_lead
from jostle.choice.makers.training import (
    DRAWS,
    SHARES,
    Judged,
    best_way,
    fit_way,
    judge_all,
    nested,
)
from jostle.corpora.corpus import BEGINNING
from jostle.errors import ChoiceError, DamageError
from jostle.files.kinds import FileKind
from jostle.files.structure import structured
from jostle.learned.files import write_whole
from jostle.learned.policies import LEAF, Forest
from jostle.options.base import Option
from jostle.tables.schema import Schema
from jostle.tasks.metafeature import Metafeature, named

VERSION = 1
MAKER = FileKind("maker", ChoiceError, "jostle train makes it anew", version=VERSION)
EXPLAINED = 8
"""Leaves of the tree that reasons are told by."""


def _pairs(given: Sequence[Sequence[Any]]) -> tuple[tuple[str, Any], ...]:
    return tuple((str(name), version) for name, version in given)


def _spans(given: Sequence[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    return tuple((float(low), float(high)) for low, high in given)


def _texts(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(str, given))


@frozen
class Prediction:
    """What is expected of each Option on one database."""

    losses: tuple[float, ...]
    spreads: tuple[float, ...]
    order: tuple[int, ...]
    """The Options, the one to run first, the others by what is expected of them."""
    held: bool = False
    """Whether the Option that is best on average goes first since no other is far enough ahead of it."""


@frozen(eq=False, kw_only=True)
class Trained:
    """What a maker learned: among which Options, from what it looks at, and how well that does."""

    task: str
    """The name of the task."""
    options: tuple[tuple[str, int], ...] = field(converter=_pairs)
    """Names and versions."""
    metafeatures: tuple[tuple[str, str], ...] = field(converter=_pairs)
    """Names and versions of those that are looked at."""
    share: Fraction
    """Of the budget, for metafeatures."""
    lead: float
    """How far ahead of the single best Option, in log loss, another one has to be expected to be chosen instead."""
    fitted: Fitted
    reasons: Forest
    """A small tree that mostly chooses as the learner does, to tell why."""
    single: int
    """Which Option was best on average in training: what choosing is measured against."""
    digests: tuple[str, ...] = field(converter=_texts)
    """The beginnings of the digests of the databases it learned from, so that it is not judged on these."""
    usual: tuple[tuple[float, float], ...] = field(converter=_spans)
    """Of each metafeature, below what it counts as small, and above what as large: a third of the cases each."""
    learner: str
    rehearsals: int
    databases: int
    groups: int
    figures: Figures
    """On databases left out of training."""
    judge: str | None = None
    """By which of the task's judges it learned; None for its own, or for a programmer's."""
    failures: tuple[Failed, ...] = ()
    """Of Options that failed in rehearsals."""
    declared: Trained | None = None
    """What it learned for tables whose schema declares the number of rows, if it was rehearsed on such."""

    def __attrs_post_init__(self) -> None:
        """Refuse parts that are not about the same Options and metafeatures."""
        options, inputs = len(self.options), len(self.metafeatures)
        self.fitted.check(options, inputs)
        if self.reasons.inputs != inputs or self.reasons.outputs < options or len(self.usual) != inputs:
            raise ChoiceError("the maker's reasons are not about what it looks at")
        if not (0 <= self.share < 1 and self.lead >= 0 and 0 <= self.single < options):
            raise ChoiceError("the maker's share, lead or single best Option is out of range")

    def for_schema(self, schema: Schema) -> Trained:
        """Its trained state for tables of this kind."""
        return self if schema.rows is None or self.declared is None else self.declared

    def predict(self, seen: Sequence[float]) -> Prediction:
        """The losses expected where this is seen."""
        row = np.asarray(seen, dtype=np.float64)[None, :]
        mean, spread = self.fitted.predict(row)
        losses = self.fitted.best_loss(row)[0] * losses_of(mean[0] - mean[0].min())
        best = int(with_lead(mean, np.array([self.single]), self.lead)[0])
        order = np.argsort(mean[0], kind="stable")
        held = best != order[0]
        order = np.concatenate([[best], order[order != best]])
        return Prediction(tuple(losses.tolist()), tuple((losses * spread[0]).tolist()), tuple(order.tolist()), held)

    def why(
        self, seen: Sequence[float], metafeatures: Sequence[Metafeature], chosen: int, prediction: Prediction
    ) -> str:
        """The reason for a choice, in words."""
        if not len(metafeatures) or self.learner == "single best":
            return "nothing that can be looked at beats the Option that is best on average"
        if prediction.held and chosen == self.single:
            return f"best on average, and no other is expected to be {self.lead:.0%} ahead of it"
        row = np.asarray(seen, dtype=np.float64)
        leaf, _ = self.reasons.predict(row[None, :])
        options = len(self.options)
        phrases: dict[str, None] = {}
        for place in dict.fromkeys(place for place, _, _ in path_of(self.reasons, row)):
            low, high = self.usual[place]
            if not low < row[place] < high:
                phrases[metafeatures[place].low if row[place] <= low else metafeatures[place].high] = None
        said = _listed(list(phrases)) or "nothing about it is unusual"
        if int(np.argmin(leaf[0, :options])) == chosen:
            return said
        return f"{said}; of databases like that, it did best on those most like this one"

    def rules(self) -> str:
        """Which Option is mostly run where, as a list of rules, and as text for the Options' classes in a program.

        It is read off the small tree that reasons are told by; branches that end in one Option are one.
        """
        named, names = [name for name, _ in self.options], [name for name, _ in self.metafeatures]
        tree = _Branch.of(self.reasons, len(named))
        lines = ["# What it mostly runs, the first that holds:"]
        lines += [f"#   {named[option]}{_where(conditions, names)}" for conditions, option in tree.ends()]
        for option in dict.fromkeys(option for _, option in tree.ends()):
            lines += ["", f"# In the class of {named[option]}:", "    def predict(F):"]
            lines += [f"        return {tree.text(option, names)}"]
        return "\n".join(lines)

    @property
    def summary(self) -> str:
        """One line on where this was learned, and how well it does."""
        found = self.figures
        best = self.options[self.single][0]
        learned = f"learned from {self.rehearsals:,} rehearsals on {self.databases} public databases"
        if self.learner == "single best":
            return f"{learned}; nothing beats running {best} always"
        return f"{learned}; on databases left out: {in_words(found, best)}"

    def check(self, options: Sequence[Option], metafeatures: Sequence[Metafeature]) -> tuple[Metafeature, ...]:
        """Refuse other Options than it was trained among, or other versions; return the metafeatures it looks at."""
        here = tuple((option.name, option.version) for option in options)
        if here != self.options:
            known, given = dict(self.options), dict(here)
            changed = [name for name in given if name in known and known[name] != given[name]]
            new = [name for name in given if name not in known]
            gone = [name for name in known if name not in given]
            said = [
                *(f"{name} has changed since" for name in changed),
                *(f"{name} is new" for name in new),
                *(f"{name} is not offered" for name in gone),
            ]
            raise ChoiceError(
                "the maker was trained among other Options: " + ("; ".join(said) or "in another order"),
                why="what it learned is about those it was trained among",
                fix="jostle train makes it anew; what was rehearsed already is not run again",
            )
        offered = named(metafeatures)
        for name, version in self.metafeatures:
            if name not in offered or offered[name].version != version:
                raise ChoiceError(
                    f"the maker looks at {name}, which is not offered, or has changed since",
                    why="what it learned is about the metafeature as it was",
                    fix="jostle train makes it anew; what was rehearsed already is not run again",
                )
        return tuple(offered[name] for name, _ in self.metafeatures)

    def to_json(self) -> str:
        """The maker as JSON."""
        return json.dumps({"version": VERSION, **self.facts()}, separators=(",", ":"))

    def facts(self) -> dict[str, Any]:
        """The facts that a file of JSON holds of it."""
        return {
            "task": self.task,
            **({} if self.judge is None else {"judge": self.judge}),
            "options": self.options,
            "metafeatures": self.metafeatures,
            "share": str(self.share),
            "lead": self.lead,
            "learner": self.learner,
            "rehearsals": self.rehearsals,
            "databases": self.databases,
            "groups": self.groups,
            "figures": {
                name: round(value, 4) if math.isfinite(value) else None for name, value in asdict(self.figures).items()
            },
            "single": self.single,
            **({"failures": [asdict(failure) for failure in self.failures]} if self.failures else {}),
            "digests": self.digests,
            "reasons": self.reasons.facts(),
            "usual": [[float(f"{each:.4g}") for each in pair] for pair in self.usual],
            "kind": self.fitted.kind,
            "fitted": self.fitted.facts(),
            "declared": None if self.declared is None else self.declared.facts(),
        }

    @classmethod
    def from_json(cls, text: str, priors: tuple[Predict | None, ...] = ()) -> Trained:
        """The maker that a text of JSON holds."""
        return _made(MAKER, text, priors)

    def save(self, path: str | Path) -> None:
        """Write the maker to a file."""
        write_whole(Path(path), self.to_json() + "\n", "maker")

    @classmethod
    def read(cls, path: str | Path, priors: tuple[Predict | None, ...] = ()) -> Trained:
        """The maker in a file."""
        file = MAKER.at(path)
        return _made(file, file.text(), priors)

    @property
    def mark(self) -> int:
        """A number that changes with what was learned."""
        return int.from_bytes(hashlib.blake2b(self.to_json().encode(), digest_size=4).digest(), "big")


@frozen(eq=False, kw_only=True)
class TrainedFacts:
    """What a file holds of a maker."""

    task: str
    options: tuple[tuple[str, int], ...]
    metafeatures: tuple[tuple[str, str], ...]
    share: Fraction
    lead: float
    learner: str
    rehearsals: int
    databases: int
    groups: int
    figures: Mapping[str, int | float | None]
    single: int
    digests: tuple[str, ...]
    reasons: Forest
    usual: tuple[tuple[float, float], ...]
    kind: str
    fitted: Mapping[str, Any]
    judge: str | None = None
    failures: tuple[Failed, ...] = ()
    declared: TrainedFacts | None = None


def trained_on(cases: Cases, options: Sequence[Option], tried: Sequence[Judged]) -> Trained:
    """The best of the ways that were tried, learned from all cases."""
    chosen_so = nested(cases, tried)
    real = ~cases.artificial
    judged = chosen_so.figures(cases, real if real.any() else None)
    # Choosing costs budget: where it is not clearly better than no choice, judged in its turn, there is none.
    gain, doubt = chosen_so.gain(tried[0], cases)
    helps = gain > doubt and not judged.gap_closed <= 0
    way = best_way(cases, tried if helps else tried[:1]).way
    fitted = fit_way(cases, way)
    inputs = cases.inputs(way.metafeatures, way.share, draws=DRAWS if way.share else 1, seed=1)
    rows = np.concatenate(inputs)
    mean, _ = fitted.predict(rows)
    everything = cases.weights(np.ones(len(cases), dtype=np.bool_))
    _, lowest = log_regret(np.tile(cases.spent(way.share, way.metafeatures), (len(inputs), 1)), cases.floor)
    # Fitted to what the learner chooses, not to the losses: reasons are to tell of its choice.
    chosen = np.ones_like(mean)
    single = single_best(cases.spent(Fraction(0)), everything, cases.floor)
    chosen[np.arange(len(mean)), with_lead(mean, np.full(len(mean), single), way.lead)] = 0
    reasons = fit_regret_tree(
        rows, chosen, lowest, np.ones(len(rows)), most_leaves=EXPLAINED if rows.shape[1] else 1, least_share=0.02
    )
    return Trained(
        task=cases.task.name,
        judge=cases.judge,
        options=[(option.name, option.version) for option in options],
        metafeatures=[(metafeature.name, metafeature.version) for metafeature in way.metafeatures],
        share=way.share,
        lead=way.lead,
        fitted=fitted,
        reasons=reasons,
        single=single,
        digests=sorted({instance.database[:BEGINNING] for instance in cases.instances}),
        usual=np.quantile(rows, (1 / 3, 2 / 3), axis=0).T.tolist(),
        learner=way.learner.name,
        rehearsals=int(np.count_nonzero(~np.isnan(cases.losses))),
        databases=len(set(cases.databases.tolist())),
        groups=len(set(cases.groups.tolist())),
        figures=judged if helps else tried[0].figures(cases, real if real.any() else None),
        failures=cases.failures,
    )


def _made(file: FileKind, text: str, priors: tuple[Predict | None, ...]) -> Trained:
    held = file.made(TrainedFacts, file.facts(text))
    try:
        return _trained(held, priors)
    except (ChoiceError, DamageError) as damage:
        raise file.damaged(f"is damaged: {damage.title if isinstance(damage, ChoiceError) else damage}") from None


def _trained(held: TrainedFacts, priors: tuple[Predict | None, ...]) -> Trained:
    names = tuple(name for name, _ in held.metafeatures)
    return Trained(
        task=held.task,
        judge=held.judge,
        options=held.options,
        metafeatures=held.metafeatures,
        share=held.share,
        lead=held.lead,
        fitted=from_facts(held.kind, held.fitted, names, priors),
        reasons=held.reasons,
        single=held.single,
        digests=held.digests,
        usual=held.usual,
        learner=held.learner,
        rehearsals=held.rehearsals,
        databases=held.databases,
        groups=held.groups,
        figures=structured(
            {name: math.nan if value is None else value for name, value in held.figures.items()}, Figures
        ),
        failures=held.failures,
        declared=None if held.declared is None else _trained(held.declared, priors),
    )


def learn(
    cases: Cases,
    options: Sequence[Option],
    metafeatures: Sequence[Metafeature],
    *,
    shares: Sequence[Fraction] = SHARES,
    learners: Sequence[Learner] = LEARNERS,
) -> Trained:
    """A trained maker; for tables that declare their number of rows, from what was rehearsed on such."""

    def learned(kept: Cases, tried_shares: Sequence[Fraction]) -> Trained:
        tried = judge_all(kept, metafeatures, shares=tried_shares, learners=learners)
        return trained_on(kept, options, tried)

    declared = cases.only(lambda instance: instance.sketch.declared)
    others = cases.only(lambda instance: not instance.sketch.declared)
    if not len(declared) or not len(others):
        return learned(cases, shares)
    found = learned(others, shares)
    return evolve(found, declared=learned(declared, shares[:1]))


Condition = tuple[int, float, bool]
"""A metafeature by its place, a threshold, and whether it is above that."""
BEST, OTHERS = 1, 2
"""What a rule predicts of the Option it takes, and of others, in units of the least loss."""


@frozen
class _Branch:
    """A node of a tree of reasons: the Option it ends in, or a question and two more nodes."""

    option: int = -1
    feature: int = -1
    threshold: float = 0.0
    below: tuple[_Branch, ...] = ()

    @classmethod
    def of(cls, tree: Forest, options: int, node: int = 0) -> _Branch:
        """The node of a tree, with what is below it; one Option all over is a single end."""
        feature = int(tree.feature[node])
        if feature == LEAF:
            leaf = np.count_nonzero(tree.feature[:node] == LEAF)
            return cls(int(np.argmin(tree.values[leaf, :options])))
        below = tuple(cls.of(tree, options, int(child[node])) for child in (tree.left, tree.right))
        low, high = below
        if low == high or (low.feature == feature and low.below[1] == high):
            return low
        if high.feature == feature and high.below[0] == low:
            return high
        return cls(-1, feature, float(f"{tree.threshold[node]:.3g}"), below)

    def ends(self, above: tuple[Condition, ...] = ()) -> Iterator[tuple[tuple[Condition, ...], int]]:
        """Yield the conditions of each end, and its Option."""
        if not self.below:
            yield above, self.option
        for index, branch in enumerate(self.below):
            yield from branch.ends((*above, (self.feature, self.threshold, bool(index))))

    def text(self, option: int, names: Sequence[str]) -> str:
        """What an Option's class predicts, as an expression."""
        if not self.below:
            return str(BEST if self.option == option else OTHERS)
        low, high = (branch.text(option, names) for branch in self.below)
        if low == high:
            return low
        return f"({low} if F.{names[self.feature]} <= {plain(self.threshold)} else {high})"


def _where(conditions: Sequence[Condition], names: Sequence[str]) -> str:
    """Conditions in words; of several on one number, those that say most."""
    least: dict[int, float] = {}
    most: dict[int, float] = {}
    for feature, threshold, above in conditions:
        if above:
            least[feature] = max(threshold, least.get(feature, threshold))
        else:
            most[feature] = min(threshold, most.get(feature, threshold))
    said = []
    for feature in dict.fromkeys(feature for feature, _, _ in conditions):
        low = f"{plain(least[feature])} < " if feature in least else ""
        high = f" <= {plain(most[feature])}" if feature in most else ""
        said.append(
            f"{low}{names[feature]}{high}" if high or not low else f"{names[feature]} > {plain(least[feature])}"
        )
    return f" where {' and '.join(said)}" if said else ""


def _listed(phrases: list[str]) -> str:
    if len(phrases) < 2:
        return "".join(phrases)
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}"
