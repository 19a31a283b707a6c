"""Trees of programs, made up by hypothesis."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from jostle.lang import nodes
from jostle.lang.nodes import COMPARISONS

names = st.sampled_from(
    ["x", "D", "db", "atts", "best", "grow", "informed", "by", "on", "Öl", "_", "L1", "F", "epsilon"]
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
digits = st.decimals(min_value=0, max_value=1000, places=3, allow_nan=False).map(Fraction)
numbers = st.one_of(st.integers(0, 20).map(Fraction), digits)

leaves: st.SearchStrategy[nodes.ExpressionNode] = st.one_of(
    names.map(nodes.Name),
    numbers.map(nodes.Number),
    numbers.map(nodes.Percent),
    texts.map(nodes.String),
    st.sampled_from([True, False, None]).map(nodes.Constant),
)
targets = st.one_of(
    names.map(nodes.Name), st.lists(names.map(nodes.Name), min_size=1, max_size=3).map(tuple).map(nodes.Tuple)
)


def several(items: st.SearchStrategy[Any], least: int = 0, most: int = 3) -> st.SearchStrategy[Any]:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


def maybe(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), items)


@st.composite
def parameters(draw: st.DrawFn, defaults: st.SearchStrategy[nodes.ExpressionNode]) -> tuple[nodes.ParameterNode, ...]:
    """Parameters with different names, those with defaults last."""
    chosen = draw(st.lists(names, unique=True, max_size=4))
    plain = draw(st.integers(0, len(chosen)))
    return tuple(
        nodes.ParameterNode(name, None if index < plain else draw(defaults)) for index, name in enumerate(chosen)
    )


@st.composite
def calls(draw: st.DrawFn, inner: st.SearchStrategy[nodes.ExpressionNode]) -> nodes.Call:
    keywords = tuple(nodes.Keyword(name, draw(inner)) for name in draw(st.lists(names, unique=True, max_size=2)))
    return nodes.Call(draw(inner), draw(several(inner)), keywords)


@st.composite
def formatted(draw: st.DrawFn, inner: st.SearchStrategy[nodes.ExpressionNode]) -> nodes.Formatted:
    """A text with at least one value, and words around some."""

    def is_value(node: nodes.ExpressionNode) -> bool:
        return not isinstance(node, nodes.String) and not any(
            isinstance(each, nodes.Formatted) for each in nodes.walk(node)
        )

    parts: list[nodes.ExpressionNode] = []
    for drawn in draw(st.lists(inner, min_size=1, max_size=3)):
        value = drawn if is_value(drawn) else nodes.Name("x")  # not `filter`, which may show all that is drawn from
        parts += [*[nodes.String(word) for word in (draw(texts),) if word], value]
    return nodes.Formatted((*parts, *[nodes.String(word) for word in (draw(texts),) if word]))


@st.composite
def comparisons(draw: st.DrawFn, inner: st.SearchStrategy[nodes.ExpressionNode]) -> nodes.Comparison:
    operators = draw(several(st.sampled_from(COMPARISONS), 1))
    return nodes.Comparison(draw(inner), operators, tuple(draw(inner) for _ in operators))


def bigger(inner: st.SearchStrategy[nodes.ExpressionNode]) -> st.SearchStrategy[nodes.ExpressionNode]:
    entries = st.builds(nodes.Entry, inner, inner)
    clauses = several(st.builds(nodes.ComprehensionClause, targets, inner, several(inner, 0, 2)), 1, 2)
    conditions = several(st.builds(nodes.Condition, inner, inner), 1, 2)
    operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "|", "&"])
    return st.one_of(
        formatted(inner),
        several(inner).map(nodes.Tuple),
        several(inner).map(nodes.List),
        several(inner, 1).map(nodes.Set),
        several(entries).map(nodes.Dict),
        st.builds(nodes.ListComprehension, inner, clauses),
        st.builds(nodes.SetComprehension, inner, clauses),
        st.builds(nodes.DictComprehension, entries, clauses),
        st.builds(nodes.Attribute, inner, names),
        st.builds(nodes.Index, inner, inner),
        st.builds(nodes.Part, inner, conditions),
        calls(inner),
        st.builds(nodes.UnaryOperation, st.sampled_from("+-"), inner),
        st.builds(nodes.BinaryOperation, inner, operators, inner),
        comparisons(inner),
        inner.map(nodes.Not),
        st.builds(nodes.BooleanOperation, st.sampled_from(["and", "or"]), several(inner, 2)),
        st.builds(nodes.Conditional, inner, inner, inner),
        st.builds(nodes.Lambda, parameters(inner), inner),
        st.builds(nodes.Noised, inner, maybe(inner)),
        st.builds(nodes.Select, names, maybe(inner), inner, maybe(inner), several(inner, 0, 2)),
        st.builds(nodes.Over, inner, inner),
        st.builds(nodes.MakeChoiceMaker, inner, maybe(inner), maybe(inner), maybe(inner), maybe(inner)),
        st.builds(nodes.Choose, names, inner, maybe(inner)),
    )


expressions: st.SearchStrategy[nodes.ExpressionNode] = st.recursive(leaves, bigger, max_leaves=12)

simple: st.SearchStrategy[nodes.Statement] = st.one_of(
    st.builds(nodes.Import, names, several(names.map(nodes.ImportedName), 1)),
    st.builds(nodes.Assign, targets, expressions),
    st.builds(
        lambda name, sign, value: nodes.Assign(name, nodes.BinaryOperation(name, sign, value), short=True),
        names.map(nodes.Name),
        st.sampled_from(list(nodes.OPERATORS)),
        expressions,
    ),
    expressions.map(nodes.ExpressionStatement),
    maybe(expressions).map(nodes.Return),
    st.just(nodes.Pass()),
)


def with_blocks(inner: st.SearchStrategy[nodes.Statement]) -> st.SearchStrategy[nodes.Statement]:
    bodies = several(inner, 1)
    conditioned = st.builds(nodes.Branch, expressions, bodies)
    last = st.builds(nodes.Branch, st.none(), bodies)
    branches = st.builds(lambda some, end: some if end is None else (*some, end), several(conditioned, 1), maybe(last))
    marks = st.sampled_from([(), ("Option",), ("Metafeature",)])
    return st.one_of(
        branches.map(nodes.If),
        st.builds(nodes.For, targets, expressions, bodies),
        st.builds(nodes.FunctionDefinition, names, parameters(expressions), bodies, marks),
        st.builds(nodes.ClassDefinition, names, names, bodies),
    )


statements: st.SearchStrategy[nodes.Statement] = st.recursive(simple, with_blocks, max_leaves=5)
modules = several(statements, 0, 4).map(nodes.Module)
