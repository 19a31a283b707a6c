"""What becomes of private values in operations, calls and queries: the half of the checker that has a rule for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import evolve

from jostle.errors import Span
from jostle.lang import nodes
from jostle.lang.builtins import BUILTINS
from jostle.lang.printer_expressions import show_expression
from jostle.lang.world import NOTHING, PUBLIC, World, container, joined, mapping, private

if TYPE_CHECKING:
    from jostle.lang.worlds import Checker, Place

__all__ = [
    "attribute",
    "binary",
    "call",
    "choose",
    "index",
    "make_choice_maker",
    "noised",
    "over",
    "part",
    "select",
    "unary",
]

BUY_EACH = "buy each of them first: [{{ x }} for x in xs]"
BUY_FIRST = "buy it first: n = {{ ... }}"
PLAIN = {"sqrt", "log", "exp", "floor", "ceil", "round", "size"}
AGGREGATES = {"max", "min", "mean", "sum", "stddev"}
SCORES = {"gini", "infoGain", "random"}
ON_ROWS = {
    "mean": (
        "a mean is a quotient, and where there are few rows, one of them moves it far",
        "buy both: {{ select sum(age) from db }} and {{ select count() from db }}",
    ),
    "stddev": ("where there are few rows, one of them moves it far", "buy a sum, a sum of squares and a count"),
    "max": ("one row can change it from any value to any other", "buy how many rows have each value, with groupby"),
    "min": ("one row can change it from any value to any other", "buy how many rows have each value, with groupby"),
}


# Operations


def binary(checker: Checker, node: nodes.BinaryOperation, place: Place) -> World:  # noqa: C901, PLR0911 - one case per kind
    """Return what is known of a sum, product and so on."""
    left, right = checker.value(node.left, place), checker.value(node.right, place)
    if not (left.is_private or right.is_private):
        if node.operator in "+-|&" and (left.inside is not None or right.inside is not None):
            return container([left.each(), right.each()] if node.operator in "+|" else [left.each()])
        return evolve(PUBLIC, written=left.written or right.written)
    if place.in_query:
        checker.in_query(node.left if left.is_private else node.right)
        return PUBLIC
    for world, side in ((left, node.left), (right, node.right)):
        if world.written:
            checker.report(
                "J207",
                "a private value in a text",
                node.left if left.is_private else node.right,
                "whoever reads the text sees it without noise",
                BUY_FIRST,
            )
            return PUBLIC
        if "table" in world.kinds:
            checker.report(
                "J219",
                "a database is computed with",
                side,
                "a database is not a number",
                f"len({show_expression(side)}) is how many rows it has",
                label="a database",
            )
            return NOTHING
    both = left.is_private and right.is_private
    why = None
    if "score" in left.kinds | right.kinds:
        why = "a score is to be picked by, and nothing else"
        fix = "noisyMax(domain, utilities, epsilon)"
    elif node.operator == "*" and both:
        why = "a row changes the product by as much as the other value, which is private and has no small bound"
        fix = "buy both, and multiply what comes out"
    elif node.operator == "/" and right.is_private:
        why = "where the divisor is small, one row can change the quotient without bound"
        fix = "buy both, and divide what comes out"
    elif node.operator in {"//", "%", "**", "|", "&"}:
        why = "how far one row can change the result has no small bound"
        fix = BUY_FIRST
    if why is not None:
        culprit = node if both else node.left if left.is_private else node.right
        checker.report("J214", f"`{node.operator}` on a private value", culprit, why, fix)
        return private("number")
    return World(frozenset({"groups" if "groups" in left.kinds | right.kinds else "number"}))


def unary(checker: Checker, node: nodes.UnaryOperation, place: Place) -> World:
    """Return what is known of a value with a sign."""
    world = checker.value(node.operand, place)
    if world.kinds & {"table", "score"}:
        checker.report("J219", f"{world.word} is computed with", node, "it is not a number", BUY_FIRST, label="")
        return PUBLIC
    if place.in_query and world.is_private:
        checker.in_query(node.operand)
    return World(world.kinds)


def index(checker: Checker, node: nodes.Index, place: Place) -> World:
    """Return what is known of an item."""
    world, at = checker.value(node.value, place), checker.value(node.index, place)
    if at.holds_private:
        checker.report(
            "J206", "a private value is an index", node.index, "which item it is shows it without noise", BUY_FIRST
        )
    if "table" in world.kinds and _is_test(node.index):
        return private("table")  # meant as a part, and reported as such
    if world.kinds & {"table", "number", "score"}:
        checker.report(
            "J206",
            f"an item of {world.word}",
            node.value,
            "rows and private values are not looked into",
            "ask for a part, D[region = v], or buy a number: {{ ... }}",
        )
        return PUBLIC
    if "groups" in world.kinds:
        return private("number")
    if world.items is not None and isinstance(node.index, nodes.Number) and node.index.value.denominator == 1:
        place_of = int(node.index.value)
        if place_of < len(world.items):
            return world.items[place_of]
    return PUBLIC if world.inside is None else world.inside


def _is_test(node: nodes.Expression) -> bool:
    return any(isinstance(each, nodes.Comparison) and "==" in each.operators for each in nodes.walk(node))


def attribute(checker: Checker, node: nodes.Attribute, place: Place) -> World:
    """Return what is known of a named part: facts about databases are public."""
    world = checker.value(node.value, place)
    if world.kinds & {"number", "groups", "score"}:
        checker.report("J219", "a part of a private value", node, "it has no parts with names", BUY_FIRST)
        return PUBLIC
    if "table" in world.kinds:
        if place.mode == "predict":
            _predict_looks(checker, node.span)
        return container([PUBLIC]) if node.name in {"attributes", "label"} else PUBLIC
    return PUBLIC if world.inside is None else world.inside.join(PUBLIC)


def part(checker: Checker, node: nodes.Part, place: Place) -> World:
    """Return what is known of a part of a database."""
    world = checker.value(node.table, place)
    for condition in node.conditions:
        inner = evolve(place, in_query=True)
        value = checker.value(condition.value, place)
        if not isinstance(condition.attribute, nodes.Name) or condition.attribute.name in place.names:
            value = value.join(checker.value(condition.attribute, inner))
        if value.holds_private:
            checker.report(
                "J206",
                "a private value says which part",
                condition.value,
                "which rows are looked at next shows it without noise",
                BUY_FIRST,
            )
    if "table" not in world.kinds and world.is_private:
        checker.report("J219", "a part of a private value", node.table, "a database has parts", "D[region = v]")
    if place.in_query and world.is_private:
        checker.in_query(node)
    return private("table")


# Calls


def call(checker: Checker, node: nodes.Call, place: Place) -> World:
    """Return what is known of what a call gives."""
    inner = evolve(place, in_query=False) if place.in_query else place
    plain = isinstance(node.function, nodes.Name) and node.function.name not in place.names
    callee = checker.value(node.function, inner) if plain else checker.value(node.function, place)
    given = [checker.value(each, place) for each in node.arguments]
    named = {each.name: checker.value(each.value, place) for each in node.keywords}
    if place.in_query:
        for world, written in [*zip(given, node.arguments, strict=True)]:
            if world.holds_private:
                checker.in_query(node if world.kinds == {"table"} else written)
                return PUBLIC
    if not callee.functions:
        return _unknown(checker, node, callee, [*given, *named.values()])
    return joined(_one(checker, each, node, given, named, place) for each in sorted(callee.functions))


def _unknown(checker: Checker, node: nodes.Call, callee: World, given: list[World]) -> World:
    if callee.is_private:
        checker.report("J219", "a private value is called", node.function, "it is no function", BUY_FIRST)
        return PUBLIC
    if any(world.holds_private for world in given):
        checker.report(
            "J217",
            "a private value is passed to an unknown function",
            node.function,
            "what it does with it cannot be seen from here",
            "call a function of the program by its name",
            label="unknown",
        )
    return PUBLIC


def _one(  # noqa: PLR0917 - a clause each
    checker: Checker, name: str, node: nodes.Call, given: list[World], named: dict[str, World], place: Place
) -> World:
    kind, _, called = name.partition(" ")
    if kind == "f":
        return checker.called(called, given, named, node.span, place.mode)
    if kind == "l":
        return checker.called_lambda(int(called), given, node.span)
    if kind == "o":
        return _option(checker, node, called, given, named, place)
    rule = RULES.get(called)
    return PUBLIC if rule is None else rule(checker, called, node, _bound(called, given, named), place)


def _option(  # noqa: PLR0917 - a clause each
    checker: Checker, node: nodes.Call, name: str, given: list[World], named: dict[str, World], place: Place
) -> World:
    _buys(checker, node.span, place, f"`{name}`")
    questions = [
        *zip(given[1:], node.arguments[1:], strict=True),
        *((named[each.name], each.value) for each in node.keywords if each.name != "epsilon"),
    ]
    for world, written in questions:
        if world.holds_private:
            checker.report(
                "J220",
                f"`{name}` is given {world.word}",
                written,
                "an Option is given a database first; what else it is asked is public",
                BUY_FIRST,
            )
    if "epsilon" in named:
        _budget(checker, named["epsilon"], next(each.value for each in node.keywords if each.name == "epsilon"))
    if given and given[0].is_private and "table" not in given[0].kinds:
        checker.report(
            "J219",
            f"`{name}` is given {given[0].word} in place of a database",
            node.arguments[0].span,
            "an Option answers from a database",
            f"{name}(db)",
        )
    return evolve(PUBLIC, inside=PUBLIC)


def _budget(checker: Checker, world: World, written: nodes.Expression) -> None:
    if world.holds_private:
        checker.report(
            "J221",
            "a private value is a budget",
            written,
            "how much noise there is would show it",
            "give a public amount: epsilon / 2",
        )


def _bound(name: str, given: list[World], named: dict[str, World]) -> list[World]:
    """Return the values of a builtin function in the order of its parameters."""
    plain = [each for each in BUILTINS[name].parameters if not each.startswith("*")]
    found = list(given)
    for place, parameter in enumerate(plain):
        if parameter in named:
            found.extend([NOTHING] * (place + 1 - len(found)))
            found[place] = named[parameter]
    return found


def _written(node: nodes.Call, name: str, place: int) -> nodes.Expression:
    """Return what stands for one of a builtin function's parameters."""
    if place < len(node.arguments):
        return node.arguments[place]
    parameter = BUILTINS[name].parameters[min(place, len(BUILTINS[name].parameters) - 1)]
    return next((each.value for each in node.keywords if each.name == parameter), node)


Rule = Callable[["Checker", str, nodes.Call, list[World], "Place"], World]


def _must_be_public(code: str, title: str, why: str, fix: str = BUY_FIRST) -> Rule:
    def rule(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
        wrong = [(number, world) for number, world in enumerate(given) if world.holds_private]
        for number, world in wrong:
            what = world.word if world.is_private else "a list of private values"
            way_out = fix if world.is_private or "{{" not in fix else BUY_EACH
            checker.report(code, title.format(name=name, what=what), _written(node, name, number), why, way_out)
        # Nothing is said about what is computed from a mistake.
        return NOTHING if wrong else PUBLIC

    return rule


def _aggregate(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    worlds = [world for world in given if world != NOTHING]
    if not any(world.holds_private for world in worlds):
        return PUBLIC
    if place.in_query:
        checker.in_query(node)
        return PUBLIC
    kinds = joined(worlds).kinds | joined(world.each() for world in worlds if world.inside is not None).kinds
    if kinds & {"table", "score"}:
        checker.report(
            "J219", f"`{name}` of {joined(worlds).word}", node, "it takes numbers", "len(D) is how many rows D has"
        )
    return private("number")


def _abs(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    world = given[0] if given else PUBLIC
    return _aggregate(checker, name, node, given, place) if world.kinds & {"table", "score"} else World(world.kinds)


def _len(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
    world = given[0] if given else PUBLIC
    if "table" in world.kinds:
        return private("number")
    if world.kinds & {"number", "score"}:
        checker.report("J219", f"`len` of {world.word}", node, "a number has no length", "len(db)")
    return PUBLIC


def _passed_on(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
    for number, world in enumerate(given):
        if world.is_private:
            written = _written(node, name, number)
            checker.report(
                "J205", f"`{name}` of {world.word}", written, "its items would show it without noise", BUY_FIRST
            )
    if name == "zip":
        return container([container([world.each() for world in given], fixed=True)])
    return container([joined(world.each() for world in given)])


def _map(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    if len(given) < 2:
        return PUBLIC
    called, items = given[0], given[1]
    if items.is_private:
        _passed_on(checker, name, node, [PUBLIC, items], place)
        items = PUBLIC
    if not called.functions:
        return container([_unknown(checker, node, called, [items.each()])])
    one = evolve(node, arguments=node.arguments[1:2] or (nodes.Name("x"),), keywords=())
    return container([_one(checker, each, one, [items.each()], {}, place) for each in sorted(called.functions)])


def _noisy_count(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    _buys(checker, node.span, place, f"`{name}`")
    if place.mode == "predict":
        return PUBLIC
    world = given[0] if given else NOTHING
    if len(given) > 1:
        _budget(checker, given[1], _written(node, name, 1))
    if world != NOTHING and not world.is_private:
        _nothing_private(checker, name, _written(node, name, 0))
    elif world.kinds & {"score", "groups"}:
        checker.report(
            "J219",
            f"`{name}` of {world.word if 'score' in world.kinds else 'several groups'}",
            _written(node, name, 0),
            "it gives one number of rows",
            "noisyCount(D, epsilon / 2)",
        )
    return PUBLIC


def _nothing_private(checker: Checker, name: str, span: nodes.Expression) -> None:
    checker.report(
        "J213",
        f"`{name}` of a public value",
        span,
        "noise is for private values; on a public one it would only spoil it",
        "use the value as it is" if name != "noisyMax" else "argmax(...)",
        label="public",
    )


def _noisy_max(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    _buys(checker, node.span, place, f"`{name}`")
    if place.mode == "predict":
        return PUBLIC
    domain, utilities = (*given, NOTHING, NOTHING)[:2]
    if len(given) > 2:
        _budget(checker, given[2], _written(node, name, 2))
    if domain.holds_private:
        checker.report(
            "J220",
            "`noisyMax` picks among private values",
            _written(node, name, 0),
            "what is picked is shown as it is, so candidates are public",
            "noisyMax(domain=atts, utilities=U, epsilon=e)",
        )
    if utilities.is_private:
        checker.report(
            "J219",
            f"the utilities are {utilities.word}, not a list",
            _written(node, name, 1),
            "there is one for each candidate",
            "U = [maxScore(a, clss, D) for a in atts]",
        )
    elif utilities.inside is not None and not utilities.inside.is_private:
        _nothing_private(checker, "noisyMax", _written(node, name, 1))
    elif utilities.inside is not None and utilities.inside.kinds & {"table", "groups"}:
        checker.report(
            "J219",
            "a utility is no single number",
            _written(node, name, 1),
            "candidates are compared by one number each",
            "[len(D[a = v]) for v in a]",
        )
    return NOTHING if domain.holds_private else domain.each()


def _score(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:
    if place.mode == "predict":
        _predict_looks(checker, node.span)
    for number, world in enumerate(given[:2]):
        if world.holds_private:
            checker.report(
                "J206",
                "a private value says which column",
                _written(node, name, number),
                "which column is looked at shows it without noise",
                BUY_FIRST,
            )
    return private("score") if name in SCORES else private("number")


def _tree(checker: Checker, name: str, node: nodes.Call, given: list[World], place: Place) -> World:  # noqa: ARG001
    return container([World(world.kinds) if world.inside is None else world for world in given if world != NOTHING])


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        PLAIN,
        _must_be_public("J217", "`{name}` of {what}", "how far one row can change the result has no small bound"),
    ),
    **dict.fromkeys(AGGREGATES, _aggregate),
    "abs": _abs,
    "all": _must_be_public("J202", "`{name}` of {what}", "what follows from it would show it without noise"),
    "any": _must_be_public("J202", "`{name}` of {what}", "what follows from it would show it without noise"),
    "argmax": _must_be_public(
        "J216", "`{name}` of private values", "one row can change which it is", "noisyMax(domain, utilities, epsilon)"
    ),
    "argmin": _must_be_public(
        "J216", "`{name}` of private values", "one row can change which it is", "noisyMax(domain, utilities, epsilon)"
    ),
    "sorted": _must_be_public("J216", "`{name}` of private values", "their order shows them without noise"),
    "len": _len,
    "list": _passed_on,
    "zip": _passed_on,
    "map": _map,
    "range": _must_be_public(
        "J205", "a private number of rounds", "how often a loop runs shows in the output", "buy it first: {{ ... }}"
    ),
    "print": _must_be_public("J204", "{what} is printed", "it would be seen without noise", "print({{ ... }})"),
    "fail": _must_be_public("J207", "{what} in a message", "whoever reads it sees it without noise"),
    "noisyCount": _noisy_count,
    "noisyMax": _noisy_max,
    "expMech": _noisy_max,
    **dict.fromkeys(("maxScore", *SCORES), _score),
    "Leaf": _tree,
    "Node": _tree,
    "C45_Prune": _must_be_public("J217", "a tree with private values is pruned", "pruning compares them"),
    "rehearse": _must_be_public(
        "J211",
        "{what} goes into a rehearsal",
        "rehearsals are on public databases, and show everything",
        "use public ones",
    ),
    "public": _must_be_public("J211", "a private value is a file name", "which file is opened shows it"),
}


# Buying


def _buys(checker: Checker, span: Span, place: Place, what: str) -> None:
    if place.in_query:
        checker.report(
            "J210",
            "a query buys something",
            span,
            "its conditions and groups are worked out for every value of a column, and would buy each time",
            "buy it before the query: n = {{ len(db) }}",
            label="",
        )
    if place.mode == "predict":
        _predict_looks(checker, span)
    elif place.mode == "metafeature":
        checker.report(
            "J223",
            f"a metafeature calls {what}",
            span,
            "what a metafeature buys is paid from the choice maker's share, so it buys with {{ ... }} alone",
            "{{ len(db) }}",
            label="",
        )


def _predict_looks(checker: Checker, span: Span) -> None:
    checker.report(
        "J218",
        "`predict` looks at data",
        span,
        "a prediction is made before anything runs, from metafeatures that were bought already",
        "write a metafeature, and look at F.name",
        label="",
    )


def noised(checker: Checker, node: nodes.Noised, place: Place) -> World:
    """Return what is known of a bought value."""
    if place.in_query:
        _buys(checker, node.span, evolve(place, mode="plain"), "")
        return PUBLIC
    world = checker.value(node.value, place)
    if node.spending is not None:
        _budget(checker, checker.value(node.spending, place), node.spending)
    if place.mode == "predict":
        _predict_looks(checker, node.span)
        return PUBLIC
    if "table" in world.kinds or "score" in world.kinds:
        checker.report(
            "J219",
            f"{world.word} is bought",
            node.value,
            "{{ ... }} gives a number with noise",
            "{{ len(db) }}" if "table" in world.kinds else "noisyMax(domain, utilities, epsilon)",
        )
        return PUBLIC
    if not world.is_private and world != NOTHING:
        if world.holds_private:
            checker.report(
                "J219", "a list is bought", node.value, "{{ ... }} gives one number", "[{{ x }} for x in xs]"
            )
        else:
            _nothing_private(checker, "{{ ... }}", node.value)
    return mapping([PUBLIC]) if "groups" in world.kinds else PUBLIC


def select(checker: Checker, node: nodes.Select, place: Place) -> World:
    """Return what is known of a query."""
    table = checker.value(node.table, place)
    if place.in_query and table.is_private:
        checker.in_query(node)
        return PUBLIC
    inner = evolve(place, in_query=True)
    for child in (node.value, node.where, *node.groupby):
        if child is not None and checker.value(child, inner).holds_private:
            checker.in_query(child)
    if table.is_private and "table" not in table.kinds:
        checker.report("J219", f"a query of {table.word}", node.table, "rows are selected from a database", "from db")
    columns = {each.name for each in nodes.walk(node.value) if isinstance(each, nodes.Name)} if node.value else set()
    if node.aggregate in ON_ROWS and columns and "values" not in columns:
        why, fix = ON_ROWS[node.aggregate]
        checker.report("J215", f"`{node.aggregate}` of a column", node.aggregate_span, why, fix, label="")
    return private("groups" if node.groupby else "number")


def over(checker: Checker, node: nodes.Over, place: Place) -> World:
    """Return what is known of answers to queries."""
    for each in (node.queries, node.cells):
        if checker.value(each, place).holds_private:
            checker.report(
                "J217",
                "an estimate of private values",
                each,
                "answers are shown as they are, so they are made of released numbers",
                BUY_FIRST,
            )
    return PUBLIC


# Choices


def make_choice_maker(checker: Checker, node: nodes.MakeChoiceMaker, place: Place) -> World:
    """Return what is known of a choice maker."""
    for child in (node.among, node.informed_by, node.trained_on, node.judged_by, node.spending):
        if child is not None and checker.value(child, place).holds_private:
            checker.report("J220", "a choice maker is given a private value", child, "it is learned in public", "db")
    return evolve(PUBLIC, functions=frozenset({"o choice"}))


def choose(checker: Checker, node: nodes.Choose, place: Place) -> World:
    """Return what is known of a labelled choice."""
    seen = node.informed_by
    for each in seen.items if isinstance(seen, nodes.Set | nodes.List | nodes.Tuple) else (seen,) if seen else ():
        if checker.value(each, place).holds_private:
            checker.report(
                "J201",
                f"choice {node.label} looks at private data",
                each,
                "what a choice sees decides what runs next, so it shows in the output",
                "buy a noisy count first and look at that: n = noisyCount(D, e / 2)",
            )
    among = node.among.items if isinstance(node.among, nodes.Set | nodes.List | nodes.Tuple) else ()
    return joined(checker.value(each, place) for each in among)
