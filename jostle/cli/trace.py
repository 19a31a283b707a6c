"""`jostle trace`: what a run did, and why its choices were made as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli import saying
from jostle.cli.saying import Json, echo, echo_lines, say_json
from jostle.errors import ChoiceError

app = typer.Typer(help="What a run did.", no_args_is_help=True, add_completion=False)


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="A trace file, JSON lines.")],
    html: Annotated[bool, typer.Option("--html", help="Print a web page, which needs nothing beside itself.")] = False,
    json_: Json = False,
) -> None:
    """Show a trace as a table for people, or as a web page."""
    if html and json_:
        raise ChoiceError("--html and --json contradict each other", fix="leave one of them out")
    if html:
        from jostle.trace.page import whole_page
        from jostle.trace.records import read_trace

        saying.print_page(whole_page(read_trace(file), title=f"Trace {file.name}"))
        return
    if json_:
        as_json(file)
        return
    from jostle.trace.records import read_trace
    from jostle.trace.render import render_trace

    saying.show(render_trace(read_trace(file)))


@app.command("json")
def as_json(
    file: Annotated[Path, typer.Argument(help="A trace file, JSON lines.")],
    json_: Json = True,  # noqa: ARG001 - a flag that every command has
) -> None:
    """Print a trace as one JSON array."""
    from jostle.trace.records import read_trace, to_json

    say_json([json.loads(to_json(record)) for record in read_trace(file)])


@app.command()
def why(
    file: Annotated[Path, typer.Argument(help="A trace file, JSON lines.")],
    json_: Json = False,
) -> None:
    """Say of each choice in a trace what was seen, what was expected of each alternative, and why one was taken."""
    from jostle.trace.records import read_trace
    from jostle.trace.render import explanations

    found = explanations(read_trace(file))
    if json_:
        say_json([each.as_data() for each in found])
    elif not found:
        echo("nothing was chosen in this run")
    else:
        echo_lines("\n\n".join(each.as_text() for each in found))
