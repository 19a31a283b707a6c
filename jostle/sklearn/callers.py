"""Who calls: what scikit-learn would compute from private rows without noise is not computed.

Its scorers, `cross_val_predict` and calibration compare predictions with the labels of the very rows that are private,
and show the outcome as it is. Nothing but the call says that this is about to happen, so the call is looked at.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import FrameType

from attrs import frozen
from sklearn.metrics._scorer import _BaseScorer

from jostle.errors import FoldsWarning, PrivateDataError
from jostle.tables.schema import Neighbours

__all__ = ["SCORING", "SHUFFLING", "VALIDATION", "Caller", "calling", "refuse", "refuse_fitting", "warn_of_folds"]


@frozen
class Caller:
    """A part of scikit-learn, and why a private classifier does not work for it."""

    module: str
    does: str
    fix: str


OWN_SCORE = (
    'leave scoring out: PrivateClassifier.score is private and charged, scored_by="auc" as well; of public rows, '
    "take any measure of clf.predict_proba(X)"
)
VALIDATION = Caller(
    "sklearn.model_selection._validation", "predictions for rows that are held out say what is in them", OWN_SCORE
)
"""What cuts rows into parts, and predicts those that are held out: of a model that it fitted, private ones."""
SCORING = (Caller("sklearn.metrics._scorer", "a score of scikit-learn's is computed without noise", OWN_SCORE),)
MIXED = "what is shuffled from row to row makes rows of several people, and each person is in several of them"
SHUFFLING = (Caller("sklearn.inspection._permutation_importance", MIXED, "importances of public rows"),)
SPLITTERS = "sklearn.model_selection._split"
SAYS_ITSELF = {"PredefinedSplit", "_CVIterableWrapper"}
"""Splitters that do as they are told: where a row goes is for whoever wrote it down."""
BY_PLACE = {"KFold", "LeaveOneOut", "LeavePOut", "RepeatedKFold", "ShuffleSplit", "TimeSeriesSplit"}
"""Splitters that go by a row's place and by how many rows there are, and by nothing that is in them."""
FITTING = (
    Caller(
        "sklearn.calibration",
        "calibration counts private rows without noise",
        "fit on the private rows, then CalibratedClassifierCV(FrozenEstimator(clf)) on public ones",
    ),
    Caller(
        "sklearn.ensemble._bagging",
        "bagging draws rows several times, and each time counts",
        'an Option that is a forest: option="RandomForest"',
    ),
)


def calling(*callers: Caller) -> Caller | None:
    """The innermost of these that is calling, if any is."""
    by_module = {caller.module: caller for caller in callers}
    return next((by_module[module] for module, _ in _frames() if module in by_module), None)


def refuse(*callers: Caller) -> None:
    """Refuse to go on if one of these is calling."""
    if caller := calling(*callers):
        raise _refusal(caller)


def refuse_fitting() -> None:
    """Refuse to fit for what would be refused once it has been paid for."""
    refuse(*FITTING)
    for module, frame in _frames():
        if module == VALIDATION.module and frame.f_code.co_name == "_fit_and_predict":
            raise _refusal(VALIDATION)
        if module == VALIDATION.module and frame.f_code.co_name == "permutation_test_score":
            raise _refusal(Caller(module, MIXED, OWN_SCORE))
        scorer = frame.f_locals.get("scorer") if module == VALIDATION.module else None
        scorers = getattr(scorer, "_scorers", {"": scorer}).values()  # several, by name
        if any(isinstance(each, _BaseScorer) for each in scorers):
            raise _refusal(SCORING[0])


def warn_of_folds(neighbours: Neighbours) -> None:
    """Warn if scikit-learn cuts rows into folds where neighbouring tables differ in more than the one row.

    It goes on all the same: of what each fit was given, the charge bounds what it says.
    """
    for module, frame in _frames():
        kind = type(frame.f_locals.get("cv")) if module.startswith("sklearn.") else object
        if kind.__module__ != SPLITTERS or kind.__name__ in SAYS_ITSELF:
            continue
        if neighbours == "add_remove" or kind.__name__ not in BY_PLACE:
            warnings.warn(
                f"{kind.__name__} moves other rows to other folds where one row comes or goes: what is charged bounds "
                "what each fit says of the rows that it was given, and not what all of them say of the table. "
                "cv=PrivateFolds(5) moves none",
                FoldsWarning,
                stacklevel=3,
            )
        return


def _frames() -> Iterator[tuple[str, FrameType]]:
    """Yield who calls, from here outwards, by module."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other way to see who calls
    while frame is not None:
        yield frame.f_globals.get("__name__", ""), frame
        frame = frame.f_back


def _refusal(caller: Caller) -> PrivateDataError:
    return PrivateDataError("this classifier was made for private rows", why=caller.does, fix=caller.fix)
