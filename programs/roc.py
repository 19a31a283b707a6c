"""Say how well scores tell one class from the other as roc.jst does, and a model too: the same program in Python.

Run: python programs/roc.py
"""

from __future__ import annotations

import jostle
from jostle.tasks.evaluation import RocCurve


def curve(db: jostle.Probe, epsilon: float = 1) -> RocCurve:
    """Return the curve of the scores in a probe's table."""
    return jostle.private_roc_auc(db, epsilon=epsilon)


def main() -> None:
    """Draw the curve of a public example's scores, then that of a model on rows that it was not learned from."""
    example = jostle.public.example("evaluation")
    print(curve(jostle.rehearse(example.table, epsilon=1, seed=1)))
    table = jostle.public.example("classification").table
    db = jostle.rehearse(table, epsilon=2, seed=1)
    model = jostle.options.get("NaiveBayes")(db, epsilon=1)
    print(jostle.private_roc_auc(db, model, positive=table.schema.classes[0], epsilon=1))
    print("NOT PRIVATE, a rehearsal")


if __name__ == "__main__":
    main()
