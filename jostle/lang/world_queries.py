"""What becomes of private values in queries, estimates and choices."""

from __future__ import annotations

from attrs import evolve

from jostle.lang import nodes
from jostle.lang.world import PUBLIC, World, function, joined, private
from jostle.lang.world_checker import BUY_FIRST, Checker, Place

__all__ = ["choose", "make_choice_maker", "over", "select"]

ON_ROWS = {
    "mean": (
        "a mean is a quotient, and where there are few rows, one of them moves it far",
        "buy both: {{ select sum(age) from db }} and {{ select count() from db }}",
    ),
    "stddev": ("where there are few rows, one of them moves it far", "buy a sum, a sum of squares and a count"),
    "max": ("one row can change it from any value to any other", "buy how many rows have each value, with groupby"),
    "min": ("one row can change it from any value to any other", "buy how many rows have each value, with groupby"),
}


def select(checker: Checker, node: nodes.Select, place: Place) -> World:
    """The facts known of a query."""
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
    """The facts known of answers to queries."""
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


def make_choice_maker(checker: Checker, node: nodes.MakeChoiceMaker, place: Place) -> World:
    """The facts known of a choice maker."""
    for child in (node.among, node.informed_by, node.trained_on, node.judged_by, node.spending):
        if child is not None and checker.value(child, place).holds_private:
            checker.report("J220", "a choice maker is given a private value", child, "it is learned in public", "db")
    number = next((key for key, maker in enumerate(checker.makers) if maker is node), len(checker.makers))
    if number == len(checker.makers):
        checker.makers.append(node)
    return function(f"m {number}")


def choose(checker: Checker, node: nodes.Choose, place: Place) -> World:
    """The facts known of a labelled choice."""
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
