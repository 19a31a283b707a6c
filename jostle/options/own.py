"""Options of one's own: files of Python that a command is given, and where an Option comes from.

Their code is not looked into. It is given a probe, as the built-in Options are, and runs with the trust that the
program has; so a trace names it, with a digest of its text.
"""

from __future__ import annotations

import hashlib
import inspect
import runpy
import traceback
from pathlib import Path
from typing import Any

from attrs import frozen

from jostle.errors import JostleError, OptionError, said_by
from jostle.options.base import Option, own

__all__ = ["Origin", "load_own", "origin_of", "ran"]


@frozen
class Origin:
    """The file that an Option was defined in."""

    file: str
    digest: str
    """Of the file as it is; nothing where there is none, since it was typed in."""


def origin_of(option: Option) -> Origin | None:
    """Where an Option comes from; None for one that comes with Jostle."""
    definition: Any = getattr(option, "function", type(option))
    if str(definition.__module__).startswith("jostle."):
        return None
    code = getattr(definition, "__code__", None) or next(
        (each.__code__ for each in vars(definition).values() if inspect.isfunction(each)), None
    )
    file = "" if code is None else code.co_filename
    try:
        return Origin(file, hashlib.blake2b(Path(file).read_bytes(), digest_size=16).hexdigest())
    except OSError:
        return Origin(file, "")


def load_own(path: str | Path) -> tuple[str, ...]:
    """Run a file of Python, and return the names of the Options that it registers; refuse one that registers none."""
    file = Path(path)
    if file.suffix != ".py":
        raise OptionError(f"{file} is no Python", why="Options of one's own are", fix="--with my_options.py")
    if not file.is_file():
        raise OptionError(f"there is no file {file}", fix="check the path")
    before = own()
    ran(file, file.stem)
    found = tuple(name for name, each in own().items() if before.get(name) is not each)
    if not found:
        raise OptionError(
            f"{file} registers no Option",
            why="that is what --with is for",
            fix="@jostle.option(task=...), on the line above def Mine(db, *, epsilon)",
        )
    return found


def ran(path: Path, name: str) -> dict[str, Any]:
    """The names that a file of Python defines, run under this name."""
    try:
        return runpy.run_path(str(path), run_name=name)
    except JostleError as mistake:
        raise OptionError(f"{path} cannot be loaded: {mistake.title}", why=mistake.why, fix=mistake.fix) from None
    except SyntaxError as mistake:
        place = "" if mistake.lineno is None else f"line {mistake.lineno}: "
        raise OptionError(f"{path} is no Python: {place}{mistake.msg}") from None
    except (Exception, SystemExit) as mistake:  # noqa: BLE001 - the user's own code may fail in any way
        # Only the frames of the file: those of what runs it say nothing.
        frames = [each for each in traceback.extract_tb(mistake.__traceback__) if each.filename == str(path)]
        place = f"line {frames[-1].lineno}: " if frames else ""
        raise OptionError(f"{path} fails: {place}{said_by(mistake)}", fix=f"python {path}") from None
