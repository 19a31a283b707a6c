"""Scenarios of the Algorithm Selection Library: read back with parsers of others, and complete."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import arff
from small import METAFEATURES, known_by_rows, options

from jostle.choice.learning.cases import Cases, cases_of
from jostle.choice.makers.aslib import write_scenario
from jostle.choice.makers.making import MkChoiceMaker

AMONG = options("Majority", "NaiveBayes")
HEADS = {
    "algorithm_runs.arff": ["instance_id", "repetition", "algorithm", "loss", "runstatus"],
    "feature_values.arff": ["instance_id", "repetition", "budget", "attributes", "size", "first_share"],
    "feature_runstatus.arff": ["instance_id", "repetition", "public", "bought"],
    "feature_costs.arff": ["instance_id", "repetition", "public", "bought"],
    "cv.arff": ["instance_id", "repetition", "fold"],
}


@pytest.fixture
def scenario(tmp_path: Path) -> tuple[Path, Cases]:
    maker = MkChoiceMaker(among=AMONG, informed_by=METAFEATURES, trained_on=known_by_rows())
    cases = cases_of(known_by_rows(), AMONG)
    return write_scenario(tmp_path / "scenario", cases, maker, maker.trained), cases


def rows_of(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Read an ARFF file: liac-arff if it is here, which reads texts; otherwise by hand, numbers checked by scipy."""
    try:
        import arff as liac  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - perhaps not installed
    except ImportError:
        return _by_hand(path)
    found = liac.loads(path.read_text())
    return [name for name, _ in found["attributes"]], found["data"]


def _by_hand(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Read an ARFF file of unescaped texts; scipy, which reads no texts, reads it again without them."""
    lines = path.read_text(encoding="ascii").splitlines()
    start = lines.index("@DATA")
    columns = [line.split()[1] for line in lines[:start] if line.startswith("@ATTRIBUTE")]
    texts = {place for place, line in enumerate(_attributes(lines)) if line.endswith(" STRING")}
    data = [_cells(line) for line in lines[start + 1 :]]
    bare = [line for line in lines[:start] if not line.endswith(" STRING")]
    kept = [",".join(cell for place, cell in enumerate(row) if place not in texts) for row in data]
    other = path.with_suffix(".numbers")
    other.write_text("\n".join([*bare, "@DATA", *kept, ""]))
    numbers, meta = arff.loadarff(str(other))
    assert len(numbers) == len(data)
    assert list(meta.names()) == [name for place, name in enumerate(columns) if place not in texts]
    nominal = {name for name, kind in zip(meta.names(), meta.types(), strict=True) if kind == "nominal"}
    parsed: list[list[Any]] = []
    for row, record in zip(data, numbers.tolist(), strict=True):
        values = dict(zip(meta.names(), record, strict=True))
        parsed.append(
            [
                cell if name not in values else values[name].decode() if name in nominal else float(values[name])
                for name, cell in zip(columns, row, strict=True)
            ]
        )
    return columns, parsed


def _attributes(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("@ATTRIBUTE")]


def _cells(line: str) -> list[str]:
    """Return the cells of a line, where a quoted one may hold commas."""
    found, inside, cell = [], False, ""
    for letter in line:
        if letter == "'":
            inside = not inside
        elif letter == "," and not inside:
            found.append(cell)
            cell = ""
        else:
            cell += letter
    return [*found, cell]


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
