"""Bands of losses, fitted to the rehearsals that came with Jostle: of databases that makers learn from alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
from attrs import asdict, frozen
from numpy.typing import NDArray

from jostle.advice.expected import (
    BENDS,
    INSIDE,
    VERSION,
    Band,
    Expectations,
    OptionBands,
    Scale,
    inputs_of,
    kept_expectations,
    path,
    to_scale,
)
from jostle.choice.learning.cases import ARTIFICIAL, Cases, cases_of
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.shipped import ADVISED, rehearsals_for
from jostle.corpora.corpus import BEGINNING
from jostle.learned.files import shortened
from jostle.options import get
from jostle.options.base import Option
from jostle.options.ranges.base import GridOption
from jostle.programs import shipped_choice
from jostle.tasks.ranges.estimate import Workload

Floats = NDArray[np.float64]
RIDGE = 0.02
"""How far slopes are drawn to 0: there are few groups to learn from."""
LEAST_MISS = 0.01
"""On the scale of losses; what is missed by less is as good as met."""


@frozen(eq=False)
class Rehearsed:
    """Losses of an Option, on the scale: runs by repeats, NaN where there was none, with what they go by."""

    inputs: Floats
    losses: Floats
    groups: NDArray[np.str_]
    weights: Floats

    def only(self, kept: NDArray[np.bool_]) -> Rehearsed:
        """Some of the runs."""
        return Rehearsed(self.inputs[kept], self.losses[kept], self.groups[kept], self.weights[kept])


def fit_band(rehearsed: Rehearsed) -> Band:
    """The band of an Option's losses: as wide as it has to be on groups left out."""
    missed = np.full(rehearsed.losses.shape, np.nan)
    for group in np.unique(rehearsed.groups):
        out = rehearsed.groups == group
        missed[out] = _missed(rehearsed.only(out), *_line(rehearsed.only(~out)))
    start, slopes = _line(rehearsed)
    found = ~np.isnan(missed)
    runs, _ = np.nonzero(found)
    weights = (rehearsed.weights / found.sum(axis=1))[runs]
    reach = rehearsed.inputs[runs, : 1 + len(BENDS)]
    spread_start, spread_slopes = nearest(reach, np.log(np.abs(missed[found]) + LEAST_MISS), weights)
    units = missed[found] / np.exp(spread_start + reach @ spread_slopes)
    below, above = (_quantile(units, weights, level) for level in ((1 - INSIDE) / 2, (1 + INSIDE) / 2))
    return Band(start, tuple(map(float, slopes)), -below, above, spread_start, tuple(map(float, spread_slopes)))


def is_inside(band: Band, rehearsed: Rehearsed) -> Floats:
    """Which losses lie in a band, runs by repeats; NaN where there was no run."""
    missed = _missed(rehearsed, band.start, np.array(band.slopes))
    ends = np.array([band.ends(each) for each in rehearsed.inputs])
    return np.where(np.isnan(missed), np.nan, (missed >= -ends[:, :1]) & (missed <= ends[:, 1:]))


def left_out(rehearsed: Rehearsed) -> dict[str, float]:
    """For each group the share of its runs that lie in a band which was made without it."""
    shares = {}
    for group in np.unique(rehearsed.groups).tolist():
        out = rehearsed.groups == group
        shares[group] = float(np.nanmean(is_inside(fit_band(rehearsed.only(~out)), rehearsed.only(out))))
    return shares


def _missed(rehearsed: Rehearsed, start: float, slopes: Floats) -> Floats:
    """How far losses lie above a line."""
    return np.asarray(rehearsed.losses - (start + rehearsed.inputs @ slopes)[:, None])


def _line(rehearsed: Rehearsed) -> tuple[float, Floats]:
    """Start and slopes of the line nearest to the mean losses."""
    return nearest(rehearsed.inputs, np.nanmean(rehearsed.losses, axis=1), rehearsed.weights)


def nearest(inputs: Floats, values: Floats, weights: Floats) -> tuple[float, Floats]:
    """Start and slopes of the line nearest to some values, the squares of its slopes having a price."""
    shares = weights / weights.sum()
    middle = shares @ inputs
    spread = inputs.std(axis=0)
    spread[spread == 0] = 1.0
    moved, mean = (inputs - middle) / spread, float(shares @ values)
    square = moved.T @ (moved * shares[:, None]) + RIDGE * np.eye(moved.shape[1])
    slopes = np.linalg.solve(square, moved.T @ (shares * (values - mean))) / spread
    return mean - float(middle @ slopes), slopes


def _quantile(values: Floats, weights: Floats, level: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(reached, level)), len(values) - 1)])


def weights_by_group(groups: Sequence[str] | NDArray[np.str_]) -> Floats:
    """Weights under which all groups have the same say."""
    _, places, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(1 / counts[places])


def write_expectations(found: Mapping[str, Expectations]) -> None:
    """Write the file."""
    facts = {"version": VERSION, **{name: asdict(each) for name, each in found.items()}}
    path().write_text(json.dumps(shortened(facts, 5), indent=1) + "\n", encoding="utf-8")
    kept_expectations.cache_clear()


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
