"""That a server that is killed at any instant has released nothing that is not recorded, and loses no answer."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import httpx
import pytest
from processes import started
from serving import LIMIT, owner_file

from jostle.owner import client as client_of
from jostle.owner.client import connect
from jostle.owner.office import Office
from jostle.owner.rooms import LINE
from jostle.privacy.vault import FileVault

SERVE = "from jostle.cli import main; main()"
ASKED = Fraction(1, 1000)


class Process:
    """A server in a process of its own, which comes back whenever it is killed."""

    def __init__(self, path: Path, port: int, code: str = SERVE) -> None:
        self.path, self.url = path, f"http://127.0.0.1:{port}"
        self.held = ExitStack()
        """Of each process: it is ended in the end, however that comes."""
        self.begin(code)

    def begin(self, code: str = SERVE) -> None:
        words = ("-c", code, "serve", self.path)
        self.process = self.held.enter_context(started(*words, stdout=subprocess.DEVNULL))

    def be_there(self) -> None:
        """Wait until it answers."""
        until = time.monotonic() + LIMIT
        while True:
            try:
                httpx.post(f"{self.url}/v1/begin", timeout=LIMIT)
            except httpx.TransportError:
                assert self.process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """Kill it as it is, and begin another."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(LIMIT)
        self.begin()


def free_port() -> int:
    """Return a port where nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture
def path(tmp_path: Path) -> Path:
    port = free_port()
    return owner_file(tmp_path / "x", promise=1000, more=f'listen = "127.0.0.1:{port}"')


@pytest.fixture
def process(path: Path) -> Iterator[Process]:
    running = Process(path, int(path.read_text("utf-8").split("127.0.0.1:")[1].split('"')[0]))
    with running.held:
        running.be_there()
        yield running


def killed_at_random(path: Path, process: Process, clients: int, kills: int, seconds: float, seed: int) -> None:
    """Let clients ask while the server is killed; compare what they were told with what the vault and the log have."""
    office, chance = Office.read(path), random.Random(seed)
    tokens = [office.make_key(f"client{number}", "analyst")[0] for number in range(clients)]
    for number in range(clients):
        office.give_share("visits", f"client{number}", 10)
    told: Counter[int] = Counter()
    failures: list[BaseException] = []
    over = threading.Event()

    def ask(number: int) -> None:
        try:
            db = connect(process.url, token=tokens[number], again=True)
            while not over.is_set():
                db.count(ASKED)
                told[number] += 1
        except BaseException as failure:
            failures.append(failure)
            raise

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        time.sleep(chance.random() * seconds)
        process.kill()
        process.be_there()
    time.sleep(seconds / 2)
    over.set()
    for thread in threads:
        thread.join(10 * LIMIT)
        assert not thread.is_alive()
    assert failures == []
    assert sum(told.values()) > clients
    check(office, told)
    office.close()


def check(office: Office, told: Counter[int]) -> None:
    """Every answer is in the vault, once; and nothing else is: what was charged and lost was fetched again."""
    lines = FileVault(office.tables["visits"].vault).statement().reservations
    found = [LINE.fullmatch(line.site) for line in lines]
    marks = Counter(each[2] for each in found if each)
    assert len(marks) == len(lines)
    assert set(marks.values()) == {1}
    assert {line.epsilon for line in lines} == {ASKED}
    by_share = Counter(int(each[1]) - 1 for each in found if each)
    assert by_share == told
    with office.state() as state:
        for share in state.shares.values():
            assert share.spent <= by_share[share.number - 1] * ASKED, "the log has no more than the vault"


@pytest.mark.slow
def test_many_kills_under_many_clients(path: Path, process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_of, "TRYING", 10 * LIMIT)  # a server that is killed as soon as it is there comes back
    killed_at_random(path, process, clients=16, kills=10, seconds=4, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["charged", "noted"])
def test_what_was_charged_and_never_kept_is_drawn_without_a_second_charge(
    path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that ends itself at the worst instants, once for each, and is asked the same again."""
    ends = {
        "charged": "from jostle.owner.rooms import Work; Work.settle = lambda *_: os._exit(9)",
        "noted": "from jostle.owner.answers import Answers; Answers._put = lambda *_: os._exit(9)",
    }[step]
    office = Office.read(path)
    token, _ = office.make_key("anna", "analyst")
    office.give_share("visits", "anna", ASKED)  # all of it, so that a second charge would be refused
    port = int(path.read_text("utf-8").split("127.0.0.1:")[1].split('"')[0])
    monkeypatch.setattr(client_of, "BEGINNING", LIMIT)  # starting takes long on a machine that has much to do
    dying = Process(path, port, f"import os; {ends}\n{SERVE}")
    url, answers = f"http://127.0.0.1:{port}", []

    def ask() -> None:
        db = connect(url, token=token)
        answers.append((int(db.count(ASKED)), str(db.left)))

    asking = threading.Thread(target=ask)
    asking.start()
    with dying.held:
        assert dying.process.wait(LIMIT) == 9
        dying.begin()
        asking.join(LIMIT)
        assert len(answers) == 1
        assert answers[0][1] == "0"
        check(office, Counter({0: 1}))
    office.close()
