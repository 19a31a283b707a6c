"""Public databases to learn from, as programs in Jostle's language import them, and what is tried on them.

>>> from jostle.public import gridCorpus
>>> len(gridCorpus.grids) > 10
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jostle.corpora.databases import PublicDatabase
from jostle.corpora.folders import public as folder
from jostle.errors import CorpusError, OptionError
from jostle.given import given_as
from jostle.privacy.amounts import epsilon_amount

if TYPE_CHECKING:
    from jostle.corpora.corpus import Corpus
    from jostle.options.base import Option
    from jostle.tasks import Instance, Task

__all__ = ["CORPORA", "error_of", "example", "folder", "gridCorpus", "tableCorpus"]

CORPORA = ("gridCorpus", "tableCorpus")

gridCorpus: Corpus  # noqa: N816 - the word of the language; made when it is first asked for
tableCorpus: Corpus  # noqa: N816 - as above


def __getattr__(name: str) -> Corpus:
    if name not in CORPORA:
        raise AttributeError(f"module 'jostle.public' has no attribute {name!r}")
    return _corpus(name)


def _corpus(name: str) -> Corpus:
    from jostle.tasks import CLASSIFICATION, RANGES  # noqa: PLC0415 - for training only

    return (RANGES if name == "gridCorpus" else CLASSIFICATION).rehearsal.corpus()


def example(task: str | Task[Any]) -> Instance:
    """Part of a public database to try things out on: of "classification", or "grid".

    It has a `table`, the `questions` that are asked beside it, and the `loss` of an answer.

    Raises:
        OptionError: there is no such task.
    """
    from jostle.tasks import task_of  # noqa: PLC0415 - for trying out only

    rehearsal = task_of(task).rehearsal
    return rehearsal.instance(*rehearsal.example())


def error_of(option: Option, database: PublicDatabase, *, scale: int, epsilon: Any) -> float | None:
    """Mean error of an Option on a public database with so many rows or records; None where it refuses.

    Raises:
        OptionError: it is no Option.
        CorpusError: it is no public database, or cannot have so many rows.
        AmountError: *epsilon* is no amount.
    """
    from jostle.options.base import Option  # noqa: PLC0415 - for trying out only

    given_as(option, Option, "an Option", fix='jostle.options.get("Identity")', error=OptionError)
    given_as(database, PublicDatabase, "a public database", fix="gridCorpus.grids[0]", error=CorpusError)
    from jostle.choice.learning.rehearse import mean_error  # noqa: PLC0415 - for trying out only

    return mean_error(option, database, scale, epsilon_amount(epsilon))
