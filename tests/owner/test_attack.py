"""That a client which does what it likes in its own process has nothing there but released numbers.

A server in a process of its own; a client in another, which walks all its objects, unpickles, forges the wire, and
reaches for the server's memory and files. Afterwards its whole memory is looked through for what is in the rows.
"""

from __future__ import annotations

import json
import os
import random
import re
import struct
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from processes import started
from serving import owner_file
from test_crash import Process, free_port

from jostle.owner.office import Office
from jostle.privacy.vault import FileVault

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="it looks into memory by /proc"),
]
CLIENT = r"""
import ctypes, gc, inspect, json, os, pickle, sys, types
from fractions import Fraction
import httpx, numpy as np
import jostle
from jostle.owner import wire
from jostle.owner.client import Connection
from jostle.privacy.mechanisms import AddNoise
from jostle.tables.kernels import Counts

url, token, server, folder = sys.argv[1:5]
got, refused = [], []

def attempt(name, action):
    try:
        got.append([name, repr(action())[:200]])
    except BaseException as error:
        refused.append([name, type(error).__name__, str(error)[:300]])

db = jostle.connect(url, token=token)
told = [int(db.count("1/4")), db.histogram("region", epsilon="1/4").tolist(), float(db.mean("age", epsilon="1/4"))]

if os.getuid() == 0:  # from here on as another user of the machine: root reads everything
    os.setgroups([]), os.setgid(65534), os.setuid(65534)

# What is in this process: objects, frames, cells of closures
objects = [each for each in gc.get_objects()]
held = [each for each in objects if isinstance(each, Connection)]
behind = {"Room", "Rooms", "MemorySource", "Table", "Ledger", "FileVault", "Block", "Office"}
rooms = [type(each).__qualname__ for each in objects
         if str(type(each).__module__).startswith("jostle.") and type(each).__name__ in behind]
arrays = [each.size for each in objects if isinstance(each, np.ndarray) and each.size > 100]
cells = [type(cell.cell_contents).__name__ for name in ("enter", "look_in", "look_up")
         for cell in getattr(db._key, name).__closure__ or ()]
(connection,) = held
handle = inspect.getclosurevars(db._key.enter).nonlocals["handle"]

# Copies
for name, copied in {"a probe": db, "a key": db._key}.items():
    attempt(f"pickle {name}", lambda: pickle.dumps(copied))

class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/never",)

attempt("a pickle over the wire", lambda: connection.client.post("v1/ask", content=pickle.dumps(Evil())).text)

# The wire, forged: what is not asked, what is not in a list, other amounts, other handles, fields that there are not
def sent(**more):
    message = {"session": connection.session, "handle": handle, "key": os.urandom(16).hex(), "direct": True,
               "question": "perform", "details": wire.said("perform", (AddNoise(Counts.of("age")), "1/100", "x"), 1)}
    reply = connection.client.post("v1/ask", content=wire.MSGPACK.write(message | more),
                                   headers={"content-type": wire.MSGPACK.content})
    found = wire.MSGPACK.read(reply.content, None)
    if "error" in found:
        raise wire.error_of(found["error"])
    return found

NOISELESS = {"kind": "AddNoise", "tallied": {"kind": "Counts", "groups": [["age"]]}, "noise": "none"}
for name, more in {
    "a private method": {"question": "_tally", "details": [NOISELESS]},
    "the rows' source": {"question": "source", "details": []},
    "a field for the noise": {"details": [NOISELESS, "1/100", "x"]},
    "no epsilon": {"details": [NOISELESS["tallied"], "0", "x"]},
    "a negative epsilon": {"details": [{"kind": "AddNoise", "tallied": NOISELESS["tallied"]}, "-1", "x"]},
    "more than the share": {"details": [{"kind": "AddNoise", "tallied": NOISELESS["tallied"]}, "1000", "x"]},
    "a mechanism without a promise": {"question": "imitate", "details": [
        {"kind": "CompareWithNoisyThreshold", "score": {"kind": "DC"}, "threshold": 1}, "1/100", "x"]},
    "another handle": {"handle": "0" * 32},
    "another session": {"session": "0" * 32},
    "no version": {"version": None},
    "a class by its path": {"details": [{"kind": "jostle.privacy.room.Room"}, "1/100", "x"]},
}.items():
    attempt(name, lambda: sent(**more))

# The server's memory and files
libc = ctypes.CDLL(None, use_errno=True)

def attached():
    if libc.ptrace(16, int(server), 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "no ptrace")

class Range(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

def read_elsewhere():
    buffer = ctypes.create_string_buffer(64)
    here, there = Range(ctypes.addressof(buffer), 64), Range(id(None), 64)
    if libc.process_vm_readv(int(server), ctypes.byref(here), 1, ctypes.byref(there), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "no reading")
    return buffer.raw

attempt("ptrace", attached)
attempt("process_vm_readv", read_elsewhere)
attempt("memory", lambda: open(f"/proc/{server}/mem", "rb"))
attempt("maps", lambda: open(f"/proc/{server}/maps").read())
attempt("environment", lambda: open(f"/proc/{server}/environ").read())
if os.getuid() == 65534:
    for name in ("visits.csv", "visits.csv.vault", "visits.csv.vault.answers", "served/audit.jsonl"):
        attempt(name, lambda: open(os.path.join(folder, name), "rb").read())

print(json.dumps({"told": told, "rooms": rooms, "arrays": arrays, "cells": cells, "got": got, "refused": refused}))
sys.stdout.flush()
sys.stdin.readline()
"""


def memory_of(process: int) -> Iterator[bytes]:
    """Yield what a process has in its memory, region by region."""
    with Path(f"/proc/{process}/mem").open("rb") as memory:
        for line in Path(f"/proc/{process}/maps").read_text("utf-8").splitlines():
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
            if found is None or line.endswith(("[vvar]", "[vsyscall]", "[vdso]")):
                continue
            start, end = (int(each, 16) for each in found.groups())
            memory.seek(start)
            try:
                yield memory.read(end - start)
            except OSError:  # it is mapped, and nothing is there
                continue


def found_in(process: int, wanted: dict[str, bytes]) -> set[str]:
    """Return which texts are in a process's memory."""
    return {name for part in memory_of(process) for name, text in wanted.items() if text in part}


def test_a_client_has_nothing_but_what_was_released(tmp_path: Path) -> None:
    chance = random.Random(7)
    regions = [chance.choice(("north", "south", "west")) for _ in range(400)]
    ages = [round(chance.uniform(0, 100), 9) for _ in regions]
    port = free_port()
    rows = "region,age\n" + "".join(f"{region},{age}\n" for region, age in zip(regions, ages, strict=True))
    path = owner_file(tmp_path / "x", rows=rows, more=f'listen = "127.0.0.1:{port}"')
    secrets = {
        "codes of a column": bytes(("north", "south", "west").index(each) for each in regions[:64]),
        "a number of a row": struct.pack("<d", ages[3]),
        "a row as it is written": f"{regions[3]},{ages[3]}\n".encode(),
    }
    office = Office.read(path)
    token, _ = office.make_key("eve", "analyst")
    office.give_share("visits", "eve", 2)
    server = Process(path, port)
    with server.held:
        server.be_there()
        words = ("-c", CLIENT, server.url, token, server.process.pid, tmp_path / "x")
        with started(*words, stdin=-1, stdout=-1) as client:
            assert client.stdout is not None
            said = json.loads(client.stdout.readline())
            assert found_in(client.pid, secrets | {"the token": token.encode()}) == {"the token"}
        if os.getuid() == 0:  # what is looked for is what a server holds
            assert "codes of a column" in found_in(server.process.pid, secrets)
    office.close()

    assert said["rooms"] == []
    assert set(said["cells"]) <= {"Connection", "str", "int"}
    assert [name for name, _ in said["got"] if name != "a pickle over the wire"] == []
    assert "is no application/json" in dict(said["got"])["a pickle over the wire"]
    assert not Path("/tmp/never").exists()  # noqa: S108 - what a pickle would have made
    assert len(said["refused"]) >= 18
    quoted = [words for name, _, words in said["refused"] if not (tmp_path / "x" / name).exists()]
    assert not any("Traceback" in words or str(tmp_path) in words for words in quoted)
    lines = FileVault(office.tables["visits"].vault).statement().reservations
    assert [line.epsilon for line in lines] == [Fraction(1, 4)] * 3, "nothing else was answered or charged"
