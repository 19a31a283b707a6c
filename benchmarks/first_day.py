"""The README from top to bottom in a fresh environment, with times: what a newcomer's first hour takes.

    python benchmarks/first_day.py

Clones the repository into an empty folder, makes a virtual environment with nothing in it, installs Jostle, and runs
the README and a day on the command line there, as `benchmarks/pages.py` runs pages. Writes how long each step took to
docs/benchmarks/first_day.md, and fails where one ends otherwise than the page says.
"""

from __future__ import annotations

import os
import platform
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from attrs import frozen
from pages import INSTALLED, ROOT, parts_of

PAGE = ROOT / "docs" / "benchmarks" / "first_day.md"


@frozen
class Step:
    """Something that was run."""

    typed: str
    seconds: float
    busy: float
    """Seconds of the processors."""


def ran(command: str, place: Path, environment: dict[str, str], typed: str = "") -> Step:
    """Run a command in a shell, which has to end with 0."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(["bash", "-e", "-c", command], cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{seconds:6.1f} s  {typed or command}", flush=True)
    return Step(typed or command, seconds, busy)


def steps(place: Path) -> list[Step]:
    """All that a newcomer does, in a new folder."""
    clone, fresh = place / "jostle", place / "fresh"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))},
        "PATH": f"{fresh / 'bin'}:{os.environ['PATH']}",
    }
    python = shlex.quote(os.path.realpath(sys.executable))
    readme = (ROOT / "README.md").read_text("utf-8")
    (first,) = (part.code.strip() for part in parts_of(readme) if part.ci == "run")
    install, program = INSTALLED.removesuffix(" && "), first.removeprefix(INSTALLED)
    return [
        ran(f"git clone --quiet {shlex.quote(str(ROOT))} jostle", place, environment, "git clone ... jostle"),
        ran(f"{python} -m venv fresh", place, environment, "python -m venv fresh; source fresh/bin/activate"),
        ran(install, clone, environment),
        ran(program, clone, environment),
        ran("python benchmarks/pages.py README.md", clone, environment, "the README, from top to bottom"),
        ran("python benchmarks/pages.py docs/tutorials/platform.md", clone, environment, "a platform engineer's day"),
    ]


def page(found: list[Step]) -> str:
    """All steps as a page."""
    today, load = datetime.now(tz=UTC).date().isoformat(), os.getloadavg()[0]
    python, cores = platform.python_version(), os.cpu_count()
    table = "".join(f"| `{each.typed}` | {each.seconds:.1f} | {each.busy:.1f} |\n" for each in found)
    first = found[:4]
    return f"""# The first day

    python benchmarks/first_day.py

ran the README from top to bottom in a fresh clone and a fresh virtual environment.
Day: {today}. Python {python}, {cores} cores, load average {load:.1f}: where others work on the same cores,
seconds of processors say more. Packages came from a mirror nearby.

From an empty folder to the last line of the survey it took **{sum(each.seconds for each in first):.0f} s**, of which
{first[2].seconds:.0f} s are pip's, and {sum(each.busy for each in first):.0f} s of processors.

| what was typed | seconds | of processors |
|---|---:|---:|
{table}
The README's second command, which installs what tests need and runs them, is run by `.ci/run` on the newest Python.
On the oldest, with the lowest packages, it runs the same tests.
"""


def main() -> int:
    """Run the day, and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        found = steps(Path(folder))
    PAGE.write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
