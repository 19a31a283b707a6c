"""The kinds of models: trees, additive models, and trees with additive models at their leaves; and each as a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain, groupby, islice, product
from typing import Any, ClassVar, Literal

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from jostle.errors import DamageError, OptionError
from jostle.files.structure import structured
from jostle.markup import branch, leaf, pre, words
from jostle.options.models.plot import plot_terms, plot_tree
from jostle.tables.routes import Routing
from jostle.tables.rules import MOST_POINTS, Hits, Points
from jostle.tables.schema import Schema
from jostle.tasks.classification.model import Model, apart, check_numbers, in_percent

MOST_LINES = 400
"""Lines of a tree's text; the rest is counted."""

MOST_DRAWN_DEPTH = 50
"""Levels of a tree that is drawn."""
MOST_DEPTH = 1000
"""Levels of a tree that is read: rows and checks go through them one by one."""
MOST_COUNTED = 10**9
"""Lines that are counted; a file may hold a tree of more than there are atoms."""

Combine = Literal["vote", "mean"]
Integers = NDArray[np.int64]


@frozen(eq=False)
class TreeFacts:
    """What a file holds of trees."""

    columns: tuple[str, ...]
    roots: Integers
    attribute: Integers
    first: Integers
    children: Integers
    depth: int
    shares: NDArray[np.float64]
    combine: Combine


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
        """The trees' votes, or mean shares. A row with an unknown value goes where the first one goes."""
        total = np.zeros((len(codes), len(self.classes)))
        for root in self.routing.roots:
            shares = self.shares[self._descend(codes, int(root))]
            if self.combine == "vote" and self.routing.trees > 1:
                total[np.arange(len(codes)), np.argmax(shares, axis=1)] += 1
            else:
                total += shares
        return total / self.routing.trees

    def nodes_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The node that each row comes to in each tree."""
        return np.stack([self._descend(codes, int(root)) for root in self.routing.roots], axis=1)

    def _descend(self, codes: NDArray[np.int64], root: int) -> NDArray[np.int64]:
        node = np.full(len(codes), root, dtype=np.int64)
        if not codes.shape[1]:
            return node
        rows = np.arange(len(codes))
        for _ in range(self.routing.depth):
            attribute = self.routing.attribute[node]
            code = codes[rows, np.maximum(attribute, 0)]
            going = np.flatnonzero(attribute >= 0)
            if not going.size:
                break
            # As the rows that it was learned from: there, a blank goes with the first code.
            node[going] = self.routing.children[self.routing.first[node[going]] + np.maximum(code[going], 0)]
        return node

    def leads(self) -> NDArray[np.float64]:
        """The sums of the trees' least leads, each over its leaves."""
        scores = self.shares
        if self.combine == "vote" and self.routing.trees > 1:
            scores = np.eye(len(self.classes))[np.argmax(scores, axis=1)]
        each = [apart(scores[self._leaves_below(int(root))]) for root in self.routing.roots]
        return np.asarray(np.sum(each, axis=0))

    def _leaves_below(self, root: int) -> Integers:
        level, leaves = np.array([root], dtype=np.int64), [np.empty(0, dtype=np.int64)]
        while level.size:
            inner = self.routing.attribute[level] >= 0
            leaves.append(level[~inner])
            below = [self._children(node) for node in level[inner].tolist()]
            level = np.unique(np.concatenate(below)) if below else leaves[0]
        return np.concatenate(leaves)

    def text(self) -> str:
        """The trees written out, a line for each branch and class, indented by depth."""
        lines = self._line_counts()
        total = sum(lines[int(root)] + (self.routing.trees > 1) for root in self.routing.roots)
        said = chain.from_iterable(self._tree_lines(number) for number in range(self.routing.trees))
        left = total - MOST_LINES
        more = f"{left:,}" if left < MOST_COUNTED else f"{MOST_COUNTED:,} or"
        return "\n".join([*islice(said, MOST_LINES), *([f"... and {more} more lines"] if left > 0 else [])])

    def _repr_html_(self) -> str:
        """The trees drawn, with a bar for how sure each leaf is; those of too many lines or levels as text."""
        lines = self._line_counts()
        if sum(lines[int(root)] for root in self.routing.roots) > MOST_LINES or self.routing.depth > MOST_DRAWN_DEPTH:
            return pre(self.told())
        drawn = [self._drawn(int(root), "") for root in self.routing.roots]
        if len(drawn) > 1:
            drawn = [branch(f"tree {number} of {len(drawn)}", each) for number, each in enumerate(drawn, start=1)]
        only = self.only_class
        told = "" if only is None else f"<p>{words(self.told().partition(chr(10))[0])}</p>"
        return told + "".join(drawn)

    def _drawn(self, node: int, asked: str) -> str:
        if self._is_leaf(node):
            return leaf(asked, self.verdict(node), float(self.shares[node].max()))
        below = "".join(self._drawn(child, each) for each, child in self.branches(node))
        return branch(asked, below) if asked else below

    def _tree_lines(self, number: int) -> Iterator[str]:
        root = int(self.routing.roots[number])
        if self.routing.trees > 1:
            yield f"tree {number + 1} of {self.routing.trees}"
        if self._is_leaf(root):
            yield self.verdict(root)
            return
        ways = [self.branches(root)]
        while ways:
            branch, child = next(ways[-1], ("", None))
            if child is None:
                ways.pop()
            elif self._is_leaf(child):
                yield f"{'|  ' * (len(ways) - 1)}{branch}: {self.verdict(child)}"
            else:
                yield f"{'|  ' * (len(ways) - 1)}{branch}"
                ways.append(self.branches(child))

    def _line_counts(self) -> list[int]:
        """How many lines each node's subtree takes."""
        counts = [1] * len(self.routing.attribute)
        for node in np.flatnonzero(self.routing.attribute >= 0)[::-1].tolist():
            below = [child for child, _ in groupby(self._children(node).tolist())]
            count = sum(1 if self._is_leaf(child) else 1 + counts[child] for child in below)
            counts[node] = min(count, MOST_COUNTED + MOST_LINES)
        return counts

    def _is_leaf(self, node: int) -> bool:
        return bool(self.routing.attribute[node] < 0)

    def _children(self, node: int) -> Integers:
        """Where each code of a node's attribute leads."""
        first = int(self.routing.first[node])
        name = self.routing.columns[int(self.routing.attribute[node])]
        return self.routing.children[first : first + self.schema[name].size]

    def verdict(self, node: int) -> str:
        """A node's likeliest class and its share."""
        best = int(np.argmax(self.shares[node]))
        return f"{self.classes[best]} ({self.shares[node, best]:.2f})"

    def branches(self, node: int) -> Iterator[tuple[str, int]]:
        """Yield what each branch of a node asks, and where it leads; codes side by side that go together are one."""
        place = int(self.routing.attribute[node])
        if place < 0:
            return  # a leaf has none
        name = self.routing.columns[place]
        labels = self.schema[name].labels
        children = self._children(node)
        for child, group in groupby(range(len(labels)), key=lambda code: int(children[code])):
            codes = list(group)
            text = labels[codes[0]] if len(codes) == 1 else f"{labels[codes[0]]} to {labels[codes[-1]]}"
            yield f"{name} = {text}", child

    def plot(self, tree: int = 0) -> Any:
        """A matplotlib figure of one tree; needs the `report` extra."""
        return plot_tree(self, tree)

    def facts(self) -> dict[str, Any]:
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
    def from_facts(cls, schema: Schema, facts: Mapping[str, Any], made_by: str, epsilon: Fraction | None) -> TreeModel:
        held = structured(facts, TreeFacts)
        if held.columns != schema.attributes:
            raise DamageError("columns are not those of the schema")
        if held.depth > MOST_DEPTH:
            raise DamageError(f"depth is more than {MOST_DEPTH}")
        routing = Routing(held.columns, held.roots, held.attribute, held.first, held.children, held.depth)
        inner = held.attribute[(held.attribute >= 0) & (held.attribute < len(held.columns))]
        sizes = np.array([schema[name].size for name in held.columns], dtype=np.int64)
        if sizes[inner].sum(dtype=np.float64) > len(held.children):
            # Two nodes could lead to the same places, and a small file to more branches than fit into memory.
            raise DamageError("children are not enough for all nodes")
        routing.check(schema)
        check_numbers(held.shares, "shares", len(held.attribute), len(schema.classes))
        return cls(
            schema=schema,
            made_by=made_by,
            epsilon=epsilon,
            routing=routing,
            shares=held.shares,
            combine=held.combine,
        )


def _chances(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chances that are proportional to exp(score), along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


@frozen(eq=False, repr=False)
class Term:
    """What the codes of one or more attributes add to each class."""

    columns: tuple[str, ...]
    weights: NDArray[np.float64]
    """Cells, in row-major order of the columns' codes, by classes."""


@frozen(eq=False)
class AdditiveFacts:
    """What a file holds of an additive model."""

    start: NDArray[np.float64]
    terms: tuple[Term, ...]


@frozen(eq=False, repr=False, kw_only=True)
class AdditiveModel(Model):
    """A class's chance is proportional to exp(its start + the sum of what the terms add)."""

    kind: ClassVar[str] = "additive"

    start: NDArray[np.float64] = field()
    terms: tuple[Term, ...] = ()

    def chances(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The chances; a term with an unknown value adds nothing."""
        total = np.tile(self.start, (len(codes), 1))
        places = {name: index for index, name in enumerate(self.schema.attributes)}
        for term in self.terms:
            cell = np.zeros(len(codes), dtype=np.int64)
            is_known = np.ones(len(codes), dtype=np.bool_)
            for name in term.columns:
                column = codes[:, places[name]]
                is_known &= column >= 0
                cell = cell * self.schema[name].size + np.maximum(column, 0)
            total += np.where(is_known[:, None], term.weights[cell], 0.0)
        return _chances(total)

    def leads(self) -> NDArray[np.float64]:
        """The sums of the least leads of all parts: exact where no two terms share a column."""
        leads = apart(self.start[None, :])
        for term in self.terms:
            leads = leads + apart(term.weights)
        return leads

    def text(self) -> str:
        """The terms written out: the chances of the classes where nothing is known, and where one term is."""
        left = 1 + sum(len(term.weights) for term in self.terms) - MOST_LINES
        return "\n".join([*islice(self._lines(), MOST_LINES), *([f"... and {left:,} more lines"] if left > 0 else [])])

    def _lines(self) -> Iterator[str]:
        yield f"where nothing is known: {in_percent(self.classes, _chances(self.start))}"
        for term in self.terms:
            values = product(*(self.schema[name].labels for name in term.columns))
            for each, weights in zip(values, term.weights, strict=True):
                where = ", ".join(f"{name} = {value}" for name, value in zip(term.columns, each, strict=True))
                yield f"{where}: {in_percent(self.classes, _chances(self.start + weights))}"

    def plot(self) -> Any:
        """A matplotlib figure of what each value adds to each class; needs the `report` extra."""
        return plot_terms(self)

    def facts(self) -> dict[str, Any]:
        return {
            "start": self.start.tolist(),
            "terms": [{"columns": list(term.columns), "weights": term.weights.tolist()} for term in self.terms],
        }

    @classmethod
    def from_facts(
        cls, schema: Schema, facts: Mapping[str, Any], made_by: str, epsilon: Fraction | None
    ) -> AdditiveModel:
        held, classes = structured(facts, AdditiveFacts), len(schema.classes)
        check_numbers(held.start, "start", classes)
        for number, term in enumerate(held.terms):
            if not set(term.columns) <= set(schema.attributes):
                raise DamageError(f"columns of term {number} are not those of the schema")
            check_numbers(term.weights, f"weights of term {number}", schema.size(*term.columns), classes)
        return cls(schema=schema, made_by=made_by, epsilon=epsilon, start=held.start, terms=held.terms)


@frozen(eq=False)
class BayesTreeFacts:
    """What a file holds of a tree with a model at each leaf."""

    tree: Mapping[str, Any]
    start: NDArray[np.float64]
    weights: NDArray[np.float64]


@frozen(eq=False, repr=False, kw_only=True)
class BayesTreeModel(Model):
    """Each row goes to a leaf of the tree, whose own start and terms give the log-odds."""

    kind: ClassVar[str] = "bayes tree"

    tree: TreeModel
    start: NDArray[np.float64] = field()
    """Leaves, in rising order of their nodes, by classes."""
    weights: NDArray[np.float64] = field()
    """Leaves by values, those of all attributes one after the other, by classes."""

    def chances(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The chances. A row with an unknown value at a split goes on by its first branch."""
        leaves = self.tree.routing.leaves
        slot = np.searchsorted(leaves, self.tree.nodes_of(codes)[:, 0])
        total = self.start[slot].copy()
        begin = 0
        for index, name in enumerate(self.schema.attributes):
            code = codes[:, index]
            added = self.weights[slot, begin + np.maximum(code, 0)]
            total += np.where((code >= 0)[:, None], added, 0.0)
            begin += self.schema[name].size
        total -= total.max(axis=1, keepdims=True)
        np.exp(total, out=total)
        total /= total.sum(axis=1, keepdims=True)
        return total

    def leads(self) -> NDArray[np.float64]:
        """The least of the leaves' leads, each the sum of its start's and of those of its attributes."""
        least = np.full((len(self.classes),) * 2, np.inf)
        for start, weights in zip(self.start, self.weights, strict=True):
            here, begin = apart(start[None, :]), 0
            for name in self.schema.attributes:
                end = begin + self.schema[name].size
                here, begin = here + apart(weights[begin:end]), end
            least = np.minimum(least, here)
        return least

    def text(self) -> str:
        """The tree, and for each leaf how its start leans; the terms are too many to read."""
        lines = self.tree.text().split("\n")
        terms = self.weights.shape[1]
        return "\n".join([*lines[:MOST_LINES], f"each leaf has a naive Bayes model of its own, of {terms} values"])

    def plot(self) -> Any:
        """A matplotlib figure of the tree, with how the leaves lean; needs the `report` extra."""
        return plot_tree(self.tree)

    def facts(self) -> dict[str, Any]:
        return {"tree": self.tree.facts(), "start": self.start.tolist(), "weights": self.weights.tolist()}

    @classmethod
    def from_facts(
        cls, schema: Schema, facts: Mapping[str, Any], made_by: str, epsilon: Fraction | None
    ) -> BayesTreeModel:
        held = structured(facts, BayesTreeFacts)
        tree = TreeModel.from_facts(schema, held.tree, made_by, epsilon)
        leaves, classes = len(tree.routing.leaves), len(schema.classes)
        values = sum(schema[name].size for name in schema.attributes)
        check_numbers(held.start, "start", leaves, classes)
        weights = held.weights if values else held.weights.reshape(leaves, 0, classes)
        check_numbers(weights, "weights", leaves, values, classes)
        return cls(schema=schema, made_by=made_by, epsilon=epsilon, tree=tree, start=held.start, weights=weights)


UNIT = 2**30
"""Points for a chance of 1, or for a unit of log-odds."""


def hits_of(model: Model, *, misses: bool = False) -> Hits:
    """The kernel that counts the rows a model predicts right; with *misses*, those it predicts wrong as well."""
    return Hits(*rule_of(model), misses=misses)


def rule_of(model: Model) -> tuple[tuple[Points, ...], Routing | None]:
    """A model's rule: what gives each class points, and the trees that some of it goes by.

    A model's chances are floats; a rule's points are whole multiples of 2**-30 of them, or of their logarithms. Where
    two classes are closer than that, the rule may predict the other one than the model does: it is what is scored.
    """
    kind = type(model)
    if isinstance(model, TreeModel) and kind is TreeModel:
        return (Points((), _tree_points(model), by_leaf=True),), _whole(model.routing)
    if isinstance(model, AdditiveModel) and kind is AdditiveModel:
        terms = (Points(term.columns, _rounded(term.weights)) for term in model.terms)
        return (Points((), _rounded(model.start[None, :])), *terms), None
    if isinstance(model, BayesTreeModel) and kind is BayesTreeModel:
        return tuple(_leaf_points(model)), _whole(model.tree.routing)
    raise OptionError(
        f"there is no rule of whole numbers for a {kind.__name__}", why="trees and additive models can be scored"
    )


def _whole(routing: Routing) -> Routing:
    """The routing with all rows in every tree, as for prediction."""
    return evolve(routing, part_key=None)


def _tree_points(model: TreeModel) -> NDArray[np.int64]:
    shares = model.shares[model.routing.leaves]
    if model.combine == "mean" or model.routing.trees == 1:
        return _rounded(shares)
    votes = np.zeros(shares.shape, dtype=np.int64)
    votes[np.arange(len(votes)), np.argmax(shares, axis=1)] = 1
    return votes


def _leaf_points(model: BayesTreeModel) -> Iterator[Points]:
    yield Points((), _rounded(model.start), by_leaf=True)
    begin, classes = 0, model.start.shape[1]
    for name in model.schema.attributes:
        end = begin + model.schema[name].size
        yield Points((name,), _rounded(model.weights[:, begin:end].reshape(-1, classes)), by_leaf=True)
        begin = end


def _rounded(values: NDArray[np.float64]) -> NDArray[np.int64]:
    scaled = np.nan_to_num(np.rint(values * UNIT), nan=0.0, posinf=MOST_POINTS, neginf=-MOST_POINTS)
    points: NDArray[np.int64] = np.clip(scaled, -MOST_POINTS, MOST_POINTS).astype(np.int64)
    return points
