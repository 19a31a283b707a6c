"""Compare the classification Options with diffprivlib's models, and both with what needs no privacy.

    python benchmarks/trees.py DIRECTORY [--trials 10] [--only nursery,cmc] [--results FILE] [--roles RESULTS]

DIRECTORY holds NAME.csv.gz files whose last column is `label`. Every trial is a random 70/30 split, the same for
everybody. Accuracies are kept in the results file, table by table, so that a run that was stopped goes on where it was.
`benchmarks/trees_report.py` makes the document of them. With RESULTS, a folder of what `benchmarks/fresh.py` wrote, the
figures on tune, learn and judge tables are printed side by side as well.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from attrs import asdict
from peers import run
from sides import by_role

from jostle import Categorical, Numeric, Schema, Table
from jostle.figures.thesis import EPSILONS, TRAIN_SHARE, fitted, split_places

NAMES = (
    "nursery",
    "cmc",
    "hiv1625",
    "adult",
    "car",
    "mushroom",
    "satellite",
    "iris",
    "kr_vs_kp",
    "breast_w",
    "diabetes",
    "credit_g",
    "magic",
    "pendigits",
    "phoneme",
    "banknote",
    "compas",
    "splice",
    "bank_additional_full",
    "monks1",
)
OPTIONS = (
    "Majority",
    "NaiveBayes",
    "FriedmanSchuster",
    "FriedmanSchuster(utility=Gini)",
    "FriedmanSchuster(utility=InfoGain)",
    "FriedmanSchuster(depth=5)",
    "Mohammed",
    "Mohammed(depth=1)",
    "Mohammed(depth=2)",
    "Mohammed(depth=5)",
    "Mohammed(depth=5, utility=Gini)",
    "Mohammed(depth=1, numeric=ordered)",
    "Mohammed(depth=2, numeric=ordered)",
    "Mohammed(numeric=ordered)",
    "Mohammed(depth=5, numeric=ordered)",
    "Jagannathan",
    "PatilSingh",
    "FletcherIslam",
    "RandomForest",
    "RandomForest(trees=1)",
    "BayesTree",
    "BayesTree(depth=2)",
)
PEER = ("diffprivlib==0.6.6", "scikit-learn<1.8", "pandas")
PEER_SCRIPT = Path(__file__).with_name("peers_diffprivlib.py")

Result = dict[str, Any]


def main() -> None:
    """Run what the results file does not hold yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--results", type=Path, default=Path("docs/benchmarks/trees.json"))
    parser.add_argument("--roles", type=Path)
    given = parser.parse_args()
    if given.roles is not None:
        print(by_role(given.roles, ("tables",)))
    given.results.parent.mkdir(parents=True, exist_ok=True)
    held: dict[str, Any] = json.loads(given.results.read_text()) if given.results.exists() else {}
    for name in given.only.split(",") if given.only else NAMES:
        if name not in held:
            held[name] = measure(given.data / f"{name}.csv.gz", given.trials)
            given.results.write_text(json.dumps(held))
            print(f"{name}: done", flush=True)


def measure(path: Path, trials: int) -> dict[str, Any]:
    """Return what everybody does on one table."""
    frame = read(path)
    schema = Schema.infer_public(frame, label="label")
    request = {
        "path": str(path.resolve()),
        "columns": [_column(schema, name) for name in schema.attributes],
        "label": "label",
        "classes": list(schema.classes),
        "trials": trials,
        "train_share": TRAIN_SHARE,
        "epsilons": EPSILONS,
    }
    theirs = run("diffprivlib", PEER, PEER_SCRIPT, request)
    ours: list[Result] = []
    for trial in range(trials):
        train, test = split(frame, trial)
        table = Table.from_frame(train, schema)
        _check_same_split(theirs, trial, train, test)
        for option in OPTIONS:
            ours.extend(fit(option, epsilon, table, test, trial) for epsilon in EPSILONS)
    facts = {"rows": len(frame), "attributes": len(schema.attributes), "classes": len(schema.classes)}
    return {**facts, "results": summary([*theirs, *ours])}


def read(path: Path) -> Any:
    """Return the table as a frame; only empty cells are missing."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def split(frame: Any, trial: int) -> tuple[Any, Any]:
    """Return the rows to learn from and those to test on."""
    learned, tested = split_places(len(frame), trial)
    return frame.iloc[learned], frame.iloc[tested]


def fit(option: str, epsilon: float, table: Table, test: Any, trial: int) -> Result:
    """Return one Option's accuracy and time; its noise comes from a seed, as diffprivlib's does here."""
    found = fitted(option, epsilon, table, test, trial)
    return {"trial": trial, "option": option, "epsilon": epsilon, **asdict(found)}


def summary(results: list[Result]) -> list[Result]:
    """Return the accuracies per option and epsilon, in order of trials, and the median seconds."""
    groups: dict[tuple[str, float | None], list[Result]] = {}
    for result in results:
        groups.setdefault((result["option"], result["epsilon"]), []).append(result)
    return [
        {
            "option": option,
            "epsilon": epsilon,
            "accuracies": [round(each["accuracy"], 5) if "accuracy" in each else None for each in group],
            "seconds": float(np.median([each["seconds"] for each in group if "seconds" in each] or [np.nan])),
        }
        for (option, epsilon), group in groups.items()
    ]


def _column(schema: Schema, name: str) -> dict[str, Any]:
    column = schema[name]
    if isinstance(column, Categorical):
        return {"name": name, "values": list(column.values)}
    if isinstance(column, Numeric):
        return {"name": name, "low": column.low, "high": column.high}
    raise TypeError(name)


def _check_same_split(theirs: list[Result], trial: int, train: Any, test: Any) -> None:
    floor = next(each for each in theirs if each["trial"] == trial and each["option"].startswith("majority"))
    counts = train["label"].astype(str).value_counts()
    shares = [float(np.mean(test["label"].astype(str) == label)) for label in counts[counts == counts.max()].index]
    if not any(abs(share - floor["accuracy"]) < 1e-9 for share in shares):
        raise RuntimeError("the peers were tested on other rows")


if __name__ == "__main__":
    main()
