"""The command that runs programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.errors import ChoiceError

if TYPE_CHECKING:
    from jostle.lang.running import Outcome

__all__ = ["add_run"]

NO_POLICY = "none"
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
    force: Annotated[
        list[str] | None, typer.Option(metavar="LABEL=ALTERNATIVE", help="Take this wherever the label chooses.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="Follow the policies in this file instead of what was learned; none for no policy."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Run a program: on private data within a promise, or, without --data, on a public example as a rehearsal."""
    from jostle.lang.answers import write_answer  # noqa: PLC0415 - commands load what they need
    from jostle.lang.running import run_program  # noqa: PLC0415

    said: list[str] = []
    with _chosen_by(force or [], policy):
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
    _warn_of_changes(program, done)
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


@contextmanager
def _chosen_by(forced: list[str], policy: str | None) -> Iterator[None]:
    """Let labelled choices be made by what the command line says; what is forced goes before policies."""
    if not forced and policy is None:
        yield
        return
    from jostle.choosing import follow, nothing_learned  # noqa: PLC0415 - most programs make no labelled choice
    from jostle.choosing import force as forcing  # noqa: PLC0415

    with ExitStack() as around:
        if policy == NO_POLICY:
            around.enter_context(nothing_learned())
        elif policy is not None:
            from jostle.choice.policies import read_policies  # noqa: PLC0415

            around.enter_context(follow(read_policies(Path(policy))))
        if forced:
            around.enter_context(forcing(dict(map(_forced, forced))))
        yield


def _forced(text: str) -> tuple[str, str]:
    label, sign, alternative = (part.strip() for part in text.partition("="))
    if not (label and sign and alternative):
        raise ChoiceError(f"{text!r} forces nothing", fix="--force L1=stop")
    return label, alternative


def _warn_of_changes(program: Path, done: Outcome) -> None:
    """Say which choices were not made as they were learned, since the program is another one by now."""
    from jostle.choosing import CHANGED  # noqa: PLC0415 - as above
    from jostle.trace.records import Chosen  # noqa: PLC0415

    labels = sorted({each.label for each in done.records if isinstance(each, Chosen) and each.why == CHANGED})
    if labels:
        typer.echo(
            f"warning: {', '.join(labels)} took the first alternative: {program} has changed since its choices were "
            f"learned; jostle train {program} --entry {done.entry} learns them anew",
            err=True,
        )


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
