"""Hold what Jostle publishes at epsilon 1 against MST and AIM of smartnoise-synth, at epsilon 1 and delta 1e-6.

    python benchmarks/publishing_peers.py DIRECTORY PYTHON [--results docs/benchmarks/publishing.json] [--only mst]

PYTHON is of an environment that has smartnoise-synth. Everyone gets the same rows, as the same codes, and the same tree
learns from what comes out. A fit is stopped after `--minutes` of processor time, or twice as long by the clock.
`benchmarks/publishing.py` puts what was measured into its page.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from publishing import PUBLISHERS, TRAIN_SHARE, read, schema_of

import jostle
from jostle import Schema, Table
from jostle.options import get
from jostle.tables.attributes import attribute_codes, label_codes
from jostle.tasks.publishing import Published
from jostle.tasks.publishing.published import PublishedColumn
from jostle.tasks.publishing.task import learn

TABLES = ("car", "cmc", "nursery", "smoke_ban", "acs_ma_tenure", "adult")
THEIRS = ("mst", "aim")
COMMONEST = "commonest"
"""The commonest label, without noise."""
FITTER = Path(__file__).with_name("publishing_smartnoise.py")
Facts = dict[str, Any]
Codes = np.ndarray[Any, np.dtype[np.int64]]


def as_published(schema: Schema, codes: Codes) -> Published:
    """Synthetic rows of codes, attributes first and then the label, as what the default tree learns from."""
    names = (*schema.attributes, schema.label or "")
    order = [names.index(name) for name in schema.names]
    cells, counts = np.unique(codes[:, order], axis=0, return_counts=True)
    columns = tuple(
        PublishedColumn(name, np.arange(schema[name].size), _counts(codes[:, place], schema[name].size))
        for name, place in zip(schema.names, order, strict=True)
    )
    return Published(schema=schema, columns=columns, cells=cells, counts=counts)


def _counts(codes: Codes, size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.bincount(codes, minlength=size).astype(np.float64)


def main() -> None:
    """Measure what is not known yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("python")
    parser.add_argument("--results", type=Path, default=Path("docs/benchmarks/publishing.json"))
    parser.add_argument("--only", nargs="*", default=[COMMONEST, *PUBLISHERS, *THEIRS])
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--minutes", type=int, default=12)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    for name in given.tables:
        frame = read(given.folder, name)
        schema = schema_of(frame)
        order = np.random.default_rng(0).permutation(len(frame))
        cut = int(TRAIN_SHARE * len(frame))
        train, test = frame.iloc[order[:cut]], frame.iloc[order[cut:]]
        held, truth = attribute_codes(test, schema), label_codes(test, schema)
        rows = np.column_stack([attribute_codes(train, schema), label_codes(train, schema)])
        for way in given.only:
            known = _read(given.results)
            key = f"peers {name} {way}"
            if key in known:
                continue
            found: Facts = {}
            facts: Facts = {}
            published: Published | None = None
            if way == COMMONEST:
                found["error"] = round(float(np.mean(np.bincount(rows[:, -1]).argmax() != truth)), 4)
            elif way in THEIRS:
                published, facts = _theirs(given.python, way, schema, rows, 60 * given.minutes)
            else:
                start, used = time.perf_counter(), time.process_time()
                option: Any = get(way)
                published = option(jostle.rehearse(Table.from_frame(train, schema), epsilon=1, seed=0), epsilon=1)
                facts = {"wall": time.perf_counter() - start, "seconds": time.process_time() - used}
            if published is not None:
                wrong = float(np.mean(np.argmax(learn(published).chances(held), axis=1) != truth))
                found["error"] = round(wrong, 4)
            found |= {what: round(took, 3) for what, took in facts.items()}
            known = {**_read(given.results), key: found}
            given.results.write_text(json.dumps(known, indent=0) + "\n", "utf-8")
            print(key, found, flush=True)


def _read(results: Path) -> dict[str, Facts]:
    known: dict[str, Facts] = json.loads(results.read_text("utf-8")) if results.exists() else {}
    return known


def _spent_below() -> float:
    """Seconds of processor time that ended processes took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _theirs(python: str, way: str, schema: Schema, rows: Codes, seconds: int) -> tuple[Published | None, Facts]:
    """What came out, if it did in so many seconds of processor time, and how long it took."""
    with tempfile.TemporaryDirectory() as place:
        given, out = Path(place) / "codes.npz", Path(place) / "out.npz"
        np.savez(given, codes=rows)
        start, before = time.perf_counter(), _spent_below()
        try:
            subprocess.run(
                [python, str(FITTER), way, str(given), str(out)],
                check=True,
                cwd=place,
                stdout=subprocess.DEVNULL,
                timeout=2 * seconds,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
            )
        except subprocess.TimeoutExpired:
            return None, {"wall": time.perf_counter() - start, "seconds": _spent_below() - before}
        except subprocess.CalledProcessError as failed:
            if failed.returncode not in {-signal.SIGXCPU, -signal.SIGKILL}:
                raise
            return None, {"wall": time.perf_counter() - start, "seconds": seconds}
        with np.load(out) as made:
            wall, used = made["seconds"].tolist()
            return as_published(schema, made["codes"]), {"wall": wall, "seconds": used}


if __name__ == "__main__":
    main()
