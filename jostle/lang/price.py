"""What a program spends at most, worked out without data.

The program is run on tables that hold nothing. Numbers that would be released are unknown, and where a test depends on
one, both ways are gone and the dearer one counts. Loops over an unknown list are run once: what a round spends on
parts chosen by the round's own value is spent on disjoint parts; what it spends on anything else is spent as often as
there are rounds, which must be known then. Recursion goes as deep as public parameters let it.

The bound holds for every table, since each way that a run can go is one that was gone here. It need not be reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from jostle.errors import Diagnostic, Span
from jostle.lang import nodes
from jostle.lang.accounts import UNBOUNDED, Amount
from jostle.lang.extents import TooDeepError, deep_enough
from jostle.lang.messages import Stop, message
from jostle.lang.pricing import Pricer, Unpriceable
from jostle.lang.pricing_rules import RULES
from jostle.lang.roots import Root, reached_from, roots, table_parameters

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

Seen = dict[Span, list[Any]]
Paid = dict[Span, Amount]
_One = tuple[Root, "Price", tuple[Diagnostic, ...]]
"""A function that is called from outside, what it spends, and what would be refused in it."""


@frozen
class Price:
    """What a function spends at most."""

    name: str
    amount: Amount
    why: str = ""
    """Why there is no bound, if there is none."""
    per_person: bool = False
    """Whether it is of a table that says whose rows it has."""

    @property
    def text(self) -> str:
        """A text of one line."""
        if self.amount.known:
            return f"{self.name} spends at most {self.amount.text}{' per person' * self.per_person}"
        return f"{self.name} spends what it is allotted at most; how much, shows while running: {self.why}"


class Pricing:
    """What the functions of a program spend, and what tables would refuse: worked out once for each schema."""

    def __init__(self, module: nodes.Module) -> None:
        self.module = module
        self._known: dict[Schema | None, tuple[_One, ...]] = {}

    def on(self, schema: Schema | None) -> tuple[_One, ...]:
        """The functions that are called from outside, what each spends, and what would be refused in it."""
        if schema not in self._known:
            module = self.module
            self._known[schema] = tuple((root, *price_of(module, root, schema)) for root in roots(module))
        return self._known[schema]

    def prices(self, schema: Schema | None = None) -> Mapping[str, Price]:
        """The price of every function that is called with a database from outside."""
        return {root.name: price for root, price, _ in self.on(schema) if root.priced}

    def check(self) -> Iterator[Diagnostic]:
        """Report functions that spend more than they are allotted, and what any database would refuse."""
        found = {(amount.code, amount.span): amount for amount in _amounts(self.module)}
        for root, price, mistakes in self.on(None):
            for mistake in mistakes:
                found.setdefault((mistake.code, mistake.span), mistake)
            if root.priced and price.amount.known and price.amount.share > 1 and price.amount.fixed >= 0:
                yield message(
                    "J301",
                    root.definition.name_span,
                    label="more than it is given",
                    name=root.name.partition(".")[0],
                    amount=price.amount.text,
                )
        yield from found.values()

    def check_schema(
        self, schema: Schema, entry: str | None = None, tables: tuple[int, ...] | None = None
    ) -> tuple[Diagnostic, ...]:
        """The refusals on a table with this schema.

        With *entry*, it is about what that one runs; *tables* are the places of its databases, where they are known.
        """
        module = self.module
        wanted = None if entry is None else reached_from(module, entry)
        found: dict[tuple[str, Span], Diagnostic] = {}
        everything = self.on(schema)
        if entry is not None and entry not in {root.name for root, _, _ in everything}:
            everything = (*everything, *_alone(module, schema, entry, tables))
        for root, _, known in everything:
            if wanted is None or root.name.partition(".")[0] in wanted:
                mistakes = known
                if tables is not None and root.name == entry and root.tables != tables:
                    _, mistakes = price_of(module, evolve(root, tables=tables), schema)
                for mistake in mistakes:
                    found.setdefault((mistake.code, mistake.span), mistake)
        return tuple(sorted(found.values(), key=lambda mistake: (mistake.span, mistake.code)))


def prices(module: nodes.Module, schema: Schema | None = None) -> Mapping[str, Price]:
    """The price of every function of a program that is called with a database from outside."""
    return Pricing(module).prices(schema)


def _alone(module: nodes.Module, schema: Schema, entry: str, tables: tuple[int, ...] | None) -> Iterator[_One]:
    """Yield what a function comes to that others use as well."""
    for statement in module.body:
        if isinstance(statement, nodes.FunctionDefinition) and statement.name == entry:
            places = table_parameters(module, statement) if tables is None else tables
            root = Root(entry, statement, places)
            yield (root, *price_of(module, root, schema))


def price_of(
    module: nodes.Module,
    root: Root,
    schema: Schema | None = None,
    *,
    seen: Seen | None = None,
    paid: Paid | None = None,
) -> tuple[Price, tuple[Diagnostic, ...]]:
    """The price of one function, and what would be refused in it."""
    pricer = Pricer(module, RULES, schema, seen=seen, paid={} if paid is None else paid)
    try:
        with deep_enough():
            amount = pricer.price(root.definition, root.tables)
    except Unpriceable as reason:
        price = Price(root.name, UNBOUNDED, str(reason))
    except Stop as refusal:
        price = Price(root.name, UNBOUNDED, f"there is {refusal.words[0]}")
    except TooDeepError:
        price = Price(root.name, UNBOUNDED, "it calls itself very deep")
    else:
        why = "" if amount.known else "how often something is bought depends on a released number"
        price = Price(root.name, amount, why, per_person=schema is not None and schema.person is not None)
    return price, tuple(pricer.found.values())


def _amounts(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report amounts that make no sense as they are written."""
    for node in nodes.walk(module):
        if isinstance(node, nodes.Noised) and isinstance(node.spending, nodes.Percent | nodes.Number):
            if node.spending.value == 0:
                yield message("J302 nothing", node.spending.span)
            elif isinstance(node.spending, nodes.Percent) and node.spending.share > 1:
                yield message("J302 share", node.spending.span)
        elif isinstance(node, nodes.MakeChoiceMaker) and node.spending is not None:
            spending = node.spending
            share = spending.share if isinstance(spending, nodes.Percent) else getattr(spending, "value", None)
            if isinstance(share, Fraction) and share >= 1:
                yield message("J303", spending.span)
