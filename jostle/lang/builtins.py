"""The functions and values that every program knows without importing them: a record for each.

A record says how a function is called, what it gives, and what is known of that without running: what becomes of
private values in it (`guards`), and what it gives and spends on tables that hold nothing (`knows`). What it does while
a program runs stands under the same name in `operations`, which loads libraries of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from attrs import field, frozen

from jostle.errors import Span
from jostle.lang import nodes
from jostle.lang.accounts import Amount
from jostle.lang.facts import (
    NOTHING,
    PUBLIC,
    RELEASED,
    UNKNOWN,
    Bought,
    Column,
    Grouped,
    Money,
    Rows,
    Some,
    Unknown,
    World,
    combined,
    container,
    either,
    is_keyed,
    joined,
    private,
)
from jostle.lang.guard import Checker, Place, budget, buys, nothing_private, predict_looks
from jostle.lang.pricing import Pricer, items, mapped, side_by_side
from jostle.lang.pricing_private import bought, made, mixed, picked_by, refused
from jostle.lang.pricing_public import (
    ATTRIBUTE,
    LISTED,
    NUMBER,
    SUMMED,
    TEXT,
    check_amount,
    check_given,
    check_items,
    plain,
)

EPSILON = "epsilon"
"""What the caller allotted: known inside functions, never assigned."""
AGGREGATES = ("count", "max", "mean", "min", "persons", "stddev", "sum")
"""What `select` can compute."""
ALL = Money(Amount(Fraction(1)))
"""What is spent if nothing is said: all that the caller allotted."""
MOST_OF_A_RANGE = 10_000_000

Value = TypeVar("Value")
Guards = Callable[[Checker, "Builtin", nodes.Call, list[World], Place], World]
"""What becomes of the values that a function is given, in the order of its parameters; it reports what shows."""
Knows = Callable[[Pricer, Span, "Builtin", list[Any]], Any]
"""What a function gives, as far as is known, where a program is run without data; it spends, and reports."""


def _must_be_public(said: str) -> Guards:
    def guards(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
        wrong = [(number, world) for number, world in enumerate(given) if world.holds_private]
        for number, world in wrong:
            what = world.word if world.is_private else "a list of private values"
            written = builtin.written(node, number)
            checker.report(said, written, inside=not world.is_private, name=builtin.name, what=what)
        # Nothing is said about what is computed from a mistake.
        return NOTHING if wrong else PUBLIC

    return guards


REFUSED = _must_be_public("J217 refused")
"""What becomes of private values where nothing else is said."""


def _computed(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:
    found = combined(given)
    return found if found.accounts else plain(pricer, span, builtin.name, given)


@frozen(eq=False)
class Builtin:
    """A function that every program knows."""

    head: str
    """How it is called: `log(x, base=...)`. What can be left out has dots; a last name with a star stands for more."""
    meaning: str
    """What it gives back, in a sentence."""
    takes: frozenset[int] | None = None
    """The kinds of public values that it takes; None where nothing is said of them."""
    guards: Guards = field(default=REFUSED, repr=False)
    """What becomes of private values; where nothing is said, they are refused."""
    knows: Knows = field(default=_computed, repr=False)
    keeps: bool = False
    """Whether it gives back, in one way or another, what it is given."""
    name: str = field(init=False)
    """What it is called."""
    parameters: tuple[str, ...] = field(init=False)
    """The names of what it takes, the last perhaps with a star."""
    least: int = field(init=False)
    """How many of them must be given."""

    @name.default
    def _named(self) -> str:
        return self.head.partition("(")[0]

    @parameters.default
    def _written(self) -> tuple[str, ...]:
        return tuple(each.removesuffix("=...") for each in self.head.partition("(")[2][:-1].split(", "))

    @least.default
    def _needed(self) -> int:
        return sum(not parameter.startswith("*") for parameter in self.parameters) - self.head.count("=...")

    @property
    def most(self) -> int | None:
        """How many values it takes at most; None for any number."""
        return None if self.parameters[-1].startswith("*") else len(self.parameters)

    @property
    def plain(self) -> tuple[str, ...]:
        """The parameters that have a name."""
        return tuple(name for name in self.parameters if not name.startswith("*"))

    def in_order(self, given: Sequence[Value], named: dict[str, Value], missing: Value) -> list[Value]:
        """The values of a call in the order of the parameters, with something for those that are left out."""
        found = list(given)
        for index, parameter in enumerate(self.plain):
            if parameter in named:
                found.extend([missing] * (index + 1 - len(found)))
                found[index] = named[parameter]
        return found

    def written(self, node: nodes.Call, place: int) -> nodes.ExpressionNode:
        """The expression in place of one of the parameters in a call."""
        if place < len(node.arguments):
            return node.arguments[place]
        parameter = self.parameters[min(place, len(self.parameters) - 1)]
        return next((keyword.value for keyword in node.keywords if keyword.name == parameter), node)


# Of public values alone


TESTED, COMPARED = _must_be_public("J202 tested"), _must_be_public("J216 largest")


def _size(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:
    check_given(pricer, span, builtin.name, [each for each in given if each is not None])
    refused(pricer, span, builtin.name, given)
    column = given[0] if given else None
    return column.count if isinstance(column, Column) and column.values is not None else UNKNOWN


def _range(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:
    check_given(pricer, span, builtin.name, [each for each in given if each is not None])
    numbers = [each for each in given if isinstance(each, int)]
    if len(numbers) < len(given) or not numbers:
        return Unknown(UNKNOWN)
    if (len(numbers) < 3 or numbers[-1]) and len(range(*numbers)) <= MOST_OF_A_RANGE:
        return range(*numbers)
    check_given(pricer, span, builtin.name, given, failed=True)
    return Unknown(UNKNOWN)


# Of lists


def _passed_on(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
    for number, world in enumerate(given):
        if world.is_private:
            culprit = builtin.written(node, number)
            checker.report("J205 items", culprit, name=builtin.name, what=world.word)
    return container([joined(world.each() for world in given)])


def _listed(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:
    check_given(pricer, span, builtin.name, [each for each in given if each is not None])
    if not given:
        return _computed(pricer, span, builtin, given)
    return given[0] if isinstance(given[0], list) else items(pricer, given[0])


def _beside(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:
    _passed_on(checker, builtin, node, given, place)
    return container([container([world.each() for world in given], fixed=True)])


def _zip(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:
    return side_by_side(pricer, given) if given else _computed(pricer, span, builtin, given)


def _called_with_each(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:
    if len(given) < 2:
        return PUBLIC
    called, listed = given[0], given[1]
    if listed.is_private:
        _passed_on(checker, builtin, node, [PUBLIC, listed], place)
        listed = PUBLIC
    one = nodes.Call(node.function, node.arguments[1:2] or (nodes.Name("x"),), span=node.span)
    return container([checker.rules.call(checker, called, one, [listed.each()], {}, place)])


def _map(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:
    if len(given) != 2:
        return _computed(pricer, span, builtin, given)
    check_items(pricer, span, given[1])
    return mapped(pricer, given[1], lambda each: pricer.rules.call(pricer, span, given[0], [each], {}))


# Of public or private numbers


def _aggregate(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:
    worlds = [world for world in given if world != NOTHING]
    if not any(world.holds_private for world in worlds):
        return PUBLIC
    if place.in_query:
        checker.in_query(node)
        return PUBLIC
    kinds = joined(worlds).kinds | joined(world.each() for world in worlds if world.inside is not None).kinds
    if kinds & {"table", "score"}:
        checker.report("J219 numbers", node, name=builtin.name, what=joined(worlds).word)
    return private("number")


def _abs(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:
    world = given[0] if given else PUBLIC
    if world.kinds & {"table", "score"}:
        return _aggregate(checker, builtin, node, given, place)
    return World(world.kinds)


def _made(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:
    mixed(pricer, span, given)
    return made(pricer, span, builtin.name, given)


def _len(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
    world = given[0] if given else PUBLIC
    if "table" in world.kinds:
        return private("number")
    if world.kinds & {"number", "score"}:
        checker.report("J219 length", node, what=world.word)
    return PUBLIC


def _length(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:
    check_given(pricer, span, builtin.name, [each for each in given if each is not None])
    if not given:
        return _computed(pricer, span, builtin, given)
    value = given[0]
    if isinstance(value, Rows | Bought):
        return made(pricer, span, builtin.name, given)
    if isinstance(value, Grouped):
        return value.count
    return len(value) if isinstance(value, list | str) or is_keyed(value) else UNKNOWN


def _score(kind: str) -> Guards:
    def guards(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:
        if place.mode == "predict":
            predict_looks(checker, node.span)
        for number, world in enumerate(given[:2]):
            if world.holds_private:
                checker.report("J206 column", builtin.written(node, number))
        return private(kind)

    return guards


# What buys


def _noisy_count(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:
    buys(checker, node.span, place, f"`{builtin.name}`")
    if place.mode == "predict":
        return PUBLIC
    world = given[0] if given else NOTHING
    if len(given) > 1:
        budget(checker, given[1], builtin.written(node, 1))
    if world != NOTHING and not world.is_private:
        nothing_private(checker, builtin.name, builtin.written(node, 0))
    elif world.kinds & {"score", "groups"}:
        checker.report(
            "J219 count",
            builtin.written(node, 0),
            name=builtin.name,
            what=world.word if "score" in world.kinds else "several groups",
        )
    return PUBLIC


def _counted(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:  # noqa: ARG001 - as all of these
    table, amount = (*given, None, None)[:2]
    bought(pricer, span, table)
    _charge(pricer, span, table, amount)
    return RELEASED


def _charge(pricer: Pricer, span: Span, value: Any, amount: Any) -> None:
    spent = ALL if amount is None else amount
    check_amount(pricer, span, spent)
    pricer.charge_for(value, spent, span)


def _noisy_statistic(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:
    buys(checker, node.span, place, f"`{builtin.name}`")
    if place.mode == "predict":
        return PUBLIC
    table, *asked = given or [NOTHING]
    if "epsilon" in builtin.parameters[: len(given)]:
        budget(checker, asked.pop(), builtin.written(node, len(given) - 1))
    for number, world in enumerate(asked, start=1):
        if world.holds_private:
            checker.report("J206 asked", builtin.written(node, number))
    if table != NOTHING and not table.is_private:
        nothing_private(checker, builtin.name, builtin.written(node, 0))
    elif table.is_private and "table" not in table.kinds:
        written = builtin.written(node, 0)
        checker.report("J219 column", written, name=builtin.name, what=table.word, head=builtin.head)
    return PUBLIC


def _of_column(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:
    asked = given[: len(builtin.parameters) - 1]
    if pricer.schema is not None and len(asked) == len(builtin.parameters) - 1 and None not in asked:
        from jostle.lang.pricing_schema import check_statistic  # noqa: PLC0415 - only with a schema

        check_statistic(pricer, span, builtin.name, asked)
    _charge(pricer, span, asked[0] if asked else None, (*given, None)[len(asked)])
    return RELEASED


def _noisy_max(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:
    buys(checker, node.span, place, f"`{builtin.name}`")
    if place.mode == "predict":
        return PUBLIC
    domain, utilities = (*given, NOTHING, NOTHING)[:2]
    if len(given) > 2:
        budget(checker, given[2], builtin.written(node, 2))
    if domain.holds_private:
        checker.report("J220 picked", builtin.written(node, 0))
    if utilities.is_private:
        checker.report("J219 utilities", builtin.written(node, 1), what=utilities.word)
    elif utilities.inside is not None and not utilities.inside.is_private:
        nothing_private(checker, "noisyMax", builtin.written(node, 1))
    elif utilities.inside is not None and utilities.inside.kinds & {"table", "groups"}:
        checker.report("J219 utility", builtin.written(node, 1))
    return NOTHING if domain.holds_private else domain.each()


def _picked(pricer: Pricer, span: Span, builtin: Builtin, given: list[Any]) -> Any:  # noqa: ARG001 - as all of these
    """The facts known of an item that is picked: of an attribute, a name of its own."""
    domain, utilities, amount = (*given, None, None, None)[:3]
    picked_by(pricer, span, domain, utilities)
    _charge(pricer, span, utilities, amount)
    listed = items(pricer, domain)
    picked: Sequence[Any] = listed if isinstance(listed, list) else ()
    if not picked:
        picked = listed.items if isinstance(listed, Some) else [listed.single] if isinstance(listed, Unknown) else ()
    if picked and all(isinstance(each, Column) for each in picked):
        counts = [each.count for each in picked]
        pricer.fresh += 1
        return Column(f"picked {pricer.fresh}", None if None in counts else max(counts))
    return either(picked) if picked else UNKNOWN


# Trees


def _tree(checker: Checker, builtin: Builtin, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
    return container([World(world.kinds) if world.inside is None else world for world in given if world != NOTHING])


A_NUMBER, A_TEXT, AN_ATTRIBUTE = frozenset({NUMBER}), frozenset({TEXT}), frozenset({ATTRIBUTE})
SPLIT, PICK = "(attribute, label, table)", "(domain, utilities, epsilon=...)"
OF_COLUMN = "(table, attribute, epsilon=...)"

_ALL = (
    Builtin("abs(x)", "the size of a number without its sign", A_NUMBER, _abs, _made),
    Builtin("all(xs)", "whether all of a list hold", LISTED, TESTED),
    Builtin("any(xs)", "whether one of a list holds", LISTED, TESTED),
    Builtin("argmax(scores)", "the key with the largest value, or the index of the largest item", LISTED, COMPARED),
    Builtin("argmin(scores)", "the key with the smallest value, or the index of the smallest item", LISTED, COMPARED),
    Builtin("ceil(x)", "the next whole number above", A_NUMBER),
    Builtin("exp(x)", "e to the power of a number", A_NUMBER),
    Builtin("fail(message)", "nothing; it ends the run with a sentence", A_TEXT, _must_be_public("J207 message")),
    Builtin("floor(x)", "the next whole number below", A_NUMBER),
    Builtin(
        "len(x)", "how many items a list has; of a table, its rows, which is private", LISTED | A_TEXT, _len, _length
    ),
    Builtin("list(xs)", "the items as a list", LISTED, _passed_on, _listed, keeps=True),
    Builtin("log(x, base=...)", "the logarithm, natural unless a base is given", A_NUMBER),
    Builtin(
        "map(function, items)",
        "a list of what a function gives for each item",
        None,
        _called_with_each,
        _map,
        keeps=True,
    ),
    Builtin("max(x, *xs)", "the largest of several values, or of a list", SUMMED, _aggregate, _made),
    Builtin("mean(xs)", "the mean of a list", SUMMED, _aggregate, _made),
    Builtin("min(x, *xs)", "the smallest of several values, or of a list", SUMMED, _aggregate, _made),
    Builtin("print(*values)", "nothing; it shows public or released values", None, _must_be_public("J204")),
    Builtin(
        "range(start, stop=..., step=...)",
        "whole numbers from 0 or a start up to before a stop",
        A_NUMBER,
        _must_be_public("J205 rounds"),
        _range,
    ),
    Builtin("round(x, digits=...)", "the nearest number with so many digits after the point", A_NUMBER),
    Builtin(
        "size(attribute)",
        "how many values an attribute can have: a public fact",
        AN_ATTRIBUTE,
        REFUSED,
        _size,
    ),
    Builtin("sorted(xs)", "the items in order", LISTED, _must_be_public("J216 order"), _listed, keeps=True),
    Builtin("sqrt(x)", "the square root", A_NUMBER),
    Builtin("stddev(xs)", "the standard deviation of a list", SUMMED, _aggregate, _made),
    Builtin("sum(xs)", "the sum of a list", SUMMED, _aggregate, _made),
    Builtin("zip(xs, *others)", "lists side by side, as a list of tuples", LISTED, _beside, _zip, keeps=True),
    Builtin("noisyCount(table, epsilon=...)", "how many rows, with noise", None, _noisy_count, _counted),
    *(
        Builtin(
            f"noisy{what}{OF_COLUMN}", f"the {what.lower()} of a column, with noise", None, _noisy_statistic, _of_column
        )
        for what in ("Mean", "Median", "Sum", "Variance")
    ),
    Builtin(
        "noisyQuantile(table, attribute, share, epsilon=...)",
        "the number that a share of a column is no greater than, with noise",
        None,
        _noisy_statistic,
        _of_column,
    ),
    Builtin(f"noisyMax{PICK}", "the item with nearly the highest utility", None, _noisy_max, _picked),
    Builtin(f"expMech{PICK}", "the item with nearly the highest utility", None, _noisy_max, _picked),
    Builtin(f"maxScore{SPLIT}", "how many rows a split predicts right: private", None, _score("number"), _made),
    Builtin(f"gini{SPLIT}", "the Gini score of a split: private", None, _score("score"), _made),
    Builtin(f"infoGain{SPLIT}", "the information gain of a split: private", None, _score("score"), _made),
    Builtin(f"random{SPLIT}", "the same score for every split: no data is looked at", None, _score("score"), _made),
    Builtin("Leaf(pred, size=..., votes=...)", "a leaf of a decision tree", None, _tree, keeps=True),
    Builtin("Node(att, children)", "an inner node of a decision tree", None, _tree, keeps=True),
    Builtin(
        "C45_Prune(tree)",
        "the tree without branches that are no better than a leaf",
        None,
        _must_be_public("J217 pruned"),
    ),
    Builtin(
        "rehearse(option, database, scale, epsilon)",
        "the error of an Option on a public database, which costs nothing",
        None,
        _must_be_public("J211 rehearsal"),
    ),
    Builtin("public(path)", "the public databases of a file or folder", A_TEXT, _must_be_public("J211 file")),
)

BUILTINS: dict[str, Builtin] = {each.name: each for each in _ALL}
"""By name."""
KEEPING = frozenset(each.name for each in _ALL if each.keeps)
"""Those that give back, in one way or another, what they are given."""
