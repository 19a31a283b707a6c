"""What statements are known to do, and spend, where a program is run without data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jostle.lang import nodes
from jostle.lang.pricing import Pricer
from jostle.lang.pricing_lists import items
from jostle.lang.pricing_public import check_items
from jostle.lang.pricing_values import NEVER, Names, Some, Unknown, blurred, either, truth_of, whole_list
from jostle.lang.scopes import defined_in

__all__ = ["run"]

Then = Callable[[Names], Any]
"""What comes after some statements."""


def run(pricer: Pricer, body: Sequence[nodes.Statement], names: Names, then: Then | None = None) -> Any:
    """Run statements, and what comes after them; return what is known of what they return, or NEVER."""
    with pricer.levels:
        for place, statement in enumerate(body):
            pricer.step()
            match statement:
                case nodes.Assign():
                    pricer.store(statement.target, pricer.value(statement.value, names), names)
                case nodes.ExpressionStatement():
                    pricer.value(statement.value, names)
                case nodes.Return():
                    return None if statement.value is None else pricer.value(statement.value, names)
                case nodes.If() if _returns(statement):
                    rest = body[place + 1 :]
                    ways = _ways(pricer, statement, names)
                    return pricer.branches([partial(_way, pricer, way, rest, names, then) for way in ways])
                case nodes.If():
                    _if(pricer, statement, names)
                case nodes.For():
                    found = _for(pricer, statement, names)
                    if found is not NEVER:
                        # Whether it returned from inside is not known; going on spends no less.
                        return either([found, run(pricer, body[place + 1 :], names, then)])
        return NEVER if then is None else then(names)


def _way(
    pricer: Pricer, body: Sequence[nodes.Statement], rest: Sequence[nodes.Statement], names: Names, then: Then | None
) -> Any:
    """Run one branch, and all that comes after it, with variables of their own."""
    return run(pricer, body, dict(names), lambda inner: run(pricer, rest, inner, then))


def _ways(pricer: Pricer, statement: nodes.If, names: Names) -> list[tuple[nodes.Statement, ...]]:
    """The branches that may be run."""
    ways: list[tuple[nodes.Statement, ...]] = []
    for branch in statement.branches:
        holds = True if branch.condition is None else truth_of(pricer.value(branch.condition, names))
        if holds is False:
            continue
        ways.append(branch.body)
        if holds is True:
            return ways
    return [*ways, ()]


def _if(pricer: Pricer, statement: nodes.If, names: Names) -> None:
    """Run branches that return nothing, and go on with what is known after any of them."""
    ways = _ways(pricer, statement, names)
    if len(ways) == 1:
        run(pricer, ways[0], names)
        return

    _either_way(pricer, [partial(run, pricer, body) for body in ways], names)


def _either_way(pricer: Pricer, ways: Sequence[Callable[[Names], Any]], names: Names) -> None:
    """Go each of several ways, and go on with what is known after any of them."""

    def way(go: Callable[[Names], Any]) -> Any:
        inner = dict(names)
        go(inner)
        return [inner]

    before = dict(names)
    ends = pricer.branches([partial(way, go) for go in ways], merge=False)
    for name in dict.fromkeys(key for (end,) in ends for key in end):
        known = [end[name] for (end,) in ends if name in end]
        same = name in before and all(each is before[name] for each in known)
        names[name] = before[name] if same else either(known)


def _for(pricer: Pricer, statement: nodes.For, names: Names) -> Any:
    """Run a loop; return what it may return from inside, or NEVER."""
    iterated = pricer.value(statement.iterable, names)
    check_items(pricer, statement.iterable.span, iterated)
    listed = items(pricer, iterated)
    if isinstance(listed, list) and not _returns(statement):
        for each in listed:
            pricer.store(statement.target, each, names)
            run(pricer, statement.body, names)
        return NEVER
    if isinstance(listed, Some) and not _returns(statement):
        for each in listed.items:
            _either_way(pricer, [partial(_round, pricer, statement, each), lambda _: None], names)
        return NEVER
    changed = {name for name, _, _ in defined_in(statement.body)}

    def blur() -> None:
        for name in changed & set(names):
            names[name] = blurred(names[name])

    def once(each: Any) -> Any:
        blur()
        pricer.store(statement.target, each, names)
        found = run(pricer, statement.body, names)
        blur()
        return found

    return pricer.rounds(listed if isinstance(listed, Unknown) else whole_list(listed), once)[0]


def _round(pricer: Pricer, statement: nodes.For, each: Any, names: Names) -> None:
    """Run a loop's body for one item."""
    pricer.store(statement.target, each, names)
    run(pricer, statement.body, names)


def _returns(statement: nodes.Statement) -> bool:
    return any(isinstance(each, nodes.Return) for each in nodes.walk(statement))
