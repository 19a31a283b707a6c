"""Running a program without data: values that are known, values that are not, and what is spent on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from jostle.errors import Diagnostic, Label, Span
from jostle.lang import nodes
from jostle.lang.accounts import NONE, UNBOUNDED, Account, Amount
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.library import library_options
from jostle.lang.pricing_values import (
    NEVER,
    UNKNOWN,
    Bought,
    Callee,
    Column,
    Each,
    Grouped,
    Money,
    Names,
    Rows,
    Unknown,
    accounts_of,
    anchored,
    combined,
    either,
    fixed,
    is_keyed,
    private_in,
)
from jostle.lang.scopes import defined_in, symbols, target_names

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

__all__ = ["Pricer", "Unpriceable"]

DEFINITIONS = (nodes.FunctionDefinition, nodes.ClassDefinition, nodes.Import)
MOST_STEPS = 60_000
MOST_DEPTH = 60
MOST_ROUNDS = 300


class Unpriceable(Exception):  # noqa: N818 - no mistake: what it costs shows while running
    """A program whose price is not worked out beforehand, and why."""


@define
class Pricer:
    """Runs functions of a program without data."""

    module: nodes.Module
    schema: Schema | None = None
    root: Account = field(factory=Account)
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
        except Unpriceable:
            for name, _, definition in defined_in(self.module.body):
                self.globals[name] = _defined_at_top(name, definition)
        self.root = Account()
        self.steps = 0

    @property
    def times(self) -> int:
        """Return how many disjoint parts are paid."""
        return 2 if self.schema is not None and self.schema.neighbours == "replace_one" else 1

    def price(self, definition: nodes.FunctionDefinition, tables: Sequence[int]) -> Amount:
        """Return what a function spends at most, where it is given databases in these places.

        The schema is that of the first of them.
        """
        names: Names = {}
        for place, each in enumerate(definition.parameters):
            if place in tables:
                known = None if self.schema is None or place != min(tables) else _table(self.schema)
                names[each.name] = Rows(self.root, place, known)
            else:
                names[each.name] = UNKNOWN if each.default is None else self.value(each.default, self.globals)
            self.note(each.name_span, names[each.name])
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
        start = {key: each.own for key, each in before.items()}
        shape = {key: {name: dict(group) for name, group in each.parts.items()} for key, each in before.items()}
        most: dict[int, Amount] = dict.fromkeys(before, NONE)
        results: list[Any] = []
        for way in ways:
            results.append(anchored(way(), before))
            for key, account in before.items():
                spent = account.own - start[key]
                for name, group in account.parts.items():
                    new = {value: each for value, each in group.items() if value not in shape[key].get(name, {})}
                    spent += Account(parts={name: new}).total(self.times)
                most[key] = most[key].most(spent)
                account.own = start[key]
                account.parts = {name: dict(group) for name, group in shape[key].items()}
        for key, account in before.items():
            account.own = start[key] + most[key]
        return either(results) if merge else results

    def rounds(self, listed: Unknown, once: Callable[[Any], Any]) -> Any:
        """Run a loop's body once for all its rounds."""
        self.fresh += 1
        loop = self.fresh
        before = {id(each): (each, each.own) for each in self.root.everything()}
        single = Each(loop, listed.values) if listed.distinct else UNKNOWN if listed.item is None else listed.item
        found = once(single)
        for account in list(self.root.everything()):
            known = before.get(id(account))
            if known is not None:
                account.own = known[1] + _repeated(account.own - known[1], listed.count)
        _repeat_new(self.root, set(before), loop, listed.count)
        return found

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
        for place, name in enumerate(targets):
            item = value.item if isinstance(value, Unknown) and value.item is not None else UNKNOWN
            names[name] = known[place] if known is not None else item

    def items(self, value: Any) -> list[Any] | Unknown:  # noqa: PLR0911 - one per kind
        """Return the items of a value: as a list if they are few and known."""
        if isinstance(value, dict):
            return list(value) if is_keyed(value) else Unknown(UNKNOWN, len(value))
        if isinstance(value, list):
            return value if len(value) <= MOST_ROUNDS else Unknown(either(value), len(value))
        if isinstance(value, range):
            return list(value) if len(value) <= MOST_ROUNDS else Unknown(UNKNOWN, len(value))
        if isinstance(value, Grouped):
            if value.count > MOST_ROUNDS:
                return Unknown(UNKNOWN, value.count)
            return [list(each) if isinstance(each, tuple) else each for each in value.keys()]  # noqa: SIM118 - no dictionary
        if isinstance(value, Column):
            return Unknown(None, value.count, distinct=True, values=value.values)
        if isinstance(value, Rows | Bought):
            return Unknown(combined([value]))
        return value if isinstance(value, Unknown) else UNKNOWN

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
        paths = [each.path() for each in accounts]
        depth = 0
        while all(len(path) > depth and path[depth] is paths[0][depth] for path in paths):
            depth += 1
        paths[0][max(0, depth - 1)].own += spent

    # Expressions

    def value(self, node: nodes.Expression, names: Names) -> Any:
        """Return what is known of an expression's value, spending what it spends."""
        from jostle.lang.pricing_expressions import value_of  # noqa: PLC0415 - its rules go through expressions

        self.step()
        found = value_of(self, node, names)
        self.note(node.span, found)
        return found

    def note(self, span: Span, value: Any) -> None:
        """Note what stands somewhere, if somebody wants to know."""
        if self.seen is not None:
            self.seen.setdefault(span, []).append(value)

    def name(self, name: str, names: Names) -> Any:
        """Return what is known of a name's value."""
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
        """Return what is known of what a function gives."""
        definition = self.functions[name]
        names: Names = {}
        for place, each in enumerate(definition.parameters):
            if place < len(given):
                names[each.name] = given[place]
            elif each.name in named:
                names[each.name] = named[each.name]
            else:
                names[each.name] = UNKNOWN if each.default is None else self.value(each.default, self.globals)
            self.note(each.name_span, names[each.name])
        with self.deeper(span):
            found = self.run(definition.body, names)
        return None if found is NEVER else found


def _defined_at_top(name: str, definition: nodes.Node) -> Any:
    """Return what is known of a name at the top before what stands there is run."""
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


def _repeat_new(account: Account, before: set[int], loop: int, count: int | None) -> None:
    """Let what was spent on new accounts count for every round, but on those that the rounds go through once."""
    for group in account.parts.values():
        for each in group.values():
            if each.chosen_by == loop:
                continue
            if id(each) not in before:
                each.own = _repeated(each.own, count)
            _repeat_new(each, before, loop, count)


def _repeated(amount: Amount, count: int | None) -> Amount:
    if amount == NONE:
        return amount
    return UNBOUNDED if count is None else amount.times(Fraction(count))
