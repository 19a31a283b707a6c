"""The command that runs programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["add_run"]

MOST_SHOWN = 24
"""Records of the trace that are shown."""


def run(  # noqa: PLR0917 - a command's options
    program: Annotated[Path, typer.Argument(help="A .jst file.")],
    entry: Annotated[
        str | None, typer.Option(help="The function, Option or choice maker to run; the last free one if left out.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Private rows, .csv or .parquet, or a private grid of counts, .npy.")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="The public facts about the rows, .toml.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The promise: 1, 0.1, 1/3.")] = None,
    vault: Annotated[Path | None, typer.Option(help="The file that remembers what is spent.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Write the trace to this file, JSON lines.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the answer to this file.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Run a program: on private data within a promise, or, without --data, on a public example as a rehearsal."""
    from jostle.lang.answers import write_answer  # noqa: PLC0415 - commands load what they need
    from jostle.lang.running import run_program  # noqa: PLC0415

    said: list[str] = []
    done = run_program(
        program,
        entry=entry,
        data=data,
        schema=schema,
        epsilon=epsilon,
        vault=vault,
        trace=trace,
        say=said.append if json_ else typer.echo,
    )
    if out is not None:
        write_answer(done.answer, out)
    if json_:
        written = None if out is None else str(out)
        typer.echo(json.dumps({**done.as_data(), "printed": said, "out": written}, indent=2))
        return
    typer.echo(done.as_text())
    if done.records:
        _show_trace(done.records)
    if out is not None:
        typer.echo(f"written to {out}")


def _show_trace(records: Any) -> None:
    from rich.console import Console  # noqa: PLC0415

    from jostle.trace.render import render_trace  # noqa: PLC0415

    Console().print(render_trace(records[:MOST_SHOWN]))
    if len(records) > MOST_SHOWN:
        typer.echo(f"... and {len(records) - MOST_SHOWN:,} more records; --trace FILE keeps all of them")


def add_run(app: typer.Typer) -> None:
    """Add the command to the command line."""
    add: Callable[..., Any] = app.command()
    add(run)
