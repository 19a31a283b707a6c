"""Vaults remember every reservation, whatever happens to the process, the disk or the file."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from processes import LIMIT, child_limit, ran, started, together

from jostle.errors import BudgetError, VaultError
from jostle.privacy import vault_file
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault, MemoryVault, Reservation, TableAccount, Vault

TENTH = Fraction(1, 10)
SQLITE = b"SQLite format 3\0" + b"\0" * 5000

OPEN = """
import os, sys
from fractions import Fraction
from jostle.errors import JostleError
from jostle.privacy.account import TableFacts
from jostle.privacy.vault import FileVault
vault = FileVault(sys.argv[1])
"""
OPENED = OPEN + 'payer = vault.open(Fraction(1), TableFacts(("a", "b")))\n'


def opened(path: Path, promise: Fraction | int = 1) -> TableAccount:
    """Return an account that is ready to be spent from."""
    return FileVault(path).open(Fraction(promise), TableFacts(("a", "b")))


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    return ran("-c", code, *arguments)


def in_a_fork(action: Callable[[], object]) -> str:
    """Return what a forked copy of this process gets from the action, as text; of an error, its kind."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        child_limit()
        answer = "died"
        try:
            answer = str(action())
        except BaseException as error:  # noqa: BLE001 - whatever it is, the parent hears of it
            answer = type(error).__name__
        finally:
            os.write(writing, answer.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.vault"


def both(path: Path) -> list[Vault]:
    return [MemoryVault(), FileVault(path)]


def test_the_first_promise_is_the_one_that_holds(path: Path) -> None:
    for vault in both(path):
        payer = vault.open(Fraction(1), TableFacts(("a",)))
        assert payer.share == 1
        payer.pay(Fraction("0.9"), "much")

        with pytest.raises(BudgetError, match=r"0\.1 is left") as refusal:
            vault.open(Fraction(100), TableFacts(("a",)))
        assert refusal.value.facts().items() >= {"requested": 100, "left": TENTH, "promise": 1}.items()
        with pytest.raises(BudgetError, match=r"0\.1 is left") as refusal:
            payer.pay(Fraction("0.2"), "more")
        assert refusal.value.facts().items() >= {"requested": 2 * TENTH, "left": TENTH, "promise": 1}.items()
        payer.pay(TENTH, "the rest")
        with pytest.raises(BudgetError, match="0 is left"):
            payer.pay(Fraction(1, 10**9), "anything")


@pytest.mark.parametrize(
    ("requested", "given"),
    [("1", "0.4"), (None, "0.4"), ("0.5", "0.4"), ("0.4", "0.4"), ("0.3", "0.3"), ("2", None), ("1.0001", None)],
)
def test_whoever_opens_it_again_gets_what_is_left_or_the_part_asked_for(
    path: Path, requested: str | None, given: str | None
) -> None:
    for vault in both(path):
        payer = vault.open(Fraction(1), TableFacts(("a",)))
        payer.pay(Fraction("0.6"), "much")
        asked = None if requested is None else Fraction(requested)
        if given is None:
            with pytest.raises(BudgetError, match=r"0\.4 is left") as refusal:
                vault.open(asked, TableFacts(("a",)))
            assert "raise" in (refusal.value.fix or "")
        else:
            assert vault.open(asked, TableFacts(("a",))).share == Fraction(given)


def test_nothing_is_opened_without_a_promise_or_once_it_is_spent(path: Path) -> None:
    for vault in both(path):
        with pytest.raises(BudgetError, match="no epsilon is promised"):
            vault.open(None, TableFacts(("a",)))
        payer = vault.open(Fraction(1), TableFacts(("a",)))
        payer.pay(Fraction(1), "all")
        for requested in (None, Fraction(1), TENTH):
            with pytest.raises(BudgetError, match="0 is left"):
                vault.open(requested, TableFacts(("a",)))


def test_amounts_are_never_given_back(path: Path) -> None:
    for vault in both(path):
        payer = vault.open(Fraction(1), TableFacts(("a",)))
        with pytest.raises(BudgetError):
            payer.pay(-TENTH, "back")


def test_nothing_is_paid_from_a_vault_that_was_not_opened(path: Path) -> None:
    payer = FileVault(path).open(Fraction(1), TableFacts(("a",)))
    for vault in both(path):
        with pytest.raises(VaultError, match="not opened"):
            vault.pay(payer, TENTH, "early")


def test_amounts_under_two_neighbour_relations_do_not_add_up(path: Path) -> None:
    for vault in both(path):
        vault.open(Fraction(1), TableFacts(("a",)))
        with pytest.raises(VaultError, match="under add_remove"):
            vault.open(Fraction(1), TableFacts(("a",), "replace_one"))


def test_another_process_sees_what_was_spent(path: Path) -> None:
    opened(path).pay(Fraction(1, 3), "here")
    done = python(OPENED + 'payer.pay(Fraction(1, 3), "there"); print(os.getpid())', path)

    assert done.returncode == 0, done.stderr
    assert FileVault(path).account().spent == Fraction(2, 3)
    here, there = FileVault(path).statement().reservations
    assert (here.process, here.site, there.process, there.site) == (os.getpid(), "here", int(done.stdout), "there")


def test_a_reservation_outlives_a_process_that_dies_before_its_answer(path: Path) -> None:
    """The answer never came out; what it would have cost stays spent."""
    assert python(OPENED + 'payer.pay(Fraction(1, 2), "lost"); os._exit(9)', path).returncode == 9
    assert FileVault(path).account().spent == Fraction(1, 2)


def test_a_process_that_is_killed_in_the_middle_of_a_reservation_leaves_the_vault_usable(path: Path) -> None:
    middle = """
from jostle.privacy.vault_file import writing
with writing(vault.path) as connection:
    connection.execute(sys.argv[2])
    print("half way", flush=True)
    sys.stdin.read()
"""
    words = ("-c", OPENED + middle, path, "UPDATE accounts SET neighbours = 'half way'")
    with started(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half way\n"
        process.send_signal(signal.SIGKILL)
        process.wait(LIMIT)

    vault = opened(path)
    vault.pay(TENTH, "after")
    assert FileVault(path).account().spent == TENTH


def test_where_the_disk_is_full_nothing_is_reserved_and_so_nothing_released(path: Path) -> None:
    """A limit on the size of files stands for the disk: writing beyond it fails in the same place."""
    vault = opened(path)
    step = Fraction(1, 1000)

    def pay_until_full(limit: int) -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        for paid in range(100):
            try:
                vault.pay(step, "a long name for a place" * 200)
            except VaultError:
                return paid
        return 100

    paid_at_all = set()
    for limit in (100, 4096, 20_000, 40_000, 60_000):
        before = FileVault(path).account().spent
        paid = int(in_a_fork(partial(pay_until_full, limit)))

        assert paid < 100, limit
        assert FileVault(path).account().spent == before + paid * step
        paid_at_all.add(paid > 0)
    assert paid_at_all == {False, True}
    vault.pay(step, "once there is room again")


def test_a_vault_that_may_not_be_written_gives_nothing() -> None:
    def as_anybody(action: Callable[[], object]) -> None:
        if os.getuid() == 0:
            os.setuid(65534)  # the superuser may write anything
        action()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.vault"
        vault = opened(path)
        vault.pay(TENTH, "before")
        path.chmod(0o400)
        path.parent.chmod(0o755)

        assert in_a_fork(lambda: as_anybody(lambda: opened(path))) == "VaultError"
        assert in_a_fork(lambda: as_anybody(lambda: vault.pay(TENTH, "more"))) == "VaultError"
        assert FileVault(path).account().spent == TENTH


@pytest.mark.parametrize(
    "content", [b"x" * size for size in (1, 99, 100, 511, 512, 4095, 8192)] + [SQLITE, SQLITE[:200]]
)
def test_a_file_of_another_kind_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    with pytest.raises(VaultError):
        opened(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused_and_left_alone(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE account (name TEXT)")
    connection.close()
    content = path.read_bytes()

    with pytest.raises(VaultError, match="no vault"):
        opened(path)
    with pytest.raises(VaultError, match="no vault"):
        FileVault(path).account()
    assert path.read_bytes() == content
    assert sorted(path.parent.iterdir()) == [path]


def test_an_odd_name_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory#%2f b.vault"
    opened(path).pay(TENTH, "here")

    assert path.exists()
    assert FileVault(path).account().spent == TENTH


def test_a_vault_that_was_deleted_gives_nothing(path: Path) -> None:
    vault = opened(path)
    vault.pay(TENTH, "before")
    path.unlink()

    for _ in range(2):
        with pytest.raises(VaultError, match="gone"):
            vault.pay(TENTH, "after")
        with pytest.raises(VaultError, match="gone"):
            vault.vault.open(Fraction(1), TableFacts(("a", "b")))
    assert not path.exists()


def test_another_vault_in_its_place_gives_nothing(tmp_path: Path, path: Path) -> None:
    vault = opened(path)
    vault.pay(TENTH, "before")
    path.unlink()
    opened(path)  # a new one, with all of its promise left

    for _ in range(2):
        with pytest.raises(VaultError, match="another file"):
            vault.pay(TENTH, "after")
    path.write_bytes(b"")
    with pytest.raises(VaultError):
        vault.pay(TENTH, "after")
    assert list(tmp_path.iterdir()) == [path]


def test_a_vault_that_was_emptied_is_not_taken_for_a_new_one(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vault_file, "BEGINNING", 0.1)
    spender = opened(path)
    spender.pay(Fraction(1), "all of it")
    path.write_bytes(b"")

    for ask in (
        partial(opened, path),
        partial(FileVault(path).open, None, TableFacts(("a", "b"))),
        partial(FileVault(path).create, Fraction(1), TableFacts()),
        partial(FileVault(path).raise_promise, Fraction(2), "more"),
        partial(spender.pay, TENTH, "more"),
        FileVault(path).account,
    ):
        with pytest.raises(VaultError, match="is empty") as caught:
            ask()
        assert f"rm {path}" in str(caught.value.fix)
    assert path.read_bytes() == b""
    assert list(tmp_path.iterdir()) == [path]
    path.unlink()
    assert opened(path).share == 1


def test_who_finds_a_vault_that_is_being_made_waits_for_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = threading.Event()
    begin = vault_file._connected

    def connected(path: Path) -> sqlite3.Connection:
        if not made.is_set() and not path.stat().st_size:
            made.set()
            time.sleep(0.3)
        return begin(path)

    monkeypatch.setattr(vault_file, "_connected", connected)
    first = threading.Thread(target=opened, args=(path,))
    first.start()
    assert made.wait(LIMIT)
    assert FileVault(path).account().promise == 1
    opened(path).pay(TENTH, "second")
    first.join(LIMIT)
    assert FileVault(path).account().spent == TENTH


@pytest.mark.parametrize("wrong", [KeyboardInterrupt(), sqlite3.OperationalError("disk full")])
def test_who_is_stopped_before_a_vault_is_begun_leaves_no_file(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, wrong: BaseException
) -> None:
    def stopped(*_: object) -> None:
        raise wrong

    with monkeypatch.context() as patched:
        patched.setattr("jostle.privacy.vault.Book.begin", stopped)
        with pytest.raises((KeyboardInterrupt, VaultError)):
            opened(path)
    assert list(tmp_path.iterdir()) == []
    assert opened(path).share == 1


@pytest.mark.parametrize("how", ["over it", "in its place"])
def test_an_older_copy_put_back_is_noticed(tmp_path: Path, path: Path, how: str) -> None:
    vault = opened(path)
    vault.pay(TENTH, "before")
    shutil.copy(path, tmp_path / "copy")
    vault.pay(TENTH, "since")
    shutil.copy(path, tmp_path / "newer")
    if how == "over it":
        shutil.copy(tmp_path / "copy", path)
    else:
        (tmp_path / "copy").replace(path)

    with pytest.raises(VaultError, match="less was spent"):
        vault.pay(TENTH, "again")
    shutil.copy(tmp_path / "newer", path)
    vault.pay(TENTH, "with the newer one")
    assert FileVault(path).account().spent == 3 * TENTH


def test_a_second_name_for_the_file_is_refused(tmp_path: Path, path: Path) -> None:
    """Its log is named after the file: what was left half written under one name is not undone under the other."""
    vault = opened(path)
    (tmp_path / "other.vault").hardlink_to(path)

    with pytest.raises(VaultError, match="second name"):
        vault.pay(TENTH, "one")
    with pytest.raises(VaultError, match="second name"):
        opened(tmp_path / "other.vault")
    (tmp_path / "other.vault").unlink()
    vault.pay(TENTH, "one")


def test_a_symbolic_link_leads_to_the_same_vault(tmp_path: Path, path: Path) -> None:
    (tmp_path / "other.vault").symlink_to(path)
    opened(path).pay(TENTH, "one")
    opened(tmp_path / "other.vault").pay(TENTH, "two")

    assert FileVault(path).account().spent == 2 * TENTH


def test_a_forked_copy_of_the_process_shares_a_vault_in_a_file_and_is_refused_one_in_memory(path: Path) -> None:
    memory, file = (vault.open(Fraction(1), TableFacts(("a",))) for vault in both(path))
    for payer in (memory, file):
        payer.pay(TENTH, "before")

    assert in_a_fork(lambda: file.pay(TENTH, "in the fork")) == "None"
    assert in_a_fork(lambda: memory.pay(TENTH, "in the fork")) == "VaultError"
    assert in_a_fork(lambda: memory.vault.open(Fraction(1), TableFacts(("a",)))) == "VaultError"
    file.pay(TENTH, "after")
    assert FileVault(path).account().spent == 3 * TENTH


def test_processes_that_create_a_vault_at_once_agree_on_one(path: Path) -> None:
    code = (
        OPEN
        + """
sys.stdin.readline()
try:
    payer = vault.open(Fraction(1, int(sys.argv[2])), TableFacts(("a", "b")))
    while True:
        payer.pay(Fraction(1, 40), "here")
        print(1, flush=True)
except JostleError as mistake:
    print(type(mistake).__name__)
"""
    )
    with ExitStack() as all_of_them:
        processes = [
            all_of_them.enter_context(
                started("-c", code, path, 1 + index % 3, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            for index in range(8)
        ]
        answers = [process.communicate("go\n", timeout=LIMIT)[0].split() for process in processes]

    account = FileVault(path).account()
    assert all(lines[-1] == "BudgetError" for lines in answers)
    assert account.promise in {Fraction(1), Fraction(1, 2), Fraction(1, 3)}
    assert account.spent == Fraction(sum(len(lines) - 1 for lines in answers), 40)
    assert account.left < Fraction(1, 40)


def test_reading_the_file_in_the_middle_does_not_lose_its_locks(path: Path) -> None:
    """On POSIX systems, closing any descriptor of a file drops all locks that a process has on it.

    A connection that stayed open would go on writing to a log that the next process to leave had removed.
    """
    vault = opened(path)
    for turn in range(3):
        vault.pay(Fraction(1, 100), "here")
        path.read_bytes()
        assert python(OPENED + 'payer.pay(Fraction(1, 100), "there")', path).returncode == 0
        vault.pay(Fraction(1, 100), "here")
        assert FileVault(path).account().spent == Fraction(3 * (turn + 1), 100)


def test_threads_and_their_connections(path: Path) -> None:
    vault = opened(path)
    granted: list[int] = []

    def spend() -> None:
        for _ in range(10):
            try:
                vault.pay(Fraction(1, 50), "thread")
            except BudgetError:
                return
            granted.append(1)

    together(*[spend] * 8)
    assert len(granted) == len(FileVault(path).statement().reservations) == 50
    assert FileVault(path).account().left == 0


def test_no_decision_depends_on_a_clock(path: Path) -> None:
    vault = opened(path)
    for site in ("first", "second"):
        vault.pay(TENTH, site)
    _execute(path, "UPDATE reservations SET moment = CASE number WHEN 1 THEN '2999-12-31' ELSE '1970-01-01' END")
    vault.pay(TENTH, "third")

    assert [line.site for line in FileVault(path).statement().reservations] == ["first", "second", "third"]
    assert [line.moment[:4] for line in FileVault(path).statement().reservations[:2]] == ["2999", "1970"]
    assert FileVault(path).account().spent == 3 * TENTH


def test_a_version_of_the_table_shares_the_account_and_a_table_without_its_columns_does_not(path: Path) -> None:
    vault = opened(path)
    vault.pay(TENTH, "before")

    assert FileVault(path).open(Fraction(1), TableFacts(("b", "c"))).share == 1 - TENTH
    assert FileVault(path).open(Fraction(1), TableFacts(("c", "d"))).share == 1 - TENTH
    with pytest.raises(VaultError, match="other columns"):
        FileVault(path).open(Fraction(1), TableFacts(("x", "y")))
    assert FileVault(path).statement().columns == ("a", "b", "c", "d")


def test_a_site_is_recorded_whatever_it_is_called(path: Path) -> None:
    vault = opened(path)
    vault.pay(TENTH, "\ud800 lone, 'quoted'; DROP TABLE account")

    (line,) = FileVault(path).statement().reservations
    assert isinstance(line, Reservation)
    assert line.site == "\\ud800 lone, 'quoted'; DROP TABLE account"
    assert line.epsilon == TENTH


def _execute(path: Path, statement: str) -> list[tuple[str, ...]]:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute(statement).fetchall()
        connection.commit()
    finally:
        connection.close()
    return found


def test_a_vault_that_another_process_writes_to_is_told_of_and_nothing_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tmp_path / "v")
    monkeypatch.setattr(vault_file, "PATIENCE", 0.1)
    with closing(sqlite3.connect(tmp_path / "v", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(VaultError) as refusal:
            opened(tmp_path / "v").pay(TENTH, "q")
        other.execute("ROLLBACK")
    assert str(refusal.value) == (
        f"the vault {tmp_path / 'v'} cannot be used: another process writes to it\n"
        "  why: nothing is released before it is recorded\n"
        "  fix: wait until that one is done, or end it"
    )
    assert FileVault(tmp_path / "v").statement().reservations == ()
