"""`jostle advise`: what to expect before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import Json, SeveralEpsilons, With, check_kept, echo, echo_lines, load_with, say_json
from jostle.errors import ChoiceError

app = typer.Typer(add_completion=False)


@app.command(cls=SeveralEpsilons)
def advise(  # noqa: PLR0917 - a command's options
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
    schema: Annotated[Path | None, typer.Option(help="A schema in TOML.")] = None,
    rows_per_person: Annotated[
        str | None,
        typer.Option(
            metavar="GUESS",
            help="Say how many rows of a person to read, by what is guessed of them: 'geometric 8', 'zipf 8 1000', "
            "'lognormal 8 1.2', each with the mean first; or a file of public rows.",
        ),
    ] = None,
    cells: Annotated[
        int | None, typer.Option(help="With it: how many cells are counted; all of the schema's, if left out.")
    ] = None,
    with_: With = None,
    json_: Json = False,
) -> None:
    """Say which loss to expect of each Option and of the maker, by budget, from public facts. No data are read.

    With --rows-per-person, say how many rows of a person to read instead.
    """
    load_with(with_)
    guess = None if rows_per_person is None else Path(rows_per_person)
    check_kept(plot, "--plot", {"the schema": schema, "the public rows": guess})
    from jostle.advice import PersonsAdvice, advise_rows_per_person
    from jostle.advice import advise as advice_on
    from jostle.advice.expected import EPSILONS, Advice

    epsilons = epsilon or EPSILONS
    found: Advice | PersonsAdvice
    if rows_per_person is not None:
        _check_alone({"what": what, "--loss": loss, "--commonest": commonest}, "--rows-per-person")
        found = advise_rows_per_person(rows_per_person, rows=rows, cells=cells, schema=schema, epsilons=epsilons)
    else:
        _check_alone({"--cells": cells}, "advice on losses")
        if schema is None:
            raise ChoiceError("there is no schema", why="losses are said by public facts", fix="--schema FILE.toml")
        found = advice_on(what, schema=schema, rows=rows, epsilons=epsilons, loss=loss, commonest=commonest)
    if plot is not None:
        found.plot(plot)
    if json_:
        say_json(found.as_data())
        return
    echo_lines(str(found))
    if plot is not None:
        echo(f"drawn in {plot}")


def _check_alone(given: Mapping[str, object], asked: str) -> None:
    """Refuse what is given and says nothing for what is asked."""
    if name := next((name for name, value in given.items() if value is not None), None):
        raise ChoiceError(f"{name} does not go with {asked}", fix=f"leave {name} out")
