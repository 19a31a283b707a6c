"""The README's code runs as it stands, and says what the README says."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from processes import ran

import jostle
from jostle.options.base import forget
from jostle.options.registry import get
from jostle.tables.made_up import made_up

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


def test_python_blocks_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(3)
    frame = pa.table(
        {
            "age": chance.integers(18, 99, 500),
            "region": chance.choice(["north", "east", "south", "west"], 500),
            "smokes": chance.choice(["no", "yes"], 500),
        }
    )
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"frame": frame, "X": frame.select(["age", "region"]).to_pandas(), "y": frame["smokes"]}
    code = blocks("python")
    assert len(code) == 4
    for block in code:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102 - this is the test
    own = get("DeepWhereMany")
    forget("DeepWhereMany")
    public = jostle.Table.from_frame(made_up(names["schema"], 300), names["schema"])
    assert own(jostle.rehearse(public, epsilon=1), epsilon=1).classes == ("no", "yes")
    assert names["db"].spent == Fraction("0.85")
    assert names["clf"].account().left == Fraction("0.15") - 5 * Fraction("0.025")
    assert set(names["model"].predict(frame)) <= {"no", "yes"}


def test_the_first_command_runs_a_program_that_is_there() -> None:
    (command,) = re.findall(r"<!-- ci: run -->\n```sh\n(.*?)\n```", README)
    program = command.split("python ")[-1]
    done = ran(program, cwd=ROOT, check=True)
    assert "people answered" in done.stdout
    refusal = next(block for block in blocks("") if block.startswith("refused:"))
    assert refusal in done.stdout


def test_every_command_the_readme_lists_exists() -> None:
    listed = re.findall(r"^jostle ([a-z]+)", README, flags=re.MULTILINE)
    done = ran("-m", "jostle", "--help", check=True)
    assert listed
    assert all(command in done.stdout for command in listed)


def page(name: str) -> str:
    return (ROOT / "docs" / "benchmarks" / f"{name}.md").read_text(encoding="utf-8")


def figure(pattern: str) -> tuple[str, ...]:
    (found,) = re.findall(pattern, README)
    return (found,) if isinstance(found, str) else found


def test_figures_are_those_of_the_pages_they_come_from() -> None:
    assert f"**{figure(r'([0-9]+) times the throughput of OpenDP')[0]} times**" in page("noise")

    ratios = re.findall(r"^\| \d \| [\d.]+ \| [\d.]+ \| ([\d.]+) \|$", page("tally"), flags=re.MULTILINE)
    low, high, megabytes = figure(r"([\d.]+) to ([\d.]+) times the time of a bare numpy loop; (\d+) MB")
    assert (float(low), float(high)) == (min(map(float, ratios)), max(map(float, ratios)))
    assert f"**{megabytes} MB**" in page("tally")

    lines = re.findall(r"^\| [\d.]+ \| \d+ \| \d+ \| ([\d,]+) \| ([\d,]+) \|", page("vault"), flags=re.MULTILINE)
    kills, charges = (sum(int(each.replace(",", "")) for each in column) for column in zip(*lines, strict=True))
    assert figure(r"([\d,]+) charges, (\d+) kills") == (f"{charges:,}", str(kills))

    whole = page("selectors").split("## Choosing on whole tables")[1].split("\n## ")[0]
    row = r"^\| (.+?) \| ([\d.]+) \| [\d.]+ to [\d.]+ \| ([\d.]+) \|"
    by_error, by_area = (
        {way: (mean, most) for way, mean, most in re.findall(row, part, flags=re.MULTILINE)}
        for part in whole.split("\nBy 1 less")
    )
    always, _ = by_error["always FirstFeatures"]
    assert figure(r"by error ([\d.]+) and ([\d.]+), always all features ([\d.]+); by area ([\d.]+) and ([\d.]+)") == (
        *by_error['`pretrained("selection")`'],
        always,
        *by_area['`pretrained("selection-auc")`'],
    )

    controls = page("audit").split("## Positive controls")[1].split("\n- **")[0]
    broken = re.findall(r"^\| (\w+) \| [\d.]+ \|", controls, flags=re.MULTILINE)
    assert figure(r"(\d+) known broken mechanisms")[0] == str(len(broken))


def test_it_is_short() -> None:
    assert README.count("\n") <= 200
