"""A newcomer's first day: the README from top to bottom in a fresh virtual environment, with times.

    python benchmarks/first_day.py

clones the repository as it is committed, makes an environment with nothing in it, and runs all that the README shows,
in its order: its first command, its blocks of Python, each kind of command that it lists. Writes what was run, what it
printed and how long it took to docs/benchmarks/first_day.md, and fails if something ends as the README does not say.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "first_day.md"
MOST_LINES, MOST_COLUMNS = 24, 150
"""Of what is printed, on the page."""

PYTHON = '''"""The README's blocks of Python, one after the other, on the survey that it makes up."""
import re
import sys
import time
from pathlib import Path

root = Path(sys.argv[1])
sys.path.insert(0, str(root / "programs"))
from survey import made_up_survey
frame = made_up_survey(5_000)
known = {"__name__": "__main__", "frame": frame}
known["X"] = [list(row) for row in zip(frame["age"].to_pylist(), frame["region"].to_pylist())]
known["y"] = frame["smokes"].to_pylist()
readme = (root / "README.md").read_text("utf-8")
for number, block in enumerate(re.findall(r"^```python\\n(.*?)^```$", readme, re.M | re.S)):
    start = time.perf_counter()
    exec(compile(block, "README.md", "exec"), known)
    print(f"[block {number + 1}: {time.perf_counter() - start:.1f} s]", flush=True)
print("left of the promise:", known["clf"].account().left)
'''
ROWS = '''"""Rows of the survey as files: private, and public ones of other people."""
import sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]) / "programs"))
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from survey import made_up_survey
csv.write_csv(made_up_survey(5_000), "survey.csv")
csv.write_csv(made_up_survey(6_000).slice(5_000), "public.csv")
Path("tables").mkdir()
for number in range(1, 5):
    chance = np.random.default_rng(number)
    size = chance.normal(50, 20, 900).round(3)
    label = np.where(size + chance.normal(0, 10 * number, 900) > 50, "large", "small")
    columns = {"size": size, f"other{number}": chance.random(900), "label": label}
    csv.write_csv(pa.table(columns), f"tables/{number}.csv")
Path("count.jst").write_text("def answer(db):\\n    return noisyCount(db, epsilon)\\n", "utf-8")
Path("typo.jst").write_text("def answer(db):\\n    return nosyCount(db, epsilon)\\n", "utf-8")
Path("mine.jst").write_text(
    "from options import Majority, NaiveBayes\\n\\n"
    "choice = MkChoiceMaker among {Majority, NaiveBayes}\\n\\n"
    "def answer(db):\\n    return choice(db)\\n", "utf-8")
'''
COMMANDS = """
jostle schema infer public.csv --label smokes --out schema.toml
jostle advise --schema schema.toml --rows 5000
jostle advise NaiveBayes --schema schema.toml --rows 5000
jostle example --schema schema.toml --rows 1000 --out tried.csv
jostle run count.jst --data tried.csv --schema schema.toml --epsilon 1
jostle check count.jst typo.jst  # -> 1
jostle fmt count.jst --check
jostle explain J201
jostle run count.jst --data survey.csv --schema schema.toml --epsilon 1/2 --trace first.jsonl
jostle run count.jst --data survey.csv --schema schema.toml --epsilon 3/4  # -> 3
jostle train mine.jst --corpus tables
jostle evaluate mine.jst --databases tables --epsilon 0.1 1
jostle options
jostle reproduce
jostle audit Majority
jostle trace show first.jsonl
jostle trace why first.jsonl
jostle ledger show --vault survey.csv.vault
jostle vault show survey.csv.vault
jostle vault raise survey.csv.vault --epsilon 1 --reason "the board agreed"
jostle run count.jst --data survey.csv --schema schema.toml --epsilon 1
"""
"""Each kind that the README lists, as somebody would write it first; after # how it ends, where not well."""


CHECKS = '''"""scikit-learn's checks of estimators."""
import collections
import warnings

from sklearn.utils.estimator_checks import check_estimator

from jostle.sklearn import PrivateClassifier, PrivateFeatureSelector

warnings.simplefilter("ignore")
for estimator in (PrivateClassifier(public=True), PrivateFeatureSelector("Peeling(top=2)", public=True)):
    found = check_estimator(estimator, on_skip=None, on_fail=None)
    counts = collections.Counter(each["status"] for each in found)
    print(type(estimator).__name__, ", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    for each in found:
        if each["status"] != "passed":
            print("  ", each["status"], each["check_name"], str(each["exception"])[:90])
'''


@frozen
class Step:
    """Something that was run."""

    shown: str
    """What was typed."""
    printed: str
    status: int
    expected: int
    seconds: float
    busy: float
    """Seconds of the processors."""

    @property
    def good(self) -> bool:
        """Whether it ended as it should."""
        return self.status == self.expected and "Traceback" not in self.printed

    def text(self) -> str:
        """It on the page."""
        lines = [line[:MOST_COLUMNS].rstrip() for line in self.printed.rstrip().splitlines()]
        if len(lines) > MOST_LINES:
            lines = [*lines[:MOST_LINES], f"... ({len(lines) - MOST_LINES} more lines)"]
        body = "\n".join([f"$ {self.shown}", *lines])
        end = f", ends with {self.status}" if self.status else ""
        return f"{self.seconds:.1f} s, {self.busy:.1f} s of processors{end}\n\n```text\n{body}\n```\n"


def ran(command: str, place: Path, environment: dict[str, str], *, shown: str = "", expected: int = 0) -> Step:
    """Run a command in a shell."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=place,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    step = Step(shown or command, done.stdout, done.returncode, expected, seconds, busy)
    print(f"{seconds:6.1f} s  {'' if step.good else 'WRONG '}{step.shown.splitlines()[0]}", flush=True)
    if not step.good:
        print(step.printed)
    return step


def readme_command(name: str) -> str:
    """The README's command that is marked so."""
    found = re.search(rf"<!-- ci: {name} -->\n```sh\n(.*?)\n```", (ROOT / "README.md").read_text("utf-8"))
    if found is None:
        raise SystemExit(f"the README has no command {name}")
    return found[1]


def mistakes() -> int:
    """How many mistakes are kept with what is printed."""
    lines = [
        line for path in (ROOT / "tests/cases/mistakes").iterdir() for line in path.read_text("utf-8").splitlines()
    ]
    return sum(line.startswith((">>> ", "$ ")) for line in lines)


def kinds(text: str) -> set[str]:
    """Which commands a text has, by their first word."""
    return set(re.findall(r"^jostle ([a-z]+)", text, re.MULTILINE))


def steps(place: Path) -> Iterator[Step]:
    """All that a newcomer does, in a new folder."""
    clone, fresh, rows = place / "jostle", place / "fresh", place / "rows"
    rows.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))},
        "PATH": f"{fresh / 'bin'}:{os.environ['PATH']}",
        "JOSTLE_HOME": str(place / "home"),
        "COLUMNS": "120",
    }
    yield ran(f"git clone --quiet {shlex.quote(str(ROOT))} jostle", place, environment, shown="git clone ... jostle")
    python = shlex.quote(os.path.realpath(sys.executable))
    yield ran(f"{python} -m venv fresh", place, environment, shown="python -m venv fresh; source fresh/bin/activate")
    install, _, program = readme_command("run").partition(" && ")
    yield ran(install, clone, environment)
    yield ran(program, clone, environment)
    (rows / "blocks.py").write_text(PYTHON, "utf-8")
    (rows / "rows.py").write_text(ROWS, "utf-8")
    yield ran(f"python blocks.py {clone}", rows, environment, shown="the README's blocks of Python, in one process")
    yield ran(
        f"python rows.py {clone}", rows, environment, shown="python rows.py  # writes the survey as a file, programs"
    )
    (rows / "checks.py").write_text(CHECKS, "utf-8")
    yield ran("python checks.py", rows, environment, shown="python checks.py  # scikit-learn's checks of estimators")
    for line in COMMANDS.strip().splitlines():
        command, _, end = line.partition("  # -> ")
        yield ran(command, rows, environment, shown=command, expected=int(end or 0))


def line_of(number: int, step: Step) -> str:
    """A step's line of the table."""
    typed = step.shown.replace("|", "")
    return f"| {number} | `{typed}` | {step.seconds:.1f} | {step.busy:.1f} | {step.status} |\n"


def elsewhere() -> str:
    """What else newcomers asked for, and where it is, as a table."""
    print_out = "`tests/cases/mistakes`, held to the letter by `tests/test_mistakes.py`"
    days = ("scientist", "statistician", "researcher", "platform")
    tutorials = ", ".join(f"[{day}](../tutorials/{day}.md)" for day in days)
    rows = (
        (f"{mistakes()} mistakes in Python and in commands, and what is printed", print_out),
        ("what is plainly of a wrong kind, at all public names and Options", "`tests/test_wrong_arguments.py`"),
        ("a data scientist's day", "`programs/scientist.py`, run by `tests/estimator/test_scientist.py`"),
        ("a platform engineer's day", "`docs/platform_day.sh`, run by `tests/cli/test_platform_day.py`"),
        ("four newcomers' days, as executed notebooks", tutorials),
        ("scikit-learn's checks of estimators", "in the transcript, and among the tests in `tests/estimator`"),
        ("how often bands of expected losses hold, and how wide they are", "[advice](advice.md)"),
        ("how often intervals of statistics hold, and how wide they are", "[intervals](intervals.md)"),
        ("what other tools have", "[features](../features.md)"),
    )
    return "\n".join(["| what | where |", "|---|---|", *(f"| {what} | {where} |" for what, where in rows)])


def page(found: list[Step]) -> str:
    """All steps as a page."""
    good, first = sum(each.good for each in found), found[:4]
    today, load = datetime.now(tz=UTC).date().isoformat(), os.getloadavg()[0]
    seconds, busy = sum(each.seconds for each in first), sum(each.busy for each in first)
    table = "".join(line_of(number, each) for number, each in enumerate(found, start=1))
    transcript = "\n".join(f"**{number}.** {each.text()}" for number, each in enumerate(found, start=1))
    return f"""# The first day

    python benchmarks/first_day.py

cloned the repository into an empty folder, made a virtual environment with nothing in it, and ran the README from top
to bottom, on {today} with Python {platform.python_version()}, on {os.cpu_count()} cores, with a load
average of {load:.1f} at the end: where others work on the same cores, seconds of processors say more.
Packages came from a mirror nearby.

**{good} of {len(found)} steps ended as they should.** From an empty folder to the last line of the survey it took
{seconds:.0f} s, of which {first[2].seconds:.0f} s are pip's, and {busy:.0f} s of processors.
The README's second command, which installs what tests need and runs them, is run by `.ci/run`.

| | what was typed | seconds | of processors | ended with |
|---:|---|---:|---:|---:|
{table}
## What else was asked of a first day

{elsewhere()}

## Transcript

Long outputs and long lines are cut.

{transcript}"""


def main() -> int:
    """Run the day, write the page, and return whether something went wrong."""
    if missing := kinds((ROOT / "README.md").read_text("utf-8")) - kinds(COMMANDS):
        raise SystemExit(f"of the README's commands these are not run: {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = [
            Step(each.shown, each.printed.replace(str(place), "~"), each.status, each.expected, each.seconds, each.busy)
            for each in steps(place)
        ]
    wrong = [each for each in found if not each.good]
    PAGE.write_text(page(found), encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
