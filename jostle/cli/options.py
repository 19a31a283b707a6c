"""`jostle options`: the algorithms that can be chosen between."""

from __future__ import annotations

from typing import Annotated

import typer

from jostle.cli.saying import Json, With, headline, load_with, say_json, table

app = typer.Typer(add_completion=False)


@app.command()
def options(
    task: Annotated[str | None, typer.Option(help="Only Options of this task.")] = None,
    with_: With = None,
    json_: Json = False,
) -> None:
    """List the algorithms that can be chosen between."""
    load_with(with_)
    from jostle import options as catalogue

    found = [catalogue.get(name) for name in catalogue.names(task)]
    if json_:
        facts = [(each.name, each.task.name, each.version, each.paper) for each in found]
        say_json([dict(zip(("name", "task", "version", "paper"), fact, strict=True)) for fact in facts])
        return
    rows = [(each.name, each.task.name, (type(each).__doc__ or "").strip().partition("\n")[0]) for each in found]
    headline("Options")
    table(("name", "task", "what it does"), rows)
