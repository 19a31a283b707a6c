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
from typing import TYPE_CHECKING

from attrs import frozen

from jostle.errors import Diagnostic
from jostle.lang import nodes
from jostle.lang.accounts import UNBOUNDED, Amount
from jostle.lang.pricing import Pricer, Unpriceable
from jostle.lang.tables_used import table_parameters

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

__all__ = ["Price", "check_price", "prices"]


@frozen
class Price:
    """What a function spends at most."""

    name: str
    amount: Amount
    why: str = ""
    """Why there is no bound, if there is none."""

    @property
    def text(self) -> str:
        """Return it in a line."""
        if self.amount.known:
            return f"{self.name} spends at most {self.amount.text}"
        return f"{self.name} spends what it is allotted at most; how much, shows while running: {self.why}"


def prices(module: nodes.Module, schema: Schema | None = None) -> Mapping[str, Price]:
    """Return the price of every function that is called with a database from outside."""
    found = {}
    for name, definition in _priced(module):
        tables = table_parameters(module, definition) if not _is_method(name) else (0,)
        if isinstance(definition, nodes.FunctionDefinition) and definition.is_option:
            tables = (0,)
        if not tables:
            continue
        found[name] = price_of(module, name, definition, tables, schema)
    return found


def price_of(
    module: nodes.Module,
    name: str,
    definition: nodes.FunctionDefinition,
    tables: tuple[int, ...],
    schema: Schema | None = None,
) -> Price:
    """Return the price of one function; *tables* are the places of its databases."""
    try:
        amount = Pricer(module, schema).price(definition, tables)
    except Unpriceable as reason:
        return Price(name, UNBOUNDED, str(reason))
    except RecursionError:
        return Price(name, UNBOUNDED, "it calls itself very deep")
    return Price(name, amount, "" if amount.known else "how often something is bought depends on a released number")


def check_price(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report functions that spend more than they are allotted."""
    definitions = dict(_priced(module))
    for name, price in prices(module).items():
        definition = definitions[name]
        if price.amount.known and price.amount.share > 1 and price.amount.fixed >= 0:
            yield Diagnostic(
                "J301",
                f"`{name.partition('.')[0]}` may spend {price.amount.text}",
                definition.name_span,
                "what runs one after the other on the same rows adds up, and epsilon is all there is",
                "share it out: {{ ... }} spending 50%, noisyCount(db, epsilon / 2)",
                label="more than it is given",
            )
    for node in nodes.walk(module):
        if isinstance(node, nodes.Noised) and isinstance(node.spending, nodes.Percent | nodes.Number):
            if node.spending.value == 0:
                why = "a release without budget would have noise without end"
                yield Diagnostic("J302", "spending nothing", node.spending.span, why, "spending 5%")
            elif isinstance(node.spending, nodes.Percent) and node.spending.share > 1:
                why = "a share is of what the caller allots, and that is all there is"
                yield Diagnostic("J302", "a share above 100%", node.spending.span, why, "spending 50%")
        elif isinstance(node, nodes.MakeChoiceMaker) and node.spending is not None:
            spending = node.spending
            share = spending.share if isinstance(spending, nodes.Percent) else getattr(spending, "value", None)
            if isinstance(share, Fraction) and share >= 1:
                why = "the Option that is chosen gets what metafeatures leave"
                yield Diagnostic("J303", "a choice maker that leaves nothing", spending.span, why, "spending 5%")


def _is_method(name: str) -> bool:
    return "." in name


def _priced(module: nodes.Module) -> Iterator[tuple[str, nodes.FunctionDefinition]]:
    """Yield the functions that are called from outside, with their names."""
    used = {
        node.name
        for statement in module.body
        for node in nodes.walk(statement)
        if isinstance(node, nodes.Name) and node.name != getattr(statement, "name", None)
    }
    for statement in module.body:
        if isinstance(statement, nodes.ClassDefinition) and (answer := statement.method("answer")) is not None:
            yield f"{statement.name}.answer", answer
        elif isinstance(statement, nodes.FunctionDefinition) and (
            statement.is_option or (statement.name not in used and "Metafeature" not in statement.marks)
        ):
            yield statement.name, statement
