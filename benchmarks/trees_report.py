"""Make docs/benchmarks/trees.md, and the thesis's figure 4.2 again, of what trees.py and trees_speed.py have measured.

python benchmarks/trees_report.py [--directory docs/benchmarks]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from jostle.figures.thesis import draw_accuracy

Results = dict[str, Any]
Cells = dict[tuple[str, float | None], Any]

FIGURE = ("hiv1625", "nursery", "cmc")
EXPECTED = (
    ("nursery", 0.1, "NaiveBayes", 0.87),
    ("nursery", 0.1, "Mohammed", 0.83),
    ("nursery", 0.1, "FriedmanSchuster", 0.79),
    ("nursery", 1, "NaiveBayes", 0.895),
    ("nursery", 1, "Mohammed", 0.895),
    ("nursery", 1, "FriedmanSchuster", 0.895),
    ("cmc", 0.1, "Majority", 0.43),
    ("cmc", 1, "NaiveBayes", 0.47),
    ("mushroom", 0.1, "FriedmanSchuster", 0.98),
    ("adult", 0.1, "Mohammed", 0.83),
    ("adult", 1, "Mohammed", 0.83),
)
SINGLE = ("FriedmanSchuster", "Mohammed", "Mohammed(depth=5)", "RandomForest(trees=1)", "BayesTree")


def main() -> None:
    """Write the document and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=Path("docs/benchmarks"))
    folder = parser.parse_args().directory
    held: Results = json.loads((folder / "trees.json").read_text())
    speed = json.loads((folder / "trees_speed.json").read_text())
    tables = {name: {(each["option"], each["epsilon"]): each for each in one["results"]} for name, one in held.items()}
    drawn = {name: accuracies(tables[name]) for name in FIGURE if name in tables}
    draw_accuracy(drawn, folder / "figure_4_2.png")
    parts = [HEAD, best_table(tables), expected_table(tables), where(tables), speed_table(tables), growth(speed)]
    parts += [everything(name, held[name], cells) for name, cells in tables.items()]
    (folder / "trees.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


HEAD = """# Classification: Options, diffprivlib, and no privacy

    python benchmarks/trees.py DIRECTORY_OF_TABLES
    python benchmarks/trees_speed.py
    python benchmarks/trees_report.py

Held-out accuracy over 10 random 70/30 splits, the same rows for everybody, mean and sample standard deviation.
Numeric bounds are the least and greatest value of the whole table, taken as public, for all. Ours cut them into 16
bins of equal width; diffprivlib (0.6.6, default settings, an environment of its own) gets the numbers themselves,
and categorical values as ordinal codes. Under add_remove, with the number of rows not public. Our noise, like
theirs here, comes from seeds. The same splits recur across epsilons, so columns are correlated; the best of several
is a little better than it will be next time, on both sides."""


def mean(cell: Any) -> float:
    """Return the mean accuracy; a failed fit counts as nothing."""
    kept = [value for value in cell["accuracies"] if value is not None]
    return float(np.mean(kept)) if kept else 0.0


def accuracies(cells: Cells) -> dict[tuple[str, float], list[float]]:
    """Return what was right at each epsilon, fits that failed left out."""
    return {
        (option, epsilon): [value for value in cell["accuracies"] if value is not None]
        for (option, epsilon), cell in cells.items()
        if epsilon is not None
    }


def best(cells: Cells, epsilon: float, *, peers: bool) -> str:
    """Return who does best at an epsilon: of diffprivlib's four, or of ours."""
    names = [option for option, at in cells if at == epsilon and option.startswith("diffprivlib") == peers]
    return max(names, key=lambda option: mean(cells[option, epsilon]))


def epsilons(cells: Cells) -> list[float]:
    """Return the epsilons there are."""
    return sorted({epsilon for _, epsilon in cells if epsilon is not None})


def best_table(tables: dict[str, Cells]) -> str:
    """Return the best of ours beside the best of diffprivlib's, everywhere."""
    lines = [
        "## The best of ours against the best of diffprivlib's four",
        "",
        "Difference is ours less theirs, over the same ten splits, with its standard error.",
        "",
        "| data | epsilon | best of ours | accuracy | best of diffprivlib's | accuracy | difference | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    below = significant = cellcount = 0
    for name, cells in tables.items():
        for epsilon in epsilons(cells):
            ours, theirs = best(cells, epsilon, peers=False), best(cells, epsilon, peers=True)
            pairs = zip(cells[ours, epsilon]["accuracies"], cells[theirs, epsilon]["accuracies"], strict=True)
            gaps = np.array([one - other for one, other in pairs if one is not None and other is not None])
            error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
            mark = "" if gaps.mean() >= 0 else "below" if gaps.mean() < -2 * error else "within 2 errors"
            below, significant, cellcount = below + (mark != ""), significant + (mark == "below"), cellcount + 1
            lines.append(
                f"| {name} | {epsilon:g} | {ours} | {mean(cells[ours, epsilon]):.3f} | {theirs[12:]} "
                f"| {mean(cells[theirs, epsilon]):.3f} | {gaps.mean():+.3f} ± {error:.3f} | {mark} |"
            )
    lines += [
        "",
        f"Of {cellcount} cells ours are below in {below}, and by more than 2 standard errors in {significant}.",
    ]
    return "\n".join(lines)


def expected_table(tables: dict[str, Cells]) -> str:
    """Return how what was expected of a few cells compares."""
    lines = [
        "## Beside an earlier, independent probe",
        "",
        "The probe is accurate to about 0.03. Farther off is the greedy tree on Nursery at 0.1, better here. It",
        "stops after two levels in every run. It is 0.828 without pruning as well, and 0.821 if picks make no use of",
        "Max being monotone, so neither explains the difference; the probe's own settings are not known.",
        "",
        "| data | epsilon | option | probe | here | difference |",
        "|---|---|---|---|---|---|",
    ]
    for name, epsilon, option, probe in EXPECTED:
        if name in tables:
            here = mean(tables[name][option, epsilon])
            lines.append(f"| {name} | {epsilon:g} | {option} | {probe:.3f} | {here:.3f} | {here - probe:+.3f} |")
    return "\n".join(lines)


def where(tables: dict[str, Cells]) -> str:
    """Return which Option is ahead of all others of ours, and where."""
    won: dict[str, list[str]] = {}
    for name, cells in tables.items():
        for epsilon in epsilons(cells):
            won.setdefault(best(cells, epsilon, peers=False), []).append(f"{name} {epsilon:g}")
    lines = ["## Who wins where, among ours", "", "| option | cells | where |", "|---|---|---|"]
    lines += [
        f"| {option} | {len(at)} | {', '.join(at)} |" for option, at in sorted(won.items(), key=lambda x: -len(x[1]))
    ]
    return "\n".join(lines)


def speed_table(tables: dict[str, Cells]) -> str:
    """Return fit times beside diffprivlib's."""
    lines = [
        "## Fit times at epsilon 1, median ms of ten fits",
        "",
        "Single trees, then forests. Ours include opening an allotment and checking the ledger, and start from a table",
        "in memory. Mohammed(depth=5) splits wide categorical columns by value to the end, and takes longer there.",
        "",
        f"| data | diffprivlib tree | {' | '.join(SINGLE)} | diffprivlib forest | RandomForest |",
        "|---" * (len(SINGLE) + 4) + "|",
    ]
    for name, cells in tables.items():
        shown = ["diffprivlib tree", *SINGLE, "diffprivlib forest", "RandomForest"]
        times = " | ".join(f"{1000 * cells[option, 1]['seconds']:.1f}" for option in shown)
        lines.append(f"| {name} | {times} |")
    return "\n".join(lines)


def growth(speed: list[Any]) -> str:
    """Return how times grow with rows and attributes."""
    options = list(dict.fromkeys(each["option"] for each in speed))
    sizes = list(dict.fromkeys((each["rows"], each["attributes"]) for each in speed))
    seconds = {(each["option"], each["rows"], each["attributes"]): each["seconds"] for each in speed}
    lines = [
        "## Growth, seconds, best of three",
        "",
        "Made-up tables, half of the attributes numeric, half of 8 values.",
        "",
        f"| rows | attributes | {' | '.join(options)} |",
        "|---" * (len(options) + 2) + "|",
    ]
    for rows, attributes in sizes:
        times = " | ".join(f"{seconds[option, rows, attributes]:.3f}" for option in options)
        lines.append(f"| {rows:,} | {attributes} | {times} |")
    return "\n".join(lines)


def everything(name: str, facts: Any, cells: Cells) -> str:
    """Return one table's accuracies."""
    columns = epsilons(cells)
    floor = {option: mean(cell) for (option, epsilon), cell in cells.items() if epsilon is None}
    lines = [
        f"## {name}: {facts['rows']:,} rows, {facts['attributes']} attributes, {facts['classes']} classes",
        "",
        "Not private: "
        + ", ".join(f"{option.removesuffix(' (not private)')} {value:.3f}" for option, value in floor.items()),
        "",
        f"| option | {' | '.join(f'{epsilon:g}' for epsilon in columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for option in dict.fromkeys(option for option, epsilon in cells if epsilon is not None):
        shown = []
        for epsilon in columns:
            kept = [value for value in cells[option, epsilon]["accuracies"] if value is not None]
            spread = np.std(kept, ddof=1) if len(kept) > 1 else 0.0
            shown.append(f"{np.mean(kept):.3f} ± {spread:.3f}" if kept else "failed")
        lines.append(f"| {option} | {' | '.join(shown)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
