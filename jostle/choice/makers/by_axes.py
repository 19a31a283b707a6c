"""Makers for grids of different numbers of axes as one: the table says which of them answers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from attrs import field, frozen

from jostle.choice.makers.maker import ChoiceMaker
from jostle.errors import OptionError
from jostle.given import PRICE, called_as
from jostle.options.base import Option, check_probe
from jostle.privacy.amounts import Amount
from jostle.privacy.events import Event
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema
from jostle.tasks import Task
from jostle.tasks.answers import Answer

__all__ = ["MakersByAxes"]


@frozen(kw_only=True, eq=False)
class MakersByAxes(Option[Answer]):
    """An Option that is a choice maker for tables of so many columns, and another one for others."""

    label: str
    makers: tuple[ChoiceMaker[Answer], ...] = field()

    @property
    def task(self) -> Task[Any]:  # type: ignore[override]  # of other Options a fact of the class
        """The task that its makers answer."""
        return self.makers[0].task

    @property
    def version(self) -> int:  # type: ignore[override]  # as above
        """A mark of what its makers learned."""
        return hash(tuple(maker.version for maker in self.makers)) & (2**31 - 1)

    @property
    def fitted_on(self) -> tuple[Any, ...]:
        """What its makers learned from."""
        return tuple(maker.fitted_on for maker in self.makers)

    @property
    def name(self) -> str:
        """Its name."""
        return self.label

    def maker_for(self, schema: Schema) -> ChoiceMaker[Answer]:
        """The maker that learned from tables of so many columns; the last one, which refuses, where none did."""
        return next((maker for maker in self.makers if len(schema.names) in maker.axes), self.makers[-1])

    def refuses(self, schema: Schema) -> str | None:
        """The reason why no maker is for such tables, or None."""
        known = sorted({count for maker in self.makers for count in maker.axes})
        if len(schema.names) not in known:
            return (
                f"it learned from grids of {' or '.join(map(str, known))} axes, and this table has {len(schema.names)}"
            )
        return self.maker_for(schema).refuses(schema)

    def cost(self, schema: Schema, epsilon: Fraction) -> Event:
        """The cost of the maker for such tables."""
        return self.maker_for(schema).cost(schema, epsilon)

    def _repr_html_(self) -> str:
        return "".join(maker._repr_html_() for maker in self.makers)

    @called_as("maker(db, epsilon=0.1)", why=PRICE)
    def __call__(self, db: Probe, *questions: Any, epsilon: Amount, site: str | None = None, **named: Any) -> Answer:
        """The answer of the maker for tables like this one."""
        check_probe(db, self.name)
        if reason := self.refuses(db.schema):
            raise OptionError(f"{self.name} does not run here: {reason}", fix='jostle.options.get("ShrunkTree")')
        return self.maker_for(db.schema)(db, *questions, epsilon=epsilon, site=site, **named)
