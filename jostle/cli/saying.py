"""What commands share: how they print, and how they end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from jostle.errors import Diagnostic, JostleError, Source, render

__all__ = [
    "INTERRUPTED",
    "MISTAKE",
    "REFUSED",
    "Json",
    "fail",
    "interrupted",
    "report",
    "say",
    "say_json",
    "table",
    "with_progress",
]

Item = TypeVar("Item")
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]

MISTAKE, REFUSED, INTERRUPTED = 1, 3, 130


def report(source: Source, diagnostics: Sequence[Diagnostic], *, as_json: bool) -> None:
    """Print a program's mistakes, and end if there are any."""
    if as_json:
        status = MISTAKE if diagnostics else 0
        found = [each.as_data() for each in diagnostics]
        say_json({"program": source.name, "diagnostics": found, "status": status})
    elif diagnostics:
        colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        typer.echo(render(source, diagnostics, colour=colour), err=True)
    if diagnostics:
        raise SystemExit(MISTAKE)


def with_progress(items: Iterable[Item], *, total: int, about: str) -> Iterable[Item]:
    """Return the items, with a bar of how many were taken while they are."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import track  # noqa: PLC0415

    return track(items, description=about, total=total, console=Console(stderr=True), transient=True)


def say(text: str, data: Any, as_json: bool) -> None:  # noqa: FBT001 - which of the two to print
    """Print a text, or what it says as JSON."""
    if as_json:
        say_json(data)
    else:
        typer.echo(text)


def say_json(data: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(data, indent=2))


def table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table with a title."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in head:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(Text(title, style="bold"), soft_wrap=True)
    console.print(table)


def fail(text: str, status: int, *, as_json: bool, error: JostleError | None = None) -> NoReturn:
    """Say what went wrong, and end with a status."""
    if as_json and error is not None:
        typer.echo(json.dumps({"error": error.facts(), "status": status}, default=str))  # amounts as 1/3
    else:
        typer.echo(text, err=True)
    raise SystemExit(status)


def interrupted() -> NoReturn:
    """Say that Ctrl-C was heard, and end."""
    fail("stopped; what was released until then stays recorded", INTERRUPTED, as_json=False)
