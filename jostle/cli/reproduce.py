"""`jostle reproduce`: figures of papers, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.saying import Json, check_kept, echo, headline, say_json, table

app = typer.Typer()


@app.command()
def reproduce(
    figure: Annotated[str | None, typer.Argument(help="Which figure; all are listed if left out.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="A folder of public tables, or a file of points; what comes with packages else.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to draw into; FIGURE.png here if left out.")] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Random splits, or folds, of each table; left out, as in the paper, or as many as take a few minutes.",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Draw a paper's figure again with the algorithms here, on public data, without network; or list the figures."""
    from jostle.figures.listing import FIGURES, figure_named

    if figure is None:
        listed = [(each.name, each.paper, each.about, each.data) for each in FIGURES]
        if json_:
            say_json([dict(zip(("name", "paper", "about", "data"), each, strict=True)) for each in listed])
            return
        headline("Figures")
        table(("name", "of", "what it shows", "made of"), listed)
        return
    wanted = figure_named(figure)
    place = out if out is not None else Path(f"{wanted.name}.png")
    check_kept(place, "--out", {"the data": data})
    made = wanted.make(data, place, trials)
    if json_:
        say_json({"figure": wanted.name, "out": str(made.path), "seconds": made.seconds, "said": made.said})
        return
    for said in made.said:
        echo(said)
    echo(f"wrote {made.path} in {made.seconds:.1f} s")
