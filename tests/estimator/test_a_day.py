"""A user's day with scikit-learn's tools runs as it is written, ends in numbers, and costs what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import ran

UNPROMISED = """jostle.errors.BudgetError: nothing was promised for these rows
  why: what all questions may cost is fixed before the first one: a fit costs 0.2, a score 0.05, 5 folds 1.25, \
and a search as much for each candidate and one fit more
  fix: promise="0.2" for one fit, promise="1.25" for cv=PrivateFolds(5)
"""
SAID = f"""{UNPROMISED}{UNPROMISED}promised: None
5 scores, numbers all and left: 0
roc_auc: 3 scores, numbers all
spent: 3
auc: 3 scores, numbers all
spent: 27/4
clone: 1 scores, numbers all and left: 7/4
pipeline: 3 scores, numbers all
kept: age and left: 65/2
pipeline: 3 scores, numbers all
kept: age and left: 15
search: 2 scores, numbers all and best: NaiveBayes
predicted: (2000,) and left: 10
X has no column 'age'
  why: a ColumnTransformer puts its parts' names before those of columns
  fix: ColumnTransformer(..., verbose_feature_names_out=False)
columns: (2000,) and left: 1
"""


@pytest.mark.slow
def test_each_line_gives_what_it_should(tmp_path: Path) -> None:
    done = ran(Path(__file__).parent / "a_day.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == SAID
    warned = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert warned
    assert all("Leave scoring out" in line for line in warned)
