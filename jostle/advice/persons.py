"""Advice on how many rows of a person to read, before any budget is spent.

Of B cells, reading m rows of a person costs noise of about B·m/ε rows, and the rows that are left out. One row more of
everybody adds B/ε to the noise and takes off a row of each person who has more than m: the best m is about the number
of rows of the person who has the (B/ε)-th most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import asdict, frozen
from numpy.typing import NDArray

from jostle.advice.expected import EPSILONS, epsilon_budgets, whole_rows, write_figure
from jostle.errors import ChoiceError, SchemaError, shown
from jostle.given import called_as, given_as, given_items
from jostle.markup import pre
from jostle.privacy.amounts import Amount, show_amount
from jostle.tables.infer import rows_of_persons
from jostle.tables.schema import ROWS_PER_PERSON, Neighbours, Schema
from jostle.tasks.answers import new_figure
from jostle.visible import aligned

Floats = NDArray[np.float64]

MOST = 1 << 17
"""No guess has more rows of a person than this."""
MOST_MEAN = 1000
MOST_SPREAD = 3
MOST_CELLS = 2**63
NEARLY = 1.1
"""An error up to so many times the least is nearly as good."""
SHAPES = (
    '"geometric 8", "zipf 8 1000" (the most rows of a person) or "lognormal 8 1.2" (the deviation of the logarithm)'
)


@frozen
class KeptRows:
    """What reading at most so many rows of a person comes to: the rows left out and, by budget, noise and error.

    Errors are rows, of all cells together.
    """

    rows_per_person: int
    dropped: float
    noise: tuple[float, ...]

    @property
    def errors(self) -> tuple[float, ...]:
        """The rows left out and the noise, by budget."""
        return tuple(self.dropped + each for each in self.noise)


@frozen
class BestRows:
    """The number of rows of a person with the least error at a budget, and the numbers that are nearly as good."""

    epsilon: Fraction
    rows_per_person: int
    low: int
    high: int
    error: float


@frozen
class PersonsAdvice:
    """How many rows of a person to read, by budget, from a public guess of how many rows persons have."""

    guess: str
    rows: int
    persons: float
    cells: int
    neighbours: Neighbours
    epsilons: tuple[Fraction, ...]
    curve: tuple[KeptRows, ...]
    best: tuple[BestRows, ...]
    notes: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        """This as plain data."""
        return {
            "guess": self.guess,
            "rows": self.rows,
            "persons": self.persons,
            "cells": self.cells,
            "neighbours": self.neighbours,
            "curve": [
                {
                    "rows_per_person": kept.rows_per_person,
                    "dropped": kept.dropped,
                    "epsilon": show_amount(epsilon),
                    "noise": noise,
                    "error": error,
                }
                for kept in self.curve
                for epsilon, noise, error in zip(self.epsilons, kept.noise, kept.errors, strict=True)
            ],
            "best": [asdict(best_at) | {"epsilon": show_amount(best_at.epsilon)} for best_at in self.best],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        head = ("rows of a person", "left out", *(f"ε = {show_amount(epsilon)}" for epsilon in self.epsilons))
        lines = [(f"{kept.rows_per_person:,}", _rows(kept.dropped), *map(_rows, kept.errors)) for kept in self.curve]
        asked = ("", "rows_per_person", "nearly as good", "error", "of all rows")
        best = [
            (
                f"ε = {show_amount(best_at.epsilon)}",
                f"{best_at.rows_per_person:,}",
                f"{best_at.low:,} to {best_at.high:,}",
                _rows(best_at.error),
                f"{best_at.error / self.rows:.1%}",
            )
            for best_at in self.best
        ]
        about = f"{self.guess}: {self.rows:,} rows of {self.persons:,.0f} persons, {self.cells:,} cells"
        return "\n".join([about, aligned([head, *lines]), aligned([asked, *best]), *self.notes])

    def _repr_html_(self) -> str:
        return pre(str(self))

    def plot(self, path: str | Path | None = None) -> Any:
        """A matplotlib figure of the error by how many rows of a person are read; write it, if told where.

        Raises:
            OptionError: matplotlib is not installed.
            ChoiceError: the file cannot be written.
        """
        figure = new_figure(7, 4.5)
        axes = figure.add_subplot()
        most = [kept.rows_per_person for kept in self.curve]
        for index, best in enumerate(self.best):
            (line,) = axes.plot(
                most, [rows.errors[index] for rows in self.curve], label=f"epsilon {show_amount(best.epsilon)}"
            )
            axes.plot([best.rows_per_person], [best.error], marker="o", color=line.get_color())
        axes.plot(most, [rows.dropped for rows in self.curve], color="grey", linestyle="--", label="left out")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_ylim(bottom=max(1.0, min(best.error for best in self.best) / 10))
        axes.set_xlabel("rows of a person that are read")
        axes.set_ylabel("error of all cells together, rows")
        axes.set_title(f"{self.guess}: {self.rows:,} rows, {self.cells:,} cells")
        axes.legend(fontsize=7)
        return write_figure(figure, path, "rows_per_person.png")


@called_as('jostle.advise_rows_per_person("geometric 8", rows=40_000, cells=200)', why="it goes by public facts alone")
def advise_rows_per_person(
    guess: str | Path | Iterable[int],
    *,
    rows: int,
    cells: int | None = None,
    schema: Schema | str | Path | None = None,
    epsilons: Iterable[Amount] = EPSILONS,
) -> PersonsAdvice:
    """How many rows of a person to read, by budget: where noise and the rows left out are least together.

    Nothing is asked of a private table. The guess is a shape with the mean number of rows of a person, as "geometric
    8", "zipf 8 1000" (at most 1,000 rows of a person) and "lognormal 8 1.2" (the deviation of the logarithm); or how
    many rows each person of a public table has; or a file of one, whose persons the schema names.

    Args:
        guess: what is publicly guessed of how many rows persons have.
        rows: about how many rows there are.
        cells: how many cells are counted; those of all columns of the schema, if left out.
        schema: the public facts about the table, or a TOML file of them.
        epsilons: budgets.

    Raises:
        ChoiceError: the guess, *rows*, *cells* or a budget is none.
        PrivateDataError: the file is private.
        SchemaError: the schema cannot be read, or names no person.
        TableError: the file cannot be read.
    """
    schema = Schema.read(schema) if isinstance(schema, str | Path) else schema
    if schema is not None:
        given_as(schema, Schema, "a schema", fix='schema=Schema({...}), or "schema.toml"', error=SchemaError)
    records, counted = whole_rows(rows), _cells(cells, schema)
    budgets = epsilon_budgets(epsilons)
    name, tail = _guessed(guess, schema)
    neighbours = "add_remove" if schema is None else schema.neighbours
    persons = records / tail.sum()
    dropped = persons * np.append(np.cumsum(tail[:0:-1])[::-1], 0.0)
    # What nobody has need not be tried: it leaves nothing out, and adds noise.
    most = np.arange(1, len(dropped) + 1)
    changed = 2 if neighbours == "replace_one" else 1
    noises = [counted * _noise(float(budget) / (most * changed)) for budget in budgets]
    best = tuple(_best(budget, dropped + noise) for budget, noise in zip(budgets, noises, strict=True))
    listed = _listed(len(dropped), max(best_at.high for best_at in best))
    return PersonsAdvice(
        guess=name,
        rows=records,
        persons=persons,
        cells=counted,
        neighbours=neighbours,
        epsilons=tuple(budgets),
        curve=tuple(
            KeptRows(each, float(dropped[each - 1]), tuple(float(noise[each - 1]) for noise in noises))
            for each in listed
        ),
        best=best,
        notes=(
            "Errors are rows, of all cells together: the rows left out, and noise.",
            f"Nearly as good: an error of at most {NEARLY:g} times the least.",
            f"Where a schema says nothing, {ROWS_PER_PERSON} rows of a person are read.",
        ),
    )


def _noise(scaled: Floats) -> Floats:
    """How far from 0 two-sided geometric noise is on average: exactly, and for a small epsilon about 1/epsilon."""
    expected: Floats = 1 / np.sinh(np.minimum(scaled, 700))
    return expected


def _best(budget: Fraction, errors: Floats) -> BestRows:
    """Errors fall and then rise, so that those nearly as good as the least stand beside it."""
    place = int(errors.argmin())
    near = np.flatnonzero(errors <= NEARLY * errors[place])
    return BestRows(budget, place + 1, int(near[0]) + 1, int(near[-1]) + 1, float(errors[place]))


def _listed(longest: int, best: int) -> list[int]:
    """Powers of two and those between, up to beyond the best and what is read where nothing is said."""
    last = min(longest, 2 * max(best, ROWS_PER_PERSON))
    powers = [1 << power for power in range(last.bit_length())]
    return sorted({each for power in powers for each in (power, power * 3 // 2) if each <= last} | ({longest} & {last}))


def _guessed(guess: str | Path | Iterable[int], schema: Schema | None) -> tuple[str, Floats]:
    """What a guess is called, and which share of persons has more than 0, 1, 2, ... rows."""
    words = guess.split() if isinstance(guess, str) else []
    if words and words[0].lower() in TAILS:
        tail = _shaped(words[0].lower(), words[1:])
        return " ".join([words[0].lower(), *words[1:]]), tail
    if isinstance(guess, str | Path):
        if not Path(guess).suffix:
            raise ChoiceError(
                f"there is no shape {shown(str(guess))}",
                why="a guess is a shape and the mean number of rows of a person, or a file of public rows",
                fix=SHAPES,
            )
        if schema is None or schema.person is None:
            raise SchemaError(
                "a file of public rows is given, and no person",
                why="the schema says which column says whose each row is",
                fix='a schema with person = "patient_id"',
            )
        counts = rows_of_persons(Path(guess), schema.person)
        return f"persons in {Path(guess).name}", _tail_of(counts)
    numbers = given_items(guess, "a list of numbers of rows", fix="[1, 1, 2, 5]", error=ChoiceError)
    if not numbers or not all(
        isinstance(number, int | np.integer) and not isinstance(number, bool) and 1 <= number < 2**63
        for number in numbers
    ):
        raise ChoiceError(
            "how many rows each person has is not given as whole numbers from 1",
            fix=f"[1, 1, 2, 5], from a public table; or {SHAPES}",
        )
    return f"{len(numbers):,} public persons", _tail_of(np.array(numbers, dtype=np.int64))


def _tail_of(counts: NDArray[np.int64]) -> Floats:
    if not len(counts):
        raise ChoiceError("there are no persons in the public rows", fix="name a table of rows of persons")
    having = np.bincount(np.minimum(counts, MOST))
    return np.cumsum(having[::-1])[::-1][1:] / len(counts)


def _shaped(shape: str, words: list[str]) -> Floats:
    """The tail of a shape, from the numbers after its name."""
    tail, parts = TAILS[shape]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != parts or not 1 < numbers[0] <= MOST_MEAN:
        raise ChoiceError(
            f"{shape} has {parts} number{'s' * (parts > 1)} after it, the first a mean above 1 and up to {MOST_MEAN:,}",
            fix=SHAPES,
        )
    return np.trim_zeros(tail(*numbers), "b")


def _geometric(mean: float) -> Floats:
    tail: Floats = np.exp(np.arange(MOST) * np.log1p(-1 / mean))
    return tail


def _zipf(mean: float, most: float) -> Floats:
    """Shares that fall by a power of the number of rows, with this mean, up to the most rows."""
    if not 2 * mean - 1 <= most <= MOST or most != int(most):
        raise ChoiceError(
            f"zipf has the most rows of a person as its second number: a whole one from {2 * mean - 1:g} to {MOST:,}",
            fix=SHAPES,
        )
    logs = np.log(np.arange(1, int(most) + 1))

    def tail(power: float) -> Floats:
        shares = np.exp(-power * logs)
        falling: Floats = np.cumsum(shares[::-1])[::-1] / shares.sum()
        return falling

    return tail(_root(lambda power: tail(power).sum() - mean, -1.0, 64.0))


def _lognormal(mean: float, spread: float) -> Floats:
    """Rounded up."""
    from scipy.special import ndtr  # noqa: PLC0415 - takes its time to load

    if not 0 < spread <= MOST_SPREAD:
        raise ChoiceError(
            f"lognormal has the deviation of the logarithm as its second number: above 0, up to {MOST_SPREAD}",
            fix=SHAPES,
        )
    logs = np.log(np.arange(1, MOST))

    def tail(centre: float) -> Floats:
        return np.concatenate([[1.0], ndtr((centre - logs) / spread)])

    return tail(_root(lambda centre: tail(centre).sum() - mean, -40.0, np.log(MOST)))


def _root(rising_or_falling: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq  # noqa: PLC0415 - takes its time to load

    return float(brentq(rising_or_falling, low, high, xtol=1e-9))


TAILS: Mapping[str, tuple[Callable[..., Floats], int]] = {
    "geometric": (_geometric, 1),
    "zipf": (_zipf, 2),
    "lognormal": (_lognormal, 2),
}
"""Shapes with how many numbers each has."""


def _cells(cells: object, schema: Schema | None) -> int:
    if cells is None and schema is not None:
        return schema.size(*schema.names)
    if isinstance(cells, bool) or not isinstance(cells, int | np.integer) or not 1 <= cells < MOST_CELLS:
        raise ChoiceError(
            "how many cells are counted is not said" if cells is None else f"cells is {shown(cells)}",
            why="it is how many cells are counted: 1 for a count, 24 for a histogram of 24 values",
            fix="cells=24, or a schema, all of whose cells it is then",
        )
    return int(cells)


def _rows(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}" if number >= 0.05 else "0"
