"""Running a program without data: values that are known, values that are not, and what is spent on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from jostle.errors import Diagnostic, Label, Span
from jostle.lang import nodes
from jostle.lang.accounts import NONE, Amount, PartedAccount
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.deep import Levels, TooDeepError
from jostle.lang.extents import held, measured
from jostle.lang.library import library_options
from jostle.lang.pricing_lists import seen_by
from jostle.lang.pricing_values import (
    NEVER,
    UNKNOWN,
    Callee,
    Each,
    Money,
    Names,
    Rows,
    Unknown,
    accounts_of,
    anchored,
    either,
    fixed,
    private_in,
)
from jostle.lang.scopes import defined_in, symbols, target_names
from jostle.lang.stops import Stop

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

__all__ = ["Pricer", "Unpriceable"]

DEFINITIONS = (nodes.FunctionDefinition, nodes.ClassDefinition, nodes.Import)
MOST_STEPS = 60_000
MOST_DEPTH = 60


class Unpriceable(Exception):  # noqa: N818 - no mistake: what it costs shows while running
    """A program whose price is not worked out beforehand, and why."""


@define
class Pricer:
    """Runs functions of a program without data."""

    module: nodes.Module
    schema: Schema | None = None
    root: PartedAccount = field(factory=PartedAccount)
    found: dict[tuple[str, Span], Diagnostic] = field(factory=dict)
    """What would be refused while running."""
    seen: dict[Span, list[Any]] | None = None
    """What each expression gave, in turn; noted only if somebody wants to know."""
    paid: dict[Span, Amount] = field(factory=dict)
    """What each purchase spends at once, at most."""
    functions: dict[str, nodes.FunctionDefinition] = field(init=False)
    symbols: frozenset[str] = field(init=False)
    globals: dict[str, Any] = field(factory=dict)
    calls: list[Span] = field(factory=list)
    """Where the functions were called that are being run."""
    steps: int = 0
    fresh: int = 0
    levels: Levels = field(factory=Levels)

    def __attrs_post_init__(self) -> None:
        """Note what the program defines."""
        self.functions = {each.name: each for each in self.module.body if isinstance(each, nodes.FunctionDefinition)}
        self.symbols = symbols(self.module)
        self._run_top()

    def _run_top(self) -> None:
        """Note what the names at the top stand for; nothing is spent there, as there is no database."""
        for name, _, definition in defined_in(self.module.body):
            self.globals[name] = _defined_at_top(name, definition)
        try:
            self.run([each for each in self.module.body if not isinstance(each, DEFINITIONS)], self.globals)
        except (Unpriceable, TooDeepError, Stop):
            for name, _, definition in defined_in(self.module.body):
                self.globals[name] = _defined_at_top(name, definition)
        self.root = PartedAccount()
        self.steps = 0

    @property
    def times(self) -> int:
        """How many disjoint parts are paid."""
        return 2 if self.schema is not None and self.schema.neighbours == "replace_one" else 1

    def price(self, definition: nodes.FunctionDefinition, tables: Sequence[int]) -> Amount:
        """The most that a function spends, where it is given databases in these places.

        The schema is that of the first of them.
        """
        names: Names = {}
        for place, parameter in enumerate(definition.parameters):
            if place in tables:
                known = None if self.schema is None or place != min(tables) else _table(self.schema)
                names[parameter.name] = Rows(self.root, place, known)
            else:
                names[parameter.name] = (
                    UNKNOWN if parameter.default is None else self.value(parameter.default, self.globals)
                )
            self.note(parameter.name_span, names[parameter.name])
        self.run(definition.body, names)
        return self.root.total(self.times)

    def report(self, mistake: Diagnostic) -> None:
        """Note what would be refused while running."""
        if self.calls and not mistake.others:
            mistake = evolve(mistake, others=(Label(self.calls[-1], "called here"),))
        self.found.setdefault((mistake.code, mistake.span), mistake)

    def run(self, body: Sequence[nodes.Statement], names: Names) -> Any:
        """Run statements; return what is known of what they return, or NEVER."""
        from jostle.lang.pricing_statements import run  # noqa: PLC0415 - its rules go through expressions themselves

        return run(self, body, names)

    # Ways and rounds

    def branches(self, ways: Sequence[Callable[[], Any]], *, merge: bool = True) -> Any:
        """Go each of several ways from here, and keep for every account the most that one of them spends there.

        What a way spends on parts that were not there before is counted with the account they are parts of, as a sum.
        """
        if len(ways) == 1:
            return ways[0]() if merge else [ways[0]()]
        before = {id(each): each for each in self.root.everything()}
        start = {key: each.as_it_is() for key, each in before.items()}
        spent: dict[int, list[PartedAccount]] = {key: [] for key in before}
        results: list[Any] = []
        for way in ways:
            results.append(anchored(way(), before))
            for key, account in before.items():
                spent[key].append(account.since(start[key]))
                account.become(start[key])
        for key, account in before.items():
            account.choose(spent[key])
        return either(results) if merge else results

    def rounds(self, listed: Unknown, once: Callable[[Any], Any]) -> tuple[Any, int | None]:
        """Run a loop's body once for all rounds; return what it gives, and the loop, if each is about another value."""
        self.fresh += 1
        loop = self.fresh
        before = {id(each): each.as_it_is() for each in self.root.everything()}
        value = listed.single
        if listed.loop is not None:
            values = value.values if isinstance(value, Each) else None
            value = seen_by(value, listed.loop, Each(loop, values))
        found = once(value)
        self.root.repeat(loop, listed.count, before)
        return found, None if listed.loop is None else loop

    def store(self, target: nodes.Name | nodes.Tuple, value: Any, names: Names) -> None:
        """Give names a value."""
        if isinstance(target, nodes.Name):
            names[target.name] = value
            self.note(target.span, value)
            return
        targets = [each.name for each in target_names(target)]
        known = value if isinstance(value, list) and len(value) == len(targets) else None
        if isinstance(value, list) and known is None:
            title, why = f"{len(value)} values for {len(targets)} names", "there is one value for each"
            self.report(Diagnostic("J508", title, target.span, why, "a, b = pair"))
        item = value.single if isinstance(value, Unknown) else UNKNOWN
        for place, name in enumerate(targets):
            names[name] = known[place] if known is not None else item

    def step(self) -> None:
        """Count what was done, and stop where it grows too much."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Unpriceable("there are too many ways through it")

    # Spending

    def charge_for(self, value: Any, amount: Any, span: Span) -> None:
        """Spend on the rows that private values are computed from; *span* is where."""
        spent = amount.amount if isinstance(amount, Money) else fixed(amount)
        if spent.known and spent.share <= 0 and spent.fixed <= 0:
            why = "a release without budget would have noise without end"
            self.report(Diagnostic("J302", "spending nothing", span, why, "give an amount above 0: epsilon / 2"))
            return
        self.paid[span] = self.paid.get(span, NONE).most(spent)
        # Where the rows were lost sight of, they are some of all.
        accounts = [each for private in private_in(value) for each in accounts_of(private)] or [self.root]
        paths = [account.path() for account in accounts]
        depth = 0
        while all(len(path) > depth and path[depth] is paths[0][depth] for path in paths):
            depth += 1
        paths[0][max(0, depth - 1)].own += spent

    # Expressions

    def value(self, node: nodes.ExpressionNode, names: Names) -> Any:
        """The facts known of an expression's value, spending what it spends."""
        from jostle.lang.pricing_expressions import value_of  # noqa: PLC0415 - its rules go through expressions

        self.step()
        with self.levels:
            found = held(value_of(self, node, names))
        if measured(found).size > MOST_STEPS:
            raise Unpriceable("its values are too large to be gone through")
        self.note(node.span, found)
        return found

    def note(self, span: Span, value: Any) -> None:
        """Note what stands somewhere, if somebody wants to know."""
        if self.seen is not None:
            self.seen.setdefault(span, []).append(value)

    def name(self, name: str, names: Names) -> Any:
        """The facts known of a name's value."""
        if name in names:
            return names[name]
        if name in self.globals:
            return self.globals[name]
        if name == EPSILON:
            return Money(Amount(Fraction(1)))
        if name in BUILTINS:
            return Callee("builtin", name)
        return name if name in self.symbols else UNKNOWN

    @contextmanager
    def deeper(self, span: Span) -> Iterator[None]:
        """Note a call in calls."""
        if len(self.calls) >= MOST_DEPTH:
            raise Unpriceable("how deep it calls itself depends on a value that is not known beforehand")
        self.calls.append(span)
        try:
            yield
        finally:
            self.calls.pop()

    def called(self, name: str, given: Sequence[Any], named: Names, span: Span) -> Any:
        """The facts known of what a function gives."""
        definition = self.functions[name]
        names: Names = {}
        for place, parameter in enumerate(definition.parameters):
            if place < len(given):
                names[parameter.name] = given[place]
            elif parameter.name in named:
                names[parameter.name] = named[parameter.name]
            else:
                names[parameter.name] = (
                    UNKNOWN if parameter.default is None else self.value(parameter.default, self.globals)
                )
            self.note(parameter.name_span, names[parameter.name])
        with self.deeper(span):
            found = self.run(definition.body, names)
        return None if found is NEVER else found


def _defined_at_top(name: str, definition: nodes.Node) -> Any:
    """The facts known of a name at the top before what stands there is run."""
    match definition:
        case nodes.FunctionDefinition():
            return Callee("option" if definition.is_option else "function", name)
        case nodes.ClassDefinition():
            return Callee("option", name)
        case nodes.Import() if definition.module != "public":
            return Callee("library" if name in library_options() else "option", name)
        case nodes.Import():
            return Unknown(kind="public databases")
        case _:
            return UNKNOWN


def _table(schema: Schema) -> Any:
    from jostle.lang.pricing_schema import table_of  # noqa: PLC0415 - without a schema, no library of numbers is loaded

    return table_of(schema)
