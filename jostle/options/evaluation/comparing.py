"""Which of several released models is best on private rows, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.errors import OptionError, shown
from jostle.given import given_items
from jostle.options.base import check_probe
from jostle.options.evaluation.pri_roc import check_schema
from jostle.options.models.kinds import hits_of
from jostle.privacy.amounts import Amount, epsilon_amount, show_amount
from jostle.privacy.mechanisms import sensitivity
from jostle.privacy.probe import Probe
from jostle.tables.rules import MOST_RULES, Agreements
from jostle.tasks.answers import level_of
from jostle.tasks.classification.model import Model

Floats = NDArray[np.float64]
DRAWS = 200_000
SEED = 0
"""What is drawn here tells how wide noise is, and has nothing to do with rows."""


@frozen(eq=False, repr=False)
class ComparedModels:
    """How many rows each model gets right, by how many the best leads, and how sure that is; of released counts alone.

    All of it is about the rows at hand: other rows may speak for another model.
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]
    """Rows that each set of models gets right, and no other does: as released, with noise."""
    scale: Fraction
    """Of the noise on each."""
    epsilon: Fraction

    @property
    def best(self) -> str:
        """The model that leads; of several, the first."""
        return self.names[self._best]

    @property
    def right(self) -> dict[str, int]:
        """How many rows each model gets right, give or take noise."""
        return {name: int(self.counts[self._sets[:, index]].sum()) for index, name in enumerate(self.names)}

    @property
    def confidence(self) -> float:
        """How sure it is that no other model gets more of these rows right than the best does.

        Where another one does, noise makes up such a lead in no more than 1 - confidence of all runs. Each model that
        is not the best is held against the one that really is (Bonferroni), and noise in a lead has a known
        distribution.
        """
        worst = max((self._chance(place) for place in range(len(self.names)) if place != self._best), default=0.0)
        return max(0.0, 1 - (len(self.names) - 1) * worst)

    def lead(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """An interval for how many more rows the best gets right than another model does.

        It has its level for two models that were chosen beforehand; of the best of many, `confidence` is careful.
        """
        if name not in self.names:
            raise OptionError(f"{shown(name)} is none of the models", fix=f"one of {', '.join(self.names)}")
        sure = level_of(level, fix="0.95")
        place = self.names.index(name)
        if place == self._best:
            return 0.0, 0.0
        lead, ends = self._lead(place), np.quantile(self._noise(), [(1 - sure) / 2, (1 + sure) / 2])
        return float(lead - ends[1]), float(lead - ends[0])

    @property
    def _best(self) -> int:
        right = self.right
        return max(range(len(self.names)), key=lambda place: right[self.names[place]])

    @property
    def _sets(self) -> NDArray[np.bool_]:
        """Which models are in each set."""
        places = np.arange(len(self.counts))[:, None] >> np.arange(len(self.names))
        return np.asarray(places % 2 == 1)

    def _lead(self, place: int) -> int:
        sets = self._sets
        return int(((sets[:, self._best].astype(np.int64) - sets[:, place]) * self.counts).sum())

    def _chance(self, place: int) -> float:
        """How often noise alone makes up as large a lead over a model, rounded up."""
        return float((np.sum(self._noise() >= self._lead(place)) + 1) / (DRAWS + 1))

    def _noise(self) -> NDArray[np.int64]:
        """Noise in a lead: over half of all sets, in which one of two models is, each with noise of its own."""
        return _drawn(len(self.counts) // 2, float(self.scale))

    def text(self) -> str:
        """The models, the best first."""
        right = self.right
        order = sorted(self.names, key=lambda name: -right[name])
        lines = [f"best on these rows: {self.best}, with confidence {self.confidence:.1%}"]
        for name in order:
            low, high = self.lead(name)
            behind = "" if name == self.best else f"  behind by {low:.0f} to {high:.0f} (95%)"
            lines.append(f"  {name}: about {right[name]:,} right{behind}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<ComparedModels: {self.best} of {len(self.names)}, epsilon {show_amount(self.epsilon)}>"


@lru_cache(maxsize=4)
def _drawn(among: int, scale: float) -> NDArray[np.int64]:
    """Sums of so many draws of noise.

    A draw is the difference of two geometric ones, and so many of these add up to a negative binomial one.
    """
    up, down = np.random.default_rng(SEED).negative_binomial(among, -np.expm1(-1 / scale), (2, DRAWS))
    differences = np.asarray(up - down)
    differences.setflags(write=False)
    return differences


def compare_models(
    db: Probe, models: Mapping[str, Model] | Sequence[Model], *, epsilon: Amount, site: str = "comparison"
) -> ComparedModels:
    """A ranking of models by how many rows they get right, for epsilon: all are counted in one tally.

    Models are called by their names in a mapping; in a list, by the Options that made them.

    Args:
        db: the rows, which no model should have been made from.
        models: what is compared.
        epsilon: what it costs, as it is written: 0.1, "1/3".
        site: its name in the trace.

    Raises:
        OptionError: there are fewer than two models, or one is of another table.
        BudgetError: less is left than *epsilon*.
    """
    check_probe(db, "compare_models")
    named = _named(models)
    if not 2 <= len(named) <= MOST_RULES:
        given = "one model is" if len(named) == 1 else f"{len(named)} models are"
        raise OptionError(f"{given} given", why=f"2 to {MOST_RULES} are compared", fix="[model, other]")
    for name, model in named.items():  # all of them, before one is looked into
        if not isinstance(model, Model):
            raise OptionError(f"{shown(name)} is {type(model).__name__}, not a model", fix='{"bayes": NaiveBayes(db)}')
    schema = db.schema
    for model in named.values():
        check_schema(schema, model)
    budget, kernel = epsilon_amount(epsilon), Agreements(tuple(hits_of(model) for model in named.values()))
    counts = db.measure(kernel, budget, site=site)
    return ComparedModels(tuple(named), counts, sensitivity(kernel, schema) * db.unit / budget, budget)


def _named(models: Mapping[str, Model] | Sequence[Model]) -> dict[str, Model]:
    """Models by name; refuse what holds none, and names that are no texts."""
    if isinstance(models, Mapping):
        for name in models:
            if type(name) is not str:
                raise OptionError(f"a model is called {shown(name)}, which is no text", fix='{"bayes": NaiveBayes(db)}')
        return dict(models)
    listed = given_items(models, "a list of models", fix="[model, other]", error=OptionError)
    return dict(zip(_names(listed), listed, strict=True))


def _names(models: Sequence[Model]) -> list[str]:
    """The maker of each model, with a number where several were made by the same."""
    made = [getattr(model, "made_by", "") or f"model {index + 1}" for index, model in enumerate(models)]
    return [
        each if made.count(each) == 1 else f"{each} {made[: index + 1].count(each)}" for index, each in enumerate(made)
    ]
