"""Ctrl-C while rows are read, or tallied for a question: what was charged is shown, and nothing else is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from processes import LIMIT, started

from jostle.privacy.vault import FileVault

SCRIPT = """
import json, time
import jostle
from jostle.tables import engines, sources

def wait(*words):
    print("begun", flush=True)
    time.sleep(600)

schema = jostle.Schema({"x": jostle.Numeric(0, 10, bins=5)}, **PERSONS)
sources.MOST_WAITING = 1  # codes are in files
tick, encode = engines.tick, sources.encode_block
try:
    if READS:
        sources.encode_block = wait
    table = jostle.Table.read("rows.parquet", schema, stream=not READS)
    db = jostle.protect(table, epsilon=1, vault="rows.vault")
    engines.tick = wait
    db.histogram("x", epsilon="0.3")
except KeyboardInterrupt:
    engines.tick, sources.encode_block = tick, encode
db = jostle.protect(jostle.Table.read("rows.parquet", schema), epsilon=1, vault="rows.vault")
before = str(db.left)
counts = int(sum(db.histogram("x", epsilon="0.5")))
print(json.dumps({"before": before, "after": str(db.left), "counts": counts}))
"""


@pytest.mark.parametrize("of_persons", [False, True])
@pytest.mark.parametrize("reads", [False, True])
def test_ctrl_c_among_rows_loses_nothing(tmp_path: Path, *, reads: bool, of_persons: bool) -> None:
    rows = pa.table({"who": [str(row % 100) for row in range(1000)], "x": [row % 10 for row in range(1000)]})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=100)
    (tmp_path / "scratch").mkdir()
    persons = {"person": "who", "rows_per_person": 2} if of_persons else {}
    head = f"PERSONS = {persons!r}\nREADS = {reads!r}\n"
    with started(
        "-c",
        head + SCRIPT,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "scratch")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        out, said = running.communicate(timeout=LIMIT)
    assert running.returncode == 0, said
    found = json.loads(out.splitlines()[-1])
    assert not [*(tmp_path / "scratch").iterdir()]
    assert found["before"] == ("1" if reads else "7/10")
    assert Fraction(found["before"]) - Fraction(found["after"]) == Fraction(1, 2)
    assert FileVault(tmp_path / "rows.vault").account().spent == 1 - Fraction(found["after"])
    assert found["counts"] == pytest.approx(200 if of_persons else 1000, abs=150)
