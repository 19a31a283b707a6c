"""The audit log: what is done to a line is found out at that line, and nothing has an effect before it is written."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from offices import asks, office_in, people_of
from processes import ran, together

from jostle.errors import JostleError, VaultError
from jostle.owner.log import (
    BEGINNING,
    CARRIED,
    HASH,
    Carried,
    Fact,
    Log,
    Noted,
    Revoked,
    Settled,
    State,
    entries,
    entry_of,
    files_of,
    written,
)
from jostle.owner.office import Office


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with a line of each kind."""
    office = office_in(tmp_path, '[approval]\nabove = "1/8"')
    people = people_of(office)
    ada = office.asker(people.ada)
    share = office.give_share("ward", "ada", "1/2")
    asks(office, ada, "1/8")
    with pytest.raises(JostleError, match="request 1 waits"):
        asks(office, ada, "1/8")
    office.decide(1, approve=True, reason="it is due")
    asks(office, ada, "1/8")
    office.noted(ada, "ward", ["a line"])
    office.revoke(ada.handle)
    office.revoke_share(share.number, "she has left")
    office.close()
    return office.log_path


def test_a_log_that_nobody_touched_is_whole_and_names_who_did_what(log: Path) -> None:
    held = [*entries(log)]

    assert [type(each.fact).__name__ for each in held] == [
        *["KeyMade"] * 4,
        *["Shared", "Settled", "Waits", "Decided", "Settled", "Noted", "Revoked", "Unshared"],
    ]
    assert [each.number for each in held] == [*range(1, 13)]
    assert held[0].before == BEGINNING
    assert held[8].by == "ada"
    assert isinstance(asked := held[8].fact, Settled)
    assert (asked.price, asked.decision, asked.approval) == (Fraction(1, 8), "answered", 1)


def forged(line: str) -> str:
    """Return a line that says something else, with a hash of its own that is right."""
    changed, _, _ = re.sub('"by":"[^"]*"', '"by":"eve"', line).rpartition(HASH)
    body = f"{changed}}}"
    return f'{body[:-1]}{HASH}{hashlib.sha256(body.encode()).hexdigest()}"}}'


TAMPERED: dict[str, Callable[[list[str], int], list[str]]] = {
    "changed": lambda lines, at: [*lines[:at], re.sub('"moment":"....', '"moment":"1999', lines[at]), *lines[at + 1 :]],
    "left out": lambda lines, at: [*lines[:at], *lines[at + 1 :]],
    "twice": lambda lines, at: [*lines[: at + 1], *lines[at:]],
    "exchanged": lambda lines, at: [*lines[: at - 1], lines[at], lines[at - 1], *lines[at + 1 :]],
    "with a space": lambda lines, at: [*lines[:at], lines[at].replace(":", ": ", 1), *lines[at + 1 :]],
    "an entry more": lambda lines, at: [*lines[:at], lines[at].replace("{", '{"x":1,', 1), *lines[at + 1 :]],
    "no line": lambda lines, at: [*lines[:at], "", *lines[at:]],
}


@pytest.mark.parametrize("how", TAMPERED)
def test_what_is_done_to_a_line_is_found_at_that_line(log: Path, how: str) -> None:
    lines = log.read_text("utf-8").splitlines()
    for at in range(1, len(lines) - 1):
        changed = TAMPERED[how](lines, at)
        assert changed != lines
        log.write_text("\n".join(changed) + "\n", "utf-8")
        with pytest.raises(VaultError, match=r"was changed (at|before) line") as refusal:
            [*entries(log)]
        number = int(str(refusal.value.title).split("line ")[1].split(":")[0])
        assert number in {at, at + 1, at + 2}
        with pytest.raises(VaultError, match="was changed"):
            Log(log)


def test_a_line_forged_with_a_hash_of_its_own_is_found_by_the_next_and_the_last_by_a_hash_that_was_kept(
    log: Path,
) -> None:
    lines = log.read_text("utf-8").splitlines()
    for at in (4, 5, 8):
        log.write_text("\n".join([*lines[:at], forged(lines[at]), *lines[at + 1 :]]) + "\n", "utf-8")
        with pytest.raises(VaultError, match=f"was changed before line {at + 2}"):
            [*entries(log)]
    log.write_text("\n".join([*lines[:-1], forged(lines[-1])]) + "\n", "utf-8")
    assert json.loads(lines[-1])["hash"] not in [each.hash for each in entries(log)]


def test_a_line_cut_short_by_a_crash_had_no_effect_and_is_cut_off_by_who_writes_next(log: Path) -> None:
    whole = log.read_bytes()
    for cut in (1, 40, len(whole.splitlines()[-1])):
        log.write_bytes(whole[:-cut])
        assert len([*entries(log)]) == 11
    held = Log(log)
    with held.state() as state:
        assert not state.shares[1].revoked
    held.write(lambda _: iter([("owner", Revoked("oidc:x"))]))
    assert [each.number for each in entries(log)] == [*range(1, 13)]
    held.close()


def test_a_log_that_is_gone_shorter_or_another_is_not_gone_on_with(log: Path) -> None:
    for change in (
        log.unlink,
        lambda: os.truncate(log, 100),
        lambda: (log.with_name("x").write_bytes(log.read_bytes()), log.with_name("x").replace(log)),
    ):
        before = log.read_bytes()
        held = Log(log)
        change()
        with pytest.raises(VaultError, match="is gone, or another file in its place"), held.state():
            pass
        with pytest.raises(VaultError, match="is gone"):
            held.write(lambda _: iter([("owner", Revoked("oidc:x"))]))
        held.close()
        log.write_bytes(before)
        log.chmod(0o600)


def test_a_log_that_others_may_read_is_refused(log: Path) -> None:
    log.chmod(0o644)
    with pytest.raises(VaultError, match="may be read or written by everybody"):
        Log(log)


def test_what_cannot_be_written_has_no_effect(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, before = Log(log), log.read_bytes()
    right = os.fsync

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(VaultError, match="No space left"):
        held.write(lambda _: iter([("owner", Revoked("oidc:x"))]))
    monkeypatch.setattr(os, "fsync", right)

    assert log.read_bytes() == before
    with held.state() as state:
        assert "oidc:x" not in state.revoked
    held.write(lambda _: iter([("owner", Revoked("oidc:y"))]))
    with held.state() as state:
        assert {"oidc:y"} < state.revoked
    assert len([*entries(log)]) == 13
    held.close()


def test_a_line_is_on_the_disk_before_whoever_wrote_it_goes_on(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, seen = Log(log), []
    right = os.fsync

    def noted(number: int) -> None:
        seen.append(log.read_bytes()[-400:])
        right(number)

    monkeypatch.setattr(os, "fsync", noted)
    held.write(lambda _: iter([("owner", Revoked("oidc:x"))]))

    assert len(seen) == 1
    assert b"oidc:x" in seen[0]
    held.close()


def test_a_line_too_long_to_be_read_back_is_not_written(log: Path) -> None:
    held = Log(log)
    with pytest.raises(VaultError, match="too long"):
        held.write(lambda _: iter([("owner", Noted("ward", "ada", ("x" * (1 << 20),)))]))
    assert len([*entries(log)]) == 12
    held.close()


def test_a_line_is_plain_ascii_so_that_it_can_be_printed_and_checked_elsewhere(log: Path) -> None:
    held, text = Log(log), "\u202e\x7f\x1b[2K \U0001f600 \u2028é\n"
    held.write(lambda _: iter([(text, Noted("ward", text, (text,)))]))
    *_, last = entries(log)
    assert (last.by, last.fact) == (text, Noted("ward", text, (text,)))
    assert log.read_text("ascii").replace("\n", "").isprintable()
    with pytest.raises(VaultError, match="half a character"):
        held.write(lambda _: iter([("\ud83d", Revoked("oidc:x"))]))
    assert len([*entries(log)]) == 13
    held.close()


WRITER = """
import sys
from pathlib import Path
from jostle.owner.log import Log, Revoked
log = Log(Path(sys.argv[1]), long=int(sys.argv[3]))
for number in range(40):
    log.write(lambda _: iter([(sys.argv[2], Revoked(f"oidc:{sys.argv[2]}{number}"))]))
"""


def _one(line: tuple[str, Fact], _: object) -> Iterator[tuple[str, Fact]]:
    yield line


@pytest.mark.parametrize("long", [1 << 24, 1 << 14])
def test_processes_and_threads_write_one_chain(log: Path, long: int) -> None:
    """Threads write until both processes are done, so that all of them do at once; also while files are set aside."""
    here, done, count = Log(log, long=long), threading.Semaphore(0), [0, 0]

    def elsewhere(name: str) -> None:
        try:
            ran("-c", WRITER, str(log), name, str(long), check=True)
        finally:
            done.release()

    def write(place: int) -> None:
        while done._value < 2 and count[place] < 5000:
            here.write(partial(_one, ("here", Revoked(f"oidc:{place} {count[place]}"))))
            count[place] += 1

    together(*(partial(elsewhere, name) for name in "ab"), partial(write, 0), partial(write, 1))
    with here.state() as state:
        assert len(state.revoked) == 1 + 80 + sum(count)
        head = state.head
    held = [*entries(log)]
    assert [each.number for each in held] == [*range(1, len(held) + 1)]
    assert held[-1].hash == head
    assert sum(not isinstance(each.fact, Carried) for each in held) == 12 + 80 + sum(count)
    assert (len(files_of(log)) > 1) == (long < 1 << 24)
    here.close()


@pytest.fixture
def parted(log: Path) -> Path:
    """The same log, of which the first file was set aside."""
    held = Log(log, long=1)
    held.write(lambda _: iter([("owner", Revoked("oidc:x"))]))
    held.close()
    held = Log(log)
    held.write(lambda _: iter([("owner", Revoked("oidc:y"))]))
    held.close()
    return log


def test_a_long_file_is_set_aside_and_the_next_begins_with_what_it_came_to(parted: Path) -> None:
    before, now = files_of(parted)
    assert before.name == "audit.000000000001.jsonl"
    assert before.stat().st_mode & 0o077 == now.stat().st_mode & 0o077 == 0
    lines = [*entries(parted)]
    kinds = [type(each.fact).__name__ for each in lines[12:]]
    assert kinds == ["Revoked", *["Carried"] * 8, "Revoked"]

    whole = State(whole=True)
    for each in lines:
        whole.take(each)
    held = Log(parted)  # it reads the second file alone
    with held.state() as state:
        assert (state.count, state.head) == (len(lines), lines[-1].hash)
        assert all(getattr(state, name) == getattr(whole, name) for name in CARRIED)
        assert state.shares[1].spent == Fraction(1, 4)
        assert state.requests[1].state == "answered"
        assert {"oidc:x", "oidc:y"} <= state.revoked
    held.close()


def test_a_log_of_several_files_is_whole_in_one_and_an_office_reads_it_on(parted: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(b"".join(each.read_bytes() for each in files_of(parted)))
    assert [*entries(copy)] == [*entries(parted)]

    office = Office.read(parted.parent.parent / "owner.toml")
    bob = office.make_key("bob", "analyst")[0]
    assert office.give_share("ward", "bob", "1/4").number == 2
    assert asks(office, office.asker(bob), "1/16").share.number == 2
    office.close()


def edited(file: Path) -> None:
    """Change a share in a line, and give that a hash of its own that is right."""
    first, *rest = file.read_text("utf-8").splitlines(keepends=True)
    changed = first.rpartition(HASH)[0].replace('"moment":"2', '"moment":"1')
    assert not first.startswith(changed)
    digest = hashlib.sha256(f"{changed}}}".encode()).hexdigest()
    file.write_text("".join([f'{changed}{HASH}{digest}"}}\n', *rest]), "utf-8")


def shortened(file: Path) -> None:
    """Leave the last line out."""
    file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")


@pytest.mark.parametrize("how", [edited, shortened, Path.unlink, lambda file: os.truncate(file, 900)])
def test_what_is_done_to_a_file_that_was_set_aside_is_found(parted: Path, how: Callable[[Path], None]) -> None:
    before, _ = files_of(parted)
    how(before)
    with pytest.raises(VaultError, match=r"was changed (at|before) line|cut short"):
        [*entries(parted)]


@pytest.mark.parametrize("how", [shortened, lambda file: os.truncate(file, 900)])
def test_a_file_that_was_set_aside_and_cut_is_found_by_who_opens_the_log(
    parted: Path, how: Callable[[Path], None]
) -> None:
    before, _ = files_of(parted)
    how(before)
    with pytest.raises(VaultError, match=r"was changed (at|before) line"):
        Log(parted)


def test_what_is_carried_over_is_held_against_what_it_was_made_of(parted: Path) -> None:
    """Whoever writes the second file anew, with hashes that are right, cannot take a revocation back."""
    before, now = files_of(parted)
    head, count = [*entries(parted)][12].hash, 13
    held = State()
    lines = []
    for text in before.read_bytes().splitlines(keepends=True):
        held.take(entry_of(text, held.count, held.head))
    held.revoked.clear()
    for part in held.carried():
        line, entry = written(count + 1, head, "2026-01-01T00:00:00+00:00", "jostle", part)
        lines.append(line)
        count, head = entry.number, entry.hash
    now.write_bytes(b"".join(lines))
    Log(parted).close()
    with pytest.raises(VaultError, match="what is carried over is not what it says"):
        [*entries(parted)]


def test_a_log_whose_last_file_is_gone_does_not_begin_anew(parted: Path) -> None:
    parted.unlink()
    with pytest.raises(VaultError, match="cannot be opened"):
        Log(parted)


@pytest.mark.parametrize("step", ["hardlink_to", "replace"])
def test_a_file_that_cannot_be_set_aside_is_gone_on_with(log: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    held = Log(log, long=1)
    monkeypatch.setattr(Path, step, full)
    held.write(lambda _: iter([("owner", Revoked("oidc:x"))]))
    assert len([*entries(log)]) == 13
    monkeypatch.undo()
    held.write(lambda _: iter([("owner", Revoked("oidc:y"))]))
    assert len(files_of(log)) == 2
    assert len([*entries(log)]) > 17
    held.close()


def test_an_office_read_anew_goes_by_the_same(log: Path) -> None:
    office = Office.read(log.parent.parent / "owner.toml")
    with office.state() as state:
        assert state.shares[1].spent == Fraction(1, 4)
        assert state.requests[1].state == "answered"
        assert state.since["ada", "ward.csv.vault"] == 0
        assert [*state.by_day.values()] == [Fraction(1, 4)]
    office.close()
