"""Histories as scenarios of the Algorithm Selection Library, so that other selectors can be tried on them.

The format is that of https://github.com/coseal/aslib-spec: a description in YAML, and tables in ARFF. An instance of
the library is an instance of a history at one budget. Its features are what a maker sees there, with the noise it
will have, and so stochastic; their cost is the budget they take, as a share. Folds keep groups of databases together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from jostle.choice.learning.cases import Cases
from jostle.choice.learning.regret import split_groups
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.trained import Trained
from jostle.choice.makers.training import FOLDS
from jostle.errors import ChoiceError
from jostle.files.kinds import writing
from jostle.tasks.metafeature import Metafeature

USUAL_SHARE = Fraction(1, 20)
"""What metafeatures are taken to cost where the maker itself buys none."""
STATES = "{ok, timeout, memout, not_applicable, crash, other}"
FEATURE_STATES = "{ok, timeout, memout, presolved, crash, other, unknown}"
FREE, BOUGHT = "public", "bought"
MEASURE = "loss"

README = """\
Rehearsals of differentially private algorithms (Jostle), task: {task}.

An instance is a public database, or some rows or records of one, at one privacy budget: instance_id ends with that
epsilon. Algorithms are Options, named with the parameters that are not the defaults; versions: {versions}.
The loss is {loss}; smaller is better. It was measured with the whole budget. An algorithm that failed has the largest
loss of those that did not.

The features of step "{free}" are public facts, and free. Those of step "{bought}" are private releases that {share}
of the budget pays for, and have the noise of that; feature_costs.arff holds this share. A selector that uses them is
to judge its choices by losses at (1 - {share}) epsilon.

cv.arff has {folds} folds; databases that share people are in one fold.
"""


def write_scenario(folder: str | Path, cases: Cases, maker: ChoiceMaker, trained: Trained) -> Path:
    """Write what a maker learned from as a scenario, and return its folder."""
    place = Path(folder)
    share = trained.share or USUAL_SHARE
    schema = cases.instances[0].schema
    # What an older history did not read is left out.
    readable = [
        metafeature
        for metafeature in maker.informed_by
        if all(metafeature.is_read(instance) for instance in cases.instances)
    ]
    steps = {
        FREE: [metafeature for metafeature in readable if not metafeature.purchases(schema)],
        BOUGHT: [metafeature for metafeature in readable if metafeature.purchases(schema)],
    }
    steps = {name: members for name, members in steps.items() if members}
    if not steps:
        raise ChoiceError(
            "the scenario would have no features", why="a selector has nothing to go by", fix="informed_by=..."
        )
    scenario = f"JOSTLE-{cases.task.name.upper()}"
    files = list(_files(scenario, cases, maker, steps, share))
    with writing(place, ChoiceError, "the scenario", fix="name another folder"):
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files:
            (place / name).write_text(text, encoding="ascii", errors="backslashreplace")
    return place


def _files(
    scenario: str, cases: Cases, maker: ChoiceMaker, steps: dict[str, list[Metafeature]], share: Fraction
) -> Iterable[tuple[str, str]]:
    names = _instance_names(cases)
    features = [member for members in steps.values() for member in members]
    yield "description.txt", _description(scenario, cases.options, steps)
    yield (
        "readme.txt",
        README.format(
            task=cases.task.name,
            versions=", ".join(f"{option.name} {option.version}" for option in maker.among),
            loss=(cases.task.rehearsal.judges[0] if cases.judge is None else cases.task.judge(cases.judge)).about,
            free=FREE,
            bought=BOUGHT,
            share=share,
            folds=min(FOLDS, len(set(cases.groups.tolist()))),
        ),
    )
    head = [("instance_id", "STRING"), ("repetition", "NUMERIC")]
    repeats = range(cases.losses.shape[2])
    runs = (
        (name, repeat + 1, option, _number(cases.losses[case, index, repeat]), "ok")
        for case, name in enumerate(names)
        for index, option in enumerate(cases.options)
        for repeat in repeats
        if not math.isnan(cases.losses[case, index, repeat])
    )
    columns = [*head, ("algorithm", "STRING"), (MEASURE, "NUMERIC"), ("runstatus", STATES)]
    yield "algorithm_runs.arff", _arff(f"ALGORITHM_RUNS_{scenario}", columns, runs)
    seen = cases.inputs(features, share, draws=1)[0]
    values = ((name, 1, *map(_number, row)) for name, row in zip(names, seen, strict=True))
    columns = [*head, *((feature.name, "NUMERIC") for feature in features)]
    yield "feature_values.arff", _arff(f"FEATURE_VALUES_{scenario}", columns, values)
    states = ((name, 1, *("ok" for _ in steps)) for name in names)
    columns = [*head, *((step, FEATURE_STATES) for step in steps)]
    yield "feature_runstatus.arff", _arff(f"FEATURE_RUNSTATUS_{scenario}", columns, states)
    prices = {FREE: "0", BOUGHT: _number(float(share))}
    costs = ((name, 1, *(prices[step] for step in steps)) for name in names)
    columns = [*head, *((step, "NUMERIC") for step in steps)]
    yield "feature_costs.arff", _arff(f"FEATURE_COSTS_{scenario}", columns, costs)
    fold = np.zeros(len(cases), dtype=np.int64)
    for number, left_out in enumerate(split_groups(cases.groups, FOLDS), start=1):
        fold[left_out] = number
    folds = ((name, 1, int(number)) for name, number in zip(names, fold, strict=True))
    yield "cv.arff", _arff(f"CV_{scenario}", [*head, ("fold", "NUMERIC")], folds)


def _instance_names(cases: Cases) -> list[str]:
    databases = cases.databases.tolist()
    keys = [instance.key for instance in cases.instances for _ in cases.epsilons]
    return [
        f"{databases[index]}/{key}/epsilon={epsilon}"
        for index, (key, epsilon) in enumerate(zip(keys, list(cases.epsilons) * len(cases.instances), strict=True))
    ]


def _description(scenario: str, options: Sequence[str], steps: dict[str, list[Metafeature]]) -> str:
    # JSON is YAML: what is quoted needs no rules of YAML's own.
    facts: dict[str, Any] = {
        "scenario_id": scenario,
        "performance_measures": [MEASURE],
        "maximize": [False],
        "performance_type": ["solution_quality"],
        "algorithm_cutoff_time": "?",
        "algorithm_cutoff_memory": "?",
        "features_cutoff_time": "?",
        "features_cutoff_memory": "?",
        "algorithms_deterministic": [],
        "algorithms_stochastic": list(options),
        "number_of_feature_steps": len(steps),
        "feature_steps": {name: {"provides": [member.name for member in members]} for name, members in steps.items()},
        "default_steps": list(steps),
        "features_deterministic": [metafeature.name for metafeature in steps.get(FREE, [])],
        "features_stochastic": [metafeature.name for metafeature in steps.get(BOUGHT, [])],
        "metainfo_algorithms": {name: {"configuration": name, "deterministic": False} for name in options},
    }
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in facts.items())


def _arff(relation: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[object]]) -> str:
    head = [f"@RELATION {_quoted(relation)}", ""]
    head += [f"@ATTRIBUTE {_quoted(name)} {kind}" for name, kind in columns]
    lines = [",".join(map(_quoted, map(str, row))) for row in rows]
    return "\n".join([*head, "", "@DATA", *lines, ""])


def _quoted(text: str) -> str:
    if text.replace("_", "").replace("-", "").replace(".", "").replace("/", "").isalnum() and text.isascii():
        return text
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _number(value: float) -> str:
    return f"{value:.6g}"
