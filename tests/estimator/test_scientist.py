"""The data scientist's day, from the schema to what is left of the promise."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import ran

PROGRAM = Path(__file__).parents[2] / "programs" / "scientist.py"


@pytest.mark.slow
def test_the_day_runs_and_every_step_of_it_is_charged(tmp_path: Path) -> None:
    done = ran(PROGRAM, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for line in (
        "it runs: 1,000 predictions for people who do not exist",
        "ε for error 0.35",
        "0.625 of 2 is spent, 1.375 is left",  # five times 0.1 and 0.025
        "1.475 of 2 is spent, 0.525 is left",  # twice three times as much, and the last fit
        "at the end of the day, 1.475 of 2 is spent, 0.525 is left",
    ):
        assert line in done.stdout, done.stdout
    assert not list(tmp_path.iterdir())
