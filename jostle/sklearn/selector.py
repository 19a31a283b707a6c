"""A selector of columns for scikit-learn, each of whose fits is charged to one budget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from jostle.errors import OptionError, TableError, shown
from jostle.options.base import Option
from jostle.options.registry import get
from jostle.privacy.amounts import Amount, epsilon_amount
from jostle.privacy.probe import Probe
from jostle.sklearn.private_rows import PrivateRows
from jostle.tables.attributes import feature_columns, feature_names
from jostle.tables.schema import Schema
from jostle.tasks import SELECTION
from jostle.tasks.selection import SelectedFeatures


class PrivateFeatureSelector(SelectorMixin, PrivateRows):  # type: ignore[misc]  # scikit-learn has no types
    """Keep the columns that say the label of private rows best, within one budget for all that is fitted.

    A fit costs *epsilon*, from the budget in *vault* or that of this process, as of a `PrivateClassifier`: both pay
    from one where both name the same vault, or the label is the same. An Option selects values, and a column is kept of
    which one value was. Of a sparse matrix the schema declares what its columns are called
    (`features=SparseFeatures("text", words=[...])`). Where nothing passes, nothing is kept, and scikit-learn says so.
    Settings are those of a `PrivateClassifier`, where nothing is scored.

    Raises:
        OptionError: settings do not fit together: when it is fitted.

    >>> import numpy as np
    >>> from jostle import Categorical, Schema
    >>> columns = {name: Categorical([0, 1]) for name in ("wet", "old", "ill")}
    >>> X = np.column_stack([np.arange(1000) % 2, np.arange(1000) % 3 % 2])
    >>> selector = PrivateFeatureSelector("Peeling(top=1)", 1, Schema(columns, label="ill"), promise=1)
    >>> selector.fit(X, X[:, 0]).get_support()
    array([ True, False])
    """

    def __init__(
        self,
        option: str | Option[SelectedFeatures] = "Peeling",
        epsilon: Amount = 1.0,
        schema: Schema | str | Path | None = None,
        vault: str | Path | None = None,
        *,
        promise: Amount | None = None,
        person: str | None = None,
        public: bool = False,
        random_state: Any = None,
    ) -> None:
        self.option = option
        self.epsilon = epsilon
        self.schema = schema
        self.vault = vault
        self.promise = promise
        self.person = person
        self.public = public
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> PrivateFeatureSelector:
        """Find the columns; *epsilon* is charged for it, unless the rows are public.

        *X* is a dataframe, an array or a sparse matrix, or a probe, which has the labels.

        Raises:
            BudgetError: nothing was promised, or less is left than a fit costs.
            OptionError: settings do not fit together.
            TableError: the rows cannot be read by the schema.
        """
        option, epsilon = self._option(), epsilon_amount(self.epsilon)
        db = self._probe(X, y)
        self.selected_ = option(db, epsilon=epsilon)
        return self

    def transform(self, X: Any) -> Any:
        """The columns kept, as what X is: a dataframe's by name, those of an array or a sparse matrix in order.

        Raises:
            TableError: the rows have other columns than those it was fitted on.
        """
        check_is_fitted(self)
        support = self.get_support()
        if self.schema is None and not self._of_probe:
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
        elif feature_names(X) is not None:
            frame, kept = nw.from_native(X, eager_only=True), list(self.get_feature_names_out())
            if missing := [name for name in kept if name not in frame.columns]:
                raise TableError(
                    f"X has no column {shown(missing[0])}, which was kept",
                    fix="give rows with the columns that fit was given",
                )
            return frame.select(kept).to_native()
        elif isinstance(X, list | tuple):
            X = _array(feature_columns(X, _names(self.selected_.schema)), len(X))
        array = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
        if array.ndim != 2 or array.shape[1] != len(support):
            raise TableError(
                f"X has not the {len(support)} columns that were selected from",
                fix="give rows with the columns that fit was given, in the same order",
            )
        return array[:, np.flatnonzero(support)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns kept, as the schema calls them."""
        check_is_fitted(self)
        schema = self.selected_.schema
        given = self.schema is not None or self._of_probe
        declared = schema.features is not None or (given and input_features is None)
        names: NDArray[np.object_] = (
            np.array(_names(schema), dtype=object)[self.get_support()]
            if declared
            else super().get_feature_names_out(input_features)
        )
        return names

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        names = _names(self.selected_.schema)
        return np.isin(np.array(names, dtype=object), np.array(self.selected_.columns, dtype=object))

    def _option(self) -> Option[SelectedFeatures]:
        option = self.option if isinstance(self.option, Option) else get(self.option)
        if option.task is not SELECTION:
            raise OptionError(
                f"{option.name} is no Option that {SELECTION.question.does}",
                fix="one that `jostle options --task selection` lists",
            )
        return option

    def _probe(self, X: Any, y: Any) -> Probe:
        asked = self._asked(X, y)
        self._of_probe = asked is not None
        if asked is not None:
            self._known_by(_names(asked.schema), asked)
            return asked
        if self._anybodys and self.schema is None:
            db = self._inferred(X, y, epsilon_amount(self.epsilon)).db
            if len(db.schema.classes) < 2:
                raise OptionError(
                    "all rows are of one class", why="nothing tells it", fix="rows of two classes or more"
                )
            return db
        schema = self._declared()
        db = self._opened(X, y, schema)
        self._known_by(_names(schema), X)
        return db


def _array(columns: Mapping[str, Any], rows: int) -> NDArray[np.object_]:
    """Columns of a list side by side, each cell as it is."""
    array = np.empty((rows, len(columns)), dtype=object)
    for index, cells in enumerate(columns.values()):
        array[:, index] = np.fromiter(cells, dtype=object, count=rows)
    return array


def _names(schema: Schema) -> tuple[str, ...]:
    """Names of the columns that are selected from: attributes, or the words of a matrix."""
    return schema.attributes if schema.features is None else (*schema.attributes, *schema.features.names)
