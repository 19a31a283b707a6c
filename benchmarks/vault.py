"""Charge one vault from many processes that are killed at random, and see what was released but not recorded.

    python benchmarks/vault.py [--seconds 60] [--processes 16] [--kills-a-second 4]

Each process opens one of two tables about the same people with the same vault and asks for counts, one after the
other, until its time is up or the budget is. Right after an answer is released, it appends a line to a file of its own,
by a single write. Processes are killed with SIGKILL at random instants and replaced. Afterwards every line must stand
in the vault, and no more may be released than was promised. Writes docs/benchmarks/vault.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pyarrow as pa
from attrs import frozen

import jostle
from jostle.errors import BudgetError
from jostle.privacy.vault import FileVault

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks" / "vault.md"
ASKED = Fraction(1, 1000)
A_WHILE = 25 * ASKED
"""What a process promises itself before it opens the table anew."""


@frozen
class Outcome:
    """What one trial came to."""

    promise: Fraction
    seconds: float
    kills: int
    processes: int
    crashed: int
    reserved: int
    released: int
    unrecorded: int
    spent: Fraction
    intact: bool

    @property
    def held(self) -> bool:
        """Return whether the vault kept its word."""
        within = self.spent <= self.promise and self.released * ASKED <= self.promise
        whole = self.intact and self.spent == self.reserved * ASKED
        return within and whole and not self.unrecorded and not self.crashed

    @property
    def rate(self) -> float:
        """Return how many charges there were in a second."""
        return self.reserved / self.seconds


COLUMNS: dict[str, Callable[[Outcome], str]] = {
    "promise": lambda each: f"{float(each.promise):g}",
    "seconds": lambda each: f"{each.seconds:.0f}",
    "processes": lambda each: f"{each.processes:,}",
    "kills": lambda each: f"{each.kills:,}",
    "reserved": lambda each: f"{each.reserved:,}",
    "a second": lambda each: f"{each.rate:.0f}",
    "released": lambda each: f"{each.released:,}",
    "killed between": lambda each: f"{each.reserved - each.released:,}",
    "released, unrecorded": lambda each: f"{each.unrecorded}",
    "crashed": lambda each: f"{each.crashed}",
    "spent": lambda each: f"{float(each.spent):g}",
    "held": lambda each: "yes" if each.held else "NO",
}


READ_BEFORE = ["pyarrow", "narwhals", "jostle.tables.table", "jostle.privacy.opening", "jostle.privacy.probe"]
"""What processes are forked with, so that they ask soon, and not when they are killed already."""


def table_of(number: int) -> jostle.Table:
    """Return one of two tables about the same people, with other columns and other numbers of rows."""
    column = "xy"[number % 2]
    schema = jostle.Schema(
        {column: jostle.Categorical(["a", "b"])}, person="who", rows_per_person=1 + number % 2, people="everybody"
    )
    return jostle.Table.from_frame(pa.table({column: ["a", "b", "a"], "who": [1, 2, 3]}), schema)


def ask(vault: Path, folder: Path, until: float) -> None:
    """Charge the vault again and again; note each answer right after it was released."""
    table = table_of(os.getpid())
    name = f"process {os.getpid()}.{time.monotonic_ns()}"
    notes = os.open(folder / f"{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    number = 0
    while time.time() < until:
        try:
            db = jostle.protect(table, epsilon=A_WHILE, vault=vault)
            while time.time() < until:
                site = f"{name} count {number}"
                db.count(ASKED, site=site)
                os.write(notes, f"{site}\n".encode())
                number += 1
        except BudgetError:  # this opening's share is spent: open anew, while there is enough left for another
            if FileVault(vault).account().left < A_WHILE:
                return


def trial(seconds: float, processes: int, kills_a_second: float, promise: Fraction) -> Outcome:
    """Run one trial in a folder of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(READ_BEFORE)
    with tempfile.TemporaryDirectory() as name:
        folder, vault = Path(name), Path(name) / "trial.vault"
        _made(vault, table_of(0), promise)
        # The clock begins once the server that processes are forked from has read Jostle, which takes seconds.
        first = context.Process(target=time.sleep, args=(0,))
        first.start()
        first.join()
        until = time.time() + seconds
        start = time.monotonic()
        chance = random.Random(1)
        kills = 0
        started: list[ForkServerProcess] = []
        while time.time() < until:
            running = [process for process in started if process.is_alive()]
            while len(running) < processes:
                process = context.Process(target=ask, args=(vault, folder, until))
                process.start()
                running.append(process)
                started.append(process)
            time.sleep(chance.expovariate(kills_a_second))
            # On a machine that is busy, nobody would live to be answered.
            if not kills and not any(path.stat().st_size for path in folder.glob("process *.txt")):
                continue
            victim = chance.choice(running)
            if victim.pid is not None and victim.is_alive():
                os.kill(victim.pid, signal.SIGKILL)
                kills += 1
        for process in started:
            process.join()
        took = time.monotonic() - start
        notes = Counter(
            line
            for path in folder.glob("process *.txt")
            for line in path.read_text(encoding="utf-8").split("\n")
            if line
        )
        keeper = FileVault(vault)
        recorded = Counter(line.site for line in keeper.statement().reservations)
        with closing(sqlite3.connect(vault)) as connection:
            (check,) = connection.execute("PRAGMA integrity_check").fetchone()
        return Outcome(
            promise=promise,
            seconds=took,
            kills=kills,
            processes=len(started),
            crashed=sum(process.exitcode not in {0, -signal.SIGKILL} for process in started),
            reserved=recorded.total(),
            released=notes.total(),
            unrecorded=(notes - recorded).total(),
            spent=keeper.account().spent,
            intact=check == "ok",
        )


def _made(vault: Path, table: jostle.Table, promise: Fraction) -> None:
    """Make the vault in a process of its own, so that this one keeps nothing of it."""
    maker = multiprocessing.get_context("fork").Process(
        target=jostle.protect, args=(table,), kwargs={"epsilon": promise, "vault": vault}
    )
    maker.start()
    maker.join()


def main() -> None:
    """Run two trials, one that ends by the clock and one that ends by the budget, and write the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seconds", type=float, default=60)
    words.add_argument("--processes", type=int, default=16)
    words.add_argument("--kills-a-second", type=float, default=4)
    given = words.parse_args()
    outcomes = [
        trial(given.seconds, given.processes, given.kills_a_second, promise)
        for promise in (Fraction(1000), Fraction(1, 2))
    ]
    rows = [" | ".join(COLUMNS), " | ".join("---" for _ in COLUMNS)]
    rows += [" | ".join(column(each) for column in COLUMNS.values()) for each in outcomes]
    text = f"""# One vault, many processes, random kills

{given.processes} processes at a time charge {ASKED} each time, and open the table anew after every {A_WHILE / ASKED};
about {given.kills_a_second:g} of them a second are ended by SIGKILL and replaced. *Reserved* is what the vault holds;
*released* is what processes noted right after an answer. A process killed between the two leaves a reservation that was
not released, which is allowed; the reverse is not. The small promise is spent within seconds: after that,
processes only ask in vain until the time is up.

{chr(10).join(f"| {row} |" for row in rows)}

Made by `python benchmarks/vault.py`.
"""
    DOCS.write_text(text, encoding="utf-8")
    print(text)
    if not all(each.held for each in outcomes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
