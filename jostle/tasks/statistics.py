"""Statistics of a column of numbers: what is asked, and how far an answer is off.

Each is a task of its own, since the answer to one is none to another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.corpora.databases import PublicTable
from jostle.corpora.parts import TableSpec
from jostle.errors import OptionError, ProbeError, shown
from jostle.given import given_items
from jostle.privacy.amounts import exact, show_amount
from jostle.privacy.measured import MeasuredNumber, MeasuredNumbers
from jostle.privacy.scores import MOST_PARTS
from jostle.tables.block import code_type, grain_in
from jostle.tables.columns import Numeric
from jostle.tables.engines import MemorySource
from jostle.tables.fields import name
from jostle.tables.schema import Schema
from jostle.tables.table import Table
from jostle.tasks.answers import Answer
from jostle.tasks.base import Instance, Judge, Question, Shown, Task, register
from jostle.tasks.classification.instances import table_instance
from jostle.tasks.classification.task import CLASSIFICATION, log_epsilon

Floats = NDArray[np.float64]
COLUMN = "number"
"""What the column of an instance is called."""
COLUMN_ALONE: Mapping[str, type] = {"column": str}
HALF = ("1/2",)
"""The quantiles of a column where nobody says which: its median."""


@frozen(eq=False, repr=False)
class StatisticInstance(Instance):
    """The widest attribute of a public table, read as numbers, and a statistic of it."""

    key: str
    table: Table
    rows: int
    truth: Floats = field()
    """The statistic of the rows, a number or several."""
    span: float
    """From the least number that there may be to the greatest."""

    def lists(self, answer: Any, /) -> tuple[list[float], list[float]]:
        """What was answered, and what is true."""
        answers = np.ravel(np.asarray(answer, dtype=np.float64))
        if answers.shape != self.truth.shape:
            raise OptionError(
                f"an answer is {type(answer).__name__}, which has no loss on a statistic",
                why="what is judged is one number for each that was asked for",
                fix="return them",
            )
        return answers.tolist(), self.truth.tolist()

    def loss(self, answer: Any, /) -> float:
        """How far the answer is off, in spans of the column; of several numbers, their mean."""
        answers, truth = self.lists(answer)
        return float(np.abs(np.subtract(answers, truth)).mean()) / self.span


def instance_of(statistic: Callable[[Floats], Any]) -> Callable[[PublicTable, TableSpec], StatisticInstance]:
    """What makes an instance of a public table, for one statistic."""

    def instance(database: PublicTable, spec: TableSpec) -> StatisticInstance:
        held = table_instance(database, spec)
        widest = max(held.schema.attributes, key=lambda attribute: held.schema[attribute].size)
        size = max(2, held.schema[widest].size)
        codes = held.codes[:, held.schema.attributes.index(widest)]
        schema = Schema(
            {COLUMN: Numeric(0, size, bins=size)},
            neighbours=held.schema.neighbours,
            rows=None if held.schema.rows is None else len(codes),
        )
        key = f"{COLUMN} of {held.key}"
        table = Table(MemorySource(schema, {COLUMN: codes.astype(code_type(size))}, len(codes), identity=key.encode()))
        numbers = codes.astype(np.float64)
        return StatisticInstance(key, table, len(codes), np.ravel(statistic(numbers)), float(size))

    return instance


def column_of(schema: Schema, asked: tuple[Any, ...]) -> tuple[Any, ...]:
    """A column of numbers; refuse what is none."""
    (column,) = asked
    grain_in(schema, name(column))
    return (column,)


def shares_of(schema: Schema, asked: tuple[Any, ...]) -> tuple[Any, ...]:
    """A column of numbers, and which of its quantiles, as exact fractions; refuse what is none."""
    column, shares = asked
    grain_in(schema, name(column))
    fix = 'db.quantiles("age", [0.25, 0.5, 0.75], epsilon=0.1)'
    given = given_items(shares, "a list of shares", fix=fix, error=ProbeError)
    if not given:
        raise ProbeError("no quantile is asked for", why="there is nothing to answer", fix=fix)
    found = tuple(exact(each, "share").limit_denominator(MOST_PARTS) for each in given)
    for each, share in zip(given, found, strict=True):
        if not 0 <= share <= 1:
            raise ProbeError(
                f"the quantile {shown(each)} is asked for", why="it is a share of the rows, from 0 to 1", fix="0.5"
            )
    return column, found


def _numbers(schema: Schema) -> tuple[str, ...]:
    """The columns of numbers."""
    return tuple(each for each in schema.names if isinstance(schema[each], Numeric))


def _off(instance: StatisticInstance, answer: Any) -> float:
    return instance.loss(answer)


def _data(answer: Any) -> Any:
    """The numbers, with the ends of their intervals."""
    each = answer if isinstance(answer, MeasuredNumbers) else (answer,)
    return [{"value": one.value, "interval": list(one.interval()), "epsilon": show_amount(one.cost)} for one in each]


def _save(answer: Any, path: Path) -> None:
    path.write_text(json.dumps(_data(answer)), "utf-8")


def _task(
    title: str,
    does: str,
    answers: type[Answer],
    statistic: Callable[[Floats], Any],
    *,
    read: Callable[[Schema, tuple[Any, ...]], tuple[Any, ...]] = column_of,
    beside: Mapping[str, type] = COLUMN_ALONE,
    more: tuple[Any, ...] = (),
    named: str,
) -> Task[Answer]:
    """Register a statistic as a task."""
    return register(
        Task(
            name=title,
            question=Question(
                does=does,
                modules=(title,),
                named=named,
                answers=(answers,),
                gives="what db.mean, db.quantiles and their like give",
                beside=beside,
                usual=lambda schema: (*_numbers(schema)[:1], *more),
                read=read,
                suits=lambda schema: False,
                suited="a schema with a column of numbers",
            ),
            rehearsal=evolve(
                CLASSIFICATION.rehearsal,
                instance=instance_of(statistic),
                judges=(Judge("off", _off, "how far the answer is off, in spans of the column", 1e-6),),
                sure=False,
                free=(log_epsilon,),
                bought=(),
            ),
            shown=Shown(text=str, data=_data, drawn=None, save=_save, endings=(".json",)),
        )
    )


MEANS: Task[MeasuredNumber] = _task(
    "means", "says the mean of a column", MeasuredNumber, lambda numbers: numbers.mean(), named="MeanName"
)
SUMS: Task[MeasuredNumber] = _task(
    "sums", "says the sum of a column", MeasuredNumber, lambda numbers: numbers.sum(), named="SumName"
)
VARIANCES: Task[MeasuredNumber] = _task(
    "variances", "says the variance of a column", MeasuredNumber, lambda numbers: numbers.var(), named="VarianceName"
)
QUANTILES: Task[MeasuredNumbers] = _task(
    "quantiles",
    "says quantiles of a column",
    MeasuredNumbers,
    lambda numbers: np.quantile(numbers, 0.5),
    read=shares_of,
    beside={"column": str, "shares": object},
    more=(HALF,),
    named="QuantileName",
)
