"""Learn a private classifier that knows how sure it is, as trees.jst does: the same program in Python.

Run: python programs/trees.py
It learns from a public example; the choice is learned on public tables, briefly, when it first runs.
"""

from __future__ import annotations

import jostle
from jostle.public import tableCorpus

candidates = [
    "BayesTree",
    "FriedmanSchuster",
    "Majority",
    "Mohammed",
    "NaiveBayes",
    "PooledTree",
    "RandomForest",
]

classifierChoice = jostle.quickly(  # noqa: N816 - the name in trees.jst
    jostle.MkChoiceMaker(among=candidates, trained_on=tableCorpus, judged_by="log-loss", label="classifierChoice")
)


def main() -> None:
    """Learn a classifier from a public example."""
    example = jostle.public.example("classification")
    db = jostle.rehearse(example.table, epsilon=1, seed=1)
    model = classifierChoice(db, epsilon=1)
    print(model)
    print(f"NOT PRIVATE, a rehearsal: wrong about {example.loss(model):.1%} of held-out rows")


if __name__ == "__main__":
    main()
