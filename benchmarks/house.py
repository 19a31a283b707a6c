"""How large the package is, what three walks through it cross, and how long it takes to start.

    python benchmarks/house.py [--json FILE]

A walk is counted by `sys.setprofile`, in a process of its own: functions of the package that are entered, the modules
they stand in, calls (of imports none), and changes of room: how often the next call is in another folder than the one
before it, and the same of functions as they are entered for the first time.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "jostle"
STARTS = 7
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

ROWS = """
import csv, random
random = random.Random(3)
rows = [[random.randrange(18, 90), random.choice(["north", "south", "west"])] for _ in range(2000)]
for row in rows:
    row.append("yes" if (row[0] > 50) != (row[1] == "west") or random.random() < 0.1 else "no")
with open("people.csv", "w", newline="") as file:
    csv.writer(file).writerows([["age", "region", "smokes"], *rows])
with open("schema.toml", "w") as file:
    file.write('''label = "smokes"
[columns.age]
kind = "numeric"
low = 0
high = 120
bins = 8
[columns.region]
kind = "categorical"
values = ["north", "south", "west"]
[columns.smokes]
kind = "categorical"
values = ["no", "yes"]
''')
with open("grow.jst", "w") as file:
    file.write("from trees import PooledTree\\n\\ndef grow(db):\\n    return PooledTree(db)\\n")
"""
WALKED = """
import json, os, sys
import jostle

%s

root = os.path.dirname(jostle.__file__) + os.sep
calls, importing = [], 0

def look(frame, event, _):
    global importing
    code = frame.f_code
    if code.co_name == "<module>" and event in ("call", "return"):
        importing += 1 if event == "call" else -1
    elif event == "call" and not importing and code.co_filename.startswith(root):
        calls.append((code.co_filename[len(root):], code.co_qualname, code.co_firstlineno))

sys.setprofile(look)
try:
    %s
finally:
    sys.setprofile(None)
    with open("calls.json", "w") as file:
        json.dump(calls, file)
"""
OPEN = """
import pyarrow.csv
schema = jostle.Schema.read("schema.toml")
frame = pyarrow.csv.read_csv("people.csv")
db = jostle.protect(jostle.Table.from_frame(frame, schema), epsilon=10)
"""
RUN = ["run", "grow.jst", "--data", "people.csv", "--schema", "schema.toml", "--epsilon", "1"]
WALKS = {
    "db.mean, the second time": (OPEN + 'db.mean("age", epsilon=1)', 'db.mean("age", epsilon=1)'),
    'get("PooledTree")(db)': (OPEN + 'tree = jostle.options.get("PooledTree")', "tree(db, epsilon=1)"),
    "CSV -> PooledTree by a program": (
        f"from jostle.cli import main; sys.argv = ['jostle', *{RUN}]",
        "main()",
    ),
}
STARTED = {
    "import jostle": ("-c", "import jostle"),
    "import jostle.options, with all Options": ("-c", "import jostle; jostle.options.get('DAWA')"),
    "jostle --version": ("-m", "jostle", "--version"),
    "jostle check grow.jst": ("-m", "jostle", "check", "grow.jst"),
    "jostle run grow.jst": ("-m", "jostle", *RUN),
}


def sizes() -> dict[str, int]:
    """Return how many modules, lines and functions there are."""
    found: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        lines = text.splitlines()
        docs = set(docstring_lines(tree))
        found["modules"] += 1
        found["lines"] += len(lines)
        found["lines of docstrings"] += len(docs)
        found["lines that are blank"] += sum(
            not line.strip() and place not in docs for place, line in enumerate(lines, 1)
        )
        found["lines of imports"] += sum(
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found["functions"] += 1
                late = [each for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom)]
                found["late imports"] += len(late)
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                found["lines of __all__"] += (node.end_lineno or node.lineno) - node.lineno + 1
    blank, docs_lines = found["lines that are blank"], found["lines of docstrings"]
    found["lines of code"] = found["lines"] - blank - docs_lines
    found["lines of tests"] = sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / "tests").rglob("*.py"))
    order = ("modules", "lines", "lines of code", "lines of docstrings", "lines that are blank", "lines of imports")
    return {name: found[name] for name in (*order, "lines of __all__", "late imports", "functions", "lines of tests")}


def docstring_lines(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that docstrings, also those below fields, stand on."""
    for node in ast.walk(tree):
        for each in getattr(node, "body", []) if isinstance(node, Documented) else []:
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                yield from range(each.lineno, (each.end_lineno or each.lineno) + 1)


def room(file: str) -> str:
    """Return the folder of a file of the package, or the file if it lies in none."""
    return file.partition(os.sep)[0]


def changes(rooms: list[str]) -> int:
    """Return how often one differs from the one before it."""
    return sum(one != other for one, other in pairwise(rooms))


def walk(folder: Path, before: str, body: str) -> dict[str, int]:
    """Return what a walk crosses."""
    subprocess.run([sys.executable, "-c", WALKED % (before, body)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    calls = [tuple(each) for each in json.loads((folder / "calls.json").read_text("utf-8"))]
    return {
        "functions": len(set(calls)),
        "modules": len({each[0] for each in calls}),
        "calls": len(calls),
        "changes of room": changes([room(each[0]) for each in calls]),
        "at first visit": changes([room(each[0]) for each in dict.fromkeys(calls)]),
    }


def start(folder: Path, words: tuple[str, ...]) -> dict[str, float]:
    """Return the medians of the seconds that a process takes, by the clock and of a processor, others being busy."""
    taken, worked = [], []
    for _ in range(STARTS):
        for vault in folder.glob("*.vault*"):
            vault.unlink()  # the promise in it is spent
        began, before = time.perf_counter(), os.times()
        subprocess.run([sys.executable, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - began)
        after = os.times()
        worked.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return {"seconds": round(median(taken), 3), "of a processor": round(median(worked), 3)}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description="How large the package is, what walks cross, how long it takes to start."
    )
    parser.add_argument("--json", type=Path, help="write the figures as well")
    asked = parser.parse_args()
    found: dict[str, dict[str, dict[str, float]]] = {"sizes": {"jostle": {**sizes()}}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-c", ROWS], cwd=folder, check=True)
        found["walks"] = {each: {**walk(folder, *parts)} for each, parts in WALKS.items()}
        found["starts"] = {each: start(folder, words) for each, words in STARTED.items()}
    for table in found.values():
        columns = list(next(iter(table.values())))
        if table is found["sizes"]:
            for each in columns:
                print(f"{each:40}{table['jostle'][each]:>12,}")
        else:
            print(f"{'':40}" + "".join(f"{each:>17}" for each in columns))
            for each, figures in table.items():
                print(f"{each:40}" + "".join(f"{figures[column]:>17,}" for column in columns))
        print()
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
