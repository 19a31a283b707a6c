"""What choosing costs: time to decide, to load a maker, to train one, and what the shipped makers weigh.

    python benchmarks/choosing_cost.py [--rows 1000000]

Prints tables for docs/benchmarks/choosing.md. Medians of several runs, one thread of work; training in seconds of
processor time, so that a busy machine does not matter.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from statistics import median

import numpy as np
import pandas as pd

import jostle
from jostle.choice.learning.cases import cases_of
from jostle.choice.makers.maker import ChoiceMaker
from jostle.choice.makers.shipped import SHIPPED, rehearsals_of
from jostle.choice.makers.training import best_way, fit_way, judge_all
from jostle.learned.files import shipped_folder
from jostle.options import get
from jostle.options.base import Option

REPEATS = 7


def timed(work: Callable[[], object]) -> float:
    """Return the median of several times, in seconds."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def table_of(rows: int) -> jostle.Table:
    """Return a table like adult's: 14 attributes, half of them numbers, two classes."""
    generator = np.random.default_rng(0)
    label = generator.random(rows) < 0.24
    columns: dict[str, object] = {}
    for place in range(7):
        columns[f"number{place}"] = generator.normal(label * 0.3, 1, rows)
        columns[f"kind{place}"] = (generator.integers(0, 8 + place, rows) + label * (place % 3)) % (8 + place)
    frame = pd.DataFrame(columns).assign(label=np.where(label, "yes", "no"))
    schema = jostle.Schema(
        {
            **{f"number{place}": jostle.Numeric(-4, 4, bins=16) for place in range(7)},
            **{f"kind{place}": jostle.Categorical([str(code) for code in range(8 + place)]) for place in range(7)},
            "label": jostle.Categorical(["no", "yes"]),
        },
        label="label",
    )
    return jostle.Table.from_frame(frame, schema)


def dispatch(rows: int) -> None:
    """Print how long choosing takes next to what is chosen."""
    table = table_of(rows)
    maker = jostle.pretrained("classification")
    trained = maker.trained
    print(f"## Dispatch, {rows:,} rows, 14 attributes\n")
    print("| epsilon | chosen | choosing, ms | chosen Option, ms | choosing / Option |\n|---|---|---|---|---|")
    for epsilon in ("1/10", "1", "3"):
        budget = Fraction(epsilon)
        option = maker.among[maker.choose(jostle.rehearse(table), budget, trained).chosen]
        opening = timed(partial(jostle.rehearse, table))
        choosing = timed(partial(decide, maker, table, budget)) - opening
        running = timed(partial(run, option, table, budget)) - opening
        print(f"| {epsilon} | {option.name} | {choosing * 1e3:.1f} | {running * 1e3:.1f} | {choosing / running:.0%} |")


def decide(maker: ChoiceMaker, table: jostle.Table, budget: Fraction) -> object:
    """Buy metafeatures and choose, but run nothing."""
    return maker.choose(jostle.rehearse(table), budget, maker.trained)


def run(option: Option, table: jostle.Table, budget: Fraction) -> object:
    """Run an Option."""
    return option(jostle.rehearse(table), epsilon=budget)


def loading() -> None:
    """Print what the shipped makers weigh, and how long loading one takes in a fresh process."""
    print(
        "\n## Shipped makers\n\n| maker | maker, KB | history, KB | load and first prediction, ms |\n|---|---|---|---|"
    )
    code = (
        "import time, jostle, numpy; from jostle.choice.makers.shipped import shipped_maker\n"
        "start = time.perf_counter(); found = shipped_maker({name!r})\n"
        "found.predict([0.5] * len(found.metafeatures)); print(time.perf_counter() - start)"
    )
    for name in SHIPPED:
        seconds = [
            float(
                subprocess.run([sys.executable, "-c", code.format(name=name)], check=True, capture_output=True).stdout
            )
            for _ in range(3)
        ]
        maker = (shipped_folder() / f"{name}.json").stat().st_size
        history = (shipped_folder() / f"{SHIPPED[name].task.name}.jsonl.gz").stat().st_size
        print(f"| {name} | {maker / 1e3:.0f} | {history / 1e3:.0f} | {median(seconds) * 1e3:.0f} |")
    total = sum(path.stat().st_size for path in shipped_folder().iterdir() if path.is_file())
    print(f"\nAll files shipped for choosing: {total / 1e6:.2f} MB.")


def training() -> None:
    """Print how long learning takes, rehearsals aside."""
    print("\n## Learning, one core, rehearsals aside\n\n| maker | cases | ways tried | judging, s | last fit, s |")
    print("|---|---|---|---|---|")
    for name, shipped in SHIPPED.items():
        cases = cases_of(rehearsals_of(name), [get(each) for each in shipped.among], judge=shipped.judge)
        start = time.process_time()
        tried = judge_all(cases, shipped.task.rehearsal.metafeatures)
        judged = time.process_time()
        fit_way(cases, best_way(cases, tried).way)
        print(f"| {name} | {len(cases):,} | {len(tried)} | {judged - start:.0f} | {time.process_time() - judged:.1f} |")


def main() -> int:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    dispatch(arguments.rows)
    loading()
    training()
    return 0


if __name__ == "__main__":
    sys.exit(main())
