"""Mistakes in what was read as far as the grammar goes, but makes no sense as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jostle.errors import Diagnostic, Label, Span
from jostle.lang import nodes
from jostle.lang.tokens import Token

__all__ = ["arguments", "clause_not_here", "clause_twice", "nothing_to_choose", "parameters", "target"]


def target(found: nodes.ExpressionNode) -> Diagnostic:
    """Report something other than names before `=`."""
    if isinstance(found, nodes.Index | nodes.Attribute | nodes.Part):
        fix = "build the whole value at once, as in {v: f(v) for v in values}"
        return Diagnostic(
            "J007", "only names can be assigned", found.span, "values never change once they are made", fix
        )
    fix = "write == to compare, or a name before ="
    return Diagnostic("J007", "only names can be assigned", found.span, "= gives a value to a name", fix)


def parameters(found: Sequence[nodes.ParameterNode]) -> Iterator[Diagnostic]:
    """Report parameters of one name, and those without a default after those with one."""
    seen: dict[str, nodes.ParameterNode] = {}
    default = None
    for each in found:
        if each.name in seen:
            others = (Label(seen[each.name].name_span, "first here"),)
            why = "each parameter has a name of its own"
            title = f"two parameters are called `{each.name}`"
            yield Diagnostic("J009", title, each.name_span, why, "rename one of them", others=others)
        seen.setdefault(each.name, each)
        if each.default is not None:
            default = each
        elif default is not None:
            why = "parameters that may be left out come last"
            title = f"`{each.name}` has no default, but `{default.name}` before it has"
            yield Diagnostic(
                "J009", title, each.name_span, why, f"give `{each.name}` a default, or move it to the front"
            )


def arguments(found: Sequence[nodes.Node]) -> Iterator[Diagnostic]:
    """Report named values given twice, and plain values after named ones."""
    seen: dict[str, nodes.Keyword] = {}
    named = None
    for each in found:
        if isinstance(each, nodes.Keyword):
            named = each
            if each.name in seen:
                others = (Label(seen[each.name].name_span, "first here"),)
                why, title = "each name is given once", f"`{each.name}` is given twice"
                yield Diagnostic("J009", title, each.name_span, why, "take one of them out", others=others)
            seen.setdefault(each.name, each)
        elif named is not None:
            why, title = "plain values come first, then those with names", f"a plain value after `{named.name}=`"
            yield Diagnostic("J009", title, each.span, why, "move it to the front, or give it its name")


def clause_twice(word: Token, first: Span) -> Diagnostic:
    """Report a clause of a choice given twice."""
    why, title = "a choice has each clause once", f"`{word.text}` is given twice"
    others = (Label(first, "first here"),)
    return Diagnostic("J402", title, word.span, why, "join the two: {a, b} or x | y", others=others)


def clause_not_here(word: Token, owner: Token) -> Diagnostic:
    """Report a clause that this kind of choice does not have."""
    why = "a labelled choice is trained together with the program around it, and looks at what was paid for already"
    title = f"`{word.text}` does not belong to `{owner.text}`"
    return Diagnostic("J402", title, word.span, why, f"take `{word.text}` out; MkChoiceMaker has it")


def nothing_to_choose(word: Token) -> Diagnostic:
    """Report a choice without alternatives."""
    why, title = "a choice is made among alternatives", f"`{word.text}` does not say among what"
    return Diagnostic("J401", title, word.span, why, "add among {A, B}")
