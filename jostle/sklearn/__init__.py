"""Jostle for scikit-learn: a classifier and a selector that keep a promise in pipelines, cross-validation and searches.

`PrivateClassifier` is an estimator whose every fit and score is charged to one budget, `PrivateFeatureSelector` keeps
the columns that tell the label, on the same budget; `PrivateFolds` splits rows so
that no row's fold hangs on another row.
"""

from __future__ import annotations

from jostle.errors import OptionError

try:
    from sklearn.utils.validation import validate_data  # noqa: F401 - new in the oldest version that will do
except ImportError:
    raise OptionError("scikit-learn 1.6 or later is not installed", fix='pip install "scikit-learn>=1.6"') from None

from jostle.sklearn.classifier import PrivateClassifier
from jostle.sklearn.private_rows import PrivateFolds
from jostle.sklearn.selector import PrivateFeatureSelector

__all__ = ["PrivateClassifier", "PrivateFeatureSelector", "PrivateFolds"]
