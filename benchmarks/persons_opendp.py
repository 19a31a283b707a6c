"""Ask OpenDP for a count, a mean and a histogram about persons; runs in an environment of its own.

Reads a request (JSON) from standard input, prints answers, or what OpenDP said where it refused, as JSON on the last
line.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import opendp.prelude as dp
import polars as pl


def answers(request: dict[str, Any], rows: pl.LazyFrame, most: int, question: str) -> list[Any] | str:
    """What OpenDP released, each time at the whole epsilon, or why it did not."""
    trials = request["trials"]
    largest = 2 * request["rows"]
    keys = pl.LazyFrame({"c": range(request["cells"])}, schema={"c": pl.Int64})
    numbers: Any = pl.col("x").fill_null(0)  # OpenDP adds `dp` to it
    asked: dict[str, Callable[[Any], Any]] = {
        "count": lambda query: query.select(dp.len(signed=True)),
        "mean": lambda query: query.select(numbers.dp.mean((request["low"], request["high"]))),
        "histogram": lambda query: query.group_by("c").agg(dp.len(signed=True)).with_keys(keys),
    }
    try:
        context = dp.Context.compositor(
            data=rows,
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("who")),
            privacy_loss=dp.loss_of(epsilon=float(request["epsilon"] * trials)),
            split_evenly_over=trials,
            margins=[dp.polars.Margin(max_length=largest, by=())],
        )
        question_of = asked[question]
        found = [
            question_of(context.query().truncate_per_group(most)).release().collect().sort("c")["len"].to_list()
            if question == "histogram"
            else question_of(context.query().truncate_per_group(most)).release().collect().item()
            for _ in range(trials)
        ]
    except (dp.OpenDPException, ValueError) as mistake:
        return f"{question}, m = {most}: {str(mistake)[:200]}"
    return found


def main() -> None:
    """Answer one request."""
    warnings.simplefilter("ignore")
    dp.enable_features("contrib")
    request = json.load(sys.stdin)
    rows = pl.scan_parquet(request["path"]).select(pl.col("who", "x", "c").cast(pl.Int64)).collect().lazy()
    print(
        json.dumps(
            {
                most: {question: answers(request, rows, most, question) for question in request["questions"]}
                for most in request["bounds"]
            }
        )
    )


if __name__ == "__main__":
    main()
