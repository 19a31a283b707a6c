"""Replayed noise: what one table released is released again on another, and all that an asker sees is compared.

Private answers hide the rows because any answer that one table gives, its neighbours could have given. So whatever is
released on a first table, there is noise that releases the same on a second one. `Replay` draws it: the mechanisms
run as they are, on either table's own tallies, with noise that is moved by how far the tallies are apart. From then on
everything an asker sees has to be the same: whatever is not is told by the rows without noise.
"""

from __future__ import annotations

import inspect
import io
import logging
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from attrs import define, field, fields, has
from numpy.typing import NDArray

from jostle import Probe
from jostle.errors import JostleError
from jostle.privacy import opening
from jostle.privacy.amounts import Amount
from jostle.privacy.descent import Descent
from jostle.privacy.measured import Measured
from jostle.privacy.mechanisms import (
    AddNoise,
    AddNoiseAbove,
    AddNoiseByLevel,
    AddNoiseTo,
    AddNoiseToSpread,
    SparseAnswer,
)
from jostle.privacy.noise import LARGEST, Noise, SeededBits
from jostle.privacy.picks import (
    FindAbove,
    FindNthLargest,
    Pick,
    PickEach,
    PickLargest,
    PickPartition,
    PickSeveral,
    deviations,
)
from jostle.privacy.room import Room
from jostle.tables.kernels import SparseTally
from jostle.trace.records import Trace, to_json

Integers = NDArray[np.int64]
PLOT = "plot"
SHOWN = ("get_text", "get_xydata", "get_xy", "get_width", "get_height", "get_offsets", "get_array", "get_facecolor")
"""What is asked of the parts of a figure."""
ADDRESS = re.compile(" at 0x[0-9a-f]+")
"""Where an object lies in memory, which says nothing."""
BEYOND = 1 << 30
"""One-sided noise lies about here, so that it can be moved either way."""


@define
class Asked:
    """One question that a mechanism answered."""

    mechanism: Any
    schema: Any
    epsilon: Fraction
    tally: Any
    answer: Any = None


class Plan:
    """The draws for one question: at random on the first table, moved on the second."""

    def __init__(self, first: Asked, now: Asked) -> None:
        self.first = first
        self.now = now

    @property
    def again(self) -> bool:
        """Return whether this is the second table."""
        return self.first is not self.now

    def discrete_laplace(self, drawn: Integers) -> Integers:
        """Return the draws for noise on both sides."""
        raise NotImplementedError

    def geometric(self, drawn: Integers) -> Integers:
        """Return the draws for noise on one side."""
        raise NotImplementedError

    def successes(self, drawn: Integers) -> Integers:
        """Return which of many coins come up."""
        raise NotImplementedError

    def laplace_above(self, drawn: Integers) -> Integers:
        """Return the draws beyond a threshold."""
        raise NotImplementedError


class MovedNumbers(Plan):
    """Noise that is added to whole numbers: moved by how far these are apart."""

    place = 0

    def numbers(self, asked: Asked) -> Integers:
        """Return the numbers that noise is added to."""
        return np.asarray(asked.tally).ravel()

    def discrete_laplace(self, drawn: Integers) -> Integers:
        """Return the draws moved, one stretch of the numbers after the other."""
        some = slice(self.place, self.place + len(drawn))
        self.place = some.stop
        return drawn + self.numbers(self.first)[some] - self.numbers(self.now)[some]


class MovedExpression(MovedNumbers):
    """Noise that is added to a private expression, in whole units."""

    def numbers(self, asked: Asked) -> Integers:
        """Return the expression's units."""
        units: Integers = asked.mechanism.in_units(asked.tally, asked.schema, asked.epsilon)[1]
        return np.array(units).reshape(-1)


class MovedValues(MovedNumbers):
    """Noise on a threshold, which stays, then on the scores of all features."""

    def numbers(self, asked: Asked) -> Integers:
        """Return nothing for the threshold, then the scores."""
        return np.concatenate([[0], asked.mechanism.score.values(asked.tally, asked.schema)])


class MovedSpread(MovedNumbers):
    """Noise on how far apart numbers are."""

    def numbers(self, asked: Asked) -> Integers:
        """Return how far."""
        return np.array([asked.mechanism.spread(asked.tally, asked.schema)])


class MovedNthLargest(MovedNumbers):
    """Noise on one of the scores of all features."""

    def numbers(self, asked: Asked) -> Integers:
        """Return the score."""
        values = np.sort(asked.mechanism.score.values(asked.tally, asked.schema))
        return np.array([values[-asked.mechanism.place]])


class AllCoins(Plan):
    """A pick for which all candidates' coins come up, so that the order they are drawn in decides alone."""

    def geometric(self, drawn: Integers) -> Integers:
        """Return coins as far as any gap."""
        return np.full_like(drawn, LARGEST)


class MovedCosts(Plan):
    """One-sided noise on the costs of a partition's runs, length by length."""

    length = 1

    def geometric(self, drawn: Integers) -> Integers:
        """Return the draws for runs of the next length."""
        now, before = (asked.mechanism.grain * deviations(asked.tally, self.length) for asked in (self.now, self.first))
        self.length *= 2
        moved: Integers = drawn + BEYOND + now - before
        return moved


class SparseCells(Plan):
    """Noise on occupied cells, empty ones that pass a threshold, and how far they do."""

    @property
    def wanted(self) -> dict[int, int]:
        """Return the cells that are to pass, with their values."""
        answer: SparseAnswer = self.first.answer
        return dict(zip(answer.keys.tolist(), answer.values.tolist(), strict=True))  # noqa: PD011 - no frame

    def successes(self, drawn: Integers) -> Integers:
        """Return all cells that are to pass; those that are occupied have noise of their own."""
        return np.array(list(self.wanted), dtype=np.int64) if self.again else drawn

    def discrete_laplace(self, drawn: Integers) -> Integers:
        """Return what takes occupied cells to their values, or to where they do not pass."""
        tally: SparseTally = self.now.tally
        if not self.again:
            return drawn
        least = self.now.mechanism.threshold
        values = [self.wanted.get(key, least) for key in tally.keys.tolist()]
        return np.array(values, dtype=np.int64) - tally.counts

    def laplace_above(self, drawn: Integers) -> Integers:
        """Return the values of the cells that are empty here."""
        occupied = set(self.now.tally.keys.tolist())
        values = [value for key, value in self.wanted.items() if key not in occupied] if self.again else drawn
        return np.array(values, dtype=np.int64)


PLANS: dict[type, type[Plan]] = {
    AddNoise: MovedNumbers,
    AddNoiseByLevel: MovedNumbers,
    AddNoiseToSpread: MovedSpread,
    AddNoiseTo: MovedExpression,
    AddNoiseAbove: SparseCells,
    Descent: MovedNumbers,
    FindAbove: MovedValues,
    FindNthLargest: MovedNthLargest,
    Pick: AllCoins,
    PickEach: AllCoins,
    PickLargest: AllCoins,
    PickPartition: MovedCosts,
    PickSeveral: AllCoins,
}
"""For each mechanism, the noise that gives the same answer on another table."""


class Replay:
    """The samplers' interface over draws that are a function of their place: the same for the same questions.

    Given a *first* replay, which was drawn on another table, every answer is the one that was given there.
    """

    def __init__(self, first: Replay | None = None) -> None:
        self.first = first
        self.asked: list[Asked] = []
        self.problems: list[str] = []
        self.finer: list[tuple[Integers, Integers]] = []
        """Of each chain's step, the noise there was, and the noise there is."""
        self._plan: Plan | None = None
        self._draws = 0
        self._outside = 0

    def of_a_release(self) -> Replay:
        """Return the same: it draws by what is asked."""
        return self

    def begin(self, mechanism: Any, tally: Any, schema: Any, epsilon: Fraction) -> None:
        """Prepare to answer a question."""
        now, place = Asked(mechanism, schema, epsilon, tally), len(self.asked)
        self.asked.append(now)
        self._draws = 0
        if type(mechanism) not in PLANS:
            self.problems.append(f"no plan for {type(mechanism).__name__}")
            return
        before = self.first.asked[place : place + 1] if self.first is not None else []
        self._plan = PLANS[type(mechanism)](before[0] if before else now, now)

    def end(self, answer: Any) -> None:
        """Remember what was answered."""
        self.asked[-1].answer = answer
        self._plan = None

    def moved(self) -> bool:
        """Return whether any question met another tally than on the first table."""
        assert self.first is not None
        return any(_differ(before.tally, now.tally) for before, now in zip(self.first.asked, self.asked, strict=False))

    def _seed(self) -> tuple[int, int]:
        if self._plan is None:
            self._outside += 1
            return 0, self._outside
        self._draws += 1
        return len(self.asked), self._draws

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self._seed())

    def _bits(self) -> Noise:
        return Noise(SeededBits(self._seed()))  # type: ignore[arg-type]  # numpy takes several numbers for a seed

    def _planned(self, kind: str, drawn: Integers) -> Integers:
        if self._plan is None:
            self.problems.append(f"{kind} is drawn outside of a question")
            return drawn
        found: Integers = getattr(self._plan, kind)(drawn)
        return found

    def discrete_laplace(self, scale: Amount, size: int) -> Integers:
        """Return noise on both sides."""
        chance, draw = -np.expm1(-1 / float(scale)), self._generator()
        return self._planned("discrete_laplace", draw.geometric(chance, size) - draw.geometric(chance, size))

    def less_laplace(self, drawn: Integers, scale: Amount, less: Amount) -> Integers:
        """Return the noise that noise was made of: what gives the same answer as on the first table."""
        chance, draw = -np.expm1(-1 / float(less)), np.random.default_rng((3, len(self.finer)))
        found = draw.geometric(chance, drawn.size) - draw.geometric(chance, drawn.size)
        if self.first is not None and len(self.finer) < len(self.first.finer):
            before, after = self.first.finer[len(self.finer)]
            found = after + drawn - before
        self.finer.append((drawn, found))
        return found

    def geometric(self, ratio: object, size: int) -> Integers:
        """Return noise on one side."""
        return self._planned("geometric", self._generator().integers(0, 100, size))

    def successes(self, trials: int, chance: object) -> Integers:
        """Return which coins come up."""
        return self._planned("successes", np.unique(self._generator().integers(0, trials, 5)))

    def laplace_above(self, scale: Amount, threshold: int, size: int) -> Integers:
        """Return noise beyond a threshold."""
        return self._planned("laplace_above", threshold + self._generator().geometric(1 / (1 + float(scale)), size))

    def permute_and_flip(self, scores: Integers, rate: Amount) -> int:
        """Return a pick, by the code that picks."""
        return Noise.permute_and_flip(self, scores, rate)  # type: ignore[arg-type]  # it draws like one

    def below(self, bound: int, size: int) -> Integers:
        """Return uniform whole numbers."""
        return self._bits().below(bound, size)

    def distinct(self, population: int, count: int) -> Integers:
        """Return different whole numbers."""
        return self._bits().distinct(population, count)

    def forget(self) -> None:
        """Keep no tables."""


def _differ(one: Any, other: Any) -> bool:
    if isinstance(one, SparseTally):
        return _differ(one.keys, other.keys) or _differ(one.counts, other.counts)
    return not np.array_equal(one, other)


@contextmanager
def replaying(noise: Replay) -> Iterator[None]:
    """Open private tables with this noise, as if none had been opened before."""
    release = Room._release

    def looked_at(room: Room, mechanism: Any, epsilon: Fraction) -> Any:
        if room.private:
            noise.begin(mechanism, mechanism.collect(room._tally, room.schema), room.schema, epsilon)
        answer = release(room, mechanism, epsilon)
        if room.private:
            noise.end(answer[0])
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_registry", opening.Registry())
        patch.setattr(opening, "Noise", lambda *bits, **_: Noise(*bits) if bits else noise)
        patch.setattr(Room, "_release", looked_at)
        yield


ARGUMENTS: dict[str, Any] = {}
"""What the methods of answers are called with, by the names of their arguments; perhaps a function of the answer."""


@define
class Seen:
    """All that an asker sees of one run."""

    answer: Any = None
    warned: list[str] = field(factory=list)
    printed: str = ""
    logged: list[str] = field(factory=list)
    trace: list[str] = field(factory=list)
    asked: list[str] = field(factory=list)
    """The mechanisms that answered, in turn."""


@contextmanager
def logged() -> Iterator[list[str]]:
    """Listen to all lines of logging that Jostle writes meanwhile."""
    lines: list[str] = []
    listener, jostles = logging.Handler(), logging.getLogger("jostle")
    listener.emit = lambda record: lines.append(f"{record.name}: {record.getMessage()}")  # type: ignore[method-assign]
    before = jostles.level
    jostles.addHandler(listener)
    jostles.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        jostles.setLevel(before)
        jostles.removeHandler(listener)


def watched(run: Callable[[Trace], Any], noise: Replay) -> Seen:
    """Return what is seen of a run that opens private tables."""
    trace, found, printed = Trace(), Seen(), io.StringIO()
    with (
        replaying(noise),
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(printed),
        redirect_stderr(printed),
        np.errstate(all="warn"),
        logged() as found.logged,
    ):
        warnings.simplefilter("always")
        try:
            answer = run(trace)
        except Exception as error:  # noqa: BLE001 - whatever an asker gets
            found.answer = _seen_error(error)
        else:
            # Outside of the try: what goes wrong in looking is no answer, and would be the same for both tables.
            found.answer = seen(answer)
    found.warned = [f"{each.category.__name__}: {each.message}" for each in warned]
    found.printed = printed.getvalue()
    found.trace = [to_json(record) for record in trace.records]
    found.asked = [type(each.mechanism).__name__ for each in noise.asked]
    return found


def compared(run: Callable[[Any, Trace], Any], first: Any, second: Any) -> tuple[Seen, Seen, bool]:
    """Return what an asker sees of two tables when the same is released, and whether their tallies differed."""
    noise = Replay()
    again = Replay(noise)
    one = watched(lambda trace: run(first, trace), noise)
    other = watched(lambda trace: run(second, trace), again)
    assert not noise.problems + again.problems, (noise.problems, again.problems)
    return one, other, again.moved()


def _seen_error(error: BaseException) -> Any:
    places = [(frame.filename, frame.name) for frame in traceback.extract_tb(error.__traceback__)]
    facts = (error.title, error.why, error.fix) if isinstance(error, JostleError) else error.args
    return ("raised", type(error), str(error), repr(facts), repr(vars(error)), places, repr(error.__cause__))


def seen(thing: Any, depth: int = 0) -> Any:  # noqa: C901, PLR0911 - one per kind
    """Return all that can be seen of an answer, as plain values that compare: kinds, shapes, bytes."""
    kind = type(thing).__name__
    if isinstance(thing, Measured):
        return (
            kind,
            str(thing),
            seen(thing.value, depth + 1),
            thing.scale,
            thing.cost,
            _outcome(partial(_intervals, thing)),
        )
    if thing is None or isinstance(thing, bool | int | float | str | bytes | Fraction):
        return kind, repr(thing)
    if isinstance(thing, np.ndarray):
        return kind, thing.dtype.str, thing.shape, thing.tobytes() if thing.dtype.kind != "O" else repr(thing.tolist())
    if isinstance(thing, np.generic):
        return kind, thing.dtype.str, repr(thing)
    if isinstance(thing, Mapping):
        return kind, [(seen(key, depth + 1), seen(value, depth + 1)) for key, value in thing.items()]
    if isinstance(thing, list | tuple | range):
        return kind, [seen(each, depth + 1) for each in thing]
    if isinstance(thing, Probe):
        return kind, repr(thing), repr(thing.schema), seen(thing.charges)
    if isinstance(thing, Iterator):
        return kind, [seen(each, depth + 1) for each in thing]
    if (shown := _of_library(thing)) is not None:
        return kind, *shown
    if isinstance(thing, type) or callable(thing):
        return kind, getattr(thing, "__qualname__", kind)
    if has(type(thing)):
        held = [(each.name, seen(getattr(thing, each.name), depth + 1)) for each in fields(type(thing))]
        return kind, ADDRESS.sub("", repr(thing)), held, _methods(thing) if depth == 0 else None
    assert hasattr(thing, "__dict__"), f"nothing is known of what a {kind} shows"
    return kind, ADDRESS.sub("", repr(thing)), [(name, seen(each, depth + 1)) for name, each in vars(thing).items()]


def _of_library(thing: Any) -> tuple[Any, ...] | None:
    """Return what can be seen of another library's table, column or figure; None of anything else."""
    if isinstance(thing, pa.Table):
        return str(thing.schema), seen(thing.to_pydict())
    if isinstance(thing, pa.Array | pa.ChunkedArray):
        return str(thing.type), thing.to_pylist()
    if isinstance(thing, pd.DataFrame):
        return str(thing.dtypes), seen(thing.to_dict("list"))
    return (_drawn(thing),) if type(thing).__name__ == "Figure" else None


def _drawn(figure: Any) -> Any:
    """Return what a figure of matplotlib shows: every text, line and shape, where it is and of which colour."""
    return [
        (type(each).__name__, *(seen(getattr(each, get)(), 1) for get in SHOWN if hasattr(each, get)))
        for each in figure.findobj()
    ]


def _methods(thing: Any) -> Any:
    """Return what all public methods and properties of an answer give, but for figures, which take their time."""
    held = {each.name for each in fields(type(thing))}
    names = (name for name in sorted(set(dir(type(thing))) - held) if not name.startswith("_") and name != PLOT)
    return [(name, _outcome(partial(_method, thing, name))) for name in names]


def _outcome(ask: Callable[[], Any]) -> Any:
    try:
        return seen(ask(), 1)
    except JostleError as refusal:
        return _seen_error(refusal)


def _intervals(thing: Measured) -> Any:
    return thing.interval(), thing.interval(0.9, population=True)


def _method(thing: Any, name: str) -> Any:
    """Return a property, or what a method gives for the arguments of its names."""
    value = getattr(thing, name)
    if not callable(value) or (inspect.ismethod(value) and inspect.isclass(value.__self__)):
        return value if not callable(value) else name  # a way to make one is not asked of one
    needed = [each for each in inspect.signature(value).parameters.values() if each.default is inspect.Parameter.empty]
    missing = [each.name for each in needed if each.name not in ARGUMENTS]
    assert not missing, f"no case for {type(thing).__name__}.{name}: what is {missing}?"
    given = [ARGUMENTS[each.name] for each in needed]
    return value(*(each(thing) if callable(each) else each for each in given))
