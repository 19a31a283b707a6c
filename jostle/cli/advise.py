"""`jostle advise`: what to expect before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import Json, SeveralEpsilons, With, check_kept, echo, echo_lines, load_with, say_json

app = typer.Typer(add_completion=False)


@app.command(cls=SeveralEpsilons)
def advise(  # noqa: PLR0917 - a command's options
    schema: Annotated[Path, typer.Option(help="A schema in TOML.")],
    rows: Annotated[int, typer.Option(help="About how many rows there are, as is publicly known.")],
    what: Annotated[
        str | None,
        typer.Argument(help="A program, an Option or a maker; without one, all that the schema's maker chooses among."),
    ] = None,
    epsilon: Annotated[list[str] | None, typer.Option(help="Budgets: one or more after the flag.")] = None,
    loss: Annotated[str | None, typer.Option(help="A loss that is wanted: say the budget for it.")] = None,
    commonest: Annotated[
        str | None, typer.Option(help="The share of the commonest class, if it is publicly known: 0.7.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it into this file: .png, .svg.")] = None,
    with_: With = None,
    json_: Json = False,
) -> None:
    """Say which loss to expect of each Option and of the maker, by budget, from public facts. No data are read."""
    load_with(with_)
    check_kept(plot, "--plot", {"the schema": schema})
    from jostle.advice import advise as advice_on
    from jostle.advice.expected import EPSILONS

    found = advice_on(what, schema=schema, rows=rows, epsilons=epsilon or EPSILONS, loss=loss, commonest=commonest)
    if plot is not None:
        found.plot(plot)
    if json_:
        say_json(found.as_data())
        return
    echo_lines(str(found))
    if plot is not None:
        echo(f"drawn in {plot}")
