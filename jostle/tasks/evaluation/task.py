"""Evaluation: say how well scores tell a class from the others, as a ROC curve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jostle.corpora.databases import PublicDatabase, PublicTable
from jostle.corpora.parts import Spec, TableSpec
from jostle.tables.columns import Numeric
from jostle.tables.schema import Schema
from jostle.tasks.base import Judge, Question, Rehearsal, Shown, Task, register
from jostle.tasks.classification.task import CLASSIFICATION, log_epsilon
from jostle.tasks.evaluation.curve import ENDINGS, RocCurve
from jostle.tasks.evaluation.instances import SCORE, ScoresInstance, scores_instance

if TYPE_CHECKING:
    from jostle.corpora.corpus import Corpus


def _suits(schema: Schema) -> bool:
    return schema.label is not None and SCORE in schema.names and isinstance(schema[SCORE], Numeric)


def _corpus() -> Corpus:
    return CLASSIFICATION.rehearsal.corpus()


def _example() -> tuple[PublicDatabase, Spec]:
    return CLASSIFICATION.rehearsal.example()[0], TableSpec()


def _between(instance: ScoresInstance, curve: RocCurve) -> float:
    return instance.loss(curve)


def _off(instance: ScoresInstance, curve: RocCurve) -> float:
    return instance.area_off(curve)


def _save(curve: RocCurve, path: Path) -> None:
    curve.save(path)


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
            usual=lambda schema: (SCORE, None),  # noqa: ARG005 - of the name that it suits
            suits=_suits,
            suited=f"a schema with a label and a column {SCORE!r} of numbers",
        ),
        rehearsal=Rehearsal(
            database=PublicTable,
            instance=scores_instance,
            corpus=_corpus,
            example=_example,
            judges=(
                Judge("between", _between, "the area between the curve and the true one", 0.001),
                Judge("auc-error", _off, "how far the area under the curve is off", 0.001),
            ),
            free=(log_epsilon,),
        ),
        shown=Shown(save=_save, endings=ENDINGS),
    )
)
