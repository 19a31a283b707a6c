"""Public databases to learn from, as programs in Jostle's language import them, and what is tried on them.

>>> from jostle.public import gridCorpus
>>> len(gridCorpus.grids) > 10
True
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from jostle.choice.public.folders import public as folder

if TYPE_CHECKING:
    from jostle.choice.public.corpus import Corpus
    from jostle.choice.public.databases import PublicDatabase
    from jostle.choice.public.instances import PublicInstance
    from jostle.options.base import Option

__all__ = ["CORPORA", "error_of", "example", "folder", "gridCorpus", "tableCorpus"]

GENERATED = 24
"""How many generated databases there are beside those that come with packages."""
CORPORA = ("gridCorpus", "tableCorpus")

gridCorpus: Corpus  # noqa: N816 - the word of the language; made when it is first asked for
tableCorpus: Corpus  # noqa: N816 - as above


def __getattr__(name: str) -> Corpus:
    if name not in CORPORA:
        raise AttributeError(f"module 'jostle.public' has no attribute {name!r}")
    return _corpus(name)


@cache
def _corpus(name: str) -> Corpus:
    from jostle.choice.public.generators import generated_grids, generated_tables  # noqa: PLC0415 - for training only
    from jostle.choice.public.packaged import packaged  # noqa: PLC0415

    return generated_grids(GENERATED) if name == "gridCorpus" else packaged() | generated_tables(GENERATED)


def example(task: str) -> PublicInstance:
    """Return a part of a public database to try things out on: of "classification", or "grid".

    It has a `table`, the `questions` that are asked beside it, and the `loss` of an answer.
    """
    from jostle.choice.public.instances import make_instance  # noqa: PLC0415 - for trying out only
    from jostle.lang.running import example_of  # noqa: PLC0415

    return make_instance(*example_of(task))


def error_of(option: Option, database: PublicDatabase, *, scale: int, epsilon: Any) -> float | None:
    """Return the mean error of an Option on a public database with so many rows or records; None where it refuses."""
    from jostle.lang.rehearsing import error_of as found  # noqa: PLC0415 - for trying out only

    return found(option, database, scale, Fraction(str(epsilon)))
