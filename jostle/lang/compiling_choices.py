"""Choices, choice makers and answered workloads, made into functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jostle.lang import nodes
from jostle.lang.compiling import Compiler
from jostle.lang.arithmetic import fraction
from jostle.lang.frames import Frame, Go, Scope, text_of
from jostle.lang.listing import items


__all__ = ["make_choice_maker"]


def make_choice_maker(compiler: Compiler, named: tuple[nodes.MakeChoiceMaker, str], scope: Scope) -> Go:
    """A step that makes a choice maker, by the name that it is given."""
    node, label = named
    among = compiler.expression(node.among, scope)
    looked_at = None if node.informed_by is None else compiler.expression(node.informed_by, scope)
    trained = None if node.trained_on is None else compiler.expression(node.trained_on, scope)
    judged = None if node.judged_by is None else compiler.expression(node.judged_by, scope)
    share = node.spending.share if isinstance(node.spending, nodes.Percent) else None
    amount = None if node.spending is None or share is not None else compiler.expression(node.spending, scope)

    def run(frame: Frame) -> Any:
        from jostle.lang.makers import make  # noqa: PLC0415 - needs what learns

        return make(
            frame.program,
            label or "choice",
            list(items(among(frame), "what is chosen among")),
            None if looked_at is None else list(items(looked_at(frame), "what informs a choice")),
            None if trained is None else trained(frame),
            share if amount is None else fraction(amount(frame), "spending"),
            None if judged is None else judged(frame),
        )

    return compiler.guarded(run, node.span)


def choose(compiler: Compiler, node: nodes.Choose, scope: Scope) -> Go:
    """A step that makes a labelled choice."""
    alternatives = _items_of(node.among)
    names = tuple(alternative.name for alternative in alternatives if isinstance(alternative, nodes.Name))
    values = [compiler.expression(alternative, scope) for alternative in alternatives]
    informed = () if node.informed_by is None else _items_of(node.informed_by)
    seen = [(_seen_name(each), compiler.expression(each, scope)) for each in informed]
    label = node.label

    def run(frame: Frame) -> Any:
        from jostle.sites import choose as ask  # noqa: PLC0415 - most programs make no labelled choice

        looked_at = {name: value(frame) for name, value in seen}
        taken = ask(label, among=names, informed_by=looked_at, policy=frame.program.policy(label))
        return values[names.index(taken)](frame)

    return compiler.guarded(run, node.span)


def _seen_name(node: nodes.ExpressionNode) -> str:
    """The name of something that informs a choice: its own, or as it is written."""
    return node.name if isinstance(node, nodes.Name) else text_of(node)


def _items_of(node: nodes.ExpressionNode) -> tuple[nodes.ExpressionNode, ...]:
    """The items of a set, list or tuple as written."""
    return node.items if isinstance(node, nodes.Set | nodes.List | nodes.Tuple) else ()


def over(compiler: Compiler, node: nodes.Over, scope: Scope) -> Go:
    """A step that answers a workload from an estimate."""
    queries, cells = compiler.expression(node.queries, scope), compiler.expression(node.cells, scope)

    def run(frame: Frame) -> Any:
        from jostle.lang.operations import estimate_of  # noqa: PLC0415 - needs the histograms

        return estimate_of(queries(frame), items(cells(frame), "an estimate"))

    return compiler.guarded(run, node.span)
