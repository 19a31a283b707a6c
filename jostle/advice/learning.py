"""From the rehearsals that came with Jostle to what is expected: of databases that makers learn from, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from jostle.advice.bands import (
    Expectations,
    OptionBands,
    Rehearsed,
    Scale,
    fit_band,
    inputs_of,
    to_scale,
    weights_by_group,
)
from jostle.choice.learning.cases import ARTIFICIAL, Cases, cases_of
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.shipped import ADVISED, rehearsals_for
from jostle.corpora.corpus import BEGINNING
from jostle.options import get
from jostle.options.base import Option
from jostle.options.ranges.base import GridOption
from jostle.programs import shipped_choice
from jostle.tasks.ranges.estimate import Workload

Floats = NDArray[np.float64]
LARGEST = "3"
"""The budget at which the commonest class is guessed that says best how common the commonest class is."""


@frozen(eq=False)
class Lessons:
    """Losses of all Options, and of a maker, on what was rehearsed."""

    name: str
    cases: Cases
    losses: dict[str, Floats]
    """By Option, and for the maker by its name: cases by repeats."""
    commonest: Floats | None
    """Of each case, the share of the commonest class."""

    @property
    def scale(self) -> Scale:
        """Of the losses."""
        return "share" if self.commonest is not None else "size"

    @property
    def records_epsilon(self) -> Floats:
        """Logarithms of records times epsilon."""
        rows = np.repeat([instance.rows for instance in self.cases.instances], len(self.cases.epsilons))
        return np.asarray(np.log(rows * self.cases.budgets))

    def rehearsed(self, option: str, *, told: bool = False, beside: str | None = None) -> Rehearsed:
        """What a band of an Option is fitted to; *beside* another one, how far their losses are apart."""
        sketches = [instance.sketch for instance in self.cases.instances for _ in self.cases.epsilons]
        sizes = [{name: size for name, size, _ in sketch.columns}.get(sketch.label or "", 0) for sketch in sketches]
        commonest = self.commonest if told and self.commonest is not None else [None] * len(sizes)
        inputs = np.array([inputs_of(*each) for each in zip(self.records_epsilon, sizes, commonest, strict=True)])
        losses = to_scale(self.losses[option], self.scale)
        if beside is not None:
            losses = losses - to_scale(self.losses[beside], self.scale)
        groups = self.cases.groups
        weights = weights_by_group(groups) * np.where(self.cases.artificial, ARTIFICIAL, 1.0)
        return Rehearsed(inputs, losses, groups, weights)


@cache
def lessons(name: str) -> Lessons:
    """What was rehearsed with the Options of the task of a maker that came with Jostle."""
    shipped = ADVISED[name]
    history, maker = rehearsals_for(shipped.task, axes=shipped.axes, role=shipped.role), shipped.maker or name
    cases = cases_of(history, [get(each) for each in shipped.rehearsed], judge=shipped.judge)
    losses = {option: cases.losses[:, place] for place, option in enumerate(cases.options)}
    commonest = None
    if shipped.classes:
        guess = get(shipped.guess)
        by_key = [history.losses(instance.key, guess.name, guess.version) for instance in cases.instances]
        errors = [
            np.mean([loss for (epsilon, _), loss in each.items() if epsilon == LARGEST and loss is not None])
            for each in by_key
        ]
        commonest = 1 - np.repeat(errors, len(cases.epsilons))
    return Lessons(name, cases, {**losses, maker: _of_maker(cases, shipped_choice(maker))}, commonest)


def _of_maker(cases: Cases, maker: ChoiceMaker) -> Floats:
    """Losses of a maker in each case: those of what it would choose, with what is left after looking."""
    trained = maker.trained
    places = [cases.options.index(_rehearsed_as(option)) for option in maker.among]
    looked_at = trained.check(maker.among, maker.informed_by)
    seen = cases.inputs(looked_at, trained.share, draws=1)[0]
    chosen = np.array([places[trained.predict(each).order[0]] for each in seen])
    every = np.arange(len(cases))
    dearer = cases.spent(trained.share)[every, chosen] / np.maximum(cases.mean[every, chosen], 1e-12)
    return np.asarray(cases.losses[every, chosen] * dearer[:, None])


def _rehearsed_as(option: Option) -> str:
    """The name of the Option that one is where all random ranges are asked: those tell all cells apart."""
    return option.errs_as(Workload.random_ranges((64,))).name if isinstance(option, GridOption) else option.name


def expectations(name: str) -> Expectations:
    """What is expected of Options and of the maker, by public facts."""
    known = lessons(name)
    shipped = ADVISED[name]
    versions = {option: get(option).version for option in known.cases.options}
    reach = known.records_epsilon
    cells = {int(np.prod([size for _, size, _ in each.sketch.columns])) for each in known.cases.instances}
    return Expectations(
        scale=known.scale,
        judge=shipped.judge or shipped.task.rehearsal.judges[0].name,
        guess=shipped.guess,
        maker=shipped.maker or name,
        cells=() if known.commonest is not None else tuple(sorted(cells)),
        least=float(reach.min()),
        most=float(reach.max()),
        digests=tuple(sorted({instance.database[:BEGINNING] for instance in known.cases.instances})),
        groups=len(set(known.cases.groups.tolist())),
        options=dict(_bands(known, versions, shipped.guess)),
    )


def _bands(known: Lessons, versions: dict[str, int], guess: str) -> Iterator[tuple[str, OptionBands]]:
    for option in known.losses:
        yield (
            option,
            OptionBands(
                version=versions.get(option, 0),
                plain=fit_band(known.rehearsed(option)),
                told=None if known.commonest is None else fit_band(known.rehearsed(option, told=True)),
                beside_guess=fit_band(known.rehearsed(option, beside=guess)),
            ),
        )
