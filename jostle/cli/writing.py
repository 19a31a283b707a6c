"""What a command is to write to, looked at before it does anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jostle.cli.saying import is_same_file
from jostle.errors import ChoiceError

__all__ = ["check_kept"]

DEVICES = Path("/dev")
"""Pipes in here are the shell's own, which are read from: `--out >(gzip > a.json.gz)`."""


def check_kept(out: Path | None, option: str, named: Mapping[str, Path | None]) -> None:
    """Refuse to write over what the command goes by, private data or a vault, and into a pipe nobody may read from."""
    if out is None:
        return
    over = next((what for what, path in named.items() if path is not None and is_same_file(out, path)), _kept(out))
    if over is not None:
        raise ChoiceError(
            f"{option} {out} would be written over {over}",
            why="what is in it now would be lost",
            fix=f"{option} another file",
        )
    if out.is_fifo() and DEVICES not in out.absolute().parents:
        raise ChoiceError(
            f"cannot write {out}",
            why="it is a pipe: where nobody reads from it, what is written would wait there",
            fix=f"{option} a file",
        )


def _kept(out: Path) -> str | None:
    """What a file is, in words, if nothing is ever to be written over it: whatever command it is named to."""
    if not out.is_file():
        return None
    from jostle.privacy.vault_file import is_vault  # noqa: PLC0415 - most commands write new files
    from jostle.tables.origins import known_vault  # noqa: PLC0415 - as above

    if is_vault(out):
        return "a vault"
    vault = known_vault(out)
    return None if vault is None else f"private data, whose vault is {vault}"
