"""Selection: which features of a table say its label, for a classifier to be learned with."""

from __future__ import annotations

from jostle.corpora.databases import PublicTable
from jostle.tasks.base import Task, register
from jostle.tasks.classification.task import CLASSIFICATION
from jostle.tasks.selection import metafeatures
from jostle.tasks.selection.instances import selection_instance
from jostle.tasks.selection.selected import SelectedFeatures

__all__ = ["SELECTION"]


SELECTION: Task[SelectedFeatures] = register(
    Task(
        name="selection",
        does="selects features",
        modules=("selection",),
        named="SelectorName",
        answers=(SelectedFeatures,),
        gives="selected features",
        questions=lambda schema: (),  # noqa: ARG005 - nothing beside the table
        suits=CLASSIFICATION.suits,
        suited=CLASSIFICATION.suited,
        database=PublicTable,
        instance=selection_instance,
        corpus=CLASSIFICATION.corpus,
        example=CLASSIFICATION.example,
        judges=CLASSIFICATION.judges,
        free=metafeatures.PUBLIC,
        bought=metafeatures.BOUGHT,
        text=lambda selected: selected.text(),
        data=lambda selected: selected.data(),
        save=lambda selected, path: selected.save(path),
    )
)
