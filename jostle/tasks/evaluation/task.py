"""Evaluation: say how well scores tell a class from the others, as a ROC curve."""

from __future__ import annotations

from attrs import evolve

from jostle.tables.columns import Numeric
from jostle.tables.schema import Schema
from jostle.tasks.base import Judge, Question, Shown, Task, register
from jostle.tasks.classification.task import CLASSIFICATION, log_epsilon
from jostle.tasks.evaluation.curve import ENDINGS, RocCurve
from jostle.tasks.evaluation.instances import SCORE, ScoresInstance, scores_instance


def _suits(schema: Schema) -> bool:
    return schema.label is not None and SCORE in schema.names and isinstance(schema[SCORE], Numeric)


EVALUATION: Task[RocCurve] = register(
    Task(
        name="evaluation",
        question=Question(
            does="draws a ROC curve",
            modules=("evaluation",),
            named="EvaluatorName",
            answers=(RocCurve,),
            gives="a ROC curve",
            beside={"scores": object, "positive": str},
            usual=lambda schema: (SCORE, None),
            suits=_suits,
            suited=f"a schema with a label and a column {SCORE!r} of numbers",
        ),
        rehearsal=evolve(
            CLASSIFICATION.rehearsal,
            instance=scores_instance,
            judges=(
                Judge("between", ScoresInstance.loss, "the area between the curve and the true one", 0.001),
                Judge("auc-error", ScoresInstance.area_off, "how far the area under the curve is off", 0.001),
            ),
            sure=False,
            free=(log_epsilon,),
            bought=(),
        ),
        shown=Shown(endings=ENDINGS),
    )
)
