"""Advice on a budget before any of it is spent: the loss to expect of an Option where only public facts are known.

On a scale on which losses differ by about as much everywhere, the loss is expected to be a bent line over the logarithm
of records times epsilon, moved by how many classes there are, and by how common the commonest is where anybody knows.
How far losses lie from it is a bent line of the same kind, since what is known of few records scatters more; the band
is as many times that wide as it has to be on databases that took no part in it, all groups counting the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
from attrs import asdict, frozen
from numpy.typing import NDArray

from jostle.choice.makers.shipped import ADVISED, SHIPPED
from jostle.errors import ChoiceError, SchemaError, shown
from jostle.files.kinds import FileKind
from jostle.given import called_as, given_as, given_items, given_path
from jostle.learned.files import shipped_folder
from jostle.markup import pre
from jostle.options import get
from jostle.options.base import Option
from jostle.privacy.amounts import Amount, epsilon_amount, exact, show_amount
from jostle.programs import load_maker
from jostle.tables.schema import Schema
from jostle.tasks import Task
from jostle.tasks.answers import new_figure
from jostle.visible import aligned

Floats = NDArray[np.float64]
Scale = Literal["share", "size"]
"""Of losses: shares lie between 0 and 1, sizes are any from 0 up."""

INSIDE = 0.8
"""Of all losses, what is to lie in the band."""
BENDS = (3.0, 5.0, 8.0, 11.0)
"""Where lines bend, in logarithms of records times epsilon."""
LEAST_SHARE, LEAST_SIZE = 0.005, 1e-9


def to_scale(losses: Floats, scale: Scale) -> Floats:
    """Losses on the scale that bands are on."""
    if scale == "size":
        return np.asarray(np.log(np.maximum(losses, LEAST_SIZE)))
    shares = np.clip(losses, LEAST_SHARE, 1 - LEAST_SHARE)
    return np.asarray(np.log(shares / (1 - shares)))


def from_scale(number: float, scale: Scale) -> float:
    """The loss that a number on the scale stands for."""
    return math.exp(number) if scale == "size" else 1 / (1 + math.exp(-number))


def inputs_of(records_epsilon: float, classes: int, commonest: float | None) -> Floats:
    """What a band goes by: *commonest* is the share of the commonest class, where it is known."""
    bent = [max(0.0, records_epsilon - bend) for bend in BENDS]
    told = [] if commonest is None else [float(to_scale(np.array([1 - commonest]), "share")[0])]
    return np.array([records_epsilon, *bent, *([math.log(classes)] if classes else []), *told])


@frozen
class Band:
    """A line over inputs, and how far below and above it losses lie, in units of another line."""

    start: float
    slopes: tuple[float, ...]
    below: float
    above: float
    spread_start: float
    spread_slopes: tuple[float, ...]
    """Of the logarithm of the unit: over records times epsilon alone."""

    def centre(self, inputs: Floats) -> float:
        """What is expected, on the scale."""
        return self.start + float(np.dot(self.slopes, inputs))

    def ends(self, inputs: Floats) -> tuple[float, float]:
        """How far below what is expected losses lie, and how far above it, on the scale."""
        unit = math.exp(self.spread_start + float(np.dot(self.spread_slopes, inputs[: len(self.spread_slopes)])))
        return self.below * unit, self.above * unit


VERSION = 1
ADVICE = FileKind("file of expected losses", ChoiceError, "python benchmarks/ship_advice.py makes it anew", VERSION)


@frozen
class OptionBands:
    """What is expected of an Option."""

    version: int
    """Of the Option."""
    plain: Band
    told: Band | None
    """Where it is known how common the commonest class is."""
    beside_guess: Band
    """How far its loss is from that of guessing, on the same databases."""


@frozen
class Expectations:
    """What is expected of the Options that a maker which came with Jostle chooses among, and others of its task."""

    scale: Scale
    judge: str
    guess: str
    """The Option that looks at nothing but how many rows there are of what."""
    maker: str
    cells: tuple[int, ...]
    """Numbers of cells that the grids had."""
    least: float
    most: float
    """Logarithms of records times epsilon that were rehearsed."""
    digests: tuple[str, ...]
    """The beginnings of the digests of the databases it was learned from."""
    groups: int
    options: Mapping[str, OptionBands]

    @property
    def databases(self) -> int:
        """How many databases it was learned from."""
        return len(self.digests)


def path() -> Path:
    """Where the file is."""
    return shipped_folder() / "advice.json"


@cache
def kept_expectations() -> Mapping[str, Expectations]:
    """What is expected, by the name of the maker."""
    file = ADVICE.at(path())
    facts = file.facts(file.text())
    return {name: file.made(Expectations, fact) for name, fact in facts.items()}


EPSILONS = ("0.03", "0.1", "0.3", "1", "3")
FINE = tuple(float(f"{10 ** (exponent / 20):.3g}") for exponent in range(-40, 21))
"""Budgets that are tried for a wanted loss, from 0.01 to 10."""
GAIN = 0.1
"""On the bands' scale, how far an Option is to be ahead of guessing."""


@frozen
class Expected:
    """The loss to expect of an Option at a budget: four times in five it lies from *low* to *high*."""

    option: str
    epsilon: Fraction
    loss: float
    low: float
    high: float


@frozen
class Needed:
    """The least budget that a loss is reached at: as likely as not, and nine times in ten; None for above 10."""

    option: str
    likely: float | None
    safe: float | None


@frozen
class Advice:
    """What to expect of each Option and of the maker, from public facts and rehearsals on public databases."""

    rows: int
    judge: str
    expected: tuple[Expected, ...]
    wanted: float | None
    needed: tuple[Needed, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def options(self) -> tuple[str, ...]:
        """The Options, the one of which least is expected to go wrong first."""
        return tuple(dict.fromkeys(expected.option for expected in self.expected))

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        return asdict(self, value_serializer=_plain)

    def __str__(self) -> str:
        epsilons = tuple(dict.fromkeys(each.epsilon for each in self.expected))
        cells = {(expected.option, expected.epsilon): _cell(expected) for expected in self.expected}
        head = (f"{self.judge}, {self.rows:,} rows", *(f"ε = {show_amount(epsilon)}" for epsilon in epsilons))
        lines = [head, *((option, *(cells[option, epsilon] for epsilon in epsilons)) for option in self.options)]
        parts = [aligned(lines)]
        if self.wanted is not None:
            asked = (f"ε for {self.judge} {self.wanted:g}", "as likely as not", "nine times in ten")
            parts.append(aligned([asked, *((n.option, _amount(n.likely), _amount(n.safe)) for n in self.needed)]))
        parts += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join([*parts, *self.notes])

    def _repr_html_(self) -> str:
        return pre(str(self))

    def plot(self, path: str | Path | None = None) -> Any:
        """A matplotlib figure of losses by budget, with the first Option's band; write it, if told where.

        Raises:
            OptionError: matplotlib is not installed.
            ChoiceError: the file cannot be written.
        """
        figure = new_figure(7, 4.5)
        axes = figure.add_subplot()
        for rank, option in enumerate(self.options):
            of_option = sorted(
                (point for point in self.expected if point.option == option), key=lambda point: point.epsilon
            )
            epsilons = [float(point.epsilon) for point in of_option]
            (line,) = axes.plot(epsilons, [point.loss for point in of_option], marker="o", label=option)
            if not rank:
                low, high = [point.low for point in of_option], [point.high for point in of_option]
                axes.fill_between(epsilons, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        axes.set_xscale("log")
        axes.set_xlabel("epsilon")
        axes.set_ylabel(self.judge)
        axes.set_title(f"{self.rows:,} rows; the band holds four in five of {self.options[0]}'s")
        axes.legend(fontsize=7)
        return write_figure(figure, path, "losses.png")


@called_as("jostle.advise(schema=schema, rows=10_000)", why="it goes by public facts alone")
def advise(
    what: str | Option | None = None,
    *,
    schema: Schema | str | Path,
    rows: int,
    epsilons: Iterable[Amount] = EPSILONS,
    loss: Amount | None = None,
    commonest: Amount | None = None,
) -> Advice:
    """The loss to expect of an Option, or of each that a maker or a program chooses among, over budgets.

    Nothing is asked of a table: *rows* is about how many there are, and *commonest* about which share of them has the
    commonest class, where that is known from elsewhere; it makes bands half as wide. *loss* is wanted: the budget for
    it is said.

    Args:
        what: an Option, a maker, their name, or a program; what is shipped for the schema, if left out.
        schema: the public facts about the table, or a TOML file of them.
        rows: about how many rows there are.
        epsilons: budgets.
        loss: one that is wanted.
        commonest: the share of the commonest class.

    Raises:
        ChoiceError: nothing can be said of such tables, or *rows* or a budget is none.
        OptionError: there is no such Option.
        SchemaError: the schema cannot be read.
    """
    schema = Schema.read(schema) if isinstance(schema, str | Path) else schema
    given_as(schema, Schema, "a schema", fix='schema=Schema({...}), or "schema.toml"', error=SchemaError)
    records = whole_rows(rows)
    asked, name, notes = _asked(what, schema)
    expectations = kept_expectations()[name]
    options, absent = _known(asked, expectations)
    notes += [f"{each} was not rehearsed as it is now, so nothing is known of it" for each in absent]
    if not options:
        raise ChoiceError(
            f"nothing is known of {', '.join(absent)}",
            why="losses are expected from rehearsals on public databases, which came with Jostle",
            fix=f"one of {', '.join(expectations.options)}; or jostle train, and then jostle evaluate",
        )
    budgets = epsilon_budgets(epsilons)
    facts = _Facts(
        records, len(schema.classes) if expectations.scale == "share" else 0, _share(commonest, expectations)
    )
    found = {option: _over(facts, option, expectations, list(map(float, budgets))) for option in options}
    order = sorted(options, key=lambda option: found[option][len(budgets) // 2][0])
    wanted = None if loss is None else float(exact(loss, "loss"))
    return Advice(
        rows=records,
        judge=expectations.judge,
        expected=tuple(
            Expected(option, budget, *numbers)
            for option in order
            for budget, numbers in zip(budgets, found[option], strict=True)
        ),
        wanted=wanted,
        needed=() if wanted is None else tuple(_needed(facts, option, expectations, wanted) for option in order),
        warnings=tuple(_warnings(facts, order, expectations, budgets)),
        notes=(*notes, *_notes(facts, schema, expectations, budgets)),
    )


def epsilon_budgets(epsilons: Iterable[Amount]) -> list[Fraction]:
    """Budgets to advise on, the least first; refuse what is none, and no budget at all."""
    listed = given_items(epsilons, "a list of budgets", fix="epsilons=[0.1, 1]", error=ChoiceError)
    budgets = sorted({epsilon_amount(epsilon) for epsilon in listed})
    if not budgets:
        raise ChoiceError("there are no budgets to advise on", fix="epsilons=[0.1, 1]")
    return budgets


def write_figure(figure: Any, path: str | Path | None, example: str) -> Any:
    """The figure, written into a file if one is named."""
    if path is not None:
        target = given_path(path, ChoiceError, fix=f'plot("{example}")')
        try:
            figure.savefig(target)
        except (OSError, ValueError) as mistake:
            raise ChoiceError(
                f"cannot write {target}: {mistake}", fix="name a file that ends in .png or .svg"
            ) from None
    return figure


@frozen
class _Facts:
    """What is public."""

    rows: int
    classes: int
    commonest: float | None

    def inputs(self, epsilon: float, known: Expectations, *, told: bool) -> Any:
        """What a band goes by, as far as was rehearsed."""
        reach = min(max(math.log(self.rows * epsilon), known.least), known.most)
        return inputs_of(reach, self.classes, self.commonest if told else None)


def _over(
    facts: _Facts, option: str, known: Expectations, epsilons: Sequence[float]
) -> list[tuple[float, float, float]]:
    """The expected loss and its band at each rising budget: more budget is never expected to do harm."""
    bands = known.options[option]
    told = bands.told if facts.commonest is not None else None
    band = told or bands.plain
    inputs = [facts.inputs(epsilon, known, told=told is not None) for epsilon in epsilons]
    lowest = accumulate(map(band.centre, inputs), min)
    return [_loss_between(centre, band.ends(each), known.scale) for centre, each in zip(lowest, inputs, strict=True)]


def _loss_between(centre: float, ends: tuple[float, float], scale: Scale) -> tuple[float, float, float]:
    loss, low, high = (from_scale(number, scale) for number in (centre, centre - ends[0], centre + ends[1]))
    return loss, low, high


def _needed(facts: _Facts, option: str, known: Expectations, wanted: float) -> Needed:
    found = _over(facts, option, known, FINE)
    likely = next((epsilon for epsilon, (loss, _, _) in zip(FINE, found, strict=True) if loss <= wanted), None)
    safe = next((epsilon for epsilon, (_, _, high) in zip(FINE, found, strict=True) if high <= wanted), None)
    return Needed(option, likely, safe)


def _warnings(facts: _Facts, options: Sequence[str], known: Expectations, budgets: Sequence[Fraction]) -> Iterable[str]:
    """Say at which budgets nothing is expected to be worth more than a guess."""
    too_small = [budget for budget in budgets if not _worth(facts, options, known, float(budget))]
    if too_small:
        most = max(too_small)
        yield (
            f"rows times epsilon is too small up to epsilon {show_amount(most)} ({facts.rows * float(most):,.0f}): "
            f"there, nothing is expected to do better than {known.guess}, which knows next to nothing"
        )


def _worth(facts: _Facts, options: Sequence[str], known: Expectations, epsilon: float) -> bool:
    inputs = facts.inputs(epsilon, known, told=False)
    return any(known.options[option].beside_guess.centre(inputs) < -GAIN for option in options)


def _notes(facts: _Facts, schema: Schema, known: Expectations, budgets: Sequence[Fraction]) -> Iterable[str]:
    yield f"{known.judge}: {SHIPPED[known.maker].task.judge(known.judge).about}."
    yield (
        f"Four in five losses are expected in brackets, from rehearsals on {known.databases} public databases of "
        f"{known.groups} groups."
    )
    if known.scale == "share" and facts.commonest is None:
        yield "How common the commonest class is, if it is publicly known, makes them half as wide: commonest."
    reach = [math.log(facts.rows * float(budget)) for budget in budgets]
    if min(reach) < known.least - 0.1 or max(reach) > known.most + 0.1:
        low, high = math.exp(known.least), math.exp(known.most)
        yield f"Rehearsed was with rows times epsilon from {low:,.0f} to {high:,.0f}; beyond, figures stay the same."
    cells = schema.size(*schema.names)
    if known.cells and not known.cells[0] / 4 <= cells <= known.cells[-1] * 4:
        yield f"Rehearsed was on grids of {_listed(known.cells)} cells, and this one has {cells:,}."


def _asked(what: str | Option | None, schema: Schema) -> tuple[list[str], str, list[str]]:
    """Options that are asked about, as whose task's they are known, and what is to be said of them."""
    wanted = what if isinstance(what, str) and what in SHIPPED else None
    task = SHIPPED[wanted].task if wanted is not None else _task(what, schema)
    if task is not None:
        name = _home(schema, task, wanted)
        return [ADVISED[name].maker or name, *ADVISED[name].among], name, []
    if isinstance(what, str) and Path(what).suffix in {".jst", ".py"}:
        maker = load_maker(what)
        notes = [f"{maker.label} itself is expected to do about as the best of its Options does."]
        return [each.name for each in maker.among], _home(schema, maker.task), notes
    option = get(what) if isinstance(what, str) else what
    if not isinstance(option, Option):
        raise ChoiceError(f"{type(option).__name__} is no Option", fix='advise("PooledTree", schema=schema, rows=1000)')
    name = _home(schema, option.task)
    return [option.name, name], name, []


def _task(what: object, schema: Schema) -> Task[Any] | None:
    """The task that Jostle came with makers for and that is meant: by one of its other names, or by what suits."""
    tasks = tuple(dict.fromkeys(shipped.task for shipped in ADVISED.values()))
    if what is None:
        return next((task for task in tasks if task.question.suits(schema)), tasks[-1])
    return next((task for task in tasks if isinstance(what, str) and what in task.also), None)


def _home(schema: Schema, task: Task[Any], wanted: str | None = None) -> str:
    """Name of the maker with whose task's Options it belongs."""
    if not task.question.suits(schema):
        raise ChoiceError(f"this schema is not one for what {task.question.does}", fix=task.question.suited)
    if task not in {shipped.task for shipped in ADVISED.values()}:
        told = dict.fromkeys(shipped.maker or name for name, shipped in ADVISED.items())
        raise ChoiceError(
            f"nothing is said beforehand of what {task.question.does}",
            why="no rehearsal of it came with Jostle that its losses could be held against",
            fix=f"one of {', '.join(told)}; or jostle evaluate, on public databases like yours",
        )
    makers = {name: each for name, each in ADVISED.items() if each.judge is None}
    name = next((name for name, maker in makers.items() if maker.task is task and maker.spans(schema)), None)
    if name is None:
        raise ChoiceError(
            f"nothing was rehearsed of the task {task.name!r} on {len(schema.names)} columns",
            fix=", or ".join(dict.fromkeys(each.task.question.suited for each in ADVISED.values())),
        )
    return wanted if wanted is not None and wanted in ADVISED else name


def _known(asked: Iterable[str], known: Expectations) -> tuple[list[str], list[str]]:
    """Options of which something is known as they are now, and those of which nothing is."""
    found: list[str] = []
    absent: list[str] = []
    for name in dict.fromkeys(asked):
        bands = known.options.get(name)
        current = bands is not None and (name == known.maker or get(name).version == bands.version)
        (found if current else absent).append(name)
    return found, absent


def _share(given: Amount | None, known: Expectations) -> float | None:
    if given is None:
        return None
    share = float(exact(given, "commonest"))
    if known.scale != "share" or not 0 < share < 1:
        raise ChoiceError(
            f"commonest is {given}" if known.scale == "share" else "a grid has no commonest class",
            why="it is the share of the commonest class, where a label is predicted",
            fix="commonest=0.7",
        )
    return share


def whole_rows(rows: object) -> int:
    """About how many rows there are; refuse what is no such number."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or not 1 <= rows < 2**63:
        raise ChoiceError(f"rows is {shown(rows)}", why="it is about how many rows there are", fix="rows=10_000")
    return int(rows)


def _plain(_of: Any, _field: Any, value: Any) -> Any:
    return show_amount(value) if isinstance(value, Fraction) else value


def _cell(expected: Expected) -> str:
    return f"{_number(expected.loss)} ({_number(expected.low)} to {_number(expected.high)})"


def _number(loss: float) -> str:
    return f"{loss:.2f}" if loss >= 0.01 else f"{loss:.1e}"


def _amount(epsilon: float | None) -> str:
    return "above 10" if epsilon is None else f"{epsilon:g}"


def _listed(numbers: Sequence[int]) -> str:
    return " to ".join(f"{each:,}" for each in dict.fromkeys((numbers[0], numbers[-1])))
