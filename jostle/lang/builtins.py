"""The functions and values that every program knows without importing them."""

from __future__ import annotations

from attrs import frozen

__all__ = ["AGGREGATES", "BUILTINS", "EPSILON", "Builtin"]


@frozen
class Builtin:
    """A function that every program knows."""

    name: str
    """What it is called."""
    parameters: tuple[str, ...]
    """The names of what it takes; a last one with a star stands for any number more."""
    least: int
    """How many of them must be given."""
    meaning: str
    """What it gives back, in a sentence."""

    @property
    def most(self) -> int | None:
        """How many values it takes at most; None for any number."""
        return None if self.parameters and self.parameters[-1].startswith("*") else len(self.parameters)

    @property
    def head(self) -> str:
        """How it is called: `sqrt(x)`."""
        shown = [name if index < self.least else f"{name}=..." for index, name in enumerate(self.parameters)]
        shown = [name.removesuffix("=...") if name.startswith("*") else name for name in shown]
        return f"{self.name}({', '.join(shown)})"


EPSILON = "epsilon"
"""What the caller allotted: known inside functions, never assigned."""

AGGREGATES = ("count", "max", "mean", "min", "persons", "stddev", "sum")
"""What `select` can compute."""

_ALL = (
    Builtin("abs", ("x",), 1, "the size of a number without its sign"),
    Builtin("all", ("xs",), 1, "whether all of a list hold"),
    Builtin("any", ("xs",), 1, "whether one of a list holds"),
    Builtin("argmax", ("scores",), 1, "the key with the largest value, or the index of the largest item"),
    Builtin("argmin", ("scores",), 1, "the key with the smallest value, or the index of the smallest item"),
    Builtin("ceil", ("x",), 1, "the next whole number above"),
    Builtin("exp", ("x",), 1, "e to the power of a number"),
    Builtin("fail", ("message",), 1, "nothing; it ends the run with a sentence"),
    Builtin("floor", ("x",), 1, "the next whole number below"),
    Builtin("len", ("x",), 1, "how many items a list has; of a table, its rows, which is private"),
    Builtin("list", ("xs",), 1, "the items as a list"),
    Builtin("log", ("x", "base"), 1, "the logarithm, natural unless a base is given"),
    Builtin("map", ("function", "items"), 2, "a list of what a function gives for each item"),
    Builtin("max", ("x", "*xs"), 1, "the largest of several values, or of a list"),
    Builtin("mean", ("xs",), 1, "the mean of a list"),
    Builtin("min", ("x", "*xs"), 1, "the smallest of several values, or of a list"),
    Builtin("print", ("*values",), 0, "nothing; it shows public or released values"),
    Builtin("range", ("start", "stop", "step"), 1, "whole numbers from 0 or a start up to before a stop"),
    Builtin("round", ("x", "digits"), 1, "the nearest number with so many digits after the point"),
    Builtin("size", ("attribute",), 1, "how many values an attribute can have: a public fact"),
    Builtin("sorted", ("xs",), 1, "the items in order"),
    Builtin("sqrt", ("x",), 1, "the square root"),
    Builtin("stddev", ("xs",), 1, "the standard deviation of a list"),
    Builtin("sum", ("xs",), 1, "the sum of a list"),
    Builtin("zip", ("xs", "*others"), 1, "lists side by side, as a list of tuples"),
    Builtin("noisyCount", ("table", "epsilon"), 1, "how many rows, with noise"),
    Builtin("noisyMax", ("domain", "utilities", "epsilon"), 2, "the item with nearly the highest utility"),
    Builtin("expMech", ("domain", "utilities", "epsilon"), 2, "the item with nearly the highest utility"),
    Builtin("maxScore", ("attribute", "label", "table"), 3, "how many rows a split predicts right: private"),
    Builtin("gini", ("attribute", "label", "table"), 3, "the Gini score of a split: private"),
    Builtin("infoGain", ("attribute", "label", "table"), 3, "the information gain of a split: private"),
    Builtin("random", ("attribute", "label", "table"), 3, "the same score for every split: no data is looked at"),
    Builtin("Leaf", ("pred", "size", "votes"), 1, "a leaf of a decision tree"),
    Builtin("Node", ("att", "children"), 2, "an inner node of a decision tree"),
    Builtin("C45_Prune", ("tree",), 1, "the tree without branches that are no better than a leaf"),
    Builtin(
        "rehearse",
        ("option", "database", "scale", "epsilon"),
        4,
        "the error of an Option on a public database, which costs nothing",
    ),
    Builtin("public", ("path",), 1, "the public databases of a file or folder"),
)

BUILTINS: dict[str, Builtin] = {each.name: each for each in _ALL}
"""By name."""
