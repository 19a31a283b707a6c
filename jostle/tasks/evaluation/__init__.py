"""Evaluation: how well scores tell a class from the others on private rows, as a ROC curve and its area."""

from jostle.tasks.evaluation.curve import RocCurve
from jostle.tasks.evaluation.instances import Scorer
from jostle.tasks.evaluation.task import EVALUATION

__all__ = ["EVALUATION", "RocCurve", "Scorer"]
