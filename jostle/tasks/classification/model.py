"""Models: what a classification Option gives back, made of released numbers alone."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from jostle.errors import DamageError, JostleError, OptionError
from jostle.files.kinds import FileKind, writing
from jostle.markup import pre
from jostle.privacy.amounts import show_amount
from jostle.tables.attributes import UNKNOWN, attribute_codes, label_codes
from jostle.tables.schema import Schema

VERSION = 1
MODEL = FileKind("model", OptionError, "save it anew with model.save(path)", version=VERSION)
LARGEST = 1e100
"""Numbers that a model adds up: sums over all of its parts stay finite."""
SURE = 1e-9
"""A lead that is larger is none of rounding."""
CODED_AT_ONCE = 1 << 18
"""Rows that are turned into chances at a time."""

MOST_CLASSES = 6
"""Classes that are named on a line."""

_kinds: dict[str, type[Model]] = {}


@frozen
class ModelFacts:
    """What every model's file holds."""

    kind: str
    made_by: str
    epsilon: Fraction | None
    schema: str
    facts: Mapping[str, Any]


@frozen(eq=False, repr=False, kw_only=True)
class Model(ABC):
    """Predicts a label from attributes.

    It holds the schema, which is public, and numbers released by mechanisms or computed from such. So everything it can
    be asked, predictions, chances, texts, pictures and files, is covered by the privacy claim of the run that made it.
    """

    kind: ClassVar[str]

    schema: Schema
    made_by: str = ""
    """The Option, with its parameters."""
    epsilon: Fraction | None = field(default=None)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "kind" in cls.__dict__:
            _kinds[cls.kind] = cls

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels, in the order of the columns of `predict_proba`."""
        return self.schema.classes

    @property
    def privacy(self) -> str:
        """The outputs that are covered by the privacy claim, and what it is."""
        spent = "an unknown epsilon" if self.epsilon is None else f"epsilon {show_amount(self.epsilon)}"
        return (
            "All outputs of this model (predictions, chances, scores, text, plot, file) are computed from numbers that "
            f"{self.made_by or 'an Option'} released at {spent} under {self.schema.neighbours}, and from public facts."
        )

    @abstractmethod
    def chances(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The chance of each class for rows of attribute codes, -1 standing for an unknown value."""

    @abstractmethod
    def text(self) -> str:
        """The model written out for people."""

    @abstractmethod
    def leads(self) -> NDArray[np.float64]:
        """The least that each class can be ahead of each other one, for whatever row: classes by classes.

        Or less than that. A lead of 0 is one of the class that is declared first.
        """

    @property
    def only_class(self) -> str | None:
        """The one class that is predicted for every row, whatever its values; None if that cannot be told."""
        leads = self.leads()
        number = len(self.classes)
        first = np.arange(number)[:, None] < np.arange(number)[None, :]
        ahead = (leads > SURE) | (first & (leads >= 0)) | np.eye(number, dtype=np.bool_)
        always = np.flatnonzero(ahead.all(axis=1))
        return self.classes[always[0]] if len(always) else None

    @property
    def stated(self) -> str:
        """What it says of a row of which nothing is known: in one line, as a trace has it."""
        (chances,) = self.chances(np.full((1, len(self.schema.attributes)), -1, dtype=np.int64))
        return f"a model; of a row of which nothing is known it says {in_percent(self.classes, chances)}"

    def told(self) -> str:
        """The model for people: its text, after a line that says so where it tells rows not apart."""
        only = self.only_class
        if only is None or len(self.classes) < 2:
            return self.text()
        return f"predicts {only!r} for every row: what was released tells no rows apart\n{self.text()}"

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The facts that a file has to hold beside the schema."""

    @classmethod
    @abstractmethod
    def from_facts(cls, schema: Schema, facts: Mapping[str, Any], made_by: str, epsilon: Fraction | None) -> Model:
        """The model that `facts` came from, or raise DamageError where they cannot have come from any."""

    def predict_proba(self, frame: Any) -> NDArray[np.float64]:
        """The chance of each class for each row of a dataframe, which needs no label column."""
        codes = attribute_codes(frame, self.schema)
        parts = [self.chances(codes[start : start + CODED_AT_ONCE]) for start in range(0, len(codes), CODED_AT_ONCE)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes)))

    def predict(self, frame: Any) -> NDArray[np.str_]:
        """The likeliest class for each row of a dataframe; of equally likely ones, the first declared."""
        best = np.argmax(self.predict_proba(frame), axis=1)
        labels: NDArray[np.str_] = np.array(self.classes, dtype=np.str_)[best]
        return labels

    def score(self, frame: Any) -> float:
        """The share of a dataframe's rows that are predicted right, of those that have a declared label.

        Not-a-number where none has one. The frame is not protected: the score is as private as the rows it is of.
        """
        truth = label_codes(frame, self.schema)
        known = truth != UNKNOWN
        right = np.argmax(self.predict_proba(frame), axis=1) == truth
        return float(np.mean(right[known])) if known.any() else math.nan

    def to_json(self) -> str:
        """The model as JSON."""
        return json.dumps(
            {
                "version": VERSION,
                "kind": self.kind,
                "made_by": self.made_by,
                "epsilon": None if self.epsilon is None else str(self.epsilon),
                "schema": self.schema.to_toml(),
                "facts": self.facts(),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Model:
        """The model that a text of JSON holds."""
        return _read(text, MODEL)

    def save(self, path: str | Path) -> None:
        """Write the model to a file of JSON, for `jostle.load_model`."""
        with writing(path, OptionError, "the model") as place:
            place.write_text(self.to_json(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return pre(self.text())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.made_by or 'an Option'} for {self.schema.label!r}>"

    def __str__(self) -> str:
        return self.told()


def load_model(path: str | Path) -> Model:
    """The model that a file holds, whoever wrote it.

    Raises:
        OptionError: the file holds no model.
    """
    file = MODEL.at(path)
    return _read(file.text(), file)


def _read(text: str, file: FileKind) -> Model:
    held = file.made(ModelFacts, file.facts(text))
    kind = _kinds.get(held.kind)
    if kind is None:
        raise file.damaged("is damaged: kind is not one that is known")
    if held.epsilon is not None and held.epsilon <= 0:
        raise file.damaged("is damaged: epsilon is not above 0")
    try:
        return kind.from_facts(Schema.from_toml(held.schema), held.facts, held.made_by, held.epsilon)
    except DamageError as damage:
        raise file.damaged(f"is damaged: {damage}") from None
    except JostleError as mistake:  # of the schema, or of what the facts are made into
        raise file.damaged(f"is damaged: {mistake.title}") from None


def in_percent(classes: Sequence[str], chances: NDArray[np.float64]) -> str:
    """Chances in words, of the likeliest classes where there are many.

    >>> in_percent(("no", "yes"), np.array([0.256, 0.744]))
    'no 26%, yes 74%'
    """
    shown = sorted(np.argsort(-chances, kind="stable")[:MOST_CLASSES].tolist())
    rest = 1 - float(chances[shown].sum())
    others = f", others {rest:.0%}" if len(shown) < len(classes) else ""
    return ", ".join(f"{classes[place]} {chances[place]:.0%}" for place in shown) + others


def check_numbers(array: NDArray[np.float64], name: str, *shape: int) -> None:
    """Refuse an array that is not of this shape, or has numbers that cannot be added up."""
    if array.shape != shape or (array.size and np.abs(array).max() > LARGEST):
        raise DamageError(f"{name} do not fit the schema and the other parts")


def apart(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least difference between each two columns, over all rows.

    >>> apart(np.array([[3.0, 1.0], [2.0, 1.5]])).tolist()
    [[0.0, 0.5], [-2.0, 0.0]]
    """
    columns = range(scores.shape[1])
    return np.array([[float((scores[:, one] - scores[:, other]).min()) for other in columns] for one in columns])
