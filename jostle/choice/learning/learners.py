"""Learners: from what a choice sees to what each Option's loss will be, and what is kept of that in a file.

All learners learn *log regret*, the logarithm of an Option's loss over the best Option's in the same case, because that
is what is minimised; and the logarithm of the best loss, so that what is predicted can be told as a loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.choice.learning.regret import LEAST, fit_regret_tree
from jostle.errors import ChoiceError, shown
from jostle.files.structure import structured
from jostle.learned.policies import Forest, fit_forest

Floats = NDArray[np.float64]
MOST_LOG = 4.0
"""Regrets above e**4 are as bad as that: one hopeless run does not outweigh everything else."""
ABSURD = 300.0
"""The logarithm of a loss that nobody has seen; products of two such are still numbers."""
LARGEST, LEAST_WIDTH = 1e9, 1e-9
"""Of the numbers that a fitted learner holds, and of what inputs are divided by."""


@frozen(eq=False)
class Example:
    """What a learner is given: a row per case and draw of noise."""

    inputs: Floats
    losses: Floats
    """A column per Option."""
    weights: Floats
    floor: float


@frozen(eq=False)
class Lesson:
    """One decision, for all sites of a message that saw the same and took the same."""

    label: str
    among: tuple[str, ...]
    names: tuple[str, ...]
    seen: tuple[float, ...]
    taken: int
    loss: float
    """Of the whole run, over the mean of the situation."""
    weight: float
    """The share of the message's sites."""


def lesson_arrays(lessons: Sequence[Lesson]) -> tuple[Floats, NDArray[np.int64], Floats, Floats]:
    """Of lessons of one label: what was seen, a row each; which alternative was taken; the losses; the weights."""
    seen = np.array([lesson.seen for lesson in lessons], dtype=np.float64).reshape(len(lessons), len(lessons[0].names))
    taken = np.array([lesson.taken for lesson in lessons])
    return seen, taken, np.array([lesson.loss for lesson in lessons]), np.array([lesson.weight for lesson in lessons])


def log_regret(losses: Floats, floor: float) -> tuple[Floats, Floats]:
    """The Options' log regrets, and the logarithm of the best loss, a row per case."""
    least = np.maximum(losses, max(floor, LEAST))
    logs = np.log(least)
    best = logs.min(axis=1, keepdims=True)
    return np.minimum(logs - best, MOST_LOG), best


def losses_of(logs: Floats) -> Floats:
    """The losses, or ratios of losses, that these are the logarithms of; absurd ones are cut."""
    return np.asarray(np.exp(np.minimum(logs, ABSURD)))


class Fitted(ABC):
    """Something that predicts."""

    kind: ClassVar[str]

    @abstractmethod
    def check(self, options: int, inputs: int) -> None:
        """Refuse what was not learned among so many Options, from so many inputs."""

    @abstractmethod
    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """For each row and Option the log regret expected, less a common number, and its spread."""

    @abstractmethod
    def best_loss(self, inputs: Floats) -> Floats:
        """For each row the best Option's loss expected."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The facts that a file of JSON holds."""


class Learner(ABC):
    """Learns from examples."""

    name: ClassVar[str]
    looks_at_all: ClassVar[bool] = False
    """Whether it needs every metafeature there is, and does not do with those that pay."""

    @abstractmethod
    def fit(self, example: Example, *, seed: int = 0) -> Fitted:
        """A fitted learner."""


def check_forest(forest: Forest, outputs: int, inputs: int) -> None:
    """Refuse a forest of other outputs or inputs."""
    if (forest.outputs, forest.inputs) != (outputs, inputs):
        raise ChoiceError("a forest is not about these Options, or not about what is looked at")


def check_array(array: Floats, *shape: int) -> None:
    """Refuse an array of another shape, or with numbers that cannot be reckoned with."""
    if array.shape != shape or (array.size and np.abs(array).max() > LARGEST):
        raise ChoiceError("what was learned from cases is not about these Options, or not about what is looked at")


@frozen(eq=False)
class FittedForest(Fitted):
    """A forest with an output per Option, and one for the best loss."""

    kind = "forest"
    forest: Forest

    def check(self, options: int, inputs: int) -> None:
        """Refuse a forest of other outputs or inputs."""
        check_forest(self.forest, options + 1, inputs)

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """The trees' mean and spread."""
        mean, spread = self.forest.predict(inputs)
        return mean[:, :-1], spread[:, :-1]

    def best_loss(self, inputs: Floats) -> Floats:
        """The trees' mean, as a loss."""
        return losses_of(self.forest.predict(inputs)[0][:, -1])

    def facts(self) -> dict[str, Any]:
        """The forest's."""
        return self.forest.facts()


@frozen
class ForestLearner(Learner):
    """Random forests of all Options together: each split serves all of them."""

    name: ClassVar[str] = "forest"
    trees: int = 40
    leaves: int = 150
    rows: int = 5
    """Least cases in a leaf, not counting draws of noise twice."""

    def fit(self, example: Example, *, seed: int = 0) -> Fitted:
        """A forest."""
        regrets, best = log_regret(example.losses, example.floor)
        return FittedForest(
            fit_forest(
                example.inputs,
                np.concatenate([regrets, best], axis=1),
                weights=example.weights,
                trees=self.trees,
                least_rows=self.rows,
                most_leaves=self.leaves,
                inputs_tried=0.4,
                seed=seed,
            )
        )


@frozen(eq=False)
class FittedTree(Fitted):
    """One tree, whose leaves hold means and spreads."""

    kind = "regret tree"
    tree: Forest

    def check(self, options: int, inputs: int) -> None:
        """Refuse a tree of other outputs or inputs."""
        check_forest(self.tree, 2 * options + 1, inputs)

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """The values that the leaves hold."""
        found = self.tree.predict(inputs)[0]
        options = (found.shape[1] - 1) // 2
        return found[:, :options], found[:, options : 2 * options]

    def best_loss(self, inputs: Floats) -> Floats:
        """The values that the leaves hold."""
        return losses_of(self.tree.predict(inputs)[0][:, -1])

    def facts(self) -> dict[str, Any]:
        """The tree's."""
        return self.tree.facts()


@frozen
class TreeLearner(Learner):
    """A tree split where choosing one Option on each side costs the least regret, as Pythia's Delphi does."""

    name: ClassVar[str] = "regret tree"
    leaves: int = 12
    share: float = 0.02
    """The least share of all cases in a leaf."""

    def fit(self, example: Example, *, seed: int = 0) -> Fitted:  # noqa: ARG002 - nothing is random
        """A tree."""
        regrets, best = log_regret(example.losses, example.floor)
        return FittedTree(
            fit_regret_tree(
                example.inputs, regrets, best, example.weights, most_leaves=self.leaves, least_share=self.share
            )
        )


@frozen(eq=False)
class FittedLines(Fitted):
    """For each Option, and for the best loss, a line over what is seen."""

    kind = "lines"
    centre: Floats = field(converter=np.asarray)
    width: Floats = field(converter=np.asarray)
    slopes: Floats = field(converter=np.asarray)
    """A row for each input, and first one for what is seen at the centre; a column per Option, and one for the best."""
    spread: Floats = field(converter=np.asarray)

    def check(self, options: int, inputs: int) -> None:
        """Refuse lines of other Options or inputs."""
        check_array(self.centre, inputs)
        check_array(self.width, inputs)
        check_array(self.slopes, inputs + 1, options + 1)
        check_array(self.spread, options)
        if (self.width < LEAST_WIDTH).any():
            raise ChoiceError("a line was learned from what is never different")

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """The lines' values; the spread is that of all cases."""
        mean = self._at(inputs)[:, :-1]
        return mean, np.broadcast_to(self.spread, mean.shape)

    def best_loss(self, inputs: Floats) -> Floats:
        """The last line's, as a loss."""
        return losses_of(self._at(inputs)[:, -1])

    def _at(self, inputs: Floats) -> Floats:
        return _line_terms(inputs, self.centre, self.width) @ self.slopes

    def facts(self) -> dict[str, Any]:
        """The numbers."""
        return {name: _digits(getattr(self, name).tolist()) for name in ("centre", "width", "slopes", "spread")}


@frozen
class LineLearner(Learner):
    """Straight lines: little to learn, so what is learned holds for questions unlike those that were rehearsed."""

    name: ClassVar[str] = "lines"
    ridge: float = 0.01
    """What slopes are kept small by, in units of the inputs' variance."""

    def fit(self, example: Example, *, seed: int = 0) -> Fitted:  # noqa: ARG002 - nothing is random
        """Least squares of log regrets."""
        regrets, best = log_regret(example.losses, example.floor)
        wanted = np.concatenate([regrets, best], axis=1)
        centre, width = example.inputs.mean(axis=0), example.inputs.std(axis=0)
        width = np.where(width >= LEAST_WIDTH, width, 1.0)  # of one number, but for rounding
        terms = _line_terms(example.inputs, centre, width)
        weighted = terms * (example.weights / example.weights.sum())[:, None]
        slopes = np.linalg.solve(weighted.T @ terms + self.ridge * np.eye(terms.shape[1]), weighted.T @ wanted)
        left = wanted - terms @ slopes
        return FittedLines(centre, width, slopes, np.sqrt(np.average(left**2, axis=0, weights=example.weights))[:-1])


FARTHEST = 2.0
"""Standard deviations from the mean: what is farther out than this counts as this far, since nobody was there."""


def _line_terms(inputs: Floats, centre: Floats, width: Floats) -> Floats:
    """The terms of a line: one, and what is seen, in units of width from the centre."""
    seen = np.clip((np.asarray(inputs) - centre) / width, -FARTHEST, FARTHEST)
    return np.concatenate([np.ones((len(seen), 1)), seen], axis=1)


def _digits(value: Any) -> Any:
    """Lists of numbers, with four digits each."""
    return [_digits(each) for each in value] if isinstance(value, list) else float(f"{value:.4g}")


@frozen(eq=False)
class FittedConstant(Fitted):
    """One Option everywhere: what is left when nothing that is seen helps."""

    kind = "single best"
    mean: Floats = field(converter=np.asarray)
    spread: Floats = field(converter=np.asarray)
    best: float

    def check(self, options: int, inputs: int) -> None:  # noqa: ARG002 - it looks at none of them
        """Refuse what is about other Options."""
        check_array(self.mean, options)
        check_array(self.spread, options)

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """The same for all rows."""
        shape = (len(inputs), len(self.mean))
        return np.broadcast_to(self.mean, shape), np.broadcast_to(self.spread, shape)

    def best_loss(self, inputs: Floats) -> Floats:
        """The same for all rows."""
        return losses_of(np.full(len(inputs), self.best))

    def facts(self) -> dict[str, Any]:
        """The numbers."""
        return {"mean": np.round(self.mean, 4).tolist(), "spread": np.round(self.spread, 4).tolist(), "best": self.best}


@frozen
class ConstantLearner(Learner):
    """The Option that is best on average."""

    name: ClassVar[str] = "single best"

    def fit(self, example: Example, *, seed: int = 0) -> Fitted:  # noqa: ARG002 - nothing is random
        """The means of all cases; the order is that of mean regrets, not of their logarithms."""
        regrets, best = log_regret(example.losses, example.floor)
        mean = np.log(np.average(np.exp(regrets), axis=0, weights=example.weights))
        return FittedConstant(mean, regrets.std(axis=0), float(np.average(best[:, 0], weights=example.weights)))


Predict = Callable[[Mapping[str, float]], float]


@frozen(eq=False)
class FittedPrior(Fitted):
    """What programmers predict of their Options, with what training adds."""

    kind = "prior"
    names: tuple[str, ...]
    priors: tuple[Predict | None, ...]
    """Of each Option, from what is seen, by name."""
    correction: Forest

    def check(self, options: int, inputs: int) -> None:
        """Refuse a forest of other outputs or inputs, and other predictions than those of its Options."""
        check_forest(self.correction, options, inputs)
        if len(self.priors) != options:
            raise ChoiceError("the maker learned with predictions of its Options, which are others here")

    def prior(self, inputs: Floats) -> Floats:
        """The logarithms of what the programmers predict; 0 for Options without a prediction."""
        return prior_logs(self.priors, self.names, inputs)

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Prior and correction together."""
        mean, spread = self.correction.predict(inputs)
        logs = self.prior(inputs) + mean
        return logs - logs.min(axis=1, keepdims=True), spread

    def best_loss(self, inputs: Floats) -> Floats:
        """The least of the losses predicted."""
        logs = self.prior(inputs) + self.correction.predict(inputs)[0]
        return losses_of(logs.min(axis=1))

    def facts(self) -> dict[str, Any]:
        """The correction; the predictions are the Options' own."""
        return self.correction.facts()


@frozen(eq=False)
class PriorLearner(Learner):
    """The programmer's own `predict` of each Option, corrected by a forest for what it misses."""

    name: ClassVar[str] = "prior"
    looks_at_all: ClassVar[bool] = True
    names: tuple[str, ...]
    priors: tuple[Predict | None, ...]

    def fit(self, example: Example, *, seed: int = 0) -> Fitted:
        """Prior and correction."""
        logs = np.log(np.maximum(example.losses, max(example.floor, LEAST)))
        left = logs - prior_logs(self.priors, self.names, example.inputs)
        correction = fit_forest(
            example.inputs, left, weights=example.weights, trees=20, least_rows=10, most_leaves=60, seed=seed
        )
        return FittedPrior(self.names, self.priors, correction)


def prior_logs(priors: Sequence[Predict | None], names: Sequence[str], inputs: Floats) -> Floats:
    """The logarithms of what programmers predict for each row and Option."""
    logs = np.zeros((len(inputs), len(priors)))
    for index, row in enumerate(np.asarray(inputs).tolist()):
        seen = dict(zip(names, row, strict=True))
        for option, prior in enumerate(priors):
            if prior is not None:
                predicted = float(prior(seen))
                if not (np.isfinite(predicted) and predicted >= 0):
                    raise ChoiceError(
                        f"predict gives {predicted} as a loss", why="a loss is a number from 0 up", fix="return 0.1"
                    )
                logs[index, option] = np.log(max(predicted, LEAST))
    return logs


LEARNERS: tuple[Learner, ...] = (LineLearner(), ForestLearner(), TreeLearner())
"""Those that need nothing but examples. The first, the simplest, says what to look at; others are tried on that."""


def from_facts(
    kind: str, facts: Mapping[str, Any], names: tuple[str, ...] = (), priors: tuple[Predict | None, ...] = ()
) -> Fitted:
    """The fitted learner that `facts` came from, or raise DamageError where they came from none."""
    match kind:
        case FittedForest.kind:
            return FittedForest(structured(facts, Forest))
        case FittedTree.kind:
            return FittedTree(structured(facts, Forest))
        case FittedLines.kind:
            return structured(facts, FittedLines)
        case FittedConstant.kind:
            return structured(facts, FittedConstant)
        case FittedPrior.kind:
            return FittedPrior(names, priors, structured(facts, Forest))
        case _:
            raise ChoiceError(f"there is no learner {shown(kind)} in this version")
