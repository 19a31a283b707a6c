"""Running a program without data: values that are known, values that are not, and what is spent on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from jostle.lang import nodes
from jostle.lang.accounts import NONE, UNBOUNDED, Account, Amount
from jostle.lang.builtins import BUILTINS, EPSILON
from jostle.lang.scopes import defined_in, symbols, target_names

if TYPE_CHECKING:
    from jostle.tables.schema import Schema

__all__ = ["Pricer", "Unpriceable"]

MOST_STEPS = 60_000
MOST_DEPTH = 60
MOST_ROUNDS = 300
SCORES = {"maxScore", "gini", "infoGain", "random"}
NEVER = object()
"""What a statement gives that returns nothing."""


class Unpriceable(Exception):  # noqa: N818 - no mistake: what it costs shows while running
    """A program whose price is not worked out beforehand, and why."""


@frozen
class Unknown:
    """A public value that is not known, or a released one; with what its items are, if it is a list."""

    item: Any = None
    count: int | None = None
    """How many items, at most."""
    distinct: bool = False


@frozen
class Money:
    """An amount of budget: a number in terms of epsilon."""

    amount: Amount


@frozen
class Column:
    """An attribute."""

    name: str
    count: int | None = None
    """How many values, at most."""
    values: tuple[str, ...] | None = None


@frozen
class Each:
    """The value that a round of a loop is about; different rounds have different ones."""

    loop: int


@frozen(eq=False)
class Rows:
    """A table."""

    account: Account


@frozen(eq=False)
class Bought:
    """A private value, and the accounts of the rows it is computed from."""

    accounts: tuple[Account, ...]


@frozen(eq=False)
class Callee:
    """Something that is called: a function of the program, an Option, a lambda, or one of several."""

    kind: str
    name: str = ""
    node: nodes.Lambda | None = None
    names: dict[str, Any] = field(factory=dict)
    several: tuple[Any, ...] = ()


UNKNOWN = Unknown()
Names = dict[str, Any]
Then = Callable[[Names], Any]
"""What comes after some statements."""


@define
class Pricer:
    """Runs functions of a program without data."""

    module: nodes.Module
    schema: Schema | None = None
    root: Account = field(factory=Account)
    functions: dict[str, nodes.FunctionDefinition] = field(init=False)
    symbols: frozenset[str] = field(init=False)
    globals: dict[str, Any] = field(factory=dict)
    steps: int = 0
    depth: int = 0
    fresh: int = 0

    def __attrs_post_init__(self) -> None:
        """Note what the program defines."""
        self.functions = {each.name: each for each in self.module.body if isinstance(each, nodes.FunctionDefinition)}
        self.symbols = symbols(self.module)
        for name, _, definition in defined_in(self.module.body):
            if isinstance(definition, nodes.FunctionDefinition):
                self.globals[name] = Callee("option" if definition.is_option else "function", name)
            elif (
                isinstance(definition, nodes.ClassDefinition)
                or (isinstance(definition, nodes.Import) and definition.module != "public")
                or (isinstance(definition, nodes.Assign) and isinstance(definition.value, nodes.MakeChoiceMaker))
            ):
                self.globals[name] = Callee("option", name)
            elif isinstance(definition, nodes.Assign) and isinstance(definition.value, nodes.Number):
                self.globals[name] = _number(definition.value.value)
            else:
                self.globals[name] = UNKNOWN

    @property
    def times(self) -> int:
        """Return how many disjoint parts are paid."""
        return 2 if self.schema is not None and self.schema.neighbours == "replace_one" else 1

    def price(self, definition: nodes.FunctionDefinition, tables: Sequence[int]) -> Amount:
        """Return what a function spends at most, where it is given databases in these places."""
        names: dict[str, Any] = {}
        for place, each in enumerate(definition.parameters):
            if place in tables:
                names[each.name] = Rows(self.root)
            else:
                names[each.name] = UNKNOWN if each.default is None else self.value(each.default, self.globals)
        self.run(definition.body, names)
        return self.root.total(self.times)

    # Statements

    def run(self, body: Sequence[nodes.Statement], names: Names, then: Then | None = None) -> Any:
        """Run statements, and what comes after them; return what is known of what they return, or NEVER."""
        for place, statement in enumerate(body):
            self._step()
            match statement:
                case nodes.Assign():
                    self.store(statement.target, self.value(statement.value, names), names)
                case nodes.ExpressionStatement():
                    self.value(statement.value, names)
                case nodes.Return():
                    return None if statement.value is None else self.value(statement.value, names)
                case nodes.If() if _returns(statement):
                    rest = body[place + 1 :]
                    ways = self._ways(statement, names)
                    return self.branches([partial(self._way, way, rest, names, then) for way in ways])
                case nodes.If():
                    self._if(statement, names)
                case nodes.For():
                    found = self._for(statement, names)
                    if found is not NEVER:
                        # Whether it returned from inside is not known; going on spends no less.
                        return _either([found, self.run(body[place + 1 :], names, then)])
        return NEVER if then is None else then(names)

    def _way(
        self, body: Sequence[nodes.Statement], rest: Sequence[nodes.Statement], names: Names, then: Then | None
    ) -> Any:
        """Run one branch, and all that comes after it, with variables of their own."""
        return self.run(body, dict(names), lambda inner: self.run(rest, inner, then))

    def _ways(self, statement: nodes.If, names: Names) -> list[tuple[nodes.Statement, ...]]:
        """Return the branches that may be run."""
        ways: list[tuple[nodes.Statement, ...]] = []
        for branch in statement.branches:
            holds = True if branch.condition is None else self.value(branch.condition, names)
            if holds is False:
                continue
            ways.append(branch.body)
            if holds is True:
                return ways
        return [*ways, ()]

    def _if(self, statement: nodes.If, names: Names) -> None:
        """Run branches that return nothing, and go on with what is known after any of them."""
        ways = self._ways(statement, names)
        if len(ways) == 1:
            self.run(ways[0], names)
            return

        def way(body: Sequence[nodes.Statement]) -> Any:
            inner = dict(names)
            self.run(body, inner)
            return [inner]

        before = dict(names)
        ends = self.branches([partial(way, body) for body in ways], merge=False)
        for name in dict.fromkeys(key for (end,) in ends for key in end):
            known = [end[name] for (end,) in ends if name in end]
            same = name in before and all(each is before[name] for each in known)
            names[name] = before[name] if same else _either(known)

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
            results.append(_anchored(way(), before))
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
        return _either(results) if merge else results

    def _for(self, statement: nodes.For, names: Names) -> Any:
        """Run a loop; return what it may return from inside, or NEVER."""
        listed = self.items(self.value(statement.iterable, names))
        if isinstance(listed, list) and not _returns(statement):
            for each in listed:
                self.store(statement.target, each, names)
                self.run(statement.body, names)
            return NEVER
        changed = {name for name, _, _ in defined_in(statement.body)}

        def blur() -> None:
            for name in changed & set(names):
                names[name] = _blurred(names[name])

        def once(each: Any) -> Any:
            blur()
            self.store(statement.target, each, names)
            found = self.run(statement.body, names)
            blur()
            return found

        if isinstance(listed, list):
            listed = Unknown(_either(listed) if listed else UNKNOWN, len(listed))
        return self.rounds(listed, once)

    def rounds(self, listed: Unknown, once: Callable[[Any], Any]) -> Any:
        """Run a loop's body once for all its rounds."""
        self.fresh += 1
        loop = self.fresh
        before = {id(each): (each, each.own) for each in self.root.everything()}
        found = once(Each(loop) if listed.distinct else UNKNOWN if listed.item is None else listed.item)
        for account in list(self.root.everything()):
            known = before.get(id(account))
            if known is not None:
                account.own = known[1] + self._repeated(account.own - known[1], listed.count)
        self._repeat_new(self.root, set(before), loop, listed.count)
        return found

    def _repeat_new(self, account: Account, before: set[int], loop: int, count: int | None) -> None:
        """Let what was spent on new accounts count for every round, but on those that the rounds go through once."""
        for group in account.parts.values():
            for each in group.values():
                if each.chosen_by == loop:
                    continue
                if id(each) not in before:
                    each.own = self._repeated(each.own, count)
                self._repeat_new(each, before, loop, count)

    def _repeated(self, amount: Amount, count: int | None) -> Amount:
        if amount == NONE:
            return amount
        return UNBOUNDED if count is None else amount.times(Fraction(count))

    def store(self, target: nodes.Name | nodes.Tuple, value: Any, names: dict[str, Any]) -> None:
        """Give names a value."""
        if isinstance(target, nodes.Name):
            names[target.name] = value
            return
        targets = [each.name for each in target_names(target)]
        known = value if isinstance(value, list) and len(value) == len(targets) else None
        for place, name in enumerate(targets):
            item = value.item if isinstance(value, Unknown) and value.item is not None else UNKNOWN
            names[name] = known[place] if known is not None else item

    def items(self, value: Any) -> list[Any] | Unknown:
        """Return the items of a value: as a list if they are few and known."""
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, list):
            return value if len(value) <= MOST_ROUNDS else Unknown(_either(value), len(value))
        if isinstance(value, range):
            return list(value) if len(value) <= MOST_ROUNDS else Unknown(UNKNOWN, len(value))
        if isinstance(value, Column):
            return Unknown(None, value.count, distinct=True)
        if isinstance(value, Rows | Bought):
            return Unknown(combined([value]))
        return value if isinstance(value, Unknown) else UNKNOWN

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Unpriceable("there are too many ways through it")

    # Spending

    def charge(self, account: Account, amount: Any) -> None:
        """Spend on some rows."""
        account.own += amount.amount if isinstance(amount, Money) else _fixed(amount)

    def charge_for(self, value: Any, amount: Any) -> None:
        """Spend on the rows that private values are computed from."""
        # Where the rows were lost sight of, they are some of all.
        accounts = [each for private in _private_in(value) for each in _accounts(private)] or [self.root]
        paths = [each.path() for each in accounts]
        depth = 0
        while all(len(path) > depth and path[depth] is paths[0][depth] for path in paths):
            depth += 1
        self.charge(paths[0][max(0, depth - 1)], amount)

    # Expressions

    def value(self, node: nodes.Expression, names: dict[str, Any]) -> Any:
        """Return what is known of an expression's value, spending what it spends."""
        from jostle.lang.pricing_rules import value_of  # noqa: PLC0415 - half of this class, in a module of its own

        self._step()
        return value_of(self, node, names)

    def name(self, name: str, names: dict[str, Any]) -> Any:
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
    def deeper(self) -> Iterator[None]:
        """Count calls in calls."""
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise Unpriceable("how deep it calls itself depends on a value that is not known beforehand")
        try:
            yield
        finally:
            self.depth -= 1

    def called(self, name: str, given: Sequence[Any], named: dict[str, Any]) -> Any:
        """Return what is known of what a function gives."""
        definition = self.functions[name]
        names: dict[str, Any] = {}
        for place, each in enumerate(definition.parameters):
            if place < len(given):
                names[each.name] = given[place]
            elif each.name in named:
                names[each.name] = named[each.name]
            else:
                names[each.name] = UNKNOWN if each.default is None else self.value(each.default, self.globals)
        with self.deeper():
            found = self.run(definition.body, names)
        return None if found is NEVER else found


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def _fixed(amount: Any) -> Amount:
    if isinstance(amount, int | Fraction) and not isinstance(amount, bool):
        return Amount(fixed=Fraction(amount))
    if isinstance(amount, float) and math.isfinite(amount):
        return Amount(fixed=Fraction(amount))
    return UNBOUNDED


def _accounts(value: Any) -> tuple[Account, ...]:
    if isinstance(value, Rows):
        return (value.account,)
    return value.accounts if isinstance(value, Bought) else ()


def _private_in(value: Any) -> Iterator[Any]:
    if isinstance(value, Rows | Bought):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _private_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _private_in(each)
    elif isinstance(value, Unknown) and value.item is not None:
        yield from _private_in(value.item)


def _either(values: Sequence[Any]) -> Any:  # noqa: PLR0911 - one case per kind
    """Return what is known of a value that is one of these."""
    given = [each for each in values if each is not NEVER]
    if not given:
        return NEVER
    first = given[0]
    if all(each is first for each in given[1:]):
        return first
    private = [each for each in given for each in _private_in(each)]
    if private:
        return Bought(tuple(account for each in private for account in _accounts(each)))
    if all(isinstance(each, Callee) for each in given):
        return Callee("several", several=tuple(given))
    try:
        if all(type(each) is type(first) and each == first for each in given[1:]):
            return first
    except TypeError:
        pass
    columns = [each for each in given if isinstance(each, Column)]
    if len(columns) == len(given):
        counts = [each.count for each in columns]
        return Column("", None if None in counts else max(each for each in counts if each is not None))
    return UNKNOWN


def _returns(statement: nodes.Statement) -> bool:
    return any(isinstance(each, nodes.Return) for each in nodes.walk(statement))


def _anchored(value: Any, before: dict[int, Account]) -> Any:
    """Return a value whose accounts were there before: of a part that was not, the account that it is a part of."""
    if isinstance(value, Rows | Bought):
        found = tuple(_nearest(each, before) for each in _accounts(value))
        if isinstance(value, Rows) and found == (value.account,):
            return value
        return Bought(found)
    if isinstance(value, list):
        return [_anchored(each, before) for each in value]
    if isinstance(value, dict):
        return {key: _anchored(each, before) for key, each in value.items()}
    if isinstance(value, Unknown) and value.item is not None:
        return evolve(value, item=_anchored(value.item, before))
    return value


def _nearest(account: Account, before: dict[int, Account]) -> Account:
    found = account
    while id(found) not in before and found.parent is not None:
        found = found.parent
    return found


def _blurred(value: Any) -> Any:
    """Return what is known of a value that a loop's rounds change: of a table, not that parts of it are disjoint."""
    if isinstance(value, Callee | Column):
        return value
    private = list(_private_in(value))
    if isinstance(value, Rows | Bought):
        return combined([value])
    return Unknown(combined(private)) if private else UNKNOWN


def combined(values: Sequence[Any]) -> Bought:
    """Return a private value computed from others."""
    return Bought(tuple(account for each in values for private in _private_in(each) for account in _accounts(private)))


def unlisted(values: Unknown, item: Any) -> Unknown:
    """Return a list of other items, as long."""
    return evolve(values, item=item, distinct=False)
