"""What the server does beside answering: what is read again, who may ask by now, and what a reply tells."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from serving import Served, owner_file, serving
from small_tables import program
from test_wire import message, spent

import jostle
from jostle.errors import AccessError, BudgetError, ProbeError, UnpaidWarning, VaultError, WaitingError
from jostle.options import get
from jostle.owner import log as log_of
from jostle.owner import server as server_of
from jostle.owner.client import connect
from jostle.owner.rooms import LINE
from jostle.owner.server import Workers, _on_one_core, until_grid
from jostle.owner.together import Together
from jostle.owner.wire import said
from jostle.privacy.mechanisms import AddNoise, AddNoiseAbove
from jostle.privacy.vault import FileVault
from jostle.tables.engines import MemorySource
from jostle.tables.kernels import Counts, SparseCounts


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(owner_file(tmp_path / "x")) as server:
        yield server


# What is read again


def test_what_was_released_is_read_again_for_nothing_by_whoever_may_ask_it(served: Served) -> None:
    one, other = served.connected("one"), served.connected("other")
    first = one.histogram("region", epsilon=1)
    assert other.histogram("region", epsilon=1).tolist() == first.tolist()
    assert [one.spent, other.spent] == [1, 0]
    north = one.where("region", "north").count(1)
    assert other.parts("region")[0].count(1) == north, "the same rows, by another way"
    assert [one.spent, other.spent] == [2, 0]
    with pytest.raises(ProbeError, match="can no longer be refined"):
        other.histogram("region", epsilon=1).refine(epsilon=2)
    assert [line.epsilon for line in reservations(served)] == [1, 1]


def reservations(served: Served) -> Any:
    """Return the lines of the vault."""
    return FileVault(served.office.tables["visits"].vault).statement().reservations


@pytest.mark.parametrize("change", ["epsilon", "conditions", "portion", "again", "kernel"])
def test_what_differs_is_bought(served: Served, change: str) -> None:
    token = served.token("one")
    db = connect(served.url, token=token)
    db.count(1)
    db.portions(2)[0].count(1)
    before = db.spent
    asks: dict[str, Callable[[], object]] = {
        "epsilon": lambda: db.count("1/2"),
        "conditions": lambda: db.where("region", "north").count(1),
        "portion": lambda: db.portions(2)[0].count(1),
        "again": lambda: connect(served.url, token=token, again=True).count(1),
        "kernel": lambda: db.histogram("age", epsilon=1),
    }
    asks[change]()
    lines = len(reservations(served))
    assert (db.spent > before) is (change != "again")
    assert lines == 3


def test_options_and_programs_read_nothing_again(served: Served) -> None:
    db = served.connected("one", 50)
    option: Any = get("Identity")
    asked = [option(db.only("age"), epsilon=1).cells.tolist() for _ in range(6)]
    assert len({tuple(each) for each in asked}) > 1
    made = program("def answer(db):\n    return noisyCount(db, epsilon)\n")
    assert len({made.run("answer", db, epsilon=Fraction(1, 100)) for _ in range(6)}) > 1
    assert db.spent == 6 + Fraction(6, 100)


def test_a_reader_is_charged_where_nobody_is_taken_to_tell_another(tmp_path: Path) -> None:
    with serving(owner_file(tmp_path / "x", more="assume_no_collusion = true")) as served:
        with pytest.warns(UnpaidWarning, match="adds up as soon as they tell each other"):
            one, other = served.connected("one", 3), served.connected("other", 3)
        first = one.count(1)
        assert other.count(1) == first
        assert other.left == 2


# Who may ask by now


def test_whoever_is_revoked_asks_nothing_more_with_any_handle(served: Served) -> None:
    db = served.connected("one")
    part, allotted = db.where("region", "north"), db.allot(1)
    with served.office.state() as state:
        (number,) = state.shares
    served.office.revoke_share(number, "the project has ended")
    for ask in (lambda: db.count(1), lambda: part.count(1), lambda: allotted.count("1/2"), lambda: db.spent):
        with pytest.raises(AccessError):
            ask()
    served.office.give_share("visits", "one", 5)
    with pytest.raises(AccessError, match="unknown"):
        part.count(1)


def test_a_token_that_is_revoked_is_refused_at_the_next_request(served: Served) -> None:
    token = served.token("one")
    sent = message(served, token)
    assert "answer" in served.post("ask", sent, token).json()
    served.office.revoke(served.office.asker(token).handle)
    assert served.post("ask", sent, token).status_code == 403, "not even what it was told before"


def test_shares_of_one_promise_are_kept_apart_and_what_is_not_spent_returns(served: Served) -> None:
    one, other = served.connected("one", 60), served.connected("other", 40)
    one.count(59)
    with pytest.raises(BudgetError, match="1 is left"):
        one.count(2, site="more")
    other.count(1)
    assert [one.left, other.left] == [1, 39]
    with served.office.state() as state:
        number = next(each.number for each in state.shares.values() if each.holder == "other")
    served.office.revoke_share(number, "the project has ended")
    assert served.office.free("visits") == 39
    assert served.connected("third", 39).left == 39


def test_two_sessions_of_one_share_spend_it_together(served: Served) -> None:
    token = served.token("one", 2)
    first, second = (connect(served.url, token=token, again=True) for _ in range(2))
    first.count(1)
    assert second.left == 1
    second.count(1)
    with pytest.raises(BudgetError):
        first.count("1/2")


def failing_at(failing: str, served: Served, patched: pytest.MonkeyPatch) -> None:
    """Let something go wrong once the vault has taken a charge."""
    whole = FileVault.pay_each

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def pay_each(vault: FileVault, charges: Any) -> Any:
        refusals = whole(vault, charges)
        if failing == "the vault":
            raise VaultError("the disk is full")
        if failing == "the key":
            with served.office.state() as state:
                (key,) = state.keys
            served.office.revoke(key)
        return refusals

    patched.setattr(FileVault, "pay_each", pay_each)
    if failing == "the log":
        patched.setattr(log_of, "_put", full)


@pytest.mark.parametrize("failing", ["the log", "the vault", "the key"])
def test_what_the_vault_took_counts_in_its_share_whatever_goes_wrong_afterwards(
    served: Served, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = served.connected("one", 1)
    with monkeypatch.context() as patched:
        failing_at(failing, served, patched)
        with pytest.raises((VaultError, AccessError)):
            db.count("3/5")
    assert [line.epsilon for line in reservations(served)] == [Fraction(3, 5)]
    token, _ = served.office.make_key("one", "analyst")  # in time, of whom the old one was revoked
    again = connect(served.url, token=token, again=True)
    assert again.left == Fraction(2, 5)
    with pytest.raises(BudgetError):
        again.count("1/2")
    again.count("2/5")
    assert sum(line.epsilon for line in reservations(served)) == 1


def test_what_waits_is_answered_once_the_owner_approves_and_was_not_computed_before(tmp_path: Path) -> None:
    with serving(owner_file(tmp_path / "x", more="[approval]\nabove = '1'\n")) as served:
        token = served.token("one")
        with pytest.raises(WaitingError):
            connect(served.url, token=token, patience=0).count(2, site="the words of a client")
        assert reservations(served) == ()
        with served.office.state() as state:
            (request,) = state.requests.values()
        assert "words" not in request.wait.request
        served.office.decide(request.wait.number, approve=True)
        assert connect(served.url, token=token, patience=0).count(2)
        assert [line.epsilon for line in reservations(served)] == [2]


def test_nobody_waits_for_the_owner_who_cannot_pay(tmp_path: Path) -> None:
    with serving(owner_file(tmp_path / "x", more="[approval]\nabove = '1/2'\n")) as served:
        db = connect(served.url, token=served.token("one", 1))
        with pytest.raises(BudgetError, match="asks for epsilon 2, but 1 is left"):
            db.count(2)
        with served.office.state() as state:
            assert not state.requests


def test_whoever_waits_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds in ("PATIENCE", "APART"):
        monkeypatch.setattr(f"jostle.progress.{seconds}", 0.0)
    with serving(owner_file(tmp_path / "x", more="[approval]\nabove = '1/2'\n")) as served:
        db = connect(served.url, token=served.token("one", 1), patience=0.5)
        with pytest.raises(WaitingError):
            db.count(1)
    assert "request 1 waits until the owner of the data decides" in capsys.readouterr().err


def test_of_several_tables_one_is_named(tmp_path: Path) -> None:
    path = owner_file(tmp_path / "x")
    path.write_text(
        f'{path.read_text("utf-8")}\n[tables.more]\ndata = "visits.csv"\nschema = "visits.toml"\npromise = "1"\n'
        'vault = "more.vault"\n'
    )
    with serving(path) as served:
        token = served.token("one", 1)
        assert connect(served.url, token=token).schema
        served.office.give_share("more", "one", 1)
        with pytest.raises(AccessError, match="2 tables are shared"):
            connect(served.url, token=token)
        assert connect(served.url, token=token, table="visits").schema
        with pytest.raises(AccessError):
            connect(served.url, token=token, table="none")


# What outlives the process


def test_a_session_goes_on_with_the_whole_table_when_the_server_starts_anew(tmp_path: Path) -> None:
    path = owner_file(tmp_path / "x")
    with serving(path) as served:
        token = served.token("one", 3)
        sent = message(served, token)
        first = served.post("ask", sent, token).json()
        begun = served.post("ask", sent | {"key": "k" * 20, "question": "allot", "details": ["1", "a"]}, token).json()
    with serving(path) as served:
        assert served.post("ask", sent, token).json() == first
        (part,) = begun["handles"]
        assert served.post("ask", sent | {"key": "l" * 20, "handle": part["handle"]}, token).status_code == 403
        assert "answer" in served.post("ask", sent | {"key": "m" * 20}, token).json()
        with pytest.raises(BudgetError, match="4/3 is left"):
            connect(served.url, token=token).count(2)
    assert [LINE.fullmatch(line.site) is not None for line in reservations(served)] == [True] * 3


def test_an_answer_that_could_not_be_kept_is_not_sent_and_not_drawn_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = served.token("one")
    sent = message(served, token)
    served.post("look", sent, token)
    failing = True

    def put(given: Any) -> Any:
        if failing:
            raise jostle.errors.VaultError("the disk is full")
        return whole(given)

    whole = served.server._answers.put
    monkeypatch.setattr(served.server._answers, "put", put)
    refused = served.post("ask", sent, token).json()
    assert "owner's files" in refused["error"]["title"]
    assert spent(served, token, sent) == "1/3"
    failing = False
    assert "answer" in served.post("ask", sent, token).json()
    assert spent(served, token, sent) == "1/3"


# What a reply tells


@pytest.mark.parametrize(("passed", "waits"), [(0, 0.05), (0.05, 0), (0.051, 0.049), (0.9, 0.7), (100, 2.4)])
def test_replies_leave_at_points_of_a_grid(passed: float, waits: float) -> None:
    assert until_grid(passed, 0.05) == pytest.approx(waits)
    assert until_grid(passed, 0) == 0


def test_refused_by_the_ledger_failed_among_rows_and_answered_have_one_status(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = served.token("one")
    sent = message(served, token)
    replies = [served.post("ask", sent, token)]
    dear = said("perform", (AddNoise(Counts.of()), 1000, "dear"), 1)
    replies.append(served.post("ask", sent | {"key": "k" * 20, "details": dear}, token))
    monkeypatch.setattr(MemorySource, "tally", lambda *_: 1 / 0)
    other = said("perform", (AddNoise(Counts.of("age")), 1, "other"), 1)
    replies.append(served.post("ask", sent | {"key": "l" * 20, "details": other}, token))
    assert [each.status_code for each in replies] == [200] * 3
    assert "ZeroDivision" not in replies[2].text
    monkeypatch.undo()
    for key in ("m" * 20, "n" * 20):  # the room is closed, and a new session opens no other
        closed = served.post("ask", sent | {"key": key}, token).json()
        assert "among the rows" in closed["error"]["title"]
        with pytest.raises(ProbeError, match="among the rows"):
            connect(served.url, token=token).count(1)
    assert served.connected("another").count(1) is not None


def test_an_answer_too_long_is_refused_before_it_is_charged(served: Served) -> None:
    db = served.connected("one")
    with pytest.raises(jostle.JostleError):
        db.perform(AddNoiseAbove(SparseCounts(("age",) * 9), 0), "1/1000", site="long")
    assert db.spent == 0


def test_a_long_question_does_not_stop_short_ones(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many long ones as there are threads for them wait until a short one is answered."""
    answered, begun = threading.Event(), threading.Semaphore(0)
    whole = server_of.Server._in

    def at(self: Any, token: str, sent: Any, form: Any) -> Any:
        if sent["question"] == "select":
            begun.release()
            assert answered.wait(20)
        return whole(self, token, sent, form)

    token = served.token("one")
    sent = message(served, token) | {"question": "select"}
    monkeypatch.setattr(server_of.Server, "_in", at)
    selects = [threading.Thread(target=served.post, args=("ask", sent, token)) for _ in range(server_of.LONG)]
    for each in selects:
        each.start()
    for _ in selects:
        assert begun.acquire(timeout=20)
    monkeypatch.undo()
    assert served.connected("other").count(1) is not None
    answered.set()
    for each in selects:
        each.join(20)


def test_what_is_wanted_at_once_is_done_together() -> None:
    began, go = threading.Event(), threading.Event()
    batches: list[list[int]] = []

    def work(items: Any) -> list[int]:
        batches.append(list(items))
        began.set()
        assert go.wait(20)
        return [each * each for each in items]

    together: Together[int, int] = Together(work)
    found: dict[int, int] = {}
    threads = [threading.Thread(target=lambda each=each: found.update({each: together(each)})) for each in range(9)]
    threads[0].start()
    assert began.wait(20)
    for thread in threads[1:]:
        thread.start()
    until = time.monotonic() + 20
    while len(together._waiting) < 8 and time.monotonic() < until:
        time.sleep(0.001)
    go.set()
    for thread in threads:
        thread.join(20)
    assert found == {each: each * each for each in range(9)}
    assert sorted(map(len, batches)) == [1, 8]


def test_nothing_of_it_is_loaded_with_jostle() -> None:
    parts = ("httpx", "starlette", "uvicorn", "jwt", "prometheus_client")
    text = "import jostle, sys; jostle.Schema; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True)
    loaded = done.stdout.split()
    assert [each for each in loaded if each.split(".")[0] in parts or each.startswith("jostle.owner")] == []


# Where threads run


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say where threads run")
def test_short_questions_are_on_the_loop_s_core_and_long_ones_on_any() -> None:
    async def places() -> list[set[int]]:
        with _on_one_core():
            return [os.sched_getaffinity(0), *[await pool.do(lambda: os.sched_getaffinity(0)) for pool in pools]]

    before = os.sched_getaffinity(0)
    pools = Workers(1), Workers(1, before)
    loop, short, long_ = asyncio.run(places())
    for pool in pools:
        pool.end()

    assert len(loop) == 1
    assert (short, long_, os.sched_getaffinity(0)) == (loop, before, before)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say where threads run")
def test_a_system_that_keeps_threads_where_they_are_is_served_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError("not here")

    async def answered() -> list[int]:
        with _on_one_core():
            return [await pool.do(lambda: 7) for pool in pools]

    pools = Workers(1), Workers(1, os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_setaffinity", refused)
    found = asyncio.run(asyncio.wait_for(answered(), 30))
    for pool in pools:
        pool.end()
    assert found == [7, 7]
