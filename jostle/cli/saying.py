"""What commands share: how they print, and how they end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from jostle.errors import AmountError, BudgetError, Diagnostic, JostleError, ProgramError, Source, render
from jostle.visible import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "INTERRUPTED",
    "MISTAKE",
    "REFUSED",
    "Json",
    "With",
    "echo",
    "echo_lines",
    "fail",
    "failure",
    "headline",
    "interrupted",
    "is_same_file",
    "load_with",
    "print_page",
    "report",
    "say",
    "say_json",
    "show",
    "show_mistakes",
    "table",
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]

With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="FILE.py", help="Options of your own, which are then imported and named like any others."
    ),
]

MISTAKE, REFUSED, INTERRUPTED = 1, 3, 130


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, whether it is there or not."""
    try:
        return one.samefile(other)
    except OSError:
        return one.absolute() == other.absolute()


def report(source: Source, diagnostics: Sequence[Diagnostic], *, as_json: bool) -> None:
    """Print a program's mistakes, and end if there are any."""
    if as_json:
        status = MISTAKE if diagnostics else 0
        found = [diagnostic.as_data() for diagnostic in diagnostics]
        say_json({"program": source.name, "diagnostics": found, "status": status})
    elif diagnostics:
        show_mistakes(source, diagnostics)
    if diagnostics:
        raise SystemExit(MISTAKE)


def show_mistakes(source: Source, diagnostics: Sequence[Diagnostic]) -> None:
    """Print a program's mistakes for people."""
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    typer.echo(render(source, diagnostics, colour=colour), err=True)  # paints, and shows what it quotes itself


def load_with(files: Sequence[Path] | None) -> None:
    """Register the Options in the files that a command is given."""
    if files:
        from jostle.options.own import load_own  # noqa: PLC0415 - commands load what they need

        for file in files:
            load_own(file)


def echo(line: str, *, err: bool = False) -> None:
    """Print a line, in which nothing steers the screen, nor ends it."""
    typer.echo(visible(line), err=err)


def echo_lines(text: str, *, err: bool = False) -> None:
    """Print a text of several lines; names in it are on one line already."""
    typer.echo(visible_lines(text), err=err)


def say(line: str, data: Any, as_json: bool) -> None:  # noqa: FBT001 - which of the two to print
    """Print a line, or what it says as JSON."""
    if as_json:
        say_json(data)
    else:
        echo(line)


def say_json(data: Any, *, indent: int | None = 2) -> None:
    """Print JSON, in which escapes stand for all that is not plain ASCII."""
    written = json.dumps(data, indent=indent, default=str)  # amounts as 1/3
    typer.echo(written.replace("\x7f", "\\u007f"))  # the one control that JSON writes as it is


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; columns of numbers are set to the right."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in head:
        table.add_column(column, overflow="fold", justify="right" if column in right else "left")
    for row in rows:
        # As Text: a name in square brackets would be taken for a style.
        table.add_row(*(Text(visible(cell)) for cell in row))
    show(table)


def print_page(page: str) -> None:
    """Print a web page, whose texts are visible."""
    typer.echo(page, nl=False)


def headline(line: str) -> None:
    """Print a line that stands out."""
    from rich.text import Text  # noqa: PLC0415

    show(Text(visible(line), style="bold"), soft_wrap=True)


def show(made: RenderableType, *, soft_wrap: bool = False) -> None:
    """Print what was made for a screen: a table, say, whose texts are visible."""
    from rich.console import Console  # noqa: PLC0415

    Console().print(made, soft_wrap=soft_wrap)


def failure(problem: BaseException) -> tuple[dict[str, Any], int | None]:
    """A failure as data, and the status that a command ends with; None for a mistake of ours."""
    if isinstance(problem, KeyboardInterrupt):
        return {"error": {"title": "stopped", "why": None, "fix": None}}, INTERRUPTED
    status = REFUSED if isinstance(problem, BudgetError) and not isinstance(problem, AmountError) else MISTAKE
    if isinstance(problem, ProgramError):
        found = [diagnostic.as_data() for diagnostic in problem.diagnostics]
        return {"error": problem.facts(), "diagnostics": found}, status
    if isinstance(problem, JostleError):
        return {"error": problem.facts()}, status
    return {"error": {"title": f"a mistake of ours: {type(problem).__name__}", "why": None, "fix": "report it"}}, None


def fail(text: str, status: int, *, as_json: bool, error: JostleError | None = None) -> NoReturn:
    """Say what went wrong, and end with a status."""
    if as_json and error is not None:
        say_json({"error": error.facts(), "status": status}, indent=None)
    else:
        echo_lines(text, err=True)
    raise SystemExit(status)


def interrupted() -> NoReturn:
    """Say that Ctrl-C was heard, and end."""
    fail("stopped; what was released until then stays recorded", INTERRUPTED, as_json=False)
