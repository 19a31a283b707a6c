"""Classification: predict a table's label from its other columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jostle.corpora.databases import PublicDatabase, PublicTable
from jostle.corpora.specs import Spec, TableSpec
from jostle.tasks.base import Judge, Task, register
from jostle.tasks.classification import losses, metafeatures
from jostle.tasks.classification.instances import TableInstance, table_instance
from jostle.tasks.classification.model import Model

if TYPE_CHECKING:
    from jostle.corpora.corpus import Corpus

__all__ = ["CLASSIFICATION"]

Of = Callable[[NDArray[np.int64], NDArray[np.float64]], float]
GENERATED = 24
"""How many generated tables there are beside those that come with packages."""
EXAMPLE = "nursery"
FLOOR = 0.01
"""Of a share of wrong predictions nobody notices less, nor of the others."""


@cache
def _corpus() -> Corpus:
    from jostle.corpora.generators_tables import generated_tables  # noqa: PLC0415 - for training only
    from jostle.corpora.packaged import packaged  # noqa: PLC0415 - as above

    return packaged() | generated_tables(GENERATED)


def _example() -> tuple[PublicDatabase, Spec]:
    from jostle.corpora.generators_tables import generated_tables  # noqa: PLC0415 - for trying out only
    from jostle.corpora.packaged import packaged  # noqa: PLC0415 - as above

    corpus = packaged()
    return (corpus[EXAMPLE] if EXAMPLE in corpus else next(iter(generated_tables(1)))), TableSpec()


def _judged(of: Of, instance: TableInstance, model: Model) -> float:
    return of(instance.labels, instance.read(model))


def _judge(name: str, about: str, of: Of) -> Judge:
    return Judge(name, partial(_judged, of), about, FLOOR)  # which can be sent to another process


CLASSIFICATION: Task[Model] = register(
    Task(
        name="classification",
        does="predicts a label",
        modules=("classifiers", "trees", "classification"),
        named="ClassifierName",
        answers=(Model,),
        gives="a model or a tree",
        told_by=("label", "attributes"),
        questions=lambda schema: (),  # noqa: ARG005 - nothing beside the table
        suits=lambda schema: schema.label is not None,
        suited='a schema with a label: Schema(columns, label="...")',
        database=PublicTable,
        instance=table_instance,
        corpus=_corpus,
        example=_example,
        judges=(
            _judge("error", "the share of held-out rows predicted wrongly", losses.error),
            _judge("balanced-error", "the mean over classes of the share predicted wrongly", losses.balanced_error),
            _judge("log-loss", "the mean negative logarithm of the true class's chance", losses.log_loss),
            _judge("auc", "1 less the area under the curve, the mean over pairs of classes", losses.one_less_auc),
        ),
        sure=True,
        free=metafeatures.PUBLIC,
        bought=metafeatures.BOUGHT,
        text=lambda model: model.told(),
        data=lambda model: json.loads(model.to_json()),
        drawn=lambda model: model._repr_html_(),
        save=lambda model, path: model.save(path),
        endings=(".json",),
    )
)
