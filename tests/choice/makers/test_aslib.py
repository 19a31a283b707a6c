"""Scenarios of the Algorithm Selection Library: read back, and complete."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small import METAFEATURES, known_by_rows, options

from jostle.choice.learning.cases import Cases, cases_of
from jostle.choice.makers.aslib import write_scenario
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.making import Training

AMONG = options("Majority", "NaiveBayes")
HEADS = {
    "algorithm_runs.arff": ["instance_id", "repetition", "algorithm", "loss", "runstatus"],
    "feature_values.arff": ["instance_id", "repetition", "budget", "attributes", "size", "first_share"],
    "feature_runstatus.arff": ["instance_id", "repetition", "public", "bought"],
    "feature_costs.arff": ["instance_id", "repetition", "public", "bought"],
    "cv.arff": ["instance_id", "repetition", "fold"],
}


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Cases]:
    maker = ChoiceMaker(among=AMONG, informed_by=METAFEATURES)
    maker = maker.with_trained(Training(history=known_by_rows()).learn(maker))
    cases = cases_of(known_by_rows(), AMONG)
    return write_scenario(tmp_path_factory.mktemp("aslib") / "scenario", cases, maker, maker.trained), cases


def rows_of(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Read an ARFF file: names of columns, and cells, numbers as such."""
    head, _, data = path.read_text(encoding="ascii").partition("\n@DATA\n")
    columns = [line.split() for line in head.splitlines() if line.startswith("@ATTRIBUTE")]
    numbers = [kind == "NUMERIC" for _, _, kind, *_ in columns]
    rows = csv.reader(data.splitlines(), quotechar="'")
    cells = [[float(cell) if number else cell for cell, number in zip(row, numbers, strict=True)] for row in rows]
    return [name for _, name, *_ in columns], cells


def described(folder: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    found: dict[str, Any] = yaml.safe_load((folder / "description.txt").read_text())
    return found


def test_every_file_has_what_the_format_asks_for(scenario: tuple[Path, Cases]) -> None:
    folder, cases = scenario
    assert {path.name for path in folder.iterdir()} == {"description.txt", "readme.txt", *HEADS}
    instances: set[str] | None = None
    for name, head in HEADS.items():
        assert (folder / name).read_text().splitlines()[0] == (
            f"@RELATION {name.removesuffix('.arff').upper()}_JOSTLE-CLASSIFICATION"
        )
        columns, rows = rows_of(folder / name)
        assert columns == head
        found = {row[0] for row in rows}
        assert instances in {None, frozenset(found)} or instances == found
        instances = found
        keys = [tuple(row[:3]) if name == "algorithm_runs.arff" else tuple(row[:2]) for row in rows]
        assert len(set(keys)) == len(keys), "pairs of instance and repetition are unique"
        assert {row[1] for row in rows} <= {1.0, 2.0}
    assert instances is not None
    assert len(instances) == len(cases)


def test_the_losses_are_those_of_the_history(scenario: tuple[Path, Cases]) -> None:
    folder, cases = scenario
    _, rows = rows_of(folder / "algorithm_runs.arff")
    assert len(rows) == cases.losses.size
    found = np.array([row[3] for row in rows]).reshape(len(cases), 2, 2)
    np.testing.assert_allclose(found, cases.losses, rtol=1e-5)
    assert [row[2] for row in rows[:4]] == ["Majority", "Majority", "NaiveBayes", "NaiveBayes"]
    assert {row[4] for row in rows} == {"ok"}


def test_features_have_the_noise_they_will_have(scenario: tuple[Path, Cases]) -> None:
    folder, cases = scenario
    columns, rows = rows_of(folder / "feature_values.arff")
    found = np.array([row[2:] for row in rows], dtype=np.float64)
    exact = cases.inputs(METAFEATURES, costs(folder), draws=1, exact=True)[0]
    np.testing.assert_allclose(found[:, :2], exact[:, :2], rtol=1e-5)
    assert not np.allclose(found[:, 2:], exact[:, 2:], rtol=1e-5)
    assert columns[2:] == [each.name for each in METAFEATURES]


def costs(folder: Path) -> Fraction:
    _, rows = rows_of(folder / "feature_costs.arff")
    assert {row[2] for row in rows} == {0.0}
    (share,) = {row[3] for row in rows}
    assert 0 < share < 1
    return Fraction(share)


def test_folds_keep_groups_together(scenario: tuple[Path, Cases]) -> None:
    folder, cases = scenario
    _, rows = rows_of(folder / "cv.arff")
    fold = {row[0]: row[2] for row in rows}
    assert set(fold.values()) == set(range(1, 11))
    by_group: dict[str, set[float]] = {}
    for row, group in zip(rows, cases.groups.tolist(), strict=True):
        by_group.setdefault(group, set()).add(fold[row[0]])
    assert all(len(folds) == 1 for folds in by_group.values())


def test_the_description_is_yaml_that_agrees_with_the_tables(scenario: tuple[Path, Cases]) -> None:
    folder, _ = scenario
    facts = described(folder)
    assert facts["scenario_id"] == "JOSTLE-CLASSIFICATION"
    assert (facts["performance_measures"], facts["maximize"]) == (["loss"], [False])
    assert facts["performance_type"] == ["solution_quality"]
    assert facts["algorithms_stochastic"] == ["Majority", "NaiveBayes"]
    assert set(facts["metainfo_algorithms"]) == {"Majority", "NaiveBayes"}
    assert facts["number_of_feature_steps"] == 2
    assert facts["feature_steps"] == {
        "public": {"provides": ["budget", "attributes"]},
        "bought": {"provides": ["size", "first_share"]},
    }
    assert facts["features_stochastic"] == ["size", "first_share"]
    assert set(facts["features_deterministic"]) | set(facts["features_stochastic"]) == set(
        HEADS["feature_values.arff"][2:]
    )
