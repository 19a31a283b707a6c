"""Learn a private classifier as trees.jst does, by the algorithm that should do best: the same program in Python.

Run: python programs/trees.py
It learns from a public example; the choice is learned on public tables, briefly, when it first runs.
"""

from __future__ import annotations

import jostle
from jostle.public import tableCorpus

candidates = [
    "BayesTree",
    "FletcherIslam",
    "FriedmanSchuster",
    "Jagannathan",
    "Majority",
    "Mohammed",
    "NaiveBayes",
    "PatilSingh",
    "RandomForest",
]

classifierChoice = jostle.quickly(  # noqa: N816 - the name in trees.jst
    jostle.MkChoiceMaker(among=candidates, trained_on=tableCorpus, label="classifierChoice")
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
