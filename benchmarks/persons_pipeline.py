"""Ask PipelineDP for a count and a mean about persons; runs in an environment of its own.

Reads a request (JSON) from standard input, prints answers as JSON on the last line.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import pandas as pd
import pipeline_dp


def answers(request: dict[str, Any], frame: pd.DataFrame, most: int) -> dict[str, list[float]]:
    """What PipelineDP released, each time at the whole epsilon: pure, Laplace noise, one public partition."""
    rows = list(zip(frame["who"].tolist(), frame["x"].tolist(), strict=True))
    found: dict[str, list[float]] = {}
    for question, metric in (("count", pipeline_dp.Metrics.COUNT), ("mean", pipeline_dp.Metrics.MEAN)):
        for _ in range(request["trials"]):
            budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=request["epsilon"], total_delta=0)
            engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
            params = pipeline_dp.AggregateParams(
                metrics=[metric],
                noise_kind=pipeline_dp.NoiseKind.LAPLACE,
                max_partitions_contributed=1,
                max_contributions_per_partition=most,
                min_value=request["low"],
                max_value=request["high"],
            )
            parts = pipeline_dp.DataExtractors(
                privacy_id_extractor=lambda row: row[0],
                partition_extractor=lambda _: 0,
                value_extractor=lambda row: row[1],
            )
            released = engine.aggregate(rows, params, parts, public_partitions=[0])
            budget.compute_budgets()
            ((_, answer),) = released
            found.setdefault(question, []).append(float(answer[0]))
    return found


def main() -> None:
    """Answer one request."""
    warnings.simplefilter("ignore")
    request = json.load(sys.stdin)
    frame = pd.read_parquet(request["path"])
    print(json.dumps({most: answers(request, frame, most) for most in request["bounds"]}))


if __name__ == "__main__":
    main()
