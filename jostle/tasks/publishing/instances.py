"""Instances for publishing: rows of a public table to publish, and others, which a classifier has to predict."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from jostle.corpora.databases import PublicTable
from jostle.corpora.specs import TableSpec
from jostle.errors import OptionError
from jostle.tasks.classification.instances import Chances, TableInstance, table_instance
from jostle.tasks.publishing.learned import learn
from jostle.tasks.publishing.published import Published

__all__ = ["PublishingInstance", "publishing_instance"]


@frozen(eq=False, repr=False)
class PublishingInstance(TableInstance):
    """Published rows are judged by what the default classifier, trained on them, says of rows held out."""

    def read(self, published: Any, /) -> Chances:
        """The chance of each class that the classifier gives each held-out row; refuse what is no published data."""
        if not isinstance(published, Published):
            raise OptionError(
                f"an answer is {type(published).__name__}, which has no loss on a publishing task",
                why="what is judged is published data",
                fix="return some",
            )
        if not self._last or self._last[0][0] is not published:
            self._last[:] = [(published, learn(published).chances(self.codes))]
        return self._last[0][1]


def publishing_instance(database: PublicTable, spec: TableSpec) -> PublishingInstance:
    """The instance that a spec makes of a public table: the same rows as for classification."""
    made = table_instance(database, spec)
    return PublishingInstance(made.key, made.table, made.rows, made.codes, made.labels)
