"""Two worlds: every expression is public or private, and private values leave through mechanisms alone.

The whole program is gone through with what is known of its values in place of the values: both sides of every test,
each function with what it is called with. A private value may be bound to a name, put into a list, passed to a
function, computed with where the result's sensitivity is bounded; it may end in `{{ }}`, `noisyCount`, `noisyMax`, a
part, an Option or a choice maker. Everything else that could show it is reported here, before anything runs.

*Why that is enough.* No test, loop, index or key depends on a private value, so which statements run depends on
public and released values alone; and what they do with private values ends in a mechanism, or nowhere. A function
that has no caller is taken to be called with a database for each parameter it uses as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jostle.errors import Diagnostic
from jostle.lang import nodes
from jostle.lang.entries import used_elsewhere
from jostle.lang.roots import judges, metafeatures
from jostle.lang.tables_used import table_parameters
from jostle.lang.world_checker import Checker

__all__ = ["check_entry", "check_worlds", "checked_worlds"]


def check_worlds(module: nodes.Module) -> Iterator[Diagnostic]:
    """Report private values that could be seen without noise."""
    yield from checked_worlds(module).found.values()


def checked_worlds(module: nodes.Module) -> Checker:
    """The checker that went through everything in a program that may run."""
    checker = Checker(module)
    checker.settle(lambda: _check_program(checker))
    return checker


def check_entry(module: nodes.Module, entry: str, tables: Sequence[int] = (0,)) -> tuple[Diagnostic, ...]:
    """The mistakes if this function is given databases in these places, and public values besides."""
    checker = Checker(module)

    def go() -> None:
        checker.check_top()
        definition = checker.functions.get(entry)
        if definition is not None:
            checker.check_root(definition, tables, "plain")

    checker.settle(go)
    return tuple(sorted(checker.found.values(), key=lambda each: each.span))


def _check_program(checker: Checker) -> None:  # noqa: C901 - one case per kind
    """Go through everything that may run."""
    checker.check_top()
    facts, judged = metafeatures(checker.module), judges(checker.module)
    used = used_elsewhere(checker.module)
    for statement in checker.module.body:
        if isinstance(statement, nodes.ClassDefinition):
            if (answer := statement.method("answer")) is not None:
                checker.check_root(answer, [0], "plain")
            if (predict := statement.method("predict")) is not None:
                checker.check_root(predict, [], "predict")
        elif isinstance(statement, nodes.FunctionDefinition):
            if statement.is_option:
                checker.check_root(statement, [0], "plain")
            elif statement.name in facts:
                checker.check_root(statement, [0], "metafeature")
            elif statement.name in judged:
                checker.check_root(statement, [], "plain")
            elif statement.name not in used:
                checker.check_root(statement, table_parameters(checker.module, statement), "plain")
    for statement in checker.functions.values():
        if statement.name not in checker.reached:
            checker.check_root(statement, table_parameters(checker.module, statement), "plain", may_return=True)
