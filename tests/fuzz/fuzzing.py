"""Run one reader over many damaged files, in a process of its own with bounds on memory and time.

The process says on its standard output, a line of JSON each, where it is, what went wrong, and at the end how often a
file was refused and how often it was read. So whoever started it knows at which case it died, and begins another one
behind that. By hand:

    export PYTHONPATH=tests/fuzz:tests/options:tests/choice:tests/cli
    python -m fuzzing trace 0 300
    python -m fuzzing trace 17            (one case, with its traceback)
    python -m fuzzing hostile "trace: 5,000 digits"
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from attrs import field, frozen
from processes import LIMIT

from jostle.errors import JostleError
from jostle.tables import origins

MEMORY = 4 << 30
"""Bytes of addresses that the process may have: what asks for more gets an error, as on a small machine."""
MOST_RESIDENT = 1 << 30
"""Bytes that a small file may make the process really use."""
SECONDS = 20
"""Of the processor's time for one file; none of them takes more than a second."""
CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
STUCK = 300
"""Seconds after which a process that hangs in something that is not Python ends itself."""
LONGEST = 2000
"""Characters of a message: longer ones are a file poured out."""


class TooLong(BaseException):
    """A file took too much time. Not an Exception, so that no guard takes it for one."""


@frozen
class Outcome:
    """What became of many damaged files."""

    cases: int
    refused: int
    read: int
    titles: dict[str, int]
    """What refusals said, and how often."""
    failures: list[dict[str, Any]] = field(factory=list)
    """What else happened: the case, and why that is not good."""


def damaged_file(reader: Any, number: int) -> bytes:
    """Return one damaged file: the same for the same reader and number."""
    chance = Random(f"{reader.name} {number}")
    data: bytes = chance.choice(reader.files())
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = reader.damage(data, chance) if data else reader.files()[0]
    return data


def fuzz(name: str, first: int, count: int) -> Outcome:
    """Return what became of so many damaged files, in processes that are begun anew where one dies."""
    total, found = Counter[str](), list[dict[str, Any]]()
    titles = Counter[str]()
    at, end = first, first + count
    while at < end:
        done = _started(name, str(at), str(end - at))
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        found += [line for line in lines if "why" in line]
        said = {key: line[key] for line in lines for key in ("refused", "read", "titles", "next") if key in line}
        total.update({key: said.get(key, 0) for key in ("refused", "read")})
        titles.update(said.get("titles", {}))
        after = max((line["at"] for line in lines if "at" in line), default=at)
        if said.get("next") != end:
            found.append({"at": after, "why": f"the process died: {done.returncode}", "more": done.stderr[-3000:]})
            at = after + 1
        else:
            at = end
        if len(found) > 400:
            break
    return Outcome(at - first, total["refused"], total["read"], dict(titles), found)


def _started(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fuzzing", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=4 * LIMIT,
    )


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TooLong

    signal.signal(signal.SIGPROF, stop)


def _say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)  # noqa: T201 - what the process is there for


def _one(reader: Any, number: int, folder: Path) -> JostleError | None:
    """Use one damaged file; return how it was refused, or nothing where it was read."""
    path = folder / f"{reader.stem}{reader.ending}"
    for old in folder.iterdir():
        if old.is_file():
            old.unlink()
    path.write_bytes(damaged_file(reader, number))
    origins._private = []  # the last one had this name as well
    return _used(reader, path)


def _used(reader: Any, path: Path) -> JostleError | None:
    """Use a file within bounds of time; return how it was refused, or nothing where it was read."""
    faulthandler.dump_traceback_later(STUCK, exit=True)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        reader.use(path)
    except JostleError as refusal:
        return refusal
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    return None


def _failed(mistake: BaseException) -> str:
    """Return what went wrong otherwise, and where."""
    last = traceback.extract_tb(mistake.__traceback__)[-1]
    return f"{type(mistake).__name__}: {str(mistake)[:300]} {Path(last.filename).name}:{last.lineno} {last.name}"


def face(cases: Sequence[str]) -> dict[str, str]:
    """Return what became of hostile files, each named by its reader and itself: read, refused, or what else."""
    became: dict[str, str] = {}
    while len(became) < len(cases):
        todo = cases[len(became) :]
        done = _started("hostile", *todo)
        said = [json.loads(line)["became"] for line in done.stdout.splitlines() if line.startswith("{")]
        became.update(zip(todo, said, strict=False))
        if len(said) < len(todo):
            became[todo[len(said)]] = f"the process died: {done.returncode} {done.stderr[-2000:]}"
    return became


def hostile(cases: Sequence[str]) -> None:
    """Use hostile files, and say what became of each."""
    from hostile_files import READ, REFUSED  # noqa: PLC0415 - they are made of much that damaged files do without
    from readers import READERS  # noqa: PLC0415 - as below

    readers = {reader.name: reader for reader in READERS}
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as made:
        os.environ["JOSTLE_HOME"] = made + "/home"
        for number, case in enumerate(cases):
            name, _, file = case.partition(": ")
            reader = readers[name]
            reader.files()  # which are kept, and what they take does not count
            path = Path(made) / str(number) / f"{reader.stem}{reader.ending}"
            path.parent.mkdir()
            # In another process, whose memory does not count either.
            write = {**REFUSED.get(name, {}), **READ.get(name, {})}[file]
            making = get_context("fork").Process(target=write, args=(path,))
            making.start()
            making.join(LIMIT)
            _bounded()
            _say(became=_became(reader, path))
            path.unlink()


def _became(reader: Any, path: Path) -> str:
    """Use a file, and return what became of it."""
    before = _most_resident(anew=True)
    try:
        refusal = _used(reader, path)
        became = "read" if refusal is None else _complaint(reader, refusal) or "refused"
    except (Exception, TooLong) as mistake:  # noqa: BLE001 - whatever it is, it is what was looked for
        became = _failed(mistake)
    used = _most_resident() - before
    return became if used <= MOST_RESIDENT else f"{became}, with {used:,} bytes of memory"


def _most_resident(*, anew: bool = False) -> int:
    """Return the most memory that the process really had, in bytes; on Linux perhaps from now on."""
    if anew and CLEAR.exists():
        CLEAR.write_text("5", encoding="ascii")
    if STATUS.exists():
        line = next(line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _complaint(reader: Any, refusal: JostleError) -> str | None:
    """Return what is wrong with a refusal."""
    said = str(refusal)
    if not refusal.title.strip():
        return "it has no title"
    if len(f"{refusal.title}{refusal.why}{refusal.fix}") > LONGEST:
        return f"the message has {len(said)} characters"
    if not all(character.isprintable() or character in "\n\t" for character in said):
        return f"the message steers a terminal: {said[:300]!r}"
    if (quoted := reader.quotes(said)) is not None:
        return f"the message quotes what is in the file: {quoted!r}"
    return None


def main(name: str, first: int, count: int) -> None:
    """Run the cases and say what became of them."""
    from readers import READERS  # noqa: PLC0415 - it imports what it reads with, which is bounded as well

    reader = next(each for each in READERS if each.name == name)
    warnings.simplefilter("error")
    _bounded()
    counts, titles = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as made:
        os.environ["JOSTLE_HOME"] = made + "/home"
        folder = Path(made) / "file"
        folder.mkdir()
        reader.files()
        for number in range(first, first + count):
            if (number - first) % 25 == 0 or reader.native:
                _say(at=number)
            try:
                refusal = _one(reader, number, folder)
            except (Exception, TooLong) as mistake:
                if count == 1:
                    raise
                _say(at=number, why=_failed(mistake), more="")
                continue
            if refusal is None:
                counts["read"] += 1
            else:
                counts["refused"] += 1
                titles[refusal.title.replace(str(folder), "")[:200]] += 1
                if (why := _complaint(reader, refusal)) is not None:
                    _say(at=number, why=why, more="")
            if count == 1:
                print(refusal)  # noqa: T201 - as above
            if _most_resident() > MOST_RESIDENT:
                _say(at=number, why="it takes more than a gigabyte of memory", more="")
                return
    _say(refused=counts["refused"], read=counts["read"], titles=titles, next=first + count)


if __name__ == "__main__":
    if sys.argv[1] == "hostile":
        hostile(sys.argv[2:])
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
