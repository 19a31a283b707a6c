"""Run other libraries, each in an environment of its own, so that what they require never meets what we do.

An environment is made the first time it is asked for, under ~/.cache/jostle-peers or the directory that JOSTLE_PEERS
names, and kept. For Linux and macOS.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["PeerError", "environment", "run"]

DIRECTORY = "JOSTLE_PEERS"
"""Environment variable that says where the environments are."""
ISOLATED = "-I"
"""Makes an interpreter see nothing but its own environment, whatever PYTHONPATH says."""


class PeerError(RuntimeError):
    """An environment could not be made, or a script in it failed."""


def run(name: str, requirements: Sequence[str], script: str | Path, request: object = None) -> Any:
    """Return what *script* (a path, or the text itself) prints last, as JSON, in an environment with *requirements*.

    The script gets *request* as JSON on its standard input. What it prints before its last line is left aside.
    """
    python = environment(name, requirements)
    program = [str(script)] if isinstance(script, Path) else ["-c", script]
    printed = _output([str(python), ISOLATED, *program], json.dumps(request)).strip()
    if not printed:
        raise PeerError(f"the script in {name} printed nothing")
    return json.loads(printed.splitlines()[-1])


def environment(name: str, requirements: Sequence[str]) -> Path:
    """Return the interpreter of the environment called *name*, made anew where it has not these requirements."""
    root = Path(os.environ.get(DIRECTORY) or Path.home() / ".cache" / "jostle-peers")
    root.mkdir(parents=True, exist_ok=True)
    home = root / name
    python = home / "bin" / "python"
    made_with = home / "made-with.json"
    wanted = json.dumps([sys.version, sorted(requirements)])
    with _locked(root / f"{name}.lock"):
        if not made_with.exists() or made_with.read_text() != wanted:
            shutil.rmtree(home, ignore_errors=True)
            _output([sys.executable, "-m", "venv", str(home)])
            _output([str(python), ISOLATED, "-m", "pip", "install", "--quiet", *requirements])
            made_with.write_text(wanted)  # last, so that half an environment is never taken for a whole one
    return python


def _output(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerError(f"{' '.join(command)[:200]}\n{done.stderr[-2000:]}")
    return done.stdout


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from making the same environment at the same time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
