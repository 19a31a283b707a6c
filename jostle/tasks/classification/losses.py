"""How bad predictions are: losses of the chances that a model gives held-out rows, beside the rows' own classes.

Each takes the true codes and, in a row for each of them, the chance of every class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["balanced_error", "error", "log_loss", "one_less_auc"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
LEAST_CHANCE = 1e-6
"""What a chance counts as at least, so that one row which a model was sure of does not count for all others."""


def error(labels: Labels, chances: Floats) -> float:
    """Share of rows whose likeliest class is not their own."""
    return float(np.mean(np.argmax(chances, axis=1) != labels))


def balanced_error(labels: Labels, chances: Floats) -> float:
    """Mean over the classes that there are of the share of their rows that are predicted wrongly."""
    wrong = np.argmax(chances, axis=1) != labels
    return float(np.mean([wrong[labels == code].mean() for code in np.unique(labels)]))


def log_loss(labels: Labels, chances: Floats) -> float:
    """Mean of the negative logarithm of the chance of a row's own class."""
    own = chances[np.arange(len(labels)), labels] / np.maximum(chances.sum(axis=1), LEAST_CHANCE)
    return float(-np.log(np.clip(own, LEAST_CHANCE, 1)).mean())


def one_less_auc(labels: Labels, chances: Floats) -> float:
    """1 less the area under the curve; of several classes, the mean over pairs of them.

    Hand and Till. A simple generalisation of the area under the ROC curve for multiple class classification problems.
    Machine Learning, 2001. A pair's area is the mean of two: how often a row of the one class has a larger chance of
    that class than a row of the other, and the reverse; ties count half. Where all rows are of one class there is
    nothing to tell apart, and the area is that of guessing.
    """
    present = np.unique(labels).tolist()
    areas = [
        (
            _area(chances[labels == one, one], chances[labels == other, one])
            + _area(chances[labels == other, other], chances[labels == one, other])
        )
        / 2
        for place, one in enumerate(present)
        for other in present[:place]
    ]
    return 1 - float(np.mean(areas)) if areas else 0.5


def _area(own: Floats, others: Floats) -> float:
    """How often a number of the first is larger than one of the second; ties count half."""
    values, places = np.unique(np.concatenate([own, others]), return_inverse=True)
    of_own = np.bincount(places[: len(own)], minlength=len(values))
    of_others = np.bincount(places[len(own) :], minlength=len(values))
    below = np.cumsum(of_others) - of_others
    return float((of_own * (below + of_others / 2)).sum() / (len(own) * len(others)))
