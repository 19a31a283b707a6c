"""`jostle audit-log`: who asked what, at which price, and how it was decided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import Json, check_kept, echo_lines, say, say_json
from jostle.errors import VaultError
from jostle.files.kinds import writing

app = typer.Typer(help="Who asked what of a served table.", no_args_is_help=True, add_completion=False)

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="OWNER.toml, or an audit log that was exported from there, .jsonl.")
]


@app.command()
def verify(
    file: File,
    head: Annotated[
        str | None, typer.Option(metavar="HASH", help="Of a line that was the last one: it has to be there still.")
    ] = None,
    json_: Json = False,
) -> None:
    """Check that no line was changed, left out or put in; say the last one's hash, to be kept elsewhere."""
    from jostle.owner.log import BEGINNING, entries

    count, last, met = 0, BEGINNING, head in {None, BEGINNING}
    for entry in entries(_log(file)):
        count, last = entry.number, entry.hash
        met = met or entry.hash == head
    if not met:
        raise VaultError(
            f"no line of the audit log has the hash {head}",
            why="its last lines are missing, or it is another log",
            fix="put a whole copy of it back; what it says now cannot be relied on",
        )
    said = f"{count:,} lines, none changed or left out before the last; its hash is {last}"
    say(said, {"lines": count, "head": last}, json_)


@app.command()
def export(
    file: File,
    out: Annotated[Path | None, typer.Option(help="Write the lines here instead of printing them.")] = None,
    json_: Json = False,
) -> None:
    """Print the lines as they stand, JSON, which `jostle audit-log verify` checks anywhere; checked before."""
    from jostle.owner.log import entries, files_of

    path = _log(file)
    count = sum(1 for _ in entries(path))
    lines = "".join(each.read_text("utf-8") for each in files_of(path)).splitlines(keepends=True)[:count]
    if out is None:
        echo_lines("".join(lines).rstrip("\n"))
        return
    check_kept(out, "--out", {"the audit log": path})
    with writing(out, VaultError) as target:
        target.write_text("".join(lines), encoding="utf-8")
    if json_:
        say_json({"out": str(out), "lines": count})
        return
    say(f"wrote {out}: {count:,} lines", None, as_json=False)


def _log(file: Path) -> Path:
    if file.suffix != ".toml":
        return file
    from jostle.owner.office import LOG_NAME
    from jostle.owner.settings import read_settings

    return read_settings(file).folder / LOG_NAME
