"""Decision trees that a program grows question by question: leaves, nodes, noisy choices of splits, pruning.

All of it is what Jostle's language has built in, for programs in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from jostle.errors import OptionError
from jostle.lang.splits import any_of, best_of
from jostle.lang.tree_values import pruned, to_model
from jostle.lang.values import Leaf, attribute_of
from jostle.lang.values import TreeNode as _Node
from jostle.options.models.trees import TreeModel
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

    Args:
        schema: of the table.
        attribute: what it splits by.
        children: a tree for each value.

    Raises:
        SchemaError: there is no such column.
    """
    return _Node(att=attribute_of(schema, attribute), children=children)


def prune(tree: Tree) -> Tree:
    """A tree without the branches that C4.5 expects to err no less than a leaf in their place would.

    Args:
        tree: as it was grown, with sizes at its leaves.
    """
    return pruned(tree)


def model(tree: Tree, schema: Schema, made_by: str, epsilon: Amount) -> TreeModel:
    """A tree as a model, which predicts.

    Args:
        tree: as it was grown.
        schema: of the table.
        made_by: a name for what grew it.
        epsilon: what was spent on it.

    Raises:
        AmountError: *epsilon* is no amount.
    """
    return to_model(tree, schema, made_by, epsilon_amount(epsilon))


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

    Args:
        db: the rows.
        attributes: the candidates.
        epsilon: what it costs, as it is written: 0.1, "1/3".
        rule: how splits are scored.
        counted: a noisy number of rows, and what it cost.
        site: its name in the trace.

    Raises:
        BudgetError: less is left than *epsilon*.
        OptionError: there is no such rule, or no such attribute.
    """
    if rule not in RULES:
        raise OptionError(f"splits are not scored by {rule!r}", fix=f"one of {', '.join(RULES)}")
    names = db.schema.attributes
    unknown = [name for name in attributes if name not in names]
    if unknown or not attributes:
        raise OptionError(
            f"{unknown[0]!r} is no attribute" if unknown else "there are no attributes to split by",
            fix=f"some of {', '.join(names)}",
        )
    if rule == "random":
        return attributes[any_of(db, len(attributes))]
    bought = None if counted is None else (counted[0], epsilon_amount(counted[1]))
    return attributes[best_of(db, rule, attributes, epsilon_amount(epsilon), bought, site)]
