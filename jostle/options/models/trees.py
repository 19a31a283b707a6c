"""Trees as models: one or more, each giving every row the class shares of the node it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import OptionError
from jostle.options.models.facts import Facts
from jostle.options.models.model import Model
from jostle.tables.routes import Routing
from jostle.tables.schema import Schema

__all__ = ["TreeModel"]

MOST_LINES = 400
"""Lines of a tree's text; the rest is counted."""

Combine = Literal["vote", "mean"]
COMBINES: tuple[Combine, ...] = get_args(Combine)


@frozen(eq=False, repr=False, kw_only=True)
class TreeModel(Model):
    """One or more trees."""

    kind: ClassVar[str] = "trees"

    routing: Routing
    shares: NDArray[np.float64] = field()
    """Nodes by classes: each node's share of each class, as far as was released."""
    combine: Combine = "vote"
    """Whether trees cast one vote each, or their shares are averaged."""

    def chances(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the trees' votes, or mean shares. A row with an unknown value stays at the node that asks for it."""
        total = np.zeros((len(codes), len(self.classes)))
        for root in self.routing.roots:
            shares = self.shares[self._descend(codes, int(root))]
            if self.combine == "vote" and self.routing.trees > 1:
                total[np.arange(len(codes)), np.argmax(shares, axis=1)] += 1
            else:
                total += shares
        return total / self.routing.trees

    def nodes_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the node that each row comes to in each tree."""
        return np.stack([self._descend(codes, int(root)) for root in self.routing.roots], axis=1)

    def _descend(self, codes: NDArray[np.int64], root: int) -> NDArray[np.int64]:
        node = np.full(len(codes), root, dtype=np.int64)
        if not codes.shape[1]:
            return node
        rows = np.arange(len(codes))
        for _ in range(self.routing.depth):
            attribute = self.routing.attribute[node]
            code = codes[rows, np.maximum(attribute, 0)]
            going = np.flatnonzero((attribute >= 0) & (code >= 0))
            if not going.size:
                break
            node[going] = self.routing.children[self.routing.first[node[going]] + code[going]]
        return node

    def text(self) -> str:
        """Return the trees written out, a line for each branch and class, indented by depth."""
        lines: list[str] = []
        for number, root in enumerate(self.routing.roots, start=1):
            if self.routing.trees > 1:
                lines.append(f"tree {number} of {self.routing.trees}")
            lines.extend(self._lines(int(root), ""))
        left = len(lines) - MOST_LINES
        return "\n".join([*lines[:MOST_LINES], *([f"... and {left:,} more lines"] if left > 0 else [])])

    def _lines(self, node: int, indent: str) -> Iterator[str]:
        if self.routing.attribute[node] < 0:
            yield f"{indent}{self.verdict(node)}"
            return
        for branch, child in self.branches(node):
            if self.routing.attribute[child] < 0:
                yield f"{indent}{branch}: {self.verdict(child)}"
            else:
                yield f"{indent}{branch}"
                yield from self._lines(child, indent + "|  ")

    def verdict(self, node: int) -> str:
        """Return a node's likeliest class and its share."""
        best = int(np.argmax(self.shares[node]))
        return f"{self.classes[best]} ({self.shares[node, best]:.2f})"

    def branches(self, node: int) -> Iterator[tuple[str, int]]:
        """Yield what each branch of a node asks, and where it leads; codes side by side that go together are one."""
        name = self.routing.columns[int(self.routing.attribute[node])]
        labels = self.schema[name].labels
        first = int(self.routing.first[node])
        children = self.routing.children[first : first + len(labels)]
        for child, group in groupby(range(len(labels)), key=lambda code: int(children[code])):
            codes = list(group)
            text = labels[codes[0]] if len(codes) == 1 else f"{labels[codes[0]]} to {labels[codes[-1]]}"
            yield f"{name} = {text}", child

    def plot(self, tree: int = 0) -> Any:
        """Return a matplotlib figure of one tree; needs the `report` extra."""
        from jostle.options.models.plot import plot_tree  # noqa: PLC0415 - matplotlib is an extra

        return plot_tree(self, tree)

    def facts(self) -> dict[str, Any]:
        """Return the arrays of the routing and the shares."""
        return {
            "columns": list(self.routing.columns),
            "roots": self.routing.roots.tolist(),
            "attribute": self.routing.attribute.tolist(),
            "first": self.routing.first.tolist(),
            "children": self.routing.children.tolist(),
            "depth": self.routing.depth,
            "shares": self.shares.tolist(),
            "combine": self.combine,
        }

    @classmethod
    def from_facts(cls, schema: Schema, facts: dict[str, Any], made_by: str, epsilon: Fraction | None) -> TreeModel:
        """Return the model that `facts` came from."""
        held = Facts(facts)
        routing = Routing(
            held.texts("columns"),
            roots=held.wholes("roots"),
            attribute=held.wholes("attribute"),
            first=held.wholes("first"),
            children=held.wholes("children"),
            depth=held.whole("depth"),
        )
        if routing.columns != schema.attributes:
            raise OptionError("the model's tree asks for other columns than its schema has")
        routing.check(schema)
        shares = held.floats("shares", len(routing.attribute), len(schema.classes))
        combine = next((each for each in COMBINES if each == held.text("combine")), None)
        if combine is None:
            raise OptionError("the model's trees are combined in an unknown way", fix=" or ".join(COMBINES))
        return cls(schema=schema, made_by=made_by, epsilon=epsilon, routing=routing, shares=shares, combine=combine)
