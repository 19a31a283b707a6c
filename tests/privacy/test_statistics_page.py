"""What the page on statistics shows runs as it stands, and costs what it says."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

import jostle
from jostle import Categorical, Numeric, Schema, Table
from jostle.privacy.measured import Measured

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text("utf-8")


def test_the_statistics_of_the_page() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    chance = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "age": chance.integers(18, 99, 500),
            "income": chance.gamma(2, 20_000, 500),
            "region": chance.choice(["north", "south", "west"], 500),
        }
    )
    schema = Schema(
        {
            "age": Numeric(18, 98, bins=8),
            "income": Numeric(0, 200_000, unit=0.01),
            "region": Categorical(["north", "south", "west"]),
        }
    )
    db = jostle.rehearse(Table.from_frame(frame, schema), epsilon=1)
    answers = [eval(line, {"db": db}) for line in block.splitlines()]  # noqa: S307 - the page's own lines

    assert all(isinstance(each, Measured) and each.cost == Fraction(1, 10) for each in answers)
    assert {line.split("(")[0].removeprefix("db.") for line in block.splitlines()} == {
        "count", "mean", "sum", "variance", "quantile", "median", "histogram", "crosstab", "top_k",
    }  # fmt: skip
    assert db.spent == Fraction(9, 10)
    assert all(each.interval(0.95) for each in answers)
