"""Publish rows in place of private ones as publish.jst does, by the Option that is chosen: the same program in Python.

Run: python programs/publish.py
It publishes a public example's rows, and trains a decision tree on what was published.
"""

from __future__ import annotations

from fractions import Fraction

import jostle
from jostle.public import tableCorpus
from jostle.tasks import PUBLISHING
from jostle.tasks.publishing import Published

publisherChoice = jostle.quickly(  # noqa: N816 - the name in publish.jst
    jostle.MkChoiceMaker(
        among=["PrivPfC", "PrivBayes", "ProjectedHistogram"], trained_on=tableCorpus, label="publisherChoice"
    )
)


def publish(db: jostle.Probe, epsilon: Fraction) -> Published:
    """Published rows, for a budget."""
    published: Published = publisherChoice(db, epsilon=epsilon)
    return published


def main() -> None:
    """Publish the rows of a public example."""
    database, spec = PUBLISHING.rehearsal.example()
    example = PUBLISHING.rehearsal.instance(database, spec)
    rows = publish(jostle.rehearse(example.table, epsilon=1, seed=1), Fraction(1))
    print(rows)
    print(
        f"NOT PRIVATE, a rehearsal: a tree learned from them is wrong about {example.loss(rows):.1%} of held-out rows"
    )


if __name__ == "__main__":
    main()
