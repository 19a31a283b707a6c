"""Scorers of private rows: a column of scores that the schema declares, or a model that was released."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from jostle.errors import OptionError, shown
from jostle.options.models.rules import UNIT, rule_of
from jostle.options.models.trees import TreeModel
from jostle.tables.columns import Numeric
from jostle.tables.margins import Margins
from jostle.tables.routes import Routing
from jostle.tables.rules import Points
from jostle.tables.schema import Schema
from jostle.tasks.classification.model import Model
from jostle.tasks.evaluation.scorer import Scorer

__all__ = ["check_schema", "has_threshold", "positive_class", "scorer_of"]

Integers = NDArray[np.int64]
MOST_CUTS = 4095
"""Cuts of a model's scores, where it has more of them than that."""


def scorer_of(schema: Schema, scores: object, positive: object = None) -> Scorer:
    """The scorer of a schema's rows: a column's name, or a model; refuse what is neither, by public facts."""
    chosen = positive_class(schema, positive)
    if isinstance(scores, str):
        return _of_column(schema, scores, chosen)
    if isinstance(scores, Model):
        return _of_model(schema, scores, chosen)
    raise OptionError(
        f"{type(scores).__name__} gives no scores",
        why="scores are in a column of the table, or are those of a model that an Option released",
        fix='"score", or model = NaiveBayes(db)',
    )


def positive_class(schema: Schema, positive: object = None) -> str:
    """The class that is looked for: of two, the second where nobody says; refuse one that is none."""
    if schema.label is None:
        raise OptionError("the schema names no label", fix='Schema(columns, label="...")')
    classes = schema.classes
    if len(classes) < 2:
        raise OptionError(
            "the label has one class only",
            why="a curve tells a class from the others",
            fix=f'"{schema.label}": Categorical(["no", "yes"])',
        )
    if positive is None:
        if len(classes) > 2:
            named = ", ".join(map(repr, classes[:20]))
            raise OptionError(
                f"the label has {len(classes)} classes",
                why=f"one is told from the others: {named}",
                fix=f"positive={classes[-1]!r:.60}",
            )
        return classes[1]
    if not isinstance(positive, str) or positive not in classes:
        named = ", ".join(map(repr, classes[:20]))
        raise OptionError(f"the label has no class {shown(positive)}", fix=f"positive = one of {named}")
    return str(positive)


def _of_column(schema: Schema, name: str, positive: str) -> Scorer:
    if name not in schema.names or name == schema.label:
        shown = ", ".join(repr(each) for each in schema.attributes[:20]) or "none"
        raise OptionError(f"the table has no column {name!r:.60} of scores", fix=f"one of {shown}")
    column = schema[name]
    if not isinstance(column, Numeric):
        raise OptionError(
            f"the scores in {name!r} have no bounds",
            why="a column of scores is one of numbers, cut into bins between bounds that are public",
            fix=f'Schema({{"{name}": Chances(), ...}}), or Numeric(-20, 20, bins=1024) for log-odds',
        )
    if column.bin_count < 3:
        raise OptionError(
            f"the scores in {name!r} are cut into fewer than three bins: that is one threshold at most",
            why="a curve goes through several thresholds",
            fix="bins=1024 where the schema declares it",
        )
    code = schema.classes.index(positive)
    table = np.zeros((column.size, len(schema.classes)), dtype=np.int64)
    # Values beyond the bins, and missing ones, come last among the codes: they count as below all thresholds.
    table[:, code] = np.where(np.arange(column.size) < column.bin_count, np.arange(column.size), -1)
    margins = Margins((Points((name,), table),), positive=code, cuts=np.arange(1, column.bin_count))
    return Scorer(margins, np.array(column.cut_points[1:-1]), f"column {name!r}", positive)


def has_threshold(model: Model) -> bool:
    """Whether a model of two classes gives rows more than one score, so that there is a curve."""
    return len(_rule_of_class(model, 1)[2]) > 0


def _of_model(schema: Schema, model: Model, positive: str) -> Scorer:
    check_schema(schema, model)
    code = schema.classes.index(positive)
    terms, routing, cuts, unit = _rule_of_class(model, code)
    if not len(cuts):
        raise OptionError(
            "the model gives all rows one score: there is no threshold",
            why="a curve goes through thresholds between scores",
            fix="a model that tells rows apart",
        )
    margins = Margins(terms, routing, positive=code, cuts=cuts)
    return Scorer(margins, cuts / unit, model.made_by or "a model", positive)


def _rule_of_class(model: Model, code: int) -> tuple[tuple[Points, ...], Routing | None, Integers, int]:
    """A model's rule for a class, the cuts of its scores, and what one of them is in points."""
    terms, routing = rule_of(model)
    if isinstance(model, TreeModel):
        terms = tuple(evolve(term, table=_alone(term.table, code)) for term in terms)
        cuts = _tree_cuts(model, terms[0].table[:, code])
        unit = UNIT * model.routing.trees if model.combine == "mean" or model.routing.trees == 1 else len(cuts)
    else:
        leaves = 1 if routing is None else routing.trees
        ends = [_ends(term.table, code) for term in terms]
        low, high = sum(low for low, _ in ends) * leaves, sum(high for _, high in ends) * leaves
        cuts, unit = _even(low, high), UNIT
    return terms, routing, cuts, unit


def check_schema(schema: Schema, model: Model) -> None:
    """Refuse a model that was learned from tables whose values have other codes."""
    if evolve(model.schema, neighbours=schema.neighbours, rows=schema.rows) != schema:
        raise OptionError(
            "the model was learned from tables of another schema",
            why="it is applied to rows as their schema declares them",
            fix="open the test table with the schema that the model has: model.schema",
        )


def _alone(table: Integers, code: int) -> Integers:
    """The points of one class, others having none: the margin is the class's own share."""
    kept = np.zeros_like(table)
    kept[:, code] = table[:, code]
    return kept


def _tree_cuts(model: TreeModel, points: Integers) -> Integers:
    """All scores that rows can have but the least, if they are few; else some from end to end."""
    if model.routing.trees == 1:
        scores = np.unique(points)[1:]
        return scores if len(scores) <= MOST_CUTS else _even(int(scores[0]), int(scores[-1]))
    if model.combine == "vote":
        return np.arange(1, model.routing.trees + 1)
    return _even(0, int(points.max()) * model.routing.trees)


def _ends(table: Integers, code: int) -> tuple[int, int]:
    """The least and the largest margin that a term can add."""
    others = np.delete(table, code, axis=1)
    own = table[:, code]
    if others.shape[1] == 1:
        return int((own - others[:, 0]).min()), int((own - others[:, 0]).max())
    return int(own.min() - others.max()), int(own.max() - others.min())


def _even(low: int, high: int) -> Integers:
    """Cuts between two scores, evenly spaced."""
    count = min(MOST_CUTS, max(0, high - low))
    cuts = [low + (high - low) * place // (count + 1) for place in range(1, count + 1)]
    return np.array([cut for before, cut in pairwise([low, *cuts]) if cut > before], dtype=np.int64)
