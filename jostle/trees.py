"""Decision trees that a program grows question by question: leaves, nodes, noisy choices of splits, pruning.

All of it is what Jostle's language has built in, for programs in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, get_args

from jostle.errors import OptionError, SchemaError, TreeError, described, shown
from jostle.given import given_as, given_items
from jostle.lang.messages import Stop
from jostle.lang.operations import any_of, best_of
from jostle.lang.tree_values import pruned, to_model
from jostle.lang.values import Leaf, attribute_of
from jostle.lang.values import TreeNode as _Node
from jostle.options.base import check_probe
from jostle.options.models.kinds import TreeModel
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.probe import Probe
from jostle.tables.schema import Schema

__all__ = ["RULES", "Leaf", "Node", "Rule", "best_split", "model", "prune"]

Rule = Literal["maxScore", "gini", "infoGain", "random"]
Tree = Leaf | _Node
RULES: tuple[Rule, ...] = get_args(Rule)
"""What splits are scored by; `random` looks at nothing and costs nothing."""


def Node(schema: Schema, attribute: str, children: Mapping[str, Tree]) -> _Node:  # noqa: N802 - the word of the language
    """An inner node: the attribute it splits by, and a tree for each of the attribute's values.

    Raises:
        SchemaError: there is no such column, or no schema is given.
        TreeError: there are no children.
    """
    given_as(children, Mapping, "a mapping from values to trees", fix='{"no": Leaf("f"), ...}', error=TreeError)
    return _Node(att=attribute_of(_schema(schema), attribute), children=children)


def prune(tree: Tree) -> Tree:
    """A tree without the branches that C4.5 expects to err no less than a leaf in their place would.

    Raises:
        TreeError: it is no tree.
    """
    with _refused():
        return pruned(_tree(tree))


def model(tree: Tree, schema: Schema, made_by: str, epsilon: Amount) -> TreeModel:
    """A tree as a model, which predicts.

    *made_by* is a name for what grew it, and *epsilon* what was spent on it.

    Raises:
        AmountError: *epsilon* is no amount.
        SchemaError: no schema is given, or it has no label.
        TreeError: it is no tree, or none that is of the schema.
    """
    given_as(made_by, str, "a name", fix='model(tree, schema, "grown", 1)', error=TreeError)
    with _refused():
        return to_model(_tree(tree), _schema(schema), made_by, epsilon_amount(epsilon))


def _counted(given: object) -> tuple[Any, Fraction]:
    fix = 'counted=(db.count("0.1"), "0.1")'
    pair = given_items(given, "a noisy number and what it cost", fix=fix, error=OptionError)
    if len(pair) != 2 or not isinstance(pair[0], Real):
        raise OptionError("a noisy number and what it cost are wanted", fix=fix)
    return pair[0], epsilon_amount(pair[1])


def _schema(given: object) -> Schema:
    schema: Schema = given_as(given, Schema, "a schema", fix="db.schema", error=SchemaError)
    return schema


def _tree(given: object) -> Tree:
    if isinstance(given, Leaf | _Node):
        return given
    raise TreeError(f"{described(given)} is no tree", fix='Leaf("yes", 12), or Node(schema, "age", {...})')


@contextmanager
def _refused() -> Iterator[None]:
    """Refuse in an error what a program in Jostle's language is stopped by, where it has a place."""
    try:
        yield
    except Stop as stop:
        title, why, fix = stop.words
        raise TreeError(title, why=why, fix=fix) from None


def best_split(
    db: Probe,
    attributes: list[str],
    epsilon: Amount,
    *,
    rule: str = "maxScore",
    counted: tuple[int, Amount] | None = None,
    site: str = "split",
) -> str:
    """The attribute whose split is nearly the best, as permute-and-flip picks it from scores of the rows.

    *rule* is how splits are scored. *counted* is a noisy number of these rows, or of more, and what it cost: infoGain
    needs a bound on them, for how far a row can move its scores.

    Raises:
        BudgetError: less is left than *epsilon*.
        OptionError: there is no such rule, or no such attribute.
    """
    check_probe(db, "best_split")
    attributes = list(given_items(attributes, "a list of attributes", fix="db.schema.attributes", error=OptionError))
    if not isinstance(rule, str) or rule not in RULES:
        raise OptionError(f"splits are not scored by {shown(rule)}", fix=f"one of {', '.join(RULES)}")
    names = db.schema.attributes
    unknown = [name for name in attributes if name not in names]
    if unknown or not attributes:
        raise OptionError(
            f"{shown(unknown[0])} is no attribute" if unknown else "there are no attributes to split by",
            fix=f"some of {', '.join(names)}",
        )
    if rule == "random":
        return attributes[any_of(db, len(attributes))]
    bought = None if counted is None else _counted(counted)
    return attributes[best_of(db, rule, attributes, epsilon_amount(epsilon), bought, site)]
