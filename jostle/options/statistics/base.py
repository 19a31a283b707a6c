"""What all ways to a statistic have in common: how they are called, and what is refused before anything is charged."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from attrs import evolve, frozen

from jostle.errors import OptionError
from jostle.given import PRICE, called_as
from jostle.options.base import ELSEWHERE, Option, check_probe
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.measured import MeasuredNumber, MeasuredNumbers
from jostle.privacy.mechanisms import Mechanism, check_scale
from jostle.privacy.probe import Probe
from jostle.tables.columns import Numeric
from jostle.tables.schema import Schema
from jostle.tasks.answers import Answer
from jostle.tasks.statistics import HALF

Asked = tuple[Any, ...]


@frozen(kw_only=True)
class Statistic(Option[Answer]):
    """An Option that says something of a column: `option(db, "age", epsilon=1)`."""

    def refuses(self, schema: Schema) -> str | None:
        for _, column in schema.columns:
            if isinstance(column, Numeric):
                return None
        return "the table has no column of numbers"

    def refuses_column(self, schema: Schema, column: str) -> str | None:
        """The reason why this says nothing of a column of numbers, or None: public facts."""
        return None

    @abstractmethod
    def asks(self, schema: Schema, asked: Asked, epsilon: Fraction) -> tuple[tuple[Mechanism, Fraction], ...]:
        """Questions that it will put, with the budget of each, so that they are refused before anything is charged.

        Of those that hang on answers, such as cost as much whatever the answers are.
        """

    def check(self, schema: Schema, asked: Asked, epsilon: Fraction) -> None:
        """Refuse what a door would refuse, all of it before any of it is charged."""
        for mechanism, budget in self.asks(schema, asked, epsilon):
            mechanism.kernel(schema).cells(schema)
            mechanism.check(schema, epsilon_amount(budget))
            for scale in mechanism.scales(schema, budget):
                check_scale(scale)

    @abstractmethod
    def run(self, db: Probe, *asked: Any) -> Answer:
        """The answer; *db* has just the budget that comes last."""


def answered(option: Statistic[Answer], db: Probe, asked: Asked, epsilon: Amount, site: str | None) -> Answer:
    """The answer of an Option to what it is asked of a column."""
    check_probe(db, option.name)
    schema, budget = db.schema, epsilon_amount(epsilon)
    if option.refuses(schema) is None:
        read = option.task.question.read(schema, asked or option.task.question.usual(schema))
        option.refuse_hopeless(db, budget)
        option.check(schema, read, budget / db.unit)
        if reason := option.refuses_column(schema, read[0]):
            raise OptionError(f"{option.name} does not run here: {reason}", fix=ELSEWHERE)
    else:
        read = asked
    return bought(option, db, read, budget, site)


def bought(option: Statistic[Answer], db: Probe, asked: Asked, budget: Fraction, site: str | None) -> Answer:
    """The answer to what was looked at already."""
    return option.perform(db, budget, lambda probe, own: spent(option.run(probe, *asked, own), budget), site=site)


def spent(answer: Any, epsilon: Fraction) -> Any:
    """The answer, with what all of it cost whoever asked: they may count persons."""
    if isinstance(answer, MeasuredNumbers):
        return MeasuredNumbers(spent(number, epsilon) for number in answer)
    if answer.evidence.cost == epsilon:
        return answer
    return MeasuredNumber(evolve(answer.evidence, cost=epsilon))  # all kinds are attrs classes


@frozen(kw_only=True)
class OfColumn(Statistic[MeasuredNumber]):
    """An Option that says one number of a column."""

    @called_as('option(db, "age", epsilon=0.1)', why=PRICE)
    def __call__(
        self, db: Probe, column: str | None = None, *, epsilon: Amount, site: str | None = None
    ) -> MeasuredNumber:
        """The statistic of a column, the first one of numbers if none is named, with *epsilon* of the budget."""
        return answered(self, db, () if column is None else (column,), epsilon, site)


@frozen(kw_only=True)
class OfQuantiles(Statistic[MeasuredNumbers]):
    """An Option that says several quantiles of a column at once."""

    @called_as('option(db, "age", [0.25, 0.75], epsilon=0.1)', why=PRICE)
    def __call__(
        self,
        db: Probe,
        column: str | None = None,
        shares: Iterable[Amount] = HALF,
        *,
        epsilon: Amount,
        site: str | None = None,
    ) -> MeasuredNumbers:
        """Quantiles of a column, the median of the first one of numbers if none is named."""
        return answered(self, db, () if column is None else (column, shares), epsilon, site)


def declared_numbers(schema: Schema, column: str) -> int | None:
    """Number of rows with a number in a column, where that is public: declared, and none without one."""
    if schema.rows is None:
        return None
    return schema.rows if schema[column].missing_code is None and schema[column].other_code is None else None
