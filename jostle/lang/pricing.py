"""Running a program without data: values that are known, values that are not, and what is spent on the way.

A list that a loop made remembers the loop: each round is about another value, and made one item or none. Whoever goes
through the list later does the same in rounds of another loop, so that parts chosen by these values are as disjoint as
they were. So it makes no difference to a price whether a list has a name, or stands where it is gone through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from jostle.errors import Diagnostic, Label, Span
from jostle.lang import nodes
from jostle.lang.accounts import NONE, Amount, PartedAccount
from jostle.lang.extents import Levels, TooDeepError, held, measured
from jostle.lang.facts import (
    NEVER,
    UNKNOWN,
    Bought,
    Callee,
    Column,
    Each,
    Grouped,
    Mapped,
    Money,
    Names,
    Rows,
    Some,
    Unknown,
    accounts_of,
    anchored,
    combined,
    either,
    fixed,
    is_keyed,
    is_number,
    private_in,
    whole_list,
)
from jostle.lang.library import Library, library
from jostle.lang.messages import Stop, stop_of
from jostle.lang.nodes import defined_in, symbols, target_names

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

DEFINITIONS = (nodes.FunctionDefinition, nodes.ClassDefinition, nodes.Import)
MOST_STEPS = 60_000
MOST_DEPTH = 60


class Unpriceable(Exception):  # noqa: N818 - no mistake: what it costs shows while running
    """A program whose price is not worked out beforehand, and why."""


@frozen
class PricingRules:
    """What is known of a program's parts, and what these spend, where it is run without data."""

    expressions: Mapping[type[nodes.Node], Callable[[Pricer, Any, Names], Any]]
    """Each kind of expression."""
    run: Callable[[Pricer, Sequence[nodes.Statement], Names], Any]
    """Statements."""
    call: Callable[[Pricer, Span, Any, list[Any], Names], Any]
    """A call of what is known so."""
    takes: Mapping[str, frozenset[int]]
    """The kinds of values that known functions take."""
    table: Callable[[Schema], Any]
    """A table with a schema."""


@define
class Pricer:
    """Runs functions of a program without data."""

    module: nodes.Module
    rules: PricingRules
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
    library: Library = field(factory=library)

    def __attrs_post_init__(self) -> None:
        """Note what the program defines."""
        self.functions = nodes.functions_of(self.module.body)
        self.symbols = symbols(self.module)
        self._run_top()

    def _run_top(self) -> None:
        """Note what the names at the top stand for; nothing is spent there, as there is no database."""
        for name, _, definition in defined_in(self.module.body):
            self.globals[name] = self._defined_at_top(name, definition)
        try:
            self.run(
                [statement for statement in self.module.body if not isinstance(statement, DEFINITIONS)], self.globals
            )
        except (Unpriceable, TooDeepError, Stop):
            for name, _, definition in defined_in(self.module.body):
                self.globals[name] = self._defined_at_top(name, definition)
        self.root = PartedAccount()
        self.steps = 0

    def _defined_at_top(self, name: str, definition: nodes.Node) -> Any:
        """The facts known of a name at the top before what stands there is run."""
        match definition:
            case nodes.FunctionDefinition():
                return Callee("option" if definition.is_option else "function", name)
            case nodes.ClassDefinition():
                return Callee("option", name)
            case nodes.Import() if definition.module != "public":
                return Callee("library" if name in self.library.options else "option", name)
            case nodes.Import():
                return Unknown(kind="public databases")
            case _:
                return UNKNOWN

    @property
    def times(self) -> int:
        """How many disjoint parts are paid."""
        return 2 if self.schema is not None and self.schema.neighbours == "replace_one" else 1

    def price(self, definition: nodes.FunctionDefinition, tables: Sequence[int]) -> Amount:
        """The most that a function spends, where it is given databases in these places.

        The schema is that of the first of them.
        """
        names: Names = {}
        for index, parameter in enumerate(definition.parameters):
            if index in tables:
                known = None if self.schema is None or index != min(tables) else self.rules.table(self.schema)
                names[parameter.name] = Rows(self.root, index, known)
            else:
                names[parameter.name] = (
                    UNKNOWN if parameter.default is None else self.value(parameter.default, self.globals)
                )
            self.note(parameter.name_span, names[parameter.name])
        self.run(definition.body, names)
        return self.root.total(self.times)

    def report(self, mistake: Exception, span: Span) -> None:
        """Note what would be refused while running, once for each place."""
        refusal = stop_of(mistake)
        if (refusal.code, span) not in self.found:
            others = (Label(self.calls[-1], "called here"),) if self.calls else ()
            self.found[refusal.code, span] = refusal.at(span, others=others)

    def run(self, body: Sequence[nodes.Statement], names: Names) -> Any:
        """Run statements; return what is known of what they return, or NEVER."""
        return self.rules.run(self, body, names)

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
        before = {id(account): account.as_it_is() for account in self.root.everything()}
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
            self.report(Stop("J508 names", count=len(value), names=len(targets)), target.span)
        item = value.single if isinstance(value, Unknown) else UNKNOWN
        for index, name in enumerate(targets):
            names[name] = known[index] if known is not None else item

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
            self.report(Stop("J302 amount"), span)
            return
        self.paid[span] = self.paid.get(span, NONE).most(spent)
        # Where the rows were lost sight of, they are some of all.
        accounts = [account for private in private_in(value) for account in accounts_of(private)] or [self.root]
        paths = [account.path() for account in accounts]
        depth = 0
        while all(len(path) > depth and path[depth] is paths[0][depth] for path in paths):
            depth += 1
        paths[0][max(0, depth - 1)].own += spent

    # Expressions

    def value(self, node: nodes.ExpressionNode, names: Names) -> Any:
        """The facts known of an expression's value, spending what it spends."""
        self.step()
        with self.levels:
            found = held(self.rules.expressions[type(node)](self, node, names))
        if measured(found).size > MOST_STEPS:
            raise Unpriceable("its values are too large to be gone through")
        self.note(node.span, found)
        return found

    def note(self, span: Span, value: Any) -> None:
        """Note what stands somewhere, if somebody wants to know."""
        if self.seen is not None:
            self.seen.setdefault(span, []).append(value)

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
        defaults = {
            parameter.name: self.value(parameter.default, self.globals)
            for parameter in definition.parameters
            if parameter.default
        }
        return self.called_with(definition, given, named, span, defaults)

    def called_with(
        self,
        definition: nodes.FunctionDefinition | nodes.Lambda,
        given: Sequence[Any],
        named: Names,
        span: Span,
        held: Names,
    ) -> Any:
        """The facts known of what a function gives that holds its defaults, and what else is around it."""
        names = dict(held)
        for index, parameter in enumerate(definition.parameters):
            if index < len(given):
                names[parameter.name] = given[index]
            elif parameter.name in named:
                names[parameter.name] = named[parameter.name]
            elif parameter.default is None:
                names[parameter.name] = UNKNOWN
            self.note(parameter.name_span, names[parameter.name])
        with self.deeper(span):
            if isinstance(definition, nodes.Lambda):
                return self.value(definition.body, names)
            found = self.run(definition.body, names)
        return None if found is NEVER else found


MOST_ROUNDS = 300
"""Longer lists are gone through once for all their items."""


def items(pricer: Pricer, value: Any) -> list[Any] | Some | Unknown:  # noqa: PLR0911 - one per kind
    """The items of a value: as a list if they are few and known."""
    match value:
        case dict():
            return list(value) if is_keyed(value) else Unknown(UNKNOWN, len(value))
        case Mapped():
            return value.keys
        case list():
            return value if len(value) <= MOST_ROUNDS else whole_list(value)
        case Some():
            return value if len(value.items) <= MOST_ROUNDS else whole_list(value)
        case range():
            return list(value) if len(value) <= MOST_ROUNDS else Unknown(UNKNOWN, len(value))
        case Grouped():
            if value.count > MOST_ROUNDS:
                return Unknown(UNKNOWN, value.count)
            return [list(each) if isinstance(each, tuple) else each for each in value.keys()]  # noqa: SIM118 - no dictionary
        case Column():
            pricer.fresh += 1
            return Unknown(Each(pricer.fresh, value.values), value.count, pricer.fresh)
        case Rows() | Bought():
            return Unknown(combined([value]))
    return value if isinstance(value, Unknown) else UNKNOWN


def keyed(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dictionary; a key that is not known stands as a place."""
    found: dict[Any, Any] = {}
    for index, (key, value) in enumerate(pairs):
        known = isinstance(key, str | bool) or is_number(key)
        found[key if known else ("unknown", index)] = value
    return found


def distinct(listed: Sequence[Any]) -> Any:
    """The items of a set: as a list, if it is known which of them are the same."""
    if all(isinstance(each, str) or is_number(each) for each in listed):
        return list(dict.fromkeys(listed))
    names = [each.name for each in listed if isinstance(each, Column | Callee) and each.name]
    if len(listed) < 2 or len(set(names)) == len(listed):
        return list(listed)
    return whole_list(list(listed))


# Items in terms of other rounds


def seen_by(value: Any, loop: int | None, by: Any) -> Any:  # noqa: PLR0911 - one per kind
    """A value that a round of a loop made, as it is for another value: of another loop's round, or known."""
    if loop is None:
        return value
    match value:
        case Each() if value.loop == loop:
            return by
        case Rows():
            return evolve(value, account=_account_by(value.account, loop, by))
        case Bought():
            return evolve(value, accounts=tuple(_account_by(account, loop, by) for account in accounts_of(value)))
        case list():
            return [seen_by(each, loop, by) for each in value]
        case dict():
            return {key: seen_by(each, loop, by) for key, each in value.items()}
        case Unknown() if value.item is not None:
            return evolve(value, item=seen_by(value.item, loop, by))
        case Some():
            return Some(tuple(seen_by(item, loop, by) for item in value.items))
        case Mapped():
            return evolve(value, item=seen_by(value.item, loop, by), known=seen_by(value.known, loop, by))
    return value


def _account_by(account: PartedAccount, loop: int, by: Any) -> PartedAccount:
    """The account of the part that another value chooses, where a round of a loop chose one."""
    if account.parent is None:
        return account
    above = _account_by(account.parent, loop, by)
    if account.chosen_by != loop and above is account.parent:
        return account
    name, value = account.place()
    if account.chosen_by != loop:
        return above.part(name, value, account.chosen_by)
    if isinstance(by, Each):
        return above.part(name, f"round {by.loop}", by.loop)
    return above.part(name, f"value {by}", None) if isinstance(by, str) else account


def item_called(value: Mapped, at: Any) -> Any:
    """The value of a key of a dictionary."""
    known = isinstance(at, str | bool) or is_number(at)
    if value.known is not None:
        return value.known[at] if known and at in value.known else either(list(value.known.values()) or [UNKNOWN])
    key = value.keys.single if isinstance(value.keys, Unknown) else None
    if isinstance(key, Each) and isinstance(value.keys, Unknown) and key.loop == value.keys.loop:
        return seen_by(value.item, key.loop, at)
    return value.item


# What is made by `for`


def mapped(pricer: Pricer, value: Any, call: Callable[[Any], Any]) -> Any:
    """The facts known of a list of what a function gives for each item."""
    listed = items(pricer, value)
    if isinstance(listed, list):
        return [call(each) for each in listed]
    if isinstance(listed, Some):
        return Some(tuple([call(item) for item in listed.items]))
    found, loop = pricer.rounds(listed, call)
    return Unknown(found, listed.count, loop)


def side_by_side(pricer: Pricer, given: Sequence[Any]) -> Any:
    """The facts known of lists side by side."""
    listed = [items(pricer, each) for each in given]
    if all(isinstance(each, list) for each in listed):
        return [list(each) for each in zip(*(each for each in listed if isinstance(each, list)), strict=False)]
    known = [each if isinstance(each, Unknown) else whole_list(each) for each in listed]
    counts = [each.count for each in known if each.count is not None]
    loop = next((each.loop for each in known if each.loop is not None), None)
    return Unknown([each.single for each in known], min(counts, default=None), loop)
