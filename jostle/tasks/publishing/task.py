"""Publishing: rows in place of a table's own, which any classifier may be trained on."""

from __future__ import annotations

from jostle.corpora.databases import PublicTable
from jostle.tables.made_frames import PARQUET
from jostle.tasks.base import Task, register
from jostle.tasks.classification.task import CLASSIFICATION
from jostle.tasks.publishing.instances import publishing_instance
from jostle.tasks.publishing.published import Published

__all__ = ["PUBLISHING"]

PUBLISHING: Task[Published] = register(
    Task(
        name="publishing",
        does="publishes rows",
        modules=("publishing",),
        named="PublisherName",
        answers=(Published,),
        gives="published data",
        questions=lambda schema: (),  # noqa: ARG005 - nothing beside the table
        suits=CLASSIFICATION.suits,
        suited=CLASSIFICATION.suited,
        database=PublicTable,
        instance=publishing_instance,
        corpus=CLASSIFICATION.corpus,
        example=CLASSIFICATION.example,
        judges=CLASSIFICATION.judges,
        free=CLASSIFICATION.free,
        bought=CLASSIFICATION.bought,
        text=lambda published: published.text(),
        data=lambda published: published.data(),
        save=lambda published, path: published.write(path),
        endings=(".csv", *PARQUET),
        drawn=lambda published: published._repr_html_(),
    )
)
