"""The owner's commands: a served table is asked, approved and audited from a shell."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
import tomllib
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from attrs import fields
from offices import certificate_in, write_owner
from processes import LIMIT, started
from processes import ran as ran_apart
from run_here import Done, ran

import jostle
from jostle.errors import AccessError, JostleError, WaitingError
from jostle.owner.identity import ROLES
from jostle.owner.office import Office
from jostle.owner.running import alone, closed_to_others, listening
from jostle.owner.settings import Approval, Oidc, Settings, TableSettings, read_settings

Command = Callable[..., Done]
PROGRAMS = Path(__file__).parents[2] / "programs"
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def owner(tmp_path: Path) -> Path:
    return write_owner(tmp_path, 'listen = "127.0.0.1:0"\napproval = {above = "1/8"}')


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return lambda *words: ran(monkeypatch, capsys, *words)


def test_a_key_is_shown_once_and_listed_without_its_secret(owner: Path, command: Command) -> None:
    made = command("key", "make", owner, "ada", "--scope", "ask:ward", "--days", 30)
    token = made.out.splitlines()[1]
    assert re.fullmatch(r"jostle_[0-9a-f]{8}_[\w-]{43}", token)
    shown = command("key", "show", owner)
    assert "ada" in shown.out
    assert token not in shown.out
    facts = json.loads(command("key", "show", owner, "--json").out)
    assert [(each["name"], each["role"], each["scopes"], each["revoked"]) for each in facts] == [
        ("ada", "analyst", ["ask:ward"], False)
    ]
    assert command("key", "revoke", owner, facts[0]["handle"]).status == 0
    assert "revoked" in command("key", "show", owner).out
    assert command("key", "revoke", owner, "none").status == 1
    assert command("key", "make", owner, "ada", "--role", "king").status == 1


def test_shares_are_given_shown_and_revoked(owner: Path, command: Command) -> None:
    command("key", "make", owner, "ada")
    given = command("share", "give", owner, "ward", "ada", "--epsilon", "3/4")
    assert given.out == "share 1: epsilon 0.75 of ward for ada; 0.25 of the promise is in no share\n"
    refused = command("share", "give", owner, "ward", "bob", "--epsilon", "1/2")
    assert (refused.status, "0.25 is free" in refused.err) == (3, True)
    shown = command("share", "show", owner)
    assert "ward: epsilon 1 is promised about rows, 0.25 of it in no share" in shown.out
    (table,) = json.loads(command("share", "show", owner, "--json").out)
    assert (table["free"], table["shares"][0]["left"]) == ("1/4", "3/4")
    assert command("share", "revoke", owner, 1, "--reason", "she has left").status == 0
    assert json.loads(command("share", "show", owner, "--json").out)[0]["free"] == "1"


def test_a_mistake_is_told_in_a_sentence(owner: Path, tmp_path: Path, command: Command) -> None:
    for words in (
        ("serve", tmp_path / "none.toml"),
        ("approve", owner, 7),
        ("approve", owner, "--refuse"),
        ("share", "give", owner, "none", "ada", "--epsilon", 1),
        ("audit-log", "verify", tmp_path / "none.jsonl"),
        ("connect", "ftp://x"),
        ("connect", "http://example.org", "--token", "x"),
    ):
        done = command(*words)
        assert done.status == 1
        assert done.err.startswith("error: ")
        assert "Traceback" not in done.err


def test_the_log_is_checked_and_exported_and_a_lost_end_is_found_by_a_hash_that_was_kept(
    owner: Path, tmp_path: Path, command: Command
) -> None:
    command("key", "make", owner, "ada")
    head = json.loads(command("audit-log", "verify", owner, "--json").out)
    assert head["lines"] == 1
    command("share", "give", owner, "ward", "ada", "--epsilon", "1/4")
    assert command("audit-log", "verify", owner, "--head", head["head"]).status == 0
    last = json.loads(command("audit-log", "verify", owner, "--json").out)["head"]

    copy = tmp_path / "copy.jsonl"
    assert command("audit-log", "export", owner, "--out", copy).out == f"wrote {copy}: 2 lines\n"
    assert command("audit-log", "export", owner).out == copy.read_text("utf-8")
    assert command("audit-log", "verify", copy).status == 0
    copy.write_text(copy.read_text("utf-8").splitlines(keepends=True)[0], "utf-8")
    assert command("audit-log", "verify", copy).status == 0
    assert "last lines are missing" in command("audit-log", "verify", copy, "--head", last).err
    assert command("audit-log", "export", owner, "--out", owner.parent / "served" / "audit.jsonl").status == 1


def test_a_server_that_cannot_listen_makes_no_keys(owner: Path, command: Command) -> None:
    """They would be shown, and then nobody would be there to take them."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        owner.write_text(owner.read_text("utf-8").replace(":0", f":{taken.getsockname()[1]}"), "utf-8")
        with pytest.raises(AccessError, match=r"cannot listen on 127\.0\.0\.1:"):
            listening(read_settings(owner))
    assert json.loads(command("key", "show", owner, "--json").out) == []


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [("client", "httpx", "connect"), ("running", "uvicorn", "serve"), ("running", "prometheus_client", "serve")],
)
def test_what_is_not_installed_is_said(module: str, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "jostle.owner.desk")
    monkeypatch.delattr("jostle.owner.desk")
    path = Path(jostle.__file__).parent / "owner" / f"{module}.py"
    spec = spec_from_file_location("apart", path)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(JostleError, match=rf"not installed\n  fix: pip install \"jostle\[{extra}\]\""):
        spec.loader.exec_module(module_from_spec(spec))


def test_one_server_holds_a_population(owner: Path) -> None:
    office, other = Office.read(owner), Office.read(owner)
    office.make_tables()
    with alone(office), pytest.raises(AccessError, match="another server serves what"), alone(other):
        pass
    with alone(other):
        pass


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.slow
def test_a_made_up_table_is_served_asked_approved_and_revoked(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a newcomer does: two commands, a link and a token; then the owner's side from another shell."""
    port = free_port()
    owner = write_owner(tmp_path, f'listen = "127.0.0.1:{port}"\npadding = 0\napproval = {{above = "1/2"}}')
    with started("-m", "jostle", "serve", owner, "--json", stdout=-1) as server:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        assert (told["made_up"], {*told["tokens"]}) == (["ward"], {"owner", "analyst"})
        token = told["tokens"]["analyst"]
        monkeypatch.setenv("JOSTLE_TOKEN", token)
        listed = command("connect", told["link"])
        assert listed.status == 0
        assert "epsilon 1 is left of your share, about rows under add_remove" in listed.out
        assert "smokes" in listed.out

        db = jostle.connect(told["link"], token=token, patience=0)
        assert abs(int(db.count("1/4")) - 200) < 150
        with pytest.raises(WaitingError, match="request 1 waits"):
            db.histogram("smokes", epsilon="1/3")
        waiting = command("approve", owner)
        assert "request 1: analyst asks ward, epsilon 1/3" in waiting.out
        assert '"smokes"' in waiting.out
        assert command("approve", owner, 1).status == 0
        assert db.histogram("smokes", epsilon="1/3").sum() > 0
        assert command("approve", owner).out == "nothing waits\n"
        assert command("share", "revoke", owner, 1, "--reason", "enough").status == 0
        with pytest.raises(JostleError, match="no share"):
            db.count("1/100")
        os.killpg(server.pid, signal.SIGINT)
        server.wait(LIMIT)
    decisions = [
        line["decision"]
        for line in map(json.loads, command("audit-log", "export", owner).out.splitlines())
        if line["kind"] == "asked"
    ]
    assert decisions == ["answered", "answered"]


@pytest.mark.slow
def test_a_server_with_two_files_is_connected_to_by_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, _ = certificate_in(tmp_path)
    files = 'certificate = "tls.pem"\nkey = "tls.key"\npadding = 0'
    owner = write_owner(tmp_path, f'listen = "localhost:{free_port()}"\n{files}')
    with started("-m", "jostle", "serve", owner, "--json", stdout=-1) as server:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        assert told["link"].startswith("https://localhost:")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert jostle.connect(told["link"], token=told["tokens"]["analyst"]).count("1/4").cost == Fraction(1, 4)


@pytest.mark.slow
def test_the_notebook_in_programs_connects_to_the_owner_s_file_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    for name in ("owner.toml", "owner_rows.toml"):
        text = (PROGRAMS / name).read_text("utf-8").replace(":8765", f":{port}")
        (tmp_path / name).write_text(text, "utf-8")
    book = json.loads((PROGRAMS / "connect.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    with started("-m", "jostle", "serve", tmp_path / "owner.toml", "--json", stdout=-1) as server:
        assert server.stdout is not None
        monkeypatch.setenv("JOSTLE_TOKEN", json.loads(server.stdout.readline())["tokens"]["analyst"])
        names: dict[str, Any] = {}
        for cell in cells:
            exec(compile(cell.replace(":8765", f":{port}"), "cell", "exec"), names)  # noqa: S102 - what a notebook does
        assert names["db"].spent == Fraction(6, 5)
        assert "smokes" in str(names["model"].schema.label)


def test_the_owner_s_file_in_programs_is_read(command: Command, tmp_path: Path) -> None:
    for name in ("owner.toml", "owner_rows.toml"):
        (tmp_path / name).write_text((PROGRAMS / name).read_text("utf-8"), "utf-8")
    shown = command("share", "show", tmp_path / "owner.toml")
    assert "survey: epsilon 10 is promised" in shown.out


CLOSED = """
import ctypes, resource
from jostle.owner.identity import ROLES
from jostle.owner.office import Office
from jostle.owner.running import alone, closed_to_others, listening
closed_to_others()
print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other ways to close a process")
@pytest.mark.slow
def test_the_process_leaves_no_core_file_and_lets_nobody_look_in() -> None:
    assert ran_apart("-c", CLOSED, check=True).stdout == "(0, 0) 0\n"


def test_a_process_that_notes_where_its_memory_goes_does_not_serve() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(AccessError, match="tracemalloc"):
            closed_to_others()
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [Settings, TableSettings, Approval, Oidc])
def test_the_page_names_every_entry_of_the_owner_s_file_every_role_and_every_address(kind: type) -> None:
    page = (DOCS / "serving.md").read_text("utf-8")
    assert [each.name for each in fields(kind) if f"`{each.name}`" not in page] == []
    assert [role for role in ROLES if f"| {role} |" not in page] == []
    assert tomllib.loads(re.findall(r"^```toml\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)[0]).keys() <= {
        each.name for each in fields(Settings)
    }
