"""Ask a server for counts from 200 analysts at once, on ten million rows: how many a second, and how long each waits.

    python benchmarks/owner.py [--rows 10000000] [--analysts 200] [--seconds 30] [--padding 0.05] [--long]

The server is a process of its own, as `jostle serve` runs one, with its vault, audit log and answers on this disk. The
analysts are one process with a connection for each of them, that asks anew as soon as it is answered: by turns for the
number of rows, by region, by age, and by both. With --long, four more run `SelectPrivately` meanwhile. Writes
docs/benchmarks/owner.md unless --dry.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen

import jostle
from jostle.options import get
from jostle.owner.office import Office
from jostle.owner.wire import MSGPACK, said
from jostle.privacy.mechanisms import AddNoise
from jostle.tables.kernels import Counts

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks" / "owner.md"
SCHEMA = jostle.Schema(
    {
        "region": jostle.Categorical(["north", "east", "south", "west"]),
        "age": jostle.Numeric(0, 100, bins=20),
        "smokes": jostle.Categorical(["no", "yes"]),
    },
    label="smokes",
)
ASKED = "1/1000000"
HEAD = (
    "| rows | analysts | padding | long questions beside | answers a second | processor time each | switches each "
    "| median wait | 95% | 99% |"
)
KERNELS = (Counts.of(), Counts.of("region"), Counts.of("age"), Counts.of("region", "age"))
PORT = 8799
PATIENCE = 300


@frozen
class Figures:
    """What one run came to."""

    rows: int
    analysts: int
    padding: float
    long: bool
    a_second: float
    worked: float
    """Seconds of processor time of the server, for each answer."""
    switches: float
    """How often one of its threads waited for something, for each answer."""
    waits: tuple[float, ...]
    """Of every request, in seconds."""

    def at(self, share: float) -> float:
        """The wait that a share of requests do not pass."""
        return float(np.quantile(self.waits, share))


def made(folder: Path, rows: int, padding: float) -> Path:
    """Make the rows, and what serves them."""
    chance = np.random.default_rng(1)
    table = {
        "region": pa.DictionaryArray.from_arrays(
            pa.array(chance.integers(0, 4, rows, dtype=np.int8)), pa.array(["north", "east", "south", "west"])
        ),
        "age": chance.integers(0, 100, rows).astype(np.float32),
        "smokes": pa.DictionaryArray.from_arrays(
            pa.array(chance.integers(0, 2, rows, dtype=np.int8)), pa.array(["no", "yes"])
        ),
    }
    pq.write_table(pa.table(table), folder / "people.parquet")
    SCHEMA.write(folder / "people.toml")
    path = folder / "owner.toml"
    path.write_text(
        f'listen = "127.0.0.1:{PORT}"\npadding = {padding}\n[tables.people]\ndata = "people.parquet"\n'
        'schema = "people.toml"\npromise = "100000"\n'
    )
    return path


class Connection:
    """One analyst's connection, kept open."""

    def __init__(self, url: str, token: str) -> None:
        self.place = urlsplit(url)
        self.head = (
            f"host: {self.place.netloc}\r\nauthorization: Bearer {token}\r\ncontent-type: {MSGPACK.content}\r\n"
        ).encode()

    async def open(self) -> None:
        """Connect, and begin a session."""
        self.reader, self.writer = await asyncio.open_connection(self.place.hostname, self.place.port)
        begun = MSGPACK.read(await self.post("begin", MSGPACK.write({})), None)
        self.session = {"session": begun["session"], "handle": begun["handle"], "question": "perform"}

    async def post(self, path: str, body: bytes) -> bytes:
        """The reply to a message."""
        self.writer.write(
            b"POST /v1/%s HTTP/1.1\r\n%scontent-length: %d\r\n\r\n%s" % (path.encode(), self.head, len(body), body)
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return await self.reader.readexactly(length)

    async def ask(self, details: list[Any]) -> None:
        """Ask a question, and see that it was answered."""
        reply = await self.post(
            "ask", MSGPACK.write({**self.session, "details": details, "key": secrets.token_hex(16)})
        )
        if b"error" in reply:
            raise SystemExit(str(MSGPACK.read(reply, None)))


async def asked(url: str, tokens: Sequence[str], seconds: float) -> list[float]:
    """Ask for so long, from all analysts at once; return how long each request took."""
    questions = [said("perform", (AddNoise(kernel), ASKED, "n"), 1, MSGPACK) for kernel in KERNELS]
    waits: list[float] = []
    connections = [Connection(url, token) for token in tokens]

    async def begin(each: Connection) -> None:
        await each.open()
        await each.ask(questions[0])

    await asyncio.gather(*map(begin, connections))
    until = time.monotonic() + seconds

    async def go_on(number: int, each: Connection) -> None:
        while (begun := time.monotonic()) < until:
            await each.ask(questions[(number := number + 1) % len(questions)])
            waits.append(time.monotonic() - begun)

    await asyncio.gather(*(go_on(number, each) for number, each in enumerate(connections)))
    return waits


def selecting(url: str, token: str) -> None:
    """Run a private selection, for as long as the server is there."""
    db, option = jostle.connect(url, token=token), get("SelectPrivately")
    chosen: Callable[..., Any] = option
    with suppress(jostle.JostleError):
        while True:
            chosen(db, epsilon=1)


def measured(rows: int, analysts: int, seconds: float, padding: float, *, long: bool) -> Figures:
    """Serve, ask, and measure."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("JOSTLE_BENCH")) as folder:
        path = made(Path(folder), rows, padding)
        office = Office.read(path)
        tokens = []
        for number in range(analysts + 4):
            tokens.append(office.make_key(f"analyst{number}", "analyst")[0])
            office.give_share("people", f"analyst{number}", 400)
        url = f"http://127.0.0.1:{PORT}"
        process = subprocess.Popen([sys.executable, "-m", "jostle", "serve", str(path)], stdout=subprocess.DEVNULL)
        try:
            wait(url, process)
            jostle.connect(url, token=tokens[0]).count("1/1000")  # rows are read, once
            for each in tokens[analysts:] if long else ():
                threading.Thread(target=selecting, args=(url, each), daemon=True).start()
            before, switched = worked(process.pid), switches(process.pid)
            waits = asyncio.run(asked(url, tokens[:analysts], seconds))
            each_took = (worked(process.pid) - before) / len(waits)
            each_waited = (switches(process.pid) - switched) / len(waits)
        finally:
            process.kill()
            process.wait()
            office.close()
    return Figures(rows, analysts, padding, long, len(waits) / seconds, each_took, each_waited, tuple(waits))


def worked(process: int) -> float:
    """Return the processor time that a process has had, in seconds."""
    user, system = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def switches(process: int) -> int:
    """Return how often threads of a process let the processor go, of themselves or not."""
    lines = [each.read_text("utf-8") for each in Path(f"/proc/{process}/task").glob("*/status")]
    return sum(int(line.split()[1]) for text in lines for line in text.splitlines() if "ctxt_switches" in line)


def wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers."""
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:
            httpx.post(f"{url}/v1/begin", timeout=PATIENCE)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server did not begin")


def page(all_figures: Sequence[Figures]) -> str:
    """Return what is written of it."""
    lines = [
        "# A server under load",
        "",
        "Made by `benchmarks/owner.py`. Analysts count rows: all of them, by region, by age, and by both.",
        "Each answer is charged in the vault, written in the audit log and kept on the disk. Then it is sent.",
        f"Analysts and server shared the machine's {os.cpu_count()} cores with other work.",
        f"{os.getloadavg()[1]:.0f} processes wanted one at once. What an answer takes of a core hangs less on that.",
        "1,000 answers a second, of which 95% take at most 0.5 s, were aimed at.",
        "",
        HEAD,
        "|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for each in all_figures:
        waits = " | ".join(f"{each.at(share):.3f} s" for share in (0.5, 0.95, 0.99))
        beside = "4 private selections" if each.long else "none"
        lines.append(
            f"| {each.rows:,} | {each.analysts} | {each.padding} s | {beside} | {each.a_second:,.0f} "
            f"| {each.worked * 1000:.2f} ms | {each.switches:.0f} | {waits} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--analysts", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--padding", type=float, default=0.05)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--dry", action="store_true")
    given = parser.parse_args()
    found = [measured(given.rows, given.analysts, given.seconds, given.padding, long=False)]
    if given.long:
        found.append(measured(given.rows, given.analysts, given.seconds, given.padding, long=True))
    text = page(found)
    sys.stdout.write(text)
    if not given.dry:
        DOCS.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
