"""Ask a private survey a few questions within one budget, let Jostle choose an algorithm, and show what that cost.

The survey is made up here, so that this runs anywhere: python programs/survey.py
Its schema is what everybody knows of such a survey; what people answered is private.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console

import jostle
from jostle.trace.render import render_trace

SCHEMA = jostle.Schema(
    {
        "age": jostle.Numeric(18, 98, bins=8),
        "region": jostle.Categorical(["north", "east", "south", "west"]),
        "smokes": jostle.Categorical(["no", "yes"]),
    },
    label="smokes",
)


def made_up_survey(rows: int) -> pa.Table:
    """Return answers of people who do not exist; the young smoke more, and the south is large."""
    chance = np.random.default_rng(7)
    age = chance.integers(18, 99, rows)
    region = chance.choice(["north", "east", "south", "west"], rows, p=[0.2, 0.2, 0.45, 0.15])
    smokes = np.where(chance.random(rows) < 0.4 - age / 300, "yes", "no")
    return pa.table({"age": age, "region": region, "smokes": smokes})


def main() -> None:
    """Open the survey, ask, be refused, let an algorithm be chosen, show the trace."""
    table = jostle.Table.from_frame(made_up_survey(5_000), SCHEMA)
    with tempfile.TemporaryDirectory() as folder:
        trace = jostle.Trace()
        db = jostle.protect(table, epsilon=1, vault=Path(folder) / "survey.vault", trace=trace)

        print(f"about {db.count('0.1')} people answered")
        age = db.mean("age", epsilon="0.05")
        low, high = age.interval(0.95)
        print(f"they are {age} years old on average: {low:.1f} to {high:.1f}, with 95% confidence")
        print(f"most of them live in the {db.commonest('region', '0.1')}")
        for part, region in zip(db.parts("region"), SCHEMA["region"].labels, strict=True):
            no, yes = part.histogram("smokes", epsilon="0.3")  # regions share nobody: together these cost 0.3
            print(f"  {region}: about {yes} of {no + yes} smoke")
        try:
            db.histogram("age", "smokes", epsilon="0.6")
        except jostle.JostleError as refusal:
            print(f"refused: {refusal}")
        print(f"smokers by age: {db.histogram('age', 'smokes', epsilon='0.15')[:, 1].tolist()}")
        choice = jostle.pretrained("classification")  # learned from rehearsals on public tables
        print(choice(db, epsilon="0.3"))  # who smokes: the model of the Option that should do best

        Console(width=110).print(render_trace(trace.records))


if __name__ == "__main__":
    main()
