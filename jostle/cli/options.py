"""`jostle options`: the algorithms that can be chosen between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.saying import Json, With, headline, load_with, say_json, table

if TYPE_CHECKING:
    from jostle.options.base import Option

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
        facts = [(each.name, each.task.name, each.version, each.paper, each.holds) for each in found]
        say_json([dict(zip(("name", "task", "version", "paper", "holds"), fact, strict=True)) for fact in facts])
        return
    rows = [(option.name, option.task.name, _said(option)) for option in found]
    headline("Options")
    table(("name", "task", "what it does"), rows)


def _said(option: Option[Any]) -> str:
    """What it does, and that it does not run in little memory on rows that are streamed, where that is so."""
    does = (type(option).__doc__ or "").strip().partition("\n")[0]
    return f"{does} Streamed or not, memory holds {option.holds}." if option.holds else does
