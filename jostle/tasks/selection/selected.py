"""Selected features: what a selector gives back, made of released numbers alone."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from attrs import field, frozen

from jostle.errors import OptionError
from jostle.files.kinds import writing
from jostle.markup import pre
from jostle.privacy.amounts import show_amount
from jostle.tables.encode import texts_of
from jostle.tables.feature_kernels import Feature, feature_list
from jostle.tables.frames import frame_columns
from jostle.tables.schema import Schema
from jostle.tasks.classification.model import Model


@frozen(eq=False, repr=False, kw_only=True)
class SelectedFeatures:
    """Some of a table's features, the first found first. There may be none: then nothing passed the threshold."""

    schema: Schema
    places: tuple[int, ...]
    """Their numbers among the table's features (`feature_list`)."""
    made_by: str = ""
    """The Option, with its parameters."""
    epsilon: Fraction | None = None
    """What they cost, and the model with them."""
    model: Model | None = None
    """Naive Bayes on the selected columns, where part of the budget trained it."""
    features: tuple[Feature, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Name them."""
        known = feature_list(self.schema)
        object.__setattr__(self, "features", tuple(known[place] for place in self.places))

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called: "text=free"."""
        return tuple(feature.name for feature in self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns for `db.only`: of a column with a selected value the whole, of a text the selected words."""
        found = (feature.column if feature.column in self.schema else feature.name for feature in self.features)
        return tuple(dict.fromkeys(found))

    @property
    def privacy(self) -> str:
        """The privacy claim."""
        spent = "an unknown epsilon" if self.epsilon is None else f"epsilon {show_amount(self.epsilon)}"
        made_by = self.made_by or "an Option"
        what = "Which features were selected" + (
            "" if self.model is None else ", and the model that was trained on them,"
        )
        return f"{what} is what {made_by} released at {spent} under {self.schema.neighbours}."

    def of(self, frame: Any) -> dict[str, Any]:
        """The selected columns of a dataframe that has the table's columns, for a model trained on them.

        Words become columns of 0 and 1. The label is there if the frame has it.
        """
        label, features = self.schema.label, self.schema.features
        whole = [name for name in self.columns if name in self.schema]
        found: dict[str, Any] = dict(frame_columns(frame, tuple(whole))[0])
        if features is not None and len(whole) < len(self.columns):
            cells, _ = frame_columns(frame, (features.column,))
            bits = features.bits_of(texts_of(cells[features.column]))
            found |= {name: bits.column(name) for name in self.columns if name in features.places}
        if label is not None and label in _names(frame):
            found |= frame_columns(frame, (label,))[0]
        return found

    def data(self) -> dict[str, Any]:
        """This as plain data."""
        return {
            "made_by": self.made_by,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "neighbours": self.schema.neighbours,
            "features": [{"column": feature.column, "value": feature.value} for feature in self.features],
            **({} if self.model is None else {"model": json.loads(self.model.to_json())}),
        }

    def text(self) -> str:
        """A text for people."""
        if not self.features:
            return "no feature was selected"
        trained = "" if self.model is None else f"; {self.model.made_by} was trained on them"
        return f"{len(self.features)} features: {', '.join(self.names)}{trained}"

    def save(self, path: str | Path) -> None:
        """Write it to a file of JSON."""
        with writing(path, OptionError) as place:
            place.write_text(json.dumps(self.data(), indent=2) + "\n", encoding="utf-8")

    def __len__(self) -> int:
        return len(self.places)

    def _repr_html_(self) -> str:
        return pre(self.text())

    def __repr__(self) -> str:
        return f"<SelectedFeatures of {self.made_by or 'an Option'}: {len(self)} features>"

    def __str__(self) -> str:
        return self.text()


def _names(frame: Any) -> tuple[str, ...]:
    return tuple(frame_columns(frame)[0])
