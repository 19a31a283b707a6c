"""How far answers are from the truth: the measures of DPBench and of the literature on grids."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jostle.errors import OptionError

__all__ = ["mean_absolute", "mean_relative", "mean_squared", "scaled_l1", "scaled_l2"]


def _differences(truth: ArrayLike, answers: ArrayLike) -> NDArray[np.float64]:
    true, given = np.asarray(truth, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    if true.shape != given.shape or not true.size:
        raise OptionError(f"{given.size} answers are compared with {true.size} truths")
    return given - true


def scaled_l2(truth: ArrayLike, answers: ArrayLike, scale: float) -> float:
    """DPBench's error: the Euclidean norm of the differences / number of queries / number of records.

    >>> scaled_l2([1, 2], [4, 6], scale=10)
    0.25
    """
    differences = _differences(truth, answers)
    return float(np.linalg.norm(differences)) / differences.size / scale


def scaled_l1(truth: ArrayLike, answers: ArrayLike, scale: float) -> float:
    """The sum of the absolute differences / number of queries / number of records."""
    differences = _differences(truth, answers)
    return float(np.abs(differences).sum()) / differences.size / scale


def mean_absolute(truth: ArrayLike, answers: ArrayLike) -> float:
    """The mean of the absolute differences."""
    return float(np.abs(_differences(truth, answers)).mean())


def mean_squared(truth: ArrayLike, answers: ArrayLike) -> float:
    """The mean of the squared differences."""
    return float((_differences(truth, answers) ** 2).mean())


def mean_relative(truth: ArrayLike, answers: ArrayLike, theta: float) -> float:
    """The mean of |difference| / max(theta, truth): theta keeps small truths from counting without bound."""
    if theta <= 0:
        raise OptionError(f"theta is {theta}, but must be above 0")
    return float((np.abs(_differences(truth, answers)) / np.maximum(theta, np.asarray(truth, dtype=np.float64))).mean())
